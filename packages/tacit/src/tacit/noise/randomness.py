"""The one source of randomness.

`Randomness.secret()` is a capability without a key: every stream that is made from it takes 32 fresh bytes from the
operating system, so one secret source may be shared by any number of learners and fits and no two of them share noise.
`Randomness.replayable(seed)` derives everything from a seed: for tests and simulations, and everything made
from it is stamped as not private. `Randomness.sealed(key)` is for engines that run a step again after a failure:
private, with draws that are a function of a secret key and of all that the step depends on, so that the same step
gives the same bytes and another one independent bytes. From each, `stream(name)` gives a generator that is independent
of every other name, so that a learner which draws its coins from one stream and its samples from another makes the
same draws whether rounds arrive one by one or as an array.

Noise is used once. A secret stream refuses to be copied or pickled, and in a process that is forked, by Python or below
it, each secret stream takes a new key before it draws, so that neither can see what the other draws. (A generator of
bits that was taken out of a stream before the fork knows nothing of that: take it when it is used.)

The generator is AES-128 in counter mode (randomgen.AESCounter). ChaCha20 is as trustworthy, but fills
arrays with normals at half the speed, and noise is the hot path (benchmarks/noise.py measures both).
The keys of streams are BLAKE2b hashes of the root key and the name.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import os
import threading
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
from randomgen import AESCounter

from tacit.errors import InvalidInput
from tacit.process import DETECTION, call_in_children, current_process
from tacit.validation import check_integer, invalid

REPLAYABLE = "replayable: not private"
OPERATING_SYSTEM = "computational: AES-128-CTR keyed by the operating system"
BY_PROCESS_NUMBER = f"{OPERATING_SYSTEM}; forks below Python are noticed by process number only"
COMPUTATIONAL = BY_PROCESS_NUMBER if DETECTION == "process number" else OPERATING_SYSTEM
SEALED = "computational: AES-128-CTR keyed by BLAKE2b of each batch under a sealed key, if both are pseudorandom"
_FEWEST_VALUES = 8  # of 32 random bytes fewer differ with probability 1e-36


class Randomness:
    """A source of independent named streams: secret, replayable from a seed, or sealed by a secret key.

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

    # Static: asked of a sealed source, a seed would otherwise make a sealed one, stamped as private.
    @staticmethod
    def secret() -> Randomness:
        """Make a source of fresh entropy from the operating system: the default of every learner."""
        return Randomness(None)

    @staticmethod
    def replayable(seed: int) -> Randomness:
        """Make a source of the same draws for the same seed. Whoever knows the seed can undo the privacy."""
        number = check_integer("Randomness.replayable", "seed", seed, at_least=0)
        return Randomness(_hash(b"tacit replayable", str(number).encode()))

    @staticmethod
    def sealed(key: bytes) -> Sealed:
        """Make a source of the same draws for the same batch of a learner; private while `key` (32 bytes) is secret."""
        return Sealed(key)

    @staticmethod
    def fresh_key() -> bytes:
        """Draw 32 bytes from the operating system, for `sealed`: whoever has these bytes can undo the privacy."""
        return os.urandom(32)

    @property
    def private(self) -> bool:
        """Whether nobody without a secret key can make these draws again."""
        return self._key is None

    @property
    def label(self) -> str:
        """The statement of a guarantee on this source."""
        return COMPUTATIONAL if self.private else REPLAYABLE

    def child(self, name: str | int) -> Randomness:
        """Make an independent source of the same kind, for a run, an epoch or a part."""
        message = b"child " + _bytes("child", str(name))
        return Randomness(None if self._key is None else _hash(self._key, message))

    def stream(self, name: str) -> Stream:
        """Make a generator for this name; a replayable source starts the same generator again for the same name."""
        message = b"stream " + _bytes("stream", name)
        return Stream(_generator(self._key, message), private=self.private)

    def state_dict(self) -> dict[str, Any]:
        """Give the key of a replayable source, as text; a secret source has nothing to save."""
        return {} if self._key is None else {"key": b64encode(self._key).decode()}

    @staticmethod
    def restore(state: dict[str, Any]) -> Randomness:
        """Restore the source saved by `state_dict`: secret if the state holds no key."""
        allowed = "The 'state' of Randomness.restore must be what state_dict gave: a key or nothing."
        if not isinstance(state, dict):
            raise InvalidInput(allowed)
        try:
            return Randomness(b64decode(state["key"], validate=True) if state else None)
        except (TypeError, KeyError, ValueError):
            raise InvalidInput(allowed) from None

    def continued(self, state: dict[str, Any]) -> Randomness:
        """Give the source for a learner that was started from this source and loads a state of `state_dict`."""
        return Randomness.restore(state)

    def __repr__(self) -> str:
        return "Randomness.secret()" if self.private else "Randomness.replayable(...)"

    def __reduce__(self) -> Any:
        return (Randomness, (self._key,))


