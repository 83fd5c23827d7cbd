"""Explore first, then one noisy linear model: integers, privacy, certified numbers, contract, regret."""

from dataclasses import replace
from itertools import product
from typing import ClassVar

import mpmath as mp
import numpy as np
import pytest

from attacks import rows
from runtime.contract import LearnerContract, pytest_generate_tests
from tacit import InvalidInput, PrivacyError, Randomness
from tacit.algorithms.contextual import ExploreLinear
from tacit.algorithms.contextual.explore_linear.certificate import phases
from tacit.auditing.moved_sums import moved_sums
from tacit.environments.contextual import SHAPES, LinearContexts
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.sampler_bounds import WIDE_SIGMA
from tacit.problems import ContextualArms
from tacit.releases import Neighbours
from tacit.runtime.small_instances import SmallInstance
from tacit.simulation.loop import simulate

__all__ = ["pytest_generate_tests"]

ROUNDS, ARMS, DIMENSION = 40, 3, 4


def plan(explore=10, ridge=2.0, mu=1.0, rounds=ROUNDS, relation="replace", **problem):
    made = ContextualArms(n=ARMS, dimension=DIMENSION, horizon=rounds, **problem)
    count = len(tuple(phases(explore, rounds, made.delay)))
    return ExploreLinear(made, mu, explore, (ridge,) * count, relation=relation)


def stream(rounds=ROUNDS, seed=3):
    rng = np.random.default_rng(seed)
    features, losses = rng.normal(size=(rounds, DIMENSION)) * 0.7, rng.random((rounds, ARMS))
    features[::7] = np.eye(DIMENSION)[rng.integers(DIMENSION, size=len(features[::7]))]
    losses[::5] = np.round(losses[::5])
    return features, losses


def alike(part):
    return np.tile(np.array(part, dtype=float)[:, None], ARMS)


class TestContract(LearnerContract):
    """The whole contract of learners, with features in each round."""

    cases: ClassVar = {
        name: lambda made=made: (plan(**made), list(stream()[1][:, 0]), alike, list(stream()[0]))
        for name, made in (
            ("private", {}),
            ("public", {"features": "public", "loss_range": (-1.0, 3.0)}),
            ("late", {"delay": 3, "relation": "zero-out"}),
        )
    }


def test_what_lowers_and_raises_the_certificate():
    problem = ContextualArms(n=6, dimension=10, horizon=10**5)

    def certified(relation="replace", **changed):
        made = ExploreLinear.calibrate(replace(problem, **changed), epsilon=1.0, delta=1e-6, relation=relation)
        return float(made.regret_bound) / 10**5

    usual = certified()
    assert certified("zero-out") < usual
    assert certified(features="public") < usual
    assert certified(missing=0.3) > usual
    assert certified(loss_range=(0.0, 2.0)) == pytest.approx(2 * usual)
    assert 4 * 0.01 < certified(misspecification=0.01) - usual < 8 * 0.01


def reference(made):
    """Theorem 2 for p = 1 without a floor, in 40 digits, from the page; the ridges are the plan's."""
    problem, m, lattice = made.problem, made.explore, made.lattice
    with mp.workdps(40):
        K, d, R, gap = problem.n, problem.dimension, mp.mpf(problem.radius), mp.mpf(problem.largest_gap)
        sigma_b, sigma_G, later = map(mp.mpf, (lattice.cross_noise, lattice.gram_noise, lattice.later_noise))
        xi = R * mp.sqrt(d) / lattice.units + mp.mpf(1) / (4 * lattice.units)
        total = m * gap * (K - 1) / K
        for j, (phase, ridge) in enumerate(zip(made.phases, made.ridges, strict=True)):
            L, n = mp.mpf(ridge), phase.known
            nu = mp.mpf(m) / n * mp.sqrt(sigma_G**2 + j * later**2) * (mp.sqrt(2 * d) + 4)
            U, fac, v, s = L + 2 * nu, (1 + 1 / L) ** 2 / m, mp.mpf(K) / 4, mp.mpf(m + 1) / (m + 1 + L * d)
            b = R * mp.sqrt(fac * U * min(mp.mpf(K) / 2, 4 * d * min(mp.mpf(1) / 4, s)))
            ways = []
            for q, e in (
                (K**2 * sigma_b**2 / L, (K - 1) / mp.sqrt(K)),
                (max(K**2 * sigma_b**2, v * U) / L, mp.sqrt(2 * mp.log(K)) + mp.log(K) * mp.sqrt(K / L) / 3),
            ):
                psi = v if q <= 2 * v else q**2 / (4 * (q - v))
                ways.append(e * mp.sqrt(fac * d * min(psi, max(v, q) * s)))
            crooked = xi * (2 + mp.sqrt(2 * K) * (1 + 1 / L) * (1 + 1 / (1 + L)))
            cost = min(gap, min(ways) + b + crooked) + 2 * mp.exp(-8) * gap * (not lattice.public)
            total += (phase.last - phase.first) * cost
        return total


