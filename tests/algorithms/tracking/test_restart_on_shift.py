from fractions import Fraction
from math import log

import numpy as np
import pytest

from algorithms.tracking.measured import measured
from tacit.accounting.guarantee import REPLACE, ZERO_OUT
from tacit.algorithms.tracking import LimitedUpdates, RestartOnShift
from tacit.algorithms.tracking.limited_updates import noise_mean, selection_rate
from tacit.algorithms.tracking.thresholds import (
    Detector,
    certified_margin,
    expected_stretches_regret,
    learning_regret,
    stretches_regret,
)
from tacit.environments.tracking import ShiftingBernoulli
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.lattice import LOSS_UNITS, quantise_losses
from tacit.noise.randomness import Randomness
from tacit.problems import Experts, Tracking


def stochastic(n=10, horizon=20_000, switches=3):
    return Tracking(n=n, horizon=horizon, switches=switches, adversary="stochastic")


def stream(seed, rows, n):
    return (Randomness.replayable(seed).stream("losses").random((rows, n)) < 0.5).astype(float)


# Privacy -------------------------------------------------------------------------------------------------


def statistics(losses, actions, plan):
    """The recursion one round at a time in whole steps, for all tests of a run without restarts."""
    units = plan.detector.units
    a = np.asarray(plan.detector.windows, dtype=float)[:, None]
    slope = np.floor(plan.slope / (2 * a) * units).astype(np.int64)
    excess = np.zeros((len(a), plan.problem.n), dtype=np.int64)
    found = []
    for t, (row, action) in enumerate(zip(quantise_losses(losses, units), actions, strict=True), start=1):
        excess = np.maximum(0, excess + row[action] - row - slope)
        if t % plan.interval == 0:
            found.append(excess)
    return np.array(found)


def test_block_recursion_is_the_recursion():
    plan = RestartOnShift(stochastic(5, 1000, 2), epsilon=1.0, interval=23, slope=0.4, margin=1e6)
    losses = Randomness.replayable(1).stream("losses").random((1000, 5))
    learner = plan.start(Randomness.replayable(1))
    actions = learner.run(losses)
    expected = statistics(losses, actions, plan)[-1]
    assert (expected > 0).any()
    np.testing.assert_array_equal(learner._excess, expected)


@pytest.mark.parametrize("relation", [REPLACE, ZERO_OUT])
def test_one_round_moves_all_statistics_within_the_width(relation):
    plan = RestartOnShift(stochastic(4, 200, 1), epsilon=1.0, interval=7, slope=0.3, margin=1.0, relation=relation)
    generator = Randomness.replayable(8).stream("neighbours")
    level = plan.start(Randomness.replayable(1))._level
    width = plan.width * plan.detector.units
    widest = 0
    for run in range(200):
        # Every other stream has losses that are no whole numbers of steps.
        losses = generator.integers(0, 2, (60, 4)) * (1.0 if run % 2 else generator.random((60, 4)))
        actions = generator.integers(0, 4, 60)
        other = losses.copy()
        changed = generator.integers(60)
        other[changed] = generator.random() if relation is ZERO_OUT else np.round(1 - losses[changed])
        here, there = statistics(losses, actions, plan), statistics(other, actions, plan)
        low, high = min(0, (there - here).min()), max(0, (there - here).max())
        widest = max(widest, high - low)
        queries = (there - level).max((1, 2)) - (here - level).max((1, 2))
        assert (queries >= low).all()
        assert (queries <= high).all()
    assert widest <= width  # exactly, in integers
    assert widest > 0.9 * width


