"""The contract of learners as a suite: the tests of every kind of problem inherit it and give their cases."""

from functools import cache
from typing import ClassVar

import numpy as np
import pytest

from attacks.rows import CHECKED
from tacit import Randomness
from tacit.testing import CHECKS
from tacit.testing.rounds import Case

ROUNDS = 40
# What blocks, batches and epochs may break, which short streams do not reach.
LONG = ("run_is_the_loop", "parts_and_loops_mix", "replayable_states_continue")


def numbers(*shape, name="feedback"):
    """Numbers in [0, 1), always the same."""
    return Randomness.replayable(21).stream(name).random(shape)


def losses(n, rounds=ROUNDS):
    """One loss per expert: general position, extremes and ties."""
    rows = numbers(rounds, n)
    rows[::3] = np.round(rows[::3])
    return list(rows)


def vectors(dimension, rounds=ROUNDS):
    """Vectors in the unit box around 0."""
    return list(2 * numbers(rounds, dimension) - 1)


def pairs(dimension, rounds=ROUNDS):
    """Features and a label."""
    labels = np.sign(numbers(rounds, name="labels") - 0.5)
    return [(row, float(label)) for row, label in zip(vectors(dimension, rounds), labels, strict=True)]


@cache
def made(suite, name):
    """Plans are calibrated once."""
    return Case(*suite.cases[name]())


class LearnerContract:
    """Subclasses list in `cases` and `long`, by name, functions that make (plan, feedback)."""

    cases: ClassVar = {}
    long: ClassVar = {}
    long_checks: ClassVar = LONG

    def __init_subclass__(cls):
        if not cls.cases:
            cls.test_contract = None
        if not cls.long:
            cls.test_long_streams = None

    @pytest.fixture
    def case(self, request):
        return made(type(self), request.param)

    @pytest.fixture
    def long_case(self, request):
        return Case(*self.long[request.param]())

    def test_contract(self, case, check, record_property):
        record_property("attacked", case.plan.algorithm)
        if check == "shown_decisions_are_not_taken_back" and not case.start().shows_decisions:
            record_property("idle", True)
        CHECKS[check](case)

    def test_long_streams(self, long_case, check):
        CHECKS[check](long_case)


def pytest_generate_tests(metafunc):
    """Every case with every check; modules that inherit the suite import this function."""
    name = metafunc.function.__name__
    if name == "test_contract" and issubclass(metafunc.cls, LearnerContract):
        metafunc.parametrize("case", list(metafunc.cls.cases), indirect=True)
        metafunc.parametrize("check", [attacking(name) for name in CHECKS])
    if name == "test_long_streams":
        metafunc.parametrize("long_case", list(metafunc.cls.long), indirect=True)
        metafunc.parametrize("check", metafunc.cls.long_checks)


def attacking(check):
    """A check, marked by the attack that it tries, if it does."""
    marks = pytest.mark.attack(CHECKED[check]) if check in CHECKED else ()
    return pytest.param(check, marks=marks)
