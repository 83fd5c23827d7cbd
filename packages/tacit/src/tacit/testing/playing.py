"""Playing: loops, arrays, counting, and feedback that is none."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from tacit.accounting.guarantee import Guarantee
from tacit.errors import TacitError
from tacit.runtime.learner import Learner
from tacit.testing.rounds import Case, content, listed, refused

_Call = Callable[[Case, Learner, Any], Any]


def play_is_idempotent(case: Case) -> None:
    """The same decision until the round ends, each time as a value of its own."""
    learner = case.start()
    for row in case.feedback[:8]:
        first = case.play(learner)
        kept = np.array(first).tolist()
        if isinstance(first, np.ndarray) and first.flags.writeable:
            first[...] = 1e9
        assert np.array(case.play(learner)).tolist() == kept, "play gives another decision in the same round"
        learner.observe(row)


def run_is_the_loop(case: Case) -> None:
    """Arrays make the decisions, counts and states of single rounds."""
    one, other = case.start(), case.start()
    wanted, got = case.loop(one), listed(case.run(other, case.rows()))
    assert got == wanted, "run and play/observe make different decisions"
    assert (other.rounds, other.switches) == (one.rounds, one.switches), "run counts otherwise than play/observe"
    assert content(other) == content(one), "run and play/observe leave different states"


def settings_of_numpy_change_nothing(case: Case) -> None:
    """Where numpy was told to raise at underflows and the like, which depend on the data, nothing is raised."""
    wanted = case.loop(case.start())
    for setting in ("raise", "warn"):
        one, other = case.start(), case.start()
        with np.errstate(all=setting), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                got = [case.loop(one), listed(case.run(other, case.rows()))]
            except (ArithmeticError, Warning) as error:
                raise AssertionError(f"under np.errstate(all={setting!r}) a round ends in {error!r}") from None
        assert got == [wanted, wanted], "numpy's settings change decisions"


def parts_and_loops_mix(case: Case) -> None:
    """A run in parts, also one that begins with a played round, is the whole run."""
    wanted = listed(case.run(case.start(), case.rows()))
    learner, cut = case.start(), case.middle
    got = listed(case.run(learner, case.rows(0, 1)))
    case.play(learner)
    got += listed(case.run(learner, case.rows(1, cut)))
    got += case.loop(learner, cut, cut + 2)
    got += listed(case.run(learner, case.rows(cut + 2)))
    assert got == wanted, "parts and loops do not mix"
    before = content(learner)
    case.run(learner, case.rows(0, 0))
    assert content(learner) == before, "an empty run changes something"


def rounds_are_counted(case: Case) -> None:
    """Observe needs play, and nothing is played after the horizon."""
    learner, delay = case.start(), case.plan.problem.delay
    with refused("observe before play", "before play"):
        learner.observe(case.feedback[0])
    case.loop(learner)
    assert learner.decided == len(case.feedback), "rounds are not counted"
    kept_open = min(delay + 1, len(case.feedback)) if delay else 0
    assert learner.decided - learner.rounds == kept_open, "rounds do not close when their window is over"
    with refused("observe before play", "before play"):
        learner.observe(case.feedback[0])
    if case.plan.horizon == len(case.feedback):
        with refused("a round after the horizon", "planned for"):
            case.play(learner)
        with refused("a run after the horizon", "are left"):
            case.run(learner, case.rows(0, 1))


def bad_feedback_changes_nothing(case: Case) -> None:
    """Nonsense raises an error of tacit's (or the user's function's own), and the round is still in hand."""
    learner, twin = case.advanced(), case.advanced()
    case.play(learner)
    before = content(learner)
    for bad in ("text", {}, object(), [], np.array([True]), [[1.0], [1.0, 2.0]], spoilt(case.feedback[0])):
        try:
            learner.observe(bad)
        except (TacitError, TypeError, ValueError):
            assert content(learner) == before, "bad feedback changes the state"
        else:  # a user's function may make sense of anything
            learner = case.advanced()
            case.play(learner)
    assert case.loop(learner, case.middle) == case.loop(twin, case.middle), "bad feedback changes later decisions"


def spoilt(row: Any) -> Any:
    """A row with a number that is not finite."""
    if isinstance(row, tuple):
        return (np.full_like(np.asarray(row[0], dtype=float), np.nan), *row[1:])
    return np.full(np.shape(row), np.nan) if not callable(row) else lambda points: np.full(len(points), np.nan)


