"""`tacit run --store`: a killed run goes on where it stopped; without a store a crash says what was spent."""

import json
import signal
import subprocess
import sys

import pytest

import tacit
from cli.command import run_command

pytest.importorskip("sqlalchemy")
ROWS = [[(number * 7 % 5) / 4, (number % 3) / 2] for number in range(60)]
COMMON = ("run", "experts", "--epsilon", "5", "--delta", "1e-6", "--seed", "3", "--json")


@pytest.fixture
def losses(tmp_path):
    path = tmp_path / "losses.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in ROWS))
    return path


def kept(tmp_path):
    return ("--store", str(tmp_path / "decisions.db"), "--name", "home")


def printed(capsys):
    captured = capsys.readouterr()
    return [json.loads(line) for line in captured.out.splitlines()], captured.err


def test_a_store_changes_no_decision_and_a_second_run_spends_nothing(losses, tmp_path, capsys):
    assert run_command(*COMMON, "--input", str(losses)) == 0
    plain, error = printed(capsys)
    assert run_command(*COMMON, "--input", str(losses), *kept(tmp_path)) == 0
    stored, stored_error = printed(capsys)
    assert stored == plain
    assert json.loads(stored_error) == json.loads(error)
    assert run_command(*COMMON, "--input", str(losses), *kept(tmp_path)) == 0
    again, error = printed(capsys)
    assert again == []
    assert json.loads(error)["rounds"] == 60
    with tacit.Store(tmp_path / "decisions.db") as store:
        assert [entry["action"] for entry in store.export("home")["decisions"]] == [line["decision"] for line in plain]


def test_a_killed_run_goes_on_at_the_row_where_it_stopped(losses, tmp_path, capsys):
    """The decision in hand is shown again; rows that were kept are not read again."""
    assert run_command(*COMMON, "--input", str(losses)) == 0
    whole, _ = printed(capsys)
    command = [sys.executable, "-m", "tacit.cli.main", *COMMON, "--horizon", "60", "--input", "-", *kept(tmp_path)]
    seen, at = [], 0
    for stop in (3, 4, 11):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            process.stdin.write("a,b\n")
            process.stdin.flush()
            while True:
                line = json.loads(process.stdout.readline())
                seen.append(line)
                at = line["round"] - 1
                if at == stop:
                    break
                process.stdin.write(f"{ROWS[at][0]},{ROWS[at][1]}\n")
                process.stdin.flush()
            process.send_signal(signal.SIGKILL)
    assert [line["round"] for line in seen] == [1, 2, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12]
    assert run_command(*COMMON, "--input", str(losses), *kept(tmp_path)) == 0
    rest, error = printed(capsys)
    assert [line["round"] for line in rest] == list(range(12, 61))
    assert json.loads(error)["rounds"] == 60
    assert {line["round"]: line for line in seen + rest} == {line["round"]: line for line in whole}


def test_another_contract_and_half_an_option_are_refused(losses, tmp_path, capsys):
    assert run_command(*COMMON, "--input", str(losses), *kept(tmp_path)) == 0
    capsys.readouterr()
    assert run_command(*COMMON, "--epsilon", "2", "--input", str(losses), *kept(tmp_path)) == 2
    assert "has another contract" in capsys.readouterr().err
    assert run_command(*COMMON, "--input", str(losses), "--store", "x.db") == 2
    assert "--store and --name go together" in capsys.readouterr().err
    (tmp_path / "junk.db").write_text("this is no database" * 100)
    assert run_command(*COMMON, "--input", str(losses), "--store", str(tmp_path / "junk.db"), "--name", "a") == 2
    assert "not a database" in capsys.readouterr().err


