"""A contract with one field changed is refused, or the field promises nothing: it is named as such."""

import pytest
from jsonschema import Draft202012Validator

import tacit
from tacit.errors import InvalidInput
from tacit.verification.algorithms import ACCOUNTANTS
from tacit.verification.schema import check_schema
from verification.mutations import accepted, free, mutations, places, told
from verification.test_verify import EXPERTS, VERIFIABLE, contract_of, written

FEW, MANY = 12, 1000
FIRST = {algorithm: (problem, changes) for algorithm, problem, changes in reversed(VERIFIABLE)}


def made_by(algorithm):
    return contract_of(algorithm, *FIRST[algorithm])


def strays(contract, count, seed):
    """The places of accepted mutations that nobody said to promise nothing."""
    fields = free(contract)
    return [
        each.place
        for each in mutations(contract, count, seed)
        if accepted(each.contract) and not told(each.place, fields)
    ]


@pytest.mark.parametrize(
    ("count", "seed"), [(FEW, 1), pytest.param(MANY, 2, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("algorithm", FIRST, ids=lambda algorithm: algorithm.__name__)
def test_mutations_are_refused_or_promise_nothing(algorithm, count, seed):
    assert strays(made_by(algorithm), count, seed) == []


@pytest.mark.parametrize(
    ("algorithm", "problem", "delta"),
    [
        (tacit.algorithms.HedgeOnSums, tacit.Experts(n=3, horizon=None), 1e-6),
        (tacit.algorithms.LiveArms, tacit.Arms(n=3, horizon=None, adversary="stochastic"), 0.0),
    ],
    ids=["epochs", "endless"],
)
def test_mutations_of_plans_without_a_horizon(algorithm, problem, delta):
    plan = algorithm.calibrate(problem, epsilon=1.0, delta=delta)
    made = written(plan)
    fields = (*free(made), *(f"epochs.{name}" for name in free(made)))
    found = [each.place for each in mutations(made, 150, 4) if accepted(each.contract)]
    assert [place for place in found if not told(place, fields)] == []


def test_fields_that_promise_nothing_are_fields():
    """And every algorithm has an accountant and words."""
    assert {algorithm.__name__ for algorithm in FIRST} == set(ACCOUNTANTS)
    for algorithm in FIRST:
        contracts = [contract_of(*row) for row in VERIFIABLE if row[0] is algorithm]
        known = {".".join(map(str, path)) for made in contracts for path in places(made)}
        optional = {"parameters.mechanism.base"}
        assert set(free(contracts[0])) - {"problem.loss_range", "problem.adversary"} - optional <= known, algorithm


def test_the_own_reading_of_the_schema_is_no_milder_than_the_library():
    """Stricter in two points: whole numbers are written as such, and numbers fit into a float."""
    library, seen = Draft202012Validator(tacit.contract_schema()), 0
    for each in mutations(contract_of(tacit.algorithms.HedgeOnSums, EXPERTS, {}), 400, 5):
        try:
            check_schema(each.contract)
        except InvalidInput:
            seen += 1
            continue
        assert library.is_valid(each.contract), each.place
    assert seen > 100
