"""The sampler reads exactly the bits it should, in numpy and in C, in any blocks, and has the law it should."""

import numpy as np
import pytest
from scipy import stats

from noise.keyed import gaussian, planted
from tacit.noise import discrete_gaussian as digits
from tacit.noise.discrete_gaussian import (
    LARGEST_DRAW,
    SIGMA_SQUARED,
    DiscreteGaussian,
    gaussian_table,
)

WEIGHTS = (1, 128, 16384, 2097152)
FALSE_ALARM = 1e-6


def test_published_draws(way):
    assert gaussian(3).draw(4).tolist() == [468316104, -14749541, -152596898, -1048640236]


@pytest.mark.parametrize(
    ("word", "z"),
    [(0x0123456789ABCDEF, -1407644452), (0x00FF00FF00FF00FF, -1439405865), (0x8000800080008000, 0)],
)
def test_published_words(way, word, z):
    sums, places = digits.decode(np.array([word], dtype=np.uint64))
    assert (sums.tolist(), places.tolist()) == ([z], [])


def test_undecided_digits_are_named_lowest_first(way):
    _, places = digits.decode(np.array([0, 0x7FCC8033123456AA], dtype=np.uint64))
    assert places.tolist()[-2:] == [6, 7]


def streams_of(uniforms):
    """The three streams that say these 192-bit numbers, read as lazily as the definition has it."""
    table = gaussian_table()
    highs = {int(high) for high in table.high}
    words, more, most = [], [], []
    for four in np.array(uniforms, dtype=object).reshape(-1, 4):
        words.append(sum((u >> 176) << 16 * j for j, u in enumerate(four)))
        for u in four:
            digit = u >> 176
            if table.base_draw(digit << 176) != table.base_draw(((digit + 1) << 176) - 1):
                more.append(((u >> 128) % 2**48 << 16) + 0xABCD)  # the low 16 bits are not looked at
                if u >> 128 in highs:
                    most += [(u >> 64) % 2**64, u % 2**64]
    return planted(words), planted(more), planted(most)


def planted_source(uniforms):
    """A source that makes no draws ahead, for there is nothing to make them from."""
    source = DiscreteGaussian(*streams_of(uniforms))
    return source, source._produce(len(uniforms) // 4)


def expected(uniforms):
    draws = np.array([gaussian_table().base_draw(u) for u in uniforms]).reshape(-1, 4)
    return (draws * WEIGHTS).sum(axis=1)


@pytest.mark.parametrize("offset", [-1, 0, 1, 2**100, -(2**100), 2**140, -(2**140)])
def test_every_threshold_is_found(way, offset):
    """Uniforms at and beside every threshold: what bisection on the integers says."""
    uniforms = [min(max(c + offset, 0), 2**192 - 1) for c in gaussian_table().thresholds[:-1]]
    source, draws = planted_source(uniforms)
    np.testing.assert_array_equal(draws, expected(uniforms))
    assert [stream.left for stream in source._streams] == [[], [], []]


def test_extreme_words(way):
    uniforms = [0, 2**192 - 1, 2**64, 2**192 - 2**128] * 2
    _, draws = planted_source(uniforms)
    np.testing.assert_array_equal(draws, expected(uniforms))
    assert planted_source([2**192 - 1] * 4)[1].tolist() == [LARGEST_DRAW]


def test_the_loops_in_c_draw_what_numpy_draws(both_ways):
    np.testing.assert_array_equal(*both_ways(lambda: gaussian(9).draw(200_000)))


def test_law_of_the_draws():
    count = 2**18
    draws = gaussian(11).draw(count)
    standard = draws / SIGMA_SQUARED**0.5
    for scale, fair in ((1.0, True), (0.97, False)):
        assert bool(abs(np.mean((scale * standard) ** 2) - 1) < 4.9 * np.sqrt(2 / count)) is fair
        assert bool(stats.kstest(scale * standard, "norm").pvalue > FALSE_ALARM) is fair
    low = np.bincount(draws % 2**16, minlength=2**16)
    assert stats.chisquare(low).pvalue > FALSE_ALARM


def test_wide_draws():
    one, two = gaussian(5), gaussian(5)
    pairs = two.draw(2000).reshape(-1, 2)
    np.testing.assert_array_equal(one.draw_wide(1000), pairs[:, 0] + 2**28 * pairs[:, 1])
    assert LARGEST_DRAW * (1 + 2**28) < 2**63
