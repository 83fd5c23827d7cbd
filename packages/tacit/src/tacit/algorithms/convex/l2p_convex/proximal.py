"""The proximal sampler with a certificate: draws from a strongly log-concave law on a ball or a box.

The law is exp(-g(x) - (m/2)|x - centre|^2) on K, with g convex and Lipschitz, smooth or not. Each step (Lee,
Shen and Tian, 2021; Chen, Chewi, Salim and Wibisono, 2022) adds noise, y = x + sqrt(h) z, and then draws x exactly
from exp(-g(x) - (m/2)|x - centre|^2 - |x - y|^2/(2h)) on K. It divides the Kullback-Leibler divergence by (1 + m h)^2,
so the number of steps for a total variation error follows from public quantities.

The exact step is a rejection from the Gaussian of the problem linearised at a point u, truncated to K. It accepts with
probability at least exp(-b), b = min((Lambda/2) w^2, 2 G w), w = s sqrt(d) + |mode - u|, s^2 = 1/(m + 1/h). The cap on
rejections is an error in total variation and is counted as such. Proofs: docs/algorithms/l2p-convex.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, log, log1p, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, log_ndtr, ndtri_exp

from tacit.domains import Ball, Box
from tacit.errors import PrivacyError
from tacit.validation import FloatArray, check_number, check_positive

BoolArray = NDArray[np.bool_]

# Proposals are evaluated in pairs: one pass over the history serves both.
TOGETHER = 2
_LAST_DIGITS = 1e-12  # of a logarithm: one step too many rather than one too few


class Potential(Protocol):
    """A convex function on the domain."""

    def value(self, points: FloatArray) -> FloatArray:
        """Its values at the rows of `points`."""

    def gradient(self, point: FloatArray) -> FloatArray:
        """A subgradient at one point."""


@dataclass(frozen=True)
class ProximalSampler:
    """A number of proximal steps that ends within `distance` of the law, in total variation.

    Attributes:
        domain: the ball or box.
        strength: m, the curvature of the quadratic part of the potential around the domain's centre.
        step: h, the variance of the noise of a step.
        steps: how many steps a draw makes.
        refinements: projected-gradient steps before each linearisation.
        tries: the cap on proposals in one step; beyond it x stays where it is.
        acceptance: a proposal's certified probability of acceptance.
        distance: the certified total variation error of a draw.
    """

    domain: Ball | Box
    strength: float
    step: float
    steps: int
    refinements: int
    tries: int
    acceptance: float
    distance: float

    @property
    def work(self) -> float:
        """Expected evaluations of the potential (values and gradients) in one draw, at most."""
        return self.steps * (self.refinements + 2 + 1 / self.acceptance)

    def sample(self, potential: Potential, generator: np.random.Generator) -> FloatArray:
        """A draw from exp(-potential(x) - (m/2)|x - centre|^2) on the domain."""
        kernel = _BallKernel(self.domain) if isinstance(self.domain, Ball) else _BoxKernel(self.domain)
        variance = 1 / (self.strength + 1 / self.step)
        deviation, noise, shrink = sqrt(variance), sqrt(self.step), variance / self.step
        centre = self.domain.centre
        x = kernel.uniform(generator)
        for _ in range(self.steps):
            y = x + noise * generator.standard_normal(centre.size)
            middle = centre + shrink * (y - centre)
            point = kernel.project(middle)
            for _ in range(self.refinements):
                point = kernel.project(middle - variance * potential.gradient(point))
            slope = potential.gradient(point)
            level = potential.value(point[None, :])[0] - slope @ point
            mean = middle - variance * slope
            for _ in range(0, self.tries, TOGETHER):
                proposals, inside = kernel.propose(mean, deviation, generator)
                # Accepting with probability e^{-gap} is an exponential clock that outlives the gap.
                clocks = generator.standard_exponential(TOGETHER)
                accepted = inside & (clocks >= potential.value(proposals) - proposals @ slope - level)
                if accepted.any():
                    x = proposals[int(accepted.argmax())]
                    break
        return x


def certified_sampler(
    domain: Ball | Box,
    *,
    strength: float,
    lipschitz: float,
    smoothness: float,
    divergence: float,
    distance: float,
    step: float | None = None,
) -> ProximalSampler:
    """The cheapest proximal sampler whose error is certified to be at most `distance`.

    Args:
        domain: the ball or box.
        strength: m > 0, the curvature of the quadratic part.
        lipschitz: a bound on the slopes of g.
        smoothness: a bound on the curvature of g (infinite if it has kinks).
        divergence: a bound on the divergence of the start, uniform on the domain, from the law.
        distance: the total variation error to be met.
        step: the variance of the noise of a step (None: the one with the least work).
    """
    owner = "certified_sampler"
    check_positive(owner, "strength", strength)
    check_number(owner, "lipschitz", lipschitz, above=0.0, closed_low=True)
    check_positive(owner, "divergence", divergence)
    check_number(owner, "distance", distance, above=0.0, below=1.0)
    if smoothness != inf:
        check_number(owner, "smoothness", smoothness, above=0.0, closed_low=True)
    candidates = np.geomspace(1e-9, 1e3, 97) / strength if step is None else [check_positive(owner, "step", step)]
    best: ProximalSampler | None = None
    for step in candidates:
        # Half of the distance for the divergence (Pinsker), half for the caps on rejections.
        decay = 2 * log1p(strength * step)
        steps = max(1, ceil(max(0.0, log(2 * divergence) - 2 * log(distance) + _LAST_DIGITS) / decay))
        failure = distance / (4 * steps)
        farthest = sqrt(domain.dimension) + sqrt(2 * log(1 / failure))  # |z| exceeds it with less probability
        variance = 1 / (strength + 1 / step)
        inside = 1.0
        if isinstance(domain, Ball):
            mean = variance / step * (domain.radius + sqrt(step) * farthest) + variance * lipschitz
            inside = _inside_probability(domain, mean, sqrt(variance))
        for refinements in range(6):
            acceptance = inside * exp(-_gap(domain.dimension, variance, lipschitz, smoothness, refinements))
            if not acceptance > 1e-3:
                continue
            tries = ceil(log(1 / failure) / -log1p(-min(acceptance, 1 - 1e-9)))
            tries = -(-tries // TOGETHER) * TOGETHER
            made = ProximalSampler(domain, strength, float(step), steps, refinements, tries, acceptance, distance)
            if best is None or made.work < best.work:
                best = made
    if best is None:
        raise PrivacyError("No step of the proximal sampler has a certified acceptance probability above 0.001.")
    return best


def _gap(dimension: int, variance: float, lipschitz: float, smoothness: float, refinements: int) -> float:
    """A bound on the mean of g(x) - g(u) - <g'(u), x - u> under the truncated Gaussian."""
    contraction = variance * smoothness if lipschitz > 0 else 0.0
    if refinements and not contraction < 1:
        return inf
    miss = variance * lipschitz * (contraction**refinements if refinements else 1.0)
    width = sqrt(variance * dimension) + miss
    return min(2 * lipschitz * width, smoothness / 2 * width**2 if smoothness < inf else inf)


