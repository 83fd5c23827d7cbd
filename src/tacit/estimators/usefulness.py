"""One warning before a fit that cannot be known to be of use: from public numbers only.

Objective perturbation with noise of scale sigma has, against models of margins up to 1, an excess risk of at most
sqrt(2 (2 n G^2 + E|Z|^2))/(n B) at its best regularisation (see its module), B the norm of rows. Such a model gains at
most f(0) - f(1) over deciding blindly. Where the first is more than half of the second, most of what could be gained
is not certified, and little is to be expected.
"""

from __future__ import annotations

import warnings
from math import sqrt

import numpy as np

from tacit.learners.stochastic import ObjectivePerturbation
from tacit.losses.linear_models import LinkLoss


class UsefulnessWarning(UserWarning):
    """A fit is private, and too noisy to be worth its budget as far as public numbers tell."""


def largest_gain(loss: LinkLoss) -> float:
    """By how much margins of up to 1 can lower the loss of a record that is decided blindly.

    >>> from tacit.losses import LogisticLoss
    >>> round(largest_gain(LogisticLoss()), 2)
    0.38
    """
    one = np.ones(1)
    return float((loss.link(0 * one, one) - loss.link(one, one))[0])


def certified_excess(plan: ObjectivePerturbation) -> float:
    """A bound on the excess risk against models of margins up to 1."""
    problem = plan.problem
    steep, d, n = problem.loss.constants(None).lipschitz, problem.domain.dimension, problem.records
    square = plan.noise_scale**2 * (d * (d + 1) if plan.pure else d)
    norm = problem.loss.data_norm if isinstance(problem.loss, LinkLoss) else 1.0
    return sqrt(2 * (2 * n * steep**2 + square)) / (n * norm)


def warn_if_useless(plan: ObjectivePerturbation, loss: LinkLoss, facts: str, epsilon: float, level: int) -> None:
    """Warn if half of what a model could gain may be lost to noise.

    Args:
        plan: of the fit to come.
        loss: of one record.
        facts: the public numbers, in words.
        epsilon: of the whole fit.
        level: how many calls above this one the warning belongs to.
    """
    excess, gain = certified_excess(plan), largest_gain(loss)
    if excess < gain / 2:
        return
    warnings.warn(
        f"With {facts} and epsilon={epsilon:g} little gain over deciding blindly is certified (at most {gain:.2g} can "
        f"be gained, up to {excess:.2g} lost to noise): take more rows, fewer features or a larger epsilon.",
        UsefulnessWarning,
        stacklevel=level + 1,
    )
