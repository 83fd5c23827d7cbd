"""What every source of exact draws has in common: one process, no copies of secrets, draws that can be forgotten.

The draws a source will make are independent of those it has made, so a secret source has no state worth
keeping: `state_dict` is empty, and whatever loads an empty state goes on with fresh keys and the same law, having
dropped what was drawn ahead. A replayable source saves its streams and what it has drawn ahead, and whatever loads
that goes on bit for bit, and is replayable. A secret source refuses to be copied, pickled, or used in a process
other than its own: the copy would draw the same noise a second time, and the difference of two releases with one
noise is the difference of the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.randomness import Stream
from tacit.process import current_process
from tacit.validation import MALFORMED, IntArray, check_integer

FIRST_POOL, POOL = 2**7, 2**14
Words = NDArray[np.uint64]


class Streams(Protocol):
    """Where sources take their generators from: independent named streams of one key, secret or replayable."""

    @property
    def private(self) -> bool:
        """Whether the key is secret."""

    def stream(self, name: str) -> Stream:
        """Give the generator of that name."""


class Source(ABC):
    """A source of draws, secret or replayable as its streams are."""

    def __init__(self) -> None:
        self.home = current_process()

    @property
    @abstractmethod
    def private(self) -> bool:
        """Whether the keys behind the draws are secret."""

    @abstractmethod
    def renew(self) -> None:
        """Go on under fresh keys of the operating system; draws that were made ahead are dropped."""

    @abstractmethod
    def _saved(self) -> dict[str, Any]:
        """Give what a replayable source needs to go on bit for bit."""

    @abstractmethod
    def _load(self, state: dict[str, Any]) -> None:
        """Take over what `_saved` gave; a malformed state may raise anything of `MALFORMED`."""

    def state_dict(self) -> dict[str, Any]:
        """Give nothing for a secret source, and what a replayable source needs to go on bit for bit, keys included."""
        return {} if self.private else self._saved()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state_dict`: replayable from a replayable state, under fresh keys from an empty one."""
        self.home = current_process()
        if state == {}:
            self.renew()
            return
        saved = self.state_dict()
        try:
            self._load(state)
        except MALFORMED:
            self.load_state_dict(saved)
            raise InvalidInput(f"This is not the state of a {type(self).__name__}.") from None

    def _check_process(self) -> None:
        """Refuse to draw in a child that has inherited the secret keys of its parent."""
        if self.home != current_process() and self.private:
            raise ProtocolError(
                f"A secret {type(self).__name__} draws only in the process that made it: another one would repeat its "
                "noise. Start a learner there, or restore one from state_dict()."
            )

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        if self.private:
            raise InvalidInput(
                f"A secret {type(self).__name__} cannot be copied or pickled, since the copy would repeat its noise: "
                "use state_dict() and restore."
            )
        return super().__reduce_ex__(protocol)


class Pooled(Source):
    """A source that draws ahead in a pool and gives out in order.

    What is given out does not depend on how many are asked for at a time: a loop and an array draw the same. Nor does
    what is drawn ahead: pools have the same sizes however they are emptied, so that both have the same state.

    Attributes:
        pool: the draws made ahead. PRIVATE.
        given: how many of them were given out. Whoever takes from the pool moves this number first: an interrupt may
            lose draws, never repeat them.
        home: the number of the process in which a secret source may draw.
    """

    _kind: ClassVar[type[np.generic]] = np.int64

    def __init__(self) -> None:
        super().__init__()
        self._ahead, self._most = FIRST_POOL, POOL
        self.pool: NDArray[Any] = np.empty(0, dtype=self._kind)
        self.given = 0

    @abstractmethod
    def _produce(self, count: int) -> NDArray[Any]:
        """Make at least `count` new draws."""

    def _take(self, count: int) -> NDArray[Any]:
        """Take the next `count` draws, in an array of their own."""
        start, stop = self.given, self.given + count
        if start <= stop <= self.pool.size:
            self._check_process()
            self.given = stop  # before they are given out: an interrupt may lose draws, never repeat them
            return self.pool[start:stop].copy()
        return self._take_more(check_integer(type(self).__name__, "count", count, at_least=0))

    def _take_more(self, count: int) -> NDArray[Any]:
        """Take what is left of the pool, then whole pools, then the beginning of a new pool."""
        self._check_process()
        parts = [self.pool[self.given :]]
        missing = count - parts[0].size
        self._drop()
        while missing > 0:
            self._ahead = min(2 * self._ahead, self._most)
            drawn = self._produce(self._ahead)  # pools of public sizes: a loop and an array leave the same state
            parts.append(drawn[:missing])
            if drawn.size > missing:
                self.pool, self.given = drawn, missing
            missing -= parts[-1].size
        return np.concatenate(parts)

    def _drop(self) -> None:
        self.pool, self.given = np.empty(0, dtype=self._kind), 0

    def _parts(self) -> dict[str, Source]:
        """Give the sources that this source draws from, by name."""
        return {}

    @property
    def private(self) -> bool:
        return any(part.private for part in self._parts().values())

    def renew(self) -> None:
        self._drop()
        self._ahead = min(FIRST_POOL, self._most)
        for part in self._parts().values():
            part.renew()

    def _saved(self) -> dict[str, Any]:
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return {"pool": self.pool[self.given :].copy(), "ahead": self._ahead, **parts}

    def _load(self, state: dict[str, Any]) -> None:
        pool = state["pool"]
        if not (isinstance(pool, np.ndarray) and pool.dtype == self._kind and pool.ndim == 1):
            raise TypeError("one-dimensional array expected")
        ahead = check_integer(type(self).__name__, "ahead", state["ahead"], at_most=self._most)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
            if part.private:
                raise TypeError("one part is replayable and another is not")
        self.pool, self.given, self._ahead = pool.copy(), 0, ahead


class PooledNoise(Pooled):
    """A source of independent integers."""

    def draw(self, count: int) -> IntArray:
        """Draw the next `count` integers, in an array of their own."""
        return self._take(count)


class OnStreams(Pooled):
    """A pooled source that reads streams of its own."""

    def __init__(self, *streams: Stream) -> None:
        super().__init__()
        self._streams = streams

    @property
    def private(self) -> bool:
        return any(stream.private for stream in self._streams)

    def renew(self) -> None:
        super().renew()
        for stream in self._streams:
            stream.renew()

    def _saved(self) -> dict[str, Any]:
        return {**super()._saved(), "streams": [stream.position() for stream in self._streams]}

    def _load(self, state: dict[str, Any]) -> None:
        super()._load(state)
        for stream, position in zip(self._streams, state["streams"], strict=True):
            stream.move_to(position)


def raw_words(stream: np.random.Generator, count: int) -> Words:
    """Draw the next raw 64-bit words of a stream."""
    return np.asarray(stream.bit_generator.random_raw(count), dtype=np.uint64)
