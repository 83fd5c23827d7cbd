"""Accounting of lazy chains: learners that keep their decision by a coin and redraw it otherwise.

Shared by every lazy learner. At each toss the current decision is kept with a probability in
[keep_low, keep_high]; otherwise a new one is drawn from a mechanism with curve `draw`. A person's rounds
move the log keep probability by at most `bit` per round, only in the batches that hold them, and by at
most `drift` elsewhere (0 when the coin looks at the current batch only). The step's Renyi moment is

    F(alpha) = max q^alpha q'^(1-alpha) + (1-q)^alpha (1-q')^(1-alpha) E,   E = e^{(alpha-1) eps_draw(alpha)}

over q, q' in [keep_low, keep_high] with |ln q/q'| <= a. It is jointly convex, so a vertex attains it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p

import numpy as np

from tacit.errors import PrivacyError
from tacit.privacy.curves import ROUND_UP, Curve, log_mixture
from tacit.validation import FloatArray, check_integer, check_number, invalid

MOST_IN_A_BATCH = 4096


@dataclass(frozen=True)
class LazyChain(Curve):
    """The whole transcript of a lazy chain: every decision and every switch time.

    ``(alpha-1) eps(alpha) = sum over a person's batches of ln F(k_i bit) + (the other tosses) ln F(drift)``
    at the worst partition of `rounds_per_person` into parts of at most `batch` rounds. No cap on the
    number of draws and no bad event: the proof inducts from the last toss backwards.
    """

    decisions: int
    keep_low: float
    keep_high: float
    bit: float
    draw: Curve
    batch: int = 1
    rounds_per_person: int = 1
    drift: float = 0.0

    def __post_init__(self) -> None:
        check_integer("LazyChain", "decisions", self.decisions, at_least=0)
        check_number("LazyChain", "keep_high", self.keep_high, above=0, below=1, closed_low=True, closed_high=True)
        check_number("LazyChain", "keep_low", self.keep_low, above=0, below=1, closed_low=True, closed_high=True)
        if self.keep_low > self.keep_high:
            raise invalid("LazyChain", "keep_low", f"at most keep_high={self.keep_high!r}", self.keep_low)
        check_number("LazyChain", "bit", self.bit, above=0.0, closed_low=True)
        check_number("LazyChain", "drift", self.drift, above=0.0, closed_low=True)
        check_integer("LazyChain", "batch", self.batch)
        check_integer("LazyChain", "rounds_per_person", self.rounds_per_person)
        if min(self.batch, self.rounds_per_person) > MOST_IN_A_BATCH:
            raise PrivacyError(
                f"A person may stand in at most {MOST_IN_A_BATCH} rounds of one batch. "
                f"Got batch={self.batch} and rounds_per_person={self.rounds_per_person}."
            )

    def renyi(self, orders: FloatArray) -> FloatArray:
        if self.decisions == 0:
            return np.zeros_like(orders)
        log_draw = (orders - 1) * self.draw.renyi(orders)
        elsewhere = self._log_moment(orders, self.drift, log_draw)
        largest = min(self.rounds_per_person, self.batch)
        extra = [_beyond(self._log_moment(orders, k * self.bit, log_draw), elsewhere) for k in range(1, largest + 1)]
        changed = worst_partition(extra, self.rounds_per_person, self.decisions)
        return (self.decisions * elsewhere + changed) / (orders - 1) * ROUND_UP

    def pure(self) -> float:
        """Uncapped chains have a draw at every toss in the worst case."""
        if self.decisions == 0:
            return 0.0
        return (pure_bits(self) + self.decisions * self.draw.pure()) * ROUND_UP

    def _log_moment(self, orders: FloatArray, shift: float, log_draw: FloatArray) -> FloatArray:
        return log_step_moment(orders, self.keep_low, self.keep_high, shift, log_draw)


@dataclass(frozen=True)
class CappedChain(Curve):
    """A lazy chain that stops deciding after `cap` redraws: its bits, and at most `cap` draws."""

    chain: LazyChain
    cap: int

    def __post_init__(self) -> None:
        check_integer("CappedChain", "cap", self.cap, at_least=0)

    def renyi(self, orders: FloatArray) -> FloatArray:
        chain = self.chain
        if chain.decisions == 0:
            return np.zeros_like(orders)
        free = np.zeros_like(orders)
        elsewhere = log_step_moment(orders, chain.keep_low, chain.keep_high, chain.drift, free)
        largest = min(chain.rounds_per_person, chain.batch)
        bits = [
            _beyond(log_step_moment(orders, chain.keep_low, chain.keep_high, k * chain.bit, free), elsewhere)
            for k in range(1, largest + 1)
        ]
        changed = chain.decisions * elsewhere + worst_partition(bits, chain.rounds_per_person, chain.decisions)
        draws = min(self.cap, chain.decisions)
        return (changed / (orders - 1) + draws * chain.draw.renyi(orders)) * ROUND_UP

    def pure(self) -> float:
        if self.chain.decisions == 0:
            return 0.0
        draws = min(self.cap, self.chain.decisions)
        return (pure_bits(self.chain) + draws * self.chain.draw.pure()) * ROUND_UP


def log_step_moment(
    orders: FloatArray, keep_low: float, keep_high: float, shift: float, log_draw: FloatArray
) -> FloatArray:
    """Ln F(alpha) by the vertices of the polygon of admissible pairs (q, q')."""
    low = max(keep_low, keep_high * exp(-shift))
    high = min(keep_high, keep_low * exp(min(shift, 700.0)))
    # On the diagonal the moment is q + (1-q) E: written so that tiny values keep their digits.
    total = np.zeros_like(orders)
    for q in (keep_high, keep_low):
        total = np.maximum(total, log_mixture(1.0 - q, log_draw))
    if shift > 0:
        for q, other in ((keep_high, low), (low, keep_high), (keep_low, high), (high, keep_low)):
            total = np.maximum(total, _log_pair(orders, q, other, log_draw))
    return total


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

    def loss(shift: float) -> float:
        # "keep" moves by at most the shift; "draw" by at most ln((1 - q')/(1 - q)) at q = keep_high.
        if shift == 0 or chain.keep_low == chain.keep_high:
            return 0.0
        if chain.keep_high >= 1.0:
            return float("inf")
        low = max(chain.keep_low, chain.keep_high * exp(-shift))
        if low == 0.0:
            return float("inf")
        return max(log(chain.keep_high / low), log1p((chain.keep_high - low) / (1 - chain.keep_high)))

    largest = min(chain.rounds_per_person, chain.batch)
    losses = [np.asarray([loss(k * chain.bit)]) for k in range(1, largest + 1)]
    elsewhere = loss(chain.drift) if chain.drift > 0 else 0.0
    changed = worst_partition(losses, chain.rounds_per_person, chain.decisions)
    return float(changed[0]) + chain.decisions * elsewhere


def _log_pair(orders: FloatArray, q: float, other: float, log_draw: FloatArray) -> FloatArray:
    """ln( q^a q'^(1-a) + (1-q)^a (1-q')^(1-a) E )."""
    if not 0.0 < other < 1.0:
        return np.full_like(orders, -np.inf if q == other else np.inf)  # the diagonal is counted elsewhere
    with np.errstate(divide="ignore"):
        keep = orders * np.log1p((q - other) / other)
        move = orders * np.log1p((other - q) / (1 - other)) + log_draw
    # Since q' + (1-q') = 1, F - 1 = q' (e^keep - 1) + (1-q') (e^move - 1): tiny moments keep their digits.
    first, second = other * np.expm1(np.minimum(keep, 30.0)), (1 - other) * np.expm1(np.minimum(move, 30.0))
    small = np.log1p(first + second + 1e-15 * (np.abs(first) + np.abs(second)))
    large = np.logaddexp(np.log(other) + keep, np.log1p(-other) + move)
    return np.asarray(np.where(np.maximum(keep, move) < 30.0, small, large))
