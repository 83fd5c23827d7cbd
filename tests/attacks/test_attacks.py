"""Every attack of the page is tried, on all that it is meant for, and has a planted bug that shows its teeth."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from attacks import rows, tally
from attacks.__main__ import above, shown
from attacks.targets import learners, models, wanted
from planted_bugs.catalogue import all_controls
from runtime.contract import LearnerContract, made
from tacit.testing import CHECKS

TESTS = Path(__file__).parents[1]
CONSTANTS = {name: value for name, value in vars(rows).items() if name.isupper() and isinstance(value, str)}


def marked():
    """The attacks that decorators name, by constant or in words."""
    for path in TESTS.rglob("test_*.py"):
        for word, text in re.findall(r"mark\.attack\((?:rows\.([A-Z_]+)|[\"'](.*?)[\"'])[,)]", path.read_text()):
            yield CONSTANTS[word] if word else text


def suites():
    """The contract suites of all learners."""
    for path in sorted([*(TESTS / "algorithms").rglob("test_*.py"), *(TESTS / "runtime").rglob("test_*.py")]):
        if "(LearnerContract)" in path.read_text():
            module = import_module(".".join(path.relative_to(TESTS).with_suffix("").parts))
            kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind is not LearnerContract]
            yield from (kind for kind in kinds if issubclass(kind, LearnerContract))


def test_every_row_is_tried_and_every_try_has_a_row():
    assert set(marked()) | set(rows.CHECKED.values()) == set(rows.listed())


def test_every_row_has_a_control():
    assert {control.row for control in all_controls()} == set(rows.listed())


def test_the_table_of_states_names_every_algorithm():
    table = rows.PAGE.read_text().split("| learner | drawn in advance")[1].split("\n\n")[0]
    assert learners() <= set(re.findall(r"`(\w+)`", table))


def test_checks_exist():
    assert set(rows.CHECKED) <= set(CHECKS)


def test_every_algorithm_of_the_catalogue_is_attacked():
    """By the contract suite; audits, words about arithmetic and limits on switches have such a test of their own."""
    found = {made(suite, name).plan.algorithm for suite in suites() for name in suite.cases}
    assert learners() <= found


def test_what_is_to_be_attacked_exists():
    assert set(rows.TRIED_ON) <= set(rows.listed())
    things = {rows.STORE, rows.SERVICE, rows.FLEET, rows.TABLE}
    assert {name for row in rows.listed() for name in wanted(row)} <= learners() | models() | things
    assert all((TESTS / folder).is_dir() for folder in rows.FOLDERS)


class Report:
    nodeid, when, skipped, failed = "here", "call", False, True
    user_properties = (("attack", "only here"), ("attacked", "store"), ("false_alarm", 1e-6), ("false_alarm", 2e-6))


class Idle(Report):
    failed = False
    user_properties = (("attack", "only here"), ("idle", True), ("attacked", "fleet"))


def test_what_fails_is_broken():
    for report in (Report, Idle):
        tally.pytest_runtest_logreport(report)
    found = tally.TALLIES.pop("only here")
    assert (found.tried, found.broken, found.attacked) == (1, ["here"], {"store"})
    assert found.false_alarm == pytest.approx(3e-6)


@pytest.mark.parametrize(("level", "text"), [(0.0, "0"), (3.2e-4, "0.0004"), (1e-5, "1e-05"), (9.5e-7, "1e-06")])
def test_levels_are_rounded_up(level, text):
    assert above(level) == text


def test_what_was_attacked_is_said_in_few_words():
    assert shown({*learners(), "store", "LazyOCO"}) == "every algorithm of the catalogue, LazyOCO, store"
    assert shown({"PrivateRidge"}) == "PrivateRidge"
