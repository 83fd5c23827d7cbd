"""What a store deletes: feedback after the last decision, keys with their windows, everything private at the end."""

import gzip
from pathlib import Path

import pytest

import tacit
import tacit_experiments
from experiments.store.world import PROBLEM, SEED, TARGET, actions, losses, twin, use
from tacit.errors import InvalidInput, ProtocolError

pytest.importorskip("sqlalchemy")
SHORT = tacit.Experts(n=3, horizon=6, delay=2)
OLD = Path(__file__).with_name("store-0.2.db.gz")


def files(path):
    """All bytes of a store, its log included."""
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith("decisions.db"))


def kept(store, table):
    with store.database.reading() as transaction:
        return int(transaction.row(f"SELECT count(*) FROM tacit_{table}")[0])


def test_the_last_feedback_is_deleted_when_the_last_decision_is_made(path):
    """After the horizon the last delay + 1 rows used to stay for ever, in plain text."""
    with tacit_experiments.Store(path) as store:
        live = store.open("home", SHORT, **TARGET)
        for number in range(6):
            live.decide()
            live.settle(number, [0.123456, 0.5, number / 8])
        assert live.waiting == ()
        live.settle(5, [0.123456, 0.5, 5 / 8])
        assert b"0.123456" not in files(path)
    with tacit_experiments.Store(path) as store:
        live = store.open("home")
        assert live.waiting == ()
        live.settle(4, [0.123456, 0.5, 0.5])  # accepted as before, and not kept
        with pytest.raises(InvalidInput, match="expert 0"):
            live.settle(5, [2.0, 0.5, 0.5])
        with pytest.raises(ProtocolError, match="planned for 6 rounds"):
            live.decide()
        assert b"0.123456" not in files(path)


def test_keys_are_kept_as_hashes_and_only_while_their_windows_are_open(path):
    """Keys used to stay for ever in plain text, 218 bytes a round."""
    with tacit_experiments.Store(path) as store:
        live, other = (store.open(name, PROBLEM, **TARGET) for name in ("home", "other"))
        for number in range(20):
            decision = live.decide(key=f"visitor {number}")
            assert live.decide(key=f"visitor {number}") == decision
        other.decide(key="visitor 19")
        assert live.decide(key="visitor 15").round == 15
        assert kept(store, "keys") == 6
        assert live.decide(key="visitor 14").round == 20  # its window is over: a key like any other
        with store.database.reading() as transaction:
            hashes = [row[0] for row in transaction.rows("SELECT hash FROM tacit_keys")]
        assert len(set(hashes)) == len(hashes) == 6  # the same key of two learners has two hashes
        assert b"visitor" not in files(path)


def test_an_ended_learner_keeps_its_contract_and_nothing_private(path):
    with tacit_experiments.Store(path) as store, tacit_experiments.Store(path) as other:
        people = store.ledger("people", epsilon=9.0)
        live = store.open("home", PROBLEM, ledger=people, **TARGET)
        elsewhere = other.open("home")
        for number in range(3):
            live.decide(key=f"visitor {number}")
            live.settle(number, [0.123456, 0.5, 0.5])
        before = store.export("home")
        store.end("home")
        store.end("home")
        after = store.export("home")
        assert after.pop("ended") is not None
        assert before.pop("ended") is None
        assert after == before
        assert len(people) == 1
        assert [kept(store, table) for table in ("states", "feedback", "keys")] == [0, 0, 0]
        for ask in (
            live.decide, elsewhere.decide, lambda: live.settle(1, losses(1)), lambda: live.switches,
            lambda: store.open("home"), lambda: other.open("home", PROBLEM, **TARGET),
        ):  # fmt: skip
            with pytest.raises(ProtocolError, match="'home' was ended and its state deleted"):
                ask()
        with pytest.raises(InvalidInput, match="no learner 'away'"):
            store.end("away")
        assert live.rounds == 3
        store.check_marks()
    assert b"0.123456" not in files(path)
    assert b"visitor" not in files(path)


@pytest.fixture
def old(path):
    """A store that version 0.2 wrote."""
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    path.with_name("decisions.db.mark").write_bytes(OLD.with_name("store-0.2.db.mark").read_bytes())
    return path


def test_a_store_of_version_0_2_is_cleaned_when_it_is_opened_and_goes_on(old):
    before = files(old)
    assert b"visitor 0 of home" in before
    assert b"0.123456" in before
    with tacit_experiments.Store(old) as store:
        assert b"visitor" not in files(old)
        assert b"0.123456" not in files(old)
        store.check_marks()
        live = store.open("home")
        again = live.decide(key="visitor 9 of home")
        assert again.round == 9
        use(live, 8)
        assert actions(store) == twin(20, algorithms=["LazyExperts"])  # which 0.2 had chosen
        assert store.open("over").waiting == ()
        assert store.ledger("people").to_dict()["entries"][0]["name"] == "home"
    with tacit_experiments.Store(old) as store:
        assert store.open("home", PROBLEM, randomness=SEED, **TARGET).decide().round == 20
        assert kept(store, "keys") == 3 + 3  # of "over" and "price", whose windows nobody has closed


def test_a_store_of_version_0_2_without_its_marks_is_refused(old):
    old.with_name("decisions.db.mark").unlink()
    with (
        tacit_experiments.Store(old) as store,
        pytest.raises(tacit.StoreError, match="has marks, and they are not beside it"),
    ):
        store.open("home")