class Sealed(Randomness):
    """A secret key, from which `batch` makes a source for one batch of one learner; nothing is drawn without one.

    The key is kept only inside a hash function: it is not printed, copied, pickled or saved. Like a secret source, a
    sealed one may be shared and used after a fork: the same batch has the same draws wherever it is run, by design.
    """

    __slots__ = ("_hash",)

    def __init__(self, key: bytes) -> None:
        super().__init__(None)
        if not isinstance(key, bytes) or len(key) != 32 or len(set(key)) < _FEWEST_VALUES:
            raise InvalidInput("The 'key' parameter of Randomness.sealed must be 32 secret random bytes.")
        self._hash = hashlib.blake2b(key=key, digest_size=32, person=b"tacit sealed")

    def batch(self, *, plan: str, learner: bytes, first: int, rows: bytes, state: bytes) -> SealedBatch:
        """Give the source of one batch: a pseudorandom function of the key and of everything that the batch depends on.

        Args:
            plan: the plan's signature and the version of the program, so that no other algorithm has the same draws.
            learner: which learner it is.
            first: the first round of the batch.
            rows: all that is absorbed in it, in order.
            state: the learner's state before it (empty: there is none).
        """
        return SealedBatch(
            self._named(b"batch", plan.encode(), learner, b"%d" % first, _hash(b"", rows), _hash(b"", state))
        )

    def tag(self, *parts: bytes) -> bytes:
        """Give a code of 16 bytes which nobody without the key can make for other parts: states carry it."""
        return self._named(b"tag", *parts)[:16]

    @property
    def fingerprint(self) -> str:
        """Says whether two sealed sources have the same key, and nothing about the key. Public."""
        return self._named(b"fingerprint").hex()[:16]

    def _named(self, *parts: bytes) -> bytes:
        keyed = self._hash.copy()
        for part in parts:
            keyed.update(len(part).to_bytes(8, "little"))
            keyed.update(part)
        return keyed.digest()

    @property
    def label(self) -> str:
        return SEALED

    def child(self, name: str | int) -> Randomness:
        raise _unbound()

    def stream(self, name: str) -> Stream:
        raise _unbound()

    def __repr__(self) -> str:
        return "Randomness.sealed(...)"

    def __reduce__(self) -> Any:
        raise InvalidInput("A sealed source cannot be copied or pickled: read its key again where it is needed.")


