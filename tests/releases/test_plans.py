"""Declarations of the plans of the frozen reference: prices, refusals, JSON and arithmetic."""

import json
from dataclasses import replace

import jsonschema
import pytest

from frozen import lines
from tacit.accounting.curves import NotPrivate
from tacit.accounting.guarantee import REPLACE
from tacit.accounting.rounding import IDEALIZED
from tacit.errors import PrivacyError
from tacit.releases import (
    Apart,
    Billboard,
    ClippedCoin,
    Epochs,
    Grouped,
    LazyChain,
    LinearProducts,
    Minimisers,
    NoisyBatches,
    NoisyBits,
    NoisySums,
    Nothing,
    OwnDraw,
    Passes,
    Repeated,
    Response,
    Selection,
    Softmax,
    ThresholdTest,
    Together,
)
from tacit.releases.schema import from_dict, schema

VALIDATOR = jsonschema.Draft202012Validator(schema())


def chosen():
    """Return one frozen plan of each algorithm, relation and kind of contract."""
    seen = {}
    for entry in lines.read("plans.txt"):
        if entry["slow"] or "epsilon at 0" not in entry:
            continue
        made = entry["plan"] or entry["asked"]
        algorithm = made.partition("(")[0]
        relation = "zero-out" if "relation='zero-out'" in made else "replace"
        several = "rounds_per_person=1," not in made
        key = (algorithm, relation, several, entry["delta"] == 0, entry["numerics"][:7])
        beside = entry["name"] if not entry["name"].startswith("grid") else ""
        seen.setdefault((key, beside.partition(":")[0]), entry)
    return list(seen.values())


PLANS = chosen()
each = pytest.mark.parametrize("entry", PLANS, ids=lambda entry: entry["name"])


def exact_by_list(made):
    """Return True if Theorem 4 lists a declaration: the law of a program on integers."""
    match made:
        case Nothing() | Selection() | ThresholdTest() | Response() | NoisyBits():
            return True
        case LinearProducts() | Passes():
            return True
        case Softmax(slack=slack):
            return slack == 0
        case NoisySums(exact=exact) | NoisyBatches(exact=exact):
            return exact
        case LazyChain(coin=coin, draw=draw):
            return not isinstance(coin, ClippedCoin) and exact_by_list(draw)
        case Repeated() | Apart() | Grouped() | Billboard():
            return exact_by_list(made.release)
        case Together(parts=parts) | Epochs(parts=parts):
            return all(map(exact_by_list, parts))
    return False


def proved(made):
    """Return True if a declaration in float64 charges its errors: a lattice, or a proved slack."""
    match made:
        case Minimisers(ideal_cover=cover, pure=pure):
            return cover is not None and not pure
        case LazyChain(draw=Softmax(exact=exact)):
            return exact
        case Epochs(parts=parts):
            return all(map(proved, parts))
    return False


def test_every_algorithm_and_more_are_probed():
    algorithms = {(entry["plan"] or entry["asked"]).partition("(")[0] for entry in PLANS}
    assert len(algorithms) >= 27
    assert len(PLANS) >= 150


@each
def test_a_plan_states_what_its_declaration_costs(entry):
    plan = lines.plan_of(entry)
    if plan.printed is not None and plan.printed.no_proof:
        assert plan.guarantee.curve == NotPrivate()
        return
    if not plan.private:
        assert plan.releases is None
        return
    assert plan.releases.curve(plan.neighbours) == plan.guarantee.curve


@each
def test_statements_on_arithmetic_are_those_of_theorem_4(entry):
    plan = lines.plan_of(entry)
    made = plan.releases
    if made is None:
        return
    stated = made.numerics(plan.neighbours, plan.guarantee.at_delta)
    assert (stated != IDEALIZED) == (exact_by_list(made) or proved(made))
    assert stated == plan.guarantee.numerics


@each
def test_declarations_of_plans_go_through_json(entry):
    plan = lines.plan_of(entry)
    made = plan.releases
    if made is None:
        return
    content = json.loads(json.dumps(made.to_dict(plan.neighbours), allow_nan=False))
    VALIDATOR.validate(content)
    if not contains_own_curve(made):
        assert from_dict(content, plan.neighbours).to_dict(plan.neighbours) == content


def contains_own_curve(made):
    inside = getattr(made, "release", getattr(made, "draw", None))
    if inside is None:
        return isinstance(made, OwnDraw) and made.stated is not None
    return contains_own_curve(inside)


@each
def test_no_plan_is_priced_too_low(entry):
    """Three times the rounds, and replacement after zero-out: refused, or dearer than before."""
    plan = lines.plan_of(entry)
    made = plan.releases
    if made is None:
        return
    among = plan.neighbours
    own = made.curve(among).epsilon(1e-6)
    asks = [replace(among, rounds=3 * among.rounds)]
    if among.sides == 1:
        asks.append(replace(among, relation=REPLACE))
    for wide in asks:
        try:
            asked = made.curve(wide).epsilon(1e-6)
        except PrivacyError:
            continue
        assert own in (0.0, float("inf")) or asked > own
