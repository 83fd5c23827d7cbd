"""The second accountant confirms what plans state, refuses what is forged, and says so where it cannot tell."""

import json
from dataclasses import replace

import jsonschema
import mpmath as mp
import numpy as np
import pytest
from scipy.stats import norm

import tacit
from tacit.accounting.conversion import gaussian_delta
from tacit.errors import InvalidInput
from tacit.planning.catalogue import CATALOGUE
from tacit.verification.algorithms import ACCOUNTANTS
from tacit.verification.leaks import GaussianLeak, PureLeak, RenyiLeak
from tacit.verification.minimisers import LinkedLeak

EXPERTS = tacit.Experts(n=4, horizon=300)
ARMS = tacit.Arms(n=3, horizon=2000)
REQUESTS = tacit.ContextualArms(n=3, dimension=4, horizon=5000)
PUBLIC_REQUESTS = tacit.ContextualArms(n=3, dimension=4, horizon=5000, delay=7, features="public")
STOCHASTIC_ARMS = tacit.Arms(n=3, horizon=2000, adversary="stochastic")
POLICIES = tacit.Policies(n=4, actions=3, horizon=500, adversary="stochastic")
PRIVATE_POLICIES = tacit.Policies(n=4, actions=3, horizon=500, adversary="stochastic", recommendations="private")
CONVEX = tacit.Convex(domain=tacit.domains.Ball(3), loss=tacit.losses.LogisticLoss(), horizon=400)
LINEAR = tacit.Convex(domain=tacit.domains.Ball(3), loss=tacit.losses.LinearLoss(), horizon=400)
ONE_PASS = tacit.Stochastic(domain=tacit.domains.Ball(3), loss=tacit.losses.HingeLoss(), horizon=300)
TRACKING = tacit.Tracking(n=3, switches=2, horizon=400)
SHIFTING = tacit.Tracking(n=3, switches=2, horizon=400, adversary="stochastic")
LOGISTIC = tacit.Stochastic(domain=tacit.domains.Ball(3), loss=tacit.losses.LogisticLoss(), horizon=300)
LINE = tacit.Lipschitz(dimension=1, horizon=300)
DISC = tacit.Bandit(domain=tacit.domains.Ball(2, radius=0.5), horizon=4000, value_range=(0.0, 1.0), lipschitz=1.0)

