import itertools
import math

import numpy as np
import pytest

from exact.tracking_law import hockey_stick
from learners.contract import same_in_rounds
from tacit.environments.tracking import PenaliseHeld, ShiftingBernoulli
from tacit.errors import InvalidInput, PrivacyError
from tacit.learners.tracking import SampledFixedShare
from tacit.numerics import decisions
from tacit.numerics.bounds import hilbert_error
from tacit.numerics.decisions import draw_weighted
from tacit.numerics.lattice import LOSS_UNITS, quantise_losses
from tacit.privacy.numerics import extra_epsilon
from tacit.problems import Tracking
from tacit.randomness import Randomness
from tacit.simulation.comparators import best_switching_sequence


def adaptive(n=10, horizon=2000, switches=1):
    return Tracking(n=n, horizon=horizon, switches=switches, adversary="adaptive")


def weights(plan, losses):
    """The law of each round's draw, computed apart from the learner."""
    n = plan.problem.n
    w, laws = np.full(n, 1 / n), []
    for t, row in enumerate(losses, start=1):
        laws.append(w)
        w = w * np.exp(-plan.eta * quantise_losses(np.asarray(row)) / LOSS_UNITS)
        w = w / w.sum()
        w = (1 - plan.share) * w + plan.share * (1 - w) / (n - 1)
        if t % plan.epoch == 0:
            w = np.full(n, 1 / n)
    return laws


def test_weights_are_fixed_share_with_restarts():
    losses = Randomness.replayable(1).stream("losses").random((50, 4))
    plan = SampledFixedShare(adaptive(4, 50, 2), eta=0.3, epoch=17)
    learner = plan.start(Randomness.replayable(1))
    for row, law in zip(losses, weights(plan, losses), strict=True):
        np.testing.assert_allclose(learner._weights, law, rtol=1e-12)
        learner.play()
        learner.observe(row)


def test_draws_follow_the_weights_and_the_test_has_teeth():
    plan = SampledFixedShare(adaptive(4, 10, 1), eta=0.3, epoch=5)
    learner = plan.start(Randomness.replayable(2))
    learner._weights = np.array([0.1, 0.2, 0.3, 0.4])
    counts = np.bincount([draw_weighted(learner._choice, learner._weights) for _ in range(40_000)], minlength=4)

    def distance(law):  # chi-squared with 3 degrees of freedom: above 31.8 with probability 6e-7
        expected = 40_000 * np.array(law)
        return float(((counts - expected) ** 2 / expected).sum())

    assert distance([0.1, 0.2, 0.3, 0.4]) < 31.8
    assert distance([0.12, 0.2, 0.3, 0.38]) > 31.8


def test_exact_hockey_stick_lies_under_the_certified_curve():
    plan = SampledFixedShare(adaptive(2, 6, 1), eta=0.3, epoch=12)
    transcripts = list(itertools.product(range(2), repeat=6))

    def law(losses):
        laws = weights(plan, losses)
        return {path: math.prod(w[j] for w, j in zip(laws, path, strict=True)) for path in transcripts}

    generator = Randomness.replayable(4).stream("neighbours")
    worst = dict.fromkeys((0.0, 0.2, 0.5, 0.8), 0.0)
    for _ in range(30):
        losses = generator.integers(0, 2, (6, 2)).astype(float)
        other = losses.copy()
        place = generator.integers(6)
        other[place] = [1.0, 0.0]
        losses[place] = [0.0, 1.0]
        first, second = law(losses), law(other)
        for epsilon in worst:
            worst[epsilon] = max(worst[epsilon], hockey_stick(first, second, epsilon))
    for epsilon, exact in worst.items():
        assert exact <= plan.guarantee.delta(epsilon)
    assert worst[0.0] > plan.guarantee.delta(0.0) / 4


def test_curve_is_that_of_the_draws_of_one_epoch():
    plan = SampledFixedShare(adaptive(), eta=0.01, epoch=1000)
    orders = np.array([2.0, 8.0])
    np.testing.assert_allclose(plan.curve.renyi(orders), orders * 999 * 0.01**2 / 2, rtol=1e-6)
    short = SampledFixedShare(adaptive(horizon=20), eta=0.01, epoch=1000)
    assert short.curve.count == 19
    many = SampledFixedShare(adaptive(), eta=0.01, epoch=1000, rounds_per_person=3)
    np.testing.assert_allclose(many.curve.renyi(orders), 9 * plan.curve.renyi(orders), rtol=1e-6)
    zero = SampledFixedShare(adaptive(), eta=0.01, epoch=1000, relation="zero-out")
    np.testing.assert_allclose(zero.curve.renyi(orders), plan.curve.renyi(orders) / 4, rtol=1e-6)


def test_the_contract_includes_the_error_of_the_weights():
    plan = SampledFixedShare(adaptive(), eta=0.01, epoch=1000)
    assert plan.curve.curve.width == 0.02 + 4 * hilbert_error(10) * 1000
    assert plan.guarantee.numerics.startswith("exact up to an extra epsilon of ")
    assert 4 * hilbert_error(10) * 1000 <= extra_epsilon(plan.guarantee.numerics) < 1e-5
    assert SampledFixedShare(adaptive(), eta=17.0, epoch=1000).guarantee.numerics.startswith("idealized")


