"""What the certificates of follow-the-regularised-leader are made of: R^2/(2 eta) + (eta/2) V + eta^2 W + a constant.

Four ways to bound the same algorithm, or one of its forms; the proofs stand in docs/algorithms/private-ftrl.md. On the
lattice the bounds are for quantised gradients, and roundings of the noise move points: what both cost is part of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from tacit.learners.ctrl.accounting import chi_mean
from tacit.mechanisms.running_sums import RunningSum
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.validation import FloatArray


@dataclass(frozen=True)
class Terms:
    """R^2/(2 eta) + (eta/2) variation + eta^2 bend + constant."""

    radius: float
    variation: float
    bend: float = 0.0
    constant: float = 0.0

    def at(self, eta: float) -> float:
        """The bound at this rate."""
        return self.radius**2 / (2 * eta) + eta * self.variation / 2 + eta**2 * self.bend + self.constant

    @property
    def best_rate(self) -> float:
        """The root of 4 W eta^3 + V eta^2 = R^2, by Newton's method: convex, and from the right it never overshoots."""
        eta = self.radius / sqrt(self.variation)
        for _ in range(200):
            excess = eta**2 * (4 * self.bend * eta + self.variation) - self.radius**2
            following = eta - excess / (eta * (12 * self.bend * eta + 2 * self.variation))
            if not 0 < following < eta:
                break
            eta = following
        return eta


@dataclass(frozen=True)
class FreeTerms(Terms):
    """Without a projection: besides, what it costs that each gradient may be shortened by `lost`.

    Points may be eta G t away from the centre, so at first sight the t-th one costs eta G t `lost`. But if no loss on
    the domain lies more than F above its smallest value, the mean square of the distance to the comparator grows by at
    most 2 eta (F + beta eta^2 c std_t^2/2 + lost times the distance) + eta^2 G^2 a round, roundings of the noise aside.
    """

    lost: float = 0.0
    height: float = float("inf")
    lipschitz: float = 0.0
    rounds: int = 0

    def at(self, eta: float) -> float:
        """The bound at this rate."""
        drift = eta * self.rounds * self.lost
        square = self.radius**2 + 2 * eta * (self.rounds * self.height + eta**2 * self.bend) + eta**2 * self.variation
        distance = drift + sqrt(drift**2 + square)
        return super().at(eta) + min(eta * self._shortened, self.lost * self.rounds * distance)

    @property
    def best_rate(self) -> float:
        """The better one of the rates with and without what shortened gradients cost at first sight."""
        plain = super().best_rate
        careful = Terms(self.radius, self.variation + 2 * self._shortened, self.bend).best_rate
        return min(plain, careful, key=self.at)

    @property
    def _shortened(self) -> float:
        return self.lipschitz * self.lost * self.rounds * (self.rounds - 1) / 2


@dataclass(frozen=True)
class Setting:
    """The public numbers that the bounds are made of.

    Attributes:
        radius: R, of the domain.
        diameter: D, of the domain.
        lipschitz: G, the norm of the gradients.
        smoothness: beta, how fast they change.
        height: F, how far a loss on the domain may lie above its smallest value anywhere.
        directions: c, in how many directions a gradient may change: 1 for generalised linear losses, d for others.
        dimension: d.
        rounds: T.
        mechanism: the running sum; T - 1 steps.
        grid: its lattice, for one stream.
        delay: D, how many rounds late gradients may come.
    """

    radius: float
    diameter: float
    lipschitz: float
    smoothness: float
    height: float
    directions: int
    dimension: int
    rounds: int
    mechanism: RunningSum
    grid: Grid
    delay: int = 0

    @cached_property
    def deviations(self) -> FloatArray:
        """std_t: of one coordinate of the noise in each sum."""
        return self.mechanism.standard_deviations(self.grid.scale)

    @property
    def gradients(self) -> float:
        """G^2 T: V of the exact leader; 2 G^2 D T more for late gradients, which find it up to eta G D away."""
        return self.lipschitz**2 * self.rounds * (1 + 2 * self.delay)

    @property
    def moved(self) -> float:
        """By how much roundings move a coordinate of a sum at most."""
        return self.grid.disturbance(self.mechanism)

    @property
    def roundings(self) -> float:
        """G times how far roundings of the noise move all points, for eta = 1."""
        return self.lipschitz * self.rounds * sqrt(self.dimension) * self.moved

    @property
    def lost(self) -> float:
        """By how much a gradient may be shortened, in l2."""
        return sqrt(self.dimension) * self.grid.lost


def any_losses(setting: Setting) -> Terms:
    """Every convex loss, adaptive adversaries: each point moves by at most eta times the length of its noise."""
    size = chi_mean(setting.dimension) if setting.mechanism.noise == "gaussian" else sqrt(setting.dimension)
    noise = setting.lipschitz * size * float(setting.deviations.sum()) if setting.mechanism.steps else 0.0
    return _projected(setting, noise)


def linear_losses(setting: Setting) -> Terms:
    """Linear losses fixed in advance, noise that never falls: the noise is coupled as a sum of increments."""
    return _projected(setting, _last_variance(setting) / 2)


def two_streams(setting: Setting) -> Terms:
    """Smooth losses fixed in advance: given the first stream they are linear for the second.

    Where gradients are taken and what is played differ by at most eta times the difference of two noises.
    """
    apart = setting.deviations + sqrt(2.0) * setting.moved
    bend = setting.smoothness * setting.dimension * float(apart @ apart)
    return _projected(setting, _last_variance(setting) / 2, bend)


def not_projected(setting: Setting) -> Terms:
    """Smooth losses fixed in advance, points that are not projected: the noise enters at second order only."""
    noise = setting.deviations
    return FreeTerms(
        setting.radius,
        setting.gradients + 2 * setting.roundings,
        setting.smoothness / 2 * setting.directions * float(noise @ noise),
        lost=setting.lost,
        height=setting.height,
        lipschitz=setting.lipschitz,
        rounds=setting.rounds,
    )


def _projected(setting: Setting, noise: float, bend: float = 0.0) -> Terms:
    """The exact leader, eta times what the noise adds, and the lattice: D times what each gradient loses."""
    variation = setting.gradients + 2 * (noise + setting.roundings)
    return Terms(setting.radius, variation, bend, setting.rounds * setting.diameter * setting.lost)


def _last_variance(setting: Setting) -> float:
    if not setting.mechanism.steps:
        return 0.0
    return setting.dimension * float(setting.grid.scale * setting.mechanism.largest_row_norm) ** 2
