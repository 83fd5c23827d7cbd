"""`tacit store`: what an owner does to a store by hand."""

import pytest

import tacit
import tacit_experiments
from cli.command import refused, run_command

pytest.importorskip("sqlalchemy")
PROBLEM = tacit.Experts(n=2, horizon=9)


def made(path):
    """A store with a learner that has decided once."""
    with tacit_experiments.Store(path) as store:
        store.open("home", PROBLEM, epsilon=1.0, delta=0.0).decide()


def test_a_copy_is_adopted_by_a_command(tmp_path, capsys):
    made(tmp_path / "decisions.db")
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / "decisions.db").read_bytes())
    with pytest.raises(tacit.TacitError, match="`tacit store adopt`"):
        made(copy)
    assert run_command("store", "adopt", str(copy)) == 0
    assert "may have spent twice." in capsys.readouterr().out
    made(copy)
    assert "nothing to adopt" in refused(capsys, "store", "adopt", str(copy))
    assert "There is no store" in refused(capsys, "store", "adopt", str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()


def test_ledgers_are_confirmed_and_charges_voided_by_commands(tmp_path, capsys):
    path = str(tmp_path / "decisions.db")
    with tacit_experiments.Store(path) as store:
        ledger = store.ledger("people", epsilon=9.0, delta=0.0, renews="monthly")
        ledger.record("fit", tacit.plan(PROBLEM, epsilon=1.0, delta=0.0).guarantee)
    assert run_command("store", "confirm", path, "people") == 0
    assert run_command("store", "void", path, "people", "0", "--reason", "a mistake") == 0
    assert "There is no ledger 'poeple'" in refused(
        capsys, "store", "void", path, "poeple", "0", "--reason", "a mistake"
    )
    with tacit_experiments.Store(path) as store:
        assert store.ledger("people").entries[0].voided.endswith(": a mistake")
        assert store.ledger("people").spent == 0.0
        assert store.ledger("people").confirmed.after == 1


def test_a_learner_is_ended_by_a_command(tmp_path):
    made(tmp_path / "decisions.db")
    assert run_command("store", "end", str(tmp_path / "decisions.db"), "home") == 0
    with pytest.raises(tacit.TacitError, match="was ended"):
        made(tmp_path / "decisions.db")
