"""`tacit run`: a stream of losses in, one decision a round out."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

import tacit
from tacit.cli import domains, options
from tacit.cli.problems import LOSSES
from tacit.cli.streams import Stream, open_stream
from tacit.errors import InvalidInput
from tacit.problems import Problem
from tacit.randomness import Randomness

app = typer.Typer(help="Run the chosen plan on a stream: feedback in, one decision a round out.", no_args_is_help=True)


@app.command()
def experts(
    epsilon: options.Epsilon,
    input: options.Input,
    delta: options.Delta = 1e-6,
    format: options.Format = None,
    horizon: options.Horizon = None,
    adversary: options.Adversary = "oblivious",
    relation: options.RelationName = "replace",
    rounds_per_person: options.RoundsPerPerson = 1,
    max_switches: options.MaxSwitches = None,
    loss_range: options.LossRange = (0.0, 1.0),
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Losses of every expert in, one expert a round out; at the end the contract, to standard error.

    The decision of a round is written before that round's losses are read. For a file the horizon is its
    number of rows; for standard input it is --horizon, or unknown.
    """
    stream = open_stream(input, format)
    rounds = horizon or stream.length
    problem = tacit.Experts(n=len(stream.columns), horizon=rounds, loss_range=loss_range)
    privacy = options.privacy(epsilon, delta, adversary, relation, rounds_per_person, max_switches)
    decide(problem, privacy, stream, seed, as_json)


