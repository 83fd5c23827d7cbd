"""What the private linear models share: bounds, randomness, the two ways to train, and the record of the spending."""

from __future__ import annotations

import warnings
from math import ceil
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator

from tacit.errors import InvalidInput
from tacit.estimators.data import checked_data
from tacit.estimators.ledger import PrivacyWarning, spend
from tacit.geometry import Ball
from tacit.learners.stochastic import ObjectivePerturbation, OnlineToBatch
from tacit.learners.stochastic.objective_perturbation import ObjectivePerturbationLearner, practical_reach
from tacit.learners.stochastic.online_to_batch import OnlineToBatchLearner
from tacit.losses.base import Loss, RowLoss, row_norms
from tacit.losses.linear_models import LinkLoss
from tacit.losses.regularised import RegularisedLoss
from tacit.privacy.calibration import gaussian_mu
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, check_ledger
from tacit.problems import Stochastic
from tacit.randomness import Randomness
from tacit.validation import FloatArray, check_choice, check_integer, check_positive, check_privacy, real_array

__all__ = ["PrivacyWarning", "PrivateLinearModel", "randomness_of"]

# The constant that stands for the intercept, as a share of the bound on a row: a full-size one would halve the room
# that the features have inside the bound. The best of eight on synthetic rows with logistic labels and intercepts.
INTERCEPT_SHARE = 0.35
# Above this many numbers "auto" streams over the data instead of keeping a second copy of them.
LARGEST_OBJECTIVE = 10**8
# A pass of at most this many steps, unless a declared regulariser lets the certificate choose: the noise is the same.
PASS_STEPS = 2000


