"""The contract of a test: what a second accountant finds, what it refuses, and the words."""

import json
from math import ceil
from statistics import NormalDist

import pytest

import tacit
from experiments.ab_tests.test_promise import FOUR, design_of
from tacit.accounting.rounding import rounded_up
from tacit.errors import InvalidInput
from tacit.verification.schema import check_schema
from tacit_experiments.ab_tests.contract import contract_digest, contract_of, contract_text
from tacit_experiments.ab_tests.metrics import Ratio
from tacit_experiments.ab_tests.promise import Promise, gaussian_curve, shift_mu

SEGMENTS = {"device": ("phone", "desktop"), "country": ("x", "y")}
DESIGNS = {
    "one conversion": design_of(FOUR[:1], looks=1),
    "four metrics": design_of(),
    "all": design_of((*FOUR, Ratio("basket", "revenue", "bought")), segments=SEGMENTS, epsilon=0.5),
    "large": design_of(FOUR, epsilon=8.0, delta=1e-4, looks=12),
}


def written(design):
    return json.loads(json.dumps(contract_of(design, Promise.of(design)), allow_nan=False))


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_the_second_accountant_agrees(design):
    contract = written(design)
    verdict = tacit.verify(json.dumps(contract))
    assert verdict.answer == "yes", verdict
    assert verdict.epsilon == pytest.approx(contract["epsilon"], rel=1e-6)
    assert contract["epsilon"] <= design.epsilon
    for share in (1e-8, 0.1):
        assert tacit.verify(contract | {"epsilon": contract["epsilon"] * (1 - share)}).answer == "no"
    assert tacit.verify(contract | {"epsilon": contract["epsilon"] * 1.1}).answer == "no"


def refusal(contract):
    """The answer of the second accountant, or that the contract has no form of one."""
    try:
        return tacit.verify(contract).answer
    except InvalidInput:
        return "malformed"


def altered(contract, path, value):
    made = json.loads(json.dumps(contract))
    part = made
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value(part[path[-1]]) if callable(value) else value
    return made


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("looks", 3, "total", 0), lambda old: old + 1),
        (("looks", 0, "total", 4), lambda old: old - 1),
        (("looks", 0, "cells", 1, 2), lambda old: 2 * old),
        (("looks", 0, "total", 4), 0),
        (("looks", 0, "cells"), lambda old: old[:1]),
        (("looks",), lambda old: old[1:]),
        (("looks",), lambda old: [*old, old[-1]]),
        (("looks", 2, "kind"), "watch"),
        (("limit", "looks"), 5),
        (("limit", "enforced"), False),
        (("noise", "squared_shift"), lambda old: str(int(old) - 1)),
        (("noise", "squared_stories"), "1"),
        (("noise", "draws"), lambda old: old - 1),
        (("noise", "mu"), lambda old: old * 0.999),
        (("noise", "stories_mu"), lambda old: old * 1.001),
        (("vector", "pairs"), []),
        (("vector", "pairs", 0), [2, 2]),
        (("vector", "pairs", 0), [0, 9]),
        (("vector", "metrics", 1, "name"), "bought"),
        (("vector", "metrics", 0, "high"), 2.0),
        (("vector", "metrics", 2, "kind"), "conversion"),
        (("vector", "metrics", 0, "kind"), "sum"),
        (("vector", "segments"), lambda old: old[:1]),
        (("vector", "segments", 0, "cells"), [str(number) for number in range(64)]),
        (("protected",), "nothing"),
        (("theorem",), "trust us"),
        (("released",), "nothing"),
        (("assumed",), []),
        (("randomness",), "a die"),
        (("numerics",), "exact"),
        (("numerics",), "exact up to an extra epsilon of nan"),
        (("delta",), 1e-7),
        (("curve", 0, "epsilon"), None),
        (("curve", 0, "epsilon"), 0.1),
        (("curve",), []),
    ],
    ids=lambda part: "function" if callable(part) else str(part),
)
def test_no_number_and_no_word_of_a_contract_is_altered_unnoticed(path, value):
    contract = written(DESIGNS["all"])
    assert refusal(altered(contract, path, value)) in ("no", "malformed")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("vector", "lattice"), 2**10, "lattice"),
        (("unit",), "person-month", "unit"),
        (("relation",), "replace", "relation"),
        (("limit", "row"), 2, "row"),
        (("noise", "law"), "normal", "law"),
        (("delta",), 0.0, "delta"),
        (("more",), 1, "say nothing under"),
        (("looks", 0, "kind"), "peek", "kind"),
        (("looks", 0, "total", 0), -1, "total"),
        (("looks", 0, "total", 0), 1.5, "total"),
    ],
    ids=str,
)
def test_another_form_is_refused(path, value, words):
    contract = written(DESIGNS["all"])
    if path == ("more",):
        contract |= {"more": 0}
    with pytest.raises(InvalidInput, match=words):
        tacit.verify(altered(contract, path, value))


