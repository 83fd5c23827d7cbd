"""How much noise the last iterate of the conversion feels, for tests and pages."""

import numpy as np

from tacit.algorithms.stochastic.online_to_batch.conversion import clipping_norms, growing_deviations, weights

UNIT = {"lipschitz": 1.0, "smoothness": 1.0, "diameter": 1.0}


def weighted_noise(mechanism, privacy, *, power, lipschitz, smoothness, diameter):
    """Return (1/beta_{1:T}) sum_t std(noise_t), one coordinate, at sensitivity twice the largest C_t."""
    steps = mechanism.steps
    growing = 2 * np.maximum.accumulate(clipping_norms(steps, power, lipschitz, smoothness, diameter))
    deviations = growing_deviations(mechanism, growing * mechanism.column_norm / privacy)
    return float(np.sum(deviations) / np.sum(weights(steps + 1, power)))