class PrivateLinearModel(BaseEstimator):
    """Shared parts; concrete models list all their parameters themselves, as scikit-learn asks."""

    epsilon: float
    delta: float
    data_norm: float | None
    algorithm: str
    fit_intercept: bool
    relation: str
    regularisation: float | None
    horizon: int | None
    initial: Any
    random_state: Any
    ledger: Ledger | None

    _algorithms: ClassVar[tuple[str, ...]] = ("auto", "objective", "one-pass")
    _largest_margin: ClassVar[float] = 8.0

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_privacy(owner, self.epsilon, self.delta)
        check_choice(owner, "algorithm", self.algorithm, self._algorithms)
        check_choice(owner, "relation", str(self.relation), ("replace", "zero-out"))
        if self.data_norm is not None:
            check_positive(owner, "data_norm", self.data_norm)
        if self.regularisation is not None:
            check_positive(owner, "regularisation", self.regularisation)
        if self.horizon is not None:
            check_integer(owner, "horizon", self.horizon)
        check_ledger(owner, self.ledger)

    def _validated(self, X: Any, y: Any, *, reset: bool = True, numeric: bool = False) -> tuple[FloatArray, Any]:
        features, target = checked_data(self, X, y, reset=reset, y_numeric=numeric)
        return features, target

    def _rows_to_predict(self, X: Any) -> FloatArray:
        return np.asarray(checked_data(self, X, reset=False))

    def _randomness(self) -> Randomness:
        return randomness_of(self.random_state)

    def _bound_of(self, name: str, given: float | None, largest: float) -> float:
        """A declared bound, or the data's own with a warning."""
        if given is not None:
            return float(given)
        warnings.warn(
            f"{name} was read off the data, which the guarantee does not cover: declare it.",
            PrivacyWarning,
            stacklevel=5,
        )
        return largest if largest > 0 else 1.0

    def _augmented(self, X: FloatArray, norm: float) -> FloatArray:
        """Rows with the constant of the intercept appended; the loss clips them to the bound afterwards."""
        if not self.fit_intercept:
            return X
        return np.column_stack([X, np.full(len(X), INTERCEPT_SHARE * norm)])

    def _largest_norm(self, X: FloatArray) -> float:
        return float(np.max(row_norms(X), initial=0.0))

    def _chosen_algorithm(self, size: int) -> str:
        if self.algorithm != "auto":
            return self.algorithm
        return "objective" if size <= LARGEST_OBJECTIVE else "one-pass"

    def _objective_plan(self, loss: Loss, records: int, dimension: int, releases: int) -> ObjectivePerturbation:
        """The public plan of objective perturbation; nothing in it comes from the data."""
        problem = Stochastic(domain=Ball(dimension), loss=loss, horizon=records)
        plan = ObjectivePerturbation.calibrate(
            problem,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            regularisation="practical" if self.regularisation is None else self.regularisation,
            releases=releases,
        )
        return cast(ObjectivePerturbation, plan)

    def _one_pass_plan(self, loss: RowLoss, records: int, dimension: int, norm: float) -> OnlineToBatch:
        """The public plan of one pass; the domain is a ball of the rule's radius, in units of the largest margin."""
        noise = 1 / self.epsilon if self.delta == 0 else 1 / gaussian_mu(self.epsilon, self.delta)
        radius = min(practical_reach(records, float(np.sqrt(dimension)), noise), self._largest_margin) / norm
        if self.regularisation is not None:
            loss = RegularisedLoss(loss, self.regularisation / records)
        declared = self.regularisation is not None
        start = None if self.initial is None else self._start(dimension, norm, radius)
        problem = Stochastic(domain=Ball(dimension, radius=radius), loss=loss, horizon=records, initial=start)
        plan = OnlineToBatch.calibrate(
            problem,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            learner="certified" if declared else "subgradient",
            batch=None if declared else max(1, ceil(records / PASS_STEPS)),
        )
        return cast(OnlineToBatch, plan)

    def _start(self, dimension: int, norm: float, radius: float) -> tuple[float, ...]:
        """The declared coefficients as a model of the pass, pulled into its ball: a function of public numbers."""
        owner = type(self).__name__
        given = np.atleast_2d(real_array(owner, "initial", self.initial, None)).astype(np.float64) / self._unit
        if given.ndim != 2 or given.size != dimension or not np.isfinite(given).all():
            raise InvalidInput(
                f"The 'initial' parameter of {owner} must be {dimension} finite numbers: the coefficients, with "
                f"fit_intercept the intercept after them, for several classes in a row each. Got {given.size} instead."
            )
        if self.fit_intercept:
            given[:, -1] /= INTERCEPT_SHARE * norm
        return tuple(Ball(dimension, radius=radius).project(given.ravel()).tolist())

    @property
    def _unit(self) -> float:
        """What coefficients are divided by to make a model."""
        return 1.0

    def _minimisers(self, loss: LinkLoss, rows: FloatArray, targets: list[FloatArray]) -> FloatArray:
        """One released minimiser for each labelling, all under one guarantee, which is recorded first."""
        plan = self._objective_plan(loss, len(rows), rows.shape[1], len(targets))
        source = self._randomness()
        self._spend(plan.guarantee.with_randomness(source.label))
        models = []
        for number, labels in enumerate(targets):
            learner = cast(ObjectivePerturbationLearner, plan.start(source.child(number)))
            learner.run((rows, labels))
            models.append(learner.release())
        return np.array(models)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled or copied: parameters and what was fitted, never the records of a pass or its noise."""
        state: dict[str, Any] = {**super().__getstate__()}
        unfinished = state.pop("_pass", None)
        if unfinished is not None and unfinished.rounds < unfinished.plan.problem.records:
            warnings.warn(
                "A copy of this estimator keeps its newest model and not its unfinished pass, because the pass's noise "
                "must not be used twice: partial_fit of the copy begins a new pass and spends again.",
                PrivacyWarning,
                stacklevel=3,
            )
        return state

    def _begin_pass(self, plan: OnlineToBatch) -> OnlineToBatchLearner:
        source = self._randomness()
        self._spend(plan.guarantee.with_randomness(source.label))
        return cast(OnlineToBatchLearner, plan.start(source.child("pass")))

    def _spend(self, guarantee: Guarantee) -> None:
        spend(self.ledger, f"{type(self).__name__}.fit", guarantee)
        self.guarantee_ = guarantee

    def _split(self, models: FloatArray, norm: float) -> tuple[FloatArray, FloatArray]:
        """Coefficients and intercepts of augmented models, one a row."""
        if not self.fit_intercept:
            return models, np.zeros(len(models))
        return np.ascontiguousarray(models[:, :-1]), models[:, -1] * INTERCEPT_SHARE * norm


def randomness_of(state: Any) -> Randomness:
    """Secret, unless a seed was given: then replayable, with a warning."""
    if state is None:
        return Randomness.secret()
    if isinstance(state, Randomness):
        return state
    warnings.warn(
        "random_state makes the noise replayable: whoever knows it can undo the privacy of this fit.",
        PrivacyWarning,
        stacklevel=4,
    )
    return Randomness.replayable(int(state.randint(2**31 - 1)) if hasattr(state, "randint") else state)
