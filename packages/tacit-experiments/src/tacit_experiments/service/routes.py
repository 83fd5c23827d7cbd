"""The routes: learners and ledgers, a decision out and its feedback in, and whether the service works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from tacit import problems
from tacit.errors import Conflict, InvalidInput, PrivacyError, ProtocolError, TacitError
from tacit.noise.randomness import Randomness
from tacit.planning.comparison import Comparison
from tacit_experiments.service.http import Access, Direct, Guarded, Limits, Metrics, Problem, answers, guarded
from tacit_experiments.service.learners import Accounts, Work
from tacit_experiments.store.live import LONGEST_KEY, LONGEST_PERSON, Live
from tacit_experiments.store.plans import KINDS, problem_from_dict
from tacit_experiments.store.store import LONGEST_NAME, Store

REACHED = r"^([^/\\.][^/\\]*|\.[^/\\.][^/\\]*|\.\.[^/\\]+)$"  # . and .. are no part of an address for those who ask
OTHER = "A learner of this name has another contract, or another ledger: GET /v1/learners/{name} shows which."
UNKNOWN = "This learner was made in Python, of parts that a store cannot describe: only that program opens it."
MOST_SHOWN = 10_000
ARMS_DEPRECATED_SINCE = 1794960000  # 18 November 2026
REFUSED = answers(400, 401, 403, 404, 408, 409, 413, 415, 422, 503)
PROBLEM = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"enum": list(KINDS)}},
    "description": "The kind, and the fields of that problem: "
    + "; ".join(f"{kind}: {', '.join(made.__dataclass_fields__)}" for kind, made in KINDS.items()),
    "examples": [{"kind": "experts", "n": 3, "horizon": 10000, "delay": 50}],
}
NUMBERS: list[Any] = [{"type": "array", "items": {"type": "number"}}, {"type": "number"}]
Called = Annotated[str, Path(description="The learner.", examples=["homepage"])]
Round = Annotated[int, Path(ge=0, lt=2**63, description="The round that the feedback is about.", examples=[0])]


def said(description: str, *examples: Any, **options: Any) -> Any:
    """Describe a field of the interface; one without a default has an example."""
    return Field(description=description, examples=list(examples) or None, **options)


class Strict(BaseModel):
    """What is sent, without fields or types that are not described."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewLearner(Strict):
    """What is to be decided, and how privately."""

    name: str = said("Its name, without / and \\.", "homepage", min_length=1, max_length=LONGEST_NAME, pattern=REACHED)
    problem: Annotated[dict[str, Any], Field(json_schema_extra=PROBLEM)]
    epsilon: float = said("Privacy budget of the whole run: smaller is more private.", 1.0)
    delta: float = said("Failure probability; 0 asks for pure differential privacy.", default=1e-6)
    ledger: str | None = said("A ledger of the store, which is charged.", "people", default=None)
    adversary: Literal["oblivious", "adaptive", "stochastic"] | None = said(
        "Who makes the losses; null: as the problem has it.", "stochastic", default=None
    )
    relation: Literal["replace", "zero-out"] | None = said(
        "What two neighbouring data sets differ in; null: replace.", "replace", default=None
    )
    rounds_per_person: int | None = said("Rounds of one person that are protected together; null: 1.", 1, default=None)
    separation: int | None = said("By how many rounds those of one person are apart; null: 1.", 1, default=None)
    persons: bool | None = said("Whether feedback names its person, who is counted.", False, default=None)
    max_switches: int | None = said(
        "How often the decision may change in expectation; null: as often as it does.", 100, default=None
    )
    confidence: float | None = said(
        "With which probability the regret bound holds; null: in expectation.", 0.95, default=None
    )

    @property
    def target(self) -> dict[str, Any]:
        """Give the arguments of `tacit.plan`; what was left out has its default there."""
        return self.model_dump(exclude={"name", "problem", "ledger", "adversary", "persons"}, exclude_none=True)


class Made(BaseModel):
    """A learner as it was planned."""

    name: str = said("Its name.", "homepage")
    plan: dict[str, Any] = said(
        "The algorithm that was chosen, its regret bound and its parameters.", {"algorithm": "HedgeOnSums"}
    )
    contract: str = said("What is promised.", "epsilon=1 at delta=1e-06")
    comparison: dict[str, Any] = said("Every algorithm that was compared, as `tacit plan --json`.", {"candidates": []})


