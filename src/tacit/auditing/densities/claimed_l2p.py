"""The claimed law of L2P on regularised multiplicative weights, on balls and boxes of up to three dimensions.

A draw after t rounds has the density exp(-beta (l_1 + ... + l_t + lambda |x - c|^2)) up to a constant. Constants and
conditional laws come from Gauss-Legendre rules, coordinate after coordinate; with x = middle + half sin(pi u/2) the
integrand is smooth in u up to the boundary of a ball. The Rosenblatt transform, the conditional probability of
everything below each coordinate, integrates the interpolating polynomial: uniform if the draw has its law.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p, pi
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtri

from tacit.auditing.densities.claimed_ctrl import Claim, Draw
from tacit.geometry import Ball, Box
from tacit.learners.l2p_convex.l2p_convex import L2PConvex
from tacit.losses.linear_models import LinkLoss
from tacit.validation import FloatArray

NODES = 24
# Error in probability of a Rosenblatt transform by quadrature (losses with kinks in their curvature; else far less).
QUADRATURE = 2e-3
# A section of a ball at its boundary has no width: the smallest double in its place.
TINY = float(np.finfo(np.float64).tiny)
# Leaves of the nested rules that are evaluated together.
_CHUNK = 200_000


class Gibbs(Claim):
    """L2PConvex: exact densities and coins; the reference, which is not released, is read from the learner."""

    def __init__(self, plan: L2PConvex, feedback: Sequence[Any], nodes: int = NODES) -> None:
        super().__init__(plan.problem, feedback)
        self.plan = plan
        self.decisions = frozenset(plan.batch * (k + 1) for k in range(plan.decisions))
        self.log_force = log1p(-plan.force) if plan.force < 1 else -np.inf
        self.half_range = plan.batch * plan.clip
        self.reference_keep = 1 - plan.reference_force if plan.force < 1 else 1.0
        self.transform_error, self.draw_error = QUADRATURE, plan.sampler_distance
        self._unit, weights = np.polynomial.legendre.leggauss(nodes)
        self._log_weights = np.log(weights * pi / 2 * np.cos(pi / 2 * self._unit))
        degrees = np.arange(nodes)
        self._analysis = (
            np.polynomial.legendre.legvander(self._unit, nodes - 1) * (2 * degrees + 1) / 2 * weights[:, None]
        )
        self._constants: dict[int, float] = {}

    def log_density(self, draw: Draw) -> float:
        point, finished = draw.point, draw.finished
        if finished not in self._constants:
            self._constants[finished] = float(self._log_mass(np.empty((1, 0)), finished)[0])
        return -float(self.potential(point[None, :], finished)[0]) - self._constants[finished]

    def log_keep(self, held: Draw, reference: FloatArray | None, finished: int) -> float:
        if self.log_force == -np.inf:
            return -np.inf
        assert reference is not None
        rows = self.rows[finished - self.plan.batch : finished]
        ratios = self.plan.rate * (self.loss.values(reference, rows) - self.loss.values(held.point, rows))
        return self.log_force - self.half_range + float(np.sum(np.clip(ratios, -self.plan.clip, self.plan.clip)))

    def potential(self, points: FloatArray, finished: int) -> FloatArray:
        """The negative logarithm of the density, up to its constant."""
        rows, loss = self.rows[:finished], self.loss
        centred = points - self.domain.centre
        total = self.plan.regularisation * np.einsum("ij,ij->i", centred, centred)
        for row in rows:
            if isinstance(loss, LinkLoss):
                margins = points @ row[:-1]
                total += loss.link(margins, np.full_like(margins, row[-1]))
            else:  # one row for every point: values are taken pairwise
                total += loss.values(points, np.broadcast_to(row, (len(points), row.size)))
        return np.asarray(self.plan.rate * total)

    def normals(self, draws: Sequence[Draw]) -> FloatArray:
        points, finished = np.array([draw.point for draw in draws]), draws[0].finished
        uniform = np.column_stack([self._below(points, k, finished) for k in range(points.shape[1])])
        return np.asarray(ndtri(np.clip(uniform, 1e-16, 1 - 1e-16)))

    def _below(self, points: FloatArray, k: int, finished: int) -> FloatArray:
        """P[coordinate k is below its value] given the coordinates before it."""
        prefix = points[:, :k] if k else np.empty((1, 0))
        logs = self._at_nodes(prefix, finished)
        values = np.exp(logs - logs.max(axis=1, keepdims=True)) * np.cos(pi / 2 * self._unit)
        coefficients = values @ self._analysis
        low, high = self._bounds(points[:, :k])
        half = np.maximum((high - low) / 2, TINY)
        u = 2 / pi * np.arcsin(np.clip((points[:, k] - (low + high) / 2) / half, -1.0, 1.0))
        size = len(self._unit)
        legendre = np.polynomial.legendre.legvander(u, size)
        primitive = np.empty((len(u), size))
        primitive[:, 0] = u + 1
        primitive[:, 1:] = (legendre[:, 2:] - legendre[:, : size - 1]) / (2 * np.arange(1, size) + 1)
        return np.asarray(np.sum(primitive * coefficients, axis=1) / (2 * coefficients[:, 0]))

    def _log_mass(self, prefix: FloatArray, finished: int) -> FloatArray:
        """The logarithm of the integral of exp(-potential) over all coordinates after the prefix."""
        if prefix.shape[1] == self.domain.dimension:
            return -self.potential(prefix, finished)
        low, high = self._bounds(prefix)
        logs = self._at_nodes(prefix, finished) + self._log_weights
        return np.asarray(logsumexp(logs, axis=1) + np.log(np.maximum((high - low) / 2, TINY)))

    def _at_nodes(self, prefix: FloatArray, finished: int) -> FloatArray:
        """`_log_mass` with one coordinate more, at each of its nodes: of shape (prefixes, nodes)."""
        size, after = len(self._unit), self.domain.dimension - prefix.shape[1]
        step = max(1, _CHUNK // size**after)
        parts = []
        for start in range(0, len(prefix), step):
            part = prefix[start : start + step]
            low, high = self._bounds(part)
            nodes = ((low + high) / 2)[:, None] + ((high - low) / 2)[:, None] * np.sin(pi / 2 * self._unit)
            longer = np.column_stack([np.repeat(part, size, axis=0), nodes.ravel()])
            parts.append(self._log_mass(longer, finished).reshape(len(part), size))
        return np.concatenate(parts)

    def _bounds(self, prefix: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The interval of the next coordinate."""
        domain, k = self.domain, prefix.shape[1]
        if isinstance(domain, Box):
            return np.full(len(prefix), domain.low[k]), np.full(len(prefix), domain.high[k])
        assert isinstance(domain, Ball)
        reach = np.sqrt(np.maximum(0.0, domain.radius**2 - np.sum(prefix**2, axis=1)))
        return -reach, reach
