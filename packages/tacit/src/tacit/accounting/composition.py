"""Composition: what several mechanisms on the same people leak together, adaptively.

Two ways are always tried, and the better one is stated.

Jointly. A part known at one point, (eps, delta)-DP, is dominated by: with probability delta everything is lost, else
randomised response at eps. So what is lost, 1 - prod(1 - delta_i), is paid once, and the rest composes: pure parts as a
walk (`Responses`), Gaussian parts exactly, everything else by adding Renyi divergences. Sampler errors are priced last.

Part by part. Epsilons and deltas add, at any division of delta: no composition is dearer than that.

Pure parts. Every epsilon-DP mechanism is dominated by randomised response, whose privacy loss is +-epsilon, + with
probability 1/(1 + e^-epsilon); dominating pairs compose adaptively (Kairouz, Oh and Viswanath, 2015). So the loss of
many is a walk with these steps, and delta(eps) = E(1 - e^{eps - walk})_+. Equal steps make a binomial walk, and a few
different ones a walk that can be listed: both exact. Walks with more places than that are rounded up to a grid.

Neighbours two steps apart (`two_steps`). A stream and the one with a round replaced are both neighbours of the stream
with that round zeroed out. From P <= e^a P_0 + d(a) and P_0 <= e^a P' + d(a) follows delta(2a) <= (1 + e^a) d(a).
Gaussian and pure curves just double. Renyi divergences obey
D_a(P, P') <= (a - 1/2)/(a - 1) D_2a(P, P_0) + D_{2a-1}(P_0, P') (Mironov, 2017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, expm1, hypot, inf, log1p, prod, sqrt
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from tacit.accounting.calibration import largest, smallest
from tacit.accounting.conversion import LEAST_DELTA, ORDERS, ROUND_UP, fail_closed, failing_delta, failing_epsilon
from tacit.accounting.curves import Approximate, Curve, Gaussian, Pure, Renyi, Repeated, SamplerError, Sum, check_curve
from tacit.accounting.rounding import sum_up
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, check_integer, check_number, invalid

# Walks with more places than this are rounded up to a grid, their steps to a coarser one.
_PLACES, _STEP_PLACES = 2**16, 2**9
_LONGEST = 10**5
# Grids end where less than this is beyond: below, it is rounded up into the grid; above, it counts as lost.
_TAIL = 1e-25
# Where divergences are evaluated once and for all: four orders from one of the conversion's to the next, each barely
# above what its refinement looks at.
VECTOR_ORDERS: FloatArray = 1.0 + np.geomspace(ORDERS[0] - 1, ORDERS[-1] - 1, 4 * len(ORDERS) - 3) * (1 + 1e-9)
# Below this delta the walk's floats end; Renyi and the plain sum go on.
_LEAST = 1e-20


@dataclass(frozen=True)
class Responses(Curve):
    """Pure guarantees composed: `counts[i]` of them with epsilon `values[i]`.

    >>> round(Responses((0.1,), (100,)).epsilon(9e-6), 2), Responses((0.5, 1.0), (1, 1)).epsilon(0.0)
    (4.33, 1.5)
    """

    values: Sequence[float]
    counts: Sequence[int]
    notion: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        for name, listed in (("values", self.values), ("counts", self.counts)):
            if not isinstance(listed, list | tuple) or len(listed) != len(self.values) or not listed:
                raise invalid("Responses", name, "a list of as many numbers as there are counts, at least one", listed)
        values = (check_number("Responses", "values", value, above=0.0, closed_low=True) for value in self.values)
        object.__setattr__(self, "values", tuple(values))
        object.__setattr__(self, "counts", tuple(check_integer("Responses", "counts", count) for count in self.counts))

    def renyi(self, orders: FloatArray) -> FloatArray:
        total = np.zeros_like(orders)
        for value, count in zip(self.values, self.counts, strict=True):
            total = total + count * Pure(value).renyi(orders)
        return total * ROUND_UP

    def pure(self) -> float:
        if sum(self.counts) <= _LONGEST:
            return sum_up(v for value, count in zip(self.values, self.counts, strict=True) for v in [value] * count)
        return sum_up(value * count for value, count in zip(self.values, self.counts, strict=True)) * ROUND_UP

    def _epsilon(self, delta: float) -> float:
        known = super()._epsilon(delta)
        if delta < _LEAST or max(self.counts) > _LONGEST:
            return known
        return min(known, smallest(lambda e: self._walked(e) <= delta, 0.0, self.pure(), 1e-12))

    def _delta(self, epsilon: float) -> float:
        known = super()._delta(epsilon)
        return known if max(self.counts) > _LONGEST else min(known, max(self._walked(epsilon), _LEAST))

    def _walked(self, epsilon: float) -> float:
        if epsilon >= self.pure():
            return 0.0
        places, weights, lost, inflation = self._walk
        # Places are known up to rounding of their sums: epsilon is read that much lower.
        gain = -np.expm1(np.minimum(epsilon - 1e-14 * self.pure() - places, 0.0))
        return min(1.0, lost + float(weights @ gain) * inflation)

    @cached_property
    def _walk(self) -> tuple[FloatArray, FloatArray, float, float]:
        """Where the walk may be, with what probability, what is lost, and how much rounding may have taken."""
        places, weights, lost, inflation = np.zeros(1), np.ones(1), 0.0, ROUND_UP
        rounded = prod(count + 1 for count in self.counts) > _PLACES and len(self.counts) > 1
        for value, count in sorted(zip(self.values, self.counts, strict=True)):
            steps, chances = _binomial_walk(value, count)
            inflation *= 1 + 1e-15 * (3 * float(gammaln(count + 1)) + count * (1 + value) + 10)
            if rounded:
                steps, chances, missed = _on_grid(steps, chances, _STEP_PLACES)
                lost += missed
            places, weights = (places[:, None] + steps).ravel(), (weights[:, None] * chances).ravel()
            if rounded:
                places, weights, missed = _on_grid(places, weights, _PLACES // 8)
                lost += missed
        return places, weights, lost * inflation, inflation


def _binomial_walk(value: float, count: int) -> tuple[FloatArray, FloatArray]:
    ups = np.arange(count + 1.0)
    ways = gammaln(count + 1) - gammaln(ups + 1) - gammaln(count - ups + 1)
    with np.errstate(under="ignore"):
        return (2 * ups - count) * value, np.exp(ways - (count - ups) * value - count * log1p(exp(-value)))


def _on_grid(places: FloatArray, weights: FloatArray, points: int) -> tuple[FloatArray, FloatArray, float]:
    """The same walk with places rounded up to so many points; what lies too far above is lost."""
    if len(places) <= points:
        return places, weights, 0.0
    order = np.argsort(places)
    places, weights = places[order], weights[order]
    beyond = np.add.accumulate(weights[::-1])[::-1]  # the chance of this place or a higher one
    last = max(int(np.searchsorted(-beyond, -_TAIL, side="right")), 1)
    first = min(int(np.searchsorted(np.add.accumulate(weights), _TAIL)), last - 1)
    lost = float(np.add.reduce(weights[last:]))
    if not places[last - 1] > places[first]:  # all that is not lost is in one place
        return places[first : first + 1], np.array([float(np.add.reduce(weights[:last]))]), lost
    step = (places[last - 1] - places[first]) / (points - 1)
    cells = np.maximum(np.ceil((places[:last] - places[first]) / step * (1 - 1e-12)), 0).astype(np.int64)
    summed = np.bincount(cells, weights[:last]).astype(np.float64)
    return places[first] + step * (1 + 1e-12) * np.arange(len(summed)), summed, lost


@dataclass(frozen=True)
class TwoSteps(Curve):
    """What `curve` says about neighbours that are two of its steps apart."""

    curve: Curve

    def __post_init__(self) -> None:
        check_curve("TwoSteps", self.curve)

    def renyi(self, orders: FloatArray) -> FloatArray:
        near, far = self.curve.renyi(2 * orders - 1), self.curve.renyi(2 * orders)
        return ((orders - 0.5) / (orders - 1) * far + near) * ROUND_UP

    def pure(self) -> float:
        return 2 * self.curve.pure()

    def _epsilon(self, delta: float) -> float:
        known = super()._epsilon(delta)
        if delta == 0:
            return known
        half = 0.0
        for _ in range(100):  # the least half epsilon, from below
            if self._at(half) <= delta:
                return min(known, 2 * half)
            half = self.curve.epsilon(delta / (1 + exp(half)) * (2 - ROUND_UP)) * (1 + 1e-9)
            if half > 300:
                break
        return known

    def _delta(self, epsilon: float) -> float:
        return min(super()._delta(epsilon), self._at(epsilon / 2))

    def _at(self, half: float) -> float:
        return min(1.0, (1 + exp(min(half, 700.0))) * self.curve.delta(half) * ROUND_UP)


def two_steps(curve: Curve) -> Curve:
    """The curve for neighbours two steps apart, in closed form where there is one."""
    match curve:
        case Pure(value=value):
            return Pure(2 * value)
        case Gaussian(mu=mu):
            return Gaussian(2 * mu)
        case Approximate(value=value, at=0.0):
            return Approximate(2 * value, 0.0)
        case Approximate(value=value, at=at) if value <= 700 and (1 + exp(value)) * at * ROUND_UP < 1:
            return Approximate(2 * value, (1 + exp(value)) * at * ROUND_UP)
    return TwoSteps(curve)


_LARGEST_DELTA = 1 - 2**-53


@dataclass(frozen=True)
class Failing(Curve):
    """With probability `failure` everything is lost, else `curve` holds."""

    curve: Curve
    failure: float

    def __post_init__(self) -> None:
        check_curve("Failing", self.curve)
        failure = check_number("Failing", "failure", self.failure, above=0.0, below=1.0, closed_low=True)
        object.__setattr__(self, "failure", failure)

    def renyi(self, orders: FloatArray) -> FloatArray:
        return self.curve.renyi(orders) if self.failure == 0 else np.full_like(orders, inf)

    def pure(self) -> float:
        return self.curve.pure() if self.failure == 0 else inf

    def _epsilon(self, delta: float) -> float:
        return failing_epsilon(self.curve.epsilon, self.failure, delta)

    def _delta(self, epsilon: float) -> float:
        return failing_delta(self.curve.delta(epsilon), self.failure)


@dataclass(frozen=True)
class Composition(Curve):
    """Several curves about the same people, never dearer than their epsilons and deltas added up.

    Attributes:
        parts: the curves.
        deltas: the delta at which each is stated: how basic composition divides delta (default: alike).

    >>> pair = Composition((Pure(1.0), Approximate(1.0, 1e-6)))
    >>> pair.epsilon(1e-6)
    2.0
    """

    parts: tuple[Curve, ...]
    deltas: Sequence[float] | None = None
    notion: ClassVar[str] = "composition"

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple) or not self.parts or not all(isinstance(p, Curve) for p in self.parts):
            raise InvalidInput(f"The 'parts' of Composition must be a tuple of curves. Got {self.parts!r} instead.")
        if self.deltas is not None:
            if not isinstance(self.deltas, list | tuple):
                raise invalid("Composition", "deltas", "a list of numbers or None", self.deltas)
            deltas = tuple(check_number("Composition", "deltas", d, above=0.0, closed_low=True) for d in self.deltas)
            object.__setattr__(self, "deltas", deltas)
            if len(deltas) != len(self.parts):
                raise InvalidInput("The 'deltas' of Composition must be as many as its parts.")

    @cached_property
    def joint(self) -> Curve:
        return joint(self.parts)

    def renyi(self, orders: FloatArray) -> FloatArray:
        return self.joint.renyi(orders)

    def pure(self) -> float:
        return sum_up(fail_closed(part.pure()) for part in self.parts)

    def _epsilon(self, delta: float) -> float:
        return min(self.pure(), self.joint.epsilon(delta), self._basic(delta)) if delta > 0 else self.pure()

    def _delta(self, epsilon: float) -> float:
        if epsilon >= self.pure():
            return 0.0
        known = min(self.joint.delta(epsilon), 1.0)
        high, low = min(known, _LARGEST_DELTA), max(self._floor, 1e-300)
        if not (low < high and self._basic(high) <= epsilon):
            return known
        # The division of delta is fixed, so the sum of the epsilons grows with 1/delta.
        found = 1 / largest(lambda x: self._basic(1 / x), epsilon, 1 / high * (1 + 1e-15), 1 / low, 1e-12)
        # Next to a pure epsilon delta moves much faster than epsilon, whose last digits decide.
        while found * (1 - 1e-7) >= low and self._basic(found * (1 - 1e-7)) <= epsilon:
            found = smallest(lambda delta: self._basic(delta) <= epsilon, max(low, found / 2), found, 1e-8)
        return max(LEAST_DELTA, min(known, found))

    def _basic(self, delta: float) -> float:
        """The sum of the epsilons, with each part's finite pure epsilon in place of a share of delta or not."""
        pures = [fail_closed(part.pure()) for part in self.parts]
        totals = []
        for spared in {False, any(pure < inf for pure in pures)}:
            free = [spared and pure < inf for pure in pures]
            split = self._split(delta, free)
            if split is not None:
                asked = {
                    (id(p), share): p for p, share, without in zip(self.parts, split, free, strict=True) if not without
                }
                known = {(number, share): part.epsilon(share) for (number, share), part in asked.items()}
                parts = zip(self.parts, split, pures, free, strict=True)
                totals.append(sum_up(pure if without else known[id(p), share] for p, share, pure, without in parts))
        return min(totals, default=inf)

    def _split(self, delta: float, free: Sequence[bool]) -> list[float] | None:
        """Every part's delta: what it cannot do without, and a share of what is left."""
        floors = [_lost(part) for part in self.parts]
        left = delta - self._floor
        if left < 0:
            return None
        shares = [0.0 if without else share for share, without in zip(self._shares, free, strict=True)]
        whole = sum(shares)
        return [
            min(floor + (left * (share / whole) * (1 - 1e-15) if whole > 0 else 0.0), _LARGEST_DELTA)
            for floor, share in zip(floors, shares, strict=True)
        ]

    @cached_property
    def _floor(self) -> float:
        return sum_up(_lost(part) for part in self.parts)

    @cached_property
    def _shares(self) -> list[float]:
        if self.deltas is None:
            return [0.0 if isinstance(part, Pure | Approximate | Responses) else 1.0 for part in self.parts]
        return [max(0.0, delta - _lost(part)) for part, delta in zip(self.parts, self.deltas, strict=True)]


