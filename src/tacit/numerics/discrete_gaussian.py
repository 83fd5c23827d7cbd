"""The discrete Gaussian: integers whose law is within e^{+-2^-110.3} of D(Z, sigma), sigma = 2^29.00004.

Four base draws a, b, c, d of D(Z, 256) give z = a + 128 b + 16384 (c + 128 d), of variance
sigma^2 = 256^2 (1 + 128^2)(1 + 16384^2) (docs/numerics.md, Lemma 2). Their uniform bits are read only as far as
they are needed, from three streams: `name` (one word a draw, 16 bits for each digit), `name/48` (one word for
each digit that 16 bits leave undecided, in the order of draws and digits), `name/128` (two words, the high one
first, for each digit that is still undecided: one in 2^51.9). No logarithm or exponential is computed.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tacit.numerics.digits import WEIGHTS, digit_of, kernels
from tacit.numerics.gaussian_table import LARGEST, gaussian_table
from tacit.numerics.source import PooledNoise, Streams, Words, load_streams, raw_words, saved_streams
from tacit.validation import IntArray

SIGMA_SQUARED = 256**2 * (1 + 128**2) * (1 + 16384**2)
LARGEST_DRAW = LARGEST * sum(WEIGHTS)
WIDE_FACTOR = 2**28


class DiscreteGaussian(PooledNoise):
    """Independent draws of the discrete Gaussian.

    Adding one to an integer that two neighbours move by at most D hides it like Gaussian noise of standard
    deviation `bounds.GAUSSIAN_SIGMA` hides D, up to the terms of `bounds.gaussian_slack`.

    >>> from tacit.randomness import Randomness
    >>> noise = DiscreteGaussian.from_streams(Randomness.replayable(7), "noise")
    >>> noise.draw(3).dtype, bool(abs(noise.draw(1000)).max() <= LARGEST_DRAW)
    (dtype('int64'), True)
    """

    def __init__(
        self, words: np.random.Generator, more: np.random.Generator, most: np.random.Generator, *, private: bool
    ) -> None:
        super().__init__(private=private)
        self._streams = (words, more, most)

    @classmethod
    def from_streams(cls, streams: Streams, name: str) -> Self:
        """The source on the streams `name`, `name/48` and `name/128`."""
        parts = (streams.stream(name), streams.stream(f"{name}/48"), streams.stream(f"{name}/128"))
        return cls(*parts, private=streams.private)

    def draw_wide(self, count: int) -> IntArray:
        """`count` integers z + 2^28 z', each of two draws: standard deviation 2^57.00004, at most 2^61.06."""
        pairs = self.draw(2 * count).reshape(-1, 2)
        return pairs[:, 0] + WIDE_FACTOR * pairs[:, 1]

    def _produce(self, count: int) -> IntArray:
        words = raw_words(self._streams[0], count)
        kernel = kernels(count)
        sums, places = kernel.decode(words)
        if places.size:
            more = raw_words(self._streams[1], places.size)
            undecided = kernel.resolve(words, places, more, sums)
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

    def _saved(self) -> dict[str, Any]:
        return {**super()._saved(), "streams": saved_streams(self._streams)}

    def _load(self, state: dict[str, Any]) -> None:
        super()._load(state)
        load_streams(self._streams, state["streams"])
