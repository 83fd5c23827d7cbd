"""Sweeps: many problems, privacies and environments, each run several times, on any joblib backend.

A cell is one plan against one environment. A run's randomness is derived from the sweep's seed and the run's
number alone, so the numbers are the same whichever process makes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.environments.environment import Environment
from tacit.environments.named import named_environment
from tacit.errors import InvalidInput
from tacit.planning.catalogue import algorithms_for, check_algorithm
from tacit.planning.comparison import Candidate, Comparison
from tacit.planning.planner import plan
from tacit.problems import Problem
from tacit.progress import Progress
from tacit.runtime.plan import Plan
from tacit.runtime.target import Target
from tacit.simulation.games import MOST_RUNS, Outcome, game_for
from tacit.simulation.loop import Simulation, gathered, simulate_run
from tacit.validation import check_integer, check_privacy, invalid, require

EnvironmentMaker = str | Callable[[Any], Environment]
"""A name of `tacit.environments.named.NAMED`, or a function from a problem to its environment."""
Algorithms = str | Sequence[str | type[Plan]]
Worlds = list[tuple[str, Environment]]
"""Environments, each after its name."""


@dataclass(frozen=True)
class Cell:
    """The runs of one plan in one environment.

    Attributes:
        choice: what the planner compared for the cell's problem and privacy.
        world: the environment's name.
        simulation: what was measured.
        seconds: how long each run took.
    """

    choice: Comparison
    world: str
    simulation: Simulation
    seconds: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give a row of `Sweep.to_frame`."""
        choice, found = self.choice, self.simulation
        rounds = int(found.rounds[-1])
        floor = choice.floor if choice.problem.horizon == rounds else None  # of so many rounds
        return {
            "problem": repr(choice.problem),
            "environment": self.world,
            "rounds": rounds,
            "epsilon": choice.target.epsilon,
            "delta": choice.target.delta,
            "algorithm": found.plan.algorithm,
            "chosen": found.plan is choice.plan,
            "runs": len(found.regret),
            "mean_regret": float(found.mean[-1]),
            "standard_error": float(found.standard_error[-1]),
            "certified_regret": found.bound,
            "proved_floor": None if floor is None else float(floor),
            "mean_switches": float(np.mean(found.switches)),
            "mean_seconds": float(np.mean(self.seconds)),
        }


@dataclass(frozen=True)
class Sweep:
    """The cells of a sweep, in the order of problems, privacies, algorithms and environments."""

    cells: tuple[Cell, ...]

    def to_frame(self) -> Any:
        """Give a pandas frame with a row for each cell."""
        return require("pandas", "frames").DataFrame.from_records([cell.to_dict() for cell in self.cells])


