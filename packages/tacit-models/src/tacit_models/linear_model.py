"""What the private linear models share: bounds, randomness, the two ways to train, and the record of the spending."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from math import ceil
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.ledger import Ledger, check_ledger
from tacit.algorithms.stochastic import ObjectivePerturbation, OnlineToBatch
from tacit.algorithms.stochastic.objective_perturbation.model_noise import SHRUNK, private_minimum
from tacit.algorithms.stochastic.objective_perturbation.objective_perturbation import (
    ObjectivePerturbationLearner,
    practical_reach,
)
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import OnlineToBatchLearner
from tacit.domains import Ball
from tacit.errors import ProtocolError
from tacit.losses.custom import RegularisedLoss
from tacit.losses.loss import LinkLoss, Loss, RowLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Stochastic
from tacit.runtime.plan import Plan
from tacit.solvers.loss_sums import SparseLinkSum
from tacit.validation import FloatArray, check_choice, check_integer, check_positive, check_privacy
from tacit_models.ledger import PrivacyWarning, charged, warn_of_reading
from tacit_models.published import Exported
from tacit_models.records import (
    canonical,
    checked_data,
    clipped_rows,
    dense_parts,
    is_sparse,
    norms_of,
    with_constant,
)

# The constant that stands for the intercept, as a share of the bound on a row: a full-size one would halve the room
# that the features have inside the bound. The best of eight on synthetic rows with logistic labels and intercepts.
INTERCEPT_SHARE = 0.35
# Above this many numbers "auto" streams over the data instead of keeping a second copy of them.
LARGEST_OBJECTIVE = 10**8
# A pass of at most this many steps, unless a declared regulariser lets the certificate choose: the noise is the same.
PASS_STEPS = 2000


@dataclass(eq=False, repr=False)
class PrivateLinearModel(Exported, BaseEstimator):
    """Shared parts and parameters: a dataclass has the constructor that scikit-learn asks for, which lists them all."""

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    data_norm: float | None = None
    weight_bound: float | None = None
    algorithm: str = "auto"
    fit_intercept: bool = True
    regularisation: float | None = None
    relation: str = "replace"
    horizon: int | None = None
    random_state: Any = None
    ledger: Ledger | None = None

    _algorithms: ClassVar[tuple[str, ...]] = ("auto", "objective", "one-pass")
    _largest_margin: ClassVar[float] = 8.0

    def _begin(self) -> None:
        """Check the parameters of a fit; a pass in parts ends here."""
        self._check_parameters()
        self.__dict__.pop("_pass", None)

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_privacy(owner, self.epsilon, self.delta)
        check_choice(owner, "algorithm", self.algorithm, self._algorithms)
        check_choice(owner, "relation", str(self.relation), ("replace", "zero-out"))
        for name in ("data_norm", "regularisation", "weight_bound"):
            if getattr(self, name) is not None:
                check_positive(owner, name, getattr(self, name))
        if self.horizon is not None:
            check_integer(owner, "horizon", self.horizon)
        check_ledger(owner, self.ledger)

    def _validated(self, X: Any, y: Any, *, reset: bool = True, numeric: bool = False) -> tuple[Any, Any]:
        features, target = checked_data(self, X, y, reset=reset, y_numeric=numeric, accept_sparse="csr")
        return canonical(features), target

    def _rows_to_predict(self, X: Any) -> Any:
        return checked_data(self, X, reset=False, accept_sparse="csr")

    def _bound_of(self, name: str, given: float | None, largest: float) -> float:
        """A declared bound, or the data's own with a warning."""
        if given is not None:
            return float(given)
        warn_of_reading(f"{name} was", "it", level=5)
        return largest if largest > 0 else 1.0

    def _augmented(self, X: Any, norm: float) -> Any:
        """Rows with the constant of the intercept appended; the loss clips them to the bound afterwards."""
        return with_constant(X, INTERCEPT_SHARE * norm) if self.fit_intercept else X

    def _largest_norm(self, X: Any) -> float:
        return float(np.max(norms_of(X), initial=0.0))

    def _chosen_algorithm(self, size: int, sparse: bool, classes: int = 2) -> str:
        """By the format and the number of entries of a dense table: not by how many are zero, which is private."""
        if self.algorithm != "auto":
            return self.algorithm
        return "objective" if sparse or size <= LARGEST_OBJECTIVE else "one-pass"

    def _objective_plan(
        self, loss: Loss, records: int, dimension: int, releases: int, epsilon: float, rule: Any = None
    ) -> ObjectivePerturbation:
        """The public plan of objective perturbation; nothing in it comes from the data."""
        rule = rule or self.regularisation or "practical"
        plan: ObjectivePerturbation = self._calibrated(
            ObjectivePerturbation, loss, records, dimension, epsilon, regularisation=rule, models=releases
        )
        return plan

    def _calibrated(self, *facts: Any, **options: Any) -> Any:
        """A plan by its kind, loss, records, dimension and epsilon."""
        return calibrated(*facts, self.delta, str(self.relation), **options)

    def _one_pass_plan(self, loss: RowLoss, records: int, dimension: int, norm: float, epsilon: float) -> OnlineToBatch:
        """The public plan of one pass; the domain is a ball of the rule's radius, in units of the largest margin."""
        noise = 1 / epsilon if self.delta == 0 else 1 / gaussian_mu(epsilon, self.delta)
        radius = min(practical_reach(records, float(np.sqrt(dimension)), noise), self._largest_margin) / norm
        if self.regularisation is not None:
            loss = RegularisedLoss(loss, self.regularisation / records)
        declared = self.regularisation is not None
        problem = Stochastic(domain=Ball(dimension, radius=radius), loss=loss, horizon=records)
        plan = OnlineToBatch.calibrate(
            problem,
            epsilon=epsilon,
            delta=self.delta,
            relation=self.relation,
            learner="certified" if declared else "subgradient",
            batch=None if declared else max(1, ceil(records / PASS_STEPS)),
        )
        return cast(OnlineToBatch, plan)

    @staticmethod
    @np.errstate(all="ignore")  # whether something underflows depends on the data
    def _minimisers(
        plan: ObjectivePerturbation, loss: LinkLoss, rows: Any, targets: list[FloatArray], source: Randomness
    ) -> FloatArray:
        """One released minimiser for each labelling, all under the plan's guarantee, which was recorded before."""
        models = []
        if is_sparse(rows):
            losses = SparseLinkSum(loss, SHRUNK * clipped_rows(rows, loss.data_norm), targets[0])
            for number, labels in enumerate(targets):
                noise = plan.noise.source(source.child(number), "noise")
                models.append(private_minimum(plan.noise, losses.with_labels(loss.clip_labels(labels)), noise)[0])
            return np.array(models)
        for number, labels in enumerate(targets):
            learner = cast(ObjectivePerturbationLearner, plan.start(source.child(number)))
            learner.run((rows, labels))
            models.append(learner.release())
        return np.array(models)

    def _begun(self, plan: OnlineToBatch, level: int = 3) -> OnlineToBatchLearner:
        """A pass that is paid for and has seen nothing yet."""
        return cast(OnlineToBatchLearner, plan.start(charged(self, plan.guarantee, level).child("pass")))

    def _continued(self, planned: Callable[[int], OnlineToBatch], records: int) -> OnlineToBatchLearner:
        """The pass in parts, paid for when it begins; more records than were declared are refused before."""
        horizon = check_integer(type(self).__name__, "horizon", self.horizon)
        begun: OnlineToBatchLearner | None = getattr(self, "_pass", None)
        left = horizon if begun is None else begun.plan.problem.records - begun.rounds
        if records > left:
            raise ProtocolError(f"partial_fit was planned for fewer records: {left} are left, got {records}.")
        if begun is None:
            self.algorithm_, begun = "one-pass", self._begun(planned(horizon), level=4)
        self._pass = begun
        return begun

    @staticmethod
    def _passed(learner: OnlineToBatchLearner, rows: Any, *columns: FloatArray) -> FloatArray:
        """The model after these rows, a bounded number of them at a time."""
        for place, part in dense_parts(rows):
            learner.run((part, *(column[place] for column in columns)))
        return learner.model

    def _public_shape(self, n_features: int) -> tuple[float, int]:
        """The norm of a row and the number of coefficients, before any data."""
        self._check_parameters()
        norm = 1.0 if self.data_norm is None else float(self.data_norm)
        return norm, n_features + bool(self.fit_intercept)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = True
        return tags

    def _split(self, models: FloatArray, norm: float) -> tuple[FloatArray, FloatArray]:
        """Coefficients and intercepts of augmented models, one a row."""
        if not self.fit_intercept:
            return models, np.zeros(len(models))
        return np.ascontiguousarray(models[:, :-1]), models[:, -1] * INTERCEPT_SHARE * norm


@lru_cache(maxsize=256)
def calibrated(
    kind: type[Plan],
    loss: Loss,
    records: int,
    dimension: int,
    epsilon: float,
    delta: float,
    relation: str,
    **options: Any,
) -> Any:
    """A plan of this kind at a target; kept, because folds and candidates of a search ask for the same ones."""
    problem = Stochastic(domain=Ball(dimension), loss=loss, horizon=records)
    return kind.calibrate(problem, epsilon=epsilon, delta=delta, relation=relation, **options)
