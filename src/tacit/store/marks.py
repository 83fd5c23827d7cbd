"""High-water marks beside an SQLite file: they show that an older copy of it was put back.

A restored or copied database knows nothing of what was decided and spent after the copy was made, and would spend it
again. So the epoch of each learner and ledger is also written to a small file beside the database, after every
commit: a database that is behind its marks was put back. The marks are not synced: after a loss of power they may be
behind the database, never before it. Whoever puts back the whole folder is not noticed; comparing `Store.epoch` and
the last round with an earlier export is left to the operator.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from tacit.errors import StoreError

WIDTH = 8  # bytes of a mark


class Marks:
    """The marks of one store; without a file (PostgreSQL) there are none.

    Args:
        file: the database.
        identity: the name of the store, which its copies share; marks of another store are put aside, and are there
            again when that store is.
    """

    def __init__(self, file: Path | None, identity: str) -> None:
        self._path = None if file is None else file.with_name(f"{file.name}.mark")
        self._head = identity.encode()
        self._handle: int | None = None
        self._turn = threading.Lock()  # a number that is closed may be another file's at once
        if self._path is not None and not self._belongs():
            with suppress(OSError):
                self._exchange(self._path)

    def check(self, kind: str, number: int, epoch: int) -> None:
        """Refuse a learner or ledger whose epoch is behind its mark."""
        if self._path is None:
            return
        try:
            with self._path.open("rb") as handle:
                handle.seek(self._place(kind, number))
                mark = int.from_bytes(handle.read(WIDTH), "little")
        except FileNotFoundError:
            return
        except OSError as error:  # the mark may say that an earlier copy was put back
            raise StoreError(
                f"The marks {self._path.name} cannot be read ({error.strerror}): nothing was shown."
            ) from None
        if mark > epoch:
            raise StoreError(
                "This database is older than what was written to it: an earlier copy was put back, and would spend "
                "again what was spent since. Find the newer one; if it is lost, count what it may have spent as "
                f"spent, and delete {self._path.name}."
            )

    def set(self, kind: str, number: int, epoch: int) -> None:
        """Write a mark after its commit; a mark that cannot be written stays behind, which is safe."""
        if self._path is not None:
            with suppress(OSError):
                self._write(self._place(kind, number), epoch.to_bytes(WIDTH, "little"))

    def _belongs(self) -> bool:
        assert self._path is not None
        try:
            with self._path.open("rb") as handle:
                return handle.read(len(self._head)) == self._head
        except FileNotFoundError:
            return False
        except OSError:  # whose they are is not known: they are not taken away
            return True

    def _exchange(self, path: Path) -> None:
        """Put marks of another store aside, under its name; take our own from there, or begin new ones."""
        with suppress(FileNotFoundError):
            with path.open("rb") as handle:
                other = handle.read(len(self._head))
            path.rename(self._aside(path, other))
        try:
            self._aside(path, self._head).rename(path)
        except FileNotFoundError:
            self._write(0, self._head)

    @staticmethod
    def _aside(path: Path, identity: bytes) -> Path:
        return path.with_name(f"{path.name}.{identity.hex()}")

    def _place(self, kind: str, number: int) -> int:
        return len(self._head) + WIDTH * (2 * number + (kind == "ledger"))

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
