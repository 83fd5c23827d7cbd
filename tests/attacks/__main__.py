"""`python -m attacks`: try every attack on everything that ships, then show that each finds the bugs planted for it.

An attack is a test with the mark `attack`, named after its row of docs/attacks.md. What it breaks is a failed test.
The controls are the planted bugs: an attack that lets them live has no teeth. The false-alarm level of a row is the
sum over its tests of the probability that one fails although nothing is broken; tests without chance add nothing.
"""

import sys
import warnings
from math import ceil, floor, log10
from pathlib import Path

import pytest

from attacks import tally
from attacks.rows import listed
from attacks.targets import learners, models, wanted
from planted_bugs.__main__ import run
from planted_bugs.catalogue import all_controls
from tacit_models import UsefulnessWarning

ROOT = Path(__file__).parents[2]
QUIET = ("-q", "--no-header", "--no-summary", "-p", "attacks.tally", "-n", "2")


def main() -> int:
    """Exit code 1 if anything broke, if an attack was not tried on all it is meant for, or if a bug survived."""
    code = pytest.main(
        [*QUIET, "-m", "attack", f"--rootdir={ROOT}", f"-c={ROOT / 'pyproject.toml'}", str(ROOT / "tests")]
    )
    controls = all_controls()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsefulnessWarning)  # few rows are enough here
        survived = run(controls, show=False)
    print()
    missed = False
    for name in listed():
        found = tally.TALLIES[name]
        own = [control.name for control in controls if control.row == name]
        dead = [control for control in own if control not in survived]
        left = sorted(wanted(name) - found.attacked)
        missed |= bool(left) or not found.tried or not own
        verdict = f"BROKEN {len(found.broken)}" if found.broken else "broken 0" if found.tried else "NOT TRIED"
        level = f"false alarms below {above(found.false_alarm)}" if found.false_alarm else "no false alarms"
        print(f"{verdict:9s} tried {found.tried:5d}, controls found {len(dead)} of {len(own)}, {level}: {name}")
        if found.attacked:
            print(f"          on {shown(found.attacked)}")
        if left:
            print(f"          NOT TRIED ON {', '.join(left)}")
        for place in (*found.broken, *(f"SURVIVED {control}" for control in own if control in survived)):
            print(f"          {place}")
    tallies = tally.TALLIES.values()
    tried, broken = sum(found.tried for found in tallies), sum(len(found.broken) for found in tallies)
    level = above(sum(found.false_alarm for found in tallies))
    print(f"controls: {len(controls) - len(survived)} of {len(controls)} planted bugs found")
    print(f"{tried} tried, {broken} broken, false alarms below {level}")
    return int(bool(code or broken or survived or missed))


def shown(names: set[str]) -> str:
    """What was attacked, in few words."""
    groups = {"every algorithm of the catalogue": learners(), "every estimator": models()}
    words = [word for word, group in groups.items() if group <= names]
    return ", ".join([*words, *sorted(names.difference(*(groups[word] for word in words)))])


def above(level: float) -> str:
    """A probability in one digit, rounded up."""
    if level == 0:
        return "0"
    unit = 10.0 ** floor(log10(level))
    return f"{ceil(level / unit * (1 - 1e-12)) * unit:.0g}"


if __name__ == "__main__":
    sys.exit(main())
