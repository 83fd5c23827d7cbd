"""Requests over one kept connection, with an end in time and in size."""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
from functools import partial
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit

PIECE = 2**16


class Answer(NamedTuple):
    """What came back."""

    status: int
    etag: str | None
    body: bytes


class Connection:
    """Sends one request after another to one address; for one thread.

    Args:
        url: where the service or another server is; its path comes before that of each request.
        headers: what goes with every request.
        timeout: seconds that one answer may take.
    """

    def __init__(self, url: str, headers: dict[str, str], timeout: float) -> None:
        self._url, self._headers, self._timeout = url, headers, timeout
        self._kept: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, *, etag: str | None = None, body: bytes | None = None, most: int = 2**20
    ) -> Answer:
        """Send a request and return its answer.

        A kept connection that the other side has closed meanwhile is opened again, once: every request here may be sent
        twice.
        """
        headers = dict(self._headers)
        if etag is not None:
            headers["If-None-Match"] = etag
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            if self._kept is not None:
                with contextlib.suppress(ConnectionError):
                    return self._exchange(self._kept, method, path, headers, body, most)
                self.close()
            self._kept = self._opened()
            return self._exchange(self._kept, method, path, headers, body, most)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        kept, self._kept = self._kept, None
        if kept is not None:
            with contextlib.suppress(OSError):
                kept.close()

    def _opened(self) -> http.client.HTTPConnection:
        where = urlsplit(self._url)
        kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
        return kind(where.hostname or "", where.port, timeout=self._timeout)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None,
        most: int,
    ) -> Answer:
        end = monotonic() + self._timeout
        connection.response_class = partial(Response, end=end)  # type: ignore[assignment]
        if connection.sock is not None:
            connection.sock.settimeout(self._timeout)  # the last answer has left it less
        where = urlsplit(self._url)
        target = (where.path.rstrip("/") + path) or "/"
        connection.request(method, f"{target}?{where.query}" if where.query else target, body, headers)
        response = connection.getresponse()
        content = b""
        while piece := response.read1(PIECE):
            content += piece
            if len(content) > most:
                raise http.client.HTTPException("The answer is too long.")
        response.close()  # an empty answer does not end by itself, and would stand before the next one
        if response.will_close:
            self.close()
        return Answer(response.status, response.headers.get("ETag"), content)


class Response(http.client.HTTPResponse):
    """An answer that is there by a certain time, headers included, however slowly its bytes come."""

    def __init__(self, sock: socket.socket, *arguments: Any, end: float, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(Timed(self.fp, sock, end))


class Timed(io.RawIOBase):
    """Reads from a socket until a certain time.

    Args:
        file: of the socket.
        sock: the socket.
        end: by the monotonic clock.
    """

    def __init__(self, file: Any, sock: socket.socket, end: float) -> None:
        self._file, self._sock, self._end = file, sock, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("The answer takes too long.")
        self._sock.settimeout(left)
        count: int | None = self._file.raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def check_url(url: str, kinds: tuple[str, ...] = ("http", "https")) -> str:
    """Return an address without its last slash, or raise a `ValueError` in one sentence."""
    try:
        where = urlsplit(url)
        good = where.scheme in kinds and (where.scheme == "file" or bool(where.hostname)) and where.port != 0
    except (ValueError, AttributeError, TypeError):
        good = False
    if not good or where.username is not None or where.fragment:
        raise ValueError(f"An address must be {' or '.join(kinds)}, with a host and without a password.")
    return url
