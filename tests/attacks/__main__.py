"""`python -m attacks`: try every attack on everything that ships, then show that each finds the bugs planted for it.

An attack is a test with the mark `attack`, named after its row of docs/attacks.md. What it breaks is a failed test.
The controls are the planted bugs: an attack that lets them live has no teeth.
"""

import sys
from pathlib import Path

import pytest

from attacks import tally
from attacks.rows import listed
from planted_bugs.__main__ import run
from planted_bugs.catalogue import all_controls

ROOT = Path(__file__).parents[2]
QUIET = ("-q", "--no-header", "--no-summary", "-p", "attacks.tally", "-n", "2")


def main() -> int:
    """Exit code 1 if anything broke, if an attack was not tried, or if a planted bug survived."""
    code = pytest.main(
        [*QUIET, "-m", "attack", f"--rootdir={ROOT}", f"-c={ROOT / 'pyproject.toml'}", str(ROOT / "tests")]
    )
    print()
    for name in listed():
        found = tally.TALLIES[name]
        verdict = f"BROKEN {len(found.broken)}" if found.broken else "broken 0" if found.tried else "NOT TRIED"
        print(f"{verdict:9s} tried {found.tried:5d}  false alarms below {found.false_alarm:.1g}  {name}")
        for place in found.broken:
            print(f"          {place}")
    controls = all_controls()
    survived = run(controls, show=False)
    print(f"controls: {len(controls) - len(survived)} of {len(controls)} planted bugs found")
    for name in survived:
        print(f"          SURVIVED {name}")
    tried = sum(found.tried for found in tally.TALLIES.values())
    broken = sum(len(found.broken) for found in tally.TALLIES.values())
    print(f"{tried} tried, {broken} broken")
    missed = [name for name in listed() if not tally.TALLIES[name].tried]
    return int(bool(code or broken or survived or missed))


if __name__ == "__main__":
    sys.exit(main())
