"""Streams of Lipschitz losses that are not convex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tacit.environments.environment import RoundsWorld
from tacit.validation import LARGEST, SMALLEST, FloatArray, check_table


@dataclass(frozen=True)
class PricingLoss:
    """One buyer's loss at posted prices: 1 less the revenue, price times the chance of a sale."""

    valuation: float  # what the good is worth to the buyer
    softness: float  # the buyer buys at price x with probability 1/(1 + exp((x - valuation)/softness))

    def __call__(self, points: FloatArray) -> FloatArray:
        """The loss at each row of `points`, shape (n, 1)."""
        prices = np.asarray(points, dtype=np.float64)[:, 0]
        return np.asarray(1.0 - prices * expit((self.valuation - prices) / self.softness))


@dataclass(frozen=True)
class PricingCurve(RoundsWorld):
    """Post a price in [0, 1] to a stream of buyers from two segments: revenue with a peak for each segment.

    Attributes:
        horizon: number of rounds.
        spread: half width of the uniform noise around a segment's mean.
        softness: how gradually a buyer gives up as the price passes the valuation.
    """

    horizon: int
    spread: float = 0.05
    softness: float = 0.05
    _between = (("spread", 0.0, LARGEST), ("softness", SMALLEST, LARGEST))

    @property
    def lipschitz(self) -> float:
        """A bound on the slope of every loss: prices are at most 1, a sale's chance has slope 1/(4 softness)."""
        return 1.0 + 0.25 / self.softness

    def functions(self, generator: np.random.Generator) -> list[PricingLoss]:
        """Draw the whole stream, a callable for each round."""
        check_table("PricingCurve", self.horizon, 10)  # an object for each round
        means = np.where(generator.random(self.horizon) < 0.55, 0.3, 0.85)  # what the good is worth in either segment
        valuations = means + generator.uniform(-self.spread, self.spread, self.horizon)
        return [PricingLoss(valuation, self.softness) for valuation in valuations.tolist()]
