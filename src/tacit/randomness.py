"""The one source of randomness.

`Randomness.secret()` is a capability without a key: every stream that is made from it takes 32 fresh bytes from the
operating system, so one secret source may be shared by any number of learners and fits and no two of them share noise.
`Randomness.replayable(seed)` derives everything from a seed: for tests and simulations, and everything made
from it is stamped as not private. From either, `stream(name)` gives a generator that is independent of
every other name, so that a learner which draws its coins from one stream and its samples from another
makes the same draws whether rounds arrive one by one or as an array.

Noise is used once. A secret stream refuses to be copied or pickled, and a process that is forked finds all its secret
streams under new keys, so that neither process can see what the other draws.

The generator is AES-128 in counter mode (randomgen.AESCounter). ChaCha20 is as trustworthy, but fills
arrays with normals at half the speed, and noise is the hot path (benchmarks/noise.py measures both).
The keys of streams are BLAKE2b hashes of the root key and the name.
"""

from __future__ import annotations

import copy
import hashlib
import os
from base64 import b64decode, b64encode
from typing import Any
from weakref import WeakSet

import numpy as np
from randomgen import AESCounter

from tacit.errors import InvalidInput
from tacit.validation import check_integer, invalid

REPLAYABLE = "replayable: not private"
COMPUTATIONAL = "computational: AES-128-CTR keyed by the operating system"


class Randomness:
    """A source of independent named streams: secret, or replayable from a key.

    >>> source = Randomness.replayable(7)
    >>> float(source.stream("noise").random()) == float(Randomness.replayable(7).stream("noise").random())
    True
    >>> source.private
    False
    >>> secret = Randomness.secret()
    >>> float(secret.stream("noise").random()) == float(secret.stream("noise").random())
    False
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes | None) -> None:
        if key is not None and (not isinstance(key, bytes) or len(key) != 32):
            raise InvalidInput("A Randomness is made by secret() or replayable(seed); a key has 32 bytes.")
        self._key = key  # a secret source has none: whoever has a key can replay it

    @classmethod
    def secret(cls) -> Randomness:
        """Fresh entropy from the operating system for whatever starts from it: the default of every learner."""
        return cls(None)

    @classmethod
    def replayable(cls, seed: int) -> Randomness:
        """The same draws for the same seed. Whoever knows the seed can undo the privacy."""
        number = check_integer("Randomness.replayable", "seed", seed, at_least=0)
        return cls(_hash(b"tacit replayable", str(number).encode()))

    @property
    def private(self) -> bool:
        """Whether nobody can make these draws again."""
        return self._key is None

    @property
    def label(self) -> str:
        """What a guarantee says about this source."""
        return COMPUTATIONAL if self.private else REPLAYABLE

    def child(self, name: str | int) -> Randomness:
        """An independent source of the same kind, for a run, an epoch or a part."""
        message = b"child " + _bytes("child", str(name))
        return Randomness(None if self._key is None else _hash(self._key, message))

    def stream(self, name: str) -> Stream:
        """A generator of its own for each name; a replayable source starts the same one again for the same name."""
        message = b"stream " + _bytes("stream", name)
        return Stream(_generator(self._key, message), private=self.private)

    def state_dict(self) -> dict[str, Any]:
        """The key of a replayable source, as text; a secret one has nothing to save."""
        return {} if self._key is None else {"key": b64encode(self._key).decode()}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Randomness:
        """The source saved by `state_dict`: secret if there is no key in it."""
        allowed = "The 'state' of Randomness.restore must be what state_dict gave: a key or nothing."
        if not isinstance(state, dict):
            raise InvalidInput(allowed)
        try:
            return cls(b64decode(state["key"], validate=True)) if state else cls.secret()
        except (TypeError, KeyError, ValueError):
            raise InvalidInput(allowed) from None

    def __repr__(self) -> str:
        return "Randomness.secret()" if self.private else "Randomness.replayable(...)"

    def __reduce__(self) -> Any:
        return (Randomness, (self._key,))


def secret_bytes(count: int) -> bytes:
    """So many bytes of the operating system's, for tokens and keys."""
    return os.urandom(count)


class Stream(np.random.Generator):
    """A generator that knows whether its key is secret; then it is neither copied nor pickled."""

    def __init__(self, bits: Any, *, private: bool) -> None:
        super().__init__(bits)
        self.private = private
        if private:
            _SECRET.add(self)

    def position(self) -> dict[str, Any]:
        """Where a replayable stream stands. It contains the key; secret streams never tell theirs."""
        if self.private:
            raise InvalidInput("A secret stream has no position to save: continuing it takes a fresh key.")
        return copy.deepcopy(dict(self.bit_generator.state))

    def move_to(self, position: dict[str, Any]) -> None:
        """Continue at a saved position: replayable from now on."""
        self.bit_generator.state = position
        self.private = False
        _SECRET.discard(self)

    def renew(self) -> None:
        """Continue under a fresh key of the operating system: secret from now on."""
        self.bit_generator.state = _generator(None, b"renewed").state
        self.private = True
        _SECRET.add(self)

    def __reduce__(self) -> Any:
        if self.private:
            raise InvalidInput("Secret noise cannot be copied or pickled, because it would be used twice.")
        return (_at, (self.position(),))


class Process:
    """The process that runs now, without asking the system at every round; numbers of the system's come again."""

    number = int.from_bytes(os.urandom(8), "little")


_SECRET: WeakSet[Stream] = WeakSet()


def _forked() -> None:
    """In a forked process: another number, and no stream that the parent goes on with."""
    Process.number = int.from_bytes(os.urandom(8), "little")
    for stream in list(_SECRET):
        stream.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _at(position: dict[str, Any]) -> Stream:
    stream = Stream(AESCounter(key=0), private=False)
    stream.move_to(position)
    return stream


def _generator(key: bytes | None, message: bytes) -> Any:
    root = os.urandom(32) if key is None else key
    return AESCounter(key=int.from_bytes(_hash(root, message)[:16], "little"))


def _bytes(owner: str, name: str) -> bytes:
    try:
        return name.encode()
    except (AttributeError, UnicodeEncodeError):
        raise invalid(f"Randomness.{owner}", "name", "a text that can be encoded", name) from None


def _hash(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2b(message, key=key, digest_size=32).digest()
