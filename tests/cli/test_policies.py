"""Policies on the command line: plan, simulate and audit."""

import json

import pytest

from cli.command import refused, run_command

COMMON = ("--n", "20", "--actions", "3", "--horizon", "500", "--epsilon", "1", "--delta", "0")


def test_plan(capsys):
    assert run_command("plan", "policies", *COMMON, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [candidate["algorithm"] for candidate in answer["candidates"]] == ["Responses", "PolicyArms"]


def test_private_recommendations(capsys):
    assert run_command("plan", "policies", *COMMON, "--recommendations", "private") == 0
    shown = capsys.readouterr().out
    assert "joint differential privacy" in shown
    assert "every decision to its own person only" in shown
    assert "'public' or 'private'" in refused(capsys, "plan", "policies", *COMMON, "--recommendations", "some")


@pytest.mark.parametrize("environment", ["skilled", "needle", "turning", "lonely"])
def test_simulate(environment, capsys):
    assert run_command("simulate", "policies", *COMMON, "--environment", environment, "--runs", "1") == 0
    assert "certified regret" in capsys.readouterr().out


def test_audit(capsys):
    assert run_command("audit", "policies", *COMMON, "--budget", "0.05") == 0
    assert "no violation found" in capsys.readouterr().out
