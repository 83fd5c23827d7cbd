"""States as bytes: small, without keys, and refused unless they are what was packed here for this learner."""

import json
from pathlib import Path

import numpy as np
import pytest

from attacks import rows
from tacit import Arms, Experts, InvalidInput, Randomness, algorithms
from tacit.errors import ProtocolError
from tacit.noise.running_sums import best_gaussian
from tacit.runtime.state import State, decode, encode, same_plan
from tacit.testing.rounds import content, streams

SOURCE = Randomness.sealed(bytes(range(50, 82)))
PLANS = {
    "lazy": lambda: algorithms.LazyExperts(Experts(n=10, horizon=1000), eta=0.1, force=0.1),
    "sums": lambda: algorithms.HedgeOnSums.calibrate(Experts(n=10, horizon=1000), epsilon=1.0, delta=1e-6),
    "late": lambda: algorithms.LazyExperts(Experts(n=10, horizon=1000, delay=4), eta=0.1, force=0.1),
    "doubling": lambda: algorithms.HedgeOnSums.calibrate(Experts(n=10, horizon=None), epsilon=1.0, delta=1e-6),
}


def source_of(rows=b"rows", state=b""):
    return SOURCE.batch(plan="", learner=b"shop", first=0, rows=rows, state=state)


def unpack(state, signature, source=SOURCE, name=b"shop"):
    return State.unpacked(state, signature, source, name)


@pytest.fixture(scope="module", params=PLANS)
def made(request):
    """A learner after 100 rounds, its plan's digest and its packed state."""
    plan = PLANS[request.param]()
    learner = plan.start(source_of())
    for row in Randomness.replayable(3).stream("rows").random((100, 10)):
        number = learner.decide().round
        learner.settle(number, row)
    return learner, plan.signature, learner.state().packed(SOURCE, b"shop")


def test_a_state_comes_back_to_the_last_bit(made):
    learner, signature, state = made
    again = learner.plan.start(source_of(state=state))
    again.load(unpack(state, signature))
    assert content(again) == content(learner)
    assert again.state().packed(SOURCE, b"shop") == state
    row = np.linspace(0, 1, 10)
    twin = learner.plan.start(source_of(state=state))
    twin.load(unpack(state, signature))
    for one in (again, twin):
        one.settle(one.decide().round, row)
    assert content(again) == content(twin), "the same seal does not continue alike"


def test_a_state_is_small_and_holds_no_keys(made):
    learner, _, state = made
    assert len(state) < 4000
    for stream in streams(learner):
        seed = bytes(stream.bit_generator.state["s"]["seed"])
        assert seed[:16] not in state


@pytest.mark.attack(rows.COPIED_STATE)
def test_foreign_and_changed_states_are_refused(made):
    _, signature, state = made
    for bad, message in (
        (b"", "not the packed state"),
        (b"pickle" * 20, "not the packed state"),
        (state[:-1], "was changed"),
        (state[:100] + b"\0" + state[101:], "was changed"),
        (state + b"\0", "was changed"),
        (state[:5] + b"\x63" + state[6:], "version 99"),
        (None, "not the packed state"),
    ):
        with pytest.raises(InvalidInput, match=message):
            unpack(bad, signature)
    with pytest.raises(InvalidInput, match="another learner"):
        unpack(state, signature, name=b"other")
    with pytest.raises(InvalidInput, match="another key"):
        unpack(state, signature, Randomness.sealed(bytes(range(32))))
    with pytest.raises(InvalidInput, match="another plan"):
        unpack(state, "another")


def sealed_anew(body):
    return body + SOURCE.tag(b"shop", body)


def test_even_with_the_key_nonsense_is_refused(made):
    """A tag says who wrote a state, not that it makes sense."""
    learner, signature, state = made
    head = state[:39]  # name, versions, digest of the plan, past
    old = head[:5] + b"\2" + head[6:]
    for body in (
        *(head + body for body in (b"", b"{", b"[1]", b"null", b'{"float":"one"}', b'{"a":{"array":1}}', b"[" * 10**5)),
        *(
            old + body
            for body in (
                b"", b"M", b"M\xff\xff\xff\x7f", b"L\1\0\0\0" * 50, b"A\4\0\1|O8\0", b"Q\0\0\0\0", b"N", b"NN",
                b"S\1\0\0\0\xff",
            )
        ),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match="not the packed state"):
            unpack(sealed_anew(body), signature)
    inside = unpack(state, signature).content
    for changes in ({"round": -1}, {"round": 10**6}, {"action": "first"}, {"switches": 0.5}, {"played": 7}):
        with pytest.raises(InvalidInput):
            learner.plan.start(source_of()).load(State(signature, {**inside, **changes}))
    less = {name: value for name, value in inside.items() if name != "round"}
    for bad in (State(signature, less), State("another", inside)):
        with pytest.raises(InvalidInput):
            learner.plan.start(source_of()).load(bad)


