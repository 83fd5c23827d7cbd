"""Measured regret against certified regret in random environments. Run: `python benchmarks/certificates.py`.

Every algorithm of arms, contexts and policies, at four sizes with 50 seeded random environments each. Mean regret minus
two standard errors, over the certificate, must be at most 1 in each of them; beside it the largest mean over its
certificate. An environment whose mean comes close has fresh runs, twenty times as many. Regret is what the certificate
bounds: against the smallest mean where losses are stochastic, against the best arm or policy in hindsight where they
are fixed in advance, against the best action of each round with features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any

import numpy as np

import tacit
from tacit.environments.contextual import SHAPES, LinearContexts
from tacit.noise.randomness import Randomness
from tacit.planning.catalogue import CATALOGUE
from tacit.runtime.plan import Plan

ENVIRONMENTS, RUNS = 50, 6  # of each size; runs of each environment
AGAIN = 20  # times as many runs where the mean of the first ones comes close to the certificate
CLOSE = 0.8
SEED = 41_000
ARMS = ((2, 300, 1.0, 0), (5, 600, 0.3, 0), (10, 1000, 3.0, 0), (4, 800, 1.0, 20))
"""Arms, rounds, epsilon, delay."""
CONTEXTS = ((2, 2, 3000, 1.0, {}), (3, 4, 5000, 2.0, {}), (5, 3, 4000, 3.0, {"features": "public"}),
            (3, 2, 4000, 1.0, {"delay": 50, "missing": 0.3}))  # fmt: skip
"""Actions, features, rounds, epsilon, and other attributes of the problem."""
POLICIES = ((5, 3, 500, 1.0), (20, 4, 800, 1.0), (50, 2, 600, 3.0), (8, 6, 1000, 0.5))
"""Policies, actions, rounds, epsilon."""

Environment = Callable[[int], float]
"""The regret of one run in it."""


def measure() -> dict[str, float]:
    """The largest shares of a certificate, for each algorithm."""
    results = {}
    for kind in (tacit.Arms, tacit.ContextualArms, tacit.Policies):
        for algorithm in CATALOGUE[kind]:
            found = shares(algorithm)
            name = f"{algorithm.__name__}, {len(found)} environments"
            results[f"{name}, largest mean minus two standard errors / certificate"] = float(found[:, 1].max())
            results[f"{name}, largest mean / certificate"] = float(found[:, 0].max())
    return results


def shares(algorithm: type[Plan], environments: int = ENVIRONMENTS) -> np.ndarray:
    """Mean regret, and mean regret minus two standard errors, over the certificate, in each environment."""
    found = []
    for plan, made in problems(algorithm):
        certified = float(plan.regret_bound)
        for number in range(environments):
            play = made(plan, number)
            regret = np.array([play(run) for run in range(RUNS)])
            if regret.mean() > CLOSE * certified:
                regret = np.array([play(run) for run in range(RUNS, AGAIN * RUNS)])
            error = float(regret.std(ddof=1)) / sqrt(len(regret))
            found.append((regret.mean() / certified, (regret.mean() - 2 * error) / certified))
    return np.array(found)


def problems(algorithm: type[Plan]) -> Iterator[tuple[Plan, Callable[[Any, int], Environment]]]:
    """The plans of all sizes, each with the function that makes its environments."""
    name = algorithm.__name__
    if algorithm in CATALOGUE[tacit.Arms]:
        adversary = "oblivious" if name == "BatchedTsallis" else "stochastic"
        for n, rounds, epsilon, delay in ARMS:
            problem = tacit.Arms(n=n, horizon=rounds, delay=delay, adversary=adversary)
            made = fixed_arms if adversary == "oblivious" else stochastic_arms
            yield algorithm.calibrate(problem, epsilon=epsilon, delta=0.0), made
    elif algorithm in CATALOGUE[tacit.ContextualArms]:
        for n, dimension, rounds, epsilon, options in CONTEXTS:
            features = tacit.ContextualArms(n=n, dimension=dimension, horizon=rounds, **options)
            yield algorithm.calibrate(features, epsilon=epsilon, delta=1e-6), linear
    else:
        for n, actions, rounds, epsilon in POLICIES:
            advice = tacit.Policies(n=n, actions=actions, horizon=rounds)
            yield algorithm.calibrate(advice, epsilon=epsilon, delta=0.0), fixed_policies


def drawn(number: int, run: int = -1) -> np.random.Generator:
    return np.random.default_rng([SEED, number, run + 1])


def secret(number: int, run: int) -> Randomness:
    return Randomness.replayable(SEED + 1000 * number + run)


def stochastic_arms(plan: Plan, number: int) -> Environment:
    """One mean an arm: anywhere, close together, rarely good, or one better than the rest; coins, or losses between."""
    generator, n = drawn(number), plan.problem.n
    means = {
        0: generator.random(n),
        1: np.clip(0.5 + generator.exponential(0.1) * generator.standard_normal(n), 0, 1),
        2: 1 - 0.1 * generator.random(n),
        3: np.append(generator.random(), np.ones(n - 1) * generator.uniform(0.5, 1)),
    }[number % 4]
    coins = bool(generator.random() < 0.7)

    def play(run: int) -> float:
        uniform = drawn(number, run).random((plan.horizon, n))
        losses = uniform < means if coins else means + (2 * uniform - 1) * np.minimum(means, 1 - means)
        arms = plan.run(losses.astype(float), secret(number, run))
        return float(np.sum(means[arms] - means.min()))

    return play


def segments(generator: np.random.Generator, rounds: int, columns: int) -> np.ndarray:
    """Coins whose means change now and then, fixed in advance."""
    ends = np.sort(generator.integers(rounds, size=int(generator.integers(8))))
    means = generator.random((len(ends) + 1, columns)) ** generator.exponential(1)
    return (generator.random((rounds, columns)) < means[np.searchsorted(ends, np.arange(rounds), "right")]).astype(
        float
    )


def fixed_arms(plan: Plan, number: int) -> Environment:
    losses = segments(drawn(number), plan.rounds, plan.problem.n)

    def play(run: int) -> float:
        arms = plan.run(losses, secret(number, run))
        return float(losses[np.arange(len(arms)), arms].sum() - losses.sum(axis=0).min())

    return play


def fixed_policies(plan: Plan, number: int) -> Environment:
    """Losses that change now and then; each policy knows an action of small loss with a probability of its own."""
    generator, problem = drawn(number), plan.problem
    losses = segments(generator, plan.rounds, problem.actions)
    knows = generator.random((plan.rounds, problem.n)) < generator.random(problem.n)
    guesses = generator.integers(problem.actions, size=knows.shape)
    advice = np.where(knows, losses.argmin(axis=1)[:, None], guesses)
    best = np.take_along_axis(losses, advice, axis=1).sum(axis=0).min()

    def play(run: int) -> float:
        actions = plan.run(losses, secret(number, run), contexts=advice)
        return float(losses[np.arange(len(actions)), actions].sum() - best)

    return play


def linear(plan: Plan, number: int) -> Environment:
    """Expected losses that are linear in features of every shape, the attacks among them; parameters are drawn once."""
    generator, problem = drawn(number), plan.problem
    shape, gap = SHAPES[number % len(SHAPES)], float(generator.uniform(0.01, 0.2))
    radius = float(generator.uniform(0.1, problem.radius))
    world = LinearContexts(problem.n, plan.rounds, problem.dimension, shape, radius, gap)
    parameters = world._parameters(generator)

    def play(run: int) -> float:
        fresh = drawn(number, run)
        features = world._features(fresh)
        means = 0.5 + features @ parameters.T
        losses = (fresh.random(means.shape) < means).astype(float)
        losses[fresh.random(len(losses)) < problem.missing] = np.nan
        actions = plan.run(losses, secret(number, run), contexts=features)
        return float(np.sum(means[np.arange(len(actions)), actions] - means.min(axis=1)))

    return play


if __name__ == "__main__":
    for key, value in measure().items():
        print(f"{key}: {value:.3f}")
