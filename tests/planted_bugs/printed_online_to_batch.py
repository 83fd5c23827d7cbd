"""Planted bugs in what `online_to_batch` prints: formulas, plans, rows; and in simulations of one-pass problems."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, around, planting
from planted_bugs.tested import by_test
from printed.test_online_to_batch import SETTINGS
from tacit.algorithms.stochastic import OnlineToBatch
from tacit.algorithms.stochastic.online_to_batch.equation_six import Sized
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import (
    EquationSixLearner,
    OnlineToBatchLearner,
    PrintedPass,
)
from tacit.auditing.report import Finding
from tacit.domains import Ball
from tacit.environments import LogisticRecords
from tacit.environments.environment import Risk
from tacit.losses import LogisticLoss
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import TreeAccumulator
from tacit.papers import run as papers_run
from tacit.papers.online_to_batch import PAPER as PRINTED
from tacit.papers.row import Settings
from tacit.papers.still import StillLearner
from tacit.printed import online_to_batch as formulas
from tacit.problems import Stochastic
from tacit.runtime.learner import Learner
from tacit.runtime.printed import Printed
from tacit.simulation import games
from tacit.simulation.comparators import best_fixed_point
from tacit.simulation.loop import OnePassSimulation

FORMULAS, PAPER, PASSES = "printed.test_online_to_batch", "papers.test_online_to_batch", "simulation.test_one_pass"
ASKED = {"epsilon": 1.0, "delta": 1e-6}
noise = by_test(FORMULAS, "test_privacy_and_noise", SETTINGS[1])
pure = by_test(FORMULAS, "test_pure_noise", SETTINGS[1])
risk = by_test(FORMULAS, "test_theorems_4_and_6", SETTINGS[1])
strong = by_test(FORMULAS, "test_theorem_8", SETTINGS[1])
free = by_test(FORMULAS, "test_theorems_10_and_11", SETTINGS[1])
running = by_test(PAPER, "test_noise_has_the_printed_scale", "Theorem 4", 3, 0.0, ASKED)
regularised = by_test(PAPER, "test_noise_has_the_printed_scale", "Theorem 8", 2, 0.1, ASKED)
columns = by_test(PAPER, "test_the_column_norm_is_the_largest_shift_of_any_path", 1.0, False)
moved = by_test(PAPER, "test_a_record_moves_the_draws_by_no_more_than_is_proved", 3, ASKED)
exceeded = by_test(PAPER, "test_pure_noise_exceeds_what_was_asked")
audited = by_test(PAPER, "test_audits_find_nothing_and_come_near", "Theorem 4", 0.0)
doors = by_test(PAPER, "test_what_is_exceeded_starts_in_simulations_only")
unchanged = by_test(PASSES, "test_a_mark_changes_nothing", OnlineToBatch, 600)
planted = by_test(PASSES, "test_the_planted_best_is_the_best", LogisticRecords(3, 10, norm=2.0), Ball(3, 4.0))
still = by_test(PASSES, "test_the_still_player_is_the_first_model")
bounds = by_test(PASSES, "test_certified_after_is_the_bound_of_a_shorter_pass")
rounds = by_test(PASSES, "test_excess_risk_has_bounds_at_the_marks_and_no_rounds")


def labels() -> Finding:
    """Every row of the table must be the plan of its label."""
    settings = Settings(horizon=60, dimension=2, epsilon=1.0, delta=1e-6, runs=1, seed=0)
    wrong = 0
    for stream in PRINTED.streams:
        problem = stream.problem(60, 2)
        for entry in (entry for entry in PRINTED.entries if entry.stream == stream.name):
            plan = papers_run.plan_of(entry, problem, settings)
            wrong += (plan.printed.result if plan.printed else "") != entry.result or type(plan).__name__ != entry.plan
    return Finding("reference", "rows of the table", "wrong labels", 0.0, float(wrong), violation=wrong > 0)


def judged() -> Finding:
    """The planted best model must have no excess risk, in a simulation of a player that releases it."""
    problem = Stochastic(domain=Ball(3, 4.0), loss=LogisticLoss(), horizon=200)
    environment = LogisticRecords(3, 200, norm=2.0)
    learner = StillLearner(papers_run.Still(replace(problem, initial=(2.0, 0.0, 0.0))), Randomness.replayable(1))
    generator = np.random.default_rng(1)
    found = games.one_pass_game(games.Match(learner, environment, generator, np.array([200])))  # type: ignore[arg-type]
    excess = float(abs(found.regret[-1]))
    return Finding("reference", "the planted best", "excess risk", 0.0, excess, violation=excess > 1e-12)


def redrawn() -> Finding:
    """Sums of a tree share its nodes: the noise of the sums of 4 and 5 steps differs by that of one node."""
    problem = Stochastic(domain=Ball(1), loss=LogisticLoss(), horizon=5)
    plan = OnlineToBatch.as_printed(problem, **ASKED)
    grid, draws = plan.grid, []
    for seed in range(400):
        sums = plan.mechanism.start_on(grid, Randomness.replayable(seed), "noise")
        size = float(grid.admissible(1.0))
        noisy = [float(sums.add(np.zeros(1), size)[0]) for _ in range(5)]
        draws.append((noisy[4] - noisy[3]) / (grid.scale * size))
    spread = float(np.std(draws))
    # One node: 1 but for a tenth with 400 draws (false alarms below 1e-6); drawn anew, 3 nodes: 1.7.
    return Finding("reference", "noise of a step", "deviation", 1.0, spread, violation=abs(spread - 1) > 0.2)


@around
def _natural(honest: Any, privacy: float, rounds: int) -> Any:
    """ln(2T) for log2(2T)."""
    return {"scale": honest(privacy, rounds)["scale"] * sqrt(np.log(2))}


@around
def _one_more(honest: Any, power: float, lipschitz: float, smoothness: float, moved: float, step: float) -> Any:
    """t^k for t^(k-1)."""
    return honest(power, lipschitz, smoothness, moved, step) * step


@around
def _not_doubled(honest: Any, known: Any, regret: float) -> Any:
    """sqrt(V) for sqrt(2V)."""
    return honest(replace(known, variance=known.variance / 2), regret)


@around
def _dropped(honest: Any, known: Any, regret: float, curvature: float) -> Any:
    """16 (k+1)^2 for 16 (k+1)^3."""
    found = honest(known, regret, curvature)
    return found | {"without_regret": found["without_regret"] / (known.power + 1)}


@around
def _without_dimension(honest: Any, known: Any, dimension: int, failure: float, constant: float) -> Any:
    """A' without its sqrt(d)."""
    found = honest(known, dimension, failure, constant)
    return found | {"second": found["second"] / sqrt(dimension), "a_noise": found["a_noise"] / sqrt(dimension)}


