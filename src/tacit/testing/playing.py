"""Playing: loops, arrays, counting, and feedback that is none."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from tacit.errors import TacitError
from tacit.privacy.guarantee import Guarantee
from tacit.testing.rounds import Case, content, listed, refused


def play_is_idempotent(case: Case) -> None:
    """The same decision until the round ends, each time as a value of its own."""
    learner = case.start()
    for row in case.feedback[:8]:
        first = learner.play()
        kept = np.array(first).tolist()
        if isinstance(first, np.ndarray) and first.flags.writeable:
            first[...] = 1e9
        assert np.array(learner.play()).tolist() == kept, "play gives another decision in the same round"
        learner.observe(row)


def run_is_the_loop(case: Case) -> None:
    """Arrays make the decisions, counts and states of single rounds."""
    one, other = case.start(), case.start()
    wanted, got = case.loop(one), listed(other.run(case.rows()))
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
                got = [case.loop(one), listed(other.run(case.rows()))]
            except (ArithmeticError, Warning) as error:
                raise AssertionError(f"under np.errstate(all={setting!r}) a round ends in {error!r}") from None
        assert got == [wanted, wanted], "numpy's settings change decisions"


def parts_and_loops_mix(case: Case) -> None:
    """A run in parts, also one that begins with a played round, is the whole run."""
    wanted = listed(case.start().run(case.rows()))
    learner, cut = case.start(), case.middle
    got = listed(learner.run(case.rows(0, 1)))
    learner.play()
    got += listed(learner.run(case.rows(1, cut)))
    got += case.loop(learner, cut, cut + 2)
    got += listed(learner.run(case.rows(cut + 2)))
    assert got == wanted, "parts and loops do not mix"
    before = content(learner)
    learner.run(case.rows(0, 0))
    assert content(learner) == before, "an empty run changes something"


def rounds_are_counted(case: Case) -> None:
    """Observe needs play, and nothing is played after the horizon."""
    learner = case.start()
    with refused("observe before play", "before play"):
        learner.observe(case.feedback[0])
    case.loop(learner)
    assert learner.decided == len(case.feedback), "rounds are not counted"
    assert learner.decided - learner.rounds == case.kept_open, "rounds do not close when their window is over"
    with refused("observe before play", "before play"):
        learner.observe(case.feedback[0])
    if case.plan.horizon == len(case.feedback):
        with refused("a round after the horizon", "planned for"):
            learner.play()
        with refused("a run after the horizon", "are left"):
            learner.run(case.rows(0, 1))


def bad_feedback_changes_nothing(case: Case) -> None:
    """Nonsense raises an error of tacit's (or the user's function's own), and the round is still in hand."""
    learner, twin = case.advanced(), case.advanced()
    learner.play()
    before = content(learner)
    for bad in ("text", {}, object(), [], np.array([True]), [[1.0], [1.0, 2.0]], spoilt(case.feedback[0])):
        try:
            learner.observe(bad)
        except (TacitError, TypeError, ValueError):
            assert content(learner) == before, "bad feedback changes the state"
        else:  # a user's function may make sense of anything
            learner = case.advanced()
            learner.play()
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
        mine = copy.deepcopy(row)
        learner.play(), twin.play()
        learner.observe(mine)
        twin.observe(row)
        for array in mine if isinstance(mine, tuple) else (mine,):
            if isinstance(array, np.ndarray):
                array[...] = 0.0
    assert content(learner) == content(twin), "the caller's arrays are kept"


def contract_is_stored(case: Case) -> None:
    """The contract goes through JSON, and its stamp says which randomness was used."""
    guarantee = case.plan.guarantee
    assert Guarantee.from_json(guarantee.to_json()) == guarantee, "the contract does not survive JSON"
    assert case.start(None).guarantee.private, "a secret learner is not stamped private"
    assert not case.start().guarantee.private, "a replayable learner is stamped private"
