import pytest

from cli.command import refused, run_command

COMMON = ("--dim", "2", "--radius", "0.5", "--horizon", "10000", "--epsilon", "1", "--delta", "1e-6")


def test_run_is_a_conversation(capsys):
    assert run_command("run", "bandit", *COMMON, "--seed", "1", stdin="0.5\n0.25\n0.75\n") == 0
    captured = capsys.readouterr()
    points = [[float(x) for x in line.split(",")] for line in captured.out.splitlines()]
    assert len(points) == 4  # the fourth decision waits for a value that never comes
    assert all(x * x + y * y <= 0.25 + 1e-9 for x, y in points)
    assert "3 rounds" in captured.err


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        ((), "much\n", ("Row 1 of standard input", "finite number")),
        ((), "nan\n", ("Row 1", "finite number")),
        (("--dim", "10", "--horizon", "30"), "", ("T=120 would be enough",)),
    ],
)
def test_bad_input_gets_one_sentence(arguments, stdin, words, capsys):
    error = refused(capsys, "run", "bandit", *COMMON, *arguments, stdin=stdin)
    assert all(word in error for word in words), error