def test_draws_looked_at_more_closely_are_the_same(monkeypatch):
    losses = Randomness.replayable(5).stream("losses").random((200, 4))
    plan = SampledFixedShare(adaptive(4, 200, 2), eta=0.3, epoch=17)
    wanted = plan.start(Randomness.replayable(1)).run(losses)
    monkeypatch.setattr(decisions, "DRAW_MARGIN", 2.0)
    np.testing.assert_array_equal(plan.start(Randomness.replayable(1)).run(losses), wanted)


def test_bound_is_at_most_the_simple_one():
    problem = adaptive(10, 10_000, 4)
    plan = SampledFixedShare(problem, eta=0.05, epoch=2000)
    simple = 5 * (2 * math.log(10) + math.log(2000) + 1) / 0.05 + 0.05 * 10_000 / 8
    assert float(plan.regret_bound) <= simple
    assert plan.certified_against[-1] == "adaptive"


def test_calibration_meets_the_target_and_beats_the_natural_epoch():
    problem = adaptive(10, 50_000, 3)
    plan = SampledFixedShare.calibrate(problem, epsilon=1.0, delta=1e-6)
    assert 0.99 < plan.guarantee.epsilon() <= 1.0
    assert not plan.vacuous
    generous = SampledFixedShare.calibrate(problem, epsilon=500.0, delta=1e-6)
    assert generous.eta == pytest.approx(math.sqrt(8 * generous.complexity / 50_000), rel=1e-3)


def test_run_equals_play_and_observe_bit_for_bit():
    losses = Randomness.replayable(5).stream("losses").random((3000, 7))
    plan = SampledFixedShare(adaptive(7, 3000, 3), eta=0.1, epoch=700)
    whole, loop = same_in_rounds(plan, losses, 1234)
    np.testing.assert_array_equal(whole._weights, loop._weights)


def test_measured_regret_is_under_the_bound():
    problem = adaptive(5, 4000, 1)
    plan = SampledFixedShare.calibrate(problem, epsilon=4.0, delta=1e-6)
    assert not plan.vacuous
    environment = ShiftingBernoulli(n=5, horizon=4000, changes=(2000,), gap=0.4)
    regrets = []
    for seed in range(10):
        losses = environment.losses(Randomness.replayable(seed).stream("losses"))
        actions = plan.start(Randomness.replayable(seed)).run(losses)
        regrets.append(losses[np.arange(4000), actions].sum() - best_switching_sequence(losses, 1)[0])
    assert 0 < np.mean(regrets) < float(plan.regret_bound)


def test_measured_regret_against_an_adaptive_adversary_is_under_the_bound():
    rounds = 1500
    plan = SampledFixedShare.calibrate(adaptive(5, rounds, 1), epsilon=8.0, delta=1e-6)
    assert not plan.vacuous
    regrets = []
    for seed in range(6):
        opponent = PenaliseHeld(n=5, horizon=rounds).start(Randomness.replayable(seed).stream("opponent"))
        learner = plan.start(Randomness.replayable(seed))
        rows, paid, action = [], 0.0, None
        for _ in range(rounds):
            row = opponent.respond(action)
            action = learner.play()
            learner.observe(row)
            rows.append(row)
            paid += row[action]
        regrets.append(paid - best_switching_sequence(np.array(rows), 1)[0])
    assert np.mean(regrets) < float(plan.regret_bound)


def test_one_expert_and_arguments():
    plan = SampledFixedShare(adaptive(1, 10, 0), eta=0.5, epoch=5)
    assert plan.guarantee.epsilon() == 0.0
    assert float(plan.regret_bound) == 0.0
    assert not plan.start(Randomness.replayable(1)).run(np.zeros((10, 1))).any()
    for bad in ({"eta": 0.0}, {"epoch": 1}, {"rounds_per_person": 0}):
        with pytest.raises(InvalidInput, match=next(iter(bad))):
            SampledFixedShare(adaptive(), **{"eta": 0.1, "epoch": 10, **bad})
    with pytest.raises(PrivacyError, match="max_switches=2"):
        SampledFixedShare.calibrate(adaptive(), epsilon=1.0, delta=1e-6, max_switches=2)


def test_the_shortest_problems_can_be_planned():
    for horizon, switches in ((1, 0), (2, 1), (5, 4)):
        plan = SampledFixedShare.calibrate(adaptive(3, horizon, switches), epsilon=1.0, delta=1e-6)
        assert len(plan.start(Randomness.replayable(1)).run(np.zeros((horizon, 3)))) == horizon


@pytest.mark.parametrize("delay", [1, 3])
def test_two_experts_that_share_everything_wait_for_late_losses(delay):
    late = Tracking(n=2, horizon=6, switches=1, delay=delay)
    learner = SampledFixedShare(late, eta=0.3, epoch=2).start(Randomness.replayable(1))
    for _ in range(6):
        learner.play()
        learner.observe([0.0, 1.0])
        np.testing.assert_array_equal(learner._law(learner._round), [0.5, 0.5])
