"""Regret of linear contexts beside other ways to decide by features. Run: `python benchmarks/contexts.py`.

Six actions, ten features, 100,000 rounds, epsilon=1, delta=1e-6; regret a round in expected losses. "Greedy ridge" and
"LinUCB" are not private. "Shariff-Sheffet" is their private LinUCB (2018), one noisy tree for each action, with tacit's
Gaussian accounting, which is kinder to it than the printed constants; "width/20" divides its confidence widths by 20,
which no theorem covers. Its noise is numpy's: it is here to be compared, not to protect anyone.
"""

import time
from collections.abc import Iterator
from math import ceil, log, log2, sqrt

import numpy as np

from tacit.accounting.calibration import gaussian_mu
from tacit.algorithms import ExploreLinear
from tacit.environments import LinearContexts
from tacit.environments.environment import InContext
from tacit.noise.randomness import Randomness
from tacit.problems import ContextualArms

ACTIONS, DIMENSION, ROUNDS = 6, 10, 100_000
EPSILON, DELTA = 1.0, 1e-6
WORLDS = ("sphere", "one-hot", "skewed", "weak", "gap one")
SEEDS = 2
BATCH = 64  # rounds after which the peers' models are computed anew


def measure() -> dict[str, float]:
    """Regret a round in each world, the certificate, and the seconds of a run."""
    plan = planned()
    results = {"certified": float(plan.regret_bound) / ROUNDS}
    for shape in WORLDS:
        for name, found in compared(plan, shape):
            results[f"{shape}, {name}"] = found
    results["ExploreLinear, seconds"] = seconds(plan)
    return results


def planned() -> ExploreLinear:
    problem = ContextualArms(n=ACTIONS, dimension=DIMENSION, horizon=ROUNDS)
    plan = ExploreLinear.calibrate(problem, epsilon=EPSILON, delta=DELTA)
    assert isinstance(plan, ExploreLinear)
    return plan


def compared(plan: ExploreLinear, shape: str) -> Iterator[tuple[str, float]]:
    """The regret of every way in one world, on the same draws."""
    draws = [dealt(shape, seed) for seed in range(SEEDS)]
    ways = {
        "ExploreLinear": lambda drawn, seed: plan.run(
            drawn.losses, Randomness.replayable(seed), contexts=drawn.contexts
        ),
        "greedy ridge, no privacy": lambda drawn, seed: LinUCB(width=0.0).play(drawn, seed),
        "LinUCB, no privacy": lambda drawn, seed: LinUCB(width=0.5).play(drawn, seed),
        "Shariff-Sheffet": lambda drawn, seed: PrivateLinUCB().play(drawn, seed),
        "Shariff-Sheffet, width/20": lambda drawn, seed: PrivateLinUCB(1 / 20).play(drawn, seed),
    }
    for name, play in ways.items():
        yield name, float(np.mean([regret(drawn, play(drawn, seed)) for seed, drawn in enumerate(draws)]))
    yield "random", float(np.mean([np.mean(d.means - d.means.min(axis=1, keepdims=True)) for d in draws]))


def dealt(shape: str, seed: int) -> InContext:
    world = LinearContexts(ACTIONS, ROUNDS, DIMENSION, shape)
    return world.in_context(Randomness.replayable(100 + seed).stream("world"))


def regret(drawn: InContext, actions: np.ndarray) -> float:
    return float(np.mean(drawn.means[np.arange(len(actions)), actions] - drawn.means.min(axis=1)))


def seconds(plan: ExploreLinear) -> float:
    """The fastest of three runs, the environment left out."""
    drawn, taken = dealt("sphere", 0), []
    for seed in range(3):
        start = time.perf_counter()
        plan.run(drawn.losses, Randomness.replayable(seed), contexts=drawn.contexts)
        taken.append(time.perf_counter() - start)
    return min(taken)