def _inside_probability(ball: Ball, mean: float, scale: float) -> float:
    """A lower bound on the share of proposals inside the ball, for all means up to `mean` from its centre.

    Given q = |w|^2/s^2, chi-square across the axis, x is inside if u, normal around the mean and truncated to
    [-R, R], falls in [-r, r], r^2 = R^2 - s^2 q. That share falls with q and with the mean: sum over quantiles of q.
    """
    if ball.dimension == 1:
        return 1.0
    count = 64
    quantiles = 2 * gammaincinv((ball.dimension - 1) / 2, np.arange(1, count) / count)
    reach = np.sqrt(np.maximum(0.0, ball.radius**2 - scale**2 * quantiles))
    shares = np.exp(_log_mass(reach, mean, scale) - _log_mass(np.array([ball.radius]), mean, scale))
    return float(np.minimum(shares, 1.0).sum() / count) * (1 - 1e-9)


def _log_mass(reach: FloatArray, mean: float, scale: float) -> FloatArray:
    """The logarithm of P[|u| <= reach] for u normal around mean >= 0."""
    upper, lower = log_ndtr((reach - mean) / scale), log_ndtr((-reach - mean) / scale)
    share = -np.expm1(np.minimum(lower - upper, 0.0))
    return np.asarray(upper + np.log(np.maximum(share, 1e-300)))


class _BoxKernel:
    """What a step needs of a box; proposals are truncated normals, coordinate by coordinate."""

    def __init__(self, box: Box) -> None:
        self._low, self._high, self.project = box.low, box.high, box.nearest
        self._inside = np.ones(TOGETHER, dtype=bool)

    def uniform(self, generator: np.random.Generator) -> FloatArray:
        return np.asarray(self._low + (self._high - self._low) * generator.random(self._low.size))

    def propose(self, mean: FloatArray, scale: float, generator: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        shape = (TOGETHER, self._low.size)
        return truncated_normal(mean, scale, self._low, self._high, generator, shape), self._inside


class _BallKernel:
    """What a step needs of a ball; proposals are truncated along the axis of their mean only."""

    def __init__(self, ball: Ball) -> None:
        self._radius, self._dimension = ball.radius, ball.dimension
        self._ends = np.array(-ball.radius), np.array(ball.radius)

    def uniform(self, generator: np.random.Generator) -> FloatArray:
        direction = generator.standard_normal(self._dimension)
        length = self._radius * generator.random() ** (1 / self._dimension)
        return np.asarray(direction * (length / sqrt(direction @ direction)))

    def project(self, point: FloatArray) -> FloatArray:
        length = sqrt(point @ point)
        return point if length <= self._radius else point * (self._radius / length)

    def propose(self, mean: FloatArray, scale: float, generator: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        length = sqrt(mean @ mean)
        axis = mean / length if length > 0 else np.eye(self._dimension)[0]
        points = scale * generator.standard_normal((TOGETHER, self._dimension))
        along = truncated_normal(np.array(length), scale, *self._ends, generator, (TOGETHER,))
        points += np.outer(along - points @ axis, axis)
        return points, np.add.reduce(points * points, axis=1) <= self._radius**2


def truncated_normal(
    mean: FloatArray,
    scale: float,
    low: FloatArray,
    high: FloatArray,
    generator: np.random.Generator,
    shape: tuple[int, ...],
) -> FloatArray:
    """Normal variables truncated to [low, high], by inversion in logarithms; exact far out in the tails too."""
    below, above = (low - mean) / scale, (high - mean) / scale
    flipped = below > 0  # work in the left tail, where logarithms of probabilities keep their digits
    left = np.where(flipped, -above, below)
    right = np.where(flipped, -below, above)
    share = 1.0 - generator.random(shape)
    with np.errstate(divide="ignore"):  # a share of exactly 1 is the right end
        logarithm = np.logaddexp(log_ndtr(left) + np.log1p(-share), log_ndtr(right) + np.log(share))
    standard: FloatArray = ndtri_exp(np.minimum(logarithm, 0.0))
    standard = np.minimum(np.maximum(standard, left), right)
    return np.clip(mean + scale * np.where(flipped, -standard, standard), low, high)