def test_a_bad_row_says_what_was_spent_and_how_to_go_on(tmp_path, capsys):
    path = tmp_path / "losses.csv"
    path.write_text("a,b\n0,1\n0,7\n")
    sentence = "is spent."
    assert run_command(*COMMON, "--input", str(path)) == 2
    error = capsys.readouterr().err
    assert "Row 2" in error
    assert "Decisions were shown: epsilon=" in error
    assert error.endswith(f"{sentence}\n")
    assert error.count("\n") == 1
    assert run_command(*COMMON, "--input", str(path), *kept(tmp_path)) == 2
    assert "The same --store and --name go on" in capsys.readouterr().err
    path.write_text("a,b\n0,x\n")
    assert run_command(*COMMON, "--input", str(path)) == 2
    assert sentence not in capsys.readouterr().err  # nothing was shown


def test_a_crash_says_what_was_spent(losses, monkeypatch, capsys):
    def broken(learner, feedback):
        raise MemoryError

    monkeypatch.setattr(tacit.Learner, "observe", broken)
    with pytest.raises(MemoryError):
        run_command(*COMMON, "--input", str(losses))
    assert "the run broke off. Decisions were shown: epsilon=" in capsys.readouterr().err


def test_a_line_is_written_out_before_its_row_is_kept(losses, tmp_path, monkeypatch):
    """A row that is kept is not read again, so a line that still waits in a buffer would be lost with the program."""
    output, settle, seen = tmp_path / "decisions.txt", tacit.Live.settle, []

    def settled(self, number, feedback):
        seen.append(len(output.read_text().splitlines()) - number)
        settle(self, number, feedback)

    monkeypatch.setattr(tacit.Live, "settle", settled)
    with output.open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert run_command(*COMMON, "--input", str(losses), *kept(tmp_path)) == 0
    assert seen == [1] * 60


def test_a_copy_is_adopted_by_a_command(losses, tmp_path, capsys):
    assert run_command(*COMMON, "--input", str(losses), *kept(tmp_path)) == 0
    (tmp_path / "copy.db").write_bytes((tmp_path / "decisions.db").read_bytes())
    copy = (*COMMON, "--input", str(losses), "--store", str(tmp_path / "copy.db"), "--name", "home")
    assert run_command(*copy) == 2
    assert "`tacit store adopt`" in capsys.readouterr().err
    assert run_command("store", "adopt", str(tmp_path / "copy.db")) == 0
    assert "may have spent twice." in capsys.readouterr().out
    assert run_command(*copy) == 0
    assert run_command("store", "adopt", str(tmp_path / "copy.db")) == 2
    assert "nothing to adopt" in capsys.readouterr().err
    assert run_command("store", "adopt", str(tmp_path / "none.db")) == 2
    assert not (tmp_path / "none.db").exists()


def test_ledgers_are_confirmed_and_charges_voided_by_commands(tmp_path, capsys):
    path = str(tmp_path / "decisions.db")
    with tacit.Store(path) as store:
        ledger = store.ledger("people", epsilon=9.0, delta=0.0, renews="monthly")
        ledger.record("fit", tacit.plan(tacit.Experts(n=2, horizon=9), epsilon=1.0, delta=0.0).guarantee)
    assert run_command("store", "confirm", path, "people") == 0
    assert run_command("store", "void", path, "people", "0", "--reason", "a mistake") == 0
    assert run_command("store", "void", path, "poeple", "0", "--reason", "a mistake") == 2
    assert "There is no ledger 'poeple'" in capsys.readouterr().err
    with tacit.Store(path) as store:
        assert store.ledger("people").entries[0].voided.endswith(": a mistake")
        assert store.ledger("people").spent == 0.0
        assert store.ledger("people").confirmed.after == 1


def test_a_learner_is_ended_by_a_command(losses, tmp_path, capsys):
    assert run_command(*COMMON, "--input", str(losses), *kept(tmp_path)) == 0
    assert run_command("store", "end", str(tmp_path / "decisions.db"), "home") == 0
    assert run_command(*COMMON, "--input", str(losses), *kept(tmp_path)) == 2
    assert "was ended" in capsys.readouterr().err
