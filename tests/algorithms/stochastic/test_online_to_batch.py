"""The private conversion: structure, sensitivity, clipping, contract and excess risk."""

from functools import cache, partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from tacit.accounting.guarantee import EXACT, ZERO_OUT
from tacit.algorithms.stochastic import OnlineToBatch, Optimistic, Subgradient
from tacit.algorithms.stochastic.online_to_batch import online_to_batch
from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import LEARNERS, ClippedDifferences
from tacit.auditing import attacks
from tacit.auditing.tapes import moved_draws
from tacit.domains import Ball, KSubsets, L1Ball
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import ConvexFamily, CustomLoss, LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA
from tacit.problems import Stochastic
from tacit.runtime.state import same_plan

D = 5
DOMAIN = Ball(D, radius=1.5)
TARGET = np.array([1.0, -0.6, 0.3, 0.0, 0.2])


def records(count, seed):
    stream = Randomness.replayable(seed).stream("records")
    X = stream.standard_normal((count, D))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, np.where(stream.random(count) < expit(6 * X @ TARGET), 1.0, -1.0)


def problem(horizon=60, loss=None, domain=DOMAIN):
    return Stochastic(domain=domain, loss=loss or LogisticLoss(), horizon=horizon)


def calibrated(horizon=60, **options):
    loss, domain = options.pop("loss", None), options.pop("domain", DOMAIN)
    return OnlineToBatch.calibrate(problem(horizon, loss, domain), **{"epsilon": 1.0, "delta": 1e-6, **options})


@pytest.mark.parametrize("power", [0, 1, 3])
def test_without_noise_it_is_the_anytime_conversion(power):
    plan = calibrated(30, power=power, learner="subgradient", numerics="float")
    learner = plan.start(Randomness.replayable(0))
    learner._sums._noise = np.zeros
    X, y = records(30, 1)
    learner.run((X, y))
    inner, total, x, g = Subgradient(DOMAIN), 0.0, np.zeros(D), np.zeros(D)

    def gradient(point, t):
        return -y[t] * expit(-y[t] * X[t] @ point) * X[t]

    previous = x
    for t in range(30):
        beta, before = (t + 1.0) ** power, t**power if t else 0.0
        total += beta
        x = x + beta / total * (inner.play() - x)
        g = g + beta * gradient(x, t) - before * gradient(previous, t)
        previous = x
        inner.observe(g)
    beta = 31.0**power
    x = x + beta / (total + beta) * (inner.play() - x)
    assert learner.model == pytest.approx(x, abs=1e-12)


def test_noise_has_the_scale_of_its_own_step():
    plan = calibrated(8, mechanism="tree", numerics="float")
    learner = plan.start(Randomness.replayable(0))
    learner._sums._noise = np.ones
    seen = []
    learner._inner.observe = seen.append
    flat = CustomLoss(lambda x, z: 0.0, lambda x, z: np.zeros(D), lipschitz=1.0)
    learner._differences = ClippedDifferences(flat, D, plan.norm)
    for _ in range(8):
        learner.play()
        learner.observe(None)
    # The learner never moves, so C_t = G, and the noise of sum t is the number of its nodes: popcount(t).
    nodes = [bin(t).count("1") for t in range(1, 9)]
    assert [g[0] for g in seen] == pytest.approx(plan.unit_scale * plan.lipschitz * np.array(nodes))


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("p", [2.0, 1.3])
def test_sensitivity_over_random_neighbours(power, p):
    """Losses that break every declared constant: at most 2 C, and nearly 2 C."""
    norm, stream = Norm(p), Randomness.replayable(6).stream("x")
    wild = CustomLoss(lambda x, z: 0.0, lambda x, z: z * (1 + 50 * np.sin(9 * x @ z)), lipschitz=1e6)
    differences = ClippedDifferences(wild, D, norm)
    x, previous = 0.3 * stream.standard_normal((2, D))
    t, lipschitz, smoothness = 5, 1.0, 0.25
    weight, before = float(t**power), float((t - 1) ** power)
    clip = (weight - before) * lipschitz + before * smoothness * norm.size(x - previous)
    changed = 5 * stream.standard_normal((2_000, D))
    changed[1::2][:200] = -changed[::2][:200]  # some opposite pairs: the worst neighbours
    sums = np.array([differences.total([z], x, previous, weight, before, clip) for z in changed])
    assert np.all(norm.dual_sizes(sums) <= clip * (1 + 1e-12))
    moves = norm.dual_sizes(sums[::2] - sums[1::2])
    assert moves.max() <= 2 * clip * (1 + 1e-12)
    assert moves.max() >= 0.95 * 2 * clip


