"""Lipschitz learning on a grid and on a net."""

import numpy as np
import pytest

from tacit.algorithms.experts import LazyExperts
from tacit.algorithms.lipschitz.lipschitz_grid import LipschitzGrid
from tacit.algorithms.lipschitz.lipschitz_net import LipschitzNet, net_experts
from tacit.environments.lipschitz import PricingCurve
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import LaplaceTree, best_gaussian
from tacit.problems import Experts, Lipschitz

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
KINDS = [LipschitzGrid, LipschitzNet]
both = pytest.mark.parametrize("kind", KINDS)


def grid(problem, bits=4, privacy=0.5, **options):
    return LipschitzGrid(problem, 0.1, bits, best_gaussian(problem.horizon - 1), privacy, **options)


def net(problem, cells=8):
    return LipschitzNet(problem, cells, LazyExperts(net_experts(problem, cells), eta=0.05, force=0.2, batch=3))


def make(kind, problem):
    return grid(problem) if kind is LipschitzGrid else net(problem)


def stream(learner, rounds, seed=0):
    generator = Randomness.replayable(seed).stream("losses")
    tips = generator.random((rounds, learner.points.shape[1]))
    return [lambda points, tip=tip: np.linalg.norm(points - tip, axis=1) for tip in tips]


def test_calibrated_plans_meet_the_target_and_the_better_one_depends_on_the_horizon():
    short, long = Lipschitz(horizon=1000), Lipschitz(horizon=100_000)
    plans = {(kind, p.horizon): kind.calibrate(p, **PRIVACY) for kind in KINDS for p in (short, long)}
    for plan in plans.values():
        assert plan.guarantee.epsilon(1e-6) <= 1.0
        assert not plan.vacuous
    bounds = {key: float(plan.regret_bound) for key, plan in plans.items()}
    paper = {
        p.horizon: float(LipschitzGrid.calibrate(p, coordinates="multiscale", **PRIVACY).regret_bound)
        for p in (short, long)
    }
    assert bounds[LipschitzGrid, 1000] < 101 < 135 < bounds[LipschitzNet, 1000] < paper[1000] < 200
    assert bounds[LipschitzGrid, 100_000] < 660 < 850 < paper[100_000] < 900
    assert 1300 < bounds[LipschitzNet, 100_000] < 1400
    assert plans[LipschitzGrid, 1000].coordinates == "differences"
    square = Lipschitz(dimension=2, horizon=1000)
    grids = LipschitzGrid.calibrate(square, **PRIVACY)
    assert grids.coordinates == "multiscale"
    assert float(LipschitzNet.calibrate(square, **PRIVACY).regret_bound) < float(grids.regret_bound)
    with pytest.raises(InvalidInput, match="coordinates"):
        LipschitzGrid.calibrate(square, coordinates="differences", **PRIVACY)


@pytest.mark.parametrize(("dimension", "coordinates"), [(1, "multiscale"), (2, "multiscale"), (1, "differences")])
def test_no_two_losses_move_the_coefficients_by_more_than_the_sensitivity(dimension, coordinates):
    problem = Lipschitz(dimension=dimension, low=-1.0, high=2.0, lipschitz=0.7, horizon=3)
    generator = Randomness.replayable(3).stream("x")
    learner = grid(problem, coordinates=coordinates).start(Randomness.replayable(1))
    declared = 2 * 0.7 * 3.0 * np.sqrt(learner.plan.transform.squared_norm)
    assert learner.plan.scale >= declared * learner.plan.mechanism.column_norm / 0.5

    def coefficients(losses):
        added = []
        learner._sums.add = lambda x: added.append(x.copy()) or x
        learner._absorb(losses)
        return added[0]

    worst = 0.0
    for _ in range(100):  # arbitrary losses, not Lipschitz at all
        first, second = generator.standard_normal((2, len(learner.points))) * generator.choice([0.01, 1.0, 100.0])
        worst = max(worst, float(np.linalg.norm(coefficients(first) - coefficients(second))))
    line = 0.7 * learner.points[:, 0]
    slope = float(np.linalg.norm(coefficients(line) - coefficients(-line)))
    assert max(worst, slope) <= declared * (1 + 1e-12)
    assert dimension == 2 or slope == pytest.approx(declared, rel=1e-12)


