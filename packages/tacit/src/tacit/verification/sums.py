"""Sums behind noise: how far one person moves the draws of a mechanism on integers, from its definition alone.

The statements are those of docs/algorithms/running-sums.md and docs/numerics.md. A mechanism releases integers. With
the transcript fixed a neighbour moves its fresh draws by the encoder's columns times the shift of the records and,
where a correction is rounded, by at most 1 + 2e a coordinate and step besides. Discrete Gaussian draws hide like
N(0, sigma^2), two-sided geometric ones cost their rate a step in l1, cube noise its rate in l_infinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.facts import Facts, NotVerifiable
from tacit.verification.leaks import GaussianLeak, Leak, PureLeak, Real

# Of the discrete Gaussian that every exact mechanism draws: three convolved tables, less 4 for what neighbours share.
SIGMA_SQUARED = 256**2 * (1 + 128**2) * (1 + 16384**2) - 4
# What one such draw is off: in epsilon, in the exponent of delta, in total variation (docs/numerics.md).
_EXTRA, _EXPONENT, _DISTANCE = mp.mpf(2) ** -109, mp.mpf(2) ** -110, mp.mpf(2) ** -179


def sum_leak(noise: Facts, mechanism: Facts, shift: Shift, streams: int) -> Leak:
    """Bound what the released sums of `streams` independent noises leak together."""
    steps = mechanism.integer("steps")
    if steps == 0:
        return PureLeak(mp.mpf(0))
    kind, law = mechanism.text("kind"), noise.text("law")
    if law == "discrete gaussian":
        moved = _moved(noise, mechanism, shift)
        mu = mp.sqrt(streams) * moved / mp.sqrt(SIGMA_SQUARED)
        return gaussian(mu, noise, streams * steps * shift.dimension, streams)
    if kind not in ("LaplaceTree", "CubeTree"):
        raise NotVerifiable(f"{kind} with {law} noise has no independent accountant yet.")
    base, one = mechanism.integer("base", at_least=2), shift.pure(law)
    levels = tree_levels(steps, base)
    return PureLeak(streams * mp.mpf(noise.number("rate")) * levels * (one + shift.floors(law)))


@dataclass(frozen=True, kw_only=True)
class Shift:
    """By how many steps of the lattice one person moves the sum of all records.

    Attributes:
        losses: whether records are losses in a range that measures `units` steps, or vectors of that l2 norm.
        units: steps in the largest record.
        dimension: coordinates.
        sides: contributions that a neighbour moves.
        people: rounds of one person.
        apart: whether these are sure to stand in different steps of the sum.
        separation: by how many steps of the sum they are apart at least.
        grows: whether the step of the lattice grows along the stream; nodes of a tree are then rounded down.
    """

    losses: bool
    units: int
    dimension: int
    sides: int
    people: int
    apart: bool = True
    separation: int = 1
    grows: bool = False

    def floors(self, law: str) -> int:
        """By how many steps rounding a node down moves it besides: one a coordinate."""
        return (1 if law == "cube" else self.dimension) if self.grows else 0

    @property
    def single(self) -> Real:
        """In l2, for one round: every coordinate by the range (or half of it to the centre), or a vector's length."""
        if self.losses:
            return mp.mpf(self.units) / 2 * self.sides * mp.sqrt(self.dimension)
        return mp.mpf(self.units) * self.sides

    def pure(self, law: str) -> int:
        """In l_infinity for cube noise, in l1 otherwise, exactly."""
        if law == "cube":
            one = self.units // 2 if self.losses else self.units
        elif law == "two-sided geometric":
            one = self.units // 2 * self.dimension if self.losses else isqrt(self.dimension * self.units**2)
        else:
            raise NotVerifiable(f"Noise with the law {law!r} has no independent accountant yet.")
        return one * self.sides * self.people


def gaussian(mu: Real, noise: Facts, draws: int, streams: int = 1) -> GaussianLeak:
    """Gaussian privacy of so many discrete draws, and of corrections that may be off with some probability."""
    failure = streams * mp.mpf(noise.number("failure", default=0.0))
    distance, extra, exponent = draw_errors(draws)
    return GaussianLeak(mu, distance + failure, extra, exponent)


def draw_errors(draws: int) -> tuple[Real, Real, Real]:
    """What so many draws are off: in total variation, in epsilon, in the exponent of delta."""
    return draws * _DISTANCE, draws * _EXTRA, draws * _EXPONENT


