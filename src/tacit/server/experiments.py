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
Name = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, description="The experiment.", examples=["homepage"])]
ArmName = Annotated[str, Field(min_length=1, max_length=LONGEST_ARM)]
Seen = Annotated[
    str | None,
    Header(alias="if-none-match", description="The ETag of the last answer.", examples=['"sha256:9f86d081884c7d65"']),
]
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
    shares: list[float] | None = Field(
        default=None, description="Of the first versions, one for each arm (null: equal ones)."
    )


class Stop(BaseModel):
    """How an experiment stops."""

    model_config = STRICT

    end: bool = Field(default=False, description="For good; otherwise it is frozen, and can be started again.")
    promote: ArmName | None = Field(
        examples=["short"], default=None, description="Which arm everybody gets at the end."
    )


class Kill(BaseModel):
    """Which arm is taken away at once."""

    model_config = STRICT

    arm: ArmName = Field(description="The arm.", examples=["video"])


class ArmChange(BaseModel):
    """Which arms the next version serves."""

    model_config = STRICT

    add: list[ArmName] = Field(default=[], max_length=MOST_ARMS, description="New arms.")
    remove: list[ArmName] = Field(default=[], max_length=MOST_ARMS, description="Arms that leave.")
    min_share: float | None = Field(
        examples=[0.01], default=None, ge=0, le=0.5, description="The least share of every arm."
    )


class Sent(BaseModel):
    """A batch of replies."""

    model_config = ConfigDict(extra="forbid")

    replies: list[Any] = Field(
        examples=[[["0f1e2d3c4b5a69788796a5b4c3d2e1f0", "49fbe7eafdfc5af770082a244f9b0c41", 1]]],
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

    closed: list[int] = Field(examples=[[]], description="Places of rows whose version is closed or not known.")
    malformed: list[int] = Field(examples=[[]], description="Places of rows that are not [salt, pid, value].")


class Person(BaseModel):
    """Whose data are erased."""

    model_config = STRICT

    person: str = Field(
        examples=["49fbe7eafdfc5af770082a244f9b0c41"], pattern=PID, description="The pid, as SDKs compute it."
    )


class Erased(BaseModel):
    """What erasure means."""

    open_versions: Literal["erased"] = Field(description="What was held of open versions.", examples=["erased"])
    released: Literal["bounded by the contract"] = Field(
        description="What was released before.", examples=["bounded by the contract"]
    )


class NewLedger(BaseModel):
    """A budget for the same people."""

    model_config = STRICT

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="Its name.", examples=["people"])
    epsilon: float | None = Field(
        examples=[1.0], default=None, gt=0, description="The most that may be spent (null: no limit)."
    )
    delta: float = Field(
        default=1e-6, ge=0, lt=1, description="The delta at which spending is stated.", examples=[1e-6]
    )
    renews: Literal["daily", "weekly", "monthly", "yearly"] | None = Field(
        default="monthly", description="When the budget is there again; null: never.", examples=["monthly"]
    )


class Brief(BaseModel):
    """An experiment at a glance."""

    name: str = Field(description="Its name.", examples=["homepage"])
    state: Literal["draft", "running", "frozen", "ended"] = Field(
        description="Where it is in its life.", examples=["running"]
    )
    incarnation: int = Field(examples=[1], description="Grows when the store is restored from a copy.")
    ledger: str = Field(description="The ledger that is charged.", examples=["people"])
    arms: list[str] = Field(examples=[["control", "short"]], description="The arms that the next version may serve.")
    version: int | None = Field(examples=[17], description="The version that is served.")
    counting: bool = Field(examples=[True], description="Whether its replies count.")


class Listed(BaseModel):
    """All experiments."""

    experiments: list[Brief] = Field(description="By name.")


class NoiseLaw(BaseModel):
    """The noise in each sum."""

    law: str = Field(
        description="Two-sided geometric, or discrete Gaussian: the smaller one.", examples=["discrete gaussian"]
    )
    units: int = Field(examples=[65536], description="Steps of released sums in a score of 1.")
    lattice: int = Field(description="Steps of a score of 1 before sums are multiplied.", examples=[65536])
    rate: float | None = Field(default=None, description="Of two-sided geometric noise.", examples=[3.05e-6])
    deviation_in_persons: float | None = Field(
        default=None, description="Standard deviation in one sum.", examples=[23.4]
    )


class Found(BaseModel):
    """What can be found in a month."""

    difference: float = Field(description="In the units of values.", examples=[0.004])
    lift: float = Field(description="Relative to the expected score.", examples=[0.13])