def test_replayable_learners_are_not_packed():
    plan = PLANS["lazy"]()
    with pytest.raises(ProtocolError, match="keys of its streams"):
        plan.start(Randomness.replayable(1)).state().packed(SOURCE, b"shop")


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**200, -(2**63), 0.0, -0.0, float("inf"), "text", "", [], (), {}, [1, (2.5, None)],
        {"a": {"b": [True]}},
    ],
    ids=repr,
)  # fmt: skip
def test_values_come_back_with_their_types(value):
    back = decode(json.loads(json.dumps(encode(value))))
    assert repr(back) == repr(value)
    assert type(back) is type(value)


def test_arrays_come_back_with_type_shape_and_order():
    for array in (np.arange(6.0).reshape(2, 3).T, np.zeros((0, 3), np.int64), np.array([True]), np.array(2.5)):
        back = decode(json.loads(json.dumps(encode(array))))
        np.testing.assert_array_equal(back, array)
        assert (back.dtype, back.shape, back.flags.f_contiguous) == (array.dtype, array.shape, array.flags.f_contiguous)
        assert back.flags.writeable
    assert decode(encode(np.float64(2.5))) == 2.5
    with pytest.raises(InvalidInput, match="Got a object"):
        encode(object())


OLD = Path(__file__).parent / "states_of_0_2"
OLD_PLANS = {
    "lazy": lambda: algorithms.LazyExperts(Experts(n=3, horizon=20, delay=2), eta=0.5, force=0.2),
    "hedge": lambda: algorithms.HedgeOnSums(
        Experts(n=3, horizon=20), eta=0.10013025407648511, mechanism=best_gaussian(19), privacy=0.23670438066276
    ),
    "tsallis": lambda: algorithms.BatchedTsallis(
        Arms(n=3, horizon=20, adversary="oblivious"),
        **{
            "epsilon": 1.0,
            "batch": 2,
            "power": 0.9,
            "eta": 0.40585611836402824,
            "kappa": 0.06999999999999998,
            "missing": 0.5,
        },
    ),
    "doubling": lambda: algorithms.LazyExperts.calibrate(Experts(n=3, horizon=None), epsilon=1.0, delta=1e-6),
}


def test_epochs_may_have_been_planned_on_another_processor():
    """The last digits of a rate may differ, those of what shapes noise may not."""
    plan = algorithms.HedgeOnSums.calibrate(Experts(n=3, horizon=None), epsilon=1.0, delta=1e-6)
    rate, noise = (plan.epoch(0).parameters[name] for name in ("eta", "privacy"))
    for value, factor, known in [(rate, 1 + 1e-15, True), (rate, 1 + 1e-9, False), (noise, 1 + 1e-15, False)]:
        assert repr(value * factor) != repr(value)
        saved = plan.signature.replace(repr(value), repr(value * factor))
        assert same_plan(saved, plan.signature) == known
    for damaged in ("1.2.3", "", "1" * 5_000, "-0.1"):
        assert not same_plan(plan.signature.replace(repr(rate), damaged), plan.signature)
    assert not same_plan(f"{plan.signature}, 'eta': 1}}", plan.signature)


@pytest.mark.parametrize("name", OLD_PLANS)
def test_states_of_version_0_2_are_read(name):
    """Written by 0.2 after nine rounds and a decision, with what followed; the packed one by a sealed learner.

    The digests of "lazy" and "doubling" are of 0.3: there the rounds that waited in 0.2 are added up.
    """
    saved, plan, losses = json.loads((OLD / f"{name}.json").read_text()), OLD_PLANS[name](), np.linspace(0, 1, 60)
    learner = plan.restore(json.loads(saved["state"]))
    if name in ("lazy", "doubling"):
        inner = learner if name == "lazy" else learner._inner
        rows = losses.reshape(20, 3)[learner._round - inner._round : learner._round]
        assert inner._total.tolist() == (rows * 2**24).astype(np.int64).sum(axis=0).tolist()
    assert np.asarray(learner.run(losses.reshape(20, 3)[9:18])).tolist() == saved["decisions"]
    then = json.loads(saved["state"])

    def digest(of):
        inner = {"inner_plan": then["inner_plan"]} if "inner_plan" in then else {}
        return State(then["plan"], {**of.state().content, **inner}).entries()["digest"]

    assert digest(learner) == saved["end"]
    source = Randomness.sealed(bytes(range(32)))
    again = plan.start(source.batch(plan="", learner=b"x", first=0, rows=b"", state=b"1"))
    again.load(State.unpacked(bytes.fromhex(saved["packed"]), plan.signature, source, b"x"))
    assert digest(again) == saved["content"]
