"""Which arm a person gets: SHA-256 and integers only, so that every language gives the same answer.

    pid = hex of the first 16 bytes of HMAC-SHA-256(secret, "tacit/person/1" 00 utf8(person))
    d   = SHA-256("tacit/assign/1" 00 salt 00 pid),  u = the first four bytes of d, big-endian
    arm = the number of entries of `upto` that are at most u

The salt is the version's random name. SPECIFICATION.md describes the same function, with test vectors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from hashlib import sha256

BLOCK = 64
SHORTEST_SECRET = 16


class PersonSecret:
    """Turns the ids of persons into pids under a secret key.

    Args:
        secret: at least 16 bytes, or text of which the UTF-8 bytes are taken. Every program that decides for or reports
            about the same persons needs the same one.
    """

    def __init__(self, secret: str | bytes) -> None:
        key = secret.encode() if isinstance(secret, str) else bytes(secret)
        if len(key) < SHORTEST_SECRET:
            raise ValueError(f"The person secret must have at least {SHORTEST_SECRET} bytes.")
        key = (sha256(key).digest() if len(key) > BLOCK else key).ljust(BLOCK, b"\0")
        # HMAC (RFC 2104) with what does not change hashed once: three times as fast as hmac.digest.
        self._inner = sha256(bytes(byte ^ 0x36 for byte in key) + b"tacit/person/1\0")
        self._outer = sha256(bytes(byte ^ 0x5C for byte in key))

    def __repr__(self) -> str:
        return "PersonSecret(...)"

    def __reduce__(self) -> str:
        raise TypeError("A person secret is not pickled: give it to each process by its own configuration.")

    def pid(self, person: str) -> str:
        """Return the 32 hex digits that stand for a person. A lone surrogate raises a `UnicodeEncodeError`."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(person.encode())
        outer.update(inner.digest())
        return outer.hexdigest()[:32]


class Assignment:
    """Gives each pid its arm in one version.

    Args:
        salt: the version's random name.
        upto: cumulative shares as integers; the last one is 2**32.
    """

    def __init__(self, salt: str, upto: Sequence[int]) -> None:
        self._begin = sha256(b"tacit/assign/1\0" + salt.encode("ascii") + b"\0")
        self._upto = tuple(upto)

    def arm(self, pid: str) -> int:
        """Return the place of the pid's arm."""
        hashed = self._begin.copy()
        hashed.update(pid.encode("ascii"))
        return bisect_right(self._upto, int.from_bytes(hashed.digest()[:4], "big"))
