"""Uniform numbers as infinite strings of digits, of which a decision reads as many as it needs.

The first 64 bits of uniform i are word i of its stream; digit j = 1, 2, .. of 64 bits more is the BLAKE2b hash of
"i j" under a key of its own. Reading more digits never moves the stream, so a decision is a function of the words'
positions and the key alone: loop and array, numpy and numba, and any exp and log within their bound decide alike.

A uniform serves one decision and is never kept: states hold outcomes. i counts from the first word of the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from tacit.errors import InvalidInput
from tacit.numerics.libm import check_libm
from tacit.numerics.source import OnStreams, Streams, Words, raw_words
from tacit.randomness import Process, Stream
from tacit.validation import FloatArray, IntArray, check_integer

KEY_BYTES = 32
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)

Law = Callable[[], Sequence[float]]
"""Gives the probabilities of all outcomes of one decision."""


class Digits:
    """The known bits of one uniform: it lies in [value, value + 1) / 2^length."""

    def __init__(self, key: bytes, index: int, word: int) -> None:
        self._key, self._index, self._count = key, index, 0
        self.value, self.length = word, 64

    def extend(self) -> None:
        """Read 64 more bits."""
        self._count += 1
        name = f"{self._index} {self._count}".encode()
        digit = hashlib.blake2b(name, key=self._key, digest_size=8).digest()
        self.value, self.length = self.value << 64 | int.from_bytes(digit, "little"), self.length + 64


class Uniforms(OnStreams):
    """A stream of uniforms for decisions.

    Args:
        words: the stream of the words.
        digits: gives the key of the digits after the first 64 bits, independent of the words.
    """

    _kind = np.uint64

    def __init__(self, words: Stream, digits: Stream) -> None:
        super().__init__(words, digits)
        check_libm()
        # A stream may decide by itself: audits walk through all outcomes, and are told how likely each of them is.
        self.decide: Callable[[Law], int] | None = getattr(words, "decide", None)
        self._key = digits.bytes(KEY_BYTES)
        self._drawn = 0

    @classmethod
    def from_streams(cls, streams: Streams, name: str) -> Self:
        """The source on the stream `name`, with the beginning of the stream `name/digits` as its key."""
        return cls(streams.stream(name), streams.stream(f"{name}/digits"))

    def take(self, count: int) -> tuple[int, Words]:
        """The index of the next uniform, and the words of the next `count` ones."""
        words = self._take(count)
        return self._drawn - (self._pool.size - self._next) - count, words

    def take_one(self) -> tuple[int, int]:
        """The index and the word of the next uniform."""
        place, size = self._next, self._pool.size
        if place == size:
            index, words = self.take(1)
            return index, int(words[0])
        if self._process != Process.number:
            self._check_process()
        self._next = place + 1  # before it is given out, as in `take`
        return self._drawn - size + place, self._pool.item(place)

    def digits(self, index: int, word: int) -> Digits:
        """The uniform of that index and word, for a comparison that 53 bits do not decide."""
        return Digits(self._key, index, word)

    def integer(self, below: int) -> int:
        """A uniform integer of {0..below-1}: floor(below * U)."""
        number = check_integer("Uniforms.integer", "below", below)
        if self.decide is not None:
            return self.decide(lambda: [1 / number] * number)
        index, word = self.take_one()
        return self._exact_integer(index, word, number)

    def integers(self, below: IntArray) -> IntArray:
        """For each n of `below` (1 to 2^62) a uniform integer of {0..n-1}, one uniform each."""
        if below.size and not (below.min() >= 1 and below.max() <= 2**62):
            raise InvalidInput("The 'below' parameter of Uniforms.integers must hold whole numbers from 1 to 2^62.")
        index, words = self.take(below.size)
        flat = below.ravel().astype(np.uint64)
        found = _high_product(words, flat).astype(np.int64)
        # floor(n U) is open if n * (word + 1) - 1 has other high bits than n * word.
        for place in np.flatnonzero(words * flat > ~flat + np.uint64(1)):
            found[place] = self._exact_integer(index + int(place), int(words[place]), int(flat[place]))
        return found.reshape(below.shape)

    def _exact_integer(self, index: int, word: int, below: int) -> int:
        digits = self.digits(index, word)
        while True:
            low, high = digits.value * below, (digits.value + 1) * below - 1
            if low >> digits.length == high >> digits.length:
                return low >> digits.length
            digits.extend()

    def _produce(self, count: int) -> Words:
        words = raw_words(self._streams[0], count)
        self._drawn += count
        return words

    def renew(self) -> None:
        super().renew()
        self._key, self._drawn = self._streams[1].bytes(KEY_BYTES), 0

    def _saved(self) -> dict[str, Any]:
        return {**super()._saved(), "key": self._key.hex(), "drawn": self._drawn}

    def _load(self, state: dict[str, Any]) -> None:
        key, drawn = bytes.fromhex(state["key"]), check_integer("Uniforms", "drawn", state["drawn"], at_least=0)
        if len(key) != KEY_BYTES:
            raise TypeError("key expected")
        super()._load(state)
        self._key, self._drawn = key, drawn


def fractions(words: Words) -> FloatArray:
    """The first 53 bits of each uniform as a float: it lies above by less than 2^-53."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def rational(number: float) -> Fraction:
    """The exact value of a float64."""
    return Fraction(*number.as_integer_ratio())


def _high_product(left: Words, right: Words) -> Words:
    """The high 64 bits of the products, by halves of 32 bits."""
    low = (left & _LOW) * (right & _LOW)
    cross, other = (left & _LOW) * (right >> _HALF), (left >> _HALF) * (right & _LOW)
    carry = ((low >> _HALF) + (cross & _LOW) + (other & _LOW)) >> _HALF
    high: Words = (left >> _HALF) * (right >> _HALF) + (cross >> _HALF) + (other >> _HALF) + carry
    return high
