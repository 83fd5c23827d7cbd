"""The one source of randomness.

`Randomness.secret()` takes 32 bytes from the operating system and never shows them.
`Randomness.replayable(seed)` derives them from a seed: for tests and simulations, and everything made
from it is stamped as not private. From either, `stream(name)` gives a generator that is independent of
every other name, so that a learner which draws its coins from one stream and its samples from another
makes the same draws whether rounds arrive one by one or as an array.

The generator is AES-128 in counter mode (randomgen.AESCounter). ChaCha20 is as trustworthy, but fills
arrays with normals at half the speed, and noise is the hot path (benchmarks/noise.py measures both).
The keys of streams are BLAKE2b hashes of the root key and the name.
"""

from __future__ import annotations

import copy
import hashlib
import os
from typing import Any

import numpy as np
from randomgen import AESCounter

from tacit.errors import InvalidInput
from tacit.validation import check_integer, invalid

REPLAYABLE = "replayable: not private"
COMPUTATIONAL = "computational: AES-128-CTR keyed by the operating system"


class Randomness:
    """A root key and the independent named streams derived from it.

    >>> source = Randomness.replayable(7)
    >>> float(source.stream("noise").random()) == float(Randomness.replayable(7).stream("noise").random())
    True
    >>> source.private
    False
    """

    __slots__ = ("_key", "private")

    def __init__(self, key: bytes, *, private: bool) -> None:
        if not isinstance(key, bytes) or len(key) != 32 or not isinstance(private, bool):
            raise InvalidInput("A Randomness is made from a key of 32 bytes and private=True or False: see secret().")
        self._key = key
        self.private = private

    @classmethod
    def secret(cls) -> Randomness:
        """Fresh entropy from the operating system: the default of every learner."""
        return cls(os.urandom(32), private=True)

    @classmethod
    def replayable(cls, seed: int) -> Randomness:
        """The same draws for the same seed. Whoever knows the seed can undo the privacy."""
        number = check_integer("Randomness.replayable", "seed", seed, at_least=0)
        return cls(_hash(b"tacit replayable", str(number).encode()), private=False)

    @property
    def label(self) -> str:
        """What a guarantee says about this source."""
        return COMPUTATIONAL if self.private else REPLAYABLE

    def child(self, name: str | int) -> Randomness:
        """An independent source of the same kind, for a run, an epoch or a part."""
        return Randomness(_hash(self._key, b"child " + _bytes("child", str(name))), private=self.private)

    def stream(self, name: str) -> np.random.Generator:
        """A generator of its own for each name; the same name starts the same stream again."""
        key = int.from_bytes(_hash(self._key, b"stream " + _bytes("stream", name))[:16], "little")
        return np.random.Generator(AESCounter(key=key))

    def state_dict(self) -> dict[str, Any]:
        """The root key, from which `restore` goes on. PRIVATE: whoever has it can undo the privacy."""
        return {"key": self._key, "private": self.private}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Randomness:
        """The source saved by `state_dict`."""
        if not isinstance(state, dict) or not {"key", "private"} <= set(state):
            raise InvalidInput("The 'state' of Randomness.restore must be what state_dict gave: a key and a kind.")
        return cls(state["key"], private=state["private"])

    def __repr__(self) -> str:
        return "Randomness.secret()" if self.private else "Randomness.replayable(...)"

    def __reduce__(self) -> Any:
        if self.private:
            raise InvalidInput("A secret Randomness cannot be pickled: start the learner where it runs.")
        return (_rebuild, (self._key,))


def stream_state(generator: np.random.Generator) -> dict[str, Any]:
    """The position of a stream. It contains the key: as private as the learner's state."""
    return copy.deepcopy(dict(generator.bit_generator.state))


def _rebuild(key: bytes) -> Randomness:
    return Randomness(key, private=False)


def _bytes(owner: str, name: str) -> bytes:
    try:
        return name.encode()
    except (AttributeError, UnicodeEncodeError):
        raise invalid(f"Randomness.{owner}", "name", "a text that can be encoded", name) from None


def _hash(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2b(message, key=key, digest_size=32).digest()
