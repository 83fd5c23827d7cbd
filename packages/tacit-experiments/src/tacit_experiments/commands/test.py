"""`tacit test`: plan a test of arms, and analyse one whose arms another system gave."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import tacit
from tacit.cli import options
from tacit.cli.options import add_command
from tacit.errors import InvalidInput
from tacit_experiments.ab_tests.analysis import analyse as analyse_file
from tacit_experiments.ab_tests.design import ARM, PERSON, ABTest
from tacit_experiments.ab_tests.metrics import Conversion, metric_from_words
from tacit_experiments.ab_tests.plan import SECONDARY, epsilon_of_each, plan_test
from tacit_experiments.commands.service import Key, Remembered
from tacit_experiments.store.store import Store

app = typer.Typer(no_args_is_help=True, help="Tests of arms (A/B): plan one, analyse one, under one privacy charge.")

DesignFile = Annotated[Path | None, typer.Option("--design", help="A JSON file with the design of the test.")]
Arms = Annotated[str | None, typer.Option("--arms", help="Names of the arms, with commas; the first is the default.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", help="bought=conversion, revenue=sum:200 or basket=ratio:revenue:orders; repeat it."),
]
Looks = Annotated[int | None, typer.Option("--looks", help="How many releases are planned (analyse: 1, plan: 4).")]


def plan(
    output: options.Output,
    people: Annotated[float, typer.Option("--people-per-day", help="New persons a day, in all arms.")],
    lift: Annotated[float, typer.Option("--lift", help="The lift that is to be found: 0.05 is five per cent more.")],
    base: Annotated[float | None, typer.Option("--base", help="The expected rate of the primary conversion.")] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="Of a person, for the whole test.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="Failure probability of the privacy (1e-6).")] = None,
    looks: Looks = None,
    metrics: Annotated[
        int, typer.Option("--metrics", help="How many metrics, with --base: a rate of 20%, revenue, a rate of 10%.")
    ] = 1,
    tests: Annotated[
        int, typer.Option("--tests-a-month", help="How many tests share --epsilon in a month, each with everybody.")
    ] = 1,
    power: Annotated[float, typer.Option("--power", help="The chance that a real lift is found.")] = 0.8,
    design: DesignFile = None,
) -> None:
    """Say how many days a test takes beside the classical one, and what each metric costs; nothing is charged."""
    given = _design_fields(design)
    if design is None:
        if base is None:
            raise InvalidInput("tacit test plan needs --base, the expected rate, or --design, a file.")
        if not 1 <= metrics <= 1 + len(SECONDARY):
            raise InvalidInput(f"--metrics must be 1 to {1 + len(SECONDARY)}; --design takes any of your own.")
        given = {
            "name": "plan",
            "arms": ["control", "new"],
            "metrics": [Conversion("primary", base), *SECONDARY[: metrics - 1]],
        }
    elif base is not None or metrics != 1:
        raise InvalidInput("--base and --metrics stand in the place of --design: give one of them.")
    made = ABTest.from_dict(_privacy(given, epsilon, delta) | ({} if looks is None else {"looks": looks}))
    if tests != 1:
        each = epsilon_of_each(made.epsilon, made.delta, tests)
        output.say(f"{tests} tests a month on a ledger of epsilon = {made.epsilon:g}: epsilon = {each:.3g} for each")
        made = replace(made, epsilon=each)
    found = plan_test(made, lift, people, power=power)
    output.answer(str(found), found.to_dict())


def analyse(
    output: options.Output,
    file: Annotated[Path, typer.Argument(metavar="PERSONS.CSV", help="One row a person, with a header.")],
    store: Annotated[str | None, typer.Option("--store", help="File or PostgreSQL address; made if needed.")] = None,
    arms: Arms = None,
    metric: Metrics = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="Of a person, for the whole test.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="Failure probability of the privacy (1e-6).")] = None,
    name: Annotated[str | None, typer.Option("--name", help="The name of the test (the file's, without .csv).")] = None,
    ledger: Annotated[str | None, typer.Option("--ledger", help="The ledger that is charged (people).")] = None,
    segment: Annotated[
        list[str] | None, typer.Option("--segment", help="device=phone,desktop: a column and its cells; repeat it.")
    ] = None,
    design: DesignFile = None,
    look: Annotated[int | None, typer.Option("--look", help="Which look this file is, from 1.")] = None,
    looks: Looks = None,
    person: Annotated[str, typer.Option("--person-column", help="The column of persons.")] = PERSON,
    arm: Annotated[str, typer.Option("--arm-column", help="The column of arms.")] = ARM,
    contract: Annotated[Path | None, typer.Option("--contract", help="Write the contract here, as JSON.")] = None,
    key: Key = None,
    witness: Remembered = None,
) -> None:
    """Release one look of a test from a file of persons, with noise, charge it once, and say what is known."""
    if store is None:
        raise InvalidInput(
            "tacit test analyse needs --store, where the ledger is that the test is charged to: a file such as "
            "decisions.db, which is made if it is not there. There is no analysis without privacy."
        )
    options.check_folder(contract)
    given = {"name": file.stem, "looks": 1, **_design_fields(design)}
    if design is not None and (arms or metric or segment):
        raise InvalidInput("--arms, --metric and --segment stand in the place of --design: give one of them.")
    if design is None:
        if not arms or not metric:
            raise InvalidInput("tacit test analyse needs --arms and --metric, or --design, a file.")
        given |= {
            "arms": arms.split(","),
            "metrics": [metric_from_words(words) for words in metric],
            "segments": dict(_cells(words) for words in segment or ()),
        }
    further = {"name": name, "ledger": ledger, "looks": looks}
    given |= {field: value for field, value in further.items() if value is not None}
    made = ABTest.from_dict(_privacy(given, epsilon, delta))
    with Store(store) as opened:
        is_ledger_new = made.ledger not in opened.ledgers
        found = analyse_file(opened, made, file, look=look, person=person, arm=arm, key=key, witness=witness)
        spent = opened.ledger(made.ledger)
        budget, charged = spent.budget, spent.spent
    if contract is not None:
        contract.write_text(json.dumps(found.contract, indent=2), encoding="utf-8")
    checked = tacit.verify(found.contract)
    lines = []
    if is_ledger_new:
        lines.append(
            f"The ledger {made.ledger!r} is new: epsilon = {budget.epsilon:g} at delta = {budget.delta:g}, every month."
        )
    if not found.is_new:
        lines.append("This look was released before: the first release stands, and the file was not read.")
    lines += [
        str(found),
        f"Arms were read from the column {arm!r}: the sample ratio is the only check of them.",
        f"Contract: {checked}",
        f"The ledger {made.ledger!r} has spent epsilon = {charged:.4g} in this period.",
    ]
    output.answer("\n".join(lines), {**found.to_dict(), "verified": checked.answer, "ledger_spent": charged})


def _design_fields(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidInput(f"{file} is not a JSON file that can be read.") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{file} must hold a JSON object.")
    return found


def _privacy(given: dict[str, Any], epsilon: float | None, delta: float | None) -> dict[str, Any]:
    """Add what stands in the options; a test without an epsilon is refused."""
    made = dict(given)
    if epsilon is not None:
        made["epsilon"] = epsilon
    if delta is not None:
        made["delta"] = delta
    if "epsilon" not in made:
        raise InvalidInput(
            "A test needs --epsilon. If several tests a month reach the same people, `tacit test plan --tests-a-month` "
            "says what each may have: of epsilon = 1 about .69, .48 and .29 for 2, 4 and 10 tests."
        )
    return made


def _cells(words: str) -> tuple[str, list[str]]:
    name, equals, cells = words.partition("=")
    if not equals or not cells:
        raise InvalidInput(f"A segment is written as device=phone,desktop. Got {words!r} instead.")
    return name, cells.split(",")


for action in (plan, analyse):
    add_command(app, action)
