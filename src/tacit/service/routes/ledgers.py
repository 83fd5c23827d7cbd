"""What was spent of which budget."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tacit.service.access import Access, guarded
from tacit.service.errors import answers
from tacit.service.work import Work
from tacit.store.store import Store


def router(store: Store, work: Work, access: Access) -> APIRouter:
    """The routes."""
    routes = APIRouter(
        prefix="/v1", tags=["ledgers"], route_class=guarded(access, "read"), responses=answers(401, 403, 503)
    )

    def read() -> dict[str, Any]:
        return {"ledgers": [store.ledger(name).to_dict() for name in store.ledgers]}

    @routes.get("/ledger")
    async def ledger() -> dict[str, Any]:
        """Every budget: what it allows, what was spent in this period and ever, and who spent it."""
        return await work.do(read)

    return routes
