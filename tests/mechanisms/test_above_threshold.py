"""Above threshold: its answers, its end, its errors."""

import numpy as np
import pytest

from tacit.errors import InvalidInput, ProtocolError
from tacit.mechanisms.above_threshold import AboveThreshold
from tacit.randomness import Randomness

ARGUMENTS = {"width": 1.0, "epsilon_threshold": 0.5, "epsilon_query": 1.0}


def instance(threshold=0.0, seed=1, **fields):
    generator = Randomness.replayable(seed).stream("queries")
    return AboveThreshold(threshold, generator=generator, **{**ARGUMENTS, **fields})


def test_clear_cases_are_answered_rightly():
    for seed in range(50):
        test = instance(0.0, seed)
        assert not any(test.test(-1e3) for _ in range(20))
        assert not test.spent
        assert test.test(1e3)
        assert test.spent


def test_spent_after_above():
    test = instance()
    test.test(1e3)
    before = test.state_dict()
    for query in (-1e3, 1e3):
        with pytest.raises(ProtocolError, match="spent"):
            test.test(query)
    assert test.state_dict() == before


def test_chance_of_above_is_that_of_two_laplace_noises():
    """query + Lap(1) > threshold + Lap(2), with probability 1/2 at a tie; 8,000 draws at five deviations.

    With half of the query noise a query at distance 3 would be answered "above" clearly less often.
    """

    def chance(distance, **fields):
        generator = Randomness.replayable(3).stream("all")
        arguments = {**ARGUMENTS, **fields, "generator": generator}
        return np.mean([AboveThreshold(0.0, **arguments).test(distance) for _ in range(8_000)])

    # P[Lap(a) + Lap(b) > x] = (a^2 e^{-x/a} - b^2 e^{-x/b}) / (2 (a^2 - b^2)) for x >= 0
    a, b, x = 2.0, 1.0, 3.0
    exact = (a**2 * np.exp(-x / a) - b**2 * np.exp(-x / b)) / (2 * (a**2 - b**2))
    deviation = 5 * 0.5 / np.sqrt(8_000)
    assert abs(chance(0.0) - 0.5) < deviation
    assert abs(chance(-x) - exact) < deviation
    assert abs(chance(x) - (1 - exact)) < deviation
    assert abs(chance(-x, width=0.5) - exact) > deviation


def test_query_noise_is_fresh_and_the_threshold_is_kept():
    test = instance(seed=4)
    noisy = test.state_dict()["noisy_threshold"]
    for _ in range(30):
        test.test(-1e3)
        assert test.state_dict()["noisy_threshold"] == noisy
    middle = [instance(seed=5).test(0.0) for _ in range(3)]
    assert len(set(middle)) == 1  # the same seed, the same answer


def test_state_restores():
    test = instance(seed=6)
    test.test(-1e3)
    other = instance(seed=7)
    other.load_state_dict(test.state_dict())
    assert other.state_dict() == test.state_dict()
    other.test(1e3)
    assert not test.spent


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, True, "1", None])
def test_bad_queries_change_nothing(bad):
    test, same = instance(seed=8), instance(seed=8)
    for _ in range(3):
        with pytest.raises(InvalidInput, match="'query'"):
            test.test(bad)
    assert [test.test(-2.0) for _ in range(1)] == [same.test(-2.0) for _ in range(1)]


@pytest.mark.parametrize("field", list(ARGUMENTS))
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, True, None])
def test_bad_arguments(field, bad):
    with pytest.raises(InvalidInput, match=f"'{field}'"):
        instance(**{field: bad})


@pytest.mark.parametrize("bad", [np.nan, np.inf, True, "0"])
def test_bad_thresholds(bad):
    with pytest.raises(InvalidInput, match="'threshold'"):
        instance(bad)
