"""Late and missing feedback on the command line."""

import json

import numpy as np
import pytest

import tacit
from cli.command import run_command

LOSSES = np.array([[0.0, 1.0, 0.5], [0.25, 0.75, 0.5], [1.0, 0.0, 0.5]] * 30)
PRIVACY = ("--epsilon", "1", "--delta", "1e-6")
GONE = (1, 5, 6, 40)


def expected(delay=0):
    """The decisions of the planner's choice without the feedback of some rounds."""
    plan = tacit.plan(tacit.Experts(n=3, horizon=90, delay=delay), epsilon=1, delta=1e-6)
    mask = ~np.isin(np.arange(90), GONE)
    return plan.start(tacit.Randomness.replayable(3)).run(LOSSES, mask).tolist()


@pytest.mark.parametrize("kind", ["null", "empty cells", "stdin", "late"])
def test_rows_without_feedback(kind, tmp_path, capsys):
    path, stdin, extra = tmp_path / "losses.csv", "", []
    rows = [None if number in GONE else row for number, row in enumerate(LOSSES.tolist())]
    empty = {"empty cells": ",,"}.get(kind, "null")
    text = "".join((empty if row is None else ",".join(map(str, row))) + "\n" for row in rows)
    if kind == "stdin":
        path, stdin, extra = "-", text, ["--n", "3", "--horizon", "90"]
    else:
        path.write_text(text)
    if kind == "late":
        extra = ["--delay", "4"]
    assert run_command("run", "experts", *PRIVACY, "--seed", "3", "--json", *extra, "-i", str(path), stdin=stdin) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["decision"] for line in lines] == expected(4 if kind == "late" else 0)
    assert [line["round"] for line in lines] == list(range(1, 91))


def test_simulate_with_missing_feedback(capsys):
    common = ("simulate", "experts", "--n", "3", "--horizon", "300", *PRIVACY, "--runs", "3", "--json")
    assert run_command(*common, "--delay", "5", "--missing", "0.5") == 0
    assert 100 < json.loads(capsys.readouterr().out)["mean_missing"] < 200
    assert run_command(*common, "--missing", "1.5") != 0
    assert "missing" in capsys.readouterr().err
