"""Marks beside a database: they show that a copy of it goes on.

A restored or copied database knows nothing of what was decided and spent after the copy was made, and would spend it
again. Three things show that. The database says where it was written last, by numbers that a copy does not have: those
of the file system for it and its marks, or in PostgreSQL those of the cluster and the database. A small file beside an
SQLite database has the epoch of each learner and ledger after every commit: a database that is behind it was put back.
And a database that holds learners or ledgers and has no marks beside it was taken from elsewhere. Whatever is found is
refused until the owner adopts the copy, which is recorded.

The marks are not synced: after a loss of power they may be behind the database, never before it. Not noticed: a disk,
virtual machine or PostgreSQL cluster that is set back as a whole, and files that are put back together with their marks
in the same place, where they may get the same numbers. Comparing `Store.epoch` with an earlier export is left to the
operator.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from tacit.errors import StoreError
from tacit_experiments.storage.engines import Transaction

WIDTH = 8  # bytes of a mark
_ADVICE = (
    "It would spend again what was spent since. Go on with the newest one; if that is lost, `tacit store adopt` (or "
    "Store.adopt) goes on with this copy, and records that it may have spent twice."
)
OLDER = f"This database is older than what was written to it: an earlier copy was put back. {_ADVICE}"
COPIED = f"This database is a copy of the one that was written last: it stands in another place. {_ADVICE}"
UNMARKED = (
    f"This database has marks, and they are not beside it: it was copied, or moved without them. {_ADVICE} If it was "
    "moved, move the file with its name and .mark as well."
)
_KINDS = ("learner", "ledger")
_PERMITTED = "SELECT has_function_privilege('pg_control_system()', 'execute')"
_CLUSTER = """SELECT system_identifier, oid FROM pg_control_system(), pg_database
    WHERE datname = current_database()"""


class CopyError(StoreError):
    """A database that may be a copy of the one that was written last."""


class Marks:
    """The marks of one store; PostgreSQL has only its place.

    Args:
        file: the database, or None for PostgreSQL.
        identity: the name of the store, which its copies share until they are adopted. Marks of another store are put
            aside, and are there again when that store is.
    """

    def __init__(self, file: Path | None, identity: str) -> None:
        self._file = file
        self._path = None if file is None else file.with_name(f"{file.name}.mark")
        self._head = identity.encode()
        self._refused = ""
        self._handle: int | None = None
        self._turn = threading.Lock()  # a number that is closed may be another file's at once

    def claim(self, transaction: Transaction) -> None:
        """Find out whether the database stands where it was written last; one that holds nothing may stand anywhere."""
        kept = transaction.row("SELECT place FROM tacit_store")[0]
        empty = all(transaction.row(f"SELECT 1 FROM tacit_{kind}s") is None for kind in _KINDS)
        self._refused = ""
        if self._path is not None and not self._belongs():
            self._exchange(self._path, begin=empty)
            if not self._belongs():
                self._refused = UNMARKED
                return
        here = self._place(transaction)
        if empty or kept is None:
            if here is not None and here != kept:
                transaction.run("UPDATE tacit_store SET place = :here", here=here)
        elif here is not None and here != kept:
            self._refused = COPIED

    def adopt(self, transaction: Transaction, identity: str) -> None:
        """Begin new marks, those of a copy that goes on under an identity of its own."""
        self.close()
        self._head = identity.encode()
        if self._path is not None:
            self._exchange(self._path, begin=True)
            for kind in _KINDS:
                for number, epoch in transaction.rows(f"SELECT id, epoch FROM tacit_{kind}s"):
                    self._write(self._offset(kind, int(number)), int(epoch).to_bytes(WIDTH, "little"))
        transaction.run("UPDATE tacit_store SET place = :here", here=self._place(transaction))
        self._refused = ""

    def check(self, kind: str, number: int, epoch: int) -> None:
        """Refuse a copy, and a learner or ledger whose epoch is behind its mark."""
        if self._refused:
            raise CopyError(self._refused)
        if self._path is None:
            return
        try:
            with self._path.open("rb") as handle:
                handle.seek(self._offset(kind, number))
                mark = int.from_bytes(handle.read(WIDTH), "little")
        except FileNotFoundError:
            raise CopyError(UNMARKED) from None
        except OSError as error:  # the mark may say that an earlier copy was put back
            raise StoreError(
                f"The marks {self._path.name} cannot be read ({error.strerror}): nothing was shown."
            ) from None
        if mark > epoch:
            raise CopyError(OLDER)

    def set(self, kind: str, number: int, epoch: int) -> None:
        """Write a mark after its commit; a mark that cannot be written stays behind, which is safe."""
        if self._path is not None:
            with suppress(OSError):
                self._write(self._offset(kind, number), epoch.to_bytes(WIDTH, "little"))

    def _place(self, transaction: Transaction) -> str | None:
        """Where the database stands: what a copy of it does not share; None if nobody may know."""
        if self._file is not None and self._path is not None:
            return f"{os.stat(self._file).st_ino}.{os.stat(self._path).st_ino}"
        if not transaction.row(_PERMITTED)[0]:
            return None
        return "{}.{}".format(*transaction.row(_CLUSTER))

    def _belongs(self) -> bool:
        assert self._path is not None
        try:
            with self._path.open("rb") as handle:
                return handle.read(len(self._head)) == self._head
        except FileNotFoundError:
            return False
        except OSError:  # whose they are is not known: they are not taken away
            return True

    def _exchange(self, path: Path, *, begin: bool) -> None:
        """Put marks of another store aside, under its name; take our own from there, or `begin` new ones."""
        try:
            with suppress(FileNotFoundError):
                with path.open("rb") as handle:
                    other = handle.read(len(self._head))
                path.rename(self._aside(path, other))
            try:
                self._aside(path, self._head).rename(path)
            except FileNotFoundError:
                if begin:
                    self._write(0, self._head)
        except OSError as error:
            raise StoreError(f"The marks {path.name} cannot be written ({error.strerror}).") from None

    @staticmethod
    def _aside(path: Path, identity: bytes) -> Path:
        return path.with_name(f"{path.name}.{identity.hex()}")

    def _offset(self, kind: str, number: int) -> int:
        return len(self._head) + WIDTH * (2 * number + _KINDS.index(kind))

    def _write(self, place: int, content: bytes) -> None:
        assert self._path is not None
        with self._turn:
            if self._handle is None:
                self._handle = os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600)
            os.pwrite(self._handle, content, place)

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            handle, self._handle = self._handle, None
            if handle is not None:
                os.close(handle)
