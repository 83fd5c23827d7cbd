"""Batched Tsallis: certificates, their proof in numbers, the learner's own formulas, measured regret."""

from functools import cache

import numpy as np
import pytest

from tacit.accounting.guarantee import EXACT, ZERO_OUT
from tacit.algorithms.arms import BatchedTsallis
from tacit.algorithms.arms.batched_tsallis.certificate import BatchLoss, tsallis_regret
from tacit.algorithms.arms.batched_tsallis.leader import leader
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.environments.arms import BernoulliArms, DecoyArms
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Arms
from tacit.simulation.loop import simulate


@cache
def calibrated(n: int = 20, horizon: int = 100_000, epsilon: float = 1.0, **options) -> BatchedTsallis:
    plan = BatchedTsallis.calibrate(Arms(n=n, horizon=horizon), epsilon=epsilon, delta=0.0, **options)
    assert isinstance(plan, BatchedTsallis)
    return plan


CERTIFIED = {2: 386.3, 3: 684.3, 5: 1164, 10: 2069, 20: 3334, 100: 8492}


@pytest.mark.parametrize("n", CERTIFIED)
def test_certified_regret(n: int) -> None:
    """Before the estimates were centred and proved on cells: 557, 850, 1314, 2189, 3446 and 8738."""
    plan = calibrated(n)
    assert 0.97 * CERTIFIED[n] <= float(plan.regret_bound) <= 1.0005 * CERTIFIED[n]
    assert plan.batch == 2


@pytest.mark.parametrize(
    ("options", "certified"),
    [
        ({"relation": ZERO_OUT, "missing": 0.5}, 2357),
        ({"rounds_per_person": 2}, 4932),
        ({"rounds_per_person": 10}, 11322),
    ],
    ids=["zero-out", "two rounds", "ten rounds"],
)
def test_relations_and_several_rounds_per_person(options, certified: float) -> None:
    assert 0.98 * certified <= float(calibrated(**options).regret_bound) <= 1.0005 * certified


@pytest.mark.parametrize("lowering", [0.0, 1.0])
def test_the_analysis_covers_the_true_stability(lowering: float) -> None:
    """The true one-step cost, by the minimiser on the simplex, is below the certified one for random laws."""
    rng = np.random.default_rng(3)
    release = ClippedGeometric(2, 1.0)
    loss = BatchLoss(3, release, 0.6, 0.2 * 0.4, lowering)
    eta = 0.1
    scale, bound, worst = 0.6 / (eta * 0.4), loss.stability(eta), 0.0
    for law in (*rng.dirichlet([0.5] * 3, 24), np.full(3, 1 / 3)):
        p = np.maximum(law, 1e-9)
        totals = rng.integers(0, 3, 3) if p.max() > 0.5 else np.array([0, 0, 0])
        # Scores whose leader is p itself: the first-order condition.
        scores = scale / p**0.4
        c = np.minimum(0.5 - loss.lowered / (scale * p**0.6), loss.kappa * scale * p**0.6 - release.overshoot)
        c = np.maximum(c, -release.overshoot)
        mean = 0.0
        for arm in range(3):
            for value, probability in zip(release.values, release.law(totals[arm]), strict=True):
                y = c - 0.5
                y[arm] += (value - c[arm]) / p[arm]
                moved, _ = leader(scores + y, scale, 2.5, -1e9)
                divergence = _entropy(moved, eta) - _entropy(p, eta) + scores @ (moved - p)
                mean += p[arm] * probability * ((p - moved) @ y - divergence)
        assert 0 <= mean <= bound
        worst = max(worst, mean)
    assert worst >= 0.9 * bound  # equal chances come close


def _entropy(p: np.ndarray, eta: float, q: float = 0.6) -> float:
    return float(-(np.sum(p**q) - 1) / (eta * (1 - q)))


def test_a_rate_without_a_certificate_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'eta'"):
        BatchedTsallis(Arms(n=20, horizon=1000), 0.1, 23, 0.5, 5.0, 0.35)
    # The lowest step is that of the largest release: 1 + d/n - c over A, here at p = 1.
    loss = BatchLoss(2, ClippedGeometric(1, 1.0), 0.5, 0.1, 0.0)
    top = 0.95 / (1 + 2 * loss.release.overshoot)
    assert loss.admissible(top * 0.95)
    assert not loss.admissible(top * 1.2)


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


@pytest.mark.parametrize("lowering", [0.0, 1.0])
def test_one_step_by_hand(lowering: float) -> None:
    """Noise and draws replaced by known ones: the scores are those of the formula."""
    plan = BatchedTsallis(Arms(n=2, horizon=10), 1.0, 1, 0.5, 0.3, 0.2, lowering)
    learner = plan.start(Randomness.replayable(0))
    learner._draws.noisy = lambda total: total
    arm = learner.play()
    learner.observe(1.0)
    scale, overshoot = 0.5 / (0.3 * 0.5), 1 / np.expm1(1.0)
    size = scale * 0.5**0.5
    c = max(-overshoot, min(0.5 - plan.loss.lowered / size, 0.2 * size - overshoot))
    scores = np.full(2, c - 0.5)
    scores[arm] += (1 + overshoot - c) / 0.5
    np.testing.assert_allclose(learner._scores[0], scores, rtol=1e-12)
    assert learner.probabilities[arm] < 0.5


WORLDS = {
    "gap": BernoulliArms((0.3, 0.5, 0.5, 0.5, 0.5), 2000),
    "zero": BernoulliArms((1.0, 1.0, 1.0, 0.0, 1.0), 2000),
    "decoy": DecoyArms(5, 2000),
}


@pytest.mark.parametrize("kind", WORLDS)
def test_measured_regret_is_below_the_certified_one(kind: str) -> None:
    plan = calibrated(5, 2000)
    regret = simulate(plan, WORLDS[kind], runs=2, progress=False).mean[-1]
    assert regret < float(plan.regret_bound)
    if kind == "zero":
        assert regret < 0.3 * plan.blind_regret  # it learns


def test_one_arm_costs_nothing() -> None:
    plan = calibrated(1, 100)
    assert float(plan.regret_bound) == 0
    assert plan.run(np.ones((100, 1)), Randomness.replayable(0)).tolist() == [0] * 100
    assert tsallis_regret(plan.loss, 100, plan.eta) == 0
