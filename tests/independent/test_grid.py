"""The second accountant against every plan of the catalogue: stated follows, forged does not, and both are close."""

import pytest

from independent.grid import (
    ENTRIES,
    Cell,
    a_few,
    catalogue,
    checked,
    the_rest,
)
from tacit.verification.algorithms import ACCOUNTANTS


def test_every_algorithm_of_the_catalogue_is_on_the_grid():
    """Who joins the catalogue joins the grid, and needs an accountant of its own."""
    chosen = catalogue() | {"PrivateDescent"}  # certified about training records: estimators choose it, no plan does
    assert {entry.algorithm.__name__ for entry in ENTRIES} == chosen == set(ACCOUNTANTS)


@pytest.mark.parametrize("cells", [a_few, pytest.param(the_rest, marks=pytest.mark.slow)])
@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_both_accountants(entry, cells):
    found = [result for result in (checked(entry, cell) for cell in cells(entry)) if result]
    assert found
    assert all(result.answer == "yes" for result in found), found


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_first_epochs_of_plans_without_a_horizon(entry):
    cells = [Cell(relation, 1, 1.0, delta, None) for relation in ("replace", "zero-out") for delta in (0.0, 1e-6)]
    found = [result for result in (checked(entry, cell) for cell in cells) if result]
    assert all(result.answer == "yes" for result in found), found
