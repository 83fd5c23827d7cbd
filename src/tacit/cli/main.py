"""The command line: plan, run, simulate, sweep, report, audit, bench, demo.

Decisions go to standard output, everything else to standard error. Exit codes: 0 done, 2 bad input with
one clear sentence.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point of the `tacit` command."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write("The command line needs the extra 'cli': pip install 'tacit[cli]'.\n")
        raise SystemExit(2) from None
    from tacit.cli.app import app
    from tacit.errors import TacitError

    try:
        app()
    except TacitError as error:
        sys.stderr.write(f"Error: {error}\n")
        raise SystemExit(2) from None
    except BrokenPipeError:
        # The reader went away: nothing is wrong, but Python would complain once more at exit.
        sys.stderr.close()
        raise SystemExit(0) from None
    except OSError as error:
        sys.stderr.write(f"Error: {error.filename or 'a file'}: {error.strerror or error}.\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
