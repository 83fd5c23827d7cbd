"""The one simulation loop: shipped learners against environments, regret beside its certified bound.

Simulations use replayable randomness, so their results can be made again and are stamped as not private.

In a one-pass problem what is measured is the excess risk of the model after so many records, at geometric marks, with
the certified bound of each mark where one is proved.

Feedback may never come. When within its window feedback comes changes no decision, so all that a simulation has to know
of a round is whether its feedback comes in time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.accounting.rounding import rounded_up
from tacit.algorithms.stochastic import OnlineToBatch
from tacit.environments.environment import Environment, ExpertStream
from tacit.environments.named import named_environment
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Experts, Problem, Tracking
from tacit.progress import Progress
from tacit.runtime.doubling import REFERENCE_ROUNDS, Doubling
from tacit.runtime.plan import Plan, Planned, chosen_plan
from tacit.simulation.games import Match, Outcome, game_for
from tacit.validation import FloatArray, IntArray, check_integer, check_number, invalid

EVERY_MARK = 5
"""A summary shows one mark in so many, the last one included."""
MOST_RUNS = 10**6
"""So many runs, and no more, may be asked for at once."""


@dataclass(frozen=True, repr=False)
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
        switches_allowed: of the sequence with which a learner of a fixed expert was compared (None: the problem's own
            comparator).
    """

    plan: Plan
    environment: Environment
    rounds: IntArray
    regret: FloatArray
    switches: FloatArray
    seed: int
    last: dict[str, Any]
    missing: FloatArray
    switches_allowed: int | None = None

    @property
    def criterion(self) -> str:
        """What is measured: "regret" or "excess risk"."""
        return self.plan.problem.criterion

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
        """The certified regret over the whole run; a round without feedback adds what a round can cost.

        Nothing is certified for a learner of a fixed expert against sequences that switch.
        """
        if self.switches_allowed:
            return float("inf")
        lost = float(np.mean(self.missing))
        lost *= self.plan.trivial_regret / (self.plan.horizon or REFERENCE_ROUNDS) if lost else 0.0
        plan, rounds = self.plan, int(self.rounds[-1])
        return float(plan.regret_bound_at(rounds) if isinstance(plan, Doubling) else plan.regret_bound) + lost

    def __repr__(self) -> str:
        """Describe the result in five lines, without its arrays."""
        plan, lost = self.plan, float(np.mean(self.missing))
        guarantee = plan.guarantee
        count = len(self.regret)
        runs = f"{count} {'run' if count == 1 else 'runs'} of {int(self.rounds[-1]):,} rounds"
        silent = f", {lost:,.1f} rounds without feedback" if lost else ""
        return "\n".join(
            (
                f"{plan.algorithm} against {type(self.environment).__name__}: {runs}",
                f"mean regret {self.mean[-1]:,.1f} (standard error {self.standard_error[-1]:,.1f}), "
                f"{self.per_round:.4g} a round",
                f"certified regret {self.bound:,.1f}",
                f"mean switches {np.mean(self.switches):,.1f}{silent}",
                f"plan: epsilon={rounded_up(guarantee.epsilon())} at delta={guarantee.at_delta:g}; "
                f"these runs: seed {self.seed}, not private",
            )
        )

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
        certified = f"certified regret {self.bound:,.1f}"
        if self.switches_allowed is not None:
            certified = f"against the best sequence with at most {self.switches_allowed} switches, " + (
                "for which nothing is certified" if self.switches_allowed else certified
            )
        return (
            f"{self.plan.algorithm}: mean regret {self.mean[-1]:,.1f} (standard error {self.standard_error[-1]:,.1f}) "
            f"over {len(self.regret)} runs of {total:,} rounds ({self.per_round:.4g} a round)\n"
            f"{certified}{broken}; mean switches {np.mean(self.switches):,.1f}{silent}\n"
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


@dataclass(frozen=True, repr=False)
class OnePassSimulation(Simulation):
    """Excess risk of the models of several passes, after the records of each mark.

    `regret` is the excess risk of each run at each mark, `rounds` the records read there. Excess risk does not add up
    over rounds, and every record is there: nothing a round, no switches and no missing rounds.

    Attributes:
        bounds: the certified excess risk at each mark, infinite where none is proved, shape (k,).
        fresh_error: standard error of the excess risk at each mark that is due to the records on which models are
            judged, the same for all runs; 0 where expected losses are known.
    """

    bounds: FloatArray = field(kw_only=True)
    fresh_error: FloatArray = field(kw_only=True)

    @property
    def per_round(self) -> float:
        """Refused: there is none."""
        raise InvalidInput("This simulation measures excess risk, which does not add up over rounds.")

    @property
    def bound(self) -> float:
        """The certified excess risk after all records."""
        return float(self.bounds[-1])

    def __repr__(self) -> str:
        return self._described

    @property
    def _described(self) -> str:
        fresh = float(self.fresh_error[-1])
        judged = f", {fresh:.2g} by the fresh records" if fresh else ""
        count = len(self.regret)
        lines = [
            f"{self.plan.algorithm}: mean excess risk {self.mean[-1]:.4g} (standard error "
            f"{self.standard_error[-1]:.2g}{judged}) over {count} {'run' if count == 1 else 'runs'} of "
            f"{int(self.rounds[-1]):,} records",
            f"certified excess risk {rounded_up(self.bound)}",
        ]
        if len(self.rounds) > 1:
            shown = range(len(self.rounds) - 1, -1, -EVERY_MARK)
            marks = [f"{self.mean[mark]:.3g} ({int(self.rounds[mark]):,})" for mark in reversed(shown)]
            lines.append(f"after so many records: {', '.join(marks)}")
        return "\n".join(lines)

    def summary(self) -> str:
        """Describe the result in a few lines."""
        return f"{self._described}\n{self.plan.guarantee.with_randomness('replayable: not private')}"

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-ready description, one number a mark."""
        return {
            "algorithm": self.plan.algorithm,
            "environment": type(self.environment).__name__,
            "runs": len(self.regret),
            "records": self.rounds.tolist(),
            "seed": self.seed,
            "mean_excess_risk": self.mean.tolist(),
            "standard_error": self.standard_error.tolist(),
            "fresh_error": self.fresh_error.tolist(),
            "certified_bound": [float(bound) if np.isfinite(bound) else None for bound in self.bounds],
        }


def simulate(
    plan: Plan | Planned,
    environment: Environment | str,
    *,
    runs: int = 20,
    seed: int = 0,
    missing: float = 0.0,
    switches: int | None = None,
    progress: bool | None = None,
) -> Simulation:
    """Run a plan against an environment several times and measure its regret, or the excess risk of its models.

    Tracking problems are measured against the best sequence with at most `switches` switches, all others
    against the best single decision (stochastic arms: that of smallest mean). In one-pass problems the expected loss of
    models is compared with that of the planted one, or of the best on the records of the run.

    Args:
        plan: a plan, or the planner's choice.
        environment: what makes the feedback, such as `BernoulliGap` or `Replay`, or its name, such as "gap" (see
            `tacit.environments.named.NAMED`); it must fit the plan's problem.
        runs: how many independent runs.
        seed: makes the runs repeatable; a simulation is never private.
        missing: the share of rounds whose feedback never comes, or comes later than the problem's delay. Regret is
            measured over all rounds.
        switches: compare a learner of a fixed expert (a plan of an `Experts` problem) with the best sequence that
            switches so often at most; environments by name are then those of `Tracking`. Nothing is certified for it.
        progress: show what is done and how long the rest will take (default: only in a terminal).
    """
    chosen = chosen_plan(plan)
    if not isinstance(chosen, Plan):
        raise invalid("simulate", "plan", "a plan or the planner's choice", plan)
    check_integer("simulate", "runs", runs, at_most=MOST_RUNS)
    check_integer("simulate", "seed", seed, at_least=0)
    if isinstance(environment, str):
        environment = named_environment(environment, compared_problem(chosen.problem, switches))
    else:
        compared_problem(chosen.problem, switches)
    game = game_for(chosen.problem, environment)
    check_number("simulate", "missing", missing, above=0.0, below=1.0, closed_low=True, closed_high=True)
    outcomes = []
    shown = Progress("simulating", progress)
    for run in range(runs):
        outcomes.append(simulate_run(chosen, environment, seed, run, missing, switches))
        shown.step(run + 1, runs)
    rounds = game.rounds(environment.horizon, chosen)
    regret = np.stack([outcome.regret for outcome in outcomes])
    judged = [outcome.errors for outcome in outcomes if outcome.errors is not None]
    if judged:
        return OnePassSimulation(
            plan=chosen,
            environment=environment,
            rounds=rounds,
            regret=regret,
            switches=np.full(runs, np.nan),
            seed=seed,
            last=outcomes[-1].detail,
            missing=np.zeros(runs),
            bounds=np.array([certified_after(chosen, mark) for mark in rounds.tolist()]),
            fresh_error=np.mean(judged, axis=0),
        )
    return Simulation(
        plan=chosen,
        environment=environment,
        rounds=rounds,
        regret=regret,
        switches=np.array([float(outcome.switches) for outcome in outcomes]),
        seed=seed,
        last=outcomes[-1].detail,
        missing=np.array([float(outcome.missing) for outcome in outcomes]),
        switches_allowed=switches,
    )


def certified_after(plan: Plan, records: int) -> float:
    """Return the certified excess risk of the model after so many records (infinite: none is proved)."""
    if isinstance(plan, OnlineToBatch):
        return plan.risk_after(records)
    return float(plan.regret_bound) if records == plan.horizon else float("inf")


def compared_problem(problem: Problem, switches: int | None) -> Problem:
    """Return the problem whose comparator a simulation has."""
    if switches is None:
        return problem
    if type(problem) is not Experts:
        raise InvalidInput(
            "The 'switches' parameter of simulate is for plans of an Experts problem: a Tracking problem has switches "
            f"of its own, and other problems have none. Got a plan of {problem!r} instead."
        )
    check_integer("simulate", "switches", switches, at_least=0)
    return Tracking(**{field.name: getattr(problem, field.name) for field in fields(problem)}, switches=switches)


def simulate_run(
    plan: Plan, environment: Environment, seed: int, run: int, missing: float = 0.0, switches: int | None = None
) -> Outcome:
    """Run number `run` of a simulation: the same whether it is made alone or among others."""
    game = game_for(plan.problem, environment)
    source = Randomness.replayable(seed)
    learner = plan.start(source.child(f"learner {run}"))
    generator = source.child(f"environment {run}").stream("feedback")
    rounds = game.rounds(environment.horizon, plan)
    mask = None
    if missing:
        arriving = source.child(f"environment {run}").stream("arrivals")
        mask = arriving.random(environment.horizon) >= missing
    outcome = game.play(Match(learner, environment, generator, rounds, mask, switches))
    return outcome if mask is None else replace(outcome, missing=int(np.sum(~mask)))
