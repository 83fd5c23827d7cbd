"""Exact audit of running sums: the shipped accumulator is probed with unit noises, and its linear maps are read off.

Released sums are A x + B z: x the data, z independent unit noises. One run of the accumulator on unit vectors of
data without noise gives A, one on unit vectors of noise gives B; both come from the code that users run. Then

    Gaussian noise:  mu = |B^+ A dx| exactly (infinite if A dx leaves the range of B: an outcome without noise),
    Laplace noise:   epsilon = |B^-1 A dx|_1 exactly, for B with one fresh noise a step;
    cube noise:      the same with the largest coordinate of each step's noise, added up over the steps.

No sampling and no confidence level: noise that is too small by one part in a million is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from tacit.auditing.scripted.script import NotEnumerable
from tacit.mechanisms.running_sums.base import NoiseKind, RunningSum
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.validation import FloatArray

# Relative rounding of the solves; the plans round their noise up by more than that.
SOLVE_SLACK = 1e-9


@runtime_checkable
class SummingPlan(Protocol):
    """What the attacks on running sums need of a plan: its sum, and the mu or epsilon of it."""

    mechanism: RunningSum
    privacy: float


@runtime_checkable
class LatticePlan(SummingPlan, Protocol):
    """A plan whose sums may run on a lattice, and the mu or epsilon of each of the noises that hide the same sums."""

    grid: Grid
    privacy_per_stream: float


@dataclass(frozen=True)
class Response:
    """How the released sums answer to data (steps x steps) and to unit noises (steps x draws) of this kind."""

    data: FloatArray
    noise: FloatArray
    kind: NoiseKind

    def loss(self, shift: FloatArray, norms: Callable[[FloatArray], FloatArray] | None = None) -> float:
        """Mu (Gaussian) or epsilon between data that differ by `shift`, of shape (steps, dimension).

        `norms` gives the norm of each noise vector's density exp(-|z|) if it is not that of its kind.
        """
        moved = self.data @ shift
        white = np.asarray(np.linalg.lstsq(self.noise, moved, rcond=1e-12)[0], dtype=np.float64)
        left = np.abs(moved - self.noise @ white)
        if np.any(left > 1e-7 * max(1.0, float(np.max(np.abs(moved), initial=0.0)))):
            return float("inf")
        if self.kind == "gaussian":
            return float(np.sqrt(np.sum(white**2)))
        if self.noise.shape[1] != self.noise.shape[0]:
            raise NotEnumerable("A pure sum with more noises than steps has no closed privacy loss.")
        return float(np.sum(noise_sizes(white, self.kind) if norms is None else norms(white)))


def noise_sizes(vectors: FloatArray, kind: str) -> FloatArray:
    """The norm of each row in which pure noise of this kind is paid."""
    sizes = np.abs(vectors)
    return np.asarray(sizes.max(axis=1) if kind == "cube" else sizes.sum(axis=1))


def response(mechanism: RunningSum, scale: float, sensitivities: Sequence[float] | None = None) -> Response:
    """Probe the accumulator that `mechanism` starts at this scale."""
    steps = mechanism.steps
    growth = [1.0] * steps if sensitivities is None else list(sensitivities)
    quiet = mechanism.start(max(1, steps), scale, np.zeros)
    data = np.array([quiet.add(row, s) for row, s in zip(np.eye(steps), growth, strict=True)]).reshape(steps, steps)
    draws = steps
    while True:
        source = _UnitNoises(draws)
        probed = mechanism.start(max(1, draws), scale, source)
        nothing = np.zeros(max(1, draws))
        noise = np.array([probed.add(nothing, s) for s in growth]).reshape(steps, -1)
        if source.calls <= draws:
            return Response(data, noise[:, : max(source.calls, 1)], mechanism.noise)
        draws = 2 * source.calls  # more than one fresh noise a step: probe again with room for all


def exact_loss(mechanism: RunningSum, scale: float, sensitivity: float = 1.0) -> float:
    """The exact mu or epsilon of the worst single step whose vector moves by `sensitivity` in its norm."""
    answer = response(mechanism, scale)
    unit = np.eye(mechanism.steps)
    return max((answer.loss(sensitivity * unit[:, [step]]) for step in range(mechanism.steps)), default=0.0)


class _UnitNoises:
    """The i-th draw is the i-th unit vector."""

    def __init__(self, draws: int) -> None:
        self._draws = draws
        self.calls = 0

    def __call__(self, count: int) -> FloatArray:
        noise = np.zeros(count)
        if self.calls < self._draws:
            noise[self.calls] = 1.0
        self.calls += 1
        return noise