class Planned(BaseModel):
    """What is known before anything is charged."""

    versions_a_month: int = Field(description="How many may begin in a month.", examples=[5])
    hours_of_a_version: float = Field(description="How long a version is served.", examples=[144.0])
    closes_after_hours: float = Field(description="How long replies count after that.", examples=[23.98])
    noise: NoiseLaw = Field(description="The law of the noise.")
    detects_in_a_month: Found = Field(description="The smallest effect that a month can show.")
    advice: str = Field(description="What to change; empty if nothing.", examples=[""])


class VersionShown(BaseModel):
    """What is public of a version."""

    version: int = Field(description="Its number.", examples=[17])
    salt: str = Field(description="Its nonce.", examples=["0f1e2d3c4b5a69788796a5b4c3d2e1f0"])
    state: Literal["open", "released", "void", "not counted"] = Field(
        description="Whether it is open, released, void or does not count.", examples=["released"]
    )
    counting: bool = Field(description="Whether replies count.", examples=[True])
    serve_from: str = Field(description="When it begins, in UTC.", examples=["2026-11-17T00:00:00Z"])
    close_at: str = Field(description="When replies stop to count.", examples=["2026-11-23T23:59:00Z"])
    shares: dict[str, float] = Field(description="The share of each arm.", examples=[{"control": 0.5, "short": 0.5}])


class Act(BaseModel):
    """Who did what."""

    when: str = Field(description="When, in UTC.", examples=["2026-11-17T00:00:00Z"])
    who: str = Field(description="Whose token it was; empty: the program itself.", examples=["ops"])
    act: str = Field(description="What was done.", examples=["started"])


class Shown(Brief):
    """An experiment."""

    design: NewExperiment = Field(description="What was asked for.")
    plan: Planned = Field(description="What was known before anything was charged.")
    contract: str = Field(description="The contract, for people.", examples=["What is protected. ..."])
    versions: list[VersionShown] = Field(description="All versions, oldest first.")
    acts: list[Act] = Field(description="All acts, oldest first.")


class Range(BaseModel):
    """The values of replies."""

    low: float = Field(description="The value of no reply.", examples=[0.0])
    high: float = Field(description="The largest value.", examples=[1.0])


class PolicyDocument(BaseModel):
    """Everything that a decision needs."""

    format: Literal["tacit-policy/1"] = Field(description="Names this format.", examples=["tacit-policy/1"])
    experiment: str = Field(description="The experiment.", examples=["homepage"])
    incarnation: int = Field(description="Grows when the store is restored from a copy.", examples=[1])
    version: int = Field(description="Its number, which grows.", examples=[17])
    counting: bool = Field(description="Whether replies count.", examples=[True])
    salt: str = Field(description="The nonce that names the version.", examples=["0f1e2d3c4b5a69788796a5b4c3d2e1f0"])
    arms: list[str] = Field(
        description="All arms that there ever were; an arm keeps its place.", examples=[["control", "short"]]
    )
    upto: list[int] = Field(description="Cumulative shares; the last is 2^32.", examples=[[2147483648, 4294967296]])
    default: str = Field(description="The arm of those who have no policy.", examples=["control"])
    serve_from: str = Field(description="When it begins, in UTC.", examples=["2026-11-17T00:00:00Z"])
    serve_until: str = Field(description="When the next one may take over.", examples=["2026-11-23T00:00:00Z"])
    close_at: str = Field(description="When replies stop to count.", examples=["2026-11-23T23:59:00Z"])
    value: Range = Field(description="The range of values.")
    contract: str = Field(description="The digest of the contract.", examples=["sha256:9f86d081884c7d65"])
    head: str = Field(
        description="The head of the chain of releases that shares were computed from; empty: none.", examples=[""]
    )
    previous: str = Field(description="The digest of the policy before; empty: none.", examples=[""])
    digest: str = Field(description="The digest of this document.", examples=["sha256:9f86d081884c7d65"])


class Kills(BaseModel):
    """The arms that nobody may get."""

    format: Literal["tacit-kills/1"] = Field(description="Names this format.", examples=["tacit-kills/1"])
    experiment: str = Field(description="The experiment.", examples=["homepage"])
    killed: list[str] = Field(description="The arms.", examples=[["video"]])


class Estimate(BaseModel):
    """An effect, with the interval that holds at all looks."""

    estimate: float = Field(description="The estimate, in the units of values.", examples=[0.012])
    low: float = Field(description="The lower end.", examples=[0.004])
    high: float = Field(description="The upper end.", examples=[0.02])


