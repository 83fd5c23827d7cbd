"""Privacy curves: what a mechanism leaks, in three questions, each answered on the private side.

A curve gives its Renyi divergence at given orders, epsilon at a delta, and delta at an epsilon, and a description to
rebuild it from. Curves add (`Sum`) and repeat (`Repeated`); composition.py puts those of several contracts together.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import gaussian_epsilon, smallest
from tacit.accounting.chain_profiles import ChainProfile
from tacit.accounting.conversion import ROUND_UP as ROUND_UP
from tacit.accounting.conversion import (
    fail_closed,
    failing_delta,
    failing_epsilon,
    gaussian_delta,
    pure_delta,
    renyi_delta,
    renyi_epsilon,
)
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, check_integer, check_level, check_number, plain_fields, real_array


@dataclass(frozen=True)
class Curve(ABC):
    """A privacy curve. Subclasses are frozen dataclasses that give `renyi` and, if finite, `pure`."""

    _kinds: ClassVar[dict[str, type[Curve]]] = {}
    notion: ClassVar[str] = "RDP"
    _home: ClassVar[str] = ""
    """The module that saved curves name (empty: that of the class)."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Curve._kinds[cls.__name__] = cls

    @abstractmethod
    def renyi(self, orders: FloatArray) -> FloatArray:
        """An upper bound on the Renyi divergence between neighbours, at each order > 1."""

    def pure(self) -> float:
        """An upper bound on the privacy loss of any outcome (infinite if there is none)."""
        return float("inf")

    @property
    def profile(self) -> ChainProfile | None:
        """What bounds delta better than the Renyi divergences do, if anything does."""
        return None

    def merged(self, others: Sequence[Curve]) -> Curve | None:
        """The composition with these, if it is known better than by adding Renyi divergences."""
        return None

    def epsilon(self, delta: float) -> float:
        """The smallest certified epsilon at this delta."""
        return self._epsilon(check_number(type(self).__name__, "delta", delta, above=0.0, below=1.0, closed_low=True))

    def _epsilon(self, delta: float) -> float:
        pure = fail_closed(self.pure())
        if delta == 0:
            return pure
        known = min(pure, renyi_epsilon(self.renyi, delta))
        return known if self.profile is None else self.profile.epsilon(delta, known)

    def delta(self, epsilon: float) -> float:
        """The smallest certified delta at this epsilon."""
        return self._delta(check_number(type(self).__name__, "epsilon", epsilon, above=0.0, closed_low=True))

    def _delta(self, epsilon: float) -> float:
        pure = fail_closed(self.pure())
        if epsilon >= pure:
            return 0.0
        known = min(pure_delta(pure, epsilon), renyi_delta(self.renyi, epsilon))
        return known if self.profile is None else self.profile.delta(epsilon, known)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description from which `from_dict` rebuilds the curve."""
        content: dict[str, Any] = {"kind": type(self).__name__, "home": self._home or type(self).__module__}
        for field in fields(self):
            content[field.name] = _plain(getattr(self, field.name))
        return content

    @staticmethod
    def from_dict(content: dict[str, Any]) -> Curve:
        """Rebuild a curve from `to_dict`."""
        name = content.get("kind") if isinstance(content, dict) else None
        if str(name) not in Curve._kinds and isinstance(content, dict):
            _load(content.get("home"))
        kind = Curve._kinds.get(str(name))
        if kind is None:
            known = ", ".join(sorted(Curve._kinds))
            raise InvalidInput(f"A curve must be one of {known}. Got {name!r} instead.")
        try:
            return kind(**{field: _rebuilt(value) for field, value in content.items() if field not in ("kind", "home")})
        except TypeError as error:
            raise InvalidInput(f"This is not the description of a {name} curve ({error}).") from None


def _load(home: object) -> None:
    """Load the module of the library that defines a curve, if it was not needed so far; none but the library's own."""
    if isinstance(home, str) and re.fullmatch(r"tacit(\.[a-z0-9][a-z0-9_]*)+", home):
        with suppress(ImportError):
            import_module(home)