@app.command()
def tracking(
    epsilon: options.Epsilon,
    input: options.Input,
    switches: options.Switches,
    delta: options.Delta = 1e-6,
    format: options.Format = None,
    horizon: options.Horizon = None,
    adversary: options.LossMaker = "oblivious",
    relation: options.RelationName = "replace",
    rounds_per_person: options.RoundsPerPerson = 1,
    loss_range: options.LossRange = (0.0, 1.0),
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """As `tacit run experts`, when the best expert changes over time."""
    stream = open_stream(input, format)
    problem = tacit.Tracking(
        n=len(stream.columns),
        horizon=horizon or stream.length,
        switches=switches,
        adversary=adversary,
        loss_range=loss_range,
    )
    privacy = options.privacy(epsilon, delta, None, relation, rounds_per_person, None)
    decide(problem, privacy, stream, seed, as_json)


@app.command()
def bandit(
    dim: domains.Dimension,
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    horizon: options.Horizon = None,
    domain: domains.DomainName = "ball",
    radius: domains.Radius = 1.0,
    chosen: domains.Chosen = 1,
    value_range: options.ValueRange = (0.0, 1.0),
    lipschitz: options.Lipschitz = 1.0,
    relation: options.RelationName = "replace",
    rounds_per_person: options.RoundsPerPerson = 1,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """A conversation: a point out, its loss in, line by line, until standard input ends.

    Each point is one line of numbers with commas between them (or JSON); answer it with one line, its loss.
    """
    chosen_set = domains.domain_of(domain, dim, radius, chosen)
    problem = tacit.Bandit(domain=chosen_set, horizon=horizon, value_range=value_range, lipschitz=lipschitz)
    plan = tacit.plan(problem, **options.privacy(epsilon, delta, None, relation, rounds_per_person, None))
    learner = plan.start(None if seed is None else Randomness.replayable(seed))
    while learner.rounds != problem.horizon:
        _write_point(learner, as_json)
        sys.stdout.flush()
        answer = sys.stdin.readline()
        if not answer.strip():
            break
        try:
            value = float(answer)
        except ValueError:
            raise InvalidInput(
                f"Line {learner.rounds + 1} of standard input must be one number. Got {answer.strip()!r} instead."
            ) from None
        learner.observe(value)
    summary(plan, learner, as_json)


@app.command()
def convex(
    epsilon: options.Epsilon,
    input: options.Input,
    delta: options.Delta = 1e-6,
    format: options.Format = None,
    horizon: options.Horizon = None,
    loss: Annotated[str, typer.Option(help="logistic, squared, huber or hinge.")] = "logistic",
    radius: domains.Radius = 1.0,
    data_norm: Annotated[
        float, typer.Option(help="Public bound on the norm of a row of features; longer rows are scaled down.")
    ] = 1.0,
    label: Annotated[str | None, typer.Option(help="Column of the label (default: the last one).")] = None,
    relation: options.RelationName = "replace",
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Online linear models: a row of features and a label in, the weights of each round out."""
    stream = open_stream(input, format)
    name = stream.columns[-1] if label is None else label
    if name not in stream.columns:
        raise InvalidInput(f"{stream.name} has no column {name!r}: its columns are {', '.join(stream.columns)}.")
    if loss not in LOSSES:
        raise InvalidInput(f"--loss must be one of {', '.join(LOSSES)}. Got {loss!r} instead.")
    at = stream.columns.index(name)
    domain = tacit.Ball(len(stream.columns) - 1, radius)
    problem = tacit.Convex(domain=domain, loss=LOSSES[loss](data_norm=data_norm), horizon=horizon or stream.length)
    plan = tacit.plan(problem, **options.privacy(epsilon, delta, None, relation, 1, None))
    learner = plan.start(None if seed is None else Randomness.replayable(seed))
    for row in stream.rows:
        _write_point(learner, as_json)
        _observe(learner, ([*row[:at], *row[at + 1 :]], row[at]), stream)
    sys.stdout.flush()
    summary(plan, learner, as_json)


def _write_point(learner: tacit.Learner, as_json: bool) -> None:
    point = [float(x) for x in learner.play()]
    record = {"round": learner.rounds + 1, "point": point}
    sys.stdout.write((json.dumps(record) if as_json else ",".join(repr(x) for x in point)) + "\n")


def _observe(learner: tacit.Learner, feedback: Any, stream: Stream) -> None:
    """Observe one row; if it is bad, say which."""
    try:
        learner.observe(feedback)
    except InvalidInput as error:
        raise InvalidInput(f"Row {learner.rounds + 1} of {stream.name}: {error}") from None


def decide(problem: Problem, privacy: dict[str, Any], stream: Stream, seed: int | None, as_json: bool) -> None:
    """Plan, then one decision a row, then the summary."""
    plan = tacit.plan(problem, **privacy)
    learner = plan.start(None if seed is None else Randomness.replayable(seed))
    waits = stream.length is None  # someone at the other end needs the decision before the losses exist
    rows = iter(stream.rows)
    while learner.rounds != problem.horizon:
        decision = int(learner.play())
        name = stream.columns[decision]
        line = json.dumps({"round": learner.rounds + 1, "decision": decision, "name": name}) if as_json else name
        if waits:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        row = next(rows, None)
        if row is None:
            break
        if not waits:
            sys.stdout.write(line + "\n")
        _observe(learner, row, stream)
    if next(rows, None) is not None:
        raise InvalidInput(
            f"{stream.name} has more than the {problem.horizon} rounds that were planned: plan a longer horizon."
        )
    sys.stdout.flush()
    summary(plan, learner, as_json)


def summary(plan: tacit.Choice, learner: tacit.Learner, as_json: bool) -> None:
    """What was done and under which contract. Losses and regret are private: they are not shown."""
    bound = float(plan.regret_bound)
    if as_json:
        record = {
            "algorithm": plan.algorithm,
            "rounds": learner.rounds,
            "switches": learner.switches,
            "certified_regret": bound,
            "vacuous": plan.plan.vacuous,
            "guarantee": json.loads(learner.guarantee.to_json()),
        }
        typer.echo(json.dumps(record), err=True)
        return
    typer.echo(
        f"{plan.algorithm}: {learner.rounds} rounds, {learner.switches} switches, certified regret {bound:.4g}\n"
        f"{learner.guarantee}",
        err=True,
    )
    if plan.plan.vacuous:
        typer.echo(
            "Warning: this certified regret says nothing: at this privacy, so few rounds do not pay for learning. "
            "See tacit plan.",
            err=True,
        )
