"""The one simulation loop: shipped learners against environments, regret beside its certified bound.

Simulations use replayable randomness, so their results can be made again and are stamped as not private.

Feedback may never come. When within its window feedback comes changes no decision, so all that a simulation has to know
of a round is whether its feedback comes in time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.environments.environment import Environment, ExpertStream
from tacit.environments.named import named_environment
from tacit.noise.randomness import Randomness
from tacit.progress import Progress
from tacit.runtime.doubling import REFERENCE_ROUNDS, Doubling
from tacit.runtime.plan import Plan, Planned, chosen_plan
from tacit.simulation.games import Match, Outcome, game_for
from tacit.validation import FloatArray, IntArray, check_integer, check_number, invalid

MOST_RUNS = 10**6
"""So many runs, and no more, may be asked for at once."""


@dataclass(frozen=True)
class Simulation:
    """Regret of several runs at checkpoints, with everything needed to make them again.

    Attributes:
        plan: what was run.
        environment: against what.
        rounds: the checkpoints, shape (k,).
        regret: regret of each run at each checkpoint, shape (runs, k).
        switches: number of switches of each run, shape (runs,).
        seed: the seed of all runs.
        last: the last run's decisions, comparator and detected restarts, for pictures.
        missing: rounds of each run whose feedback did not come in time, shape (runs,).
    """

    plan: Plan
    environment: Environment
    rounds: IntArray
    regret: FloatArray
    switches: FloatArray
    seed: int
    last: dict[str, Any]
    missing: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Mean regret at each checkpoint."""
        return np.asarray(np.mean(self.regret, axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the mean at each checkpoint (0 for a single run)."""
        runs = len(self.regret)
        if runs == 1:
            return np.zeros(self.regret.shape[1])
        return np.asarray(np.std(self.regret, axis=0, ddof=1) / np.sqrt(runs))

    @property
    def per_round(self) -> float:
        """Mean regret per round at the end."""
        return float(self.mean[-1] / self.rounds[-1])

    @property
    def bound(self) -> float:
        """The certified regret over the whole run; a round without feedback adds what a round can cost."""
        lost = float(np.mean(self.missing))
        lost *= self.plan.trivial_regret / (self.plan.horizon or REFERENCE_ROUNDS) if lost else 0.0
        plan, rounds = self.plan, int(self.rounds[-1])
        return float(plan.regret_bound_at(rounds) if isinstance(plan, Doubling) else plan.regret_bound) + lost

    @cached_property
    def warning(self) -> str:
        """Which assumption of the certified bound the first run's feedback breaks (empty: none that is checked)."""
        if type(self.plan).broken_assumption is Plan.broken_assumption:
            return ""
        generator = Randomness.replayable(self.seed).child("environment 0").stream("feedback")
        if isinstance(self.environment, ExpertStream):
            return self.plan.broken_assumption(self.environment.losses(generator))
        return ""

    def summary(self) -> str:
        """Describe the result in a few lines."""
        total, lost = int(self.rounds[-1]), float(np.mean(self.missing))
        broken = f" (does not hold: {self.warning})" if self.warning else ""
        silent = f"; {lost:,.1f} rounds without feedback" if lost else ""
        return (
            f"{self.plan.algorithm}: mean regret {self.mean[-1]:,.1f} (standard error {self.standard_error[-1]:,.1f}) "
            f"over {len(self.regret)} runs of {total:,} rounds ({self.per_round:.4g} a round)\n"
            f"certified regret {self.bound:,.1f}{broken}; mean switches {np.mean(self.switches):,.1f}{silent}\n"
            f"{self.plan.guarantee.with_randomness('replayable: not private')}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-ready description."""
        return {
            "algorithm": self.plan.algorithm,
            "environment": type(self.environment).__name__,
            "runs": len(self.regret),
            "rounds": int(self.rounds[-1]),
            "seed": self.seed,
            "mean_regret": float(self.mean[-1]),
            "standard_error": float(self.standard_error[-1]),
            "certified_bound": self.bound,
            "mean_switches": float(np.mean(self.switches)),
            "mean_missing": float(np.mean(self.missing)),
        }


def simulate(
    plan: Plan | Planned,
    environment: Environment | str,
    *,
    runs: int = 20,
    seed: int = 0,
    missing: float = 0.0,
    progress: bool | None = None,
) -> Simulation:
    """Run a plan against an environment several times and measure its regret.

    Tracking problems are measured against the best sequence with at most `switches` switches, all others
    against the best single decision (stochastic arms: that of smallest mean).

    Args:
        plan: a plan, or the planner's choice.
        environment: what makes the feedback, such as `BernoulliGap` or `Replay`, or its name, such as "gap" (see
            `tacit.environments.named.NAMED`); it must fit the plan's problem.
        runs: how many independent runs.
        seed: makes the runs repeatable; a simulation is never private.
        missing: the share of rounds whose feedback never comes, or comes later than the problem's delay. Regret is
            measured over all rounds.
        progress: show what is done and how long the rest will take (default: only in a terminal).
    """
    chosen = chosen_plan(plan)
    if not isinstance(chosen, Plan):
        raise invalid("simulate", "plan", "a plan or the planner's choice", plan)
    check_integer("simulate", "runs", runs, at_most=MOST_RUNS)
    check_integer("simulate", "seed", seed, at_least=0)
    if isinstance(environment, str):
        environment = named_environment(environment, chosen.problem)
    game = game_for(chosen.problem, environment)
    check_number("simulate", "missing", missing, above=0.0, below=1.0, closed_low=True, closed_high=True)
    outcomes = []
    shown = Progress("simulating", progress)
    for run in range(runs):
        outcomes.append(simulate_run(chosen, environment, seed, run, missing))
        shown.step(run + 1, runs)
    return Simulation(
        plan=chosen,
        environment=environment,
        rounds=game.rounds(environment.horizon),
        regret=np.stack([outcome.regret for outcome in outcomes]),
        switches=np.array([float(outcome.switches) for outcome in outcomes]),
        seed=seed,
        last=outcomes[-1].detail,
        missing=np.array([float(outcome.missing) for outcome in outcomes]),
    )


def simulate_run(plan: Plan, environment: Environment, seed: int, run: int, missing: float = 0.0) -> Outcome:
    """Run number `run` of a simulation: the same whether it is made alone or among others."""
    game = game_for(plan.problem, environment)
    source = Randomness.replayable(seed)
    learner = plan.start(source.child(f"learner {run}"))
    generator = source.child(f"environment {run}").stream("feedback")
    rounds = game.rounds(environment.horizon)
    mask = None
    if missing:
        arriving = source.child(f"environment {run}").stream("arrivals")
        mask = arriving.random(environment.horizon) >= missing
    outcome = game.play(Match(learner, environment, generator, rounds, mask))
    return outcome if mask is None else replace(outcome, missing=int(np.sum(~mask)))
