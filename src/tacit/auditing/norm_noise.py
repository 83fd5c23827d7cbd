"""Noise with the density of a norm: does the shipped sampler have it?

Replays of pure one-pass plans in float64 price their noise by its declared density exp(-|z|_q). That is what this
attack tests: under it |z|_q is a Gamma(d, 1) variable, the shares |z_i|^q/|z|_q^q have a Dirichlet(1/q, ..., 1/q) law,
broken off one after the other as independent beta variables, and signs are fair coins; all of them independent. Each
becomes a standard normal number or a bet, and the tests are those of `tacit.auditing.statistics`.

Cube noise, of density exp(-max |z_j|), in the same way: the largest coordinate is a Gamma(d, 1) variable, its sign a
fair coin, and the others are uniform between it and its negative. On the lattices of plans a step is too small to be
seen.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammainc, gammaincc, ndtri

from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import OnlineToBatchLearner
from tacit.auditing.report import Finding
from tacit.auditing.statistics import FAILURE, coin_surprise, normal_surprises, worst_surprise
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import Draws, unit_noise
from tacit.noise.running_sums.running_sum import Grid
from tacit.problems import Stochastic
from tacit.runtime.plan import Plan
from tacit.validation import FloatArray


@runtime_checkable
class CubePlan(Protocol):
    """What the attack on cube noise needs of a plan: the lattice of its losses."""

    @property
    def grid(self) -> Grid:
        """The lattice; without units it is float64."""


def plan_noise(plan: Plan, source: Randomness, *, coordinates: int) -> Finding:
    """The noise that a started one-pass learner adds to its sums, as the learner wired it.

    Of plans that release one model, the sampler itself; that the learner draws from it is seen by integration.
    """
    learner, problem = plan.start(source), plan.problem
    assert isinstance(problem, Stochastic)
    norm = Norm()
    noise: Draws = norm.exponential_noise(source.stream("noise"))
    if isinstance(learner, OnlineToBatchLearner):
        norm, noise = learner.plan.norm, learner.noise
    return norm_noise(noise, norm, problem.domain.dimension, coordinates=coordinates)


def cube_noise(plan: Plan, source: Randomness, *, coordinates: int) -> Finding:
    """The noise that hides the losses of a plan, against the density exp(-max |z_j|/scale)."""
    assert isinstance(plan, CubePlan)
    grid = plan.grid
    dimension = grid.records.dimension
    draws = max(200, coordinates // dimension)
    if grid.units:
        vectors = grid.noise(source, "noise").draw(draws * dimension) * (grid.step / grid.scale)
    else:
        vectors = unit_noise("cube", source.stream("noise"), dimension)(draws * dimension)
    normals, signs = standardised_cube(np.asarray(vectors, dtype=np.float64).reshape(draws, dimension))
    tests = normal_surprises(normals, "cube noise")
    tests.append(coin_surprise(signs, np.full(draws, 0.5), np.ones((draws, 1)), "signs of cube noise"))
    worst, limit = worst_surprise(tests, FAILURE)
    return Finding(
        "cube noise", f"{dimension} dimensions", "-log10 of the probability of what was seen", limit, worst.value,
        worst.value > limit, FAILURE, f"{worst.name}: {draws} vectors do not have the density exp(-max |z|)",
        check=True,
    )  # fmt: skip


def norm_noise(noise: Draws, norm: Norm, dimension: int, *, coordinates: int) -> Finding:
    """Vectors of about so many coordinates in all, against the density exp(-|z|_q)."""
    draws = max(200, coordinates // dimension)
    vectors = np.array([noise(dimension) for _ in range(draws)])
    normals, signs = standardised(vectors, norm.dual), vectors > 0
    tests = normal_surprises(normals, "norm noise")
    # Bets on each sign alone, and on its agreement with the coordinate before it.
    before = np.where(np.roll(signs, 1, axis=1), 1.0, -1.0).ravel()
    reasons = np.column_stack([np.ones(signs.size), before])
    if dimension == 1:
        reasons = reasons[:, :1]
    tests.append(coin_surprise(signs.ravel(), np.full(signs.size, 0.5), reasons, "signs of norm noise"))
    worst, limit = worst_surprise(tests, FAILURE)
    return Finding(
        "norm noise", f"{dimension} dimensions, dual norm l_{norm.dual:g}",
        "-log10 of the probability of what was seen", limit, worst.value, worst.value > limit, FAILURE,
        f"{worst.name}: {draws} vectors do not have the density exp(-|z|)", check=True,
    )  # fmt: skip


def standardised(vectors: FloatArray, power: float) -> FloatArray:
    """The norm and the shares of each vector as independent standard normal numbers, if the density is exp(-|z|)."""
    d = vectors.shape[1]
    # Divided by the largest entry first: high powers of small numbers vanish.
    top = np.max(np.abs(vectors), axis=1, keepdims=True)
    powers = (np.abs(vectors) / top) ** power
    left = np.cumsum(powers[:, ::-1], axis=1)[:, ::-1]  # of this coordinate and all after it
    sizes = top[:, 0] * left[:, 0] ** (1 / power)
    columns = [_normal(gammainc(d, sizes), gammaincc(d, sizes))]
    for i in range(d - 1):
        one, others = 1 / power, (d - 1 - i) / power
        share = powers[:, i] / left[:, i]
        columns.append(_normal(betainc(one, others, share), betainc(others, one, left[:, i + 1] / left[:, i])))
    return np.column_stack(columns)


def standardised_cube(vectors: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Independent standard normal numbers for each vector, and the sign of its largest coordinate."""
    draws, d = vectors.shape
    largest = np.abs(vectors).argmax(axis=1)
    top = vectors[np.arange(draws), largest]
    sizes = np.abs(top)
    others = vectors[np.arange(d) != largest[:, None]].reshape(draws, d - 1) / np.maximum(sizes, 1e-300)[:, None]
    columns = [_normal(gammainc(d, sizes), gammaincc(d, sizes)), *_normal((1 + others) / 2, (1 - others) / 2).T]
    return np.column_stack(columns), top > 0


def _normal(below: FloatArray, above: FloatArray) -> FloatArray:
    """The normal number with these tail probabilities, from the smaller one."""
    tail = np.maximum(np.minimum(below, above), np.finfo(np.float64).tiny)  # a tail of 0 has no finite number
    return np.asarray(np.where(below < above, ndtri(tail), -ndtri(tail)))
