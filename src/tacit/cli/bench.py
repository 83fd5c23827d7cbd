"""`tacit bench`: how many rounds a second each algorithm decides on this machine, beside drawing its noise."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import tacit
from tacit.cli import options
from tacit.cli.commands import add_commands
from tacit.cli.simulate import PLAYED
from tacit.environments.environment import BanditStream, ConvexStream, Environment, ExpertStream, LipschitzStream
from tacit.environments.named import fitting_environment, named_environment
from tacit.learners.bandit import Rounds
from tacit.learners.plan import Plan
from tacit.problems import Problem
from tacit.progress import Progress
from tacit.randomness import Randomness
from tacit.report.tables import Table, Value
from tacit.validation import check_integer, invalid

app = typer.Typer(help="Measure how fast every algorithm decides on this machine.", no_args_is_help=True)

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
    environment = named_environment(fitting_environment(problem), problem)
    plans = [candidate.plan for candidate in tacit.plan(problem, **privacy).candidates if candidate.plan is not None]
    rows = []
    with Progress("timing", None) as shown:
        for plan in plans:
            shown.say(plan.algorithm)
            rows.append((plan.algorithm, *timed(plan, environment, repeats)))
    names = ("algorithm", "seconds_a_round", "draws_a_round")
    lines = [(name, f"{1 / seconds:,.0f}", f"{1e6 * seconds:,.3g}", f"{draws:,.3g}") for name, seconds, draws in rows]
    table = Table(HEADS, tuple(tuple(Value(text) for text in line) for line in lines))
    head = f"{type(environment).__name__}, {environment.horizon:,} rounds, the fastest of {repeats}"
    output.answer(f"{head}\n\n{table.to_text()}", [dict(zip(names, row, strict=True)) for row in rows])


def feedback_of(environment: Environment, generator: np.random.Generator) -> Any:
    """One stream, as a learner's `run` takes it."""
    if isinstance(environment, ExpertStream):
        return environment.losses(generator)
    if isinstance(environment, ConvexStream):
        return environment.data(generator)
    if isinstance(environment, LipschitzStream):
        return environment.functions(generator)
    if isinstance(environment, BanditStream):
        return Rounds(environment.start(generator).values, environment.horizon, keep=False)
    raise invalid("bench", "environment", "one that does not react to decisions", environment)


def timed(plan: Plan, environment: Environment, repeats: int) -> tuple[float, float]:
    """Seconds a round, and how many normal draws fit into one; the two are measured in turns."""
    count = max(10_000, environment.horizon)
    deciding, drawing = [], []
    for repeat in range(repeats):
        source = Randomness.replayable(repeat)
        learner, feedback = plan.start(source), feedback_of(environment, source.stream("feedback"))
        noise = source.stream("noise")
        start = perf_counter()
        noise.standard_normal(count)
        middle = perf_counter()
        learner.run(feedback)
        drawing.append((middle - start) / count)
        deciding.append((perf_counter() - middle) / environment.horizon)
    return min(deciding), min(deciding) / min(drawing)


add_commands(app, bench, PLAYED)
