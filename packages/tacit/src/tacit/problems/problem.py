"""What every problem has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.validation import check_choice, check_integer, plain_fields

ADVERSARIES = ("stochastic", "oblivious", "adaptive")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A decision problem of `horizon` rounds (None: unknown, handled by doubling).

    Attributes:
        horizon: number of rounds, or None if it is not known.
        delay: how many further rounds may be decided before the feedback of a round is there; what is later than that
            is missing.
        adversary: who makes the losses, for certified regret: "stochastic" (independent, from one distribution),
            "oblivious" (fixed in advance) or "adaptive" (may react to decisions). Privacy holds against all of them.
    """

    criterion: ClassVar[str] = "regret"
    """What a plan for this problem certifies a bound on."""

    horizon: int | None
    delay: int = 0
    adversary: str = "oblivious"
    adversaries: ClassVar[tuple[str, ...]] = ADVERSARIES
    """Who may make the losses of this problem."""

    def __post_init__(self) -> None:
        plain_fields(self)
        if self.horizon is not None:
            check_integer(type(self).__name__, "horizon", self.horizon)
        check_integer(type(self).__name__, "delay", self.delay, at_least=0)
        check_choice(type(self).__name__, "adversary", self.adversary, self.adversaries)