def _moved(noise: Facts, mechanism: Facts, shift: Shift) -> Real:
    """How far draws move in l2: records and roundings, whose inner product is at most that of their moduli."""
    steps, dimension = mechanism.integer("steps"), shift.dimension
    if mechanism.text("kind") == "Tree":  # a column of ones in each level; nothing is rounded but nodes that grow
        levels = mp.sqrt(tree_levels(steps, 2))
        return levels * (shift.single * shift.people + mp.sqrt(shift.floors("tree")))
    together, total = _columns(mechanism, shift)
    along = shift.single * together
    error = 1 + 2 * mp.mpf(noise.number("rounding_error"))
    across = error * mp.sqrt((steps - 1) * dimension)
    whole = shift.single * shift.people * total * error * mp.sqrt(dimension)
    return mp.sqrt(along**2 + 2 * min(along * across, whole) + across**2)


def _columns(mechanism: Facts, shift: Shift) -> tuple[Real, Real]:
    """The l2 norm of a person's columns together, the first ones being the worst, and the sum of one column."""
    if mechanism.text("kind") != "Buffered":
        raise NotVerifiable(f"The mechanism {mechanism.text('kind')} has no independent accountant yet.")
    single, total = _closed(mechanism)
    if shift.people == 1 or not shift.apart:
        return shift.people * single, total
    gap = shift.separation
    count = min(shift.people, -(-mechanism.integer("steps") // gap))
    return min(shift.people * single, mp.sqrt(_spaced(mechanism, count, gap)) * shift.people / count), total


def _spaced(mechanism: Facts, count: int, gap: int) -> Real:
    """The squares of the sum of columns 1, 1 + gap, ...: from each column's first step to the next column's, then on.

    Between two of them the sum is one exponential a buffer, sum_i v_i theta_i^r, but for c_0 = 1 at the column's first
    step in place of sum_i omega_i.
    """
    (decays, weights), steps = _exponentials(mechanism), mechanism.integer("steps")
    held, squares = [mp.mpf(0) for _ in decays], mp.mpf(0)
    for column in range(count):
        squares += (1 + mp.fsum(held)) ** 2
        held = [(value + weight) * decay for value, weight, decay in zip(held, weights, decays, strict=True)]
        length = (gap if column < count - 1 else steps - (count - 1) * gap) - 1
        for v, x in zip(held, decays, strict=True):
            for w, y in zip(held, decays, strict=True):
                squares += v * w * (1 - (x * y) ** length) / (1 - x * y)
        held = [value * decay ** (gap - 1) for value, decay in zip(held, decays, strict=True)]
    return squares


def _closed(mechanism: Facts) -> tuple[Real, Real]:
    """The norm and the sum of c_0 = 1, c_k = sum_i omega_i theta_i^k: geometric series."""
    decays, weights = _exponentials(mechanism)
    last = mechanism.integer("steps") - 1

    def series(ratio: Real) -> Real:
        return ratio * (1 - ratio**last) / (1 - ratio)

    pairs = [(v * w, x * y) for v, x in zip(weights, decays, strict=True) for w, y in zip(weights, decays, strict=True)]
    norm = mp.sqrt(1 + mp.fsum(weight * series(ratio) for weight, ratio in pairs))
    return norm, 1 + mp.fsum(weight * series(decay) for weight, decay in zip(weights, decays, strict=True))


def _exponentials(mechanism: Facts) -> tuple[list[Real], list[Real]]:
    """The decays and the weights of a buffered encoder; so chosen, its coefficients are positive and fall."""
    decays, weights = ([mp.mpf(value) for value in mechanism.numbers(name)] for name in ("decays", "weights"))
    if len(decays) != len(weights) or not all(0 < d < 1 for d in decays) or mp.fsum(weights) >= 1:
        raise InvalidInput("The 'decays' and 'weights' of Buffered must be one length, in (0, 1), of sum below 1.")
    return decays, weights


def tree_levels(steps: int, base: int) -> int:
    """Count the nodes of a tree in which one step stands at most: the digits of `steps`."""
    levels = 1
    while steps >= base:
        steps, levels = steps // base, levels + 1
    return levels


def together(rounds: int, batch: int) -> Real:
    """The largest root of a sum of squares of how many of a person's rounds stand in each batch."""
    full, rest = divmod(rounds, batch)
    return mp.sqrt(full * batch**2 + rest**2)
