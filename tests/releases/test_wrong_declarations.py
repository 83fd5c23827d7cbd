"""Wrong declarations: each states a smaller epsilon or other noise than is drawn, or is refused.

What they are compared with here is the declaration that the plan makes. Who else finds them,
without the plan's help, is the subject of the second accountant.
"""

from dataclasses import replace

import pytest

import tacit
from tacit import algorithms as known
from tacit.domains import Ball
from tacit.errors import TacitError
from tacit.losses import HuberLoss, LogisticLoss, QuadraticLoss
from tacit.releases import Softmax

TARGET = {"epsilon": 1.0, "delta": 1e-6}
PURE = {"epsilon": 1.0, "delta": 0.0}
EXPERTS = tacit.Experts(n=3, horizon=400)
SHIFTING = tacit.Tracking(n=3, horizon=400, switches=2)
STOCHASTIC = replace(SHIFTING, adversary="stochastic")
POINTS = tacit.Convex(domain=Ball(3), loss=LogisticLoss(), horizon=400)
RECORDS = tacit.Stochastic(domain=Ball(3), loss=LogisticLoss(), horizon=400)
INTERVAL = tacit.Convex(domain=Ball(1), loss=LogisticLoss(), horizon=100)
LIVE = tacit.Arms(n=3, horizon=5000, adversary="stochastic")
SQUARES = tacit.Convex(domain=Ball(2), loss=QuadraticLoss(), horizon=3000)
CONTEXTS = tacit.ContextualArms(n=3, dimension=2, horizon=20000)
POLICIES = tacit.Policies(n=4, actions=3, horizon=400)


def made(kind, problem, **options):
    return lambda: kind.calibrate(problem, **options)


lazy = made(known.LazyExperts, EXPERTS, **TARGET)
capped = made(known.LazyExperts, EXPERTS, **PURE)
scheduled = made(known.ScheduledExperts, EXPERTS, **TARGET)
two_streams = made(known.PrivateFTRL, POINTS, streams=2, **TARGET)
batched = made(known.PrivateFTRL, POINTS, max_switches=30, rounds_per_person=4, **TARGET)
live = made(known.LiveArms, LIVE, rounds_per_person=2, **PURE)
restart = made(known.RestartOnShift, STOCHASTIC, **PURE)
ctrl = made(known.CTRL, replace(POINTS, horizon=3000), **TARGET)
squares = made(known.CTRL, SQUARES, epsilon=3.0, delta=1e-6)
linear = made(known.ExploreLinear, CONTEXTS, **TARGET)
descent = made(known.PrivateDescent, RECORDS, **TARGET)
robust = replace(RECORDS, loss=HuberLoss(transition=0.5))
model = made(known.ObjectivePerturbation, robust, **TARGET)
tree = made(known.OnlineToBatch, RECORDS, batch=4, mechanism="tree", **TARGET)
responses = made(known.Responses, POLICIES, rounds_per_person=20, **TARGET)
mirror = made(known.NoisyMirrorDescent, SHIFTING, rounds_per_person=5, **TARGET)


def two_chains():
    return known.L2P(EXPERTS, 0.01, 0.1, 0.1, 2)


def share():
    return known.LazyFixedShare(replace(SHIFTING, horizon=10**6), 0.004, 0.01, 20)


def gibbs():
    return known.L2PConvex(INTERVAL, 0.05, 60.0, 0.3, 0.05, 8, 0.2)


def inside(release, **changes):
    """Change what is inside of the outermost release."""
    return replace(release, release=replace(release.release, **changes))


def coin(release, **changes):
    return replace(release, coin=replace(release.coin, **changes))


LOWER, NOISE, REFUSED = "a smaller epsilon", "other noise", "refused"
CASES = {
    "draws of half the range": (
        lazy, LOWER, lambda r: replace(r, draw=Softmax(r.draw.rate / 2))),
    "coins move half as far": (
        lazy, LOWER, lambda r: coin(r, limit=r.coin.limit / 2)),
    "a twentieth of the tosses forgotten": (
        lazy, LOWER, lambda r: replace(r, tosses=r.tosses * 19 // 20)),
    "forced redraws twice as likely": (
        lazy, NOISE, lambda r: coin(r, force=2 * r.coin.force)),
    "a cap that is not there": (
        lazy, LOWER, lambda r: replace(r, cap=2)),
    "a cap lower than the plan's": (
        capped, LOWER, lambda r: replace(r, cap=r.cap - 1)),
    "half the draws": (
        scheduled, LOWER, lambda r: replace(r, times=r.times // 2)),
    "half the rate, scheduled": (
        scheduled, LOWER, lambda r: inside(r, rate=r.release.rate / 2)),
    "terms without signs": (
        two_chains, LOWER, lambda r: coin(r, signed=False)),
    "the reference forgotten": (
        two_chains, LOWER, lambda r: replace(r, reference=0.0)),
    "float64 weights forgotten": (
        share, LOWER, lambda r: replace(r, draw=Softmax(r.draw.rate))),
    "one stream of two": (
        two_streams, NOISE, lambda r: replace(r, streams=1)),
    "batches forgotten": (
        batched, NOISE, lambda r: replace(r, records=replace(r.records, batch=None))),
    "noise for half of mu is said to be all": (
        two_streams, LOWER, lambda r: replace(r, privacy=r.privacy / 2)),
    "a person's rounds forgotten in batches": (
        mirror, LOWER, lambda r: replace(r, scale=r.scale * 2)),
    "half steps where there are none": (
        live, REFUSED, lambda r: replace(r, steps=2, neutral=1, privacy=r.privacy / 2)),
    "half the rate of arms": (
        live, LOWER, lambda r: replace(r, rate=r.rate / 2, privacy=r.privacy / 2)),
    "tests forgotten": (
        restart, LOWER, lambda r: replace(
            r, release=r.release.parts[0], privacy=r.release.parts[0].privacy)),
    "drift forgotten": (
        ctrl, LOWER, lambda r: inside(
            r, coin=replace(r.release.coin, per_side=0.0, per_round=0.0, error=0.0))),
    "a general loss taken for linear": (
        squares, LOWER, lambda r: inside(r, draw=replace(r.release.draw, linear=True))),
    "draws twice as strongly concave": (
        gibbs, LOWER, lambda r: replace(r, draw=replace(r.draw, ridge=2 * r.draw.ridge))),
    "half of the releases": (
        linear, NOISE, lambda r: inside(r, releases=r.release.releases // 2)),
    "half of the passes": (
        descent, LOWER, lambda r: replace(r, times=r.times // 2)),
    "slopes of one sign": (
        model, LOWER, lambda r: replace(r, one_sided=True)),
    "records that do not grow": (
        tree, NOISE, lambda r: replace(r, multiple=None)),
    "half the rate of responses": (
        responses, LOWER, lambda r: replace(r, rate=r.rate / 2)),
}  # fmt: skip


def test_there_are_twenty_six():
    assert len(CASES) == 26


@pytest.mark.parametrize(("plan", "outcome", "slip"), CASES.values(), ids=CASES)
def test_a_wrong_declaration_is_another_one(plan, outcome, slip):
    plan = plan()
    among = plan.neighbours
    honest = plan.releases
    delta = plan.guarantee.at_delta
    wrong = slip(honest)
    if outcome == REFUSED:
        with pytest.raises(TacitError):
            wrong.curve(among)
        return
    assert wrong.to_dict(among) != honest.to_dict(among)
    stated = wrong.curve(among).epsilon(delta)
    epsilon = honest.curve(among).epsilon(delta)
    assert (stated < epsilon) == (outcome == LOWER), (stated, epsilon)
