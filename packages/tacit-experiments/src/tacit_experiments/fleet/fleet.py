"""What happens to one key in one batch: a function of its state and its rows, the same wherever and whenever it is run.

Nothing here knows Spark. A fleet is a plan and a sealed source; `advance` takes the packed state of a key and its rows
and gives the next state and the decisions that were made. All draws come from the sealed source of exactly this
batch, so that running it again gives the same bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.errors import InvalidInput
from tacit.noise.randomness import Sealed
from tacit.problems import Arms, Experts, Options
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.runtime.state import State
from tacit.validation import FloatArray, IntArray
from tacit.version import __version__
from tacit_experiments.fleet.rows import Position, Report, Rows, admitted, ordered


class Step(NamedTuple):
    """What a batch gave for one key."""

    state: bytes | None  # the packed state after it (None: the key has none yet). PRIVATE
    first: int  # the round of the first decision
    actions: list[int]  # the decisions of that round and those after it: released
    report: Report  # what was not counted


class Fleet:
    """One plan, run by as many learners as there are keys."""

    def __init__(self, plan: Plan, source: Sealed, *, seal: str = "batch") -> None:
        self.plan = plan
        self.problem = fleet_problem(plan)
        self._source = source
        self._by_row = seal == "row"
        self._version = f"{__version__} {plan.signature}"

    def advance(self, name: bytes, state: bytes | None, rounds: IntArray, losses: FloatArray) -> Step:
        """Absorb the rows of a key, in any order, and decide as many rounds as they ask for (all NaN: no feedback)."""
        report = Report()
        rows = ordered(self.problem, feedback_columns(self.problem), rounds, losses, report)
        before = None if state is None else self.read(name, state)
        first = _position(before).decided
        if isinstance(self.problem, Arms):
            rows = _answers(rows, first, report)
        parts = [rows.where(slice(at, at + 1)) for at in range(len(rows.rounds))] if self._by_row else [rows]
        actions: list[int] = []
        for part in parts:
            if before is None and state is not None:
                before = self.read(name, state)
            state, more = self._advance(name, state, before, part, report)
            actions, before = actions + more, None
        return Step(state, first, actions, report)

    def read(self, name: bytes, state: bytes) -> State:
        """Read the packed state of a key, if it is one of this fleet's. PRIVATE."""
        return State.unpacked(state, self.plan.signature, self._source, name)

    def _advance(
        self, name: bytes, state: bytes | None, before: State | None, rows: Rows, report: Report
    ) -> tuple[bytes | None, list[int]]:
        at = _position(before)
        rows = admitted(rows, at, self.plan.horizon, report)
        if not len(rows.rounds):
            return state, []
        source = self._source.batch(
            plan=self._version, learner=name, first=int(rows.rounds[0]), rows=rows.content(), state=state or b""
        )
        learner = self.plan._learner(source)
        if before is not None:
            learner.load(before)
        actions = (_play_late if self.problem.delay else _play_now)(learner, rows, at.decided)
        return learner.state().packed(self._source, name, source.past), actions


def _position(state: State | None) -> Position:
    if state is None:
        return Position(0, -1, ())
    closed, slots, played = (state.content[name] for name in ("round", "open", "played"))
    settled = tuple(slot[0] for slot in slots) + (False,) * played
    return Position(closed + len(settled), closed, settled)


def fleet_problem(plan: Plan) -> Options:
    """The problem of a plan that a fleet can run."""
    if isinstance(plan, Plan) and isinstance(plan.problem, Experts | Arms):
        plan.refuse_unkept(private=True)
        return plan.problem
    raise InvalidInput("The 'plan' parameter of a fleet must be a plan for Experts, Tracking or Arms.")


def feedback_columns(problem: Options) -> int:
    """How many losses a row has: one for every expert, or that of the arm that was played."""
    return 1 if isinstance(problem, Arms) else problem.n


def _answers(rows: Rows, shown: int, report: Report) -> Rows:
    """Without replies to decisions that no earlier batch has shown: whoever sent them has played something else."""
    early = rows.told & (rows.rounds >= shown)
    if early.any():
        report.refuse(int(early.sum()), int(rows.rounds[early][0]), "Replies of arms must follow their decisions")
    return Rows(rows.rounds, rows.told & ~early, np.where(early[:, None], 0.0, rows.losses))


def _play_now(learner: Learner, rows: Rows, decided: int) -> list[int]:
    """Without a delay: all rounds up to the last row as one array; what has no row has no feedback."""
    first, last = max(decided - 1, 0), int(rows.rounds[-1])
    problem = learner.plan.problem
    assert isinstance(problem, Options)
    table, told = np.zeros((last - first + 1, problem.n)), np.zeros(last - first + 1, dtype=np.bool_)
    numbered = rows.rounds >= 0
    places = rows.rounds[numbered] - first
    table[places], told[places] = rows.losses[numbered], rows.told[numbered]
    actions = list(map(int, learner.run(table, told))) if len(told) else []
    if learner.rounds != learner.plan.horizon:
        actions.append(int(learner.play()))
    return actions[decided - first :]


def _play_late(learner: Learner, rows: Rows, decided: int) -> list[int]:
    """With a delay: each row settles its round, and opens those up to the next one."""
    actions: list[int] = []
    single = isinstance(learner.plan.problem, Arms)
    for number, told, losses in zip(rows.rounds.tolist(), rows.told.tolist(), rows.losses, strict=True):
        _open(learner, number + 1, actions)
        if told:
            learner.settle(number, float(losses[0]) if single else losses)
        _open(learner, number + 2, actions)
    return actions


def _open(learner: Learner, count: int, actions: list[int]) -> None:
    """Decide until so many rounds are decided, or all of them."""
    while learner.decided < count and learner.decided != learner.plan.horizon:
        actions.append(int(learner.decide().action))