def test_an_honest_loss_is_not_clipped_and_attains_its_constants():
    loss, norm = LogisticLoss(), Norm()
    stream = Randomness.replayable(7).stream("x")
    constants = loss.constants(DOMAIN)
    worst = 0.0
    for t in (1, 2, 20):
        x, previous = (DOMAIN.project(3 * stream.standard_normal(D)) for _ in range(2))
        weight, before = float(t), float(t - 1)
        clip = constants.lipschitz + before * constants.smoothness * norm.size(x - previous)
        X, y = records(500, t)
        X[0], y[0] = -x / np.linalg.norm(x), 1.0  # the most wrong margin
        rows, pairs = loss.pack((X, y), D, many=True), list(zip(X, y, strict=True))
        raw = np.array([weight * loss.gradient(x, (v, s)) - before * loss.gradient(previous, (v, s)) for v, s in pairs])
        assert np.all(norm.dual_sizes(raw) <= clip * (1 + 1e-12))
        total = ClippedDifferences(loss, D, norm).total(rows, x, previous, weight, before, clip)
        assert total == pytest.approx(np.sum(raw, axis=0))
        worst = max(worst, norm.dual_sizes(raw).max() / clip if t == 1 else 0.0)
    assert worst > 0.95


def test_batches_and_relations_divide_the_noise():
    one = calibrated(60).unit_scale
    assert calibrated(60, relation=ZERO_OUT).unit_scale == pytest.approx(one / 2)
    # All of a person's rounds may be in one batch.
    assert calibrated(60, rounds_per_person=3).unit_scale == pytest.approx(one * 3)
    batched = calibrated(60, batch=7)
    assert batched.mechanism.steps == 9
    assert batched.unit_scale == pytest.approx(batched.mechanism.scale(batched.privacy, 2 / 7))
    sparse = calibrated(60, learner="mirror-descent", domain=L1Ball(D))
    assert sparse.norm == Norm.for_sparse(D)
    assert sparse.unit_scale == pytest.approx(one * D ** (0.5 - 1 / sparse.norm.dual))


def test_the_contract():
    plan = calibrated(60)
    assert plan.guarantee.epsilon() <= 1.0 * (1 + 1e-9)
    assert plan.guarantee.delta(1.0) <= 1e-6
    pure = calibrated(60, delta=0.0)
    assert pure.guarantee.epsilon(0.0) == 1.0
    assert pure.guarantee.numerics == EXACT
    # Two-sided geometric noise for the l1 norm sqrt(d); in float64, noise with the density of the norm itself.
    assert pure.unit_scale == pytest.approx(2 * np.sqrt(D) * pure.mechanism.column_norm, rel=1e-6)
    simulated = calibrated(60, delta=0.0, numerics="float")
    assert simulated.unit_scale == pytest.approx(2 * pure.mechanism.column_norm)
    assert "not private" in plan.start(Randomness.replayable(0)).guarantee.randomness
    assert "excess" not in plan.regret_bound.formula


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_trains(name):
    domain = L1Ball(D, radius=1.5) if name == "mirror-descent" else DOMAIN
    loss = QuadraticLoss() if name == "strongly-convex" else LogisticLoss()
    plan = calibrated(400, learner=name, domain=domain, loss=loss, epsilon=50.0)
    learner = plan.start(Randomness.replayable(8))
    X, y = records(400, 9)
    learner.run(X if name == "strongly-convex" else (X, y))
    assert domain.contains(learner.model, 1e-8)
    finite = name != "coin-betting"
    assert np.isfinite(float(plan.regret_bound)) == finite
    assert plan.vacuous or finite


def test_the_certified_learner_has_the_smallest_bound():
    chosen = calibrated(5_000)
    for name in ("subgradient", "optimistic"):
        assert float(chosen.regret_bound) <= float(calibrated(5_000, learner=name).regret_bound)
    assert calibrated(50, domain=L1Ball(D)).guarantee.epsilon() <= 1.0 * (1 + 1e-9)
    with pytest.raises(ValueError, match="read-only"):
        chosen.start(Randomness.replayable(0)).play()[0] = 1.0


