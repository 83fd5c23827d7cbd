"""How long a perturbed minimiser can be, and how near to it float64 comes: public numbers, whatever the data."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tacit.losses.linear_models import LinkLoss
from tacit.problems import Stochastic
from tacit.solvers.minimum import truncated_norm
from tacit.solvers.objective import attainable_accuracy


def largest_model(problem: Stochastic, ridge: float, sigma: float, pure: bool) -> float:
    """A public bound on the norm of the minimiser, whatever the data.

    At most (n G + |Z|)/lambda, by comparing gradients, and for losses that are never negative
    |Z|/lambda + sqrt((|Z|/lambda)^2 + 2 n f(0)/lambda), by comparing values with those at 0.
    """
    loss, n = problem.loss, problem.records
    noise = largest_noise(problem, sigma, pure)
    reach = (loss.constants(None).lipschitz * n + noise) / ridge
    if isinstance(loss, LinkLoss) and loss.never_negative:
        labels = loss.clip_labels(np.array([-1e300, 1e300]))
        at_zero = float(np.max(loss.link(np.zeros(2), labels)))
        reach = min(reach, noise / ridge + sqrt((noise / ridge) ** 2 + 2 * n * at_zero / ridge))
    return reach


def largest_noise(problem: Stochastic, sigma: float, pure: bool) -> float:
    """The largest norm of Z."""
    d = problem.domain.dimension
    return sigma * (longest_exponential(d) if pure else truncated_norm(d))


def least_accuracy(problem: Stochastic, ridge: float, sigma: float, pure: bool) -> float:
    """A public distance that the solver certifies whatever the data."""
    constants = problem.loss.constants(None)
    return attainable_accuracy(
        rounds=problem.records,
        dimension=problem.domain.dimension,
        lipschitz=constants.lipschitz,
        smoothness=constants.smoothness,
        ridge=ridge,
        noise=largest_noise(problem, sigma, pure),
        domain=None,
        reach=largest_model(problem, ridge, sigma, pure),
        gradient_rounding=problem.loss.gradient_rounding(problem.domain.dimension),
    )


def longest_exponential(dimension: int) -> float:
    """The largest norm of noise with density exp(-|z|) that float64 samplers produce: pure noise is not cut off.

    Its norm is a Gamma(d) variable: in one dimension an exponential clock below 7.7 + 53 ln 2, in more
    b (1 + N/sqrt(9 b))^3 with b = d - 1/3 and a normal number N, which the ziggurat keeps below 14.
    """
    if dimension == 1:
        return 45.0
    base = dimension - 1 / 3
    return float(base * (1 + 14 / sqrt(9 * base)) ** 3)
