"""Where the secret key of a fleet is read: on each worker, by name.

A function that Spark runs is pickled into tasks and plans of queries, and so would be a key inside of it. What travels
is the name of a file or of an environment variable, and a fingerprint by which every worker checks that it has read the
same key as the driver: two keys in one fleet would give one batch two versions of its noise.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness, Sealed

_FILE, _VARIABLE = "file:", "env:"
_ALLOWED = (
    'The \'root\' parameter of decide must be "file:PATH" or "env:NAME", where every worker reads 32 random bytes: the '
    "bytes themselves are not shipped."
)


@dataclass(frozen=True)
class Root:
    """The place of a secret key of 32 bytes; not the key."""

    place: str  # "file:PATH" (32 bytes, or 64 hexadecimal digits) or "env:NAME" (64 hexadecimal digits)
    fingerprint: str | None = None  # of the key that must be there (None: any)

    @classmethod
    def found(cls, place: object) -> Root:
        """The key at this place, which must be readable here, with its fingerprint."""
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
