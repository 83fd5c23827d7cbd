"""The commands of this package: found by their entry points, with the options of all commands."""

from importlib.metadata import entry_points
from inspect import signature

import pytest

from cli.command import run_command
from tacit.cli.options import Output
from tacit.cli.plugins import GROUP
from tacit.packages import COMMANDS

FOUND = entry_points(group=GROUP)


def test_tacit_knows_which_package_each_command_is_in():
    assert {entry.name: entry.dist.name for entry in FOUND} == COMMANDS


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_the_options_of_all(name, capsys):
    commands = FOUND[name].load().registered_commands
    for command in commands:
        assert set(signature(Output).parameters) <= set(signature(command.callback).parameters)
    assert run_command(name, "--help") == 0
    assert f"Usage: tacit {name}" in " ".join(capsys.readouterr().out.split())


def test_a_folder_that_is_missing_is_found_before_the_work(tmp_path, capsys):
    assert run_command("demo", "--output", str(tmp_path / "missing" / "file.png")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "There is no folder" in captured.err