VERIFIABLE = [
    (tacit.algorithms.LazyExperts, EXPERTS, {}),
    (tacit.algorithms.LazyExperts, EXPERTS, {"max_switches": 12}),
    (tacit.algorithms.LazyExperts, EXPERTS, {"epsilon": 3.0, "delta": 1e-9}),
    (
        tacit.algorithms.LazyExperts,
        tacit.Experts(n=2, horizon=13),
        {"delta": 1e-9, "relation": "zero-out", "rounds_per_person": 3},
    ),
    (tacit.algorithms.ScheduledExperts, EXPERTS, {}),
    (tacit.algorithms.HedgeOnSums, EXPERTS, {}),
    (tacit.algorithms.HedgeOnSums, EXPERTS, {"rounds_per_person": 5}),
    (tacit.algorithms.PrivateFTRL, LINEAR, {}),
    (tacit.algorithms.PrivateFTRL, LINEAR, {"delta": 0.0}),
    (tacit.algorithms.AveragedFTRL, ONE_PASS, {}),
    (tacit.algorithms.CTRL, CONVEX, {}),
    (
        tacit.algorithms.L2PConvex,
        tacit.Convex(domain=tacit.domains.Ball(1), loss=tacit.losses.HingeLoss(), horizon=400),
        {},
    ),
    (tacit.algorithms.NoisyMirrorDescent, TRACKING, {}),
    (tacit.algorithms.TrackingOnSums, SHIFTING, {"delta": 0.0, "adversary": "stochastic"}),
    (tacit.algorithms.OnlineToBatch, LOGISTIC, {}),
    (tacit.algorithms.ObjectivePerturbation, LOGISTIC, {}),
    (tacit.algorithms.ObjectivePerturbation, LOGISTIC, {"delta": 0.0}),
    (tacit.algorithms.PrivateDescent, LOGISTIC, {}),
    (tacit.algorithms.L2P, EXPERTS, {}),
    (tacit.algorithms.LimitedUpdates, SHIFTING, {"delta": 0.0, "adversary": "stochastic"}),
    (tacit.algorithms.RecentLeader, SHIFTING, {"delta": 0.0, "adversary": "stochastic"}),
    (tacit.algorithms.RestartOnShift, SHIFTING, {"delta": 0.0, "adversary": "stochastic"}),
    (tacit.algorithms.LazyFixedShare, TRACKING, {"delta": 0.0}),
    (tacit.algorithms.LipschitzGrid, LINE, {}),
    (tacit.algorithms.LipschitzNet, LINE, {"delta": 0.0, "cells": 4}),
    (tacit.algorithms.BanditFW, DISC, {}),
    (tacit.algorithms.PhasedArms, STOCHASTIC_ARMS, {"delta": 0.0, "adversary": "stochastic"}),
    (tacit.algorithms.BatchedTsallis, ARMS, {"delta": 0.0, "rounds_per_person": 3}),
    (tacit.algorithms.LiveArms, STOCHASTIC_ARMS, {"delta": 0.0, "rounds_per_person": 3}),
    (tacit.algorithms.BatchedTsallis, ARMS, {"delta": 0.0, "epsilon": 100.0}),
    (tacit.algorithms.LiveArms, replace(STOCHASTIC_ARMS, horizon=None), {"delta": 0.0, "rounds_per_person": 3}),
    (tacit.algorithms.Responses, POLICIES, {"delta": 0.0, "rounds_per_person": 3}),
    (tacit.algorithms.Responses, POLICIES, {"rounds_per_person": 60}),
    (tacit.algorithms.PolicyArms, PRIVATE_POLICIES, {"delta": 0.0}),
    (tacit.algorithms.PolicyArms, POLICIES, {"delta": 0.0, "learner": "PhasedArms"}),
    (tacit.algorithms.PolicyArms, PRIVATE_POLICIES, {"delta": 0.0, "learner": "LiveArms"}),
    (tacit.algorithms.ExploreLinear, REQUESTS, {}),
    (tacit.algorithms.ExploreLinear, REQUESTS, {"relation": "zero-out", "rounds_per_person": 3}),
    (tacit.algorithms.ExploreLinear, PUBLIC_REQUESTS, {}),
]


def refused(made):
    """Whether a contract is no contract, or does not follow."""
    try:
        return tacit.verify(made).answer == "no"
    except InvalidInput:
        return True


MADE = {}


def written(plan):
    """The contract of a plan, as its document says it."""
    return json.loads(json.dumps(tacit.contract(plan)))


def placed(made, place, value):
    """A contract that says this at a place, such as "problem/n"."""
    *parts, name = place.split("/")
    part = made
    for each in parts:
        part = part[int(each) if each.isdigit() else each]
    part[name] = value
    return made


def contract_of(algorithm, problem, changes):
    """A contract of its own for each test; what is expensive is its plan."""
    key = algorithm, repr(problem), repr(changes)
    if key not in MADE:
        target = {"epsilon": 1.0, "delta": 1e-6, **changes}
        MADE[key] = json.dumps(tacit.contract(algorithm.calibrate(problem, **target)))
    return json.loads(MADE[key])


@pytest.mark.parametrize(
    ("algorithm", "problem", "changes"), VERIFIABLE, ids=lambda part: getattr(part, "__name__", "")
)
def test_contracts_follow_and_forged_ones_do_not(algorithm, problem, changes):
    made = contract_of(algorithm, problem, changes)
    jsonschema.validate(made, tacit.contract_schema())
    verdict = tacit.verify(made)
    assert verdict.answer == "yes", verdict
    assert 0.99 * made["epsilon"] < verdict.epsilon <= made["epsilon"] * (1 + 1e-9)
    forged = tacit.verify({**made, "epsilon": made["epsilon"] * 0.99})
    assert forged.answer == "no", forged
    assert forged.exit_code == 1


def test_every_accountant_is_tested():
    assert {algorithm.__name__ for algorithm, _, _ in VERIFIABLE} == set(ACCOUNTANTS)
    planned = {algorithm.__name__ for listed in CATALOGUE.values() for algorithm in listed}
    assert set(ACCOUNTANTS) <= planned | {
        "PrivateDescent"
    }  # which certifies no excess risk: the planner has no use for it


