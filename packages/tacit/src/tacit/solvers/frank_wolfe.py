"""Frank-Wolfe for the regularised leader: minimise |x|^2/2 + <slope, x> with nothing but a linear oracle.

Everything lives in hull coordinates, where 0 is the centre of the set. Each step is an exact line search, and each
oracle call v also certifies the point: gap = <x + slope, x - v> >= |x - x*|^2, because the objective is strongly
convex and x* is optimal (twice what the usual argument by objective values gives).

Polytopes use pairwise steps (Lacoste-Julien and Jaggi 2015): weight moves from the worst vertex in use to the one that
the oracle found, which converges linearly; balls use plain steps, for which a curved boundary is good. Whatever
happens, the number of oracle calls is bounded: plain steps reach a gap of t within 27 D^2/(4t) of them from any point
(Jaggi 2013, Theorem 2), and pairwise steps get a budget of D^2/(2t) calls, after which plain steps finish. A solve
starts from the answer of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from tacit.domains import Ball
from tacit.domains.convex_set import ConvexSet
from tacit.validation import FloatArray, check_positive, real_array


@dataclass(frozen=True)
class Solution:
    """An approximate minimiser with its certificate.

    Attributes:
        point: the point, in hull coordinates.
        gap: the duality gap; the point is within its square root of the minimiser.
        oracle_calls: how many times the linear oracle was asked.
    """

    point: FloatArray
    gap: float
    oracle_calls: int


class FrankWolfe:
    """Minimises |x|^2/2 + <slope, x> over a set, again and again for slopes that change little.

    Args:
        domain: the set.
        tolerance: the duality gap at which to stop.

    >>> from tacit.domains import Box
    >>> FrankWolfe(Box.cube(2), tolerance=1e-6).minimize(np.array([-0.5, 3.0])).point.round(2)
    array([ 0.5, -1. ])
    """

    def __init__(self, domain: ConvexSet, *, tolerance: float) -> None:
        self._domain = domain
        self._tolerance = check_positive("FrankWolfe", "tolerance", tolerance)
        self._pairwise = not isinstance(domain, Ball)
        self._pairwise_calls = ceil(domain.diameter**2 / (2 * self._tolerance))
        self._point = np.zeros(domain.hull_dimension)
        # The vertices whose mixture is the point; none while it is not known as a mixture.
        self._vertices = np.empty((0, domain.hull_dimension))
        self._weights = np.empty(0)

    @property
    def most_calls(self) -> int:
        """A bound on the oracle calls of one solve."""
        return self._plain_calls + (self._pairwise_calls + 1 if self._pairwise else 0)

    @property
    def _plain_calls(self) -> int:
        return ceil(6.75 * self._domain.diameter**2 / self._tolerance) + 1

    def minimize(self, slope: FloatArray) -> Solution:
        """The minimiser up to the tolerance."""
        slope = real_array("FrankWolfe", "slope", slope, self._point.shape)
        calls = 0
        if self._pairwise:
            gap, calls = self._pairwise_steps(slope)
            if gap <= self._tolerance:
                return Solution(self._point.copy(), gap, calls)
            self._vertices, self._weights = self._vertices[:0], self._weights[:0]
        gap, plain = self._plain_steps(slope)
        return Solution(self._point.copy(), gap, calls + plain)

    def _oracle(self, gradient: FloatArray) -> FloatArray:
        domain = self._domain
        return domain.to_hull(domain.minimize_linear(domain.lift(gradient)))

    def _plain_steps(self, slope: FloatArray) -> tuple[float, int]:
        x, calls = self._point, 0
        while True:
            gradient = x + slope
            towards = self._oracle(gradient) - x
            gap = -float(gradient @ towards)
            calls += 1
            if gap <= self._tolerance or calls == self._plain_calls:
                self._point = x
                return max(gap, 0.0), calls
            # The objective along the segment is a parabola: its lowest point, or the far end.
            x = x + min(1.0, gap / float(towards @ towards)) * towards

    def _pairwise_steps(self, slope: FloatArray) -> tuple[float, int]:
        calls = 0
        if not len(self._weights):
            self._vertices, self._weights = self._oracle(slope)[None], np.ones(1)
            calls = 1
        limit = calls + self._pairwise_calls
        self._weights = self._weights / self._weights.sum()
        x = self._weights @ self._vertices
        while True:
            gradient = x + slope
            vertex = self._oracle(gradient)
            gap = float(gradient @ (x - vertex))
            calls += 1
            if gap <= self._tolerance or calls == limit:
                self._point = x
                return max(gap, 0.0), calls
            worst = int(np.argmax(self._vertices @ gradient))
            move = vertex - self._vertices[worst]
            step = min(float(self._weights[worst]), -float(gradient @ move) / float(move @ move))
            x = x + step * move
            self._shift(worst, vertex, step)

    def _shift(self, worst: int, vertex: FloatArray, step: float) -> None:
        """Move weight `step` from a vertex in use to another, perhaps new one."""
        known = np.flatnonzero((self._vertices == vertex).all(axis=1))
        if len(known):
            self._weights[known[0]] += step
        else:
            self._vertices = np.vstack([self._vertices, vertex])
            self._weights = np.append(self._weights, step)
        self._weights[worst] -= step
        if self._weights[worst] <= 0.0:
            self._vertices = np.delete(self._vertices, worst, axis=0)
            self._weights = np.delete(self._weights, worst)

    def state_dict(self) -> dict[str, Any]:
        """Where the next solve starts."""
        return {"point": self._point.copy(), "vertices": self._vertices.copy(), "weights": self._weights.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        self._point = np.array(state["point"], dtype=float)
        self._vertices = np.array(state["vertices"], dtype=float)
        self._weights = np.array(state["weights"], dtype=float)
