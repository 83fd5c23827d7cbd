"""Checks of arguments: NaN fails, bool is no number, one clear sentence."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import tacit
from tacit.errors import InvalidInput, MissingExtra
from tacit.validation import (
    LARGEST,
    check_choice,
    check_integer,
    check_number,
    check_positive,
    check_privacy,
    real_array,
    require,
)

NO_NUMBERS = [True, np.True_, "1", None, 1j, [1.0], np.array([1.0, 2.0]), np.nan, np.inf, -np.inf, 10**400, Decimal(1)]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda v: str(v)[:12])
def test_no_numbers(value):
    for check in (check_number, check_positive):
        with pytest.raises(InvalidInput, match="'x' parameter of Owner"):
            check("Owner", "x", value)


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), np.float64(1), Fraction(1, 1)])
def test_numbers_become_floats(value):
    assert check_number("Owner", "x", value) == 1.0
    assert type(check_number("Owner", "x", value)) is float


def test_interval_ends():
    assert check_number("O", "x", 0.0, above=0.0, closed_low=True) == 0.0
    assert check_number("O", "x", 1.0, below=1.0, closed_high=True) == 1.0
    for value, ends, words in (
        (0.0, {"above": 0.0}, "above 0"),
        (1.0, {"below": 1.0}, r"in \(-inf, 1\)"),
        (-1e-300, {"above": 0.0, "closed_low": True}, "of at least 0"),
        (2e60, {"above": 3.0, "below": LARGEST, "closed_high": True}, r"above 3 \(and at most 1e\+60\)"),
        (np.nan, {}, ""),
    ):
        with pytest.raises(InvalidInput, match=rf"must be a finite number ?{words}\. Got "):
            check_number("O", "x", value, **ends)
    with pytest.raises(InvalidInput, match=r"in \[0, 1\)"):
        check_number("O", "x", 1.0, above=0.0, below=1.0, closed_low=True)


@pytest.mark.parametrize("value", [True, np.True_, 1.0, np.float64(2), "1", None, np.nan, 0, -3])
def test_no_counts(value):
    with pytest.raises(InvalidInput, match="a whole number of at least 1"):
        check_integer("O", "x", value)


def test_counts():
    assert check_integer("O", "x", np.int64(3)) == 3
    assert type(check_integer("O", "x", np.uint8(3))) is int
    assert check_integer("O", "x", 0, at_least=0) == 0
    with pytest.raises(InvalidInput, match="from 1 to 4"):
        check_integer("O", "x", 5, at_most=4)


@pytest.mark.parametrize("value", [0, -1, 1e-61, 1e61, None])
def test_what_is_not_positive(value):
    with pytest.raises(InvalidInput, match=r"must be a positive number \(1e-60 to 1e\+60\)\. Got "):
        check_positive("O", "x", value)


def test_choice():
    assert check_choice("O", "x", "a", ("a", "b")) == "a"
    for value in ("c", None, True):
        with pytest.raises(InvalidInput, match="'a' or 'b'"):
            check_choice("O", "x", value, ("a", "b"))
    with pytest.raises(InvalidInput, match="'a', 'b' or 'c'"):
        check_choice("O", "x", "d", ("a", "b", "c"))
    with pytest.raises(InvalidInput, match="must be 'a'"):
        check_choice("O", "x", "d", ("a",))
    with pytest.raises(InvalidInput):
        check_choice("O", "x", True, (1, 2))


def test_privacy():
    assert check_privacy("O", 1, 0) == (1.0, 0.0)
    for epsilon, delta in ((0, 0.1), (-1, 0.1), (1, 1), (1, -0.1), (True, 0.1), (1, False), (np.nan, 0.1), (1, np.nan)):
        with pytest.raises(InvalidInput):
            check_privacy("O", epsilon, delta)


def test_real_array_copies_what_it_checks():
    array = np.zeros((2, 3))
    copied = real_array("O", "x", array, (None, 3))
    array[0, 0] = 1.0
    assert copied[0, 0] == 0.0
    array[0, 0] = 0.0
    for other in (array.astype(np.float32), array.astype(int), array.tolist(), array.astype(np.uint64)):
        converted = real_array("O", "x", other, (2, 3))
        assert converted.dtype == np.float64
        np.testing.assert_array_equal(converted, array)


@pytest.mark.parametrize(
    "values",
    [[True], ["1"], [1j], [None], [object()], np.array([1], dtype="M8[s]"), [10**400], np.zeros(1, np.longdouble)],
)
def test_real_array_wants_real_numbers(values):
    with pytest.raises(InvalidInput, match="real numbers"):
        real_array("O", "x", values, (1,))


@pytest.mark.parametrize("values", [[[1], [1, 2]], [1, [2]]])
def test_real_array_wants_rectangles(values):
    with pytest.raises(InvalidInput, match="rectangular") as error:
        real_array("O", "x", values, (None, None))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("values", [1.0, [1.0], [[1.0]], np.zeros((2, 3, 1)), np.zeros((3, 2))])
def test_real_array_wants_its_shape(values):
    with pytest.raises(InvalidInput, match=r"must have shape \(any, 3\)"):
        real_array("O", "x", values, (None, 3))


def test_require_names_the_extra():
    assert require("json", "tacit[cli]").dumps([]) == "[]"
    with pytest.raises(MissingExtra, match=r"needs no_such_module.*tacit\[plots\]"):
        require("no_such_module.part", "tacit[plots]")


@pytest.mark.parametrize("number", [np.longdouble("0.1"), np.float32(0.5), Fraction(1, 10)])
def test_plans_hold_numbers_of_pythons_own(number):
    """A longer float made other coins than the contract's, which JSON could not hold."""
    plan = tacit.algorithms.LazyExperts(tacit.Experts(n=2, horizon=20), eta=number, force=number)
    assert (type(plan.eta), plan.eta) == (float, float(number))
    assert tacit.verify(json.dumps(tacit.contract(plan))).answer == "yes"


def test_whole_numbers_of_any_size_are_numbers():
    """Whether a loss is written 2**64 or 2.0**64 must not show."""
    learner = tacit.algorithms.LazyExperts(
        tacit.Experts(n=2, horizon=9, loss_range=(0, 1e30)), eta=0.1, force=0.1
    ).start()
    for losses in ([2**64, 1], [2.0**64, 1]):
        learner.play()
        learner.observe(losses)
    learner.play()
    for losses in ([10**400, 1], [2**64, "1"]):
        with pytest.raises(InvalidInput, match="real numbers"):
            learner.observe(losses)
