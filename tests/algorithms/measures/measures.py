"""Measures of one's own for tests: three names with a prior, and a direction on the circle."""

from dataclasses import dataclass

import numpy as np

from tacit.algorithms.measures import OwnMeasure, weighted_regret

PRIOR = np.array([0.5, 0.3, 0.2])


@dataclass(frozen=True)
class ThreeNames(OwnMeasure):
    """Factors exp(-rate loss), losses clipped to [0, 1]; drawn by comparing one uniform number."""

    rate: float
    sharper: float = 1.0
    decisions: tuple = (0, 1, 2)

    @property
    def feedback_shape(self):
        return (3,)

    @property
    def limit(self):
        return self.rate

    @property
    def neutral(self):
        return np.full(3, 0.5)

    @property
    def extremes(self):
        rows = [np.array(row, dtype=float) for row in np.ndindex(2, 2, 2)]
        return tuple(rows)

    def log_factor(self, decision, feedback):
        return -self.rate * float(np.clip(feedback[self.decisions.index(decision)], 0.0, 1.0))

    def weights(self, history):
        total = np.clip(history, 0.0, 1.0).sum(axis=0)
        weights = PRIOR * np.exp(-self.sharper * self.rate * total)
        return weights / weights.sum()

    def sample(self, history, generator):
        chance = generator.random()
        for name, below in enumerate(np.cumsum(self.weights(history))[:-1]):
            if chance < below:
                return self.decisions[name]
        return self.decisions[2]

    def best(self, history):
        return self.decisions[int(np.argmin(np.clip(history, 0.0, 1.0).sum(axis=0)))]

    def regret(self, rounds, batch):
        return weighted_regret(rounds, batch, rate=self.rate, limit=self.rate, mass=0.2)


@dataclass(frozen=True)
class Direction(OwnMeasure):
    """Von Mises laws: where to point, when the loss is (1 - cos of the angle to what comes)/2."""

    rate: float

    @property
    def feedback_shape(self):
        return ()

    @property
    def limit(self):
        return self.rate

    def log_factor(self, decision, feedback):
        return 0.5 * self.rate * float(np.cos(decision - feedback))

    def sample(self, history, generator):
        total = np.sum(np.exp(1j * history)) if len(history) else 0.0
        return float(generator.vonmises(np.angle(total), 0.5 * self.rate * abs(total)))

    def regret(self, rounds, batch):
        width = min(np.pi, (6 / (self.rate * rounds)) ** 0.5)
        return weighted_regret(
            rounds, batch, rate=self.rate, limit=self.rate, mass=width / np.pi, excess=rounds * width**2 / 12
        )
