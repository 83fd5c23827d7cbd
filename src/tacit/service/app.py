"""The service as an ASGI application: every answer over a store that keeps its promises.

What is shown was durable before, because the store answers only then; and what is asked twice under one key is answered
once. The application adds who may ask (tokens), how much (limits), and that nothing private leaves by an error, a
log line or a metric.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware

from tacit.service import errors
from tacit.service.access import Access
from tacit.service.direct import Direct
from tacit.service.documentation import Described, describe
from tacit.service.headers import SafeHeaders
from tacit.service.learners import Learners
from tacit.service.limits import Limiting, Limits
from tacit.service.metrics import Counting, Metrics
from tacit.service.routes import learners as learner_routes
from tacit.service.routes import ledgers, rounds, status
from tacit.service.tokens import Tokens
from tacit.service.work import Work
from tacit.store.store import Store
from tacit.version import __version__

SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}
"""FastAPI's own telemetry would count and time feedback, and hold what was sent."""


def create_app(store: Store, limits: Limits | None = None) -> FastAPI:
    """The service of a store; whoever runs it closes the store afterwards.

    Args:
        store: where learners, ledgers and tokens are.
        limits: what a request may take.
    """
    allowed = Limits() if limits is None else limits
    work, metrics, known = Work(allowed.threads), Metrics(), Learners(store)
    access = Access(Tokens(store), work)
    hot = rounds.router(work, access, known, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        work.close()

    app = Described(
        title="tacit",
        version=__version__,
        description="Private decisions: nothing is shown before it is durable, and the same key gives the same answer.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # an address that is not there leads nowhere else
        lifespan=lifespan,
        telemetry=SILENT,
        middleware=[
            Middleware(Counting, metrics=metrics),
            Middleware(SafeHeaders),
            Middleware(errors.Catching),
            Middleware(Limiting, limits=allowed),
            Middleware(Direct, routes=[route for router in hot for route in router.routes]),
        ],
    )
    app.state.closing = threading.Event()  # set when the service is asked to end: answers without an end shall end
    errors.install(app)
    for router in (
        *learner_routes.router(store, work, access, known, metrics),
        *hot,
        ledgers.router(store, work, access),
        status.router(store, work, metrics),
    ):
        app.include_router(router)
    describe(app)
    if find_spec("tacit.service.page"):
        app.include_router(import_module("tacit.service.page").router(store, access.reader))
    return app
