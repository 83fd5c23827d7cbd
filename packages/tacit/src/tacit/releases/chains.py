"""Decisions that a coin keeps, or that are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log1p
from typing import ClassVar

import numpy as np

from tacit.accounting.curves import Curve
from tacit.accounting.lazy import CappedChain
from tacit.accounting.lazy import LazyChain as ChainCurve
from tacit.accounting.rounding import IDEALIZED
from tacit.ranges import Count, Number, Positive, Probability, Share, Size, check_fields
from tacit.releases.draws import Softmax
from tacit.releases.neighbours import Neighbours
from tacit.releases.release import Releases


@dataclass(frozen=True)
class Coin:
    """Keeps a decision with probability (1 - force) e^{-h}; each round of a batch adds a term to h.

    Lemma 4: h lies in an interval of length `batch` times the range of a term, and one round moves
    h by at most `limit` (unsigned), 2 limit (signed, replacement) or limit (signed, zero-out).

    Attributes:
        force: probability of a redraw whatever the losses, as the float that is tossed has it.
        limit: terms lie in [0, limit]; if `signed`, in [-limit, limit].
        batch: number of rounds from one toss to the next.
        signed: whether terms have signs; `slack` batch limit is then added, so that h is never
            negative.
        slack: see `signed`.
        neutral: by how much the term of a round without feedback differs from any other, at most,
            if that is less than what replacing a round moves (None: it is not known to be).
    """

    force: Share
    limit: Positive
    batch: Count = 1
    signed: bool = False
    slack: Positive = 1.0
    neutral: Size | None = None
    exact: ClassVar[bool] = True
    """Whether coins are tossed on integers: 64-bit words that are extended until decided."""

    def __post_init__(self) -> None:
        check_fields(self)

    def hazards(self) -> tuple[float, float]:
        """Return the least -ln keep, and how far above it the others reach."""
        if not self.signed:
            return -log1p(-self.force), self.batch * self.limit
        least = (self.slack - 1) * self.batch * self.limit - log1p(-self.force)
        return least, 2 * self.batch * self.limit

    def bit(self, among: Neighbours) -> float:
        """Return by how much one round moves ln keep."""
        if among.sides == 1 and self.neutral is not None:
            return min(2 * self.limit if self.signed else self.limit, self.neutral)
        return self.limit * among.sides if self.signed else self.limit

    def drift(self, among: Neighbours) -> float:
        """Return by how much one person moves the coins of other batches."""
        return 0.0


@dataclass(frozen=True)
class ClippedCoin(Coin):
    """A coin that looks at all losses so far, clipped to [-limit, limit] about its middle.

    The rounds of a person move it over its whole range; later coins drift by at most
    rounds (sides per_side + per_round) + 2 error (docs/algorithms/ctrl.md).

    Attributes:
        per_side: drift for each round and side.
        per_round: drift for each round.
        error: how far a coin may be from that of exact arithmetic.
    """

    per_side: Size = 0.0
    per_round: Size = 0.0
    error: Size = 0.0
    exact: ClassVar[bool] = False

    def hazards(self) -> tuple[float, float]:
        return -float(np.log1p(-self.force)), 2 * self.limit

    def bit(self, among: Neighbours) -> float:
        return 2 * self.limit

    def drift(self, among: Neighbours) -> float:
        moved = among.rounds * (among.sides * self.per_side + self.per_round)
        return min(moved + 2 * self.error, 2 * self.limit)


@dataclass(frozen=True)
class LazyChain(Releases):
    """A decision that a coin keeps at each toss, or that is drawn anew.

    Decisions and redraws are released: a draw happens only if a coin is lost, and costs in
    proportion to the probability of that (`tacit.accounting.lazy`).

    Attributes:
        tosses: number of tosses.
        coin: what keeps the decision.
        draw: what a redraw releases.
        cap: number of redraws after which the decision is held (None: it never is).
        reference: probability with which a second chain redraws at each toss, whatever the data.
    """

    tosses: Number
    coin: Coin
    draw: Releases
    cap: Number | None = None
    reference: Probability = 0.0

    @property
    def theorem(self) -> str:
        chains = "two lazy chains" if self.coin.signed else "lazy chain"
        return f"{chains}, composition of random draws"

    @property
    def shown(self) -> str:
        if self.coin.signed:
            return "every {decision} and the switch times of both chains"
        return "every {decision} and every switch time"

    def curve(self, among: Neighbours) -> Curve:
        least, spread = self.coin.hazards()
        chain = ChainCurve.of_hazards(
            decisions=self.tosses,
            least=least,
            spread=spread,
            bit=self.coin.bit(among),
            draw=self.draw.curve(among),
            batch=self.coin.batch,
            rounds_per_person=among.rounds,
            drift=self.coin.drift(among),
            reference=self.reference,
        )
        return chain if self.cap is None else CappedChain(chain, self.cap)

    def numerics(self, among: Neighbours, delta: float) -> str:
        if not self.coin.exact:
            return IDEALIZED
        if isinstance(self.draw, Softmax):
            ideal = replace(self, draw=replace(self.draw, slack=0.0))
            return self.draw.stated(self.curve(among), ideal.curve(among), delta)
        return self.draw.numerics(among, delta)
