"""`tacit bench`: how many rounds a second each algorithm decides on this machine, beside drawing its noise."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import tacit
from tacit.cli import options, problems
from tacit.cli.commands import add_commands
from tacit.environments.named import fitting_environment, named_environment
from tacit.learners.bandit import Rounds
from tacit.learners.plan import Plan
from tacit.problems import Bandit, Convex, Experts, Lipschitz, Problem, Tracking
from tacit.progress import Progress
from tacit.randomness import Randomness
from tacit.report.tables import Table, Value
from tacit.validation import check_integer

app = typer.Typer(help="Measure how fast every algorithm decides on this machine.", no_args_is_help=True)

FEEDBACK: dict[type[Problem], Callable[[Any, np.random.Generator], Any]] = {
    Experts: lambda world, generator: world.losses(generator),
    Tracking: lambda world, generator: world.losses(generator),
    Convex: lambda world, generator: world.data(generator),
    Lipschitz: lambda world, generator: world.functions(generator),
    Bandit: lambda world, generator: Rounds(world.start(generator).values, world.horizon, keep=False),
}
HEADS = ("algorithm", "rounds a second", "microseconds a round", "normal draws a round")


def bench(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    repeats: Annotated[int, typer.Option(help="How many runs of each algorithm; the fastest counts.")] = 3,
) -> None:
    """Every plan's `run` is timed on one simulated stream.

    The last column is the same time as a number of standard normal draws of the generator that tacit uses, measured
    in the same run: it can be compared between machines.
    """
    check_integer("bench", "repeats", repeats)
    world = named_environment(fitting_environment(problem), problem)
    plans = [candidate.plan for candidate in tacit.plan(problem, **privacy).candidates if candidate.plan is not None]
    rows = []
    with Progress("timing", None) as shown:
        for plan in plans:
            shown.say(plan.algorithm)
            rows.append((plan.algorithm, *timed(plan, world, repeats)))
    names = ("algorithm", "seconds_a_round", "draws_a_round")
    lines = [(name, f"{1 / seconds:,.0f}", f"{1e6 * seconds:,.3g}", f"{draws:,.3g}") for name, seconds, draws in rows]
    table = Table(HEADS, tuple(tuple(Value(text) for text in line) for line in lines))
    head = f"{type(world).__name__}, {world.horizon:,} rounds, the fastest of {repeats}"
    output.answer(f"{head}\n\n{table.to_text()}", [dict(zip(names, row, strict=True)) for row in rows])


def timed(plan: Plan, world: Any, repeats: int) -> tuple[float, float]:
    """Seconds a round, and how many normal draws fit into one; the two are measured in turns."""
    count = max(10_000, world.horizon)
    deciding, drawing = [], []
    for repeat in range(repeats):
        source = Randomness.replayable(repeat)
        learner, feedback = plan.start(source), FEEDBACK[type(plan.problem)](world, source.stream("feedback"))
        noise = source.stream("noise")
        start = perf_counter()
        noise.standard_normal(count)
        middle = perf_counter()
        learner.run(feedback)
        drawing.append((middle - start) / count)
        deciding.append((perf_counter() - middle) / world.horizon)
    return min(deciding), min(deciding) / min(drawing)


KINDS = (problems.experts, problems.tracking, problems.convex, problems.lipschitz, problems.bandit)
add_commands(app, bench, KINDS)
