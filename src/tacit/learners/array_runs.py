"""Arrays of rounds: rows without feedback, and rows whose feedback counts `delay` rounds later."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.learners.slots import owned
from tacit.validation import IntArray

if TYPE_CHECKING:
    from tacit.learners.learner import Learner

Absent = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""Which rows have no feedback."""


def with_missing(learner: Learner, feedback: Any, mask: Any) -> tuple[Any, Absent | None]:
    """The rows as `_run` takes them, and which of them have no feedback (None: all have)."""
    absent = _absent(learner, feedback, mask)
    if absent is None or not absent.any():
        return learner._check_many(feedback), None
    if learner._shows:
        return learner._check_many(_patched(feedback, absent, None)), absent
    if absent.all():
        return [None] * len(absent), absent
    return learner._check_many(_patched(feedback, absent, int(np.argmin(absent)))), absent


def run_rows(learner: Learner, rows: Any, absent: Absent | None) -> Any:
    """Play checked rows while nobody looks, whatever was open before."""
    learner._absent = absent
    try:
        if not learner._delay:
            while learner._slots:
                learner._close_round()
            return _run_now(learner, rows, absent)
        if not len(rows):
            return learner._run(rows)
        one_by_one = learner._opens or learner._reacts
        return (_run_one_by_one if one_by_one else _run_behind)(learner, rows, absent)
    finally:
        learner._absent = None


def _run_now(learner: Learner, rows: Any, absent: Absent | None) -> Any:
    """The decisions of the learner without delay: stretches with feedback as arrays, the others round by round."""
    if absent is None or not absent.any() or (learner._skips and not absent.all()):
        return learner._run(rows)
    borders = [0, *(np.flatnonzero(np.diff(absent)) + 1).tolist(), len(absent)]
    parts = []
    for first, last in pairwise(borders):
        if absent[first]:
            parts += [_missed(learner) for _ in range(first, last)]
        else:
            learner._first_row, learner._absent = first, None
            parts.append(learner._run(rows[first:last]))
    learner._first_row = 0
    return np.concatenate(parts)


def _missed(learner: Learner) -> Any:
    action = np.asarray(learner._decision())[None]
    learner._finish(learner._nothing())
    return action


def _run_behind(learner: Learner, rows: Any, absent: Absent | None) -> Any:
    """A learner that sees feedback only is the one without delay, some rounds behind.

    Of what waits and the new rows all but the last `delay` + 1 are absorbed; each decision is the one that was due
    when `delay` rounds before it, and no more, were still open.
    """
    waiting, count = len(learner._slots), len(rows)
    learner._played = False
    absorbed = max(0, waiting + count - learner._delay - 1)
    parts = []
    for _ in range(min(waiting, absorbed)):
        parts.append(np.asarray(learner._decision())[None])
        learner._close_round()
    direct = absorbed - len(parts)
    if direct:
        parts.append(_run_now(learner, rows[:direct], None if absent is None else absent[:direct]))
    parts.append(np.asarray(learner._decision())[None])
    behind: IntArray = np.maximum(0, waiting + np.arange(count) - learner._delay)
    learner._absent = absent
    silent = absent is not None and absent[direct:].all()
    tail = rows[direct:] if silent else learner._check_rows(rows[direct:], direct)
    for index, checked in enumerate(tail, direct):
        missing = absent is not None and absent[index]
        learner._slots[learner._round + len(learner._slots)] = None if missing else owned(checked)
    return np.concatenate(parts)[behind]


def _run_one_by_one(learner: Learner, rows: Any, absent: Absent | None) -> Any:
    """Decide, then settle: where feedback depends on the decision, or decisions on more than feedback."""
    actions = []
    for index, row in enumerate(rows):
        number = learner._round + len(learner._slots) if learner._played else learner._open_round()
        learner._played = False
        actions.append(learner._decision())
        missing = absent is not None and absent[index]
        learner._slots[number] = None if missing else owned(learner._check_row(number, row))
    return np.asarray(actions)


def _absent(learner: Learner, feedback: Any, mask: Any) -> Absent | None:
    if mask is None:
        if not isinstance(feedback, list | tuple) or not any(row is None for row in feedback):
            return None
        return np.array([row is None for row in feedback])
    listed = np.asarray(mask)
    count = _rows_of(feedback)
    if count is None:
        raise InvalidInput(f"The 'mask' of {learner.plan.algorithm}.run needs an array or a list of feedback.")
    if listed.dtype != np.bool_ or listed.shape != (count,):
        raise InvalidInput(
            f"The 'mask' of {learner.plan.algorithm}.run must be {count} truth values, one a row. "
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


def _patched(feedback: Any, absent: Absent, source: int | None) -> Any:
    """The feedback with the rows that are not there replaced by another row, or by None."""
    if isinstance(feedback, tuple) and (len(feedback) != len(absent) or _is_table(feedback[0])):
        return tuple(_patched(np.asarray(part), absent, source) for part in feedback)
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
