"""Lazy experts on a net: online Lipschitz learning as a problem of few experts.

The experts are the centres of equal cells, as many as the certified bound prefers. The learner is `LazyExperts` itself,
so there is a pure form and a hard cap on switches, which `LipschitzGrid` does not have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.guarantee import Guarantee
from tacit.algorithms.experts.lazy_experts import LazyExperts
from tacit.algorithms.lipschitz.lipschitz_plan import MAX_PLACED, MAX_POINTS, LipschitzLearner, LipschitzPlan
from tacit.domains.convex_set import read_only
from tacit.noise.randomness import Randomness
from tacit.problems import Experts, Lipschitz
from tacit.releases import LazyChain, Neighbours
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, Rows, check_choice, check_integer, invalid


@dataclass(frozen=True)
class LipschitzNet(LipschitzPlan):
    """Lazy experts on the centres of `cells` cells a coordinate.

    Privacy contract, numerics: those of `LazyExperts`. Enforced: a round's losses are taken relative to the smallest
    one on the net and clipped to the range that a G-Lipschitz loss has there.
    Regret (oblivious, G-Lipschitz losses): that of the experts, plus T G diagonal/(2 cells), the diagonal that of the
    cube around a domain; cells whose centres are nearest to the same point of it are one expert.

    Reference: Agarwal, Kale, Singh and Thakurta (2023), "Differentially Private and Lazy Online Convex
    Optimization", https://proceedings.mlr.press/v195/.

    Page: docs/algorithms/lipschitz-net.md.

    Attributes:
        cells: cells in each coordinate.
        experts: the plan for the cells' centres.

    >>> plan = LipschitzNet.calibrate(Lipschitz(horizon=1000), epsilon=1.0, delta=1e-6)
    >>> plan.experts.problem.n == plan.cells
    True
    """

    cells: int
    experts: LazyExperts
    released_streams: ClassVar[tuple[str, ...]] = ("draw",)

    def _check_parameters(self) -> None:
        check_integer("LipschitzNet", "cells", self.cells)
        if not isinstance(self.experts, LazyExperts):
            raise invalid("LipschitzNet", "experts", "a LazyExperts plan", self.experts)
        check_choice("LipschitzNet", "experts.problem", self.experts.problem, (net_experts(self.problem, self.cells),))

    @property
    def parameters(self) -> dict[str, Any]:
        return {"cells": self.cells, **self.experts.parameters}

    @property
    def certified_against(self) -> tuple[str, ...]:
        return self.experts.certified_against

    @property
    def releases(self) -> LazyChain:
        """The declaration of the lazy experts."""
        return self.experts.releases

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets are neighbours."""
        return self.experts.neighbours

    @property
    def guarantee(self) -> Guarantee:
        return self.experts.guarantee

    @property
    def regret_bound(self) -> RegretBound:
        bound = self.experts.regret_bound
        value = float(bound) + self.rounds * self.problem.lipschitz * self.problem.diagonal / (2 * self.cells)
        formula = f"W ({bound.formula}) + T G diagonal/(2 cells)"
        return RegretBound(value, formula, (*bound.assumptions, "Lipschitz losses"))

    @property
    def work_per_round(self) -> float:
        return float(self.experts.problem.n)

    @property
    def expected_switches(self) -> float:
        return self.experts.expected_switches

    @classmethod
    def _calibrate(cls, problem: Lipschitz, target: Target, *, cells: int | None = None) -> LipschitzNet:
        rounds, dimension = problem.horizon or 1, problem.dimension
        most = round((MAX_POINTS if problem.domain is None else MAX_PLACED) ** (1 / dimension))

        def make(cells: int) -> LipschitzNet:
            experts = LazyExperts._calibrate(net_experts(problem, cells), target)
            return cls(problem, cells, experts)

        if cells is not None:
            return make(check_integer("LipschitzNet", "cells", cells))
        best = make(max(2, min(most, ceil(sqrt(rounds)))))
        for _ in range(4):
            # At the rates found, the bound as a function of the number of cells alone has a closed form.
            eta, batch = best.experts.eta, best.experts.batch
            count = np.unique(np.geomspace(2, most, 2000).astype(np.int64)).astype(np.float64)
            hedge = (dimension * np.log(count) / eta + eta * rounds * batch / 8) * (1 - 1 / count)
            finer = int(count[np.argmin(hedge + rounds / (2 * count))])
            if finer == best.cells:
                break
            found = make(finer)
            if not found.regret_bound.searched < best.regret_bound.searched * (1 - 1e-4):
                break
            best = found
        return best

    def small_instances(self) -> tuple[SmallInstance, ...]:
        problem = replace(self.problem, horizon=5, dimension=1, domain=None)
        experts = replace(self.experts, problem=net_experts(problem, 2), eta=0.3, force=0.3, batch=1)
        small = replace(self, problem=problem, cells=2, experts=experts)
        return (SmallInstance("enumeration", "loud parameters, a net of two points, T=5", small),)

    def _learner(self, randomness: Randomness) -> LipschitzNetLearner:
        return LipschitzNetLearner(self, randomness)


class LipschitzNetLearner(LipschitzLearner):
    """Hands every round to the lazy experts."""

    plan: LipschitzNet
    _state = ("_experts",)

    def __init__(self, plan: LipschitzNet, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self.points = net_points(plan.problem, plan.cells)
        self._most = plan.experts.problem.width
        self._experts = plan.experts.start(randomness)

    def _decision(self) -> FloatArray:
        return np.array(self.points[self._experts._decision()])

    def _consistent(self) -> bool:
        return self._round == self._experts.rounds and self._experts._consistent()

    @np.errstate(all="ignore")  # whether differences are too large for a float depends on the losses
    def _absorb(self, losses: FloatArray) -> None:
        self._experts._finish(self._experts._check(self._relative(losses)))
        self._switches = self._experts.switches

    def _run(self, rows: Any) -> FloatArray:
        if not isinstance(rows, Rows):
            return super()._run(rows)
        parts, first = [np.empty(0, dtype=np.int64)], 0
        for block in rows.blocks():
            relative = self._relative(self._finite(block, first))
            parts.append(self._experts._run(self._experts._check_many(relative)))
            first += len(block)
        self._round += len(rows)
        self._played = self._played and not len(rows)
        self._switches = self._experts.switches
        return np.array(self.points[np.concatenate(parts)])

    def _relative(self, losses: FloatArray) -> FloatArray:
        """Losses above the best point's, in the range that the experts were planned for."""
        return np.minimum(losses - np.minimum.reduce(losses, axis=-1, keepdims=True), self._most)


def net_experts(problem: Lipschitz, cells: int) -> Experts:
    """The experts' problem on the centres of cells: the farthest two are (1 - 1/cells) of the diagonal apart."""
    width = problem.lipschitz * problem.diagonal * (1 - 1 / cells) if cells > 1 else problem.width
    count = cells**problem.dimension if problem.domain is None else len(net_points(problem, cells))
    return Experts(n=count, horizon=problem.horizon, loss_range=(0.0, min(width, problem.width)))


@lru_cache(maxsize=8)
def net_points(problem: Lipschitz, cells: int) -> FloatArray:
    """The centres of the cells; in a domain the points next to them, each of them once."""
    axis = (np.arange(cells) + 0.5) / cells
    rows = np.stack(np.meshgrid(*[axis] * problem.dimension, indexing="ij"), axis=-1)
    points = problem.place(rows.reshape(-1, problem.dimension))
    return read_only(np.ascontiguousarray(points if problem.domain is None else np.unique(points, axis=0)))
