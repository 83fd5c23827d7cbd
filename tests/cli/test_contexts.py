"""`tacit run` in contexts: features or recommendations in, an action out, its loss in."""

import json

import pytest

import tacit
from cli.command import refused, run_command

SIZE = ("contextual-arms", "--n", "3", "--dim", "4", "--horizon", "3000", "--epsilon", "2", "--delta", "1e-6")
ADVISED = ("policies", "--n", "3", "--actions", "4", "--horizon", "50", "--epsilon", "2", "--delta", "0")


@pytest.mark.parametrize(
    ("command", "problem", "contexts"),
    [
        (
            SIZE,
            tacit.ContextualArms(n=3, dimension=4, horizon=3000),
            [[0.5, 0.5, 0, 0.25], [1, 2, 3, 4], [0, 0, 0, 0.1]],
        ),
        (ADVISED, tacit.Policies(n=3, actions=4, horizon=50), [[0, 3, 3], [2, 1, 0], [1, 1, 1]]),
    ],
    ids=["features", "recommendations"],
)
@pytest.mark.parametrize("format", ["csv", "ndjson"])
def test_run_is_a_conversation(command, problem, contexts, format, capsys):
    """Context in, action out, loss in: the decisions of the learner that is told the same."""
    written = [json.dumps(x) if format == "ndjson" else ",".join(map(str, x)) for x in contexts]
    lines = [written[0], "0.5", written[1], "", written[2]]
    assert run_command("run", *command, "--seed", "3", "--format", format, stdin="\n".join(lines) + "\n") == 0
    captured = capsys.readouterr()
    delta = 1e-6 if command is SIZE else 0.0
    learner = tacit.plan(problem, epsilon=2.0, delta=delta).start(tacit.Randomness.replayable(3))
    wanted = []
    for context, loss in zip(contexts, (0.5, None), strict=False):
        wanted.append(learner.play(context))
        learner.observe(loss)
    assert [int(line) for line in captured.out.splitlines()] == [*wanted, learner.play(contexts[2])]
    assert "2 rounds" in captured.err


@pytest.mark.parametrize(
    ("command", "stdin", "words"),
    [
        (SIZE, "0.1,0.2\n", ("Row 1 of standard input", "2 values; expected 4")),
        (SIZE, "null\n", ("Row 1 of standard input", "1 values; expected 4")),
        (SIZE, "0,0,,0\n", ("Row 1 of standard input", "finite number")),
        (SIZE, "0,0,0,1\n7\n", ("Row 2 of standard input", "a loss outside [0, 1]", "is spent")),
        (SIZE, "0,0,0,1\n1\n0,0,0\n", ("Row 3 of standard input", "3 values; expected 4")),
        (ADVISED, "0,1,4\n", ("Row 1 of standard input", "an action from 0 to 3 for each policy")),
        (ADVISED, "0,1,0.5\n", ("Row 1 of standard input", "an action from 0 to 3 for each policy")),
    ],
)
def test_bad_lines_get_one_sentence(command, stdin, words, capsys):
    said = refused(capsys, "run", *command, "--seed", "1", stdin=stdin)
    assert all(word in said for word in words), said
