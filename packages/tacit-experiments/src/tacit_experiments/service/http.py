"""What every request passes: limits and its token before it; errors, headers and counts around its answer.

- A token is looked at before anything else of a request is used, so that a stranger is told nothing about it.
- A body is read to its end before anything else happens, whether its length was told or it comes in chunks. One that is
  too long is refused at once, one that comes too slowly is given up. Then the answer has so many seconds to begin.
- Errors are problem details (RFC 9457) in fixed sentences: no answer holds a value that was sent. What was sent may be
  private (feedback), secret (tokens) or somebody's (keys). So the sentences of pydantic, which quote what they were
  given, are never shown, and those of tacit are cut before the value that they name.
- Whether feedback came, and when, is as private as what it says: requests with feedback are neither counted nor timed
  nor logged. There are no figures of the whole process, which would count them all the same. Labels are the routes and
  statuses that there are: nobody who asks for other addresses makes new ones.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from inspect import signature
from typing import Any, ClassVar

from fastapi import Request
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import Conflict, InvalidInput, PrivacyError, ProtocolError, StoreError, TacitError
from tacit_experiments.service.tokens import LENGTH, Token, Tokens, digest

COOKIE = "tacit_token"
"""The live page keeps its token here, since a browser sends no header of its own; it opens pages (GET) only."""
SCHEME = "token"
"""How the description of the interface calls the header with the token."""
REMEMBERED = 1.0  # seconds: so long may a token be used after another process revoked it
MOST_REMEMBERED = 1000
MEDIA_TYPE = "application/problem+json"
LOG = logging.getLogger("tacit_experiments.service")
ACCESS_LOG = logging.getLogger("tacit.access")
PRIVATE = ("/feedback", "/replies", "/erasures")  # are in every route that says whether there was any, also misspelt
GONE = 499  # no answer was begun: the client has gone, which is no failure of the service
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
FIELDS = (
    "name problem epsilon delta ledger adversary relation rounds_per_person separation max_switches confidence key "
    "feedback round first limit body path query arms default people_per_day score days hours window versions low high "
    "adds min_share goal changing identified end promote arm add remove replies exposures person renews shares"
)
"""The parts of a request that an answer may name; whatever else stands there was chosen by the sender."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every answer that does not have its own: nothing inline but pictures, which the stylesheet of Swagger UI
has. Other origins get nothing: no header allows them to."""
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


@dataclass(frozen=True)
class Limits:
    """What a request, and a learner that is made by one, may take."""

    body: int = 1 << 20  # bytes of a request's body
    seconds: float = 30.0  # until its answer begins; what takes longer goes on, and the same request later finds it
    patience: float = 10.0  # seconds until its headers, and then its body, are there
    threads: int = 256  # requests that wait for the database at once
    numbers: int = 1_000_000  # that a learner may keep: options, times rounds whose feedback may be waited for
    state: int = 4 << 20  # bytes of a new learner's state, which is written at every decision


class Problem(Exception):
    """A refusal: the HTTP status, one sentence, and further headers of the answer."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}

    def response(self) -> Response:
        """Make the answer."""
        content = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return JSONResponse(content, self.status, self.headers, MEDIA_TYPE)


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe these refusals for the interface."""
    texts = {"type": "string"}, {"type": "integer"}
    fields = {"type": texts[0], "title": texts[0], "status": texts[1], "detail": texts[0]}
    content = {MEDIA_TYPE: {"schema": {"type": "object", "properties": fields, "required": list(fields)}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def refusal(scope: Scope, error: Problem | TacitError) -> Response:
    """Answer a request that was refused, or failed."""
    if isinstance(error, Problem):
        return error.response()
    if isinstance(error, Conflict | ProtocolError):
        return Problem(409, without_values(str(error))).response()
    if isinstance(error, PrivacyError | InvalidInput):
        return Problem(422, without_values(str(error))).response()
    if not private(scope):
        LOG.error("%s", error if isinstance(error, StoreError) else f"An answer failed: {type(error).__name__}.")
    detail = "The store could not be read or written, so nothing was shown: send the same request again."
    return Problem(503, detail, {"Retry-After": "1"}).response()


def without_values(sentence: str) -> str:
    """Cut a sentence of tacit before the value that it was given."""
    return sentence.partition(" Got ")[0]


def misfit(errors: Iterable[Any]) -> Problem:
    """Say where a request is wrong, by the names that the interface gives to its parts."""
    places = {_place(part.get("loc", ()), str(part.get("type"))) for part in errors}
    return Problem(422, f"The request does not fit: {'; '.join(sorted(places))}. The interface is described at /docs.")


def check_json(content_type: str) -> None:
    """Refuse a body that does not say that it is JSON."""
    if "json" not in content_type:
        raise Problem(415, "The body must be JSON, and say so: 'Content-Type: application/json'.")


def _place(location: Any, kind: str) -> str:
    words = [str(word) for word in location if word in FIELDS.split()]
    what = {"missing": "is missing", "json_invalid": "is not JSON", "extra_forbidden": "has a field too many"}
    return f"{'.'.join(words) or 'body'} {what.get(kind, 'has a value that is not allowed')}"


class Metrics:
    """Counters and latencies for Prometheus; each service has its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "tacit_requests",
            "Requests, except those with feedback.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "tacit_request_seconds",
            "How long answers took, except those to feedback.",
            ["method", "route"],
            registry=self._registry,
            buckets=BUCKETS,
        )
        self.decisions = Counter(
            "tacit_decisions", "Decisions that were shown, repeated ones too.", registry=self._registry
        )
        self.learners = Counter("tacit_learners_made", "Learners that were made.", registry=self._registry)

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count and log an answer, unless it is private: route, status and time alone."""
        if private(scope):
            return
        route = getattr(scope.get("route"), "path", "(none)")
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "PATCH", "DELETE") else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)
        ACCESS_LOG.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds)

    def page(self, figures: Sequence[tuple[str, str, dict[str, str], float]] = ()) -> Response:
        """Write what Prometheus reads: counters, and figures as they are now (name, help, labels, value)."""
        now = CollectorRegistry()
        gauges: dict[str, Gauge] = {}
        for name, about, labels, value in figures:
            if name not in gauges:
                gauges[name] = Gauge(name, about, list(labels), registry=now)
            (gauges[name].labels(**labels) if labels else gauges[name]).set(value)
        return Response(generate_latest(self._registry) + generate_latest(now), media_type=CONTENT_TYPE_LATEST)


def private(scope: Scope) -> bool:
    """Tell whether it is private that there was such a request: by its route, or by its address where it has none."""
    address = str(getattr(scope.get("route"), "path", scope["path"]))
    return any(word in address for word in PRIVATE)


class Access:
    """Checks tokens."""

    def __init__(self, tokens: Tokens, ask: Callable[..., Coroutine[Any, Any, Token | None]]) -> None:
        self._tokens = tokens
        self._ask = ask
        self._seen: dict[str, tuple[Token, float]] = {}

    async def check(self, scope: Scope, needed: str) -> Token:
        """Find the token of a request; refuse it if there is none, it is not known, expired, or not for this."""
        text = _shown_token(scope)
        if text is None:
            raise _refused(401, "A token is needed: 'Authorization: Bearer ...'; `tacit token` makes one.")
        token = await self._known(text)
        if token is None or token.expired:
            raise _refused(401, "This token is not known here, was revoked or has expired.", 'error="invalid_token"')
        if needed not in token.scopes:
            raise _refused(
                403, f"This needs a token with the scope {needed!r}.", f'error="insufficient_scope", scope="{needed}"'
            )
        return token

    async def _known(self, text: str) -> Token | None:
        if len(text) != LENGTH:
            return None
        key = digest(text)  # what is remembered is no token
        token, since = self._seen.get(key, (None, 0.0))
        if token is None or time.monotonic() - since > REMEMBERED:
            token = await self._ask(self._tokens.find, text)
            self._seen.pop(key, None)
            if token is not None:
                if len(self._seen) >= MOST_REMEMBERED:
                    self._seen.clear()
                self._seen[key] = token, time.monotonic()
        return token


def _shown_token(scope: Scope) -> str | None:
    shown = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(shown) > 1:  # a proxy may have looked at another one
        raise _refused(401, "One token is needed: 'Authorization' may be there only once.", 'error="invalid_request"')
    kind, _, text = (shown[0] if shown else b"").decode("latin-1").partition(" ")
    if kind.lower() == "bearer":
        return text.strip()
    return Request(scope).cookies.get(COOKIE) if scope["method"] in ("GET", "HEAD") else None


def _refused(status: int, detail: str, challenge: str = "") -> Problem:
    return Problem(status, detail, {"WWW-Authenticate": f'Bearer realm="tacit"{challenge and ", " + challenge}'})


class Guarded(APIRoute):
    """A route that looks at the token first; `guarded` makes the kinds of it."""

    access: ClassVar[Access]
    needed: ClassVar[str]  # the scope that a token needs

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options | {"openapi_extra": {"security": [{SCHEME: [self.needed]}]}})

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            request.scope["token"] = await self.access.check(request.scope, self.needed)
            return await handle(request)

        return checked


class Direct(Guarded):
    """A route that is asked in every round: the framework describes it, and the gate calls it without the framework.

    Its function takes values of its path, and a body. Their types in its signature check what was sent.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        types = {name: value.annotation for name, value in signature(self.endpoint, eval_str=True).parameters.items()}
        self._body: type[BaseModel] = types.pop("body")
        self._path: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(kind) for name, kind in types.items()}

    def takes(self, scope: Scope) -> dict[str, str] | None:
        """Find the values in the address of a request, or None if it belongs elsewhere."""
        found = self.path_regex.match(scope["path"]) if scope["method"] in (self.methods or ()) else None
        return None if found is None else found.groupdict()

    async def answer(self, scope: Scope, body: bytes, values: dict[str, str]) -> Response:
        """Answer a request."""
        try:
            await self.access.check(scope, self.needed)
            kinds = [value for name, value in scope["headers"] if name == b"content-type"]
            check_json((kinds or [b""])[-1].decode("latin-1"))
            response: Response = await self.endpoint(**self._checked(body, values))
            return response
        except (Problem, TacitError) as error:
            return refusal(scope, error)

    def _checked(self, body: bytes, values: dict[str, str]) -> dict[str, Any]:
        part: tuple[str, ...] = ("body",)
        try:
            checked: dict[str, Any] = {"body": self._body.model_validate_json(body)}
            for name, kind in self._path.items():
                part = ("path", name)
                checked[name] = kind.validate_python(values[name])
            return checked
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False, include_input=False)
            raise misfit([{**where, "loc": (*part, *where["loc"])} for where in wrong]) from None


