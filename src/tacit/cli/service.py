"""`tacit serve`: the learners of a store over HTTP."""

from __future__ import annotations

import logging
import shlex
import sys
from typing import Annotated

import typer

import tacit
from tacit.cli import options
from tacit.errors import InvalidInput
from tacit.validation import require

Where = Annotated[str, typer.Option("--store", help="File or PostgreSQL address that keeps learners and ledgers.")]
Kept = Annotated[
    str | None, typer.Option("--store", help="File or PostgreSQL address that keeps learners and ledgers.")
]
Host = Annotated[str, typer.Option(help="Where to listen; other machines reach it only if this is not 127.0.0.1.")]
Port = Annotated[int, typer.Option(help="Where to listen; 0 is any free port.", min=0, max=65535)]
Quiet = Annotated[bool, typer.Option("--quiet", help="No line for each answer, only for what fails.")]
Demo = Annotated[
    bool, typer.Option("--demo", help="Instead of a store: an example at work, shown in a browser, removed at the end.")
]
Browser = Annotated[bool, typer.Option(help="Whether --demo opens a browser.")]


def serve(
    output: options.Output,
    store: Kept = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    quiet: Quiet = False,
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
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        require(module, "serve")
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
        text = f"Three learners at work, in a store that is removed at the end (Ctrl-C). {where}:\n{page}"
        output.answer(text, {"address": page.partition("/#")[0], "page": page, "browser": opened})
        sys.stdout.flush()

    from tacit.service.server import end, signalled  # loads what only this command needs

    with signalled(end):  # also while a demo is planned
        if store is None:
            from tacit.service.demo import demo as show

            show(host, port, shown, browser=browser)
        else:
            from tacit.service.server import serve as run

            run(checked(tacit.Store(store)), host, port, ready=ready)


def checked(store: tacit.Store) -> tacit.Store:
    """The store, unless an earlier copy of it was put back: then no request could be answered."""
    try:
        store.check_marks()
    except BaseException:
        store.close()
        raise
    return store


def token_command(store: str | None) -> str:
    """What to type for a token of this store; an address may hold a password, and is not repeated."""
    where = "ADDRESS" if store is None or "://" in store else shlex.quote(store)
    return f"tacit token --store {where} --scopes decide,feedback"