class Lift(BaseModel):
    """The interval of the relative effect."""

    low: float = Field(description="The lower end.", examples=[0.02])
    high: float = Field(description="The upper end.", examples=[0.2])


class Rate(BaseModel):
    """Persons who replied, of those expected."""

    estimate: float = Field(description="The estimate.", examples=[0.12])
    deviation: float = Field(description="The standard deviation of its noise.", examples=[0.01])


class ArmResult(BaseModel):
    """What is known of an arm."""

    arm: str = Field(description="Its name.", examples=["short"])
    default: bool = Field(description="Whether others are measured against it.", examples=[False])
    active: bool = Field(description="Whether the next version may serve it.", examples=[True])
    share: float = Field(description="Of the version that is served.", examples=[0.34])
    probability_best: float | None = Field(
        description="The probability that it is the best arm; null if not known.", examples=[0.8]
    )
    effect: Estimate | None = Field(description="Against the default arm; null if not known.")
    lift: Lift | None = Field(description="The relative effect; null if not known.")
    verdict: Literal["default", "open", "better", "worse"] = Field(
        description="What is certain by now.", examples=["better"]
    )
    reply_rate: Rate | None = Field(description="Persons who replied, with noise; null if not known.")
    persons: int | None = Field(description="Persons that the operator counted; null if not counted.", examples=[1200])


class Results(BaseModel):
    """What is known of all arms: post-processing of releases."""

    experiment: str = Field(description="The experiment.", examples=["homepage"])
    state: str = Field(description="Where it is in its life.", examples=["running"])
    confidence: float = Field(description="With which all intervals hold together, at all looks.", examples=[0.95])
    versions_released: int = Field(description="How many versions they are computed from.", examples=[4])
    arms: list[ArmResult] = Field(description="The arms, in their places.")
    sample_ratio: Literal["not counted", "fits", "mismatch"] = Field(
        description="Whether counted persons fit the shares.", examples=["fits"]
    )
    loss_at_most: float | None = Field(
        description="What the experiment has cost so far, at most; null if not known.", examples=[12.5]
    )
    note: str = Field(description="What to know about estimates.", examples=["The interval is what holds."])


class Limit(BaseModel):
    """How many versions a month may have."""

    versions: int = Field(description="Counting versions that may begin in a month.", examples=[5])
    enforced: bool = Field(description="Whether the program sees to it.", examples=[True])


class Point(BaseModel):
    """A point of the privacy curve."""

    delta: float = Field(description="The delta.", examples=[1e-9])
    epsilon: float = Field(description="The epsilon at that delta.", examples=[1.2])


class ContractDocument(BaseModel):
    """The contract that `tacit contract verify` checks."""

    format: str = Field(description="Names this format.", examples=["tacit experiment contract 1"])
    tacit: str = Field(description="The version of the program.", examples=["0.3.0"])
    experiment: str = Field(description="The experiment.", examples=["homepage"])
    ledger: str = Field(description="The ledger that is charged.", examples=["people"])
    unit: Literal["person-month", "event"] = Field(description="What is protected.", examples=["person-month"])
    protected: str = Field(
        description="The unit, in words.",
        examples=["everything reported about one person for versions that began in one calendar month"],
    )
    relation: str = Field(description="What two neighbouring data sets differ in.", examples=["zero-out"])
    epsilon: float = Field(description="Of the unit, at most.", examples=[1.0])
    delta: float = Field(description="Of the unit, at most.", examples=[1e-6])
    limit: Limit = Field(description="What the program enforces.")
    noise: NoiseLaw = Field(description="The law of the noise.")
    curve: list[Point] = Field(description="Further points of the privacy curve.")
    released: str = Field(description="What may be seen.", examples=["all policies, all released sums"])
    theorem: str = Field(
        description="What was proved.", examples=["noisy pairs of sums, one pair moved in each version of a month"]
    )
    numerics: str = Field(description="How exact the arithmetic is.", examples=["exact"])
    randomness: str = Field(description="Where the noise comes from.", examples=["sealed"])
    assumed: list[str] = Field(
        description="What the program cannot enforce.", examples=[["the operator gives one person one identifier"]]
    )


class Contract(BaseModel):
    """The contract, for people and for machines."""

    text: str = Field(description="For people who sign it.", examples=["What is protected. ..."])
    contract: ContractDocument = Field(description="For `tacit contract verify`.")


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
