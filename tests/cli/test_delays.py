"""Missing feedback on the command line."""

import json

from cli.command import run_command


def test_simulate_with_missing_feedback(capsys):
    common = ("simulate", "experts", "--n", "3", "--horizon", "300", "--epsilon", "1", "--runs", "3", "--json")
    assert run_command(*common, "--delay", "5", "--missing", "0.5") == 0
    assert 100 < json.loads(capsys.readouterr().out)["mean_missing"] < 200
    assert run_command(*common, "--missing", "1.5") != 0
    assert "missing" in capsys.readouterr().err
