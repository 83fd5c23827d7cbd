"""What every problem has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.validation import (
    check_integer,
    plain_fields,
)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A decision problem of `horizon` rounds (None: unknown, handled by doubling).

    Attributes:
        horizon: number of rounds, or None if it is not known.
        delay: how many further rounds may be decided before the feedback of a round is there; what is later than that
            is missing.
    """

    criterion: ClassVar[str] = "regret"
    """What a plan for this problem certifies a bound on."""

    horizon: int | None
    delay: int = 0

    def __post_init__(self) -> None:
        plain_fields(self)
        if self.horizon is not None:
            check_integer(type(self).__name__, "horizon", self.horizon)
        check_integer(type(self).__name__, "delay", self.delay, at_least=0)
