"""`tacit store`: what an owner does to a store by hand; each command is recorded there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import tacit_experiments
from tacit.accounting.ledger import Ledger
from tacit.cli import options
from tacit.cli.options import add_command
from tacit.errors import InvalidInput

Place = Annotated[str, typer.Argument(metavar="PATH", help="File or PostgreSQL address of the store.")]

app = typer.Typer(no_args_is_help=True, help="What an owner does to a store by hand; each command is recorded there.")


def opened(path: Place) -> tacit_experiments.Store:
    """The store that is there; none is made."""
    if "://" not in path and not Path(path).exists():
        raise InvalidInput(f"There is no store {path!r}.")
    return tacit_experiments.Store(path)


def adopt(output: options.Output, store: tacit_experiments.Store) -> None:
    """Go on with a copy of a store whose newest original is lost; every export says so from then on.

    What was decided and spent after the copy was made is not known there, and may be spent a second time.
    """
    sentence = store.adopt()
    output.answer(f"{sentence[0].upper()}{sentence[1:]}.", {"continued": sentence, "identity": store.identity})


def end(
    output: options.Output,
    store: tacit_experiments.Store,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The learner.")],
) -> None:
    """End a learner for good: its state and feedback are deleted; contract, decisions and charges are kept."""
    store.end(name)
    output.answer(f"The learner {name!r} is ended.", {"ended": name})


Account = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger.")]


def account(store: tacit_experiments.Store, name: str) -> Ledger:
    """The ledger of this name; none is made."""
    if name not in store.ledgers:
        raise InvalidInput(f"There is no ledger {name!r} in this store.")
    return store.ledger(name)


def confirm(output: options.Output, store: tacit_experiments.Store, ledger: Account) -> None:
    """Say that the clock is right although it is far from the newest charge of a ledger, which then goes on."""
    period = account(store, ledger).confirm()
    output.answer(f"The ledger {ledger!r} is in {period or 'its only period'}.", {"ledger": ledger, "period": period})


def void(
    output: options.Output,
    store: tacit_experiments.Store,
    ledger: Account,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The charge, counted from 0.")],
    reason: Annotated[str, typer.Option(help="Why; it stands in the account.")],
) -> None:
    """Declare a charge a mistake, because its data were not used: it stays in the account and counts no more."""
    account(store, ledger).void(number, reason)
    output.answer(f"Charge {number} of {ledger!r} is void.", {"ledger": ledger, "voided": number, "reason": reason})


for action in (adopt, end, confirm, void):
    add_command(app, action, store=opened)
