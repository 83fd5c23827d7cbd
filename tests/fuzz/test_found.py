"""What fuzzing found, kept: each of these once raised something else, warned, hung, or answered on the wrong side."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.plans import made, start
from tacit.accounting.composition import compose
from tacit.accounting.curves import BoundedRange, Gaussian, Pure, Repeated, SamplerError, Sum
from tacit.accounting.lazy import LazyChain
from tacit.algorithms.bandit import NoisyOCO
from tacit.environments.tracking import PenaliseHeld
from tacit.noise.running_sums import Buffered, Tree
from tacit.simulation.comparators import best_switching_sequence

N = 3
ANSWERED = {
    "long rows": lambda: tacit.losses.LinearLoss().gradient(np.zeros(N), np.full(N, 1e308)),
    "huge counts": lambda: Repeated(Pure(0.1), 10**12).epsilon(1e-6),
    "tiny mu": lambda: Gaussian(1e-60).epsilon(5e-324),
    "whole mu": lambda: compose([Gaussian(10**12), Gaussian(1)]),
    "huge width": lambda: BoundedRange(1e308).delta(0.0),
    "tiny probability": lambda: LazyChain.of_hazards(5e-324, 0.0, decisions=1, bit=0.0, draw=BoundedRange(0.3)).delta(
        0.0
    ),
    "huge price": lambda: SamplerError(Pure(1.0), 1e300, 3).delta(1e300),
    "far points": lambda: tacit.domains.Ball(N).contains([1e308] * N),
    "far projections": lambda: tacit.domains.Simplex(N).project([1e308, -1e308, 0.0]),
    "points at the edge": lambda: tacit.domains.Simplex(N).barrier.value([1e-311, 0.5, 0.5]),
    "tiny polytope": lambda: tacit.domains.Polytope([[-1, 0], [0, -1], [1, 1]], [1e-18] * 3).radius,
    "lists in hulls": lambda: tacit.domains.Simplex(N).to_hull([1.0, 0.0, 0.0]),
    "huge epsilon": lambda: Pure(1e308).renyi(np.array([1.5, 1e8])),
    "chains that never keep": lambda: LazyChain(39, 0.0, 0.8, 1e9, BoundedRange(2e18), drift=1.0).epsilon(1e-6),
    "bounds at small integers": lambda: made("doubling").regret_bound_at(np.int8(100)),
    "negative zero": lambda: tacit.environments.PricingCurve(5, spread=-0.0).functions(stream()),
    "small integers": lambda: tacit.plan(tacit.Experts(n=np.int8(100), horizon=np.int8(100)), epsilon=1.0, delta=1e-6),
}
REFUSALS = {
    "ragged rows": lambda: tacit.losses.LinearLoss().gradient(np.zeros(N), ([], 0.0)),
    "points for other rounds": lambda: tacit.losses.LinearLoss().value(np.zeros((2, N)), np.zeros(N)),
    "infinite points": lambda: tacit.losses.LinearLoss().value([math.inf, 0.0, 0.0], np.ones(N)),
    "huge integers": lambda: tacit.Experts(n=2, horizon=10**400),
    "huge dimensions": lambda: tacit.domains.Ball(10**12),
    "huge streams": lambda: tacit.environments.BernoulliGap(3, 10**12).losses(stream()),
    "huge lists of noise": lambda: Buffered(10**12).standard_deviations(1.0),
    "huge numbers of runs": lambda: tacit.simulate(
        made("ScheduledExperts"), tacit.environments.BernoulliGap(3, 5), runs=10**12
    ),
    "huge delays": lambda: NoisyOCO(
        steps=10**12, dimension=1, eta=1.0, leader=np.negative, sums=Tree(5).start(1, 1.0, np.zeros), delay=10**11
    ),
    "steps that are none": lambda: Tree(5).row_norm(-1.5),
    "masked entries": lambda: best_switching_sequence(np.ma.masked_array([[0.5, 0.5]], mask=[[True, False]]), 1),
    "problems of another kind": lambda: tacit.algorithms.LazyExperts(None, eta=0.3, force=0.2),
    "calibrations of another kind": lambda: tacit.algorithms.LimitedUpdates.calibrate(
        made("BanditFW").problem, epsilon=1, delta=0
    ),
    "mechanisms that are none": lambda: tacit.algorithms.HedgeOnSums(
        made("L2P").problem, eta=0.3, mechanism=None, privacy=1.0
    ),
    "curves of no curves": lambda: Sum((1.0,)),
    "guarantees of no text": lambda: tacit.Guarantee(Pure(1.0), 0.0, None, "b"),
    "compositions with none": lambda: tacit.Guarantee(Pure(1.0), 0.0, "a", "b").compose(None),
    "keys that are none": lambda: tacit.Randomness(b"short"),
    "streams without a name": lambda: tacit.Randomness.replayable(1).stream(None),
    "actions that are none": lambda: PenaliseHeld(3, 5).start(stream()).respond(7),
    "batches of one person": lambda: LazyChain(9, 0.1, 0.8, 0.1, Pure(0.1), batch=10**9, rounds_per_person=10**9),
    "more releases than can be counted": lambda: replace(made("ObjectivePerturbation"), releases=1000).guarantee,
    "rates that are none": lambda: tacit.algorithms.LazyOCO(
        made("LazyOCO").problem, sigma=1.0, eta=None, switches=20.0
    ),
    "sources that cannot be hashed": lambda: tacit.domains.Paths([("s", "t")], {1}, "t"),
    "priors that are none": lambda: tacit.algorithms.LazyFixedShare(
        made("LimitedUpdates").problem, eta=0.3, force=0.2, prior={}
    ),
    "ledgers of no guarantees": lambda: tacit.Ledger().record("fit", 1.0),
    "choices of none": lambda: tacit.Comparison(made("L2P").problem, None, []),
    "norms that are none": lambda: replace(made("OnlineToBatch"), norm=0.0),
    "states that are none": lambda: start("HedgeOnSums").load_state_dict(None),
}


def stream():
    return tacit.Randomness.replayable(1).stream("found")


@pytest.mark.usefixtures("quick_planner")
@pytest.mark.parametrize("name", ANSWERED)
def test_answered(name):
    assert attempt(ANSWERED[name]) is not REFUSED


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name):
    assert attempt(REFUSALS[name]) is REFUSED


@pytest.mark.parametrize("mu", [1e-3, 1.0, 100.0, 1e4, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.5, 0.99])
def test_gaussian_epsilon_is_on_the_private_side(mu, delta):
    """delta = Phi(-z) - e^epsilon Phi(-b) with epsilon = mu^2/2 + mu z and b = mu + z: bounds from both sides.

    The first term alone is at least delta. The second one is at most phi(z)/b, so for large mu it is below the first
    by a factor of about (1 + |z|)/mu. What was wrong: in floats e^epsilon and Phi(-b) lost the digits of their product.
    """
    z = float(norm.isf(delta))
    epsilon = Gaussian(mu).epsilon(delta)
    assert epsilon <= max(0.0, mu**2 / 2 + mu * z) * (1 + 1e-6) + 1e-6
    inflated = delta * (1 + 4 * (1 + abs(z)) / mu)
    if mu >= 100 and inflated < 1:
        assert epsilon >= (mu**2 / 2 + mu * float(norm.isf(inflated))) * (1 - 1e-12)


@pytest.mark.parametrize("mu", [5e-324, 1e-200, 1e-160])
def test_tiny_gaussians_do_not_vanish_when_they_compose(mu):
    assert compose([Gaussian(mu), Gaussian(mu)]).mu >= mu


def test_a_state_that_does_not_fit_leaves_the_learner_as_it_was():
    learner = start("HedgeOnSums")
    learner.play()
    learner.observe([0.1, 0.2, 0.3])
    state = learner.state_dict()
    for part in state:
        attempt(lambda part=part: learner.load_state_dict({**state, part: object}), learner)
    learner.load_state_dict(state)
    twin = start("HedgeOnSums")
    twin.play()
    twin.observe([0.1, 0.2, 0.3])
    assert twin.play() == learner.play()
