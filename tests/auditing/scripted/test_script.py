"""Symbols have the laws of the numbers they stand for."""

import numpy as np
import pytest

from exact.selection_law import flip_law
from tacit.algorithms.tracking import restart_on_shift as mechanism
from tacit.algorithms.tracking.restart_on_shift import AboveThreshold
from tacit.auditing.script import (
    GeometricLaw,
    NoisyNumber,
    NotEnumerable,
    ScriptedRandomness,
    Stream,
    Walk,
    race_law,
    symbols,
)
from tacit.noise.randomness import Randomness
from tacit.noise.selection import permute_and_flip
from tacit.noise.uniforms import Uniforms


def law_of(experiment):
    """{outcome: probability} of an experiment on a scripted stream."""
    law, waiting = {}, [((), 1.0)]
    while waiting:
        walk = Walk(*waiting.pop())
        outcome = experiment(Stream(walk, "s"))
        law[outcome] = law.get(outcome, 0.0) + walk.probability
        waiting += walk.branches
    return law


def test_selections_have_their_laws():
    sums = np.array([0.0, 1.0, 2.5])
    law = law_of(lambda stream: permute_and_flip(sums, 0.8, 1.0, stream))
    np.testing.assert_allclose([law[k] for k in range(3)], flip_law(sums, 0.8, 1.0), rtol=1e-10)


def test_races_in_both_directions():
    weights = np.array([1.0, 2.0, 5.0])
    law = law_of(lambda stream: (stream.standard_exponential(3) / weights).argmin())
    np.testing.assert_allclose([law[k] for k in range(3)], weights / 8, rtol=1e-13)
    # 1 + E_0 against 2 E_1: P[E_0 + 1 < 2 E_1] = e^{-1/2} 2/3.
    np.testing.assert_allclose(
        race_law(np.array([1.0, 0.0]), np.array([1.0, 2.0]))[0], np.exp(-0.5) * 2 / 3, rtol=1e-12
    )
    drawn = Randomness.replayable(1).stream("x").standard_exponential((200_000, 2))
    larger = np.mean(drawn[:, 0] * 0.5 - 0.3 > drawn[:, 1])
    down = race_law(np.array([0.3, 0.0]), np.array([-0.5, -1.0]))
    assert abs(down[0] - larger) < 5 * np.sqrt(0.25 / 200_000)


def test_clocks_and_coins_remember_what_is_known():
    def clock(stream):
        clock = stream.standard_exponential()
        return bool(clock <= 1.0), bool(clock <= 0.5), bool(clock > 2.0)

    law = law_of(clock)
    assert law[True, True, False] == pytest.approx(1 - np.exp(-0.5))
    assert law[True, False, False] == pytest.approx(np.exp(-0.5) - np.exp(-1.0))
    assert law[False, False, True] == pytest.approx(np.exp(-2.0))

    def coin(stream):
        coin = stream.random()
        return int(coin / 0.3 * 3) if coin < 0.3 else -1

    law = law_of(coin)
    assert law[-1] == pytest.approx(0.7)
    assert [law[k] for k in range(3)] == pytest.approx([0.1] * 3)
    assert law_of(lambda stream: stream.integers(4)) == pytest.approx(dict.fromkeys(range(4), 0.25))


def test_above_threshold_is_summed_out():
    """Against the sum of the definition over all thresholds, on a coarse lattice and on a fine one."""
    for steps, accuracy in ((5, 1e-12), (2**24, 1e-6)):
        queries, rates = [2 * steps, -5 * steps, 4 * steps], (0.7 / (5 * steps), 0.4 / (5 * steps))

        def answers(stream, queries=queries, steps=steps):
            uniforms = Uniforms(stream, stream)
            instance = AboveThreshold(0, width=5 * steps, epsilon_threshold=0.7, epsilon_query=0.4, uniforms=uniforms)
            given = []
            for query in queries:
                given.append(instance.test(query))
                if instance.spent:
                    break
            return tuple(given)

        with symbols():
            law = law_of(answers)
        stride = max(1, steps // 2000)  # of a fine lattice, which is nearly a line
        points = np.arange(-60 / rates[0] // stride, 60 / rates[0] // stride) * stride
        mass = np.exp(-rates[0] * np.abs(points))
        mass /= mass.sum()
        above = [GeometricLaw(rates[1]).above(points - query) for query in queries]
        expected = {
            (True,): np.sum(mass * above[0]),
            (False, True): np.sum(mass * (1 - above[0]) * above[1]),
            (False, False, True): np.sum(mass * (1 - above[0]) * (1 - above[1]) * above[2]),
            (False, False, False): np.sum(mass * (1 - above[0]) * (1 - above[1]) * (1 - above[2])),
        }
        assert law == pytest.approx(expected, abs=accuracy)
    assert mechanism.one_draw.__module__ == mechanism.__name__  # put back


def test_what_has_no_finite_law_is_refused():
    stream = ScriptedRandomness(Walk((), 1.0)).stream("noise")
    with pytest.raises(NotEnumerable, match="standard_normal"):
        _ = stream.standard_normal
    with pytest.raises(NotEnumerable, match="array of uniform"):
        stream.random(3)
    race = stream.standard_exponential(2)
    race.argmin()
    with pytest.raises(NotEnumerable, match="run twice"):
        race.argmax()
    with pytest.raises(NotEnumerable, match="exp"):
        np.exp(race)
    with pytest.raises(NotEnumerable, match="no closed law"):
        (np.log(stream.standard_exponential(2)) * np.array([1.0, 2.0])).argmin()
    query, threshold = (NoisyNumber(stream.decide, shift, GeometricLaw(0.5)) for shift in (0.0, 1.0))
    assert (query > threshold) in (True, False)
    with pytest.raises(NotEnumerable, match="compared twice"):
        _ = query > threshold
