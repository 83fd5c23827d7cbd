"""Select one of several options privately: permute-and-flip (McKenna and Sheldon, 2020), by one-sided noise."""

import numpy as np

from tacit.validation import FloatArray


def permute_and_flip(sums: FloatArray, epsilon: float, sensitivity: float, generator: np.random.Generator) -> int:
    """Draw the index of a small sum, epsilon-DP: argmin_j (sum_j - Exp_j), exponential noise of mean 2 Delta/eps.

    MINUS, and one-sided: with plus the same noise would cost (N-1) epsilon. `sensitivity` is the most by
    which one person moves any single sum.
    """
    noise = generator.standard_exponential(sums.shape[0]) * (2 * sensitivity / epsilon)
    return int(np.argmin(sums - noise))
