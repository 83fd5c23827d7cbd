"""The promise of a test: integer multipliers, the longest vector of a person, and the charge of all looks.

Theorem. Let D_j^2 bound the squared length of what a person adds to look j: the totals of one arm
and, in each dimension of segments, one cell. Rows may change between looks in any way. Then all
looks together are as hard to tell apart, with the person and without, as N(0, 1) and N(mu, 1) with
mu = sqrt(sum_j D_j^2)/sigma, up to the errors of as many draws as a person can move. Which looks
are held, and what is done after them, may depend on what was released (docs/algorithms/tests.md,
Theorems 1 to 3). The noise is the discrete Gaussian of tacit, sigma = 2^29.00004.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, sqrt
from typing import Any

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import ROUND_UP, Gaussian, SamplerError
from tacit.accounting.guarantee import ENFORCED, Guarantee, Relation
from tacit.accounting.rounding import exact_up_to
from tacit.errors import PrivacyError
from tacit.noise.randomness import SEALED
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA, gaussian_slack
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.vector import Layout
from tacit_experiments.ab_tests.weights import CELLS, look_shares, weights

UNIT = "everything that one test holds about one person"
RELEASED = (
    "noisy sums of every arm and cell at each planned look, the design, all times, all acts, and which arm "
    "anybody would get"
)
THEOREM = "one vector of bounded length for each person and look, in one arm and one cell of each segment"
ASSUMED = (
    "the operator gives one person one identifier",
    "a row says something of the person it names, and of nobody else",
    "acts, such as stopping a test, are not decided from raw rows",
    "other persons' rows do not depend on one person's but through what was released",
)
SMALLEST_MULTIPLIER = 4
"""Below it whole multipliers lose more than a fifth of what they should be."""
STEPS = 80
SHRINK = 1 - 2**-20
ROOT_BITS = 40
"""Binary digits of a root behind the point; it is rounded up."""


@dataclass(frozen=True)
class Look:
    """The multipliers of one look.

    Attributes:
        total: a_0, a_m of each metric and a_p of each pair, for the totals of an arm.
        cells: the same for the cells of each dimension.
    """

    total: tuple[int, ...]
    cells: tuple[tuple[int, ...], ...] = ()

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The multipliers of every sum that one person is in."""
        return (self.total, *self.cells)


