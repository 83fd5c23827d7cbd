"""A scikit-learn pipeline with one budget: its private steps share epsilon and delta, under one contract.

Shares are of epsilon. Composition is better than adding up, so all shares are stretched by the largest public factor
for which the steps, composed, meet the budget. The contract is written down once, before any step sees the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from tacit.accounting.calibration import largest
from tacit.accounting.composition import compose
from tacit.accounting.guarantee import Guarantee, Relation
from tacit.accounting.rounding import composed_numerics
from tacit.errors import InvalidInput, PrivacyError, TacitError
from tacit.estimators.ledger import Ledger, PrivacyWarning, spend
from tacit.estimators.linear_model import randomness_of
from tacit.estimators.records import class_labels, is_sparse
from tacit.noise.randomness import Randomness
from tacit.validation import check_choice, check_number, check_privacy

BEFORE = 0.3
"""The share of epsilon of all private steps before the last one, unless shares are declared."""
# Of the table on which other steps are tried.
_PUBLIC_ROWS = 1024
_PUBLIC_ENTRIES = 1 << 22


class PrivatePipeline(Pipeline):
    """Steps of scikit-learn and of this package under one guarantee; make it with `private_pipeline`.

    Privacy contract: `guarantee_`, about one record, of everything that the private steps release. Enforced: their
    epsilon, delta, relation, noise and ledger are set by the pipeline. Not covered: what other steps learn from the
    data; a `PrivacyWarning` names them.

    Args:
        steps: pairs (name, step) as in scikit-learn.
        epsilon: privacy budget of one fit of all steps.
        delta: failure probability of all steps together.
        shares: the share of epsilon of each private step, by name, adding up to 1 (None: three tenths for all steps
            before the last private one).
        relation: "replace" or "zero-out".
        random_state: only for tests: makes the noise replayable, with a warning.
        ledger: where the spending is recorded (None: the process's own `LEDGER`).
        transform_input: as in scikit-learn.
        memory: as in scikit-learn; None if a step before the last is private.
        verbose: as in scikit-learn.

    Attributes after fit: `guarantee_` (of everything), `epsilons_` (what each private step could spend).
    """

    def __init__(
        self,
        steps: Any,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        shares: Mapping[str, float] | None = None,
        relation: str = "replace",
        random_state: Any = None,
        ledger: Ledger | None = None,
        transform_input: Any = None,
        memory: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(steps, transform_input=transform_input, memory=memory, verbose=verbose)
        self.epsilon = epsilon
        self.delta = delta
        self.shares = shares
        self.relation = relation
        self.random_state = random_state
        self.ledger = ledger

    @property
    def classes(self) -> Any:
        """The classes that the last step declares (None: it declares none)."""
        return getattr(self._final_estimator, "classes", None)

    @np.errstate(all="ignore")  # whether something overflows in a step depends on the data
    def fit(self, X: Any, y: Any = None, **params: Any) -> PrivatePipeline:
        """Train all steps within one budget; the spending is recorded before the data are used.

        Args:
            X: rows of features.
            y: labels or targets.
            params: as in scikit-learn.
        """
        private = self._private_steps()
        declared = self.classes
        classes = len(class_labels(y if declared is None else declared)) if y is not None else 1
        shape = _Shape(*_shape(X), classes, is_sparse(X))
        self._refuse_hidden(private)
        widths, mixing = self._widths(private, shape)
        self._warn_of_others(private, mixing)
        epsilons = self._epsilons(private, shape, widths)
        guarantee = self._together(self._contracts(epsilons, shape, widths))
        source = randomness_of(self.random_state)
        stamped = guarantee.with_randomness(source.label)
        spend(self.ledger, "PrivatePipeline.fit", stamped)
        before = {name: private[name].get_params(deep=False) for name in private}
        refused = ""
        try:
            for number, (name, step) in enumerate(private.items()):
                step.set_params(**self._settings(epsilons[name], len(private)), random_state=source.child(number))
            super().fit(X, y, **params)
        except TacitError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:  # of a step that is not private, about the data
            refused = type(error).__name__
        finally:
            for name, step in private.items():  # a fit leaves parameters as they were
                step.set_params(**before[name])
        if refused:  # not inside of the handler: an error keeps the one that it was raised in
            raise InvalidInput(
                f"A step of PrivatePipeline could not take the data ({refused}); its words may quote them, and are not "
                "shown: fit the steps before the private ones alone to see them."
            )
        fitted = dict(self.steps)
        self._check_spent([fitted[name].guarantee_ for name in private], guarantee)
        self.guarantee_, self.epsilons_ = stamped, epsilons
        return self

    def __getitem__(self, ind: Any) -> Any:
        """A step, or for a slice some of them, with the budget, the relation and the ledger of all."""
        found = super().__getitem__(ind)
        if isinstance(found, PrivatePipeline) and isinstance(ind, slice):
            kept = ("epsilon", "delta", "relation", "random_state", "ledger")
            found.set_params(**{name: getattr(self, name) for name in kept})
        return found

    @available_if(lambda self: hasattr(self._final_estimator, "transform"))
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """`fit`, then `transform`."""
        return self.fit(X, y, **params).transform(X)

    @available_if(lambda self: hasattr(self._final_estimator, "predict"))
    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> Any:
        """`fit`, then `predict`."""
        return self.fit(X, y, **params).predict(X)

    def public_guarantee(
        self, n_samples: int, n_features: int, n_classes: int = 2, *, sparse: bool = False
    ) -> Guarantee:
        """What a fit of this shape will spend: known before any data, and the same for all data."""
        private, shape = self._private_steps(), _Shape(n_samples, n_features, n_classes, sparse)
        widths, _ = self._widths(private, shape)
        return self._together(self._contracts(self._epsilons(private, shape, widths), shape, widths))

    def _private_steps(self) -> dict[str, Any]:
        check_privacy("PrivatePipeline", self.epsilon, self.delta)
        check_choice("PrivatePipeline", "relation", str(self.relation), ("replace", "zero-out"))
        found = {name: step for name, step in self.steps if hasattr(step, "public_guarantee")}
        if not found:
            raise InvalidInput("A PrivatePipeline needs at least one private step of tacit.estimators.")
        if len({id(step) for step in found.values()}) < len(found):
            raise InvalidInput("A PrivatePipeline needs another object for each private step: a budget is set in each.")
        charged = [name for name, step in found.items() if step.ledger is not None and step.ledger is not self.ledger]
        if charged:
            raise InvalidInput(
                f"The 'ledger' of step {charged[0]!r} would not be charged: give it to the PrivatePipeline, which "
                "writes one entry for all steps."
            )
        if self.memory is not None and any(name in found for name, _ in self.steps[:-1]):
            raise InvalidInput(
                "The 'memory' of a PrivatePipeline must be None if a step before the last is private: a cache would "
                "answer with noise that was used before."
            )
        return found

    def _shares(self, private: Mapping[str, Any]) -> dict[str, float]:
        if self.shares is None:
            *before, last = private
            return {**{name: BEFORE / len(before) for name in before}, last: 1 - BEFORE if before else 1.0}
        if set(self.shares) != set(private):
            raise InvalidInput(
                f"The 'shares' of PrivatePipeline must name its private steps, {', '.join(private)}. "
                f"Got {', '.join(map(str, self.shares))} instead."
            )
        shares = {name: check_number("PrivatePipeline", "shares", self.shares[name], above=0.0) for name in private}
        if not abs(sum(shares.values()) - 1) <= 1e-9:
            raise InvalidInput(
                f"The 'shares' of PrivatePipeline must add up to 1. Got {sum(shares.values())!r} instead."
            )
        return shares

    def _epsilons(self, private: Mapping[str, Any], shape: _Shape, widths: Mapping[str, int]) -> dict[str, float]:
        """What each private step may spend: its share, stretched by what composition saves."""
        shares = self._shares(private)
        if len(shares) == 1 or self.delta == 0:
            return {name: share * self.epsilon * (1 - 1e-9) for name, share in shares.items()}

        def cost(whole: float) -> float:
            epsilons = {name: share * whole for name, share in shares.items()}
            return self._together(self._contracts(epsilons, shape, widths)).epsilon(self.delta)

        whole = largest(cost, self.epsilon, self.epsilon * 0.999, 2 * self.epsilon, 5e-3)
        return {name: share * whole for name, share in shares.items()}

    def _settings(self, epsilon: float, count: int) -> dict[str, Any]:
        # The pipeline's own entry covers these fits: a ledger of their own keeps them from being counted twice.
        return {"epsilon": epsilon, "delta": self.delta / count, "relation": self.relation, "ledger": Ledger()}

    def _contracts(self, epsilons: Mapping[str, float], shape: _Shape, widths: Mapping[str, int]) -> list[Guarantee]:
        """The contract of each private step."""
        found = []
        for name, step in self.steps:
            if name in epsilons:
                planned = clone(step).set_params(**self._settings(epsilons[name], len(epsilons)))
                found.append(planned.public_guarantee(shape.rows, widths[name], shape.classes, sparse=shape.sparse))
        return found

    def _widths(self, private: Mapping[str, Any], shape: _Shape) -> tuple[dict[str, int], list[str]]:
        """How wide the rows are at each private step, and which steps make a row out of several: by public rows."""
        table, found, mixing = _public_table(shape), {}, []
        labels = np.arange(table.shape[0]) % shape.classes
        for name, step in self.steps:
            if name in private:
                found[name] = int(table.shape[1])
            elif step not in (None, "passthrough") and hasattr(step, "transform"):
                made = _tried(name, step, table, labels)
                if not get_tags(step).requires_fit and _mixes(step, table, labels, made):
                    mixing.append(name)
                table = made
        return found, mixing

    def _together(self, contracts: list[Guarantee]) -> Guarantee:
        return Guarantee(
            curve=compose([contract.curve for contract in contracts], [self.delta / len(contracts)] * len(contracts)),
            at_delta=self.delta,
            released="; ".join(contract.released for contract in contracts),
            theorem="composition of " + "; ".join(contract.theorem for contract in contracts),
            relation=Relation(self.relation),
            unit="one record",
            numerics=composed_numerics([contract.numerics for contract in contracts]),
        )

    def _check_spent(self, spent: list[Guarantee], charged: Guarantee) -> None:
        if self._together(spent).epsilon(self.delta) > charged.epsilon(self.delta) * (1 + 1e-9):
            raise PrivacyError(
                "A step of this PrivatePipeline made rows of another width than it does of public ones, and more was "
                "spent than was charged: do not release this model."
            )

    def _refuse_hidden(self, private: Mapping[str, Any]) -> None:
        for name, step in self._others(private):
            if any(hasattr(part, "public_guarantee") for part in step.get_params().values()):
                raise InvalidInput(
                    f"Step {name!r} of this PrivatePipeline has a private one inside, whose budget it cannot set: make "
                    "that a step of its own."
                )

    def _others(self, private: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """The steps that are not private."""
        return [(name, step) for name, step in self.steps if name not in private and step not in (None, "passthrough")]

    def _warn_of_others(self, private: Mapping[str, Any], mixing: list[str]) -> None:
        for name, step in self._others(private):
            if get_tags(step).requires_fit:
                warnings.warn(
                    f"Step {name!r} of this PrivatePipeline is fitted on the data, and the guarantee does not cover "
                    "what it learns.",
                    PrivacyWarning,
                    stacklevel=3,
                )
            elif name in mixing:
                warnings.warn(
                    f"Step {name!r} of this PrivatePipeline does something else to a row alone than among others: "
                    "the guarantee does not cover what one record does to the rows of others.",
                    PrivacyWarning,
                    stacklevel=3,
                )


class _Shape(NamedTuple):
    """What is public of the data: rows, columns, classes, and the format."""

    rows: int
    width: int
    classes: int
    sparse: bool


def _public_table(shape: _Shape) -> Any:
    """Rows that have nothing to do with the data, enough of them for steps that make columns out of rows."""
    stream = Randomness.replayable(0).stream("public rows")
    if shape.sparse:
        count = min(shape.rows, _PUBLIC_ROWS)
        places = (np.repeat(np.arange(count), 8), stream.integers(shape.width, size=8 * count))
        return sparse.csr_array((stream.uniform(size=8 * count), places), shape=(count, shape.width))
    count = min(shape.rows, _PUBLIC_ROWS, max(2, _PUBLIC_ENTRIES // max(1, shape.width)))
    return stream.uniform(size=(count, shape.width))


def _tried(name: str, step: Any, table: Any, labels: Any) -> Any:
    """What a step that is not private makes of public rows; of zeros, if it does not take others."""
    for rows in (table, 0 * table):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return clone(step).fit_transform(rows, labels)
        except Exception:  # whatever a step does not like about these rows
            continue
    raise InvalidInput(
        f"Step {name!r} of this PrivatePipeline takes no public rows of numbers, by which the width of what it makes "
        "is found: apply it to the data beforehand."
    )


def _shape(X: Any) -> tuple[int, int]:
    """Rows and columns of a table, whatever holds it."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2:
        raise InvalidInput("The rows of a PrivatePipeline must be a table of two axes.")
    return int(shape[0]), int(shape[1])


def _mixes(step: Any, table: Any, labels: Any, made: Any) -> bool:
    """Whether what a step makes of the first or the last public row depends on the others."""
    try:
        for rows in (slice(0, 1), slice(table.shape[0] - 1, None)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                alone = clone(step).fit(table[rows], labels[rows]).transform(table[rows])
            row, other = (np.asarray(part.todense() if is_sparse(part) else part) for part in (alone, made[rows]))
            if row.shape != other.shape or not np.allclose(row, other, rtol=1e-6, equal_nan=True):
                return True
    except Exception:  # it cannot do with one row what it does with many
        return True
    return False


def private_pipeline(
    steps: Any,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    shares: Mapping[str, float] | None = None,
    relation: str = "replace",
    random_state: Any = None,
    ledger: Ledger | None = None,
) -> PrivatePipeline:
    """A pipeline of these steps under one guarantee.

    Args:
        steps: steps, named after their classes, or pairs (name, step).
        epsilon: privacy budget of one fit of all steps.
        delta: failure probability of all steps together.
        shares: the share of epsilon of each private step, by name (None: three tenths for all before the last).
        relation: "replace" or "zero-out".
        random_state: only for tests: makes the noise replayable, with a warning.
        ledger: where the spending is recorded (None: the process's own `LEDGER`).

    >>> from sklearn.preprocessing import Normalizer
    >>> from tacit.estimators import PrivateLinearSVC, PrivateStandardScaler
    >>> steps = [PrivateStandardScaler(bounds=(0, 1)), Normalizer(), PrivateLinearSVC(data_norm=1.0, classes=[0, 1])]
    >>> model = private_pipeline(steps, epsilon=1.0, delta=1e-6)
    >>> round(model.public_guarantee(1000, 5).epsilon(), 2)
    1.0
    """
    named = [step for step in steps if isinstance(step, tuple)]
    if named and len(named) < len(steps):
        raise InvalidInput("The 'steps' of private_pipeline must be all steps, or all pairs (name, step).")
    return PrivatePipeline(
        list(steps) if named else make_pipeline(*steps).steps,
        epsilon=epsilon,
        delta=delta,
        shares=shares,
        relation=relation,
        random_state=random_state,
        ledger=ledger,
    )
