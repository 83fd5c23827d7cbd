"""Decisions are exact: words beside every threshold, refinement forced everywhere, extremes, ties, planted bugs."""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from exact.selection_law import flip_law
from noise.keyed import long_uniform, planted_uniforms, uniforms
from tacit.errors import InvalidInput
from tacit.noise import exact_draws as decisions
from tacit.noise.exact_draws import coin, coins, draw_softmax, draw_weighted, permute_and_flip
from tacit.noise.uniforms import exponential

EXPONENTIALS = [  # x as rate * score, and floor(2^128 e^{-x})
    (0.5, 1, "9b4597e37cb04ff3d675a35530cdd767"),
    (0.7, 1, "7f2036e7755508b5494b360fe39904d5"),
    (2.5, 16, "000000000000004e5e49266c6890a552"),
]
ALWAYS = 2.0  # a margin that sends every decision to the digits


@pytest.fixture
def refine(monkeypatch):
    """Call it to refine every decision from then on."""

    def force():
        monkeypatch.setattr(decisions, "COIN_MARGIN", ALWAYS)
        monkeypatch.setattr(decisions, "DRAW_MARGIN", ALWAYS)

    return force


def real(fraction):
    return mpmath.mpf(fraction.numerator) / fraction.denominator


def threshold(probability, rate, score):
    """floor(2^64 p) of a coin."""
    with mpmath.workprec(2000):
        exact = mpmath.mpf(probability) * mpmath.exp(-mpmath.mpf(rate) * score)
        return int(mpmath.floor(mpmath.ldexp(exact, 64)))


@pytest.mark.parametrize(("rate", "score", "digits"), EXPONENTIALS)
def test_published_exponentials(rate, score, digits):
    value = int(digits, 16)
    low, high = exponential(Fraction(rate) * score, 128)
    assert low <= value < high <= low + 3
    word = value >> 64
    outcomes = [coin(planted_uniforms([w]), 1.0, rate, score) for w in (word - 1, word, word + 1)]
    assert outcomes[0]
    assert not outcomes[2]
    with mpmath.workprec(2000):
        assert outcomes[1] == (real(long_uniform(0, word)) < mpmath.exp(-mpmath.mpf(rate) * score))


@pytest.mark.parametrize("bits", [8, 64, 128, 1000])
@pytest.mark.parametrize("exponent", [0, 2.0**-60, 0.3, 1.0, 40.0, 700.0, 1e6, 1e19])
def test_enclosures(bits, exponent):
    low, high = exponential(Fraction(exponent), bits)
    with mpmath.workprec(3000):
        exact = mpmath.ldexp(mpmath.exp(-mpmath.mpf(exponent)), bits)
        assert low <= exact <= high
    assert high - low <= (3 if exponent else 0)


def coin_cases(rng):
    for _ in range(60):
        probability = float(rng.choice([1.0, 0.5, 0.999, 2.0**-20, rng.random()]))
        yield probability, float(2.0 ** rng.integers(-30, 3) * rng.random()), int(rng.integers(0, 2**27))
    yield from [(0.3, 0.0, 5), (1.0, 0.1, 0), (2.0**-70, 0.0, 0), (1.0, 1.0, 800), (0.7, 1e60, 2**62), (5e-324, 1.0, 1)]


def test_coins_beside_their_thresholds(rng):
    """At and beside floor(2^64 p), and at both ends: what a comparison of 1600 bits says, alone and in an array."""
    for probability, rate, score in coin_cases(rng):
        middle = threshold(probability, rate, score)
        words = [min(max(middle + k, 0), 2**64 - 1) for k in (-1, 0, 1)] + [0, 2**64 - 1]
        with mpmath.workprec(2000):
            exact = mpmath.mpf(probability) * mpmath.exp(-mpmath.mpf(rate) * score)
            wanted = [bool(real(long_uniform(i, word)) < exact) for i, word in enumerate(words)]
        source = planted_uniforms(words)
        assert [coin(source, probability, rate, score) for _ in words] == wanted
        scores = np.full(len(words), score)
        assert coins(planted_uniforms(words), probability, rate, scores).tolist() == wanted


def test_coins_in_a_loop_and_in_an_array_and_refined(refine, rng):
    scores = rng.integers(0, 30, (40, 25))
    array = coins(uniforms(), 0.9, 0.07, scores)
    one_by_one = uniforms()
    assert [coin(one_by_one, 0.9, 0.07, int(score)) for score in scores.ravel()] == array.ravel().tolist()
    refine()
    np.testing.assert_array_equal(coins(uniforms(), 0.9, 0.07, scores), array)
    one_by_one = uniforms()
    assert [coin(one_by_one, 0.9, 0.07, int(score)) for score in scores.ravel()] == array.ravel().tolist()


def test_published_softmax_thresholds():
    for first, word in enumerate((0x81A8B2EBA63A290F, 0xD04D16A646A9D6BD)):
        for offset, wanted in ((-1, first), (1, first + 1)):
            assert draw_softmax(planted_uniforms([word + offset]), 0.5, np.array([7, 8, 9])) == wanted


