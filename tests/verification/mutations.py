"""Random mutations of contracts: one field deleted, replaced, scaled, cut or added."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import tacit
from tacit.errors import InvalidInput
from tacit.verification.facts import Facts
from tacit.verification.statements import PROMISE_NOTHING, TAKEN_AS_STATED, statement_of

# Two accountants may differ by so much, and by so much more than follows may be stated.
TOLD_APART = Fraction(1, 50)
FACTORS = (0.0, 0.5, 0.9, 1.1, 2.0, 1000.0, -1.0)
TEXTS = (
    "",
    "exact",
    "pure",
    "RDP",
    "Gaussian DP",
    "replace",
    "zero-out",
    "promised",
    "anything",
    "every decision",
    "one record",
    "adaptive",
    "oblivious",
)
OTHERS = (None, True, False, 0, 1, -1, 7, 0.3, 10**400, -1e308, "x", [], {}, [1, 2], {"kind": "x"})


class Mutation(NamedTuple):
    """A changed contract, and where it was changed."""

    place: str
    contract: dict[str, Any]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all fields, nested ones included."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield (*path, name)
        yield from places(item, (*path, name))


def mutations(contract: dict[str, Any], count: int, seed: int) -> Iterator[Mutation]:
    """So many changes of a contract, each of one field, the same for the same seed."""
    source = random.Random(seed)
    every = list(places(contract))
    made = 0
    while made < count:
        path = source.choice(every)
        changed = copy.deepcopy(contract)
        part: Any = changed
        for name in path[:-1]:
            part = part[name]
        before = copy.deepcopy(part)
        _mutate(part, path[-1], source)
        if _differ(part, before):
            made += 1
            yield Mutation(".".join(str(name) for name in path if not isinstance(name, int)), changed)


def _mutate(part: Any, name: Any, source: random.Random) -> None:
    value, how = part[name], source.random()
    if how < 0.15:
        del part[name]
    elif how < 0.25 and isinstance(value, dict):
        value[source.choice(["more", "kind", "epsilon"])] = source.choice(OTHERS)
    elif how < 0.35:
        part[name] = source.choice(OTHERS)
    elif isinstance(value, list) and value:
        part[name] = source.choice([value[:-1], value[1:], [*value, value[-1]], value[::-1]])
    elif isinstance(value, bool):
        part[name] = not value
    elif isinstance(value, int | float):
        scaled = value * source.choice(FACTORS)
        part[name] = round(scaled) if isinstance(value, int) else scaled
    elif isinstance(value, str):
        part[name] = source.choice([*TEXTS, value + ".", value[: len(value) // 2], value.upper()])
    else:
        part[name] = source.choice(OTHERS)


def _differ(first: Any, second: Any) -> bool:
    """Whether two values say different things: numbers must be two per cent apart."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() != second.keys() or any(_differ(first[name], second[name]) for name in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) != len(second) or any(map(_differ, first, second))
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, second))
    if numbers:
        one, other = Fraction(first), Fraction(second)
        return abs(one - other) > TOLD_APART * max(abs(one), abs(other))
    return type(first) is not type(second) or bool(first != second)


def accepted(contract: dict[str, Any]) -> bool:
    """Whether a contract passes."""
    try:
        return bool(tacit.verify(contract).answer == "yes")
    except InvalidInput:
        return False


def free(contract: dict[str, Any]) -> tuple[str, ...]:
    """The fields of a contract that promise nothing, are taken as stated, or hardly move epsilon."""
    statement = statement_of(Facts(contract, "contract"))
    return (
        *PROMISE_NOTHING,
        *TAKEN_AS_STATED,
        *statement.nothing.split(),
        *statement.stated.split(),
        *statement.faint.split(),
    )


def told(place: str, fields: tuple[str, ...]) -> bool:
    """Whether a place is one of these fields, or inside of one."""
    return any(place == field or place.startswith(field + ".") for field in fields)
