"""What the private conversion certifies: strong convexity, declared deviations, single runs, starts and norms."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import chi2

import tacit
from tacit.algorithms.stochastic import (
    BettingGrid,
    ConfidentBetting,
    MirrorDescent,
    OnlineToBatch,
    Optimistic,
    StronglyConvex,
    Subgradient,
)
from tacit.algorithms.stochastic.online_to_batch.norms import Norm, farthest
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import ClippedDifferences
from tacit.domains import Ball, Box, L1Ball, Polytope, Simplex
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import LogisticLoss, QuadraticLoss, RegularisedLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Stochastic

BALL = Ball(5)
LOGISTIC = LogisticLoss().constants(BALL)


def calibrated(horizon, loss=None, domain=BALL, **options):
    declared = {
        name: options.pop(name) for name in ("initial", "gradient_deviation", "hessian_deviation") if name in options
    }
    problem = Stochastic(domain=domain, loss=loss or LogisticLoss(), horizon=horizon, **declared)
    return OnlineToBatch.calibrate(problem, **{"epsilon": 1.0, "delta": 1e-6, **options})


@pytest.mark.parametrize(
    ("horizon", "certified", "batch"), [(20_000, 0.0149, 1), (100_000, 0.0018, 1), (1_000_000, 0.00076, 16)]
)
def test_strong_convexity_is_tried_wherever_it_is_declared(horizon, certified, batch):
    plan = calibrated(horizon, QuadraticLoss())
    assert isinstance(plan.learner, StronglyConvex)
    assert plan.batch == batch
    assert 0.9 * certified < float(plan.regret_bound) < 1.02 * certified
    assert plan.mechanism.steps <= 100_000


def test_batches_are_chosen_by_the_bound_for_every_learner():
    plan = calibrated(100_000, QuadraticLoss(), learner="subgradient")
    assert plan.batch == 1
    assert float(plan.regret_bound) == pytest.approx(0.057, rel=0.02)
    optimistic = calibrated(100_000, learner="optimistic")
    others = [float(calibrated(100_000, learner="optimistic", batch=size).regret_bound) for size in (1, 16, 64, 1024)]
    assert float(optimistic.regret_bound) <= min(others)
    assert calibrated(100_000, learner="coin-betting").batch == 50  # no certificate to choose by
    assert calibrated(60).batch == 1  # nor here: it says nothing


@pytest.mark.parametrize(
    ("horizon", "certified"),
    [(100_000, (0.0100, 0.0049, 0.0034, 0.0029)), (1_000_000, (0.0026, 0.0010, 0.0005, 0.00035))],
)
def test_declared_deviations_lower_the_certificate(horizon, certified):
    for share, value in zip((1, 0.3, 0.1, 0.03), certified, strict=True):
        declared = {"gradient_deviation": share * LOGISTIC.lipschitz, "hessian_deviation": share * LOGISTIC.smoothness}
        plan = calibrated(horizon, learner="optimistic", **declared)
        assert 0.9 * value < float(plan.regret_bound) < 1.02 * value
        assert sum("as declared" in text for text in plan.regret_bound.assumptions) == 2
        assert "as declared" in plan.explain()
    plain = calibrated(horizon, learner="optimistic", batch=plan.batch)
    assert plan.unit_scale == plain.unit_scale  # privacy does not rely on what is declared
    assert plan.guarantee.curve == plain.guarantee.curve


def test_declared_deviations_help_strongly_convex_losses_and_never_hurt():
    plain = calibrated(100_000, QuadraticLoss(), batch=16)
    declared = calibrated(100_000, QuadraticLoss(), batch=16, gradient_deviation=0.3)
    assert float(declared.regret_bound) < 0.95 * float(plain.regret_bound)
    silly = calibrated(100_000, QuadraticLoss(), batch=16, gradient_deviation=1e3, hessian_deviation=1e3)
    assert float(silly.regret_bound) == float(plain.regret_bound)


def test_sampling_errors_stay_below_what_deviations_say():
    """Targets of a known variance, no noise: the mean square of the error at each step, against the declared one."""
    deviation, steps, runs = 0.3, 40, 400
    plan = calibrated(
        steps, QuadraticLoss(), gradient_deviation=deviation, hessian_deviation=0.0, batch=1, numerics="float"
    )
    stream = Randomness.replayable(1).stream("targets")
    signs = np.where(stream.random((runs, steps, 5)) < 0.5, -1.0, 1.0) * deviation / sqrt(5)
    # Along any iterates the error of the quadratic loss is sum (beta_i - beta_{i-1}) z_i.
    weights = np.diff(np.arange(steps + 1.0) ** plan.power)
    errors = np.cumsum(weights[:, None] * signs, axis=1)
    measured = np.sqrt(np.mean(np.sum(errors**2, axis=2), axis=0))
    ratio = measured / plan.conversion.errors.sampling[:steps]
    assert ratio.min() > 0.9
    assert ratio.max() < 1.1  # the declared variance is attained: less would be false


@pytest.mark.parametrize(
    ("horizon", "certified"), [(100_000, (0.0037, 0.038, 0.39)), (1_000_000, (0.0022, 0.023, 0.24))]
)
def test_single_runs_near_the_start(horizon, certified):
    plan = calibrated(horizon, confidence=0.95)
    assert isinstance(plan.learner, ConfidentBetting)
    for distance, value in zip((0.01, 0.1, 1.0), certified, strict=True):
        bound = plan.risk_within(distance)
        assert 0.5 * value < float(bound) < value
        assert bound.confidence == 0.95
        assert float(bound) < LOGISTIC.lipschitz * distance  # better than staying
    assert float(plan.regret_bound) == float(plan.risk_within(1.0))
    assert calibrated(horizon, learner="coin-betting").regret_bound.value == float("inf")  # only on request


def test_errors_stay_below_their_penalties():
    """A whole run on targets of known mean: every noisy gradient is as near to the true one as the certificate says."""
    plan = calibrated(2_000, QuadraticLoss(), confidence=0.95)
    learner = plan.start(Randomness.replayable(2))
    seen, points, observe = [], [], learner._inner.observe

    def watched(gradient):
        seen.append(gradient)
        points.append(learner._action)
        observe(gradient)

    learner._inner.observe = watched
    stream = Randomness.replayable(3).stream("targets")
    learner.run(np.where(stream.random((2_000, 5)) < 0.5, -1.0, 1.0) / sqrt(5))
    true = plan.conversion.weights[: len(seen), None] * np.array(points)  # the targets' mean is 0
    ratio = np.linalg.norm(np.array(seen) - true, axis=1) / np.array(plan.learner.penalties[: len(seen)])
    assert 0.05 < ratio.max() < 1
    assert learner.model @ learner.model / 2 <= float(plan.risk_within(0.0))  # the start is the best model
    sizes = plan.conversion.weights * plan.lipschitz + 2 * np.array(plan.learner.penalties)
    assert plan.learner.bettor.gradient_bound == sizes.max()


def test_scales_that_follow_the_noise_need_another_quantile():
    """One dimension; no more noise is added once the sum is too large. A chi quantile is exceeded too often."""
    tail, steps, runs = 0.025, 100, 40_000
    plan = calibrated(200, confidence=0.95)
    followed = plan.conversion._quantile(1, tail)
    fixed = float(np.sqrt(chi2.isf(tail, 1)))
    level = log(1 / tail)
    assert followed == sqrt(1 + 2 * sqrt(level) + 2 * level)
    walks = np.cumsum(Randomness.replayable(4).stream("walks").standard_normal((runs, steps)), axis=1) / sqrt(steps)
    beyond = {q: np.mean((np.abs(walks) > q).any(axis=1)) for q in (fixed, followed)}
    assert beyond[fixed] > 1.5 * tail
    assert beyond[followed] < tail


def test_penalties_pull_towards_the_start():
    start = np.array([0.3, 0.0])
    bettor = BettingGrid(Ball(2), gradient_bound=5.0, horizon=10, wealth=5.0, initial=start)
    learner = ConfidentBetting(bettor, np.array([1.0, 1.0, 2.0]), confidence=0.9)
    assert np.array_equal(learner.play(), start)
    for _ in range(2):  # a first bet, of nothing, and a second; at the start there is no direction to pull in
        learner.observe([-1.0, 0.0])
    moved = learner.play()
    assert moved[0] > 0.3
    twin = BettingGrid(Ball(2), gradient_bound=5.0, horizon=10, wealth=5.0, initial=start)
    for seen in ([-1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]):
        twin.observe(seen)
    learner.observe([0.0, 0.0])
    assert learner.play() == pytest.approx(twin.play())
    assert learner.expected_regret(np.ones(2), np.ones(2)) == float("inf")
    assert "initial=(0.3, 0.0)" in repr(learner)


def test_penalties_of_another_plan_certify_nothing():
    plan = calibrated(20_000, confidence=0.9)
    assert np.isfinite(float(plan.regret_bound))
    assert float(replace(plan, smoothness=2 * plan.smoothness).regret_bound) == float("inf")
    pure = replace(plan, norm=Norm(1.5))
    assert float(pure.regret_bound) == float("inf")


def test_single_runs_are_refused_where_nothing_is_proved():
    for options in ({"delta": 0.0}, {"norm": Norm(1.5)}, {"learner": "subgradient"}, {"learner": Subgradient(BALL)}):
        with pytest.raises(PrivacyError, match="single runs"):
            calibrated(100, confidence=0.9, **options)
    with pytest.raises(InvalidInput, match="confidence"):
        calibrated(100).risk_within(0.1)
    with pytest.raises(InvalidInput, match="distance"):
        calibrated(100, confidence=0.9).risk_within(-1.0)
    choice = tacit.plan(
        Stochastic(domain=BALL, loss=LogisticLoss(), horizon=100_000), epsilon=1.0, delta=1e-6, confidence=0.95
    )
    assert choice.algorithm == "OnlineToBatch"
    assert choice.regret_bound.confidence == 0.95


@pytest.mark.parametrize("power", [1.4, 2.0])
@pytest.mark.parametrize(
    "domain",
    [Ball(3, radius=2.0), Box([-1.0, 0.0, 2.0], [0.0, 3.0, 4.0]), Simplex(3), L1Ball(3, radius=0.5)],
    ids=repr,
)
def test_the_farthest_point_is_found(domain, power):
    norm, stream = Norm(power), Randomness.replayable(5).stream("x")
    corners = np.array([domain.minimize_linear(stream.standard_normal(3)) for _ in range(3_000)])
    for _ in range(5):
        start = domain.project(domain.centre + stream.standard_normal(3))
        reach = farthest(domain, start, norm)
        largest = max(norm.size(corner - start) for corner in corners)
        assert largest <= reach * (1 + 1e-12)
        assert reach < 1.3 * largest if isinstance(domain, Ball) else reach == pytest.approx(largest)
    assert farthest(domain, domain.centre, Norm()) == pytest.approx(domain.radius)


def test_other_sets_have_an_upper_bound():
    triangle = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    assert np.sqrt(0.82) <= farthest(triangle, np.array([0.1, 0.1]), Norm()) <= triangle.diameter


@pytest.mark.parametrize(
    "make",
    [
        lambda start: Subgradient(Ball(2), start),
        lambda start: Optimistic(Ball(2), start),
        lambda start: StronglyConvex(Ball(2), 1.0, start),
        lambda start: MirrorDescent(L1Ball(2), Norm(1.5), start),
        lambda start: BettingGrid(Ball(2), 1.0, 10, initial=start),
    ],
)
def test_learners_start_where_they_are_told(make):
    learner = make([0.3, -0.4])
    assert np.array_equal(learner.play(), [0.3, -0.4])
    assert learner.reach == pytest.approx(farthest(learner.domain, np.array([0.3, -0.4]), learner.norm))
    assert learner.reach > make(None).reach
    assert "initial=(0.3, -0.4)" in repr(learner)
    assert "initial" not in repr(make(None))
    with pytest.raises(InvalidInput, match="initial"):
        make([3.0, 0.0])


def test_bettors_are_centred_at_the_start():
    """Against the start itself they lose no more than their wealth, twice for the projection."""
    start, stream, lost = np.array([5.0, 0.0]), Randomness.replayable(6).stream("x"), 0.0
    learner = BettingGrid(Ball(2, radius=9.0), 1.0, 300, wealth=1.0, initial=start)
    for _ in range(300):
        g = stream.standard_normal(2)
        g /= np.linalg.norm(g)
        lost += float(g @ (learner.play() - start))
        learner.observe(g)
    assert lost <= 2.0 + 1e-9


def test_plans_begin_at_the_public_start():
    start = (0.2, 0.0, 0.0, 0.0, -0.3)
    plan = calibrated(60, initial=list(start))
    assert plan.problem.initial == start
    assert np.array_equal(plan.start(Randomness.replayable(0)).play(), start)
    assert plan.learner.reach == pytest.approx(1 + np.linalg.norm(start))
    assert plan.signature != calibrated(60).signature
    moved, centred = ({"initial": start}, {})
    bounds = [calibrated(60, learner="subgradient", batch=1, **how).regret_bound for how in (moved, centred)]
    assert bounds[0].searched > bounds[1].searched
    near = calibrated(20_000, initial=start, confidence=0.95)
    assert np.array_equal(near.start(Randomness.replayable(0)).play(), start)
    with pytest.raises(InvalidInput, match="initial"):
        calibrated(60, initial=[2.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(InvalidInput, match="initial"):
        calibrated(60, initial=[0.0])
    for name in ("gradient_deviation", "hessian_deviation"):
        with pytest.raises(InvalidInput, match=name):
            calibrated(60, **{name: -1.0})


def test_certificates_hold_in_one_norm_only():
    other = calibrated(100_000, norm=Norm(1.5), learner="subgradient")
    assert float(other.regret_bound) == float("inf")
    assert other.regret_bound.formula.startswith("not certified")
    assert other.guarantee.epsilon() <= 1.0 * (1 + 1e-9)
    assert other.start(Randomness.replayable(0)).play() == pytest.approx(np.zeros(5))

    class Wide(Subgradient):
        def __init__(self, domain):
            super().__init__(domain)
            self.norm = Norm(1.5)

    # In a norm of its own a learner's diameter and reach are in that norm, too.
    assert Wide(BALL).diameter == pytest.approx(2 * 5 ** (1 / 1.5 - 1 / 2))
    assert Wide(BALL).reach == pytest.approx(5 ** (1 / 1.5 - 1 / 2))
    sparse = calibrated(100_000, domain=L1Ball(5))
    assert np.isfinite(float(sparse.regret_bound))
    euclidean = calibrated(100_000, domain=L1Ball(5), norm=Norm(1.2))
    assert isinstance(euclidean.learner, MirrorDescent)  # the only one that has this norm


def test_a_missing_record_adds_nothing():
    """Zero-out neighbours differ by one clipped contribution, so an emptied record must add 0, not another gradient."""
    differences = ClippedDifferences(QuadraticLoss(), 2, Norm())
    x, previous = np.array([0.5, 0.0]), np.zeros(2)
    absent, there = differences.pack(None), differences.pack(np.array([1.0, 0.0]))
    assert np.array_equal(differences.total(differences.stack([absent]), x, previous, 1.0, 0.0, 0.1), np.zeros(2))
    both = differences.total(differences.stack([absent, there]), x, previous, 1.0, 0.0, 0.1)
    assert both == pytest.approx([-0.1, 0.0])


def test_plans_with_regularisers_and_confidence_are_audited():
    for options in ({"loss": RegularisedLoss(LogisticLoss(), 0.5)}, {"initial": (0.1, 0, 0, 0, 0), "confidence": 0.9}):
        report = tacit.audit(calibrated(50, **options), budget=0.1)
        assert report.findings
        assert not any(finding.violation for finding in report.findings)


def test_a_regulariser_needs_no_noise():
    start = np.array([0.2, 0.0, 0.0, 0.0, -0.3])
    plan = calibrated(60, RegularisedLoss(LogisticLoss(), 2.0), initial=start, numerics="float", batch=1)
    plain = calibrated(60, initial=start, numerics="float", batch=1)
    assert (plan.lipschitz, plan.smoothness) == (plain.lipschitz, plain.smoothness)
    assert plan.conversion.slope == pytest.approx(plain.lipschitz + 2.0)
    assert np.all(plan.conversion.errors.sizes > plain.conversion.errors.sizes)
    learner = plan.start(Randomness.replayable(0))
    learner._sums._noise = np.zeros
    seen = []
    learner._inner.observe = lambda gradient, **_: seen.append(gradient)
    record = (np.eye(5)[0], 1.0)
    learner.play()
    learner.observe(record)
    assert seen[0] == pytest.approx(LogisticLoss().gradient(start, record) + 2.0 * start)
