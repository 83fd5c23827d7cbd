"""The one source of randomness: independent, repeatable where asked, and silent about its key."""

import copy
import json
import os
import pickle

import numpy as np
import pytest

from attacks import rows
from forks import answer_of_child as forked
from tacit import Experts, InvalidInput, Randomness
from tacit.algorithms import LazyExperts
from tacit.noise.randomness import COMPUTATIONAL, SEALED, Stream
from tacit.process import current_process


def bits(generator, count=4):
    return generator.integers(0, 2**63, count).tolist()


def test_replayable_repeats_and_seeds_differ():
    assert bits(Randomness.replayable(7).stream("a")) == bits(Randomness.replayable(7).stream("a"))
    assert bits(Randomness.replayable(np.int64(7)).stream("a")) == bits(Randomness.replayable(7).stream("a"))
    first = {tuple(bits(Randomness.replayable(seed).stream("a"))) for seed in range(50)}
    assert len(first) == 50


def test_names_are_independent_streams():
    source = Randomness.replayable(1)
    names = ("a", "b", "keep", "draw", "draw ", "", "child 0")
    assert len({tuple(bits(source.stream(name))) for name in names}) == len(names)
    # Drawing from one does not move another.
    first, second = source.stream("a"), source.stream("b")
    first.random(1000)
    assert bits(second) == bits(source.stream("b"))
    # Uncorrelated at 100,000 draws: six standard deviations are 0.019.
    x, y = source.stream("a").standard_normal(100_000), source.stream("b").standard_normal(100_000)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.019
    assert abs(np.corrcoef(x[1:], y[:-1])[0, 1]) < 0.019


def test_children_are_independent_sources_of_the_same_kind():
    source = Randomness.replayable(1)
    children = [source, source.child(0), source.child(1), source.child("0 "), source.child(0).child(0)]
    assert len({tuple(bits(child.stream("a"))) for child in children}) == len(children)
    assert bits(source.child(3).stream("a")) == bits(Randomness.replayable(1).child(3).stream("a"))
    assert not source.child(0).private
    assert Randomness.secret().child(0).private
    # A child is not reachable as a stream of the same name, nor the other way round.
    assert bits(source.child("x").stream("y")) != bits(source.stream("x"))


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda value: pickle.loads(pickle.dumps(value))}


def test_a_secret_source_has_no_key_and_may_be_shared():
    """Measured before: one secret source given to two learners gave both the same noise, and their difference away."""
    secret = Randomness.secret()
    shared = [secret, secret, secret.child(0), secret.child(0), *(make(secret) for make in COPIES.values())]
    draws = {tuple(bits(source.stream("a"))) for source in shared}
    assert len(draws) == len(shared)
    assert all(source.private and source.state_dict() == {} for source in shared)
    assert (secret.label, Randomness.replayable(0).label) == (COMPUTATIONAL, "replayable: not private")
    with pytest.raises(InvalidInput, match="32 bytes"):
        Randomness(b"short")
    assert not Randomness(bytes(32)).private  # a key that somebody named is no secret


@pytest.mark.parametrize("how", COPIES)
def test_replayable_sources_and_streams_copy_faithfully(how):
    source = COPIES[how](Randomness.replayable(9))
    assert bits(source.stream("a")) == bits(Randomness.replayable(9).stream("a"))
    assert not source.private
    stream = source.stream("a")
    stream.random(7)
    other = COPIES[how](stream)
    assert isinstance(other, Stream)
    assert bits(other, 20) == bits(stream, 20)


@pytest.mark.parametrize("how", COPIES)
def test_secret_streams_are_not_copied(how):
    stream = Randomness.secret().stream("a")
    for held in (stream, [stream], {"noise": stream.standard_normal}):
        if how != "copy" or held is stream:
            with pytest.raises(InvalidInput, match="used twice"):
                COPIES[how](held)
    with pytest.raises(InvalidInput, match="no position"):
        stream.position()


@pytest.mark.attack(rows.FORK)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_other_keys():
    """Measured before: parent and child drew the same noise, and the difference of their outputs was the data's."""
    secret, replayed = Randomness.secret().stream("a"), Randomness.replayable(1).stream("a")
    ours = current_process()
    answer = forked(lambda: [bits(secret), bits(replayed), current_process()])
    assert answer[0] != bits(secret)
    assert answer[1] == bits(replayed)
    assert answer[2] != ours == current_process()


def test_nothing_shows_the_key():
    source = Randomness.replayable(123456789)
    key = source.state_dict()["key"]
    for text in (repr(source), str(source), f"{source}", source.label):
        assert key not in text
        assert "123456789" not in text
    assert not hasattr(source, "__dict__")


def test_state_restores():
    source = Randomness.replayable(5)
    again = Randomness.restore(json.loads(json.dumps(source.state_dict())))
    assert bits(again.stream("a")) == bits(source.stream("a"))
    assert not again.private
    assert Randomness.restore(Randomness.secret().state_dict()).private
    for bad in (None, 5, {"key": 5}, {"key": "short"}, {"key": "!" * 44}, {"other": "x"}, [1]):
        with pytest.raises(InvalidInput):
            Randomness.restore(bad)


def test_positions_are_copies_and_streams_change_their_kind_with_them():
    stream = Randomness.replayable(5).stream("a")
    stream.random(7)
    position = stream.position()
    kept = repr(position)
    wanted = bits(stream, 20)
    assert repr(position) == kept
    other = Randomness.secret().stream("b")
    other.move_to(position)
    assert not other.private
    assert bits(other, 20) == wanted
    other.move_to(position)
    other.renew()
    assert other.private
    assert bits(other, 20) != wanted


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7", None, np.nan])
def test_bad_seeds(seed):
    with pytest.raises(InvalidInput, match="'seed'"):
        Randomness.replayable(seed)