def compose(curves: Sequence[Curve], deltas: Sequence[float] | None = None) -> Curve:
    """The composition of several curves.

    Args:
        curves: what each leaks.
        deltas: the delta at which each is stated, if it is: at their sum no more than the sum of the epsilons is paid.
    """
    if len(curves) == 1:
        return curves[0]
    if curves and all(isinstance(curve, Gaussian) for curve in curves):
        return joint(curves)
    return Composition(tuple(curves), None if deltas is None else tuple(deltas))


def joint(curves: Sequence[Curve]) -> Curve:
    """The composition as one mechanism: what is lost, the walk of the pure parts, Gaussians, Renyi, sampler errors."""
    found = Parts()
    for curve in curves:
        found.add(curve, 1)
    return _whole(found)


def vector_of(curve: Curve) -> Parts:
    """A curve as numbers that are added in a composition: what is not pure or Gaussian at fixed Renyi orders."""
    found = Parts()
    found.add(curve, 1)
    if found.others:
        with np.errstate(all="ignore"):
            found.renyi = Sum(tuple(found.others)).renyi(VECTOR_ORDERS)
    return found


def composed_vectors(vectors: Sequence[Parts]) -> Curve:
    """The composition of curves that were evaluated before: sound by itself, and never below `joint` but for rounding.

    Between two of the fixed orders the next larger one bounds the divergence, so that no curve is evaluated again.
    """
    found = Parts()
    for vector in vectors:
        found.join(vector)
    rows = [vector.renyi for vector in vectors if vector.renyi is not None]
    if rows:
        total = np.add.reduce(rows, axis=0) * ROUND_UP
        known = (total >= 0) & (total < inf)  # fails closed: beyond the first order that is not known nothing is
        finite = int(np.argmin(np.append(known, False)))
        found.others = [Approximate(0.0, _LARGEST_DELTA)]
        if finite:
            found.others = [Renyi(VECTOR_ORDERS[:finite].tolist(), total[:finite].tolist())]
    return _whole(found)


