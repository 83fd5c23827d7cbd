"""Learners: made by name, problem and privacy; shown by what is public of them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from tacit.comparison import Comparison
from tacit.errors import Conflict
from tacit.randomness import Randomness
from tacit.service.access import Access, guarded
from tacit.service.errors import Problem, answers
from tacit.service.learners import Learners
from tacit.service.metrics import Metrics
from tacit.service.work import Work
from tacit.store.live import Live
from tacit.store.problems import KINDS, problem_from_dict
from tacit.store.store import LONGEST_NAME, Store

REACHED = r"^([^/\\.][^/\\]*|\.[^/\\.][^/\\]*|\.\.[^/\\]+)$"  # . and .. are no part of an address for those who ask
Name = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_NAME, pattern=REACHED, description="Its name, without / and \\."),
]
OTHER = "A learner of this name has another contract, or another ledger: GET /v1/learners/{name} shows which."
MOST_SHOWN = 10_000
PROBLEM = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"enum": list(KINDS)}},
    "description": "The kind, and the fields of that problem: "
    + "; ".join(f"{kind}: {', '.join(made.__dataclass_fields__)}" for kind, made in KINDS.items()),
    "examples": [{"kind": "experts", "n": 3, "horizon": 10000, "delay": 50}],
}


class NewLearner(BaseModel):
    """What is to be decided, and how privately."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    problem: Annotated[dict[str, Any], Field(json_schema_extra=PROBLEM)]
    epsilon: float = Field(description="Privacy budget of the whole run: smaller is more private.")
    delta: float = Field(default=1e-6, description="Failure probability; 0 asks for pure differential privacy.")
    ledger: str | None = Field(default=None, description="A ledger of the store, which is charged.")
    adversary: Literal["oblivious", "adaptive", "stochastic"] | None = None
    relation: Literal["replace", "zero-out"] | None = None
    rounds_per_person: int | None = None
    max_switches: int | None = None
    confidence: float | None = None

    @property
    def target(self) -> dict[str, Any]:
        """The arguments of `tacit.plan`; what was left out has its default there."""
        names = ("adversary", "relation", "rounds_per_person", "max_switches", "confidence")
        given = {name: getattr(self, name) for name in names}
        return {"epsilon": self.epsilon, "delta": self.delta} | {k: v for k, v in given.items() if v is not None}


def router(store: Store, work: Work, access: Access, learners: Learners, metrics: Metrics) -> list[APIRouter]:
    """The routes."""
    made = APIRouter(
        prefix="/v1",
        tags=["learners"],
        route_class=guarded(access, "admin"),
        responses=answers(400, 401, 403, 408, 409, 413, 415, 422, 503),
    )
    shown = APIRouter(
        prefix="/v1",
        tags=["learners"],
        route_class=guarded(access, "read"),
        responses=answers(401, 403, 404, 409, 422, 503),
    )

    def make(body: NewLearner) -> Response:
        if body.ledger is not None and body.ledger not in store.ledgers:
            raise Problem(422, "There is no ledger of this name in the store: make it first, by store.ledger(...).")
        try:
            problem, secret = problem_from_dict(body.problem), Randomness.secret()  # a seeded one is no private learner
            live, new = store.make(body.name, problem, ledger=body.ledger, randomness=secret, **body.target)
        except Conflict:
            raise Problem(409, OTHER) from None
        learners.keep(live)
        if new:
            metrics.learners.inc()
        return JSONResponse(described(live), 201 if new else 200)

    @made.post("/learners", status_code=201)
    async def create(body: NewLearner) -> Response:
        """Plan and make a learner: 201. The same again: 200. Another contract under the same name: 409."""
        return await work.plan(make, body)

    def read(live: Live, switches: int, first: int | None, limit: int) -> dict[str, Any]:
        return {**public(live, switches), "decisions": live.decisions(first, limit)}

    @shown.get("/learners/{name}")
    async def learner(
        name: str,
        first: Annotated[int | None, Query(ge=0, lt=2**63, description="The first round to show.")] = None,
        limit: Annotated[int, Query(ge=0, le=MOST_SHOWN, description="How many rounds to show.")] = 1000,
    ) -> dict[str, Any]:
        """What is public of a learner: contract, certified regret, rounds, switches and (the latest) decisions."""
        live = await learners.opened(name, work)
        # A thread that waited for its turn here could keep the one from running whose turn it is.
        switches = await asyncio.wrap_future(live.switches_later(work.run))
        return await work.do(read, live, switches, first, limit)

    return [made, shown]


def described(live: Live) -> dict[str, Any]:
    """A learner as it was planned."""
    comparison: Comparison = live.plan
    return {
        "name": live.name,
        "plan": comparison.candidates[0].to_dict(),
        "contract": str(live.guarantee),
        "comparison": comparison.to_dict(),
    }


def public(live: Live, switches: int) -> dict[str, Any]:
    """How far a learner is, whose decision has changed so often."""
    bound = float(live.plan.regret_bound)
    return {
        "name": live.name,
        "algorithm": live.plan.algorithm,
        "problem": str(live.plan.problem),
        "contract": str(live.guarantee),
        "epsilon": live.guarantee.epsilon(),
        "delta": live.guarantee.at_delta,
        "certified_regret": bound if bound < float("inf") else None,
        "horizon": live.plan.problem.horizon,
        "delay": live.plan.problem.delay,
        "rounds": live.rounds,
        "switches": switches,
        "ledger": None if live.ledger is None else live.ledger.name,
    }
