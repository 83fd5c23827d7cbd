"""Replies: the only private rows, in a database of their own, for as long as a version is open.

Each version has a table with one row for a person, under a keyed hash that no other version shares. A reply raises the
person's score, so that duplicates, floods and any order of arrival leave the same row. Every reply changes a byte of
the row it meets, new, repeated or erased: how long an answer takes tells nothing about who replied before.

A window is open, closed, or gone. Whoever writes replies holds the window's lock shared and then looks at its state and
at the database's clock. Closing takes the lock alone for a moment (`close`) and adds up afterwards (`sums`), while the
replies of other versions go on. Erasure leaves a mark in place of the row (a score of -1), which later replies keep.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import InvalidInput, StoreError
from tacit.noise.randomness import Randomness, Sealed
from tacit_experiments.contract import LATTICE
from tacit_experiments.policy import is_pid
from tacit_experiments.storage.engines import Database, Transaction

ERASED = -1
MOST_APART = 600.0  # seconds by which clocks may disagree
_CHUNK, _REST = 1_000, 0.002  # rows that are deleted at a time, and seconds in which others have their turn
_PASSED = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # also while the machine slept
_NOW = "SELECT extract(epoch FROM clock_timestamp())"
_WINDOW = "SELECT close_at, state FROM tacit_windows WHERE salt = :salt"
_BEAT = "1 - kept.beat"  # changes with every reply: a row that is met is always written
_LARGER = "CASE WHEN kept.score < 0 OR kept.score >= excluded.score THEN kept.score ELSE excluded.score END"
_ADDED = f"""CASE WHEN kept.score < 0 THEN kept.score
    WHEN kept.score + excluded.score > {LATTICE} THEN {LATTICE} ELSE kept.score + excluded.score END"""


@dataclass(frozen=True)
class Reply:
    """One reply, checked."""

    person: bytes  # the keyed hash of the pid in this version
    arm: int  # the place of the arm that the person got
    score: int  # of 0 to LATTICE


class Replies:
    """The private database: an SQLite file, or PostgreSQL.

    Args:
        where: a file name, or an address.
        key: the secret for hashes and noise, which stands in neither database.
        timeout: how many seconds to wait for another writer.
        clock: gives the time in seconds (None: the database's clock).
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        key: Sealed,
        timeout: float = 30.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._database = Database(where, timeout)
        # Sums take a while: on SQLite they have a connection of their own, and replies do not wait for it.
        self._reader = Database(where, timeout)
        self._key, self._clock = key, clock
        self._seen: tuple[float, float] | None = None  # the clock and the time since the machine was started, at once
        self.postgres = self._database.postgres
        with self._database.writing() as transaction:
            transaction.alone()
            transaction.run(
                """CREATE TABLE IF NOT EXISTS tacit_windows (
                    salt TEXT PRIMARY KEY, close_at DOUBLE PRECISION NOT NULL, made_at DOUBLE PRECISION NOT NULL,
                    state TEXT NOT NULL)"""
            )
            transaction.run("CREATE TABLE IF NOT EXISTS tacit_clock (newest DOUBLE PRECISION NOT NULL)")

    def person(self, salt: str, pid: str) -> bytes:
        """Hash a pid for one version: rows of two versions cannot be linked without the key."""
        return self._key.tag(b"tacit/reply/1", salt.encode(), pid.encode())

    def now(self, transaction: Transaction) -> float:
        """Read the clock inside a transaction."""
        if self._clock is not None:
            return self._clock()
        return float(transaction.row(_NOW)[0]) if self.postgres else time.time()

    def clock(self) -> float:
        """Read the clock."""
        with self._database.reading() as transaction:
            return self.now(transaction)

    def earlier(self) -> float:
        """Read the earlier one of the database's clock and this process's: what is over by it is over."""
        return self.clock() if self._clock is not None else min(self.clock(), time.time())

    def time(self) -> float:
        """Read the clock, and move the newest time that was ever seen; a clock that is wrong stops whoever asks."""
        with self._database.writing() as transaction:
            now = self.now(transaction)
            found = transaction.row("SELECT newest FROM tacit_clock")
            newest = now if found is None else float(found[0])
            self._check_clock(now, newest)
            if found is None:
                transaction.run("INSERT INTO tacit_clock VALUES (:now)", now=now)
            elif now > newest:
                transaction.run("UPDATE tacit_clock SET newest = :now", now=now)
        return max(now, newest)

    def confirm(self) -> float:
        """Take the clock for right although it went back or forward; give the time."""
        with self._database.writing() as transaction:
            now = self.now(transaction)
            transaction.run("UPDATE tacit_clock SET newest = :now", now=now)
        self._seen = None
        return now

    def _check_clock(self, now: float, newest: float) -> None:
        """Refuse a clock that went back, or forward by more than has passed, and two that disagree."""
        wrong = "nothing is opened or closed until it is right. If it is right now: `tacit experiments confirm`."
        if newest - now > MOST_APART:
            raise StoreError(f"The clock went back by {newest - now:.0f} seconds: {wrong}")
        if self._clock is not None:
            return
        if abs(time.time() - now) > MOST_APART:
            raise StoreError("The clocks of the service and of its database disagree: nothing is opened or closed.")
        passed = time.clock_gettime(_PASSED)
        seen, since = self._seen or (now, passed)
        if min(now - newest, (now - seen) - (passed - since)) > MOST_APART:  # others may have taken it for right
            raise StoreError(f"The clock went forward by {now - seen:.0f} seconds in {passed - since:.0f}: {wrong}")
        self._seen = now, passed

    def open(self, salt: str, close_at: float) -> None:
        """Begin to take replies to a version."""
        with self._database.writing() as transaction:
            transaction.alone()
            transaction.run(
                "INSERT INTO tacit_windows VALUES (:salt, :close_at, :now, 'open')",
                salt=salt,
                close_at=close_at,
                now=self.now(transaction),
            )
            rows = "person BYTEA PRIMARY KEY, arm SMALLINT NOT NULL, score INTEGER NOT NULL, beat SMALLINT NOT NULL"
            transaction.run(f"CREATE TABLE {_table(salt)} ({rows}){'' if self.postgres else ' WITHOUT ROWID'}")

    def add(self, batch: dict[str, tuple[bool, list[Reply]]]) -> set[str]:
        """Take replies by version, and whether scores add up there; give the versions that are closed or unknown."""
        closed = set()
        with self._database.writing() as transaction:
            for salt in sorted(batch):  # in one order, so that nobody waits for somebody who waits
                adds, replies = batch[salt]
                if not self._is_open(transaction, salt):
                    closed.add(salt)
                    continue
                transaction.run_all(
                    f"""INSERT INTO {_table(salt)} AS kept (person, arm, score, beat) VALUES (:person, :arm, :score, 0)
                        ON CONFLICT (person) DO UPDATE
                        SET score = {_ADDED if adds else _LARGER}, beat = {_BEAT}""",
                    [vars(reply) for reply in sorted(replies, key=lambda reply: reply.person)],
                )
        return closed

    def _is_open(self, transaction: Transaction, salt: str) -> bool:
        """Tell whether replies count, after nobody can close the window before this transaction ends."""
        self._lock(transaction, salt, shared=True)
        found = transaction.row(_WINDOW, salt=salt)
        return found is not None and found[1] == "open" and self.now(transaction) < float(found[0])

    def close(self, salt: str) -> bool:
        """Take no more replies to a version, which takes a moment; False if its window is gone."""
        with self._database.writing() as transaction:
            self._lock(transaction, salt, shared=False)
            found = transaction.row(_WINDOW, salt=salt)
            if found is None:
                return False
            if found[1] == "open":
                transaction.run("UPDATE tacit_windows SET state = 'closed' WHERE salt = :salt", salt=salt)
            return True

    def sums(self, salt: str, arms: int) -> list[tuple[int, int]] | None:
        """Add up a closed version: scores and what they lack, for each arm; None if its rows are no longer there.

        The rows of a window that is seen closed are all there: they are deleted after it is marked as gone.
        """
        reading = self._reader.writing if self.postgres else self._reader.reading
        with reading() as transaction:
            self._lock(transaction, salt, shared=True)  # a rival who is faster drops the table before or after
            found = transaction.row(_WINDOW, salt=salt)
            if found is None or found[1] != "closed":
                return None
            rows = transaction.rows(
                f"SELECT arm, count(*), sum(score) FROM {_table(salt)} WHERE score >= 0 GROUP BY arm ORDER BY arm"
            )
        counted = {int(arm): (int(total), int(count) * LATTICE - int(total)) for arm, count, total in rows}
        return [counted.get(arm, (0, 0)) for arm in range(arms)]

    def purge(self, salt: str) -> None:
        """Delete all rows of a version for good; doing it again changes nothing."""
        with self._database.writing() as transaction:
            self._lock(transaction, salt, shared=False)
            if not transaction.run("UPDATE tacit_windows SET state = 'gone' WHERE salt = :salt", salt=salt):
                return
            if self.postgres:
                self._drop(transaction, salt)
        if self.postgres:
            return
        table = _table(salt)
        deleted = 1
        while deleted:
            with self._database.writing() as transaction:
                if transaction.row(_WINDOW, salt=salt) is None:  # another one was faster
                    return
                some = f"SELECT person FROM {table} LIMIT {_CHUNK}"
                deleted = transaction.run(f"DELETE FROM {table} WHERE person IN ({some})")
            time.sleep(_REST)
        with self._database.writing() as transaction:
            if transaction.row(_WINDOW, salt=salt) is not None:
                self._drop(transaction, salt)
        with suppress(StoreError):  # somebody reads: the log is cut later
            self._database.checkpoint()

    def purge_until(self, moment: float) -> None:
        """Delete the rows of all versions whose replies stopped to count before this time."""
        with self._database.reading() as transaction:
            over = transaction.rows("SELECT salt FROM tacit_windows WHERE close_at <= :moment", moment=moment)
        for (salt,) in over:
            self.purge(str(salt))

    def _drop(self, transaction: Transaction, salt: str) -> None:
        transaction.run(f"DROP TABLE {_table(salt)}")
        transaction.run("DELETE FROM tacit_windows WHERE salt = :salt", salt=salt)

    def erase(self, pid: str) -> int:
        """Delete what is held of a person in open versions, and keep nothing that comes later; give how many there are.

        A version that is closing is not changed: its rows are gone within the hour, and what is released of them is
        bounded by the contract.
        """
        _check_pid(pid)
        with self._database.writing() as transaction:
            erased = [salt for salt in self._windows(transaction) if self._is_open(transaction, salt)]
            for salt in erased:
                transaction.run(
                    f"""INSERT INTO {_table(salt)} AS kept (person, arm, score, beat) VALUES (:person, 0, {ERASED}, 0)
                        ON CONFLICT (person) DO UPDATE SET arm = 0, score = {ERASED}, beat = {_BEAT}""",
                    person=self.person(salt, pid),
                )
        return len(erased)

    def held(self, pid: str) -> dict[str, tuple[int, float]]:
        """Give what is held of a person: by version, the place of the arm and the score."""
        _check_pid(pid)
        found = {}
        reading = self._database.writing if self.postgres else self._database.reading
        with reading() as transaction:
            for salt in self._windows(transaction):
                self._lock(transaction, salt, shared=True)  # nobody drops the table meanwhile
                window = transaction.row(_WINDOW, salt=salt)
                if window is None or window[1] == "gone":
                    continue
                row = transaction.row(
                    f"SELECT arm, score FROM {_table(salt)} WHERE person = :person AND score >= 0",
                    person=self.person(salt, pid),
                )
                if row is not None:
                    found[salt] = int(row[0]), int(row[1]) / LATTICE
        return found

    def windows(self) -> dict[str, float]:
        """Give when each window that is there was made, by its salt."""
        with self._database.reading() as transaction:
            return self._windows(transaction)

    @staticmethod
    def _windows(transaction: Transaction) -> dict[str, float]:
        found = transaction.rows("SELECT salt, made_at FROM tacit_windows")
        return {str(salt): float(made) for salt, made in sorted(found)}

    def _lock(self, transaction: Transaction, salt: str, *, shared: bool) -> None:
        """Hold a window's lock until the transaction ends; on SQLite whoever writes is alone anyway."""
        if self.postgres:
            number = int.from_bytes(bytes.fromhex(salt)[:8], "big", signed=True)
            transaction.row(f"SELECT pg_advisory_xact_lock{'_shared' if shared else ''}(:number)", number=number)

    def close_all(self) -> None:
        """Let go of the database."""
        self._database.close()
        self._reader.close()


def read_key(path: Path) -> Sealed:
    """Read the secret for hashes and noise; it is made, readable by its owner only, if it is not there."""
    try:
        if not path.exists():
            made = path.with_name(f"{path.name}.{Randomness.fresh_key()[:8].hex()}")
            with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
                file.write(Randomness.fresh_key().hex() + "\n")
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process was faster
                os.link(made, path)
            made.unlink()
        return Randomness.sealed(bytes.fromhex(path.read_text(encoding="ascii").strip()))
    except OSError as error:
        raise StoreError(f"The key {path.name} cannot be read or made: {error.strerror}.") from None
    except ValueError:
        raise InvalidInput(f"The key {path.name} must hold 64 hex digits: 32 secret random bytes.") from None


def _table(salt: str) -> str:
    if not is_pid(salt):
        raise InvalidInput("A version is named by 32 hex digits.")
    return f"tacit_replies_{salt}"


def _check_pid(pid: str) -> None:
    if not is_pid(pid):
        raise InvalidInput("A person is named by a pid, 32 hex digits in lower case, as SDKs compute it.")
