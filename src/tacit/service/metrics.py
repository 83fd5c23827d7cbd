"""Counters and latencies for Prometheus, and the access log: of public things only.

Whether feedback came, and when, is as private as what it says: a contract hides it. So requests with feedback are
neither counted nor timed nor logged, and there are no figures of the whole process, which would count them all the
same. Labels are the routes and statuses that there are: nobody who asks for other addresses makes new ones.
"""

from __future__ import annotations

import logging
import time

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("tacit.access")
PRIVATE = "/feedback"  # is in every route that says whether there was any, and in addresses that misspell it
GONE = 499  # no answer was begun: the client has gone, which is no failure of the service
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """What is counted; each service has its own."""

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

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def page(self) -> Response:
        """What Prometheus reads."""
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)


class Counting:
    """Counts and logs what goes through it: route, status and time; never an address, a query, a header or a body."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), GONE

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if not private(scope):
                route = getattr(scope.get("route"), "path", "(none)")
                method, seconds = _method(scope["method"]), time.perf_counter() - start
                self._metrics.count(method, route, status, seconds)
                LOG.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds)


def private(scope: Scope) -> bool:
    """Whether it is private that there was such a request: by its route, or by its address where it has none."""
    return PRIVATE in str(getattr(scope.get("route"), "path", scope["path"]))


def _method(name: str) -> str:
    return name if name in ("GET", "HEAD", "POST") else "other"
