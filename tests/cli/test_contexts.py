"""`tacit plan`, `simulate` and `audit` for problems with features."""

import pytest

from cli.command import refused, run_command

SIZE = ("contextual-arms", "--n", "3", "--dim", "4", "--horizon", "3000", "--epsilon", "2", "--delta", "1e-6")


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("plan", (), "joint differential privacy by the billboard lemma"),
        ("plan", ("--features", "public"), "every decision, every coin"),
        ("simulate", ("--environment", "one-hot", "--runs", "2"), "certified regret"),
        ("audit", ("--budget", "0.02"), "no violation found"),
    ],
)
def test_commands(command, options, said, capsys):
    assert run_command(command, *SIZE, *options) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_bad_options_get_one_sentence(capsys):
    said = refused(capsys, "plan", *SIZE, "--features", "secret")
    assert "'features' parameter of ContextualArms must be 'private' or 'public'" in said
