"""`tacit serve`: the learners of a store over HTTP; `tacit token`: make, list and revoke tokens of a service."""

from __future__ import annotations

import logging
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

import tacit_experiments
from tacit.cli import options
from tacit.errors import InvalidInput
from tacit.validation import require
from tacit_experiments.experiments import Experiments
from tacit_experiments.service.tokens import Tokens

STORE = typer.Option(
    "--store", envvar="TACIT_STORE", help="File or PostgreSQL address that keeps learners and ledgers."
)
Host = Annotated[
    str,
    typer.Option(envvar="TACIT_HOST", help="Where to listen; other machines reach it only if this is not 127.0.0.1."),
]
Port = Annotated[int, typer.Option(envvar="TACIT_PORT", help="Where to listen; 0 is any free port.", min=0, max=65535)]
Quiet = Annotated[
    bool, typer.Option("--quiet", envvar="TACIT_QUIET", help="No line for each answer, only for what fails.")
]
Demo = Annotated[
    bool, typer.Option("--demo", help="Instead of a store: an example at work, shown in a browser, removed at the end.")
]
Numbers = Annotated[
    int | None, typer.Option(help="Numbers that a learner may keep: n, times delay + 1 (default: 1,000,000).", min=1)
]
State = Annotated[
    int | None, typer.Option(help="Bytes that the state of a new learner may have (default: 4 MiB).", min=1)
]
Replies = Annotated[
    str | None,
    typer.Option(
        envvar="TACIT_REPLIES",
        help="File or PostgreSQL address for replies to experiments (default: beside the store).",
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        envvar="TACIT_KEY", help="File with the secret of experiments, made if needed (default: beside the store)."
    ),
]
Remembered = Annotated[
    str | None,
    typer.Option(
        "--witness",
        envvar="TACIT_WITNESS",
        help="File that remembers releases, best on another disk (default: beside the store).",
    ),
]
Browser = Annotated[bool, typer.Option(help="Whether --demo opens a browser.")]


def serve(
    output: options.Output,
    store: Annotated[str | None, STORE] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    quiet: Quiet = False,
    numbers: Numbers = None,
    state: State = None,
    replies: Replies = None,
    key: Key = None,
    witness: Remembered = None,
    demo: Demo = False,
    browser: Browser = True,
) -> None:
    """Serve the learners of a store over HTTP until SIGTERM or SIGINT: what is in hand is answered, then it ends.

    Every request needs a token: `tacit token` makes one. The interface is described at /docs.
    """
    if demo and store is not None:
        raise InvalidInput("tacit serve takes --store FILE, or --demo to see an example, not both.")
    if store is None and not demo:
        raise InvalidInput("tacit serve needs --store FILE, or --demo to see an example.")
    for module in ("fastapi", "uvicorn", "httptools", "prometheus_client", "jinja2"):
        require(module, "tacit-experiments[serve]")
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("tacit").setLevel(logging.WARNING if quiet or demo else logging.INFO)

    def ready(address: str) -> None:
        text = f"Serving at {address} (interface: {address}/docs).\nTo get a token: {token_command(store)}"
        output.answer(text, {"address": address})
        sys.stdout.flush()
        if not host.startswith(("127.", "localhost", "::1")):
            typer.echo("Warning: whoever reaches this address reads along: put a proxy with TLS before it.", err=True)

    def shown(page: str, opened: bool) -> None:
        where = "A browser shows it" if opened else "Open this address in a browser (it signs in by itself)"
        text = f"An experiment and a learner at work, in a store that is removed at the end (Ctrl-C). {where}:\n{page}"
        output.answer(text, {"address": page.partition("/#")[0], "page": page, "browser": opened})
        sys.stdout.flush()

    from tacit_experiments.service.server import end, signalled  # loads what only this command needs

    with signalled(end):  # also while a demo is planned
        if store is None:
            from tacit_experiments.service.demo import demo as show

            show(host, port, shown, browser=browser)
        else:
            from tacit_experiments.service.http import Limits
            from tacit_experiments.service.server import serve as run

            given = {"numbers": numbers, "state": state}
            limits = Limits(**{name: value for name, value in given.items() if value is not None})
            found, experiments = opened(store, replies, key, witness)
            run(found, host, port, limits, ready, experiments)


def opened(
    place: str, replies: str | None, key: str | None, witness: str | None
) -> tuple[tacit_experiments.Store, Experiments | None]:
    """The store, unless an earlier copy of it was put back: then no request could be answered; and its experiments.

    One in PostgreSQL has some only if it is said where replies go.
    """
    store = tacit_experiments.Store(place)
    try:
        store.check_marks()
        if store.database.postgres and replies is None and key is None and witness is None:
            return store, None
        return store, Experiments(store, replies=replies, key=key, witness=witness)
    except BaseException:
        store.close()
        raise


def token_command(store: str | None) -> str:
    """What to type for a token of this store; an address may hold a password, and is not repeated."""
    where = "ADDRESS" if store is None or "://" in store else shlex.quote(store)
    return f"tacit token --store {where} --scopes decide,feedback"


Scopes = Annotated[
    str | None,
    typer.Option(
        help="What it may do: decide, feedback, read, admin, sdk, privacy, with commas; none implies another."
    ),
]
Whose = Annotated[str, typer.Option(help="Whose it is, for --list.")]
Days = Annotated[float | None, typer.Option(help="After how many days it ends (default: never).")]
Listed = Annotated[bool, typer.Option("--list", help="Show the tokens that there are, not the secrets themselves.")]
Revoke = Annotated[int | None, typer.Option(help="End the token of this number.")]


def token(
    output: options.Output,
    store: Annotated[str, STORE],
    scopes: Scopes = None,
    name: Whose = "",
    days: Days = None,
    listed: Listed = False,
    revoke: Revoke = None,
) -> None:
    """Make a token for `tacit serve`, and print it once: the store keeps only its hash."""
    if (scopes is not None) + listed + (revoke is not None) != 1:
        raise InvalidInput("tacit token needs one of --scopes (make one), --list and --revoke NUMBER.")
    if scopes is None and "://" not in store and not Path(store).exists():
        raise InvalidInput(f"There is no store {store!r}: tacit token --scopes makes it, with its first token.")
    with tacit_experiments.Store(store) as kept:
        tokens = Tokens(kept)
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


serve_app = options.single_command(serve)
token_app = options.single_command(token)
