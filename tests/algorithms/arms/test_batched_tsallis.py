"""Batched Tsallis: certificates, their proof in numbers, the learner's own formulas, measured regret."""

from functools import cache
from math import sqrt

import numpy as np
import pytest

from tacit.errors import InvalidInput, PrivacyError
from tacit.learners.arms import BatchedTsallis
from tacit.learners.arms.tsallis_leader import leader
from tacit.learners.arms.tsallis_regret import BatchLoss, fixed_regret, thinned
from tacit.mechanisms.clipped_geometric import ClippedGeometric
from tacit.privacy.guarantee import EXACT, ZERO_OUT
from tacit.problems import Arms
from tacit.randomness import Randomness


@cache
def calibrated(n: int = 20, horizon: int = 100_000, epsilon: float = 1.0, **options) -> BatchedTsallis:
    plan = BatchedTsallis.calibrate(Arms(n=n, horizon=horizon), epsilon=epsilon, delta=0.0, **options)
    assert isinstance(plan, BatchedTsallis)
    return plan


@pytest.mark.parametrize(("n", "certified"), [(10, 2192), (20, 3446), (100, 8737)])
def test_certified_regret(n: int, certified: float) -> None:
    plan = calibrated(n)
    assert float(plan.regret_bound) <= certified * 1.0005
    assert float(plan.regret_bound) >= certified * 0.98
    assert plan.batch == 2


