"""Sweeps: many problems, privacies and environments, each run several times, on any joblib backend.

A cell is one plan against one environment. A run's randomness is derived from the sweep's seed and the run's
number alone, so the rows are the same whichever process makes them, in whatever order. What is stored is found again by
the cell's hash and is not run again. Only the calling process writes.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit.environments.environment import Environment
from tacit.environments.named import named_environment
from tacit.errors import InvalidInput
from tacit.noise.randomness import REPLAYABLE
from tacit.planning.catalogue import algorithms_for, check_algorithm
from tacit.planning.comparison import Candidate, Comparison
from tacit.planning.planner import plan
from tacit.problems import Problem
from tacit.progress import Progress
from tacit.runtime.plan import Plan
from tacit.runtime.target import Target
from tacit.simulation.games import MOST_RUNS, game_for
from tacit.simulation.loop import certified_regret, simulate_run
from tacit.sweeps.records import SCHEMA_VERSION, Store, Sweep, describe, digest, distinct, make_table, read_tables
from tacit.validation import check_integer, check_privacy, invalid, require
from tacit.version import __version__

# A part is written after this long, or after this share of the time so far: a killed sweep loses little, and the
# number of parts grows with the logarithm of the time.
FLUSH_SECONDS = 1.0
FLUSH_SHARE = 0.02

EnvironmentMaker = str | Callable[[Any], Environment]
"""A name of `tacit.environments.named.NAMED`, or a function from a problem to its environment."""
Algorithms = str | Sequence[str | type[Plan]]


@dataclass(frozen=True)
class Job:
    """One run to be made: everything a worker needs."""

    plan: Plan
    environment: Environment
    facts: dict[str, Any]
    run: int

    @property
    def rounds(self) -> int:
        """How long it is, for the estimate of the time left."""
        return int(self.facts["horizon"])


def sweep(
    problems: Problem | Iterable[Problem],
    privacies: Iterable[tuple[float, float]],
    environments: EnvironmentMaker | Iterable[EnvironmentMaker],
    *,
    runs: int = 20,
    seed: int = 0,
    path: str | Path | None = None,
    algorithms: Algorithms = "best",
    backend: str | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    command: str | None = None,
) -> Sweep:
    """Run every problem at every privacy in every environment, and keep one row for each run.

    Args:
        problems: what is to be decided.
        privacies: pairs (epsilon, delta).
        environments: functions from a problem to an environment, or names (see `tacit.environments.named.NAMED`).
        runs: how many runs of each cell.
        seed: makes the sweep repeatable; a simulation is never private.
        path: the folder of Parquet files to append to; what is in it already is not run again.
        algorithms: "best" (the planner's choice), "all" that meet the contract, or a list of names and of classes;
            a class that is not registered takes part in the planning, too.
        backend: a joblib backend (default: what `joblib.parallel_config` says, else loky).
        n_jobs: processes (default: what `joblib.parallel_config` says, else one; -1: all cores).
        progress: show what is done and how long the rest will take (default: only in a terminal).
        command: what to type to make this again (default: this process's command line).

    >>> from tacit.problems import Experts
    >>> result = sweep([Experts(n=4, horizon=64)], [(1.0, 1e-6)], ["gap", "switching"], runs=3)
    >>> len(result), len(result.summaries())
    (6, 2)
    """
    check_integer("sweep", "runs", runs, at_most=MOST_RUNS)
    check_integer("sweep", "seed", seed, at_least=0)
    joblib = require("joblib", "sweeps")
    require("pyarrow", "cli")
    pool = _Pool(joblib, {"backend": backend, "n_jobs": n_jobs}, Progress("sweep", progress))
    cells = list(_grid(problems, privacies, environments))
    if not cells:
        raise InvalidInput("This sweep is empty: give at least one problem, one privacy and one environment.")
    said = shlex.join(sys.orig_argv) if command is None else command
    # Whatever is wrong with a cell shows here, before the first run.
    asked = _asked(algorithms)
    jobs = [job for cell in pool.plan(cells, asked) for job in _jobs(*cell, asked, runs, seed, said)]
    if path is None:
        return Sweep(distinct(make_table(list(pool.rows(jobs, 0)))))
    store = Store.open(path)
    with store.alone():
        wanted = {(job.facts["cell"], job.run) for job in jobs}
        done = {key for table in read_tables(store.path) for key in _keys(table)} & wanted
        left = [job for job in jobs if (job.facts["cell"], job.run) not in done]
        _store_all(store, pool.rows(left, len(done)))
        parts = [_only(table, wanted) for table in read_tables(store.path)]
    return Sweep(distinct(require("pyarrow", "cli").concat_tables(parts)), store.path)


def _grid(
    problems: Problem | Iterable[Problem],
    privacies: Iterable[tuple[float, float]],
    environments: EnvironmentMaker | Iterable[EnvironmentMaker],
) -> Iterator[tuple[Problem, float, float, list[tuple[str, Environment]]]]:
    """Every problem at every privacy, with its environments."""
    single = isinstance(environments, str) or callable(environments)
    for name, given in (("problems", problems), ("privacies", privacies), ("environments", environments)):
        if not (isinstance(given, Iterable | Problem) or (name == "environments" and single)):
            raise invalid("sweep", name, "a list", given)
    worlds = [environments] if isinstance(environments, str) or callable(environments) else list(environments)
    for world in worlds:
        if not (isinstance(world, str) or callable(world)):
            raise invalid("sweep", "environments", "names, or functions from a problem to an environment", world)
    names = [_name(world) for world in worlds]
    pairs = [_privacy(pair) for pair in privacies]
    for problem in [problems] if isinstance(problems, Problem) else problems:
        if not isinstance(problem, Problem):
            raise invalid("sweep", "problems", "problems such as Experts(n=, horizon=)", problem)
        found = [named_environment(w, problem) if isinstance(w, str) else w(problem) for w in worlds]
        made = [(name or type(world).__name__, world) for name, world in zip(names, found, strict=True)]
        for epsilon, delta in pairs if made else []:
            yield problem, epsilon, delta, made


def _jobs(
    choice: Comparison,
    environments: list[tuple[str, Environment]],
    algorithms: list[str | type[Plan]],
    runs: int,
    seed: int,
    command: str,
) -> Iterator[Job]:
    for chosen in _plans(choice, algorithms):
        for world, environment in environments:
            facts = {"world": world, **_facts(choice, chosen, environment, seed, command)}
            # A fresh copy has no cached values, some of which do not travel to other processes.
            bare = replace(chosen)
            yield from (Job(bare, environment, facts, run) for run in range(runs))


def _name(world: EnvironmentMaker) -> str | None:
    """What the user calls it (None: an unnamed function, which goes by the name of what it makes)."""
    name = world if isinstance(world, str) else getattr(world, "__name__", "<")
    return None if "<" in name else name


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


def _facts(choice: Comparison, chosen: Plan, environment: Environment, seed: int, command: str) -> dict[str, Any]:
    """The columns that all runs of a cell share."""
    game_for(choice.problem, environment)  # raises if they do not fit
    rounds = int(environment.horizon)
    problem, target = describe(choice.problem), choice.target
    against = describe(environment)
    domain = getattr(choice.problem, "domain", None)
    candidates = [c for c in choice.candidates if c.plan is not None]
    inside = describe(chosen.parameters)
    floor = choice.floor if choice.problem.horizon == rounds else None  # of so many rounds
    return {
        "cell": digest(SCHEMA_VERSION, problem, chosen.algorithm, inside, target.epsilon, target.delta, against, seed),
        "seed": seed,
        "tacit_schema": SCHEMA_VERSION,
        "tacit_version": __version__,
        "command": command,
        "kind": type(choice.problem).__name__,
        "problem": problem,
        "family": describe(replace(choice.problem, horizon=None)),
        "horizon": rounds,
        "n": getattr(choice.problem, "n", None),
        "dimension": getattr(choice.problem, "dimension", getattr(domain, "dimension", None)),
        "algorithm": chosen.algorithm,
        "chosen": chosen is choice.plan,
        "epsilon": target.epsilon,
        "delta": target.delta,
        "contract": str(chosen.guarantee.with_randomness(REPLAYABLE)),
        "environment": against,
        "bound": certified_regret(chosen, rounds),
        "bound_condition": chosen.regret_bound.condition,
        "vacuous": chosen.vacuous,
        "floor": None if floor is None else float(floor),
        "floor_reason": "" if floor is None else floor.reason,
        "candidates": [c.algorithm for c in candidates],
        "candidate_bounds": [certified_regret(c.plan, rounds) for c in candidates if c.plan is not None],
    }


def make_row(job: Job) -> dict[str, Any]:
    """Make one run, in whatever process this is, and describe it."""
    started = time.perf_counter()
    outcome = simulate_run(job.plan, job.environment, int(job.facts["seed"]), job.run)
    seconds = time.perf_counter() - started
    rounds = game_for(job.plan.problem, job.environment).rounds(job.environment.horizon)
    return {
        **job.facts,
        "run": job.run,
        "regret": float(outcome.regret[-1]),
        "regret_per_round": float(outcome.regret[-1]) / job.rounds,
        "switches": int(outcome.switches),
        "seconds": seconds,
        "checkpoints": rounds.tolist(),
        "regret_curve": outcome.regret.tolist(),
    }


@dataclass(frozen=True)
class _Pool:
    """Plans and runs, handed to joblib."""

    joblib: Any
    options: dict[str, Any]
    shown: Progress

    def plan(
        self, cells: list[tuple[Problem, float, float, list[tuple[str, Environment]]]], asked: list[str | type[Plan]]
    ) -> Iterator[tuple[Comparison, list[tuple[str, Environment]]]]:
        """The planner's choice for each cell, with the cell's environments."""
        self.shown.say(f"planning {len(cells)} problems")
        call = self.joblib.delayed(_candidates)
        tasks = (call(*cell[:3], _compared(cell[0], asked)) for cell in cells)
        for (problem, *_, environments), parts in zip(cells, self.joblib.Parallel(**self.options)(tasks), strict=True):
            yield Comparison(problem, *parts), environments

    def rows(self, jobs: list[Job], before: int) -> Iterator[dict[str, Any]]:
        """The rows of these jobs, as they come."""
        self.shown.expect(before, [job.rounds for job in jobs])
        for row in self._made(jobs) if jobs else ():
            self.shown.step(int(row["horizon"]))
            yield row

    def _made(self, jobs: list[Job]) -> Iterator[dict[str, Any]]:
        call = self.joblib.delayed(make_row)
        try:
            parallel = self.joblib.Parallel(return_as="generator_unordered", **self.options)
        except ValueError:  # some backends give whole lists only: hand out shares, to store rows between them
            parallel = self.joblib.Parallel(**self.options)
            share = 4 * (parallel.n_jobs if parallel.n_jobs > 0 else self.joblib.cpu_count())
            for first in range(0, len(jobs), share):
                yield from parallel(map(call, jobs[first : first + share]))
        else:
            yield from parallel(map(call, jobs))


def _candidates(
    problem: Problem, epsilon: float, delta: float, algorithms: tuple[type[Plan], ...]
) -> tuple[Target, list[Candidate], tuple[str, ...], str]:
    """What the planner found, without cached values, so that it can come back from another process."""
    made = plan(problem, epsilon=epsilon, delta=delta, algorithms=algorithms, progress=False)
    bare = [replace(c, plan=None if c.plan is None else replace(c.plan)) for c in made.candidates]
    return made.target, bare, made.warnings, made.ranked_by


def _store_all(store: Store, rows: Iterator[Any]) -> None:
    """Append rows as parts, often enough that little is lost when the process is killed."""
    started = last = time.monotonic()
    waiting: list[Any] = []
    for row in rows:
        waiting.append(row)
        now = time.monotonic()
        if now - last >= max(FLUSH_SECONDS, FLUSH_SHARE * (now - started)):
            _append(store, waiting)
            waiting, last = [], now
    if waiting:
        _append(store, waiting)


def _append(store: Store, rows: list[Any]) -> None:
    store.append(make_table(rows), digest(*((row["cell"], row["run"]) for row in rows)))


def _keys(table: Any) -> list[tuple[str, int]]:
    return list(zip(table["cell"].to_pylist(), table["run"].to_pylist(), strict=True))


def _only(table: Any, wanted: set[tuple[str, int]]) -> Any:
    return table.filter([key in wanted for key in _keys(table)])
