"""`tacit audit`: try to break the privacy contract of the plan that would be used."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import tacit
from tacit.audit import audit
from tacit.cli import domains, options
from tacit.planning import plan as make_plan
from tacit.problems import Problem
from tacit.validation import check_choice

app = typer.Typer(help="Attack a plan: certified privacy against what can be measured.", no_args_is_help=True)

Algorithm = Annotated[str | None, typer.Option(help="Which algorithm to attack (default: the one that is chosen).")]
Budget = Annotated[float, typer.Option(help="Effort; 1 takes less than two minutes.")]
AuditSeed = Annotated[int, typer.Option("--seed", help="Makes the attack repeatable.")]
Plot = Annotated[Path | None, typer.Option(help="Write a picture of both curves here.")]


@app.command()
def experts(
    n: Annotated[int, typer.Option(help="Number of experts.")],
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    horizon: options.Horizon = None,
    relation: options.RelationName = "replace",
    rounds_per_person: options.RoundsPerPerson = 1,
    max_switches: options.MaxSwitches = None,
    loss_range: options.LossRange = (0.0, 1.0),
    algorithm: Algorithm = None,
    budget: Budget = 1.0,
    seed: AuditSeed = 0,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """Attack the plan for N experts."""
    problem = tacit.Experts(n=n, horizon=horizon, loss_range=loss_range)
    privacy = options.privacy(epsilon, delta, "oblivious", relation, rounds_per_person, max_switches)
    attack(problem, privacy, algorithm, budget, seed, plot, as_json)


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
    algorithm: Algorithm = None,
    budget: Budget = 1.0,
    seed: AuditSeed = 0,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """Attack the plan for a changing world."""
    problem = tacit.Tracking(n=n, horizon=horizon, switches=switches, adversary=adversary)
    privacy = options.privacy(epsilon, delta, "oblivious", relation, rounds_per_person, None)
    attack(problem, privacy, algorithm, budget, seed, plot, as_json)


@app.command()
def convex(
    dim: domains.Dimension,
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    horizon: options.Horizon = None,
    domain: domains.DomainName = "ball",
    radius: domains.Radius = 1.0,
    relation: options.RelationName = "replace",
    algorithm: Algorithm = None,
    budget: Budget = 1.0,
    seed: AuditSeed = 0,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """Attack the plan for the logistic loss on a convex set."""
    chosen = domains.domain_of(domain, dim, radius)
    problem = tacit.Convex(domain=chosen, loss=tacit.LogisticLoss(), horizon=horizon)
    privacy = options.privacy(epsilon, delta, "oblivious", relation, 1, None)
    attack(problem, privacy, algorithm, budget, seed, plot, as_json)


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
    relation: options.RelationName = "replace",
    budget: Budget = 1.0,
    seed: AuditSeed = 0,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """Attack the plan for one number a round."""
    points = domains.domain_of(domain, dim, radius, chosen)
    problem = tacit.Bandit(domain=points, horizon=horizon, value_range=value_range)
    privacy = options.privacy(epsilon, delta, "oblivious", relation, 1, None)
    attack(problem, privacy, None, budget, seed, plot, as_json)


def attack(
    problem: Problem,
    privacy: dict[str, Any],
    algorithm: str | None,
    budget: float,
    seed: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Plan, attack, report; exit code 1 if the promise was broken."""
    choice = make_plan(problem, **privacy)
    plans = {candidate.algorithm: candidate.plan for candidate in choice.candidates if candidate.plan is not None}
    name = choice.algorithm if algorithm is None else check_choice("audit", "algorithm", algorithm, tuple(plans))
    report = audit(plans[name], budget=budget, seed=seed, progress=_progress())
    if plot is not None:
        report.plot(plot)
    typer.echo(json.dumps(report.to_dict()) if as_json else str(report))
    if report.violation:
        raise typer.Exit(1)


def _progress() -> Any:
    """What is being attacked, on a terminal only."""
    if not sys.stderr.isatty():
        return None
    return lambda text: typer.echo(f"  {text} ...", err=True)