TABLE = {
    (10, 10**5): (7540, 2192, 1187), (10, 10**6): (23522, 6908, 3743), (20, 10**5): (11970, 3446, 1864),
    (20, 10**6): (37013, 10835, 5870), (100, 10**5): (31720, 8737, 4708), (100, 10**6): (94213, 27186, 14710),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("cell", TABLE)
def test_the_whole_table(cell: tuple[int, int]) -> None:
    for epsilon, certified in zip((0.1, 1.0, 3.0), TABLE[cell], strict=True):
        plan = calibrated(*cell, epsilon)
        assert 0.97 * certified <= float(plan.regret_bound) <= 1.0005 * certified
        half = calibrated(*cell, epsilon, power=0.5)
        assert float(half.regret_bound) >= float(plan.regret_bound)


@pytest.mark.parametrize(
    ("options", "certified"),
    [({"relation": ZERO_OUT}, 2431), ({"rounds_per_person": 2}, 5112), ({"rounds_per_person": 10}, 11970)],
    ids=["zero-out", "two rounds", "ten rounds"],
)
def test_relations_and_several_rounds_per_person(options, certified: float) -> None:
    assert 0.98 * certified <= float(calibrated(**options).regret_bound) <= 1.0005 * certified


def test_ten_rounds_per_person_are_a_tenth_of_epsilon() -> None:
    many, less = calibrated(rounds_per_person=10), calibrated(epsilon=0.1)
    assert (many.batch, many.power, many.kappa) == (less.batch, less.power, less.kappa)
    assert float(many.regret_bound) == pytest.approx(float(less.regret_bound), rel=1e-9)


def test_the_leading_term() -> None:
    plan = calibrated()
    q, k = plan.power, plan.problem.n
    leading = sqrt(2 * plan.rounds * plan.loss.release.spread * (k - k**q) / (q * (1 - q)))
    assert leading < float(plan.regret_bound) < 1.09 * leading


def test_the_supremum_is_at_equal_probabilities() -> None:
    """An evaluation apart from the grid: at p = 1/K alone, with u by its definition."""
    plan = calibrated()
    q, k, release = plan.power, plan.problem.n, plan.loss.release
    scale, p = q / (plan.eta * (1 - q)), 1 / k
    c = min(0.5, plan.kappa * scale * p**q - release.overshoot)

    def u(z):
        return z - (1 - q) / q * (1 - (1 + z) ** (-q / (1 - q)))

    z0 = (c - 0.5) * p ** (1 - q) / scale
    ends = [p * release.law(s) @ u((release.values - c) / (scale * p**q) + z0) + (1 - p) * u(z0) for s in (0, 2)]
    batches = plan.rounds // plan.batch
    alone = plan.batch * ((k ** (1 - q) - 1) / (plan.eta * (1 - q)) + batches * k * scale * p**q * max(ends))
    assert alone <= float(plan.regret_bound) <= 1.001 * alone


def test_the_analysis_covers_the_true_stability() -> None:
    """The true one-step cost, by the minimiser on the simplex, is below the separable bound for random laws."""
    rng = np.random.default_rng(3)
    release = ClippedGeometric(2, 1.0)
    loss = BatchLoss(3, release, 0.6, 0.2 * 0.4)
    eta = 0.1
    scale, bound = 0.6 / (eta * 0.4), loss.stability(eta)
    for _ in range(24):
        p = rng.dirichlet([0.5] * 3)
        totals = rng.integers(0, 3, 3)
        # Scores whose leader is p itself: the first-order condition.
        scores = scale / p**0.4
        c = np.minimum(0.5, loss.kappa * scale * p**0.6 - release.overshoot)
        mean = 0.0
        for arm in range(3):
            for value, probability in zip(release.values, release.law(totals[arm]), strict=True):
                y = c - 0.5
                y[arm] += (value - c[arm]) / p[arm]
                moved, _ = leader(scores + y, scale, 2.5, -1e9)
                divergence = _entropy(moved, eta) - _entropy(p, eta) + scores @ (moved - p)
                mean += p[arm] * probability * ((p - moved) @ y - divergence)
        assert 0 <= mean <= 0.95 * bound


def _entropy(p: np.ndarray, eta: float, q: float = 0.6) -> float:
    return float(-(np.sum(p**q) - 1) / (eta * (1 - q)))


def test_thinning_only_raises_means_of_convex_functions() -> None:
    release = ClippedGeometric(300, 0.01)
    values, law = thinned(release.values, release.law(0))
    assert len(values) <= 65
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert law @ values == pytest.approx(release.law(0) @ release.values, abs=1e-12)
    for h in (np.square, np.exp, lambda x: np.abs(x - 0.3)):
        full = release.law(0) @ h(release.values)
        assert full <= law @ h(values) + 1e-12 <= full * 1.001 + 1e-9


def test_decreasing_rates() -> None:
    plan = calibrated(rates="decreasing")
    assert plan.power == 0.5
    assert float(plan.regret_bound) <= 5278
    rates = [rate for _, rate in plan.stretches]
    assert rates == sorted(rates, reverse=True)
    assert sum(count for count, _ in plan.stretches) == plan.batches
    # A rate that the analysis does not take is replaced by the largest that it takes.
    steep = BatchedTsallis(Arms(n=20, horizon=1000), 0.1, 23, 0.5, 5.0, 0.35, "decreasing")
    assert steep.loss.admissible(steep.stretches[0][1])
    assert not steep.loss.admissible(5.0)


def test_a_rate_without_a_certificate_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'eta'"):
        BatchedTsallis(Arms(n=20, horizon=1000), 0.1, 23, 0.5, 5.0, 0.35)


def test_targets_with_delta_get_the_pure_plan() -> None:
    plan = BatchedTsallis.calibrate(Arms(n=5, horizon=1000), epsilon=1.0, delta=1e-6)
    assert plan.guarantee.at_delta == 0
    assert plan.guarantee.epsilon(0.0) == 1.0
    assert plan.guarantee.numerics == EXACT


def test_switches() -> None:
    plan = calibrated(max_switches=1000)
    assert plan.expected_switches <= 1000
    assert plan.batches * plan.batch >= plan.rounds
    held = calibrated(horizon=50, max_switches=0)
    assert held.batch == 50
    assert len(set(held.run(np.ones((50, 20)), Randomness.replayable(2)).tolist())) == 1
    with pytest.raises(PrivacyError, match="react"):
        BatchedTsallis.calibrate(Arms(n=3, horizon=10), epsilon=1, delta=0, adversary="adaptive")


def test_the_leader_solves_its_equation() -> None:
    rng = np.random.default_rng(1)
    for power in (0.5, 0.75, 0.9):
        for spread in (0.01, 1.0, 1e4):
            scores = spread * rng.standard_normal(20)
            weights, level = leader(scores, 3.0, 1 / (1 - power), -1e9)
            np.testing.assert_allclose(weights, (3.0 / (scores - level)) ** (1 / (1 - power)), rtol=1e-9)
            assert weights.sum() == pytest.approx(1, abs=1e-12)
            again, _ = leader(scores, 3.0, 1 / (1 - power), level - 100.0)
            np.testing.assert_allclose(again, weights, rtol=1e-7)


def test_one_step_by_hand() -> None:
    """Noise and draws replaced by known ones: the scores are those of the formula."""
    plan = BatchedTsallis(Arms(n=2, horizon=10), 1.0, 1, 0.5, 0.3, 0.2)
    learner = plan.start(Randomness.replayable(0))
    learner._draws.noisy = lambda total: total
    arm = learner.play()
    learner.observe(1.0)
    scale, overshoot = 0.5 / (0.3 * 0.5), 1 / np.expm1(1.0)
    c = min(0.5, 0.2 * scale * 0.5**0.5 - overshoot)
    scores = np.full(2, c - 0.5)
    scores[arm] += (1 + overshoot - c) / 0.5
    np.testing.assert_allclose(learner._scores[0], scores, rtol=1e-12)
    assert learner.probabilities[arm] < 0.5


def streams(n: int, horizon: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    means = np.full(n, 0.5)
    means[3] = 0.3
    decoy = np.tile(np.full(n, 0.5), (horizon, 1))
    decoy[:, 1] = np.where(np.arange(horizon) < horizon // 2, 0.3, 0.7)
    decoy[:, 3] = 0.4
    fixed = np.ones((horizon, n))
    fixed[:, 3] = 0.0
    return {
        "gap": (rng.random((horizon, n)) < means).astype(float),
        "zero": fixed,
        "decoy": (rng.random((horizon, n)) < decoy).astype(float),
    }


@pytest.mark.parametrize("kind", ["gap", "zero", "decoy"])
@pytest.mark.parametrize("rates", ["fixed", "decreasing"])
def test_measured_regret_is_below_the_certified_one(kind: str, rates: str) -> None:
    losses = streams(5, 2000)[kind]
    plan = calibrated(5, 2000, rates=rates)
    best = losses.sum(axis=0).min()
    rows = np.arange(len(losses))
    runs = [losses[rows, plan.run(losses, Randomness.replayable(seed))].sum() - best for seed in range(2)]
    assert np.mean(runs) < float(plan.regret_bound)
    if kind == "zero":
        assert np.mean(runs) < 0.3 * plan.blind_regret  # it learns


def test_one_arm_costs_nothing() -> None:
    plan = calibrated(1, 100)
    assert float(plan.regret_bound) == 0
    assert plan.run(np.ones((100, 1)), Randomness.replayable(0)).tolist() == [0] * 100
    assert fixed_regret(plan.loss, 100, plan.eta) == 0