def test_any_object_with_play_and_observe_works():
    class Still:
        def play(self):
            return np.full(D, 0.1)

        def observe(self, gradient):
            self.last = gradient

    plan = calibrated(20, learner=Still())
    learner = plan.start(Randomness.replayable(0))
    learner.run(records(20, 1))
    assert learner.model == pytest.approx(np.full(D, 0.1))
    assert float(plan.regret_bound) == float("inf")


def risk(model, X, y):
    return float(np.mean(np.logaddexp(0, -y * (X @ model))))


@cache
def population():
    """Many fresh records, and the best model on them."""
    X, y = records(30_000, 99)
    w = np.zeros(D)
    for _ in range(300):
        w = DOMAIN.project(w + 4 * ((y * expit(-y * (X @ w))) @ X) / len(y))
    return X, y, w


def excess(horizon, seeds, learner="subgradient", **options):
    X, y, best = population()
    plan = calibrated(horizon, learner=learner, **options)
    losses = []
    for seed in range(seeds):
        run = plan.start(Randomness.replayable(seed))
        run.run(records(horizon, 1000 + seed))
        losses.append(risk(run.model, X, y) - risk(best, X, y))
    return float(np.mean(losses)), float(plan.regret_bound)


@pytest.mark.parametrize("learner", ["subgradient", "optimistic"])
def test_excess_risk_is_below_the_certified_bound(learner):
    measured, bound = excess(5_000, 4, learner, batch=10)
    assert 0 < measured < bound
    assert measured < 0.02  # the start point has about 0.13


def used():
    learner = Optimistic(DOMAIN)
    learner.observe(np.ones(D))
    return learner


FAMILY = ConvexFamily(lipschitz=1.0, smoothness=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": CustomLoss(lambda x, z: 0.0, lambda x, z: z, lipschitz=1.0)}, "smoothness"),
        ({"learner": "newton"}, "learner"),
        ({"learner": 3}, "play"),
        ({"learner": used()}, "fresh"),
        ({"mechanism": "matrix"}, "mechanism"),
        ({"batch": -1}, "batch"),
        ({"learner": "mirror-descent"}, "L1Ball"),
        ({"domain": KSubsets(D, 2), "lipschitz": 1.0, "smoothness": 1.0}, "projection"),
        ({"learner": "strongly-convex"}, "strong_convexity"),
        ({"max_switches": 3}, "switches"),
        ({"loss": FAMILY}, "family"),
    ],
)
def test_bad_arguments_raise(options, message):
    with pytest.raises((InvalidInput, PrivacyError), match=message):
        calibrated(20, **options).start()
    assert np.isfinite(float(calibrated(20, loss=FAMILY).regret_bound))  # a family has a certificate and no gradients


def test_bad_records_raise_and_change_nothing():
    plan = calibrated(20)
    learner = plan.start(Randomness.replayable(0))
    X, y = records(20, 1)
    learner.play()
    for bad in (([1.0, 2.0], 1.0), (np.full(D, np.nan), 1.0), 3.0):
        with pytest.raises(InvalidInput):
            learner.observe(bad)
    assert learner.rounds == 0
    worse = X.copy()
    worse[7, 0] = np.inf
    with pytest.raises(InvalidInput):
        learner.run((worse, y))
    assert learner.rounds == 0
    broken = CustomLoss(lambda x, z: 0.0, lambda x, z: np.asarray(z), lipschitz=1.0)
    other = calibrated(20, loss=broken, smoothness=1.0).start(Randomness.replayable(0))
    other.play()
    with pytest.raises(InvalidInput, match="must be 5 numbers"):
        other.observe(np.array([1.0, 0.0]))
    assert other.rounds == 0
    other.observe(np.array([1.0, np.nan, 0.0, 0.0, 0.0]))  # counts as 0: a record is not refused for its gradient
    assert other.rounds == 1


