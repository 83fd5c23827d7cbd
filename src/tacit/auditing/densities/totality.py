"""Objective perturbation in one dimension: does every noise give a model, and is it the minimiser?

Whoever sees that a release failed learns something, so a failure is a violation whatever its error says. The minimiser
is found a second time, by halving an interval with exactly rounded sums of the loss's own gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np

from tacit.auditing.densities.minimiser import lattice_noise
from tacit.auditing.report import Finding
from tacit.auditing.swapped_attributes import swapped
from tacit.errors import TacitError
from tacit.learners.plan import Plan
from tacit.learners.stochastic.model_noise import SHRUNK
from tacit.learners.stochastic.objective_perturbation import ObjectivePerturbation, ObjectivePerturbationLearner
from tacit.losses.base import RowLoss
from tacit.mechanisms.running_sums.float_noise import FloatNoise
from tacit.randomness import Randomness
from tacit.validation import FloatArray

# An interval around a slope of exactly 0 has a width too.
_NOT_EMPTY = 1e-300


def totality(plan: Plan, records: Any, noises: Sequence[float]) -> Finding:
    """Models of these records at these noises (in units of the plan's own), without the protection."""
    assert isinstance(plan, ObjectivePerturbation)
    loss = plan.problem.loss
    assert isinstance(loss, RowLoss)
    rows = loss.pack(records, 1, many=True)
    rows[:, :-1] *= SHRUNK
    farthest, failed = 0.0, 0
    for noise in noises:
        found = _model(plan, records, noise)
        if found is None:
            failed += 1
        else:
            exact = minimiser(loss, rows, plan.regularisation, plan.noise_scale * noise)
            farthest = max(farthest, abs(found - exact) / plan.accuracy)
    label = f"{len(rows)} records in one dimension, {len(noises)} noises"
    if failed:
        return Finding(
            "minimisers", label, "noises without a model", 0.0, float(failed), True,
            detail="whether a model can be released depends on the data", check=True,
        )  # fmt: skip
    return Finding(
        "minimisers", label, "distance from the minimiser over the certified one", 1.0, farthest, farthest > 1,
        detail="a minimiser is not as close as was certified", check=True,
    )  # fmt: skip


def minimiser(loss: RowLoss, rows: FloatArray, ridge: float, noise: float) -> float:
    """Where the slope of the losses, the ridge and the noise add up to nothing."""

    def slope(x: float) -> float:
        return fsum([*loss.gradients(np.array([x]), rows)[:, 0].tolist(), ridge * x, noise])

    reach = (abs(slope(0.0)) + _NOT_EMPTY) / ridge
    low, high = -reach, reach
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return low


def _model(plan: ObjectivePerturbation, records: Any, noise: float) -> float | None:
    """The minimiser that the shipped learner releases, or None if it releases nothing."""
    learner = plan.start(Randomness.replayable(0))
    assert isinstance(learner, ObjectivePerturbationLearner)
    learner.run(records)
    drawn = iter([np.array([noise]), np.zeros(1)])  # the noise, and no protection

    def draw(*_: Any) -> FloatArray:
        return next(drawn)

    with swapped((FloatNoise, "draw", draw)), lattice_noise(noise):
        try:
            return float(learner.release()[0])
        except TacitError:
            return None
