"""The discrete Gaussian: integers whose law is within e^{+-2^-110.3} of D(Z, sigma), sigma = 2^29.00004.

Four base draws a, b, c, d of D(Z, 256) give z = a + 128 b + 16384 (c + 128 d), of variance
sigma^2 = 256^2 (1 + 128^2)(1 + 16384^2) (docs/numerics.md, Lemma 2). Their uniform bits are read only as far as
they are needed, from three streams: `name` (one word a draw, 16 bits for each digit, lowest first), `name/48` (one word
for each digit that 16 bits leave undecided, in the order of draws and digits), `name/128` (two words, the high one
first, for each digit that is still undecided: one in 2^51.9). No logarithm or exponential is computed.

A base draw is -4224 plus the number of thresholds C_k <= U, U a uniform integer of 192 bits and
C_k = floor(2^192 P[X <= k]) for X of the law D(Z, 256), k = -4224..4224: within 2^-181.6 of it in total variation. Only
integers are used: q = e^{-2^-17} by its series with 400 fractional bits, then w_{k+1} = w_k q^{2k+1}. So numpy and the
loops in C give the same z.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit import kernels
from tacit.noise.source import OnStreams, PooledNoise, Streams, Words, raw_words
from tacit.validation import IntArray

LARGEST = 4224
TABLE_BITS = 192
UNDECIDED = -(2**15)  # what the guide says if 16 bits do not decide
_FRACTION = 400


@dataclass(frozen=True)
class GaussianTable:
    """The thresholds, and arrays that find most base draws from the first 16 or 64 bits of U.

    Attributes:
        thresholds: C_k for k = -4224..4224, as Python integers.
        guide: the base draw for each value of the first 16 bits, or `UNDECIDED`.
        first: how many thresholds are at most g 2^176, for g = 0..65536: where a search starts.
        high: the first 64 bits of each threshold but the last.
    """

    thresholds: tuple[int, ...]
    guide: NDArray[np.int16]
    first: NDArray[np.int16]
    high: NDArray[np.uint64]

    def base_draw(self, uniform: int) -> int:
        return bisect_right(self.thresholds, uniform) - LARGEST


def gaussian_thresholds() -> tuple[int, ...]:
    """Compute C_k for k = -4224..4224."""
    one = 1 << _FRACTION
    q = term = one
    power = 0
    while term:
        power += 1
        term = (term >> 17) // power
        q += -term if power % 2 else term
    square = q * q >> _FRACTION
    half, ratio = [one], q
    for _ in range(LARGEST):
        half.append(half[-1] * ratio >> _FRACTION)
        ratio = ratio * square >> _FRACTION
    weights = half[:0:-1] + half
    total, running, thresholds = sum(weights), 0, []
    for weight in weights:
        running += weight
        thresholds.append((running << TABLE_BITS) // total)
    return tuple(thresholds)


@cache
def gaussian_table() -> GaussianTable:
    """Give the table, made at its first use."""
    thresholds = gaussian_thresholds()
    cells, shift = np.arange(2**16 + 1), TABLE_BITS - 16
    # C <= g 2^176 if and only if ceil(C / 2^176) <= g, and C < (g + 1) 2^176 if and only if floor(C / 2^176) <= g.
    first = np.searchsorted(np.array([-(-threshold >> shift) for threshold in thresholds]), cells, side="right")
    last = np.searchsorted(np.array([threshold >> shift for threshold in thresholds]), cells[:-1], side="right")
    guide = np.where(first[:-1] == last, last - LARGEST, UNDECIDED)
    high = [threshold >> (TABLE_BITS - 64) for threshold in thresholds[:-1]]
    return GaussianTable(
        thresholds,
        _frozen(guide.astype(np.int16)),
        _frozen(first.astype(np.int16)),
        _frozen(np.array(high, dtype=np.uint64)),
    )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


WEIGHTS = (1, 128, 16384, 16384 * 128)


def digit_of(words: Words, places: IntArray) -> Words:
    """Give the 16-bit digits at these places."""
    shift = (places % 4 * 16).astype(np.uint64)
    return (words[places // 4] >> shift) & np.uint64(0xFFFF)


def decode(words: Words) -> tuple[IntArray, IntArray]:
    """Give the sums of the decided digits, and the places (4 word + digit) of the others, in order."""
    if kernels.compiled is not None:
        sums, places = np.empty(words.size, dtype=np.int64), np.empty(4 * words.size, dtype=np.int64)
        return sums, places[: kernels.compiled.decode(words, gaussian_table().guide, sums, places)]
    digits = np.ascontiguousarray(words, dtype="<u8").view("<u2")
    draws = gaussian_table().guide.take(digits)
    places = np.flatnonzero(draws == UNDECIDED)
    draws[places] = 0
    sums = np.matmul(draws.reshape(-1, 4), np.array(WEIGHTS, dtype=np.int64), dtype=np.int64)
    return sums, places


def resolve(words: Words, places: IntArray, more: Words, sums: IntArray) -> IntArray:
    """Add to `sums` the digits at these places, by 48 more bits each; give the indices of those still undecided."""
    table = gaussian_table()
    high = table.high
    if kernels.compiled is not None:
        undecided = np.empty(places.size, dtype=np.int64)
        return undecided[: kernels.compiled.resolve(words, places, more, high, table.first, sums, undecided)]
    uniform = (digit_of(words, places) << np.uint64(48)) | (more >> np.uint64(16))
    index = high.searchsorted(uniform)
    open_ = high.take(index, mode="clip") == uniform
    draws = np.where(open_, 0, index - LARGEST)
    np.add.at(sums, places // 4, draws * np.array(WEIGHTS)[places % 4])
    return np.flatnonzero(open_)


SIGMA_SQUARED = 256**2 * (1 + 128**2) * (1 + 16384**2)
LARGEST_DRAW = LARGEST * sum(WEIGHTS)
WIDE_FACTOR = 2**28


class DiscreteGaussian(OnStreams, PooledNoise):
    """Independent draws of the discrete Gaussian.

    Adding one to an integer that two neighbours move by at most D hides it like Gaussian noise of standard
    deviation `bounds.GAUSSIAN_SIGMA` hides D, up to the terms of `bounds.gaussian_slack`.

    >>> from tacit.noise.randomness import Randomness
    >>> noise = DiscreteGaussian.from_streams(Randomness.replayable(7), "noise")
    >>> noise.draw(3).dtype, bool(abs(noise.draw(1000)).max() <= LARGEST_DRAW)
    (dtype('int64'), True)
    """

    @classmethod
    def from_streams(cls, streams: Streams, name: str) -> Self:
        """Give the source on the streams `name`, `name/48` and `name/128`."""
        return cls(streams.stream(name), streams.stream(f"{name}/48"), streams.stream(f"{name}/128"))

    def draw_wide(self, count: int) -> IntArray:
        """Draw `count` integers z + 2^28 z', each of two draws: standard deviation 2^57.00004, at most 2^61.06."""
        pairs = self.draw(2 * count).reshape(-1, 2)
        return pairs[:, 0] + WIDE_FACTOR * pairs[:, 1]

    def _produce(self, count: int) -> IntArray:
        words = raw_words(self._streams[0], count)
        sums, places = decode(words)
        if places.size:
            more = raw_words(self._streams[1], places.size)
            undecided = resolve(words, places, more, sums)
            if undecided.size:
                self._settle(words, places[undecided], more[undecided], sums)
        return sums

    def _settle(self, words: Words, places: IntArray, more: Words, sums: IntArray) -> None:
        """Decide by all 192 bits the digits whose first 64 are those of a threshold."""
        table = gaussian_table()
        most = raw_words(self._streams[2], 2 * places.size).reshape(-1, 2)
        for place, digit, middle, low in zip(places, digit_of(words, places), more, most, strict=True):
            high = int(digit) << 48 | int(middle) >> 16
            draw = table.base_draw(high << 128 | int(low[0]) << 64 | int(low[1]))
            sums[place // 4] += draw * WEIGHTS[place % 4]
