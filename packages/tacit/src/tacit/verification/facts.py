"""What a contract says of its plan, read with care: a missing or misshapen fact is one clear error."""

from __future__ import annotations

from typing import Any

from tacit.errors import InvalidInput
from tacit.verification.schema import check_schema

_MISSING = object()
MOST_ROUNDS = 4096
FIRST_EPOCH = 1024  # rounds (docs/algorithms/doubling.md)
_DIGITS = 1e-6


class NotVerifiable(Exception):
    """There is no independent accountant for this plan yet; the words say why."""


class Facts:
    """A part of a contract's JSON, by name."""

    def __init__(self, content: object, where: str) -> None:
        if not isinstance(content, dict):
            raise InvalidInput(f"The '{where}' of a contract must be an object. Got {type(content).__name__} instead.")
        self._content: dict[str, Any] = content
        self._where = where

    def part(self, name: str) -> Facts:
        return Facts(self._content.get(name), name)

    def has(self, name: str) -> bool:
        """Check whether something other than null stands under this name."""
        return self._content.get(name) is not None

    def content(self, name: str) -> Any:
        return self._content.get(name)

    def names(self) -> set[str]:
        return set(self._content)

    def text(self, name: str) -> str:
        value = self._content.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def number(self, name: str, *, default: float | None = None) -> float:
        """Read a finite number that is not negative."""
        value = self._content.get(name, _MISSING)
        if value is _MISSING and default is not None:
            return default
        try:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise OverflowError
            return float(value)
        except OverflowError:
            raise self._wrong(name, "a number, at least 0 and finite") from None

    def integer(self, name: str, *, at_least: int = 0) -> int:
        value = self._content.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            raise self._wrong(name, f"a whole number, at least {at_least}")
        return value

    def positive(self, name: str) -> float:
        value = self.number(name)
        if value == 0:
            raise self._wrong(name, "a number above 0")
        return value

    def flag(self, name: str) -> bool:
        value = self._content.get(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def numbers(self, name: str, *, signed: bool = False) -> list[float]:
        """Read a list of numbers that are not negative, unless numbers may have a sign."""
        values = self._content.get(name)
        if not isinstance(values, list):
            raise self._wrong(name, "a list of numbers")
        signs = [-1 if signed and isinstance(value, int | float) and value < 0 else 1 for value in values]
        sizes = [-value if sign < 0 else value for value, sign in zip(values, signs, strict=True)]
        return [sign * Facts({name: size}, self._where).number(name) for size, sign in zip(sizes, signs, strict=True)]

    def parts(self, name: str) -> list[Facts]:
        values = self._content.get(name)
        if not isinstance(values, list):
            raise self._wrong(name, "a list of objects")
        return [Facts(value, name) for value in values]

    def apart_from(self, name: str) -> dict[str, Any]:
        """Give all content but for what stands under this name."""
        return {key: value for key, value in self._content.items() if key != name}

    def with_part(self, part: Facts) -> Facts:
        """Replace what stands under the names of a part by what the part says."""
        return Facts({**self._content, **part._content}, self._where)

    def at(self, delta: float, epsilon: float) -> Facts:
        """Give the contract at another point of the curve."""
        return Facts({**self._content, "delta": delta, "epsilon": epsilon}, self._where)

    def _wrong(self, name: str, allowed: str) -> InvalidInput:
        return InvalidInput(f"The '{name}' in the '{self._where}' of a contract must be {allowed}.")


def sides(contract: Facts) -> int:
    """Count the contributions that a neighbour moves: the old and the new one, or the old one only."""
    relation = contract.text("relation")
    if relation not in ("replace", "zero-out"):
        raise InvalidInput("The 'relation' of a contract must be 'replace' or 'zero-out'.")
    return 2 if relation == "replace" else 1


def check_agreement(contract: Facts) -> None:
    """Refuse a contract for other neighbours than those of its plan: what a step costs depends on both."""
    parameters = contract.part("parameters")
    if parameters.text("numerics") != "exact":
        raise NotVerifiable("Its parameters ask for float64 noise, which is for simulation.")
    for name in ("relation", "rounds_per_person", "separation", "delta"):
        if contract.content(name) != parameters.content(name):
            raise contradiction(name, "parameters")


def idealized(contract: Facts) -> None:
    """Refuse noise drawn in float64, recomputed as if floats were real numbers, unless its contract says so."""
    if not contract.text("numerics").startswith("idealized"):
        raise NotVerifiable("Its noise is drawn in float64, which its contract must call idealized.")


def check_noise(contract: Facts, found: Any, name: str, counted: int, coarse: Any) -> None:
    """Check that the noise leaks what the parameters say that the noise was made for.

    A plan is started from its parameters: noise that is said to be larger than they make it would never be drawn.
    What is found may be below by the share `coarse`, for whole steps of a lattice. Where fewer of a person's rounds
    count than there may be, the plan pays for all of them, and nothing is compared.
    """
    rounds, made = contract.integer("rounds_per_person", at_least=1), contract.part("parameters").positive(name)
    if rounds == counted and not 1 - coarse <= found / made <= 1 + _DIGITS:
        raise contradiction("noise", "parameters")


def contradiction(name: str, part: str) -> InvalidInput:
    """Make the error of two places that must say the same."""
    return InvalidInput(f"A contract must not contradict itself: its '{name}' does not fit what its '{part}' say.")


def people(contract: Facts) -> int:
    """Give the number of rounds one person may stand in: no more than there are."""
    rounds, problem = contract.integer("rounds_per_person", at_least=1), contract.part("problem")
    if problem.has("horizon"):
        rounds = min(rounds, problem.integer("horizon", at_least=1))
    if rounds > MOST_ROUNDS:
        raise NotVerifiable(f"More than {MOST_ROUNDS:,} rounds per person are not recomputed.")
    return rounds


def separation(contract: Facts) -> int:
    """Give by how many rounds those of one person are apart at least."""
    return contract.integer("separation", at_least=2) if contract.has("separation") else 1


def epochs(contract: Facts) -> list[Facts]:
    """Give a contract for each epoch of a plan without a horizon: twice as long as the one before, the same problem.

    A round enters one epoch (docs/algorithms/doubling.md). Several rounds of a person may enter several, so that every
    epoch is made for one of them, and `grouped` says what they cost together.
    """
    if not contract.has("epochs"):
        raise NotVerifiable("A plan without a horizon is many plans, one for each epoch, and says nothing of them.")
    check_schema(contract.content("parameters"), "parameters", schema={"$ref": "#/$defs/epochs_parameters"})
    if contract.has("noise"):  # each epoch says its own, and this one would be read by nobody
        raise contradiction("noise", "epochs")
    parameters, delta = contract.part("parameters"), contract.number("delta")
    target = parameters.positive("epsilon")
    if not 1 - _DIGITS <= contract.number("epsilon") / target <= 1 or (delta and delta != parameters.number("delta")):
        raise contradiction("epsilon", "parameters")
    several = contract.integer("rounds_per_person", at_least=1)
    if several != (parameters.integer("rounds_per_person", at_least=2) if parameters.has("rounds_per_person") else 1):
        raise contradiction("rounds_per_person", "parameters")
    parts, problem = contract.parts("epochs"), contract.part("problem").apart_from("horizon")
    for index, part in enumerate(parts):
        of_epoch, length = part.part("problem"), FIRST_EPOCH * 2**index
        if of_epoch.integer("horizon", at_least=1) != length or of_epoch.apart_from("horizon") != problem:
            raise contradiction("epochs", "problem")
    if several == 1:
        return [contract.with_part(part) for part in parts]
    single = {"rounds_per_person": 1, "epsilon": contract.number("epsilon") / several}
    each = [Facts({**single, "delta": part.part("parameters").number("delta")}, "epochs") for part in parts]
    return [contract.with_part(part).with_part(made) for part, made in zip(parts, each, strict=True)]
