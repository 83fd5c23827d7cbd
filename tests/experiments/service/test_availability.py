"""Nobody stops everybody else: large learners, many readers of accounts, many viewers of one token."""

import threading
import time

import pytest

import tacit
from attacks import rows
from experiments.service.running import BODY, running
from tacit.accounting.ledger import Ledger
from tacit.errors import PrivacyError
from tacit.planning.comparison import Comparison

LARGE = {"kind": "arms", "n": 10_000_000, "horizon": 100_000_000}


@pytest.mark.attack(rows.STOPPED)
@pytest.mark.parametrize("problem", [LARGE, LARGE | {"n": 100_000, "delay": 100}, LARGE | {"n": 2, "delay": 10**9}])
def test_a_learner_that_would_stop_the_others_is_not_planned(service, problem):
    """Ten million arms took 641 MB, and others waited for 17 to 30 seconds."""
    begun = time.process_time()
    status, refused = service.post("/v1/learners", BODY | {"name": "large", "problem": problem})
    assert (status, "may keep 1,000,000 numbers" in refused["detail"]) == (422, True)
    assert time.process_time() - begun < 1.0
    assert "large" not in service.store.learners


@pytest.mark.attack(rows.STOPPED)
def test_a_state_that_is_too_large_is_not_kept(tmp_path):
    with running(tmp_path / "a.db", state=20_000) as service:
        problem = {"kind": "arms", "n": 5_000, "horizon": 100_000}
        status, refused = service.post("/v1/learners", BODY | {"name": "large", "problem": problem, "delta": 0.0})
        assert (status, "at most 20,000 are allowed" in refused["detail"]) == (422, True)
        assert "large" not in service.store.learners


@pytest.mark.attack(rows.STOPPED)
def test_a_learner_is_begun_before_the_transaction_that_writes_it(service, monkeypatch):
    """Nobody waits for a state that takes long to make, but who asked for it."""
    service.made(name="other")
    start, begun, hold = Comparison.start, threading.Event(), threading.Event()

    def slow(self, *arguments, **options):
        begun.set()
        hold.wait(60)
        return start(self, *arguments, **options)

    monkeypatch.setattr(Comparison, "start", slow)
    thread = threading.Thread(target=service.made, kwargs={"name": "slow"})
    thread.start()
    try:
        assert begun.wait(20)
        assert service.post("/v1/learners/other/decisions", {"key": "a"})[0] == 200
        service.store.ledger("meanwhile")
        assert thread.is_alive()  # else they had waited for it
    finally:
        hold.set()
        thread.join()
    assert "slow" in service.store.learners


def test_more_numbers_than_there_is_memory_are_refused_by_the_planner():
    """BatchedTsallis asked for 72 TiB."""
    with pytest.raises(PrivacyError, match="100000001 x 100000 numbers at once"):
        tacit.plan(tacit.Arms(n=10**5, horizon=10**18, delay=10**9, adversary="oblivious"), epsilon=1.0, delta=1e-6)


@pytest.mark.attack(rows.STOPPED)
def test_accounts_are_composed_once_for_all_readers_until_the_next_charge(service, monkeypatch):
    """At 400 charges one took 3 s, and eight readers slowed decisions from 3 to 302 ms."""
    people = service.store.ledger("readers", epsilon=9.0, delta=1e-6)
    guarantee = tacit.plan(tacit.Experts(n=2, horizon=9), epsilon=0.1, delta=1e-7).guarantee
    people.record("first", guarantee)
    assert service.get("/v1/ledger")[0] == 200
    composed, whole = [], Ledger.to_dict
    monkeypatch.setattr(Ledger, "to_dict", lambda self: composed.append(self) or whole(self))

    def entries():
        (found,) = [ledger for ledger in service.get("/v1/ledger")[1]["ledgers"] if ledger["name"] == "readers"]
        return [entry["name"] for entry in found["entries"]]

    assert [entries() for _ in range(8)] == [["first"]] * 8
    assert not composed
    people.record("second", guarantee)
    assert [entries() for _ in range(3)] == [["first", "second"]] * 3
    assert len(composed) == 1