@around
def _linear_moment(honest: Any, epsilon: float, rounds: int, dimension: int, *, linear: bool = False) -> Any:
    """V = d^2 for d (d + 1)."""
    return honest(epsilon, rounds, dimension, linear=linear) | {"variance": dimension**2.0}


def _newest(_honest: Any) -> Any:
    """The newest |w_i - x_(i-1)| for the largest so far."""

    def reached(self: Any) -> float:
        moved = self.plan.norm.size(self._action - self._previous)
        return float(moved * (self._weight_sum / self._weights()[0]))

    return property(reached)


@around
def _ends(honest: Any, self: Any, exponent: float) -> Any:
    """Only the node of a record's own step."""
    return float(np.max(self.ratios**exponent))


@around
def _silent(honest: Any, self: Any, made: Any) -> Any:
    return ()


@around
def _always_kept(honest: Any, self: Any, curve: Any) -> Any:
    return "kept"


@around
def _fitted(honest: Any, self: Any, models: Any, best: Any) -> Any:
    """The best on 4,000 fresh records for the planted one."""
    records = replace(self, horizon=4000)
    fitted = best_fixed_point(records.loss, records.records(np.random.default_rng(7)), Ball(self.dimension, 4.0)).point
    return Risk(*honest(self, models, fitted))


