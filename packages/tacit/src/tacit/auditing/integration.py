"""Numerical integration for learners with one continuous coordinate: draws become nodes of a quadrature.

In one dimension a draw has a density that the learner's own state determines. With Gauss-Legendre nodes in place of the
draw, the enumeration of `tacit.auditing.script` integrates the hockey stick over all draws of the transcript. Only
"draw from this density" is taken on trust.

- `interval_law`: a coin keeps a point exactly if an exponential clock outlives a hazard. The hazard is found by asking
  the learner's own scan again with other clocks, on copies.
- `model_law`: the minimiser of J(x) + Z x is at x exactly if the noise is Z = -J'(x), so its density is that of the
  noise at -J'(x), times J''(x).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import exp, expm1, inf
from typing import Any

import numpy as np

from tacit.algorithms.convex.ctrl import coupled
from tacit.algorithms.convex.l2p_convex import measure
from tacit.algorithms.stochastic.objective_perturbation import model_noise
from tacit.algorithms.stochastic.objective_perturbation.objective_perturbation import (
    ObjectivePerturbation,
    ObjectivePerturbationLearner,
)
from tacit.algorithms.stochastic.online_to_batch import norms
from tacit.auditing.script import (
    Feedback,
    Law,
    ScriptedRandomness,
    Stream,
    Walk,
    law_of,
    played,
    swapped,
    transcript_law,
)
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.sampler_bounds import WIDE_SIGMA
from tacit.noise.source import PooledNoise
from tacit.runtime.plan import Plan
from tacit.solvers.minimum import Minimum
from tacit.validation import FloatArray


def hazard(honest: Any, state: coupled.Held, rows: FloatArray, tosses: coupled.Coins) -> float:
    """Give the clock at which the scan changes its mind, by bisection on copies."""
    low, high = 0.0, tosses.hazard + 2 * float(tosses.log_phi[0]) + 1.0
    for _ in range(40):
        middle = (low + high) / 2
        kept = honest(copy.deepcopy(state), rows, replace(tosses, clocks=np.array([middle])))
        low, high = (low, middle) if kept else (middle, high)
    return high


NODES = 8
QUADRATURE_SLACK = 0.03
"""Relative error of integrated hockey sticks, whose integrand has kinks."""


def interval_law(plan: Plan, feedback: Feedback) -> Law:
    """Compute the law of everything released, on the nodes of the quadrature."""
    with integrated_draws():
        return transcript_law(plan, feedback)


@contextmanager
def integrated_draws(nodes: int = NODES) -> Iterator[None]:
    """Let draws from one-dimensional densities take nodes; coins that are kept as numbers are asked instead."""
    unit, weights = np.polynomial.legendre.leggauss(nodes)

    def sample(self: Any, generator: Stream) -> FloatArray:
        """Give the measure's density at the nodes, from its own history and penalty."""
        low, high = float(self._nodes[0]), float(self._nodes[-1])
        points = (low + high) / 2 + (high - low) / 2 * unit

        def masses() -> FloatArray:
            potential = self._rate * (self.losses(points[:, None]) + self._penalty(points))
            return np.asarray(weights * np.exp(potential.min() - potential))

        return np.array([points[generator.decide(lambda: _shares(masses()))]])

    def draw(self: Any) -> None:
        """Compute the density of the perturbed minimiser at x: that of the noise -J'(x), times J''(x)."""
        points = unit * (1 - 1e-9)
        barrier = self._set.hull_barrier

        def slope(x: FloatArray) -> FloatArray:
            return np.asarray(self._sums.gradient(x)[0] + self._ridge * x + self._weight * barrier.gradient(x))

        def masses() -> FloatArray:
            slopes, curvatures = np.empty(nodes), np.empty(nodes)
            for index, x in enumerate(points[:, None]):
                bend = self._sums.hessian(x) + self._weight * barrier.hessian(x)
                slopes[index], curvatures[index] = slope(x)[0], bend[0, 0] + self._ridge
            deviation = self._deviation(self._sums.count)
            return np.asarray(weights * curvatures * np.exp(-((slopes / deviation) ** 2) / 2))

        x = points[[self._streams["noise"].decide(lambda: _shares(masses()))]]
        self._hold(self._set.from_hull(x), x, -slope(x))

    scripted: list[Stream] = []

    def clocks(self: Stream, size: Any = None) -> Any:
        """Give the clocks that a learner keeps as numbers: not a number, until the learner's coin is asked."""
        if self._name != "keep" or size is None:
            return honest_clocks(self, size)
        scripted.append(self)
        return np.full(size, np.nan)

    def asked(honest_scan: Any) -> Any:
        """Give a scan of one round whose coin is the script's; its hazard is read off the shipped scan itself."""

        def scan(self: coupled.Held, rows: FloatArray, coins: coupled.Coins) -> int:
            if np.isinf(coins.clocks[0]):
                return int(honest_scan(self, rows, coins))

            def law() -> tuple[float, float]:
                limit = hazard(honest_scan, self, rows, coins)
                return exp(-limit), -expm1(-limit)

            drawn = scripted[-1].decide(law) == 1
            return int(honest_scan(self, rows, replace(coins, clocks=np.array([0.0 if drawn else inf]))))

        return scan

    honest_clocks = Stream.standard_exponential
    swaps = (
        (measure.IntervalMeasure, "sample", sample),
        (coupled.CoupledLearner, "_draw", draw),
        *((kind, "scan", asked(kind.scan)) for kind in coupled.KINDS.values()),
        (Stream, "standard_exponential", clocks),
    )
    with swapped(*swaps):
        yield


