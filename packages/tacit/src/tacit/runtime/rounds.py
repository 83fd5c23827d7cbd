"""Rounds: slots where late feedback waits until its window is over, and arrays of rounds with rows missing.

With a delay of D the slots up to round t-1-D close just before round t is decided, in order, each exactly once: with
the feedback that came, or with the public constant that contributes nothing. When within its window feedback came, and
in which order, changes nothing and is not released.
"""

from __future__ import annotations

import copy
from enum import Enum
from typing import Any, Final, NoReturn

import numpy as np

from tacit.errors import InvalidInput, ProtocolError
from tacit.runtime.state import fitting

Absent = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""Which rows have no feedback."""


class _Slot(Enum):
    OPEN = "no feedback yet"


OPEN: Final = _Slot.OPEN
"""What stands in a slot that was not settled; None says that feedback is known to be missing."""


def owned(feedback: Any) -> Any:
    """Checked feedback as a value of its own: it waits, and the caller may write over what was handed in."""
    if type(feedback) is np.ndarray:
        return feedback.copy()
    return feedback if feedback is None or type(feedback) is float else copy.deepcopy(feedback)


def same(one: Any, other: Any) -> bool:
    """Whether two checked feedbacks are the same, to the last bit."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one is other or one == other)


def saved(slots: dict[int, Any]) -> list[Any]:
    """Open slots for a state: (settled?, feedback), oldest first. PRIVATE."""
    return [[value is not OPEN, None if value is OPEN else owned(value)] for value in slots.values()]


def loaded(first: int, content: Any, most: int) -> dict[int, Any]:
    """Open slots from a state; the oldest one is of round `first`. A number: so many, and none is settled."""
    slots = {}
    if type(content) is int and 0 <= content <= most:
        return dict.fromkeys(range(first, first + content), OPEN)
    if not isinstance(content, list) or len(content) > most:
        raise TypeError(f"at most {most} open rounds expected")
    for number, (settled, value) in enumerate(content, first):
        if not isinstance(settled, bool) or (value is not None and not settled):
            raise TypeError("feedback of an open round expected where it is settled, and only there")
        slots[number] = _finite(owned(value)) if settled else OPEN
    return slots


def refuse(algorithm: str, number: int, decided: int, delay: int, in_hand: bool) -> NoReturn:
    """Say why a round takes no feedback."""
    if not 0 <= number < decided:
        raise ProtocolError(f"Round {number} of this {algorithm} learner was not decided: {decided} rounds were.")
    if in_hand:
        raise ProtocolError(f"Round {number} was opened by play(): end it with observe(), or open rounds by decide().")
    raise ProtocolError(
        f"Round {number} is closed: with delay={delay} its feedback counts if it comes before round "
        f"{number + delay + 1} is decided."
    )


def reported_otherwise(number: int) -> ProtocolError:
    """Give the error of a round that is settled a second time, with other feedback."""
    return ProtocolError(f"Round {number} has its feedback already, and another one was reported.")


def _finite(value: Any) -> Any:
    for entry in value if isinstance(value, list | tuple) else (value,):
        fitting(entry, entry)
    return value


def absent_rows(algorithm: str, feedback: Any, mask: Any) -> Absent | None:
    """Say which rows of `run` have no feedback, by the mask or by None in a list (None: all have)."""
    if mask is None:
        if not isinstance(feedback, list | tuple) or not any(row is None for row in feedback):
            return None
        return np.array([row is None for row in feedback])
    listed = np.array(mask)
    count = _rows_of(feedback)
    if count is None:
        raise InvalidInput(f"The 'mask' of {algorithm}.run needs an array or a list of feedback.")
    if listed.dtype != np.bool_ or listed.shape != (count,):
        raise InvalidInput(
            f"The 'mask' of {algorithm}.run must be {count} truth values, one a row. "
            f"Got an array of shape {listed.shape} and type {listed.dtype} instead."
        )
    missing: Absent = ~listed
    return missing


def _rows_of(feedback: Any) -> int | None:
    """How many rounds: of arrays in a tuple each has one entry a round."""
    try:
        return len(feedback[0]) if isinstance(feedback, tuple) else len(feedback)
    except (TypeError, IndexError):
        return None


def patched(feedback: Any, absent: Absent, source: int | None) -> Any:
    """The feedback with the rows that are not there replaced by another row, or by None."""
    if isinstance(feedback, tuple) and (len(feedback) != len(absent) or _is_table(feedback[0])):
        return tuple(patched(np.asarray(part), absent, source) for part in feedback)
    if source is None or isinstance(feedback, list | tuple):
        stand_in = None if source is None else feedback[source]
        return [stand_in if missing else row for row, missing in zip(feedback, absent, strict=True)]
    rows = np.array(feedback)
    rows[absent] = rows[source]
    return rows


def _is_table(part: Any) -> bool:
    """Whether this is an array of rows, and so the features of all rounds: two rounds have as many parts as a pair."""
    try:
        return np.ndim(part) == 2
    except ValueError:  # features and a label: a row
        return False