def _whole(found: Parts) -> Curve:
    whole = found.rest()
    failure = found.failure()
    if failure > 0:
        whole = Failing(whole, failure) if failure < 1 else Approximate(0.0, _LARGEST_DELTA)
    errors, extra, exponent = (sum_up(part) * ROUND_UP for part in (found.errors, found.extras, found.exponents))
    return SamplerError(whole, errors, 1, extra, exponent) if errors + extra + exponent > 0 else whole


@dataclass
class Parts:
    """The parts of a composition, sorted by what they are."""

    failures: list[tuple[float, int]] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    extras: list[float] = field(default_factory=list)
    exponents: list[float] = field(default_factory=list)
    pures: Counter[float] = field(default_factory=Counter)
    mus: list[float] = field(default_factory=list)
    others: list[Curve] = field(default_factory=list)
    renyi: FloatArray | None = None
    """The divergence of the others at `VECTOR_ORDERS`, if it was evaluated."""

    def add(self, curve: Curve, count: int) -> None:
        """Sort in `count` copies of a curve."""
        match curve:
            case Composition(parts=parts) | Sum(parts=parts):
                for part in parts:
                    self.add(part, count)
            case Repeated(curve=inner, count=times):
                if times > 0:
                    self.add(inner, count * times)
            case SamplerError(curve=inner, distance=distance, draws=draws, extra=extra, exponent=exponent):
                self.errors.append(distance * draws * count)
                self.extras.append(extra * count)
                self.exponents.append(exponent * count)
                self.add(inner, count)
            case Failing(curve=inner, failure=failure):
                self.failures.append((failure, count))
                self.add(inner, count)
            case Approximate(value=value, at=at):
                self.failures.append((at, count))
                self.pures[value] += count
            case Pure(value=value):
                self.pures[value] += count
            case Responses(values=values, counts=counts):
                for value, times in zip(values, counts, strict=True):
                    self.pures[value] += count * times
            case Gaussian(mu=mu):
                self.mus.append(mu * sqrt(count))
            case _:
                self.others.append(curve if count == 1 else Repeated(curve, count))

    def join(self, other: Parts) -> None:
        """Sort in all that was sorted elsewhere, but the curves that are left."""
        for name in ("failures", "errors", "extras", "exponents", "mus"):
            getattr(self, name).extend(getattr(other, name))
        self.pures.update(other.pures)

    def failure(self) -> float:
        """1 - prod(1 - delta_i), at most the sum."""
        together = -expm1(sum(count * log1p(-failure) for failure, count in self.failures)) * ROUND_UP
        return min(together, sum_up(failure * count for failure, count in self.failures))

    def rest(self) -> Curve:
        """What composes if nothing is lost."""
        rest = list(self.others)
        pures = {value: count for value, count in self.pures.items() if value > 0}
        if sum(pures.values()) == 1:
            rest.append(Pure(next(iter(pures))))
        elif pures:
            rest.append(Responses(tuple(pures), tuple(pures.values())))
        if self.mus:
            # hypot squares nothing that is too small or too large to be squared.
            rest.append(Gaussian(hypot(*self.mus) * ROUND_UP))
        for position, curve in enumerate(rest):
            merged = curve.merged([*rest[:position], *rest[position + 1 :]])
            if merged is not None:
                return merged
        return rest[0] if len(rest) == 1 else Sum(tuple(rest))


def _lost(curve: Curve) -> float:
    """The delta below which nothing is known."""
    match curve:
        case Approximate(at=at):
            return at
        case Failing(failure=failure):
            return failure
        case Composition():
            return curve._floor
    return 0.0
