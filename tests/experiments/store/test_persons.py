"""Persons in a store: each counts in so many rounds as the contract covers, whoever writes at once."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import tacit
import tacit_experiments
from experiments.store.world import SEED
from tacit.errors import Conflict, InvalidInput, ProtocolError

pytest.importorskip("sqlalchemy")
PROBLEM = tacit.Experts(n=3, horizon=200, delay=60)
TARGET = {"epsilon": 1.0, "delta": 1e-6, "rounds_per_person": 2}


def opened(store, name="home"):
    return store.open(name, PROBLEM, persons=True, randomness=SEED, **TARGET)


def counted(store, name="home"):
    """The rounds whose feedback is there, and not missing."""
    with store.database.reading() as transaction:
        found = transaction.rows(
            """SELECT round FROM tacit_feedback JOIN tacit_learners ON id = learner
                WHERE name = :name AND value <> 'null' ORDER BY round""",
            name=name,
        )
    return [int(row[0]) for row in found]


def test_feedback_past_the_limit_is_accepted_and_counts_as_missing(path):
    """With rounds_per_person=2 nobody looked how often one person came."""
    with tacit_experiments.Store(path) as store:
        live = opened(store)
        for _ in range(6):
            live.decide()
        for number in (3, 0, 1, 4):
            live.settle(number, [0.5, 0.25, 1.0], person="ada lovelace")
        live.settle(2, [0.5, 0.25, 1.0], person="bob")
        for number in (3, 1):  # the same again changes nothing
            live.settle(number, [0.5, 0.25, 1.0], person="ada lovelace")
        assert counted(store) == [0, 2, 3]
    with tacit_experiments.Store(path) as store:  # also after a restart
        live = opened(store)
        live.settle(1, [0.5, 0.25, 1.0], person="ada lovelace")
        live.settle(5, [0.5, 0.25, 1.0], person="ada lovelace")
        assert counted(store) == [0, 2, 3]
        with pytest.raises(ProtocolError, match="another person's was reported"):
            live.settle(2, [0.5, 0.25, 1.0], person="ada lovelace")
        with pytest.raises(ProtocolError, match="another one was reported"):
            live.settle(3, [0.0, 0.25, 1.0], person="ada lovelace")
        exported = json.dumps(store.export("home"))
        assert "enforced by the store" in store.export("home")["contract"]
        assert "ada lovelace" not in exported
        with store.database.reading() as transaction:
            hashes = [row[0] for row in transaction.rows("SELECT hash FROM tacit_persons")]
        assert len(hashes) == 2
        assert not any(digest in exported for digest in hashes)
        assert b"ada lovelace" not in path.read_bytes()


def test_a_learner_goes_on_as_if_feedback_past_the_limit_were_missing(store):
    live, rounds = opened(store), 120
    twin = tacit.plan(PROBLEM, **TARGET).start(SEED)
    for number in range(rounds):
        assert live.decide().action == twin.decide().action
        losses = [(number * 7 % 5) / 4, 0.5, (number % 3) / 2]
        live.settle(number, losses, person=f"person {number % 40}")
        twin.settle(number, losses if number < 80 else None)


def test_a_missing_answer_is_a_round_too(store):
    """Who counts never depends on what was said."""
    live = opened(store)
    for _ in range(3):
        live.decide()
    live.settle(0, None, person="ada lovelace")
    live.settle(1, [0.5] * 3, person="ada lovelace")
    live.settle(2, [0.5] * 3, person="ada lovelace")
    assert counted(store) == [1]


def test_bad_feedback_is_not_counted(store):
    live = opened(store)
    for _ in range(3):
        live.decide()
    for _ in range(4):
        with pytest.raises(InvalidInput, match="expert 0"):
            live.settle(0, [2.0, 0.5, 0.5], person="ada lovelace")
    for number in range(3):
        live.settle(number, [0.5] * 3, person="ada lovelace")
    assert counted(store) == [0, 1]


def outcomes(live, number, person):
    """What becomes of bad feedback, of feedback, of the same again, of another one, and of bad feedback again."""
    found = []
    for losses in ([2.0, 0.5, 0.5], [0.5], [0.5, 0.25, 1.0], [0.5, 0.25, 1], [0.0, 0.25, 1.0], None, [2.0, 0.5, 0.5]):
        try:
            found.append(live.settle(number, losses, person=person))
        except (InvalidInput, ProtocolError) as error:
            found.append(str(error).replace(f"Round {number} ", ""))
    return found


def test_whether_a_call_raises_does_not_say_how_often_a_person_came(path):
    """Past the limit bad feedback was accepted, and so was another one than before."""
    with tacit_experiments.Store(path) as store:
        live = opened(store)
        for number in range(4):
            live.decide()
            if number < 2:
                live.settle(number, [0.5, 0.25, 1.0], person="ada lovelace")
        expected = outcomes(live, 2, "bob")
        assert [told is None for told in expected] == [False, False, True, True, False, False, False]
        assert outcomes(live, 3, "ada lovelace") == expected
        assert counted(store) == [0, 1, 2]
        store._lives.clear()
        live = opened(store)
        live.settle(3, [0.5, 0.25, 1.0], person="ada lovelace")
        with pytest.raises(ProtocolError, match="another one was reported"):
            live.settle(3, [0.0, 0.25, 1.0], person="ada lovelace")


def test_a_person_who_was_erased_never_counts_again(path):
    """After an erasure the count began anew: with a limit of 2 the same person counted in 4 rounds."""
    with tacit_experiments.Store(path) as store:
        live = opened(store)
        for _ in range(8):
            live.decide()
        for number in range(2):
            live.settle(number, [0.5, 0.25, 1.0], person="ada lovelace")
        live.settle(2, [0.5, 0.25, 1.0], person="bob")
        store.erase("ada lovelace")
        for number in (0, 3, 4):  # also what a client sends again
            live.settle(number, [0.5, 0.25, 1.0], person="ada lovelace")
        assert counted(store) == [2]
        while live.rounds < 62:  # windows close on what the store says
            live.decide()
    with tacit_experiments.Store(path) as store:
        opened(store).settle(5, [0.5, 0.25, 1.0], person="ada lovelace")
        assert counted(store) == [2]


def test_the_end_does_not_say_how_often_a_person_came(store):
    """After the last decision feedback past the limit could not be sent again, and other feedback could."""
    problem = tacit.Experts(n=3, horizon=6, delay=5)
    live = store.open("home", problem, persons=True, randomness=SEED, **TARGET)
    for number in range(5):
        live.decide()
        live.settle(number, [0.5, 0.25, 1.0], person="ada lovelace")
    live.decide()
    for number in range(6):
        live.settle(number, [0.5, 0.25, 1.0], person="ada lovelace")
        with pytest.raises(InvalidInput, match="expert 0"):
            live.settle(number, [2.0, 0.25, 1.0], person="ada lovelace")


def test_persons_are_named_where_they_are_counted_and_only_there(store):
    live, promised = opened(store), store.open("promised", PROBLEM, **TARGET)
    live.decide()
    promised.decide()
    for person in (None, "", 3, "x" * 1001):
        with pytest.raises(InvalidInput, match="must be a text of 1 to 1000 characters that names one person"):
            live.settle(0, [0.5] * 3, person=person)
    with pytest.raises(InvalidInput, match="counts no persons"):
        promised.settle(0, [0.5] * 3, person="ada lovelace")
    assert "promised by you" in store.export("promised")["contract"]
    with pytest.raises(Conflict, match="opened with persons=True"):
        store.open("home", PROBLEM, persons=False, **TARGET)
    assert store.open("home") is live


def test_hashes_leave_with_the_learner(store):
    def kept():
        with store.database.reading() as transaction:
            people = transaction.rows("SELECT hash FROM tacit_persons")
            return len(people), len(transaction.rows("SELECT 1 FROM tacit_feedback WHERE person <> ''"))

    for name in ("home", "other"):
        live = opened(store, name)
        for number, person in enumerate(("ada lovelace", "bob")):
            live.decide()
            live.settle(number, [0.5] * 3, person=person)
    assert kept() == (4, 4)
    store.erase("ada lovelace")
    assert kept() == (4, 4)
    assert len(counted(store)) == 1
    store.end("other")
    assert kept() == (2, 2)
    with pytest.raises(InvalidInput, match="'person' parameter of erase"):
        store.erase(None)


def test_threads_never_exceed_the_limit(store):
    live = opened(store)
    for _ in range(40):
        live.decide()
    settle_all(live, range(40), 8)
    assert len(counted(store)) == 2


def settle_all(live, rounds, threads):
    with ThreadPoolExecutor(threads) as clients:
        list(clients.map(lambda number: live.settle(number, [0.5] * 3, person="ada lovelace"), rounds))


def test_two_processes_never_exceed_the_limit(path):
    with tacit_experiments.Store(path) as store:
        live = opened(store)
        for _ in range(40):
            live.decide()
    children = []
    for part in range(2):
        child = os.fork()
        if not child:
            try:
                with tacit_experiments.Store(path) as store:
                    settle_all(store.open("home"), range(part, 40, 2), 4)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    with tacit_experiments.Store(path) as store:
        assert len(counted(store)) == 2
