"""`audit` on shipped plans: no violation, tight where it can be, and a report that says what was done."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import tacit
from attacks import rows
from attacks.targets import learners
from planted_bugs.catalogue import swap
from tacit.algorithms.bandit import BanditFW
from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.ctrl import CTRL
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.algorithms.lipschitz import LipschitzGrid, LipschitzNet
from tacit.algorithms.stochastic import ObjectivePerturbation, OnlineToBatch
from tacit.algorithms.tracking import limited_updates
from tacit.auditing import attacks
from tacit.auditing.report import CLEAN, VIOLATION, AuditReport, Finding
from tacit.auditing.run import audit
from tacit.domains import Ball, Box
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss, QuadraticLoss, SquaredLoss
from tacit.problems import Bandit, Convex, Lipschitz, Stochastic

EXPERTS = tacit.Experts(n=5, horizon=500)
TRACKING = tacit.Tracking(n=4, horizon=300, switches=2, adversary="stochastic")
CONVEX = Convex(domain=Ball(2), loss=LogisticLoss(), horizon=200)
SQUARE = Convex(domain=Box(-np.ones(2), np.ones(2)), loss=SquaredLoss(), horizon=200)
LINE = Convex(domain=Ball(1), loss=QuadraticLoss(), horizon=200)
ONE_PASS = Stochastic(domain=Ball(2, radius=1.5), loss=LogisticLoss(), horizon=200)
POLICIES = tacit.Policies(n=3, actions=2, horizon=500)
BANDIT = Bandit(domain=Ball(2, radius=0.5), horizon=1000)
GAUSSIAN = {"epsilon": 1.0, "delta": 1e-6}
PURE = {"epsilon": 1.0, "delta": 0.0}

PLANS = {
    "lazy experts": partial(tacit.algorithms.LazyExperts.calibrate, EXPERTS, **GAUSSIAN),
    "lazy experts, pure": partial(tacit.algorithms.LazyExperts.calibrate, EXPERTS, **PURE),
    "lazy experts, zero-out, two rounds": partial(
        tacit.algorithms.LazyExperts.calibrate, EXPERTS, relation="zero-out", rounds_per_person=2, **GAUSSIAN
    ),
    "schedule": partial(tacit.algorithms.ScheduledExperts.calibrate, EXPERTS, **GAUSSIAN),
    "hedge": partial(tacit.algorithms.HedgeOnSums.calibrate, EXPERTS, **GAUSSIAN),
    "hedge, pure": partial(tacit.algorithms.HedgeOnSums.calibrate, EXPERTS, **PURE),
    "limited updates": partial(tacit.algorithms.LimitedUpdates.calibrate, TRACKING, **PURE),
    "on sums": partial(tacit.algorithms.TrackingOnSums.calibrate, TRACKING, **PURE),
    "recent leader": partial(tacit.algorithms.RecentLeader.calibrate, TRACKING, **PURE),
    "mirror descent": partial(tacit.algorithms.NoisyMirrorDescent.calibrate, TRACKING, **GAUSSIAN),
    "ftrl": partial(PrivateFTRL.calibrate, CONVEX, streams=1, **GAUSSIAN),
    "ftrl, two streams": partial(PrivateFTRL.calibrate, CONVEX, streams=2, **GAUSSIAN),
    "ftrl, two streams, zero-out, three rounds": partial(
        PrivateFTRL.calibrate, CONVEX, streams=2, relation="zero-out", rounds_per_person=3, **GAUSSIAN
    ),
    "ftrl, not projected": partial(PrivateFTRL.calibrate, replace(CONVEX, proper=False), **GAUSSIAN),
    "ftrl, pure": partial(PrivateFTRL.calibrate, CONVEX, **PURE),
    "grid": partial(LipschitzGrid.calibrate, Lipschitz(horizon=100), **GAUSSIAN),
    "bandit": partial(BanditFW.calibrate, BANDIT, **GAUSSIAN),
    "one pass": partial(OnlineToBatch.calibrate, ONE_PASS, **GAUSSIAN),
    "one pass, pure": partial(OnlineToBatch.calibrate, ONE_PASS, **PURE),
    "averages": partial(tacit.algorithms.AveragedFTRL.calibrate, ONE_PASS, **GAUSSIAN),
    "averages, pure": partial(tacit.algorithms.AveragedFTRL.calibrate, ONE_PASS, **PURE),
    "explore linear": partial(
        tacit.algorithms.ExploreLinear.calibrate, tacit.ContextualArms(n=3, dimension=3, horizon=500), **GAUSSIAN
    ),
    "explore linear, public": partial(
        tacit.algorithms.ExploreLinear.calibrate,
        tacit.ContextualArms(n=3, dimension=3, horizon=500, features="public", delay=5),
        **GAUSSIAN,
    ),
    "batched tsallis": partial(tacit.algorithms.BatchedTsallis.calibrate, tacit.Arms(n=3, horizon=500), **PURE),
    "responses": partial(tacit.algorithms.Responses.calibrate, POLICIES, rounds_per_person=2, **GAUSSIAN),
    "policies as arms": partial(
        tacit.algorithms.PolicyArms.calibrate, replace(POLICIES, recommendations="private"), **PURE
    ),
}
SLOW = {
    "l2p": partial(tacit.algorithms.L2P.calibrate, EXPERTS, **GAUSSIAN),
    "lazy fixed share": partial(tacit.algorithms.LazyFixedShare.calibrate, TRACKING, **GAUSSIAN),
    "restarts": partial(tacit.algorithms.RestartOnShift.calibrate, TRACKING, **PURE),
    "net": partial(LipschitzNet.calibrate, Lipschitz(horizon=100), **GAUSSIAN),
    "objective perturbation": partial(ObjectivePerturbation.calibrate, ONE_PASS, **GAUSSIAN),
    "ctrl": partial(CTRL.calibrate, CONVEX, **GAUSSIAN),
    "ctrl on the line": partial(CTRL.calibrate, LINE, **GAUSSIAN),
    "gibbs in the plane": partial(L2PConvex.calibrate, CONVEX, **GAUSSIAN),
    "ctrl on a box": partial(CTRL.calibrate, SQUARE, **GAUSSIAN),
    "objective perturbation, pure": partial(ObjectivePerturbation.calibrate, ONE_PASS, **PURE),
    "gibbs": partial(L2PConvex.calibrate, Convex(domain=Ball(1), loss=LogisticLoss(), horizon=200), **GAUSSIAN),
    "live arms": partial(tacit.algorithms.LiveArms.calibrate, tacit.Arms(n=3, horizon=500), **PURE),
    "phased arms": partial(
        tacit.algorithms.PhasedArms.calibrate, tacit.Arms(n=3, horizon=500, adversary="stochastic"), **PURE
    ),
    "doubling": partial(tacit.algorithms.LazyExperts.calibrate, tacit.Experts(n=3, horizon=None), **GAUSSIAN),
}
NOISE = ("hedge", "ftrl", "grid", "bandit", "one pass", "mirror descent", "explore linear")


def check(report, name, record_property):
    record_property("attacked", report.plan.algorithm)
    record_property("false_alarm", report.false_alarm)
    assert report.verdict == CLEAN, str(report)
    assert 0 < report.worst.tightness <= 1 + 1e-6
    assert report.false_alarm < 1e-5
    assert "proved" not in str(report).lower()
    if name.split(",")[0] in NOISE:
        assert report.worst.tightness >= 0.95


def test_every_algorithm_of_the_catalogue_is_audited():
    assert {make.func.__self__.__name__ for make in (*PLANS.values(), *SLOW.values())} == learners()


@pytest.mark.attack(rows.LAWS)
@pytest.mark.parametrize("name", PLANS)
def test_shipped_plans(name, record_property):
    check(audit(PLANS[name](), budget=0.05), name, record_property)


@pytest.mark.slow
@pytest.mark.attack(rows.LAWS)
@pytest.mark.parametrize("name", SLOW)
def test_slower_shipped_plans(name, record_property):
    check(audit(SLOW[name](), budget=0.1), name, record_property)


def test_lazy_experts_are_tight_on_their_worst_small_instance():
    loud = next(small for small in PLANS["lazy experts"]().small_instances() if small.attack == "enumeration")
    instance = replace(loud, plan=loud.plan._resized(5))  # a third of the transcripts
    finding = attacks.exact(instance, tacit.Randomness.replayable(0).stream("tests"), laws=12)
    assert finding.tightness >= 0.4


def test_the_planner_s_choice_can_be_audited():
    choice = tacit.plan(tacit.Experts(n=2, horizon=20), **GAUSSIAN)
    told = []
    report = audit(choice, budget=0.02, progress=told.append)
    assert told
    assert report.plan is choice.plan
    assert report.to_dict()["certified_epsilon"] <= 1.0


def test_reports_repeat_themselves():
    plan = PLANS["limited updates"]()
    report, again = (audit(plan, budget=0.02, seed=5) for _ in range(2))
    assert report.to_dict() == again.to_dict()
    assert json.loads(json.dumps(report.to_dict()))["verdict"] == CLEAN
    assert audit(plan, budget=0.02, seed=6).to_dict() != report.to_dict()


def test_a_violation_says_how_to_see_it_again():
    plan = PLANS["limited updates"]()
    halved = swap(
        limited_updates, "permute_and_flip", lambda honest: lambda u, rate, scores: honest(u, 2 * rate, scores)
    )
    with halved():
        report = audit(plan, budget=0.05, seed=3)
    assert audit(plan, budget=0.05, seed=3).verdict == CLEAN
    assert report.violation
    assert report.verdict == VIOLATION
    shown = str(report)
    assert "VIOLATION" in shown
    assert "seed 3" in shown
    assert "reproduce with" in shown
    assert report.to_dict()["findings"][0]["stream"]
    long = Finding("replay", "x", "mu", 1.0, 2.0, True, stream=(np.zeros(2),) * 9, neighbour=(np.ones(2),) * 9)
    assert "round 1 of 9" in AuditReport(plan, (long,), 0).reproducer
    nothing = Finding("replay", "x", "mu", 0.0, 0.0, False)
    assert nothing.tightness == 0.0
    assert Finding("replay", "x", "mu", 0.0, 1.0, True).tightness == float("inf")


def test_bad_arguments():
    with pytest.raises(InvalidInput, match="calibrated plan"):
        audit("plan")
    plan = PLANS["schedule"]()
    with pytest.raises(InvalidInput, match="budget"):
        audit(plan, budget=0.0)
    with pytest.raises(InvalidInput, match="seed"):
        audit(plan, seed=-1)
