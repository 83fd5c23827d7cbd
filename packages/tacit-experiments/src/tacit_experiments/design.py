"""The design of an experiment: everything that is public and fixed before it starts.

A version is served for `hours`, and its replies count until `window` hours after. How many versions can begin in a
calendar month decides the noise of each: all of them are paid for together, so nobody has to count them for a person.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_positive,
    check_privacy,
    invalid,
    plain_fields,
    real_array,
)
from tacit_experiments.versions import LENGTHS, version_length

DAYS_OF_MONTH = 31
MOST_ARMS = 64
LONGEST_NAME, LONGEST_ARM = 200, 100
MARGIN = 60.0  # seconds before the next version in which the last window is closed
SHORTEST, LONGEST = 1 / 3600, DAYS_OF_MONTH * 24.0  # hours
LARGEST_VALUE = 2.0**53 - 1
"""Numbers beyond are not the same in every language."""


@dataclass(frozen=True)
class Design:
    """What is tried, on whom, and under which promise.

    Attributes:
        name: the name of the experiment.
        arms: the names of its arms; they may be added to and removed later.
        default: the arm against which others are measured, and of everybody without a policy ("": the first arm).
        epsilon: of a person and calendar month.
        delta: of a person and calendar month.
        ledger: the ledger that is charged.
        people_per_day: expected persons a day; scales estimates, and sizes versions.
        score: the expected score of a person, as a share of the range of values.
        days: of a version: 1, 2, 3 or 7 (0: the shortest whose sums are not lost in their noise).
        hours: of a version, in place of `days`, for other lengths (0: by `days`).
        window: hours after serving in which replies still count (None: 24).
        versions: how many versions may begin in a month (0: as many as fit); more do not count.
        low: the value of no reply.
        high: the largest value.
        adds: whether the values of a person and version add up, to at most `high`; otherwise the largest one counts.
        min_share: the least share of every arm (None: one per cent of an equal share).
        goal: "compare" holds the default arm's share until it is beaten; "optimise" does not.
        changing: whether arms may become better or worse over time.
        identified: whether replies name persons; if not, the contract protects single replies only.
        shares: of the first versions, one for each arm, until there is a release (None: equal ones).
    """

    name: str
    arms: tuple[str, ...]
    epsilon: float
    delta: float = 1e-6
    ledger: str = ""
    default: str = ""
    people_per_day: float = 10_000.0
    score: float = 0.1
    days: int = 0
    hours: float = 0.0
    window: float | None = None
    versions: int = 0
    low: float = 0.0
    high: float = 1.0
    adds: bool = False
    min_share: float | None = None
    goal: str = "compare"
    changing: bool = False
    identified: bool = True
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.arms, tuple | list):
            raise invalid("Design", "arms", "a list of names", self.arms)
        object.__setattr__(self, "arms", tuple(self.arms))
        object.__setattr__(self, "default", self.default or (self.arms[0] if self.arms else ""))
        plain_fields(self)
        _check_name("name", self.name, LONGEST_NAME)
        check_arms(self.arms)
        if self.default not in self.arms:
            raise invalid("Design", "default", "one of the arms", self.default)
        check_privacy("Design", self.epsilon, self.delta)
        _check_name("ledger", self.ledger, LONGEST_NAME)
        check_positive("Design", "people_per_day", self.people_per_day)
        check_number("Design", "score", self.score, above=0.0, below=1.0, closed_high=True)
        check_choice("Design", "days", self.days, (0, *LENGTHS))
        check_number("Design", "hours", self.hours, above=0.0, below=LONGEST, closed_low=True, closed_high=True)
        if self.hours and (self.days or self.hours < SHORTEST):
            raise InvalidInput("A Design has 'days' or 'hours' for the length of a version, and at least a second.")
        if not (self.days or self.hours):
            length = version_length(len(self.arms), self.people_per_day, self.score, self.epsilon, self.delta)
            object.__setattr__(self, "days", length)
        if self.window is None:
            object.__setattr__(self, "window", 24.0)
        check_number("Design", "window", self.window, above=0.0, below=LONGEST, closed_low=True)
        fitting = ceil(DAYS_OF_MONTH * 24 / self.spacing)
        check_integer("Design", "versions", self.versions, at_least=0, at_most=fitting)
        object.__setattr__(self, "versions", self.versions or fitting)
        check_number("Design", "low", self.low, above=-LARGEST_VALUE, closed_low=True)
        check_number("Design", "high", self.high, above=self.low, below=LARGEST_VALUE, closed_high=True)
        if check_flag("Design", "adds", self.adds) and self.low != 0:
            raise InvalidInput("Values that add up start from low=0: nothing sent is nothing added.")
        check_min_share(self.min_share, len(self.arms))
        check_choice("Design", "goal", self.goal, ("compare", "optimise"))
        check_flag("Design", "changing", self.changing)
        check_flag("Design", "identified", self.identified)
        if self.shares is not None:
            shares = real_array("Design", "shares", self.shares, (len(self.arms),))
            if not (np.all(shares >= 0) and abs(float(shares.sum()) - 1) < 1e-9):
                raise invalid(
                    "Design", "shares", "one number for each arm, none negative, with a sum of 1", self.shares
                )
            object.__setattr__(self, "shares", tuple(shares.tolist()))

    @property
    def spacing(self) -> float:
        """Hours from the begin of one counting version to that of the next one, at least."""
        return self.hours or 24.0 * self.days

    @property
    def pause(self) -> float:
        """Hours at the end of a week that do not count, so that the next version knows the last release."""
        return 24.0 if self.days == max(LENGTHS) else 0.0

    @property
    def serving(self) -> float:
        """Seconds in which a counting version is served."""
        return 3600 * (self.spacing - self.pause)

    @property
    def closing(self) -> float:
        """Seconds from the end of serving until replies stop to count: a little less than the window, to close it."""
        assert self.window is not None
        window = 3600 * (min(self.window, self.pause) if self.pause else self.window)
        return window - min(MARGIN, window / 10)

    @property
    def people(self) -> float:
        """Expected persons of a version."""
        return self.people_per_day * self.serving / 86_400

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {**asdict(self), "arms": list(self.arms), "shares": None if self.shares is None else list(self.shares)}

    @staticmethod
    def from_dict(content: dict[str, Any]) -> Design:
        """Read a description."""
        try:
            return Design(**content)
        except TypeError:
            raise InvalidInput(f"A Design has the fields {', '.join(Design.__dataclass_fields__)}.") from None


def check_arms(arms: tuple[str, ...]) -> None:
    """Refuse arms that cannot be told apart."""
    for arm in arms:
        _check_name("arms", arm, LONGEST_ARM)
    if not 2 <= len(arms) <= MOST_ARMS or len(set(arms)) < len(arms):
        raise InvalidInput(f"The 'arms' of an experiment must be 2 to {MOST_ARMS} different names.")


def check_min_share(share: float | None, arms: int) -> None:
    """Refuse a least share that not all arms can have."""
    if share is not None:
        check_number("Design", "min_share", share, above=0.0, below=1 / arms, closed_low=True, closed_high=True)


def _check_name(what: str, name: object, longest: int) -> None:
    allowed = f"a printable text of 1 to {longest} characters without / and \\"
    fits = isinstance(name, str) and 0 < len(name) <= longest and name.isprintable() and not set(name) & set("/\\")
    if not fits or name in (".", ".."):
        raise invalid("Design", what, allowed, name)
