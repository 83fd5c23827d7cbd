"""A plugin of pytest: counts, for each attack, how often it was tried and what it broke.

PYTEST_DONT_REWRITE: the program reads the counts from the module that it has imported before.
"""

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Tally:
    """What came of one attack."""

    tried: int = 0
    broken: list[str] = field(default_factory=list)
    false_alarm: float = 0.0


TALLIES: dict[str, Tally] = defaultdict(Tally)


def pytest_runtest_setup(item):
    """Write what a test attacks beside its result, where the process that reports can read it."""
    for mark in item.iter_markers("attack"):
        item.user_properties.append(("attack", mark.args[0], mark.kwargs.get("false_alarm", 0.0)))


def pytest_runtest_logreport(report):
    """Count a test once: when it ran, or when its setup failed."""
    if report.skipped or (report.when != "call" and not report.failed):
        return
    for kind, *found in report.user_properties:
        if kind == "attack":
            tally = TALLIES[found[0]]
            tally.tried += 1
            tally.false_alarm += found[1]
            if report.failed:
                tally.broken.append(report.nodeid)
