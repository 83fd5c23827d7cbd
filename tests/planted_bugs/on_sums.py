"""Planted bugs in learners that hide vectors behind noise, and in the noise of cubes."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from planted_bugs.catalogue import Control, around, both, planting, swap
from planted_bugs.sums import STEPS, column, hedge_plan, replayed, sampled
from tacit.algorithms.experts import hedge_on_sums as hedge
from tacit.algorithms.tracking import noisy_mirror_descent as mirror_descent
from tacit.noise import noisy_vectors
from tacit.noise.cube import CubeNoise, CubeRadius
from tacit.noise.discrete_laplace import geometric
from tacit.noise.noisy_vectors import NoisyVectors
from tacit.noise.running_sums import Buffered, CubeTree
from tacit.noise.running_sums.accumulators import LossRecords, tree_levels
from tacit.noise.running_sums.tree import NodeTree
from tacit.problems import Tracking
from tacit.runtime.plan import Plan


@around
def _second_release(honest: Any, self: hedge.HedgeOnSumsLearner, losses: Any) -> None:
    """The same losses are summed twice, with fresh noise, at the full budget each time."""
    mechanism, kept = self.plan.mechanism, vars(self)
    if "_twin" not in kept:
        kept["_twin"] = mechanism.start(self._n, self.plan.scale, np.zeros)  # what it draws is frozen anyway
    if self._round + 1 != self.plan.rounds:
        kept["_twin"].add(losses - 0.5)
    honest(self, losses)


@around
def _leader_sees_losses(honest: Any, self: hedge.HedgeOnSumsLearner, losses: Any) -> None:
    """The decision looks at the exact losses beside the noisy sums."""
    honest(self, losses)
    if self._round + 1 != self.plan.rounds:
        self._move(int(np.argmax(self._gumbel - 5 * losses)))


@around
def _one_geometric_less(honest: Any, self: CubeRadius, count: int) -> Any:
    """The radius of cube noise from N geometrics instead of N + 1."""
    radii = geometric(self._sizes, self.rate, count * self.dimension).reshape(count, -1).sum(axis=1)
    odd = 2 * radii[:, None] + 1
    heads = self._coins.integers(odd - 1 + 2 * np.arange(1, self.dimension + 1)) < odd
    return radii[heads.all(axis=1)]


@around
def _on_the_sphere(honest: Any, self: CubeNoise, count: int) -> Any:
    """A uniform direction times the radius: round where it should be square."""
    radii = self._radii.draw(-(-count // self.dimension))[:, None]
    normals = ndtri((self._points.integers(np.full((len(radii), self.dimension), 2**40)) + 0.5) / 2**40)
    return np.rint(radii * normals / np.linalg.norm(normals, axis=1, keepdims=True)).astype(np.int64).ravel()


def _coordinate_noise() -> Any:
    """Laplace noise of scale 1/epsilon on each of N coordinates, as printed."""
    return both(
        swap(LossRecords, "move", lambda honest: lambda self, noise: 1.0),
        swap(LossRecords, "pure_shift", lambda honest: lambda self, noise, units: units),
    )


def _half_cube() -> Any:
    """Cube noise for losses that move by half as much as they may."""
    return both(
        swap(LossRecords, "move", lambda honest: lambda self, noise: honest(self, noise) / 2),
        swap(LossRecords, "pure_shift", lambda honest: lambda self, noise, units: honest(self, noise, units) // 2),
    )


@around
def _keeps_the_batch(honest: Any, self: NoisyVectors, rows: Any) -> Any:
    """The sum of a batch is not forgotten when it is released: its losses enter every later release as well."""
    kept = vars(self).setdefault("_kept", np.zeros(self._waiting.size))
    before = self._waiting.copy()
    records = self.grid.records.quantised(rows, self.grid.units, 1.0)
    noisy = honest(self, rows)
    if len(noisy):
        kept += before + records.sum(axis=0)
        self._waiting = kept.copy()
    return noisy


def _descent(noise: str, **options: Any) -> Plan:
    problem = Tracking(n=3, horizon=8, switches=1)
    delta = 1e-6 if noise == "gaussian" else 0.0
    return mirror_descent.NoisyMirrorDescent.calibrate(problem, epsilon=1.0, delta=delta, noise=noise, **options)


in_experts = planting("experts")
in_sums = planting("sums")
CONTROLS: tuple[Control, ...] = (
    in_experts("sensitivity halved (Hedge)", LossRecords, "move",
               lambda honest: lambda self, noise: honest(self, noise) / 2,
               lambda: replayed(hedge_plan(Buffered(STEPS)))),
    in_experts("budget spent twice (Hedge)", hedge.HedgeOnSumsLearner, "_absorb", _second_release,
               lambda: replayed(hedge_plan(Buffered(STEPS)))),
    in_experts("decision looks at the exact losses (Hedge)", hedge.HedgeOnSumsLearner, "_absorb", _leader_sees_losses,
               lambda: replayed(hedge_plan(Buffered(STEPS)))),
    in_sums("cube radius of one geometric less", CubeRadius, "_attempts", _one_geometric_less,
            lambda: sampled(CubeTree(STEPS, 3))),
    in_sums("cube noise on a sphere", CubeNoise, "_produce", _on_the_sphere, lambda: sampled(CubeTree(STEPS, 3))),
    in_sums("off-by-one tree: a level is not counted (cube)", NodeTree, "nodes",
            column(lambda self: tree_levels(self.steps, self.base) - 1),
            lambda: replayed(hedge_plan(CubeTree(STEPS, 3)))),
    Control(
        "sensitivity halved (Hedge, cube)", "experts",
        _half_cube(), lambda: replayed(hedge_plan(CubeTree(STEPS, 3))),
    ),
    Control(
        "Laplace 1/epsilon on N coordinates", "tracking",
        _coordinate_noise(),
        lambda: replayed(_descent("laplace")),
    ),
    Control(
        "a batch that is never forgotten", "tracking", swap(NoisyVectors, "add", _keeps_the_batch),
        lambda: replayed(_descent("cube", batch=2)),
    ),
    Control(
        "rounds of one batch priced as if apart", "tracking",
        both(
            swap(mirror_descent, "together", lambda honest: lambda rounds, batch: sqrt(rounds)),
            swap(noisy_vectors, "together", lambda honest: lambda rounds, batch: sqrt(rounds)),
        ),
        lambda: replayed(_descent("gaussian", batch=2, rounds_per_person=2)),
    ),
)  # fmt: skip
