"""Certificates never rise when less is asked for: more epsilon, more delta, fewer rounds per person, no limits."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from tacit import ZERO_OUT, Arms, Convex, Experts, Tracking
from tacit import plan as plan_for
from tacit.algorithms.arms import LiveArms, PhasedArms
from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.algorithms.experts import L2P, HedgeOnSums, LazyExperts
from tacit.algorithms.tracking import RecentLeader, TrackingOnSums
from tacit.domains import Ball
from tacit.errors import PrivacyError
from tacit.losses import LogisticLoss
from tacit.problems import Problem
from tacit.runtime.plan import Plan
from tacit.runtime.target import Target

EPSILONS = (0.05, 0.3, 1.0, 2.0, 4.0, 8.0, 12.0)
STOCHASTIC = {"adversary": "stochastic"}
# Each of these certified more with the second epsilon than with the first, when only the target itself was searched.
ROSE = {
    "LazyExperts, 122.388 at 8 and 122.401 at 12": (LazyExperts, Experts(n=20, horizon=10_000), (8.0, 12.0)),
    "L2P, 4,822 at .5 and 5,030 at 8": (L2P, Experts(n=100, horizon=100_000, delay=50), (0.5, 8.0)),
    "PhasedArms, 195.24 at 8 and 195.27 at 12": (PhasedArms, Arms(n=5, horizon=1000, **STOCHASTIC), (8.0, 12.0)),
    "L2PConvex, 381 at 4 and refused at 8": (
        L2PConvex,
        Convex(domain=Ball(2), loss=LogisticLoss(), horizon=10_000),
        (4.0, 8.0),
    ),
}
QUICK: tuple[tuple[type[Plan], Problem], ...] = (
    (LazyExperts, Experts(n=5, horizon=1000)),
    (HedgeOnSums, Experts(n=20, horizon=10_000, delay=20)),
    (TrackingOnSums, Tracking(n=5, horizon=1000, switches=4)),
    (RecentLeader, Tracking(n=5, horizon=1000, switches=1, **STOCHASTIC)),
    (PhasedArms, Arms(n=5, horizon=1000, delay=10, **STOCHASTIC)),
    (PrivateFTRL, Convex(domain=Ball(2), loss=LogisticLoss(), horizon=10_000)),
)


def certified(algorithm: type[Plan], problem: Problem, epsilon: float, delta: float = 1e-6, **asked: int) -> float:
    """Infinite where there is no plan."""
    target = Target(epsilon, delta, adversary=problem.adversary, **asked)
    try:
        return float(algorithm.calibrate_for(problem, target, by_rule=False).regret_bound)
    except PrivacyError:
        return inf


@pytest.mark.parametrize("name", ROSE)
def test_what_rose_with_epsilon_no_longer_does(name: str) -> None:
    algorithm, problem, (little, much) = ROSE[name]
    assert certified(algorithm, problem, much) <= certified(algorithm, problem, little)


@pytest.mark.parametrize(("algorithm", "problem"), QUICK, ids=lambda value: getattr(value, "__name__", ""))
def test_certificates_never_rise_with_epsilon(algorithm: type[Plan], problem: Problem) -> None:
    never_rise(algorithm, problem, EPSILONS)


def test_the_smallest_certificate_of_a_plan_by_rule_falls() -> None:
    """With K = 20 and T = 100,000 the rule certified 5,110 at .5 and 7,499 at 8, and the search had 5,110 at both."""
    problem = Arms(n=5, horizon=1000, **STOCHASTIC)
    little, much = (
        plan_for(problem, epsilon=e, delta=0.0, algorithms=["LiveArms"], rank="certified") for e in (0.5, 8)
    )
    assert float(much.regret_bound) <= 0.9 * float(little.regret_bound)
    ruled = LiveArms.calibrate(problem, epsilon=8.0, delta=0.0)
    assert ruled.epsilon == 8.0
    assert float(ruled.regret_bound) > 1.2 * float(much.regret_bound)
    late = Arms(n=3, horizon=None, delay=10**6, **STOCHASTIC)  # no first block is back within the certified rounds
    assert plan_for(late, epsilon=1.0, delta=0.0, algorithms=["LiveArms"], rank="certified").algorithm == "LiveArms"


def test_certificates_of_means_near_the_ends_are_not_coarse() -> None:
    """133,777 at .7 and 88,898 at .05: exponents were tabulated too coarsely where the variance of a bit vanishes."""
    problem = Arms(n=6, horizon=6 * 10**7, delay=20_000, **STOCHASTIC)
    little, much = (float(LiveArms.calibrate(problem, epsilon=e, delta=0.0).regret_bound) for e in (0.05, 0.7))
    assert much <= 1.1 * little


def never_rise(algorithm: type[Plan], problem: Problem, epsilons: tuple[float, ...]) -> None:
    values = [certified(algorithm, problem, epsilon) for epsilon in epsilons]
    assert values[-1] < inf
    assert values == sorted(values, reverse=True), algorithm


@pytest.mark.parametrize(("algorithm", "problem"), QUICK, ids=lambda value: getattr(value, "__name__", ""))
def test_certificates_never_rise_with_fewer_constraints(algorithm: type[Plan], problem: Problem) -> None:
    free = certified(algorithm, problem, 1.0)
    assert free <= certified(algorithm, problem, 1.0, rounds_per_person=3)
    assert free <= certified(algorithm, problem, 1.0, 1e-9) <= certified(algorithm, problem, 1.0, 0.0)
    assert free <= certified(algorithm, problem, 1.0, max_switches=100)
    assert certified(algorithm, problem, 1.0, relation=ZERO_OUT) <= free * (1 + 1e-9)
    assert certified(algorithm, replace(problem, delay=0), 1.0) <= free
