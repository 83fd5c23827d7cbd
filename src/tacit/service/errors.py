"""Errors as problem details (RFC 9457), in fixed sentences: no answer holds a value that was sent.

What was sent may be private (feedback), secret (tokens) or somebody's (keys), and whoever reads answers and logs may
be somebody else. So the sentences of pydantic, which quote what they were given, are never shown, and those of tacit
are cut before the value that they name.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import Conflict, InvalidInput, PrivacyError, ProtocolError, StoreError, TacitError
from tacit.service.metrics import private

MEDIA_TYPE = "application/problem+json"
LOG = logging.getLogger("tacit.service")
FIELDS = (
    *("name", "problem", "epsilon", "delta", "ledger", "adversary", "relation", "rounds_per_person", "max_switches"),
    *("confidence", "key", "feedback", "round", "first", "limit", "body", "path", "query"),
)
"""The parts of a request that an answer may name; whatever else stands there was chosen by the sender."""


class Problem(Exception):
    """A refusal, with what is said about it.

    Attributes:
        status: the HTTP status.
        detail: one sentence.
        headers: further headers of the answer.
    """

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}

    def response(self) -> Response:
        """The answer."""
        content = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return JSONResponse(content, self.status, self.headers, MEDIA_TYPE)


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These refusals, for the description of the interface."""
    texts = {"type": "string"}, {"type": "integer"}
    fields = {"type": texts[0], "title": texts[0], "status": texts[1], "detail": texts[0]}
    content = {MEDIA_TYPE: {"schema": {"type": "object", "properties": fields, "required": list(fields)}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def problem_of(error: TacitError, *, logged: bool) -> Problem:
    """What is said about an error of tacit's, and logged if that gives nothing away."""
    if isinstance(error, Conflict | ProtocolError):
        return Problem(409, without_values(str(error)))
    if isinstance(error, PrivacyError):
        return Problem(422, without_values(str(error)))
    if isinstance(error, InvalidInput):
        return Problem(422, without_values(str(error)))
    if logged:
        LOG.error("%s", error if isinstance(error, StoreError) else f"An answer failed: {type(error).__name__}.")
    detail = "The store could not be read or written, so nothing was shown: send the same request again."
    return Problem(503, detail, {"Retry-After": "1"})


def without_values(sentence: str) -> str:
    """A sentence of tacit's without the value that it was given."""
    return sentence.partition(" Got ")[0]


def install(app: FastAPI) -> None:
    """Let every error of the app be answered by a problem."""
    for kind, handler in HANDLERS.items():
        app.add_exception_handler(kind, handler)


def refusal(scope: Scope, error: Problem | TacitError) -> Response:
    """The answer to a request that was refused, or failed."""
    problem = error if isinstance(error, Problem) else problem_of(error, logged=not private(scope))
    return problem.response()


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem | TacitError)
    return refusal(request.scope, error)


async def _invalid(request: Request, error: Exception) -> Response:
    """Where the request is wrong, by the names that we gave to its parts."""
    assert isinstance(error, RequestValidationError)
    if request.method == "POST" and "json" not in request.headers.get("content-type", ""):
        return Problem(415, "The body must be JSON, and say so: 'Content-Type: application/json'.").response()
    places = {_place(part.get("loc", ()), str(part.get("type"))) for part in error.errors()}
    detail = f"The request does not fit: {'; '.join(sorted(places))}. The interface is described at /docs."
    return Problem(422, detail).response()


def _place(location: Any, kind: str) -> str:
    words = [str(word) for word in location if word in FIELDS]
    what = {"missing": "is missing", "json_invalid": "is not JSON", "extra_forbidden": "has a field too many"}
    return f"{'.'.join(words) or 'body'} {what.get(kind, 'has a value that is not allowed')}"


async def _http(request: Request, error: Exception) -> Response:
    """What the router refuses: no such page, no such method."""
    assert isinstance(error, HTTPException)
    details = {404: "There is nothing at this address.", 405: "This address knows other methods."}
    detail = details.get(error.status_code, "The request could not be read.")
    return Problem(error.status_code, detail, dict(error.headers or {})).response()


class Catching:
    """Answers a defect; its kind and place are logged, not its text, which may hold anything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            LOG.error("An answer failed: %s in %s, line %s.", type(error).__name__, place.name, place.lineno)
            if begun:  # it breaks off where it is, without the error's text
                raise ConnectionAbortedError from None
            await Problem(500, "The service failed, and logged where.").response()(scope, receive, send)


HANDLERS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    Problem: _refused,
    TacitError: _refused,
    RequestValidationError: _invalid,
    HTTPException: _http,
}
