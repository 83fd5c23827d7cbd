"""`python -m planted_bugs`: plant every bug, run its attack, print killed or survived."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from planted_bugs.catalogue import Control, all_controls


def run(controls: Sequence[Control], show: bool = True) -> list[str]:
    """Run the controls; the names of those that failed: a bug that survived, or a false alarm."""
    failed = []
    for control in controls:
        started = time.perf_counter()
        try:
            killed = control.killed()
            quiet = control.quiet()
        except Exception as error:
            killed, quiet = False, True
            sys.stderr.write(f"{control.name}: {type(error).__name__}: {error}\n")
        verdict = "killed" if killed and quiet else "FALSE ALARM" if killed else "SURVIVED"
        if verdict != "killed":
            failed.append(control.name)
        if show:
            seconds = time.perf_counter() - started
            print(f"{verdict:11s} {control.family:11s} {control.name}  ({seconds:.1f} s)", flush=True)
    return failed


def main() -> int:
    """Run all of them; exit code 1 if any bug survived."""
    controls = all_controls()
    failed = run(controls)
    print(f"{len(controls) - len(failed)} of {len(controls)} planted bugs killed, {len(failed)} survived")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
