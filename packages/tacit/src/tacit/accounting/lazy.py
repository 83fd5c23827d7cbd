"""Accounting of lazy chains: learners that keep their decision by a coin and redraw it otherwise.

Shared by every lazy learner. At each toss the current decision is kept with a probability in
[keep_low, keep_high]; otherwise a new one is drawn from a mechanism with curve `draw`. A person's rounds
move the log keep probability by at most `bit` per round, only in the batches that hold them, and by at
most `drift` elsewhere (0 when the coin looks at the current batch only). The step's Renyi moment is

    F(alpha) = max q^alpha q'^(1-alpha) + (1-q)^alpha (1-q')^(1-alpha) E,   E = e^{(alpha-1) eps_draw(alpha)}

over q, q' in [keep_low, keep_high] with |ln q/q'| <= a. It is jointly convex, so a vertex attains it.

Where draws have bounded range and no coin drifts, epsilon and delta come from a walk as well (`chain_profiles`), and
the better of the two is stated.

All of it is computed from hazards h = -ln q: the least one, -ln keep_high, and the `spread`, ln keep_high/keep_low. A
coin that nearly always keeps has 1 - q of the size of its hazard, which the float q next to 1 has lost: at a forced
redraw of probability 1e-15 a shift of 5e-17 moves the chance of a redraw by 5%, while q stays the same float.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, expm1, inf, isclose, isinf, log, log1p
from typing import Any

import numpy as np

from tacit.accounting.chain_profiles import MOST_ROUNDS, ChainProfile, Pair, log_redraws, moved_pairs
from tacit.accounting.conversion import log_mixture
from tacit.accounting.curves import ROUND_UP, BoundedRange, Curve, Repeated
from tacit.errors import PrivacyError
from tacit.validation import FloatArray, check_integer, check_number, invalid

MOST_IN_A_BATCH = 4096


@dataclass(frozen=True)
class LazyChain(Curve):
    """The whole transcript of a lazy chain: every decision and every switch time.

    ``(alpha-1) eps(alpha) = sum over a person's batches of ln F(k_i bit) + (the other tosses) ln F(drift)``
    at the worst partition of `rounds_per_person` into parts of at most `batch` rounds. No cap on the
    number of draws and no bad event: the proof inducts from the last toss backwards.

    Attributes:
        decisions: how many times the coin is tossed.
        keep_low: the least keep probability.
        keep_high: the largest.
        bit: how far a person's round moves the log keep probability of its own batch.
        draw: the curve of one draw.
        batch: rounds from one toss to the next.
        rounds_per_person: how many rounds one person may stand in.
        drift: how far the log keep probability of other batches may move. A person's second round then meets a coin
            that the first has moved already, so with several rounds `bit` must be the whole range.
        hazards: -ln keep_high and ln keep_high/keep_low, if known better than from the floats (see `of_hazards`).
        reference: the probability with which a second chain redraws at each toss; no data decide that.
    """

    decisions: int
    keep_low: float
    keep_high: float
    bit: float
    draw: Curve
    batch: int = 1
    rounds_per_person: int = 1
    drift: float = 0.0
    hazards: Sequence[float] | None = None
    reference: float = 0.0

    def __post_init__(self) -> None:
        check_integer("LazyChain", "decisions", self.decisions, at_least=0)
        if not isinstance(self.draw, Curve):
            raise invalid("LazyChain", "draw", "a Curve", self.draw)
        check_number("LazyChain", "keep_high", self.keep_high, above=0, below=1, closed_low=True, closed_high=True)
        check_number("LazyChain", "keep_low", self.keep_low, above=0, below=1, closed_low=True, closed_high=True)
        if self.keep_low > self.keep_high:
            raise invalid("LazyChain", "keep_low", f"at most keep_high={self.keep_high!r}", self.keep_low)
        check_number("LazyChain", "bit", self.bit, above=0.0, closed_low=True)
        check_number("LazyChain", "drift", self.drift, above=0.0, closed_low=True)
        check_number("LazyChain", "reference", self.reference, above=0, below=1, closed_low=True, closed_high=True)
        check_integer("LazyChain", "batch", self.batch)
        check_integer("LazyChain", "rounds_per_person", self.rounds_per_person)
        if self.hazards is not None:
            self._check_hazards(self.hazards)
        if min(self.batch, self.rounds_per_person) > MOST_IN_A_BATCH:
            raise PrivacyError(
                f"A person may stand in at most {MOST_IN_A_BATCH} rounds of one batch. "
                f"Got batch={self.batch} and rounds_per_person={self.rounds_per_person}."
            )
        if self._moved_before and self.bit < self.coin[1] * (1 - 1e-9) - 1e-15:
            allowed = f"the coin's whole range {self.coin[1]:g}, since it drifts and a person has several rounds"
            raise invalid("LazyChain", "bit", allowed, self.bit)

    @classmethod
    def of_hazards(cls, least: float, spread: float, **fields: Any) -> LazyChain:
        """The chain whose -ln keep lies in [least, least + spread], to the last digit also next to 0."""
        return cls(keep_low=exp(-(least + spread)), keep_high=exp(-least), hazards=(least, spread), **fields)

    @property
    def coin(self) -> tuple[float, float]:
        """The least -ln keep, and how far above it the others reach."""
        if self.hazards is not None:
            return self.hazards[0], self.hazards[1]
        return hazards_of(self.keep_low, self.keep_high)

    def renyi(self, orders: FloatArray) -> FloatArray:
        if self.decisions == 0:
            return np.zeros_like(orders)
        return self.log_moments(orders, (orders - 1) * self.draw.renyi(orders)) / (orders - 1) * ROUND_UP

    def pure(self) -> float:
        """Uncapped chains have a draw at every toss in the worst case."""
        if self.decisions == 0:
            return 0.0
        draws = self.decisions * (2 if self.reference > 0 else 1)
        return (pure_bits(self) + draws * self.draw.pure()) * ROUND_UP

    @cached_property
    def profile(self) -> ChainProfile | None:
        """The walk of draws of bounded range, if no coin drifts."""
        if not isinstance(self.draw, BoundedRange) or self.drift > 0 or self.rounds_per_person > MOST_ROUNDS:
            return None
        least, spread = self.coin
        return ChainProfile(
            self.draw.width,
            self.decisions,
            min(1.0, -expm1(-(least + spread)) * (1 + 1e-15)),
            least,
            spread,
            tuple(self.shifts),
            self.rounds_per_person,
            reference=self.reference,
        )

    def log_moments(self, orders: FloatArray, log_draw: FloatArray) -> FloatArray:
        """The logarithm of the transcript's moment, if a draw has the log moment `log_draw`."""
        elsewhere = log_step_moment(orders, *self.coin, self.drift, log_draw)
        extra = [_beyond(log_step_moment(orders, *self.coin, shift, log_draw), elsewhere) for shift in self.shifts]
        total = self.decisions * elsewhere + worst_partition(extra, self.rounds_per_person, self.decisions)
        return total + self.decisions * log_mixture(self.reference, log_draw) if self.reference > 0 else total

    @property
    def shifts(self) -> list[float]:
        """How far a batch with k = 1, 2, ... of a person's rounds moves its coin."""
        largest = min(self.rounds_per_person, self.batch)
        return [self.coin[1] if self._moved_before else k * self.bit for k in range(1, largest + 1)]

    @property
    def _moved_before(self) -> bool:
        return self.drift > 0 and self.rounds_per_person > 1

    def _check_hazards(self, hazards: Sequence[float]) -> None:
        if not isinstance(hazards, list | tuple) or len(hazards) != 2:
            raise invalid("LazyChain", "hazards", "a pair (least, spread)", hazards)
        least, spread = (check_number("LazyChain", "hazards", value, above=0.0, closed_low=True) for value in hazards)
        object.__setattr__(self, "hazards", (least, spread))
        if not (isclose(exp(-least), self.keep_high) and isclose(exp(-(least + spread)), self.keep_low)):
            raise invalid("LazyChain", "hazards", "those of keep_low and keep_high", hazards)


