"""Mironov's attack on float64 Laplace noise, against tacit's own running sum: a limitation, reproduced.

Mironov (2012), "On significance of the least significant bits for differential privacy". A float64 Laplace variable
is a function of a uniform number k 2^-53: of the floats near a value, only some can occur. A released sum x + noise
therefore tells often, and with certainty, that it cannot come from another x. Here a person's bit is 0 or 1, the
mechanism is `LaplaceTree` with one step, pure epsilon, and the attacker sees one released float64.

    python scripts/mironov.py [epsilon] [releases]
"""

import argparse
import math

import numpy as np

from tacit import Randomness
from tacit.noise.running_sums import LaplaceTree

GRID = 2.0**-53


def releases(bit, epsilon, count, source):
    """`count` independent releases of the person's bit by the shipped mechanism."""
    mechanism = LaplaceTree(1)
    sums = mechanism.start(count, mechanism.scale(epsilon), mechanism.noise_from(source.stream("noise")))
    return sums.add(np.full(count, float(bit)))


def noise_of(k):
    """The sampler's Laplace variable for the uniform number k 2^-53."""
    u = k * GRID
    return -math.log(2.0 - u - u) if u >= 0.5 else math.log(u + u)


def possible(released, bit, scale):
    """Whether any outcome of the sampler turns this bit into exactly this float."""
    half_tail = math.exp(-abs(released - bit) / scale) / 2
    k = round((1 - half_tail if released >= bit else half_tail) / GRID)
    # One step of k moves the noise by scale/tail; one unit in the last place of the sum covers this many steps.
    reach = 4 + math.ceil(2 * half_tail / GRID * math.ulp(max(abs(released), abs(bit))) / scale)
    inside = range(max(1, k - reach), min(int(1 / GRID) - 1, k + reach) + 1)
    return any(bit + noise_of(step) * scale == released for step in inside)


def attack(released, scale):
    """The bit, if the other one is impossible; None if both are possible."""
    zero, one = (possible(released, bit, scale) for bit in (0, 1))
    if zero and one:
        return None
    return 0 if zero else 1


def success(epsilon, count, seed):
    """(share of releases that give the bit away, number of wrong statements)."""
    scale = LaplaceTree(1).scale(epsilon)
    certain = wrong = 0
    for bit in (0, 1):
        source = Randomness.replayable(seed).child(bit)
        for released in releases(bit, epsilon, count, source).tolist():
            answer = attack(released, scale)
            certain += answer is not None
            wrong += answer is not None and answer != bit
    return certain / (2 * count), wrong


def main(epsilon: float = 0.5, count: int = 2000) -> None:
    share, wrong = success(epsilon, count, seed=1)
    print(f"epsilon={epsilon:g}: {share:.1%} of {2 * count} releases tell the bit with certainty, {wrong} wrong")
    print(f"epsilon-DP would allow certainty never, and a guess with probability {1 / (1 + math.exp(-epsilon)):.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("epsilon", nargs="?", type=float, default=0.5, help="privacy of one release")
    parser.add_argument("count", nargs="?", type=int, default=2000, help="releases for each value of the bit")
    arguments = parser.parse_args()
    main(arguments.epsilon, arguments.count)