@pytest.mark.parametrize(
    ("part", "name", "factor"),
    [("parameters", "eta", 1.1), ("parameters", "force", 0.5), ("problem", "horizon", 2), ("", "rounds_per_person", 2)],
)
def test_other_numbers_than_the_plans_are_refused(part, name, factor):
    made = contract_of(tacit.algorithms.LazyExperts, EXPERTS, {})
    place = made[part] if part else made
    place[name] = type(place[name])(place[name] * factor)
    made["parameters"]["rounds_per_person"] = made["rounds_per_person"]
    assert tacit.verify(made).answer == "no"


@pytest.mark.parametrize(
    ("algorithm", "problem", "target", "place", "value"),
    [
        (tacit.algorithms.BatchedTsallis, ARMS, {"delta": 0.0, "relation": "zero-out"}, "relation", "replace"),
        (tacit.algorithms.BatchedTsallis, ARMS, {"delta": 0.0, "rounds_per_person": 3}, "rounds_per_person", 1),
        (tacit.algorithms.BatchedTsallis, ARMS, {"delta": 0.0}, "noise/rate", 0.5),
        (tacit.algorithms.HedgeOnSums, EXPERTS, {}, "parameters/mechanism/steps", 0),
        (tacit.algorithms.HedgeOnSums, EXPERTS, {}, "problem/horizon", 3000),
        (tacit.algorithms.HedgeOnSums, EXPERTS, {}, "problem/n", 1),
        (tacit.algorithms.PrivateFTRL, CONVEX, {}, "parameters/streams", None),
        (tacit.algorithms.PrivateFTRL, LINEAR, {"delta": 0.0}, "noise/dimension", 1),
        (tacit.algorithms.NoisyMirrorDescent, TRACKING, {"rounds_per_person": 2}, "noise/batch", 10**6),
        (tacit.algorithms.LazyExperts, EXPERTS, {}, "epsilon", 10**400),
        (tacit.algorithms.LazyExperts, EXPERTS, {}, "problem/n", 10**400),
        (tacit.algorithms.LazyExperts, EXPERTS, {}, "problem/delay", -1e308),
        (tacit.algorithms.LazyExperts, EXPERTS, {}, "problem/horizon", 10**30),
        (tacit.algorithms.LazyExperts, EXPERTS, {}, "parameters/delta", 1e-9),
        (tacit.algorithms.LazyExperts, EXPERTS, {}, "private", "true"),
        (tacit.algorithms.HedgeOnSums, EXPERTS, {}, "parameters/privacy", 1.0),
        (
            tacit.algorithms.PhasedArms,
            STOCHASTIC_ARMS,
            {"delta": 0.0, "adversary": "stochastic"},
            "parameters/noise",
            "gaussian",
        ),
    ],
)
def test_contracts_that_contradict_themselves_raise(algorithm, problem, target, place, value):
    made = placed(contract_of(algorithm, problem, target), place, value)
    with pytest.raises(InvalidInput, match="contract must"):
        tacit.verify(made)


@pytest.mark.parametrize(("place", "value"), [("delta", 5e-324), ("delta", 1e-300), ("horizon", 10**15)])
def test_numbers_beyond_all_accounts_are_not_passed(place, value):
    made = contract_of(tacit.algorithms.LazyExperts, EXPERTS, {})
    for part in [made, made["parameters"]] if place == "delta" else [made["problem"]]:
        part[place] = value
    assert tacit.verify(made).answer == "not verifiable yet"


@pytest.mark.parametrize(
    ("algorithm", "problem", "name", "words"),
    [
        (tacit.algorithms.LazyExperts, EXPERTS, "unit", "one record"),
        (tacit.algorithms.LazyExperts, EXPERTS, "released", "every decision"),
        (tacit.algorithms.LazyExperts, EXPERTS, "adversary", "oblivious"),
        (tacit.algorithms.LazyExperts, EXPERTS, "theorem", "composition"),
        (tacit.algorithms.LazyExperts, EXPERTS, "notion", "pure"),
        (tacit.algorithms.LazyExperts, EXPERTS, "assumed", "nothing"),
        (tacit.algorithms.HedgeOnSums, EXPERTS, "numerics", "exact"),
        (tacit.algorithms.HedgeOnSums, EXPERTS, "numerics", "exact up to an extra epsilon of 1.9e-31"),
        (tacit.algorithms.ObjectivePerturbation, LOGISTIC, "numerics", "exact up to an extra epsilon of 1.8e-08"),
        (tacit.algorithms.ObjectivePerturbation, LOGISTIC, "released", "3 final models of the same records"),
        (tacit.algorithms.ObjectivePerturbation, LOGISTIC, "notion", "Gaussian alternatives"),
    ],
)
def test_other_words_than_the_algorithms_are_refused(algorithm, problem, name, words):
    """All of these passed while only numbers were compared."""
    verdict = tacit.verify({**contract_of(algorithm, problem, {}), name: words})
    assert verdict.answer == "no"
    assert name in verdict.reason


