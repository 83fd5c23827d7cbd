"""Objective perturbation in one dimension: the exact law of the released minimiser, by integration.

The minimiser of J(x) + Z x is at x exactly if the noise is Z = -J'(x), so its density is that of the noise at -J'(x),
times J''(x). J is the shipped learner's own sum of losses; the noise's scale is the one that reaches the minimiser.
The protection that covers inexact minimisation is left out: it only adds privacy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tacit.auditing.scripted.enumeration import Feedback, Law, Walk
from tacit.auditing.scripted.script import Script, ScriptedRandomness, Stream
from tacit.auditing.swapped_attributes import swapped
from tacit.learners.plan import Plan
from tacit.learners.stochastic import model_noise, norms
from tacit.learners.stochastic.objective_perturbation import ObjectivePerturbation, ObjectivePerturbationLearner
from tacit.numerics.bounds import WIDE_SIGMA
from tacit.numerics.discrete_gaussian import DiscreteGaussian
from tacit.numerics.source import PooledNoise
from tacit.solvers.minimum import Minimum

_CELLS = 160
# Deviations beyond which less than 1e-17 of exponential noise, or of Gaussian noise, is left.
EXPONENTIAL_TAIL, GAUSSIAN_TAIL = 40.0, 9.0
_UNIT, _WEIGHTS = np.polynomial.legendre.leggauss(4)


class UnitStream(Stream):
    """Normal noise of this stream is 1: what reaches the minimiser is its scale."""

    def standard_normal(self, count: int) -> Any:
        """Ones."""
        return np.ones(count)


class UnitRandomness(ScriptedRandomness):
    """A script whose normal noise is 1."""

    __slots__ = ()

    def _stream(self, script: Script, name: str) -> Any:
        return UnitStream(script, name)


def model_law(plan: Plan, feedback: Feedback) -> Law:
    """The law of the released model on the nodes of the quadrature."""
    assert isinstance(plan, ObjectivePerturbation)
    law: Law = {}
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while waiting:
        walk = Walk(*waiting.pop())
        with _integrated(plan, walk):
            learner = plan.start(UnitRandomness(walk))
            assert isinstance(learner, ObjectivePerturbationLearner)
            for row in feedback:
                learner.play()
                learner.observe(row)
            key = (round(float(learner.release()[0]), 12),)
        law[key] = law.get(key, 0.0) + walk.probability
        waiting += walk.branches
    return law


@contextmanager
def lattice_noise(deviations: float) -> Iterator[None]:
    """Wide discrete Gaussian draws are so many of their standard deviations; the others are 0."""
    wide = round(deviations * WIDE_SIGMA)
    swaps = (
        (DiscreteGaussian, "draw_wide", lambda self, count: np.full(count, wide)),
        (PooledNoise, "draw", lambda self, count: np.zeros(count, dtype=np.int64)),
    )
    with swapped(*swaps):
        yield


@contextmanager
def _integrated(plan: ObjectivePerturbation, walk: Walk) -> Iterator[None]:
    """Noise becomes its own scale; the minimiser asks the script where it is."""

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
            masses = weights * bend * np.exp(log_noise)
            return list((masses / masses.sum()).tolist())

        return Minimum(x[[walk.ask("noise", law)]], 0.0)

    swaps = (
        (model_noise, "perturbed_minimum", minimum),
        (norms.Norm, "exponential_noise", lambda self, generator: np.ones),
    )
    with swapped(*swaps), lattice_noise(1.0):
        yield
