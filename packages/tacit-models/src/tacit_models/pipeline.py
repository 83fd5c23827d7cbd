"""A scikit-learn pipeline with one budget: its private steps share epsilon and delta, under one contract.

Shares are of epsilon. Composition is better than adding up, so all shares are stretched by the largest public factor
for which the steps, composed, meet the budget. The contract is written down once, before any step sees the data.

The contract covers steps that are private, and steps that do to a row alone what they do to it among others. Those are
known in two ways, and need both: by their kind (`learns_nothing`), and by a trial on public rows, which are numbers. A
`PublicTable` needs no trial.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.metaestimators import available_if

from tacit.accounting.calibration import largest
from tacit.accounting.composition import compose
from tacit.accounting.guarantee import Guarantee, Relation
from tacit.accounting.rounding import composed_numerics
from tacit.errors import InvalidInput, PrivacyError, TacitError
from tacit.noise.randomness import Randomness
from tacit.validation import check_choice, check_privacy
from tacit_models.budget import UsefulnessWarning
from tacit_models.ledger import Ledger, PrivacyWarning, randomness_of, spend
from tacit_models.published import Exported, learns_nothing
from tacit_models.records import class_labels, is_sparse
from tacit_models.table import PublicTable

BEFORE = 0.3
"""The share of epsilon of all private steps before the last one."""
# Of the table on which other steps are tried.
_PUBLIC_ROWS = 1024
_PUBLIC_ENTRIES = 1 << 22


def _of_the_last_step(name: str) -> Any:
    """The method of a `Pipeline` that the last step has too; whatever a step says of the rows is not shown."""

    def called(self: PrivatePipeline, *data: Any, **params: Any) -> Any:
        return without_words(getattr(super(PrivatePipeline, self), name), *data, **params)

    called.__name__, called.__doc__ = name, f"`{name}` of the last step; whatever a step says of the rows is not shown."
    return available_if(lambda self: hasattr(self._final_estimator, name))(called)


class PrivatePipeline(Exported, Pipeline):
    """Steps of scikit-learn and of this package under one guarantee; make it with `private_pipeline`.

    Privacy contract: `guarantee_`, about one record, of everything that the private steps release. Enforced: their
    epsilon, delta, relation, noise and ledger are set by the pipeline. Not covered: what other steps learn from the
    data; a `PrivacyWarning` names them.

    Args:
        steps: pairs (name, step) as in scikit-learn.
        epsilon: privacy budget of one fit of all steps.
        delta: failure probability of all steps together.
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
        self.relation = relation
        self.random_state = random_state
        self.ledger = ledger

    @property
    def classes(self) -> Any:
        """The classes that the last step declares (None: it declares none)."""
        return getattr(self._final_estimator, "classes", None)

    @np.errstate(all="ignore")  # whether something overflows in a step depends on the data
    def fit(self, X: Any, y: Any = None, **params: Any) -> PrivatePipeline:
        """Train all steps within one budget; the spending is recorded before the data are used."""
        private = self._private_steps()
        shape = self._shape_of(X, y)
        self._refuse_hidden(private)
        tried = self._tried(private, shape)
        self._warn_of_others(private, tried)
        epsilons = self._epsilons(private, shape, tried.inputs)
        guarantee = self._together(self._contracts(epsilons, shape, tried.inputs))
        source = randomness_of(self.random_state, level=3)
        stamped = guarantee.with_randomness(source.label)
        spend(self.ledger, "PrivatePipeline.fit", stamped)
        before = {name: private[name].get_params(deep=False) for name in private}
        try:
            for number, (name, step) in enumerate(private.items()):
                step.set_params(
                    **self._settings(step, tried.inputs[name], epsilons[name], len(private)),
                    random_state=source.child(number),
                )
            without_words(super().fit, X, y, **params)
        finally:
            for name, step in private.items():  # a fit leaves parameters as they were
                step.set_params(**before[name])
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

    predict = _of_the_last_step("predict")
    predict_proba = _of_the_last_step("predict_proba")
    predict_log_proba = _of_the_last_step("predict_log_proba")
    decision_function = _of_the_last_step("decision_function")
    transform = _of_the_last_step("transform")
    score = _of_the_last_step("score")

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
        """Give the guarantee of a fit of this shape: known before any data, and the same for all data.

        Args:
            n_samples: rows.
            n_features: columns of the table that the first step gets.
            n_classes: classes of the labels.
            sparse: whether the table is a sparse matrix.
        """
        private = self._private_steps()
        shape = _Shape(n_samples, n_features, n_classes, sparse)
        inputs = self._tried(private, shape).inputs
        return self._together(self._contracts(self._epsilons(private, shape, inputs), shape, inputs))

    def _shape_of(self, X: Any, y: Any) -> _Shape:
        """What is public of the data."""
        known = None if y is None else class_labels(y)  # labels of two kinds are refused before anything is spent
        classes = 1 if known is None else len(known if self.classes is None else class_labels(self.classes))
        return _Shape(*table_shape(X), classes, is_sparse(X))

    def _private_steps(self) -> dict[str, Any]:
        check_privacy("PrivatePipeline", self.epsilon, self.delta)
        check_choice("PrivatePipeline", "relation", str(self.relation), ("replace", "zero-out"))
        found = {name: step for name, step in self.steps if hasattr(step, "public_guarantee")}
        if not found:
            raise InvalidInput("A PrivatePipeline needs at least one private step of tacit_models.")
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

    def _epsilons(self, private: Mapping[str, Any], shape: _Shape, inputs: Mapping[str, _Input]) -> dict[str, float]:
        """What each private step may spend: its share, stretched by what composition saves."""
        *before, last = private
        shares = {**{name: BEFORE / len(before) for name in before}, last: 1 - BEFORE if before else 1.0}
        if len(shares) == 1 or self.delta == 0:
            return {name: share * self.epsilon * (1 - 1e-9) for name, share in shares.items()}

        def cost(whole: float) -> float:
            epsilons = {name: share * whole for name, share in shares.items()}
            return self._together(self._contracts(epsilons, shape, inputs)).epsilon(self.delta)

        whole = largest(cost, self.epsilon, self.epsilon * 0.999, 2 * self.epsilon, 5e-3)
        return {name: share * whole for name, share in shares.items()}

    def _settings(self, step: Any, given: _Input, epsilon: float, count: int) -> dict[str, Any]:
        # The pipeline's own entry covers these fits: a ledger of their own keeps them from being counted twice.
        found = {"epsilon": epsilon, "delta": self.delta / count, "relation": self.relation, "ledger": Ledger()}
        if given.norm is not None and getattr(step, "data_norm", 0) is None:
            found["data_norm"] = given.norm
        return found

    def _contracts(self, epsilons: Mapping[str, float], shape: _Shape, inputs: Mapping[str, _Input]) -> list[Guarantee]:
        """The contract of each private step."""
        found = []
        for name, step in self.steps:
            if name in epsilons:
                given = inputs[name]
                planned = clone(step).set_params(**self._settings(step, given, epsilons[name], len(epsilons)))
                found.append(planned.public_guarantee(shape.rows, given.width, shape.classes, sparse=given.sparse))
        return found

    def _tried(self, private: Mapping[str, Any], shape: _Shape) -> _Tried:
        """What each private step gets, and what other steps do to rows: by public rows."""
        table, norm, inputs, mixing = _public_rows(shape.rows, shape.width, shape.sparse), None, {}, []
        for name, step in self.steps:
            if name in private:
                inputs[name] = _Input(int(table.shape[1]), is_sparse(table), norm)
                norm = None
            elif isinstance(step, PublicTable):
                table, norm = _public_rows(shape.rows, step.width, step.makes_sparse), step.row_norm
            elif step not in (None, "passthrough") and hasattr(step, "transform"):
                labels = np.arange(table.shape[0]) % shape.classes
                made = _made(name, step, table, labels)
                if learns_nothing(step) and _mixes(step, table, labels, made):
                    mixing.append(name)
                table, norm = made, None
        return _Tried(inputs, mixing)

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

    def _warn_of_others(self, private: Mapping[str, Any], tried: _Tried) -> None:
        for name, step in self._others(private):
            if not learns_nothing(step):
                told = "is fitted on the data, and the guarantee does not cover what it learns."
            elif name in tried.mixing:
                told = (
                    "does something else to a row alone than among others: the guarantee does not cover what one "
                    "record does to the rows of others."
                )
            else:
                continue
            warnings.warn(f"Step {name!r} of this PrivatePipeline {told}", PrivacyWarning, stacklevel=3)