@dataclass(frozen=True)
class CappedChain(Curve):
    """A lazy chain that stops deciding after `cap` redraws: its bits, and at most `cap` draws."""

    chain: LazyChain
    cap: int

    def __post_init__(self) -> None:
        check_integer("CappedChain", "cap", self.cap, at_least=0)
        if not isinstance(self.chain, LazyChain):
            raise invalid("CappedChain", "chain", "a LazyChain", self.chain)
        if self.chain.reference > 0:
            raise invalid("CappedChain", "chain", "one chain, without a reference", self.chain)

    def renyi(self, orders: FloatArray) -> FloatArray:
        if self.chain.decisions == 0:
            return np.zeros_like(orders)
        bits = self.chain.log_moments(orders, np.zeros_like(orders)) / (orders - 1)
        return (bits + self._draws.renyi(orders)) * ROUND_UP

    def pure(self) -> float:
        return 0.0 if self.chain.decisions == 0 else (pure_bits(self.chain) + self._draws.pure()) * ROUND_UP

    @cached_property
    def profile(self) -> ChainProfile | None:
        """The chain's walk, which ends at the cap, if tosses are left there."""
        free = self.chain.profile
        return free if free is None or self.cap >= self.chain.decisions else replace(free, cap=self.cap)

    @property
    def _draws(self) -> Repeated:
        return Repeated(self.chain.draw, min(self.cap, self.chain.decisions))


