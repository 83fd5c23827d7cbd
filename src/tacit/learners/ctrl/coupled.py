"""The learner of CTRL and of its lazy, not private relatives: hold a perturbed minimiser until a coin says draw."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from math import log
from typing import ClassVar

import numpy as np

from tacit.errors import PrivacyError
from tacit.geometry.base import BarrierSet
from tacit.learners.convex.common import ConvexLearner, ConvexPlan
from tacit.learners.ctrl.held_point import Coins, held_point
from tacit.losses.base import CONSTRUCTED, RowLoss
from tacit.losses.trust import refuse_unchecked
from tacit.problems import Convex
from tacit.randomness import Randomness
from tacit.solvers.loss_sums import hull_rows, loss_sum
from tacit.solvers.minimum import perturbed_minimum, truncated_normal
from tacit.validation import FloatArray

# Rounds that are looked at together: more than a hold lasts would be thrown away.
_SCAN = 64
RENEWAL = 1024
"""After so many held rounds an inverse Hessian that is updated round by round is computed anew."""


class CoupledLearner(ConvexLearner):
    """Holds the minimiser of losses + ridge + barrier + noise; each coin compares consecutive laws of it."""

    _stream_names: ClassVar[tuple[str, ...]] = ("noise", "keep", "release")
    _state: ClassVar[tuple[str, ...]] = (
        "_sums", "_held", "_minimiser", "_curvature", "_renewed", "_substitutes", "_redraws",
    )  # fmt: skip

    def __init__(
        self,
        plan: ConvexPlan,
        randomness: Randomness,
        *,
        ridge: float,
        weight: float,
        accuracy: float,
        blur: float,
        limit: int | None,
    ) -> None:
        super().__init__(plan, randomness)
        self._limit = limit
        self._redraws = 0
        self._set = barrier_domain(plan.problem, plan.algorithm)
        self._ridge, self._weight, self._accuracy, self._blur = ridge, weight, accuracy, blur
        dimension = self._set.hull_dimension
        self._sums = loss_sum(self._loss, dimension, self._set)
        self._held = held_point(self._loss, dimension, self._set)
        self._minimiser = np.zeros(dimension)  # of the last draw, before its release noise
        self._curvature = np.eye(dimension)  # of ridge and losses at what is held, after `_renewed` rounds
        self._renewed = 0
        self._substitutes = 0  # minimisers without the losses: none, unless the solver is broken

    def _consistent(self) -> bool:
        return self._sums.count == self._round and (self._limit is None or self._redraws <= self._limit)

    @property
    def _stopped(self) -> bool:
        """Whether the limit on redraws is reached: no coin is tossed any more, which the transcript itself shows."""
        return self._limit is not None and self._redraws >= self._limit

    @abstractmethod
    def _deviation(self, rounds: int) -> float:
        """The standard deviation of the noise once `rounds` losses are summed."""

    @abstractmethod
    def _coins(self, first: int, count: int, clocks: FloatArray) -> Coins:
        """The coins of `count` rounds from `first` (0-based) on."""

    def _draw(self) -> None:
        """A fresh perturbed minimiser of everything observed, released."""
        noise = self._deviation(self._sums.count) * truncated_normal(self._streams["noise"], self._sums.dimension)
        found = perturbed_minimum(
            self._sums,
            ridge=self._ridge,
            noise=noise,
            accuracy=self._accuracy,
            domain=self._set,
            weight=self._weight,
            start=self._minimiser,
        )
        self._substitutes += found.substitute
        self._hold(self._released(found.point), found.point, noise)

    def _released(self, minimiser: FloatArray) -> FloatArray:
        """The point of the domain that is nearest to the minimiser with its covering noise."""
        if self._blur > 0:
            minimiser = minimiser + self._blur * self._streams["release"].standard_normal(minimiser.size)
        return self._set.project(self._set.from_hull(minimiser))

    def _hold(self, point: FloatArray, minimiser: FloatArray, noise: FloatArray) -> None:
        """Hold a released point: coins see the losses there, and the barrier at the minimiser, which stays inside.

        The gradient of the objective at the exact minimiser is minus the noise: nothing to compute.
        """
        x = self._set.to_hull(point)
        self._minimiser = minimiser
        self._curvature = self._sums.hessian(x)
        self._curvature[np.diag_indices(x.size)] += self._ridge
        self._renewed = self._sums.count
        self._held.reset(x, -noise, self._curvature + self._barrier_curvature())
        self._move(point)

    def _barrier_curvature(self) -> FloatArray:
        return np.asarray(self._weight * self._set.hull_barrier.hessian(self._minimiser))

    def _renew(self) -> None:
        """The curvature at the held point with all rounds since it was last summed."""
        self._curvature = self._curvature + self._sums.hessian(self._held.x, since=self._renewed)
        self._renewed = self._sums.count
        self._held.renew(self._curvature + self._barrier_curvature())

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
            last = min(len(block), done + RENEWAL - (self._sums.count - self._renewed))
            if self._stopped:
                coins = replace(coins, clocks=np.full(len(block), np.inf))
            kept = self._held.scan(block[done:last], coins.part(done, last))
            drawn = done + kept < last
            following = done + kept + drawn
            actions[done:following] = self._action
            self._sums.add(block[done:following])
            if drawn:
                self._draw()
                self._redraws += 1
            elif self._sums.count - self._renewed == RENEWAL:
                self._renew()
            done = following


def barrier_domain(problem: Convex, algorithm: str) -> BarrierSet:
    """The domain, if it has a barrier."""
    if not isinstance(problem.domain, BarrierSet):
        raise PrivacyError(f"{algorithm} needs a domain with a barrier (Ball, Box, Simplex, L1Ball, Polytope).")
    return problem.domain


def refuse_unconstructed(problem: Convex, algorithm: str) -> None:
    """Refuse losses whose convexity and smoothness neither hold by construction nor were declared on trust."""
    if problem.loss.family not in CONSTRUCTED or not problem.smoothness < np.inf:
        # Minimising <clipped gradient at the decision, x> in its place would be private, but the linear losses would
        # then depend on the noise that is held, and nothing bounds the regret.
        raise PrivacyError(
            f"{algorithm} minimises its losses, so they must be convex and smooth by construction; "
            f"{problem.loss!r} is not, and to linearise it would keep privacy and lose the regret bound. Use "
            "PrivateFTRL, which clips gradients."
        )
    refuse_unchecked(problem.loss, algorithm)


def barrier_weight(domain: BarrierSet, lipschitz: float, rounds: int) -> float:
    """The weight with which the barrier adds at most G D on the domain shrunk by 1/T around its centre.

    There a self-concordant barrier of parameter nu exceeds its value at the centre by at most nu ln T.
    """
    at_centre = domain.hull_barrier.value(np.zeros(domain.hull_dimension))
    return lipschitz * domain.diameter / (at_centre + domain.barrier.parameter * max(1.0, log(rounds)))
