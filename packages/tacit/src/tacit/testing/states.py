"""States: JSON, continuing bit for bit or with fresh noise, and states that must not be continued."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import numpy as np

from tacit.errors import TacitError
from tacit.testing.rounds import Case, content, listed, refused, resealed, streams


def replayable_states_continue(case: Case) -> None:
    """A state goes through JSON and continues bit for bit, as often as wanted, with the round in hand."""
    for played in (False, True):
        learner = case.advanced()
        action = np.array(case.play(learner)).tolist() if played else None
        text = json.dumps(learner.state_dict(), allow_nan=False)
        wanted = listed(case.run(learner, case.rows(case.middle)))
        again = case.plan.restore(json.loads(text))
        assert again.decided == case.middle + played, "a restored learner stands in another round"
        assert not again.guarantee.private, "a replayable state restores as private"
        if played:
            again.observe(case.feedback[case.middle])
            assert action == wanted[0], "a restored learner plays another decision in the round in hand"
            assert case.loop(again, case.middle + 1) == wanted[1:], "a restored learner plays otherwise"
        else:
            assert listed(case.run(again, case.rows(case.middle))) == wanted, "a restored learner plays otherwise"
        assert content(again) == content(learner), "a restored learner ends in another state"
        elsewhere = case.start(77)
        case.loop(elsewhere, 0, 3)
        elsewhere.load_state_dict(json.loads(text))
        assert case.loop(elsewhere, case.middle) == wanted, "a state loaded into a running learner plays otherwise"


def secret_states_hold_no_keys(case: Case) -> None:
    """Nothing of a secret stream is in the state: whoever steals it cannot make the noise of the past again."""
    learner = case.advanced(None)
    state = learner.state_dict()
    text = json.dumps(state, allow_nan=False)
    assert "streams" not in state, "the state of a secret learner holds positions of streams"
    for stream in streams(learner):
        inside = stream.bit_generator.state["s"].values()
        for secret in (value for value in inside if isinstance(value, np.ndarray) and value.any()):
            assert b64encode(secret.tobytes()).decode() not in text, "the state of a secret learner holds a key"


def secret_states_continue_with_fresh_noise(case: Case) -> None:
    """Restored twice, a state gives two learners that share no noise to come, and the decision that was shown."""
    learner = case.advanced(None)
    action = np.array(case.play(learner)).tolist()
    state = json.loads(json.dumps(learner.state_dict()))
    one, other = case.plan.restore(state), case.plan.restore(state)
    for again in (one, other):
        assert again.guarantee.private, "a secret state restores as replayable"
        assert np.array(case.play(again)).tolist() == action, (
            "a restored learner plays another decision in the round in hand"
        )
    draws = [tuple(stream.random(4)) for each in (learner, one, other) for stream in streams(each)]
    assert len(set(draws)) == len(draws), "two continuations of one state draw the same noise"
    for again in (case.plan.restore(state), case.plan.restore(state)):
        again.observe(case.feedback[case.middle])
        case.loop(again, case.middle + 1)
        assert again.decided == len(case.feedback), "a restored learner does not reach the end"


def foreign_states_are_refused(case: Case) -> None:
    """States of other plans and versions, and what is no state, change nothing."""
    learner = case.advanced()
    before, state = content(learner), learner.state_dict()
    for key in sorted(set(state) - {"warning"}):
        with refused(f"a state without {key!r}"):
            learner.load_state_dict({name: value for name, value in state.items() if name != key})
    for change in (
        {"plan": "another"},
        {"version": 1},
        {"round": None},
        {"action": object()},
        {"played": float("nan")},
    ):
        with refused(f"a state with {change}"):
            learner.load_state_dict({**state, **change})
    foreign: tuple[Any, ...] = (None, {}, 5, [state])
    for each in foreign:
        with refused("what is no state"):
            learner.load_state_dict(each)
    assert content(learner) == before, "a state that is refused changes the learner"


def edited_states_are_refused(case: Case) -> None:
    """Whatever entry is edited, the digest tells; so a replayable state is not made secret by hand."""
    learner = case.advanced()
    state = learner.state_dict()
    edited: list[dict[str, Any]] = [{**state, "round": 0}, {**state, "switches": state["switches"] + 1}]
    edited += [{name: value for name, value in state.items() if name != "streams"}]
    for each in edited:
        with refused("an edited state", "changed after it was saved"):
            case.plan.restore(each)


def forged_states_are_refused(case: Case) -> None:
    """Also with a digest computed anew, a state that contradicts itself is not continued."""
    learner = case.advanced()
    before, state = content(learner), learner.state_dict()
    rounds = case.plan.horizon
    forged: dict[str, dict[str, Any]] = {
        "a round counter that was set back": {"round": 0},
        "a negative round counter": {"round": -1},
        "a round counter that is no number": {"round": True},
        "a negative number of switches": {"switches": -1},
        **({} if rounds is None else {"a round after the horizon": {"round": rounds + 1}}),
        **{
            f"{name} of not finite numbers": {name: _poisoned(value)} for name, value in state.items() if _arrays(value)
        },
    }
    for what, changes in forged.items():
        with refused(what):
            learner.load_state_dict(resealed(state, **changes))
        assert content(learner) == before, f"{what} changes the learner"
    _told_streams_are_replayable(case, {name: value for name, value in state.items() if name != "streams"})


def _told_streams_are_replayable(case: Case, stripped: dict[str, Any]) -> None:
    """Without its positions a state is refused, or continues under keys that it does not tell."""
    try:
        learner = case.plan.restore(resealed(stripped))
    except TacitError:
        return
    told = not all(stream.private for stream in streams(learner))
    assert not (told and learner.guarantee.private), "a state that tells its streams restores as private"


def _arrays(value: Any) -> bool:
    if isinstance(value, dict) and "array" in value:
        return bool(value["dtype"] == "<f8" and value["array"])
    return isinstance(value, dict) and any(_arrays(entry) for name, entry in value.items() if name != "streams")


def _poisoned(value: Any) -> Any:
    """The first array of floats, filled with NaN."""
    if "array" in value:
        size = int(np.prod(value["shape"]))
        return {**value, "array": b64encode(np.full(size, np.nan).tobytes()).decode()}
    name = next(name for name, entry in value.items() if name != "streams" and _arrays(entry))
    return {**value, name: _poisoned(value[name])}
