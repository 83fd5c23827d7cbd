"""Where the secret key of a fleet is read: on each worker, by name.

A function that Spark runs is pickled into tasks and plans of queries, and so would be a key inside of it. What travels
is the name of a file or of an environment variable, and a fingerprint by which every worker checks that it has read the
same key as the driver: two keys in one fleet would give one batch two versions of its noise.

Bytes are taken where all workers run on the driver's machine: they are kept for the length of the process in a file
that nobody else may read, and what travels is its name. Where the system can, the file is in memory only: it ends with
the process, also with one that is killed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness, Sealed

_FILE, _VARIABLE = "file:", "env:"
_ALLOWED = (
    'The \'root\' parameter of decide must be "file:PATH" or "env:NAME", where every worker reads 32 random bytes; the '
    "bytes themselves only where Spark's master is local, because they are not shipped to other machines."
)


@dataclass(frozen=True)
class Root:
    """The place of a secret key of 32 bytes; not the key."""

    place: str  # "file:PATH" (32 bytes, or 64 hexadecimal digits) or "env:NAME" (64 hexadecimal digits)
    fingerprint: str | None = None  # of the key that must be there (None: any)

    @classmethod
    def found(cls, place: object, *, local: bool = False) -> Root:
        """The key at this place, which must be readable here, with its fingerprint; bytes if all workers are local."""
        if isinstance(place, bytes) and local:
            place = _kept(Randomness.sealed(place).fingerprint, place)
        if isinstance(place, Path):
            place = f"{_FILE}{place}"
        if not isinstance(place, str) or not place.startswith((_FILE, _VARIABLE)):
            raise InvalidInput(_ALLOWED)
        return cls(place, cls(place).sealed().fingerprint)

    def sealed(self) -> Sealed:
        """Read the key."""
        source = Randomness.sealed(self._key())
        if self.fingerprint not in (None, source.fingerprint):
            raise InvalidInput(f"The key at {self.place} is not the one that the driver has read.")
        return source

    def _key(self) -> bytes:
        kind, name = self.place.split(":", 1)
        try:
            raw = os.environb[name.encode()] if f"{kind}:" == _VARIABLE else Path(name).read_bytes()
        except (OSError, KeyError):
            raise InvalidInput(f"There is no readable key at {self.place}: every worker needs one.") from None
        if len(raw) == 32 and f"{kind}:" == _FILE:
            return raw
        try:
            key = bytes.fromhex(raw.decode("ascii").strip())
        except ValueError:
            key = b""
        if len(key) != 32:
            raise InvalidInput(
                f"The key at {self.place} must be 32 random bytes, as 64 hexadecimal digits if it is text."
            )
        return key


_KEPT: dict[str, tuple[Path, Any]] = {}
"""Where keys that were given as bytes are kept, by their fingerprints; gone when the process ends."""


def _kept(fingerprint: str, key: bytes) -> Path:
    if fingerprint not in _KEPT:
        _KEPT[fingerprint] = _in_memory(key) or _in_folder(key)
    return _KEPT[fingerprint][0]


def _in_memory(key: bytes) -> tuple[Path, Any] | None:
    """A file without a name in any folder: others of this user's processes open it through this one."""
    if not hasattr(os, "memfd_create") or not os.access("/proc/self/fd", os.R_OK):
        return None
    number = os.memfd_create("root")
    os.write(number, key)
    os.fchmod(number, 0o400)
    return Path(f"/proc/{os.getpid()}/fd/{number}"), number


def _in_folder(key: bytes) -> tuple[Path, Any]:
    folder = TemporaryDirectory(prefix="tacit-")  # mode 0700; removed when the process ends
    file = Path(folder.name) / "root"
    with open(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as opened:
        opened.write(key)
    return file, folder
