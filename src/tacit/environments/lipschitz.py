"""Streams of Lipschitz losses that are not convex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tacit.environments.environment import RoundsWorld
from tacit.validation import LARGEST, SMALLEST, FloatArray, check_number, check_positive, check_table, invalid


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
    """Post a price in [0, 1] to a stream of buyers from several segments: revenue with a peak for each segment.

    Attributes:
        horizon: number of rounds.
        valuations: mean valuation of each segment.
        weights: the share of each segment, any positive numbers.
        spread: half width of the uniform noise around a segment's mean.
        softness: how gradually a buyer gives up as the price passes the valuation.
    """

    horizon: int
    valuations: tuple[float, ...] = (0.3, 0.85)
    weights: tuple[float, ...] = (0.55, 0.45)
    spread: float = 0.05
    softness: float = 0.05
    _between = (("spread", 0.0, LARGEST), ("softness", SMALLEST, LARGEST))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("valuations", "weights"):
            if not isinstance(getattr(self, name), tuple | list):
                raise invalid("PricingCurve", name, "a tuple of numbers", getattr(self, name))
        if not self.valuations or len(self.weights) != len(self.valuations):
            raise invalid("PricingCurve", "weights", "one number for each of the valuations", self.weights)
        for valuation in self.valuations:
            check_number("PricingCurve", "valuations", valuation, above=0, below=1, closed_low=True, closed_high=True)
        for weight in self.weights:
            check_positive("PricingCurve", "weights", weight)

    @property
    def lipschitz(self) -> float:
        """A bound on the slope of every loss: prices are at most 1, a sale's chance has slope 1/(4 softness)."""
        return 1.0 + 0.25 / self.softness

    def functions(self, generator: np.random.Generator) -> list[PricingLoss]:
        """Draw the whole stream, a callable for each round."""
        check_table("PricingCurve", self.horizon, 10)  # an object for each round
        return [PricingLoss(float(valuation), self.softness) for valuation in self._draw(generator)]

    def _draw(self, generator: np.random.Generator) -> FloatArray:
        shares = np.cumsum(self.weights) / sum(self.weights)
        segment = np.searchsorted(shares, generator.random(self.horizon), side="right")
        segment = np.minimum(segment, len(self.valuations) - 1)
        noise = generator.uniform(-self.spread, self.spread, self.horizon)
        return np.asarray(np.array(self.valuations)[segment] + noise)