class Asked(Strict):
    """A request for a decision."""

    key: str = said(
        "A name for this request: the same key gives the same answer, so that a lost one can be had again.",
        "request-4711",
        min_length=1,
        max_length=LONGEST_KEY,
    )


class Decision(BaseModel):
    """A decision."""

    round: int = said("The round, under which feedback is reported.", 0)
    action: Any = said("What to do: a number, or a list of them.", 2, json_schema_extra={"anyOf": NUMBERS})


class Told(BaseModel):
    """The feedback of a round."""

    model_config = ConfigDict(extra="forbid")

    feedback: Any = said(
        "A list of numbers, a number, or null if there is none.",
        [0.2, 0.9, 0.4],
        json_schema_extra={"anyOf": [*NUMBERS, {"type": "null"}]},
    )
    person: str | None = said(
        "Whose feedback it is, for learners that count persons; only a keyed hash is kept.",
        "user-4711",
        default=None,
        min_length=1,
        max_length=LONGEST_PERSON,
    )


class Learner(BaseModel):
    """What is public of a learner."""

    name: str = said("Its name.", "homepage")
    algorithm: str = said("Which algorithm was chosen.", "HedgeOnSums")
    problem: str = said("What is decided.", "Experts(n=3, horizon=10000, delay=50)")
    contract: str = said("What is promised.", "epsilon=1 at delta=1e-06")
    epsilon: float = said("Of the contract.", 1.0)
    delta: float = said("Of the contract.", 1e-6)
    certified_regret: float | None = said("For the whole horizon; null if there is no bound.", 42.5)
    horizon: int | None = said("How many rounds it decides; null: any number.", 10000)
    delay: int = said("How many rounds late feedback may come.", 50)
    rounds: int = said("How many rounds were decided.", 900)
    switches: int = said("How often the decision has changed.", 12)
    ledger: str | None = said("The ledger that was charged, or null.", "people")
    decisions: list[Decision] = said("From `first` on, at most `limit`.")


class Charge(BaseModel):
    """A charge of a ledger."""

    when: str = said("When, in UTC.", "2026-11-17T00:00:00Z")
    period: str = said("In which period; empty if the budget never renews.", "2026-11")
    name: str = said("Who was charged.", "experiment homepage, 2026-11")
    epsilon: float | None = said("At the delta of the charge; null: without limit.", 1.0)
    delta: float = said("Of the charge.", 1e-6)
    contract: str = said("What was promised.", "epsilon=1 at delta=1e-06")


class Account(BaseModel):
    """A budget, and what was spent of it."""

    name: str = said("Its name.", "people")
    epsilon: float | None = said("The budget; null if there is no limit.", 1.0)
    delta: float = said("The delta at which it is stated.", 1e-6)
    renews: str | None = said("When it renews; null: never.", "monthly")
    period: str = said("The period that runs now; empty if it never renews.", "2026-11")
    spent: float | None = said("In the period that runs now; null if it has no limit.", 1.0)
    spent_ever: float | None = said("Over all periods; null if it has no limit.", 1.0)
    private: bool = said("False if a charge has noise that can be replayed.", True)
    entries: list[Charge] = said("Every charge.")


class Budgets(BaseModel):
    """Every budget."""

    ledgers: list[Account] = said("The budgets, by name.")


class Health(BaseModel):
    """Whether the service works."""

    status: Literal["ok"] = said("It works.", "ok")


@dataclass(frozen=True)
class Parts:
    """What the routes work with."""

    store: Store
    work: Work
    access: Access
    accounts: Accounts
    metrics: Metrics
    limits: Limits
    figures: Callable[[], Sequence[tuple[str, str, dict[str, str], float]]]

    def router(self, tag: str, scope: str, kind: type[Guarded] = Guarded) -> APIRouter:
        """Start routes for those whose token has a scope."""
        return APIRouter(prefix="/v1", tags=[tag], route_class=guarded(self.access, scope, kind), responses=REFUSED)

    async def opened(self, name: str) -> Live:
        """Find the learner of this name, without waiting in the event loop."""
        found = self.store.opened(name)
        if found is None:
            await self.work.do(self.check, name)  # whoever misspells a name need not wait for other people's plans
            found = await self.work.plan(self._open, name)
        return found

    def check(self, name: str) -> None:
        """Refuse a name that no learner has."""
        if name not in self.store:
            raise Problem(404, "There is no learner of this name: POST /v1/learners makes one.")

    def _open(self, name: str) -> Live:
        try:
            return self.store.make(name)[0]
        except ProtocolError:
            raise Problem(409, "This learner was ended: its contract, decisions and charges are kept.") from None
        except InvalidInput:  # a loss or a set is known only to the program that made it
            raise Problem(409, UNKNOWN) from None


