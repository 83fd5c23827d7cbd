"""Noise: probed sums, sampled sums, record and replay."""

import numpy as np
import pytest

from tacit import Experts, HedgeOnSums, LazyExperts, NoisyMirrorDescent, Randomness, Tracking
from tacit.auditing import attacks
from tacit.auditing.instances import instances
from tacit.auditing.replay.running_sums import Response, exact_loss, response
from tacit.auditing.replay.tapes import certified_loss, loss_lower_bound, replay_choices, replay_noise
from tacit.auditing.scripted.script import NotEnumerable
from tacit.auditing.statistics import (
    classifier_scores,
    lower_rate,
    one_run_epsilon,
    rates_bound,
    scores_bound,
    sums_bound,
    upper_rate,
)
from tacit.mechanisms.running_sums import Buffered, LaplaceTree, SquareRoot, Tree


def generator(seed=0):
    return Randomness.replayable(seed).stream("tests")


@pytest.mark.parametrize("mechanism", [Tree(13), Buffered(13), SquareRoot(13), LaplaceTree(13, 3)], ids=str)
def test_probes_see_the_declared_matrices_and_all_of_the_privacy(mechanism):
    scale = mechanism.scale(0.7)
    decoder, encoder = mechanism.matrices()
    seen = response(mechanism, scale)
    np.testing.assert_allclose(seen.data, decoder @ encoder, atol=1e-12)
    np.testing.assert_allclose(seen.noise, scale * decoder, atol=1e-9)
    assert 0.7 * (1 - 1e-9) <= exact_loss(mechanism, scale) <= 0.7 * (1 + 1e-12)
    assert exact_loss(mechanism, 0.9 * scale) > 0.77
    assert exact_loss(mechanism, scale, sensitivity=2.0) == pytest.approx(1.4)


def test_an_outcome_without_noise_is_an_infinite_loss():
    blind = Response(np.eye(2), np.array([[1.0], [0.0]]), laplace=False)
    assert blind.loss(np.array([[0.0], [1.0]])) == float("inf")
    wide = Response(np.eye(1), np.array([[1.0, 1.0]]), laplace=True)
    with pytest.raises(NotEnumerable, match="more noises than steps"):
        wide.loss(np.ones((1, 1)))


@pytest.mark.parametrize("mechanism", [Tree(13), Buffered(13)], ids=str)
def test_sampled_sums_are_tight_in_mu(mechanism):
    bound = sums_bound(mechanism, mechanism.scale(1.0), generator(1), runs=300_000)
    assert 0.95 <= bound.mu <= 1.0
    assert bound.failure <= 1e-6
    weak = sums_bound(mechanism, 0.8 * mechanism.scale(1.0), generator(1), runs=50_000)
    assert weak.mu > 1.0


def test_confidence_bounds_cover():
    """Exactly: the probability that a bound misses is at most what it says, for every true rate."""
    from scipy.stats import binom

    for rate in (0.0, 0.02, 0.3, 0.97, 1.0):
        hits = np.arange(51)
        law = binom.pmf(hits, 50, rate)
        low = np.array([lower_rate(int(k), 50, 0.01) for k in hits])
        high = np.array([upper_rate(int(k), 50, 0.01) for k in hits])
        assert law[low > rate].sum() <= 0.01
        assert law[high < rate].sum() <= 0.01


def test_rates_and_scores():
    bound = rates_bound(900, 1000, 100, 1000, 0.0, 1e-3)
    assert 1.5 < bound.epsilon < np.log(9)
    assert 2.0 < bound.mu < 2.6
    nothing = rates_bound(500, 1000, 500, 1000, 0.0)
    assert nothing.epsilon == nothing.mu == 0.0
    normal = generator(2).standard_normal((2, 40_000, 3))
    one, other = normal[0] + np.array([0.6, 0.0, 0.8]), normal[1]
    assert 0.8 < scores_bound(*classifier_scores(one, other), 1e-6).mu < 1.0