@dataclass(frozen=True)
class Promise:
    """What is promised to a person, and the multipliers that keep it.

    Attributes:
        layout: the coordinates of a person's vector.
        looks: the multipliers of each look.
        delta: at which epsilon is stated.
    """

    layout: Layout
    looks: tuple[Look, ...]
    delta: float

    @staticmethod
    def of(design: ABTest) -> Promise:
        """Promise what a design asks for, with the largest multipliers that keep it."""
        return Promise.calibrate(
            design.layout,
            weights(design),
            look_shares(design.looks),
            dimensions=len(design.segments),
            epsilon=design.epsilon,
            delta=design.delta,
        )

    @staticmethod
    def calibrate(
        layout: Layout,
        betas: Sequence[float],
        shares: Sequence[float],
        *,
        dimensions: int = 0,
        epsilon: float,
        delta: float,
    ) -> Promise:
        """Find the largest multipliers, in the proportions of betas and shares, whose epsilon is at most this.

        Args:
            layout: the coordinates of a person's vector.
            betas: the share of persons, of each metric and of each pair.
            shares: the share of each look.
            dimensions: how many dimensions of segments there are.
            epsilon: the most that may be spent on all looks.
            delta: at which epsilon is meant.

        Raises:
            PrivacyError: if the noise is so large that whole multipliers cannot keep the proportions.
        """
        part = CELLS if dimensions else 0.0
        parts = (1 - part, *(part / dimensions for _ in range(dimensions)))

        def scaled(size: float) -> Promise:
            rows = [[tuple(int(size * sqrt(s * p * beta)) for beta in betas) for p in parts] for s in shares]
            return Promise(layout, tuple(Look(row[0], tuple(row[1:])) for row in rows), delta)

        limit = _longest(scaled(0.0).draws, epsilon, delta)
        low, high = 0.0, 2 * limit / layout.lattice
        for _ in range(STEPS):
            middle = (low + high) / 2
            if scaled(middle).squared_shift <= limit**2:
                low = middle
            else:
                high = middle
        made = scaled(low)
        while made.curve.epsilon(delta) > epsilon:  # what is stated is computed again: it must not rest on the search
            low *= SHRINK
            made = scaled(low)
        if (
            min(multiplier for look in made.looks for block in look.blocks for multiplier in block)
            < SMALLEST_MULTIPLIER
        ):
            raise PrivacyError(
                f"epsilon={epsilon:g} is too small for this many looks, metrics and segments: take a larger epsilon, "
                "or fewer of them."
            )
        return made

    @staticmethod
    def from_contract(content: dict[str, Any]) -> Promise:
        """Read the multipliers of a contract: those of its start, whatever later versions would calibrate."""
        vector = content["vector"]
        binary = tuple(metric["kind"] == "conversion" for metric in vector["metrics"])
        layout = Layout(binary, tuple((first, second) for first, second in vector["pairs"]), vector["lattice"])
        looks = (Look(tuple(look["total"]), tuple(map(tuple, look["cells"]))) for look in content["looks"])
        return Promise(layout, tuple(looks), content["delta"])

    @property
    def squared_shift(self) -> int:
        """D^2: the largest squared length of everything that a person adds, over all looks, exactly."""
        return sum(self.layout.squared_norm(block) for look in self.looks for block in look.blocks)

    @property
    def squared_stories(self) -> int:
        """The same for two stories of one person: other values, other cells, or nothing at some looks."""
        total = 0
        for look in self.looks:
            for number, block in enumerate(look.blocks):
                apart = (2 if number else 1) * self.layout.squared_norm(block)  # two cells, or there and not there
                total += max(apart, self.layout.squared_distance(block))
        return total

    @property
    def draws(self) -> int:
        """How many released integers one person can move."""
        return sum(self.layout.draws(block) for look in self.looks for block in look.blocks)

    @property
    def mu(self) -> float:
        """As hard to tell apart as N(0, 1) and N(mu, 1), rounded up."""
        return shift_mu(self.squared_shift)

    @property
    def stories_mu(self) -> float:
        """The same for two stories of one person, of which one is true."""
        return shift_mu(self.squared_stories)

    @cached_property
    def curve(self) -> SamplerError:
        """What all looks together leak."""
        return gaussian_curve(self.mu, self.draws)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What a ledger is charged, once, for all looks."""
        return Guarantee(
            curve=self.curve,
            at_delta=self.delta,
            released=RELEASED,
            theorem=THEOREM,
            relation=Relation.ZERO_OUT,
            unit=UNIT,
            participation_limit=ENFORCED,
            numerics=exact_up_to(gaussian_slack(self.draws).epsilon),
            randomness=SEALED,
            assumed="; ".join(ASSUMED),
        )


def shift_mu(squared: int) -> float:
    """Return the root of a squared shift over sigma, rounded up."""
    root = (isqrt(squared << 2 * ROOT_BITS) + 1) / 2**ROOT_BITS
    return float(root / GAUSSIAN_SIGMA * ROUND_UP)


def gaussian_curve(mu: float, draws: int) -> SamplerError:
    """Return the curve of Gaussian noise, with what the samplers of so many integers add."""
    slack = gaussian_slack(draws)
    return SamplerError(Gaussian(mu), slack.total_variation, 1, slack.epsilon, slack.delta_exponent)


def _longest(draws: int, epsilon: float, delta: float) -> int:
    """Find the longest shift, a whole number of steps, that keeps epsilon at delta."""
    most = int(gaussian_mu(epsilon, delta) * GAUSSIAN_SIGMA) + 2

    def breaks(length: int) -> bool:
        return gaussian_curve(shift_mu(length**2), draws).epsilon(delta) > epsilon

    return bisect_left(range(most), True, lo=1, key=breaks) - 1
