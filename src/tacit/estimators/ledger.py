"""What was spent: every fit writes its guarantee into a ledger, and a ledger adds them up.

Cloning an estimator shares its ledger, so a grid search cannot hide its fits. A ledger cannot be copied into
another process, where its entries would be lost: it refuses to be pickled, loudly. Without one of their own,
estimators write into `LEDGER`, one for the whole process.
"""

from __future__ import annotations

import multiprocessing
import threading
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

from tacit.errors import PrivacyError
from tacit.learners.stochastic.objective_accounting import GaussianAlternatives, composable, composed
from tacit.privacy.curves import ROUND_UP, Curve, Gaussian, SamplerError, compose
from tacit.privacy.guarantee import Guarantee
from tacit.validation import check_privacy, invalid


class PrivacyWarning(UserWarning):
    """Something about this fit is not covered by its guarantee."""


class Ledger:
    """A list of guarantees about the same people, and their composition.

    Args:
        epsilon: a budget; a fit that would exceed it at `delta` raises before it sees the data.
        delta: the delta of the budget.

    >>> ledger = Ledger(epsilon=1.0, delta=1e-6)
    >>> ledger.epsilon(1e-6)
    0.0
    """

    def __init__(self, epsilon: float | None = None, delta: float = 1e-6) -> None:
        check_privacy("Ledger", 1.0 if epsilon is None else epsilon, delta)
        self._budget = epsilon
        self._delta = delta
        self._entries: list[tuple[str, Guarantee]] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[str, Guarantee]]:
        return iter(tuple(self._entries))

    def record(self, name: str, guarantee: Guarantee) -> None:
        """Write one spending down; raises, and writes nothing, if it would exceed the budget."""
        if not isinstance(guarantee, Guarantee):
            raise invalid("Ledger.record", "guarantee", "a Guarantee", guarantee)
        with self._lock:
            if self._budget is not None:
                total = total_curve([*(entry.curve for _, entry in self._entries), guarantee.curve])
                spent = total.epsilon(self._delta)
                if not spent <= self._budget * (1 + 1e-9):
                    raise PrivacyError(
                        f"This {name} would bring the ledger to epsilon={spent:.4g} at delta={self._delta:g}; "
                        f"its budget is {self._budget:g}. Nothing was spent."
                    )
            self._entries.append((name, guarantee))

    def epsilon(self, delta: float) -> float:
        """Certified epsilon of everything in the ledger together, as if all of it were about the same people.

        Relations must agree, since an epsilon of one says nothing about the other.
        """
        relations = {entry.relation for _, entry in self._entries}
        if len(relations) > 1:
            raise PrivacyError("This ledger holds guarantees under both relations: they have no common epsilon.")
        return total_curve([entry.curve for _, entry in self._entries]).epsilon(delta) if self._entries else 0.0

    def clear(self) -> None:
        """Forget everything: for other people's data."""
        with self._lock:
            self._entries.clear()

    def __str__(self) -> str:
        lines = [f"{len(self)} entries"]
        lines += [f"  {name}: epsilon={g.epsilon():.4g} at delta={g.at_delta:g}, {g.relation}" for name, g in self]
        if len({g.relation for _, g in self}) == 1:
            delta = max(g.at_delta for _, g in self)
            lines.append(f"together: epsilon={self.epsilon(delta):.4g} at delta={delta:g}")
        return "\n".join(lines)

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> NoReturn:
        raise PrivacyError(
            "A Ledger cannot be sent to another process: what is spent there would be lost. "
            "Use threads or n_jobs=1 (to save a fitted model, set its ledger to None first)."
        )


LEDGER = Ledger()
"""Where estimators without a ledger of their own write: everything this process has spent."""


def spend(ledger: Ledger | None, name: str, guarantee: Guarantee) -> None:
    """Record a fit in its ledger, or in the process's own."""
    if ledger is None and multiprocessing.parent_process() is not None:
        warnings.warn(
            f"This {name} runs in a worker process, whose spending the parent does not see: add up the guarantee_ of "
            "every fit, or use PrivateGridSearch or n_jobs=1.",
            PrivacyWarning,
            stacklevel=3,
        )
    (LEDGER if ledger is None else ledger).record(name, guarantee)


def total_curve(curves: list[Curve]) -> Curve:
    """The composition, exact for objective perturbation and Gaussian mechanisms together."""
    errors = [curve for curve in curves if isinstance(curve, SamplerError)]
    if errors:
        inner = total_curve([curve.curve if isinstance(curve, SamplerError) else curve for curve in curves])
        return SamplerError(inner, sum(curve.distance * curve.draws for curve in errors) * ROUND_UP, 1)
    if len(curves) > 1 and all(composable(curve) for curve in curves):
        exact = [curve for curve in curves if isinstance(curve, GaussianAlternatives | Gaussian)]
        if any(isinstance(curve, GaussianAlternatives) for curve in exact) and len(exact) <= 64:
            return composed(exact)
    return compose(curves)
