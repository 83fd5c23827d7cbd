"""Tracking on released sums: certificates by hand, windows by brute force, insurance against its definition."""

from math import exp, log, sqrt

import numpy as np
import pytest

from algorithms.tracking.measured import measured
from tacit.algorithms.tracking import NoisyMirrorDescent, TrackingOnSums
from tacit.algorithms.tracking.noisy_batches import BatchNoise, clip_to_floor
from tacit.algorithms.tracking.tracking_on_sums import best_rates, leader_on_means, window_leader
from tacit.noise.randomness import Randomness
from tacit.problems import Tracking

TARGET = {"epsilon": 1.0, "delta": 0.0}


def tracking(n=5, horizon=50_000, switches=1, adversary="stochastic"):
    return Tracking(n=n, horizon=horizon, switches=switches, adversary=adversary)


# --- certificates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "switches", "rounds", "block", "bound"),
    [
        (5, 1, 50_000, 58, 3_169),
        (5, 1, 50_000, 34, 2_643),
        (5, 1, 50_000, 24, 2_540),
        (12, 3, 200_000, 100, 12_883),
        (12, 3, 200_000, 84, 11_921),
        (12, 3, 200_000, 40, 10_467),
        (10, 3, 20_000, 40, 4_444),
        (10, 3, 20_000, 16, 3_571),
    ],
)
def test_certificates_at_given_blocks(n, switches, rounds, block, bound):
    """At most what a coarser analysis of shifts gives, and within 4% of it."""
    plan = TrackingOnSums.calibrate(tracking(n, rounds, switches), **TARGET, block=block)
    assert 0.96 * bound < float(plan.regret_bound) <= bound + 1
    assert not plan.regret_bound.condition


