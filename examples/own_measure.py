"""A lazy learner of your own, made private: where to point an antenna, when each caller's direction is private.

The loss of pointing at angle x while the caller stands at angle z is (1 - cos(x - z))/2: neither convex nor over a
list of options. Exponential weights over the circle are von Mises laws, which numpy draws from: that is all that
`L2PMeasure` needs. It holds an angle until a coin says otherwise, and its contract names what it takes on trust.

    python examples/own_measure.py
"""

from dataclasses import dataclass

import numpy as np

import tacit
from tacit.algorithms.measures import weighted_regret
from tacit.problems import Problem
from tacit.testing import check_learner


@dataclass(frozen=True)
class VonMises(tacit.algorithms.OwnMeasure):
    """Density exp(-rate * sum of losses) on the circle."""

    rate: float

    @property
    def feedback_shape(self):
        return ()  # one angle a round

    @property
    def limit(self):
        return self.rate  # a loss lies in [0, 1], so rate * loss differs by at most this between two angles

    def log_factor(self, angle, caller):
        return -self.rate * (1 - float(np.cos(angle - caller))) / 2

    def sample(self, callers, generator):
        total = np.sum(np.exp(1j * callers)) if len(callers) else 0.0
        return float(generator.vonmises(np.angle(total), self.rate * abs(total) / 2))

    def regret(self, rounds, batch):
        # An arc of half width w has prior mass w/pi, and its angles cost T w^2/12 more than the best one on average.
        width = min(np.pi, (6 / (self.rate * rounds)) ** 0.5)
        excess = rounds * width**2 / 12
        return weighted_regret(rounds, batch, rate=self.rate, limit=self.rate, mass=width / np.pi, excess=excess)


def main(rounds: int = 20_000) -> None:
    problem = Problem(horizon=rounds)
    plan = tacit.algorithms.L2PMeasure.calibrate(problem, epsilon=1.0, delta=1e-6, measure=VonMises)
    print(plan.explain())

    callers = tacit.Randomness.replayable(2).stream("callers").vonmises(2.0, 1.0, rounds)
    learner = plan.start(tacit.Randomness.replayable(1))  # replayable for this page; leave it out to be private
    angles = learner.run(callers)
    paid = np.sum(1 - np.cos(angles - callers)) / 2
    best = (rounds - abs(np.sum(np.exp(1j * callers)))) / 2
    print(f"\nregret {paid - best:,.0f}, certified {float(plan.regret_bound):,.0f}; {learner.switches:,} switches")

    check_learner(tacit.algorithms.L2PMeasure(Problem(horizon=40), VonMises(0.1), force=0.2), list(callers[:40]))
    print("the learner keeps the contract of learners")


if __name__ == "__main__":
    main()
