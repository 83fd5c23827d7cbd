"""Planted bugs in running sums, and in the learners that hide vectors behind noise."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, both, swap
from tacit.auditing import attacks
from tacit.auditing.instances import instances
from tacit.auditing.report import Finding
from tacit.geometry import Ball
from tacit.learners.convex import PrivateFTRL
from tacit.learners.experts import hedge_on_sums as hedge
from tacit.learners.plan import Plan
from tacit.learners.tracking import noisy_mirror_descent as mirror_descent
from tacit.losses import LinearLoss
from tacit.mechanisms.running_sums import Buffered, LaplaceTree, SquareRoot, Tree
from tacit.mechanisms.running_sums.base import Accumulator, RunningSum
from tacit.mechanisms.running_sums.records import LossRecords, SummedRecords
from tacit.mechanisms.running_sums.tree import TreeAccumulator, digit_sum, tree_levels
from tacit.problems import Convex, Experts, Tracking
from tacit.randomness import Randomness

STEPS = 11


def hedge_plan(mechanism: RunningSum, **changes: Any) -> hedge.HedgeOnSums:
    """Hedge on this sum at privacy 1."""
    problem = Experts(n=3, horizon=mechanism.steps + 1)
    return replace(hedge.HedgeOnSums(problem, eta=0.1, mechanism=mechanism, privacy=1.0), **changes)


def probed(mechanism: RunningSum) -> Finding:
    """Attack a sum by probing its accumulator."""
    return attacks.sums(hedge_plan(mechanism))


def sampled(mechanism: RunningSum) -> Finding:
    """Attack a sum by its released values."""
    generator = Randomness.replayable(1).stream("controls")
    return attacks.sums_sampled(hedge_plan(mechanism), generator, runs=200_000)


def moved(mechanism: RunningSum, people: int = 1) -> Finding:
    """Attack sums of vectors on a coarse lattice by the draws that release the same on a neighbour."""
    problem = Convex(domain=Ball(3), loss=LinearLoss(), horizon=mechanism.steps + 1)
    plan = PrivateFTRL(problem, eta=0.1, mechanism=mechanism, privacy=1e-4, rounds_per_person=people)
    return attacks.lattice(plan, Randomness.replayable(3).stream("controls"), pairs=12)


def batched(people: int = 4) -> Finding:
    """A person whose rounds all fall into the first batch moves it by as many records: the draws, in scales."""
    mechanism, records = Buffered(STEPS), SummedRecords(3, 2, people)
    scale = mechanism.grid(1.0, records).scale
    moved = 2 * people * np.linalg.norm(mechanism.matrices()[1][:, 0]) / scale
    return Finding("reference", "sums of batches", "mu", 1.0, float(moved), violation=bool(moved > 1 + 1e-9))


def replayed(plan: Plan) -> Finding:
    """Attack a learner by record and replay."""
    return attacks.replayed(instances(plan, "replayed noise")[0], Randomness.replayable(2).stream("controls"), pairs=12)


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
        def noise_from(self: RunningSum, generator: np.random.Generator) -> Any:
            source = honest(self, generator)
            return lambda count: factor * source(count)

        return noise_from

    return swap(RunningSum, "noise_from", make)


def _same_noise(honest: Any) -> Any:
    def noise_from(self: RunningSum, generator: np.random.Generator) -> Any:
        kept: list[Any] = []

        def source(count: int) -> Any:
            if not kept:
                kept.append(honest(self, generator)(count))
            return kept[0]

        return source

    return noise_from


def _redrawn(honest: Any) -> Any:
    def advance(self: TreeAccumulator, fresh: Any, stretch: float) -> Any:
        noise = fresh
        for _ in range(digit_sum(self._step, self._base) - 1):
            noise = noise + self._scale * self._noise(self.dimension)
        before, vars(self)["_before"] = vars(self).get("_before", 0.0), noise
        return noise - before

    return advance


def _unread_prefix(honest: Any) -> Any:
    def advance(self: TreeAccumulator, fresh: Any, stretch: float) -> Any:
        before, vars(self)["_before"] = vars(self).get("_before", 0.0), fresh
        return fresh - before  # the node's own noise only: the nodes before it are read without theirs

    return advance


def _late_noise(honest: Any) -> Any:
    """The first sum is read before its noise is there."""

    def add(self: Accumulator, x: Any, sensitivity: float = 1.0) -> Any:
        noisy = honest(self, x, sensitivity)
        return self.record(x, sensitivity).copy() if self._step == 1 else noisy

    return add


def _thinned(honest: Any) -> Any:
    """Draws times 3 on data that stay as they are: what is released shows the data modulo 3."""

    def inputs(self: Accumulator, x: Any, sensitivity: float) -> Any:
        record, fresh, stretch = honest(self, x, sensitivity)
        return record, 3 * fresh, stretch

    return inputs


def _floored_sums(honest: Any) -> Any:
    """Vectors are added up in float64 and floored afterwards."""

    def inputs(self: Accumulator, x: Any, sensitivity: float) -> Any:
        _, fresh, stretch = honest(self, x, sensitivity)
        totals = vars(self).setdefault("_totals", {0: np.zeros(x.size)})
        units, total = self._grid.units if self._grid else 1, totals[self._step] + x  # by step: a step may be undone
        totals[self._step + 1] = total
        return np.floor(total * units) - np.floor(totals[self._step] * units), fresh, stretch

    return inputs


def _unrounded(honest: Any) -> Any:
    """The correction that correlates the noise is not rounded: its fractions are those of past draws."""
    return lambda self, correction: correction


def _second_release(honest: Any) -> Any:
    """The same losses are summed twice, with fresh noise, at the full budget each time."""

    def absorb(self: hedge.HedgeOnSumsLearner, losses: Any) -> None:
        mechanism, kept = self.plan.mechanism, vars(self)
        if "_twin" not in kept:
            kept["_twin"] = mechanism.start(self._n, self.plan.scale, np.zeros)  # what it draws is frozen anyway
        if self._round + 1 != self.plan.rounds:
            kept["_twin"].add(losses - 0.5)
        honest(self, losses)

    return absorb


def _leader_sees_losses(honest: Any) -> Any:
    """The decision looks at the exact losses beside the noisy sums."""

    def absorb(self: hedge.HedgeOnSumsLearner, losses: Any) -> None:
        honest(self, losses)
        if self._round + 1 != self.plan.rounds:
            self._move(int(np.argmax(self._gumbel - 5 * losses)))

    return absorb


def _coordinate_noise() -> Any:
    """Laplace noise of scale 1/epsilon on each of N coordinates, as printed."""
    return both(
        swap(LossRecords, "l1_move", lambda honest: property(lambda self: 1.0)),
        swap(LossRecords, "l1_shift", lambda honest: lambda self, units: units),
    )


def _laplace_descent() -> Plan:
    problem = Tracking(n=3, horizon=8, switches=1)
    return mirror_descent.NoisyMirrorDescent.calibrate(problem, epsilon=1.0, delta=0.0)


def _column(factor: Any) -> Any:
    return lambda honest: property(factor)


CONTROLS: tuple[Control, ...] = (
    Control("noise x .9 (tree)", "sums", _scaled(0.9), lambda: probed(Tree(STEPS))),
    Control("noise x .9 (buffered)", "sums", _scaled(0.9), lambda: probed(Buffered(STEPS))),
    Control("noise halved (square root)", "sums", _scaled(0.5), lambda: probed(SquareRoot(STEPS))),
    Control("noise halved (Laplace tree)", "sums", _scaled(0.5), lambda: probed(LaplaceTree(STEPS, 3))),
    Control("sampler x .9 (buffered)", "sums", _sampler(0.9), lambda: sampled(Buffered(STEPS)), fast=False),
    Control("sampler halved (tree)", "sums", _sampler(0.5), lambda: sampled(Tree(STEPS)), fast=False),
    Control(
        "the same noise every step", "sums", swap(RunningSum, "noise_from", _same_noise),
        lambda: sampled(Buffered(STEPS)), fast=False,
    ),
    Control(
        "node noise redrawn each step", "sums", swap(TreeAccumulator, "_advance", _redrawn),
        lambda: probed(Tree(STEPS)),
    ),
    Control(
        "nodes read without their noise", "sums", swap(TreeAccumulator, "_advance", _unread_prefix),
        lambda: probed(Tree(STEPS)),
    ),
    Control(
        "off-by-one tree: a level is not counted", "sums",
        swap(Tree, "column_norm", _column(lambda self: sqrt(tree_levels(self.steps, 2) - 1))),
        lambda: probed(Tree(STEPS)),
    ),
    Control(
        "column norm without its tail", "sums", swap(Buffered, "column_norm", _column(lambda self: 1.0)),
        lambda: probed(Buffered(STEPS)),
    ),
    Control(
        "first sum read before its noise", "sums", swap(Accumulator, "add", _late_noise), lambda: probed(Tree(STEPS)),
    ),
    Control(
        "draws times 3 on data that stay", "sums", swap(Accumulator, "_inputs", _thinned),
        lambda: moved(Buffered(STEPS)),
    ),
    Control(
        "floor after the sum", "sums", swap(Accumulator, "_inputs", _floored_sums), lambda: moved(Tree(STEPS)),
    ),
    Control(
        "correction not rounded", "sums", swap(Accumulator, "_rounded", _unrounded), lambda: moved(Buffered(STEPS)),
    ),
    Control(
        "column norm without its tail, on the lattice", "sums",
        swap(Buffered, "column_norm", _column(lambda self: 1.0)), lambda: moved(Buffered(STEPS)),
    ),
    Control(
        "a person's rounds taken for orthogonal", "sums",
        swap(Buffered, "crowding", lambda honest: lambda self, people: people**-0.5),
        lambda: moved(Buffered(STEPS), people=4),
    ),
    Control(
        "a person's rounds in one batch taken for different steps", "sums",
        swap(SummedRecords, "apart", lambda honest: property(lambda self: self.people)), batched,
    ),
    Control(
        "sensitivity halved (Hedge)", "experts",
        swap(LossRecords, "l2_move", lambda honest: property(lambda self: honest.fget(self) / 2)),
        lambda: replayed(hedge_plan(Buffered(STEPS))),
    ),
    Control(
        "sensitivity of one coordinate for all (Hedge)", "experts",
        swap(LossRecords, "l2_move", lambda honest: property(lambda self: 1.0)),
        lambda: replayed(hedge_plan(Tree(STEPS))),
    ),
    Control(
        "budget spent twice (Hedge)", "experts",
        swap(hedge.HedgeOnSumsLearner, "_absorb", _second_release), lambda: replayed(hedge_plan(Buffered(STEPS))),
    ),
    Control(
        "decision looks at the exact losses (Hedge)", "experts",
        swap(hedge.HedgeOnSumsLearner, "_absorb", _leader_sees_losses), lambda: replayed(hedge_plan(Buffered(STEPS))),
    ),
    Control(
        "Laplace 1/epsilon on N coordinates", "tracking",
        _coordinate_noise(),
        lambda: replayed(_laplace_descent()),
    ),
)  # fmt: skip
