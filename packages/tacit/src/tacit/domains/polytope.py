"""Polytopes {x: A x <= b}: linear programmes by HiGHS, projection by least-distance programming.

Projection is Lawson and Hanson's problem LDP (Solving Least Squares Problems, chapter 23): the nearest point to 0
of {z: G z >= h} is read off one non-negative least-squares problem. Its active rows are then solved for as
equations, which removes the rounding of the reduction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tacit.domains.barrier import EDGE, Barrier, barrier_point, outside
from tacit.domains.convex_set import FAR, BarrierSet, FullDimensionalSet, MeasuredSet, read_only
from tacit.domains.hull import chebyshev_centre
from tacit.errors import InvalidInput
from tacit.validation import LARGEST, SMALLEST, FloatArray, invalid, real_array


@dataclass(frozen=True, eq=False)
class Polytope(MeasuredSet, FullDimensionalSet, BarrierSet):
    """The points with A x <= b; the set must be bounded and have interior.

    >>> triangle = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    >>> triangle.project([1.0, 1.0])
    array([0.5, 0.5])
    """

    A: FloatArray
    b: FloatArray

    def __post_init__(self) -> None:
        rows = real_array("Polytope", "A", self.A, (None, None))
        bounds = real_array("Polytope", "b", self.b, (len(rows),))
        if not (rows.size and np.abs(rows).max() <= LARGEST and np.abs(rows).max(axis=1).min() >= SMALLEST):
            raise invalid("Polytope", "A", "a matrix of finite numbers without zero rows", rows.tolist())
        if not np.abs(bounds).max() <= LARGEST:
            raise invalid("Polytope", "b", "a vector of finite numbers", bounds.tolist())
        object.__setattr__(self, "A", read_only(rows))
        object.__setattr__(self, "b", read_only(bounds))
        # Both raise for what is not a polytope with interior.
        _ = self._inner_ball
        _ = self._bounding_box

    @property
    def dimension(self) -> int:
        return int(self.A.shape[1])

    @cached_property
    def barrier(self) -> Barrier:
        return LogarithmicBarrier(self.A, self.b, self.centre)

    @cached_property
    def _inner_ball(self) -> tuple[FloatArray, float]:
        # The largest ball inside, around the Chebyshev centre.
        lengths = np.linalg.norm(self.A, axis=1)
        centre, radius = chebyshev_centre(self.A, self.b, np.zeros(self.dimension), np.eye(self.dimension))
        if math.isinf(radius):
            raise InvalidInput("The polytope A x <= b is unbounded: add rows that bound every direction.")
        if not radius > 1e-9 * float((np.abs(self.b) / lengths).max()):
            raise InvalidInput("The polytope A x <= b has no interior: remove equalities by a change of variables.")
        return read_only(centre), radius

    @cached_property
    def _bounding_box(self) -> tuple[FloatArray, FloatArray]:
        axes = np.eye(self.dimension)
        low = np.array([self._minimize(axis) @ axis for axis in axes])
        high = np.array([self._minimize(-axis) @ axis for axis in axes])
        slack = 1e-9 * np.maximum(high - low, np.maximum(np.abs(high), np.abs(low)))  # the solver's tolerance
        return read_only(low - slack), read_only(high + slack)

    @cached_property
    def _unit_rows(self) -> tuple[FloatArray, FloatArray]:
        lengths = np.linalg.norm(self.A, axis=1)
        return self.A / lengths[:, None], self.b / lengths

    def _minimize(self, direction: FloatArray) -> FloatArray:
        rows, bounds = self._unit_rows
        # The solver's tolerances are absolute: it is asked in units of the direction and of the bounds.
        size, unit = float(np.abs(direction).max()), float(np.abs(bounds).max())
        answer = scipy.optimize.linprog(
            direction / size if size > 0.0 else direction,
            A_ub=rows,
            b_ub=bounds / unit,
            bounds=(None, None),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if answer.status == 3:
            raise InvalidInput("The polytope A x <= b is unbounded: add rows that bound every direction.")
        if answer.status != 0:
            raise InvalidInput(f"The linear programme over the polytope was not solved: {answer.message}")
        return np.asarray(answer.x, dtype=np.float64) * unit

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        rows, bounds = self._unit_rows
        return bool((rows @ point <= bounds + tolerance).all())

    def nearest(self, point: FloatArray) -> FloatArray:
        if np.abs(point).max() > FAR:
            raise InvalidInput(f"The 'point' of Polytope must have coordinates of at most {FAR:g}.")
        rows, bounds = self._unit_rows
        violation = rows @ point - bounds
        size = float(violation.max())
        if size <= 0.0:
            return point.copy()
        # In units of the largest violation: z = (x - point)/size, -rows z >= violation/size.
        system = np.vstack([-rows.T, violation / size])
        target = np.append(np.zeros(self.dimension), 1.0)
        weights, _ = scipy.optimize.nnls(system, target, maxiter=100 * len(bounds))
        residual = system @ weights - target
        step = -size * residual[:-1] / residual[-1]
        active = weights > 0.0
        refined = -np.linalg.lstsq(rows[active], violation[active])[0]
        # Accepted if it leaves the feasible set by no more than the unrefined answer does.
        worst = [float((violation + rows @ candidate).max()) for candidate in (step, refined)]
        return point + (refined if worst[1] <= max(worst[0], 1e-12 * size) else step)


class LogarithmicBarrier(Barrier):
    """-sum ln(b_i - <a_i, x>), minus a certified lower bound of its minimum.

    The minimum is found by damped Newton steps from an interior point; when the Newton decrement l is below 1,
    self-concordance puts the minimum at most -l - ln(1 - l) below the value.
    """

    def __init__(self, rows: FloatArray, bounds: FloatArray, interior: FloatArray) -> None:
        # In units of the slacks at the given point, which does not change the shifted barrier.
        slack = bounds - rows @ interior
        self._rows = rows / slack[:, None]
        self._bounds = bounds / slack
        self.parameter = float(len(bounds))
        self._lowest = 0.0
        self._lowest = self._minimum(interior)

    def value(self, point: ArrayLike) -> float:
        slack = self._slack(point)
        return float(-np.log(slack).sum()) - self._lowest if slack.min() > 0.0 else math.inf

    def gradient(self, point: ArrayLike) -> FloatArray:
        return (1.0 / self._interior(point)) @ self._rows

    def hessian(self, point: ArrayLike) -> FloatArray:
        scaled = self._rows / self._interior(point)[:, None]
        return scaled.T @ scaled

    def _minimum(self, point: FloatArray) -> float:
        # Each damped step lowers the barrier by at least l - ln(1 + l), so this ends.
        while True:
            gradient = self.gradient(point)
            step = np.linalg.solve(self.hessian(point), gradient)
            decrement = math.sqrt(max(0.0, float(gradient @ step)))
            if decrement < 1e-6:
                return self.value(point) + decrement + math.log1p(-decrement) - 1e-12 * self.parameter
            point = point - step / (1.0 + decrement)

    def _slack(self, point: ArrayLike) -> FloatArray:
        checked = barrier_point("LogarithmicBarrier", point, self._rows.shape[1])
        return self._bounds - self._rows @ checked

    def _interior(self, point: ArrayLike) -> FloatArray:
        slack = self._slack(point)
        if not slack.min() > EDGE:
            raise outside("Polytope")
        return slack
