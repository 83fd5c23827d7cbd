"""Limits on what a request may take: so many bytes, so many seconds.

A body is read to its end before anything else happens, whether its length was told or it comes in chunks: one that is
too long is refused at once, one that comes too slowly is given up. After that the answer has so many seconds to begin.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service.errors import Problem


@dataclass(frozen=True)
class Limits:
    """What a request may take.

    Attributes:
        body: bytes of its body.
        seconds: until its answer begins; a plan or a commit that takes longer goes on, and the same request later finds
            what became of it.
        patience: seconds until its headers, and then its body, are there.
        threads: requests that wait for the database at once.
    """

    body: int = 1 << 20
    seconds: float = 30.0
    patience: float = 10.0
    threads: int = 256


class Limiting:
    """Keeps requests within their limits."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._body(scope, receive)
        except Problem as problem:
            problem.headers["Connection"] = "close"  # the rest of the body is not read
            await problem.response()(scope, receive, send)
            return
        if body is not None:  # else the client has gone
            await self._answer(scope, replayed(body, receive), send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body, or None if the client went away."""
        headers = dict(scope["headers"])
        if b"content-length" in headers and b"transfer-encoding" in headers:  # a proxy may have believed the other one
            raise Problem(400, "A body has one length: 'Content-Length' and 'Transfer-Encoding' may not both be there.")
        told = headers.get(b"content-length", b"0")
        if not told.isdigit() or int(told) > self._limits.body:
            raise self._too_large()
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self._limits.patience):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    if size > self._limits.body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(pieces)
        except TimeoutError:
            raise Problem(408, f"The body did not come within {self._limits.patience:g} seconds.") from None

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        try:
            async with asyncio.timeout(self._limits.seconds) as limit:

                async def watched(message: Message) -> None:
                    nonlocal begun
                    if message["type"] == "http.response.start":
                        begun = True
                        limit.reschedule(None if _streams(message) else limit.when())
                    await send(message)

                await self._app(scope, receive, watched)
        except TimeoutError:
            if begun:  # a client that does not read: nothing more can be said to it
                raise
            detail = (
                "The answer took too long. The work goes on: send the same request again to learn what became of it."
            )
            await Problem(503, detail, {"Retry-After": "2"}).response()(scope, receive, send)

    def _too_large(self) -> Problem:
        return Problem(413, f"A body may have {self._limits.body} bytes.")


def _streams(message: Message) -> bool:
    """Whether an answer has no end: the events of the live page."""
    return any(name == b"content-type" and b"event-stream" in value for name, value in message["headers"])


def replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, once more; then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
