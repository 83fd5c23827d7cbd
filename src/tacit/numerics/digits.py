"""Four base draws from each 64-bit word, added up with their weights: in numpy, or compiled by numba.

A word's 16-bit digits, lowest first, give base draws a, b, c, d, and z = a + 128 b + 16384 (c + 128 d). Whether a
digit is decided by 16 bits, and by 48 more, is a fact about integers, so both ways give the same z bit for bit.

numba is optional. Importing and compiling it takes a second or two, so it takes over only after a process has
decoded `WARM_UP` words; the environment variable TACIT_NUMBA says "always" or "never" instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from tacit.numerics.gaussian_table import LARGEST, UNDECIDED, gaussian_table
from tacit.numerics.source import Words
from tacit.validation import IntArray, check_choice, require

WEIGHTS = (1, 128, 16384, 16384 * 128)
WARM_UP = 2**24
SWITCH = "TACIT_NUMBA"


class Kernels(NamedTuple):
    """The two passes over a block of words.

    Attributes:
        decode: words -> the sums of the decided digits, and the places (4 word + digit) of the others, in order.
        resolve: (words, places, 48 more bits each, sums to add to) -> the indices among `places` still undecided.
    """

    decode: Callable[[Words], tuple[IntArray, IntArray]]
    resolve: Callable[[Words, IntArray, Words, IntArray], IntArray]


_decoded = 0


def kernels(count: int) -> Kernels:
    """The kernels for the next `count` words of this process."""
    return compiled() if use_numba(count) else PLAIN


def use_numba(count: int = 0) -> bool:
    """Whether this process compiles its loops by now, after work that is worth `count` more words."""
    global _decoded
    _decoded += count
    wish = check_choice("the environment", SWITCH, os.environ.get(SWITCH, "auto"), ("auto", "always", "never"))
    return wish == "always" or (wish == "auto" and _decoded > WARM_UP and find_spec("numba") is not None)


def digit_of(words: Words, places: IntArray) -> Words:
    """The 16-bit digits at these places."""
    shift = (places % 4 * 16).astype(np.uint64)
    return (words[places // 4] >> shift) & np.uint64(0xFFFF)


def _decode(words: Words) -> tuple[IntArray, IntArray]:
    digits = np.ascontiguousarray(words, dtype="<u8").view("<u2")
    draws = gaussian_table().guide.take(digits)
    places = np.flatnonzero(draws == UNDECIDED)
    draws[places] = 0
    sums: IntArray = np.matmul(draws.reshape(-1, 4), np.array(WEIGHTS, dtype=np.int64), dtype=np.int64)
    return sums, places


def _resolve(words: Words, places: IntArray, more: Words, sums: IntArray) -> IntArray:
    high = gaussian_table().high
    uniform = (digit_of(words, places) << np.uint64(48)) | (more >> np.uint64(16))
    index = high.searchsorted(uniform)
    open_ = high.take(index, mode="clip") == uniform
    draws = np.where(open_, 0, index - LARGEST)
    np.add.at(sums, places // 4, draws * np.array(WEIGHTS)[places % 4])
    return np.flatnonzero(open_)


PLAIN = Kernels(_decode, _resolve)


def _decode_loop(words: Any, guide: Any, weights: Any, sums: Any, places: Any) -> int:
    """`_decode` word by word, for the compiler; `sums` and `places` are written to, the number of places returned."""
    mask, step = np.uint64(0xFFFF), np.uint64(16)
    count = 0
    for i in range(words.size):
        word, total = words[i], 0
        for j in range(4):
            draw = np.int64(guide[np.int64(word & mask)])
            word = word >> step
            if draw == UNDECIDED:
                places[count] = 4 * i + j
                count += 1
            else:
                total += draw * weights[j]
        sums[i] = total
    return count


def _resolve_loop(
    words: Any, places: Any, more: Any, high: Any, first: Any, weights: Any, sums: Any, undecided: Any
) -> int:
    """`_resolve` digit by digit, for the compiler."""
    below: Any
    mask, shift, low = np.uint64(0xFFFF), np.uint64(48), np.uint64(16)
    count = 0
    for n in range(places.size):
        i, j = places[n] // 4, places[n] % 4
        digit = (words[i] >> np.uint64(16 * j)) & mask
        uniform = (digit << shift) | (more[n] >> low)
        # The first threshold whose 64 bits are not below `uniform`; that of the digit's own edge may equal it.
        below = max(np.int64(first[np.int64(digit)]) - 1, 0)
        above = min(np.int64(first[np.int64(digit) + 1]), high.size)
        while below < above:
            middle = (below + above) // 2
            if high[middle] < uniform:
                below = middle + 1
            else:
                above = middle
        if below < high.size and high[below] == uniform:
            undecided[count] = n
            count += 1
        else:
            sums[i] += (below - LARGEST) * weights[j]
    return count


@cache
def compiled() -> Kernels:
    """The loops compiled by numba, or an error that names the extra that installs it."""
    numba = require("numba", "fast")
    decode_loop, resolve_loop = numba.njit(_decode_loop), numba.njit(_resolve_loop)
    table, weights = gaussian_table(), np.array(WEIGHTS, dtype=np.int64)

    def decode(words: Words) -> tuple[IntArray, IntArray]:
        sums = np.empty(words.size, dtype=np.int64)
        places = np.empty(4 * words.size, dtype=np.int64)
        count = decode_loop(words, table.guide, weights, sums, places)
        return sums, places[:count]

    def resolve(words: Words, places: IntArray, more: Words, sums: IntArray) -> IntArray:
        undecided = np.empty(places.size, dtype=np.int64)
        count = resolve_loop(words, places, more, table.high, table.first, weights, sums, undecided)
        return undecided[:count]

    return Kernels(decode, resolve)
