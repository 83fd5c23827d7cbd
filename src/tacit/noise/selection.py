"""Selecting one of several options privately.

`exponential_mechanism` draws from softmax(scores) by Gumbel-max; composed by bounded range.
`permute_and_flip` is the better single selection under pure DP (McKenna and Sheldon, 2020), in its
one-sided exponential-noise form.
"""

import numpy as np

from tacit.validation import FloatArray


def exponential_mechanism(scores: FloatArray, generator: np.random.Generator) -> int:
    """An index with probability proportional to exp(score): argmax of score plus Gumbel noise.

    If neighbours move the scores so that their pairwise differences change by at most r, the draw has
    bounded range r.
    """
    # A Gumbel variable is minus the logarithm of an exponential one.
    noise: FloatArray = generator.standard_exponential(scores.shape)
    np.log(noise, out=noise)
    return int(np.subtract(scores, noise, out=noise).argmax())


def permute_and_flip(sums: FloatArray, epsilon: float, sensitivity: float, generator: np.random.Generator) -> int:
    """The index of a small sum, epsilon-DP: argmin_j (sum_j - Exp_j), exponential noise of mean 2 Delta/eps.

    MINUS, and one-sided: with plus the same noise would cost (N-1) epsilon. `sensitivity` is the most by
    which one person moves any single sum.
    """
    noise = generator.standard_exponential(sums.shape[0]) * (2 * sensitivity / epsilon)
    return int(np.argmin(sums - noise))