@pytest.mark.parametrize(("dimension", "coordinates"), [(1, "multiscale"), (2, "multiscale"), (1, "differences")])
def test_without_noise_the_grid_finds_the_best_point(dimension, coordinates):
    problem = Lipschitz(dimension=dimension, horizon=300)
    plan = LipschitzGrid(problem, 5.0, 4, best_gaussian(299), privacy=1e9, coordinates=coordinates)
    learner = plan.start(Randomness.replayable(1))
    best = np.full(dimension, 0.3)
    played = learner.run([lambda points: np.linalg.norm(points - best, axis=1)] * 300)
    assert np.abs(played[-50:] - 0.3125).max() < 1e-12


@both
def test_mean_regret_on_a_pricing_curve_is_below_the_bound(kind):
    environment = PricingCurve(horizon=3000)
    problem = Lipschitz(horizon=3000, lipschitz=environment.lipschitz)
    plan = kind.calibrate(problem, epsilon=4.0, delta=1e-6)
    best = np.linspace(0, 1, 501)[:, None]
    regrets = []
    for seed in range(4):
        source = Randomness.replayable(seed)
        learner = plan.start(source)
        paid = np.array([loss(learner.points) for loss in environment.functions(source.stream("env"))])
        names = {tuple(point): index for index, point in enumerate(learner.points.tolist())}
        actions = [names[tuple(point)] for point in learner.run(paid).tolist()]
        compared = sum(loss(best) for loss in environment.functions(source.stream("env"))).min()
        regrets.append(paid[np.arange(3000), actions].sum() - compared)
    assert np.mean(regrets) < float(plan.regret_bound)
    assert np.mean(regrets) < 0.25 * plan.trivial_regret


@both
@pytest.mark.parametrize("dimension", [1, 2])
def test_functions_and_arrays_give_the_same_decisions(kind, dimension):
    plan = make(kind, Lipschitz(dimension=dimension, low=0.0, high=1.0, horizon=60))
    one, other = (plan.start(Randomness.replayable(7)) for _ in range(2))
    losses = stream(one, 60)
    decisions = one.run(losses)
    np.testing.assert_array_equal(decisions, other.run(np.array([loss(one.points) for loss in losses])))
    assert one.switches == other.switches > 0
    assert decisions.shape == (60, dimension)
    assert decisions.min() >= 0.0
    assert decisions.max() <= 1.0


@both
def test_bad_losses_raise_and_change_nothing(kind):
    plan = make(kind, Lipschitz(horizon=5))
    learner = plan.start(Randomness.replayable(4))
    count = len(learner.points)
    learner.play()
    before = repr(learner.state_dict())
    with pytest.raises(InvalidInput, match=r"must have shape \(\d+\)"):
        learner.observe(np.zeros(3))
    bad = np.zeros(count)
    bad[2] = np.nan
    with pytest.raises(InvalidInput, match="at point 2 is not"):
        learner.observe(lambda points: bad)
    with pytest.raises(InvalidInput, match="at point 1 in row 3 is not"):
        learner.run(np.where(np.arange(4 * count).reshape(4, count) == 3 * count + 1, np.inf, 0.0))
    assert repr(learner.state_dict()) == before
    with pytest.raises(ValueError, match="read-only"):
        learner.points[0] = 1.0
    learner.play()[:] = 9.0
    assert learner.play().max() <= 1.0


