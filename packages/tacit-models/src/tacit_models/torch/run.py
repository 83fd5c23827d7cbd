"""A run in a folder: which steps were claimed, and what they released.

A step is claimed before its noise is drawn, by a file that can be made only once. Its release is stored before anything
uses it. A step that has a release is replayed, never computed again. A step that was claimed and has no release is
lost: nothing of it is shown, and it changes no parameter. So whatever a resumed run does differently, such as another
learning rate, no gradient is ever shown under two noises or under one noise twice. The folder says where it was made: a
copy is refused, because two copies would make the same step twice. One trainer at a time holds its lock.

`releases` may be shown. `noise.npz` is PRIVATE: it holds the noise that later steps are corrected by, and a digest of
the data, by which other data are refused.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from tacit.errors import ProtocolError, StoreError
from tacit.noise.randomness import secret_bytes
from tacit.validation import FloatArray

_HEAD, _NOISE = "run.json", "noise.npz"


class Run:
    """The record of one run.

    Args:
        folder: where it is kept; a new one is made, an old one is continued.
        signature: what the run is planned to do; another plan is refused.
        charge: called once, before a new run is begun; if it raises, there is none.
    """

    def __init__(self, folder: str | os.PathLike[str], signature: str, charge: Callable[[], None]) -> None:
        self._folder, self._signature = Path(folder), signature
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(self._folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            self._admit(charge)
        except BaseException:
            self.close()
            raise

    def _admit(self, charge: Callable[[], None]) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(
                f"The run in {self._folder.name!r} is in use: one trainer at a time, close() it."
            ) from None
        head = self._folder / _HEAD
        if not head.exists():
            charge()  # first: a run that was not charged leaves no folder that could be continued
            content = {"identity": secret_bytes(16).hex(), "signature": self._signature, "place": self._place}
            with self._written(head) as file:
                file.write(json.dumps(content).encode())
        try:
            content = json.loads(head.read_text(encoding="utf-8"))
            self.identity, kept, place = content["identity"], content["signature"], content["place"]
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"The folder {self._folder.name!r} holds no run that was begun: take a new one.") from None
        if kept != self._signature:
            raise ProtocolError("This folder holds the run of another plan, model or data shape: take a new folder.")
        if place != self._place:
            raise StoreError(
                "This folder is a copy of a run: both would make the same step twice. Go on with the original, or "
                "begin a new run in a new folder, which costs its own epsilon."
            )

    def close(self) -> None:
        """Let another trainer continue the run."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def claim(self, step: int) -> bool:
        """Claim a step: True once and for one process only."""
        if self._lock < 0:
            raise ProtocolError("This run is closed: continue it with a new trainer.")
        try:
            os.close(os.open(self._file(step, "claim"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        self._sync()
        return True

    def release(self, step: int) -> FloatArray | None:
        """Return what a step released (None: nothing is stored)."""
        file = self._file(step, "npy")
        return np.load(file, allow_pickle=False) if file.exists() else None

    def store(self, step: int, noise: dict[str, Any], release: FloatArray | None) -> None:
        """Store the noise after a step, then its release (None: the step was lost)."""
        self.keep(noise)
        if release is not None:
            with self._written(self._file(step, "npy")) as file:
                np.save(file, release, allow_pickle=False)

    def keep(self, noise: dict[str, Any]) -> None:
        """Store the noise. PRIVATE."""
        with self._written(self._folder / _NOISE) as file:
            np.savez(file, **noise)

    def noise(self) -> dict[str, Any] | None:
        """Return the noise after the newest step that stored it. PRIVATE."""
        file = self._folder / _NOISE
        if not file.exists():
            return None
        with np.load(file, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}

    def _file(self, step: int, kind: str) -> Path:
        return self._folder / f"step-{step:07d}.{kind}"

    @property
    def _place(self) -> str:
        """Where the folder was made, by a file that is never written."""
        # The number of a file that was removed goes to another one, but with a later time of change.
        found = os.fstat(self._lock)
        return f"{found.st_dev}.{found.st_ino}.{found.st_ctime_ns}"

    @contextmanager
    def _written(self, path: Path) -> Iterator[IO[bytes]]:
        """A file that takes the place of another one when it is whole and durable."""
        part = path.with_name(f"{path.name}.part")
        with os.fdopen(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        self._sync()

    def _sync(self) -> None:
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
