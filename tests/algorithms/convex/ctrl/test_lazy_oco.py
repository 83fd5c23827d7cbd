"""LazyOCO: within its budget of switches, under its regret bound, and never called private."""

import numpy as np
import pytest

from algorithms.convex.measured import measured
from tacit.accounting.curves import NotPrivate
from tacit.algorithms.convex.ctrl import LazyOCO
from tacit.algorithms.convex.ctrl.lazy_oco import growing_ranges
from tacit.domains import Ball, KSubsets
from tacit.environments.convex import DriftingQuadratic, LogisticStream
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import ConvexFamily, CustomLoss, LinearLoss, LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import chi_quantile
from tacit.problems import Convex
from tacit.simulation.comparators import best_fixed_point


@pytest.mark.parametrize(
    ("environment", "budget"), [(LogisticStream(2, 500), 30), (DriftingQuadratic(2, 500, spread=0.3), 100)], ids=repr
)
def test_budget_and_regret_are_kept(environment, budget):
    problem = Convex(domain=Ball(2), loss=environment.loss, horizon=500)
    plan = LazyOCO.for_budget(problem, switches=budget)
    assert 0.9 * budget <= plan.expected_switches <= budget
    regrets, switches = measured(plan, environment, 4)
    assert switches.mean() <= budget
    assert switches.min() >= 1
    assert regrets.mean() <= float(plan.regret_bound)


def test_strongly_convex_mode():
    problem = Convex(domain=Ball(1, 4.0), loss=QuadraticLoss(strength=2.0), horizon=3000)
    ranges = growing_ranges(problem, 5.0, np.arange(1, 3000), 2999)
    assert ranges[0] == np.inf
    assert np.all(np.diff(ranges[1:]) < 0)
    plan = LazyOCO(problem, sigma=5.0, eta=np.inf, switches=2999.0)
    environment = DriftingQuadratic(1, 3000, spread=0.3)
    learner = plan.start(Randomness.replayable(0))
    first = learner.play()
    np.testing.assert_array_equal(first, [0.0])
    learner.observe([0.5])
    assert learner.switches == 1  # the first round always redraws
    data = environment.data(Randomness.replayable(1).stream("data"))
    learner = plan.start(Randomness.replayable(0))
    actions = learner.run(data)
    assert learner.switches <= plan.expected_switches
    paid = float(np.sum(problem.loss.values(actions, data)))
    assert paid - best_fixed_point(problem.loss, data, problem.domain).loss <= float(plan.regret_bound)


def largest_log_ratio(problem, sigma, t, rounds):
    """The largest log ratio of consecutive laws, over noises up to their quantile, gradients and curvatures."""
    g, d = problem.lipschitz, problem.domain.hull_dimension
    reach = np.linspace(-1.0, 1.0, 401) * chi_quantile(d, 1 / rounds**2) * sigma
    worst = 0.0
    for change in (-g, 0.0, g):
        for before, after in ((reach * (t - 1) ** 0.5, change), (reach * t**0.5 - change, change)):
            exponents = before**2 / (2 * sigma**2 * (t - 1)) - (before + after) ** 2 / (2 * sigma**2 * t)
            for curvature in (problem.strong_convexity, problem.smoothness):
                growth = np.log1p(curvature / ((t - 1) * problem.strong_convexity)) - np.log(t / (t - 1)) / 2
                worst = max(worst, float(np.abs(exponents + d * growth).max()))
    return worst


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("sigma", [0.5, 5.0, 50.0])
def test_growing_ranges_hold_every_log_ratio_and_are_nearly_attained(dimension, sigma):
    family = ConvexFamily(1.0, 2.0, "general", strong_convexity=0.5)
    problem = Convex(domain=Ball(dimension), loss=family, horizon=3000)
    rounds = np.array([2, 3, 10, 100, 2999])
    for t, found in zip(rounds, growing_ranges(problem, sigma, rounds, 2999), strict=True):
        assert 0.9 * found <= largest_log_ratio(problem, sigma, t, 3000) <= found


