"""A plugin of pytest: counts, for each attack, how often it was tried, on what, and what it broke.

A test says with `record_property` what it attacks ("attacked"), how likely a false alarm is ("false_alarm"), or that
there was nothing to try ("idle"). PYTEST_DONT_REWRITE: the program reads the counts from the module that it has
imported before.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from attacks.rows import FOLDERS

TESTS = Path(__file__).parents[1]


@dataclass
class Tally:
    """What came of one attack."""

    tried: int = 0
    broken: list[str] = field(default_factory=list)
    false_alarm: float = 0.0
    attacked: set[str] = field(default_factory=set)


TALLIES: dict[str, Tally] = defaultdict(Tally)


def pytest_runtest_setup(item):
    """Write what a test attacks beside its result, where the process that reports can read it."""
    for mark in item.iter_markers("attack"):
        item.user_properties.append(("attack", mark.args[0]))
    folder = item.path.parent.relative_to(TESTS) if item.path.is_relative_to(TESTS) else Path()
    for parent in (folder, *folder.parents):  # the innermost folder that says something
        if parent.as_posix() in FOLDERS:
            item.user_properties.append(("attacked", FOLDERS[parent.as_posix()]))
            break


def pytest_runtest_logreport(report):
    """Count a test once: when it ran, or when its setup failed."""
    if report.skipped or (report.when != "call" and not report.failed):
        return
    told = defaultdict(list)
    for name, value in report.user_properties:
        told[name].append(value)
    for row in told["attack"] if report.failed or not told["idle"] else ():
        tally = TALLIES[row]
        tally.tried += 1
        tally.attacked.update(told["attacked"])
        tally.false_alarm += sum(told["false_alarm"])
        if report.failed:
            tally.broken.append(report.nodeid)
