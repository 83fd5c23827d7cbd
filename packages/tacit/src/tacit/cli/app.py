"""The commands: what each does, beside those that have files of their own."""

from __future__ import annotations

import json
import sys
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

import tacit
from tacit import algorithms
from tacit.cli import options, papers, problems
from tacit.cli.options import add_command, add_commands
from tacit.cli.plugins import Commands
from tacit.environments.named import NAMED, fitting_environment, named_environment
from tacit.errors import InvalidInput
from tacit.problems import Problem
from tacit.report.plots import plot_regret
from tacit.runtime.plan import Plan
from tacit.version import __version__

plans = typer.Typer(
    help="Calibrate every algorithm that applies, and choose by certified regret.", no_args_is_help=True
)


def make_plan(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    rank: Annotated[str, typer.Option(help="typical (regret in reference worlds) or certified.")] = "typical",
    environment: Annotated[
        str | None,
        typer.Option(help="Choose by regret simulated in this world (its name, as in tacit simulate) alone."),
    ] = None,
    runs: Annotated[int, typer.Option(help="How many runs of each plan are simulated in --environment.")] = 20,
) -> None:
    """Calibrate every algorithm that applies, and choose by a public rule, which the answer states.

    The rule takes the smallest typical regret among certificates that are close enough to the smallest.
    """
    choice = tacit.plan(problem, **privacy, rank=rank, environment=environment, runs=runs)
    output.answer(choice.explain(), choice.to_dict())


add_commands(plans, make_plan, problems.PLANNED)


simulations = typer.Typer(help="Measure regret on made-up streams, beside the certified regret.", no_args_is_help=True)

NAMES = "; ".join(f"{kind.__name__}: {', '.join(names)}" for kind, names in NAMED.items())
World = Annotated[str | None, typer.Option(help=f"What makes the feedback ({NAMES}; default: the first that fits).")]


def simulate(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    environment: World = None,
    runs: Annotated[int, typer.Option(help="How many independent runs.")] = 20,
    seed: Annotated[int, typer.Option(help="Makes the runs repeatable.")] = 0,
    missing: Annotated[float, typer.Option(help="Share of the rounds whose feedback never comes.")] = 0.0,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of regret here.")] = None,
    as_printed: Annotated[
        str | None,
        typer.Option(help='With --algorithm: the parameters that a paper prints in this result, such as "Theorem 8".'),
    ] = None,
    reading: Annotated[
        str | None, typer.Option(help="With --as-printed: a choice where the print leaves a parameter open.")
    ] = None,
) -> None:
    """The chosen plan runs against an environment."""
    options.check_picture(plot)
    if problem.horizon is None:
        raise InvalidInput("tacit simulate needs --horizon: how many rounds are played.")
    stream = named_environment(environment or fitting_environment(problem), problem)
    printed = as_printed is not None or reading is not None
    plan = printed_plan(problem, privacy, as_printed, reading) if printed else tacit.plan(problem, **privacy)
    result = tacit.simulate(plan, stream, runs=runs, seed=seed, missing=missing)
    if plot is not None:
        plot_regret([result], plot)
    said = (f"{said_of_print(result.plan)}\n", record_of_print(result.plan)) if printed else ("", {})
    output.answer(f"{said[0]}{result.summary()}", result.to_dict() | said[1])


def printed_plan(problem: Problem, privacy: dict[str, Any], result: str | None, reading: str | None) -> Plan:
    """Return the plan with a paper's parameters; what no print knows is refused."""
    if result is None:
        raise InvalidInput("--reading needs --as-printed: the result whose parameters are read.")
    if not privacy["algorithms"]:
        raise InvalidInput("--as-printed needs --algorithm: whose parameters are printed there.")
    for name, default in (("separation", 1), ("max_switches", None), ("numerics", "exact"), ("confidence", None)):
        if privacy[name] != default:
            raise InvalidInput(f"--as-printed takes no --{name.replace('_', '-')}: no paper prints it.")
    (name,) = privacy["algorithms"]
    algorithm = getattr(algorithms, name, None) if name in algorithms.__all__ else None
    if not (isinstance(algorithm, type) and issubclass(algorithm, Plan)):
        raise InvalidInput(f"tacit has no algorithm {name!r}.")
    finite = privacy["epsilon"] < inf
    return algorithm.as_printed(
        problem,
        epsilon=privacy["epsilon"] if finite else None,
        delta=privacy["delta"] if finite else None,
        result=result,
        reading=reading,
        relation=privacy["relation"],
        rounds_per_person=privacy["rounds_per_person"],
    )


def said_of_print(plan: Plan) -> str:
    """Return what became of a printed promise, in one line."""
    assert plan.printed is not None
    return f"as printed ({plan.printed.place}): {plan.printed_status}: {plan.printed.promise(plan.guarantee.curve)}"


def record_of_print(plan: Plan) -> dict[str, Any]:
    """Return what became of a printed promise, for programs."""
    assert plan.printed is not None
    return {"as_printed": plan.printed.place, "status": plan.printed_status, "asked": plan.printed.epsilon}


add_commands(simulations, simulate, problems.SIMULATED)


audits = typer.Typer(help="Try to break the privacy contract of a plan.", no_args_is_help=True)


def attack(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    budget: Annotated[float, typer.Option(help="Effort: 1 takes less than two minutes.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Makes the audit repeatable.")] = 0,
) -> None:
    """The plan's contract is attacked; exit code 1 if it was broken."""
    report = tacit.audit(tacit.plan(problem, **privacy).plan, budget=budget, seed=seed, progress=_progress())
    output.answer(str(report), report.to_dict())
    if report.violation:
        raise typer.Exit(1)


add_commands(audits, attack, problems.SIMULATED)


def _progress() -> Any:
    """What is being audited, on a terminal only."""
    if not sys.stderr.isatty():
        return None
    return lambda text: typer.echo(f"  {text} ...", err=True)


contracts = typer.Typer(help="Write contracts as JSON, and verify them.", no_args_is_help=True)
written = typer.Typer(help="Write the contract of the chosen plan as JSON.", no_args_is_help=True)
contracts.add_typer(written, name="write")


def write(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    to: Annotated[Path | None, typer.Option("--output", help="Where it goes (default: standard output).")] = None,
) -> None:
    """Every algorithm that applies is calibrated; the contract of the chosen one is written."""
    options.check_folder(to)
    made = tacit.contract(tacit.plan(problem, **privacy))
    if to is None:
        typer.echo(json.dumps(made, indent=2))
        return
    to.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    output.answer(f"Contract: {to}", {"contract": str(to)})


def verify(
    file: Annotated[Path, typer.Argument(help="A contract as JSON, of tacit.contract or `tacit contract write`.")],
    output: options.Output,
) -> None:
    """Everything is recomputed from the plan's public numbers.

    Exit code 0: yes, 1: no, 2: not verifiable yet, 3: not private.
    """
    if not file.exists():
        raise InvalidInput(f"There is no file {str(file)!r}.")
    try:
        verdict = tacit.verify(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8 text.") from None
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    output.answer(str(verdict), verdict.to_dict())
    if verdict.exit_code:
        raise typer.Exit(verdict.exit_code)


add_commands(written, write, problems.PLANNED)
add_command(contracts, verify)


ABOUT = "Sequential decisions from user feedback, with differential privacy and a proof of what they leak."
app = typer.Typer(
    cls=Commands,
    help=ABOUT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for part, name in ((plans, "plan"), (simulations, "simulate"), (audits, "audit"), (contracts, "contract")):
    app.add_typer(part, name=name)
add_command(app, papers.paper)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def callback(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What stands before the commands."""
