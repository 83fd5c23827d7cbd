"""One release of integer statistics with discrete Gaussian noise: the lattice is as fine as the privacy allows.

Each record is quantised by itself and moves the sums by at most `shift(units)` steps in l2 (`tacit.noise.lattice`), so
that mu = shift(units)/sigma' exactly, up to the slack of the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.accounting.curves import ROUND_UP, Curve, Gaussian, SamplerError
from tacit.accounting.rounding import exact_up_to
from tacit.errors import PrivacyError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.lattice import LARGEST_UNITS
from tacit.noise.running_sums.running_sum import FEWEST_UNITS, last_below
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA, SIGMA_ABOVE, gaussian_slack
from tacit.noise.source import Streams
from tacit.validation import FloatArray, IntArray, check_positive


@dataclass(frozen=True)
class NoisyStatistics:
    """A lattice for sums that are released once.

    Attributes:
        units: how many steps 1 has.
    """

    units: int

    @classmethod
    def finest(cls, mu: float, shift: Callable[[int], float]) -> NoisyStatistics:
        """The largest even units for which one record moves the sums by no more than mu hides."""
        budget = check_positive("NoisyStatistics", "mu", mu) * GAUSSIAN_SIGMA * (2 - ROUND_UP)
        half = last_below(lambda half: shift(2 * half), budget, LARGEST_UNITS // 2)
        if 2 * half < FEWEST_UNITS:
            raise PrivacyError(f"No lattice is fine enough for mu={mu:.3g}: ask for less privacy or fewer features.")
        return cls(2 * half)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, rounded up."""
        return SIGMA_ABOVE / self.units * ROUND_UP

    def release(self, sums: IntArray, streams: Streams, name: str) -> FloatArray:
        """The sums with noise, in their own units."""
        noise = DiscreteGaussian.from_streams(streams, name)
        return (sums + noise.draw(sums.size).reshape(sums.shape)) / self.units


def statistics_curve(mu: float, draws: int) -> tuple[Curve, str]:
    """What `draws` noisy sums leak that are mu-Gaussian together, and the words about their numerics."""
    slack = gaussian_slack(draws)
    curve = SamplerError(Gaussian(mu), slack.total_variation, 1, slack.epsilon, slack.delta_exponent)
    return curve, exact_up_to(slack.epsilon)
