"""Experiments: their life from draft to end, the versions that are served, and the replies that are taken.

A draft is free. Starting charges the ledger for the calendar month and opens a version; every month in which a version
begins is charged once, for all the versions that may begin in it. What cannot be afforded freezes the experiment: the
last shares are served on, and nothing counts. Replies count if and only if there is a charge. Nothing that is opened,
closed or served depends on replies but through releases, and all times are public.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.accounting.guarantee import Guarantee
from tacit.accounting.ledger import now as calendar
from tacit.errors import Conflict, InvalidInput, PrivacyError, StoreError
from tacit.noise.randomness import secret_bytes
from tacit.validation import FloatArray
from tacit_experiments import records
from tacit_experiments.adapt import closing, results
from tacit_experiments.contract import LATTICE, Promise
from tacit_experiments.design import Design, check_arms, check_min_share
from tacit_experiments.policy import FOREVER, Policy, assign, is_pid, iso, period_of
from tacit_experiments.records import DRAFT, ENDED, FROZEN, RELEASED, RUNNING, VOID, Experiment, Version
from tacit_experiments.replies import Replies, Reply, read_key
from tacit_experiments.storage.engines import Transaction
from tacit_experiments.storage.ledgers import StoredLedger
from tacit_experiments.store.rows import find as find_learner
from tacit_experiments.store.store import Store
from tacit_experiments.versions import FLOOR, HOLD
from tacit_experiments.versions import policy as cumulative
from tacit_experiments.witness import Witness

MOST_KNOWN = 4096  # versions whose policies are kept at hand
OVERDUE = 60.0  # seconds after which a version that is due should have been released
UNCLAIMED = 3600.0  # seconds after which a window that belongs to no version is deleted
MONTHLY = (None, "monthly")
OLDER = (
    "The witness knows releases that this store does not: an older copy was put back. Nothing is opened or closed; "
    "`tacit experiments restore` voids what was open, and charges again."
)
LOST = (
    "The witness does not know what this store released: it was lost, or is another one. Nothing is opened or closed "
    "until it is put back; `tacit experiments restore` goes on without it."
)
OTHER_KEY = (
    "The key is not the one with which this store's experiments were begun: put that one back. If it is lost, "
    "`tacit experiments restore --new-key` voids what was open, and charges again."
)

Figure = tuple[str, str, dict[str, str], float]


class Answer(NamedTuple):
    """What became of a batch of replies: both lists depend on public things and on the sender's own rows only."""

    closed: list[int]  # the places of rows whose version is closed or not known
    malformed: list[int]  # the places of rows that are not [salt, pid, value]


class Mark(NamedTuple):
    """What all that may be shown of an experiment is a function of: as long as it is the same, nothing changed."""

    ledger: str  # the name of the ledger that is charged
    state: str  # of the experiment
    versions: tuple[tuple[str, int], ...]  # how many there are, in each state
    acts: int  # how many there were
    persons: int  # how many were counted by the operator
    overdue: int  # how many versions should have been released and were not