def test_the_grid_refuses_what_it_cannot_promise():
    problem = Lipschitz(horizon=100)
    with pytest.raises(PrivacyError, match="LipschitzGrid needs delta > 0"):
        LipschitzGrid.calibrate(problem, epsilon=1.0, delta=0.0)
    with pytest.raises(PrivacyError, match="cannot promise a limit on switches"):
        LipschitzGrid.calibrate(problem, max_switches=3, **PRIVACY)
    with pytest.raises(InvalidInput, match="a Gaussian running sum"):
        LipschitzGrid(problem, 0.1, 3, LaplaceTree(99), 0.5)
    with pytest.raises(InvalidInput, match=r"'mechanism.steps'"):
        LipschitzGrid(problem, 0.1, 3, best_gaussian(7), 0.5)
    with pytest.raises(InvalidInput, match="finite horizon"):
        LipschitzGrid(Lipschitz(horizon=None), 0.1, 3, best_gaussian(7), 0.5)


def test_options_of_the_calibration():
    problem = Lipschitz(dimension=2, horizon=2000)
    assert LipschitzGrid.calibrate(problem, bits=3, **PRIVACY).bits == 3
    zero = LipschitzGrid.calibrate(problem, bits=3, relation="zero-out", **PRIVACY)
    assert zero.scale == pytest.approx(LipschitzGrid.calibrate(problem, bits=3, **PRIVACY).scale / 2)
    assert LipschitzNet.calibrate(problem, cells=5, **PRIVACY).experts.problem.n == 25
    pure = LipschitzNet.calibrate(Lipschitz(horizon=500), epsilon=1.0, delta=0.0, cells=4)
    assert pure.guarantee.epsilon(0.0) <= 1.0
    with pytest.raises(InvalidInput, match="'cells' parameter of LipschitzNet"):
        LipschitzNet.calibrate(problem, cells=0, **PRIVACY)
    with pytest.raises(InvalidInput, match=r"'experts\.problem' parameter of LipschitzNet"):
        LipschitzNet(problem, 3, LazyExperts(Experts(n=3, horizon=2000), eta=0.1, force=0.1))
    one = LipschitzNet.calibrate(Lipschitz(horizon=1), **PRIVACY)
    assert one.start(Randomness.replayable(1)).play().shape == (1,)


def test_the_problem_checks_its_arguments():
    problem = Lipschitz(dimension=2, low=-1, high=3, lipschitz=2, horizon=10)
    assert (problem.side, problem.diagonal, problem.width) == (4.0, 4.0 * 2**0.5, 8.0 * 2**0.5)
    for bad in ({"dimension": 3}, {"dimension": 0}, {"low": 2.0}, {"high": np.nan}, {"lipschitz": 0.0}, {"horizon": 0}):
        with pytest.raises(InvalidInput, match=f"'{next(iter(bad)) if 'low' not in bad else 'high'}'"):
            Lipschitz(**{"horizon": 10, **bad})


def test_the_pricing_curve_has_two_peaks_and_keeps_its_slope():
    environment = PricingCurve(horizon=200)
    points = np.linspace(0, 1, 2001)[:, None]
    array = np.array([loss(points) for loss in environment.functions(Randomness.replayable(1).stream("x"))])
    assert np.abs(np.diff(array, axis=1)).max() / 0.0005 <= environment.lipschitz
    mean = array.mean(axis=0)
    interior = (mean[1:-1] < mean[:-2]) & (mean[1:-1] < mean[2:])
    assert interior.sum() == 2
    with pytest.raises(InvalidInput, match="PricingCurve"):
        PricingCurve(horizon=5, softness=0.0)


@both
@pytest.mark.parametrize("size", [1.7e308, 1e-320])
def test_whether_differences_overflow_is_not_told(kind, size):
    """A warning, or the error that somebody makes of it, would tell something about the losses."""
    learners = [make(kind, Lipschitz(horizon=5)).start(Randomness.replayable(1)) for _ in range(2)]
    for learner, setting in zip(learners, ("ignore", "raise"), strict=True):
        losses = np.where(np.arange(len(learner.points)) % 2, size, -size)
        with np.errstate(all=setting):
            for _ in range(4):
                learner.play()
                learner.observe(losses)
    assert np.array_equal(learners[0].play(), learners[1].play())
