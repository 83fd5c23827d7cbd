"""Every attack of the page is tried by some test, and every test that says it attacks names a row of the page."""

import re
from pathlib import Path

import pytest

from attacks import rows, tally
from tacit.testing import CHECKS

TESTS = Path(__file__).parents[1]
CONSTANTS = {name: value for name, value in vars(rows).items() if name.isupper() and isinstance(value, str)}


def marked():
    """The attacks that decorators name, by constant or in words."""
    for path in TESTS.rglob("test_*.py"):
        for word, text in re.findall(r"mark\.attack\((?:rows\.([A-Z_]+)|[\"'](.*?)[\"'])[,)]", path.read_text()):
            yield CONSTANTS[word] if word else text


def test_every_row_is_tried_and_every_try_has_a_row():
    assert set(marked()) | set(rows.CHECKED.values()) == set(rows.listed())


def test_checks_exist():
    assert set(rows.CHECKED) <= set(CHECKS)


def test_what_fails_is_broken():
    class Report:
        nodeid, when, skipped, failed = "here", "call", False, True
        user_properties = (("attack", "only here", 1e-6),)

    tally.pytest_runtest_logreport(Report)
    found = tally.TALLIES.pop("only here")
    assert (found.tried, found.broken, found.false_alarm) == (1, ["here"], pytest.approx(1e-6))