def sweep(
    problems: Problem | Iterable[Problem],
    privacies: Iterable[tuple[float, float]],
    environments: EnvironmentMaker | Iterable[EnvironmentMaker],
    *,
    runs: int = 20,
    seed: int = 0,
    algorithms: Algorithms = "best",
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Simulate every problem at every privacy in every environment.

    Args:
        problems: what is to be decided.
        privacies: pairs (epsilon, delta).
        environments: functions from a problem to an environment, or names (see `tacit.environments.named.NAMED`).
        runs: how many runs of each cell.
        seed: makes the sweep repeatable; a simulation is never private.
        algorithms: "best" (the planner's choice), "all" that meet the contract, or a list of names and of classes;
            a class that is not registered takes part in the planning, too.
        n_jobs: processes (default: what `joblib.parallel_config` says, else one; -1: all cores); the backend is
            joblib's, by `joblib.parallel_config`.
        progress: show that it is planned and simulated (default: only in a terminal).

    >>> from tacit.problems import Experts
    >>> result = sweep([Experts(n=4, horizon=64)], [(1.0, 1e-6)], ["gap", "switching"], runs=3)
    >>> {cell.world: len(cell.simulation.regret) for cell in result.cells}
    {'gap': 3, 'switching': 3}
    """
    check_integer("sweep", "runs", runs, at_most=MOST_RUNS)
    check_integer("sweep", "seed", seed, at_least=0)
    joblib = require("joblib", "sweeps")
    grid = list(_grid(problems, privacies, environments))
    if not grid:
        raise InvalidInput("This sweep is empty: give at least one problem, one privacy and one environment.")
    asked = _asked(algorithms)
    parallel = joblib.Parallel(n_jobs=n_jobs)
    with Progress("sweep", progress) as shown:
        shown.say(f"planning {len(grid)} problems")
        call = joblib.delayed(_candidates)
        found = parallel(call(*point[:3], _compared(point[0], asked)) for point in grid)
        # Whatever is wrong with a cell shows here, before the first run.
        planned = [
            (choice, chosen, *world)
            for (problem, *_, worlds), parts in zip(grid, found, strict=True)
            for choice in [Comparison(problem, *parts)]
            for chosen in _plans(choice, asked)
            for world in _fitting(problem, worlds)
        ]
        shown.say(f"simulating {len(planned)} cells")
        call = joblib.delayed(_timed_run)
        # A fresh copy has no cached values, some of which do not travel to other processes.
        tasks = [
            call(replace(chosen), environment, seed, run)
            for _, chosen, _, environment in planned
            for run in range(runs)
        ]
        made = parallel(tasks)
    cells = []
    for index, (choice, chosen, name, environment) in enumerate(planned):
        outcomes, seconds = zip(*made[index * runs : (index + 1) * runs], strict=True)
        cells.append(Cell(choice, name, gathered(chosen, environment, seed, outcomes), seconds))
    return Sweep(tuple(cells))


def _grid(
    problems: Problem | Iterable[Problem],
    privacies: Iterable[tuple[float, float]],
    environments: EnvironmentMaker | Iterable[EnvironmentMaker],
) -> Iterator[tuple[Problem, float, float, Worlds]]:
    """Every problem at every privacy, with its environments."""
    single = isinstance(environments, str) or callable(environments)
    for name, given in (("problems", problems), ("privacies", privacies), ("environments", environments)):
        if not (isinstance(given, Iterable | Problem) or (name == "environments" and single)):
            raise invalid("sweep", name, "a list", given)
    makers = [environments] if isinstance(environments, str) or callable(environments) else list(environments)
    for maker in makers:
        if not (isinstance(maker, str) or callable(maker)):
            raise invalid("sweep", "environments", "names, or functions from a problem to an environment", maker)
    pairs = [_privacy(pair) for pair in privacies]
    for problem in [problems] if isinstance(problems, Problem) else problems:
        if not isinstance(problem, Problem):
            raise invalid("sweep", "problems", "problems such as Experts(n=, horizon=)", problem)
        worlds = [_world(maker, problem) for maker in makers]
        for epsilon, delta in pairs if worlds else []:
            yield problem, epsilon, delta, worlds


def _world(maker: EnvironmentMaker, problem: Problem) -> tuple[str, Environment]:
    """An environment after its name; what an unnamed function makes goes by its own."""
    if isinstance(maker, str):
        return maker, named_environment(maker, problem)
    world, name = maker(problem), getattr(maker, "__name__", "<")
    return type(world).__name__ if "<" in name else name, world


def _fitting(problem: Problem, worlds: Worlds) -> Worlds:
    for _, environment in worlds:
        game_for(problem, environment)  # raises if they do not fit
    return worlds


def _privacy(pair: Any) -> tuple[float, float]:
    try:
        epsilon, delta = pair
    except (TypeError, ValueError):
        raise invalid("sweep", "privacies", "pairs (epsilon, delta)", pair) from None
    return check_privacy("sweep", epsilon, delta)


def _asked(algorithms: Algorithms) -> list[str | type[Plan]]:
    """What was asked for as a list of names and classes."""
    listed: list[Any] = list(algorithms) if isinstance(algorithms, list | tuple) else [algorithms]
    for entry in listed:
        if not isinstance(entry, str):
            check_algorithm("sweep", entry)
    return listed


def _compared(problem: Problem, asked: list[str | type[Plan]]) -> tuple[type[Plan], ...]:
    """Every algorithm that takes part: handed to the workers, which do not know what was registered here."""
    known, given = algorithms_for(problem), [entry for entry in asked if not isinstance(entry, str)]
    return algorithms_for(problem, [*known, *(algorithm for algorithm in given if algorithm not in known)])


def _plans(choice: Comparison, asked: list[str | type[Plan]]) -> list[Plan]:
    if asked == ["best"]:
        return [choice.plan]
    plans = {c.algorithm: c.plan for c in choice.candidates if c.plan is not None}
    if asked == ["all"]:
        return list(plans.values())
    names = [entry if isinstance(entry, str) else entry.__name__ for entry in asked]
    for name in names:
        if name not in plans:
            raise invalid("sweep", "algorithms", f"'best', 'all' or names from {sorted(plans)}", name)
    return [plans[name] for name in names]


def _candidates(
    problem: Problem, epsilon: float, delta: float, algorithms: tuple[type[Plan], ...]
) -> tuple[Target, list[Candidate], tuple[str, ...], str]:
    """What the planner found, without cached values, so that it can come back from another process."""
    made = plan(problem, epsilon=epsilon, delta=delta, algorithms=algorithms, progress=False)
    bare = [replace(c, plan=None if c.plan is None else replace(c.plan)) for c in made.candidates]
    return made.target, bare, made.warnings, made.ranked_by


def _timed_run(chosen: Plan, environment: Environment, seed: int, run: int) -> tuple[Outcome, float]:
    """One run, in whatever process this is, without what only pictures show of it; and its seconds."""
    started = time.perf_counter()
    outcome = simulate_run(chosen, environment, seed, run)
    return replace(outcome, detail={}), time.perf_counter() - started
