"""What separates the noisy gradients of the private conversion from the true ones: in expectation, or in every step.

At iterate t of T+1 (T steps) the error is a martingale of sampling errors, noise, and what a lattice moves. In
expectation, variances add (Lemma 13 of the paper in other norms). In every step at once, except with probability f
(l_2, Gaussian noise), by the inequalities of Pinelis (1994) and of Hsu, Kakade and Zhang (2012):

    |error_t| <= 2 sqrt(2 ln(4(T+1)/f) sum_{i<=t} C_i^2/b) + s_t q + (what a lattice moves).

Sensitivities are known before any data (Section 2 of the paper): with beta_t = t^k, gradient differences have norm at
most C_t = (beta_t - beta_{t-1}) G + beta_{t-1} H |x_t - x_{t-1}|, and |x_t - x_{t-1}| <= (beta_t/beta_{1:t}) D. Proofs:
docs/algorithms/online-to-batch.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np
import scipy

from tacit.accounting.curves import ROUND_UP
from tacit.algorithms.stochastic.online_to_batch.descent import ConversionErrors
from tacit.algorithms.stochastic.online_to_batch.equation_six import Sized
from tacit.losses.custom import parted
from tacit.losses.loss import largest_norm
from tacit.noise.running_sums import LaplaceTree, RunningSum, Tree
from tacit.noise.running_sums.accumulators import node_level
from tacit.validation import FloatArray

if TYPE_CHECKING:
    from tacit.algorithms.stochastic.online_to_batch.online_to_batch import OnlineToBatch


def weights(count: int, power: float) -> FloatArray:
    """beta_1, ..., beta_count."""
    return np.asarray(np.arange(1.0, count + 1) ** power)


def clipping_norms(count: int, power: float, lipschitz: float, smoothness: float, diameter: float) -> FloatArray:
    """The largest C_t that can occur, t = 1, ..., count."""
    beta = weights(count, power)
    before = np.concatenate([[0.0], beta[:-1]])
    return np.asarray((beta - before) * lipschitz + before * smoothness * diameter * beta / np.cumsum(beta))


def growing_deviations(mechanism: RunningSum, scales: FloatArray) -> FloatArray:
    """sqrt(sum_i decoder_{ti}^2 scales_i^2) at each step: the noise of the sums when scales grow.

    Scales that are only bounded by these, and predictable, have no larger second moment.
    """
    squares = scales**2
    if isinstance(mechanism, Tree | LaplaceTree):
        base = mechanism.base if isinstance(mechanism, LaplaceTree) else 2
        total = [0.0]
        for step, square in enumerate(squares.tolist(), start=1):
            total.append(total[step - base ** node_level(step, base)] + square)
        return np.sqrt(total[1:])
    # Toeplitz: the squared coefficients are the increments of the squared row norms.
    coefficients = np.diff(mechanism.row_norms() ** 2, prepend=0.0)
    total_squares = scipy.signal.fftconvolve(coefficients, squares)[: squares.size]
    return np.asarray(np.sqrt(np.maximum(total_squares, squares) + 1e-14 * squares.max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class Conversion:
    """The errors that follow from the public facts of a plan."""

    plan: OnlineToBatch

    @property
    def curvature(self) -> float:
        """S of a public regulariser (s/2)|x|^2, whose gradient is added without noise."""
        return parted(self.plan.problem.loss)[1]

    @property
    def steepness(self) -> float:
        """The largest norm of the regulariser's gradient on the domain."""
        return self.curvature * largest_norm(self.plan.problem.domain)

    @property
    def slope(self) -> float:
        """The largest norm of a gradient, the regulariser's included."""
        return self.plan.lipschitz + self.steepness

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the errors in expectation assume because it was declared."""
        gradient, hessian = self.plan.problem.gradient_deviation, self.plan.problem.hessian_deviation
        return (
            *([] if gradient is None else [f"E|grad l - grad L|^2 <= {gradient:g}^2, as declared"]),
            *([] if hessian is None else [f"E|change of it|^2 <= {hessian:g}^2 |x - x'|^2, as declared"]),
        )

    @cached_property
    def weights(self) -> FloatArray:
        """beta_t of every iterate, the last one included."""
        return weights(self.plan.mechanism.steps + 1, self.plan.power)

    @cached_property
    def clips(self) -> FloatArray:
        """The largest C_t that can occur."""
        return self._norms(self.plan.lipschitz, self.plan.smoothness)

    @cached_property
    def errors(self) -> ConversionErrors:
        """Bounds in expectation, for T = steps + 1 iterates.

        The last iterate's gradient is virtual: nobody draws it. What a lattice moves is no noise of mean 0: it counts
        among the noise for sizes and changes, and as a bias.
        """
        moved, missing = self._moved, self._missing
        noise = self._size * self._deviations
        jumps = np.concatenate([[noise[0]], noise[1:] + noise[:-1]])
        if self.plan.mechanism.steady:
            # A Toeplitz decoder has b_0 = 1 and falls, so the squares of its increments sum to at most 2.
            fresh = self._size * self.plan.unit_scale * np.append(self._growing, self._growing[-1])
            jumps = np.minimum(jumps, np.sqrt(2.0) * fresh)
        changes = self.clips + self._norms(self.steepness, self.curvature) + jumps + moved
        changes[-1] += missing  # the virtual gradient makes up for what the last batch lacks
        return ConversionErrors(
            weights=self.weights,
            lipschitz=self.slope,
            sampling=self._sampling,
            noise=noise + moved,
            changes=changes,
            bias=missing + float(np.sum(moved)),
        )

    def first_errors(self, steps: int) -> ConversionErrors:
        """The errors of the first steps + 1 iterates, as if the pass ended after so many steps.

        Noise and sensitivities stay those of the whole plan. The last gradient of all is virtual, here as there.
        """
        errors, count = self.errors, steps + 1
        if count >= errors.weights.size:
            return errors
        return ConversionErrors(
            weights=errors.weights[:count],
            lipschitz=errors.lipschitz,
            sampling=errors.sampling[:count],
            noise=errors.noise[:count],
            changes=errors.changes[:count],
            bias=float(np.sum(self._moved[:count])),
        )

    def largest_errors(self, failure: float) -> FloatArray:
        """What |error_t| exceeds at no t, except with probability `failure`: proved in l_2 with Gaussian noise."""
        count, d = self.weights.size, self.plan.problem.domain.dimension
        sampling = 2 * np.sqrt(2 * log(4 * count / failure) * np.cumsum(self.clips**2) / self.plan.batch)
        found = np.asarray(sampling + self._quantile(d, failure / (2 * count)) * self._deviations + self._moved)
        found[-2] += self._missing
        return found

    def _quantile(self, dimension: int, tail: float) -> float:
        """What the norm of the noise, in units of its deviation, exceeds with probability at most `tail`."""
        level = log(1 / tail)
        return sqrt(dimension + 2 * sqrt(dimension * level) + 2 * level)

    @property
    def _size(self) -> float:
        """sqrt(E|z|_q^2) of a fresh noise of scale 1, and the constant of sums of them."""
        norm, d, rate = self.plan.norm, self.plan.problem.domain.dimension, self.plan.grid.rate
        if self.plan.mechanism.noise != "laplace":
            size = norm.gaussian_size(d)
        else:
            size = norm.geometric_size(d, rate) if rate else norm.exponential_size(d)
        return size * sqrt(norm.martingale)

    @cached_property
    def _growing(self) -> FloatArray:
        """The largest sensitivity that can occur, per side, at each step."""
        if isinstance(self.plan.mechanism, Sized):
            return np.asarray(self.plan.grid.admissible(self.plan.mechanism.largest_sizes() * ROUND_UP))
        return np.asarray(self.plan.grid.admissible(np.maximum.accumulate(self.clips[:-1]) * ROUND_UP))

    @cached_property
    def _deviations(self) -> FloatArray:
        """Of one coordinate of the noise at each iterate; the last one has that of the step before."""
        found = growing_deviations(self.plan.mechanism, self.plan.unit_scale * self._growing)
        return np.append(found, found[-1])

    @cached_property
    def _moved(self) -> FloatArray:
        """By how much, in l2, a lattice moves averaged sums: what records lose adds up, roundings of noise do not."""
        grid, spread = self.plan.grid, sqrt(self.plan.problem.domain.dimension)
        rounded = grid.disturbance(self.plan.mechanism) / self.plan.batch
        found = spread * (grid.lost * np.cumsum(self._growing) + rounded * self._growing)
        return np.append(found, found[-1])

    @property
    def _missing(self) -> float:
        """What a short last batch, which is divided by a whole one's size, takes from the sum."""
        short = (-self.plan.problem.records % self.plan.batch) / self.plan.batch
        return short * float(self.clips[-2])

    @cached_property
    def _sampling(self) -> FloatArray:
        """Centring is a projection in l_2 only: elsewhere it may double a norm."""
        sides = 1.0 if self.plan.norm.power == 2.0 else 2.0
        spread = self._norms(
            _least(sides * self.plan.lipschitz, self.plan.problem.gradient_deviation),
            _least(sides * self.plan.smoothness, self.plan.problem.hessian_deviation),
        )
        return np.asarray(np.sqrt(self.plan.norm.martingale * np.cumsum(spread**2) / self.plan.batch))

    def _norms(self, lipschitz: float, smoothness: float) -> FloatArray:
        return clipping_norms(self.weights.size, self.plan.power, lipschitz, smoothness, self.plan.diameter)


def _least(enforced: float, declared: float | None) -> float:
    return enforced if declared is None else min(enforced, declared)
