"""The learner of CTRL and of its lazy, not private relatives: hold a perturbed minimiser until a coin says draw.

Coins compare consecutive laws of the perturbed minimiser at the held point. With g = grad J and H = hess J at the
minimiser, a round of gradient u and Hessian E, and noise whose variance goes from v to v' (CTRL: v = v'), the law of
the minimiser changes there by the log ratio

    |g|^2/(2v) - |g + u|^2/(2v') - (d/2) ln(v'/v) + ln det(H + E) - ln det H

(the paper has the sign of 2<g, u> wrong). The coin keeps x with probability (1-p) exp(clip(log ratio - log Phi,
-2 log Phi, 0)). Only differences are ever computed: 2<g, u> + |u|^2, and ln(1 + f'' v.H^-1 v) with a rank-one
update of H^-1 for each link of generalised linear losses. The same sums are made whether rounds come alone or not.

u and E are those of the released point x, which is public; g starts at minus the noise of the draw, which is the
gradient at the exact minimiser, and H has its barrier at the minimiser that was found. None of them is looked at near
the boundary of the domain, where the barrier at x would say nothing about the law.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import log1p
from typing import Any, ClassVar

import numpy as np
import scipy

from tacit.algorithms.convex.convex_plan import ConvexLearner, ConvexPlan
from tacit.domains.convex_set import BarrierSet
from tacit.errors import PrivacyError
from tacit.losses.loss import CONSTRUCTED, LinearLoss, LinkLoss, Loss, QuadraticLoss, RowLoss, refuse_unchecked
from tacit.noise.randomness import Randomness
from tacit.problems import Convex
from tacit.solvers.loss_sums import ArrayState, hull_rows, loss_sum
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
        self._sums = loss_sum(self._loss, dimension)
        self._held = held_point(self._loss, dimension)
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
    """Refuse losses whose convexity and smoothness do not hold by construction, and domains without a barrier."""
    if problem.loss.family not in CONSTRUCTED or not problem.smoothness < np.inf:
        # Minimising <clipped gradient at the decision, x> in its place would be private, but the linear losses would
        # then depend on the noise that is held, and nothing bounds the regret.
        raise PrivacyError(
            f"{algorithm} minimises its losses, so they must be convex and smooth by construction; "
            f"{problem.loss!r} is not, and to linearise it would keep privacy and lose the regret bound. Use "
            "PrivateFTRL, which clips gradients."
        )
    refuse_unchecked(problem.loss, algorithm)
    barrier_domain(problem, algorithm)


@dataclass(frozen=True)
class Coins:
    """What the coins of consecutive rounds need, one entry a round.

    Attributes:
        clocks: exponential clocks; the point is kept while they outlive the hazard (infinite: no coin).
        hazard: -ln(1-p), the price of forced redraws.
        log_phi: half the range of each coin.
        precision: 1/(2v').
        drop: 1/(2v) - 1/(2v').
        spread: (d/2) ln(v'/v).
    """

    clocks: FloatArray
    hazard: float
    log_phi: FloatArray
    precision: FloatArray
    drop: FloatArray
    spread: FloatArray

    def part(self, first: int, last: int) -> Coins:
        """The coins of the rounds from `first` up to, not with, `last`."""
        here = slice(first, last)
        return Coins(
            self.clocks[here], self.hazard, self.log_phi[here],
            self.precision[here], self.drop[here], self.spread[here],
        )  # fmt: skip


class Held(ABC, ArrayState):
    """A held point x with the gradient of the objective at it. Its memory is private."""

    def __init__(self, dimension: int, loss: Any) -> None:
        self._loss = loss
        self.x = np.zeros(dimension)
        self._gradient = np.zeros(dimension)

    def reset(self, x: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
        """Hold x; `gradient` and `curvature` are those of the objective without noise at the minimiser."""
        self.x = x
        self._gradient = gradient
        self.renew(curvature)

    def renew(self, curvature: FloatArray) -> None:
        """The curvature of the objective at what is held, summed anew: nothing to do without determinants."""

    @abstractmethod
    def scan(self, rows: FloatArray, coins: Coins) -> int:
        """Absorb hull rows until a coin says draw: how many rounds were kept (all of them: no draw)."""

    def _gaussian_part(self, gradients: FloatArray, coins: Coins) -> tuple[FloatArray, FloatArray]:
        """The part of each log ratio without determinants, and the gradients before each round and after the last."""
        path = np.empty((len(gradients) + 1, self.x.size))
        path[0] = self._gradient
        path[1:] = gradients
        np.add.accumulate(path, axis=0, out=path)  # one after the other, as single rounds would add them
        before = path[:-1]
        change = np.add.reduce((2 * before + gradients) * gradients, axis=1)
        size = np.add.reduce(before * before, axis=1)
        return coins.drop * size - coins.precision * change - coins.spread, path


def _first_ring(log_ratios: FloatArray, coins: Coins) -> int:
    hazards = coins.hazard + np.clip(coins.log_phi - log_ratios, 0.0, 2 * coins.log_phi)
    rings = np.flatnonzero(coins.clocks <= hazards)
    return int(rings[0]) if rings.size else len(log_ratios)


class HeldLinear(Held):
    """Linear losses: no curvature, so whole blocks at once."""

    def scan(self, rows: FloatArray, coins: Coins) -> int:
        """Only the gradients change."""
        log_ratios, path = self._gaussian_part(rows, coins)
        kept = _first_ring(log_ratios, coins)
        self._gradient = path[kept].copy()
        return kept


class HeldQuadratic(Held):
    """Losses (k/2)|x - z|^2: every round adds k to every eigenvalue, so whole blocks at once."""

    _loss: QuadraticLoss

    def __init__(self, dimension: int, loss: QuadraticLoss) -> None:
        super().__init__(dimension, loss)
        self._eigenvalues: FloatArray = np.ones(dimension)

    def renew(self, curvature: FloatArray) -> None:
        """Diagonalise the Hessian once."""
        self._eigenvalues = np.asarray(np.linalg.eigvalsh(curvature), dtype=np.float64)

    def scan(self, rows: FloatArray, coins: Coins) -> int:
        """The determinants grow by sum ln(1 + k/eigenvalue)."""
        log_ratios, path = self._gaussian_part(self._loss.strength * (self.x - rows), coins)
        ladder = np.empty((len(rows) + 1, self.x.size))
        ladder[0] = self._eigenvalues
        ladder[1:] = self._loss.strength
        np.add.accumulate(ladder, axis=0, out=ladder)
        log_ratios = log_ratios + np.add.reduce(np.log1p(self._loss.strength / ladder[:-1]), axis=1)
        kept = _first_ring(log_ratios, coins)
        self._gradient, self._eigenvalues = path[kept].copy(), ladder[kept].copy()
        return kept


class HeldLink(Held):
    """Generalised linear losses: one rank-one update of the inverse Hessian a round, O(d^2)."""

    _loss: LinkLoss

    def __init__(self, dimension: int, loss: LinkLoss) -> None:
        super().__init__(dimension, loss)
        self._inverse = np.asfortranarray(np.eye(dimension))

    def renew(self, curvature: FloatArray) -> None:
        """Invert the Hessian by Cholesky's factors: plans refuse what these could not factor."""
        root, failed = scipy.linalg.lapack.dpotrf(curvature, lower=1)
        if failed:
            self._inverse = np.asfortranarray(np.eye(self.x.size) / np.trace(curvature))
            return
        # Not by LAPACK (dpotri, dtrtrs), in which OpenBLAS starts threads at any size: 8 ms in place of 3 microseconds.
        half = scipy.linalg.blas.dtrsm(1.0, root, np.eye(self.x.size), lower=1)
        self._inverse = np.asfortranarray(half.T @ half)

    def scan(self, rows: FloatArray, coins: Coins) -> int:
        """Slopes and gradients of the block at once; the inverse round by round."""
        features, labels = np.ascontiguousarray(rows[:, :-2]), rows[:, -1]
        margins = np.add.reduce(features * self.x, axis=1) + rows[:, -2]
        gradients = self._loss.slope(margins, labels)[:, None] * features
        log_ratios, path = self._gaussian_part(gradients, coins)
        curvatures = self._loss.curvature(margins, labels).tolist()
        starts, ranges, clocks = log_ratios.tolist(), coins.log_phi.tolist(), (coins.clocks - coins.hazard).tolist()
        inverse, kept = self._inverse, len(rows)
        for index in range(len(rows)):
            image = scipy.linalg.blas.dsymv(1.0, inverse, features[index], lower=1)
            growth = curvatures[index] * float(features[index].dot(image))
            if curvatures[index]:
                share = -curvatures[index] / (1.0 + growth)
                inverse = scipy.linalg.blas.dsyr(share, image, lower=1, a=inverse, overwrite_a=1)
            log_phi = ranges[index]
            gap = log_phi - starts[index] - log1p(growth)
            if clocks[index] <= min(max(gap, 0.0), 2 * log_phi):
                kept = index  # a draw follows, and with it another Hessian
                break
        self._inverse = inverse
        self._gradient = path[kept].copy()
        return kept


KINDS: dict[type, type[Held]] = {LinearLoss: HeldLinear, QuadraticLoss: HeldQuadratic, LinkLoss: HeldLink}
"""Every way to hold a point, by the kind of the loss."""


def held_point(loss: Loss, dimension: int) -> Held:
    """Where a perturbed minimiser of this loss is held."""
    for kind, held in KINDS.items():
        if isinstance(loss, kind):
            return held(dimension, loss)
    raise PrivacyError(f"{loss!r} has no known density of its perturbed minimiser.")
