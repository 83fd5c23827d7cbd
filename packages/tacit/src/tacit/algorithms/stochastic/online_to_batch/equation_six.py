"""The tree of the paper's equation (6): its noise follows the bound of Lemma 15, not the exact differences.

Node t has noise of scale sigma_t proportional to s_t = (k+1)(G' + H' max_{i<=t} |w_i - x_{i-1}|) t^(k-1). The
difference of a record at step q is clipped to C_q = (beta_q - beta_{q-1}) G + beta_{q-1} H |x_q - x_{q-1}|, where
|x_q - x_{q-1}| = (beta_q/beta_{1:q}) |w_q - x_{q-1}|. In m = |w_q - x_{q-1}| the ratio C_q/s_q lies between its values
at m = 0 and at m = D, so it is at most r_q, the larger of the two; and s_t >= s_q (t/q)^(k-1) for t >= q. In units of
the scale one person therefore moves the draws by at most

    max_q r_q (sum over the nodes t that cover q of (q/t)^(2k-2))^(1/2),

in l2, which is `column_norm`; pure noise costs the sum of r_q (q/t)^(k-1). The print counts log2(2T) nodes at ratio 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.accounting.curves import ROUND_UP
from tacit.noise.running_sums import LaplaceTree, Tree
from tacit.noise.running_sums.tree import NodeTree
from tacit.printed import online_to_batch as printed
from tacit.validation import FloatArray, check_number, check_positive

SLACK = 1e-4
"""By how much rounding a clipped difference to whole steps may raise its ratio: plans check it of their lattice."""


@dataclass(frozen=True)
class Sized(NodeTree):
    """What Gaussian and pure trees of equation (6) share.

    Attributes:
        power: k of the weights t^k, at least 1.
        lipschitz: G, to which differences are clipped.
        smoothness: H, the same.
        diameter: D, of the domain.
        steepest: G' of equation (6): with a regulariser, whose gradient is public, that of the whole loss.
        curvature: H' of equation (6), the same.
    """

    power: float = 1.0
    lipschitz: float = 1.0
    smoothness: float = 0.0
    diameter: float = 1.0
    steepest: float = 1.0
    curvature: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check_number(owner, "power", self.power, above=1.0, closed_low=True)
        for name in ("lipschitz", "diameter", "steepest"):
            check_positive(owner, name, getattr(self, name))
        for name in ("smoothness", "curvature"):
            check_number(owner, name, getattr(self, name), above=0.0, closed_low=True)

    def size(self, step: int, farthest: float) -> float:
        """Return s_t, in whose units the noise of a node is scaled, at the largest |w_i - x_{i-1}| so far."""
        return printed.lemma_15(self.power, self.steepest, self.curvature, farthest, float(step))

    def largest_sizes(self) -> FloatArray:
        """Return the largest s_t that can occur, t = 1, ..., steps."""
        t = np.arange(1.0, self.steps + 1)
        return (self.power + 1) * (self.steepest + self.curvature * self.diameter) * t ** (self.power - 1)

    @cached_property
    def ratios(self) -> FloatArray:
        """r_q, the largest C_q/s_q, for q = 1, ..., steps."""
        t = np.arange(1.0, self.steps + 1)
        beta = t**self.power
        before = np.concatenate([[0.0], beta[:-1]])[: self.steps]
        grown = (self.power + 1) * t ** (self.power - 1)
        level = (beta - before) * self.lipschitz / grown
        moving = before * self.smoothness * (beta / np.cumsum(beta)) / grown
        still = level / self.steepest
        farthest = (level + moving * self.diameter) / (self.steepest + self.curvature * self.diameter)
        return np.asarray(np.maximum(still, farthest) * ROUND_UP)

    def _column(self, exponent: float) -> float:
        """Return the largest sum over the nodes of a record of (its ratio times what they have grown) ^ exponent."""
        q = np.arange(1, self.steps + 1)
        totals = np.zeros(self.steps)
        node = q.copy()  # the node of step q itself, then the next ones that cover it
        while (inside := node <= self.steps).any():
            grown = (q[inside] / node[inside]) ** (exponent * (self.power - 1))
            totals[inside] += grown
            node = node + (node & -node)
        worst = np.max(totals * (self.ratios + SLACK) ** exponent, initial=0.0)
        return float(worst) * ROUND_UP


@dataclass(frozen=True)
class EquationSixTree(Sized, Tree):
    """The binary tree with Gaussian noise that follows equation (6)."""

    @cached_property
    def column_norm(self) -> float:
        """The largest l2 norm that a record has among the draws, in units of their scale."""
        return float(np.sqrt(self._column(2.0))) * ROUND_UP


@dataclass(frozen=True)
class PureEquationSixTree(Sized, LaplaceTree):
    """The binary tree with pure noise that follows equation (6), rho replaced by epsilon."""

    @cached_property
    def column_norm(self) -> float:
        """The largest sum of a record's ratios among the draws."""
        return self._column(1.0)
