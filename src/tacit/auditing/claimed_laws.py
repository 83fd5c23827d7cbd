"""The law that a certificate assumes of a transcript in several dimensions, written a second time, from the formula.

A claim knows one stream of feedback and says, for any draw, what its density is, how likely a coin is to keep it, and
which standard normal vector it stands for (its noise, or its Rosenblatt transform). So the likelihood of a transcript
of the shipped learner is exact, and its draws and coins can be tested. CTRL's proof is about the minimisers before
their covering noise: they are looked up beside the run. Nothing is shared with the learners but losses, barriers and
the plan's parameters.

L2P on regularised multiplicative weights, on balls and boxes of up to three dimensions: a draw after t rounds has a
density proportional to exp(-beta (l_1 + ... + l_t + lambda |x - c|^2)). Gauss-Legendre rules give constants and
conditional laws, coordinate after coordinate; with x = middle + half sin(pi u/2) the integrand is smooth in u.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from math import log, log1p, pi
from typing import Any

import numpy as np
from scipy.special import chdtr, logsumexp, ndtr, ndtri

from tacit.algorithms.convex.ctrl import coupled
from tacit.algorithms.convex.ctrl.ctrl import CTRL
from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvex, L2PConvexLearner
from tacit.auditing.script import swapped
from tacit.auditing.statistics import Surprise, coin_surprise, normal_surprises
from tacit.domains import Ball, Box
from tacit.errors import InvalidInput
from tacit.losses.loss import LinkLoss, QuadraticLoss, RowLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
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
        """Compute the logarithm of the density of a draw."""

    @abstractmethod
    def log_keep(self, held: Draw, reference: FloatArray | None, finished: int) -> float:
        """Compute the logarithm of the probability that the coin after this many rounds keeps what is held."""

    @abstractmethod
    def normals(self, draws: Sequence[Draw]) -> FloatArray:
        """Give vectors that are standard normal if these draws, all made after equally many rounds, are as claimed."""


def stacked(feedback: Sequence[Any]) -> Any:
    """Stack the feedback of rounds as the array, or the pair of arrays, that `run` takes."""
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
        weight = plan.certificate.facts.weight
        slope = barrier.gradient(x) * weight + x / plan.eta if inside else np.full(x.size, np.nan)
        bend = barrier.hessian(x) * weight if inside else np.full((x.size, x.size), np.nan)
        gradients = np.vstack([slope, domain.restrict(self.loss.gradients(point, self.rows))])
        return Path(
            gradients, np.concatenate([(bend + np.eye(x.size) / plan.eta)[None], self._hessians(point, x.size)])
        )

    def _hessians(self, point: FloatArray, size: int) -> FloatArray:
        if isinstance(self.loss, LinkLoss):
            return self._of_links(self.loss, self.rows, point)
        strength = self.loss.strength if isinstance(self.loss, QuadraticLoss) else 0.0
        return np.broadcast_to(strength * np.eye(size), (len(self.rows), size, size))

    def _of_links(self, loss: LinkLoss, rows: FloatArray, point: FloatArray) -> FloatArray:
        inner = self.plan.domain.restrict(rows[:, :-1])
        curvature = loss.curvature(rows[:, :-1] @ point, rows[:, -1])
        return np.asarray(curvature[:, None, None] * inner[:, :, None] * inner[:, None, :])

    def _origin(self, draw: Draw) -> FloatArray:
        return self.plan.domain.to_hull(draw.point) if draw.minimiser is None else draw.minimiser

    def objective(self, x: FloatArray, finished: int) -> tuple[FloatArray, FloatArray]:
        """Compute grad J_t and hess J_t at a point of the interior."""
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
        """Compute the negative logarithm of the density, up to its constant."""
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
        """Compute P[coordinate k is below its value] given the coordinates before it."""
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
        """Compute the logarithm of the integral of exp(-potential) over all coordinates after the prefix."""
        if prefix.shape[1] == self.domain.dimension:
            return -self.potential(prefix, finished)
        low, high = self._bounds(prefix)
        logs = self._at_nodes(prefix, finished) + self._log_weights
        return np.asarray(logsumexp(logs, axis=1) + np.log(np.maximum((high - low) / 2, TINY)))

    def _at_nodes(self, prefix: FloatArray, finished: int) -> FloatArray:
        """Compute `_log_mass` with one coordinate more, at each of its nodes: of shape (prefixes, nodes)."""
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
        """Give the interval of the next coordinate."""
        domain, k = self.domain, prefix.shape[1]
        if isinstance(domain, Box):
            return np.full(len(prefix), domain.low[k]), np.full(len(prefix), domain.high[k])
        assert isinstance(domain, Ball)
        reach = np.sqrt(np.maximum(0.0, domain.radius**2 - np.sum(prefix**2, axis=1)))
        return -reach, reach


@dataclass(frozen=True)
class Transcript:
    """The point of every round; with a second chain also the reference, which stood beside it.

    Attributes:
        points: what was played.
        references: what stood beside it.
        minima: noise and minimiser of every draw, in order, of learners that have them. Never released.
    """

    points: FloatArray
    references: FloatArray | None = None
    minima: tuple[tuple[FloatArray, FloatArray], ...] = ()


@dataclass(frozen=True)
class Toss:
    """A coin.

    Attributes:
        kept: what it said.
        log_keep: the logarithm of the claimed probability of that.
        position: where in its range it stood, in [-1, 1]; for a reference, whether the decision was kept.
        held: which draw was held.
        reference: whether it is the reference's coin.
    """

    kept: bool
    log_keep: float
    position: float
    held: int
    reference: bool = False


@dataclass
class Reading:
    """What transcripts show under a claim."""

    draws: list[Draw] = field(default_factory=list)
    tosses: list[Toss] = field(default_factory=list)


def claim_of(plan: Plan, feedback: Sequence[Any]) -> Claim:
    """Give the claim of a plan about this stream."""
    if isinstance(plan, CTRL):
        return PerturbedMinimiser(plan, feedback)
    if isinstance(plan, L2PConvex):
        return Gibbs(plan, feedback)
    raise InvalidInput(f"No audit knows which densities {plan.algorithm} claims for its draws.")


def transcript(plan: Plan, feedback: Sequence[Any], source: Randomness) -> Transcript:
    """Run the shipped learner once."""
    with recorded_minima() as minima:
        learner = plan.start(source)
        if isinstance(learner, L2PConvexLearner) and learner.reference is not None:
            return stepwise(learner, feedback)
        points = np.asarray(learner.run(stacked(feedback)))
    return Transcript(points, minima=tuple(minima))


@contextmanager
def recorded_minima() -> Iterator[list[tuple[FloatArray, FloatArray]]]:
    """Give the noise and the certified minimiser of every draw in this context, in order."""
    honest: Callable[..., Any] = vars(coupled)["perturbed_minimum"]
    seen: list[tuple[FloatArray, FloatArray]] = []

    def minimum(losses: Any, *, noise: FloatArray, **settings: Any) -> Any:
        found = honest(losses, noise=noise, **settings)
        seen.append((np.copy(noise), np.copy(found.point)))
        return found

    with swapped((coupled, "perturbed_minimum", minimum)):
        yield seen


def stepwise(learner: Learner, feedback: Sequence[Any]) -> Transcript:
    """Run once, round by round; the reference is looked up beside the run."""
    points, references = [], []
    for row in feedback:
        points.append(np.asarray(learner.play()))
        reference = learner.reference if isinstance(learner, L2PConvexLearner) else None
        if reference is not None:
            references.append(reference)
        learner.observe(row)
    return Transcript(np.array(points), np.array(references) if references else None)


def read(claim: Claim, seen: Transcript, reading: Reading | None = None) -> float:
    """Give the log likelihood of a transcript; its draws and coins join the reading."""
    noted = Reading() if reading is None else reading
    references = seen.references
    second = references is not None and claim.reference_keep < 1
    minimisers = iter([minimiser for _, minimiser in seen.minima])
    total = _drawn(claim, noted, Draw(0, seen.points[0], next(minimisers, None)))
    held = len(noted.draws) - 1
    reference_held = held
    if references is not None and second:
        total += _drawn(claim, noted, Draw(0, references[0]))
        reference_held = len(noted.draws) - 1
    for finished in range(1, len(seen.points)):
        point, following = seen.points[finished - 1], seen.points[finished]
        kept = bool(np.array_equal(point, following))
        if finished not in claim.decisions:
            if not kept:
                return -np.inf  # a point that moves where nothing is decided
            continue
        beside_it = None if references is None else references[finished - 1]
        log_keep = claim.log_keep(noted.draws[held], beside_it, finished)
        position = 1 + (log_keep - claim.log_force) / claim.half_range if log_keep > -np.inf else 0.0
        noted.tosses.append(Toss(kept, log_keep, position, held))
        total += _log_bit(kept, log_keep)
        if not kept:
            total += _drawn(claim, noted, Draw(finished, following, next(minimisers, None)))
            held = len(noted.draws) - 1
        if references is None or not second:
            continue
        beside = 1.0 if kept else -1.0
        kept = bool(np.array_equal(references[finished - 1], references[finished]))
        log_keep = float(np.log(claim.reference_keep))
        noted.tosses.append(Toss(kept, log_keep, beside, reference_held, reference=True))
        total += _log_bit(kept, log_keep)
        if not kept:
            total += _drawn(claim, noted, Draw(finished, references[finished]))
            reference_held = len(noted.draws) - 1
    return total


def _drawn(claim: Claim, reading: Reading, draw: Draw) -> float:
    reading.draws.append(draw)
    return claim.log_density(draw)


def _log_bit(kept: bool, log_keep: float) -> float:
    if kept:
        return log_keep
    return float(np.log(-np.expm1(log_keep))) if log_keep < 0 else -np.inf


def normals_of(claim: Claim, draws: Sequence[Draw]) -> FloatArray:
    """Give the standard normal vector of each draw."""
    times = np.array([draw.finished for draw in draws])
    made = np.empty((len(draws), claim.domain.hull_dimension))
    for finished in np.unique(times):
        here = np.flatnonzero(times == finished)
        made[here] = claim.normals([draws[int(index)] for index in here])
    return made


def surprises(claim: Claim, reading: Reading, first: int, later: int, slack: float) -> list[Surprise]:
    """Test the first draws of runs, the later draws (fixed numbers of each, in order), and all coins.

    A run ends when its coins say so, hence the number of its draws is random; but the sequence of all draws of all
    runs is one of independent draws, and a fixed number from its beginning can be tested exactly.
    """
    outside = sum(not claim.domain.contains(draw.point, 1e-9) for draw in reading.draws)
    if outside:
        return [Surprise("draws outside the domain", np.inf)]
    normals = normals_of(claim, reading.draws)
    initial = np.array([draw.finished == 0 for draw in reading.draws])
    found = normal_surprises(normals[initial][:first], "first draws", slack)
    found += normal_surprises(normals[~initial][:later], "later draws", slack)
    for label, reference in (("coins", False), ("coins of the reference", True)):
        tosses = [toss for toss in reading.tosses if toss.reference == reference]
        if tosses:
            found.append(_coins(tosses, normals, label))
    return found


def _coins(tosses: list[Toss], normals: FloatArray, label: str) -> Surprise:
    """Bet on the average, on the place in the range, and on what is held."""
    holding = normals[[toss.held for toss in tosses]]
    lengths = chdtr(holding.shape[1], np.sum(holding**2, axis=1))
    positions = [toss.position for toss in tosses]
    weights = np.column_stack([np.ones(len(tosses)), positions, 2 * ndtr(holding) - 1, 2 * lengths - 1])
    kept = np.array([toss.kept for toss in tosses], dtype=bool)
    return coin_surprise(kept, np.exp([toss.log_keep for toss in tosses]), weights, label)
