"""A grid search that pays for itself: all candidates together, and the choice among them, within one budget.

The rows are divided by a public permutation. Every candidate trains on the first part, at an epsilon for which their
composition meets the budget; the winner is selected on the other part by permute-and-flip over validation errors,
at the same epsilon. A record is in one part only, so the two do not add up. Nothing is refitted: the winner is
one of the private candidates.

A score must be one that a record moves by a proved amount (`tacit_models.scoring`). A candidate that cannot meet
its share of the budget, as public numbers tell, is refused before anything is spent.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.calibration import largest
from tacit.accounting.composition import compose
from tacit.accounting.curves import Approximate, Pure
from tacit.accounting.guarantee import Guarantee, Relation
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.noise.selection import permute_and_flip
from tacit.validation import check_number, check_privacy, invalid
from tacit_models.ledger import Ledger, charged
from tacit_models.pipeline import PrivatePipeline, table_shape
from tacit_models.published import Exported
from tacit_models.records import canonical, checked_data, class_labels, is_sparse
from tacit_models.scoring import check_scoring, error_sum
from tacit_models.table import PublicTable

# Classes too: candidates with different classes would be compared on different questions.
_RESERVED = ("epsilon", "delta", "ledger", "relation", "random_state", "classes")


def _of_the_selected(name: str) -> Any:
    """The method of the selected model."""

    def called(self: PrivateGridSearch, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X)

    called.__name__, called.__doc__ = name, f"`{name}` of the selected model."
    return available_if(lambda self: hasattr(self._shown, name))(called)


@dataclass(eq=False, repr=False)
class PrivateGridSearch(Exported, MetaEstimatorMixin, BaseEstimator):
    """Choose parameters of a private model under one total guarantee.

    Args:
        estimator: a private model of this package, or a pipeline with private steps.
        param_grid: a dictionary of lists, as in scikit-learn; epsilon, delta, relation, random_state, classes and the
            ledger are the search's own, in steps of a pipeline too.
        epsilon: budget of the whole search.
        delta: failure probability of the whole search.
        holdout: share of the rows on which candidates are compared.
        scoring: by which they are: "accuracy" (None), "neg_log_loss" or "neg_brier_score" for
            classifiers, "neg_mean_squared_error" (None) or "neg_mean_absolute_error" for regressors.
        random_state: only for tests: makes the noise replayable, with a warning.
        ledger: where the spending is recorded (None: the process's own `LEDGER`).

    Attributes after fit: `best_estimator_`, `best_params_`, `guarantee_` (the whole search), `fit_epsilon_` (what each
    candidate could spend).
    """

    estimator: Any
    param_grid: Any
    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    holdout: float = 0.25
    scoring: str | None = None
    random_state: Any = None
    ledger: Ledger | None = None

    @np.errstate(all="ignore")  # whether something overflows in a step depends on the data
    def fit(self, X: Any, y: Any) -> PrivateGridSearch:
        """Train every candidate and select one, all within the budget."""
        check_privacy("PrivateGridSearch", self.epsilon, self.delta)
        share = check_number("PrivateGridSearch", "holdout", self.holdout, above=0.0, below=1.0)
        self._check_estimator()
        candidates = list(ParameterGrid(self.param_grid))
        for name in {name for candidate in candidates for name in candidate}:
            if name.split("__")[-1] in _RESERVED:
                raise InvalidInput(f"The grid of PrivateGridSearch may not contain {name!r}: the search sets it.")
        scoring = check_scoring("PrivateGridSearch", self.scoring, self._private)
        rows, target, shape = self._checked(X, y)
        # Public: the same permutation for all data of this length.
        count = len(target)
        order = Randomness.replayable(0).stream("split").permutation(count)
        cut = count - max(1, round(share * count))
        if cut < 1:
            raise InvalidInput(f"PrivateGridSearch needs at least two rows. Got {count} instead.")
        train, test = order[:cut], order[cut:]
        self.fit_epsilon_ = self._share(candidates, cut, target, shape)
        source = charged(self, self._guarantee())
        fitted = []
        for number, parameters in enumerate(candidates):
            model = self._candidate(parameters, self.fit_epsilon_, len(candidates))
            model.set_params(random_state=source.child(number))
            fitted.append(model.fit(rows[train], target[train]))
            model.set_params(random_state=None, ledger=self.ledger)
        # One bound for all: errors in units of their own would favour the candidate of the largest.
        bounds = [getattr(_last(model), "label_bound_", None) for model in fitted]
        bound = max((each for each in bounds if each is not None), default=None)
        errors = np.array([error_sum(scoring, model, rows[test], target[test], bound) for model in fitted])
        best = permute_and_flip(errors, self.epsilon, 1.0, source.stream("select"))
        self.best_estimator_, self.best_params_ = fitted[best], candidates[best]
        return self

    predict = _of_the_selected("predict")
    predict_proba = _of_the_selected("predict_proba")
    decision_function = _of_the_selected("decision_function")

    @property
    def classes_(self) -> Any:
        """The classes of the selected model."""
        return self.best_estimator_.classes_

    @property
    def _shown(self) -> Any:
        return getattr(self, "best_estimator_", self.estimator)

    def score(self, X: Any, y: Any) -> float:
        """Score by the selected model's own score."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags, searched = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = searched.estimator_type
        tags.classifier_tags, tags.regressor_tags = searched.classifier_tags, searched.regressor_tags
        tags.input_tags.sparse = searched.input_tags.sparse
        return tags

    def _check_estimator(self) -> None:
        private = self._private
        if not hasattr(private, "public_guarantee"):
            raise invalid("PrivateGridSearch", "estimator", "a private model, or a pipeline of them", self.estimator)
        if private.ledger is not None and private.ledger is not self.ledger:
            raise InvalidInput(
                "The 'ledger' of the estimator of PrivateGridSearch would not be charged: give it to the search, which "
                "writes one entry for all candidates."
            )

    def _candidate(self, parameters: dict[str, Any], epsilon: float, count: int) -> Any:
        model = clone(self._private).set_params(**parameters)
        if self.ledger is not None:  # steps may name it too: it is charged once, by the search
            own = [name for name, value in model.get_params().items() if value is self.ledger]
            model.set_params(**dict.fromkeys(own))
        # The search's own entry covers these fits: a ledger of their own keeps them from being counted twice.
        return model.set_params(epsilon=epsilon, delta=self.delta / count, ledger=Ledger())

    @property
    def _private(self) -> Any:
        """What is searched: a plain pipeline gets one budget for its private steps."""
        plain = isinstance(self.estimator, Pipeline) and not isinstance(self.estimator, PrivatePipeline)
        return PrivatePipeline(self.estimator.steps) if plain else self.estimator

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any, tuple[int, bool]]:
        """Copies of the rows and the labels, and what is public of them: width and format.

        The rows are numbers, unless the first step of a pipeline takes tables of anything.
        """
        private = self._private
        if isinstance(private, PrivatePipeline) and isinstance(private.steps[0][1], PublicTable):
            count, width = table_shape(X)
            _, target = checked_data(self, np.zeros((count, width)), y)
            rows = X.copy().iloc if hasattr(X, "iloc") else np.array(X, dtype=object)
            return rows, target, (width, False)
        features, target = checked_data(self, X, y, accept_sparse="csr")
        features = canonical(features)
        # Models of a data frame know its columns by name; nobody else writes to the copy.
        rows = X.copy().iloc if hasattr(X, "iloc") else features
        return rows, target, (int(features.shape[1]), is_sparse(features))

    def _contract(self, model: Any, rows: int, target: Any, shape: tuple[int, bool]) -> Guarantee:
        """What a fit of this candidate will spend: its own classes count, since a grid may hold whole steps."""
        width, sparse = shape
        declared = getattr(model, "classes", None)
        classes = len(class_labels(target if declared is None else declared))
        return cast(Guarantee, model.public_guarantee(rows, width, classes, sparse=sparse))

    def _share(self, candidates: list[dict[str, Any]], rows: int, target: Any, shape: tuple[int, bool]) -> float:
        """The largest epsilon of a candidate for which all of them compose to the budget: public quantities only."""
        count = len(candidates)

        def cost(epsilon: float) -> float:
            models = [self._candidate(parameters, epsilon, count) for parameters in candidates]
            contracts = [self._contract(model, rows, target, shape) for model in models]
            return compose([contract.curve for contract in contracts]).epsilon(self.delta)

        return largest(cost, self.epsilon, self.epsilon / count * 0.999, self.epsilon, 1e-3)

    def _guarantee(self) -> Guarantee:
        return Guarantee(
            curve=Pure(self.epsilon) if self.delta == 0 else Approximate(self.epsilon, self.delta),
            at_delta=self.delta,
            released="every candidate model and which of them was selected",
            theorem="composition of the candidates on one part of the rows; permute-and-flip on the other",
            relation=Relation(self._private.relation),
            unit="one record",
        )


def _last(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model
