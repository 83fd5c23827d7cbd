"""Regret over experts at equal (epsilon, delta): Hedge on jax-privacy's noise and on a binary tree, beside tacit.

Every Hedge is exponential weights on the noisy running sums of losses - 1/2. One replaced round moves its vector by at
most sqrt(N) in l2, and the noise is that of the exact Gaussian curve at (epsilon, delta): the contract of tacit's
`HedgeOnSums`. Learning rates: "with noise" minimises ln N/eta + eta (T/8 + sigma^2/2), tacit's own bound, at the
peer's largest deviation sigma; "plain" is sqrt(8 ln N/T), the rate of Hedge without privacy.
"""

from collections.abc import Iterator
from math import log, sqrt
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import tacit
from benchmarks.peers.jax_privacy_noise import BinaryTree, JaxBuffered
from tacit.accounting.calibration import gaussian_mu
from tacit.data import digits_models
from tacit.simulation.loop import simulate_run

EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-6
SIZES = ((10, 10_000), (100, 10_000), (10, 100_000), (100, 100_000))


def runs(world: Any) -> range:
    """How many runs are averaged: long ones vary less, and take longer."""
    return range(10 if world.horizon > 10_000 else 40)


def streams() -> Iterator[tuple[str, Any]]:
    for n, rounds in SIZES:
        yield (
            f"regret on coins with a gap of 0.1 N={n} T={rounds}",
            tacit.environments.BernoulliGap(n=n, horizon=rounds),
        )
    losses = digits_models()[1]
    yield f"regret on digit classifiers N={losses.shape[1]} T={len(losses)}", tacit.environments.Replay(losses)


def regrets() -> dict[str, float]:
    """Mean regret and its standard error over the same runs of the same streams."""
    results: dict[str, float] = {}
    for title, world in streams():
        found = {**of_tacit(world), **of_peers(world)}
        for (epsilon, name), values in found.items():
            key = f"{title}, epsilon={epsilon:g}, {name}"
            results[key] = float(np.mean(values))
            results[f"{key}, standard error"] = float(np.std(values, ddof=1) / sqrt(len(values)))
        print(f"    {title}: done", flush=True)
    return results


def of_tacit(world: Any) -> dict[tuple[float, str], list[float]]:
    """The regret of every run of tacit's learners; the planner's choice is one of its catalogue."""
    found = {}
    problem = tacit.Experts(n=world.n, horizon=world.horizon)
    with Parallel(n_jobs=2) as pool:
        for epsilon in EPSILONS:
            chosen = tacit.plan(problem, epsilon=epsilon, delta=DELTA).plan
            plans = {
                "tacit LazyExperts": tacit.algorithms.LazyExperts.calibrate(problem, epsilon=epsilon, delta=DELTA),
                "tacit HedgeOnSums": tacit.algorithms.HedgeOnSums.calibrate(problem, epsilon=epsilon, delta=DELTA),
                "what tacit.plan chooses": chosen,
            }
            for name, plan in plans.items():
                same = next((mine for mine, other in plans.items() if plan is chosen and other == plan), name)
                found[epsilon, name] = found.get((epsilon, same)) or pool(
                    delayed(last_regret)(plan, world, run) for run in runs(world)
                )
    return found


def last_regret(plan: tacit.Plan, world: Any, run: int) -> float:
    return float(simulate_run(plan, world, 0, run).regret[-1])


def of_peers(world: Any) -> dict[tuple[float, str], list[float]]:
    """The regret of every run of Hedge on the peers' sums, on the streams that tacit's runs had."""
    found: dict[tuple[float, str], list[float]] = {}
    steps, n = world.horizon, world.n
    mechanisms = (JaxBuffered(steps), BinaryTree(steps))
    for run in runs(world):
        losses = world.losses(tacit.Randomness.replayable(0).child(f"environment {run}").stream("feedback"))
        exact = np.cumsum(losses - 0.5, axis=0)
        gumbel = -np.log(np.random.default_rng(run).standard_exponential(losses.shape))
        best = np.min(np.sum(losses, axis=0))
        for sums in mechanisms:
            unit = sums.noise(n, 1.0, run)
            for epsilon in EPSILONS:
                mu = gaussian_mu(epsilon, DELTA) / sqrt(n)
                noisy = exact + unit / mu
                for rule, eta in rates(n, world.horizon, sums.deviations(mu).max()).items():
                    scores = gumbel.copy()
                    scores[1:] -= eta * noisy[:-1]
                    actions = np.argmax(scores, axis=1)
                    paid = losses[np.arange(len(losses)), actions].sum()
                    name = f"Hedge on {sums.label}, {rule}"
                    found.setdefault((epsilon, name), []).append(float(paid - best))
    return found


def rates(n: int, rounds: int, deviation: float) -> dict[str, float]:
    return {
        "learning rate with noise": sqrt(log(n) / (rounds / 8 + deviation**2 / 2)),
        "plain learning rate": sqrt(8 * log(n) / rounds),
    }