def test_the_certificate_by_hand():
    n, switches, rounds, block = 5, 1, 50_000, 34
    plan = TrackingOnSums.calibrate(tracking(n, rounds, switches), **TARGET, block=block)
    assert (plan.base, plan.block, plan.used) == ("mirror", 34, 49_980)
    blocks, variance, eta, mix = -(-rounds // block), (n + 1) * (n + 2) / 3, plan.eta, plan.mix
    floor = 1 / (n * blocks)
    base = (log(n) + log(1 / floor)) / eta + eta * rounds / 8 + blocks * eta * variance / 2
    base = (base + block * (1 - 1 / n) + block // 2) / (1 - eta * block / 2)
    insured = (base + log(10) / mix + mix * rounds / 8 + blocks * mix * variance / 2) / (1 - mix * block / 2)
    sequences = n + (rounds - 1) * n * (n - 1)
    by_hand = insured + sqrt(rounds * log(sequences) / 2) + rounds / 2**24
    assert float(plan.regret_bound) == pytest.approx(by_hand, rel=1e-9)
    for changes in ({"eta": 1.1 * eta}, {"mix": 1.1 * mix}):
        worse = TrackingOnSums(plan.problem, **{**plan.parameters, **changes})
        assert float(worse.regret_bound) > float(plan.regret_bound)
    too_fast = TrackingOnSums(plan.problem, **{**plan.parameters, "eta": 2.0, "mix": 2.0})
    assert float(too_fast.regret_bound) == rounds, "no certificate is left"


def test_any_fixed_losses_cost_the_insurance():
    problem = tracking(adversary="oblivious")
    plan = TrackingOnSums.calibrate(problem, **TARGET)
    mirror = NoisyMirrorDescent.calibrate(problem, **TARGET)
    assert plan.certified_against == ("stochastic", "oblivious")
    assert float(mirror.regret_bound) < float(plan.regret_bound) < 2 * float(mirror.regret_bound)
    assert plan.variants() == {}
    blocks, variance = -(-50_000 // plan.block), 14.0
    insurance = log(10) / plan.mix + blocks * plan.mix * (plan.block**2 / 8 + variance / 2)
    same = NoisyMirrorDescent(problem, plan.eta, plan.scale, "cube", plan.block)
    assert float(plan.regret_bound) == pytest.approx(float(same.regret_bound) + insurance, rel=1e-9)
    leader = TrackingOnSums(problem, eta=1.0, mix=0.01, scale=1.0, block=200, base="leader")
    assert leader.certified_against == ("stochastic",)


def test_the_leader_is_the_better_base_for_long_blocks():
    plan = TrackingOnSums.calibrate(tracking(10, 20_000, 3), **TARGET).variants()["practical blocks"]
    assert (plan.block, plan.base) == (167, "leader")
    assert float(plan.regret_bound) == pytest.approx(6_188, rel=0.02)
    noise = BatchNoise("cube", 1.0, 10)
    by_hand = 7 * 167 + 20_000 * 2 * sqrt(log(10) * (167 / 8 + 22)) / 167
    assert leader_on_means(plan.problem, 167, noise) == pytest.approx(by_hand)
    assert best_rates(plan.problem, "mirror", 167, noise)[0] > float(plan.regret_bound)


@pytest.mark.parametrize(("n", "switches", "rounds"), [(5, 1, 50_000), (12, 3, 200_000), (10, 3, 20_000)])
def test_the_default_block_has_the_smallest_certificate(n, switches, rounds):
    plan = TrackingOnSums.calibrate(tracking(n, rounds, switches), **TARGET)
    for block in (plan.block // 2, round(0.9 * plan.block), round(1.1 * plan.block), 2 * plan.block):
        assert float(TrackingOnSums.calibrate(plan.problem, **TARGET, block=block).regret_bound) >= float(
            plan.regret_bound
        )
    practical = plan.variants()["practical blocks"]
    assert practical.guarantee == plan.guarantee
    assert float(practical.regret_bound) >= float(plan.regret_bound)


# --- parts ---------------------------------------------------------------------------------------------------


def slow_window_leader(sums, patience):
    """The definition, one window after the other; `sums` are the blocks' own."""
    blocks = len(sums)
    lengths = [2**k for k in range(40) if 2**k < blocks] + [blocks]
    for length in reversed(lengths):
        leader = sums[-length:].sum(axis=0).argmin()
        shorter = [sums[-other:].sum(axis=0) for other in lengths if other < length]
        if all(
            total[leader] - total.min() <= patience * sqrt(other)
            for total, other in zip(shorter, lengths, strict=False)
        ):
            return leader
    raise AssertionError("the shortest window is never refuted")


def test_windows_are_those_of_the_definition():
    generator = Randomness.replayable(1).stream("sums")
    for blocks in (1, 2, 3, 4, 5, 8, 9, 31, 64, 100):
        for patient in (0.0, 1.0, 3.0, 100.0):
            sums = np.rint(generator.normal(0, 4, (blocks, 4)))
            sums[: blocks // 2, 0] -= 5  # the best expert changes
            sums[blocks // 2 :, 1] -= 5
            prefix = np.concatenate([np.zeros((1, 4)), np.cumsum(sums, axis=0)])
            assert window_leader(prefix, patient) == slow_window_leader(sums, patient)


@pytest.mark.parametrize("base", ["mirror", "leader"])
def test_the_mixture_is_exponential_weights_on_two(base, monkeypatch):
    """Played without noise, against all three parts written down once more."""
    plan = TrackingOnSums(tracking(3, 60, 2), eta=0.3, mix=0.2, scale=1.0, block=4, base=base)
    learner = plan.start(Randomness.replayable(1))
    monkeypatch.setattr(learner._hidden, "release", lambda sums: sums * plan.grid.step)
    losses = Randomness.replayable(2).stream("losses").random((60, 3))
    learner.run(losses)
    sums = (np.floor(losses * 2**24) / 2**24 - 0.5)[:56].reshape(14, 4, 3).sum(axis=1)
    weights, leading = np.full(3, 1 / 3), np.full(3, 1 / 3)
    chances = np.array([0.1, 0.9])
    for block, total in enumerate(sums):
        chances = chances * np.exp(-0.2 * np.array([weights @ total, leading @ total]))
        chances /= chances.sum()
        leading = np.eye(3)[slow_window_leader(sums[: block + 1], learner._patience)]
        if base == "leader":
            weights = np.eye(3)[total.argmin()]
        else:
            weights = clip_to_floor(weights * np.exp(-0.3 * total), 2 / 45, 2 / 45 * np.arange(3))
    np.testing.assert_allclose(learner._weights, weights, rtol=1e-9)
    np.testing.assert_array_equal(learner._leading, leading)
    assert 1 / (1 + exp(-learner._odds)) == pytest.approx(chances[1])
    assert learner._blocks == 14


def test_decisions_are_held_for_a_block_and_the_last_block_is_never_used(monkeypatch):
    plan = TrackingOnSums(tracking(4, 50, 2), eta=0.3, mix=0.2, scale=0.5, block=12)
    assert plan.used == 48
    assert plan.expected_switches == 4
    learner = plan.start(Randomness.replayable(1))
    released = []
    honest = learner._hidden.release
    monkeypatch.setattr(learner._hidden, "release", lambda sums: released.append(len(sums)) or honest(sums))
    actions = learner.run(Randomness.replayable(2).stream("losses").random((50, 4)))
    assert all(len(set(actions[first : first + 12])) == 1 for first in range(0, 50, 12))
    assert sum(released) == 4


def test_privacy_of_several_rounds_and_of_zero_out():
    plan = TrackingOnSums.calibrate(tracking(), epsilon=0.5, delta=1e-6, relation="zero-out", rounds_per_person=3)
    assert plan.scale == pytest.approx(3 / 2 / 0.5)
    assert plan.guarantee.epsilon() == pytest.approx(0.5)
    assert plan.guarantee.epsilon() <= 0.5
    assert plan.guarantee.at_delta == 0.0
    assert plan.guarantee.numerics == "exact"


# --- measured ------------------------------------------------------------------------------------------------


def test_measured_regret_is_far_under_the_bound():
    plan = TrackingOnSums.calibrate(tracking(3, 10_000), epsilon=2.0, delta=0.0).variants()["practical blocks"]
    assert measured(plan, (4_000,), 0.4, 3)[0].mean() < 0.1 * float(plan.regret_bound)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "switches", "rounds", "changes", "gap", "block", "most"),
    [
        (5, 1, 50_000, (20_000,), 0.4, 56, 110),
        (5, 1, 50_000, (), 0.1, 56, 70),
        (12, 3, 200_000, (50_000, 100_000, 150_000), 0.25, 151, 530),
        (12, 3, 200_000, (), 0.05, 151, 240),
        (10, 3, 20_000, (5_000, 10_000, 15_000), 0.3, 167, 340),
        (10, 3, 20_000, (5_000, 10_000, 15_000), 0.1, 167, 550),
        (10, 3, 20_000, (), 0.05, 167, 150),
    ],
)
def test_measured_regret_of_worlds(n, switches, rounds, changes, gap, block, most):
    plan = TrackingOnSums.calibrate(tracking(n, rounds, switches), **TARGET, block=block)
    assert measured(plan, changes, gap, 4)[0].mean() < most