class _Shape(NamedTuple):
    """What is public of the data: rows, columns, classes and the format."""

    rows: int
    width: int
    classes: int
    sparse: bool


class _Input(NamedTuple):
    """What is public of the rows that a private step gets; their norm if a step before declares it."""

    width: int
    sparse: bool
    norm: float | None


class _Tried(NamedTuple):
    """What a trial on public rows found: inputs of private steps, and steps that mix rows."""

    inputs: dict[str, _Input]
    mixing: list[str]


def without_words(call: Callable[..., Any], *data: Any, **params: Any) -> Any:
    """The result of a call; errors and warnings of steps that are not private may quote the data, and are not shown.

    Warnings of this package are passed on: they depend on public numbers only.
    """
    refused = ""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            found = call(*data, **params)
        except (TacitError, NotFittedError):
            raise
        except Exception as error:
            refused = type(error).__name__
    for warning in caught:
        if issubclass(warning.category, PrivacyWarning | UsefulnessWarning):
            warnings.warn(warning.message, stacklevel=3)
    if refused:  # not inside of the handler: an error keeps the one that it was raised in
        raise InvalidInput(
            f"A step that is not private could not take the data ({refused}); its words may quote them, and are not "
            "shown: try that step alone to see them."
        )
    return found


def _public_rows(records: int, width: int, as_sparse: bool) -> Any:
    """Numbers that have nothing to do with the data, in rows enough for steps that make columns out of rows."""
    stream = Randomness.replayable(0).stream("public rows")
    if as_sparse:
        count = min(records, _PUBLIC_ROWS)
        places = (np.repeat(np.arange(count), 8), stream.integers(width, size=8 * count))
        return sparse.csr_array((stream.uniform(size=8 * count), places), shape=(count, width))
    count = min(records, _PUBLIC_ROWS, max(2, _PUBLIC_ENTRIES // max(1, width)))
    return stream.uniform(size=(count, width))


def _made(name: str, step: Any, table: Any, labels: Any) -> Any:
    """What a step that is not private makes of public rows."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return clone(step).fit_transform(table, labels)
    except Exception:  # whatever a step does not like about these rows
        pass
    raise InvalidInput(
        f"Step {name!r} of this PrivatePipeline takes no public rows of numbers, by which the width of what it makes "
        "is found: apply it to the data beforehand, or declare the columns by a PublicTable."
    )


def table_shape(X: Any) -> tuple[int, int]:
    """Rows and columns of a table, whatever holds it."""
    try:
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
    except ValueError:  # rows of several lengths
        shape = ()
    if len(shape) != 2:
        raise InvalidInput("The rows of a PrivatePipeline must be a table of two axes.")
    return int(shape[0]), int(shape[1])


def _mixes(step: Any, table: Any, labels: Any, made: Any) -> bool:
    """Whether what a step makes of the first or the last public row depends on the others."""
    try:
        for rows in (slice(0, 1), slice(table.shape[0] - 1, None)):
            with warnings.catch_warnings(action="ignore"):
                alone = clone(step).fit(table[rows], labels[rows]).transform(table[rows])
            one, two = (np.asarray(part.todense() if is_sparse(part) else part) for part in (alone, made[rows]))
            if one.shape != two.shape or not np.allclose(one, two, rtol=1e-6, equal_nan=True):
                return True
    except Exception:  # it cannot do with one row what it does with many
        return True
    return False


def private_pipeline(steps: Any, **budget: Any) -> PrivatePipeline:
    """Make a pipeline of these steps under one guarantee.

    Args:
        steps: steps, named after their classes, or pairs (name, step).
        budget: epsilon, delta, relation, random_state and ledger, as in `PrivatePipeline`.

    >>> from sklearn.preprocessing import Normalizer
    >>> from tacit_models import PrivateLinearSVC, PrivateStandardScaler
    >>> steps = [PrivateStandardScaler(bounds=(0, 1)), Normalizer(), PrivateLinearSVC(data_norm=1.0, classes=[0, 1])]
    >>> model = private_pipeline(steps, epsilon=1.0, delta=1e-6)
    >>> round(model.public_guarantee(1000, 5).epsilon(), 2)
    1.0
    """
    named = [step for step in steps if isinstance(step, tuple)]
    if named and len(named) < len(steps):
        raise InvalidInput("The 'steps' of private_pipeline must be all steps, or all pairs (name, step).")
    return PrivatePipeline(list(steps) if named else make_pipeline(*steps).steps, **budget)
