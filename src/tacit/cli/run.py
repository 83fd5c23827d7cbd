"""`tacit run`: a stream of feedback in, one decision a round out; at the end the contract.

Decisions come from a learner in memory, or from one in a store that survives the program. The end is that of the rows,
the horizon, a signal, or a reader of the decisions that went away.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Annotated, Any

import typer

import tacit
from tacit.accounting.rounding import rounded_up
from tacit.cli import options, problems
from tacit.cli.options import Output, Part, add_commands, nobody_listens, options_of, with_options
from tacit.cli.streams import Stream, open_stream
from tacit.errors import InvalidInput, TacitError
from tacit.noise.randomness import Randomness
from tacit.problems import Problem


class InStore:
    """A learner in a store: its last round is still in hand if the program ended before its feedback was kept."""

    goes_on = " The same --store and --name go on after the last row that was kept."

    def __init__(self, store: tacit.Store, live: tacit.Live) -> None:
        self.close = store.close
        self.plan = live.plan.plan
        self.guarantee = live.guarantee
        self._live = live
        rounds = live.rounds
        self._decision = next((open for open in live.waiting if open.round == rounds - 1), None)
        self.kept = rounds - (self._decision is not None)

    @property
    def switches(self) -> int:
        """How often the decision has changed."""
        return self._live.switches

    def play(self) -> Any:
        """The decision of the round in hand, which is durable."""
        if self._decision is None:
            self._decision = self._live.decide()
        return self._decision.action

    def observe(self, feedback: Any) -> None:
        """End the round in hand once its feedback is durable."""
        assert self._decision is not None
        self._live.settle(self._decision.round, feedback)
        self._decision = None


@dataclass(frozen=True)
class Source:
    """What the options say about where decisions come from."""

    seed: options.Seed = None
    store: options.Kept = None
    name: options.Name = None

    def start(self, problem: Problem, privacy: dict[str, Any]) -> tacit.Learner | InStore:
        """Plan, and begin or go on."""
        if (self.store is None) != (self.name is None):
            raise InvalidInput(
                "The options --store and --name go together: where the learner is kept, and its name there."
            )
        randomness = None if self.seed is None else Randomness.replayable(self.seed)
        if self.store is None or self.name is None:
            return tacit.plan(problem, **privacy).start(randomness)
        store = tacit.Store(self.store)
        return InStore(store, store.make(self.name, problem, randomness=randomness, **privacy)[0])


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
    with closing(learner) if isinstance(learner, InStore) else nullcontext(), stopping() as stop:
        talk = Conversation(learner, stream, feedback, show, output, stop)
        with talk.told():
            more = talk.decide(problem.horizon)
        summary(learner, talk.rounds, output)
    if more:
        raise _too_long(stream, problem)


@dataclass
class Conversation:
    """Decisions out and rows in; `shown` counts the decisions that somebody may have seen."""

    learner: tacit.Learner | InStore
    stream: Stream
    feedback: Feedback
    show: Show
    output: Output
    stop: Stop
    shown: int = 0
    rounds: int = 0  # that are over

    def decide(self, horizon: int | None) -> bool:
        """Decide for every row; whether there are more rows than rounds."""
        learner, stream, stop = self.learner, self.stream, self.stop
        self.rounds = learner.kept if isinstance(learner, InStore) else 0
        if not stream.waits:  # a file begins with the rows that were kept already
            deque(islice(stream.rows, self.rounds), maxlen=0)
        try:
            while self.rounds != horizon and not stop.asked:
                line = self._line(learner.play())
                if stream.waits:  # someone at the other end needs the decision before the feedback exists
                    self._write(line)
                row = stop.next_row(stream.rows)
                if row is None:
                    break
                if not stream.waits:
                    self._write(line)
                # A row without numbers is a round without feedback.
                learner.observe(self.feedback(row, f"Row {self.rounds + 1} of {stream.name}") if row else None)
                self.rounds += 1
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
        return json.dumps({"round": self.rounds + 1, **entries}) if self.output.as_json else text

    def _write(self, line: str) -> None:
        self.shown += 1
        sys.stdout.write(line + "\n")
        if self.stream.waits or isinstance(
            self.learner, InStore
        ):  # a row that is kept is not read again: its line must be out
            sys.stdout.flush()

    def _spent(self) -> str:
        if not self.shown:
            return ""
        guarantee = self.learner.guarantee
        spent = f"epsilon={rounded_up(guarantee.epsilon())} at delta={rounded_up(guarantee.at_delta, 6)}"
        goes_on = self.learner.goes_on if isinstance(self.learner, InStore) else ""
        return f" Decisions were shown: {spent} is spent.{goes_on}"


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


def summary(learner: tacit.Learner | InStore, rounds: int, output: Output) -> None:
    """What was done and under which contract. Losses and regret are private: they are not shown."""
    plan = learner.plan
    bound, vacuous = float(plan.regret_bound), plan.vacuous
    text = (
        f"{plan.algorithm}: {counted(rounds, 'round')}, {counted(learner.switches, 'switch', 'switches')}, "
        f"certified regret {rounded_up(bound)}\n{learner.guarantee}"
    )
    if vacuous:
        text += (
            "\nWarning: this certified regret says nothing: at this privacy, so few rounds do not pay for learning. "
            "See tacit plan."
        )
    record = {
        "algorithm": plan.algorithm,
        "rounds": rounds,
        "switches": learner.switches,
        "certified_regret": bound,
        "vacuous": vacuous,
        "guarantee": json.loads(learner.guarantee.to_json()),
    }
    output.answer(text, record, error=True)


app = typer.Typer(help="Run the chosen plan on a stream: feedback in, one decision a round out.", no_args_is_help=True)

SIZES = {
    "n": "Number of experts (default: from the first row; with it, standard input has no names and waits for none).",
    "dim": "Number of features (default: from the first row; with it, standard input has no names and waits for none).",
}
"""The options that a stream can stand in for."""
Label = Annotated[str | None, typer.Option(help="Column of the label, if the loss has one (default: the last one).")]


@dataclass(frozen=True)
class Wanted:
    """A problem whose size and horizon may be left to the stream."""

    make: Part
    given: dict[str, Any]

    @property
    def size(self) -> int | None:
        """The size that was asked for (None: that of the stream)."""
        size: int | None = self.given[self._name]
        return size

    @property
    def _name(self) -> str:
        return next(name for name in SIZES if name in self.given)

    def of(self, size: int, stream: Stream) -> Any:
        """The problem of this size; its horizon is what was asked for, or the stream's length."""
        horizon = stream.length if self.given["horizon"] is None else self.given["horizon"]
        return self.make(**{**self.given, self._name: size, "horizon": horizon})


