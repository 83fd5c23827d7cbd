"""The Euclidean ball and the l1 ball, both around the origin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tacit import kernels
from tacit.domains.barrier import Barrier, barrier_point, outside
from tacit.domains.convex_set import BarrierSet, FullDimensionalSet, read_only
from tacit.domains.simplex import project_to_simplex
from tacit.validation import FloatArray, check_dimension, check_positive


@dataclass(frozen=True, eq=False)
class _CentredSet(FullDimensionalSet, BarrierSet):
    """What the balls of norms share: a dimension, a radius and the origin as centre."""

    dim: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        object.__setattr__(self, "dim", check_dimension(owner, "dim", self.dim))
        object.__setattr__(self, "radius", check_positive(owner, "radius", self.radius))

    @property
    def dimension(self) -> int:
        return self.dim

    @cached_property
    def centre(self) -> FloatArray:
        return read_only(np.zeros(self.dim))

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius


@dataclass(frozen=True, eq=False)
class Ball(_CentredSet):
    """The Euclidean ball of a radius around the origin.

    >>> Ball(dim=2, radius=0.5).minimize_linear([3.0, 4.0])
    array([-0.3, -0.4])
    """

    @property
    def inner_radius(self) -> float:
        return self.radius

    @property
    def barrier(self) -> Barrier:
        return BallBarrier(self.dim, self.radius)

    def barrier_stiffness(self, slope: float) -> float:
        """Use, for z = |x|/r and t = 1 - z^2, trace hess = (2d + 2d z^2/t + 4 z^2/t^2)/r^2 and |grad| = 2z/(t r)."""
        return (2.0 * self.dim + self.radius * slope) / self.radius

    def _minimize(self, direction: FloatArray) -> FloatArray:
        size = np.abs(direction).max()
        if size == 0.0:
            return np.append(self.radius, np.zeros(self.dim - 1))
        unit: FloatArray = direction / size  # before squaring: no overflow
        return unit * (-self.radius / math.sqrt(unit @ unit))

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        return float(np.linalg.norm(point)) <= self.radius + tolerance

    def nearest(self, point: FloatArray) -> FloatArray:
        if kernels.compiled is not None and point.flags.c_contiguous:
            out = np.empty(self.dim)
            kernels.compiled.nearest_in_ball(point, self.radius, out)
            return out
        size = max(float(np.abs(point).max()), 1e-150)
        unit = point / size
        length = math.sqrt(np.add.reduce(unit * unit))
        return unit * (self.radius / length) if self.radius < size * length else point.copy()


@dataclass(frozen=True, eq=False)
class L1Ball(_CentredSet):
    """The vectors whose absolute values sum to at most `radius`.

    >>> L1Ball(dim=3, radius=2.0).minimize_linear([0.5, -3.0, 1.0])
    array([0., 2., 0.])
    """

    @property
    def inner_radius(self) -> float:
        return self.radius / math.sqrt(self.dim)

    @property
    def barrier(self) -> Barrier:
        return L1Barrier(self.dim, self.radius)

    def barrier_stiffness(self, slope: float) -> float:
        """Bound as for logarithms, in the lifted space: all slacks of (0, u) with u_i = r/(d+1) are r/(d+1)."""
        return (self.barrier.parameter + self.radius * slope) * (self.dim + 1) / self.radius

    def _minimize(self, direction: FloatArray) -> FloatArray:
        vertex = np.zeros(self.dim)
        steepest = np.abs(direction).argmax()
        vertex[steepest] = -math.copysign(self.radius, direction[steepest])
        return vertex

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        return float(np.abs(point).sum()) <= self.radius + tolerance * math.sqrt(self.dim)

    def nearest(self, point: FloatArray) -> FloatArray:
        sizes = np.abs(point)
        if sizes.max() <= self.radius and sizes.sum() <= self.radius:
            return point.copy()
        return np.copysign(project_to_simplex(sizes, self.radius), point)


class BallBarrier(Barrier):
    """-ln(1 - |x|^2/r^2) on the Euclidean ball of radius r."""

    parameter = 1.0

    def __init__(self, dim: int, radius: float) -> None:
        self._dim, self._radius = dim, radius

    def value(self, point: ArrayLike) -> float:
        scaled = self._scaled(point)
        squared = float(scaled @ scaled)
        return -math.log1p(-squared) if squared < 1.0 else math.inf

    def gradient(self, point: ArrayLike) -> FloatArray:
        return self._gradient(*self._interior(point))

    def hessian(self, point: ArrayLike) -> FloatArray:
        """(2/(1 - |z|^2)) (I + 2 z z^T/(1 - |z|^2))/r^2 with z = x/r."""
        return self._hessian(*self._interior(point))

    def derivatives(self, point: ArrayLike) -> tuple[FloatArray, FloatArray]:
        scaled, slack = self._interior(point)
        return self._gradient(scaled, slack), self._hessian(scaled, slack)

    def _gradient(self, scaled: FloatArray, slack: float) -> FloatArray:
        return scaled * (2.0 / (slack * self._radius))

    def _hessian(self, scaled: FloatArray, slack: float) -> FloatArray:
        matrix = np.outer(scaled, scaled * (2.0 / slack))
        matrix[np.diag_indices(self._dim)] += 1.0
        return matrix * (2.0 / (slack * self._radius**2))

    def _scaled(self, point: ArrayLike) -> FloatArray:
        checked = barrier_point("BallBarrier", point, self._dim)
        most = 2.0 * self._radius  # all outside: no overflow
        return np.minimum(np.maximum(checked, -most), most) / self._radius

    def _interior(self, point: ArrayLike) -> tuple[FloatArray, float]:
        scaled = self._scaled(point)
        slack = 1.0 - float(scaled @ scaled)
        if not slack > 0.0:
            raise outside("Ball")
        return scaled, slack


class L1Barrier(Barrier):
    """The barrier of the l1 ball: min over u of -sum ln(u_i^2 - x_i^2) - ln(r - sum u_i).

    This is the partial minimum of the barrier of {(x, u): |x_i| <= u_i, sum u_i <= r}, so it is self-concordant with
    parameter 2d+1, where the 2^d facets of the l1 ball would give 2^d. At the minimum, with t = r - sum u_i and
    s_i = sqrt(t^2 + x_i^2), u_i = t + s_i, and t is the root of (d+1) t + sum s_i = r.
    """

    def __init__(self, dim: int, radius: float) -> None:
        self._dim, self._radius = dim, radius
        self.parameter = 2.0 * dim + 1.0

    def value(self, point: ArrayLike) -> float:
        checked = barrier_point("L1Barrier", point, self._dim)
        if not np.abs(checked).sum() < self._radius:
            return math.inf
        slack, reach = self._solve(checked)
        lowest = self._radius / self.parameter  # the slack at the origin, where every u_i is twice as large
        at_origin = self._dim * math.log(4.0 * lowest * lowest) + math.log(lowest)
        return float(at_origin - np.log(2.0 * slack * (slack + reach)).sum() - math.log(slack))

    def gradient(self, point: ArrayLike) -> FloatArray:
        """x_i/(t u_i), by the envelope theorem."""
        checked, slack, reach = self._interior(point)
        return checked / (slack * (slack + reach))

    def hessian(self, point: ArrayLike) -> FloatArray:
        """A diagonal 1/(s_i u_i), plus the rank-one part that comes from the change of t."""
        checked, slack, reach = self._interior(point)
        ratio = checked / (reach * slack)
        slope = self._dim + 1.0 + float((slack / reach).sum())
        matrix = np.outer(ratio, ratio / slope)
        matrix[np.diag_indices(self._dim)] += 1.0 / (reach * (slack + reach))
        return matrix

    def _solve(self, point: FloatArray) -> tuple[float, FloatArray]:
        # Convex and increasing in t: Newton from the right of the root decreases to it.
        slack = (self._radius - float(np.abs(point).sum())) / (self._dim + 1.0)
        while True:
            reach = np.sqrt(slack * slack + point * point)
            error = (self._dim + 1.0) * slack + float(reach.sum()) - self._radius
            following = slack - error / (self._dim + 1.0 + float((slack / reach).sum()))
            if not following < slack:
                return slack, reach
            slack = following

    def _interior(self, point: ArrayLike) -> tuple[FloatArray, float, FloatArray]:
        checked = barrier_point("L1Barrier", point, self._dim)
        if not np.abs(checked).sum() < self._radius:
            raise outside("L1Ball")
        slack, reach = self._solve(checked)
        return checked, slack, reach
