"""The database behind a store: an SQLite file, or PostgreSQL; one kind of transaction.

A transaction that writes is the only one that does. SQLite: BEGIN IMMEDIATE on the one connection of this process,
the log synced at every commit. PostgreSQL: whoever changes a learner or a ledger locks its row first. Nothing is
tried twice: if a statement, a commit or its sync fails, the connection is thrown away and the caller is told.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import InvalidInput, ProtocolError, StoreError, TacitError
from tacit.process import current_process
from tacit.validation import MALFORMED, check_positive, invalid, require

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPICursor

PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",  # every commit is on the disk before it returns
    "fullfsync=ON",  # also where a plain sync stops at the disk's cache
    "secure_delete=ON",  # feedback that was deleted is overwritten
    "journal_size_limit=0",  # also in the log, which is cut when it begins anew
)
SCHEMA_LOCK = 0x7AC17  # PostgreSQL's advisory lock for those who make tables or rows that may not exist yet


class Transaction:
    """Statements that happen together or not at all."""

    def __init__(self, connection: Connection, postgres: bool) -> None:
        self._connection = connection
        self._postgres = postgres

    def run(self, sql: str, **values: Any) -> int:
        """Execute; how many rows were changed."""
        return int(self._execute(sql, values).rowcount)

    def run_all(self, sql: str, rows: list[dict[str, Any]]) -> None:
        """Execute once for each of these rows."""
        if rows:
            self._cursor().executemany(self._written(sql), rows)

    def rows(self, sql: str, **values: Any) -> Sequence[Any]:
        """Every row of a query."""
        found: Sequence[Any] = self._execute(sql, values).fetchall()
        return found

    def row(self, sql: str, **values: Any) -> Any:
        """The first row of a query, or None."""
        return self._execute(sql, values).fetchone()

    def _execute(self, sql: str, values: dict[str, Any]) -> DBAPICursor:
        cursor = self._cursor()
        cursor.execute(self._written(sql), values)
        return cursor

    def _cursor(self) -> DBAPICursor:
        # The driver's own: each statement is run thousands of times, and SQLAlchemy would add twice what it costs.
        return self._connection.connection.cursor()

    def _written(self, sql: str) -> str:
        return _for_postgres(sql) if self._postgres else sql

    def locked(self, sql: str, **values: Any) -> Any:
        """The row of a query, which nobody else changes before this transaction ends."""
        return self.row(f"{sql} FOR UPDATE" if self._postgres else sql, **values)

    def alone(self) -> None:
        """Wait until nobody else makes tables, learners or ledgers."""
        if self._postgres:
            self.row("SELECT pg_advisory_xact_lock(:number)", number=SCHEMA_LOCK)


class Database:
    """Transactions on an SQLite file or a PostgreSQL address."""

    def __init__(self, where: str | os.PathLike[str], timeout: float) -> None:
        check_positive("Store", "timeout", timeout)
        address = os.fspath(where) if isinstance(where, str | os.PathLike) else ""
        if not isinstance(address, str) or not address or address.startswith(":"):
            raise invalid("Store", "where", "a file name or an address such as 'postgresql://host/name'", where)
        self.postgres = address.startswith(("postgresql://", "postgres://"))
        if "://" in address and not self.postgres:
            raise InvalidInput("A Store is an SQLite file or PostgreSQL ('postgresql://...'): other addresses are not.")
        self.file = None if self.postgres else _located(address)
        self.name = "PostgreSQL" if self.file is None else self.file.name  # an address may hold a password
        self._process = current_process()
        self._failures: tuple[type[Exception], ...] = (sqlite3.Error,)
        if self.postgres:
            self._failures = (require("psycopg", "tacit-experiments[postgres]").Error,)
        # SQLite has one connection in a process, which its threads take in turns.
        self._turn: AbstractContextManager[Any] = nullcontext() if self.postgres else threading.RLock()
        with self._told():
            self._engine = _postgres(address, timeout) if self.file is None else _sqlite(self.file, timeout)
        self._place = None if self.file is None else _place(self.file)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that is durable when the block has ended, or did not happen when it raises."""
        self._check_process()
        with self._turn, self._told(), self._connection() as connection, connection.begin():
            yield Transaction(connection, self.postgres)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that sees one state of the store and waits for nobody."""
        self._check_process()
        with self._turn, self._told(), self._connection() as connection:
            if self.postgres:
                connection.execution_options(isolation_level="REPEATABLE READ")
            else:
                connection.execution_options(reading=True)
            with connection.begin():
                yield Transaction(connection, self.postgres)

    def checkpoint(self) -> None:
        """Move what is in SQLite's log to the file itself, and empty the log, which else keeps what was deleted."""
        self._check_process()
        if self.file is not None:
            with self._turn, self._told(), self._connection() as connection:
                connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _check_process(self) -> None:
        """Refuse a forked process, before it waits for a lock that a thread of its parent may hold for ever."""
        if self._process != current_process():
            raise ProtocolError("This Store was opened in another process: open it again here.")

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        if self.file is not None and _place(self.file) != self._place:  # what is written now would be found by nobody
            raise StoreError(
                f"The file {self.name} was moved, deleted or replaced while it was open: nothing was shown. "
                "Put the newest one back."
            )
        with self._engine.connect() as connection:
            try:
                yield connection
            except TacitError:  # refused by tacit, not failed: the connection is as good as before
                raise
            except BaseException:
                connection.invalidate()
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the database in one sentence, without the values that were to be written."""
        from sqlalchemy.exc import SQLAlchemyError, StatementError

        try:
            yield
        except SQLAlchemyError as error:
            if isinstance(error, StatementError):
                error.params = None  # whoever looks into the chain of errors finds no state and no feedback
            raise self._failed(getattr(error, "orig", None) or type(error).__name__) from None
        except self._failures as error:
            raise self._failed(error) from None
        except MALFORMED as error:
            if isinstance(error, TacitError):
                raise
            if isinstance(error, JSONDecodeError):
                error.doc = ""  # the state or feedback that could not be read
            raise StoreError(
                f"The store {self.name} holds what cannot be read ({type(error).__name__}): nothing was shown."
            ) from None

    def _failed(self, cause: object) -> StoreError:
        reason = str(cause).strip().partition("\n")[0]  # what follows may hold values
        return StoreError(f"The store {self.name} failed ({reason}): nothing was shown.")

    def close(self) -> None:
        """Let go of all connections; a forked process leaves those of its parent open."""
        if self._process != current_process():
            self._engine.dispose(close=False)
            return
        with self._turn:
            self._engine.dispose()


def _sqlite(file: Path, timeout: float) -> Engine:
    from sqlalchemy import URL, QueuePool, create_engine, event

    _create(file)
    engine = create_engine(
        URL.create("sqlite", database=str(file)),
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"timeout": timeout, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where `begun` says, not where the driver guesses
        for setting in PRAGMAS:
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.connection.cursor().execute("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _located(address: str) -> Path:
    """The file itself, not a link to it: its log and its marks stand beside it, whichever way it is opened."""
    try:
        return Path(address).resolve()
    except (OSError, RuntimeError, ValueError):
        raise InvalidInput("A Store needs the name of a file: this one cannot be one.") from None


def _place(file: Path) -> tuple[int, int] | None:
    """Which file has this name now, or None."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _create(file: Path) -> None:
    """An empty file that only its owner reads, whose name is on the disk; SQLite gives its companions the same mode."""
    if not file.parent.is_dir():
        raise InvalidInput(f"There is no folder {str(file.parent)!r} for the store {file.name!r}: make it first.")
    try:
        if file.exists():
            return
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise StoreError(f"The store {file.name} cannot be made: {error.strerror}.") from None


def _postgres(address: str, timeout: float) -> Engine:
    from sqlalchemy import create_engine, event, make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
    except (ValueError, SQLAlchemyError):  # it may quote a part of the password
        raise InvalidInput(
            "This is no address of PostgreSQL: 'postgresql://user:password@host:5432/name' is one, with @, : and / in "
            "a password written as %40, %3A and %2F."
        ) from None
    patience = {"connect_timeout": max(1, round(timeout))}
    engine = create_engine(url, hide_parameters=True, isolation_level="READ COMMITTED", connect_args=patience)

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.execute("SET synchronous_commit TO on")
        connection.execute(f"SET lock_timeout TO {round(timeout * 1000)}")
        connection.commit()

    return engine


@lru_cache(maxsize=256)
def _for_postgres(sql: str) -> str:
    """Named parameters as psycopg writes them."""
    return re.sub(r":(\w+)", r"%(\1)s", sql)
