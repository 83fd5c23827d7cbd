"""Learners: play, observe, run, states, in any order and with any feedback."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt, same_as_twin, snapshot
from fuzz.plans import (
    ARMS,
    EXPERT_PLANS,
    EXPERTS,
    LINEAR,
    OTHER_PLANS,
    PLANS,
    PRIVACY,
    TRACKING,
    good_rows,
    made,
    start,
)
from fuzz.strategies import N, examples, nearly, odd_arrays, one_of, values
from tacit.algorithms.bandit import NoisyOCO
from tacit.noise.running_sums import Tree
from tacit.testing.rounds import resealed

# A function of the user's may raise what it likes: it is let through, and the learner must be where it was.
THEIRS = {
    "PrivateFTRL, custom": (TypeError, ValueError, UserWarning),
    "LipschitzGrid": (TypeError, ValueError),
    "LipschitzNet": (TypeError, ValueError),
    "BanditFW": (TypeError, ValueError),
}
every = pytest.mark.parametrize("name", PLANS)


@st.composite
def feedback(draw, name):
    """Nonsense of the shapes that this learner takes."""
    if name in EXPERT_PLANS:
        return draw(odd_arrays(dimensions=(1, 1, 1, 2)))
    row = draw(odd_arrays(columns=1 if name == "L2PConvex" else N, dimensions=(1, 1, 2)))
    shape = draw(st.integers(0, 3))
    if shape == 0:
        return row, draw(values | odd_arrays(columns=1))
    if shape == 1 and name.startswith(("Lipschitz", "Bandit")):
        return lambda *_: row
    return draw(values) if shape == 2 else row


@every
@examples(6)
@given(data=st.data())
def test_nonsense_changes_nothing(name, data):
    """The spoiled learner plays like its twin, which never saw nonsense."""

    def spoil(learner):
        bad = data.draw(feedback(name))
        inputs = [bad] if isinstance(bad, np.ndarray) else []
        before = learner.state_dict()
        if attempt(lambda: learner.observe(bad), learner, *inputs, also=THEIRS.get(name, ())) is not REFUSED:
            after = attempt(learner.play)
            assert np.all(np.isfinite(after))
            learner.load_state_dict(before)  # it was not nonsense after all

    same_as_twin(lambda: start(name), spoil, good_rows(name))


@every
@examples(6)
@given(data=st.data())
def test_runs(name, data):
    width = 1 if name == "L2PConvex" else N
    rows = data.draw(odd_arrays(columns=width, dimensions=(2, 2, 2, 1)))
    if name in OTHER_PLANS:
        labels = data.draw(odd_arrays(columns=4, dimensions=(1,)))
        rows = data.draw(one_of(rows, (rows, labels), lambda points, _=0: rows, [lambda points: rows] * 2))
    learner = start(name)
    inputs = [rows] if isinstance(rows, np.ndarray) else []
    # Where a function of the user's was shown decisions, they are not taken back.
    owners = [] if learner.shows_decisions else [learner]
    actions = attempt(lambda: learner.run(rows), *owners, *inputs, also=THEIRS.get(name, ()))
    if actions is REFUSED:
        same_as_twin(lambda: start(name), lambda _: None, good_rows(name)[:1])
    elif name in EXPERT_PLANS:
        twin = start(name)
        for action, row in zip(actions, np.asarray(rows), strict=True):
            assert twin.play() == action
            twin.observe(row)
        assert twin.play() == learner.play()
    again = attempt(lambda: made(name).run(rows, tacit.Randomness.replayable(3)), also=THEIRS.get(name, ()))
    assert (again is REFUSED) == (actions is REFUSED)


@every
@examples(6)
@given(data=st.data(), value=values | odd_arrays())
def test_states(name, data, value):
    learner = start(name)
    for row in good_rows(name):
        learner.play()
        learner.observe(row)
    state = learner.state_dict()
    part = data.draw(st.sampled_from(sorted(state)))
    how = data.draw(one_of("replaced", "missing", "whole", "empty streams"))
    spoiled = {**state, part: value}
    if how == "missing":
        del spoiled[part]
    if how == "whole":
        spoiled = value
    if how == "empty streams":
        spoiled = {**state, "streams": {}}
    for target in (learner, start(name)):
        if attempt(lambda target=target: target.load_state_dict(spoiled), target) is not REFUSED:
            target.load_state_dict(state)
    attempt(lambda: made(name).restore(spoiled))
    attempt(lambda: made(name).restore(resealed(state, **{part: value})))
    assert snapshot(learner.state_dict()) == snapshot(state)
    assert snapshot(attempt(lambda: made(name).restore(state)).play()) == snapshot(learner.play())


LATE = {
    "LazyExperts": lambda: tacit.algorithms.LazyExperts(replace(EXPERTS, delay=2), eta=0.3, force=0.2, batch=2),
    "LazyFixedShare": lambda: tacit.algorithms.LazyFixedShare(replace(TRACKING, delay=2), eta=0.3, force=0.2),
    "PrivateFTRL": lambda: tacit.algorithms.PrivateFTRL.calibrate(replace(LINEAR, delay=2), **PRIVACY),
    "BatchedTsallis": lambda: tacit.algorithms.BatchedTsallis(replace(ARMS, delay=2), 1.0, 2, 0.5, 0.1, 0.1),
}


late = cache(lambda name: LATE[name]())


@pytest.mark.parametrize("name", LATE)
@examples(15)
@given(data=st.data())
def test_slots(name, data):
    """Rounds are decided and settled, or not, in any order, with any feedback; what is refused changes nothing."""
    learner, good = late(name).start(tacit.Randomness.replayable(3)), good_rows(name)
    for number in range(10):
        decision = attempt(learner.decide)
        assert isinstance(decision, tacit.Decision)
        assert decision.round == number
        for _ in range(data.draw(st.integers(0, 3))):
            told = data.draw(one_of(good[0], good[1], None) | feedback(name))
            settled = data.draw(st.integers(number - 4, number + 1) | values)
            attempt(lambda settled=settled, told=told: learner.settle(settled, told), learner)
        assert learner.decided == number + 1
        assert learner.rounds == max(0, number - 2)


@every
@examples(6)
@given(mask=odd_arrays(columns=4, dimensions=(1, 2)) | st.lists(st.booleans(), min_size=4, max_size=4) | values)
def test_masks(name, mask):
    learner = start(name)
    rows = np.zeros((4, 1 if name == "L2PConvex" else N))
    if attempt(lambda: learner.run(rows, mask), learner) is not REFUSED:
        assert learner.rounds == 4


@examples(30)
@given(arguments=nearly(values=lambda points, _: np.zeros(len(points)), count=one_of(3, 10**12), first=0, keep=True))
def test_rounds(arguments):
    rounds = attempt(lambda: tacit.algorithms.Rounds(**arguments))
    if rounds is not REFUSED:
        assert len(rounds) == rounds.count
        assert len(rounds[1:2]) <= 1
        learner = start("BanditFW")
        attempt(lambda: learner.run(rounds), also=(TypeError,))
        assert learner.rounds in (0, rounds.count)


@examples(40)
@given(
    arguments=nearly(steps=one_of(3, 10**12), dimension=N, eta=0.5, leader=lambda v: -v, delay=one_of(0, 1)),
    gradients=st.lists(odd_arrays(dimensions=(1, 1, 2)), max_size=4),
    state=values | st.fixed_dictionaries({"step": values, "next": values, "sums": values}),
)
def test_noisy_oco(arguments, gradients, state):
    sums = Tree(5).start(N, 1.0, np.zeros)
    oracle = attempt(lambda: NoisyOCO(sums=sums, **arguments))
    if oracle is REFUSED or arguments["dimension"] != N:
        return
    for gradient in gradients:
        attempt(lambda gradient=gradient: oracle.observe(gradient), oracle, sums, also=(TypeError, AttributeError))
        assert oracle.point.shape == (N,)
    attempt(lambda: oracle.load_state_dict(state), oracle, sums)
    attempt(lambda: oracle.load_state_dict({**oracle.state_dict(), "next": state}), oracle, sums)
    assert oracle.step >= 0
