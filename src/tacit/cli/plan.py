"""`tacit plan`: compare every algorithm on certified regret before any data is seen."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

import tacit
from tacit.cli import domains, options
from tacit.problems import Problem

app = typer.Typer(help="Compare every applicable algorithm on certified regret.", no_args_is_help=True)


@app.command()
def experts(
    n: Annotated[int, typer.Option(help="Number of experts.")],
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    horizon: options.Horizon = None,
    adversary: options.Adversary = "oblivious",
    relation: options.RelationName = "replace",
    rounds_per_person: options.RoundsPerPerson = 1,
    max_switches: options.MaxSwitches = None,
    loss_range: options.LossRange = (0.0, 1.0),
    as_json: options.Json = False,
) -> None:
    """Choose one of N experts each round."""
    problem = tacit.Experts(n=n, horizon=horizon, loss_range=loss_range)
    show(problem, options.privacy(epsilon, delta, adversary, relation, rounds_per_person, max_switches), as_json)


@app.command()
def tracking(
    n: Annotated[int, typer.Option(help="Number of experts.")],
    switches: options.Switches,
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    horizon: options.Horizon = None,
    adversary: options.LossMaker = "oblivious",
    relation: options.RelationName = "replace",
    rounds_per_person: options.RoundsPerPerson = 1,
    loss_range: options.LossRange = (0.0, 1.0),
    as_json: options.Json = False,
) -> None:
    """Follow the best expert of a changing world."""
    problem = tacit.Tracking(n=n, horizon=horizon, switches=switches, adversary=adversary, loss_range=loss_range)
    show(problem, options.privacy(epsilon, delta, "oblivious", relation, rounds_per_person, None), as_json)


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
    as_json: options.Json = False,
) -> None:
    """Choose a point of a set; only its loss is seen."""
    chosen_set = domains.domain_of(domain, dim, radius, chosen)
    problem = tacit.Bandit(domain=chosen_set, horizon=horizon, value_range=value_range, lipschitz=lipschitz)
    show(problem, options.privacy(epsilon, delta, "oblivious", relation, rounds_per_person, None), as_json)


@app.command()
def convex(
    dim: domains.Dimension,
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    horizon: options.Horizon = None,
    domain: domains.DomainName = "ball",
    radius: domains.Radius = 1.0,
    lipschitz: options.Lipschitz = 1.0,
    smoothness: Annotated[float, typer.Option(help="Largest curvature of a loss; inf if losses may have kinks.")] = 1.0,
    family: Annotated[str, typer.Option(help="linear, glm (generalised linear) or general.")] = "general",
    adversary: options.Adversary = "oblivious",
    relation: options.RelationName = "replace",
    rounds_per_person: options.RoundsPerPerson = 1,
    max_switches: options.MaxSwitches = None,
    as_json: options.Json = False,
) -> None:
    """Choose a point of a convex set; its convex loss is seen."""
    loss = tacit.ConvexFamily(lipschitz, smoothness, family)
    problem = tacit.Convex(domain=domains.domain_of(domain, dim, radius), loss=loss, horizon=horizon)
    show(problem, options.privacy(epsilon, delta, adversary, relation, rounds_per_person, max_switches), as_json)


def show(problem: Problem, privacy: dict[str, Any], as_json: bool) -> None:
    """Plan and print."""
    choice = tacit.plan(problem, **privacy)
    typer.echo(json.dumps(choice.to_dict(), indent=2) if as_json else choice.explain())
