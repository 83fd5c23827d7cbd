"""Private bandits of the literature, as their papers print them: pure epsilon, replacement of one round's loss.

All of them play arms in batches and release each batch's sum once with Laplace noise of scale 1/epsilon, so they have
the contract of tacit's learners. The noise is numpy's: they are here to be compared, not to protect anyone.
"""

from collections.abc import Iterator
from math import ceil, exp, log, sqrt

import numpy as np

RATIO = 1.5  # of the phases of DP-IMED, tacit's own
EXPLORATION = 3.1  # alpha of AdaP-UCB, which must exceed 3


class Playing:
    """Plays batches on a stream until its end and notes every arm."""

    def __init__(self, losses: np.ndarray, epsilon: float, seed: int) -> None:
        self.losses, self.epsilon = losses, epsilon
        self.generator = np.random.default_rng(seed)
        self.rounds, self.arms = losses.shape
        self.actions = np.empty(self.rounds, dtype=np.int64)
        self.round = 0

    @property
    def over(self) -> bool:
        return self.round == self.rounds

    def batch(self, arm: int, length: int) -> float:
        """The noisy sum of the rewards 1 - loss of the next rounds, all of them played with this arm."""
        last = min(self.round + length, self.rounds)
        rewards = 1 - self.losses[self.round : last, arm]
        self.actions[self.round : last], self.round = arm, last
        return float(rewards.sum() + self.generator.laplace(scale=1 / self.epsilon))


def successive_elimination(play: Playing) -> None:
    """DP-SE (Sajed and Sheffet 2019): every surviving arm is sampled afresh in each epoch; beta = 1/T."""
    alive, epoch = list(range(play.arms)), 0
    while not play.over:
        epoch += 1
        gap = 2.0**-epoch
        sure = len(alive) * epoch**2 * play.rounds
        length = ceil(max(32 * log(8 * sure) / gap**2, 8 * log(4 * sure) / (play.epsilon * gap))) + 1
        if len(alive) == 1:
            length = play.rounds
        means = {arm: play.batch(arm, length) / length for arm in alive if not play.over}
        slack = 2 * sqrt(log(8 * sure) / (2 * length)) + 2 * log(4 * sure) / (length * play.epsilon)
        alive = [arm for arm, mean in means.items() if max(means.values()) - mean <= slack]


def adaptive_ucb(play: Playing) -> None:
    """AdaP-UCB (Azize and Basu 2022): an arm's rounds double, and only the last batch is remembered."""
    counts = np.ones(play.arms)
    means = np.array([play.batch(arm, 1) for arm in range(play.arms)])
    last = counts.copy()
    while not play.over:
        level = EXPLORATION * log(play.round + 1)
        arm = int(np.argmax(means + np.sqrt(level / (2 * last)) + level / (play.epsilon * last)))
        length = int(counts[arm])
        means[arm] = play.batch(arm, length) / length
        counts[arm] += length
        last[arm] = length


def imed(play: Playing) -> None:
    """DP-IMED (Azize, Wu, Honda, Orabona, Ito and Basu 2025): all batches add up, noise included."""
    counts = np.ones(play.arms)
    sums = np.array([play.batch(arm, 1) for arm in range(play.arms)])
    while not play.over:
        means = np.clip(sums / counts, 0.0, 1.0)
        best = float(means.max())
        indices = [n * distance(float(x), best, play.epsilon) + log(n) for n, x in zip(counts, means, strict=True)]
        arm = int(np.argmin(indices))
        length = ceil(RATIO * counts[arm]) - int(counts[arm])
        sums[arm] += play.batch(arm, length)
        counts[arm] += length


def distance(x: float, y: float, epsilon: float) -> float:
    """The least over z in [x, y] of epsilon (z - x) + kl(z, y), for x <= y."""
    if y >= 1.0:
        return epsilon * (1 - x)
    turn = y * exp(-epsilon) / (1 - y + y * exp(-epsilon))
    if turn >= x:
        return -epsilon * x - log(1 - y + y * exp(-epsilon))
    return relative_entropy(x, y)


def relative_entropy(x: float, y: float) -> float:
    """The divergence kl of two coins, 0 < y < 1."""
    return sum(p * log(p / q) for p, q in ((x, y), (1 - x, 1 - y)) if p > 0)


ALGORITHMS = {
    "DP-SE (Sajed and Sheffet)": successive_elimination,
    "AdaP-UCB (Azize and Basu)": adaptive_ucb,
    "DP-IMED (Azize et al.)": imed,
}


def decisions(losses: np.ndarray, epsilon: float, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """The arms that each of them plays."""
    for name, algorithm in ALGORITHMS.items():
        play = Playing(losses, epsilon, seed)
        algorithm(play)
        yield name, play.actions
