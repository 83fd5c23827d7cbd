"""Rounds: a decision out, its feedback in."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from tacit.errors import InvalidInput, PrivacyError
from tacit.problems import Arms, Experts, Tracking
from tacit.service.access import Access, guarded
from tacit.service.errors import Problem, answers
from tacit.service.learners import Learners
from tacit.service.metrics import Metrics
from tacit.service.work import Work
from tacit.store.live import LONGEST_KEY, Live

Round = Annotated[int, Path(ge=0, lt=2**63, description="The round that the feedback is about.")]


class Asked(BaseModel):
    """A request for a decision."""

    model_config = ConfigDict(extra="forbid", strict=True)

    key: str = Field(
        min_length=1,
        max_length=LONGEST_KEY,
        description="A name for this request: the same key gives the same answer, so that a lost one can be had again.",
    )


class Told(BaseModel):
    """The feedback of a round."""

    model_config = ConfigDict(extra="forbid")

    feedback: Any = Field(
        json_schema_extra={
            "anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "number"}, {"type": "null"}]
        },
        description="A list of numbers, a number, or null if there is none.",
    )


class Decided(BaseModel):
    """A decision."""

    round: int = Field(description="The round, under which feedback is reported.")
    action: Any = Field(description="What to do: a number, or a list of them.")


def router(work: Work, access: Access, learners: Learners, metrics: Metrics) -> list[APIRouter]:
    """The routes."""
    refused = answers(400, 401, 403, 404, 408, 409, 413, 415, 422, 503)
    decisions = APIRouter(prefix="/v1", tags=["rounds"], route_class=guarded(access, "decide"), responses=refused)
    feedback = APIRouter(prefix="/v1", tags=["rounds"], route_class=guarded(access, "feedback"), responses=refused)

    @decisions.post("/learners/{name}/decisions", response_model=Decided)
    async def decide(name: str, body: Asked) -> Response:
        """The decision of the next round, once it is durable; the same key gives the same one."""
        live = await learners.opened(name, work)
        try:
            decision = await asyncio.wrap_future(live.decide_later(body.key, work.run))
        except PrivacyError as error:  # the ledger cannot afford it
            raise Problem(409, str(error)) from None
        except InvalidInput:
            raise Problem(422, f"A key is a printable text of 1 to {LONGEST_KEY} characters.") from None
        metrics.decisions.inc()
        action = decision.action
        shown = Decided(round=decision.round, action=action.tolist() if hasattr(action, "tolist") else action)
        return Response(shown.model_dump_json(), media_type="application/json")

    @feedback.post("/learners/{name}/rounds/{round}/feedback", status_code=204, response_class=Response)
    async def settle(name: str, round: Round, body: Told) -> Response:
        """Keep the feedback of a round, once it is durable. The same again: 204. Another one, or too late: 409."""
        live = await learners.opened(name, work)
        try:
            await asyncio.wrap_future(live.settle_later(round, body.feedback, work.run))
        except InvalidInput:  # its sentence could name a part of the feedback
            raise Problem(422, f"The feedback must be {wanted(live)}, or null: nothing was changed.") from None
        return Response(status_code=204)

    return [decisions, feedback]


def wanted(live: Live) -> str:
    """What feedback looks like."""
    problem = live.plan.problem
    if isinstance(problem, Arms):
        return "a number from {:g} to {:g}, the loss of the arm that was chosen".format(*problem.loss_range)
    if isinstance(problem, Experts | Tracking):
        return "a list of {} numbers from {:g} to {:g}, one for each expert".format(problem.n, *problem.loss_range)
    return "a list of numbers that fits the problem"