@pytest.mark.parametrize(("point", "factor"), [(0, 0.95), (0, 1.05), (1, 0.95), (1, 1.05)])
@pytest.mark.parametrize("algorithm", [tacit.algorithms.HedgeOnSums, tacit.algorithms.ScheduledExperts])
def test_every_point_of_the_curve_is_recomputed(algorithm, point, factor):
    made = contract_of(algorithm, EXPERTS, {})
    assert [each["delta"] for each in made["curve"]] == [1e-9, 1e-3]
    made["curve"][point]["epsilon"] *= factor
    assert tacit.verify(made).answer == "no"
    made["curve"][point]["epsilon"] = None
    assert tacit.verify(made).answer == "no"
    del made["curve"][point]
    assert tacit.verify(made).answer == "no"


def test_the_pure_epsilon_is_refused_where_delta_buys_less():
    """A walk made for epsilon = 1 proves nothing better; one made for less proves .947."""
    made = contract_of(tacit.algorithms.LazyFixedShare, TRACKING, {"delta": 0.0})
    made["curve"][-1]["epsilon"] = made["epsilon"]
    assert "less follows" in tacit.verify(made).reason


def test_a_larger_epsilon_than_follows_is_not_what_the_plan_says():
    made = contract_of(tacit.algorithms.HedgeOnSums, EXPERTS, {})
    verdict = tacit.verify({**made, "epsilon": 1.05 * made["epsilon"]})
    assert verdict.answer == "no"
    assert "less follows" in verdict.reason


def test_documents_that_say_two_things_under_one_name_are_no_contracts():
    text = json.dumps(contract_of(tacit.algorithms.HedgeOnSums, EXPERTS, {}))
    with pytest.raises(InvalidInput, match="two things under one name"):
        tacit.verify(text[:-1] + ', "epsilon": 0.1}')
    with pytest.raises(InvalidInput, match="tacit contract 2"):
        tacit.verify(text.replace("tacit contract 2", "tacit contract 1"))
    with pytest.raises(InvalidInput, match="must be JSON"):
        tacit.verify("[" * 100_000)


def test_what_was_taken_as_stated_is_said():
    made = contract_of(tacit.algorithms.HedgeOnSums, EXPERTS, {"rounds_per_person": 5})
    shown = str(tacit.verify(made))
    assert "randomness (computational)" in shown
    assert "participation_limit (promised)" in shown
    assert "noise.rounding_error" in shown
    assert "participation_limit (enforced)" in str(tacit.verify({**made, "participation_limit": "enforced"}))


@pytest.mark.parametrize(
    ("algorithm", "problem", "changes"),
    [
        (tacit.algorithms.LazyFixedShare, TRACKING, {"prior": "uniform"}),
        (tacit.algorithms.HedgeOnSums, EXPERTS, {"numerics": "float"}),
        (tacit.algorithms.ObjectivePerturbation, LOGISTIC, {"numerics": "float"}),
    ],
    ids=["logarithms of a prior", "float64 sums", "float64 minimiser"],
)
def test_what_cannot_be_recomputed_is_not_passed(algorithm, problem, changes):
    made = contract_of(algorithm, problem, changes)
    jsonschema.validate(made, tacit.contract_schema())
    verdict = tacit.verify(made)
    assert (verdict.answer, verdict.exit_code, verdict.epsilon) == ("not verifiable yet", 2, None)


@pytest.mark.parametrize("changes", [{"force": 0.0}, {"eta": 1e-320}], ids=["never forced", "hardly a rate"])
def test_extreme_parameters_have_a_verdict(changes):
    made = contract_of(tacit.algorithms.L2P, EXPERTS, {})
    made["parameters"].update(changes)
    assert tacit.verify(made).answer == "no"


