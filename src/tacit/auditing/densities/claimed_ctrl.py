"""The law that a certificate assumes of a transcript in several dimensions, written a second time and from the formula.

A claim knows one stream of feedback and says, for any draw, what its density is, how likely a coin is to keep it, and
which standard normal vector it stands for (its noise, or its Rosenblatt transform). So the likelihood of a whole
transcript of the shipped learner is exact, and its draws and coins can be tested against the law they should have.
CTRL's proof is about a larger transcript than what is released: the minimisers before their covering noise belong to
it, and are looked up beside the run. Nothing here is shared with the learners but losses, barriers and the plan's
parameters.
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
from tacit.losses.bent import BentLoss
from tacit.losses.linear_models import LinkLoss
from tacit.losses.quadratic import QuadraticLoss
from tacit.losses.several import SeveralLinks
from tacit.problems import Convex
from tacit.validation import FloatArray


@dataclass(frozen=True)
class Draw:
    """A point that was drawn after `finished` rounds, and the minimiser behind it (hull coordinates), if it has one."""

    finished: int
    point: FloatArray
    minimiser: FloatArray | None = None


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
    def log_density(self, draw: Draw) -> float:
        """The logarithm of the density of a draw."""

    @abstractmethod
    def log_keep(self, held: Draw, reference: FloatArray | None, finished: int) -> float:
        """The logarithm of the probability that the coin after this many rounds keeps what is held."""

    @abstractmethod
    def normals(self, draws: Sequence[Draw]) -> FloatArray:
        """Vectors that are standard normal if these draws, all made after the same number of rounds, are as claimed."""


def stacked(feedback: Sequence[Any]) -> Any:
    """One round's feedback after the other as the array, or the pair of arrays, that `run` takes."""
    if isinstance(feedback[0], tuple):
        return np.array([row for row, _ in feedback], dtype=float), np.array([label for _, label in feedback])
    return np.array(feedback, dtype=float)


@dataclass(frozen=True)
class Path:
    """At one point: gradients and Hessians of the regulariser (entry 0) and of each loss, in hull coordinates."""

    gradients: FloatArray
    hessians: FloatArray


class PerturbedMinimiser(Claim):
    """CTRL: a minimiser y after t rounds has the density N(grad J_t(y); 0, sigma^2 I) det hess J_t(y).

    Its noise is read back as -grad J_t(y). What is released is the point r nearest to y plus noise that covers inexact
    minimisation; that noise is tested by itself (`draws.release`). A coin at round t' > t compares grad J_t(y) plus
    the losses' gradients at r since then, and the Hessians of all losses at r with the regulariser's at y.
    """

    def __init__(self, plan: CTRL, feedback: Sequence[Any]) -> None:
        super().__init__(plan.problem, feedback)
        self.plan = plan
        self.decisions = frozenset(range(1, plan.rounds))
        self.log_force, self.half_range = log1p(-plan.force), plan.log_phi
        self.path = lru_cache(maxsize=8)(self._path)

    def _path(self, key: tuple[float, ...]) -> Path:
        plan, domain, x = self.plan, self.plan.domain, np.array(key)
        point = domain.from_hull(x)
        barrier = domain.hull_barrier
        inside = barrier.value(x) < np.inf  # released points may lie on the boundary: there only losses are asked for
        slope = barrier.gradient(x) * plan.barrier_weight + x / plan.eta if inside else np.full(x.size, np.nan)
        bend = barrier.hessian(x) * plan.barrier_weight if inside else np.full((x.size, x.size), np.nan)
        gradients = np.vstack([slope, domain.restrict(self.loss.gradients(point, self.rows))])
        return Path(
            gradients, np.concatenate([(bend + np.eye(x.size) / plan.eta)[None], self._hessians(point, x.size)])
        )

    def _hessians(self, point: FloatArray, size: int) -> FloatArray:
        if isinstance(self.loss, LinkLoss):
            return self._of_links(self.loss, self.rows, point)
        if isinstance(self.loss, SeveralLinks):
            single = self._of_links(self.loss.link, self.rows.reshape(-1, point.size + 1), point)
            return np.asarray(single.reshape(len(self.rows), -1, size, size).sum(axis=1))
        if isinstance(self.loss, BentLoss):
            basis = self.plan.domain.hull_basis
            return np.asarray([basis.T @ matrix @ basis for matrix in self.loss.hessians(point, self.rows)])
        strength = self.loss.strength if isinstance(self.loss, QuadraticLoss) else 0.0
        return np.broadcast_to(strength * np.eye(size), (len(self.rows), size, size))

    def _of_links(self, loss: LinkLoss, rows: FloatArray, point: FloatArray) -> FloatArray:
        inner = self.plan.domain.restrict(rows[:, :-1])
        curvature = loss.curvature(rows[:, :-1] @ point, rows[:, -1])
        return np.asarray(curvature[:, None, None] * inner[:, :, None] * inner[:, None, :])

    def _origin(self, draw: Draw) -> FloatArray:
        return self.plan.domain.to_hull(draw.point) if draw.minimiser is None else draw.minimiser

    def objective(self, x: FloatArray, finished: int) -> tuple[FloatArray, FloatArray]:
        """Grad J_t and hess J_t at a point of the interior."""
        path = self.path(tuple(x.tolist()))
        return path.gradients[: finished + 1].sum(axis=0), path.hessians[: finished + 1].sum(axis=0)

    def log_density(self, draw: Draw) -> float:
        g, hessian = self.objective(self._origin(draw), draw.finished)
        variance = self.plan.sigma**2
        return float(np.linalg.slogdet(hessian)[1] - (g @ g) / (2 * variance) - g.size / 2 * log(2 * pi * variance))

    def log_keep(self, held: Draw, reference: FloatArray | None, finished: int) -> float:
        origin = self._origin(held)
        played = self.path(tuple(self.plan.domain.to_hull(held.point).tolist()))
        g = self.objective(origin, held.finished)[0] + played.gradients[held.finished + 1 : finished].sum(axis=0)
        hessian = self.path(tuple(origin.tolist())).hessians[0] + played.hessians[1:finished].sum(axis=0)
        u, growth = played.gradients[finished], played.hessians[finished]
        ratio = np.linalg.slogdet(hessian + growth)[1] - np.linalg.slogdet(hessian)[1]
        ratio -= (2 * g @ u + u @ u) / (2 * self.plan.sigma**2)
        return self.log_force + min(0.0, max(-2 * self.half_range, float(ratio) - self.half_range))

    def normals(self, draws: Sequence[Draw]) -> FloatArray:
        gradients = [self.objective(self._origin(draw), draw.finished)[0] for draw in draws]
        return np.array(gradients).reshape(len(draws), self.plan.domain.hull_dimension) / self.plan.sigma
