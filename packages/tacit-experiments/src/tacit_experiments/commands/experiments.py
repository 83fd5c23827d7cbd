"""`tacit experiments`: what an operator does to experiments by hand; `tacit tick`: what is due, for cron."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import tacit_experiments
from tacit.cli import options
from tacit.cli.options import add_command, joined
from tacit.errors import InvalidInput
from tacit_experiments.commands.service import Key, Remembered, Replies
from tacit_experiments.commands.store import Place, opened
from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments

Named = Annotated[str, typer.Argument(metavar="NAME", help="The experiment.")]
Arm = Annotated[str, typer.Argument(metavar="ARM", help="The arm.")]
Pid = Annotated[str, typer.Argument(metavar="PID", help="The person's pid, 32 hex digits, as SDKs compute it.")]
LISTED = "{name:30} {state:8} version {version:<6} {what:14} {arms}"

app = typer.Typer(no_args_is_help=True, help="Experiments of a store: make, start, stop, look; each act is recorded.")


class Here(NamedTuple):
    """A store that is there, and its experiments."""

    store: tacit_experiments.Store
    experiments: Experiments


@contextmanager
def here_anew(
    path: Place,
    replies: Replies = None,
    key: Key = None,
    witness: Remembered = None,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Go on with another key, because the one of this store is lost.")
    ] = False,
) -> Iterator[Here]:
    """The options of who restores: where a store is, what its experiments keep beside it, and another key."""
    with (
        opened(path) as store,
        Experiments(store, replies=replies, key=key, witness=witness, new_key=new_key) as found,
    ):
        yield Here(store, found)


def here(
    path: Place, replies: Replies = None, key: Key = None, witness: Remembered = None
) -> AbstractContextManager[Here]:
    """The same options for all others, who keep the key."""
    return here_anew(path, replies, key, witness)


def designed(
    name: Named,
    arms: Annotated[
        str, typer.Option("--arms", help="The names of the arms, with commas between them; the first is the default.")
    ],
    ledger: Annotated[
        str, typer.Option("--ledger", help="The ledger that is charged; made with this epsilon a month if needed.")
    ],
    epsilon: Annotated[float, typer.Option("--epsilon", help="Privacy budget of a person and calendar month.")],
    delta: Annotated[float, typer.Option("--delta", help="Failure probability of the privacy.")] = 1e-6,
    people: Annotated[float, typer.Option("--people-per-day", help="Expected persons a day.")] = 10_000.0,
    score: Annotated[float, typer.Option("--score", help="The expected score of a person, from 0 to 1.")] = 0.1,
    days: Annotated[int, typer.Option("--days", help="Of a version: 1, 2, 3 or 7 (0: as the noise asks for).")] = 0,
    file: Annotated[
        Path | None,
        typer.Option("--design", help="A JSON file with further fields of the design, such as min_share and goal."),
    ] = None,
) -> Design:
    """The design of a draft, from its options."""
    given = {"epsilon": epsilon, "delta": delta, "ledger": ledger, "people_per_day": people, "score": score}
    further = {} if file is None else _fields(file)
    return Design.from_dict({**given, "name": name, "arms": arms.split(","), "days": days, **further})


def in_store(
    learner: Annotated[str, typer.Argument(metavar="LEARNER", help="A learner of arms in the same store.")],
) -> str:
    """The name of a learner, which is typed before that of the experiment."""
    return learner


def who() -> str:
    """Say who types."""
    with suppress(Exception):  # there may be no name for the user's number
        return getpass.getuser()
    return "command line"


def tick(output: options.Output, at: Here) -> None:
    """Do what is due in the experiments of a store: close versions, open the next ones, delete what may not be kept.

    A service does it every few seconds by itself; for cron where no service runs. It may run any number of times.
    """
    done = at.experiments.tick()
    output.answer(f"{done['released']} released, {done['void']} void, {done['opened']} opened.", done)


def listed(output: options.Output, at: Here) -> None:
    """List all experiments."""
    shown = at.experiments.overview()
    lines = [
        LISTED.format(
            **{**entry, "arms": ", ".join(entry["arms"]), "version": entry["version"] or "-"},
            what="counts" if entry["counting"] else "does not count",
        )
        for entry in shown
    ]
    output.answer("\n".join(lines) or "There is no experiment.", shown)


def make(output: options.Output, at: Here, made: Design) -> None:
    """Make a draft: contract, noise and what can be found in a month are shown, and nothing is charged."""
    _draft(output, at, made, None)


def import_arms(output: options.Output, at: Here, learner: str, made: Design) -> None:
    """Make a draft that begins where a learner of arms is: its first shares are those with which arms were decided.

    Decisions are public, so this costs nothing. The learner stays as it is: end it when the experiment runs.
    """
    _draft(output, at, made, learner)


def _draft(output: options.Output, at: Here, made: Design, learner: str | None) -> None:
    if made.ledger not in at.store.ledgers:
        at.store.ledger(made.ledger, epsilon=made.epsilon, delta=made.delta, renews="monthly")
    found = at.experiments
    shown = found.make(made, who()) if learner is None else found.import_arms(learner, made, who())
    plan = shown["plan"]
    lines = [
        f"The experiment {made.name!r} is a draft: nothing is charged until it starts.",
        f"A version is served for {plan['hours_of_a_version']:g} hours, {plan['versions_a_month']} begin in a month.",
        f"The noise in each sum has a standard deviation of {plan['noise']['deviation_in_persons']:.3g} persons.",
        f"In a month a lift of {plan['detects_in_a_month']['lift']:.1%} can be found. {plan['advice']}".rstrip(),
        "",
        shown["contract"],
    ]
    output.answer("\n".join(lines), shown)


def _fields(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidInput(f"{file} is not a JSON file that can be read.") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{file} must hold a JSON object.")
    return found


def start(output: options.Output, at: Here, name: Named) -> None:
    """Start a draft, or go on with a frozen experiment; the month is charged unless it was before."""
    at.experiments.start(name, who())
    policy = at.experiments.policy(name)
    output.answer(f"The experiment {name!r} runs: version {policy['version']} until {policy['serve_until']}.", policy)


def stop(
    output: options.Output,
    at: Here,
    name: Named,
    end: Annotated[
        bool, typer.Option("--end", help="For good; otherwise it is frozen, and can be started again.")
    ] = False,
    promote: Annotated[
        str | None, typer.Option(help="The arm that everybody gets at the end (default: default).")
    ] = None,
) -> None:
    """Freeze an experiment, whose shares are served on while nothing counts, or end it for good."""
    at.experiments.stop(name, who(), end=end, promote=promote)
    policy = at.experiments.policy(name)
    output.answer(f"The experiment {name!r} is {'ended' if end else 'frozen'}.", policy)


def kill(output: options.Output, at: Here, name: Named, arm: Arm) -> None:
    """Take an arm away at once: SDKs give its people the default arm within five seconds."""
    at.experiments.kill(name, arm, who())
    killed = at.experiments.kills(name)
    output.answer(f"Killed in {name!r}: {', '.join(killed['killed'])}.", killed)


def results(output: options.Output, at: Here, name: Named) -> None:
    """Show what is known of the arms; it costs no privacy, however often it is looked at."""
    shown = at.experiments.results(name)
    lines = [f"{name} ({shown['state']}), {shown['versions_released']} versions released"]
    for arm in shown["arms"]:
        effect, rate = arm["effect"], arm["reply_rate"]
        known = "the default" if arm["default"] else "not known yet"
        if effect is not None:
            known = f"{effect['estimate']:+.4g} ({effect['low']:+.4g} to {effect['high']:+.4g}), {arm['verdict']}"
        replied = "" if rate is None else f"; replied: {rate['estimate']:.1%}"
        lines.append(f"  {arm['arm']:20} {arm['share']:6.1%}  {known}{replied}")
    output.answer("\n".join([*lines, f"Persons by arm: {shown['sample_ratio']}. {shown['note']}"]), shown)


def contract(output: options.Output, at: Here, name: Named) -> None:
    """Show the contract; with --json in the form that `tacit contract verify` checks."""
    shown = at.experiments.contract(name)
    output.answer(shown["text"], shown["contract"])


def erase(output: options.Output, at: Here, pid: Pid) -> None:
    """Delete what is held of a person in open versions; what comes later for these is not kept."""
    count = at.experiments.erase(pid, who())
    output.answer(
        f"Erased in {count} open versions; what was released is bounded by the contract.", {"versions": count}
    )


def held(output: options.Output, at: Here, pid: Pid) -> None:
    """Show what is held of a person, for a request of access; nothing is left of versions that were closed."""
    shown = at.experiments.held(pid)
    lines = [f"{row['experiment']}, version {row['version']}: {row['arm']}, {row['value']:g}" for row in shown]
    output.answer("\n".join(lines) or "Nothing is held of this person.", shown)


def restore(output: options.Output, at: Here) -> None:
    """Go on after an older copy was put back: open versions are void, and starting charges the month again."""
    count = at.experiments.restore(who())
    output.answer(f"{count} open versions are void; start each experiment to go on.", {"void": count})


def confirm(output: options.Output, at: Here) -> None:
    """Say that the clock is right after it was wrong: versions that began in its future are void."""
    count = at.experiments.confirm(who())
    output.answer(f"The clock is right; {count} versions of its future are void.", {"void": count})


add_command(app, make, at=here, made=designed)
for action in (start, stop, kill, results, contract, erase, held, confirm):
    add_command(app, action, at=here)
add_command(app, restore, at=here_anew)
app.command("list")(joined(listed, at=here))
app.command("import")(joined(import_arms, at=here, learner=in_store, made=designed))

tick_app = options.single_command(tick, at=here)