class LinUCB:
    """One ridge regression for each action; the smallest mean minus `width` times its deviation (0: greedy)."""

    def __init__(self, width: float, ridge: float = 1.0) -> None:
        self.width, self.ridge = width, ridge

    def play(self, drawn: InContext, seed: int) -> np.ndarray:
        features, losses, _ = drawn
        rounds, d = features.shape
        n = losses.shape[1]
        self.start(n, d, rounds, seed)
        gram, cross = np.zeros((n, d, d)), np.zeros((n, d))
        actions = np.empty(rounds, dtype=np.int64)
        for first in range(0, rounds, BATCH):
            part = features[first : first + BATCH]
            inverse, centre, width = self.model(gram, cross, first)
            means = part @ np.einsum("aij,aj->ai", inverse, centre).T
            spread = np.sqrt(np.maximum(np.einsum("ti,aij,tj->ta", part, inverse, part), 0.0))
            chosen = np.argmin(means - width * spread, axis=1)
            if first == 0:
                chosen = np.arange(len(part)) % n
            actions[first : first + BATCH] = chosen
            centred = losses[np.arange(first, first + len(part)), chosen] - 0.5
            for action in range(n):
                mine = part[chosen == action]
                gram[action] += mine.T @ mine
                cross[action] += mine.T @ centred[chosen == action]
            self.added(gram, cross, first // BATCH)
        return actions

    def start(self, n: int, d: int, rounds: int, seed: int) -> None:
        """Nothing is drawn."""

    def added(self, gram: np.ndarray, cross: np.ndarray, batch: int) -> None:
        """Nothing is hidden."""

    def model(self, gram: np.ndarray, cross: np.ndarray, rounds: int) -> tuple[np.ndarray, np.ndarray, float]:
        return np.linalg.inv(gram + self.ridge * np.eye(gram.shape[1])), cross, self.width


class PrivateLinUCB(LinUCB):
    """Shariff and Sheffet's: Gram matrices and sums from binary trees, shifted by 2 upsilon; their widths."""

    def __init__(self, shrunk: float = 1.0) -> None:
        super().__init__(0.0)
        self.shrunk = shrunk

    def start(self, n: int, d: int, rounds: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        levels = ceil(log2(max(2, rounds))) + 1
        # A record stands in one node of each level; it moves (x x', 2 x y) by 3/sqrt(2), as in ExploreLinear.
        self.sigma = sqrt(levels) * 3 / sqrt(2) / gaussian_mu(EPSILON, DELTA)
        self.nodes: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.shape, self.failure = (n, d), 1 / rounds
        deviations = sqrt(2 * log(2 * n * levels / self.failure))
        self.upsilon = self.sigma * sqrt(levels) * (sqrt(2 * d) + deviations)
        self.gamma = self.sigma / 2 * sqrt(levels) * (sqrt(d) + deviations) / sqrt(self.upsilon)

    def added(self, gram: np.ndarray, cross: np.ndarray, batch: int) -> None:
        """Close the tree's nodes that end with this batch, each with noise of its own."""
        done, level = batch + 1, 0
        while done % 2 == 0:
            self.nodes.pop(level, None)
            done, level = done // 2, level + 1
        n, d = self.shape
        noise = self.rng.normal(size=(n, d, d)) * self.sigma
        self.nodes[level] = (noise + noise.transpose(0, 2, 1)) / 2, self.rng.normal(size=(n, d)) * self.sigma / 2

    def model(self, gram: np.ndarray, cross: np.ndarray, rounds: int) -> tuple[np.ndarray, np.ndarray, float]:
        d = gram.shape[1]
        noisy = (
            gram + sum((node[0] for node in self.nodes.values()), np.zeros_like(gram)) + 2 * self.upsilon * np.eye(d)
        )
        values, vectors = np.linalg.eigh(noisy)
        inverse = np.einsum("aij,aj,akj->aik", vectors, 1 / np.maximum(values, self.upsilon), vectors)
        centre = cross + sum((node[1] for node in self.nodes.values()), np.zeros_like(cross))
        # rho_min = upsilon, rho_max = 3 upsilon; noise of a centred loss in [-1/2, 1/2] is 1/2-sub-Gaussian.
        volume = d * log(3 + rounds / (d * self.upsilon))
        width = sqrt(2 * log(2 / self.failure) + volume) / 2 + 0.5 * sqrt(3 * self.upsilon) + self.gamma
        return inverse, centre, width * self.shrunk


if __name__ == "__main__":
    for key, value in measure().items():
        print(f"{key}: {value:.4g}")
