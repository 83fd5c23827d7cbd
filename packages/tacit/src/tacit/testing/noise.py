"""The life of noise: shared sources, copies, second processes, interrupts."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from tacit.algorithms.bandit.bandit_plan import BanditLearner, Rounds
from tacit.errors import TacitError
from tacit.noise.randomness import SEALED, Randomness
from tacit.runtime.learner import Learner
from tacit.runtime.state import State
from tacit.testing.rounds import Case, content, listed, parts, refused, streams

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


def shared_secrets_share_no_noise(case: Case) -> None:
    """One secret source given to two learners gives each its own noise."""
    secret = Randomness.secret()
    learners = [case.plan.start(secret), case.plan.start(secret), case.plan.start(secret.child(0))]
    draws = [tuple(stream.random(4)) for learner in learners for stream in streams(learner)]
    assert len(set(draws)) == len(draws), "two learners of one secret source draw the same noise"


def secrets_are_not_copied(case: Case) -> None:
    """No copy, no pickle: the sentence names the way that is open."""
    learner = case.advanced(None)
    for how, make in COPIES.items():
        with refused(f"{how} of a secret learner", "state_dict", "restore"):
            make(learner)


def replayables_copy_faithfully(case: Case) -> None:
    """A copy in mid-stream goes on as the learner does, and neither moves the other."""
    for how, make in COPIES.items():
        learner = case.advanced()
        try:
            twin = make(learner)
        except (pickle.PicklingError, AttributeError, TypeError):
            assert how == "pickle", f"{how} of a replayable learner fails"
            continue  # functions of the user's are not pickled
        wanted = case.loop(learner, case.middle)
        assert case.loop(twin, case.middle) == wanted, f"a {how} plays otherwise"
        assert content(twin) == content(learner), f"a {how} ends in another state"


def sealed_batches_repeat(case: Case) -> None:
    """A batch that is run again gives the same bytes; another one shares no noise with it."""
    source = Randomness.sealed(bytes(range(32)))
    name = b"learner"

    def batch(before: bytes, part: slice, **changes: Any) -> tuple[list[Any], bytes, set[bytes]]:
        what = {"plan": "", "learner": name, "first": part.start, "rows": b"rows", "state": before} | changes
        learner = case.plan._learner(source.batch(**what))
        assert learner.guarantee.randomness == SEALED, "a sealed learner is not stamped as sealed"
        if before:
            learner.load(State.unpacked(before, case.plan.signature, source, name))
        keys = _keys(learner)
        actions = case.loop(learner, part.start, part.stop)
        return actions, learner.state().packed(source, name), keys

    first = batch(b"", slice(0, case.middle))
    assert batch(b"", slice(0, case.middle)) == first, "a first batch that is run again gives other bytes"
    rest = slice(case.middle, None)
    second = batch(first[1], rest)
    assert batch(first[1], rest) == second, "a batch that is run again gives other bytes"
    for change in ({"learner": b"other"}, {"first": case.middle + 1}, {"rows": b"other"}, {"plan": "other"}):
        assert not batch(first[1], rest, **change)[2] & second[2], f"another batch shares noise: {[*change]}"
    assert not batch(b"", slice(0, case.middle), state=b"other")[2] & first[2], "another state shares noise"


def another_process_is_refused(case: Case) -> None:
    """A forked process may not go on with secret noise; replayable noise may be used anywhere."""
    if not hasattr(os, "fork"):
        return
    secret, replayable = case.advanced(None), case.advanced()

    def tried() -> str:
        played = (lambda: case.loop(secret, case.middle), lambda: case.run(secret, case.rows(0, 1)))
        for call in (secret.state_dict, *played):
            with refused("secret noise in a second process", "state_dict", "restore"):
                call()
        case.loop(replayable, case.middle)
        return ""

    failure = forked(tried)
    assert not failure, failure
    case.loop(secret, case.middle)


def forked(call: Callable[[], str]) -> str:
    """What `call` returns, or fails with, in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = call()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(write, answer.encode()[:4000])
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as file:
        return file.read()


def half_rounds_are_not_continued(case: Case) -> None:
    """An interrupt while feedback is absorbed, before or after the work, ends the learner; a saved state goes on."""
    for worked in (False, True):
        learner = case.start()
        case.loop(learner, 0, 3)
        state = learner.state_dict()
        case.loop(learner, 3, case.middle)
        row = case.feedback[case.middle]
        if not case.plan.problem.delay:
            case.play(learner)
        with interrupted(learner, "_absorb", worked):
            case.play(learner)
            learner.observe(row)
        for call in (
            learner.play,
            learner.state_dict,
            partial(learner.observe, row),
            partial(case.run, learner, case.rows(0, 1)),
        ):
            with refused("a half round", "interrupted", "round 3", "state_dict"):
                call()
        again = case.plan.restore(state)
        assert case.loop(again, 3) == case.loop(case.start())[3:], "the last saved state does not go on"
        learner.load_state_dict(state)
        case.loop(learner, 3)


def interrupted_runs_are_undone(case: Case) -> None:
    """An interrupt inside `run`: all rounds are undone and other noise is drawn, unless decisions were shown."""
    for seed in (5, None):
        learner = case.advanced(seed)
        before, keys = content(learner), _keys(learner)
        if learner.shows_decisions:
            inside = parts(learner)[-1]
            with interrupted(inside, "_fill" if isinstance(inside, BanditLearner) else "_absorb", True):
                case.run(learner, case.rows(case.middle))
            with refused("a half round", "interrupted"):
                case.play(learner)
            continue
        with interrupted(learner, "_run_rows", True):
            case.run(learner, case.rows(case.middle))
        assert content(learner) == before, "an interrupted run leaves something behind"
        assert seed is not None or not keys & _keys(learner), "an interrupted run of a secret learner keeps its keys"
        case.run(learner, case.rows(case.middle))


def shown_decisions_are_not_taken_back(case: Case) -> None:
    """A function of the user's that has seen decisions and then raises leaves the learner at a complete round."""
    learner, twin = case.start(), case.start()
    if not learner.shows_decisions:
        return
    wanted, stop = listed(case.run(twin, case.rows())), case.middle
    rows = case.rows()
    if isinstance(rows, Rounds):
        rows = replace(rows, values=partial(_values_until, rows.values, stop))
    else:
        rows = [*rows[:stop], object(), *rows[stop + 1 :]]
    try:
        case.run(learner, rows)
    except (ArithmeticError, TacitError, TypeError, ValueError):
        complete = learner.decided - 1
    else:
        raise AssertionError("the error of a function of the user's is swallowed")
    assert 0 < complete <= stop, "rounds that a function of the user's saw are taken back"
    case.play(learner)
    assert learner.decided == complete + 1, "the round that a function of the user's saw is not in hand"
    assert case.loop(learner, complete) == wanted[complete:], "the learner does not go on where it was"


def _values_until(values: Any, stop: int, points: Any, first: int) -> Any:
    if first + len(points) > stop:
        raise ArithmeticError
    return values(points, first)


@contextmanager
def interrupted(learner: Learner, method: str, worked: bool) -> Iterator[None]:
    """KeyboardInterrupt inside a method, before or after its work; it must come through."""
    honest = getattr(learner, method)

    def stopped(*arguments: Any) -> None:
        if worked:
            honest(*arguments)
        raise KeyboardInterrupt

    vars(learner)[method] = stopped
    try:
        yield
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError(f"an interrupt inside {method} is swallowed")
    finally:
        del vars(learner)[method]


def _keys(learner: Learner) -> set[bytes]:
    return {bytes(stream.bit_generator.state["s"]["seed"]) for stream in streams(learner)}
