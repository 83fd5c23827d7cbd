"""Does the noise that a plan draws have its declared law?

Replays and probes price noise by its declared density; here the shipped samplers are tested against it. Every vector
becomes independent standard normal numbers and fair signs, and the tests are those of `tacit.auditing.statistics`:

- normal noise is taken as it is;
- density exp(-|z|_q): |z|_q is a Gamma(d, 1) variable, the shares |z_i|^q/|z|_q^q have a Dirichlet(1/q, ..., 1/q) law,
  broken off one after the other as independent beta variables, and signs are fair coins (Laplace noise: q = 1);
- cube noise, of density exp(-max |z_j|): the largest coordinate is a Gamma(d, 1) variable, its sign a fair coin, and
  the others are uniform between it and its negative.

On the lattices of plans a step is too small to be seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammainc, gammaincc, ndtri

from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import OnlineToBatchLearner
from tacit.auditing.report import Finding
from tacit.auditing.statistics import FAILURE, Surprise, coin_surprise, normal_surprises, worst_surprise
from tacit.auditing.tapes import LatticePlan, SummingPlan
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import Draws
from tacit.noise.running_sums.running_sum import Grid
from tacit.problems import Stochastic
from tacit.runtime.plan import Plan
from tacit.validation import FloatArray

# Coordinates of vectors of float64 noise, where the sums have no lattice with a dimension of its own.
DIMENSION = 3


def sum_noise(plan: Plan, source: Randomness, *, coordinates: int) -> Finding:
    """Test the unit noise of a running sum in float64, and on the plan's lattice if it has one."""
    grid = plan.grid if isinstance(plan, LatticePlan) else None
    assert isinstance(plan, SummingPlan)
    kind = plan.mechanism.noise
    draw = plan.mechanism.noise_from(source.stream("float"), DIMENSION)
    tests = surprises(_vectors(draw, DIMENSION, coordinates), kind)
    if grid is not None and grid.units:
        tests += surprises(_lattice(grid, source, coordinates), kind)
    return _finding("noise of sums", f"{plan.mechanism}", tests, coordinates, f"{kind} noise")


def plan_noise(plan: Plan, source: Randomness, *, coordinates: int) -> Finding:
    """Test the noise that a started one-pass learner adds to its sums, as the learner wired it.

    Of plans that release one model, the sampler itself; that the learner draws from it is seen by integration.
    """
    learner, problem = plan.start(source), plan.problem
    assert isinstance(problem, Stochastic)
    norm = Norm()
    noise: Draws = norm.exponential_noise(source.stream("noise"))
    if isinstance(learner, OnlineToBatchLearner):
        norm, noise = learner.plan.norm, learner._sums.fresh
    return norm_noise(noise, norm, problem.domain.dimension, coordinates=coordinates)


def norm_noise(noise: Draws, norm: Norm, dimension: int, *, coordinates: int) -> Finding:
    """Test vectors of about so many coordinates in all against the density exp(-|z|_q)."""
    tests = surprises(_vectors(noise, dimension, coordinates), norm.dual)
    label = f"{dimension} dimensions, dual norm l_{norm.dual:g}"
    return _finding("norm noise", label, tests, coordinates, "the density exp(-|z|)")


def surprises(vectors: FloatArray, law: str | float) -> list[Surprise]:
    """Test vectors against a law: "gaussian", "laplace", "cube", or the q of the density exp(-|z|_q)."""
    if law == "gaussian":
        return normal_surprises(vectors, "gaussian noise")
    if law == "cube":
        normals, signs = standardised_cube(vectors)
        reasons = np.ones((len(signs), 1))
    else:
        normals, signs = standardised(vectors, law if isinstance(law, float) else 1.0), vectors.ravel() > 0
        # Bets on each sign alone, and on its agreement with the coordinate before it.
        before = np.where(np.roll(vectors, 1, axis=1) > 0, 1.0, -1.0).ravel()
        reasons = np.column_stack([np.ones(signs.size), before][: vectors.shape[1]])
    coins = coin_surprise(signs, np.full(signs.size, 0.5), reasons, "signs of noise")
    return [*normal_surprises(normals, "noise"), coins]


def _vectors(noise: Draws, dimension: int, coordinates: int) -> FloatArray:
    return np.array([noise(dimension) for _ in range(max(200, coordinates // dimension))])


def _lattice(grid: Grid, source: Randomness, coordinates: int) -> FloatArray:
    """Give draws on the lattice in units of their scale."""
    dimension = grid.records.dimension
    draws = max(200, coordinates // dimension)
    vectors = grid.noise(source, "noise").draw(draws * dimension) * (grid.step / grid.scale)
    return np.asarray(vectors, dtype=np.float64).reshape(draws, dimension)


def _finding(method: str, label: str, tests: list[Surprise], coordinates: int, law: str) -> Finding:
    worst, limit = worst_surprise(tests, FAILURE)
    return Finding(
        method, label, "-log10 of the probability of what was seen", limit, worst.value, worst.value > limit, FAILURE,
        f"{worst.name}: vectors of about {coordinates} coordinates do not have {law}", check=True,
    )  # fmt: skip


def standardised(vectors: FloatArray, power: float) -> FloatArray:
    """Map each vector's norm and shares to independent standard normal numbers, if the density is exp(-|z|)."""
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
    """Give independent standard normal numbers for each vector, and the sign of its largest coordinate."""
    draws, d = vectors.shape
    largest = np.abs(vectors).argmax(axis=1)
    top = vectors[np.arange(draws), largest]
    sizes = np.abs(top)
    others = vectors[np.arange(d) != largest[:, None]].reshape(draws, d - 1) / np.maximum(sizes, 1e-300)[:, None]
    columns = [_normal(gammainc(d, sizes), gammaincc(d, sizes)), *_normal((1 + others) / 2, (1 - others) / 2).T]
    return np.column_stack(columns), top > 0


def _normal(below: FloatArray, above: FloatArray) -> FloatArray:
    """Give the normal number with these tail probabilities, from the smaller one."""
    tail = np.maximum(np.minimum(below, above), np.finfo(np.float64).tiny)  # a tail of 0 has no finite number
    return np.asarray(np.where(below < above, ndtri(tail), -ndtri(tail)))
