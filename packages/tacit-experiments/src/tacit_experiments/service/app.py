"""The service as an ASGI application: every answer over a store that keeps its promises.

What is shown was durable before, because the store answers only then; and what is asked twice under one key is answered
once. The application adds who may ask (tokens), how much (limits), and that nothing private leaves by an error, a
log line or a metric.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response

from tacit.errors import TacitError
from tacit.version import __version__
from tacit_experiments.experiments import Experiments
from tacit_experiments.service import page
from tacit_experiments.service.experiments import routers, ticking
from tacit_experiments.service.http import (
    SCHEME,
    Access,
    Direct,
    Gate,
    Limits,
    Metrics,
    Problem,
    check_json,
    misfit,
    refusal,
)
from tacit_experiments.service.learners import Accounts, Work
from tacit_experiments.service.routes import Parts, add_routes
from tacit_experiments.service.tokens import Tokens
from tacit_experiments.store.store import Store

SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}
"""FastAPI's own telemetry would count and time feedback, and hold what was sent."""


class Described(FastAPI):
    """An application whose description says which tokens are needed."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schema = super().openapi()
            schema.setdefault("components", {})["securitySchemes"] = {SCHEME: {"type": "http", "scheme": "bearer"}}
            for operation in (one for methods in schema["paths"].values() for one in methods.values()):
                for needed in operation.get("security", []):
                    operation["description"] += f"\n\nScope of the token: {', '.join(needed[SCHEME])}."
        return super().openapi()


def create_app(store: Store, limits: Limits | None = None, experiments: Experiments | None = None) -> FastAPI:
    """Make the service of a store; whoever runs it closes the store and the experiments afterwards."""
    allowed = Limits() if limits is None else limits
    work, metrics, hot = Work(allowed.threads), Metrics(), list[Direct]()
    access, accounts = Access(Tokens(store), work.do), Accounts(store)
    figures = experiments.figures if experiments else tuple
    parts = Parts(store, work, access, accounts, metrics, allowed, figures)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with ticking(parts, experiments):
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
        middleware=[Middleware(Gate, limits=allowed, metrics=metrics, routes=hot)],
        exception_handlers={
            Problem: _refused,
            TacitError: _refused,
            RequestValidationError: _invalid,
            HTTPException: _unknown,
        },
    )
    hot += add_routes(app, parts, routers(parts, experiments))
    app.include_router(page.router(page.Watch(store, accounts, experiments), access))
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem | TacitError)
    return refusal(request.scope, error)


async def _invalid(request: Request, error: Exception) -> Response:
    """Answer a request that does not fit."""
    assert isinstance(error, RequestValidationError)
    try:
        if request.method in ("POST", "PATCH"):
            check_json(request.headers.get("content-type", ""))
        raise misfit(error.errors())
    except Problem as problem:
        return problem.response()


async def _unknown(request: Request, error: Exception) -> Response:
    """Answer what the router refuses: no such page, no such method."""
    assert isinstance(error, HTTPException)
    details = {404: "There is nothing at this address.", 405: "This address knows other methods."}
    detail = details.get(error.status_code, "The request could not be read.")
    return Problem(error.status_code, detail, dict(error.headers or {})).response()
