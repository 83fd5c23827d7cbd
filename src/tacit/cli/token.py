"""`tacit token`: make, list and revoke tokens of a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import tacit
from tacit.cli import options
from tacit.cli.serve import Where
from tacit.errors import InvalidInput
from tacit.service.tokens import Tokens

Scopes = Annotated[
    str | None, typer.Option(help="What it may do: decide, feedback, read, admin, with commas; none implies another.")
]
Name = Annotated[str, typer.Option(help="Whose it is, for --list.")]
Days = Annotated[float | None, typer.Option(help="After how many days it ends (default: never).")]
Listed = Annotated[bool, typer.Option("--list", help="Show the tokens that there are, not the secrets themselves.")]
Revoke = Annotated[int | None, typer.Option(help="End the token of this number.")]


def token(
    output: options.Output,
    store: Where,
    scopes: Scopes = None,
    name: Name = "",
    days: Days = None,
    listed: Listed = False,
    revoke: Revoke = None,
) -> None:
    """Make a token for `tacit serve`, and print it once: the store keeps only its hash."""
    if (scopes is not None) + listed + (revoke is not None) != 1:
        raise InvalidInput("tacit token needs one of --scopes (make one), --list and --revoke NUMBER.")
    if scopes is None and "://" not in store and not Path(store).exists():
        raise InvalidInput(f"There is no store {store!r}: tacit token --scopes makes it, with its first token.")
    with tacit.Store(store) as opened:
        tokens = Tokens(opened)
        if scopes is not None:
            made = tokens.make(scopes, name=name, days=days)
            output.answer(made, {"token": made})
        elif revoke is not None:
            tokens.revoke(revoke)
            output.answer(f"Token {revoke} is revoked.", {"revoked": revoke})
        else:
            found = [entry.to_dict() for entry in tokens.list()]
            lines = [
                f"{entry['id']:>4}  {','.join(entry['scopes']):28} {entry['name'] or '-':20} "
                f"{'expired' if entry['expired'] else entry['expires'] or 'no end'}"
                for entry in found
            ]
            output.answer("\n".join(lines) or "There is no token.", found)
