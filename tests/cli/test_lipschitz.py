"""Lipschitz problems on the command line: sets by name."""

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
