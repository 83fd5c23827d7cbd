"""Tests whose metrics are two-valued, by counts: as exact as persons, and fast enough for thousands of runs."""

import numpy as np

from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit_experiments.ab_tests.promise import Promise
from tacit_experiments.ab_tests.release import Block, read_release
from tacit_experiments.ab_tests.vector import LATTICE


def two_points(measure, lift=0.0):
    """A value above 0, and how many persons have it, with the mean and variance of the metric."""
    if measure.binary:
        return LATTICE, measure.mean * (1 + lift)
    value = round(LATTICE * (measure.mean + measure.variance / measure.mean))
    return value, measure.mean * (1 + lift) * LATTICE / value


def blocks(design, persons, lift, runs, seed, is_noisy=True):
    """The released totals of each look in `runs` tests, arms drawn by each person's own coin."""
    promise, layout = Promise.of(design), design.layout
    draw = np.random.default_rng(seed)
    noise = DiscreteGaussian.from_streams(Randomness.replayable(seed), "counts")
    looks, arms = design.looks, len(design.arms)
    everybody = round(persons / design.arm_shares[design.default_place])
    parts = np.diff([everybody * number // looks for number in range(looks + 1)])
    # persons of each look's part, by arm: (runs, looks, arms)
    split = np.stack([draw.multinomial(part, design.arm_shares, size=runs) for part in parts], axis=1)
    sums = np.zeros((runs, looks, arms, layout.size), dtype=np.int64)
    primary = [measure.name for measure in design.measures].index(design.primary)
    sums[..., 0] = LATTICE * split
    nothing = layout.features(np.zeros((1, len(layout.binary)), dtype=np.int64))[0]
    for place, measure in enumerate(design.measures):
        for arm in range(arms):
            moved = lift if place == primary and arm != design.default_place else 0.0
            value, chance = two_points(measure, moved)
            hit = np.zeros((1, len(layout.binary)), dtype=np.int64)
            hit[0, place] = value
            hits = draw.binomial(split[:, :, arm], chance)
            used = layout.features(hit)[0]
            own = [column for column, multiplier in enumerate(layout.multiplier_of) if multiplier == 1 + place]
            for column in own:
                sums[:, :, arm, column] = nothing[column] * split[:, :, arm] + (used - nothing)[column] * hits
    sums = sums.cumsum(axis=1)
    found = []
    for look in range(looks):
        weights = np.array([promise.looks[look].total[place] for place in layout.multiplier_of])
        weighted = sums[:, look] * weights
        if is_noisy:
            weighted = weighted + noise.draw(weighted.size).reshape(weighted.shape)
        read = [read_release(design, promise, look + 1, row.ravel().tolist()).total for row in weighted]
        covariance = read[0].noise if is_noisy else np.zeros_like(read[0].noise)
        found.append(Block(np.stack([each.moments for each in read]), covariance))
    return found