def test_a_capped_chain_of_tiny_rates_is_confirmed():
    """Kappa ended at a million, where draws of range 5e-6 were blurred: "no", and 7.618e-06 instead of 7.447e-06.

    The exact worst case of one draw after the person's own toss is 7.4184e-06.
    """
    plan = tacit.algorithms.LazyExperts(tacit.Experts(n=2, horizon=20), 2.54e-6, 0.5, max_switches=1, delta=1e-9)
    verdict = tacit.verify(written(plan))
    assert verdict.answer == "yes"
    assert 7.4184e-6 < verdict.epsilon < 7.45e-6


@pytest.mark.parametrize("algorithm", [tacit.algorithms.LazyExperts, tacit.algorithms.HedgeOnSums])
def test_plans_that_leak_nothing_are_confirmed(algorithm):
    verdict = tacit.verify(contract_of(algorithm, tacit.Experts(n=3, horizon=1), {}))
    assert (verdict.answer, verdict.epsilon) == ("yes", 0.0)


def test_the_recomputed_epsilon_is_the_least_that_follows():
    """One toss: where it is stated delta is almost 0, and the walk that is best there is not the best one at 1e-6."""
    target = {"epsilon": 0.01, "delta": 1e-6, "relation": "replace", "rounds_per_person": 3}
    made = tacit.contract(tacit.algorithms.LazyExperts.calibrate(tacit.Experts(n=4, horizon=50), **target))
    found = tacit.verify(made).epsilon
    assert made["epsilon"] / 1.02 < found < made["epsilon"] / 1.01
    assert tacit.verify({**made, "epsilon": found * 1.001}).answer == "yes"
    assert tacit.verify({**made, "epsilon": found * 0.999}).answer == "no"


@pytest.mark.parametrize(
    ("algorithm", "epsilon", "delta"),
    [
        (tacit.algorithms.LazyExperts, 1.0, 1e-6),
        (tacit.algorithms.LazyExperts, 1.0, 0.0),
        pytest.param(tacit.algorithms.L2P, 3.0, 1e-6, marks=pytest.mark.slow),  # the same walk
    ],
)
def test_long_chains_that_are_stated_to_ten_digits_are_confirmed(algorithm, epsilon, delta):
    """What a walk leaves out and rounds must be less than the digits that are compared."""
    target = {"epsilon": epsilon, "delta": delta, "relation": "zero-out"}
    made = tacit.contract(algorithm.calibrate(tacit.Experts(n=4, horizon=100_000), **target))
    assert tacit.verify(made).answer == "yes"


def test_a_person_stands_in_no_more_rounds_than_there_are():
    made = contract_of(tacit.algorithms.HedgeOnSums, tacit.Experts(n=2, horizon=2), {"rounds_per_person": 3})
    assert tacit.verify(made).answer == "yes"


@pytest.mark.parametrize(
    ("algorithm", "problem", "part", "changes"),
    [
        (tacit.algorithms.ObjectivePerturbation, LOGISTIC, "parameters", {"noise_scale": 1e-320}),
        (tacit.algorithms.OnlineToBatch, LOGISTIC, "noise", {"rounding_error": 1e300}),
        (tacit.algorithms.LazyFixedShare, TRACKING, "", {"delta": 1e-320}),
    ],
    ids=["hardly noise", "an error", "hardly a delta"],
)
def test_absurd_numbers_are_not_passed(algorithm, problem, part, changes):
    made = contract_of(algorithm, problem, {})
    for each in (made, made["parameters"]) if part == "" else (made[part],):
        each.update(changes)
    assert refused(made) or tacit.verify(made).exit_code == 2


def test_several_minimisers_of_logistic_losses_are_not_refused_by_the_coarser_account():
    plan = tacit.algorithms.ObjectivePerturbation.calibrate(LOGISTIC, epsilon=1.0, delta=1e-6, regularisation=0.9)
    made = written(replace(plan, releases=3))
    assert tacit.verify(made).answer == "not verifiable yet"


def test_pure_minimisers_must_say_that_they_are_idealized():
    made = contract_of(tacit.algorithms.ObjectivePerturbation, LOGISTIC, {"delta": 0.0})
    assert "real numbers" in tacit.verify(made).reason
    assert tacit.verify({**made, "numerics": "exact"}).answer != "yes"


