"""Composition: what several mechanisms on the same people leak together, adaptively.

Two ways are always tried, and the better one is stated.

Jointly. A part known at one point, (eps, delta)-DP, is dominated by: with probability delta everything is lost, else
randomised response at eps. So what is lost, 1 - prod(1 - delta_i), is paid once, and the rest composes: pure parts as a
walk (`Responses`), Gaussian parts exactly, everything else by adding Renyi divergences. Sampler errors are priced last.

Part by part. Epsilons and deltas add, at any division of delta: no composition is dearer than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import expm1, hypot, inf, log1p, sqrt
from typing import ClassVar

import numpy as np

from tacit.errors import InvalidInput
from tacit.privacy.calibration import largest, smallest
from tacit.privacy.conversion import LEAST_DELTA, ROUND_UP, fail_closed, failing_delta, failing_epsilon
from tacit.privacy.curves import Approximate, Curve, Gaussian, Pure, Repeated, SamplerError, Sum
from tacit.privacy.responses import Responses
from tacit.privacy.rounding import sum_up
from tacit.validation import FloatArray, check_number, invalid

_LARGEST_DELTA = 1 - 2**-53


@dataclass(frozen=True)
class Failing(Curve):
    """With probability `failure` everything is lost, else `curve` holds."""

    curve: Curve
    failure: float

    def __post_init__(self) -> None:
        if not isinstance(self.curve, Curve):
            raise InvalidInput(f"Failing must be made from a curve. Got {self.curve!r} instead.")
        failure = check_number("Failing", "failure", self.failure, above=0.0, below=1.0, closed_low=True)
        object.__setattr__(self, "failure", failure)

    def renyi(self, orders: FloatArray) -> FloatArray:
        return self.curve.renyi(orders) if self.failure == 0 else np.full_like(orders, inf)

    def pure(self) -> float:
        return self.curve.pure() if self.failure == 0 else inf

    def epsilon(self, delta: float) -> float:
        delta = check_number("Failing", "delta", delta, above=0.0, below=1.0, closed_low=True)
        return failing_epsilon(self.curve.epsilon, self.failure, delta)

    def delta(self, epsilon: float) -> float:
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
        """The parts composed as one."""
        return joint(self.parts)

    def renyi(self, orders: FloatArray) -> FloatArray:
        return self.joint.renyi(orders)

    def pure(self) -> float:
        return sum_up(fail_closed(part.pure()) for part in self.parts)

    def epsilon(self, delta: float) -> float:
        delta = check_number("Composition", "delta", delta, above=0.0, below=1.0, closed_low=True)
        return min(self.pure(), self.joint.epsilon(delta), self._basic(delta)) if delta > 0 else self.pure()

    def delta(self, epsilon: float) -> float:
        epsilon = check_number("Composition", "epsilon", epsilon, above=0.0, closed_low=True)
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
                parts = zip(self.parts, split, pures, free, strict=True)
                totals.append(sum_up(pure if without else p.epsilon(share) for p, share, pure, without in parts))
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
    found = _Found()
    for curve in curves:
        found.add(curve, 1)
    whole = found.rest()
    failure = found.failure()
    if failure > 0:
        whole = Failing(whole, failure) if failure < 1 else Approximate(0.0, _LARGEST_DELTA)
    errors, extra, exponent = (sum_up(part) * ROUND_UP for part in (found.errors, found.extras, found.exponents))
    return SamplerError(whole, errors, 1, extra, exponent) if errors + extra + exponent > 0 else whole


@dataclass
class _Found:
    """The parts of a composition, sorted by what they are."""

    failures: list[tuple[float, int]] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    extras: list[float] = field(default_factory=list)
    exponents: list[float] = field(default_factory=list)
    pures: Counter[float] = field(default_factory=Counter)
    mus: list[float] = field(default_factory=list)
    others: list[Curve] = field(default_factory=list)

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
