"""Small programs whose laws can be enumerated: what declarations are compared with.

A law is a dictionary from outcomes to probabilities. Each program has the noise that a declaration
states; how much neighbours differ is then a matter of counting, and no curve is asked.
"""

from itertools import product
from math import exp, inf, log

import numpy as np

REACH = 6
"""Two-sided geometric noise is gathered at this distance, which is post-processing."""


def softmax(scores, rate, units):
    """Return the law of one draw with weights e^{-rate score/units}."""
    weights = np.exp(-rate * (np.asarray(scores) - min(scores)) / units)
    return dict(enumerate((weights / weights.sum()).tolist()))


def geometric(rate, centre):
    """Return the law of a whole number plus two-sided geometric noise, gathered at both ends."""
    ratio = exp(-rate)
    law = {}
    for value in range(-REACH, REACH + 1):
        at = (1 - ratio) / (1 + ratio) * ratio ** abs(value - centre)
        if abs(value) == REACH:
            at = ratio ** abs(value - centre) / (1 + ratio)
        law[value] = at
    return law


def noisy_bits(bits, rate):
    """Return the law of noisy sums of one round each; a round's sum depends on earlier releases.

    After a release above 0 two rounds share the next sum.
    """
    law = {}

    def go(first, seen, chance):
        if first >= len(bits):
            law[seen] = law.get(seen, 0.0) + chance
            return
        count = 2 if seen and seen[-1] > 0 else 1
        for value, at in geometric(rate, sum(bits[first : first + count])).items():
            go(first + count, (*seen, value), chance * at)

    go(0, (), 1.0)
    return law


def restarting(bits, cost, reused=False):
    """Return the law of epochs that end themselves: each round tosses a coin that its bit moves.

    Args:
        bits: the rounds.
        cost: the logarithm of the ratio of the two chances.
        reused: whether the round of an alarm is used once more, by the next epoch.
    """
    low = exp(-cost) / 2
    chances = (low, low * exp(cost))
    law = {}

    def go(first, seen, chance):
        if first >= len(bits):
            law[seen] = law.get(seen, 0.0) + chance
            return
        for alarm in (False, True):
            at = chances[bits[first]] if alarm else 1 - chances[bits[first]]
            if alarm and reused:
                for again in (False, True):
                    once = chances[bits[first]] if again else 1 - chances[bits[first]]
                    go(first + 1, (*seen, alarm, again), chance * at * once)
            else:
                go(first + 1, (*seen, alarm), chance * at)

    go(0, (), 1.0)
    return law


def responses(bits, lie):
    """Return the law of one response to each bit, which lies with this probability."""
    law = {}
    for answer in product((0, 1), repeat=len(bits)):
        lies = sum(one != other for one, other in zip(answer, bits, strict=True))
        law[answer] = lie**lies * (1 - lie) ** (len(bits) - lies)
    return law


def leaking(bit, draws, distance):
    """Return the law of draws that show the bit with a small probability, and nothing otherwise.

    Each draw is within that total variation of one that never shows anything.
    """
    law = {(): 1.0}
    for _ in range(draws):
        following = {}
        for seen, chance in law.items():
            following[*seen, "nothing"] = chance * (1 - distance)
            following[*seen, bit] = chance * distance
        law = following
    return law


def largest_loss(one, other):
    """Return the largest log ratio of two laws, in either direction."""
    losses = [0.0]
    for outcome in one.keys() | other.keys():
        first = one.get(outcome, 0.0)
        second = other.get(outcome, 0.0)
        if first != second:
            losses.append(abs(log(first / second)) if first > 0 and second > 0 else inf)
    return max(losses)


def interval(one, other):
    """Return the length of the interval that holds the log ratios of two laws."""
    ratios = [log(one[outcome] / other[outcome]) for outcome in one]
    return max(ratios) - min(ratios)


def delta(one, other, epsilon):
    """Return the largest P(A) - e^epsilon Q(A) over events, in either direction."""
    found = 0.0
    for first, second in ((one, other), (other, one)):
        gains = (first.get(o, 0.0) - exp(epsilon) * second.get(o, 0.0) for o in first)
        found = max(found, sum(max(gain, 0.0) for gain in gains))
    return found


def pairs(symbols, rounds, people, neutral=None):
    """Yield all pairs of streams that differ in at most `people` rounds.

    Args:
        symbols: what a round may be.
        rounds: length of a stream.
        people: number of rounds of one person.
        neutral: what a round is zeroed out to (None: rounds are replaced by any symbol).
    """
    for stream in product(symbols, repeat=rounds):
        others = symbols if neutral is None else (neutral,)
        for places in product(range(rounds), repeat=people):
            for values in product(others, repeat=people):
                changed = list(stream)
                for place, value in zip(places, values, strict=True):
                    changed[place] = value
                yield stream, tuple(changed)