def _plain(value: Any) -> Any:
    if isinstance(value, Curve):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _rebuilt(value: Any) -> Any:
    if isinstance(value, dict):
        return Curve.from_dict(value)
    if isinstance(value, list):
        return tuple(_rebuilt(item) for item in value)
    return value


# Of a delta: room for errors that are far smaller, and more than the roundings of a short product.
_NEARLY, _BARELY_MORE = 1.0 - 1e-12, 1.0 + 2.0**-50
_SMALLER = tuple(float(2**k) for k in range(-2, 7))  # where a delta may be less than at a larger epsilon


@dataclass(frozen=True)
class NotPrivate(Curve):
    """The curve of what is not private, or is not proved to be: infinite at every order."""

    notion: ClassVar[str] = "NOT PRIVATE"

    def renyi(self, orders: FloatArray) -> FloatArray:
        return np.full_like(orders, np.inf)

    def epsilon(self, delta: float) -> float:
        check_number("NotPrivate", "delta", delta, above=0.0, below=1.0, closed_low=True)
        return float("inf")

    def delta(self, epsilon: float) -> float:
        check_number("NotPrivate", "epsilon", epsilon, above=0.0, closed_low=True)
        return 1.0


@dataclass(frozen=True)
class Pure(Curve):
    """Pure epsilon-DP: the privacy loss of every outcome is at most `value`."""

    value: float
    notion: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        value = check_number("Pure", "value", self.value, above=0.0, closed_low=True)
        object.__setattr__(self, "value", value)

    def renyi(self, orders: FloatArray) -> FloatArray:
        # Randomised response is the worst epsilon-DP mechanism; its moment is cosh((alpha - 1/2) eps)/cosh(eps/2),
        # written so that tiny moments keep their digits.
        half = self.value / 2
        with np.errstate(over="ignore"):
            doubled = (2 * orders - 1) * half
        large = doubled > 30.0
        capped = np.where(large, 1.0, orders)
        near = min(half, 30.0)
        small = np.log1p(2 * np.sinh(capped * near) * np.sinh((capped - 1) * near) / np.cosh(near))
        plain = doubled - half - np.log1p(np.exp(-self.value))
        plain = plain + np.log1p(np.exp(-2 * np.minimum(doubled, 400.0)))
        return np.asarray(np.minimum(np.where(large, plain, small) / (orders - 1) * ROUND_UP, self.value))

    def pure(self) -> float:
        return self.value

    def _epsilon(self, delta: float) -> float:
        # delta(eps) = (e^value - e^eps)/(e^value + 1), solved for eps.
        inner = np.exp(-self.value) * delta * 1.0
        solved = self.value + np.log1p(-min(1.0, delta + inner)) if delta + inner < 1 else 0.0
        return max(0.0, min(self.value, float(solved) * ROUND_UP))

    def _delta(self, epsilon: float) -> float:
        return pure_delta(self.value, epsilon)


@dataclass(frozen=True)
class Gaussian(Curve):
    """mu-Gaussian DP: as hard to tell apart as N(0,1) and N(mu,1). Exact, also adaptively composed."""

    mu: float
    notion: ClassVar[str] = "Gaussian DP"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check_level("Gaussian", "mu", self.mu, at_least=0.0))

    def renyi(self, orders: FloatArray) -> FloatArray:
        return orders * (self.mu**2 / 2) * ROUND_UP

    def pure(self) -> float:
        return 0.0 if self.mu == 0 else float("inf")

    def _epsilon(self, delta: float) -> float:
        if self.mu == 0 or delta == 0:
            return self.pure()
        return gaussian_epsilon(self.mu, delta)

    def _delta(self, epsilon: float) -> float:
        return gaussian_delta(self.mu, epsilon)


