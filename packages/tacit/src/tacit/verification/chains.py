"""Lazy chains and repeated draws: docs/algorithms/lazy-experts.md, its statements, computed afresh.

A toss keeps with probability q in [qmin, qmax], which a person's k rounds of a batch move by a factor of at most
e^{k eta}. Otherwise it draws, with range r. Pure: bits and draws add up. Renyi: the vertices' moment F at the person's
batches, 1 + (1-qmin)(E-1) elsewhere. Walk: the vertices' mixture of W and D W. Draws of another kind than those of
bounded range are given by their moment, and coins that drift elsewhere by how far (docs/algorithms/ctrl.md).

The walk (`Walk`) follows the page's lemma. With kappa > 1/2 let U be a loss of density e^{z/2 - kappa|z|} (times a
constant) and D randomised response of losses a and -a, where a >= r/2 is the least root of
cosh(kappa a)/cosh(a/2) = max_t E e^{(kappa-1/2) Z}. Then a number K of draws of range r, each chosen by whatever came
before, leaks at most E D^K U V_0. Here the law of K is a table, the place of the walk given K is binomial, and every
term is positive: nothing cancels, and what float64 may have lost is added.

Few draws are followed step by step (`Profile`). A profile V is convex in y = e^eps, so that a chord between two of its
points lies above it. One draw of range r makes A V = max over t in [0, r] of p_t V(eps - t) + (1 - p_t) V(eps - t + r),
p_t = (1 - e^{t-r})/(1 - e^{-r}). Places whose epsilons are r/K apart stay among themselves. While t moves both
arguments along one chord each, the sum is a constant less b e^t and less c e^{-t} with b, c >= 0, so the largest value
is at e^t = sqrt(c/b), or at an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, exp, fsum, log, sqrt

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

from tacit.verification.facts import NotVerifiable
from tacit.verification.leaks import BestOf, Leak, PureLeak, Real, RenyiLeak, solved

Floats = NDArray[np.float64]
# Tables with more entries than this are not made.
MOST_ENTRIES = 2 * 10**7


class TooLong(Exception):
    """The law of the walk has too many entries."""


@dataclass(frozen=True)
class Counts:
    """The law of a number of draws: P[K = first + i] = chances[i], and at most `lost` elsewhere."""

    first: int
    chances: Floats
    lost: float

    def plus(self, sure: int) -> Counts:
        return Counts(self.first + sure, self.chances, self.lost)

    def joined(self, other: Counts) -> Counts:
        if other.first == 0 and len(other.chances) == 1:
            return self
        chances = np.convolve(self.chances, other.chances) * (1 + 1e-12)
        return Counts(self.first + other.first, chances, self.lost + other.lost)

    def capped(self, cap: int) -> Counts:
        kept = cap - self.first
        if kept >= len(self.chances):
            return self
        if kept <= 0:
            return Counts(cap, np.ones(1), self.lost)
        chances = self.chances[: kept + 1].copy()
        chances[kept] = self.chances[kept:].sum()
        return Counts(self.first, chances, self.lost)


def binomial(count: int, chance: float, tail: float) -> Counts:
    """How often coins of this chance fall, but for a tail (Bernstein's inequality says how far it begins)."""
    if count == 0 or chance == 0:
        return Counts(0, np.ones(1), 0.0)
    mean, exponent = count * chance, log(2 / tail)
    reach = exponent / 3 + sqrt(exponent**2 / 9 + 2 * exponent * mean * (1 - chance))
    first, last = max(0, ceil(mean - reach) - 1), min(count, int(mean + reach) + 1)
    return Counts(first, binomial_chances(np.array([count]), np.arange(first, last + 1), chance)[0], tail)


def binomial_chances(counts: NDArray[np.int64], ups: NDArray[np.int64], chance: float) -> Floats:
    """P[ups_j of counts_i coins fall] as a matrix (or of ups of the same shape), never too small.

    By Loader's formula (2000, "Fast and accurate computation of binomial probabilities"), in which the large
    logarithms of factorials have cancelled: ln P = S(n) - S(k) - S(n-k) - D(k, np) - D(n-k, nq), S of `_stirling`.
    """
    if chance == 1:
        return np.asarray(ups == counts[:, None], dtype=np.float64)
    n = counts[:, None].astype(np.float64)
    k = (ups if ups.ndim == 2 else ups[None, :]).astype(np.float64)
    inside = (k >= 0) & (k <= n)
    k = np.clip(k, 0, n)
    (fallen, lost), (rest, other) = _deviance(k, n * chance), _deviance(n - k, n * (1 - chance))
    logs = _stirling(n) - _stirling(k) - _stirling(n - k) - fallen - rest
    return np.where(inside, np.exp(logs + lost + other + 1e-14), 0.0)


def _deviance(found: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """D(k, m) = k ln(k/m) + m - k >= 0, and what rounding may have taken or added."""
    apart = (found - mean) / np.maximum(mean, 1e-300)
    logs = found * np.log1p(np.maximum(apart, -1 + 1e-16))
    return logs - (found - mean), 1e-15 * (np.abs(logs) + np.abs(found - mean))


# ln k! - (k ln k - k) for small k; for others Stirling's series, whose next term is below 1e-16.
_SMALL_FACTORIALS = np.array([float(mp.loggamma(k + 1) - (k * mp.log(k) - k if k else 0)) for k in range(32)])


def _stirling(k: Floats) -> Floats:
    large = np.maximum(k, 32.0)
    inverse = 1 / large
    series = inverse * (1 / 12 - inverse**2 * (1 / 360 - inverse**2 * (1 / 1260 - inverse**2 / 1680)))
    found: Floats = np.where(
        k < 32, _SMALL_FACTORIALS[np.minimum(k, 31.0).astype(np.int64)], np.log(2 * np.pi * large) / 2 + series
    )
    return found


class Walk:
    """The profile of a random number of draws of range `width`, smoothed once."""

    def __init__(self, width: float, kappa: float, counts: Counts, tail: float) -> None:
        self.step = float(_response(width, kappa)) * (1 + 1e-14)
        self.up = 1 / (1 + exp(-self.step))
        self._kappa = kappa
        places, chances, lost = _places(counts, self.up, tail)
        self._places, self._chances = places, chances
        self._lost = lost + counts.lost
        # A chance is a sum of so many products, each of a few roundings; the profile is summed exactly.
        self._rounding = (len(counts.chances) + 16) * 2.3e-16

    def __call__(self, epsilon: Floats) -> Floats:
        apart = epsilon[:, None] - self._places * self.step
        apart = apart - 1e-14 * (np.abs(apart) + np.abs(epsilon[:, None]))
        kappa, left = self._kappa, np.minimum(apart, 0.0)
        right = np.exp(-(kappa - 0.5) * np.maximum(apart, 0.0)) / (2 * kappa)
        values = np.where(apart >= 0, right, -np.expm1(left) + np.exp((kappa + 0.5) * left) / (2 * kappa))
        found = np.array([fsum(row) for row in values * self._chances])
        return np.minimum(found * (1 + self._rounding) + self._lost, 1.0)

    def drawn(self, epsilon: Floats) -> Floats:
        """The same with one draw more: D W."""
        return self.up * self(epsilon - self.step) + (1 - self.up) * self(epsilon + self.step)


def _places(counts: Counts, up: float, tail: float) -> tuple[Floats, Floats, float]:
    """Where the walk stands, how likely, and what is left out."""
    numbers = counts.first + np.arange(len(counts.chances))
    exponent, most = log(2 / tail), int(numbers[-1])
    reach = int(exponent / 3 + sqrt(exponent**2 / 9 + 2 * exponent * most * up * (1 - up))) + 2
    offsets = np.arange(-reach, reach + 1)
    if numbers.size * offsets.size > MOST_ENTRIES:
        raise TooLong
    ups = np.round(numbers * up).astype(np.int64)[:, None] + offsets[None, :]
    chances = binomial_chances(numbers, ups, up) * counts.chances[:, None]
    places = 2 * ups - numbers[:, None]
    low = int(places.min())
    law = np.bincount((places - low).ravel(), chances.ravel()).astype(np.float64)
    kept = np.flatnonzero(law)
    return (kept + low).astype(np.float64), law[kept], tail


def _response(width: float, kappa: float) -> mp.mpf:
    """The least a >= r/2 with cosh(kappa a)/cosh(a/2) at least the largest moment of a draw, from above."""
    r, order = mp.mpf(width), mp.mpf(kappa) - mp.mpf(1) / 2
    end = mp.log(order * mp.expm1((order + 1) * r) / ((order + 1) * mp.expm1(order * r)))
    up = -mp.expm1(end - r) / -mp.expm1(-r)
    goal = order * end + mp.log(up + (1 - up) * mp.exp(-order * r))
    low, high = r / 2, r
    for _ in range(70):
        middle = (low + high) / 2
        value = mp.log(mp.cosh(kappa * middle)) - mp.log(mp.cosh(middle / 2))
        low, high = (low, middle) if value >= goal else (middle, high)
    return high


_CELLS = 128  # K
_ROUNDING = 1 + 1e-12


class Profile:
    """A bound on delta at every epsilon, after at most `most` draws: values at public places, chords between them."""

    def __init__(self, width: float, most: int) -> None:
        self._width, self._step = width, width / _CELLS
        reach = (most + 2) * _CELLS
        self._places = np.arange(-reach, reach + 1) * self._step
        self._values = np.maximum(-np.expm1(self._places), 0.0)

    def mixed(self, chance: float) -> Profile:
        """A draw with this probability, else nothing."""
        return self._with(((1 - chance) * self._values + chance * self.drawn()._values) * _ROUNDING)

    def drawn(self) -> Profile:
        """One draw more; as many draws as there may be move nothing at either end of the places."""
        values, count = self._values, len(self._places) - 2 * _CELLS
        found = values[_CELLS:-_CELLS].copy()
        for cell in range(_CELLS):
            # At places i: V(eps - t) runs along [i - cell - 1, i - cell], V(eps - t + r) as far right as K.
            first = _CELLS - cell - 1
            near = values[first : first + count], values[first + 1 : first + 1 + count]
            far = values[first + _CELLS : first + _CELLS + count], values[first + _CELLS + 1 :][:count]
            found = np.maximum(found, self._largest(cell * self._step, near, far))
        total = values.copy()
        total[_CELLS:-_CELLS] = found * _ROUNDING
        return self._with(total)

    def drawn_at(self, epsilon: float) -> float:
        """One draw more at this epsilon, which need not be a place: both arguments pass places at the same t."""
        right = int(np.searchsorted(self._places, epsilon))
        if right <= _CELLS:
            return float(-np.expm1(epsilon))
        if right >= len(self._places) - _CELLS:
            return 0.0
        # From t = start on, V(eps - t) runs along [at - 1, at] and V(eps - t + r) as far right as K.
        at = right - np.arange(_CELLS + 1)
        start = epsilon - self._places[right] + np.arange(_CELLS + 1) * self._step
        near, far = (
            (self._values[ends - 1], self._values[np.minimum(ends, len(self._values) - 1)])
            for ends in (at, at + _CELLS)
        )
        return float(self._largest(start, near, far).max()) * _ROUNDING

    def __call__(self, epsilon: float) -> float:
        if epsilon <= self._places[0]:
            return float(-np.expm1(epsilon))
        right = int(np.searchsorted(self._places, epsilon))
        if right == len(self._places):
            return 0.0
        share = np.expm1(self._places[right] - epsilon) / -np.expm1(-self._step)
        share *= np.exp(epsilon - self._places[right])
        low, high = self._values[right - 1], self._values[right]
        return float(high + min(1.0, share) * max(0.0, low - high)) * _ROUNDING

    def _with(self, values: Floats) -> Profile:
        made = object.__new__(Profile)
        made._width, made._step, made._places, made._values = self._width, self._step, self._places, values
        return made

    def _largest(self, start: float | Floats, near: tuple[Floats, Floats], far: tuple[Floats, Floats]) -> Floats:
        """The largest over t in [start, start + r/K] and [0, r], of chords whose left and right values are given."""
        fall, other = np.maximum(near[0] - near[1], 0.0), np.maximum(far[0] - far[1], 0.0)
        # With v = e^{t - start} both chords are A - F/v; the sum is a constant less e^{start-r} (A - A') v and less
        # (F - e^{-r} F')/v, over 1 - e^{-r}.
        unit = -np.expm1(-self._step)
        least, most = np.maximum(start, 0.0), np.minimum(start + self._step, self._width)
        rising = np.exp(start - self._width) * (near[1] - far[1] + (fall - other) / unit)
        falling = (fall - np.exp(-self._width) * other) / unit
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.nan_to_num(start + np.log(falling / rising) / 2, nan=np.inf)
        found = np.zeros_like(fall)
        for t in (least, np.clip(best, least, most), most):
            found = np.maximum(found, self._at(t, start, near, far))
        return found

    def _at(self, t: Floats, start: float | Floats, near: tuple[Floats, Floats], far: tuple[Floats, Floats]) -> Floats:
        share = np.clip(np.expm1(start - t) / np.expm1(-self._step), 0.0, 1.0)  # 0 at the right end of both chords
        up = np.clip(np.expm1(t - self._width) / np.expm1(-self._width), 0.0, 1.0)
        low = near[1] + share * np.maximum(near[0] - near[1], 0.0)
        high = far[1] + share * np.maximum(far[0] - far[1], 0.0)
        found: Floats = up * low + (1 - up) * high
        return found


class FewLeak(Leak):
    """Tosses of which the first, the person's own, keeps with q or q' at the given vertices (none: it draws).

    `vertices` are (q, ln q/q', ln (1-q)/(1-q')); `reference` is the chance of a draw of a second chain at each toss.
    """

    def __init__(
        self, width: float, tosses: int, chance: float, reference: float, vertices: Sequence[tuple[float, float, float]]
    ) -> None:
        profile = Profile(width, 2 * tosses if reference else tosses)
        for _ in range(tosses if reference else 0):
            profile = profile.mixed(reference)
        for _ in range(tosses - 1):
            profile = profile.mixed(chance)
        self._kept, self._vertices = profile, vertices

    def delta(self, epsilon: Real) -> Real:
        at = float(epsilon)
        if not self._vertices:
            return mp.mpf(self._kept.drawn_at(at))
        found = [
            q * self._kept(at - keep) + (1 - q) * self._kept.drawn_at(at - lose) for q, keep, lose in self._vertices
        ]
        return mp.mpf(min(1.0, max(found) * _ROUNDING))


# Partitions of more rounds than this are left to Renyi divergences; so few tosses are followed step by step.
_MOST_ROUNDS, _FEW = 12, 12
_WIDEST = 4.0
_STEEPEST = 300.0
_TAIL = 1e-15  # of delta, which each table leaves out: more would refuse true contracts
_MOST_KAPPA = 1e12  # more than one over the smallest range of a draw that float64 can tell from none
_NEARLY = 0.9  # a walk that was made where delta is so much of what it may be is not made again
Logs = tuple[Real, Real, Real, Real]


@dataclass(frozen=True)
class Chain:
    """A lazy chain in numbers.

    Attributes:
        tosses: how many coins.
        force: the probability of a redraw whatever the losses.
        eta: by how much one round's loss moves ln q.
        batch: rounds from one toss to the next.
        width: the range r of a draw.
        rounds: in how many rounds one person stands.
        cap: at most so many redraws (None: no limit).
        moved: whether data move the coins; False: every toss draws for sure.
        spread: the largest keep probability is e^spread times the least (None: e^{batch eta}).
        offset: by how much ln q stays below that of the coin that is forced alone.
        reference: the probability with which a second chain redraws at each toss, whatever the losses.
        draw: (alpha - 1) times a draw's Renyi divergence at alpha (None: that of the range `width`).
        drift: by how much a person moves ln q at the tosses of other batches; `eta` is then the coin's whole range.
    """

    tosses: int
    force: float
    eta: float
    batch: int
    width: float
    rounds: int
    cap: int | None = None
    moved: bool = True
    spread: float | None = None
    offset: float = 0.0
    reference: float = 0.0
    draw: Callable[[Real], Real] | None = None
    drift: Real = 0

    def leak(self, delta: float, epsilon: float) -> Leak:
        """What is proved of it; the walk is made for about this delta and epsilon."""
        if self.tosses == 0 or (self.width == 0 and self.draw is None):
            return PureLeak(mp.mpf(0))
        if max(self.width, self.batch * self.eta, self.offset, self.spread or 0.0) > _STEEPEST:
            raise NotVerifiable(f"Rates that move a probability by more than e^{_STEEPEST:g} are not recomputed.")
        if self.draw is not None:
            return RenyiLeak(self._log_moment)
        return self._every_leak(delta, epsilon)

    @lru_cache(maxsize=64)  # noqa: B019 - contracts that differ in what no proof reads have the same chain
    def _every_leak(self, delta: float, epsilon: float) -> Leak:
        """The best of all bounds on draws of bounded range."""
        found: list[Leak] = [PureLeak(self._pure), RenyiLeak(self._log_moment)]
        walked = delta > 0 and self.width <= _WIDEST and (not self.moved or self.rounds <= _MOST_ROUNDS)
        sharp = True
        try:
            found += [_WalkLeak(self, delta, epsilon)] if walked else []
        except TooLong:
            sharp = False
        capped = self.cap is not None and self.cap < self.tosses
        few = self.tosses <= _FEW and not capped and (self.rounds == 1 or not self.moved)
        found += [self._few()] if delta > 0 and few else []
        return BestOf(tuple(found), sharp=delta == 0 or sharp)

    def smooth(self, renyi: bool) -> Leak:
        """The bound by Renyi divergences, or the pure one: both are smooth in the range of a draw."""
        return RenyiLeak(self._log_moment) if renyi else PureLeak(self._pure)

    def _few(self) -> FewLeak:
        """Step by step; before the person's own toss nothing differs."""
        vertices = [(float(q), _shift(q, other), _shift(1 - q, 1 - other)) for q, other in self.pairs(1)]
        chance = min(1.0, float(self.chance) * (1 + 1e-15))
        return FewLeak(self.width, self.tosses, chance, self.reference, vertices if self.moved else [])

    @cached_property
    def _high(self) -> Real:
        return (1 - mp.mpf(self.force)) * mp.exp(-mp.mpf(self.offset)) if self.moved else mp.mpf(0)

    @cached_property
    def _low(self) -> Real:
        return self._high * mp.exp(-self.batch * mp.mpf(self.eta) if self.spread is None else -mp.mpf(self.spread))

    @property
    def chance(self) -> Real:
        """The largest probability of a redraw."""
        return 1 - self._low

    @property
    def _draws(self) -> int:
        return self.tosses if self.cap is None else min(self.cap, self.tosses)

    def pairs(self, part: int) -> list[tuple[Real, Real]]:
        """The vertices (q, q') at which a batch with so many of a person's rounds may have its coins."""
        return self._vertices(part * mp.mpf(self.eta)) if self.moved else [(mp.mpf(0), mp.mpf(0))]

    def _vertices(self, shift: Real) -> list[tuple[Real, Real]]:
        """Those of two coins whose ln q differ by at most so much."""
        factor = mp.exp(shift)
        low, high = max(self._low, self._high / factor), min(self._high, self._low * factor)
        ends = [(self._high, low), (low, self._high), (self._low, high), (high, self._low)]
        return [*ends, (self._high, self._high), (self._low, self._low)]

    @property
    def _largest(self) -> int:
        return min(self.rounds, self.batch)

    @cached_property
    def _pure(self) -> Real:
        """The bits of a person's batches, at the worst partition, and every draw."""
        bits = [max(self._bit(q, other) for q, other in self.pairs(k)) for k in range(1, self._largest + 1)]
        total = _worst(bits, self.rounds, self.tosses) if self.moved else mp.mpf(0)
        draws = self._draws + (self.tosses if self.reference else 0)
        return total + draws * mp.mpf(self.width)

    @staticmethod
    def _bit(q: Real, other: Real) -> Real:
        if q == other:
            return mp.mpf(0)
        return mp.inf if other in (0, 1) or q in (0, 1) else max(mp.log(q / other), mp.log((1 - q) / (1 - other)))

    def _log_moment(self, alpha: Real) -> Real:
        """(alpha - 1) times the divergence; with a cap bits and draws are charged apart."""
        width = mp.mpf(self.width)
        draw = (alpha - 1) * min(alpha * width**2 / 8, width) if self.draw is None else self.draw(alpha)
        inside = draw if self.cap is None else mp.mpf(0)
        bits = self._tosses(alpha, inside) if self.moved else self.tosses * inside
        bits += self.tosses * mp.log1p(mp.mpf(self.reference) * mp.expm1(draw))
        return bits if self.cap is None else bits + self._draws * draw

    def _tosses(self, alpha: Real, draw: Real) -> Real:
        other = mp.log1p(self.chance * mp.expm1(draw))
        if self.drift:
            other = _moment(alpha, self._elsewhere, draw)
        extra = [_moment(alpha, logs, draw) - other for logs in self._own]
        return self.tosses * other + _worst(extra, self.rounds, self.tosses)

    @cached_property
    def _own(self) -> list[list[Logs]]:
        """The vertices of batches with 1, 2, ... of a person's rounds."""
        return [[_logs(*pair) for pair in self.pairs(part)] for part in range(1, self._largest + 1)]

    @cached_property
    def _elsewhere(self) -> list[Logs]:
        """Those of the tosses of other batches, which drift."""
        return [_logs(*pair) for pair in self._vertices(self.drift)]


class _WalkLeak(Leak):
    """The best walk that a search over kappa finds; every kappa is valid."""

    def __init__(self, chain: Chain, delta: float, epsilon: float) -> None:
        self._chain, self._tail = chain, delta * _TAIL
        self._counts: dict[tuple[int, int | None], Counts] = {}
        self._walks: dict[tuple[int, int | None], Walk] = {}
        at = np.array([float(epsilon)])
        mean = max(1.0, min(float(chain.tosses * chain.chance), chain.cap or chain.tosses))
        tried: dict[float, float] = {}

        def cost(kappa: float) -> float:
            if kappa not in tried:
                self._kappa, self._walks = kappa, {}
                tried[kappa] = float(self._deltas(at)[0])
            return tried[kappa]

        best = min(max(0.7, 1 + 4 / (chain.width * sqrt(mean)) / 2), _MOST_KAPPA / 2)
        for ratio in (1.6, 1.2, 1.06, 1.02, 1.005):
            while True:
                near = [kappa for kappa in (best / ratio, best * ratio) if 0.55 < kappa < _MOST_KAPPA]
                better = min(near, key=cost)
                if cost(better) >= cost(best):
                    break
                best = better
        best = min(best, _lowest(cost, best, 1.005), key=cost)
        self._kappa, self._walks = best, {}

    def delta(self, epsilon: Real) -> Real:
        return mp.mpf(float(self._deltas(np.array([float(epsilon)]))[0]))

    def epsilon(self, delta: Real, near: Real) -> Real:
        """Solved; far below where the walk was made another kappa is best, and there it is made again."""
        walk, found = self, solved(self, delta, near)
        while 0 < found < near and walk.delta(near) <= _NEARLY * delta:
            try:
                walk = _WalkLeak(self._chain, float(delta), float(found))
            except TooLong:
                break
            near, found = found, min(found, solved(walk, delta, found))
        return found

    def _deltas(self, epsilon: Floats) -> Floats:
        chain = self._chain
        if not chain.moved:
            return self._walk(0, chain.tosses, chain.cap)(epsilon)
        total = np.zeros_like(epsilon)
        rounds = min(chain.rounds, chain._largest * chain.tosses)  # all that fit
        for parts in _partitions(rounds, chain._largest, chain.tosses):
            found = self._one(parts[0], epsilon) if len(parts) == 1 else self._several(parts, epsilon)
            total = np.maximum(total, found)
        return total

    def _one(self, part: int, epsilon: Floats) -> Floats:
        """Max over the vertices of q W(eps - ln q/q') + (1-q) (D W)(eps - ln (1-q)/(1-q'))."""
        chain = self._chain
        kept = self._walk(0, chain.tosses - 1, chain.cap)
        drawn = kept if chain.cap is None else self._walk(0, chain.tosses - 1, max(chain.cap - 1, 0))
        worst = np.zeros_like(epsilon)
        for q, other in chain.pairs(part):
            keep, lose = _shift(q, other), _shift(1 - q, 1 - other)
            value = float(q) * kept(epsilon - keep) + float(1 - q) * drawn.drawn(epsilon - lose)
            worst = np.maximum(worst, value)
        return worst * (1 + 1e-14)

    def _several(self, parts: tuple[int, ...], epsilon: Floats) -> Floats:
        """Every toss with rounds of the person's is one dominating pair of its own, and a sure draw."""
        chain = self._chain
        losses, chances = np.zeros(1), np.ones(1)
        for part in parts:
            more, likely = _atoms(chain.pairs(part))
            losses = (losses[:, None] + more).ravel()
            chances = (chances[:, None] * likely).ravel()
            cells, where = np.unique(np.round(losses, 12), return_inverse=True)
            losses, chances = cells + 1e-12, np.bincount(where, chances).astype(np.float64)
        walk = self._walk(len(parts), chain.tosses - len(parts), chain.cap)
        found: Floats = walk((epsilon[:, None] - losses).ravel()).reshape(len(epsilon), -1) @ chances
        return found * (1 + 1e-12)

    def _walk(self, sure: int, others: int, cap: int | None) -> Walk:
        key = (sure, cap)
        if key not in self._counts:
            counts = binomial(others, min(1.0, float(self._chain.chance) * (1 + 1e-15)), self._tail).plus(sure)
            counts = counts if cap is None else counts.capped(cap)
            self._counts[key] = counts.joined(binomial(self._chain.tosses, self._chain.reference, self._tail))
        if key not in self._walks:
            self._walks[key] = Walk(self._chain.width, self._kappa, self._counts[key], self._tail)
        return self._walks[key]


def _lowest(cost: Callable[[float], float], middle: float, ratio: float) -> float:
    """Where the parabola through three logarithms of a cost is lowest, on a logarithmic scale."""
    left, here, right = (log(max(cost(middle * factor), 1e-300)) for factor in (1 / ratio, 1.0, ratio))
    bend = left - 2 * here + right
    return middle * ratio ** min(1.0, max(-1.0, (left - right) / (2 * bend))) if bend > 0 else middle


def _logs(q: Real, other: Real) -> Logs:
    return mp.log(q), mp.log(other), mp.log(1 - q), mp.log(1 - other)


def _moment(alpha: Real, vertices: list[Logs], draw: Real) -> Real:
    """The logarithm of the largest q^alpha q'^(1-alpha) + (1-q)^alpha (1-q')^(1-alpha) e^draw."""
    total = mp.mpf(0)
    for keep, other_keep, lose, other_lose in vertices:
        total = max(total, _power(alpha, keep, other_keep) + _power(alpha, lose, other_lose) * mp.exp(draw))
    return mp.log(total)


def _power(alpha: Real, log: Real, other: Real) -> Real:
    """p^alpha p'^(1-alpha) of two logarithms: 0 where p is, infinite where only p' is."""
    if log == -mp.inf:
        return mp.mpf(0)
    return mp.inf if other == -mp.inf else mp.exp(alpha * log + (1 - alpha) * other)


def _shift(q: Real, other: Real) -> float:
    """Ln q/q', rounded up; infinities become far."""
    if q == other:
        return 0.0
    if other == 0:
        return 1e9
    value = float(mp.log(q / other)) if q > 0 else -1e9
    return value + 1e-15 * abs(value)


def _atoms(pairs: list[tuple[Real, Real]]) -> tuple[Floats, Floats]:
    """Losses and probabilities of one pair of laws that dominates these tosses: edges of the hull of (P'[A], P[A])."""
    points = {(mp.mpf(0), mp.mpf(0)), (mp.mpf(1), mp.mpf(1))}
    for q, other in pairs:
        points |= {(other, q), (1 - other, 1 - q)}
    hull: list[tuple[Real, Real]] = []
    for x, y in sorted(points):
        while len(hull) > 1 and _above(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    edges = [(end[0] - start[0], end[1] - start[1]) for start, end in pairwise(hull)]
    losses = [_shift(up, across) for across, up in edges]
    return np.array(losses), np.array([float(up) * (1 + 1e-14) for _, up in edges])


def _above(first: tuple[Real, Real], middle: tuple[Real, Real], last: tuple[Real, Real]) -> bool:
    """Whether the middle point does not lie above the line of the others."""
    return bool((middle[1] - first[1]) * (last[0] - first[0]) <= (last[1] - first[1]) * (middle[0] - first[0]))


def _worst(values: list[Real], rounds: int, tosses: int) -> Real:
    """The largest sum of values[k_i - 1] over partitions of at most `rounds` into at most `tosses` parts."""
    if rounds == 1 or len(values) == 1:
        return max(values[0], mp.mpf(0)) * min(rounds, tosses)
    if rounds > 256:
        return rounds * max(max(value, mp.mpf(0)) / (k + 1) for k, value in enumerate(values))
    best = [mp.mpf(0)]
    for total in range(1, rounds + 1):
        best.append(max(best[-1], *(best[total - k] + values[k - 1] for k in range(1, min(total, len(values)) + 1))))
    return best[rounds]


def _partitions(total: int, largest: int, most: int) -> Iterator[tuple[int, ...]]:
    """Falling sequences of at most `most` parts, none above `largest`, that sum to `total`."""
    if total == 0:
        yield ()
    elif most:
        for part in range(min(total, largest), 0, -1):
            for rest in _partitions(total - part, part, most - 1):
                yield (part, *rest)