def test_selection_noise_covers_what_one_person_can_move():
    assert noise_mean(0.5, REPLACE, 1) == pytest.approx(4.0)
    assert noise_mean(0.5, ZERO_OUT, 1) == pytest.approx(2.0)
    assert noise_mean(0.5, REPLACE, 3) == pytest.approx(12.0)
    for relation, moved in ((REPLACE, 2), (ZERO_OUT, 1)):
        for epsilon in (0.1, 0.7, 3.0):
            rate = Fraction(selection_rate(epsilon, relation, 3))
            assert (
                rate * 3 * moved * LOSS_UNITS
                <= Fraction(epsilon)
                < rate * 3 * moved * LOSS_UNITS * Fraction(1 + 2.0**-51)
            )
    plan = RestartOnShift.calibrate(stochastic(), epsilon=1.0, delta=0.0, rounds_per_person=3, relation="zero-out")
    assert plan.detector.threshold_scale == pytest.approx(3 / 0.3)
    assert plan.guarantee.epsilon() == 1.0
    assert plan.guarantee.notion == "pure"


def test_shares_never_exceed_epsilon():
    plan = RestartOnShift.calibrate(stochastic(), epsilon=0.7, delta=0.0)
    assert sum(Fraction(part) for part in plan.budgets) <= Fraction(plan.epsilon)
    width = plan.width * plan.detector.units
    learner = plan.start(Randomness.replayable(1))
    assert Fraction(learner._alarm._query_rate) * width <= Fraction(plan.budgets[2])
    assert Fraction(learner._rate) * plan.width * LOSS_UNITS <= Fraction(plan.budgets[0])
    with pytest.raises(InvalidInput, match="shares"):
        RestartOnShift(stochastic(), 0.7, 5, 1.0, 1.0, shares=(0.4, 0.3, 0.3 + 5e-12))


def test_the_contract_is_exact_and_its_lattice_is_as_fine_as_the_noise_allows():
    for epsilon, units in ((1.0, 2**24), (1e-3, 2**19)):
        plan = RestartOnShift.calibrate(stochastic(), epsilon=epsilon, delta=0.0)
        assert plan.guarantee.numerics == "exact"
        assert plan.detector.units == units
        assert plan.detector.threshold_scale == pytest.approx(2 / (0.3 * epsilon))
        assert plan.start(Randomness.replayable(1)).run(stream(1, 300, 10)).size == 300
    with pytest.raises(PrivacyError, match=r"at least 2\.33e-10"):
        RestartOnShift.calibrate(stochastic(), epsilon=1e-10, delta=0.0)


def test_thresholds_are_rounded_down_and_cannot_overflow():
    plan = RestartOnShift(stochastic(3, 1000, 1), epsilon=1.0, interval=10, slope=1e50, margin=1e60)
    learner = plan.start(Randomness.replayable(1))
    learner.run(np.tile([0.0, 1.0, 1.0], (1000, 1)))
    assert learner.restarts == []
    assert not learner._excess.any()
    plan = RestartOnShift(stochastic(3, 1000, 1), epsilon=1.0, interval=10, slope=0.3, margin=0.7)
    learner = plan.start(Randomness.replayable(1))
    for place, a in enumerate(plan.detector.windows):
        assert 0 <= Fraction(0.7 + 0.3 * a / 2) * 2**24 - int(learner._level[place, 0]) < 1
        assert 0 <= Fraction(0.3 / (2 * a)) * 2**24 - int(learner._drift[place, 0, 0]) < 1


# Behaviour -----------------------------------------------------------------------------------------------