@dataclass(frozen=True)
class Approximate(Curve):
    """Nothing is known but one point: (epsilon, delta)-DP, which many mechanisms on disjoint data share."""

    value: float
    at: float
    notion: ClassVar[str] = "approximate DP"

    def __post_init__(self) -> None:
        value = check_number("Approximate", "value", self.value, above=0.0, closed_low=True)
        object.__setattr__(self, "value", value)
        check_number("Approximate", "at", self.at, above=0.0, below=1.0, closed_low=True)

    def renyi(self, orders: FloatArray) -> FloatArray:
        return Pure(self.value).renyi(orders) if self.at == 0 else np.full_like(orders, np.inf)

    def pure(self) -> float:
        return self.value if self.at == 0 else float("inf")

    def _epsilon(self, delta: float) -> float:
        return failing_epsilon(Pure(self.value).epsilon, self.at, delta)

    def _delta(self, epsilon: float) -> float:
        # The worst such mechanism reveals everything with probability `at`, else it is pure.
        return failing_delta(pure_delta(self.value, epsilon), self.at)


@dataclass(frozen=True)
class BoundedRange(Curve):
    """A selection whose log-odds ratio between neighbours lies in an interval of length `width`."""

    width: float

    def __post_init__(self) -> None:
        width = check_number("BoundedRange", "width", self.width, above=0.0, closed_low=True)
        object.__setattr__(self, "width", width)

    def renyi(self, orders: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.minimum(orders * self.width * (self.width / 8), self.width) * ROUND_UP

    def pure(self) -> float:
        return self.width

    @cached_property
    def profile(self) -> ChainProfile | None:
        return ChainProfile(self.width, 1, 1.0)


@dataclass(frozen=True)
class Renyi(Curve):
    """A Renyi curve given at some orders; between them the next larger order bounds it."""

    orders: Sequence[float]
    values: Sequence[float]

    def __post_init__(self) -> None:
        orders = real_array("Renyi", "orders", self.orders, None)
        values = real_array("Renyi", "values", self.values, None)
        if orders.ndim != 1 or orders.shape != values.shape or not orders.size:
            raise InvalidInput("The 'orders' and 'values' of Renyi must be two lists of one length.")
        if not (np.all(orders > 1) and np.all(np.diff(orders) > 0) and np.all(values >= 0)):
            raise InvalidInput("The 'orders' of Renyi must increase from above 1 and its 'values' be at least 0.")
        object.__setattr__(self, "orders", tuple(orders.tolist()))
        object.__setattr__(self, "values", tuple(values.tolist()))

    def renyi(self, orders: FloatArray) -> FloatArray:
        padded = np.append(self.values, np.inf)
        return padded[np.searchsorted(self.orders, orders, side="left")] * ROUND_UP


@dataclass(frozen=True)
class Repeated(Curve):
    """The same curve, composed `count` times."""

    curve: Curve
    count: int

    def __post_init__(self) -> None:
        plain_fields(self)
        check_integer("Repeated", "count", self.count, at_least=0)
        check_curve("Repeated", self.curve)

    def renyi(self, orders: FloatArray) -> FloatArray:
        return self.count * self.curve.renyi(orders) if self.count else np.zeros_like(orders)

    def pure(self) -> float:
        return self.count * self.curve.pure() * ROUND_UP if self.count else 0.0

    @cached_property
    def profile(self) -> ChainProfile | None:
        one = self.curve.profile if isinstance(self.curve, BoundedRange) else None
        return None if one is None else replace(one, decisions=self.count)


@dataclass(frozen=True)
class Sum(Curve):
    """Several curves composed, adaptively. Pure parts and Renyi parts add."""

    parts: tuple[Curve, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple):
            raise InvalidInput(f"The 'parts' of Sum must be a tuple of curves. Got {self.parts!r} instead.")
        for part in self.parts:
            check_curve("Sum", part)

    def renyi(self, orders: FloatArray) -> FloatArray:
        total = np.zeros_like(orders)
        distinct = {id(part): part for part in self.parts}  # the same contract is often charged again and again
        known = {number: part.renyi(orders) for number, part in distinct.items()}
        for part in self.parts:
            total = total + known[id(part)]
        return total * ROUND_UP

    def pure(self) -> float:
        return sum(part.pure() for part in self.parts) * ROUND_UP


@dataclass(frozen=True)
class SamplerError(Curve):
    """A curve whose draws are only close to their law: `distance` in total variation, at most `draws` times.

    The price (1 + e^epsilon) * distance * draws is added to delta last, at the epsilon that is asked for. Besides, both
    neighbours' laws may be within factors of their ideal ones: then `extra` is added to epsilon and delta is multiplied
    by e^exponent (two laws within a factor e^x each: extra = 2x, exponent = x).
    """

    curve: Curve
    distance: float
    draws: int
    extra: float = 0.0
    exponent: float = 0.0

    def __post_init__(self) -> None:
        plain_fields(self)
        for name in ("distance", "extra", "exponent"):
            check_number("SamplerError", name, getattr(self, name), above=0.0, closed_low=True)
        check_integer("SamplerError", "draws", self.draws, at_least=0)
        check_curve("SamplerError", self.curve)

    def renyi(self, orders: FloatArray) -> FloatArray:
        return self.curve.renyi(orders) if self._faithful else np.full_like(orders, np.inf)

    def pure(self) -> float:
        if self._total > 0 or self.curve.pure() == float("inf"):
            return float("inf")
        return self.curve.pure() + self.extra * ROUND_UP

    @property
    def _total(self) -> float:
        return self.distance * self.draws * ROUND_UP

    @property
    def _faithful(self) -> bool:
        return self._total == 0 and self.extra == 0 and self.exponent == 0

    def _delta(self, epsilon: float) -> float:
        ideal, price = self._parts(epsilon)
        if price > ideal:  # the true delta falls with epsilon, so a smaller one may prove more
            ideal, price = min((self._parts(min(epsilon, e)) for e in (*_SMALLER, epsilon)), key=sum)
        return min(1.0, ideal + price)

    def _parts(self, epsilon: float) -> tuple[float, float]:
        """Delta without the distance, and the price of the distance."""
        ideal = self.curve.delta(max(0.0, epsilon - self.extra * ROUND_UP))
        price = float(1 + np.exp(min(epsilon, 700.0))) * self._total  # plain floats: infinite if need be
        return ideal * float(np.exp(self.exponent)) * _BARELY_MORE, price

    def _epsilon(self, delta: float) -> float:
        if self._faithful or (delta == 0 and self._total == 0):
            return self.curve.epsilon(delta) + self.extra
        if self.delta(0.0) <= delta:
            return 0.0
        start = self.curve.epsilon(delta * _NEARLY) + self.extra
        if start == float("inf") or self.delta(start) <= delta:  # errors too small to be seen
            return start
        # The price grows with epsilon while the curve falls: only between these two ends can their sum be small.
        stop = float(np.log(max(delta / self._total - 1, 1e-300))) if self._total > 0 else start + 1.0
        if not start < stop:
            return float("inf")
        previous = start
        near = [start + (stop - start) * share for share in (1e-9, 1e-6)]  # enough for the smallest errors
        for trial in (*near, *np.linspace(start, stop, 257)[1:].tolist()):
            if self.delta(trial) <= delta:
                return smallest(lambda e: self.delta(e) <= delta, previous, trial, 1e-12)
            previous = trial
        return float("inf")


def check_curve(owner: str, value: object) -> None:
    """Refuse what is no curve."""
    if not isinstance(value, Curve):
        raise InvalidInput(f"{owner} must be made from curves. Got {value!r} instead.")
