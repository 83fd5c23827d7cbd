"""Delta of lazy chains and of repeated draws, by walks in place of Renyi divergences.

The tosses that hold no round of the person's draw from nearby laws with probability at most s = 1 - q_min: they are a
walk (`smoothed_walk`). Of the toss that holds the person's round the vertices decide, W being the walk's profile:

    delta(eps) = max over (q, q') of  q W(eps - ln q/q') + (1-q) (D W)(eps - ln (1-q)/(1-q'))

since q V(y q'/q) is jointly convex in (q, q'). A person with m rounds stands in batches of k_1, k_2, ... of them: then
each of those tosses is one dominating pair of its own (`coins.toss_atoms`) and a sure draw, and the worst partition of
m counts. With a cap K on redraws the walk has min(K, .) steps: one more draw never leaks less, so by induction the
largest redraw probability stays the worst one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import exp, expm1, inf, isfinite, log, sqrt
from typing import Protocol

import numpy as np

from tacit.privacy.coins import moved_pairs, toss_atoms
from tacit.privacy.few_steps import WorstDraws
from tacit.privacy.smoothed_walk import SmoothedWalk
from tacit.privacy.walk_law import Draws, WalkTooLong
from tacit.validation import FloatArray

Profile = Callable[[FloatArray], FloatArray]


class Walk(Protocol):
    """The profile of all tosses that hold none of a person's rounds."""

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        """An upper bound at each of these epsilons."""

    def kept_and_drawn(self, kept: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same at the epsilons `kept`, and with one draw more at the epsilons `drawn`."""


Walks = Callable[[Draws], Walk]

# Kappa is a power of this: of a fixed grid, so that epsilon and delta agree.
_RATIO, _LEAST_POWER = 1.15, -3
# So few tosses are computed one by one, if their draws are neither too narrow nor too wide for a grid.
_FEW, _WIDTHS = 12, (1e-6, 4.0)
# Partitions of more rounds than this are left to the Renyi divergences.
MOST_ROUNDS = 12
# Draws of a wider range than this leave nothing to gain, and their exponentials no room in a float.
WIDEST = 300.0
# Kappa is looked for again if the epsilon that it was chosen for was far off, so often at most.
_REPEATS = 4
# Epsilons that are tried at once, and how often.
_TRIED, _PASSES = 65, 6
# Losses of several tosses are rounded up to this share of a draw's range.
_FINE = 1 / 64
# What the hull of a toss may have lost, in total variation.
_HULL = 1e-15


@dataclass(frozen=True)
class ChainProfile:
    """A lazy chain whose draws have bounded range, in numbers.

    Attributes:
        width: the range of a draw.
        decisions: how many times the coin is tossed.
        chance: the largest probability of a redraw at a toss.
        least: the least -ln of a keep probability.
        spread: how far above it the others reach.
        shifts: how far a batch with 1, 2, ... of a person's rounds moves its coin (empty: no data move the coin).
        rounds: how many rounds one person may stand in.
        cap: at most so many redraws.
        reference: a second chain redraws with this probability at each toss.
    """

    width: float
    decisions: int
    chance: float
    least: float = 0.0
    spread: float = 0.0
    shifts: tuple[float, ...] = ()
    rounds: int = 1
    cap: int | None = None
    reference: float = 0.0

    @lru_cache(maxsize=256)  # noqa: B019 - profiles are small, public and equal if their numbers are
    def epsilon(self, delta: float, known: float) -> float:
        """The smallest epsilon at this delta, if it is less than the one that is `known` already."""
        if not (0 < known < inf and delta > 0) or self.decisions == 0:
            return known
        guess, found = 0.95 * known, known
        for _ in range(_REPEATS):
            found = self._epsilon_near(guess, delta, found)
            if found >= 0.97 * guess:
                break
            guess = found
        return found

    def _epsilon_near(self, guess: float, delta: float, known: float) -> float:
        """The smallest epsilon by the profile that is best at `guess`."""
        profile = self._best(min(log(delta), -0.1), guess)
        if profile is None or not profile(np.array([known]))[0] <= delta:
            return known
        low, high = 0.0, known
        for _ in range(_PASSES):
            tried = np.linspace(low, high, _TRIED)
            deltas = profile(tried)
            first = int(np.argmax(deltas <= delta))
            if first == 0:
                return low
            low, high = float(tried[first - 1]), float(tried[first])
        # Between two close epsilons the logarithm of delta is a line.
        above, below = log(deltas[first - 1] / delta), log(max(deltas[first], 1e-300) / delta)
        between = low + (high - low) * min(1.0, above / (above - below) * (1 + 1e-6))
        return between if profile(np.array([between]))[0] <= delta else high

    def delta(self, epsilon: float, known: float) -> float:
        """The smallest delta at this epsilon, if it is less than the one that is `known` already."""
        if not known > 0 or self.decisions == 0:
            return known
        profile = self._best(min(max(log(known), -600.0), -0.1), epsilon)
        return known if profile is None else min(known, float(profile(np.array([epsilon]))[0]))

    def _best(self, log_delta: float, epsilon: float) -> Profile | None:
        """The profile with the least delta at `epsilon`, which is about e^log_delta."""
        if not self._covered:
            return None
        if self._drawless:
            return partial(self._at, lambda draws: _Nothing())
        if self._few:
            return partial(self._at, lambda draws: self._worst_draws)
        at, found = np.array([epsilon]), dict[int, Profile]()

        def cost(power: int) -> float:
            if power not in found:
                found[power] = self._profile(_RATIO**power, log_delta, epsilon)
            return float(found[power](at)[0])

        # Close to the best is this (a fit; any kappa is valid). Delta falls to the best one and rises after it.
        factor = 1.87 * self._mean**0.23 * (-2 * log_delta) ** -0.435
        kappa = max(factor, 0.9) * (1 + sqrt(-2 * log_delta) / self._deviation)
        power = max(round(log(kappa, _RATIO)), _LEAST_POWER + 1)
        try:
            way = -1 if cost(power - 1) < cost(power) else 1
            while power > _LEAST_POWER and cost(power + way) < cost(power):
                power += way
        except WalkTooLong:
            return None
        return found[power]

    @property
    def _covered(self) -> bool:
        """Whether walks say anything here."""
        pairs = (pair for shift in self.shifts for pair in moved_pairs(self.least, self.spread, shift))
        certain = any(pair.certain or not all(map(isfinite, pair.losses)) for pair in pairs)
        return not certain and self.width <= WIDEST and (self.rounds <= MOST_ROUNDS or not self.shifts)

    @property
    def _drawless(self) -> bool:
        return self.width == 0 or self.cap == 0 or (self.chance == 0 and self.reference == 0)

    @property
    def _few(self) -> bool:
        """Whether the worst choices are computed one by one, which is better and takes longer."""
        plain = self.rounds == 1 and self.cap is None and self.reference == 0
        return plain and self.decisions <= _FEW and _WIDTHS[0] < self.width < _WIDTHS[1]

    @cached_property
    def _worst_draws(self) -> WorstDraws:
        return WorstDraws(self.width, self.decisions - bool(self.shifts), self.chance)

    @cached_property
    def _mean(self) -> float:
        return max(1.0, self._draws(0).mean)

    @property
    def _deviation(self) -> float:
        """About the standard deviation of the privacy loss."""
        return self.width / 2 * sqrt(self._mean)

    def _profile(self, kappa: float, log_delta: float, epsilon: float) -> Profile:
        """The bound with this kappa, computed for deltas and epsilons of about this size."""
        tilt = min(max(0.0, epsilon / self._deviation**2 - 0.5), sqrt(-2 * log_delta) / self._deviation)
        walks: dict[Draws, SmoothedWalk] = {}

        def walk(draws: Draws) -> SmoothedWalk:
            if draws not in walks:
                walks[draws] = SmoothedWalk(self.width, draws, kappa, tilt)
            return walks[draws]

        return partial(self._at, walk)

    def _at(self, walk: Walks, epsilon: FloatArray) -> FloatArray:
        """Delta at these epsilons: the largest over all partitions of a person's rounds."""
        if not self.shifts:
            return np.asarray(walk(self._draws(0))(epsilon))
        total = np.zeros_like(epsilon)
        for parts in self._partitions:
            tossed = self._one_toss(walk, parts[0], epsilon) if len(parts) == 1 else self._tosses(walk, parts, epsilon)
            total = np.maximum(total, tossed)
        return np.asarray(np.minimum(total, 1.0))

    def _draws(self, sure: int, cap: int | None = None, others: int | None = None) -> Draws:
        others = self.decisions - sure if others is None else others
        tosses = [(others, self.chance)]
        tosses += [(self.decisions, self.reference)] if self.reference else []
        return Draws(tuple(tosses), sure, self.cap if cap is None else cap)

    def _one_toss(self, walk: Walks, part: int, epsilon: FloatArray) -> FloatArray:
        """The vertices: what is kept costs no draw."""
        others = self.decisions - 1
        kept = walk(self._draws(0, others=others))
        drawn = kept if self.cap is None else walk(self._draws(0, max(self.cap - 1, 0), others))
        pairs = moved_pairs(self.least, self.spread, self.shifts[part - 1])
        # The last row: coins that agree; then more redraws are worse.
        losses = np.array([*(pair.losses for pair in pairs), (0.0, 0.0)])[:, :, None]
        losses = losses + 1e-14 * np.abs(losses)
        keep = np.array([*(exp(-pair.hazard) for pair in pairs), 1 - self.chance])[:, None]
        draw = np.array([*(-expm1(-pair.hazard) for pair in pairs), self.chance])[:, None]
        first, second = kept.kept_and_drawn(epsilon - losses[:, 0], epsilon - losses[:, 1])
        if drawn is not kept:
            _, second = drawn.kept_and_drawn(epsilon - losses[:, 0], epsilon - losses[:, 1])
        return np.asarray(np.max(keep * first + draw * second, axis=0) * (1 + 1e-14))

    def _tosses(self, walk: Walks, parts: tuple[int, ...], epsilon: FloatArray) -> FloatArray:
        """Several of a person's batches: the atoms of their tosses, and a draw at each."""
        losses, chances = self._atoms[parts]
        profile = walk(self._draws(len(parts)))
        spread = profile(epsilon[:, None] - losses)
        found: FloatArray = spread @ chances
        return found * (1 + 1e-12) + len(parts) * _HULL * (1 + np.exp(np.minimum(epsilon, 700.0)))

    @cached_property
    def _partitions(self) -> list[tuple[int, ...]]:
        """The partitions of a person's rounds into parts that fit into the batches."""
        largest = len(self.shifts)
        if self.rounds >= largest * self.decisions:
            return [(largest,) * self.decisions]
        return [parts for parts in _partitions(self.rounds, largest) if len(parts) <= self.decisions]

    @cached_property
    def _atoms(self) -> dict[tuple[int, ...], tuple[FloatArray, FloatArray]]:
        """Losses and probabilities of all tosses of a partition, and of its beginnings."""
        found: dict[tuple[int, ...], tuple[FloatArray, FloatArray]] = {(): (np.zeros(1), np.ones(1))}
        single = [toss_atoms(self.least, self.spread, shift) for shift in self.shifts]
        grid = self.width * _FINE

        def atoms(parts: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
            if parts not in found:
                (losses, chances), (more, likely) = atoms(parts[:-1]), single[parts[-1] - 1]
                found[parts] = _merged((losses[:, None] + more).ravel(), (chances[:, None] * likely).ravel(), grid)
            return found[parts]

        for parts in self._partitions:
            atoms(parts)
        return found


class _Nothing:
    """The profile V_0 of releasing nothing, which no draw follows."""

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        return -np.expm1(np.minimum(epsilon, 0.0))

    def kept_and_drawn(self, kept: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self(kept), self(drawn)


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Falling sequences of parts of at most `largest` that sum to `total`."""
    if total == 0:
        yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in _partitions(total - part, part):
            yield (part, *rest)


def _merged(losses: FloatArray, chances: FloatArray, grid: float) -> tuple[FloatArray, FloatArray]:
    """The same atoms with losses rounded up to a grid, if there are many."""
    if len(losses) <= 64 or grid <= 0:
        return losses, chances
    cells, where = np.unique(np.ceil(losses / grid), return_inverse=True)
    return cells * grid * (1 + 1e-14), np.bincount(where, chances).astype(np.float64)
