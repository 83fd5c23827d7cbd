"""Run the command line in this process."""

import sys
from unittest.mock import patch

from tacit.cli.main import main


def run_command(*arguments):
    """The exit code of `tacit` with these arguments; output goes where pytest captures it."""
    with patch.object(sys, "argv", ["tacit", *arguments]):
        try:
            main()
        except SystemExit as leaving:
            return leaving.code or 0
    return 0


def refused(capsys, *arguments):
    """The one sentence of a command that refuses its arguments or its input."""
    assert run_command(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    assert len(error) < 400
    return error
