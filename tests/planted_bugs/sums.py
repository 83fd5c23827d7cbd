"""Planted bugs in running sums."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from attacks import rows
from planted_bugs.catalogue import Control, around, planting, swap
from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.experts import hedge_on_sums as hedge
from tacit.algorithms.stochastic import OnlineToBatch
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import ClippedDifferences
from tacit.auditing import attacks
from tacit.auditing.noise_laws import sum_noise
from tacit.auditing.report import Finding
from tacit.domains import Ball
from tacit.losses import LinearLoss, LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, Tree
from tacit.noise.running_sums.accumulators import (
    Accumulator,
    GrowingTreeAccumulator,
    SummedRecords,
    TreeAccumulator,
    digit_sum,
    tree_levels,
)
from tacit.noise.running_sums.running_sum import FIRST_MULTIPLE, RunningSum
from tacit.problems import Convex, Experts, Stochastic
from tacit.runtime.plan import Plan

STEPS = 11


def hedge_plan(mechanism: RunningSum, **changes: Any) -> hedge.HedgeOnSums:
    """Hedge on this sum at privacy 1."""
    problem = Experts(n=3, horizon=mechanism.steps + 1)
    return replace(hedge.HedgeOnSums(problem, eta=0.1, mechanism=mechanism, privacy=1.0), **changes)


def sampled(mechanism: RunningSum) -> Finding:
    """Attack a sum by the law of the noise that it draws."""
    return sum_noise(hedge_plan(mechanism), Randomness.replayable(1), coordinates=20_000)


def moved(mechanism: RunningSum, people: int = 1, separation: int = 1) -> Finding:
    """Attack sums of vectors on a coarse lattice by the draws that release the same on a neighbour."""
    problem = Convex(domain=Ball(3), loss=LinearLoss(), horizon=mechanism.steps + 1)
    persons = {"rounds_per_person": people, "separation": separation}
    plan = PrivateFTRL(problem, eta=0.1, mechanism=mechanism, privacy=1e-4, **persons)
    return attacks.lattice(plan, Randomness.replayable(3).stream("controls"), pairs=12)


def batched(people: int = 4) -> Finding:
    """A person whose rounds all fall into the first batch moves it by as many records: the draws, in scales."""
    mechanism, records = Buffered(STEPS), SummedRecords(3, 2, people)
    scale = mechanism.grid(1.0, records).scale
    moved = 2 * people * np.linalg.norm(mechanism.matrices()[1][:, 0]) / scale
    return Finding("reference", "sums of batches", "mu", 1.0, float(moved), violation=bool(moved > 1 + 1e-9))


def replayed(plan: Plan) -> Finding:
    """Attack a learner by record and replay."""
    small = next(small for small in plan.small_instances() if small.attack == "replayed noise")
    return attacks.replayed(small, Randomness.replayable(2).stream("controls"), pairs=12)


def _scaled(factor: float) -> Any:
    """An accumulator whose noise is scaled."""

    def make(honest: Any) -> Any:
        def init(self: Accumulator, steps: int, dimension: int, scale: float, noise: Any, grid: Any = None) -> None:
            honest(self, steps, dimension, scale * factor, noise, grid)

        return init

    return swap(Accumulator, "__init__", make)


def _sampler(factor: float) -> Any:
    """A noise source whose numbers are scaled."""

    def make(honest: Any) -> Any:
        def noise_from(self: RunningSum, generator: np.random.Generator, dimension: int = 1) -> Any:
            source = honest(self, generator, dimension)
            return lambda count: factor * source(count)

        return noise_from

    return swap(RunningSum, "noise_from", make)


@around
def _same_noise(honest: Any, self: RunningSum, generator: np.random.Generator, dimension: int = 1) -> Any:
    kept: list[Any] = []

    def source(count: int) -> Any:
        if not kept:
            kept.append(honest(self, generator, dimension)(count))
        return kept[0]

    return source


@around
def _redrawn(honest: Any, self: TreeAccumulator, fresh: Any, stretch: float) -> Any:
    noise = fresh
    for _ in range(digit_sum(self._step, self._base) - 1):
        noise = noise + self._scale * self._noise(self.dimension)
    before, vars(self)["_before"] = vars(self).get("_before", 0.0), noise
    return noise - before


@around
def _late_noise(honest: Any, self: Accumulator, x: Any, sensitivity: float = 1.0) -> Any:
    """The first sum is read before its noise is there."""
    noisy = honest(self, x, sensitivity)
    return self.record(x, sensitivity).copy() if self._step == 1 else noisy


@around
def _thinned(honest: Any, self: Accumulator, x: Any, sensitivity: float) -> Any:
    """Draws times 3 on data that stay as they are: what is released shows the data modulo 3."""
    record, fresh, stretch = honest(self, x, sensitivity)
    return record, 3 * fresh, stretch


@around
def _floored_sums(honest: Any, self: Accumulator, x: Any, sensitivity: float) -> Any:
    """Vectors are added up in float64 and floored afterwards."""
    _, fresh, stretch = honest(self, x, sensitivity)
    totals = vars(self).setdefault("_totals", {0: np.zeros(x.size)})
    units, total = self._grid.units if self._grid else 1, totals[self._step] + x  # by step: a step may be undone
    totals[self._step + 1] = total
    return np.floor(total * units) - np.floor(totals[self._step] * units), fresh, stretch


def _unrounded(honest: Any) -> Any:
    """The correction that correlates the noise is not rounded: its fractions are those of past draws."""
    return lambda self, correction: correction


def _first_length(honest: Any) -> Any:
    """A node counts its records in the steps of the first one: what came later weighs more than it was paid for."""
    return staticmethod(lambda total, count: honest.__func__(total, FIRST_MULTIPLE))


def growing() -> Finding:
    """Attack the lattice of a pure pass whose records grow."""
    problem = Stochastic(domain=Ball(2, radius=3.0), loss=LogisticLoss(), horizon=STEPS)
    plan = OnlineToBatch.calibrate(problem, epsilon=1.0, delta=0.0, power=2.0)
    return attacks.lattice(plan, Randomness.replayable(12).stream("controls"), pairs=6)


def emptied() -> Finding:
    """How far an emptied record is from one of the data, in a pass under zero-out that clips hard."""
    problem = Stochastic(domain=Ball(1), loss=QuadraticLoss(), horizon=4, initial=(0.5,))
    plan = OnlineToBatch.calibrate(
        problem, epsilon=1.0, delta=1e-6, lipschitz=0.1, batch=1, relation="zero-out", numerics="float"
    )
    learner = plan.start(Randomness.replayable(13))
    without, there = (float(learner._check(record)[1][0]) for record in (None, np.array([1.0])))
    moved = abs(without - there) / plan.lipschitz
    allowed = float(plan.relation.sides)
    return Finding("emptied record", repr(plan.problem), "clipped norms", allowed, moved, moved > allowed * (1 + 1e-9))


@around
def _row_of_zeros(honest: Any, self: ClippedDifferences, record: Any) -> Any:
    """A missing record counts like a target at the origin, whose gradient is not 0."""
    return honest(self, record if record is not None else np.zeros(self._dimension))


def column(factor: Any) -> Any:
    return lambda honest: property(factor)


in_sums = planting("sums")
CONTROLS: tuple[Control, ...] = (
    Control("noise x .9 (buffered)", "sums", _scaled(0.9), lambda: replayed(hedge_plan(Buffered(STEPS)))),
    Control("sampler x .9 (buffered)", "sums", _sampler(0.9), lambda: sampled(Buffered(STEPS))),
    in_sums("the same noise every step", RunningSum, "noise_from", _same_noise, lambda: sampled(Buffered(STEPS))),
    in_sums("node noise redrawn each step", TreeAccumulator, "_advance", _redrawn,
            lambda: replayed(hedge_plan(Tree(STEPS)))),
    in_sums("off-by-one tree: a level is not counted", Tree, "column_norm",
            column(lambda self: sqrt(tree_levels(self.steps, 2) - 1)), lambda: replayed(hedge_plan(Tree(STEPS)))),
    in_sums("column norm without its tail", Buffered, "column_norm", column(lambda self: 1.0),
            lambda: replayed(hedge_plan(Buffered(STEPS)))),
    in_sums("first sum read before its noise", Accumulator, "add", _late_noise,
            lambda: replayed(hedge_plan(Tree(STEPS)))),
    in_sums("draws times 3 on data that stay", Accumulator, "_inputs", _thinned, lambda: moved(Buffered(STEPS)),
            row=rows.DIGITS),
    in_sums("nodes in steps of the first record", GrowingTreeAccumulator, "_node", _first_length, growing),
    in_sums("a missing record has a gradient", ClippedDifferences, "pack", _row_of_zeros, emptied),
    in_sums("floor after the sum", Accumulator, "_inputs", _floored_sums, lambda: moved(Tree(STEPS)), row=rows.DIGITS),
    in_sums("correction not rounded", Accumulator, "_rounded", _unrounded, lambda: moved(Buffered(STEPS)),
            row=rows.DIGITS),
    in_sums("a person's rounds taken for orthogonal", Buffered, "crowding",
            lambda honest: lambda self, people, separation=1: people**-0.5, lambda: moved(Buffered(STEPS), people=4)),
    in_sums("a person's rounds in one batch taken for different steps", SummedRecords, "apart",
            lambda honest: property(lambda self: self.people), batched),
    in_sums("rounds taken to be farther apart than declared", Buffered, "crowding",
            lambda honest: lambda self, people, apart=1: honest(self, people, 2 * apart),
            lambda: moved(Buffered(STEPS), people=3, separation=2)),
)  # fmt: skip