@around
def _noisy_reading(honest: Any, self: Any, context: Any = None) -> Any:
    """Whoever reads a model uses up a noise."""
    model = honest(self, context)
    if isinstance(self, OnlineToBatchLearner) and self._round:
        self._sums._noise(1)
    return model


@around
def _in_the_corner(honest: Any, self: Any) -> Any:
    """Some other model."""
    return np.full(self.plan.problem.domain.dimension, 0.1)


@around
def _all_records(honest: Any, self: Any, records: int) -> Any:
    """The bound after all records at every mark."""
    return float(self.regret_bound)


@around
def _first_result(honest: Any, entry: Any, problem: Any, settings: Any) -> Any:
    """Theorem 4 whatever was printed."""
    return honest(replace(entry, result="Theorem 4", choose={}) if entry.result else entry, problem, settings)


@around
def _fresh_nodes(honest: Any, self: Any, record: Any, fresh: Any, stretch: float) -> Any:
    """All nodes of the sum get new noise at every step."""
    others = int(self._step).bit_count() - 1
    before = sum((np.asarray(self._noise(self.dimension)) for _ in range(others)), np.zeros(self.dimension))
    honest(self, record, fresh, stretch)
    self._sum = self._sum + before * stretch * sqrt(2)


def _per_round(honest: Any) -> Any:
    return property(lambda self: float(self.mean[-1] / self.rounds[-1]))


GROWING = next(kind for kind in TreeAccumulator.__subclasses__() if kind.__name__ == "GrowingTreeAccumulator")
printed = planting("stochastic")
CONTROLS: tuple[Control, ...] = (
    printed("equation (6) with ln for log2", formulas, "equation_6", _natural, noise),
    printed("Lemma 15 with t^k", formulas, "lemma_15", _one_more, noise),
    printed("Theorem 4 with sqrt(V) for sqrt(2V)", formulas, "theorem_4", _not_doubled, risk),
    printed("Theorem 8 with (k+1)^2", formulas, "theorem_8", _dropped, strong),
    printed("Theorem 10 without sqrt(d)", formulas, "theorem_10", _without_dimension, free),
    printed("Theorem 19 with V = d^2", formulas, "theorem_19", _linear_moment, pure),
    printed("equation (6) at the newest step", EquationSixLearner, "_reached", _newest, running),
    printed("one node of a record", Sized, "_column", _ends, columns),
    printed("one node of a record, along a run", Sized, "_column", _ends, moved),
    printed("one node of a record, audited", Sized, "_column", _ends, audited),
    printed("a regulariser that differs in silence", PrintedPass, "_differs", _silent, regularised),
    printed("pure noise that exceeds is called kept", Printed, "status", _always_kept, exceeded),
    printed("pure noise that exceeds starts", Printed, "status", _always_kept, doors),
    printed("rows of Theorem 4 under other labels", papers_run, "plan_of", _first_result, labels, fast=False),
    printed("nodes drawn anew at each step", GROWING, "_include", _fresh_nodes, redrawn),
    printed("excess against the fitted best", LogisticRecords, "excess", _fitted, judged),
    printed("excess against the fitted best, by its judge", LogisticRecords, "excess", _fitted, planted),
    printed("a mark changes the run", Learner, "play", _noisy_reading, unchanged),
    printed("the still player moves", StillLearner, "play", _in_the_corner, still),
    printed("bound of the whole pass at every mark", OnlineToBatch, "risk_after", _all_records, bounds),
    printed("excess risk per round", OnePassSimulation, "per_round", _per_round, rounds, fast=False),
)  # fmt: skip
