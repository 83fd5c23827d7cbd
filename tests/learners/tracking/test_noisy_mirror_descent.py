import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.environments.tracking import ShiftingBernoulli
from tacit.errors import InvalidInput, PrivacyError
from tacit.learners.tracking import NoisyMirrorDescent
from tacit.learners.tracking.noisy_mirror_descent import clip_to_floor
from tacit.problems import Tracking
from tacit.randomness import Randomness
from tacit.simulation.comparators import best_switching_sequence


def tracking(n=5, horizon=2000, switches=1):
    return Tracking(n=n, horizon=horizon, switches=switches)


def printed_log_ratio(samples):
    """ln P[J_2..J_6 = 0] between losses (0,1,1) and (1,0,0) in round 1, for the printed Algorithm 3.

    The probability of the experts is the mean over the noise of a product of weights; the same noise serves
    both sides. Returns the estimate and its standard error.
    """
    n, rounds, switches, epsilon = 3, 6, 2, 0.5
    eta = epsilon * math.sqrt(switches / (rounds * math.log(n * rounds)))  # Theorem 5.2
    floor = switches / (n * rounds)
    noise = Randomness.replayable(1).stream("noise").laplace(0.0, 1 / epsilon, (rounds - 1, samples, n))
    products = []
    for first in ([0.0, 1.0, 1.0], [1.0, 0.0, 0.0]):
        weights, product = np.full((samples, n), 1 / n), np.ones(samples)
        for t in range(rounds - 1):
            values = weights * np.exp(-eta * ((first if t == 0 else 0.0) + noise[t]))
            ordered = np.sort(values, axis=1)
            scales = (1 - floor * np.arange(n)) / np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
            k = np.argmax(scales * ordered >= floor, axis=1)
            weights = np.maximum(values * scales[np.arange(samples), k][:, None], floor)
            product *= weights[:, 0]
        products.append(product)
    ratio = math.log(products[0].mean() / products[1].mean())
    error = np.std(products[0] / products[0].mean() - products[1] / products[1].mean()) / math.sqrt(samples)
    return ratio, float(error)


def test_the_printed_noise_exceeds_its_epsilon_and_is_refused():
    ratio, error = printed_log_ratio(200_000)
    assert ratio == pytest.approx(0.607, abs=max(0.002, 5 * error))
    assert ratio - 6 * error > 0.5  # the promised epsilon
    with pytest.raises(PrivacyError, match=r"N=3, T=6, S=2 and epsilon=0\.5 .* 0\.607"):
        NoisyMirrorDescent.calibrate(tracking(), epsilon=0.5, delta=0.0, noise="printed")
    with pytest.raises(PrivacyError, match="not epsilon-private"):
        NoisyMirrorDescent(tracking(), eta=0.1, scale=2.0, noise="printed")


def test_noise_scales():
    pure = NoisyMirrorDescent.calibrate(tracking(), epsilon=0.5, delta=0.0)
    assert pure.noise == "laplace"
    assert pure.scale == pytest.approx(5 / 0.5)
    assert pure.guarantee.epsilon() == pytest.approx(0.5)
    assert pure.guarantee.epsilon() <= 0.5
    gaussian = NoisyMirrorDescent.calibrate(tracking(), epsilon=1.0, delta=1e-6)
    assert gaussian.scale == pytest.approx(math.sqrt(5) / 0.23670, rel=1e-4)
    assert gaussian.guarantee.epsilon() <= 1.0
    half = NoisyMirrorDescent.calibrate(tracking(), epsilon=0.5, delta=0.0, relation="zero-out", rounds_per_person=3)
    assert half.scale == pytest.approx(3 * 2.5 / 0.5)
    many = NoisyMirrorDescent.calibrate(tracking(), epsilon=1.0, delta=1e-6, rounds_per_person=4)
    assert many.scale == pytest.approx(2 * gaussian.scale)
    chosen = NoisyMirrorDescent.calibrate(tracking(), epsilon=1.0, delta=1e-6, noise="laplace")
    assert chosen.guarantee.epsilon() <= 1.0
    assert chosen.guarantee.at_delta == 0.0