def softmax_oracle(word, rate, scores):
    with mpmath.workprec(2000):
        weights = [mpmath.exp(-mpmath.mpf(rate) * int(score - scores.min())) for score in scores]
        target = real(long_uniform(0, word)) * mpmath.fsum(weights)
        sums = np.cumsum(weights)
        return next(j for j, edge in enumerate(sums) if target < edge)


@pytest.mark.parametrize(
    ("rate", "scores"),
    [
        (0.37, [3, 1, 4, 1, 5, 9, 2, 6]),
        (1.0, [0, 800, 800, 0, 5]),
        (1.0, [0, 10**6, 3 * 10**9]),
        (0.25, [5, 5, 5, 5]),
        (0.1, [0, 5, 0, 5]),
        (2.0**-24, [2**40, 2**40 + 3, 2**40 - 2**24]),
        (0.0, [1, 2, 3]),
        (1.0, [4]),
    ],
)
def test_draws_beside_their_thresholds(rate, scores):
    scores = np.array(scores)
    with mpmath.workprec(2000):
        weights = [mpmath.exp(-mpmath.mpf(rate) * int(score - scores.min())) for score in scores]
        edges = [int(mpmath.floor(mpmath.ldexp(edge / mpmath.fsum(weights), 64))) for edge in np.cumsum(weights)]
    words = {min(max(edge + k, 0), 2**64 - 1) for edge in edges for k in (-1, 0, 1)} | {0, 2**64 - 1, 2**63}
    for word in words:
        assert draw_softmax(planted_uniforms([word]), rate, scores) == softmax_oracle(word, rate, scores)


def test_draws_refined_are_the_same(refine, rng):
    rows = [rng.integers(0, 40, 6) for _ in range(300)]
    weights = [rng.random(6) ** 4 for _ in range(300)]
    first, second, third = uniforms(3), uniforms(4), uniforms(5)
    plain = [draw_softmax(first, 0.1, row) for row in rows]
    floats = [draw_weighted(second, row) for row in weights]
    flips = [permute_and_flip(third, 0.1, row) for row in rows]
    refine()
    first, second, third = uniforms(3), uniforms(4), uniforms(5)
    assert [draw_softmax(first, 0.1, row) for row in rows] == plain
    assert [draw_weighted(second, row) for row in weights] == floats
    assert [permute_and_flip(third, 0.1, row) for row in rows] == flips


@pytest.mark.parametrize(
    "weights",
    [[0.1, 0.2, 0.7], [0.0, 1.0, 0.0, 3.0, 0.0], [5e-324, 5e-324, 1.5e-323], [1e60, 1.0, 1e-300], [0.25] * 4, [2.0]],
)
def test_weights_are_exact_rationals(weights):
    exact = [Fraction(weight) for weight in weights]
    edges = [sum(exact[: j + 1]) / sum(exact) for j in range(len(exact))]
    words = {min(max(int(edge * 2**64) + k, 0), 2**64 - 1) for edge in edges for k in (-1, 0, 1)} | {0}
    for word in words:
        wanted = next(j for j, edge in enumerate(edges) if long_uniform(0, word) < edge)
        assert draw_weighted(planted_uniforms([word]), np.array(weights)) == wanted


def test_permute_and_flip_is_its_definition():
    """Every set of coins and every integer: the word 0 keeps, the last word does not (if it may not)."""
    scores = np.array([7, 10, 18])
    for kept in product([False, True], repeat=2):
        alive = [0, *[j + 1 for j in range(2) if kept[j]]]
        for choice in range(len(alive)):
            word = (2**64 * choice) // len(alive) + 1
            words = [2**64 - 1, *[0 if k else 2**64 - 1 for k in kept], word]
            assert permute_and_flip(planted_uniforms(words), 0.1, scores) == alive[choice]


def test_permute_and_flip_law_and_privacy():
    law = flip_law(np.array([0.0, 0.3, 1.1]), 2.0, 1.0)
    np.testing.assert_allclose(law, [0.545354, 0.329310, 0.125336], atol=5e-7)
    rate, worst = 0.1, 0.0
    rows = [np.array(row) for row in product(range(4), repeat=3)]
    laws = {tuple(row): flip_law(rate * row, 2.0, 1.0) for row in rows}
    for row in rows:
        for move in product([-1, 0, 1], repeat=3):
            other = laws.get(tuple(row + move))
            if other is not None:
                worst = max(worst, np.abs(np.log(laws[tuple(row)] / other)).max())
    assert 0.9 * 2 * rate < worst <= 2 * rate * (1 + 1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda source: coin(source, 0.0),
        lambda source: coin(source, 1.1),
        lambda source: coin(source, float("nan")),
        lambda source: coin(source, 1.0, -0.1, 1),
        lambda source: coin(source, 1.0, 0.1, -1),
        lambda source: coins(source, 1.0, 0.1, np.array([3, -1])),
        lambda source: draw_softmax(source, float("inf"), np.array([3, 1])),
        lambda source: draw_weighted(source, np.array([0.0, 0.0])),
        lambda source: draw_weighted(source, np.array([1.0, -1.0])),
        lambda source: draw_weighted(source, np.array([1.0, np.nan])),
    ],
)
def test_refusals(call):
    source = uniforms()
    with pytest.raises(InvalidInput):
        call(source)
    assert source.take(1)[0] == 0, "nothing was drawn"
