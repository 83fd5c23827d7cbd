"""The service as a process: one socket, one store, and an orderly end.

SIGTERM and SIGINT end it: no new connection is taken, what is in hand is answered, then the store is closed.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from tacit.errors import InvalidInput, StoreError
from tacit_experiments.experiments import Experiments
from tacit_experiments.service.app import create_app
from tacit_experiments.service.connections import Limited
from tacit_experiments.service.http import Limits
from tacit_experiments.store.store import Store

GRACE = 5.0  # seconds more than a request may take


class Server(uvicorn.Server):
    """Ends when it is told to, by exit code 0."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self.force_exit = self.should_exit and sig == signal.SIGINT  # somebody presses Ctrl-C again
        self.should_exit = True


def end(sig: int, frame: FrameType | None) -> None:
    """A signal handler that ends the program in order."""
    raise SystemExit(0)


@contextmanager
def signalled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """A block in which SIGTERM calls this handler; a server that runs inside has its own."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def serve(
    store: Store,
    host: str,
    port: int,
    limits: Limits | None = None,
    ready: Callable[[str], None] = print,
    experiments: Experiments | None = None,
) -> None:
    """Serve a store until a signal comes, and close it and its experiments; `ready` is told the address."""
    with store, experiments or nullcontext(), listening(host, port) as listener:
        address, number = listener.getsockname()[:2]
        where = f"http://[{address}]:{number}" if ":" in address else f"http://{address}:{number}"
        run(store, listener, Limits() if limits is None else limits, lambda: ready(where), experiments)


def run(
    store: Store,
    listener: socket.socket,
    limits: Limits,
    ready: Callable[[], None],
    experiments: Experiments | None = None,
) -> None:
    """Serve a store on a socket that takes connections already."""
    with occupied(store.database.file):
        server = Server(configured(create_app(store, limits, experiments), limits))
        with signalled(server.handle_exit):  # whoever is told that it serves may end it at once
            ready()
            server.run([listener])


@contextmanager
def occupied(file: Path | None) -> Iterator[None]:
    """Hold an SQLite file, so that a second service is refused; the system lets go of it however a process ends."""
    if file is None:
        yield
        return
    handle = os.open(file.with_name(f"{file.name}.serving"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(
                f"Another service has the store {file.name}: end that one first, or keep the store in PostgreSQL, "
                "which several may serve."
            ) from None
        yield
    finally:
        os.close(handle)


def configured(app: FastAPI, limits: Limits) -> uvicorn.Config:
    """Tell uvicorn how to run the service: quietly, because its log would hold addresses and the texts of errors."""
    for name in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return uvicorn.Config(
        app,
        http=type("Connection", (Limited,), {"limits": limits}),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=round(limits.seconds + limits.patience + GRACE),
    )


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as closing:
            listener = closing.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(1024)
            closing.pop_all()
            return listener
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"The service cannot listen at {host}, port {port}: {error}.") from None
