"""The law that a certificate assumes of a transcript in several dimensions, written a second time and from the formula.

A claim knows one stream of feedback and says, for any released point, what the density of a draw there is, how likely a
coin is to keep it, and which standard normal vector the draw stands for (its noise, or its Rosenblatt transform). So
the likelihood of a whole transcript of the shipped learner is exact, and its draws and coins can be tested against
the law they should have. Nothing here is shared with the learners but losses, barriers and the plan's parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, log1p, pi
from typing import Any

import numpy as np

from tacit.learners.ctrl.ctrl import CTRL
from tacit.losses.base import RowLoss
from tacit.losses.linear_models import LinkLoss
from tacit.losses.quadratic import QuadraticLoss
from tacit.problems import Convex
from tacit.validation import FloatArray


class Claim(ABC):
    """What a plan claims about its transcripts on one stream of feedback.

    Attributes:
        decisions: the numbers of finished rounds after which a coin is tossed, or a fresh point drawn.
        log_force: ln(1 - p), the most that the logarithm of a keep probability can be.
        half_range: half the range of that logarithm.
        reference_keep: the probability with which a reference is kept (1: there is no second chain).
        transform_error: the error in probability with which `normals` are known.
        draw_error: the distance of a draw's law from the claimed one that the plan admits.
    """

    decisions: frozenset[int]
    log_force: float
    half_range: float
    reference_keep: float = 1.0
    transform_error: float = 0.0
    draw_error: float = 0.0

    def __init__(self, problem: Convex, feedback: Sequence[Any]) -> None:
        assert isinstance(problem.loss, RowLoss)
        self.loss: RowLoss = problem.loss
        self.domain = problem.domain
        self.rows = self.loss.pack(stacked(feedback), problem.domain.dimension, many=True)

    @abstractmethod
    def log_density(self, point: FloatArray, finished: int) -> float:
        """The logarithm of the density at `point` of a draw made after this many rounds."""

    @abstractmethod
    def log_keep(self, point: FloatArray, reference: FloatArray | None, finished: int) -> float:
        """The logarithm of the probability that the coin after this many rounds keeps `point`."""

    @abstractmethod
    def normals(self, points: FloatArray, finished: int) -> FloatArray:
        """Vectors that are standard normal if the points were drawn after this many rounds as claimed."""


def stacked(feedback: Sequence[Any]) -> Any:
    """One round's feedback after the other as the array, or the pair of arrays, that `run` takes."""
    if isinstance(feedback[0], tuple):
        return np.array([row for row, _ in feedback], dtype=float), np.array([label for _, label in feedback])
    return np.array(feedback, dtype=float)


@dataclass(frozen=True)
class Path:
    """At one point: grad J_t and ln det hess J_t for t = 0, 1, ..., T, and the Hessians themselves."""

    gradients: FloatArray
    log_determinants: FloatArray
    hessians: FloatArray


class PerturbedMinimiser(Claim):
    """CTRL: a draw x after t rounds has the density N(grad J_t(x); 0, sigma^2 I) det hess J_t(x).

    Its noise is read back as -grad J_t(x). The noise that covers inexact minimisation (some 1e-8 of the domain) moves
    the density by about that share, and is tested by itself (`draws.release`).
    """

    def __init__(self, plan: CTRL, feedback: Sequence[Any]) -> None:
        super().__init__(plan.problem, feedback)
        self.plan = plan
        self.decisions = frozenset(range(1, plan.rounds))
        self.log_force, self.half_range = log1p(-plan.force), plan.log_phi
        self.path = lru_cache(maxsize=4)(self._path)

    def _path(self, key: tuple[float, ...]) -> Path:
        point = np.array(key)
        plan, domain = self.plan, self.plan.domain
        x = domain.to_hull(point)
        size = x.size
        barrier = domain.hull_barrier
        base = barrier.gradient(x) * plan.barrier_weight + x / plan.eta
        bend = barrier.hessian(x) * plan.barrier_weight + np.eye(size) / plan.eta
        gradients = np.vstack([base, domain.restrict(self.loss.gradients(point, self.rows))])
        hessians = np.concatenate([bend[None], self._hessians(point, size)])
        paths = np.cumsum(hessians, axis=0)
        return Path(np.cumsum(gradients, axis=0), np.linalg.slogdet(paths)[1], paths)

    def _hessians(self, point: FloatArray, size: int) -> FloatArray:
        if isinstance(self.loss, LinkLoss):
            features = self.rows[:, :-1]
            inner = self.plan.domain.restrict(features)
            curvature = self.loss.curvature(features @ point, self.rows[:, -1])
            return np.asarray(curvature[:, None, None] * inner[:, :, None] * inner[:, None, :])
        strength = self.loss.strength if isinstance(self.loss, QuadraticLoss) else 0.0
        return np.broadcast_to(strength * np.eye(size), (len(self.rows), size, size))

    def log_density(self, point: FloatArray, finished: int) -> float:
        path = self.path(tuple(point.tolist()))
        g, variance = path.gradients[finished], self.plan.sigma**2
        return float(path.log_determinants[finished] - (g @ g) / (2 * variance) - g.size / 2 * log(2 * pi * variance))

    def log_keep(self, point: FloatArray, reference: FloatArray | None, finished: int) -> float:
        ratio = self.log_density(point, finished) - self.log_density(point, finished - 1)
        return self.log_force + min(0.0, max(-2 * self.half_range, ratio - self.half_range))

    def normals(self, points: FloatArray, finished: int) -> FloatArray:
        gradients = [self.path(tuple(point.tolist())).gradients[finished] for point in points]
        return np.array(gradients).reshape(len(points), self.plan.domain.hull_dimension) / self.plan.sigma
