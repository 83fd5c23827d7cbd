"""States as bytes: small, without keys, and refused unless they are what was packed here for this learner."""

import numpy as np
import pytest

import tacit
from attacks import rows
from tacit import Experts, InvalidInput, Randomness
from tacit.errors import ProtocolError
from tacit.learners import packed
from tacit.learners.packed import load, pack, plan_digest, unpack
from tacit.testing.rounds import content, streams

SOURCE = Randomness.sealed(bytes(range(50, 82)))
PLANS = {
    "lazy": lambda: tacit.LazyExperts(Experts(n=10, horizon=1000), eta=0.1, force=0.1),
    "sums": lambda: tacit.HedgeOnSums.calibrate(Experts(n=10, horizon=1000), epsilon=1.0, delta=1e-6),
    "late": lambda: tacit.LazyExperts(Experts(n=10, horizon=1000, delay=4), eta=0.1, force=0.1),
    "doubling": lambda: tacit.HedgeOnSums.calibrate(Experts(n=10, horizon=None), epsilon=1.0, delta=1e-6),
}


def source_of(rows=b"rows", state=b""):
    return SOURCE.batch(plan="", learner=b"shop", first=0, rows=rows, state=state)


@pytest.fixture(scope="module", params=PLANS)
def made(request):
    """A learner after 100 rounds, its plan's digest and its packed state."""
    plan = PLANS[request.param]()
    learner = plan.start(source_of())
    for row in Randomness.replayable(3).stream("rows").random((100, 10)):
        number = learner.decide().round
        learner.settle(number, row)
    digest = plan_digest(plan.signature)
    return learner, digest, pack(learner, digest, SOURCE, b"shop")


def test_a_state_comes_back_to_the_last_bit(made):
    learner, digest, state = made
    again = learner.plan.start(source_of(state=state))
    load(again, unpack(state, digest, SOURCE, b"shop"))
    assert content(again) == content(learner)
    assert pack(again, digest, SOURCE, b"shop") == state
    row = np.linspace(0, 1, 10)
    twin = learner.plan.start(source_of(state=state))
    load(twin, unpack(state, digest, SOURCE, b"shop"))
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
    _, digest, state = made
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
            unpack(bad, digest, SOURCE, b"shop")
    with pytest.raises(InvalidInput, match="another learner"):
        unpack(state, digest, SOURCE, b"other")
    with pytest.raises(InvalidInput, match="another key"):
        unpack(state, digest, Randomness.sealed(bytes(range(32))), b"shop")
    with pytest.raises(InvalidInput, match="another plan"):
        unpack(state, plan_digest("another"), SOURCE, b"shop")


def sealed_anew(body):
    return body + SOURCE.tag(b"shop", body)


def test_even_with_the_key_nonsense_is_refused(made):
    """A tag says who wrote a state, not that it makes sense."""
    learner, digest, state = made
    head = len(packed._HEAD) + 16
    for body in (
        b"",
        b"M",
        b"M\xff\xff\xff\x7f",
        b"L\1\0\0\0" * 50,
        b"A\4\0\1|O8\0",
        b"Q\0\0\0\0",
        b"N",
        b"NN",
        b"S\1\0\0\0\xff",
    ):
        with pytest.raises(InvalidInput, match="not the packed state"):
            unpack(sealed_anew(state[:head] + body), digest, SOURCE, b"shop")
    inside = unpack(state, digest, SOURCE, b"shop")
    for changes in ({"round": -1}, {"round": 10**6}, {"action": "first"}, {"switches": 0.5}, {"played": 7}):
        with pytest.raises(InvalidInput):
            load(learner.plan.start(source_of()), {**inside, **changes})
    with pytest.raises(InvalidInput):
        load(learner.plan.start(source_of()), {name: value for name, value in inside.items() if name != "round"})


def test_replayable_learners_are_not_packed():
    plan = PLANS["lazy"]()
    with pytest.raises(ProtocolError, match="keys of its streams"):
        pack(plan.start(Randomness.replayable(1)), plan_digest(plan.signature), SOURCE, b"shop")


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**200, -(2**63), 0.0, -0.0, float("inf"), "text", "", [], (), {}, [1, (2.5, None)],
        {"a": {"b": [True]}},
    ],
    ids=repr,
)  # fmt: skip
def test_values_come_back_with_their_types(value):
    parts = []
    packed._write(value, parts)
    back, end = packed._read(b"".join(parts), 0, 0)
    assert repr(back) == repr(value)
    assert type(back) is type(value)
    assert end == len(b"".join(parts))


def test_arrays_come_back_with_type_shape_and_order():
    for array in (np.arange(6.0).reshape(2, 3).T, np.zeros((0, 3), np.int64), np.array([True]), np.array(2.5)):
        parts = []
        packed._write(array, parts)
        back = packed._read(b"".join(parts), 0, 0)[0]
        np.testing.assert_array_equal(back, array)
        assert (back.dtype, back.shape, back.flags.f_contiguous) == (array.dtype, array.shape, array.flags.f_contiguous)
        assert back.flags.writeable
    parts = []
    packed._write(np.float64(2.5), parts)
    assert packed._read(b"".join(parts), 0, 0)[0] == 2.5
    with pytest.raises(InvalidInput, match="no object"):
        packed._write(object(), [])
