"""Noise, and constants of the algorithms."""

from functools import partial
from math import exp, sqrt

import numpy as np
from errata.online_to_batch import printed_weighted_noise
from scripts import mironov

import tacit
from algorithms.stochastic.weighted_noise import UNIT, weighted_noise
from docs.sources.statement import CELL, Stated, at_most, number
from errata import l2p
from tacit.accounting.calibration import gaussian_mu
from tacit.noise.running_sums import Buffered, Tree


def batch_noise(rounds: int, power: int) -> list[float]:
    """Weighted noise of the conversion: ours, equation (6)."""
    ours = weighted_noise(Buffered(rounds - 1), gaussian_mu(1.0, 1e-6), power=power, **UNIT)
    return [ours, printed_weighted_noise(rounds, power, 1.0, 1e-6)]


def above_square_root() -> list[float]:
    """How much more noise the buffered sum has at its last step, in percent."""
    steps = 100_000
    coefficients = np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1, steps)))  # of (1 - x)^(-1/2)
    return [
        100 * (Buffered(steps).column_norm * Buffered(steps).row_norm(steps) / float(coefficients @ coefficients) - 1)
    ]


def crowded() -> list[float]:
    """What 2, 10 and 100 rounds of a person move, over as many times one."""
    return [Buffered(100_000).crowding(people) for people in (2, 10, 100)]


def tree_over_buffered() -> list[float]:
    """The noise of the tree over that of the buffered sum, mean and largest."""
    tree, buffered = (kind.standard_deviations(kind.scale(1.0, 1.0)) for kind in (Tree(100_000), Buffered(100_000)))
    return [float(tree.mean() / buffered.mean()), float(tree.max() / buffered.max())]


def shares() -> list[float]:
    """How RestartOnShift splits epsilon."""
    problem = tacit.Tracking(n=2, horizon=1000, switches=1, adversary="stochastic")
    return list(tacit.algorithms.RestartOnShift.calibrate(problem, epsilon=1.0, delta=0.0).shares)


def committed_regret() -> list[float]:
    """The regret of a committed learner over sqrt(B T): least, and for many batches."""
    numbers = l2p.errata.find("proposition_3_3")[0].numbers
    return [numbers["committed, least"], numbers["committed, many batches"]]


def best_guess(epsilon: float) -> list[float]:
    """The share of releases that Mironov's attack decides, and the best guess that epsilon-DP allows, in percent."""
    return [100 * mironov.success(epsilon, 1000, seed=1)[0], 100 / (1 + exp(-epsilon))]


def computed() -> list[Stated]:
    rows = [
        Stated(
            "docs/errata/online-to-batch.md",
            rf"\| {rounds} \| {power} \|" + 2 * CELL,
            partial(batch_noise, int(float(rounds)), power),
        )
        for rounds, power in (("1e3", 1), ("1e5", 1), ("1e5", 3))
    ]
    rows += [
        Stated("docs/floating-point.md", rf"\| {epsilon} \| (\d+)% \|.*right ([\d.]+)%", partial(best_guess, epsilon))
        for epsilon in (0.1, 0.5, 1)
    ]
    sums = "docs/algorithms/running-sums.md"
    times = r"`Buffered` has ([\d.]+) to ([\d.]+) times less noise than the tree at 1e5 steps"
    split = r"\$e_a, e_1, e_2\$ are (\.\d+), (\.\d+) and (\.\d+) of"
    factor = r"\\sqrt\{1 \+ 1/a\}\$ is ([\d.]+)\."
    committed = r"regret at least (\.\d+) sqrt\(B T\), about (\.\d+) sqrt\(B T\)"
    return [
        *rows,
        Stated(sums, r"within ([\d.]+)% of the square\s+root", above_square_root, at_most),
        Stated(sums, r"m = 2, 10, 100 it is (\.\d+), (\.\d+), (\.\d+) for `Buffered`", crowded),
        Stated(sums, times, tree_over_buffered, lambda shown, value: abs(value - number(shown)) < 0.1),
        Stated("docs/algorithms/restart-on-shift.md", split, shares),
        Stated("docs/algorithms/online-to-batch.md", factor, lambda: [1.4 * sqrt(1 + 1 / 0.8)]),
        Stated("docs/errata/lazy-to-private.md", committed, committed_regret),
    ]
