"""No certificate is exceeded: 200 seeded random environments for every algorithm, those of arms and contexts apart."""

from functools import cache

import numpy as np
import pytest

from tacit import Bandit, Convex, Experts, Lipschitz, Tracking, simulate
from tacit.algorithms import LimitedUpdates
from tacit.domains import Ball
from tacit.environments import Replay
from tacit.environments.convex import DriftingQuadratic, LogisticStream, SignFlips
from tacit.environments.named import named_environment
from tacit.errors import PrivacyError
from tacit.planning.catalogue import CATALOGUE

ENVIRONMENTS = 200
TARGETS = (0.3, 1e-6), (1.0, 1e-6), (1.0, 0.0), (5.0, 1e-4)


def random_losses(rng, rounds, n):
    """Losses of one of six kinds: coins, a perfect expert, shifts, drifts, turns, rare losses."""
    time, kind = np.arange(rounds)[:, None], rng.integers(6)
    if kind == 1:
        return (np.arange(n) != rng.integers(n)) * np.ones((rounds, 1))
    means = rng.beta(*rng.choice([0.5, 1.0, 3.0], 2), size=(1, n))
    if kind == 2:
        means = rng.random((5, n))[np.sort(rng.integers(0, 5, rounds))]
    elif kind == 3:
        means = 0.5 + 0.5 * np.sin(2 * np.pi * (time * rng.uniform(0.2, 4.0) / rounds + rng.random(n)))
    elif kind == 4:
        return ((time + np.arange(n)) % n < rng.integers(1, n)).astype(float)
    elif kind == 5:
        means = means / 20
    return (rng.random((rounds, n)) < means).astype(float)


def experts(rng):
    problem = [Experts(n=2, horizon=150), Experts(n=5, horizon=400), Experts(n=20, horizon=250)][rng.integers(3)]
    return problem, Replay(random_losses(rng, problem.horizon, problem.n))


def tracking(rng):
    problem = [Tracking(n=3, horizon=300, switches=2), Tracking(n=8, horizon=200, switches=5)][rng.integers(2)]
    return problem, Replay(random_losses(rng, problem.horizon, problem.n))


def independent(rng):
    """One distribution for all rounds: what `LimitedUpdates` is certified for."""
    n, rounds = [(3, 300), (8, 200)][rng.integers(2)]
    losses = rng.random((rounds, n)) < rng.beta(*rng.choice([0.5, 1.0, 3.0], 2), size=n)
    return Tracking(n=n, horizon=rounds, switches=0, adversary="stochastic"), Replay(losses.astype(float))


def convex(rng):
    dimension, rounds = [(2, 120), (5, 200)][rng.integers(2)]
    stream = [LogisticStream, DriftingQuadratic, SignFlips][rng.integers(3)](dimension, rounds)
    return Convex(domain=Ball(dimension), loss=stream.loss, horizon=rounds), stream


def bandit(rng):
    problem = Bandit(domain=Ball([2, 4][rng.integers(2)]), lipschitz=1.0, horizon=300, value_range=(0.0, 3.0))
    return problem, named_environment("moving", problem)


def lipschitz(rng):
    problem = Lipschitz(dimension=1, lipschitz=6.0, horizon=[150, 400][rng.integers(2)])
    return problem, named_environment("pricing", problem)


WORLDS = {Experts: experts, Tracking: tracking, Convex: convex, Bandit: bandit, Lipschitz: lipschitz}
ALGORITHMS = [(kind, algorithm) for kind in WORLDS for algorithm in CATALOGUE[kind]]


@cache
def calibrated(algorithm, problem, epsilon, delta):
    """The plan, or None where the algorithm does not apply."""
    try:
        return algorithm.calibrate(problem, epsilon=epsilon, delta=delta)
    except PrivacyError:
        return None


def least_mean(plan, environment, **options):
    """The mean regret less two of its standard errors."""
    found = simulate(plan, environment, progress=False, **options)
    return found.mean[-1] - 2 * found.standard_error[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "algorithm"), ALGORITHMS, ids=lambda value: value.__name__)
def test_no_certificate_is_exceeded(kind, algorithm):
    played = 0
    for seed in range(ENVIRONMENTS):
        rng = np.random.default_rng([37, seed])
        problem, environment = (independent if algorithm is LimitedUpdates else WORLDS[kind])(rng)
        plan = calibrated(algorithm, problem, *TARGETS[rng.integers(len(TARGETS))])
        if plan is None:
            continue
        assert np.isfinite(float(plan.regret_bound)), plan
        played += 1
        lowest = least_mean(plan, environment, runs=4, seed=seed)
        if lowest > float(plan.regret_bound):  # four runs say little: fresh ones say more
            lowest = least_mean(plan, environment, runs=200, seed=ENVIRONMENTS + seed)
        assert lowest <= float(plan.regret_bound), f"{plan}: {lowest} on {environment} of seed {seed}"
    assert played >= ENVIRONMENTS / 4
