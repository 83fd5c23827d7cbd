import json

import numpy as np
import pytest

import tacit
from cli.command import refused, run_command

LOSSES = np.array([[0.0, 1.0, 0.5], [0.25, 0.75, 0.5], [1.0, 0.0, 0.5]] * 30)
COMMON = ("--epsilon", "1", "--delta", "1e-6", "--seed", "3")


def csv_text(header=True):
    rows = "\n".join(",".join(map(str, row)) for row in LOSSES.tolist())
    return ("red,green,blue\n" if header else "") + rows + "\n"


def expected():
    plan = tacit.plan(tacit.Experts(n=3, horizon=90), epsilon=1, delta=1e-6)
    return plan.start(tacit.Randomness.replayable(3)).run(LOSSES)


def test_csv_file_gives_the_learners_decisions(tmp_path, capsys):
    path = tmp_path / "losses.csv"
    path.write_text(csv_text())
    assert run_command("run", "experts", *COMMON, "--input", str(path)) == 0
    captured = capsys.readouterr()
    names = np.array(["red", "green", "blue"])
    assert captured.out.split() == names[expected()].tolist()
    assert "90 rounds" in captured.err
    assert "replayable: not private" in captured.err
    assert "neighbours: replace" in captured.err


@pytest.mark.parametrize("kind", ["no header", "stdin"])
def test_every_source_gives_the_same_decisions(kind, tmp_path, capsys):
    path, stdin, extra = tmp_path / "losses.csv", "", []
    if kind == "no header":
        path.write_text(csv_text(header=False))
    else:
        path, stdin, extra = "-", csv_text(), ["--horizon", "90"]
    assert run_command("run", "experts", *COMMON, *extra, "--json", "--input", str(path), stdin=stdin) == 0
    captured = capsys.readouterr()
    records = [json.loads(line) for line in captured.out.splitlines()]
    assert [record["decision"] for record in records] == expected().tolist()
    assert [record["round"] for record in records] == list(range(1, 91))
    assert json.loads(captured.err)["rounds"] == 90


def test_missing_file_and_too_many_rows(tmp_path, capsys):
    assert "There is no file" in refused(capsys, "run", "experts", *COMMON, "--input", str(tmp_path / "none.csv"))
    path = tmp_path / "losses.csv"
    path.write_text(csv_text())
    assert "more than the 10 rounds" in refused(
        capsys, "run", "experts", *COMMON, "--input", str(path), "--horizon", "10"
    )


def test_a_bound_that_says_nothing_is_said_so(tmp_path, capsys):
    path = tmp_path / "losses.csv"
    path.write_text("a,b\n" + "0.5,0.25\n" * 3)
    assert run_command("run", "experts", "--epsilon", "0.01", "--input", str(path)) == 0
    assert "Warning: this certified regret says nothing" in capsys.readouterr().err
    assert run_command("run", "experts", "--epsilon", "0.01", "--input", str(path), "--json") == 0
    assert json.loads(capsys.readouterr().err.splitlines()[-1])["vacuous"] is True
    path.write_text("a,b\n" + "0.5,0.25\n" * 2000)
    assert run_command("run", "experts", "--epsilon", "5", "--input", str(path)) == 0
    assert "Warning" not in capsys.readouterr().err
