"""The learner of CTRL and of its lazy, not private relatives: hold a perturbed minimiser until a coin says draw."""

from __future__ import annotations

from abc import abstractmethod
from math import log
from typing import ClassVar

import numpy as np

from tacit.errors import PrivacyError
from tacit.geometry.base import BarrierSet
from tacit.learners.convex.common import ConvexLearner, ConvexPlan
from tacit.learners.ctrl.held_point import Coins, held_point
from tacit.losses.base import CONSTRUCTED, RowLoss
from tacit.problems import Convex
from tacit.randomness import Randomness
from tacit.solvers.loss_sums import hull_rows, loss_sum
from tacit.solvers.newton import perturbed_minimum
from tacit.validation import FloatArray

# Rounds that are looked at together: more than a hold lasts would be thrown away.
_SCAN = 64
# Released points stay this far (relatively) from the boundary, where the barrier is finite.
_MARGIN = 1e-9


class CoupledLearner(ConvexLearner):
    """Holds the minimiser of losses + ridge + barrier + noise; each coin compares consecutive laws of it."""

    _stream_names: ClassVar[tuple[str, ...]] = ("noise", "keep", "release")
    _state: ClassVar[tuple[str, ...]] = ("_sums", "_held")

    def __init__(
        self, plan: ConvexPlan, randomness: Randomness, *, ridge: float, weight: float, accuracy: float, blur: float
    ) -> None:
        super().__init__(plan, randomness)
        self._set = barrier_domain(plan.problem, plan.algorithm)
        self._ridge, self._weight, self._accuracy, self._blur = ridge, weight, accuracy, blur
        dimension = self._set.hull_dimension
        self._sums = loss_sum(self._loss, dimension)
        self._held = held_point(self._loss, dimension)

    def _consistent(self) -> bool:
        return self._sums.count == self._round

    @abstractmethod
    def _deviation(self, rounds: int) -> float:
        """The standard deviation of the noise once `rounds` losses are summed."""

    @abstractmethod
    def _coins(self, first: int, count: int, clocks: FloatArray) -> Coins:
        """The coins of `count` rounds from `first` (0-based) on."""

    def _draw(self) -> None:
        """A fresh perturbed minimiser of everything observed, released."""
        noise = self._deviation(self._sums.count) * self._streams["noise"].standard_normal(self._sums.dimension)
        found = perturbed_minimum(
            self._sums,
            ridge=self._ridge,
            noise=noise,
            accuracy=self._accuracy,
            domain=self._set,
            weight=self._weight,
            start=self._held.x,
        )
        self._hold(self._released(found.point))

    def _released(self, point: FloatArray) -> FloatArray:
        """The point with its covering noise, pulled into a fixed compact subset of the interior."""
        if self._blur > 0:
            point = point + self._blur * self._streams["release"].standard_normal(point.size)
        barrier, domain = self._set.hull_barrier, self._set
        if not barrier.value(point / (1 - _MARGIN)) < np.inf:
            nearest = domain.to_hull(domain.project(domain.from_hull(point / (1 - _MARGIN))))
            point = nearest * (1 - _MARGIN)
        while not barrier.value(point) < np.inf:  # projections are only as good as their rounding
            point = point * (1 - _MARGIN)
        return point

    def _hold(self, x: FloatArray) -> None:
        gradient, _ = self._sums.gradient(x)
        barrier = self._set.hull_barrier
        gradient = gradient + self._ridge * x + self._weight * barrier.gradient(x)
        curvature = self._sums.hessian(x) + self._weight * barrier.hessian(x)
        curvature[np.diag_indices(x.size)] += self._ridge
        self._held.reset(x, gradient, curvature)
        self._move(self._set.from_hull(x))

    def _absorb_rows(self, rows: FloatArray, actions: FloatArray, first: int) -> None:
        assert isinstance(self._loss, RowLoss)
        hulled = hull_rows(self._loss, self._set, rows)
        last = self.plan.rounds - 1
        for start in range(0, len(rows), _SCAN):
            block = hulled[start : start + _SCAN]
            clocks = np.full(len(block), np.inf)  # no decision after the last round
            tossed = min(len(block), last - first - start)
            clocks[:tossed] = self._streams["keep"].standard_exponential(tossed)
            self._absorb_block(
                block, self._coins(first + start, len(block), clocks), actions[start : start + len(block)]
            )

    def _absorb_block(self, block: FloatArray, coins: Coins, actions: FloatArray) -> None:
        done = 0
        while done < len(block):
            kept = self._held.scan(block[done:], coins.after(done))
            drawn = done + kept < len(block)
            following = done + kept + drawn
            actions[done:following] = self._action
            saved = self._sums.mark()
            self._sums.add(block[done:following])
            if drawn:
                try:
                    self._draw()
                except PrivacyError:
                    self._sums.rewind(saved)  # nothing was released and the round is not over
                    raise
            done = following


def barrier_domain(problem: Convex, algorithm: str) -> BarrierSet:
    """The domain, if it has a barrier."""
    if not isinstance(problem.domain, BarrierSet):
        raise PrivacyError(f"{algorithm} needs a domain with a barrier (Ball, Box, Simplex, L1Ball, Polytope).")
    return problem.domain


def refuse_unconstructed(problem: Convex, algorithm: str) -> None:
    """Refuse losses whose convexity and smoothness do not hold by construction."""
    if problem.loss.family not in CONSTRUCTED or not problem.smoothness < np.inf:
        raise PrivacyError(
            f"{algorithm} minimises its losses, so they must be convex and smooth by construction; "
            f"{problem.loss!r} is not. Use PrivateFTRL, which clips gradients."
        )


def barrier_weight(domain: BarrierSet, lipschitz: float, rounds: int) -> float:
    """The weight with which the barrier adds at most G D on the domain shrunk by 1/T around its centre.

    There a self-concordant barrier of parameter nu exceeds its value at the centre by at most nu ln T.
    """
    at_centre = domain.hull_barrier.value(np.zeros(domain.hull_dimension))
    return lipschitz * domain.diameter / (at_centre + domain.barrier.parameter * max(1.0, log(rounds)))