@pytest.mark.parametrize("features", ["private", "public"])
@pytest.mark.parametrize(("n", "dimension", "rounds"), [(2, 1, 10**4), (6, 10, 10**5), (20, 30, 10**7)])
def test_the_certificate_is_rounded_up(features, n, dimension, rounds):
    problem = ContextualArms(n=n, dimension=dimension, horizon=rounds, features=features)
    made = ExploreLinear.calibrate(problem, epsilon=1.0, delta=1e-6)
    exact = reference(made)
    assert exact < made.certificate.regret_of_rounds(made.explore, made.ridges) < exact * mp.mpf("1.001")


@pytest.mark.parametrize("n", [2, 3, 6])
def test_what_theorem_three_subtracts_is_enough(n):
    """At random gaps, variances and biases what a round costs is covered by l1 V + l2 beta^2 and what is left."""
    made = ExploreLinear.calibrate(ContextualArms(n=n, dimension=4, horizon=10**5), epsilon=1.0, delta=1e-6)
    rng, joint, tightest = np.random.default_rng(5), made.certificate.joint(made.explore, made.ridges), 0.0
    for _ in range(400):
        near, theta = joint.gap * rng.uniform(0.2, 1.0), rng.uniform(0.05, 0.6)
        l1, l2 = joint.multipliers(np.exp(rng.normal(1.2, 0.5)), np.exp(rng.normal(0.0, 0.5)))
        left = joint.left(near, theta, l1, l2)
        gaps = rng.choice([0.0, near * 0.999999, near, joint.gap], n - 1)
        close, total = gaps < near, joint.explored / n * gaps.sum()
        k, far = int(close.sum()), gaps[~close]
        for j, rounds in enumerate(joint.rounds):
            c = float(np.sum(2 * far / (far - theta * near) ** 2))
            betas = np.array([0.0, theta * near, theta * near * 1.000001, 1 / (2 * l2[j])])
            small = betas <= theta * near
            # Both suprema over V are of e sqrt(V) - slope V: at sqrt(V) = e/(2 slope).
            usual = (k > 0) * betas + joint.widths[k][j] ** 2 / (4 * max(l1[j] - c, 1e-12))
            biased = betas + joint.widths[-1][j] ** 2 / (4 * l1[j])
            total += rounds * float(np.max(np.where(small, usual, biased) - l2[j] * betas**2))
        if np.isfinite(left):
            assert total <= left * (1 + 1e-9)
            tightest = max(tightest, total / left)
    assert tightest > 0.9


def silenced(monkeypatch):
    monkeypatch.setattr(DiscreteGaussian, "draw_wide", lambda self, count: np.zeros(count, dtype=np.int64))


def test_without_noise_the_model_is_ridge_regression_on_contrasts(monkeypatch):
    silenced(monkeypatch)
    made = plan(explore=20)
    features, losses = stream()
    learner = made.start(Randomness.replayable(1))
    actions = learner.run(losses[:20], contexts=features[:20])
    short = features[:20] / np.maximum(1, np.linalg.norm(features[:20], axis=1, keepdims=True))
    centred = losses[np.arange(20), actions] - 0.5
    indicator = (actions[:, None] == np.arange(ARMS)) - 1 / ARMS
    nu = made.certificate.spectral(20, made.phases[0])
    matrix = short.T @ short + (2.0 + nu) * np.eye(DIMENSION)
    wanted = ARMS * np.linalg.solve(matrix, (indicator * centred[:, None]).T.dot(short).T).T
    np.testing.assert_allclose(
        learner._weights / np.abs(learner._weights).max(), wanted / np.abs(wanted).max(), atol=1e-5
    )
    score = short[7] @ wanted.T
    assert learner.play(features[7]) == np.argmin(score)