@pytest.mark.parametrize("numerics", ["exact", "float"])
def test_noise_is_drawn_at_its_scale(numerics):
    plan = NoisyMirrorDescent(tracking(), eta=0.1, scale=3.0, noise="laplace", numerics=numerics)
    drawn = plan.start(Randomness.replayable(1))._hidden.release(np.full((40_000, 5), 0.5))
    # E|Lap(b)| = b with standard deviation b: 6 standard errors.
    assert abs(np.abs(drawn).mean() - 3.0) < 6 * 3.0 / math.sqrt(200_000)
    assert abs(0.8 * np.abs(drawn).mean() - 3.0) > 6 * 3.0 / math.sqrt(200_000)
    plan = NoisyMirrorDescent(tracking(), eta=0.1, scale=3.0, noise="gaussian", numerics=numerics)
    drawn = plan.start(Randomness.replayable(1))._hidden.release(np.full((40_000, 5), 0.5))
    assert abs((drawn**2).mean() - 9.0) < 6 * 9.0 * math.sqrt(2 / 200_000)


def test_projection_is_the_divergence_minimiser():
    generator = Randomness.replayable(3).stream("points")
    for _ in range(20):
        n = int(generator.integers(2, 6))
        floor = 0.3 / n
        values = generator.random(n) ** 4 + 1e-6
        found = clip_to_floor(values, floor, floor * np.arange(n))
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert (found >= floor).all()

        def divergence(w, values=values):
            return float(np.sum(w * np.log(w / values)))

        solved = minimize(
            divergence,
            np.full(n, 1 / n),
            bounds=[(floor, 1.0)] * n,
            constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1}],
            method="SLSQP",
        )
        assert divergence(found) <= divergence(solved.x) + 1e-6


def test_without_noise_it_is_fixed_share_like_mirror_descent(monkeypatch):
    plan = NoisyMirrorDescent(tracking(3, 50, 2), eta=0.4, scale=1.0)
    learner = plan.start(Randomness.replayable(1))
    monkeypatch.setattr(learner._hidden, "release", lambda rows: rows)
    losses = Randomness.replayable(2).stream("losses").random((50, 3))
    learner.run(losses[:49])
    expected = np.full(3, 1 / 3)
    for row in losses[:49]:
        expected = clip_to_floor(expected * np.exp(-0.4 * row), plan.floor, plan.floor * np.arange(3))
    np.testing.assert_allclose(learner._weights, expected, rtol=1e-12)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_run_equals_play_and_observe_bit_for_bit(noise):
    losses = Randomness.replayable(5).stream("losses").random((2000, 7))
    plan = NoisyMirrorDescent(tracking(7, 2000, 3), eta=0.1, scale=1.5, noise=noise)
    whole, loop = plan.start(Randomness.replayable(2)), plan.start(Randomness.replayable(2))
    actions = np.concatenate([whole.run(losses[:777]), whole.run(losses[777:])])
    for row, action in zip(losses, actions, strict=True):
        assert loop.play() == action
        loop.observe(row)
    np.testing.assert_array_equal(whole._weights, loop._weights)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_measured_regret_is_under_the_bound(delta):
    rounds = 5000
    plan = NoisyMirrorDescent.calibrate(tracking(3, rounds, 1), epsilon=4.0, delta=delta)
    assert not plan.vacuous
    environment = ShiftingBernoulli(n=3, horizon=rounds, changes=(2500,), gap=0.4)
    regrets = []
    for seed in range(10):
        losses = environment.losses(Randomness.replayable(seed).stream("losses"))
        actions = plan.start(Randomness.replayable(seed)).run(losses)
        regrets.append(losses[np.arange(rounds), actions].sum() - best_switching_sequence(losses, 1)[0])
    assert 0 < np.mean(regrets) < float(plan.regret_bound)


def test_bound_is_infinite_where_laplace_has_no_moment():
    assert float(NoisyMirrorDescent(tracking(), eta=0.5, scale=2.0).regret_bound) == float("inf")
    assert "adaptive" not in NoisyMirrorDescent(tracking(), eta=0.1, scale=2.0).certified_against


def test_one_expert_and_arguments():
    plan = NoisyMirrorDescent.calibrate(tracking(1, 10, 0), epsilon=1.0, delta=0.0)
    assert plan.guarantee.epsilon() == 0.0
    assert float(plan.regret_bound) == 0.0
    assert not plan.start(Randomness.replayable(1)).run(np.zeros((10, 1))).any()
    for bad in ({"eta": 0.0}, {"scale": float("inf")}, {"noise": "cauchy"}, {"rounds_per_person": 0}):
        with pytest.raises(InvalidInput, match=next(iter(bad))):
            NoisyMirrorDescent(tracking(), **{"eta": 0.1, "scale": 1.0, **bad})
    with pytest.raises(PrivacyError, match="max_switches=2"):
        NoisyMirrorDescent.calibrate(tracking(), epsilon=1.0, delta=1e-6, max_switches=2)
    with pytest.raises(InvalidInput, match="noise"):
        NoisyMirrorDescent.calibrate(tracking(), epsilon=1.0, delta=1e-6, noise="none")
