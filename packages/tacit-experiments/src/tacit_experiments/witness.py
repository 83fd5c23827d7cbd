"""The witness of releases: a list outside of all databases, which a restored copy does not take back.

A release is published only after its digest stands here, with what was charged for it. Whoever restores an older
database would release the same version again, from other rows: the witness knows the first digest and refuses a second
one. And an older ledger does not know what was spent: the witness does.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from tacit.errors import StoreError

RESTORED = "restored"


class Spent(NamedTuple):
    """What a release was charged as."""

    experiment: str  # its name
    incarnation: int  # of the experiment
    period: str  # the calendar month in which the version began


class Witness:
    """A file that is only ever appended to, best on another disk than the databases.

    Args:
        path: the file; it is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def digests(self) -> dict[str, str]:
        """Read the digest of each version that was released since the last restore, by salt."""
        found: dict[str, str] = {}
        for entry in self._entries():
            if RESTORED in entry:
                found.clear()
            elif "salt" in entry:
                found[entry["salt"]] = entry["digest"]
        return found

    def last_restore(self) -> str | None:
        """Read when the databases were last restored (None: never)."""
        return max((entry[RESTORED] for entry in self._entries() if RESTORED in entry), default=None)

    def spent(self, experiment: str) -> set[Spent]:
        """Read what was ever charged for releases of an experiment, whichever copy made them."""
        found = {Spent(*entry["spent"]) for entry in self._entries() if "spent" in entry}
        return {spent for spent in found if spent.experiment == experiment}

    def add(self, salt: str, digest: str, spent: Spent) -> bool:
        """Write down the digest of a version; False if another digest stands there."""
        with self._open() as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            for entry in self._entries():
                if entry.get("salt") == salt:
                    return bool(entry["digest"] == digest)
            self._append(handle.fileno(), {"salt": salt, "digest": digest, "spent": spent})
            return True

    def looks(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Read what stands here of each look of a test: its release, and what was charged for the test."""
        return {(entry["test"], entry["look"]): entry for entry in self._entries() if "test" in entry}

    def add_look(self, salt: str, look: int, release: dict[str, Any], charged: dict[str, Any]) -> dict[str, Any]:
        """Write down the release of a look, if there is none; return the release that stands here.

        Args:
            salt: the nonce of the test.
            look: which look.
            release: what is to be published.
            charged: what a copy of the store that does not know the test needs to charge for it.
        """
        with self._open() as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            known = self.looks().get((salt, look))
            if known is None:
                known = {"test": salt, "look": look, "release": release, "charged": charged}
                self._append(handle.fileno(), known)
            found: dict[str, Any] = known["release"]
            return found

    def restored(self, when: str) -> None:
        """Write down that the databases were restored: what stands before belongs to versions that may be lost."""
        with self._open() as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._append(handle.fileno(), {RESTORED: when})

    def _entries(self) -> list[dict[str, Any]]:
        """Read all that stands there."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._failed(error) from None
        # What follows the last line's end was cut off by a crash, and never acknowledged.
        lines = content[: content.rfind(b"\n") + 1].split(b"\n")
        try:
            return [json.loads(line) for line in lines if line]
        except ValueError:
            raise StoreError(f"The witness {self.path.name} holds what cannot be read: nothing was released.") from None

    def _open(self) -> Any:
        try:
            return os.fdopen(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600), "rb+", buffering=0)
        except OSError as error:
            raise self._failed(error) from None

    def _append(self, handle: int, entry: dict[str, Any]) -> None:
        try:
            size = os.fstat(handle).st_size
            whole = size == 0 or os.pread(handle, 1, size - 1) == b"\n"
            if not whole:  # a crash cut the last line off: nobody was told of it
                content = os.pread(handle, size, 0)
                os.ftruncate(handle, content.rfind(b"\n") + 1)
            line = json.dumps(entry).encode() + b"\n"
            if os.write(handle, line) < len(line):  # a disk that is full takes a part, and says nothing
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> StoreError:
        return StoreError(
            f"The witness {self.path.name} cannot be read or written ({error.strerror}): nothing was released."
        )
