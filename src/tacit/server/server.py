"""The service as a process: one socket, one store, and an orderly end.

SIGTERM and SIGINT end it: no new connection is taken, what is in hand is answered, then the store is closed.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from tacit.errors import InvalidInput
from tacit.service.app import create_app
from tacit.service.errors import Problem
from tacit.service.headers import HEADERS
from tacit.service.limits import Limits
from tacit.service.occupancy import occupied
from tacit.store.store import Store

GRACE = 5.0  # seconds more than a request may take


class Server(uvicorn.Server):
    """Ends when it is told to, by exit code 0."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The signal handler."""
        app: Any = self.config.app
        app.state.closing.set()
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
    store: Store, host: str, port: int, limits: Limits | None = None, ready: Callable[[str], None] = print
) -> None:
    """Serve a store until a signal comes.

    Args:
        store: what is served; it is closed at the end.
        host: where to listen.
        port: where to listen (0: any free one).
        limits: what a request may take.
        ready: is told the address, when connections are taken.
    """
    with store, listening(host, port) as listener:
        address, number = listener.getsockname()[:2]
        where = f"http://[{address}]:{number}" if ":" in address else f"http://{address}:{number}"
        run(store, listener, Limits() if limits is None else limits, lambda: ready(where))


def run(store: Store, listener: socket.socket, limits: Limits, ready: Callable[[], None]) -> None:
    """Serve a store on a socket that takes connections already."""
    with occupied(store.database.file):
        server = Server(configured(create_app(store, limits), limits))
        with signalled(server.handle_exit):  # whoever is told that it serves may end it at once
            ready()
            server.run([listener])


def configured(app: FastAPI, limits: Limits) -> uvicorn.Config:
    """How uvicorn runs the service: quietly, because its log would hold addresses and the texts of errors."""
    for name in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return uvicorn.Config(
        app,
        http=_patient(limits.patience),
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


def _patient(seconds: float) -> type[asyncio.Protocol]:
    """A protocol that waits so long for the headers of a request, and then hangs up."""

    class Patient(H11Protocol):
        """HTTP/1.1 with a limit on the time that headers take, from the first byte on."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._limit: asyncio.TimerHandle | None = self.loop.call_later(seconds, self._hang_up)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:  # the headers are there
                self._forget()
            elif self._limit is None:
                self._limit = self.loop.call_later(seconds, self._hang_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            """What cannot be read gets no other kind of answer than what is refused."""
            answer = Problem(
                400, "This is no HTTP request that can be read.", HEADERS | {"Connection": "close"}
            ).response()
            begun = h11.Response(status_code=400, reason=b"Bad Request", headers=answer.raw_headers)
            with suppress(h11.LocalProtocolError):  # it was answered before, and goes on with something else
                for event in (begun, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def _forget(self) -> None:
            if self._limit is not None:
                self._limit.cancel()
                self._limit = None

        def _hang_up(self) -> None:
            if self.transport is not None:
                self.transport.close()

    return Patient