class Experiments(AbstractContextManager["Experiments"]):
    """The experiments of a store.

    Args:
        store: where everything public is.
        replies: the private database: a file name or an address (default: a file beside that of the store).
        key: the file with the secret for hashes and noise (default: beside the store's file).
        witness: the file that remembers releases, best on another disk (default: beside the store's file).
        timeout: how many seconds to wait for another writer.
        clock: gives the time in seconds, for simulations (None: the database's clock).
        new_key: whether the key may be another one than the store's experiments were begun with, which is lost:
            only `restore` can be called then.

    >>> import tempfile
    >>> import tacit_experiments
    >>> from tacit_experiments import Design
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = tacit_experiments.Store(f"{folder.name}/decisions.db")
    >>> ledger = store.ledger("people", epsilon=1.0, delta=1e-6, renews="monthly")
    >>> experiments = Experiments(store)
    >>> made = experiments.make(Design("homepage", ("control", "short"), epsilon=1.0, ledger="people"))
    >>> experiments.start("homepage")
    >>> experiments.policy("homepage")["counting"]
    True
    >>> experiments.close()
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        store: Store,
        *,
        replies: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        witness: str | os.PathLike[str] | None = None,
        timeout: float = 30.0,
        clock: Callable[[], float] | None = None,
        new_key: bool = False,
    ) -> None:
        self._store, self._database = store, store.database
        file = self._database.file
        places = {"replies": replies, "key": key, "witness": witness}
        missing = [name for name, place in places.items() if place is None]
        if file is None and missing:
            raise InvalidInput(
                f"Experiments of a store in PostgreSQL need {' and '.join(missing)}: an address and two file names."
            )
        beside = {name: place or f"{file}.{name}" for name, place in places.items()}
        if file is not None and "://" not in str(beside["replies"]) and Path(beside["replies"]).resolve() == file:
            raise InvalidInput("Replies need a database of their own: the store's is kept in backups.")
        self._key = read_key(Path(beside["key"]))
        self._replies = Replies(beside["replies"], self._key, timeout, clock)
        self._witness = Witness(Path(beside["witness"]))
        self._known: dict[str, Known] = {}
        self._names: set[str] = set()
        try:
            with self._database.writing() as transaction:
                transaction.alone()
                kept = transaction.row("SELECT experiments_key FROM tacit_store")[0]
                if kept is None:
                    transaction.run("UPDATE tacit_store SET experiments_key = :mark", mark=self._key.fingerprint)
                elif kept != self._key.fingerprint and not new_key:
                    raise InvalidInput(OTHER_KEY)
        except BaseException:
            self.close()
            raise

    def has(self, name: str) -> bool:
        """Tell whether there is an experiment of this name; none is ever deleted."""
        if name in self._names or not name.isprintable():  # PostgreSQL cannot even be asked for some of them
            return name in self._names
        with self._database.reading() as transaction:
            if transaction.row("SELECT 1 FROM tacit_experiments WHERE name = :name", name=name) is not None:
                self._names.add(name)
        return name in self._names

    # Life

    def make(self, design: Design, who: str = "") -> dict[str, Any]:
        """Make a draft, which states the contract, the noise and a month's detectable effect; nothing is charged."""
        if design.ledger not in self._store.ledgers:
            raise InvalidInput("There is no ledger of this name in the store: make it first.")
        ledger = self._store.ledger(design.ledger)
        if ledger.budget.renews not in MONTHLY:
            raise InvalidInput("The ledger of an experiment must renew monthly, or never.")
        Promise.of(design).guarantee  # noqa: B018 - raises if no noise keeps it
        with self._database.writing() as transaction:
            transaction.alone()
            taken = transaction.row("SELECT 1 FROM tacit_experiments WHERE name = :name", name=design.name)
            if taken is not None:
                raise Conflict(f"There is an experiment {design.name!r} already.")
            now = self._now()
            lost = [spent.incarnation for spent in self._witness.spent(design.name)]  # by copies that knew this name
            owner = records.make(transaction, design, ledger.number, now, max(lost, default=0) + 1)
            records.act(transaction, owner.number, now, who, "made")
        return self.describe(design.name)

    def import_arms(self, learner: str, design: Design, who: str = "") -> dict[str, Any]:
        """Make a draft whose first shares are those with which a learner of arms of this store decided last.

        Only the learner's decisions are read, which are public. Arms keep their order. The arms have the shares of the
        later half of the rounds, and at least the shares that the design holds.
        """
        exported, k = self._store.export(learner), len(design.arms)
        with self._database.reading() as transaction:
            row = find_learner(transaction, learner)
        problem = row.request["problem"] if row is not None else None
        if problem is None or problem["kind"] != "arms" or problem["n"] != k:
            raise InvalidInput(f"A draft of {k} arms is made of a learner of as many arms: {learner!r} is another one.")
        decided = [decision["action"] for decision in exported["decisions"]]
        if decided:
            played = np.bincount(decided[len(decided) // 2 :], minlength=k)
            least = np.full(k, FLOOR / k if design.min_share is None else design.min_share)
            default = design.arms.index(design.default)
            if design.goal == "compare":
                least[default] = max(least[default], min(HOLD, 1 / k))
            shares = least + max(0.0, 1 - float(least.sum())) * played / played.sum()
            design = replace(design, shares=tuple((shares / shares.sum()).tolist()))
        return self.make(design, who)

    def start(self, name: str, who: str = "") -> None:
        """Start a draft, or go on with an experiment that is frozen: the month is charged unless it was before."""
        self.check_witness()
        now, ledger = self._time(), self._ledger(name)
        self._owe(name, period_of(now))
        with self._database.writing() as transaction:
            owner = records.experiment(transaction, name, lock=True)
            if owner.state not in (DRAFT, FROZEN):
                raise Conflict(f"The experiment {name!r} is {owner.state}: a draft or a frozen one can be started.")
            charged = self._charged(transaction, ledger, owner, period_of(now))
            owner = records.change(transaction, owner, state=RUNNING)
            self._open(transaction, owner, now, counting=not self._full(transaction, owner, now))
            records.act(transaction, owner.number, now, who, "started")
        _mark(charged)

    def stop(self, name: str, who: str = "", *, end: bool = False, promote: str | None = None) -> None:
        """Freeze an experiment: its shares are served on, and nothing new counts. Or end it for good.

        Everybody gets the arm `promote` when it has ended (None: the default arm).
        """
        now = self._now()  # whatever the clock did: what stops can always be stopped
        with self._database.writing() as transaction:
            owner = records.experiment(transaction, name, lock=True)
            if owner.state == ENDED or (owner.state != RUNNING and not end):
                raise Conflict(f"The experiment {name!r} is {owner.state}: one that runs can be stopped.")
            place = owner.default if promote is None else owner.place(promote)
            if promote is not None and not end:
                raise InvalidInput("An arm is promoted when the experiment ends.")
            if not owner.arms[place].active:
                raise InvalidInput("An arm that was killed or removed cannot be promoted.")
            shares = np.array([float(arm.place == place) for arm in owner.arms]) if end else None
            owner = records.change(transaction, owner, state=ENDED if end else FROZEN)
            self._open(transaction, owner, now, counting=False, shares=shares)
            words = f"ended, {owner.arms[place].name} for everybody" if end else "stopped"
            records.act(transaction, owner.number, now, who, words)

    def kill(self, name: str, arm: str, who: str = "") -> None:
        """Take an arm away at once, at no cost in privacy: SDKs give its people the default arm within seconds."""
        now = self._now()
        with self._database.writing() as transaction:
            owner = records.experiment(transaction, name, lock=True)
            last = records.newest(transaction, owner.number)
            place = owner.place(arm)
            if place == owner.default:
                raise InvalidInput("The default arm cannot be killed: everybody without another arm gets it.")
            if owner.arms[place].killed_at is None:
                transaction.run(
                    "UPDATE tacit_experiment_arms SET killed_at = :now WHERE experiment = :number AND place = :place",
                    # not before the version that is served, also where the clock went back
                    now=now if last is None else max(now, last.policy.serve_from),
                    number=owner.number,
                    place=place,
                )
                records.act(transaction, owner.number, now, who, f"killed {arm}")

    def change_arms(
        self,
        name: str,
        who: str = "",
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        min_share: float | None = None,
    ) -> None:
        """Change which arms the next version serves, and the least share of each from now on (None: as before).

        A name that was ever used is not new.
        """
        now = self._now()
        with self._database.writing() as transaction:
            owner = records.experiment(transaction, name, lock=True)
            if owner.state == ENDED:
                raise Conflict(f"The experiment {name!r} has ended.")
            places = [owner.place(arm) for arm in remove]
            if owner.default in places:
                raise InvalidInput("The default arm cannot be removed: everybody without another arm gets it.")
            if {arm.name for arm in owner.arms} & set(add):
                raise InvalidInput("A new arm needs a name that no arm of the experiment ever had.")
            left = [arm.name for arm in owner.arms if arm.active and arm.place not in places]
            check_arms((*left, *add))
            check_min_share(min_share, len(left) + len(add))
            check_arms(tuple(dict.fromkeys((*(arm.name for arm in owner.arms), *add))))
            records.add_arms(transaction, owner.number, enumerate(add, start=len(owner.arms)))
            transaction.run_all(
                "UPDATE tacit_experiment_arms SET removed = 1 WHERE experiment = :number AND place = :place",
                [{"number": owner.number, "place": place} for place in places],
            )
            if min_share is not None:
                records.change(transaction, owner, design=replace(owner.design, min_share=min_share))
            words = [f"{verb} {', '.join(arms)}" for verb, arms in (("added", add), ("removed", remove)) if arms]
            words += [] if min_share is None else [f"set the least share to {min_share:g}"]
            records.act(transaction, owner.number, now, who, "; ".join(words) or "changed nothing")

    def restore(self, who: str = "") -> int:
        """Go on with a restored copy: what was open is void, every experiment is frozen until it is started again.

        What the witness knows to be released this month, and the copy's ledgers do not, is charged, and starting
        charges the month once more. A new key becomes the store's in the same transaction: a person whose replies were
        kept under two hashes would count twice. Give how many versions became void.
        """
        now = self._now()
        with self._database.reading() as transaction:
            names = [owner.name for owner in records.experiments(transaction)]
        for name in names:
            self._owe(name, period_of(now))
        with self._database.writing() as transaction:
            transaction.alone()
            transaction.run("UPDATE tacit_store SET experiments_key = :mark", mark=self._key.fingerprint)
            lost = records.unreleased(transaction)
            for version in lost:
                records.set_state(transaction, version.salt, VOID)
            for found in records.experiments(transaction):
                owner = records.experiment(transaction, found.name, lock=True)
                state = FROZEN if owner.state == RUNNING else owner.state
                newest = max([owner.incarnation, *(s.incarnation for s in self._witness.spent(found.name))])
                owner = records.change(transaction, owner, state=state, incarnation=newest + 1)
                if state == FROZEN:
                    self._open(transaction, owner, now, counting=False)
            records.act(transaction, None, now, who, f"{records.RESTORED}; {len(lost)} open versions are void")
        self._witness.restored(iso(now))
        for version in lost:
            self._replies.purge(version.salt)
        return len(lost)

    # Time

    def confirm(self, who: str = "") -> int:
        """Go on by a clock that is right again: versions that began in its future are void, or are over.

        Their rows are deleted, and running experiments open a version now. What was charged stays charged, and the
        ledgers go on by the same clock (`Ledger.confirm`). Give how many versions became void.
        """
        self.check_witness()
        now = round(self._replies.confirm(), 3)
        with self._database.reading() as transaction:
            names = {owner.design.ledger for owner in records.experiments(transaction)}
        for ledger in map(self._store.ledger, sorted(names)):
            with self._database.reading() as transaction:
                running = ledger.running(transaction)
            if running != ledger.budget.period_at(calendar()):
                ledger.confirm()
        with self._database.writing() as transaction:
            transaction.alone()
            lost = [version for version in records.unreleased(transaction) if version.policy.serve_from > now]
            for version in lost:
                records.set_state(transaction, version.salt, VOID)
            for owner in records.experiments(transaction):
                last = records.newest(transaction, owner.number)
                if last is not None and last.policy.serve_from > now:
                    # Nothing counts until the next tick, which opens a version that is paid for.
                    until = now + 1.0 if owner.state == RUNNING else None
                    self._open(transaction, owner, now, counting=False, until=until, begin=now)
            records.act(
                transaction, None, now, who, f"confirmed the clock; {len(lost)} versions of its future are void"
            )
        for version in lost:
            self._replies.purge(version.salt)
        return len(lost)

    def tick(self) -> dict[str, int]:
        """Do what is due: close versions, open the next ones, delete what may not be kept. Any process may do it.

        What fails for one version or experiment does not keep the others waiting; the first failure is raised at the
        end. Give how many versions were released, void and opened.
        """
        done = {RELEASED: 0, VOID: 0, "opened": 0}
        failures: list[Exception] = []
        with self._database.reading() as transaction:
            unused = transaction.row("SELECT 1 FROM tacit_versions") is None
        try:
            self.check_witness()
            now = self._now() if unused else self._time()
        except StoreError:  # nothing may be released, and nothing is kept for longer than it may be
            self._replies.purge_until(self._replies.earlier() - closing.PATIENCE)
            raise
        if unused:  # there may be windows all the same: of a store that was lost
            self._sweep(now)
            return done
        with self._database.reading() as transaction:
            owners = {owner.number: owner for owner in records.experiments(transaction)}
            due = [version for version in records.unreleased(transaction) if version.close_at <= now]
        for version in due:
            try:
                done[self._close(owners[version.experiment], version, now)] += 1
            except Exception as error:
                failures.append(error)
        for owner in owners.values():
            try:
                done["opened"] += self._turn(owner.name)
            except Exception as error:
                failures.append(error)
        self._sweep(now)
        if failures:
            raise failures[0]
        return done

    def _close(self, owner: Experiment, version: Version, now: float) -> str:
        try:
            return closing.close(self._database, self._replies, self._witness, self._key, owner, version)
        except StoreError:
            if now < version.close_at + closing.PATIENCE:
                raise
            return closing.settle(self._database, self._replies, version, None)

    def _turn(self, name: str) -> bool:
        """Open the next version of a running experiment if the last one was served long enough."""
        charged, ledger = None, self._ledger(name)
        with self._database.reading() as transaction:
            owner = records.experiment(transaction, name)
            last, now = records.newest(transaction, owner.number), self._now()
        if owner.state == RUNNING and last is not None and now >= last.policy.serve_until:
            self._owe(name, period_of(now))  # by its clock, a copy that was lost may have been in this month
        with self._database.writing() as transaction:
            owner = records.experiment(transaction, name, lock=True)
            last = records.newest(transaction, owner.number)
            now = self._now()
            if owner.state != RUNNING or last is None or now < last.policy.serve_until:
                return False
            design, begun = owner.design, last.policy.serve_from
            if design.pause and last.counting and now < begun + 3600 * design.spacing:
                self._open(transaction, owner, now, counting=False, until=begun + 3600 * design.spacing)
                return True
            try:
                charged = self._charged(transaction, ledger, owner, period_of(now))
            except PrivacyError as error:
                owner = records.change(transaction, owner, state=FROZEN)
                records.act(transaction, owner.number, now, "", f"froze: {error}")
                self._open(transaction, owner, now, counting=False)
            else:
                self._open(transaction, owner, now, counting=not self._full(transaction, owner, now))
        _mark(charged)
        return True

    def _sweep(self, now: float) -> None:
        """Delete the rows of versions that are released, void or unknown, whoever was to delete them."""
        windows = self._replies.windows()
        with self._database.reading() as transaction:
            for salt, made in windows.items():
                version = records.version(transaction, salt)
                if version.state != records.OPEN if version is not None else now - made > UNCLAIMED:
                    self._replies.purge(salt)

    def check_witness(self) -> None:
        """Refuse a store that is older than its releases, and a witness that does not know them."""
        with self._database.reading() as transaction:
            self._check_key(transaction)
            digests, restores = records.digests(transaction), records.restores(transaction)
            current = records.current(transaction)
        known, restored = self._witness.digests(), self._witness.last_restore()
        if restored is not None and restored not in map(iso, restores):
            raise StoreError(OLDER)
        if not known.keys() >= set(current):
            raise StoreError(LOST)
        if any(digests.get(salt, "") not in (None, own) for salt, own in known.items()):
            raise StoreError(OLDER)

    def _check_key(self, transaction: Transaction) -> None:
        """Refuse a key that is no longer the store's: it was lost, and this process was not told."""
        if transaction.row("SELECT experiments_key FROM tacit_store")[0] != self._key.fingerprint:
            raise StoreError(OTHER_KEY)

    def _open(
        self,
        transaction: Transaction,
        owner: Experiment,
        now: float,
        *,
        counting: bool,
        shares: FloatArray | None = None,
        until: float | None = None,
        begin: float | None = None,
    ) -> None:
        """Open a version now; where it counts, its window is there before anybody knows its salt."""
        design, versions = owner.design, records.versions(transaction, owner.number)
        chain = records.releases(transaction, owner.number)
        last = versions[-1].policy if versions else None
        if shares is None and versions and not counting:
            shares = results.stay(owner, versions)
        elif shares is None:
            shares = results.shares(owner, versions, chain, now, records.exposures(transaction, owner.number))
        if begin is None:
            begin = now if last is None else max(now, last.serve_from)
        if counting and period_of(begin) != period_of(now):
            raise StoreError("The version that is served began in a later month by the clock: nothing was opened.")
        end = until or (begin + design.serving if owner.state == RUNNING else FOREVER)
        used = {version.salt for version in results.public_set(versions, begin)}
        heads = [release.head for release in chain if release.salt in used]
        policy = Policy(
            experiment=owner.name,
            incarnation=owner.incarnation,
            version=len(versions) + 1,
            counting=counting,
            salt=secret_bytes(16).hex(),
            arms=tuple(arm.name for arm in owner.arms),
            upto=tuple(int(end) for end in cumulative(shares)),
            default=design.default,
            serve_from=begin,
            serve_until=end,
            close_at=end if end == FOREVER else end + design.closing,
            low=design.low,
            high=design.high,
            contract=Promise.of(design).digest(owner.name, design.ledger),
            head=heads[-1] if heads else "",
            previous="" if last is None else last.document()["digest"],
        )
        if counting:
            self._check_key(transaction)
            self._replies.open(policy.salt, policy.close_at)
        records.add_version(transaction, owner.number, period_of(begin), policy)

    def _full(self, transaction: Transaction, owner: Experiment, now: float) -> bool:
        """Tell whether all versions of this month that are paid for have begun."""
        begun = transaction.row(
            """SELECT count(*) FROM tacit_versions WHERE experiment = :number AND counting = 1
                AND incarnation = :incarnation AND period = :period""",
            number=owner.number,
            incarnation=owner.incarnation,
            period=period_of(now),
        )
        return int(begun[0]) >= owner.design.versions

    def _ledger(self, name: str) -> StoredLedger:
        """Find the ledger of an experiment; it never changes."""
        with self._database.reading() as transaction:
            ledger = records.experiment(transaction, name).design.ledger
        return self._store.ledger(ledger)

    @staticmethod
    def _charged(
        transaction: Transaction, ledger: StoredLedger, owner: Experiment, period: str
    ) -> tuple[StoredLedger, int]:
        """Charge a month, unless it was charged before; the ledger and its epoch to mark after the commit."""
        if ledger.budget.renews and ledger.budget.period_at(calendar()) != period:
            raise StoreError("The clocks of the service and of its database are in two months: nothing was opened.")
        epoch, charged = ledger.charge(transaction, *_charge(owner, owner.incarnation, period))
        if charged not in ("", period):
            raise StoreError("A month ended while it was charged: nothing was opened.")
        return ledger, epoch

    def _owe(self, name: str, period: str) -> None:
        """Charge what a lost copy released, which this one's ledger does not know, whether or not it can afford it."""
        for spent in sorted(self._witness.spent(name)):
            ledger = self._ledger(name)
            if ledger.budget.renews is None or spent.period == period:
                with self._database.writing() as transaction:
                    owner = records.experiment(transaction, name, lock=True)
                    charge = _charge(owner, spent.incarnation, spent.period)
                    epoch, _ = ledger.charge(transaction, *charge, owed=True)
                ledger.mark(epoch)

    # What SDKs ask for

    def policy(self, name: str) -> dict[str, Any]:
        """Give the policy that is served."""
        with self._database.reading() as transaction:
            owner = records.experiment(transaction, name)
            found = records.newest(transaction, owner.number)
        if found is None:
            raise InvalidInput(f"The experiment {name!r} was never started: it has no policy.")
        return found.policy.document()

    def kills(self, name: str) -> dict[str, Any]:
        """Give the arms that nobody may get any more: SDKs ask for it every two seconds."""
        with self._database.reading() as transaction:
            owner = records.experiment(transaction, name)
        killed = [arm.name for arm in owner.arms if arm.killed_at is not None]
        return {"format": "tacit-kills/1", "experiment": name, "killed": killed}

    def reply(self, name: str, rows: Sequence[Any]) -> Answer:
        """Take replies, each [salt, pid, value]; what is answered is durable.

        Each row is checked by itself, and no row changes what becomes of another person's. A person's largest value in
        a version counts, or the sum of all if the design says so.
        """
        closed, malformed = [], []
        taken: dict[str, tuple[bool, list[Reply]]] = {}
        places: dict[str, list[int]] = {}
        written = [
            isinstance(row, list | tuple) and len(row) == 3 and is_pid(row[0]) and is_pid(row[1]) for row in rows
        ]
        versions = self._versions({row[0] for row, well in zip(rows, written, strict=True) if well})
        for place, row in enumerate(rows):
            if not written[place]:
                malformed.append(place)
                continue
            salt, pid, value = row
            known = versions.get(salt)
            if known is None or known.name != name:
                closed.append(place)
                continue
            score = known.score(value)
            if score is None:
                malformed.append(place)
                continue
            reply = Reply(self._replies.person(salt, pid), assign(salt, known.upto, pid), score)
            taken.setdefault(salt, (known.adds, []))[1].append(reply)
            places.setdefault(salt, []).append(place)
        for salt in self._replies.add(taken):
            closed += places[salt]
        return Answer(sorted(closed), malformed)

    def expose(self, name: str, counts: dict[str, Sequence[int]]) -> None:
        """Add how many persons the operator counted by arm and version: public counts, for the sample-ratio check."""
        with self._database.writing() as transaction:
            owner = records.experiment(transaction, name)
            for salt, persons in sorted(counts.items()):
                version = records.version(transaction, salt) if is_pid(salt) else None
                if version is None or version.experiment != owner.number:
                    raise InvalidInput("Persons are counted for versions of this experiment.")
                whole = all(type(count) is int and 0 <= count < 2**40 for count in persons)
                if len(persons) != len(version.policy.arms) or not whole:
                    raise InvalidInput("Persons are counted by whole numbers, one for each arm of the policy.")
                records.expose(transaction, salt, persons)

    def _versions(self, salts: set[str]) -> dict[str, Known]:
        """Find what never changes of these versions; those that are not known yet are looked for every time.

        However many salts are invented, the database is asked once: which versions are open is a short list.
        """
        known = self._known
        if not salts <= known.keys():
            with self._database.reading() as transaction:
                self._check_key(transaction)  # of no other process: a person would stand under two hashes
                new = (records.open_salts(transaction) & salts) - known.keys()
                found = {salt: self._read(transaction, salt) for salt in new}
            known = known | found  # all of them for these rows, whatever is kept
            self._known = found if len(known) > MOST_KNOWN else known
        return known

    @staticmethod
    def _read(transaction: Transaction, salt: str) -> Known:
        version = records.version(transaction, salt)
        assert version is not None
        policy, owner = version.policy, records.experiment(transaction, version.policy.experiment)
        return Known(owner.name, policy.upto, policy.low, policy.high, owner.design.adds)

    # What may be shown

    def overview(self) -> list[dict[str, Any]]:
        """Give all experiments in brief."""
        with self._database.reading() as transaction:
            found = [(owner, records.newest(transaction, owner.number)) for owner in records.experiments(transaction)]
        return [_brief(owner, last) for owner, last in found]

    def marks(self) -> dict[str, Mark]:
        """Give for each experiment what tells whether anything public changed, at little cost."""
        found = {}
        with self._database.reading() as transaction:
            now = self._now()
            for owner in records.experiments(transaction):
                rows = transaction.rows(
                    """SELECT state, count(*) FROM tacit_versions WHERE experiment = :number
                        GROUP BY state ORDER BY state""",
                    number=owner.number,
                )
                counted = transaction.row(
                    f"""SELECT
                        (SELECT count(*) FROM tacit_acts WHERE experiment = :number OR experiment IS NULL),
                        (SELECT coalesce(sum(e.persons), 0) FROM tacit_exposures e
                            JOIN tacit_versions v ON v.salt = e.salt WHERE v.experiment = :number),
                        (SELECT count(*) FROM tacit_versions WHERE experiment = :number
                            AND state = '{records.OPEN}' AND close_at <= :late)""",
                    number=owner.number,
                    late=now - OVERDUE,
                )
                states = tuple((str(state), int(count)) for state, count in rows)
                found[owner.name] = Mark(owner.design.ledger, owner.state, states, *map(int, counted))
        return found

    def describe(self, name: str) -> dict[str, Any]:
        """Give what is public of an experiment: design, plan, contract, versions and acts."""
        with self._database.reading() as transaction:
            owner = records.experiment(transaction, name)
            versions = records.versions(transaction, owner.number)
            acts = records.acts(transaction, owner.number)
        return {
            **_brief(owner, versions[-1] if versions else None),
            "design": owner.design.to_dict(),
            "plan": results.plan(owner.design),
            "contract": Promise.of(owner.design).text(owner.design),
            "versions": [_shown(version) for version in versions],
            "acts": [{"when": iso(when), "who": who, "act": act} for when, who, act in acts],
        }

    def results(self, name: str) -> dict[str, Any]:
        """Give what is known of the arms: a function of releases and public counts."""
        with self._database.reading() as transaction:
            owner = records.experiment(transaction, name)
            versions = records.versions(transaction, owner.number)
            chain = records.releases(transaction, owner.number)
            persons = records.exposures(transaction, owner.number)
        return results.results(owner, versions, chain, persons)

    def releases(self, name: str) -> list[dict[str, Any]]:
        """Give the chain of releases."""
        with self._database.reading() as transaction:
            owner = records.experiment(transaction, name)
            chain = records.releases(transaction, owner.number)
        return [{**release.content, "digest": release.digest, "head": release.head} for release in chain]

    def contract(self, name: str) -> dict[str, Any]:
        """Give the contract: the text that people sign, and the JSON that `tacit contract verify` checks."""
        with self._database.reading() as transaction:
            owner = records.experiment(transaction, name)
        promise = Promise.of(owner.design)
        return {"text": promise.text(owner.design), "contract": promise.contract(owner.name, owner.design.ledger)}

    def figures(self) -> list[Figure]:
        """Give what monitors watch: name, help, labels and value of each figure; all of it is public or noisy."""
        with self._database.reading() as transaction:
            now = self._now()
            overdue = sum(version.close_at <= now for version in records.unreleased(transaction))
            words = "Versions whose window is over and that are not released."
            found: list[Figure] = [("tacit_overdue_versions", words, {}, overdue)]
            for owner in records.experiments(transaction):
                last, chain = records.newest(transaction, owner.number), records.releases(transaction, owner.number)
                named = {"experiment": owner.name}
                info = named | {"state": owner.state, "version": str(last.number if last else 0)}
                found.append(("tacit_experiment_info", "Experiments, their states and versions.", info, 1))
                if last is None:
                    continue
                for arm, share in zip(last.policy.arms, last.policy.shares, strict=True):
                    found.append(("tacit_share", "The share of each arm.", named | {"arm": arm}, share))
                if last.counting:
                    left = last.close_at - now
                    found.append(("tacit_version_closes_in_seconds", "Until replies stop to count.", named, left))
                if chain:
                    content = chain[-1].content
                    for arm, pair in zip(content["arms"], content["sums"], strict=True):
                        replied = sum(pair) / content["noise"]["units"]
                        words = "Persons who replied to the last version that was released, with its noise."
                        found.append(("tacit_released_replies", words, named | {"arm": arm}, replied))
        return found

    # What persons may ask for

    def erase(self, pid: str, who: str = "") -> int:
        """Delete what is held of a person, and keep nothing that comes for open versions; give how many there are."""
        with self._database.reading() as transaction:
            self._check_key(transaction)
        erased = self._replies.erase(pid)
        with self._database.writing() as transaction:
            records.act(transaction, None, self._now(), who, records.ERASED)
        return erased

    def held(self, pid: str) -> list[dict[str, Any]]:
        """Give what is held of a person, by version: nothing is left of versions that were closed."""
        found = []
        with self._database.reading() as transaction:
            self._check_key(transaction)
            for salt, (place, score) in self._replies.held(pid).items():
                version = records.version(transaction, salt)
                if version is not None:
                    policy = version.policy
                    value = policy.low + score * (policy.high - policy.low)
                    entry = {"experiment": policy.experiment, "version": version.number, "arm": policy.arms[place]}
                    found.append({**entry, "value": value, "deleted_by": iso(version.close_at + closing.PATIENCE)})
        return found

    def close(self) -> None:
        """Let go of the private database."""
        self._replies.close_all()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _now(self) -> float:
        return round(self._replies.clock(), 3)

    def _time(self) -> float:
        """Read the clock for what opens or closes: one that went back stops it."""
        return round(self._replies.time(), 3)


class Known(NamedTuple):
    """What never changes of a version that counts, for those who reply."""

    name: str  # of the experiment
    upto: tuple[int, ...]  # the shares
    low: float  # the value of no reply
    high: float  # the largest value
    adds: bool  # whether values add up

    def score(self, value: object) -> int | None:
        """Put a value on the lattice, rounded down; None if it is no number of the range."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not (isfinite(value) if isinstance(value, float) else True) or not self.low <= value <= self.high:
            return None
        return min(LATTICE, int((value - self.low) / (self.high - self.low) * LATTICE))


def _charge(owner: Experiment, incarnation: int, period: str) -> tuple[str, Guarantee, str]:
    """Write the charge of a month: its name, the guarantee, and the run that is charged once."""
    name, run = f"experiment {owner.name}, {period}", f"experiment {owner.number} {incarnation} {period}"
    return name, Promise.of(owner.design).guarantee, run


def _mark(charged: tuple[StoredLedger, int] | None) -> None:
    if charged is not None:
        ledger, epoch = charged
        ledger.mark(epoch)


def _brief(owner: Experiment, last: Version | None) -> dict[str, Any]:
    return {
        "name": owner.name,
        "state": owner.state,
        "incarnation": owner.incarnation,
        "ledger": owner.design.ledger,
        "arms": [arm.name for arm in owner.arms if arm.active],
        "version": None if last is None else last.number,
        "counting": last is not None and last.counting,
    }


def _shown(version: Version) -> dict[str, Any]:
    policy = version.policy
    return {
        "version": version.number,
        "salt": version.salt,
        "state": version.state,
        "counting": version.counting,
        "serve_from": iso(policy.serve_from),
        "close_at": iso(policy.close_at),
        "shares": dict(zip(policy.arms, policy.shares, strict=True)),
    }
