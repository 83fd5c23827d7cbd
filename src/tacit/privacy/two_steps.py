"""Neighbours two steps apart: a guarantee for zeroing a round out says this much about replacing it.

A stream and the one with a round replaced are both neighbours of the stream with that round zeroed out. From
P <= e^a P_0 + d(a) and P_0 <= e^a P' + d(a) follows delta(2a) <= (1 + e^a) d(a); Gaussian and pure curves just double;
and Renyi divergences obey D_a(P, P') <= (a - 1/2)/(a - 1) D_2a(P, P_0) + D_{2a-1}(P_0, P') (Mironov, 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from tacit.errors import InvalidInput
from tacit.privacy.conversion import ROUND_UP
from tacit.privacy.curves import Approximate, Curve, Gaussian, Pure
from tacit.validation import FloatArray, check_number


@dataclass(frozen=True)
class TwoSteps(Curve):
    """What `curve` says about neighbours that are two of its steps apart."""

    curve: Curve

    def __post_init__(self) -> None:
        if not isinstance(self.curve, Curve):
            raise InvalidInput(f"TwoSteps must be made from a curve. Got {self.curve!r} instead.")

    def renyi(self, orders: FloatArray) -> FloatArray:
        near, far = self.curve.renyi(2 * orders - 1), self.curve.renyi(2 * orders)
        return ((orders - 0.5) / (orders - 1) * far + near) * ROUND_UP

    def pure(self) -> float:
        return 2 * self.curve.pure()

    def epsilon(self, delta: float) -> float:
        known = super().epsilon(delta)
        if delta == 0:
            return known
        half = 0.0
        for _ in range(100):  # the least half epsilon, from below
            if self._at(half) <= delta:
                return min(known, 2 * half)
            half = self.curve.epsilon(delta / (1 + exp(half)) * (2 - ROUND_UP)) * (1 + 1e-9)
            if half > 300:
                break
        return known

    def delta(self, epsilon: float) -> float:
        epsilon = check_number("TwoSteps", "epsilon", epsilon, above=0.0, closed_low=True)
        return min(super().delta(epsilon), self._at(epsilon / 2))

    def _at(self, half: float) -> float:
        return min(1.0, (1 + exp(min(half, 700.0))) * self.curve.delta(half) * ROUND_UP)


def two_steps(curve: Curve) -> Curve:
    """The curve for neighbours two steps apart, in closed form where there is one."""
    match curve:
        case Pure(value=value):
            return Pure(2 * value)
        case Gaussian(mu=mu):
            return Gaussian(2 * mu)
        case Approximate(value=value, at=0.0):
            return Approximate(2 * value, 0.0)
        case Approximate(value=value, at=at) if value <= 700 and (1 + exp(value)) * at * ROUND_UP < 1:
            return Approximate(2 * value, (1 + exp(value)) * at * ROUND_UP)
    return TwoSteps(curve)
