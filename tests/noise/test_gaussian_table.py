"""The table of D(Z, 256): both constructions, published vectors, and a search that finds every threshold."""

import hashlib
from itertools import pairwise

import mpmath
import numpy as np

from tacit.noise.discrete_gaussian import LARGEST, UNDECIDED, gaussian_table, gaussian_thresholds
from tacit.noise.sampler_bounds import TAU_PER_DRAW

SHA256 = "eb28d8c557cf1af02ba70dab68f4cd1510d62d75b6860700ed7050abc827dfd7"


def digest(thresholds):
    return hashlib.sha256("\n".join(f"{c:049x}" for c in thresholds).encode()).hexdigest()


def test_thresholds_by_integers():
    thresholds = gaussian_thresholds()
    assert len(thresholds) == 2 * LARGEST + 1
    assert thresholds[-1] == 2**192
    assert digest(thresholds) == SHA256


def test_thresholds_by_arbitrary_precision():
    with mpmath.workprec(400):
        half = [mpmath.exp(-mpmath.mpf(k * k) / 131072) for k in range(LARGEST + 1)]
        total = half[0] + 2 * mpmath.fsum(half[1:])
        running, thresholds = mpmath.mpf(0), []
        for k in range(-LARGEST, LARGEST + 1):
            running += half[abs(k)]
            thresholds.append(int(mpmath.floor(mpmath.ldexp(running / total, 192))) if k < LARGEST else 2**192)
    assert digest(thresholds) == SHA256


def test_total_variation_of_the_table():
    thresholds = (0, *gaussian_table().thresholds)
    with mpmath.workprec(300):
        half = [mpmath.exp(-mpmath.mpf(k * k) / 131072) for k in range(5000)]
        total = half[0] + 2 * mpmath.fsum(half[1:])
        law = [half[abs(k)] / total for k in range(-LARGEST, LARGEST + 1)]
        drawn = [mpmath.ldexp(high - low, -192) for low, high in pairwise(thresholds)]
        beyond = 1 - mpmath.fsum(law)
        distance = (mpmath.fsum(abs(p - q) for p, q in zip(law, drawn, strict=True)) + beyond) / 2
        assert -181.6 < mpmath.log(distance, 2) < -181.59
        assert 4 * distance < TAU_PER_DRAW


def test_guide_says_what_the_thresholds_say():
    table = gaussian_table()
    assert np.count_nonzero(table.guide == UNDECIDED) == 1712
    for digit in range(0, 2**16, 7):
        ends = {table.base_draw(digit << 176), table.base_draw(((digit + 1) << 176) - 1)}
        assert {int(table.guide[digit])} == ends if len(ends) == 1 else table.guide[digit] == UNDECIDED


def test_ends_of_the_table():
    table = gaussian_table()
    assert table.base_draw(2**192 - 1) == LARGEST
    assert table.base_draw(0) == next(k for k, c in enumerate(table.thresholds) if c > 0) - LARGEST
    assert not any(array.flags.writeable for array in (table.guide, table.first, table.high))
