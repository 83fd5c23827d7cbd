"""The base of all declarations: `Releases`, and `Sized` for noise that was made for somebody."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.accounting.curves import Curve
from tacit.accounting.rounding import EXACT, IDEALIZED
from tacit.errors import PrivacyError
from tacit.ranges import check_fields
from tacit.releases.neighbours import Neighbours


class Releases(ABC):
    """What is released, how it becomes public, and which noise is drawn.

    Subclasses are frozen dataclasses of public numbers, whose ranges stand in their annotations.
    They never mention an algorithm. The curve of every kind is proved in docs/releases.md.
    """

    exact: bool = False
    """Whether this is the law of a program on integers (Theorem 4); float64 if it is not."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The statement that proves the curve."""

    @property
    def shown(self) -> str:
        """What may be shown; `{decision}` stands for what is decided."""
        return "every {decision}"

    @abstractmethod
    def curve(self, among: Neighbours) -> Curve:
        """Return the privacy curve of everything that is shown.

        Args:
            among: the neighbours that must be hard to tell apart.

        Raises:
            PrivacyError: nothing is proved for these neighbours.
        """

    def numerics(self, among: Neighbours, delta: float) -> str:
        """Return the statement of a contract on arithmetic.

        Args:
            among: the neighbours.
            delta: the delta at which the contract is stated.
        """
        return EXACT if self.exact else IDEALIZED

    def to_dict(self, among: Neighbours) -> dict[str, Any]:
        """Return the declaration as JSON can hold it, with the noise that is really drawn.

        Args:
            among: the neighbours, which a contract names once beside it.
        """
        listed: Any = self
        content: dict[str, Any] = {"kind": type(self).__name__}
        for each in fields(listed):
            if each.name != MADE_FOR:
                content[each.name] = plain(getattr(self, each.name), among)
        return content | self._drawn(among)

    def _drawn(self, among: Neighbours) -> dict[str, Any]:
        """Return the noise that is really drawn, where the fields do not name it."""
        return {}


MADE_FOR = "made_for"


@dataclass(frozen=True)
class Sized(Releases):
    """A release that states the privacy that its noise was sized for.

    Its curve is the one for `made_for`, which is valid for whoever asks for no more (Lemma 5).

    Attributes:
        made_for: the neighbours that the noise was sized for.
    """

    made_for: Neighbours = field(kw_only=True)

    @abstractmethod
    def own_curve(self) -> Curve:
        """Return the privacy curve among the neighbours that the noise was sized for."""

    def curve(self, among: Neighbours) -> Curve:
        self.check_covers(among)
        return self.own_curve()

    def to_dict(self, among: Neighbours) -> dict[str, Any]:
        self.check_covers(among)
        return super().to_dict(self.made_for)

    def check_covers(self, among: Neighbours) -> None:
        """Raise PrivacyError if these neighbours ask for more than the noise was sized for."""
        if not self.made_for.covers(among):
            sized = f"The noise of this {type(self).__name__} was sized for {self.made_for}"
            raise PrivacyError(f"{sized}: it has no price for {among}.")

    def check_cost(self, rate: float, steps: int, privacy: float) -> None:
        """Raise PrivacyError if the noise costs more than the privacy that is stated.

        Args:
            rate: what a step costs.
            steps: by how many steps one round moves what is hidden.
            privacy: the epsilon that is stated for all rounds of a person.
        """
        cost = Fraction(rate) * steps * self.made_for.rounds
        if cost > Fraction(privacy):
            noise = f"The noise of this {type(self).__name__}"
            raise PrivacyError(f"{noise} costs epsilon={float(cost):g}, and {privacy:g} is stated.")


def check_single(release: Releases, among: Neighbours) -> None:
    """Raise PrivacyError if a person may have several rounds in a release accounted for one."""
    if among.rounds > 1:
        kind = type(release).__name__
        raise PrivacyError(f"{kind} is accounted for one round of a person. Got {among} instead.")


def plain(value: Any, among: Neighbours) -> Any:
    """Return a public value as JSON can hold it; an object becomes its fields and its kind."""
    if isinstance(value, Releases):
        return value.to_dict(among)
    if isinstance(value, tuple | list):
        return [plain(item, among) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item, among) for name, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        content = {each.name: plain(getattr(value, each.name), among) for each in fields(value)}
        return {"kind": type(value).__name__, **content}
    return value.item() if isinstance(value, np.generic) else value
