"""The rows of one key in one batch, in an order that does not depend on how they arrived.

A row is (round, losses): round t of the key is over, and this was its feedback, or there is none yet (all losses null
or NaN). It asks for the decision of round t + 1; a row of round -1 asks for the first decision. Spark brings rows in
any order, and after a failure in another one, so they are sorted by round, and by losses where a round comes twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tacit.problems import Options
from tacit.validation import FloatArray, IntArray, real_array

Truths = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]

MOST_MISSING = 10_000
"""How many rounds in a row may be missing: a row further ahead is taken for a mistake."""


class Rows(NamedTuple):
    """Rows of one key, at most one for a round, in the order of their rounds."""

    rounds: IntArray  # which rounds
    told: Truths  # which of them have feedback
    losses: FloatArray  # one row each; zeros where there is no feedback

    def where(self, kept: Any) -> Rows:
        """Some of the rows."""
        return Rows(self.rounds[kept], self.told[kept], self.losses[kept])

    def content(self) -> bytes:
        """All that a learner gets to see of them, in order; the same bytes on every machine."""
        parts = (self.rounds.astype("<i8"), self.told.astype("u1"), self.losses.astype("<f8"))
        return b"".join((len(self.rounds).to_bytes(8, "little"), *(part.tobytes() for part in parts)))


@dataclass
class Report:
    """What was not counted of a key's rows in a batch. For whoever runs the job: it depends on single rows."""

    late: int = 0  # rows of rounds that were closed
    duplicates: int = 0  # rows of rounds that had their row already; the first in order counts
    refused: int = 0  # rows, or the losses of rows, that are not allowed
    problems: list[str] = field(default_factory=list)  # why, in one sentence each; they say where, never what

    def refuse(self, count: int, round: int, why: str) -> None:
        """Count rows that are not allowed; the first of them is of this round."""
        self.refused += count
        self.problems.append(f"{why}: {count} row{'' if count == 1 else 's'}, the first of round {round}.")

    @property
    def empty(self) -> bool:
        """Whether everything was counted."""
        return not (self.late or self.duplicates or self.refused)

    @property
    def text(self) -> str:
        """All of it in words."""
        counts = [f"{self.late} came too late"] if self.late else []
        counts += [f"{self.duplicates} had come before"] if self.duplicates else []
        return " ".join((*self.problems, *([f"Of the other rows {' and '.join(counts)}."] if counts else [])))


class Position(NamedTuple):
    """Where a key's learner stands."""

    decided: int  # how many rounds are decided and shown
    oldest: int  # the first round that still takes feedback
    open: tuple[bool, ...]  # of the rounds from there on, which have their feedback


def ordered(problem: Options, columns: int, rounds: IntArray, losses: FloatArray, report: Report) -> Rows:
    """The rows in order, one for a round, without losses that are not allowed (their rows still ask for decisions)."""
    # Copied before they are checked: frames may be somebody else's memory.
    rounds, losses = np.array(rounds), real_array("a fleet", "losses", losses, (len(rounds), columns))
    missing = np.isnan(losses)
    told: Truths = ~np.logical_and.reduce(missing, axis=1)
    low, high = problem.loss_range
    with np.errstate(invalid="ignore"):
        bad = told & ~((losses >= low) & (losses <= high)).all(axis=1)
    bad |= told & (rounds < 0)
    if bad.any():
        first = int(rounds[bad].min())
        what = "a number" if columns == 1 else f"{columns} numbers"
        report.refuse(int(bad.sum()), first, f"Feedback must be {what} in [{low:g}, {high:g}] or null, from round 0 on")
        told = told & ~bad
    rows = Rows(rounds, told, np.where(told[:, None], losses, 0.0) + 0.0)  # -0.0 and 0.0 are one loss
    unnumbered = rounds < -1
    if unnumbered.any():
        report.refuse(int(unnumbered.sum()), int(rounds.min()), "Rounds must be counted from 0, and not be null")
        rows = rows.where(~unnumbered)
    if (rows.rounds[1:] > rows.rounds[:-1]).all():
        return rows
    rows = rows.where(np.lexsort((*rows.losses.T[::-1], ~rows.told, rows.rounds)))  # feedback before none
    first_of = np.ones(len(rows.rounds), dtype=np.bool_)
    first_of[1:] = rows.rounds[1:] != rows.rounds[:-1]
    report.duplicates += int((~first_of).sum())
    return rows.where(first_of)


def admitted(rows: Rows, at: Position, horizon: int | None, report: Report) -> Rows:
    """The rows that a learner at this position takes; the others are counted."""
    late = rows.rounds < at.oldest
    if late.any():
        report.late += int(late.sum())
        rows = rows.where(~late)
    if horizon is not None and len(rows.rounds) and rows.rounds[-1] >= horizon:
        after = rows.rounds >= horizon
        report.refuse(int(after.sum()), int(rows.rounds[after][0]), f"The plan has {horizon} rounds, counted from 0")
        rows = rows.where(~after)
    settled = np.array(at.open, dtype=np.bool_)
    inside = rows.rounds < at.oldest + len(settled)
    if inside.any():
        again = np.zeros(len(inside), dtype=np.bool_)
        again[inside] = settled[rows.rounds[inside] - at.oldest] & rows.told[inside]
        again |= ~rows.told & (rows.rounds < at.decided - 1)
        report.duplicates += int(again.sum())
        rows = rows.where(~again)
    return _near(rows, at, report)


def _near(rows: Rows, at: Position, report: Report) -> Rows:
    """Without rows that are so far ahead that they must be mistakes."""
    reached, kept = at.decided, np.ones(len(rows.rounds), dtype=np.bool_)
    if not len(kept) or rows.rounds[-1] - reached <= MOST_MISSING:
        return rows
    for index, number in enumerate(rows.rounds.tolist()):
        kept[index] = number - reached <= MOST_MISSING
        reached = max(reached, number + 1) if kept[index] else reached
    if not kept.all():
        first = int(rows.rounds[~kept][0])
        report.refuse(int((~kept).sum()), first, f"At most {MOST_MISSING} rounds in a row may be missing")
    return rows.where(kept)
