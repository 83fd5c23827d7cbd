"""Late and missing feedback: slots, their windows, and what they refuse."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.algorithms.bandit.bandit_plan import BanditLearner
from tacit.errors import TacitError
from tacit.runtime.learner import Learner
from tacit.testing.playing import spoilt
from tacit.testing.rounds import Case, content, listed, refused


def deciding_is_playing(case: Case) -> None:
    """Settled at once, as late as the window allows or in another order: the decisions of play/observe."""
    wanted, delay = case.loop(case.start()), case.plan.problem.delay
    for lag in {0, delay}:
        assert late(case, case.start(), lag) == wanted, f"feedback that comes {lag} rounds later changes decisions"
    if delay:
        assert late(case, case.start(), delay, backwards=True) == wanted, "the order of arrival changes decisions"


def late(case: Case, learner: Learner, lag: int, *, backwards: bool = False) -> list[Any]:
    """The decisions when feedback comes `lag` rounds later; backwards: in blocks, the newest first."""
    actions, waiting = [], []
    for number, row in enumerate(case.feedback):
        decision = case.decide(learner)
        assert decision.round == number, "rounds are not numbered from 0"
        actions.append(np.array(decision.action).tolist())
        waiting.append((decision.round, row))
        if len(waiting) > lag:
            due = waiting[::-1] if backwards else waiting[:1]
            for settled, feedback in due:
                learner.settle(settled, feedback)
            waiting = [] if backwards else waiting[1:]
    return actions


def missing_rounds_are_rounds(case: Case) -> None:
    """Observe(None), settle(None), no report at all, None in a list and a mask are the same."""
    gone = set(range(1, len(case.feedback), 3)) | {4, 5}
    feedback = [None if number in gone else row for number, row in enumerate(case.feedback)]
    missing = replace(case, feedback=feedback)
    learner = case.start()
    wanted = missing.loop(learner)
    assert late(missing, case.start(), case.plan.problem.delay) == wanted, "settle(None) is not observe(None)"
    silent, actions = case.start(), []
    for number, row in enumerate(case.feedback):
        actions.append(np.array(case.decide(silent).action).tolist())
        if number not in gone:
            silent.settle(number, row)
    assert actions == wanted, "a round that is never reported is not a missing one"
    if isinstance(learner, BanditLearner) or not (case.as_run is None or isinstance(case.rows(), np.ndarray)):
        return  # its rounds are answered by a function
    mask = np.array([number not in gone for number in range(len(feedback))])
    masked = case.start()
    assert listed(case.run(masked, case.rows(), mask)) == wanted, "run with a mask is not the loop"
    assert content(masked) == content(learner), "run with a mask leaves another state"
    if not isinstance(case.feedback[0], tuple) and case.as_run is None:
        listing = case.start()
        assert listed(case.run(listing, feedback)) == wanted, "None in the list of run is not a missing round"
    blank, empty = case.start(), case.start()
    wanted = replace(case, feedback=[None] * len(feedback)).loop(blank)
    assert listed(case.run(empty, case.rows(), ~mask & False)) == wanted, "run without any feedback is not the loop"
    assert content(empty) == content(blank), "run without any feedback leaves another state"


def slots_refuse(case: Case) -> None:
    """Unknown and closed rounds, and another feedback for a settled one; the same again is accepted."""
    learner, delay = case.start(), case.plan.problem.delay
    with refused("feedback of a round that was not decided", "not decided"):
        learner.settle(0, case.feedback[0])
    case.decide(learner)
    _refuses_nonsense(case, learner)
    learner.settle(0, case.feedback[0])
    learner.settle(0, copy.deepcopy(case.feedback[0]))
    before = content(learner)
    with refused("another feedback", "already"):
        learner.settle(0, None)
    for _ in range(delay + 1):
        case.decide(learner)
    for again in (case.feedback[0], None):
        with refused("feedback of a closed round", "closed"):
            learner.settle(0, again)
    assert learner.rounds == 1, "a slot did not close when its window was over"
    assert learner.decided == delay + 2, "open rounds are not counted"
    fresh = _opened(case)
    fresh.settle(0, case.feedback[0])
    assert content(fresh) == before, "what is refused leaves something behind"
    learner.load_state_dict(json.loads(json.dumps(fresh.state_dict())))
    case.play(learner)
    with refused("feedback of a round that play() opened", "observe"):
        learner.settle(learner.decided - 1, case.feedback[1])


def _refuses_nonsense(case: Case, learner: Learner) -> None:
    before = content(learner)
    for bad in ("text", {}, object(), spoilt(case.feedback[0])):
        try:
            learner.settle(0, bad)
        except (TacitError, TypeError, ValueError):
            assert content(learner) == before, "bad feedback changes a slot"
        else:  # a user's function may make sense of anything
            learner.load_state_dict(_opened(case).state_dict())


def _opened(case: Case) -> Learner:
    """A learner in its first round."""
    fresh = case.start()
    case.decide(fresh)
    return fresh


def open_rounds_are_saved(case: Case) -> None:
    """A state holds the open rounds with and without feedback, and goes on with them."""
    delay = case.plan.problem.delay
    learner, twin = case.start(), case.start()
    for one in (learner, twin):
        late(replace(case, feedback=case.feedback[:4]), one, min(delay, 2))
        case.decide(one)
    again = case.plan.restore(json.loads(json.dumps(learner.state_dict(), allow_nan=False)))
    assert content(again) == content(twin), "open rounds are not saved"
    assert _rest(case, again) == _rest(case, twin), "a restored learner with open rounds decides otherwise"


def _rest(case: Case, learner: Learner) -> list[Any]:
    actions = []
    for row in case.feedback[5:]:
        learner.settle(learner.decided - 1, row)
        actions.append(np.array(case.decide(learner).action).tolist())
    return actions
