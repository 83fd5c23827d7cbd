"""What a mechanism leaks, as delta at an epsilon, in fifty digits: pure, Gaussian, and bounds by Renyi divergences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import mpmath as mp

from tacit.verification.facts import NotVerifiable

DIGITS = 50
Real = Any  # mpmath has no types
_POWERS = (-9, 37)  # ln(alpha - 1) of the orders that are tried: where draws are few, the best one is beyond all bounds


class Leak(ABC):
    """Delta as a function of epsilon, never too small."""

    @property
    def sharp(self) -> bool:
        """Whether nothing better is known, so that an epsilon it does not confirm is wrong."""
        return True

    @abstractmethod
    def delta(self, epsilon: Real) -> Real:
        """Give a proved delta at this epsilon."""

    def epsilon(self, delta: Real, near: Real) -> Real:
        """Find the smallest epsilon proved at this delta, to ten digits from above, perhaps about `near`."""
        return mp.inf if delta == 0 else solved(self, delta, near)


@dataclass(frozen=True)
class PureLeak(Leak):
    """Every outcome's privacy loss is at most `value`: delta as of randomised response, the worst of these."""

    value: Real
    sharp: bool = True

    def delta(self, epsilon: Real) -> Real:
        """Compute (e^value - e^epsilon)/(e^value + 1) below `value`, else 0."""
        if epsilon >= self.value:
            return mp.mpf(0)
        return -mp.expm1(epsilon - self.value) / (1 + mp.exp(-self.value))

    def epsilon(self, delta: Real, near: Real) -> Real:
        return self.value if delta == 0 else solved(self, delta, near)


@dataclass(frozen=True)
class ResponsesLeak(Leak):
    """`count` mechanisms whose losses are at most `value`, composed: as many randomised responses dominate them.

    The loss is a walk of `count` steps of +-value, up with probability 1/(1 + e^-value) (Kairouz, Oh and Viswanath).
    """

    value: Real
    count: int
    sharp: bool = True

    def delta(self, epsilon: Real) -> Real:
        """Compute E(1 - e^{epsilon - walk})_+."""
        return mp.fsum(-weight * mp.expm1(epsilon - place) for place, weight in self._walk if place > epsilon)

    @cached_property
    def _walk(self) -> list[tuple[Real, Real]]:
        up, down = 1 / (1 + mp.exp(-self.value)), 1 / (1 + mp.exp(self.value))
        places = range(self.count + 1)
        return [
            ((2 * k - self.count) * self.value, mp.binomial(self.count, k) * up**k * down ** (self.count - k))
            for k in places
        ]

    def epsilon(self, delta: Real, near: Real) -> Real:
        return self.count * self.value if delta == 0 else solved(self, delta, near)


@dataclass(frozen=True)
class GaussianLeak(Leak):
    """As hard to tell apart as N(0, 1) and N(mu, 1), but for what samplers of integers are off.

    Attributes:
        mu: the distance.
        distance: in total variation, of both neighbours' laws.
        extra: is added to epsilon, because the laws are within a factor.
        exponent: delta is multiplied by e to this power, for the same reason.
    """

    mu: Real
    distance: Real = 0
    extra: Real = 0
    exponent: Real = 0
    sharp: bool = True

    def delta(self, epsilon: Real) -> Real:
        """Compute Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu) at e = epsilon - extra, plus the price of the distance."""
        if self.mu == 0:
            return mp.mpf(0)
        at = max(mp.mpf(0), epsilon - self.extra)
        ideal = mp.ncdf(self.mu / 2 - at / self.mu) - mp.exp(at) * mp.ncdf(-self.mu / 2 - at / self.mu)
        return mp.exp(self.exponent) * ideal + (1 + mp.exp(epsilon)) * self.distance

    def epsilon(self, delta: Real, near: Real) -> Real:
        return super().epsilon(delta, near) if self.mu > 0 else mp.mpf(0)


def grouped(leak: Leak, rounds: int, delta: Real, near: Real) -> Leak:
    """Bound what so many rounds of a person leak, each of which leaks this by itself, wherever these rounds stand.

    Streams that differ in m rounds are the ends of a chain of m + 1 streams, neighbours of which differ in one round.
    Losses of at most epsilon add up to m epsilon. Pairs as hard to tell apart as N(0, 1) and N(mu, 1) make ends as
    hard to tell apart as N(0, 1) and N(m mu, 1). Samplers may be off wherever one of the rounds stands, m times.
    """
    if rounds == 1:
        return leak
    if isinstance(leak, PureLeak) or delta == 0:
        return PureLeak(rounds * leak.epsilon(mp.mpf(0), near / rounds), sharp=False)
    if isinstance(leak, GaussianLeak):
        mu, distance, extra, exponent = (rounds * part for part in (leak.mu, leak.distance, leak.extra, leak.exponent))
        return GaussianLeak(mu, distance, extra, exponent, sharp=False)
    raise NotVerifiable("Several rounds of a person in several epochs are recomputed for pure and Gaussian noise only.")