def test_limited_updates_selects_the_window_before_each_power_of_two(monkeypatch):
    seen = []

    def pick(uniforms, rate, sums):
        seen.append(sums.copy())
        return int(np.argmin(sums))

    monkeypatch.setattr("tacit.algorithms.tracking.limited_updates.permute_and_flip", pick)
    losses = Randomness.replayable(2).stream("losses").random((40, 3))
    learner = LimitedUpdates(stochastic(3, 40, 0), epsilon=1.0).start(Randomness.replayable(1))
    actions = learner.run(losses)
    assert len(seen) == 5
    for level, sums in enumerate(seen, start=1):
        tau = 2**level  # rounds tau/2 .. tau-1, counted from 1
        expected = quantise_losses(losses[tau // 2 - 1 : tau - 1]).sum(axis=0)
        np.testing.assert_array_equal(sums, expected)
        assert (actions[tau - 1 : 2 * tau - 1] == np.argmin(expected)).all()


def test_a_restart_forgets_everything(monkeypatch):
    plan = RestartOnShift(stochastic(3, 400, 1), epsilon=1.0, interval=10, slope=0.5, margin=0.0)
    losses = stream(3, 400, 3)
    learner = plan.start(Randomness.replayable(4))
    monkeypatch.setattr(type(learner._alarm), "test", lambda self, query: False)
    learner.run(losses[:10])
    monkeypatch.setattr(type(learner._alarm), "test", lambda self, query: True)
    learner.run(losses[10:20])
    assert learner.restarts == [20]
    assert learner._local == 0
    assert not learner._excess.any()
    assert not learner._sums.any()
    monkeypatch.setattr(type(learner._alarm), "test", lambda self, query: False)
    sums = []
    monkeypatch.setattr(
        "tacit.algorithms.tracking.limited_updates.permute_and_flip", lambda u, r, s: sums.append(s.copy()) or 0
    )
    learner.run(losses[20:60])
    np.testing.assert_array_equal(sums[0], quantise_losses(losses[20]))
    np.testing.assert_array_equal(sums[1], quantise_losses(losses[21:23]).sum(axis=0))


# Regret --------------------------------------------------------------------------------------------------


def test_mean_dynamic_regret_at_twenty_thousand_rounds():
    plan = RestartOnShift.calibrate(stochastic(), epsilon=1.0, delta=0.0)
    regrets, learners = measured(plan, (5_000, 10_000, 15_000), 0.3, 20)
    assert regrets.mean() / 20_000 < 0.04
    for regret, learner in zip(regrets, learners, strict=True):
        assert regret <= plan.regret_after(len(learner.restarts))


def test_certified_thresholds_are_kept():
    plan = RestartOnShift.calibrate(stochastic(10, 20_000, 1), epsilon=2.0, delta=0.0, thresholds="certified")
    assert not plan.vacuous
    regrets, learners = measured(plan, (10_000,), 0.5, 10)
    assert not [restart for learner in learners for restart in learner.restarts if restart <= 10_000]
    assert np.mean(regrets) < float(plan.regret_bound)


def test_certified_margin_covers_a_simulated_epoch():
    # The margin without the noise of the test dominates every window's regret in a stationary run.
    plan = RestartOnShift.calibrate(stochastic(5, 4000, 0), epsilon=1.0, delta=0.0, thresholds="certified")
    assert plan.margin >= certified_margin(plan.detector, plan.slope) * (1 - 1e-9)
    silent = RestartOnShift(plan.problem, 1.0, plan.interval, plan.slope, 1e9)
    for seed in range(5):
        losses = ShiftingBernoulli(n=5, horizon=4000, changes=(), gap=0.1).losses(
            Randomness.replayable(seed).stream("losses")
        )
        actions = silent.start(Randomness.replayable(seed)).run(losses)
        a = np.asarray(silent.detector.windows)[:, None]
        excess = statistics(losses, actions, silent) / silent.detector.units - silent.slope * a / 2
        assert excess.max() < plan.margin


FACTS = Detector(
    n=3, rounds=5000, interval=4, selection_scale=3.0, threshold_scale=2.0, query_scale=5.0, units=2**20
)  # fmt: skip


def noise_by_hand(failure):
    return 2 * log(1 / failure) + 5 * log(1250 / failure) + 2**-20


def envelope_by_hand(lengths, slope):
    return slope * np.min([lengths / (2 * a) + a / 2 for a in (4, 8, 16, 32, 64)], axis=0)


def gaps_by_hand(failure):
    """The gap of each round: anything in the first, then that of a selection from 2^l rounds, held for 2^(l+1)."""
    tail = log(4 * 3 * 13 / failure)
    levels = np.floor(np.log2(np.arange(1, 5001))) - 1
    windows = 2.0**levels
    return np.where(levels < 0, 1.0, np.minimum(1.0, (np.sqrt(2 * windows * tail) + 3 * tail) / windows))


def test_learning_regret_by_hand():
    lengths = np.arange(1, 5001)
    sums = np.cumsum(gaps_by_hand(0.01))
    assert sums[-1] < 2000
    np.testing.assert_allclose(learning_regret(FACTS, lengths.astype(float), 0.01), sums, rtol=1e-9)


@pytest.mark.parametrize("slope", [0.5, 3.0, 12.0])
def test_the_certified_margin_is_the_largest_excess_of_a_window_and_noise(slope):
    """Every window, where the code looks at a grid and rounds up."""
    third, lengths = 0.05 / 3, np.arange(1.0, 5001.0)
    luck = np.sqrt(2 * lengths * log(2 * 3 * 5000 * 1250 / third))
    regret = np.cumsum(gaps_by_hand(third)) + luck + lengths * (2**-19 + 2**-24)
    exact = max(0.0, float(np.max(regret - envelope_by_hand(lengths, slope)))) + noise_by_hand(third) + 2**-20
    assert exact <= certified_margin(FACTS, slope) <= 1.02 * exact


def test_the_regret_of_stretches_by_hand():
    """Each stretch: margin, noise of its tests, the rounds since the last one, and the envelope at its length."""

    def by_hand(failure):
        slack = noise_by_hand(failure / 2) + 2 * log(1250)
        each = 7.0 + slack + 4 + float(envelope_by_hand(np.array([1000.0]), 3.0)[0])
        return 5 * each + 5000 * 2**-20

    assert stretches_regret(FACTS, 3.0, 7.0, 5, 0.01) == pytest.approx(by_hand(0.01), rel=1e-12)
    assert stretches_regret(FACTS, 3.0, 7.0, 5) == pytest.approx(by_hand(1 / 5000), rel=1e-12)
    least = min(by_hand(failure) + 5000 * failure for failure in np.geomspace(1 / 5000, 0.1, 4000))
    assert least <= expected_stretches_regret(FACTS, 3.0, 7.0, 5) * (1 + 1e-12) <= 1.001 * least


def test_bounds_say_what_is_not_certified():
    assert float(LimitedUpdates(stochastic(), epsilon=1.0).regret_bound) == float("inf")
    tuned = RestartOnShift.calibrate(stochastic(), epsilon=1.0, delta=0.0)
    assert tuned.regret_bound.condition == "there are at most S restarts"
    assert "if there are at most S restarts" in str(tuned.regret_bound)
    # In expectation over such runs it is no worse than the ex-post bound that fails with probability 1/T.
    assert float(tuned.regret_bound) <= tuned.regret_after(3) + 1
    assert tuned.regret_after(0) < tuned.regret_after(3) < tuned.regret_after(10_000) == 20_000
    assert tuned.certified_against == ("stochastic",)


# Arguments -----------------------------------------------------------------------------------------------


def test_refusals():
    assert LimitedUpdates.calibrate(stochastic(), epsilon=1.0, delta=0.0, max_switches=14).expected_switches == 14
    with pytest.raises(InvalidInput, match="thresholds"):
        RestartOnShift.calibrate(stochastic(), epsilon=1.0, delta=0.0, thresholds="magic")
    with pytest.raises(InvalidInput, match="Tracking problem"):
        RestartOnShift.calibrate(Experts(n=3, horizon=100), epsilon=1.0, delta=0.0)
    with pytest.raises(InvalidInput, match="restarts"):
        RestartOnShift.calibrate(stochastic(), epsilon=1.0, delta=0.0).regret_after(-1)


def test_printed_thresholds_are_private_and_out_of_reach():
    plan = RestartOnShift.as_printed(stochastic(10, 10_000, 2), epsilon=1.0, delta=0.0, noise=1.5)
    spread = np.log(10 * 1e4**2)
    assert plan.slope == pytest.approx(9 * np.sqrt(spread))
    assert plan.margin == pytest.approx(16 * spread * np.log(1e4) + 16 * (2 * np.log(1e4) + np.log(2e4)) + 1)
    assert plan.guarantee.epsilon(0.0) <= 1.0
    assert plan.printed_status == "kept"
    # A window of 5,000 rounds, half of the horizon, with a gap of .9 in every one of them stays below.
    assert plan.margin + plan.slope * np.sqrt(5_000) > 0.9 * 5_000
