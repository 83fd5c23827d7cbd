"""What is certified is shown and added up on its safe side; words about arithmetic add up too."""

from fractions import Fraction

import numpy as np
import pytest

import tacit
from tacit.accounting.curves import Gaussian, Pure
from tacit.accounting.guarantee import Guarantee
from tacit.accounting.rounding import (
    EXACT,
    IDEALIZED,
    composed_numerics,
    exact_up_to,
    extra_epsilon,
    rounded_up,
    sum_up,
)
from tacit.errors import InvalidInput
from tacit.runtime.target import RegretBound

VALUES = np.concatenate([np.geomspace(1e-7, 1e9, 997), [0.99996, 9.9994, 9.9996, 1.0, 0.1, 123.45, 99999.0, 1e-320]])


@pytest.mark.parametrize("digits", [1, 2, 4, 6])
def test_shown_numbers_are_rounded_up(digits):
    for value in VALUES.tolist():
        for text in (rounded_up(value, digits), rounded_up(value, digits, thousands=True).replace(",", "")):
            assert value <= float(text) <= value * (1 + 1.1 * 10.0 ** (1 - digits)) + 5e-324
    assert (rounded_up(0.0), rounded_up(0.1, digits), rounded_up(1e-5, digits)) == ("0", "0.1", "1e-05")
    assert rounded_up(float("inf")) == rounded_up(float("nan")) == "inf"
    assert rounded_up(1234567.2, 4, thousands=True) == "1.235e+06"
    assert rounded_up(1234.2, 5, thousands=True) == "1,234.2"


def test_bounds_are_printed_above_their_value():
    """20 of 40 plans used to print less than they certify."""
    for value in VALUES.tolist():
        bound = RegretBound(value, "x")
        assert float(str(bound).split(" = ")[0]) >= value
    plan = tacit.plan(tacit.Experts(n=3, horizon=300), epsilon=1.0, delta=1e-6)
    for candidate in plan.candidates:
        if candidate.plan is not None:
            shown = next(row for row in plan._rows() if row[0] == candidate.algorithm)
            assert float(shown[-3].replace(",", "")) >= float(candidate.regret_bound)
            assert float(shown[-2].removeprefix("<= ").replace(",", "")) >= candidate.plan.expected_switches
    first = plan.plan.explain().split(": ")[1].split("\n")[0]
    assert float(first.split(" (")[0]) >= float(plan.regret_bound)


def test_contracts_print_delta_on_its_safe_side():
    for delta in (1.23456789e-6, 1e-6, 1 / 3):
        text = str(Guarantee(Gaussian(0.3), delta, "x", "y"))
        shown = text.split("delta=")[1].split(" ")[0]
        assert delta <= float(shown) <= delta * (1 + 1e-5)
    assert "epsilon=0.5001 (pure)" in str(Guarantee(Pure(0.50001), 0.0, "x", "y"))


def test_sums_are_exact_or_above():
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = (rng.random(7) * 10.0 ** rng.integers(-12, 3, 7)).tolist()
        exact = sum(Fraction(v) for v in values)
        assert exact <= Fraction(sum_up(values)) <= exact * (1 + Fraction(1, 2**51))
    assert sum_up([1.0, 1.0]) == 2.0
    assert sum_up([]) == 0.0
    assert sum_up([1e308, 1e308]) == float("inf")
    assert sum_up([1.0, float("inf")]) == sum_up([float("nan")]) == float("inf")


def test_words_about_arithmetic():
    assert extra_epsilon(EXACT) == 0.0
    assert extra_epsilon(IDEALIZED) == float("inf")
    assert extra_epsilon("exact up to an extra epsilon of 1.6e-23") == 1.6e-23
    for extra in (1.51e-23, 1e-300, 0.37, 3e-9):
        assert extra <= extra_epsilon(exact_up_to(extra)) <= extra * 1.1
    for wrong in ("roughly", "exact up to an extra epsilon of", "exact up to an extra epsilon of x", "", None, 3):
        with pytest.raises(InvalidInput, match="'numerics'"):
            extra_epsilon(wrong)
    for wrong in ("exact up to an extra epsilon of nan", "exact up to an extra epsilon of -1"):
        with pytest.raises(InvalidInput, match="'numerics'"):
            Guarantee(Pure(1.0), 0.0, "x", "y", numerics=wrong)


def test_extras_add_up_and_idealized_wins():
    few, more = exact_up_to(1.6e-23), exact_up_to(2.5e-20)
    assert composed_numerics([EXACT, EXACT]) == EXACT
    assert composed_numerics([EXACT, few]) == few
    assert extra_epsilon(composed_numerics([few, more, more])) >= 5.0016e-20
    assert composed_numerics([few, IDEALIZED, EXACT]) == IDEALIZED
    parts = [Guarantee(Pure(0.1), 0.0, "x", "y", numerics=words) for words in (EXACT, few, more)]
    whole = parts[0].compose(*parts[1:])
    assert whole.numerics == "exact up to an extra epsilon of 2.6e-20"
    assert Guarantee.from_json(whole.to_json()) == whole
