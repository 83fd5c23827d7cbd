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
from tacit.noise.randomness import secret_bytes
from tacit_experiments.design import LONGEST_ARM, LONGEST_NAME, MOST_ARMS, Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import digest
from tacit_experiments.service.http import LOG, Direct, Problem
from tacit_experiments.service.routes import Account, Parts, Strict, said
from tacit_experiments.service.tokens import Token

MOST_ROWS = 10_000
TICK = 5.0
"""Seconds between two looks at what is due; each process takes a little less or more."""
PID = r"^[0-9a-f]{32}$"
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


class NewExperiment(Strict):
    """What is tried, on whom, and under which promise."""

    name: str = said("Its name, without / and \\.", "homepage", min_length=1, max_length=LONGEST_NAME)
    arms: list[ArmName] = said("The names of its arms.", ["control", "short"], min_length=2, max_length=MOST_ARMS)
    ledger: str = said("A ledger of the store, which is charged.", "people", min_length=1, max_length=LONGEST_NAME)
    epsilon: float = said("Of a person and calendar month.", 1.0, gt=0)
    delta: float = said("Of a person and calendar month.", default=1e-6, ge=0, lt=1)
    default: str = said("The arm that others are measured against (empty: the first).", default="")
    people_per_day: float = said("Expected persons a day.", 20_000.0, default=10_000.0, gt=0)
    score: float = said("The expected score, as a share of the range of values.", default=0.1, gt=0, le=1)
    days: Literal[0, 1, 2, 3, 7] = said("Of a version (0: as long as the noise asks for).", default=0)
    hours: float = said("Of a version, in place of days.", default=0.0, ge=0)
    window: float | None = said("Hours after serving in which replies count.", 24.0, default=None, ge=0)
    versions: int = said("How many may begin in a month (0: as many as fit).", default=0, ge=0)
    low: float = said("The value of no reply.", default=0.0)
    high: float = said("The largest value.", default=1.0)
    adds: bool = said("Whether the values of a person add up, to at most high.", default=False)
    min_share: float | None = said("The least share of every arm.", 0.01, default=None, ge=0, le=0.5)
    goal: Literal["compare", "optimise"] = said("Whether the default arm is held.", default="compare")
    changing: bool = said("Whether arms become better or worse over time.", default=False)
    identified: bool = said("Whether replies name persons.", default=True)
    shares: list[float] | None = said(
        "Of the first versions, one for each arm (null: equal ones).", [0.5, 0.5], default=None
    )


class Stop(Strict):
    """How an experiment stops."""

    end: bool = said("For good; otherwise it is frozen, and can be started again.", default=False)
    promote: ArmName | None = said("Which arm everybody gets at the end.", "short", default=None)


class Kill(Strict):
    """Which arm is taken away at once."""

    arm: ArmName = said("The arm.", "video")


class ArmChange(Strict):
    """Which arms the next version serves."""

    add: list[ArmName] = said("New arms.", default=[], max_length=MOST_ARMS)
    remove: list[ArmName] = said("Arms that leave.", default=[], max_length=MOST_ARMS)
    min_share: float | None = said("The least share of every arm.", 0.01, default=None, ge=0, le=0.5)


class Sent(BaseModel):
    """A batch of replies."""

    model_config = ConfigDict(extra="forbid")

    replies: list[Any] = said(
        "Rows [salt, pid, value]; each is checked by itself.",
        [["0f1e2d3c4b5a69788796a5b4c3d2e1f0", "49fbe7eafdfc5af770082a244f9b0c41", 1]],
        max_length=MOST_ROWS,
        json_schema_extra={"items": {"type": "array", "description": "[salt, pid, value]"}},
    )
    exposures: dict[str, list[int]] = said(
        "Persons that were counted by arm, by salt: public counts for the sample-ratio check.", default={}
    )

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Sent:
        """Read a batch so that a text which is no Unicode, or a number too long for int, spoils its own row only."""
        try:
            return cls.model_validate(json.loads(json_data, parse_int=float))
        except (ValueError, RecursionError) as error:
            if isinstance(error, ValidationError):
                raise
            return super().model_validate_json(json_data, **options)


class Taken(BaseModel):
    """What became of a batch; it says nothing about rows that were there before."""

    closed: list[int] = said("Places of rows whose version is closed or not known.", [])
    malformed: list[int] = said("Places of rows that are not [salt, pid, value].", [])


class Person(Strict):
    """Whose data are erased."""

    person: str = said("The pid, as SDKs compute it.", "49fbe7eafdfc5af770082a244f9b0c41", pattern=PID)


class Erased(BaseModel):
    """What erasure means."""

    open_versions: Literal["erased"] = said("What was held of open versions.", "erased")
    released: Literal["bounded by the contract"] = said("What was released before.", "bounded by the contract")


