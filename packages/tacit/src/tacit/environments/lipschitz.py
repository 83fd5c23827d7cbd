"""Streams of Lipschitz losses that are not convex."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

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


@dataclass(frozen=True)
class TwoPricesLoss:
    """One buyer's loss at the prices of two goods, of which the second is offered if the first is refused."""

    first: float  # what the goods are worth to the buyer
    second: float
    softness: float

    def __call__(self, points: FloatArray) -> FloatArray:
        """The loss at each row of `points`, shape (n, 2)."""
        prices = np.asarray(points, dtype=np.float64)
        sold = expit((self.first - prices[:, 0]) / self.softness)
        later = (1.0 - sold) * expit((self.second - prices[:, 1]) / self.softness)
        return np.asarray(1.0 - prices[:, 0] * sold - prices[:, 1] * later)


@dataclass(frozen=True)
class TwoPrices(RoundsWorld):
    """Post two prices in [0, 1] to a stream of buyers: a good, and one that is offered to those who refuse the first.

    Attributes:
        horizon: number of rounds.
        spread: half width of the uniform noise around a segment's mean.
        softness: how gradually a buyer gives up as a price passes the valuation.
    """

    horizon: int
    spread: float = 0.05
    softness: float = 0.1
    _between = (("spread", 0.0, LARGEST), ("softness", SMALLEST, LARGEST))

    @property
    def lipschitz(self) -> float:
        """A bound on the slope of every loss: along either price at most 1 + 1/(4 softness)."""
        return sqrt(2.0) * (1.0 + 0.25 / self.softness)

    def functions(self, generator: np.random.Generator) -> list[TwoPricesLoss]:
        """Draw the whole stream, a callable for each round."""
        check_table("TwoPrices", self.horizon, 10)  # an object for each round
        rich = generator.random(self.horizon) < 0.45
        noise = generator.uniform(-self.spread, self.spread, (self.horizon, 2))
        first = np.where(rich, 0.85, 0.3) + noise[:, 0]
        second = np.where(rich, 0.2, 0.6) + noise[:, 1]
        return [TwoPricesLoss(*pair, self.softness) for pair in zip(first.tolist(), second.tolist(), strict=True)]