def test_regret_bounds_by_hand():
    """R = 2, D = 4, G = 1, T = 1000 and d = 2, where E[chi] = sqrt(pi/2)."""
    family = ConvexFamily(1.0, 2.0, "general", strong_convexity=0.5)
    problem = Convex(domain=Ball(2, 2.0), loss=family, horizon=1000)
    plain = LazyOCO(problem, sigma=3.0, eta=0.1, switches=50.0)
    assert float(plain.regret_bound) == pytest.approx(20 + 100 + 6 * (np.pi / 2) ** 0.5 + 14)
    growing = LazyOCO(problem, sigma=3.0, eta=np.inf, switches=999.0)
    assert float(growing.regret_bound) == pytest.approx(19 * (1 + np.log(1000)) / 0.5 + 18)
    batches = LazyOCO(problem, sigma=0.0, eta=0.1, switches=50.0, batch=20)
    assert float(batches.regret_bound) == pytest.approx(20 + 1000)


def test_strong_convexity_is_used_where_it_helps():
    problem = Convex(domain=Ball(1), loss=ConvexFamily(1.0, 1.0, "general", strong_convexity=1.0), horizon=10**6)
    plan = LazyOCO.for_budget(problem, switches=50_000)
    assert plan.grows
    exact = float(np.sum(-np.expm1(-2 * plan.log_phis)))
    assert 0.998 * plan.expected_switches <= exact <= plan.expected_switches <= 50_000
    other = LazyOCO.for_budget(Convex(domain=Ball(1), loss=ConvexFamily(1.0, 1.0), horizon=10**6), switches=50_000)
    assert not other.grows
    assert float(plan.regret_bound) < float(other.regret_bound)


def test_the_certificate_is_below_the_printed_bound():
    """Theorems 9 and 12, evaluated as they stand."""
    for family in ("glm", "general"):
        problem = Convex(domain=Ball(10), loss=ConvexFamily(1.0, 1.0, family), horizon=10**5)
        ours = LazyOCO.for_budget(problem, switches=5000)
        assert ours.expected_switches <= 5000
        t, s, g, big, d = 10**5, 5000, 1.0, 2.0, 10 if family == "general" else 1
        theorem = 2 * g * big * t**0.5 + d * t / s * (3 * big**2 + 12 * g * big * np.log(t) ** 0.5) + 14 * g * big
        if family == "glm":  # Theorem 12 lacks sqrt(d) on its noise term
            theorem += (np.sqrt(10) - 1) * t / s * 12 * g * big * np.log(t) ** 0.5
        assert float(ours.regret_bound) <= theorem


def test_it_is_labelled_not_private():
    plan = LazyOCO.for_budget(Convex(domain=Ball(2), loss=LogisticLoss(), horizon=100), switches=20)
    assert plan.guarantee.epsilon(0.1) == np.inf
    assert plan.guarantee.delta(10.0) == 1.0
    assert "NOT PRIVATE" in str(plan.guarantee)
    assert np.all(NotPrivate().renyi(np.array([2.0, 3.0])) == np.inf)
    with pytest.raises(PrivacyError, match="not private"):
        LazyOCO.calibrate(plan.problem, epsilon=1.0, delta=1e-6)


def test_refusals():
    problem = Convex(domain=Ball(2), loss=LogisticLoss(), horizon=100)
    with pytest.raises(PrivacyError, match="by construction"):
        LazyOCO.for_budget(Convex(domain=Ball(1), loss=CustomLoss(abs, abs, 1.0), horizon=9), switches=3)
    with pytest.raises(PrivacyError, match="barrier"):
        LazyOCO.for_budget(Convex(domain=KSubsets(4, 2), loss=LinearLoss(), horizon=9), switches=3)
    with pytest.raises(PrivacyError, match="strongly convex"):
        LazyOCO(problem, sigma=1.0, eta=np.inf, switches=3.0)
    with pytest.raises(InvalidInput):
        LazyOCO.for_budget(problem, switches=0)
    with pytest.raises(InvalidInput, match="'batches'"):
        LazyOCO.for_budget(problem, switches=3, batches=1)
    with pytest.raises(PrivacyError, match=r"at most 1e-09 switches in 100 rounds.*batches=True"):
        LazyOCO.for_budget(problem, switches=1e-9)
    assert LazyOCO.for_budget(problem, switches=1e-9, batches=True).expected_switches == 0.0
    with pytest.raises(InvalidInput, match="'log_phi'"):  # less than laws leave with probability 1/T^2
        LazyOCO(problem, sigma=30.0, eta=0.1, switches=50.0, log_phi=1e-3)
    for bad in ({"sigma": 0.0}, {"eta": np.nan}, {"eta": -1.0}, {"switches": 0.0}):
        with pytest.raises(InvalidInput):
            LazyOCO(**{"problem": problem, "sigma": 1.0, "eta": 1.0, "switches": 5.0, **bad})
