"""The command line: plan, simulate, audit, contract, demo, serve, token, store, experiments.

Answers go to standard output, errors to standard error. Exit codes: 0 done, also if the reader of the
output went away; 1 an audit broke a contract, or a contract was refused; 2 bad input with one clear sentence, or a
contract that cannot be verified yet; 130 interrupted.
"""

from __future__ import annotations

import os
import sys

from tacit.errors import TacitError
from tacit.validation import require


def main() -> None:
    """The entry point of the `tacit` command."""
    _fill_closed_streams()
    try:
        require("rich", "tacit[cli]")
        require("typer", "tacit[cli]")
        from tacit.cli.app import app

        app()
    except TacitError as error:
        sys.stderr.write(f"Error: {error}\n")
        raise SystemExit(2) from None
    except OSError as error:
        sys.stderr.write(f"Error: {error.filename or 'a file'}: {error.strerror or error}.\n")
        raise SystemExit(2) from None


def _fill_closed_streams() -> None:
    """Where a shell closed a standard stream (`>&-`) nothing is read or written, and no other file gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


if __name__ == "__main__":
    main()
