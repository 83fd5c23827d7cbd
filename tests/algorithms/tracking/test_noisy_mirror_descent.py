import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.algorithms.tracking import NoisyMirrorDescent
from tacit.algorithms.tracking.noisy_batches import BatchNoise, clip_to_floor, log_sequences
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import unit_noise
from tacit.problems import Tracking
from tacit.simulation.comparators import best_switching_sequence


def tracking(n=5, horizon=2000, switches=1, adversary="oblivious"):
    return Tracking(n=n, horizon=horizon, switches=switches, adversary=adversary)


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
    printed = NoisyMirrorDescent.as_printed(tracking(3, 6, 2), epsilon=0.5, delta=0.0)
    assert printed.printed_status == "refuted"
    assert "log ratio 0.61" in " ".join(printed.printed.evidence)
    with pytest.raises(PrivacyError, match="for simulations"):
        printed.start()
    with pytest.raises(InvalidInput, match="as_printed"):
        NoisyMirrorDescent.calibrate(tracking(), epsilon=0.5, delta=0.0, noise="printed")
    with pytest.raises(InvalidInput, match="as_printed"):
        NoisyMirrorDescent(tracking(), eta=0.1, scale=2.0, noise="printed")


def test_noise_scales():
    for noise, width in (("cube", 1.0), ("laplace", 5.0)):
        pure = NoisyMirrorDescent.calibrate(tracking(), epsilon=0.5, delta=0.0, noise=noise)
        assert pure.scale == pytest.approx(width / 0.5)
        assert pure.guarantee.epsilon() == pytest.approx(0.5)
        assert pure.guarantee.epsilon() <= 0.5
        half = NoisyMirrorDescent.calibrate(
            tracking(), epsilon=0.5, delta=0.0, relation="zero-out", rounds_per_person=3, noise=noise
        )
        assert half.scale == pytest.approx(3 * width / 2 / 0.5)
        chosen = NoisyMirrorDescent.calibrate(tracking(), epsilon=1.0, delta=1e-6, noise=noise)
        assert chosen.guarantee.epsilon() <= 1.0
        assert chosen.guarantee.at_delta == 0.0
    gaussian = NoisyMirrorDescent.calibrate(tracking(), epsilon=1.0, delta=1e-6, noise="gaussian", batch=2)
    assert gaussian.scale == pytest.approx(math.sqrt(5) / 0.23670, rel=1e-4)
    assert gaussian.guarantee.epsilon() <= 1.0
    many = NoisyMirrorDescent.calibrate(
        tracking(), epsilon=1.0, delta=1e-6, rounds_per_person=4, noise="gaussian", batch=2
    )
    assert many.scale == pytest.approx(math.sqrt(8) * gaussian.scale), "two batches of two rounds each"
    assert many.guarantee.epsilon() <= 1.0


@pytest.mark.parametrize(
    ("n", "switches", "rounds", "oblivious", "adaptive", "gaussian"),
    [
        (5, 2, 100_000, 4_111, 6_473, 9_861),
        (10, 3, 20_000, 2_772, 4_367, 6_015),
        (10, 3, 100_000, 6_637, 10_484, 14_436),
        (12, 3, 200_000, 10_504, 16_615, 22_188),
        (10, 0, 100_000, 1_760, 2_838, 4_042),
    ],
)
def test_certified_regret(n, switches, rounds, oblivious, adaptive, gaussian):
    fixed, hostile = (tracking(n, rounds, switches, adversary) for adversary in ("oblivious", "adaptive"))
    plans = [
        NoisyMirrorDescent.calibrate(fixed, epsilon=1.0, delta=0.0),
        NoisyMirrorDescent.calibrate(hostile, epsilon=1.0, delta=0.0),
        NoisyMirrorDescent.calibrate(hostile, epsilon=1.0, delta=1e-6, noise="gaussian"),
    ]
    assert [float(plan.regret_bound) for plan in plans] == pytest.approx([oblivious, adaptive, gaussian], rel=2e-3)
    assert plans[1].certified_against == ("stochastic", "oblivious", "adaptive")
    assert "adaptive" not in plans[0].certified_against
    # A pure plan meets every delta, and few experts leave cube noise ahead.
    assert NoisyMirrorDescent.calibrate(hostile, epsilon=1.0, delta=1e-6) == plans[1]
    single = NoisyMirrorDescent.calibrate(fixed, epsilon=1.0, delta=0.0, batch=1)
    assert float(single.regret_bound) > float(plans[0].regret_bound)


def test_many_experts_take_gaussian_noise():
    problem = tracking(100, 1_000_000, 5, "adaptive")
    assert NoisyMirrorDescent.calibrate(problem, epsilon=1.0, delta=1e-6).noise == "gaussian"
    assert float(NoisyMirrorDescent.calibrate(tracking(100, 10**6, 5), epsilon=1.0, delta=0.0).regret_bound) < 88_100


def test_sequences_are_counted():
    for n, rounds in ((2, 6), (3, 5)):
        switches = [sum(a != b for a, b in pairwise(s)) for s in product(range(n), repeat=rounds)]
        for most in range(rounds + 1):
            counted = sum(k <= most for k in switches)
            assert log_sequences(n, rounds, most) == pytest.approx(math.log(counted), rel=1e-9)
    exact = log_sequences(5, 10**6, 4000)
    assert exact <= log_sequences(5, 10**6, 4200) < 1.1 * exact, "the bound beyond what is counted"
    assert log_sequences(2, 10**5, 10**5 - 1) == pytest.approx(10**5 * math.log(2))
    assert log_sequences(1, 10, 3) == 0.0