def test_a_refreshed_gram_matrix_knows_the_features_of_all_rounds(monkeypatch):
    silenced(monkeypatch)
    made = plan(explore=10)
    features, losses = stream()
    learner = made.start(Randomness.replayable(1))
    learner.run(losses[:20], contexts=features[:20])
    short = features[:20] / np.maximum(1, np.linalg.norm(features[:20], axis=1, keepdims=True))
    np.testing.assert_allclose(learner._gram, short.T @ short, atol=1e-4)
    assert learner._released == 2


def test_coins_are_fresh_and_uniform():
    """Loop and array draw the same coins; each action has its share, and pairs of rounds have theirs."""
    count = 3000
    made = plan(explore=count, rounds=count + 2)
    learner = made.start(Randomness.replayable(1))
    coins = learner.run(np.zeros((count, ARMS)), contexts=np.zeros((count, DIMENSION)))
    pairs = np.bincount(coins[:-1] * ARMS + coins[1:], minlength=ARMS**2)
    assert np.abs(pairs - count / ARMS**2).max() < 5.5 * np.sqrt(count / ARMS**2)


@pytest.mark.attack(rows.BILLBOARD)
@pytest.mark.parametrize("features", ["private", "public"])
@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_others_see_only_what_was_paid_for(features, relation, record_property):
    record_property("attacked", "ExploreLinear")
    problem = ContextualArms(n=2, dimension=2, horizon=6, features=features)
    small = ExploreLinear(problem, 0.5, 2, (1.0, 1.0), relation=relation, rounds_per_person=2)
    found = moved_sums(SmallInstance("enumeration", "small", small), np.random.default_rng(2), pairs=4)
    assert not found.violation
    assert 0.7 < found.tightness <= 1


def test_losses_of_greedy_rounds_are_never_read():
    features, losses = stream()
    changed = losses.copy()
    changed[10:] = 1 - changed[10:]
    one, other = plan().start(Randomness.replayable(1)), plan().start(Randomness.replayable(1))
    np.testing.assert_array_equal(one.run(losses, contexts=features), other.run(changed, contexts=features))
    assert one.state_dict() == other.state_dict()


@pytest.mark.attack(rows.LONG_FEATURES)
def test_features_that_are_not_finite_count_as_nothing(record_property):
    record_property("attacked", "ExploreLinear")
    features, losses = stream()
    for bad in (np.nan, np.inf, -np.inf):
        spoilt, blank = features.copy(), features.copy()
        spoilt[[3, 15], 1], blank[[3, 15]] = bad, 0.0
        learners = [plan().start(Randomness.replayable(1)) for _ in range(2)]
        one, other = (
            learner.run(losses, contexts=given) for learner, given in zip(learners, (spoilt, blank), strict=True)
        )
        np.testing.assert_array_equal(one, other)
    long = plan().start()
    long.play([1e300, 1e-300, -1e300, 0.0])
    assert int(long._opened[0][0] @ long._opened[0][0]) <= long._units**2


@pytest.mark.parametrize("entry", ["opened", "_features", "_losses"])
def test_a_state_with_larger_numbers_than_any_record_is_refused(entry):
    """One of -2^63 has a negative absolute value and a square of 0 in 64 bits: it moved a sum by 2^63 units."""
    learner = plan(delay=2).start()
    for row in stream()[0][:2]:
        learner.decide(row)
    for number in (-(2**63), 2**63 - 1, -(2**32)):
        state = learner.state()
        if entry == "opened":
            state.content[entry][0][0][:] = number
        else:
            state.content[entry][:] = number
        with pytest.raises(InvalidInput, match="state"):
            plan(delay=2).start().load(state)


