"""The second accountant against every plan of the catalogue: stated follows, forged does not, and both are close."""

import pytest

from independent.grid import (
    ENTRIES,
    EPSILONS,
    HORIZONS,
    PEOPLE,
    Cell,
    a_few,
    catalogue,
    checked,
    covering,
    every_cell,
    the_rest,
)
from tacit.verification.algorithms import ACCOUNTANTS


def test_every_algorithm_of_the_catalogue_is_on_the_grid():
    """Who joins the catalogue joins the grid, and needs an accountant of its own."""
    chosen = catalogue() | {"PrivateDescent"}  # certified about training records: estimators choose it, no plan does
    assert {entry.algorithm.__name__ for entry in ENTRIES} == chosen == set(ACCOUNTANTS)


def test_the_cover_meets_every_pair_of_values():
    chosen = covering()
    assert set(chosen) <= set(every_cell())
    assert len(chosen) <= 70
    assert {(cell.epsilon, cell.horizon) for cell in chosen} == {(e, rounds) for e in EPSILONS for rounds in HORIZONS}
    assert {(cell.people, cell.horizon) for cell in chosen} == {(m, rounds) for m in PEOPLE for rounds in HORIZONS}


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_a_few_and_the_rest_are_the_grid(entry):
    """Each cell once; the slow entries leave some out, none that the cover needs."""
    cells = [*a_few(entry), *the_rest(entry)]
    assert set(covering()) <= set(cells) <= set(every_cell())
    assert len(cells) == len(set(cells)) == (325 if entry.slow else 360)


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