@pytest.mark.parametrize("kind", ["cube", "laplace", "gaussian"])
def test_the_largest_sum_of_noises_is_bounded(kind):
    """A thousand runs of twelve noises of four experts: the mean of the best constant sequence."""
    noise = BatchNoise(kind, 2.0, 4)
    drawn = unit_noise(kind, Randomness.replayable(1).stream("noise"), 4)(1000 * 12 * 4).reshape(1000, 12, 4)
    best = 2.0 * drawn.sum(axis=1).max(axis=1)
    assert best.mean() + 5 * best.std() / math.sqrt(1000) < noise.largest_sum(12, math.log(4))
    assert (2.0 * drawn).var() == pytest.approx(noise.variance, rel=0.1)


@pytest.mark.parametrize("kind", ["cube", "laplace", "gaussian"])
def test_the_largest_sum_of_many_noises_is_nearly_attained(kind):
    """The best of 2,000 sums of twelve noises: a bound that is smaller by a third would not hold."""
    drawn = unit_noise(kind, Randomness.replayable(2).stream("noise"), 4)(50 * 12 * 2000).reshape(50, 12, 2000)
    best = float(2.0 * drawn.sum(axis=1).max(axis=1).mean())
    assert 0.75 < best / BatchNoise(kind, 2.0, 4).largest_sum(12, math.log(2000)) < 1


@pytest.mark.parametrize("numerics", ["exact", "float"])
@pytest.mark.parametrize(("noise", "variance"), [("laplace", 18.0), ("gaussian", 9.0), ("cube", 9 * 14)])
def test_noise_is_drawn_at_its_scale(noise, variance, numerics):
    """Within 5%, at 200,000 coordinates; nine tenths of the scale would be off by 19%."""
    plan = NoisyMirrorDescent(tracking(), eta=0.1, scale=3.0, noise=noise, numerics=numerics)
    drawn = plan.start(Randomness.replayable(1))._hidden.release(np.zeros((40_000, 5)))
    assert np.mean(drawn**2) == pytest.approx(variance, rel=0.05)


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
    monkeypatch.setattr(learner._hidden, "add", lambda rows: rows)
    losses = Randomness.replayable(2).stream("losses").random((50, 3))
    learner.run(losses[:49])
    expected = np.full(3, 1 / 3)
    for row in losses[:49]:
        expected = clip_to_floor(expected * np.exp(-0.4 * row), plan.floor, plan.floor * np.arange(3))
    np.testing.assert_allclose(learner._weights, expected, rtol=1e-12)


def test_batches_are_used_at_their_end_and_the_last_one_never(monkeypatch):
    plan = NoisyMirrorDescent(tracking(3, 50, 2), eta=0.4, scale=1.0, batch=12)
    assert plan.used == 48
    assert plan.floor == pytest.approx(2 / 15)
    learner = plan.start(Randomness.replayable(1))
    released = []
    monkeypatch.setattr(learner._hidden, "release", lambda sums: released.append(sums) or 0.0 * sums)
    losses = Randomness.replayable(2).stream("losses").random((50, 3))
    for rounds, row in enumerate(losses, 1):
        learner.play()
        learner.observe(row)
        assert len(released) == min(rounds, 48) // 12
    whole = NoisyMirrorDescent(tracking(3, 48, 2), eta=0.4, scale=1.0, batch=12)
    assert whole.used == 36, "a last full batch changes nothing either"


def test_draws_are_fresh_every_round_of_a_batch():
    """One batch for the whole run: the weights stay uniform, and a held draw would never switch."""
    plan = NoisyMirrorDescent(tracking(4, 1000, 1), eta=0.4, scale=1.0, batch=1000)
    learner = plan.start(Randomness.replayable(1))
    actions = learner.run(np.zeros((1000, 4)))
    assert 650 < learner.switches < 850
    assert learner.switches == np.count_nonzero(np.diff(actions)), "behind the last round nothing is drawn"


@pytest.mark.parametrize("reads", [False, True])
def test_adaptive_adversaries_stay_under_the_bound(reads):
    """They penalise the expert that was played last or, if they read noise, the one with the largest weight."""
    rounds = 2500
    plan = NoisyMirrorDescent.calibrate(tracking(3, rounds, 1, "adaptive"), epsilon=8.0, delta=0.0)
    assert not plan.vacuous
    regrets = []
    for seed in range(2):
        learner, last, rows, played = plan.start(Randomness.replayable(seed)), 0, [], []
        for _ in range(rounds):
            rows.append(np.eye(3)[int(np.argmax(learner._weights)) if reads else last])
            last = learner.play()
            played.append(last)
            learner.observe(rows[-1])
        losses = np.array(rows)
        regrets.append(losses[np.arange(rounds), played].sum() - best_switching_sequence(losses, 1)[0])
    assert 0 < np.mean(regrets) < float(plan.regret_bound)


def test_nothing_is_certified_where_laplace_has_no_moment():
    none = NoisyMirrorDescent(tracking(), eta=0.5, scale=2.0, noise="laplace")
    assert float(none.regret_bound) == float("inf")
    assert BatchNoise("laplace", 2.0, 5).cost(0.5) == float("inf")
    assert BatchNoise("cube", 2.0, 5).cost(0.5) < float("inf")


def test_no_other_noise_is_planned():
    with pytest.raises(InvalidInput, match="noise"):
        NoisyMirrorDescent.calibrate(tracking(), epsilon=1.0, delta=1e-6, noise="none")