LOUDER = [
    (tacit.algorithms.HedgeOnSums, EXPERTS, {}, "noise", "units", 1.02),
    (tacit.algorithms.OnlineToBatch, LOGISTIC, {}, "noise", "units", 1.02),
    (tacit.algorithms.OnlineToBatch, LOGISTIC, {"delta": 0.0}, "noise", "rate", 1.01),
    (tacit.algorithms.ObjectivePerturbation, LOGISTIC, {}, "parameters", "noise_scale", 0.99),
    (tacit.algorithms.ObjectivePerturbation, LOGISTIC, {}, "parameters", "accuracy", 10.0),
    (tacit.algorithms.ObjectivePerturbation, LOGISTIC, {"delta": 0.0}, "parameters", "regularisation", 0.9),
    (tacit.algorithms.L2P, EXPERTS, {}, "parameters", "eta", 1.02),
    (tacit.algorithms.LimitedUpdates, SHIFTING, {"adversary": "stochastic"}, "noise", "rate", 1.01),
    (tacit.algorithms.RecentLeader, SHIFTING, {"adversary": "stochastic"}, "noise", "rate", 1.01),
    (tacit.algorithms.RestartOnShift, SHIFTING, {"adversary": "stochastic"}, "noise", "query_rate", 1.01),
    (tacit.algorithms.RestartOnShift, SHIFTING, {"adversary": "stochastic"}, "noise", "threshold_rate", 1.01),
    (tacit.algorithms.TrackingOnSums, SHIFTING, {"adversary": "stochastic"}, "noise", "rate", 1.01),
    (tacit.algorithms.LazyFixedShare, TRACKING, {"delta": 0.0}, "parameters", "eta", 1.02),
    (tacit.algorithms.LipschitzGrid, LINE, {}, "noise", "units", 1.02),
    (tacit.algorithms.LipschitzNet, LINE, {"cells": 4, "delta": 0.0}, "parameters", "eta", 1.02),
    (tacit.algorithms.BanditFW, DISC, {}, "noise", "units", 1.02),
]


@pytest.mark.parametrize(("algorithm", "problem", "changes", "part", "name", "factor"), LOUDER)
def test_louder_numbers_are_refused(algorithm, problem, changes, part, name, factor):
    made = contract_of(algorithm, problem, changes)
    made[part][name] = type(made[part][name])(made[part][name] * factor)
    assert refused(made)


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [
        (tacit.algorithms.OnlineToBatch, LOGISTIC),
        (tacit.algorithms.LipschitzGrid, LINE),
        (tacit.algorithms.BanditFW, DISC),
        (tacit.algorithms.HedgeOnSums, EXPERTS),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_a_sum_of_fewer_steps_than_the_problem_has_is_no_contract(algorithm, problem):
    made = contract_of(algorithm, problem, {})
    made["parameters"]["mechanism"]["steps"] //= 2
    with pytest.raises(InvalidInput, match="steps"):
        tacit.verify(made)


def test_learners_name_their_randomness():
    plan = tacit.algorithms.LazyExperts.calibrate(EXPERTS, epsilon=1.0, delta=1e-6)
    secret, replayable = (
        tacit.contract(plan.start(source)) for source in (tacit.Randomness.secret(), tacit.Randomness.replayable(1))
    )
    assert secret["private"]
    assert tacit.verify(secret).answer == "yes"
    assert not replayable["private"]
    verdict = tacit.verify(replayable)
    assert (verdict.answer, verdict.exit_code) == ("not private", 3)
    assert tacit.verify({**replayable, "private": True}).answer == "no"
    assert tacit.verify({**replayable, "epsilon": 0.5}).answer == "no"


def test_contracts_say_what_is_assumed_and_what_is_not_private():
    problem = tacit.ContextualArms(n=2, dimension=2, horizon=2_000, features="public")
    trusted = tacit.contract(tacit.algorithms.ExploreLinear.calibrate(problem, epsilon=1.0, delta=1e-6))
    checked = contract_of(tacit.algorithms.LazyExperts, EXPERTS, {})
    assert trusted["assumed"] == "the features are public, and no function of anybody's private losses"
    assert (checked["assumed"], checked["private"]) == ("", True)
    assert tacit.verify({**checked, "assumed": "luck"}).answer == "no"
    assert tacit.verify({**trusted, "assumed": ""}).answer == "no"
    assert tacit.verify(trusted).reason.endswith(f"Assumed: {trusted['assumed']}.")
    problem = tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=50)
    lazy = tacit.contract(tacit.algorithms.LazyOCO.calibrate(problem, epsilon=float("inf"), delta=1e-4, max_switches=5))
    assert (lazy["epsilon"], lazy["private"]) == (None, False)
    for made in (trusted, checked, lazy):
        jsonschema.validate(json.loads(json.dumps(made)), tacit.contract_schema())


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "tacit contract 1"}', '{"format": 3}'])
def test_what_is_no_contract_raises(content):
    with pytest.raises(InvalidInput):
        tacit.verify(content)