def inputs_are_not_kept(case: Case) -> None:
    """Feedback that the caller writes over afterwards changes nothing."""
    learner, twin = case.start(), case.start()
    for row in case.feedback[: case.middle]:
        mine, context = copy.deepcopy((row, case.context(learner)))
        learner.play(*context), case.play(twin)
        for array in context:
            array[...] = 0
        learner.observe(mine)
        twin.observe(row)
        for array in mine if isinstance(mine, tuple) else (mine,):
            if isinstance(array, np.ndarray):
                array[...] = 0.0
    assert content(learner) == content(twin), "the caller's arrays are kept"


def changing_memory_changes_nothing(case: Case) -> None:
    """Arrays that are written to while a call reads them are used as they were checked, or refused."""
    learner = case.start()
    case.loop(learner, 0, 2)
    case.decide(learner)
    decided = learner.state_dict()
    _spoils_everywhere(case, decided, _arrays(case.feedback[2]), lambda case, one, row: one.settle(2, row))
    learner.settle(2, case.feedback[2])
    if case.contexts is not None:
        context = np.array(case.contexts[3])
        _spoils_everywhere(case, learner.state_dict(), context, lambda case, one, given: one.play(given))
    case.play(learner)
    played = learner.state_dict()
    _spoils_everywhere(case, played, _arrays(case.feedback[3]), lambda case, one, row: one.observe(row))
    _spoils_everywhere(case, played, case.rows(3, 7), _ran)
    if case.contexts is not None:
        _spoils_everywhere(case, played, np.array(case.contexts[3:7]), _ran_in)


def _spoils_everywhere(case: Case, state: dict[str, Any], given: Any, call: _Call) -> None:
    """Let a call read arrays that turn to infinity at its first, second, ... event, each time from the same state."""
    if not any(isinstance(part, np.ndarray) for part in (given if isinstance(given, tuple) else (given,))):
        return  # functions and single numbers are nobody's memory
    learner, events = case.plan.restore(state), 0

    def after(event: int) -> dict[str, Any]:
        nonlocal events
        learner.load_state_dict(state)
        with suppress(TacitError, ValueError, ArithmeticError):
            events = spoilt_at(event, given, partial(call, case, learner))
        return content(learner)

    if call is _ran and learner.shows_decisions:
        # Right: the user's function sees each decision before the next row is read, so the rows of such a run are
        # separate calls of `observe`, each of which is spoilt above. A row that turns bad in the middle is refused at
        # its turn, with the rounds before it made and shown: neither the honest run nor the refused one.
        return
    honest, spoilt = after(0), after(1)
    if call is _ran and spoilt != content(case.plan.restore(state)):
        return  # a function of the user's takes every row as it comes
    for event in np.unique(np.linspace(2, events, min(events, _MOMENTS)).astype(int)).tolist():
        assert after(event) in (honest, spoilt), f"what is used is not what was checked (event {event} of {events})"


def _ran(case: Case, learner: Learner, rows: Any) -> Any:
    return case.run(learner, rows)


def _ran_in(case: Case, learner: Learner, contexts: Any) -> Any:
    return learner.run(case.rows(3, 7), contexts=contexts)


_TACIT = str(Path(__file__).parents[1])
_MOMENTS = 50
"""At how many events of a call its arrays are written to: all of them, or so many of a longer one."""


def spoilt_at(event: int, given: Any, call: Callable[[Any], Any]) -> int:
    """Call with copies of these arrays, spoil the copies at one event, and count the events.

    Events are the calls and returns in tacit's files, of numpy's functions as well: another thread could write there.
    """
    mine, count = copy.deepcopy(given), 0

    def happened(frame: FrameType, *_: Any) -> None:
        nonlocal count
        count += frame.f_code.co_filename.startswith(_TACIT)
        if 0 < event == count:
            for part in mine if isinstance(mine, tuple) else (mine,):
                if isinstance(part, np.ndarray):
                    part[...] = np.inf if part.dtype.kind == "f" else np.iinfo(part.dtype).max

    before = sys.getprofile()
    sys.setprofile(happened)
    try:
        call(mine)
    finally:
        sys.setprofile(before)
    return count


def _arrays(row: Any) -> Any:
    """A row whose lists are arrays."""
    if isinstance(row, tuple):
        return tuple(map(_arrays, row))
    return np.array(row, dtype=np.float64) if isinstance(row, list) else row


def contract_is_stored(case: Case) -> None:
    """The contract goes through JSON, and its stamp says which randomness was used."""
    guarantee = case.plan.guarantee
    assert Guarantee.from_json(guarantee.to_json()) == guarantee, "the contract does not survive JSON"
    assert case.start(None).guarantee.private, "a secret learner is not stamped private"
    assert not case.start().guarantee.private, "a replayable learner is stamped private"
