"""Lower bounds from runs: they cover what they say, and are tight where noise is Gaussian."""

import numpy as np
import pytest

from tacit import Randomness
from tacit.auditing import statistics
from tacit.noise.running_sums import Buffered, Tree


def generator(seed=0):
    return Randomness.replayable(seed).stream("tests")


@pytest.mark.parametrize("mechanism", [Tree(13), Buffered(13)], ids=str)
def test_sampled_sums_are_tight_in_mu(mechanism):
    bound = statistics.sums_bound(mechanism, mechanism.scale(1.0), generator(1), runs=300_000)
    assert 0.95 <= bound.mu <= 1.0
    assert bound.failure <= 1e-6
    weak = statistics.sums_bound(mechanism, 0.8 * mechanism.scale(1.0), generator(1), runs=50_000)
    assert weak.mu > 1.0


def test_confidence_bounds_cover():
    """Exactly: the probability that a bound misses is at most what it says, for every true rate."""
    from scipy.stats import binom

    for rate in (0.0, 0.02, 0.3, 0.97, 1.0):
        hits = np.arange(51)
        law = binom.pmf(hits, 50, rate)
        low = np.array([statistics.lower_rate(int(k), 50, 0.01) for k in hits])
        high = np.array([statistics.upper_rate(int(k), 50, 0.01) for k in hits])
        assert law[low > rate].sum() <= 0.01
        assert law[high < rate].sum() <= 0.01


def test_rates_and_scores():
    bound = statistics.rates_bound(900, 1000, 100, 1000, 0.0, 1e-3)
    assert 1.5 < bound.epsilon < np.log(9)
    assert 2.0 < bound.mu < 2.6
    nothing = statistics.rates_bound(500, 1000, 500, 1000, 0.0)
    assert nothing.epsilon == nothing.mu == 0.0
    normal = generator(2).standard_normal((2, 40_000, 3))
    one, other = normal[0] + np.array([0.6, 0.0, 0.8]), normal[1]
    assert 0.8 < statistics.scores_bound(*statistics.classifier_scores(one, other), 1e-6).mu < 1.0


def test_one_run_guesses():
    assert statistics.one_run_epsilon(50, 100, 100, 0.0) == 0.0
    assert statistics.one_run_epsilon(0, 0, 100, 0.0) == 0.0
    assert 0.7 < statistics.one_run_epsilon(90, 100, 1000, 1e-12) < np.log(9)
    assert statistics.one_run_epsilon(90, 100, 1000, 1e-6) < statistics.one_run_epsilon(90, 100, 1000, 1e-12)
    assert statistics.one_run_epsilon(2000, 2000, 2000, 0.0, most=1.0) == float("inf")


def test_one_run_statements_hold_for_randomised_response():
    """The worst epsilon-DP learner answers each coin truthfully with probability e^eps/(1+e^eps)."""
    epsilon, m = 1.0, 200
    right = generator(3).binomial(m, 1 / (1 + np.exp(-epsilon)), size=2000)
    refuted = [statistics.one_run_epsilon(int(v), m, m, 0.0, failure=0.01) > epsilon for v in right]
    assert np.mean(refuted) <= 0.01 + 4 * np.sqrt(0.01 / 2000)
    assert max(statistics.one_run_epsilon(int(v), m, m, 0.0, failure=0.01) for v in right) > 0.7
