"""Connections: how long the headers of a request may take and how large they may be, and what is no request at all.

uvicorn reads HTTP by httptools. What that lets pass is refused here: headers that are too large, requests without a
host, and headers behind the body (trailers), which nobody looked at when the request began.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit_experiments.service.http import HEADERS, Limits, Problem

LONGEST_HEAD = 16 * 1024  # bytes
WIRE = 8  # bytes on the wire for each byte of a body that comes in small chunks


class Limited(HttpToolsProtocol):
    """HTTP/1.1 with a limit on the time that headers take, from the first byte on, and on their size."""

    limits: Limits
    _reading = _whole = False  # whether headers have begun and are not complete; whether the message is complete
    _head = _wire = 0  # bytes of its headers, and of all that came after the piece in which it began

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limit: asyncio.TimerHandle | None = None
        self._wait(True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._wait(False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._wire += len(data)
        super().data_received(data)
        most = LONGEST_HEAD + (0 if self._reading else WIRE * self.limits.body)
        if self._wire > most and not self._whole:
            self.send_400_response("")
        self._wait(self._reading or not self.answering)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading, self._whole, self._head, self._wire = True, False, 0, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._reading:  # a trailer
            return
        self._head += len(name) + len(value)
        if self._head > LONGEST_HEAD:
            raise httptools.HttpParserError("too large")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (not hosts and self.parser.get_http_version() != "1.0"):
            raise httptools.HttpParserError("no host")
        self._reading = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._whole = True
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Answer as if no other protocol had been asked for, and close: the parser reads no further."""
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read in the same form as any other request, unless an answer is under way."""
        if not (self.answering and self.cycle.response_started) and not self.transport.is_closing():
            detail = "This is no HTTP request that can be read."
            answer = Problem(400, detail, HEADERS | {"Connection": "close"}).response()
            lines = [b"HTTP/1.1 400 Bad Request", *(b": ".join(header) for header in answer.raw_headers), b"", b""]
            self.transport.write(b"\r\n".join(lines) + bytes(answer.body))
        self.transport.close()

    @property
    def answering(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self, wanted: bool) -> None:
        """Begin to wait for headers, or stop."""
        if wanted and self._limit is None:
            self._limit = self.loop.call_later(self.limits.patience, self._hang_up)
        elif not wanted and self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _hang_up(self) -> None:
        self._limit = None
        if self.answering:  # headers of the next request have begun already, and wait for their turn
            self._wait(True)
        elif self.transport is not None:
            self.transport.close()
