"""How the coordinates of a person's vector share its length, and how looks share the privacy.

The noise of S_m - mean_m N has the variance 1/(4 beta_m) + (1/2 - mean_m)^2/beta_0, in units of one
coordinate's. With importance w_m and guessed variance V_m, the sum of (w_m/V_m) times that is least
(Cauchy and Schwarz) at

    beta_m ~ sqrt(w_m/V_m)/2,   beta_0 ~ sqrt(sum_m (w_m/V_m) (1/2 - mean_m)^2).

A quotient with the coefficient R = mean_k/mean_l is S_k - R S_l: the metric below counts R^2 times
as much, and (1 - R)/2 stands in place of 1/2 - mean. Guesses that are wrong make noise larger where
it matters, and nothing wrong.
"""

from __future__ import annotations

from math import sqrt

from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.metrics import Ratio

SECONDARY = 0.1
"""The importance of a metric beside the primary one's, which is 1."""
FEWEST, PAIR, PAIRS = 0.05, 0.03, 0.3
"""The least share of the number of persons, the share of a pair, and the most that all pairs have."""
LAST = 0.8
"""The last look's share of the privacy."""
CELLS = 0.3
"""The share of each look that is for cells, where there are segments."""
EARLY = 0.1
"""What looks before the last one may spend of the level."""


def weights(design: ABTest) -> tuple[float, ...]:
    """Return beta of persons, of each metric and of each pair; their sum is 1.

    >>> from tacit_experiments.ab_tests.metrics import Conversion
    >>> design = ABTest("home", ("a", "b"), (Conversion("bought", 0.03),), epsilon=1)
    >>> [round(beta, 3) for beta in weights(design)]
    [0.485, 0.515]
    """
    measures, pairs = design.measures, len(design.layout.pairs)
    importance = [0.0] * len(measures)
    offsets = 0.0
    for metric in design.metrics:
        weight = 1.0 if metric.name == design.primary else SECONDARY
        if isinstance(metric, Ratio):
            over, under = design.places(metric)
            quotient = measures[over].mean / measures[under].mean
            weight /= measures[over].variance + quotient**2 * measures[under].variance
            importance[over] += weight
            importance[under] += weight * quotient**2
            offsets += weight * ((1 - quotient) / 2) ** 2
        else:
            place = measures.index(metric)
            weight /= metric.variance
            importance[place] += weight
            offsets += weight * (0.5 - metric.mean) ** 2
    shares = [sqrt(weight) / 2 for weight in importance]
    persons = max(sqrt(offsets), FEWEST / (1 - FEWEST) * sum(shares))
    each = min(PAIR, PAIRS / pairs) if pairs else 0.0
    scale = (1 - each * pairs) / (persons + sum(shares))
    return (persons * scale, *(share * scale for share in shares), *(each,) * pairs)


def look_shares(looks: int) -> tuple[float, ...]:
    """Return which part of the privacy each look has: the last .8, the others the rest in equal parts.

    >>> look_shares(1), look_shares(5)
    ((1.0,), (0.05, 0.05, 0.05, 0.05, 0.8))
    """
    if looks == 1:
        return (1.0,)
    return (*(round((1 - LAST) / (looks - 1), 12),) * (looks - 1), LAST)


def levels(looks: int) -> tuple[float, ...]:
    """Return which part of alpha each look may spend: the last .9, earlier ones the rest as 1, 3, 6, 10 ...

    >>> [round(level, 4) for level in levels(4)]
    [0.01, 0.03, 0.06, 0.9]
    """
    if looks == 1:
        return (1.0,)
    triangular = [number * (number + 1) // 2 for number in range(1, looks)]
    return (*(EARLY * part / sum(triangular) for part in triangular), 1 - EARLY)
