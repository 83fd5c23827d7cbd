"""What a privacy curve is: three questions, each answered on the private side, and a description to rebuild it from.

A curve gives its Renyi divergence at given orders, epsilon at a delta, and delta at an epsilon. The kinds of curves are
in curves.py, lazy.py, responses.py and composition.py.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput
from tacit.privacy.chain_profiles import ChainProfile
from tacit.privacy.conversion import fail_closed, pure_delta, renyi_delta, renyi_epsilon
from tacit.validation import FloatArray, check_number


@dataclass(frozen=True)
class Curve(ABC):
    """A privacy curve. Subclasses are frozen dataclasses that give `renyi` and, if finite, `pure`."""

    _kinds: ClassVar[dict[str, type[Curve]]] = {}
    notion: ClassVar[str] = "RDP"

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
        delta = check_number(type(self).__name__, "delta", delta, above=0.0, below=1.0, closed_low=True)
        pure = fail_closed(self.pure())
        if delta == 0:
            return pure
        known = min(pure, renyi_epsilon(self.renyi, delta))
        return known if self.profile is None else self.profile.epsilon(delta, known)

    def delta(self, epsilon: float) -> float:
        """The smallest certified delta at this epsilon."""
        epsilon = check_number(type(self).__name__, "epsilon", epsilon, above=0.0, closed_low=True)
        pure = fail_closed(self.pure())
        if epsilon >= pure:
            return 0.0
        known = min(pure_delta(pure, epsilon), renyi_delta(self.renyi, epsilon))
        return known if self.profile is None else self.profile.delta(epsilon, known)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description from which `from_dict` rebuilds the curve."""
        content: dict[str, Any] = {"kind": type(self).__name__, "home": type(self).__module__}
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
