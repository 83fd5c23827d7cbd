"""Whether the service works, and what it counts; for machines, without a token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from tacit.service.errors import answers
from tacit.service.metrics import Metrics
from tacit.service.work import Work
from tacit.store.store import Store


def router(store: Store, work: Work, metrics: Metrics) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["status"], responses=answers(503))

    def check() -> None:
        with store.database.reading() as transaction:
            transaction.row("SELECT version FROM tacit_store")

    @routes.get("/healthz")
    async def health() -> dict[str, Any]:
        """Whether the service answers and its database does."""
        await work.do(check)
        return {"status": "ok"}

    @routes.get("/metrics", response_class=Response)
    async def count() -> Response:
        """Counters and latencies for Prometheus: of public things only."""
        return metrics.page()

    return routes
