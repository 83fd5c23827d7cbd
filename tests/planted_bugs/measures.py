"""Planted bugs in L2P on a measure of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, around, planting, swap
from planted_bugs.convex import no_limit
from planted_bugs.experts import searched
from tacit.accounting.guarantee import ZERO_OUT
from tacit.algorithms.measures import L2PMeasure, OwnMeasure
from tacit.algorithms.measures.l2p_measure import History
from tacit.problems import Problem
from tacit.releases import LazyChain, Neighbours
from tacit.runtime.two_chains import TwoChains


@dataclass(frozen=True)
class TwoNames(OwnMeasure):
    """Exponential weights on two names; its log factors may be steeper than what it declares and draws by."""

    steep: float = 1.0
    limit: float = 0.3
    feedback_shape: tuple[int, ...] = (2,)

    @property
    def extremes(self) -> tuple[Any, ...]:
        """Every pair of losses."""
        return tuple(np.array(row, dtype=float) for row in np.ndindex(2, 2))

    def log_factor(self, decision: Any, feedback: Any) -> float:
        """Minus the loss."""
        return -self.steep * self.limit * float(feedback[decision])

    def sample(self, history: Any, generator: Any) -> int:
        """By one uniform number."""
        total = history.sum(axis=0)
        return int(not generator.random() < 1 / (1 + exp(self.limit * float(total[0] - total[1]))))


HONEST = L2PMeasure(Problem(horizon=3), TwoNames(), force=0.3)
STEEP = L2PMeasure(Problem(horizon=3), TwoNames(steep=9.0), force=0.3)


@around
def _counted_thrice(honest: Any, self: History, source: Any) -> Any:
    """Draws see every round three times."""
    rows = np.repeat(self._rows[: self.count], 3, axis=0)
    return self._measure.sample(rows, source)


@around
def _half_range(honest: Any, release: Any, among: Any) -> Any:
    """Coins and draws are accounted for as if a person had one side only."""
    return honest(release, Neighbours(ZERO_OUT, among.rounds))


def fresh(plan: L2PMeasure) -> L2PMeasure:
    """The same plan with nothing computed yet."""
    return L2PMeasure(plan.problem, plan.measure, plan.force)


in_experts = planting("experts")
CONTROLS: tuple[Control, ...] = (
    in_experts("draws that see every round three times (a measure of one's own)", History, "sample", _counted_thrice,
               lambda: searched(fresh(HONEST), 8)),
    in_experts("ratios not clipped (a measure of one's own)", TwoChains, "absorb", no_limit,
               lambda: searched(fresh(STEEP), 8)),
    Control(
        "a person moves a measure by one side only", "accounting",
        swap(LazyChain, "curve", _half_range), lambda: searched(fresh(HONEST), 8),
    ),
)  # fmt: skip
