"""What tracking learners pay beyond the best sequence where the best expert changes."""

import numpy as np

from tacit.environments.tracking import ShiftingBernoulli
from tacit.noise.randomness import Randomness
from tacit.simulation.comparators import best_switching_sequence


def measured(plan, changes, gap, runs):
    """The regret of each run, and the learners after it."""
    n, rounds, regrets, learners = plan.problem.n, plan.problem.horizon, [], []
    world = ShiftingBernoulli(n=n, horizon=rounds, changes=changes, gap=gap)
    for seed in range(runs):
        losses = world.losses(Randomness.replayable(seed).stream("losses"))
        learner = plan.start(Randomness.replayable(seed))
        paid = losses[np.arange(rounds), learner.run(losses)].sum()
        regrets.append(paid - best_switching_sequence(losses, len(changes))[0])
        learners.append(learner)
    return np.array(regrets), learners
