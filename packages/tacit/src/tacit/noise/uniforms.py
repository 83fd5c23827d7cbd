"""Uniform numbers as infinite strings of digits, of which a decision reads as many as it needs.

The first 64 bits of uniform i are word i of its stream; digit j = 1, 2, .. of 64 bits more is the BLAKE2b hash of
"i j" under a key of its own. Reading more digits never moves the stream, so a decision is a function of the words'
positions and the key alone: loop and array, numpy and C, and any exp and log within their bound decide alike.

A uniform serves one decision and is never kept: states hold outcomes. i counts from the first word of the key.

Float comparisons assume that exp and log of this machine are within 2^-45: `check_libm` compares 64 stored values at
the first use in a process. Doubtful comparisons enclose e^{-x} and -ln u by integers (mpmath, imported then), computed
with 16 more bits than are used and widened by one unit, since its roundings are not always right in the last place.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import floor
from typing import Any, Self

import numpy as np

from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Stream
from tacit.noise.source import OnStreams, Streams, Words, raw_words
from tacit.process import current_process
from tacit.validation import FloatArray, IntArray, check_integer

ALLOWED_ERROR = 2.0**-48  # eight times better than what the proofs need
# Made without powers or logarithms, so that every machine has the same points.
EXP_POINTS = -np.ldexp(0.68359375, np.arange(-21, 11))
LOG_POINTS = np.concatenate([np.ldexp(0.7, -3 * np.arange(16)), 1.0 - np.ldexp(0.7, -1 - 3 * np.arange(16))])
EXP_VALUES = (
    0.9999996740371521, 0.9999993480744103, 0.9999986961492455, 0.9999973923001911,
    0.9999947846071824, 0.999989569241565, 0.9999791385919308, 0.99995827761906,
    0.999916556978877, 0.9998331209204918, 0.9996662696896108, 0.9993326507551417,
    0.998665746865298, 0.9973332739620233, 0.9946736593518082, 0.989375688608317,
    0.9788642532091816, 0.9581752262107687, 0.9180997641240577, 0.8429071768846503,
    0.7104925088436513, 0.5047996051229459, 0.2548226413322821, 0.0649345785355609,
    0.004216499489590926, 1.777886794572054e-05, 3.1608814543136926e-10, 9.991171568224243e-20,
    9.982350930569248e-39, 9.964733010103672e-77, 9.92959039626498e-153, 9.85967654375977e-305,
)  # fmt: skip
LOG_VALUES = (
    -0.35667494393873245, -2.436116485618568, -4.515558027298404, -6.59499956897824,
    -8.674441110658076, -10.753882652337913, -12.833324194017749, -14.912765735697583,
    -16.99220727737742, -19.071648819057256, -21.151090360737093, -23.230531902416928,
    -25.309973444096762, -27.3894149857766, -29.468856527456435, -31.548298069136273,
    -0.4307829160924542, -0.044735893841391414, -0.005483758356256353, -0.0006838275067434006,
    -8.545286974245474e-05, -1.0681209387619483e-05, -1.3351449342965556e-06, -1.6689301934214186e-07,
    -2.0861625866785972e-08, -2.607703167914477e-09, -3.259629233730039e-10, -4.0745407049178265e-11,
    -5.0931481254808756e-12, -6.366018823202674e-13, -7.960299086562689e-14, -9.99200722162646e-15,
)  # fmt: skip


def largest_error(function: Callable[[Any], Any], points: FloatArray, values: tuple[float, ...]) -> float:
    """Compute the largest relative error of `function`, called with the array and with each number."""
    wanted = np.array(values)
    alone = np.array([function(float(point)) for point in points])
    together = np.asarray(function(points)) if isinstance(function, np.ufunc) else alone
    return float(np.max(np.abs(np.stack([alone, together]) / wanted - 1.0)))


FUNCTIONS = (
    (np.exp, EXP_POINTS, EXP_VALUES),
    (math.exp, EXP_POINTS, EXP_VALUES),
    (np.log, LOG_POINTS, LOG_VALUES),
)


@cache
def check_libm() -> None:
    """Refuse a machine whose exp or log is too far off for exact decisions."""
    for function, points, values in FUNCTIONS:
        if not largest_error(function, points, values) <= ALLOWED_ERROR:
            raise PrivacyError(
                f"{function.__name__} on this machine is off by more than 2^-48, and exact decisions assume less: use "
                "a numpy and a C library whose exp and log are right to the last places."
            )


_SPARE = 16


def exponential(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Give integers (low, high) with low <= 2^bits e^{-exponent} <= high, at most 3 apart, and equal for exponent 0.

    The exponent is at least 0 and a dyadic rational: a product of float64 numbers and integers.

    >>> low, high = exponential(Fraction(1, 2), 20)
    >>> low <= 635994 <= high
    True
    """
    from mpmath import libmp

    if exponent == 0:
        return 1 << bits, 1 << bits
    if exponent >= bits:  # e^{-x} < 2^{-x}
        return 0, 1
    places = exponent.denominator.bit_length() - 1
    # e^{-x} has floor(x / ln 2) zeros after the point, and those need not be computed.
    precision = max(bits - floor(exponent * Fraction(36, 25)), 0) + _SPARE
    value = libmp.mpf_exp(libmp.from_man_exp(-exponent.numerator, -places), precision, "n")
    middle = int(libmp.to_int(libmp.mpf_shift(value, bits), "f"))
    return max(middle - 1, 0), middle + 2


