"""What a learner is compared with: the best expert, and the best sequence of experts with few switches.

The best fixed point in hindsight, with a proof of how good it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.convex_set import BarrierSet, ConvexSet, ProjectableSet
from tacit.errors import InvalidInput
from tacit.losses import LinearLoss, LinkLoss, QuadraticLoss
from tacit.losses.custom import parted
from tacit.losses.loss import RowLoss
from tacit.solvers.loss_sums import UNIT, LossSum, hull_rows, loss_sum
from tacit.solvers.minimum import constrained_minimum
from tacit.validation import FloatArray, IntArray, check_integer, check_positive, real_array


@dataclass(frozen=True)
class BestPoint:
    """A fixed point of (almost) smallest total loss.

    Attributes:
        point: the point of the domain.
        loss: its total loss over all rounds.
        gap: a proved bound on how much smaller the smallest total loss can be.
    """

    point: FloatArray
    loss: float
    gap: float


def best_fixed_point(loss: RowLoss, data: Any, domain: ConvexSet, tolerance: float = 1e-8) -> BestPoint:
    """The best point of the domain for a whole stream, to within `tolerance` times max(1, loss at the centre).

    Linear losses use the linear oracle, quadratic ones the projection of the mean target; generalised linear
    losses, regularised or not, are minimised by an interior-point method whose gap the linear oracle proves.

    >>> from tacit.domains import Ball
    >>> best_fixed_point(LinearLoss(), [[1.0, 0.0], [0.5, 0.0]], Ball(2)).loss
    -1.5
    """
    check_positive("best_fixed_point", "tolerance", tolerance)
    if not isinstance(loss, RowLoss) or not isinstance(domain, ConvexSet):
        raise InvalidInput(f"The best fixed point of {loss!r} over {domain!r} cannot be certified.")
    rows = loss.pack(data, domain.dimension, many=True)
    if not len(rows):
        raise InvalidInput("The best fixed point needs at least one round.")
    if isinstance(loss, LinearLoss):
        point = domain.minimize_linear(np.sum(rows, axis=0))
        return BestPoint(point, float(np.sum(loss.values(point, rows))), 0.0)
    scale = max(1.0, abs(float(np.sum(loss.values(domain.centre, rows)))))
    if isinstance(loss, QuadraticLoss) and isinstance(domain, ProjectableSet):
        point = domain.project(np.mean(rows, axis=0))
        gradient = np.sum(loss.gradients(point, rows), axis=0)
        # The smallest loss is proved by the linear oracle, up to the rounding of these sums.
        gap = max(0.0, float(gradient @ (point - domain.minimize_linear(gradient)))) + 1e-14 * scale
    elif isinstance(parted(loss)[0], LinkLoss) and isinstance(domain, BarrierSet):
        part, ridge = parted(loss)
        losses = loss_sum(cast(LinkLoss, part), domain.hull_dimension)
        if ridge:
            losses = RidgedSum(losses, ridge, domain.restrict(domain.centre))
        losses.add(hull_rows(cast(LinkLoss, part), domain, rows))
        found, gap = constrained_minimum(losses, domain, tolerance * scale)
        point = domain.from_hull(found)
    else:
        raise InvalidInput(f"The best fixed point of {loss!r} over {domain!r} cannot be certified.")
    if gap > tolerance * scale:
        raise InvalidInput(f"The best fixed point was found only to within {gap:g}, not {tolerance * scale:g}.")
    return BestPoint(point, float(np.sum(loss.values(point, rows))), gap)


class RidgedSum(LossSum):
    """A sum of losses, each with (s/2)|x|^2 added; x is in hull coordinates around a centre.

    What does not depend on x, the part of the centre outside of the hull's directions, is left out.
    """

    def __init__(self, losses: LossSum, ridge: float, centre: FloatArray) -> None:
        super().__init__(losses.dimension)
        self._losses = losses
        self._ridge = ridge
        self._centre = centre

    @property
    def smoothness(self) -> float:
        return self._losses.smoothness + self._weight

    @property
    def modulus(self) -> float:
        return self._losses.modulus + self._weight

    @property
    def _weight(self) -> float:
        return self._ridge * self._losses.count

    def add(self, rows: FloatArray) -> None:
        self._losses.add(rows)

    def value(self, x: FloatArray) -> float:
        point = self._centre + x
        return self._losses.value(x) + self._weight / 2 * float(point @ point)

    def gradient(self, x: FloatArray) -> tuple[FloatArray, float]:
        gradient, error = self._losses.gradient(x)
        added = self._weight * (self._centre + x)
        return gradient + added, error + 8 * UNIT * float(np.linalg.norm(added))

    def hessian(self, x: FloatArray, since: int = 0) -> FloatArray:
        return self._losses.hessian(x, since) + self._ridge * (self._losses.count - since) * np.eye(self.dimension)


def best_switching_sequence(losses: ArrayLike, switches: int) -> tuple[float, IntArray]:
    """The smallest loss of any sequence with at most `switches` switches, and such a sequence.

    Exact dynamic programme, O(T N S) time without a loop over rounds. With C_t(j) the cumulative loss of j and
    m_s(t) the best value at t with at most s switches, the best value that ends at j is

        V_s(t, j) = C_t(j) + min(0, min over u <= t of m_{s-1}(u-1) - C_{u-1}(j)),

    a running minimum: u is the round of the last switch.

    >>> loss, sequence = best_switching_sequence([[0, 1], [0, 1], [1, 0]], switches=1)
    >>> loss, sequence.tolist()
    (0.0, [0, 0, 1])
    """
    table = real_array("best_switching_sequence", "losses", losses, (None, None))
    if not table.size or not np.all(np.isfinite(table)):
        raise InvalidInput(
            "The 'losses' of best_switching_sequence must be finite, with at least one round and one expert."
        )
    rounds, n = table.shape
    # More switches than rounds - 1 cannot be used.
    left = min(check_integer("best_switching_sequence", "switches", switches, at_least=0), rounds - 1)
    sums = np.add.accumulate(np.concatenate([np.zeros((1, n)), table]), axis=0)
    # best[s, t] is m_s after t rounds, and source[s, t] the expert that attains it.
    best, source = np.full((left + 1, rounds + 1), np.inf), np.zeros((left + 1, rounds + 1), dtype=np.int64)
    for level in range(left + 1):
        values = sums[1:]
        if level:
            minima = best[level - 1, :-1, None] - sums[:-1]
            np.minimum(minima[0], 0.0, out=minima[0])
            values = values + np.minimum.accumulate(minima, axis=0, out=minima)
        source[level, 1:], best[level, 1:] = np.argmin(values, axis=1), np.min(values, axis=1)
    sequence, expert, last = np.empty(rounds, dtype=np.int64), int(source[left, -1]), rounds
    while left > 0 and last > 0:
        entries = best[left - 1, :last] - sums[:last, expert]
        switch = int(np.argmin(entries))
        if not entries[switch] < 0:
            break
        sequence[switch:last] = expert
        left -= 1
        expert, last = int(source[left, switch]), switch
    sequence[:last] = expert
    return float(np.sum(table[np.arange(rounds), sequence])), sequence