def guarded(access: Access, scope: str, kind: type[Guarded] = Guarded) -> type[Guarded]:
    """Make the routes for those whose token has this scope."""
    return type(kind.__name__, (kind,), {"access": access, "needed": scope})


class Gate:
    """Keeps requests within their limits; answers, logs and counts what becomes of them."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, routes: Sequence[Direct]) -> None:
        self._app, self._limits, self._metrics, self._routes = app, limits, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), GONE

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, given = message["status"], message["headers"]
                names = {name for name, _ in given}
                message["headers"] = [*given, *(header for header in _RAW_HEADERS if header[0] not in names)]
            await send(message)

        read = False
        try:
            async with asyncio.timeout(self._limits.patience) as limit:
                body = await self._body(scope, receive)
                read = True
                if body is not None:  # else the client has gone
                    limit.reschedule(asyncio.get_running_loop().time() + self._limits.seconds)
                    await self._handle(scope, body, receive, answer)
        except Exception as error:
            problem = self._problem(error, read)
            if status != GONE:  # it breaks off where it is, without the error's text
                raise ConnectionAbortedError from None
            await problem.response()(scope, receive, answer)
        finally:
            self._metrics.count(scope, status, time.perf_counter() - start)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read the whole body; None if the client went away."""
        headers = dict(scope["headers"])
        if b"content-length" in headers and b"transfer-encoding" in headers:  # a proxy may have believed the other one
            raise Problem(400, "A body has one length: 'Content-Length' and 'Transfer-Encoding' may not both be there.")
        told = headers.get(b"content-length", b"0")
        if not told.isdigit() or int(told) > self._limits.body:
            raise self._too_large()
        pieces, size = [], 0
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

    async def _handle(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        for route in self._routes:
            values = route.takes(scope)
            if values is not None:
                scope["route"] = route
                response = await route.answer(scope, body, values)
                await response(scope, receive, send)
                return
        given = False

        async def again() -> Message:
            """Give the body that was read, then what comes after it."""
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, send)

    def _problem(self, error: Exception, read: bool) -> Problem:
        """Say what became of a request; of a defect the kind and place are logged, not its text, which may be private.

        If its body was not read, the connection is closed.
        """
        if not read and isinstance(error, Problem):
            return Problem(error.status, error.detail, {"Connection": "close"})
        if not read and isinstance(error, TimeoutError):
            detail = f"The body did not come within {self._limits.patience:g} seconds."
            return Problem(408, detail, {"Connection": "close"})
        if isinstance(error, TimeoutError):
            detail = (
                "The answer took too long. The work goes on: send the same request again to learn what became of it."
            )
            return Problem(503, detail, {"Retry-After": "2"})
        place = traceback.extract_tb(error.__traceback__)[-1]
        LOG.error("An answer failed: %s in %s, line %s.", type(error).__name__, place.name, place.lineno)
        return Problem(500, "The service failed, and logged where.")

    def _too_large(self) -> Problem:
        return Problem(413, f"A body may have {self._limits.body} bytes.")