class SealedBatch(Randomness):
    """The draws of one batch of one learner, made by `Sealed.batch`.

    It counts what it gives out: asked again for a name, it gives an independent stream, so that no noise is used twice
    inside a batch; and the same requests in the same order give the same bytes, so that a batch can be run again.
    """

    __slots__ = ("_given", "_hash", "_process")

    def __init__(self, key: bytes) -> None:
        super().__init__(None)
        self._hash = hashlib.blake2b(key=key, digest_size=32)
        self._given: dict[bytes, int] = {}
        self._process = current_process()

    @property
    def label(self) -> str:
        return SEALED

    @property
    def past(self) -> bytes:
        """16 bytes that no other batch has: the state after this one carries them.

        Two pasts may lead to the same sums. Without a trace of its past a state would then be continued with the same
        draws after both, and whoever sees that both go on alike would know that the sums are equal.
        """
        keyed = self._hash.copy()
        keyed.update(b"past")
        return keyed.digest()[:16]

    def child(self, name: str | int) -> SealedBatch:
        return SealedBatch(self._next(b"child " + _bytes("child", str(name))))

    def stream(self, name: str) -> Stream:
        message = b"stream " + _bytes("stream", name)
        return Stream(self.generator(message), private=True, sealed=(self, message))

    def generator(self, message: bytes) -> Any:
        """Give the next generator of this name."""
        return AESCounter(key=int.from_bytes(self._next(message)[:16], "little"))

    def _next(self, message: bytes) -> bytes:
        if self._process != current_process():
            raise InvalidInput(
                "The draws of a sealed batch are made in the process that began it: begin it again there."
            )
        count = self._given.get(message, 0)
        self._given[message] = count + 1
        keyed = self._hash.copy()
        keyed.update(b"%d " % count + message)
        return keyed.digest()

    def continued(self, state: dict[str, Any]) -> Randomness:
        return self if state == {} else Randomness.restore(state)

    def __repr__(self) -> str:
        return "Randomness.sealed(...).batch(...)"

    def __reduce__(self) -> Any:
        raise InvalidInput("The draws of a sealed batch cannot be copied or pickled, because they would be used twice.")


def secret_bytes(count: int) -> bytes:
    """Draw so many bytes from the operating system, for tokens and keys."""
    return os.urandom(count)


class Stream(np.random.Generator):
    """A generator that knows whether its key is secret; then it is neither copied nor pickled.

    Every draw asks first whether this process was forked: then a secret stream takes a new key.
    """

    def __init__(self, bits: Any, *, private: bool, sealed: tuple[SealedBatch, bytes] | None = None) -> None:
        super().__init__(bits)
        self.private = private
        self._sealed = sealed
        self._home = current_process()

    @property
    def bit_generator(self) -> Any:
        """The generator of bits, of this process: not to be kept, since a child would draw the same from it."""
        if self._home != current_process():
            self._enter_process()
        return _BITS(self)

    def _enter_process(self) -> None:
        """Take a new key in a child, if the key is secret; the first of its threads does it for all."""
        with _entering:
            number = current_process()
            if self._home != number:
                if self.private:
                    self._sealed = None  # a key of the operating system, whatever the stream was made from
                    self.renew()
                self._home = number  # last

    def position(self) -> dict[str, Any]:
        """Give the position of a replayable stream, which contains the key; secret streams never tell theirs."""
        if self.private:
            raise InvalidInput("A secret stream has no position to save: continuing it takes a fresh key.")
        return copy.deepcopy(dict(self.bit_generator.state))

    def move_to(self, position: dict[str, Any]) -> None:
        """Continue at a saved position: replayable from now on."""
        self.bit_generator.state = position
        self.private = False

    def renew(self) -> None:
        """Continue under a fresh key, of the operating system or of the sealed batch: secret from now on."""
        fresh = _generator(None, b"renewed") if self._sealed is None else self._sealed[0].generator(self._sealed[1])
        super().__init__(fresh)  # with a lock of its own: in a child the old one may be held for ever
        self.private = True

    def __reduce__(self) -> Any:
        if self.private:
            raise InvalidInput("Secret noise cannot be copied or pickled, because it would be used twice.")
        return (_at, (self.position(),))


_BITS: Any = vars(np.random.Generator)["bit_generator"].__get__
_entering = threading.RLock()


def _free_lock() -> None:
    """Replace the lock, which a thread of the parent process may hold."""
    global _entering
    _entering = threading.RLock()


call_in_children(_free_lock)


def _asking_first(name: str) -> Any:
    """Return the generator's method of this name as one that draws under the keys of this process."""
    method = getattr(np.random.Generator, name)

    @functools.wraps(method)
    def drawn(self: Stream, *args: Any, **options: Any) -> Any:
        if self._home != current_process():
            self._enter_process()
        return method(self, *args, **options)

    return drawn


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name != "bit_generator":
        setattr(Stream, _name, _asking_first(_name))


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


def _unbound() -> InvalidInput:
    return InvalidInput(
        "A sealed source draws for one batch of one learner at a time: tacit_experiments.fleet.decide begins them."
    )


def _hash(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2b(message, key=key, digest_size=32).digest()