def records(lattice, count=400):
    """Extreme and random records, as whole features and losses."""
    rng, units, d = np.random.default_rng(8), lattice.units, lattice.dimension
    axes = [sign * units * np.eye(d, dtype=np.int64)[k] for sign, k in product((1, -1), range(d))]
    turned = rng.normal(size=(count, d))
    turned = np.trunc(turned / np.linalg.norm(turned, axis=1, keepdims=True) * units * (1 - 1e-9)).astype(np.int64)
    vectors = [np.zeros(d, dtype=np.int64), *axes, *turned, *(turned[:20] // 2)]
    # The worst pair of Lemma 1: an angle of cosine 1/2 between two records of opposite losses.
    worst = np.zeros(d, dtype=np.int64)
    worst[:2] = units // 2, int(units * 0.8660254)
    return [*vectors, worst], (-units, 0, units)


def contribution(lattice, features, loss, action):
    """What one record adds to the first release, by the shipped release without noise."""
    sums = np.zeros((lattice.actions, lattice.dimension), dtype=np.int64)
    sums[action] = features * loss
    factors = np.array(lattice.contrast_factors, dtype=object)[:, None]
    cross = (factors * (lattice.contrasts.astype(object) @ sums.astype(object))).ravel()
    row, column = np.triu_indices(lattice.dimension)
    scale = np.where(row == column, lattice.scale, int((2 * lattice.scale**2) ** 0.5)).astype(object)
    gram = scale * (features[row].astype(object) * features[column].astype(object))
    return np.concatenate([gram, cross]).astype(float)


@pytest.mark.parametrize("n", [2, 3, 20])
@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_sensitivity_in_integers(n, relation):
    problem = ContextualArms(n=n, dimension=3, horizon=1000)
    made = ExploreLinear.calibrate(problem, epsilon=1.0, delta=1e-6, relation=relation)
    lattice, rng = made.lattice, np.random.default_rng(4)
    vectors, losses = records(lattice, 100)
    allowed, largest = lattice.products(1).mu(Neighbours(made.relation)) * WIDE_SIGMA, 0.0
    first = lattice.units * np.eye(3, dtype=np.int64)[0]
    for features in vectors:
        for loss, action in product(losses, {0, n - 1}):
            one = contribution(lattice, first, lattice.units, action)
            for other in (
                contribution(lattice, features, loss, action),
                contribution(lattice, features, loss, int(rng.integers(n))),
                np.zeros_like(one),
            ):
                if relation == "replace" or not other.any():
                    largest = max(largest, float(np.linalg.norm(one - other)))
    assert 0.999 * allowed < largest <= allowed


def test_a_plan_refuses_what_it_cannot_keep():
    problem = ContextualArms(n=3, dimension=4, horizon=1000)
    for bad, named in (
        ({"n": 1}, "'n'"),
        ({"dimension": 0}, "'dimension'"),
        ({"radius": 0.0}, "'radius'"),
        ({"features": "secret"}, "'features'"),
        ({"missing": 1.0}, "'missing'"),
        ({"horizon": None}, "'horizon'"),
        ({"adversary": "oblivious"}, "'adversary'"),
        ({"misspecification": -1.0}, "'misspecification'"),
    ):
        with pytest.raises(InvalidInput, match=named):
            replace(problem, **bad)
    with pytest.raises(PrivacyError, match="delta > 0"):
        ExploreLinear.calibrate(problem, epsilon=1.0, delta=0.0)
    with pytest.raises(PrivacyError, match="max_switches"):
        ExploreLinear.calibrate(problem, epsilon=1.0, delta=1e-6, max_switches=5)
    with pytest.raises(PrivacyError, match="no lattice"):
        ExploreLinear.calibrate(problem, epsilon=1e-4, delta=1e-9, rounds_per_person=10**7)
    with pytest.raises(PrivacyError, match="more rounds than the delay"):
        ExploreLinear.calibrate(replace(problem, horizon=5, delay=4), epsilon=1.0, delta=1e-6)
    with pytest.raises(PrivacyError, match="up to 1000 actions"):
        ExploreLinear.calibrate(replace(problem, n=1001), epsilon=1.0, delta=1e-6)
    for wrong in ((2.0,), (2.0, 0.0), [2.0, 2.0]):
        with pytest.raises(InvalidInput, match="'ridges'"):
            ExploreLinear(replace(problem, horizon=40), 1.0, 10, wrong)
    with pytest.raises(InvalidInput, match="'explore'"):
        ExploreLinear(replace(problem, horizon=40), 1.0, 40, ())


@pytest.mark.parametrize("shape", SHAPES)
def test_measured_regret_stays_below_the_certificate(shape):
    """Every single run, not only the mean."""
    problem = ContextualArms(n=4, dimension=5, horizon=20_000)
    made = ExploreLinear.calibrate(problem, epsilon=2.0, delta=1e-6)
    found = simulate(made, LinearContexts(4, 20_000, 5, shape), runs=2, seed=23)
    assert not made.vacuous
    assert found.regret[:, -1].max() < float(made.regret_bound)
    blind = LinearContexts(4, 20_000, 5, shape).in_context(np.random.default_rng(1)).means
    assert found.per_round < float(np.mean(blind) - np.mean(blind.min(axis=1)))
