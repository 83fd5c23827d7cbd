"""Options that several commands share, so that one name means one thing everywhere.

`everywhere` has the options of every command: one that is added there is added to all of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.errors import InvalidInput
from tacit.report.style import check_picture as check_format

Number = Annotated[int, typer.Option(help="Number of experts.")]
Epsilon = Annotated[
    float,
    typer.Option(help="Privacy budget of the whole run: smaller is more private."),
]
EpsilonOrNone = Annotated[
    float,
    typer.Option(
        help="Privacy budget of the whole run: smaller is more private; inf: none asked for (LazyOCO, NOT private)."
    ),
]
Delta = Annotated[float, typer.Option(help="Failure probability of the privacy; 0 asks for pure differential privacy.")]
Horizon = Annotated[
    int | None, typer.Option(help="Number of rounds; left out: unknown (restarts at doubling lengths).")
]
Adversary = Annotated[
    str | None,
    typer.Option(
        help="Who makes the losses: oblivious (fixed in advance, the default), adaptive (may react) or stochastic "
        "(independent, from one distribution)."
    ),
]
Delay = Annotated[
    int, typer.Option(help="How many further rounds may be decided before the feedback of a round is there.")
]
Switches = Annotated[int, typer.Option(help="How often the sequence that regret compares with may switch.")]
LossMaker = Annotated[
    str, typer.Option("--adversary", help="Who makes the losses: stochastic (random, shifting), oblivious or adaptive.")
]
ArmLossMaker = Annotated[
    str,
    typer.Option(
        "--adversary",
        help="Who makes the losses: oblivious (fixed in advance), stochastic (independent, one distribution per arm).",
    ),
]
RelationName = Annotated[
    str, typer.Option("--relation", help="What privacy hides: a round is replaced (replace) or emptied (zero-out).")
]
RoundsPerPerson = Annotated[int, typer.Option(help="How many rounds one person may stand in.")]
MaxSwitches = Annotated[int | None, typer.Option(help="Hard limit on how often the decision may change.")]
Numerics = Annotated[
    str, typer.Option(help="exact (integer noise wherever that is proved) or float (for simulation only, NOT private).")
]
Algorithm = Annotated[
    str | None,
    typer.Option(
        help="The algorithm by its name (default: the smallest certified regret, unless a public rule prefers another)."
    ),
]
Confidence = Annotated[
    float | None, typer.Option(help="Probability with which a single run must meet the certified regret.")
]
ValueRange = Annotated[tuple[float, float], typer.Option(help="Public bounds of every loss that is seen.")]
Lipschitz = Annotated[
    float, typer.Option(help="How fast a loss may change per unit of distance (its Lipschitz constant).")
]
Believed = Annotated[
    str | None,
    typer.Option(
        "--environment",
        help="Choose by regret simulated in this world (its name, as in tacit simulate) instead of certified regret.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Input = Annotated[str, typer.Option("--input", "-i", help="File with one row a round; '-' is standard input.")]
Format = Annotated[str | None, typer.Option("--format", help="csv, ndjson or parquet (default: from the file name).")]
Replies = Annotated[str | None, typer.Option("--format", help="csv (the default) or ndjson: one number a line.")]
Seed = Annotated[int | None, typer.Option(help="Makes the run repeatable: for tests, NOT private.")]
Kept = Annotated[
    str | None,
    typer.Option("--store", help="File or PostgreSQL address that keeps the learner: a killed run goes on from there."),
]
Name = Annotated[str | None, typer.Option("--name", help="Name of the learner in the store.")]
LossRange = Annotated[tuple[float, float], typer.Option(help="Public bounds of every loss.")]


@dataclass(frozen=True)
class Output:
    """Where a command's answer goes: text for people, or JSON for programs."""

    as_json: bool

    def say(self, text: str) -> None:
        """Something for people alone."""
        if not self.as_json:
            typer.echo(text)

    def answer(self, text: str, record: object, *, error: bool = False) -> None:
        """The answer, in words or as one JSON record."""
        typer.echo(json.dumps(record) if self.as_json else text, err=error)


def everywhere(as_json: Json = False) -> Output:
    """What every command takes."""
    return Output(as_json)


def privacy(
    epsilon: Epsilon,
    delta: Delta = 1e-6,
    adversary: Adversary = None,
    relation: RelationName = "replace",
    rounds_per_person: RoundsPerPerson = 1,
    max_switches: MaxSwitches = None,
    numerics: Numerics = "exact",
    algorithm: Algorithm = None,
    confidence: Confidence = None,
) -> dict[str, Any]:
    """The planner's arguments from their options."""
    return {
        "epsilon": epsilon,
        "delta": delta,
        "adversary": adversary,
        "relation": relation,
        "rounds_per_person": rounds_per_person,
        "max_switches": max_switches,
        "numerics": numerics,
        "algorithms": None if algorithm is None else [algorithm],
        "confidence": confidence,
    }


def check_folder(path: Path | None) -> None:
    """Refuse a file that could not be written, before the work that would fill it."""
    if path is not None and not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {str(path.parent)!r} for {path.name!r}: make it first.")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn, before the work that would fill it."""
    check_folder(path)
    if path is not None:
        check_format(path)
