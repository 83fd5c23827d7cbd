"""Sets by name on the command line."""

import json

from cli.command import refused, run_command
from tacit.cli.problems import SIZED, domain_of
from tacit.domains import Ball, Birkhoff, Box, KSubsets, L1Ball, Simplex


def test_a_name_is_a_set():
    made = [domain_of(name, 3, 0.5, 2) for name in SIZED]
    assert made == [Ball(3, 0.5), L1Ball(3, 0.5), Box.cube(3, 0.5), Simplex(3), KSubsets(3, 2), Birkhoff(3)]


def test_no_privacy_on_the_command_line(capsys):
    lazy = ("--epsilon", "inf", "--max-switches", "5")
    assert run_command("plan", "convex", "--dim", "2", "--horizon", "1000", *lazy, "--strong-convexity", "1") == 0
    assert "chosen; NOT PRIVATE" in capsys.readouterr().out
    simulated = ("simulate", "convex", "--dim", "2", "--horizon", "60", "--runs", "1", "--json")
    assert run_command(*simulated, *lazy) == 0
    assert json.loads(capsys.readouterr().out)["mean_switches"] <= 5
    asked = ("--epsilon", "1", "--max-switches", "5", "--algorithm", "LazyOCO")
    assert "LazyOCO is not private and meets no epsilon" in refused(capsys, *simulated, *asked)
    assert "must be finite" in refused(capsys, "plan", "experts", "--n", "3", "--horizon", "99", "--epsilon", "inf")