def test_leaks_against_closed_forms():
    with mp.workdps(40):
        for mu, epsilon in ((0.3, 0.5), (2.0, 1.0)):
            exact = float(GaussianLeak(mp.mpf(mu)).delta(mp.mpf(epsilon)))
            assert exact == pytest.approx(gaussian_delta(mu, epsilon), rel=1e-9)
        assert PureLeak(mp.mpf(1)).delta(mp.mpf(1)) == 0
        renyi = RenyiLeak(lambda alpha: (alpha - 1) * alpha * mp.mpf("0.045"))  # mu = 0.3
        assert renyi.delta(mp.mpf(1)) >= GaussianLeak(mp.mpf("0.3")).delta(mp.mpf(1))
        assert renyi.epsilon(renyi.delta(mp.mpf(1)), 1) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize(
    ("move", "growth", "cover", "epsilon"), [(0.2, 0.3, 0.0, 1.0), (0.2, 0.3, 0.01, 0.8), (0.5, 0.05, 0.1, 2.0)]
)
def test_linked_losses_against_their_definition(move, growth, cover, epsilon, replacement):
    """E(1 - e^{epsilon - loss})_+ as the page has it: a sum over normal numbers, the maximum over slopes looked up."""
    a, n = np.linspace(0, 1, 1001), np.linspace(-9, 9, 6001)
    weight = np.exp(-(n**2) / 2) / np.sqrt(2 * np.pi) * (n[1] - n[0])
    places = np.linspace(-9, 9 + move, 3001)
    curved = np.log1p(4 * a * (1 - a) * growth) + a**2 * move**2 / 2
    linked = np.max(curved + np.multiply.outer(places, a * move), axis=1)
    losses = [np.interp(n, places, linked)]
    if replacement:
        losses.append(move**2 / 2 + move * n + np.interp(n + move, places, linked))

    def profile(at):
        mu = cover or 1e-9
        return norm.cdf(mu / 2 - at / mu) - np.exp(at) * norm.cdf(-mu / 2 - at / mu)

    known = sum(weight @ (profile(epsilon - loss) - profile(epsilon)) for loss in losses) + profile(epsilon)
    found = float(LinkedLeak(move, growth, replacement, cover).delta(mp.mpf(epsilon)))
    assert known * (1 - 1e-4) <= found <= known * (1 + 1e-3)


@pytest.mark.parametrize(
    ("algorithm", "problem", "delta"),
    [
        (tacit.algorithms.HedgeOnSums, EXPERTS, 1e-6),
        (tacit.algorithms.HedgeOnSums, EXPERTS, 0.0),
        (tacit.algorithms.PrivateFTRL, CONVEX, 1e-6),
        (tacit.algorithms.OnlineToBatch, LOGISTIC, 1e-6),
        (tacit.algorithms.BanditFW, DISC, 1e-6),
        (tacit.algorithms.LipschitzGrid, LINE, 1e-6),
        (tacit.algorithms.NoisyMirrorDescent, TRACKING, 0.0),
        (tacit.algorithms.TrackingOnSums, SHIFTING, 0.0),
        (tacit.algorithms.LimitedUpdates, SHIFTING, 0.0),
        (tacit.algorithms.RecentLeader, SHIFTING, 0.0),
        (tacit.algorithms.RestartOnShift, SHIFTING, 0.0),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_noise_that_the_parameters_do_not_make_raises(algorithm, problem, delta):
    """The plan that is started from these parameters draws less of it."""
    made = tacit.contract(algorithm.calibrate(problem, epsilon=5.0, delta=delta))
    noise = made["noise"]
    for name in ("rate", "threshold_rate", "query_rate"):
        if noise.get(name):
            noise[name] /= 1000
    if noise["law"] == "discrete gaussian":
        noise["units"] = max(2, noise["units"] // 2000 * 2)
    made["epsilon"] /= 100
    with pytest.raises(InvalidInput, match="must not contradict itself: its 'noise'"):
        tacit.verify(json.dumps(made))