def test_one_run_guesses():
    assert one_run_epsilon(50, 100, 100, 0.0) == 0.0
    assert one_run_epsilon(0, 0, 100, 0.0) == 0.0
    assert 0.7 < one_run_epsilon(90, 100, 1000, 1e-12) < np.log(9)
    assert one_run_epsilon(90, 100, 1000, 1e-6) < one_run_epsilon(90, 100, 1000, 1e-12)
    assert one_run_epsilon(2000, 2000, 2000, 0.0, most=1.0) == float("inf")


def test_one_run_statements_hold_for_randomised_response():
    """The worst epsilon-DP learner answers each coin truthfully with probability e^eps/(1+e^eps)."""
    epsilon, m = 1.0, 200
    right = generator(3).binomial(m, 1 / (1 + np.exp(-epsilon)), size=2000)
    refuted = [one_run_epsilon(int(v), m, m, 0.0, failure=0.01) > epsilon for v in right]
    assert np.mean(refuted) <= 0.01 + 4 * np.sqrt(0.01 / 2000)
    assert max(one_run_epsilon(int(v), m, m, 0.0, failure=0.01) for v in right) > 0.7


def test_replays_are_identical_and_as_tight_as_the_noise():
    for mechanism in (Tree(11), Buffered(11), LaplaceTree(11, 3)):
        plan = HedgeOnSums(Experts(n=3, horizon=12), eta=0.1, mechanism=mechanism, privacy=0.8)
        stream = [np.zeros(3)] * 12
        result = replay_noise(plan, stream, [np.ones(3), *stream[1:]], generator(4))
        assert result.identical
        assert result.loss == pytest.approx(0.8, rel=1e-9)
        assert result.loss <= certified_loss(plan)
        same = replay_noise(plan, stream, stream, generator(4))
        assert same.identical
        assert same.loss == 0.0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_on_vectors(delta):
    plan = NoisyMirrorDescent.calibrate(Tracking(n=3, horizon=6, switches=1), epsilon=1.0, delta=delta)
    finding = attacks.replayed(instances(plan, "replayed noise")[0], generator(5), pairs=12)
    assert not finding.violation
    assert finding.tightness > 0.999


def test_losses_of_replayed_choices_are_exact():
    """The mean of e^{-loss} over transcripts is 1, and the bound on delta stays under the certificate."""
    plan = LazyExperts(Experts(n=3, horizon=20), eta=0.2, force=0.2)
    stream = [np.array([0.0, 1.0, 1.0])] * 20
    neighbour = [np.array([1.0, 0.0, 0.0]), *stream[1:]]
    source = generator(6)
    replays = [replay_choices(plan, stream, neighbour, source) for _ in range(300)]
    assert all(replay.identical for replay in replays)
    losses = [replay.log_ratio for replay in replays]
    ratios = np.exp(-np.array(losses))
    assert abs(ratios.mean() - 1) < 6 * ratios.std() / np.sqrt(len(ratios))
    assert 0 < loss_lower_bound(losses, 0.0, 1e-3) <= plan.guarantee.delta(0.0)
    assert max(map(abs, losses)) <= plan.guarantee.epsilon(0.0)
    assert loss_lower_bound([1.0], 0.0, 1e-3) == 0.0


def test_a_learner_that_leaks_beside_its_mechanisms_is_seen(monkeypatch):
    from tacit.learners.experts.lazy_experts import LazyExpertsLearner

    honest = LazyExpertsLearner._absorb

    def leaky(self, losses):
        honest(self, losses)
        if losses.sum() > 2:
            self._action = 0

    monkeypatch.setattr(LazyExpertsLearner, "_absorb", leaky)
    plan = LazyExperts(Experts(n=3, horizon=6), eta=0.2, force=0.2)
    stream = [np.zeros(3)] * 6
    results = [replay_choices(plan, stream, [np.ones(3), *stream[1:]], generator(seed)) for seed in range(8)]
    assert any(not result.identical for result in results)
