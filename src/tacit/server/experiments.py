"""The routes of experiments: policies out, replies in, and everything public that follows from them.

An answer to replies depends on the rows that were sent and on public things, never on rows that were there. Whether
replies or erasures came, and when, is private: these routes are neither logged, counted nor timed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import JSONResponse, Response

from tacit.errors import Conflict, InvalidInput, PrivacyError, TacitError
from tacit.experiments.design import LONGEST_ARM, LONGEST_NAME, MOST_ARMS, Design
from tacit.experiments.experiments import Experiments
from tacit.experiments.policy import digest
from tacit.noise.randomness import secret_bytes
from tacit.server.http import LOG, Direct, Problem
from tacit.server.routes import Account, Parts
from tacit.server.tokens import Token

MOST_ROWS = 10_000
TICK = 5.0
"""Seconds between two looks at what is due; each process takes a little less or more."""
PID = r"^[0-9a-f]{32}$"
STRICT = ConfigDict(extra="forbid", strict=True)
Name = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, description="The experiment.")]
ArmName = Annotated[str, Field(min_length=1, max_length=LONGEST_ARM)]
Seen = Annotated[str | None, Header(alias="if-none-match", description="The ETag of the last answer.")]
TAGGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "Nothing changed since the ETag of If-None-Match."},
}
UNSET = "This service has no database for replies: start it with --replies, --key and --witness."


class NewExperiment(BaseModel):
    """What is tried, on whom, and under which promise."""

    model_config = STRICT | ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "homepage",
                    "arms": ["control", "short"],
                    "ledger": "people",
                    "epsilon": 1,
                    "people_per_day": 20000,
                }
            ]
        }
    )

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="Its name, without / and \\.")
    arms: list[ArmName] = Field(min_length=2, max_length=MOST_ARMS, description="The names of its arms.")
    ledger: str = Field(min_length=1, max_length=LONGEST_NAME, description="A ledger of the store, which is charged.")
    epsilon: float = Field(gt=0, description="Of a person and calendar month.")
    delta: float = Field(default=1e-6, ge=0, lt=1, description="Of a person and calendar month.")
    default: str = Field(default="", description="The arm that others are measured against (empty: the first).")
    people_per_day: float = Field(default=10_000.0, gt=0, description="Expected persons a day.")
    score: float = Field(default=0.1, gt=0, le=1, description="The expected score, as a share of the range of values.")
    days: Literal[0, 1, 2, 3, 7] = Field(default=0, description="Of a version (0: as long as the noise asks for).")
    hours: float = Field(default=0.0, ge=0, description="Of a version, in place of days.")
    window: float | None = Field(default=None, ge=0, description="Hours after serving in which replies count.")
    versions: int = Field(default=0, ge=0, description="How many may begin in a month (0: as many as fit).")
    low: float = Field(default=0.0, description="The value of no reply.")
    high: float = Field(default=1.0, description="The largest value.")
    adds: bool = Field(default=False, description="Whether the values of a person add up, to at most high.")
    min_share: float | None = Field(default=None, ge=0, le=0.5, description="The least share of every arm.")
    goal: Literal["compare", "optimise"] = Field(default="compare", description="Whether the default arm is held.")
    changing: bool = Field(default=False, description="Whether arms become better or worse over time.")
    identified: bool = Field(default=True, description="Whether replies name persons.")


class Stop(BaseModel):
    """How an experiment stops."""

    model_config = STRICT

    end: bool = Field(default=False, description="For good; otherwise it is frozen, and can be started again.")
    promote: ArmName | None = Field(default=None, description="Which arm everybody gets at the end.")


class Kill(BaseModel):
    """Which arm is taken away at once."""

    model_config = STRICT

    arm: ArmName


class ArmChange(BaseModel):
    """Which arms the next version serves."""

    model_config = STRICT

    add: list[ArmName] = Field(default=[], max_length=MOST_ARMS, description="New arms.")
    remove: list[ArmName] = Field(default=[], max_length=MOST_ARMS, description="Arms that leave.")
    min_share: float | None = Field(default=None, ge=0, le=0.5, description="The least share of every arm.")


class Sent(BaseModel):
    """A batch of replies."""

    model_config = ConfigDict(extra="forbid")

    replies: list[Any] = Field(
        max_length=MOST_ROWS,
        json_schema_extra={"items": {"type": "array", "description": "[salt, pid, value]"}},
        description="Rows [salt, pid, value]; each is checked by itself.",
    )
    exposures: dict[str, list[int]] = Field(
        default={}, description="Persons that were counted by arm, by salt: public counts for the sample-ratio check."
    )

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Sent:
        """Read a batch so that a text which is no Unicode spoils its own row only."""
        try:
            return cls.model_validate(json.loads(json_data))
        except (ValueError, RecursionError) as error:
            if isinstance(error, ValidationError):
                raise
            return super().model_validate_json(json_data, **options)


class Taken(BaseModel):
    """What became of a batch; it says nothing about rows that were there before."""

    closed: list[int] = Field(description="Places of rows whose version is closed or not known.")
    malformed: list[int] = Field(description="Places of rows that are not [salt, pid, value].")


class Person(BaseModel):
    """Whose data are erased."""

    model_config = STRICT

    person: str = Field(pattern=PID, description="The pid, as SDKs compute it.")


class Erased(BaseModel):
    """What erasure means."""

    open_versions: Literal["erased"]
    released: Literal["bounded by the contract"]


class NewLedger(BaseModel):
    """A budget for the same people."""

    model_config = STRICT

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    epsilon: float | None = Field(default=None, gt=0, description="The most that may be spent (null: no limit).")
    delta: float = Field(default=1e-6, ge=0, lt=1)
    renews: Literal["daily", "weekly", "monthly", "yearly"] | None = Field(default="monthly")


class Brief(BaseModel):
    """An experiment at a glance."""

    name: str
    state: Literal["draft", "running", "frozen", "ended"]
    incarnation: int = Field(description="Grows when the store is restored from a copy.")
    ledger: str
    arms: list[str] = Field(description="The arms that the next version may serve.")
    version: int | None = Field(description="The version that is served.")
    counting: bool = Field(description="Whether its replies count.")


class Listed(BaseModel):
    """All experiments."""

    experiments: list[Brief]


class NoiseLaw(BaseModel):
    """The noise in each sum."""

    law: str
    units: int = Field(description="Steps of released sums in a score of 1.")
    lattice: int
    rate: float | None = None
    deviation_in_persons: float | None = None


class Found(BaseModel):
    """What can be found in a month."""

    difference: float
    lift: float


class Planned(BaseModel):
    """What is known before anything is charged."""

    versions_a_month: int
    hours_of_a_version: float
    closes_after_hours: float
    noise: NoiseLaw
    detects_in_a_month: Found
    advice: str


class VersionShown(BaseModel):
    """What is public of a version."""

    version: int
    salt: str
    state: Literal["open", "released", "void", "not counted"]
    counting: bool
    serve_from: str
    close_at: str
    shares: dict[str, float]


class Act(BaseModel):
    """Who did what."""

    when: str
    who: str
    act: str


class Shown(Brief):
    """An experiment."""

    design: NewExperiment
    plan: Planned
    contract: str
    versions: list[VersionShown]
    acts: list[Act]


class Range(BaseModel):
    """The values of replies."""

    low: float
    high: float


class PolicyDocument(BaseModel):
    """Everything that a decision needs."""

    format: Literal["tacit-policy/1"]
    experiment: str
    incarnation: int
    version: int
    counting: bool
    salt: str
    arms: list[str]
    upto: list[int]
    default: str
    serve_from: str
    serve_until: str
    close_at: str
    value: Range
    contract: str
    head: str
    previous: str
    digest: str


class Kills(BaseModel):
    """The arms that nobody may get."""

    format: Literal["tacit-kills/1"]
    experiment: str
    killed: list[str]


class Estimate(BaseModel):
    """An effect, with the interval that holds at all looks."""

    estimate: float
    low: float
    high: float


class Lift(BaseModel):
    """The interval of the relative effect."""

    low: float
    high: float


class Rate(BaseModel):
    """Persons who replied, of those expected."""

    estimate: float
    deviation: float


class ArmResult(BaseModel):
    """What is known of an arm."""

    arm: str
    default: bool
    active: bool
    share: float
    probability_best: float | None
    effect: Estimate | None
    lift: Lift | None
    verdict: Literal["default", "open", "better", "worse"]
    reply_rate: Rate | None
    persons: int | None


class Results(BaseModel):
    """What is known of all arms: post-processing of releases."""

    experiment: str
    state: str
    confidence: float
    versions_released: int
    arms: list[ArmResult]
    sample_ratio: Literal["not counted", "fits", "mismatch"]
    loss_at_most: float | None
    note: str


class Limit(BaseModel):
    """How many versions a month may have."""

    versions: int
    enforced: bool


class Point(BaseModel):
    """A point of the privacy curve."""

    delta: float
    epsilon: float


class ContractDocument(BaseModel):
    """The contract that `tacit contract verify` checks."""

    format: str
    tacit: str
    experiment: str
    ledger: str
    unit: Literal["person-month", "event"]
    protected: str
    relation: str
    epsilon: float
    delta: float
    limit: Limit
    noise: NoiseLaw
    curve: list[Point]
    released: str
    theorem: str
    numerics: str
    randomness: str
    assumed: list[str]


class Contract(BaseModel):
    """The contract, for people and for machines."""

    text: str
    contract: ContractDocument


def routers(parts: Parts, experiments: Experiments | None) -> list[APIRouter]:
    """Make all routes of experiments; those that take replies are `Direct`."""
    work = parts.work
    made, read = parts.router("experiments", "admin"), parts.router("experiments", "read")
    asked, sent = parts.router("experiments", "sdk"), parts.router("experiments", "sdk", Direct)
    privacy = parts.router("experiments", "privacy")

    def known() -> Experiments:
        if experiments is None:
            raise Problem(409, UNSET)
        return experiments

    async def do(name: str | None, act: str, *args: Any, **options: Any) -> Any:
        """Call the experiments in a thread; an experiment that is not there is 404."""
        owner = known()
        if name is not None and not await work.do(owner.has, name):
            raise Problem(404, "There is no experiment of this name: POST /v1/experiments makes one.")
        try:
            return await work.do(getattr(owner, act), *args, **options)
        except PrivacyError as error:  # the ledger cannot afford it
            raise Problem(409, str(error)) from None

    @made.post("/experiments", status_code=201, response_model=Shown)
    async def create(request: Request, body: NewExperiment) -> Response:
        """Make a draft: it says the contract, the noise and what can be found in a month; nothing is charged."""
        return JSONResponse(await do(None, "make", Design.from_dict(body.model_dump()), whose(request)), 201)

    @read.get("/experiments", response_model=Listed)
    async def listed() -> Response:
        """Show all experiments."""
        return JSONResponse({"experiments": await do(None, "overview")})

    @read.get("/experiments/{name}", response_model=Shown)
    async def shown(name: Name) -> Response:
        """Show what is public of an experiment: design, plan, contract, versions and acts."""
        return JSONResponse(await do(name, "describe", name))

    @made.post("/experiments/{name}/start", response_model=Shown)
    async def start(request: Request, name: Name) -> Response:
        """Start a draft, or go on with a frozen experiment; the month is charged unless it was before."""
        await do(name, "start", name, whose(request))
        return JSONResponse(await do(name, "describe", name))

    @made.post("/experiments/{name}/stop", response_model=Shown)
    async def stop(request: Request, name: Name, body: Stop) -> Response:
        """Freeze an experiment, whose shares are served on, or end it for good."""
        await do(name, "stop", name, whose(request), end=body.end, promote=body.promote)
        return JSONResponse(await do(name, "describe", name))

    @made.post("/experiments/{name}/kill", response_model=Kills)
    async def kill(request: Request, name: Name, body: Kill) -> Response:
        """Take an arm away: SDKs give its people the default arm within five seconds."""
        await do(name, "kill", name, body.arm, whose(request))
        return JSONResponse(await do(name, "kills", name))

    @made.patch("/experiments/{name}/arms", response_model=Shown)
    async def arms(request: Request, name: Name, body: ArmChange) -> Response:
        """Change which arms the next version serves."""
        changed = {"add": body.add, "remove": body.remove, "min_share": body.min_share}
        await do(name, "change_arms", name, whose(request), **changed)
        return JSONResponse(await do(name, "describe", name))

    @asked.get("/experiments/{name}/policy", response_model=PolicyDocument, responses=TAGGED)
    async def policy(name: Name, seen: Seen = None) -> Response:
        """Give the policy that is served, from which every decision is computed."""
        found = await do(name, "policy", name)
        return unchanged(found, found["digest"], seen, "max-age=15")

    @asked.get("/experiments/{name}/kills", response_model=Kills, responses=TAGGED)
    async def kills(name: Name, seen: Seen = None) -> Response:
        """Give the arms that nobody may get: SDKs ask every two seconds."""
        found = await do(name, "kills", name)
        return unchanged(found, digest(found["killed"]), seen, "no-store")

    @sent.post("/experiments/{name}/replies", status_code=202, response_model=Taken)
    async def replies(name: Name, body: Sent) -> Response:
        """Take replies, once they are durable. Rows that are new, repeated or erased are answered alike."""
        if body.exposures:
            await do(name, "expose", name, body.exposures)
        answer = await do(name, "reply", name, body.replies)
        return JSONResponse({"closed": answer.closed, "malformed": answer.malformed}, 202)

    @read.get("/experiments/{name}/results", response_model=Results)
    async def results(name: Name) -> Response:
        """Show what is known: each arm against the default, at all looks together; it costs no privacy."""
        return JSONResponse(await do(name, "results", name))

    @read.get("/experiments/{name}/contract", response_model=Contract)
    async def contract(name: Name) -> Response:
        """Show the contract, as text and as JSON that `tacit contract verify` checks."""
        return JSONResponse(await do(name, "contract", name))

    @privacy.post("/erasures", status_code=202, response_model=Erased)
    async def erase(request: Request, body: Person) -> Response:
        """Delete what is held of a person in open versions; what comes later for these is not kept."""
        await do(None, "erase", body.person, whose(request))
        return JSONResponse({"open_versions": "erased", "released": "bounded by the contract"}, 202)

    @made.post("/ledgers", status_code=201, response_model=Account)
    async def ledger(body: NewLedger) -> Response:
        """Make a budget; the same again changes nothing, another one under this name is 409."""

        def make() -> dict[str, Any]:
            try:
                found = parts.store.ledger(body.name, epsilon=body.epsilon, delta=body.delta, renews=body.renews)
            except InvalidInput as error:
                raise Conflict(str(error)) from None
            return found.to_dict()

        return JSONResponse(await work.do(make), 201)

    return [made, read, asked, sent, privacy]


def whose(request: Request) -> str:
    """Say by whose token an act was done."""
    token: Token = request.scope["token"]
    return token.name or f"token {token.number}"


def unchanged(found: dict[str, Any], tag: str, seen: str | None, cache: str) -> Response:
    """Answer 304 if the asker has this already."""
    headers = {"ETag": json.dumps(tag), "Cache-Control": cache}
    if seen == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return JSONResponse(found, headers=headers)


@asynccontextmanager
async def ticking(parts: Parts, experiments: Experiments | None) -> AsyncIterator[None]:
    """Look at what is due, again and again, while the service runs."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK * (0.8 + 0.4 * secret_bytes(1)[0] / 255))
            try:
                assert experiments is not None
                await parts.work.do(experiments.tick)
            except TacitError as error:
                LOG.error("%s", error)
            except Exception as error:  # whatever it is: rows that are overdue are deleted by the next tick
                LOG.error("A tick of experiments failed (%s).", type(error).__name__)

    running = None if experiments is None else asyncio.create_task(tick())
    try:
        yield
    finally:
        if running is not None:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
