"""The best fixed point in hindsight, with a proof of how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.geometry.base import BarrierSet, ConvexSet, ProjectableSet
from tacit.losses import BentLoss, LinearLoss, LinkLoss, QuadraticLoss, RowLoss, SeveralLinks
from tacit.solvers.loss_sums import hull_rows, loss_sum
from tacit.solvers.newton import constrained_minimum
from tacit.validation import FloatArray, check_positive


@dataclass(frozen=True)
class BestPoint:
    """A fixed point of (almost) smallest total loss.

    Attributes:
        point: the point of the domain.
        loss: its total loss over all rounds.
        gap: a proved bound on how much smaller the smallest total loss can be.
    """

    point: FloatArray
    loss: float
    gap: float


def best_fixed_point(loss: RowLoss, data: Any, domain: ConvexSet, tolerance: float = 1e-8) -> BestPoint:
    """The best point of the domain for a whole stream, to within `tolerance` times max(1, loss at the centre).

    Linear losses use the linear oracle, quadratic ones the projection of the mean target; generalised linear
    losses are minimised by an interior-point method whose gap the linear oracle proves.

    >>> from tacit.geometry import Ball
    >>> best_fixed_point(LinearLoss(), [[1.0, 0.0], [0.5, 0.0]], Ball(2)).loss
    -1.5
    """
    check_positive("best_fixed_point", "tolerance", tolerance)
    if not isinstance(loss, RowLoss) or not isinstance(domain, ConvexSet):
        raise InvalidInput(f"The best fixed point of {loss!r} over {domain!r} cannot be certified.")
    rows = loss.pack(data, domain.dimension, many=True)
    if not len(rows):
        raise InvalidInput("The best fixed point needs at least one round.")
    if isinstance(loss, LinearLoss):
        point = domain.minimize_linear(np.sum(rows, axis=0))
        return BestPoint(point, float(np.sum(loss.values(point, rows))), 0.0)
    scale = max(1.0, abs(float(np.sum(loss.values(domain.centre, rows)))))
    if isinstance(loss, QuadraticLoss) and isinstance(domain, ProjectableSet):
        point = domain.project(np.mean(rows, axis=0))
        gradient = np.sum(loss.gradients(point, rows), axis=0)
        # The smallest loss is proved by the linear oracle, up to the rounding of these sums.
        gap = max(0.0, float(gradient @ (point - domain.minimize_linear(gradient)))) + 1e-14 * scale
    elif isinstance(loss, LinkLoss | SeveralLinks | BentLoss) and isinstance(domain, BarrierSet):
        losses = loss_sum(loss, domain.hull_dimension, domain)
        losses.add(hull_rows(loss, domain, rows))
        found, gap = constrained_minimum(losses, domain, tolerance * scale)
        point = domain.from_hull(found)
    else:
        raise InvalidInput(f"The best fixed point of {loss!r} over {domain!r} cannot be certified.")
    if gap > tolerance * scale:
        raise InvalidInput(f"The best fixed point was found only to within {gap:g}, not {tolerance * scale:g}.")
    return BestPoint(point, float(np.sum(loss.values(point, rows))), gap)
