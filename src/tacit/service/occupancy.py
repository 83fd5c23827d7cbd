"""One service for one SQLite file: a second one is refused while the first one lives."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import StoreError


@contextmanager
def occupied(file: Path | None) -> Iterator[None]:
    """Hold the file (None: PostgreSQL, which locks for itself); the system lets go of it however a process ends."""
    if file is None:
        yield
        return
    handle = os.open(file.with_name(f"{file.name}.serving"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(
                f"Another service has the store {file.name}: end that one first, or keep the store in PostgreSQL, "
                "which several may serve."
            ) from None
        yield
    finally:
        os.close(handle)