def add_routes(app: FastAPI, parts: Parts, more: list[APIRouter]) -> list[Direct]:
    """Add all routes, these among them; those that are asked in every round are returned, for the gate."""
    routers = (*learners(parts), *rounds(parts), ledgers(parts), *more, status(parts))
    for router in routers:
        app.include_router(router)
    return [route for router in routers for route in router.routes if isinstance(route, Direct)]


def learners(parts: Parts) -> list[APIRouter]:
    """Routes that make learners, and show what is public of them."""
    made, shown = parts.router("learners", "admin"), parts.router("learners", "read")
    store, work = parts.store, parts.work

    def make(body: NewLearner) -> Response:
        if body.ledger is not None and body.ledger not in store.ledgers:
            raise Problem(422, "There is no ledger of this name in the store: make it first, by store.ledger(...).")
        asked = {} if body.adversary is None else {"adversary": body.adversary}
        problem = problem_from_dict(asked | body.problem)
        check_size(problem, parts.limits)
        try:
            secret = Randomness.secret()  # a seeded one is no private learner
            own: dict[str, Any] = {"ledger": body.ledger, "randomness": secret, "largest": parts.limits.state}
            live, new = store.make(body.name, problem, persons=body.persons, **own, **body.target)
        except Conflict:
            raise Problem(409, OTHER) from None
        if new:
            parts.metrics.learners.inc()
        return JSONResponse(described(live), 201 if new else 200, deprecation(live))

    @made.post("/learners", status_code=201, response_model=Made, responses={200: {"model": Made}})
    async def create(body: NewLearner) -> Response:
        """Plan and make a learner: 201. The same again: 200. Another contract under the same name: 409."""
        return await work.plan(make, body)

    @made.delete("/learners/{name}", status_code=204, response_class=Response)
    async def end(name: Called) -> Response:
        """End a learner for good: its state and feedback are deleted; contract, decisions and charges are kept."""
        await work.do(parts.check, name)
        await work.do(store.end, name)
        return Response(status_code=204)

    def read(live: Live, switches: int, first: int | None, limit: int) -> Response:
        shown = {**public(live, switches), "decisions": live.decisions(first, limit)}
        return JSONResponse(shown, headers=deprecation(live))

    @shown.get("/learners/{name}", response_model=Learner)
    async def learner(
        name: Called,
        first: Annotated[
            int | None, Query(ge=0, lt=2**63, description="The first round to show.", examples=[0])
        ] = None,
        limit: Annotated[int, Query(ge=0, le=MOST_SHOWN, description="How many rounds to show.")] = 1000,
    ) -> Response:
        """Show what is public of a learner: contract, certified regret, rounds, switches and (the latest) decisions."""
        live = await parts.opened(name)
        # A thread that waited for its turn here could keep the one from running whose turn it is.
        switches = await asyncio.wrap_future(live.switches_later(work.run))
        return await work.do(read, live, switches, first, limit)

    return [made, shown]


