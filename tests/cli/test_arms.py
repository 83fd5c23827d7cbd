"""Arms on the command line: plan, a conversation, simulate, sweep and audit."""

import json

import pytest

from cli.command import run_command

COMMON = ("--n", "3", "--horizon", "500", "--epsilon", "1", "--delta", "0")


def test_plan(capsys):
    assert run_command("plan", "arms", *COMMON, "--adversary", "stochastic", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert {candidate["algorithm"] for candidate in answer["candidates"]} == {"PhasedArms", "BatchedTsallis"}
    assert answer["candidates"][0]["delta"] == 0


def test_run_is_a_conversation(capsys):
    assert run_command("run", "arms", *COMMON, "--seed", "1", stdin="0.5\n1\n0\n") == 0
    captured = capsys.readouterr()
    arms = [int(line) for line in captured.out.splitlines()]
    assert len(arms) == 4  # the fourth decision waits for a loss that never comes
    assert set(arms) <= {0, 1, 2}
    assert "3 rounds" in captured.err
    assert "numerics:   exact" in captured.err


def test_json_lines(capsys):
    assert run_command("run", "arms", *COMMON, "--seed", "1", "--json", stdin="0.5\n") == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["round"] == 1
    assert first["decision"] in (0, 1, 2)


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (("--adversary", "adaptive"), "", ("'adversary'", "'stochastic' or 'oblivious'")),
        ((), "2\n", ("in [0, 1]",)),
        ((), "much\n", ("Row 1 of standard input", "finite number")),
    ],
)
def test_bad_input_gets_one_sentence(arguments, stdin, words, capsys):
    assert run_command("run", "arms", *COMMON, *arguments, stdin=stdin) == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    for word in words:
        assert word in error


@pytest.mark.parametrize("environment", ["coins", "decoy"])
def test_simulate(environment, capsys):
    assert run_command("simulate", "arms", *COMMON, "--environment", environment, "--runs", "1") == 0
    assert "certified regret" in capsys.readouterr().out


def test_audit(capsys):
    assert run_command("audit", "arms", *COMMON, "--budget", "0.02") == 0
    assert "no violation found" in capsys.readouterr().out
