"""The loop behind `tacit run`: a decision out, then its feedback in; at the end the contract.

The end is that of the rows, the horizon, a signal, or a reader of the decisions that went away.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any

import tacit
from tacit.cli.commands import nobody_listens
from tacit.cli.options import Output
from tacit.cli.steps import Source, Steps
from tacit.cli.streams import Stream
from tacit.errors import InvalidInput, TacitError
from tacit.privacy.rounding import rounded_up
from tacit.problems import Problem

Feedback = Callable[[list[float], str], Any]
"""What the learner observes of a row; the text names the row in errors."""
Show = Callable[[Any], tuple[str, dict[str, Any]]]
"""A decision as a line of text, and as entries of a JSON record."""


class Stopped(Exception):
    """Somebody asked the program to end while it waited for a row."""


class Stop:
    """Ends at a signal: at once while waiting for a row, otherwise after the row in hand."""

    def __init__(self) -> None:
        self.asked = self._waiting = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self.asked = True
        if self._waiting:
            raise Stopped

    def next_row(self, rows: Iterator[list[float]]) -> list[float] | None:
        """The next row, or None if there is none or the program shall end."""
        try:
            self._waiting = True
            return None if self.asked else next(rows, None)
        except Stopped:
            return None
        finally:
            self._waiting = False


@contextmanager
def stopping() -> Iterator[Stop]:
    """Take SIGINT and SIGTERM as the end of the stream."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield stop
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def decide(
    problem: Problem,
    privacy: dict[str, Any],
    stream: Stream,
    feedback: Feedback,
    show: Show,
    source: Source,
    output: Output,
) -> None:
    """Plan, then one decision a row, then the contract."""
    if problem.horizon is not None and (stream.length or 0) > problem.horizon:
        raise _too_long(stream, problem)
    learner = source.start(problem, privacy)
    with closing(learner), stopping() as stop:
        talk = Conversation(learner, stream, feedback, show, output, stop)
        with talk.told():
            more = talk.decide(problem.horizon)
        summary(learner, output)
    if more:
        raise _too_long(stream, problem)


@dataclass
class Conversation:
    """Decisions out and rows in; `shown` counts the decisions that somebody may have seen."""

    learner: Steps
    stream: Stream
    feedback: Feedback
    show: Show
    output: Output
    stop: Stop
    shown: int = 0

    def decide(self, horizon: int | None) -> bool:
        """Decide for every row; whether there are more rows than rounds."""
        learner, stream, stop = self.learner, self.stream, self.stop
        if not stream.waits:  # a file begins with the rows that were kept already
            deque(islice(stream.rows, learner.rounds), maxlen=0)
        try:
            while learner.rounds != horizon and not stop.asked:
                line = self._line(learner.play())
                if stream.waits:  # someone at the other end needs the decision before the feedback exists
                    self._write(line)
                row = stop.next_row(stream.rows)
                if row is None:
                    break
                if not stream.waits:
                    self._write(line)
                # A row without numbers is a round without feedback.
                learner.observe(self.feedback(row, f"Row {learner.rounds + 1} of {stream.name}") if row else None)
            else:
                return stop.next_row(stream.rows) is not None
            sys.stdout.flush()
        except BrokenPipeError:  # nobody reads the decisions any more: what was shown has its contract all the same
            nobody_listens()
        return False

    @contextmanager
    def told(self) -> Iterator[None]:
        """Whatever ends the run before its rows do, the message says what was spent."""
        try:
            yield
        except TacitError as error:
            raise type(error)(f"{error}{self._spent()}") from None
        except BaseException:
            sys.stderr.write(f"Error: the run broke off.{self._spent()}\n")
            raise

    def _line(self, decision: Any) -> str:
        text, entries = self.show(decision)
        return json.dumps({"round": self.learner.rounds + 1, **entries}) if self.output.as_json else text

    def _write(self, line: str) -> None:
        self.shown += 1
        sys.stdout.write(line + "\n")
        if self.stream.waits or self.learner.goes_on:  # a row that is kept is not read again: its line must be out
            sys.stdout.flush()

    def _spent(self) -> str:
        if not self.shown:
            return ""
        guarantee = self.learner.guarantee
        spent = f"epsilon={rounded_up(guarantee.epsilon())} at delta={rounded_up(guarantee.at_delta, 6)}"
        return f" Decisions were shown: {spent} is spent.{self.learner.goes_on}"


def _too_long(stream: Stream, problem: Problem) -> InvalidInput:
    return InvalidInput(
        f"{stream.name} has more than the {counted(problem.horizon or 0, 'round')} of the plan: plan a longer horizon."
    )


def losses_within(problem: tacit.Experts, columns: Sequence[str]) -> Feedback:
    """Rows of losses, all in the problem's range."""
    low, high = problem.loss_range

    def checked(row: list[float], name: str) -> list[float]:
        for column, loss in zip(columns, row, strict=True):
            if not low <= loss <= high:
                raise InvalidInput(f"{name} has a loss outside [{low:g}, {high:g}] in column {column!r}.")
        return row

    return checked


def show_point(point: Any) -> tuple[str, dict[str, Any]]:
    """Coordinates with commas between them."""
    numbers = [float(x) for x in point]
    return ",".join(repr(x) for x in numbers), {"point": numbers}


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things in words.

    >>> counted(1, "round"), counted(2, "round"), counted(0, "switch", "switches")
    ('1 round', '2 rounds', '0 switches')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def summary(learner: Steps, output: Output) -> None:
    """What was done and under which contract. Losses and regret are private: they are not shown."""
    plan = learner.plan
    bound, vacuous = float(plan.regret_bound), plan.plan.vacuous
    text = (
        f"{plan.algorithm}: {counted(learner.rounds, 'round')}, {counted(learner.switches, 'switch', 'switches')}, "
        f"certified regret {rounded_up(bound)}\n{learner.guarantee}"
    )
    if vacuous:
        text += (
            "\nWarning: this certified regret says nothing: at this privacy, so few rounds do not pay for learning. "
            "See tacit plan."
        )
    record = {
        "algorithm": plan.algorithm,
        "rounds": learner.rounds,
        "switches": learner.switches,
        "certified_regret": bound,
        "vacuous": vacuous,
        "guarantee": json.loads(learner.guarantee.to_json()),
    }
    output.answer(text, record, error=True)