KEY = bytes(range(100, 132))
BATCH = {"plan": "plan", "learner": b"shop", "first": 7, "rows": b"rows", "state": b"state"}


@pytest.mark.attack(rows.TWO_KEYS)
@pytest.mark.attack(rows.OLDER_STATE)
@pytest.mark.attack(rows.OTHER_ROWS)
def test_a_sealed_batch_repeats_and_every_part_of_it_counts():
    source = Randomness.sealed(KEY)
    wanted = bits(source.batch(**BATCH).stream("a"))
    assert bits(Randomness.sealed(KEY).batch(**BATCH).stream("a")) == wanted
    others = [source.batch(**{**BATCH, name: value}) for name, value in OTHER.items()]
    others += [Randomness.sealed(KEY[::-1]).batch(**BATCH), source.batch(**BATCH).child(0)]
    drawn = {tuple(bits(batch.stream("a"))) for batch in others}
    assert len(drawn | {tuple(wanted), tuple(bits(source.batch(**BATCH).stream("b")))}) == len(others) + 2


OTHER = {"plan": "plans", "learner": b"shops", "first": 8, "rows": b"row", "state": b""}


def test_parts_of_a_sealed_batch_do_not_run_into_each_other():
    """Two batches whose parts make the same bytes when they are put together are two batches."""
    source = Randomness.sealed(KEY)
    pairs = [{"plan": "ab", "learner": b"c"}, {"plan": "a", "learner": b"bc"}, {"plan": "abc", "learner": b""}]
    assert len({tuple(bits(source.batch(**{**BATCH, **pair}).stream("a"))) for pair in pairs}) == 3


@pytest.mark.attack(rows.UNBOUND)
def test_a_sealed_batch_never_gives_the_same_noise_twice():
    batch, again = (Randomness.sealed(KEY).batch(**BATCH) for _ in range(2))
    first = [batch.stream("a"), batch.stream("a"), batch.child(0).stream("a"), batch.child(0).stream("a")]
    drawn = [bits(stream) for stream in first]
    first[0].renew()
    drawn.append(bits(first[0]))
    assert len({tuple(entry) for entry in drawn}) == len(drawn)
    # The same requests in the same order give the same bytes.
    second = [again.stream("a"), again.stream("a"), again.child(0).stream("a"), again.child(0).stream("a")]
    repeated = [bits(stream) for stream in second]
    second[0].renew()
    assert [*repeated, bits(second[0])] == drawn


@pytest.mark.attack(rows.ROOT)
def test_a_sealed_source_is_private_and_silent():
    source = Randomness.sealed(KEY)
    batch = source.batch(**BATCH)
    for each in (source, batch):
        assert each.private
        assert each.label == SEALED
        assert each.state_dict() == {}
        for make in COPIES.values():
            with pytest.raises(InvalidInput, match="copied or pickled"):
                make(each)
        values = [getattr(each, name) for name in ("_key", "_hash")]
        for text in (repr(each), str(each), repr(values), each.label, source.fingerprint):
            assert KEY.hex() not in text
            assert repr(KEY) not in text
    assert source.fingerprint == Randomness.sealed(KEY).fingerprint != Randomness.sealed(KEY[::-1]).fingerprint
    assert source.tag(b"a", b"b") != source.tag(b"ab") != source.tag(b"a", b"b", b"")


def test_a_seed_or_a_saved_key_is_not_private_whatever_source_is_asked():
    saved = Randomness.replayable(5).state_dict()
    sealed = Randomness.sealed(KEY)
    for source in (Randomness.secret(), sealed, sealed.batch(**BATCH)):
        assert not source.replayable(3).private
        assert not source.restore(saved).private
        assert type(source.secret()) is type(source.restore({})) is Randomness
        assert source.secret().private


@pytest.mark.attack(rows.UNBOUND)
def test_a_sealed_source_draws_only_for_a_batch():
    plan = LazyExperts(Experts(n=2, horizon=20), eta=0.1, force=0.1)
    for draw in (lambda source: source.stream("a"), lambda source: source.child(0), plan.start):
        with pytest.raises(InvalidInput, match="one batch of one learner"):
            draw(Randomness.sealed(KEY))
    contract = plan.start(Randomness.sealed(KEY).batch(**BATCH)).guarantee
    assert contract.private
    assert contract.randomness == SEALED


@pytest.mark.parametrize("key", [b"", b"short", bytes(32), b"x" * 32, bytes(31), "0" * 32, None, bytearray(KEY)])
def test_bad_sealed_keys(key):
    with pytest.raises(InvalidInput, match="32 secret random bytes") as error:
        Randomness.sealed(key)
    assert "short" not in str(error.value)


@pytest.mark.attack(rows.FORKED_BATCH)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_may_begin_a_sealed_batch_and_not_go_on_with_one():
    source = Randomness.sealed(KEY)
    batch = source.batch(**BATCH)
    stream = batch.stream("a")

    def tried():
        try:
            batch.stream("b")
        except InvalidInput as error:
            return [str(error), bits(stream), bits(source.batch(**BATCH).stream("b"))]

    message, left, begun = forked(tried)
    assert "begin it again" in message
    assert left != bits(stream)
    assert begun == bits(batch.stream("b"))