def minus_log(numerator: int, bits: int) -> tuple[Fraction, Fraction]:
    """Give rationals below and above -ln(numerator / 2^bits), 0 < numerator <= 2^bits, about 2^-bits apart."""
    from mpmath import libmp

    if numerator == 1 << bits:
        return Fraction(0), Fraction(0)
    value = libmp.mpf_log(libmp.from_man_exp(numerator, -bits), bits + 2 * _SPARE, "n")
    logarithm = -Fraction(*libmp.to_rational(value))
    # -ln u is below bits, so that 2^-bits of it is far above its own last place.
    error = Fraction(bits, 1 << (bits + _SPARE))
    return logarithm - error, logarithm + error


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
        """Give the source on the stream `name`, with the beginning of the stream `name/digits` as its key."""
        return cls(streams.stream(name), streams.stream(f"{name}/digits"))

    def take(self, count: int) -> tuple[int, Words]:
        """Give the index of the next uniform, and the words of the next `count` ones."""
        words = self._take(count)
        return self._drawn - (self.pool.size - self.given) - count, words

    def take_one(self) -> tuple[int, int]:
        """Give the index and the word of the next uniform."""
        place, size = self.given, self.pool.size
        if place == size:
            index, words = self.take(1)
            return index, int(words[0])
        if self.home != current_process():
            self._check_process()
        self.given = place + 1  # before it is given out, as in `take`
        return self._drawn - size + place, self.pool.item(place)

    def digits(self, index: int, word: int) -> Digits:
        """Give the uniform of that index and word, for a comparison that 53 bits do not decide."""
        return Digits(self._key, index, word)

    def integer(self, below: int) -> int:
        """Draw a uniform integer of {0..below-1}: floor(below * U)."""
        number = check_integer("Uniforms.integer", "below", below)
        if self.decide is not None:
            return self.decide(lambda: [1 / number] * number)
        index, word = self.take_one()
        return self._exact_integer(index, word, number)

    def integers(self, below: IntArray) -> IntArray:
        """Draw, for each n of `below` (1 to 2^62), a uniform integer of {0..n-1}, one uniform each."""
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
    """Give the first 53 bits of each uniform as a float: it lies above by less than 2^-53."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def rational(number: float) -> Fraction:
    """Compute the exact value of a float64."""
    return Fraction(*number.as_integer_ratio())


def _high_product(left: Words, right: Words) -> Words:
    """Compute the high 64 bits of the products, by halves of 32 bits."""
    low = (left & _LOW) * (right & _LOW)
    cross, other = (left & _LOW) * (right >> _HALF), (left >> _HALF) * (right & _LOW)
    carry = ((low >> _HALF) + (cross & _LOW) + (other & _LOW)) >> _HALF
    high: Words = (left >> _HALF) * (right >> _HALF) + (cross >> _HALF) + (other >> _HALF) + carry
    return high