class NewLedger(Strict):
    """A budget for the same people."""

    name: str = said("Its name.", "people", min_length=1, max_length=LONGEST_NAME)
    epsilon: float | None = said("The most that may be spent (null: no limit).", 1.0, default=None, gt=0)
    delta: float = said("The delta at which spending is stated.", 1e-6, default=1e-6, ge=0, lt=1)
    renews: Literal["daily", "weekly", "monthly", "yearly"] | None = said(
        "When the budget is there again; null: never.", "monthly", default="monthly"
    )


class Brief(BaseModel):
    """An experiment at a glance."""

    name: str = said("Its name.", "homepage")
    state: Literal["draft", "running", "frozen", "ended"] = said("Where it is in its life.", "running")
    incarnation: int = said("Grows when the store is restored from a copy.", 1)
    ledger: str = said("The ledger that is charged.", "people")
    arms: list[str] = said("The arms that the next version may serve.", ["control", "short"])
    version: int | None = said("The version that is served.", 17)
    counting: bool = said("Whether its replies count.", True)


class Listed(BaseModel):
    """All experiments."""

    experiments: list[Brief] = said("By name.")


class VersionShown(BaseModel):
    """What is public of a version."""

    version: int = said("Its number.", 17)
    salt: str = said("Its nonce.", "0f1e2d3c4b5a69788796a5b4c3d2e1f0")
    state: Literal["open", "released", "void", "not counted"] = said(
        "Whether it is open, released, void or does not count.", "released"
    )
    counting: bool = said("Whether replies count.", True)
    serve_from: str = said("When it begins, in UTC.", "2026-11-17T00:00:00Z")
    close_at: str = said("When replies stop to count.", "2026-11-23T23:59:00Z")
    shares: dict[str, float] = said("The share of each arm.", {"control": 0.5, "short": 0.5})


class Act(BaseModel):
    """Who did what."""

    when: str = said("When, in UTC.", "2026-11-17T00:00:00Z")
    who: str = said("Whose token it was; empty: the program itself.", "ops")
    act: str = said("What was done.", "started")


class Shown(Brief):
    """An experiment."""

    design: NewExperiment = said("What was asked for.")
    plan: dict[str, Any] = said("What was known before anything was charged.", {"versions_a_month": 5, "advice": ""})
    contract: str = said("The contract, for people.", "What is protected. ...")
    versions: list[VersionShown] = said("All versions, oldest first.")
    acts: list[Act] = said("All acts, oldest first.")


class Kills(BaseModel):
    """The arms that nobody may get."""

    format: Literal["tacit-kills/1"] = said("Names this format.", "tacit-kills/1")
    experiment: str = said("The experiment.", "homepage")
    killed: list[str] = said("The arms.", ["video"])


class Interval(BaseModel):
    """An interval that holds at all looks."""

    low: float = said("The lower end.", 0.01)
    high: float = said("The upper end.", 0.02)


class Estimate(Interval):
    """An effect, with its interval."""

    estimate: float = said("The estimate, in the units of values.", 0.012)


class Rate(BaseModel):
    """Persons who replied, of those expected."""

    estimate: float = said("The estimate.", 0.12)
    deviation: float = said("The standard deviation of its noise.", 0.01)


class ArmResult(BaseModel):
    """What is known of an arm."""

    arm: str = said("Its name.", "short")
    default: bool = said("Whether others are measured against it.", False)
    active: bool = said("Whether the next version may serve it.", True)
    share: float = said("Of the version that is served.", 0.34)
    probability_best: float | None = said("The probability that it is the best arm; null if not known.", 0.8)
    effect: Estimate | None = said("Against the default arm; null if not known.")
    lift: Interval | None = said("The relative effect; null if not known.")
    verdict: Literal["default", "open", "better", "worse"] = said("What is certain by now.", "better")
    reply_rate: Rate | None = said("Persons who replied, with noise; null if not known.")
    persons: int | None = said("Persons that the operator counted; null if not counted.", 1200)


class Results(BaseModel):
    """What is known of all arms: post-processing of releases."""

    experiment: str = said("The experiment.", "homepage")
    state: str = said("Where it is in its life.", "running")
    confidence: float = said("With which all intervals hold together, at all looks.", 0.95)
    versions_released: int = said("How many versions they are computed from.", 4)
    arms: list[ArmResult] = said("The arms, in their places.")
    sample_ratio: Literal["not counted", "fits", "mismatch"] = said("Whether counted persons fit the shares.", "fits")
    loss_at_most: float | None = said("What the experiment has cost so far, at most; null if not known.", 12.5)
    note: str = said("What to know about estimates.", "The interval is what holds.")


class Contract(BaseModel):
    """The contract, for people and for machines."""

    text: str = said("For people who sign it.", "What is protected. ...")
    contract: dict[str, Any] = said("For `tacit contract verify`.", {"format": "tacit experiment contract 1"})


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

    @asked.get("/experiments/{name}/policy", response_model=dict[str, Any], responses=TAGGED)
    async def policy(name: Name, seen: Seen = None) -> Response:
        """Give the policy that is served, from which every decision is computed (sdk/SPECIFICATION.md describes it)."""
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
