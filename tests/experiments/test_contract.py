"""The contract: noise that keeps it, the second accountant, and the words."""

import json

import numpy as np
import pytest

import tacit
from tacit.accounting.guarantee import Guarantee
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit_experiments.contract import LATTICE, Promise
from tacit_experiments.design import Design


@pytest.mark.parametrize(
    ("epsilon", "versions", "deviation", "law"),
    [
        (0.5, 5, 14.1, "two-sided geometric"),
        (1.0, 5, 7.07, "two-sided geometric"),
        (2.0, 5, 3.54, "two-sided geometric"),
        (0.5, 30, 44.1, "discrete gaussian"),
        (1.0, 30, 23.1, "discrete gaussian"),
        (2.0, 31, 12.4, "discrete gaussian"),
    ],
)
def test_noise_in_persons(epsilon, versions, deviation, law):
    promise = Promise(epsilon, 1e-6, versions)
    assert promise.law == law
    assert promise.deviation == pytest.approx(deviation, rel=0.006)
    drawn = promise.draw(Randomness.replayable(3), 20_000) / promise.units
    assert np.std(drawn) == pytest.approx(promise.deviation, rel=0.03)
    assert promise.guarantee.epsilon() <= epsilon
    assert Guarantee.from_json(promise.guarantee.to_json()) == promise.guarantee


@pytest.mark.parametrize(("epsilon", "versions"), [(0.05, 1), (0.3, 31), (1.0, 5), (8.0, 300), (300.0, 5)])
def test_gaussian_noise_is_the_smallest_that_keeps_the_promise(epsilon, versions):
    """One step more breaks it; counting down to it took 11 seconds at epsilon = 300."""
    promise = Promise(epsilon, 1e-6, versions)
    kept, broken = (promise._gaussian(promise._multiple + more).epsilon(1e-6) for more in (0, 1))
    assert kept <= epsilon < broken


@pytest.mark.parametrize(
    "promise",
    [Promise(1.0, 1e-6, 5), Promise(0.7, 1e-7, 31), Promise(3.0, 0.0, 11), Promise(75.9, 0.01, 31)],
    ids=["geometric", "gaussian", "pure", "loud"],
)
def test_the_second_accountant_agrees(promise):
    contract = promise.contract("home", "people")
    verdict = tacit.verify(json.dumps(contract, allow_nan=False))
    assert verdict.answer == "yes", verdict
    assert verdict.epsilon == pytest.approx(contract["epsilon"], rel=1e-4)
    larger = json.loads(json.dumps(contract))
    larger["limit"]["versions"] += 3
    assert tacit.verify(larger).answer == "no"
    for share in (1e-9, 0.1):
        smaller = contract | {"epsilon": contract["epsilon"] * (1 - share)}
        assert tacit.verify(smaller).answer == "no"
    assert tacit.verify(contract | {"protected": "nothing"}).answer == "no"
    with pytest.raises(InvalidInput, match="must say"):
        tacit.verify({name: value for name, value in contract.items() if name != "noise"})
    with pytest.raises(InvalidInput, match="must say nothing under"):
        tacit.verify(contract | {"more": 1})


@pytest.mark.parametrize(
    ("promise", "point", "stated"), [(Promise(75.9, 0.01, 31), 0, 9.0), (Promise(1.0, 0.0, 5), 1, None)]
)
def test_a_point_of_the_curve_is_stated_where_there_is_one(promise, point, stated):
    """Errors of samplers grow as e^epsilon: at epsilon = 76 nothing finite holds at delta = 1e-9."""
    contract = json.loads(json.dumps(promise.contract("home", "people")))
    contract["curve"][point]["epsilon"] = stated
    assert tacit.verify(contract).answer == "no"


@pytest.mark.parametrize("promise", [Promise(1.0, 1e-6, 5), Promise(1.0, 1e-6, 31)])
@pytest.mark.parametrize(
    "altered",
    [
        {"assumed": []},
        {"assumed": ["nothing"]},
        {"randomness": "a die"},
        {"numerics": "exact up to an extra epsilon of 0"},
        {"numerics": "exact up to an extra epsilon of 9e-99"},
        {"numerics": "exact up to an extra epsilon of nan"},
    ],
    ids=str,
)
def test_no_word_of_a_contract_is_altered_unnoticed(promise, altered):
    assert tacit.verify(promise.contract("home", "people") | altered).answer == "no"


def test_a_coarser_lattice_does_not_make_epsilon_smaller():
    """With one step in a score, the same rate would cost 65,536 times less; the program has 65,536 steps."""
    promise = Promise(1.0, 0.0, 5)
    contract = json.loads(json.dumps(promise.contract("home", "people")))
    contract["noise"] |= {"units": 1, "lattice": 1}
    contract["epsilon"] /= LATTICE
    for point in contract["curve"]:
        point["epsilon"] = max(contract["epsilon"] - point["delta"], 0.0)
    with pytest.raises(InvalidInput, match="lattice"):
        tacit.verify(contract)


def test_what_no_noise_keeps_is_refused():
    with pytest.raises(PrivacyError, match="No noise"):
        _ = Promise(1e-9, 0.0, 31).law


def test_the_text_says_what_is_promised():
    design = Design("home", ("a", "b"), epsilon=1.0, ledger="people", days=7)
    text = Promise.of(design).text(design)
    for words in ("one calendar month", "e^1 = 2.719", "5 versions", "7.072 persons", "Not protected", "'people'"):
        assert words in text
    events = Design("home", ("a", "b"), epsilon=1.0, ledger="people", days=7, identified=False)
    assert Promise.of(events).text(events).startswith("REPLIES NAME NO PERSONS")
    assert Promise.of(events).contract("home", "people")["unit"] == "event"
    assert tacit.verify(Promise.of(events).contract("home", "people")).answer == "yes"


@pytest.mark.parametrize(
    "changed",
    [
        {"arms": ("a",)},
        {"arms": ("a", "a")},
        {"arms": "ab"},
        {"arms": ("a", "b/c")},
        {"name": "a/b"},
        {"name": ".."},
        {"default": "c"},
        {"epsilon": 0.0},
        {"days": 4},
        {"days": 1, "hours": 5.0},
        {"hours": 1e-9},
        {"versions": 40},
        {"high": 0.0},
        {"adds": True, "low": -1.0},
        {"min_share": 0.6},
        {"goal": "win"},
        {"score": 0.0},
        {"ledger": ""},
        {"window": -1.0},
    ],
)
def test_a_design_that_is_refused(changed):
    given = {"name": "home", "arms": ("a", "b"), "epsilon": 1.0, "ledger": "people", "days": 1} | changed
    with pytest.raises((InvalidInput, PrivacyError)):
        Design.from_dict(given)


def test_a_design_is_described():
    design = Design("home", ("a", "b"), epsilon=1.0, ledger="people", people_per_day=1e6)
    assert (design.days, design.versions, design.default) == (1, 31, "a")
    assert Design.from_dict(json.loads(json.dumps(design.to_dict()))) == design
    week = Design("home", ("a", "b"), epsilon=1.0, ledger="people", people_per_day=100)
    assert (week.days, week.versions, week.serving, week.closing) == (7, 5, 6 * 86_400, 86_400 - 60)
    with pytest.raises(InvalidInput, match="has the fields"):
        Design.from_dict({"name": "home", "other": 1})