def hazards_of(keep_low: float, keep_high: float) -> tuple[float, float]:
    """-ln keep_high and ln keep_high/keep_low, of keep probabilities that are exact as floats."""
    if keep_high == 0:
        return inf, 0.0
    return -log(keep_high), log1p((keep_high - keep_low) / keep_low) if keep_low > 0 else inf


def log_step_moment(orders: FloatArray, least: float, spread: float, shift: float, log_draw: FloatArray) -> FloatArray:
    """Ln F(alpha) by the vertices of the polygon of admissible pairs (q, q'), from their hazards."""
    # On the diagonal the moment is q + (1-q) E: written so that tiny values keep their digits.
    ends = (-expm1(-least), -expm1(-(least + spread)))
    total = np.maximum(*(log_mixture(chance, log_draw) for chance in ends))
    for pair in moved_pairs(least, spread, shift):
        total = np.maximum(total, _log_pair(orders, pair, log_draw))
    return np.where(np.isnan(total), inf, total)


def _beyond(moment: FloatArray, elsewhere: FloatArray) -> FloatArray:
    """What a changed decision costs more than another; where every decision costs infinitely much, nothing."""
    finite = np.where(np.isinf(elsewhere), 0.0, elsewhere)
    return np.asarray(np.where(np.isinf(elsewhere), 0.0, moment - finite))


def worst_partition(extra: list[FloatArray], rounds: int, parts: int) -> FloatArray:
    """Max of sum extra[k_i - 1] over partitions of at most `rounds` into at most `parts` parts."""
    if rounds == 1 or len(extra) == 1:
        return np.maximum(extra[0], 0.0) * float(min(rounds, parts))
    if rounds > 256:
        # Safe closed form: each round pays at most the best ratio.
        ratios = np.stack([np.maximum(value, 0.0) / (k + 1) for k, value in enumerate(extra)])
        return np.asarray(np.max(ratios, axis=0) * float(rounds))
    best: list[FloatArray] = [np.zeros_like(extra[0])]
    for total in range(1, rounds + 1):
        options = [best[total - k] + extra[k - 1] for k in range(1, min(total, len(extra)) + 1)]
        best.append(np.max(np.stack([best[-1], *options]), axis=0))
    return best[rounds]


def pure_bits(chain: LazyChain) -> float:
    """The largest privacy loss of the keep bits alone, at the worst partition of a person's rounds."""

    least, spread = chain.coin

    def loss(shift: float) -> float:
        # "keep" moves by at most the shift; "draw" by at most ln((1 - q')/(1 - q)) at q = keep_high.
        move = min(shift, spread)
        if move == 0:
            return 0.0
        return inf if least == 0 or isinf(move) else max(move, log_redraws(least + move, least, move))

    losses = [np.asarray([loss(shift)]) for shift in chain.shifts]
    elsewhere = loss(chain.drift) if chain.drift > 0 else 0.0
    changed = worst_partition(losses, chain.rounds_per_person, chain.decisions)
    return float(changed[0]) + chain.decisions * elsewhere


def _log_pair(orders: FloatArray, pair: Pair, log_draw: FloatArray) -> FloatArray:
    """ln( q^a q'^(1-a) + (1-q)^a (1-q')^(1-a) E )."""
    if pair.certain:
        return np.full_like(orders, inf)
    other, (kept, redrawn) = pair.other, pair.losses
    stay, leave = exp(-other), -expm1(-other)
    with np.errstate(invalid="ignore"):
        keep = orders * kept
        move = orders * redrawn + log_draw
    # Since q' + (1-q') = 1, F - 1 = q' (e^keep - 1) + (1-q') (e^move - 1): tiny moments keep their digits, and what
    # rounding may have taken where the two nearly cancel is added.
    near_keep, near_move = np.minimum(keep, 30.0), np.minimum(move, 30.0)
    first, second = stay * np.expm1(near_keep), leave * np.expm1(near_move)
    lost = np.abs(first) * (2 + np.abs(near_keep)) + np.abs(second) * (2 + np.minimum(np.abs(near_move), 1e3))
    small = np.log1p(first + second + 1e-15 * lost)
    with np.errstate(invalid="ignore"):
        large = np.logaddexp(-other + keep, log(leave) + move)
    return np.asarray(np.where(np.maximum(keep, move) < 30.0, small, large))