def _shares(masses: FloatArray) -> list[float]:
    return list((masses / masses.sum()).tolist())


_CELLS = 160
# Deviations beyond which less than 1e-17 of exponential noise, or of Gaussian noise, is left.
EXPONENTIAL_TAIL, GAUSSIAN_TAIL = 40.0, 9.0
_UNIT, _WEIGHTS = np.polynomial.legendre.leggauss(4)


class UnitStream(Stream):
    """Normal noise of this stream is 1: what reaches the minimiser is its scale."""

    def standard_normal(self, count: int) -> Any:
        """Give ones."""
        return np.ones(count)


def model_law(plan: Plan, feedback: Feedback) -> Law:
    """Compute the law of the released model on the nodes of the quadrature."""
    assert isinstance(plan, ObjectivePerturbation)

    def released(walk: Walk) -> tuple[float]:
        with _integrated(plan, walk):
            learner = plan.start(ScriptedRandomness(walk, UnitStream))
            assert isinstance(learner, ObjectivePerturbationLearner)
            played(learner, feedback)
            return (round(float(learner.release()[0]), 12),)

    return law_of(released)


@contextmanager
def lattice_noise(deviations: float) -> Iterator[None]:
    """Replace wide discrete Gaussian draws by so many of their standard deviations, and all others by 0."""
    wide = round(deviations * WIDE_SIGMA)
    swaps = (
        (DiscreteGaussian, "draw_wide", lambda self, count: np.full(count, wide)),
        (PooledNoise, "draw", lambda self, count: np.zeros(count, dtype=np.int64)),
    )
    with swapped(*swaps):
        yield


@contextmanager
def _integrated(plan: ObjectivePerturbation, walk: Walk) -> Iterator[None]:
    """Replace noise by its own scale; the minimiser asks the script for its place."""

    def minimum(losses: Any, *, ridge: float, noise: Any, **_: Any) -> Minimum:
        sigma = abs(float(noise[0]))
        constants = plan.problem.loss.constants(None)
        # A public interval beyond which neither stream has mass worth counting.
        reach = (
            losses.count * 5 * constants.lipschitz + (EXPONENTIAL_TAIL if plan.pure else GAUSSIAN_TAIL) * sigma
        ) / ridge
        edges = np.linspace(-reach, reach, _CELLS + 1)
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        x = (middle[:, None] + half[:, None] * _UNIT).ravel()
        weights = (half[:, None] * _WEIGHTS).ravel()

        def law() -> list[float]:
            slope = np.array([losses.gradient(np.array([point]))[0][0] for point in x]) + ridge * x
            bend = np.array([losses.hessian(np.array([point]))[0, 0] for point in x]) + ridge
            log_noise = -np.abs(slope) / sigma if plan.pure else -((slope / sigma) ** 2) / 2
            return _shares(weights * bend * np.exp(log_noise))

        return Minimum(x[[walk.ask("noise", law)]], 0.0)

    swaps = (
        (model_noise, "perturbed_minimum", minimum),
        (norms.Norm, "exponential_noise", lambda self, generator: np.ones),
    )
    with swapped(*swaps), lattice_noise(1.0):
        yield
