"""The public records of experiments: designs, arms, versions, releases and acts, in the store's database.

All of it could be printed in a newspaper. A version is open (its replies are taken or
added up), released, void, or not counted at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import InvalidInput
from tacit_experiments.design import Design
from tacit_experiments.policy import Policy
from tacit_experiments.storage.engines import Transaction

DRAFT, RUNNING, FROZEN, ENDED = "draft", "running", "frozen", "ended"
OPEN, RELEASED, VOID, UNCOUNTED = "open", "released", "void", "not counted"
RESTORED, ERASED = "restored a copy", "erased a person"
_EXPERIMENT = "SELECT id, name, design, state, incarnation, ledger, made_at FROM tacit_experiments"
_VERSION = "SELECT salt, experiment, number, incarnation, period, counting, close_at, state, policy FROM tacit_versions"


@dataclass(frozen=True)
class Arm:
    """An arm."""

    place: int  # which does not change, and no other arm gets
    name: str  # what callers know it by
    removed: bool  # whether it leaves at the next version, or has left
    killed_at: float | None  # when it was killed (None: it was not)

    @property
    def active(self) -> bool:
        """Whether the next version may serve it."""
        return not self.removed and self.killed_at is None


@dataclass(frozen=True)
class Experiment:
    """An experiment as it stands."""

    number: int  # in the store
    name: str  # its name
    design: Design  # what was asked for
    state: str  # "draft", "running", "frozen" or "ended"
    incarnation: int  # grows when the store is restored from a copy
    ledger: int  # the number of its ledger
    made_at: float  # when it was made
    arms: tuple[Arm, ...]  # all arms that there ever were

    def place(self, arm: object) -> int:
        """Find an arm by its name."""
        for known in self.arms:
            if known.name == arm:
                return known.place
        raise InvalidInput(f"The experiment {self.name!r} has no such arm: {', '.join(a.name for a in self.arms)}.")

    @property
    def default(self) -> int:
        """The place of the default arm."""
        return self.place(self.design.default)


@dataclass(frozen=True)
class Version:
    """A version as it stands."""

    salt: str  # its nonce
    experiment: int  # the number of its experiment
    number: int  # counted from 1
    incarnation: int  # of the experiment when it was opened
    period: str  # the calendar month in which it began
    counting: bool  # whether its replies count
    close_at: float  # when they stop to
    state: str  # "open", "released", "void" or "not counted"
    policy: Policy  # what is served


@dataclass(frozen=True)
class Release:
    """What was released of a version."""

    salt: str  # of the version
    content: dict[str, Any]  # the sums with their noise, and which noise it was
    digest: str  # of the content, which the witness knows
    head: str  # the hash of this digest and the head before: a chain


def experiment(transaction: Transaction, name: str, *, lock: bool = False) -> Experiment:
    """Find an experiment, and keep others from changing it if it is to be locked."""
    read = transaction.locked if lock else transaction.row
    found = (
        read(f"{_EXPERIMENT} WHERE name = :name", name=name) if isinstance(name, str) and name.isprintable() else None
    )
    if found is None:
        raise InvalidInput("There is no experiment of this name.")
    return _experiment(transaction, found)


def experiments(transaction: Transaction) -> list[Experiment]:
    """Find all experiments."""
    return [_experiment(transaction, row) for row in transaction.rows(f"{_EXPERIMENT} ORDER BY name")]


def _experiment(transaction: Transaction, row: Any) -> Experiment:
    number, name, design, state, incarnation, ledger, made_at = row
    arms = transaction.rows(
        "SELECT place, name, removed, killed_at FROM tacit_experiment_arms WHERE experiment = :number ORDER BY place",
        number=number,
    )
    known = tuple(Arm(place, arm, bool(removed), killed_at) for place, arm, removed, killed_at in arms)
    return Experiment(number, name, Design.from_dict(json.loads(design)), state, incarnation, ledger, made_at, known)


def make(transaction: Transaction, design: Design, ledger: int, now: float, incarnation: int) -> Experiment:
    """Write a draft."""
    number = int(transaction.row("SELECT coalesce(max(id), 0) + 1 FROM tacit_experiments")[0])
    transaction.run(
        "INSERT INTO tacit_experiments VALUES (:id, :name, :design, :state, :incarnation, :ledger, :now)",
        id=number,
        incarnation=incarnation,
        name=design.name,
        design=json.dumps(design.to_dict()),
        state=DRAFT,
        ledger=ledger,
        now=now,
    )
    add_arms(transaction, number, enumerate(design.arms))
    return experiment(transaction, design.name)


def add_arms(transaction: Transaction, number: int, arms: Iterable[tuple[int, str]]) -> None:
    """Write arms at their places."""
    rows = [{"experiment": number, "place": place, "name": name} for place, name in arms]
    transaction.run_all(
        "INSERT INTO tacit_experiment_arms (experiment, place, name) VALUES (:experiment, :place, :name)", rows
    )


def change(transaction: Transaction, found: Experiment, **changed: Any) -> Experiment:
    """Change the state, the incarnation or the design of an experiment."""
    new = replace(found, **changed)
    transaction.run(
        "UPDATE tacit_experiments SET state = :state, incarnation = :incarnation, design = :design WHERE id = :number",
        state=new.state,
        incarnation=new.incarnation,
        design=json.dumps(new.design.to_dict()),
        number=new.number,
    )
    return new


def versions(transaction: Transaction, number: int) -> list[Version]:
    """Find all versions of an experiment, oldest first."""
    rows = transaction.rows(f"{_VERSION} WHERE experiment = :number ORDER BY number", number=number)
    return [_version(row) for row in rows]


def version(transaction: Transaction, salt: str, *, lock: bool = False) -> Version | None:
    """Find a version by its salt."""
    read = transaction.locked if lock else transaction.row
    found = read(f"{_VERSION} WHERE salt = :salt", salt=salt)
    return None if found is None else _version(found)


def newest(transaction: Transaction, number: int) -> Version | None:
    """Find the version of an experiment that is served."""
    found = transaction.row(f"{_VERSION} WHERE experiment = :number ORDER BY number DESC LIMIT 1", number=number)
    return None if found is None else _version(found)


def unreleased(transaction: Transaction) -> list[Version]:
    """Find all versions that count and were not released yet."""
    rows = transaction.rows(f"{_VERSION} WHERE state = '{OPEN}' AND counting = 1 ORDER BY close_at, salt")
    return [_version(row) for row in rows]


def open_salts(transaction: Transaction) -> set[str]:
    """Find the salts of all versions whose replies may count."""
    return {
        str(salt)
        for (salt,) in transaction.rows(f"SELECT salt FROM tacit_versions WHERE state = '{OPEN}' AND counting = 1")
    }


def digests(transaction: Transaction) -> dict[str, str | None]:
    """Find the digest of what was released of each version that counts, by salt (None: nothing)."""
    rows = transaction.rows(
        """SELECT v.salt, r.digest FROM tacit_versions v LEFT JOIN tacit_releases r ON r.salt = v.salt
            WHERE v.counting = 1"""
    )
    return {str(salt): None if own is None else str(own) for salt, own in rows}


def _version(row: Any) -> Version:
    salt, owner, number, incarnation, period, counting, close_at, state, policy = row
    read = Policy.read(json.loads(policy))
    return Version(salt, owner, number, incarnation, period, bool(counting), close_at, state, read)


def add_version(transaction: Transaction, number: int, period: str, policy: Policy) -> None:
    """Write a version."""
    transaction.run(
        """INSERT INTO tacit_versions
            VALUES (:salt, :experiment, :number, :incarnation, :period, :counting, :close_at, :state, :policy)""",
        salt=policy.salt,
        experiment=number,
        number=policy.version,
        incarnation=policy.incarnation,
        period=period,
        counting=int(policy.counting),
        close_at=policy.close_at,
        state=OPEN if policy.counting else UNCOUNTED,
        policy=json.dumps(policy.document()),
    )


def set_state(transaction: Transaction, salt: str, state: str) -> None:
    """Say that a version is released or void."""
    transaction.run("UPDATE tacit_versions SET state = :state WHERE salt = :salt", salt=salt, state=state)


def releases(transaction: Transaction, number: int) -> list[Release]:
    """Find the chain of releases of an experiment."""
    rows = transaction.rows(
        "SELECT salt, content, digest, head FROM tacit_releases WHERE experiment = :number ORDER BY number",
        number=number,
    )
    return [Release(str(salt), json.loads(content), str(digest), str(head)) for salt, content, digest, head in rows]


def add_release(transaction: Transaction, number: int, release: Release) -> None:
    """Write a release at the end of its chain."""
    transaction.run(
        """INSERT INTO tacit_releases SELECT :salt, :experiment, count(*), :content, :digest, :head
            FROM tacit_releases WHERE experiment = :experiment""",
        salt=release.salt,
        experiment=number,
        content=json.dumps(release.content),
        digest=release.digest,
        head=release.head,
    )


def act(transaction: Transaction, number: int | None, now: float, who: str, what: str) -> None:
    """Write down who did what."""
    transaction.alone()
    transaction.run(
        "INSERT INTO tacit_acts SELECT coalesce(max(number), 0) + 1, :experiment, :now, :who, :what FROM tacit_acts",
        experiment=number,
        now=now,
        who=who,
        what=what,
    )


def acts(transaction: Transaction, number: int) -> list[tuple[float, str, str]]:
    """Find the acts on an experiment, and on all of them, oldest first; that somebody was erased is not told."""
    rows = transaction.rows(
        """SELECT acted_at, who, act FROM tacit_acts WHERE (experiment = :number OR experiment IS NULL)
            AND act <> :erased ORDER BY number""",
        number=number,
        erased=ERASED,
    )
    return [(float(when), str(who), str(what)) for when, who, what in rows]


def restores(transaction: Transaction) -> list[float]:
    """Find when copies were restored."""
    rows = transaction.rows(
        "SELECT acted_at FROM tacit_acts WHERE act LIKE :words AND experiment IS NULL", words=f"{RESTORED}%"
    )
    return [float(when) for (when,) in rows]


def current(transaction: Transaction) -> list[str]:
    """Find the salts of all releases since each experiment was last restored."""
    rows = transaction.rows(
        """SELECT v.salt FROM tacit_releases r JOIN tacit_versions v ON v.salt = r.salt
            JOIN tacit_experiments e ON e.id = v.experiment WHERE v.incarnation = e.incarnation"""
    )
    return [str(salt) for (salt,) in rows]


def exposures(transaction: Transaction, number: int) -> dict[str, dict[int, int]]:
    """Find how many persons were counted by version and arm."""
    found: dict[str, dict[int, int]] = {}
    for salt, place, persons in transaction.rows(
        """SELECT e.salt, e.place, e.persons FROM tacit_exposures e JOIN tacit_versions v ON v.salt = e.salt
            WHERE v.experiment = :number""",
        number=number,
    ):
        found.setdefault(str(salt), {})[int(place)] = int(persons)
    return found


def expose(transaction: Transaction, salt: str, persons: Iterable[int]) -> None:
    """Add persons that the operator counted by arm."""
    rows = [{"salt": salt, "place": place, "persons": count} for place, count in enumerate(persons) if count]
    transaction.run_all(
        """INSERT INTO tacit_exposures AS kept VALUES (:salt, :place, :persons)
            ON CONFLICT (salt, place) DO UPDATE SET persons = kept.persons + excluded.persons""",
        rows,
    )
