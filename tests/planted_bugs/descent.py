"""Planted bugs in private descent."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, around, planting
from tacit.algorithms.stochastic import private_descent as descent
from tacit.algorithms.stochastic.private_descent import PrivateDescent
from tacit.auditing.report import Finding
from tacit.auditing.script import swapped
from tacit.domains import Ball
from tacit.losses.several_classes import MultinomialLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA
from tacit.noise.source import PooledNoise
from tacit.problems import Stochastic


def moved_along_one_path(plan: PrivateDescent) -> float:
    """By how much a record moves the draws that release the same on a neighbour, over their deviation: mu or less.

    The path is that of one run on random records, the first of which is as long as rows may be and often wrong.
    """
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(plan.problem.records, plan.width))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    count = max(2, plan.scores)
    codes = np.argmax(rows[:, :count] if plan.width >= count else rows @ rng.normal(size=(plan.width, count)), axis=1)
    codes[0] = (codes[0] + 1) % count
    signs, ones = np.where(codes == 1, 1.0, -1.0), np.ones(len(codes))
    columns = signs[:, None] if plan.scores == 1 else np.column_stack([codes, ones])
    whole, seen = descent.whole_rows(plan, rows), []
    other, others = whole.copy(), columns.copy()
    if plan.relation.sides == 2:  # the same row, of another class
        others[0, 0] = -columns[0, 0] if plan.scores == 1 else (codes[0] + 1) % count
    else:
        other[0] = 0.0

    def recording(honest: Any) -> Any:
        def summed(made: PrivateDescent, table: Any, beside: Any, limits: Any, point: Any) -> Any:
            found = honest(made, table, beside, limits, point)
            neighbour = honest(made, other, others, descent.residual_limits(plan, other), point)
            seen.append(float(np.sum((found - neighbour) ** 2)))
            return found

        return summed

    with swapped((descent, "gradient_sum", recording(descent.gradient_sum))):
        descent.descend(plan, whole, columns, noise())
    return sqrt(sum(seen)) / GAUSSIAN_SIGMA


def noise() -> DiscreteGaussian:
    """The same draws each time."""
    return DiscreteGaussian.from_streams(Randomness.replayable(8), "noise")


def _plan(**changes: Any) -> PrivateDescent:
    problem = Stochastic(domain=Ball(12), loss=MultinomialLoss(1.0, 3), horizon=100)
    plan = PrivateDescent.calibrate(problem, epsilon=1.0, delta=1e-6, relation="zero-out", **changes)
    assert isinstance(plan, PrivateDescent)
    return plan


def paths() -> Finding:
    """How far a record moves the draws of all passes."""
    plan = _plan()
    found, certified = moved_along_one_path(plan), plan.mu
    return Finding("reference", "passes of descent", "mu", certified, found, violation=found > certified * (1 + 1e-9))


def padded() -> Finding:
    """A record that contributes nothing, there or left out, must not change the model."""
    plan, rng = _plan(), np.random.default_rng(9)
    rows = descent.whole_rows(plan, rng.normal(size=(99, 4)))
    columns = np.column_stack([rng.integers(3, size=100), np.ones(100)])
    without = descent.descend(plan, rows, columns[:99], noise())
    padding = descent.descend(plan, np.vstack([rows, np.zeros((1, 4))]), columns, noise())
    off = float(np.abs(without - padding).max())
    return Finding("reference", "a record that is zero", "difference", 0.0, off, violation=off > 0)


def independent() -> Finding:
    """Without records the points of three passes are made of noise alone, and must not lie on one line."""
    plan, seen = _plan(steps=4), []

    def recording(honest: Any) -> Any:
        def summed(made: Any, table: Any, beside: Any, limits: Any, point: Any) -> Any:
            seen.append(point.ravel().copy())
            return honest(made, table, beside, limits, point)

        return summed

    with swapped((descent, "gradient_sum", recording(descent.gradient_sum))):
        descent.descend(plan, np.zeros((0, 4)), np.zeros((0, 2)), noise())
    rank = int(np.linalg.matrix_rank(np.array(seen[1:])))
    return Finding("reference", "noise of the passes", "rank", 3.0, float(rank), violation=rank < 3)


@around
def _unclipped(honest: Any, plan: PrivateDescent, scores: Any, columns: Any, limits: Any) -> Any:
    slopes = MultinomialLoss.slopes(scores, columns[:, 0].astype(np.int64), columns[:, 1])
    return np.trunc(slopes * plan.residual_units)


def _counted(honest: Any) -> Any:
    return lambda plan, rows: honest(plan, rows) * plan.problem.records / max(1, rows.shape[0])


def _repeated(honest: Any) -> Any:
    return lambda self, count: noise()._take(count)


in_descent = planting("descent")
CONTROLS: tuple[Control, ...] = (
    in_descent("residuals not clipped", descent, "whole_residuals", _unclipped, paths),
    in_descent("divisor counted from the data", descent, "step_worth", _counted, padded),
    in_descent("noise of a pass used again", PooledNoise, "draw", _repeated, independent),
)  # fmt: skip
