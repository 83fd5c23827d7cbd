"""Printed formulas of the paper on CTRL, against a second typing with 50 digits."""

import pytest

from printed.typed_ctrl import SETTINGS, errors
from tacit.printed import ctrl


@pytest.mark.parametrize(("name", "error"), [pytest.param(*each, id=each[0]) for each in errors()])
def test_printed_formulas_against_mpmath(name, error):
    assert error < 1e-12


def test_losses_without_curvature_leave_the_rate_of_learning():
    flat = ctrl.Losses(10_000, 4, 1.0, 0.0, 2.0)
    assert ctrl.theorem_8(flat, 1.0, 1e-6)["eta"] == pytest.approx(0.01)
    assert ctrl.theorem_11(flat, 1.0, 1e-6)["eta"] == pytest.approx(0.01)
    assert ctrl.theorem_9(flat, 100)["eta"] == ctrl.theorem_12(flat, 100)["eta"] == pytest.approx(0.01)


def test_another_constant_changes_what_it_stands_in():
    losses = ctrl.Losses(2000, 3, 1.0, 1.0, 2.0)
    for theorem in (ctrl.theorem_8, ctrl.theorem_11):
        printed, repaired = theorem(losses, 1.0, 1e-6), theorem(losses, 1.0, 1e-6, 100.0)
        assert repaired["eta"] == pytest.approx(10 * printed["eta"])
        assert repaired["sigma"] == pytest.approx(printed["sigma"] / 10)


def test_the_printed_range_of_theorem_13_falls_below_one():
    for setting in SETTINGS[:2]:
        losses = ctrl.Losses(setting["T"], setting["d"], setting["G"], setting["beta"], setting["D"])
        least = ctrl.theorem_13(losses, setting["lam"], 1.0)["least"]
        sigma = ctrl.theorem_13(losses, setting["lam"], least)["sigma"]
        assert ctrl.theorem_13_phi(losses, setting["lam"], sigma, 2) > 1
        assert ctrl.theorem_13_phi(losses, setting["lam"], sigma, setting["T"]) < 1
