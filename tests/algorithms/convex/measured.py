"""What learners over a convex set pay beyond the best fixed point."""

import numpy as np

from tacit.noise.randomness import Randomness
from tacit.simulation.comparators import best_fixed_point


def measured(plan, environment, runs):
    """The regret and the switches of each run."""
    loss, domain, found = environment.loss, plan.problem.domain, []
    for run in range(runs):
        source = Randomness.replayable(run)
        data = environment.data(source.stream("data"))
        learner = plan.start(source.child("learner"))
        paid = np.sum(loss.values(learner.run(data), loss.pack(data, domain.dimension, many=True)))
        found.append((float(paid) - best_fixed_point(loss, data, domain).loss, learner.switches))
    return np.array(found).T
