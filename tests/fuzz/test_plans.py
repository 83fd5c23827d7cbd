"""Plans: constructors, calibrations and the planner at any parameters; huge horizons are answered or refused."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from algorithms.measures.measures import ThreeNames
from fuzz.harness import REFUSED, attempt
from fuzz.plans import (
    ARMS,
    BANDIT,
    CURVES,
    EXPERTS,
    INTERVAL,
    LATE_POLICIES,
    LINEAR,
    LOGISTIC,
    PLANS,
    POLICIES,
    QUADRATIC,
    RECORDS,
    REQUESTS,
    TRACKING,
    N,
    made,
)
from fuzz.strategies import examples, nearly, odd_arrays, one_of, privacy, values
from tacit import algorithms
from tacit.algorithms.stochastic import MirrorDescent
from tacit.noise.running_sums import Buffered, LaplaceTree, Tree

SHARED = {"relation": one_of("replace", tacit.ZERO_OUT), "rounds_per_person": one_of(1, 2)}
SUMS = one_of(Buffered(39), Tree(39), LaplaceTree(39))
CONSTRUCTORS = {
    algorithms.LazyExperts: {"problem": EXPERTS, "eta": 0.3, "force": 0.2, "batch": 2, "relative": True,
        "max_switches": 3},
    algorithms.L2P: {"problem": EXPERTS, "eta": 0.3, "force": 0.2, "reference_force": 0.1, "batch": 2, "slack": 1.0},
    algorithms.ScheduledExperts: {"problem": EXPERTS, "eta": 0.3, "batch": 2, "delta": 1e-6},
    algorithms.HedgeOnSums: {"problem": EXPERTS, "eta": 0.3, "mechanism": SUMS, "privacy": 1.0, "hold": True},
    algorithms.RestartOnShift: {
        "problem": TRACKING, "epsilon": 1.0, "interval": 3, "slope": 0.5, "margin": 0.0, "shares": (0.4, 0.3, 0.3),
    },
    algorithms.LimitedUpdates: {"problem": TRACKING, "epsilon": 1.0},
    algorithms.LazyFixedShare: {
        "problem": TRACKING, "eta": 0.3, "force": 0.2, "batch": 1, "prior": one_of("markov", "uniform"),
        "max_redraws": None,
    },
    algorithms.NoisyMirrorDescent: {
        "problem": TRACKING, "eta": 0.3, "scale": 3.0, "noise": one_of("cube", "laplace", "gaussian"), "batch": 2,
    },
    algorithms.TrackingOnSums: {
        "problem": TRACKING, "eta": 0.3, "mix": 0.2, "scale": 3.0, "block": 2, "base": one_of("mirror", "leader"),
    },
    algorithms.RecentLeader: {"problem": TRACKING, "epsilon": 1.0, "block": 2},
    algorithms.PrivateFTRL: {
        "problem": one_of(LINEAR, LOGISTIC, replace(LOGISTIC, proper=False)), "eta": 0.3, "mechanism": SUMS,
        "privacy": 1.0, "adversary": one_of("oblivious", "adaptive"), "streams": one_of(1, 2),
        "projected": one_of(True, False), "rate": one_of("certified", "practical", "given"),
    },
    algorithms.CTRL: {
        "problem": QUADRATIC, "eta": 0.5, "sigma": 3.0, "force": 0.2, "log_phi": 0.5, "max_switches": one_of(None, 2),
    },
    algorithms.L2PConvex: {
        "problem": INTERVAL, "rate": 0.1, "regularisation": 1.0, "force": 0.2, "clip": 0.5, "batch": 1,
        "reference_force": 0.1, "sampler_distance": 0.0, "work_limit": 1e6,
    },
    algorithms.L2PMeasure: {
        "problem": EXPERTS, "measure": ThreeNames(0.3), "force": 0.2, "batch": 2, "reference_force": 0.1,
    },
    algorithms.LazyOCO: {
        "problem": LOGISTIC, "sigma": 3.0, "eta": one_of(0.5, math.inf), "switches": 20.0, "max_switches": 3,
    },
    algorithms.LipschitzGrid: {"problem": CURVES, "eta": 0.3, "bits": one_of(1, 2), "mechanism": SUMS, "privacy": 1.0},
    algorithms.LipschitzNet: {"problem": CURVES, "cells": 3, "experts": made("LazyExperts")},
    algorithms.PhasedArms: {
        "problem": ARMS, "epsilon": 1.0, "first": one_of(1, 4), "ratio": 1.5, "level": 3.0,
        "noise": one_of("geometric", "gaussian"), "delta": 1e-6,
    },
    algorithms.ExploreLinear: {
        "problem": REQUESTS, "mu": one_of(0.5, 2.0), "explore": one_of(12, 25), "ridges": one_of((1.0, 2.0)),
    },
    algorithms.LiveArms: {
        "problem": ARMS, "epsilon": 1.0, "first": one_of(1, 4), "mean_at_most": 0.5, "min_share": 0.01,
        "count_missing": one_of(False, True), "missing": one_of("worst", 0.5),
    },
    algorithms.BatchedTsallis: {
        "problem": ARMS, "epsilon": 1.0, "batch": one_of(1, 2), "power": 0.5, "eta": 0.1, "kappa": 0.1,
        "lowering": one_of(0.0, 1.0),
    },
    algorithms.Responses: {
        "problem": one_of(POLICIES, LATE_POLICIES), "epsilon": 1.0, "rate": one_of(0.5, 1.0), "eta": 0.1,
        "copies": one_of(1, 3), "missing": one_of("worst", 0.5),
    },
    algorithms.PolicyArms: {"problem": POLICIES, "arms": made("BatchedTsallis")},
    algorithms.BanditFW: {"problem": BANDIT, "zeta": 0.1, "eta": 0.1, "mechanism": SUMS, "privacy": 1.0,
        "baseline": None, "linear": one_of(False, True)},
    algorithms.ObjectivePerturbation: {
        "problem": RECORDS, "regularisation": 1.0, "noise_scale": 1.0, "accuracy": 1e-3, "protection": 1.0,
        "releases": 1, "pure": False,
    },
    algorithms.AveragedFTRL: {"problem": RECORDS, "eta": 0.3, "mechanism": SUMS, "privacy": 1.0, "streams": one_of(1,
        2)},
    algorithms.OnlineToBatch: {
        "problem": RECORDS, "learner": MirrorDescent, "mechanism": SUMS, "privacy": 1.0, "power": 1.0, "batch": 1,
        "lipschitz": 1.0, "smoothness": 1.0,
    },
}  # fmt: skip
WITHOUT_PEOPLE = (algorithms.ObjectivePerturbation,)
WITHOUT_RELATION = (algorithms.LazyOCO, algorithms.LipschitzNet, algorithms.PolicyArms)


@pytest.mark.parametrize("kind", [algorithms.Responses, algorithms.PolicyArms], ids=lambda kind: kind.__name__)
@examples(40)
@given(context=values | odd_arrays(columns=N, dimensions=(1, 2)) | st.just([0, 1, 1]))
def test_recommendations(kind, context):
    learner = kind.calibrate(POLICIES, epsilon=1.0, delta=0.0).start(tacit.Randomness.replayable(1))
    before = learner.state_dict()
    if attempt(lambda: learner.play(context)) is REFUSED:
        assert learner.state_dict() == before
    else:
        assert learner.play() in (0, 1)


def look(plan):
    """Read everything that a plan says, and start it."""
    guarantee = attempt(lambda: plan.guarantee)
    if guarantee is not REFUSED:
        spent = attempt(lambda: guarantee.epsilon(1e-6))
        assert spent is REFUSED or spent >= 0
    bound = attempt(lambda: float(plan.regret_bound))
    assert bound is REFUSED or bound >= 0
    switches = attempt(lambda: plan.expected_switches)
    assert switches is REFUSED or switches is None or switches >= 0
    assert attempt(lambda: plan.vacuous) in (True, False, REFUSED)
    assert attempt(lambda: plan.explain()) is REFUSED or plan.signature.startswith(plan.algorithm)
    learner = attempt(lambda: plan.start(tacit.Randomness.replayable(1)))
    if learner is not REFUSED:
        problem, context = plan.problem, []
        if isinstance(problem, tacit.Policies | tacit.ContextualArms):
            context = [[0] * (problem.n if isinstance(problem, tacit.Policies) else problem.dimension)]
        assert attempt(lambda: learner.play(*context)) is not REFUSED
        assert attempt(learner.state_dict)["round"] == 0


@pytest.mark.parametrize("kind", CONSTRUCTORS, ids=lambda kind: kind.__name__)
@examples(12)
@given(data=st.data())
def test_constructors(kind, data):
    shared = {} if kind in WITHOUT_RELATION else dict(SHARED)
    if kind in WITHOUT_PEOPLE:
        del shared["rounds_per_person"]
    arguments = data.draw(nearly(**CONSTRUCTORS[kind], **shared))
    plan = attempt(lambda: kind(**arguments))
    if plan is not REFUSED:
        look(plan)


TARGETS = {
    algorithms.LazyExperts: EXPERTS,
    algorithms.L2P: EXPERTS,
    algorithms.ScheduledExperts: EXPERTS,
    algorithms.HedgeOnSums: EXPERTS,
    algorithms.RestartOnShift: TRACKING,
    algorithms.LimitedUpdates: TRACKING,
    algorithms.LazyFixedShare: TRACKING,
    algorithms.NoisyMirrorDescent: TRACKING,
    algorithms.TrackingOnSums: TRACKING,
    algorithms.RecentLeader: TRACKING,
    algorithms.PrivateFTRL: LINEAR,
    algorithms.CTRL: LINEAR,
    algorithms.L2PConvex: INTERVAL,
    algorithms.LazyOCO: LINEAR,
    algorithms.LipschitzGrid: CURVES,
    algorithms.LipschitzNet: CURVES,
    algorithms.BanditFW: BANDIT,
    algorithms.PhasedArms: ARMS,
    algorithms.LiveArms: ARMS,
    algorithms.ExploreLinear: REQUESTS,
    algorithms.BatchedTsallis: ARMS,
    algorithms.Responses: POLICIES,
    algorithms.PolicyArms: POLICIES,
    algorithms.ObjectivePerturbation: RECORDS,
    algorithms.AveragedFTRL: RECORDS,
    algorithms.OnlineToBatch: RECORDS,
}


@examples(20)
@given(value=values)
def test_releases_and_gaps(value):
    plan = made("PhasedArms")
    assert attempt(lambda: plan.release(value)) is REFUSED or value >= 1
    bound = attempt(lambda: plan.regret_bound_given(value))
    assert bound is REFUSED or float(bound) >= 0


@pytest.mark.parametrize("kind", TARGETS, ids=lambda kind: kind.__name__)
@examples(3)
@given(arguments=privacy, problem=values, wrong=st.integers(0, 5))
def test_calibrations(kind, arguments, problem, wrong):
    if wrong == 0:
        assert attempt(lambda: kind.calibrate(problem, **arguments)) is REFUSED
        other = LINEAR if kind is algorithms.BanditFW else BANDIT
        assert attempt(lambda: kind.calibrate(other, **arguments)) is REFUSED
    plan = attempt(lambda: kind.calibrate(TARGETS[kind], **arguments))
    if plan is not REFUSED:
        spent = attempt(lambda: plan.guarantee.epsilon(arguments["delta"]))
        assert spent is REFUSED or spent <= arguments["epsilon"] * (1 + 1e-6)
        look(plan)


@pytest.mark.parametrize(
    ("problem", "horizon"),
    [
        (problem, rounds)
        for problem in (EXPERTS, TRACKING, CURVES, BANDIT, ARMS, RECORDS, REQUESTS)
        for rounds in (1, 2, 10**12, 2**63 - 1)
    ]
    + [(LINEAR, 1), (INTERVAL, 10**12)],
    ids=lambda value: f"{value:.0e}" if isinstance(value, int) else type(value).__name__,
)
def test_huge_and_tiny_horizons(problem, horizon):
    changes = {"switches": 0} if isinstance(problem, tacit.Tracking) else {}
    choice = attempt(lambda: tacit.plan(replace(problem, horizon=horizon, **changes), epsilon=1.0, delta=1e-6))
    if choice is not REFUSED:
        look(choice.plan)


@examples(10)
@given(value=values)
def test_small_methods(value):
    restarts = attempt(lambda: made("RestartOnShift").regret_after(value))
    assert restarts is REFUSED or restarts >= 0
    window = attempt(lambda: made("LimitedUpdates").window_regret(value))
    assert window is REFUSED or float(window) >= 0
    sure = attempt(lambda: made("LimitedUpdates").window_regret(5, confidence=value))
    assert sure is REFUSED or float(sure) >= 0
    assert attempt(lambda: made("OnlineToBatch").risk_within(value)) is REFUSED  # no confidence was asked for
    bound = attempt(lambda: made("doubling").regret_bound_at(value))
    assert bound is REFUSED or float(bound) >= 0
    most = attempt(lambda: made("CTRL").most_switches(value))
    assert most is REFUSED or 0 <= most < made("CTRL").rounds
    assert isinstance(ThreeNames(0.3), algorithms.OwnMeasure)
    wanted = attempt(
        lambda: algorithms.L2PMeasure.calibrate(EXPERTS, epsilon=1.0, delta=1e-6, measure=lambda rate: value)
    )
    assert wanted is REFUSED or isinstance(value, algorithms.OwnMeasure)
    budget = attempt(lambda: algorithms.LazyOCO.for_budget(LOGISTIC, switches=value))
    assert budget is REFUSED or budget.switches == value
    for name in PLANS:
        if value is not None:
            assert attempt(lambda name=name: made(name).start(value)) is REFUSED
    assert attempt(made("BanditFW").solver) is not REFUSED
    assert made("CTRL").playable_loss() is QUADRATIC.loss