def test_records_on_a_lattice_move_the_draws_by_what_was_paid_for():
    """Every record alone becomes integers of at most K; neighbours' draws differ by at most mu sigma'."""
    plan = calibrated(40, batch=4, norm=Norm(1.5))
    assert plan.guarantee.numerics.startswith("exact up to an extra epsilon of ")
    assert plan.guarantee.epsilon(1e-6) <= 1.0
    grid, steps = plan.grid, plan.mechanism.steps
    growth = np.maximum.accumulate(np.random.default_rng(2).random(steps) + 0.1)
    vectors = np.random.default_rng(3).standard_normal((steps, 4, D)) * 9 * growth[:, None, None]  # too long
    quantised = [plan.records.each(rows, grid.units, s) for rows, s in zip(vectors, growth, strict=True)]
    assert all((rows**2).sum(axis=1).max() <= grid.units**2 for rows in quantised)
    sums = np.array([rows.sum(axis=0) for rows in quantised])
    draws = grid.noise(Randomness.replayable(1), "noise").draw(sums.size).astype(float).reshape(sums.shape)
    for step in (0, 5):
        other = sums.copy()
        other[step] -= 2 * quantised[step][1]
        moved = moved_draws(plan.mechanism, grid, (sums, other), draws, growth)[1]
        assert 0.3 * plan.privacy < moved / GAUSSIAN_SIGMA <= plan.privacy


@pytest.mark.parametrize("options", [{"mechanism": "tree"}, {"delta": 0.0}], ids=str)
def test_records_of_a_tree_grow_through_whole_multiples(options):
    plan = calibrated(40, batch=4, power=2.0, **options)
    assert plan.guarantee.numerics.startswith("exact up to" if plan.mechanism.noise == "gaussian" else EXACT)
    assert plan.grid.multiple == pytest.approx(plan.lipschitz / 1000)
    learner = plan.start(Randomness.replayable(1))
    X, y = records(40, 2)
    sizes = []
    for start in range(0, 40, 4):
        learner.run((X[start : start + 4], y[start : start + 4]))
        sizes.append(learner._sensitivity)
    counts = np.array(sizes) / plan.grid.multiple
    assert np.abs(counts - np.rint(counts)).max() < 1e-6
    assert counts[0] == pytest.approx(1000)
    assert sizes == sorted(sizes)
    assert sizes[-1] > 2 * sizes[0]
    finding = attacks.lattice(plan, Randomness.replayable(4).stream("pairs"), pairs=8)
    assert not finding.violation
    assert finding.tightness > 0.5


def test_states_of_0_2_are_read():
    """Version 0.2 had one parameter more, which hardly anybody set."""
    plan = calibrated(8)
    before = plan.signature.replace("'relation'", "'scheduled': False, 'relation'").replace(
        ", adversary='stochastic'", ""
    )
    assert same_plan(before, plan.signature)


def test_blocks_of_records_add_up_to_the_same_integers(monkeypatch):
    plan = calibrated(30, batch=30)
    rows = plan.problem.loss.pack(records(30, 3), D, many=True)
    for loss in (LogisticLoss(), CustomLoss(lambda x, z: 0.0, lambda x, z: z[:D], lipschitz=1.0)):
        totals = []
        for size in (1 << 18, 3 * D, 1):
            monkeypatch.setattr(online_to_batch, "BLOCK_ENTRIES", size)
            differences = ClippedDifferences(loss, D, plan.norm)
            each = partial(plan.records.each, units=plan.grid.units, stretch=0.5)
            totals.append(differences.total(rows, np.full(D, 0.1), np.zeros(D), 2.0, 1.0, 0.4, each))
        np.testing.assert_array_equal(totals[0], totals[1])
        np.testing.assert_array_equal(totals[0], totals[2])
        np.testing.assert_array_equal(totals[0], np.rint(totals[0]))
        assert totals[0].any()


def test_coin_betting_learns():
    """With the fraction of Krichevsky and Trofimov the name stood for a learner that hardly moved."""
    X, y = records(20_000, 5)
    learner = calibrated(20_000, learner="coin-betting", domain=Ball(D, radius=8.0), epsilon=3.0).start(
        Randomness.replayable(1)
    )
    learner.run((X, y))
    nothing, best = risk(np.zeros(D), X, y), risk(minimize(risk, np.zeros(D), (X, y)).x, X, y)
    assert risk(learner.model, X, y) - best < 0.2 * (nothing - best)
