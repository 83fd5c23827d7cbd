"""Lipschitz problems on the command line: sets by name, and one pass."""

import json

import pytest

from cli.command import run_command

TARGET = ("--epsilon", "1", "--json")


def planned(capsys, *arguments):
    assert run_command("plan", *arguments, *TARGET) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("domain", "dim"), [("ball", "2"), ("simplex", "3"), ("l1-ball", "2"), ("box", "1")])
def test_sets_have_names(capsys, domain, dim):
    answer = planned(capsys, "lipschitz", "--domain", domain, "--dim", dim, "--radius", "0.5", "--horizon", "50")
    assert "domain=None" not in answer["problem"]
    assert {row["algorithm"] for row in answer["candidates"]} == {"LipschitzGrid", "LipschitzNet"}


def test_one_pass_is_planned(capsys):
    answer = planned(capsys, "stochastic-lipschitz", "--horizon", "1000", "--convex")
    assert answer["chosen"] == "LipschitzOnePass"
    assert answer["candidates"][0]["regret_bound"] < 0.11
