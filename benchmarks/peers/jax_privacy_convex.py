"""Regret over a ball at equal (epsilon, delta): FTRL on jax-privacy's noise and on a binary tree, beside tacit.

Every FTRL projects -eta times the noisy running sum of gradients onto the unit ball. One replaced round moves its
gradient by at most 2 G in l2: the contract of tacit's `PrivateFTRL`. Learning rates: "with noise" minimises tacit's own
bound at the peer's deviations (linear losses: R^2/(2 eta) + eta/2 (G^2 T + d sigma_T^2); others: the bound for adaptive
adversaries); "plain" is R/(G sqrt(T)), the rate without privacy.
"""

from math import sqrt
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import tacit
from benchmarks.peers.jax_privacy_experts import DELTA, EPSILONS, last_regret
from benchmarks.peers.jax_privacy_noise import BinaryTree, JaxBuffered
from tacit.accounting.calibration import gaussian_mu
from tacit.algorithms.convex.ctrl.certificate import chi_mean
from tacit.simulation.comparators import best_fixed_point

DIMENSION, ROUNDS, RUNS = 5, 10_000, 10
DOMAIN = tacit.domains.Ball(DIMENSION)
WORLDS = {
    "linear losses with turning signs": tacit.environments.SignFlips(DIMENSION, ROUNDS),
    "logistic losses": tacit.environments.LogisticStream(DIMENSION, ROUNDS),
}


def regrets() -> dict[str, float]:
    """Mean regret and its standard error over the same runs of the same streams."""
    results: dict[str, float] = {}
    for title, world in WORLDS.items():
        problem = tacit.Convex(domain=DOMAIN, loss=world.loss, horizon=ROUNDS)
        found = {**of_tacit(problem, world), **of_peers(problem, world)}
        for (epsilon, name), values in found.items():
            key = f"regret on {title} d={DIMENSION} T={ROUNDS}, epsilon={epsilon:g}, {name}"
            results[key] = float(np.mean(values))
            results[f"{key}, standard error"] = float(np.std(values, ddof=1) / sqrt(RUNS))
        print(f"    {title}: done", flush=True)
    return results


def of_tacit(problem: tacit.Convex, world: Any) -> dict[tuple[float, str], list[float]]:
    """The regret of every run of tacit's learners."""
    found = {}
    with Parallel(n_jobs=2) as pool:
        for epsilon in EPSILONS:
            for algorithm in (tacit.algorithms.PrivateFTRL, tacit.algorithms.CTRL):
                plan = algorithm.calibrate(problem, epsilon=epsilon, delta=DELTA)
                found[epsilon, f"tacit {plan.algorithm}"] = pool(
                    delayed(last_regret)(plan, world, run) for run in range(RUNS)
                )
    return found


def of_peers(problem: tacit.Convex, world: Any) -> dict[tuple[float, str], list[float]]:
    """The regret of every run of FTRL on the peers' sums, on the streams that tacit's runs had."""
    found: dict[tuple[float, str], list[float]] = {}
    mechanisms = (JaxBuffered(ROUNDS), BinaryTree(ROUNDS))
    for run in range(RUNS):
        data = world.data(tacit.Randomness.replayable(0).child(f"environment {run}").stream("feedback"))
        rows = world.loss.pack(data, DIMENSION, many=True)
        best = best_fixed_point(world.loss, data, DOMAIN).loss
        learners = {}
        for sums in mechanisms:
            unit = sums.noise(DIMENSION, 1.0, run)
            for epsilon in EPSILONS:
                mu = gaussian_mu(epsilon, DELTA) / (2 * problem.lipschitz)
                for rule, eta in rates(problem, sums.deviations(mu)).items():
                    learners[epsilon, f"FTRL on {sums.label}, {rule}"] = eta, unit / mu
        etas, noises = zip(*learners.values(), strict=True)
        points = follow(world.loss, rows, np.stack(noises, axis=1), np.array(etas))
        for number, key in enumerate(learners):
            paid = np.sum(world.loss.values(points[:, number], rows))
            found.setdefault(key, []).append(float(paid - best))
    return found


def follow(loss: tacit.losses.loss.RowLoss, rows: np.ndarray, noise: np.ndarray, etas: np.ndarray) -> np.ndarray:
    """The points of several learners side by side, each on its own noise: shape (rounds, learners, dimension)."""
    points = np.zeros((len(rows) + 1, *noise.shape[1:]))
    totals = np.zeros(noise.shape[1:])
    for t in range(len(rows)):
        totals += loss.gradients(points[t], rows[t : t + 1])
        point = -etas[:, None] * (totals + noise[t])
        points[t + 1] = point / np.maximum(1.0, np.sqrt(np.sum(point**2, axis=1)))[:, None]
    return points[:-1]


def rates(problem: tacit.Convex, deviations: np.ndarray) -> dict[str, float]:
    g, radius = problem.lipschitz, DOMAIN.radius
    if problem.loss.family == "linear":
        variation = g**2 * ROUNDS + DIMENSION * deviations.max() ** 2
    else:
        variation = g**2 * ROUNDS + 2 * g * chi_mean(DIMENSION) * deviations.sum()
    return {"learning rate with noise": radius / sqrt(variation), "plain learning rate": radius / (g * sqrt(ROUNDS))}
