"""What one perturbed minimiser of generalised linear losses leaks: Gaussian curves, not tail quantiles.

The release is x = argmin J + <Z, x>, Z ~ N(0, sigma^2 I), with slopes of at most G and curvatures of at most beta. With
s = G/sigma, c = beta/lambda and l = ln(1 + c), delta_s the curve of the Gaussian mechanism with mu = s (proofs:
docs/algorithms/objective-perturbation.md):

*All generalised linear losses* (`GaussianAlternatives`). Zero-out: delta_s(eps - l) if slopes have one sign,
2 delta_s(eps - l) if both. Replacement: delta_{2s} + 2 delta_s, or 2 delta_{2s} + 2 delta_{sqrt 2 s}. Over several
releases offsets add, alternatives multiply and squared shifts add.

*The logistic loss* (`LinkedReleases`), flat where it is steep, n standard normal:

    Lam(n) = max over a in [0, 1] of  ln(1 + 4 a (1-a) c) + a^2 s^2/2 + a s n
    zero-out  delta(eps) = E(1 - e^{eps - Lam(n)})_+
    replace   delta(eps) = E(1 - e^{eps - Lam(n)})_+ + E(1 - e^{eps - s^2/2 - s n - Lam(n+s)})_+

Several releases compose by convolution. Lam is convex and increasing in n. It is computed on a grid of a, where the
grid misses at most (8c + 16c^2 + s^2) h^2/8, and of n, with chords between. Losses are rounded up to a grid. The noise
that covers inexact minimisation is one more Gaussian mechanism, m = 2 accuracy/scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import ceil, hypot, log1p, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from tacit.accounting.calibration import smallest
from tacit.accounting.curves import ROUND_UP, Curve, Gaussian
from tacit.accounting.guarantee import REPLACE, ZERO_OUT, Relation
from tacit.errors import InvalidInput, PrivacyError
from tacit.validation import LARGEST, LARGEST_INTEGER, FloatArray, check_flag, check_integer, check_number

SAVED_HOME = "tacit.algorithms.stochastic.objective_perturbation.accounting"
"""The module that saved curves name: these classes stood there in 0.3."""
# Alternatives multiply with every release: beyond this many they are added as Renyi curves.
_MOST_RELEASES = 64


@dataclass(frozen=True)
class GaussianAlternatives(Curve):
    """A log ratio of at most `offset` plus the largest of several Gaussian mechanisms' log ratios.

    Attributes:
        offset: what the log ratio may reach without noise.
        shifts: the mu of each alternative; 0 stands for "nothing happened".
        counts: how many alternatives have that mu.

    >>> curve = GaussianAlternatives(0.1, (0.0, 0.5), (1, 1))
    >>> round(curve.epsilon(1e-6) - Gaussian(0.5).epsilon(1e-6), 6)
    0.1
    """

    offset: float
    shifts: Sequence[float]
    counts: Sequence[int]
    notion: ClassVar[str] = "Gaussian alternatives"
    _home: ClassVar[str] = SAVED_HOME

    def __post_init__(self) -> None:
        owner = "GaussianAlternatives"
        check_number(owner, "offset", self.offset, above=0.0, closed_low=True)
        if len(self.shifts) != len(self.counts) or not len(self.shifts):
            raise InvalidInput("The 'shifts' and 'counts' of GaussianAlternatives must be two lists of one length.")
        shifts = (check_number(owner, "shifts", shift, above=0.0, closed_low=True) for shift in self.shifts)
        object.__setattr__(self, "shifts", tuple(shifts))
        object.__setattr__(self, "counts", tuple(check_integer(owner, "counts", count) for count in self.counts))

    def delta(self, epsilon: float) -> float:
        epsilon = check_number("GaussianAlternatives", "epsilon", epsilon, above=0.0, closed_low=True)
        beyond = epsilon - self.offset
        if beyond < 0:
            # Every log ratio is at least 0 in the bound, so below the offset 1 - e^{eps - z} is linear in e^{-z}.
            return min(1.0, (1 - float(np.exp(beyond)) * (1 - self.delta(self.offset))) * ROUND_UP)
        terms = (count * Gaussian(shift).delta(beyond) for shift, count in zip(self.shifts, self.counts, strict=True))
        return min(1.0, sum(terms) * ROUND_UP)

    def epsilon(self, delta: float) -> float:
        delta = check_number("GaussianAlternatives", "delta", delta, above=0.0, below=1.0, closed_low=True)
        if self.delta(0.0) <= delta:
            return 0.0
        if delta == 0:
            return self.pure()
        high = self.offset + Gaussian(max(self.shifts)).epsilon(delta / sum(self.counts)) + 1e-9
        return smallest(lambda epsilon: self.delta(epsilon) <= delta, 0.0, high * (1 + 1e-6), 1e-10)

    def merged(self, others: Sequence[Curve]) -> Curve | None:
        known = [other for other in others if isinstance(other, GaussianAlternatives | Gaussian)]
        if len(known) < len(others) or len(others) >= _MOST_RELEASES:
            return None
        try:
            return composed([self, *known])
        except PrivacyError:  # more alternatives than can be counted
            return None

    def pure(self) -> float:
        return self.offset if max(self.shifts) == 0 else float("inf")

    def renyi(self, orders: FloatArray) -> FloatArray:
        # E max(1, e^{(alpha-1) A_i}) <= 1 + sum_i E(e^{(alpha-1) A_i} - 1)_+, in closed form.
        orders = np.asarray(orders, dtype=np.float64)
        total = np.zeros_like(orders)  # logarithm of the bound, from ln 1
        for shift, count in zip(self.shifts, self.counts, strict=True):
            if shift == 0:
                continue
            grown = orders * (orders - 1) * shift**2 / 2 + log_ndtr((orders - 0.5) * shift)
            # e^grown - Phi(shift/2) >= 0: the first term grows with the order and equals the second at order 1.
            excess = -np.expm1(np.minimum(log_ndtr(shift / 2) - grown, -1e-18))
            total = np.logaddexp(total, np.log(count) + grown + np.log(excess))
        return np.asarray((self.offset + total / (orders - 1)) * ROUND_UP)


def release_curve(
    *, move: float, growth: float, one_sided: bool, relation: Relation, protection: float
) -> GaussianAlternatives:
    """The curve of one release: s = `move`, c = `growth`; `one_sided`: the label fixes the sign of the slope."""
    if relation is ZERO_OUT:
        alternatives = {0.0: 1, move: 1 if one_sided else 2}
    elif one_sided:
        alternatives = {0.0: 1, move: 2, 2 * move: 1}
    else:
        alternatives = {0.0: 1, float(np.sqrt(2)) * move: 2, 2 * move: 2}
    release = GaussianAlternatives(float(np.log1p(growth)), tuple(alternatives), tuple(alternatives.values()))
    return composed([release, Gaussian(protection)])


def composed(curves: Iterable[GaussianAlternatives | Gaussian]) -> GaussianAlternatives:
    """The composition of releases and Gaussian mechanisms: offsets add, alternatives multiply."""
    return reduce(
        _product,
        (GaussianAlternatives(0.0, (curve.mu,), (1,)) if isinstance(curve, Gaussian) else curve for curve in curves),
    )


def _product(first: GaussianAlternatives, second: GaussianAlternatives) -> GaussianAlternatives:
    found: Counter[float] = Counter()
    for a, m in zip(first.shifts, first.counts, strict=True):
        for b, n in zip(second.shifts, second.counts, strict=True):
            found[float(np.hypot(a, b)) * ROUND_UP] += m * n
    # Shifts that differ by rounding only are merged into the largest of them: the list stays short.
    merged: dict[float, int] = {}
    above = float("inf")
    for shift in sorted(found, reverse=True):
        above = above if shift >= above * (1 - 1e-8) else shift
        merged[above] = merged.get(above, 0) + found[shift]
    if max(merged.values()) > LARGEST_INTEGER:
        raise PrivacyError(
            "So many releases have more alternatives than can be counted (2**63): make fewer of them, or use delta=0."
        )
    offset = (first.offset + second.offset) * ROUND_UP
    return GaussianAlternatives(offset, tuple(merged), tuple(merged.values()))


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
    _home: ClassVar[str] = SAVED_HOME

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
        if len(linked) == len(others) and all(replace(other, releases=self.releases) == self for other in linked):
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