@dataclass(frozen=True)
class RenyiLeak(Leak):
    """A bound on (alpha - 1) times the Renyi divergence at each order alpha, as a function of alpha."""

    log_moment: Callable[[Real], Real]
    sharp: bool = True

    def delta(self, epsilon: Real) -> Real:
        """Find the least e^{(alpha-1)(r - epsilon)} (1 - 1/alpha)^{alpha-1}/alpha over orders (Canonne and others)."""

        def log_delta(power: Real) -> Real:
            gap = mp.exp(power)
            alpha = 1 + gap
            return self.log_moment(alpha) - gap * epsilon + gap * mp.log(gap / alpha) - mp.log(alpha)

        return min(mp.exp(min(mp.mpf(0), least(log_delta))), self._distance)

    @property
    def _distance(self) -> Real:
        """A bound on the total variation: sqrt(1 - e^-D), D at the least order (Bretagnolle and Huber)."""
        gap = mp.exp(mp.mpf(_POWERS[0]))
        return mp.sqrt(-mp.expm1(-self.log_moment(1 + gap) / gap))

    def epsilon(self, delta: Real, near: Real) -> Real:
        if delta == 0:
            return mp.inf
        if self._distance <= delta:
            return mp.mpf(0)

        def at(power: Real) -> Real:
            gap = mp.exp(power)
            alpha = 1 + gap
            return self.log_moment(alpha) / gap + mp.log(gap / alpha) - (mp.log(delta) + mp.log(alpha)) / gap

        return max(mp.mpf(0), least(at))


@dataclass(frozen=True)
class SampledLeak(Leak):
    """A leak whose noise is drawn with errors: `distance`, `extra` and `exponent` as for `GaussianLeak`."""

    ideal: Leak
    distance: Real
    extra: Real
    exponent: Real

    @property
    def sharp(self) -> bool:
        return self.ideal.sharp

    def delta(self, epsilon: Real) -> Real:
        ideal = self.ideal.delta(max(mp.mpf(0), epsilon - self.extra))
        return mp.exp(self.exponent) * ideal + (1 + mp.exp(epsilon)) * self.distance

    def epsilon(self, delta: Real, near: Real) -> Real:
        """Give the ideal leak's epsilon at what the distance leaves of delta, a price that grows with epsilon."""
        at = mp.mpf(near)
        for _ in range(8):
            left = (delta - (1 + mp.exp(at)) * self.distance) * mp.exp(-self.exponent)
            if left <= 0:
                return mp.inf
            found = self.extra + self.ideal.epsilon(left, at)
            if found <= at:
                return found
            at = found * (1 + mp.mpf(10) ** -11)
        return mp.inf


@dataclass(frozen=True)
class BestOf(Leak):
    """Several bounds on one mechanism: the least counts; `extra` is what errors of float64 weights added to epsilon."""

    leaks: tuple[Leak, ...]
    sharp: bool = True
    extra: Real = 0

    def delta(self, epsilon: Real) -> Real:
        return min(leak.delta(epsilon) for leak in self.leaks)

    @lru_cache(maxsize=64)  # noqa: B019 - leaks are small
    def epsilon(self, delta: Real, near: Real) -> Real:
        return min(leak.epsilon(delta, near) for leak in self.leaks)


def least(function: Callable[[Real], Real]) -> Real:
    """Find the least value between these powers: a coarse look, then golden sections. Any value is a valid bound."""
    points = [mp.mpf(power) for power in range(*_POWERS)]
    values = [function(point) for point in points]
    best = min(range(len(points)), key=values.__getitem__)
    left, right = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    golden = (mp.sqrt(5) - 1) / 2
    first, second = right - golden * (right - left), left + golden * (right - left)
    low, high = function(first), function(second)
    for _ in range(48):
        if low < high:
            right, second, high = second, first, low
            first = right - golden * (right - left)
            low = function(first)
        else:
            left, first, low = first, second, high
            second = left + golden * (right - left)
            high = function(second)
    return min(values[best], low, high)


def solved(leak: Leak, delta: Real, near: Real) -> Real:
    """Find the smallest epsilon with a small enough falling delta, to ten digits from above; infinite above 1000."""
    if leak.delta(mp.mpf(0)) <= delta:  # else the search below would halve for ever
        return mp.mpf(0)
    high = max(mp.mpf(near), mp.mpf("1e-6"))
    while leak.delta(high) > delta:
        high *= 2
        if high > 1000:
            return mp.inf
    low = mp.mpf(0)
    while high - low > high * mp.mpf(10) ** -10:
        middle = (low + high) / 2
        low, high = (low, middle) if leak.delta(middle) <= delta else (middle, high)
    return high