def rounds(parts: Parts) -> list[APIRouter]:
    """Routes that are asked in every round."""
    decisions, feedback = parts.router("rounds", "decide", Direct), parts.router("rounds", "feedback", Direct)
    work = parts.work

    @decisions.post("/learners/{name}/decisions", response_model=Decision)
    async def decide(name: Called, body: Asked) -> Response:
        """Give the decision of the next round, once it is durable; the same key gives the same one."""
        live = await parts.opened(name)
        try:
            decision = await asyncio.wrap_future(live.decide_later(body.key, work.run))
        except PrivacyError as error:  # the ledger cannot afford it
            raise Problem(409, str(error)) from None
        except InvalidInput:
            raise Problem(422, f"A key is a printable text of 1 to {LONGEST_KEY} characters.") from None
        parts.metrics.decisions.inc()
        action = decision.action
        answer = {"round": decision.round, "action": getattr(action, "tolist", lambda: action)()}
        return JSONResponse(answer, headers=deprecation(live))

    @feedback.post("/learners/{name}/rounds/{round}/feedback", status_code=204, response_class=Response)
    async def settle(name: Called, round: Round, body: Told) -> Response:
        """Keep the feedback of a round, once it is durable. The same again: 204. Another one, or too late: 409."""
        live = await parts.opened(name)
        try:
            await asyncio.wrap_future(live.settle_later(round, body.feedback, work.run, person=body.person))
        except InvalidInput:  # its sentence could name a part of the feedback
            named = "a person" if live.persons else "no person"
            raise Problem(
                422, f"The feedback must be {wanted(live)}, or null, and name {named}: nothing was changed."
            ) from None
        return Response(status_code=204, headers=deprecation(live))

    return [decisions, feedback]


def ledgers(parts: Parts) -> APIRouter:
    """The route of the budgets."""
    routes = parts.router("ledgers", "read")

    @routes.get("/ledgers", response_model=Budgets)
    @routes.get("/ledger", response_model=Budgets)
    async def ledger() -> Response:
        """Show every budget: what it allows, what was spent in this period and ever, and who spent it."""
        accounts = await parts.work.do(parts.accounts.read)
        return JSONResponse({"ledgers": sorted(accounts.values(), key=lambda account: str(account["name"]))})

    return routes


def status(parts: Parts) -> APIRouter:
    """Routes for machines, without a token."""
    routes = APIRouter(tags=["status"], responses=answers(503))

    def check() -> None:
        with parts.store.database.reading() as transaction:
            transaction.row("SELECT version FROM tacit_store")

    @routes.get("/readyz", response_model=Health)
    @routes.get("/healthz", response_model=Health)
    async def health() -> Response:
        """Tell whether the service answers and its database does."""
        await parts.work.do(check)
        return JSONResponse({"status": "ok"})

    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}

    @routes.get("/metrics", response_class=Response, responses={200: text})
    async def count() -> Response:
        """Give counters and latencies for Prometheus: of public things only."""
        try:
            figures = await parts.work.do(parts.figures)
        except TacitError:  # the counters are there all the same
            figures = ()
        return parts.metrics.page(figures)

    return routes


def check_size(problem: problems.Problem, limits: Limits) -> None:
    """Refuse a problem whose learner would keep so much that others had to wait for it."""
    numbers = getattr(problem, "n", 1) * (1 + problem.delay)
    if numbers > limits.numbers:
        raise Problem(
            422,
            f"A learner of this service may keep {limits.numbers:,} numbers: n options for each of delay + 1 rounds, "
            "whose feedback may be waited for. `tacit serve --numbers` sets another limit.",
        )


def wanted(live: Live) -> str:
    """Say what feedback looks like."""
    problem = live.plan.problem
    if isinstance(problem, problems.Arms):
        return "a number from {:g} to {:g}, the loss of the arm that was chosen".format(*problem.loss_range)
    if isinstance(problem, problems.Experts | problems.Tracking):
        return "a list of {} numbers from {:g} to {:g}, one for each expert".format(problem.n, *problem.loss_range)
    return "a list of numbers that fits the problem"


def deprecation(live: Live) -> dict[str, str]:
    """Give the headers of answers about learners of arms, whose successors are experiments (RFC 9745)."""
    if not isinstance(live.plan.problem, problems.Arms):
        return {}
    return {"Deprecation": f"@{ARMS_DEPRECATED_SINCE}", "Link": '</v1/experiments>; rel="successor-version"'}


def described(live: Live) -> dict[str, Any]:
    """Describe a learner as it was planned."""
    comparison: Comparison = live.plan
    return {
        "name": live.name,
        "plan": comparison.candidates[0].to_dict(),
        "contract": str(live.guarantee),
        "comparison": comparison.to_dict(),
    }


def public(live: Live, switches: int) -> dict[str, Any]:
    """Describe how far a learner is, whose decision has changed so often."""
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
