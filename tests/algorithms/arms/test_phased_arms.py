"""Phased arms: certificates, the proof's steps in numbers, indices, measured regret."""

from functools import cache

import numpy as np
import pytest

from tacit.accounting.guarantee import EXACT, ZERO_OUT
from tacit.algorithms.arms import PhasedArms
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Arms


def problem(n: int = 20, horizon: int = 100_000) -> Arms:
    return Arms(n=n, horizon=horizon, adversary="stochastic")


@cache
def calibrated(n: int = 20, horizon: int = 100_000, epsilon: float = 1.0, delta: float = 1e-6, **options) -> PhasedArms:
    plan = PhasedArms.calibrate(problem(n, horizon), epsilon=epsilon, delta=delta, **options)
    assert isinstance(plan, PhasedArms)
    return plan


def close(plan: PhasedArms, certified: float) -> bool:
    """Finer grids certify up to 1% less."""
    return bool(0.985 * certified <= float(plan.regret_bound) <= certified)


def test_certified_regret() -> None:
    plan = calibrated()
    assert close(plan, 4324)
    for gap, certified in ((0.05, 3559), (0.1, 2534), (0.2, 2157)):
        assert 0.965 * certified <= float(plan.regret_if(gap)) <= certified
    assert round(plan.expected_switches) == 215
    assert close(calibrated(5, 10**4), 622)


def test_several_rounds_per_person() -> None:
    assert close(calibrated(rounds_per_person=10), 6807)
    assert float(calibrated(relation=ZERO_OUT).regret_bound) == float(calibrated().regret_bound)
    middle = calibrated(relation=ZERO_OUT, missing=0.5)
    assert float(middle.regret_bound) < float(calibrated().regret_bound)
    assert middle.scale == pytest.approx(0.5)


def test_the_contract() -> None:
    pure = calibrated()
    assert (pure.guarantee.at_delta, pure.guarantee.numerics) == (0.0, EXACT)
    assert pure.guarantee.epsilon(0.0) == 1.0
    with pytest.raises(PrivacyError, match="stochastic losses only"):
        PhasedArms.calibrate(Arms(n=3, horizon=100, adversary="oblivious"), epsilon=1.0, delta=0.0)


def test_limits_on_switches() -> None:
    limited = calibrated(max_switches=200)
    assert limited.expected_switches <= 200
    with pytest.raises(PrivacyError, match="would use no data"):  # one batch of each arm, and nothing after
        PhasedArms.calibrate(problem(), epsilon=1.0, delta=0.0, max_switches=20)
    with pytest.raises(PrivacyError, match="max_switches=5"):
        PhasedArms.calibrate(problem(), epsilon=1.0, delta=0.0, max_switches=5)
    losses = np.random.default_rng(0).random((3000, 4))
    plan = calibrated(4, 3000)
    learner = plan.start(Randomness.replayable(1))
    learner.run(losses)
    assert learner.switches <= plan.expected_switches


def test_bad_parameters() -> None:
    with pytest.raises(InvalidInput, match="'first'"):
        PhasedArms(problem(10, 100), 1.0, 11)
    with pytest.raises(PrivacyError, match="once at least"):
        PhasedArms.calibrate(problem(10, 5), epsilon=1.0, delta=0.0)


def test_an_index_is_the_smallest_mean_that_chernoff_allows() -> None:
    plan = calibrated(5, 5000)
    for phase in plan.schedule.phases[::3]:
        for estimate in (-0.2, 0.0, 0.3, 0.7, 1.4):
            index = phase.index(estimate)

            def exponent(q: float, phase=phase, estimate=estimate) -> float:
                losses = np.log(1 - q + q * np.exp(phase.tilts)) @ phase.lengths
                return float((phase.slopes * estimate - losses - phase.noise).max())

            assert 0 <= index <= 1
            assert exponent(min(1.0, index + 1e-9)) <= phase.level + 1e-6 or index > 1 - 1e-9
            if index > 0:
                assert exponent(index) >= phase.level - 1e-6
            assert index >= min(1 - 1e-9, estimate - phase.radius)  # step (ii) of the proof


def test_the_index_of_the_best_arm_is_rarely_too_large() -> None:
    """Step (i): the mean of the largest excess, by simulation, is far below the certified sum."""
    plan = calibrated(20, 20_000)
    schedule, rng, runs = plan.schedule, np.random.default_rng(5), 60
    excess = np.zeros(runs)
    for run in range(runs):
        total = weight = 0.0
        for length, precision, phase in zip(schedule.lengths, schedule.precisions, schedule.phases, strict=False):
            noise = rng.geometric(1 - np.exp(-1.0)) - rng.geometric(1 - np.exp(-1.0))
            total += precision * (rng.binomial(length, 0.5) + noise) / length
            weight += precision
            excess[run] = max(excess[run], phase.index(total / weight) - 0.5)
    certified = sum(phase.excess() for phase in schedule.phases)
    assert 0 < excess.mean() + 4 * excess.std() / np.sqrt(runs) < certified


def test_without_noise_it_is_a_deterministic_race() -> None:
    plan = PhasedArms(problem(3, 60), 1.0, 4)
    learner = plan.start(Randomness.replayable(0))
    learner._draws.noisy = lambda total: total
    losses = np.tile([1.0, 0.0, 1.0], (60, 1))
    actions = learner.run(losses)
    assert actions[:12].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    np.testing.assert_allclose(learner.estimates, [1.0, 0.0, 1.0])
    assert set(actions[20:].tolist()) == {1}
