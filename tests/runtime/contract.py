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


def same_in_rounds(plan, rows, cut):
    """Two learners with the same noise: one ran two arrays, the other decided as it did round by round."""
    whole, loop = plan.start(Randomness.replayable(2)), plan.start(Randomness.replayable(2))
    decisions = np.concatenate([whole.run(rows[:cut]), whole.run(rows[cut:])])
    for row, decision in zip(rows, decisions, strict=True):
        assert loop.play() == decision
        loop.observe(row)
    assert whole.switches == loop.switches
    return whole, loop


@cache
def made(suite, name):
    """Plans are calibrated once."""
    return Case(*suite.cases[name]())


class LearnerContract:
    """Subclasses list in `cases`, by name, functions that make (plan, feedback)."""

    cases: ClassVar = {}

    @pytest.fixture
    def case(self, request):
        return made(type(self), request.param)

    def test_contract(self, case, check, record_property):
        record_property("attacked", case.plan.algorithm)
        if check == "shown_decisions_are_not_taken_back" and not case.start()._shows:
            record_property("idle", True)
        CHECKS[check](case)


def pytest_generate_tests(metafunc):
    """Every case with every check; modules that inherit the suite import this function."""
    if metafunc.function.__name__ == "test_contract" and issubclass(metafunc.cls, LearnerContract):
        metafunc.parametrize("case", list(metafunc.cls.cases), indirect=True)
        metafunc.parametrize("check", [attacking(name) for name in CHECKS])


def attacking(check):
    """A check, marked by the attack that it tries, if it does."""
    marks = pytest.mark.attack(CHECKED[check]) if check in CHECKED else ()
    return pytest.param(check, marks=marks)