def streamed(problem: Part) -> Part:
    """The problem's options, its size among those that may be left out."""

    def make(**given: Any) -> Wanted:
        return Wanted(problem, given)

    found = options_of(problem)
    changed = {
        name: found[name].replace(default=None, annotation=Annotated[int | None, typer.Option(f"--{name}", help=text)])
        for name, text in SIZES.items()
        if name in found
    }
    return with_options(problem, make, changed)


def experts(
    problem: Wanted,
    privacy: dict[str, Any],
    output: options.Output,
    source: Source,
    input: options.Input,
) -> None:
    """Losses of every expert in, one expert a round out; at the end the contract, to standard error.

    The decision of a round is written before that round's losses are read. For a file the horizon is its
    number of rows; for standard input it is --horizon, or unknown. SIGINT and SIGTERM end the stream.
    """
    stream = open_stream(input, problem.size)
    made = problem.of(len(stream.columns), stream)

    def show(decision: Any) -> tuple[str, dict[str, Any]]:
        column = stream.columns[int(decision)]
        return column, {"decision": int(decision), "name": column}

    decide(made, privacy, stream, losses_within(made, stream.columns), show, source, output)


def convex(
    problem: Wanted,
    privacy: dict[str, Any],
    output: options.Output,
    source: Source,
    input: options.Input,
    label: Label = None,
) -> None:
    """A row of features and its label in (linear, quadratic: no label), the weights of each round out."""
    labelled = problem.given["loss"] in problems.LOSSES
    stream = open_stream(input, None if problem.size is None else problem.size + labelled)
    made = problem.of(len(stream.columns) - labelled, stream)
    column = stream.columns[-1] if label is None else label
    if column not in stream.columns:
        raise InvalidInput(f"{stream.name} has no column {column!r}: its columns are {', '.join(stream.columns)}.")
    at = stream.columns.index(column)

    def feedback(row: list[float], _: str) -> Any:
        return ([*row[:at], *row[at + 1 :]], row[at]) if labelled else row

    decide(made, privacy, stream, feedback, show_point, source, output)


add_commands(app, experts, [streamed(problems.experts), streamed(problems.tracking)], source=Source)
add_commands(app, convex, [streamed(problems.convex)], source=Source)
