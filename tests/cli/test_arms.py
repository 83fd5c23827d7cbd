"""Arms and bandits on the command line: conversations."""

import json

import pytest

import tacit
from cli.command import refused, run_command

COMMON = ("--n", "3", "--horizon", "500", "--epsilon", "1", "--delta", "0")
BANDIT = ("--dim", "2", "--radius", "0.5", "--horizon", "10000", "--epsilon", "1", "--delta", "1e-6")


def test_run_is_a_conversation(capsys):
    assert run_command("run", "arms", *COMMON, "--seed", "1", stdin="0.5\n1\n0\n") == 0
    captured = capsys.readouterr()
    arms = [int(line) for line in captured.out.splitlines()]
    assert len(arms) == 4  # the fourth decision waits for a loss that never comes
    assert set(arms) <= {0, 1, 2}
    assert "3 rounds" in captured.err
    assert "numerics:   exact" in captured.err
    assert run_command("run", "bandit", *BANDIT, "--seed", "1", stdin="0.5\n0.25\n0.75\n") == 0
    points = [[float(x) for x in line.split(",")] for line in capsys.readouterr().out.splitlines()]
    assert len(points) == 4
    assert all(x * x + y * y <= 0.25 + 1e-9 for x, y in points)


@pytest.mark.parametrize(
    ("format", "replies"),
    [
        ("csv", "0.5\n\n1\n\n0.25\n"),
        ("csv", "0.5\nnull\n1\r\n \n 0.25 \n"),
        ("ndjson", "0.5\nnull\n1\n\n0.25\n"),
        ("ndjson", '[0.5]\n[null]\n{"loss": 1}\n{"loss": null}\n[0.25]\n'),
    ],
)
def test_missing_replies_count_as_rounds(format, replies, capsys):
    """Whatever way they are spelt: the decisions are those of the learner that is told None."""
    fields = ("--format", format, "--seed", "3", "--horizon", "9")
    assert run_command("run", "arms", *COMMON, *fields, stdin=replies) == 0
    captured = capsys.readouterr()
    learner = tacit.plan(tacit.Arms(n=3, horizon=9), epsilon=1.0, delta=0.0).start(tacit.Randomness.replayable(3))
    wanted = []
    for loss in (0.5, None, 1.0, None, 0.25):
        wanted.append(learner.play())
        learner.observe(loss)
    assert [int(line) for line in captured.out.splitlines()] == [*wanted, learner.play()]
    assert "5 rounds" in captured.err


def test_json_lines(capsys):
    assert run_command("run", "arms", *COMMON, "--seed", "1", "--json", stdin="0.5\n") == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["round"] == 1
    assert first["decision"] in (0, 1, 2)


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        ((), "2\n", ("Row 1 of standard input", "outside [0, 1]")),
        ((), "much\n", ("Row 1 of standard input", "finite number")),
        ((), "nan\n", ("Row 1 of standard input", "finite number")),
        ((), "0.5,0.5\n", ("Row 1 of standard input", "2 values; expected 1")),
        (("--format", "ndjson"), "NaN\n", ("Row 1 of standard input", "finite number")),
        (("--format", "ndjson"), "[0.5, null]\n", ("Row 1 of standard input", "2 values; expected 1")),
        ((), "0.5\n\n7\n", ("Row 3 of standard input", "a loss outside [0, 1]", "an empty line, or null, is none")),
        (("--format", "ndjson"), "0.5\nno\n", ("Row 2 of standard input", "not JSON")),
    ],
)
def test_bad_input_gets_one_sentence(arguments, stdin, words, capsys):
    error = refused(capsys, "run", "arms", *COMMON, *arguments, stdin=stdin)
    assert all(word in error for word in words), error


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        ((), "0.5\nnan\n", "Row 2 of standard input has no finite number"),
        (("--dim", "10", "--horizon", "30"), "", "T=120 would be enough"),
    ],
)
def test_bandits_get_one_sentence(arguments, stdin, words, capsys):
    assert words in refused(capsys, "run", "bandit", *BANDIT, *arguments, stdin=stdin)
