"""Metrics of a test: a number of each person, scaled to [0, 1], or the quotient of two such numbers.

What is declared here is public and fixed before the start. `expected` and `spread` are guesses: a
wrong guess makes intervals longer, never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tacit.errors import InvalidInput
from tacit.validation import check_choice, check_number, check_positive, invalid, plain_fields

LONGEST_NAME = 100
USUAL_RATE, USUAL_SHARE = 0.1, 0.05
"""Guesses where nothing is declared: of a conversion's mean, and of a sum's mean over its `high`."""


def check_name(owner: str, what: str, name: object) -> str:
    """Return a printable text without / and backslash, which pages, files and routes can carry."""
    allowed = f"a printable text of 1 to {LONGEST_NAME} characters without / and \\"
    fits = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()
    if not fits or name != str(name).strip() or set(str(name)) & set("/\\") or name in (".", ".."):
        raise invalid(owner, what, allowed, name)
    return str(name)


@dataclass(frozen=True)
class Conversion:
    """Whether something happened: 1, or 0.

    Attributes:
        name: what it is called, and the column that holds it.
        expected: a guess of the share of persons for whom it happens (None: a tenth).
        good: "more" if it should rise, "less" if it should fall.
    """

    name: str
    expected: float | None = None
    good: str = "more"

    def __post_init__(self) -> None:
        plain_fields(self)
        check_name("Conversion", "name", self.name)
        check_choice("Conversion", "good", self.good, ("more", "less"))
        if self.expected is not None:
            check_number("Conversion", "expected", self.expected, above=0.0, below=1.0)

    @property
    def high(self) -> float:
        """The largest value of a person."""
        return 1.0

    @property
    def binary(self) -> bool:
        """Whether only 0 and the largest value occur."""
        return True

    @property
    def mean(self) -> float:
        """The guessed mean of the scaled value."""
        return USUAL_RATE if self.expected is None else self.expected

    @property
    def variance(self) -> float:
        """The guessed variance of the scaled value."""
        return self.mean * (1 - self.mean)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {"kind": "conversion", **_stated(self)}


@dataclass(frozen=True)
class Sum:
    """What adds up over a person's acts, such as revenue, cut to [0, high].

    Attributes:
        name: what it is called, and the column that holds it.
        high: the largest sum that counts; more counts as `high`, less than 0 as 0.
        expected: a guess of the mean (None: a twentieth of `high`).
        spread: a guess of the standard deviation between persons (None: by the mean).
        good: "more" if it should rise, "less" if it should fall.
    """

    name: str
    high: float
    expected: float | None = None
    spread: float | None = None
    good: str = "more"

    def __post_init__(self) -> None:
        plain_fields(self)
        check_name("Sum", "name", self.name)
        check_positive("Sum", "high", self.high)
        check_choice("Sum", "good", self.good, ("more", "less"))
        if self.expected is not None:
            check_number("Sum", "expected", self.expected, above=0.0, below=self.high)
        if self.spread is not None:
            check_number("Sum", "spread", self.spread, above=0.0, below=self.high / 2, closed_high=True)

    @property
    def binary(self) -> bool:
        """Whether only 0 and the largest value occur."""
        return False

    @property
    def mean(self) -> float:
        """The guessed mean of the scaled value."""
        return USUAL_SHARE if self.expected is None else self.expected / self.high

    @property
    def variance(self) -> float:
        """The guessed variance of the scaled value: half of the largest possible one if none is declared."""
        if self.spread is not None:
            return (self.spread / self.high) ** 2
        return self.mean * (1 - self.mean) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {"kind": "sum", **_stated(self)}


@dataclass(frozen=True)
class Ratio:
    """The quotient of two metrics' sums, such as revenue per order; persons stay the unit.

    Attributes:
        name: what it is called; it has no column.
        over: the metric above the line.
        under: the metric below the line.
        good: "more" if it should rise, "less" if it should fall.
    """

    name: str
    over: str
    under: str
    good: str = "more"

    def __post_init__(self) -> None:
        for what in ("name", "over", "under"):
            check_name("Ratio", what, getattr(self, what))
        check_choice("Ratio", "good", self.good, ("more", "less"))
        if self.over == self.under:
            raise InvalidInput(f"The Ratio {self.name!r} must have two different metrics.")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {"kind": "ratio", **_stated(self)}


Measure = Conversion | Sum
Metric = Conversion | Sum | Ratio
KINDS: dict[str, type[Metric]] = {"conversion": Conversion, "sum": Sum, "ratio": Ratio}


def metric_from_dict(content: object) -> Metric:
    """Read a description such as {"kind": "sum", "name": "revenue", "high": 200}."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"A metric must be an object whose 'kind' is one of {', '.join(KINDS)}.")
    try:
        return KINDS[kind](**{name: value for name, value in content.items() if name != "kind"})
    except TypeError:
        known = ", ".join(field.name for field in fields(KINDS[kind]))
        raise InvalidInput(f"A metric of the kind {kind!r} has the fields {known}.") from None


def metric_from_words(words: str) -> Metric:
    """Read `bought=conversion`, `revenue=sum:200` or `basket=ratio:revenue:orders`."""
    name, equals, rest = words.partition("=")
    kind, *parts = rest.split(":")
    if equals and kind == "conversion" and not parts:
        return Conversion(name)
    if equals and kind == "ratio" and len(parts) == 2:
        return Ratio(name, parts[0], parts[1])
    if equals and kind == "sum" and len(parts) == 1:
        return Sum(name, _number(name, parts[0]))
    raise InvalidInput(
        "A metric is written as bought=conversion, revenue=sum:200 (the largest value that counts) or "
        f"basket=ratio:revenue:orders. Got {words!r} instead."
    )


def _number(name: str, words: str) -> float:
    try:
        return float(words)
    except ValueError:
        raise InvalidInput(f"The largest value of the metric {name!r} must be a number.") from None


def _stated(metric: Any) -> dict[str, Any]:
    """Return the fields that differ from their defaults, and those that have none."""
    return {
        field.name: getattr(metric, field.name)
        for field in fields(metric)
        if getattr(metric, field.name) != field.default
    }
