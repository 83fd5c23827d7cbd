"""Above threshold on integers: its law, its answers, its end, its errors."""

import itertools
from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf

from tacit.algorithms.tracking.restart_on_shift import AboveThreshold
from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.discrete_laplace import laplace_rate
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms

ARGUMENTS = {"width": 4, "epsilon_threshold": 0.5, "epsilon_query": 1.0}


def instance(threshold=0, seed=1, **fields):
    uniforms = Uniforms.from_streams(Randomness.replayable(seed), "queries")
    return AboveThreshold(threshold, uniforms=uniforms, **{**ARGUMENTS, **fields})


@cache
def mass(rate, x):
    """P[z = x] of two-sided geometric noise, to 50 digits."""
    q = mp.exp(-mpf(rate))
    return (1 - q) / (1 + q) * q ** abs(x)


@cache
def above(rate, x):
    """P[z > x]."""
    q = mp.exp(-mpf(rate))
    return q ** (x + 1) / (1 + q) if x >= 0 else 1 - q ** (-x) / (1 + q)


def transcripts(queries, width, threshold_epsilon, query_epsilon):
    """The probabilities of "above" at query k = 0, 1, .. and of no "above", summed over all thresholds that matter."""
    first, second = laplace_rate(threshold_epsilon, width), laplace_rate(query_epsilon, width)
    reach = int(70 / first)  # beyond it e^-70 of the mass
    law = [mpf(0)] * (len(queries) + 1)
    for rho in range(-reach, reach + 1):
        left = mass(first, rho)
        for place, query in enumerate(queries):
            chance = above(second, rho - query)
            law[place] += left * chance
            left *= 1 - chance
        law[-1] += left
    return law


@pytest.mark.parametrize(("width", "low", "high"), [(2, 0, 2), (2, -1, 1), (4, -3, 1), (2, -2, 0)])
def test_the_log_ratio_of_every_transcript_is_at_most_both_epsilons(width, low, high):
    """By enumeration to 50 digits: shifts in an interval of the width, the last query by another one than the first."""
    with mp.workdps(50):
        worst, budget = mpf(0), mpf(0.75) + mpf(0.5)
        for level in (-12, 0, 12):
            base = transcripts([level] * 5, width, 0.75, 0.5)
            assert abs(sum(base) - 1) < mpf(10) ** -25
            for first, last in itertools.product((low, high), repeat=2):
                other = transcripts([level + first] * 4 + [level + last], width, 0.75, 0.5)
                worst = max(worst, *(abs(mp.log(one / two)) for one, two in zip(base, other, strict=True)))
        assert worst <= budget + mpf(10) ** -20
        assert worst > 0.6 * budget  # real losses are found


def test_the_answers_have_the_enumerated_law():
    """8,000 instances at five deviations; with half of the threshold's noise the law differs by more."""
    queries, runs = [2, -3, 5], 8_000
    expected = np.array([float(p) for p in transcripts(queries, 4, 0.5, 1.0)])
    uniforms = Uniforms.from_streams(Randomness.replayable(3), "all")
    counts = np.zeros(4)
    for _ in range(runs):
        test = AboveThreshold(0, uniforms=uniforms, **ARGUMENTS)
        counts[next((place for place, query in enumerate(queries) if test.test(query)), 3)] += 1
    deviation = 5 * np.sqrt(0.25 / runs)
    assert np.all(np.abs(counts / runs - expected) < deviation)
    half = np.array([float(p) for p in transcripts(queries, 4, 1.0, 1.0)])
    assert np.abs(half - expected).max() > deviation


def test_spent_after_above():
    test = instance()
    test.test(10_000)
    before = test.state_dict()
    for query in (-10_000, 10_000):
        with pytest.raises(ProtocolError, match="spent"):
            test.test(query)
    assert test.state_dict() == before


@pytest.mark.parametrize("bad", [{}, {"noisy_threshold": 0.5, "spent": False}, {"noisy_threshold": np.zeros(2, int)}])
def test_bad_states_change_nothing(bad):
    test = instance(seed=6)
    before = test.state_dict()
    with pytest.raises(InvalidInput, match="above-threshold"):
        test.load_state_dict(bad)
    assert test.state_dict() == before


@pytest.mark.parametrize("bad", [np.nan, 0.5, 2**61, -(2**61), True, "1", None])
def test_bad_queries_change_nothing(bad):
    test, same = instance(seed=8), instance(seed=8)
    for _ in range(3):
        with pytest.raises(InvalidInput, match="'query'"):
            test.test(bad)
    assert [test.test(-2) for _ in range(1)] == [same.test(-2) for _ in range(1)]


LEVELS, RATES = [np.nan, 0.0, 2**61, True, "0"], [0, -1.0, np.nan, np.inf, True, None]


@pytest.mark.parametrize(("field", "values"), [("threshold", LEVELS), *((field, RATES) for field in ARGUMENTS)])
def test_bad_arguments(field, values):
    for bad in values:
        with pytest.raises(InvalidInput, match=f"'{field}'"):
            instance(**{field: bad})