def test_days_of_a_watch_have_a_place_in_the_format_and_are_counted():
    """Early releases of some metrics alone: multipliers of 0 are not released, all others add to D^2."""
    design = DESIGNS["four metrics"]
    promise = Promise.of(design)
    contract = written(design)
    day = {"kind": "watch", "total": [40, 30, 0, 20, 0], "cells": []}
    contract["looks"] = [day, day, *contract["looks"]]
    square = promise.squared_shift + 2 * 2**32 * (40**2 + 30**2 + 20**2)
    stories = promise.squared_stories + 2 * 2**32 * max(40**2 + 30**2 + 20**2, 4 * (30**2 + 20**2))
    draws = promise.draws + 2 * 4  # persons, bought, revenue and its second moment
    mu, stories_mu = shift_mu(square), shift_mu(stories)
    curve = gaussian_curve(mu, draws)
    contract["noise"] |= {"squared_shift": str(square), "squared_stories": str(stories), "draws": draws}
    contract["noise"] |= {"mu": mu, "stories_mu": stories_mu}
    assert tacit.verify(contract).answer == "no"  # the watch is not in epsilon yet
    contract["epsilon"] = curve.epsilon(1e-6)
    for point in contract["curve"]:
        point["epsilon"] = curve.epsilon(point["delta"])
    contract["numerics"] = f"exact up to an extra epsilon of {float(f'{draws * 2.0**-109 * 1.05:.1e}'):.2g}"
    assert tacit.verify(contract).answer == "yes", tacit.verify(contract)
    assert tacit.verify(altered(contract, ("noise", "draws"), draws + 2)).answer == "no"


def test_every_contract_has_the_form_of_the_schema():
    check_schema(written(DESIGNS["all"]), schema={"$ref": "#/$defs/test"})


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_multipliers_are_read_from_the_contract(design):
    promise = Promise.of(design)
    assert Promise.from_contract(written(design)) == promise
    other = {**written(design), "tacit": "9.9"}
    assert contract_digest(other) == contract_digest(written(design))
    assert contract_digest(other | {"ledger": "others"}) != contract_digest(other)


def test_the_text_says_what_is_promised_with_the_numbers_of_the_design():
    design = design_of(segments={"device": ("phone",)})
    promise = Promise.of(design)
    text = contract_text(design, promise)
    told = ceil(1000 * NormalDist().cdf(promise.stories_mu / 2)) / 10
    for words in (
        "in at most 54.8 of 100 cases",
        f"at most {told:g}.",
        f"epsilon = {rounded_up(promise.guarantee.epsilon())} at delta = 1e-06",
        "4 releases of noisy sums",
        "bought at most once, added at most once, revenue at most 200, left at most once",
        "4 looks and 4 metrics and 1 grouping are one release",
        "in one cell of each of device",
        "Nothing can be added after the start",
        "Not protected",
        "'people'",
    ):
        assert words in text, words
    twice = gaussian_curve(2 * promise.mu, 2 * promise.draws).epsilon(1e-6)
    assert 2.1 < twice < 2.15
    assert "epsilon = 2.1" in text
