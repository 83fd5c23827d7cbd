"""Objective perturbation of the logistic loss: where it is steep it is flat, and the accounting knows.

The logistic loss has slope f' = -a and curvature f'' = a (1 - a), a in [0, 1] (times the label, and in units of G and
4 beta). `objective_accounting` charges the largest slope and the largest curvature together, ln(1+c) + max(0, s^2/2 +
s n) with s = G/sigma, c = beta/lambda, n standard normal. They never meet: removing a record with u = a G v/|v| has
log ratio at most

    Lam(n) = max over a in [0, 1] of  ln(1 + 4 a (1-a) c) + a^2 s^2/2 + a s n        n = -<g, v>/(sigma |v|)

(shorter rows, |v| = rho: with b = a rho the curvature 4 b^2 (1/a - 1) c is largest at a = b, so rho = 1 is the worst
for every n). Adding a record: the determinant helps. Hence

    zero-out  delta(eps) = E(1 - e^{eps - Lam(n)})_+
    replace   delta(eps) = E(1 - e^{eps - Lam(n)})_+ + E(1 - e^{eps - s^2/2 - s n - Lam(n+s)})_+

Replacing u_1 by u_2 = a_2 G w_2: the log ratio is convex in a_2, so a_2 is 0 (the first term) or 1. Then it is A(n')
+ Lam(tau (n'+s) + sqrt(1-tau^2) n''), A(n') = s^2/2 + s n', tau = -<w_1, w_2>, and by Gaussian integration by parts
d/dtau E(1 - e^{eps - .})_+ = s E[Lam' on the boundary {log ratio = eps}] >= 0: tau = 1 is the worst; in the same way
it grows with |w_2|.

Several releases: of each the survival function min(1, sum of the two) is a privacy loss whose profile lies above
(below the crossing it is the chord in e^eps from (0, 1), above every convex profile); these compose adaptively,
convolved. The noise that covers inexact minimisation is one more Gaussian.

Numerics: Lam is convex and increasing in n. It is computed on a grid of a, where the grid misses at most
(8c + 16c^2 + s^2) h^2/8, and of n, with chords between (above a convex function). Losses are rounded up to a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, hypot, log1p, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr

from tacit.learners.stochastic.objective_accounting import GaussianAlternatives, composed, release_curve
from tacit.privacy.calibration import smallest
from tacit.privacy.curves import ROUND_UP, Curve, Gaussian
from tacit.privacy.guarantee import REPLACE, ZERO_OUT
from tacit.validation import LARGEST, FloatArray, check_flag, check_integer, check_number

# Normal variables beyond this count as lost: probability 2e-33.
_FAR = 12.0
_STEP = 0.1
# Below this delta the transform's floats end; the Gaussian alternatives go on.
_LEAST = 1e-10
_POINTS = 2**14
# Releases together louder than this hide nothing that anyone would ask for.
_LOUDEST = 8.0


@dataclass(frozen=True)
class LinkedReleases(Curve):
    """Minimisers of logistic losses on the same records, each behind Gaussian noise.

    Attributes:
        move: s = G/sigma.
        growth: c = beta/lambda.
        replacement: whether neighbours replace a record (else they zero it out).
        protection: mu of the noise that covers inexact minimisation, of one release.
        releases: how many minimisers.

    >>> curve = LinkedReleases(0.236, 0.284, False, 0.0, 1)
    >>> round(curve.epsilon(1e-6), 2)
    1.0
    """

    move: float
    growth: float
    replacement: bool
    protection: float
    releases: int = 1
    notion: ClassVar[str] = "linked slope and curvature"

    def __post_init__(self) -> None:
        for name in ("move", "growth", "protection"):
            check_number("LinkedReleases", name, getattr(self, name), above=0.0, below=LARGEST, closed_low=True)
        check_flag("LinkedReleases", "replacement", self.replacement)
        check_integer("LinkedReleases", "releases", self.releases)

    def renyi(self, orders: FloatArray) -> FloatArray:
        return self.apart.renyi(orders)

    def pure(self) -> float:
        return self.apart.pure()

    def merged(self, others: Sequence[Curve]) -> Curve | None:
        linked = [other for other in others if isinstance(other, LinkedReleases)]
        if len(linked) == len(others) and all(other._one == self._one for other in linked):
            return replace(self, releases=self.releases + sum(other.releases for other in linked))
        mus = [other.mu for other in others if isinstance(other, Gaussian)]
        if len(mus) == len(others):  # a Gaussian release beside these is as if their cover were that much thinner
            return replace(
                self, protection=hypot(self.protection, *(mu / sqrt(self.releases) for mu in mus)) * ROUND_UP
            )
        apart = (other.apart if isinstance(other, LinkedReleases) else other for other in others)
        return self.apart.merged(list(apart))

    @property
    def _quiet(self) -> bool:
        """Whether the losses have room on a grid."""
        return max(self.move, self.protection) * sqrt(self.releases) <= _LOUDEST

    @property
    def _one(self) -> LinkedReleases:
        return replace(self, releases=1)

    def delta(self, epsilon: float) -> float:
        known = self.apart.delta(epsilon)
        return min(known, self._convolved(epsilon)) if known > _LEAST and self._quiet else known

    def epsilon(self, delta: float) -> float:
        known = self.apart.epsilon(delta)
        if not (delta > _LEAST and self._quiet and 0 < known < np.inf and self._convolved(known) <= delta):
            return known
        return smallest(lambda epsilon: self._convolved(epsilon) <= delta, 0.0, known, 1e-10)

    @cached_property
    def apart(self) -> GaussianAlternatives:
        """The same releases with the largest slope and the largest curvature together."""
        one = release_curve(
            move=self.move,
            growth=self.growth,
            one_sided=True,
            relation=REPLACE if self.replacement else ZERO_OUT,
            protection=self.protection,
        )
        return composed([one] * self.releases)

    def _convolved(self, epsilon: float) -> float:
        law = self._law
        first = int(np.searchsorted(law.places, epsilon, side="right"))
        beyond = float(law.chances[first] - np.exp(epsilon) * law.discounted[first])
        return min(1.0, max(0.0, beyond) * ROUND_UP + law.lost)

    @cached_property
    def _law(self) -> _Law:
        """All releases and their protections, convolved."""
        s, c, count = self.move, self.growth, self.releases
        cover = self.protection * sqrt(count)
        largest = log1p(c) + (1 + self.replacement) * s * (_FAR + 2 * s)
        step = (count * largest + (2 * _FAR + cover) * cover) / _POINTS
        survival = self._survival(np.arange(ceil(largest / step) + 2.0) * step)
        release = -np.diff(survival, prepend=1.0)
        low, normal = _normal_losses(cover, step)
        size = 2 ** (count * len(release) + len(normal)).bit_length()
        law = np.fft.irfft(np.fft.rfft(release, size) ** count * np.fft.rfft(normal, size), size)
        law = np.maximum(law, 0.0)
        # Errors of the transforms, summed up at the worst; what lies above the grids is lost.
        error = 8 * 2.0**-52 * size.bit_length() * (count + 1) * float(np.sqrt(size * np.add.reduce(law * law)))
        places = (np.arange(size) + low) * step
        with np.errstate(over="ignore", under="ignore"):
            discounted = _suffixes(law * np.exp(-places))
        return _Law(places, _suffixes(law), discounted, error + count * float(survival[-1]) + float(ndtr(-_FAR)))

    def _survival(self, losses: FloatArray) -> FloatArray:
        """P[loss of one release > x], rounded up, at each of these x >= 0."""
        s = self.move
        normal = np.arange(-_FAR, _FAR + s + _STEP, _STEP)
        linked = self._linked(normal)
        total = ndtr(-np.interp(losses, linked, normal))
        total[losses < linked[0]] = 1.0
        if self.replacement:
            both = s * s / 2 + s * normal + np.interp(normal + s, normal, linked)
            inside = normal <= _FAR
            total = total + ndtr(-np.interp(losses, both[inside], normal[inside]))
        return np.asarray(np.minimum(total, 1.0))

    def _linked(self, normal: FloatArray) -> FloatArray:
        """Lam(n), rounded up."""
        s, c = self.move, self.growth
        bend = 8 * c + 16 * c * c + s * s
        cells = min(4096, 128 * ceil(sqrt(1 + bend)))
        a = np.linspace(0.0, 1.0, cells + 1)
        curved = np.log1p(4 * c * a * (1 - a)) + a * a * (s * s / 2)
        found = np.max(curved + np.multiply.outer(normal, a * s), axis=1)
        return np.asarray(found + bend / cells**2 / 8 * ROUND_UP + 1e-14)


class _Law(NamedTuple):
    """Losses on a grid; from each of them on, the sum of the probabilities p and that of p e^-loss; what is lost."""

    places: FloatArray
    chances: FloatArray
    discounted: FloatArray
    lost: float


def _normal_losses(mu: float, step: float) -> tuple[int, FloatArray]:
    """The losses of N(0,1) against N(mu,1), rounded up to multiples of `step`: the first, and their probabilities."""
    if mu == 0:
        return 0, np.ones(1)
    low, high = -ceil(_FAR * mu / step), ceil((mu * mu / 2 + _FAR * mu) / step)
    ends = np.arange(low, high + 1) * step
    return low, np.diff(ndtr((ends - mu * mu / 2) / mu), prepend=0.0)


def _suffixes(values: FloatArray) -> FloatArray:
    return np.append(np.cumsum(values[::-1])[::-1], 0.0)
