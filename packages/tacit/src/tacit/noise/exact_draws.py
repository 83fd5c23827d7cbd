"""Coins and selections, decided as comparisons of real numbers.

Rates and probabilities are float64 and taken as exact rationals, scores are integers. A decision is first made in
float64; only if the two numbers are nearer to each other than all errors together, it is made again with as many
digits of both as separate them (`certified`). So the law of every decision is exact, and the decision a function of
the uniform alone. One decision in 2^43 is refined.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import exp

import numpy as np
from numpy.typing import NDArray

from tacit import kernels
from tacit.errors import InvalidInput
from tacit.noise.source import Words
from tacit.noise.uniforms import Digits, Uniforms, exponential, fractions, rational
from tacit.validation import LARGEST, FloatArray, IntArray

# U is above its first 53 bits by less than 2^-53; q e^{-eta h} is off by less than 2^-45 + 2^-52 (x e^{-x} < 1/2).
COIN_MARGIN = 2.0**-44
# Of the sum of N weights, to which DRAW_MARGIN_PER_WEIGHT N is added for the sum's own roundings.
DRAW_MARGIN = 2.0**-43
DRAW_MARGIN_PER_WEIGHT = 2.0**-51
_WHOLE = 2.0**-53
FEW = 64  # weights that go faster as a list than as an array
LEAST_SUM = 1e-200  # far above what underflows


def coin(uniforms: Uniforms, probability: float, rate: float = 0.0, score: int = 0) -> bool:
    """Give True with probability exactly `probability` * e^{-rate * score}.

    >>> from tacit.noise.randomness import Randomness
    >>> uniforms = Uniforms.from_streams(Randomness.replayable(1), "coins")
    >>> coin(uniforms, 1.0), coin(uniforms, 0.5, rate=0.25, score=10**6)
    (True, False)
    """
    if not (0.0 < probability <= 1.0 and 0.0 <= rate <= LARGEST and score >= 0):  # the hot path makes no call
        _check_coin(probability, rate, score)
    if uniforms.decide is not None:
        heads = probability * exp(-(score * rate))
        return uniforms.decide(lambda: (1 - heads, heads)) == 1
    index, word = uniforms.take_one()
    gap = (word >> 11) * _WHOLE - probability * exp(-(score * rate))
    if abs(gap) > COIN_MARGIN:
        return gap < 0
    return _exact_coin(uniforms.digits(index, word), probability, rate, score)


def coins(uniforms: Uniforms, probability: float, rate: float, scores: IntArray) -> NDArray[np.bool_]:
    """Toss a coin for each score: the same outcomes as `coin` one after the other."""
    _check_coin(probability, rate, int(scores.min()) if scores.size else 0)
    if uniforms.decide is not None:
        tossed = [coin(uniforms, probability, rate, score) for score in scores.ravel().tolist()]
        return np.array(tossed, dtype=np.bool_).reshape(scores.shape)
    index, words = uniforms.take(scores.size)
    return toss(uniforms, index, words, probability, rate, scores)


@np.errstate(all="ignore")
def toss(
    uniforms: Uniforms, index: int, words: Words, probability: float, rate: float, scores: IntArray
) -> NDArray[np.bool_]:
    """Toss `coins` on uniforms taken before, numbered from `index`; each uniform may serve one decision."""
    _check_coin(probability, rate, int(scores.min()) if scores.size else 0)
    flat = scores.ravel()
    gaps = fractions(words) - probability * np.exp(-(flat * rate))
    heads: NDArray[np.bool_] = gaps < 0
    for place in np.flatnonzero(np.abs(gaps) <= COIN_MARGIN):
        digits = uniforms.digits(index + int(place), int(words[place]))
        heads[place] = _exact_coin(digits, probability, rate, int(flat[place]))
    return heads.reshape(scores.shape)


def first_lost(uniforms: Uniforms, index: int, words: Words, probability: float, rate: float, scores: IntArray) -> int:
    """Find the first tails of `toss`, or the number of coins: one by one, since the rest is not needed."""
    _check_coin(probability, rate, int(scores.min()) if scores.size else 0)
    for place, (word, score) in enumerate(zip(words.tolist(), scores.tolist(), strict=True)):
        gap = (word >> 11) * _WHOLE - probability * exp(-(score * rate))
        if abs(gap) <= COIN_MARGIN:
            if not _exact_coin(uniforms.digits(index + place, word), probability, rate, score):
                return place
        elif gap >= 0:
            return place
    return scores.size


def draw_softmax(uniforms: Uniforms, rate: float, scores: IntArray) -> int:
    """Draw an index with probability exactly proportional to e^{-rate * score}: small scores are likely."""
    if not 0.0 <= rate <= LARGEST:
        _check_coin(1.0, rate, 0)
    if uniforms.decide is None and kernels.compiled is not None and scores.flags.c_contiguous:
        index, word = uniforms.take_one()
        margin = DRAW_MARGIN + scores.size * DRAW_MARGIN_PER_WEIGHT
        found: int = kernels.compiled.softmax(scores, rate, (word >> 11) * _WHOLE, margin)
        if found < 0:
            found = _exact_draw(uniforms.digits(index, word), partial(_softmax_bounds, rate, scores))
        return found
    with np.errstate(all="ignore"):
        return _draw(uniforms, np.exp((scores - scores.min()) * -rate), partial(_softmax_bounds, rate, scores))


@np.errstate(all="ignore")
def draw_weighted(uniforms: Uniforms, weights: FloatArray) -> int:
    """Draw an index with probability exactly proportional to these floats, which are not negative and not all 0."""
    listed = weights.tolist() if 0 < weights.size <= FEW else None
    if listed is not None and min(listed) >= 0.0 and LEAST_SUM < sum(listed) < LARGEST:
        relative: FloatArray | list[float] = listed
    elif weights.min() >= 0.0 and 0.0 < weights.max() <= LARGEST:
        # Relative to the largest one no weight overflows, and what underflows is reached inside the margin only.
        relative = weights / weights.max()
    else:
        raise InvalidInput(f"The 'weights' of draw_weighted must be from 0 to {LARGEST:g}, and one of them above 0.")
    return _draw(uniforms, relative, partial(_whole_weights, weights))


@np.errstate(all="ignore")
def weighted_draws(uniforms: Uniforms, index: int, words: Words, weights: FloatArray) -> IntArray:
    """Apply `draw_weighted` to each of these uniforms, which were taken before and are numbered from `index`."""
    sums = np.cumsum(weights)
    total = float(sums[-1])
    places = fractions(words) * total
    margin = (DRAW_MARGIN + len(sums) * DRAW_MARGIN_PER_WEIGHT) * total
    found = np.minimum(np.searchsorted(sums, places, side="right"), len(sums) - 1)
    near = (sums[found] - places <= margin) | ((found > 0) & (places - sums[found - 1] <= margin))
    for place in np.flatnonzero(near):
        digits = uniforms.digits(index + int(place), int(words[place]))
        found[place] = _exact_draw(digits, partial(_whole_weights, weights))
    return found


@np.errstate(all="ignore")
def permute_and_flip(uniforms: Uniforms, rate: float, scores: IntArray) -> int:
    """Draw the index of a small score: each j stays with probability e^{-rate (score_j - least)}, and one is drawn.

    The first success among coins in a random order is uniform among all successes. If a person moves each score by
    at most Delta, rate = epsilon/(2 Delta) makes it epsilon-DP.
    """
    gaps = scores - scores.min()
    if uniforms.decide is not None:  # only the index is released, not the coins
        return uniforms.decide(lambda: _flip_law(np.exp(-(gaps * rate))))
    kept = np.flatnonzero(coins(uniforms, 1.0, rate, gaps))
    return int(kept[uniforms.integer(kept.size)])


def _check_coin(probability: float, rate: float, least: int) -> None:
    if not (0.0 < probability <= 1.0 and 0.0 <= rate <= LARGEST and least >= 0):
        raise InvalidInput(
            f"A coin needs a probability in (0, 1], a rate from 0 to {LARGEST:g} and scores of at least 0. "
            f"Got probability {probability!r} and rate {rate!r}."
        )


def _flip_law(stay: FloatArray) -> list[float]:
    """Compute P[j] = stay_j E[1/(1 + others that stay)], an integral over x of the product of 1 - stay_i + stay_i x."""
    nodes, weights = np.polynomial.legendre.leggauss(stay.size // 2 + 1)  # exact for polynomials of that degree
    factors = 1 - stay[:, None] * (1 - nodes) / 2
    others = [np.prod(np.delete(factors, place, axis=0), axis=0) for place in range(stay.size)]
    law: list[float] = (stay * (np.array(others) @ weights) / 2).tolist()
    return law


def _exact_coin(digits: Digits, probability: float, rate: float, score: int) -> bool:
    """Check whether U < probability e^{-rate * score}."""
    factor, exponent = rational(probability), rational(rate) * score
    while True:
        low, high = exponential(exponent, digits.length + 64)
        if Fraction((digits.value + 1) << 64) <= factor * low:
            return True
        if Fraction(digits.value << 64) >= factor * high:
            return False
        digits.extend()


def _draw(
    uniforms: Uniforms, weights: FloatArray | list[float], bounds: Callable[[int], Iterable[tuple[int, int]]]
) -> int:
    """Give the first j with U sum < weight_0 + .. + weight_j; `bounds` encloses 2^bits times the exact weights."""
    if uniforms.decide is not None:
        return uniforms.decide(lambda: (np.asarray(weights) / np.sum(weights)).tolist())
    index, word = uniforms.take_one()
    sums = list(accumulate(weights)) if isinstance(weights, list) else np.cumsum(weights)
    size, total = len(sums), float(sums[-1])
    place = (word >> 11) * _WHOLE * total
    margin = (DRAW_MARGIN + size * DRAW_MARGIN_PER_WEIGHT) * total
    found = bisect_right(sums, place)
    if found < size and sums[found] - place > margin and (found == 0 or place - sums[found - 1] > margin):
        return found
    return _exact_draw(uniforms.digits(index, word), bounds)


def _softmax_bounds(rate: float, scores: IntArray, bits: int) -> list[tuple[int, int]]:
    """Enclose 2^bits times the weights of `draw_softmax`."""
    gaps = (scores - scores.min()).tolist()
    exact = {gap: exponential(rational(rate) * gap, bits) for gap in set(gaps)}
    return [exact[gap] for gap in gaps]


def _whole_weights(weights: FloatArray, bits: int) -> list[tuple[int, int]]:
    """Write floats as integers in a common unit: exact, whatever `bits` are asked for."""
    exact = [rational(weight) for weight in weights.tolist()]
    scale = max(weight.denominator for weight in exact)  # powers of two
    return [(int(weight * scale),) * 2 for weight in exact]


def _exact_draw(digits: Digits, bounds: Callable[[int], Iterable[tuple[int, int]]]) -> int:
    while True:
        lows, highs = zip(*bounds(digits.length + 64), strict=True)
        below, above = list(accumulate(lows)), list(accumulate(highs))
        # U sum lies in [first, last): an index is decided if both ends are surely inside its part.
        first, last = digits.value * below[-1], (digits.value + 1) * above[-1]
        found = bisect_right([edge << digits.length for edge in above[:-1]], first)
        if found == len(below) - 1 or last <= below[found] << digits.length:
            return found
        digits.extend()
