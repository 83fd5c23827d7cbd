"""The contract of an experiment: per person and calendar month, enforced by construction.

Theorem. In version v a person adds to the pair (S_a, F_a) of one arm, and moves it by exactly `LATTICE` steps in l1, at
most as many in l2: their score s and what it lacks, LATTICE - s. The arm is a public function of the policy, and no
other sum depends on the person. At most V versions begin in a month, and all of them are paid for. Two-sided geometric
noise of rate a costs V a LATTICE. Discrete Gaussian noise is as hard to tell apart as N(0, 1) from N(mu, 1), with
mu = sqrt(V) LATTICE m/sigma, where sums are multiplied by m first. Policies are functions of releases and times are
public, so that later versions add what the proof counts and nothing else. The smaller noise of the two is taken.
The proof stands in docs/algorithms/experiments.md.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, inf, sqrt
from typing import Any

import numpy as np

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import ROUND_UP, Curve, Gaussian, Pure, SamplerError
from tacit.accounting.guarantee import ENFORCED, Guarantee, Relation
from tacit.accounting.rounding import EXACT, exact_up_to, rounded_up
from tacit.errors import PrivacyError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import SMALLEST_RATE, DiscreteLaplace, laplace_rate
from tacit.noise.randomness import SEALED
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA, SIGMA_ABOVE, gaussian_slack
from tacit.noise.source import Streams
from tacit.validation import IntArray
from tacit.version import __version__
from tacit_experiments.design import Design
from tacit_experiments.policy import digest

FORMAT = "tacit experiment contract 1"
LATTICE = 2**16
"""Steps in a score of 1."""
PERSON = "everything reported about one person for versions that began in one calendar month"
EVENT = "one reply"
RELEASED = "all policies, all released sums, all times of opening and closing, all acts, and which arm anybody got"
THEOREM = "noisy pairs of sums, one pair moved in each version of a month"
LAPLACE, GAUSSIAN = "two-sided geometric", "discrete gaussian"
NAMELESS = "REPLIES NAME NO PERSONS: ONLY SINGLE REPLIES ARE PROTECTED, NOT EVERYTHING THAT ONE PERSON SENT."
CURVE_DELTAS = (1e-9, 1e-6, 1e-3)
ASSUMED = (
    "the operator gives one person one identifier",
    "acts, such as killing an arm, are not decided from raw replies",
    "replies are not lost because of what other persons sent",
)


@dataclass(frozen=True)
class Promise:
    """What is promised, and the noise that keeps it."""

    epsilon: float  # at most, of a month
    delta: float  # at most, of a month
    versions: int  # how many may begin in a month
    identified: bool = True  # whether replies name persons

    @staticmethod
    def of(design: Design) -> Promise:
        """Promise what a design asks for."""
        return Promise(design.epsilon, design.delta, design.versions, design.identified)

    @cached_property
    def _laplace(self) -> float:
        """The rate of two-sided geometric noise (0: too small to be drawn)."""
        rate = laplace_rate(self.epsilon, self.versions * LATTICE)
        return rate if rate >= SMALLEST_RATE else 0.0

    @cached_property
    def _multiple(self) -> int:
        """The largest m for which Gaussian noise keeps the promise (0: there is none)."""
        if self.delta == 0:
            return 0
        most = int(gaussian_mu(self.epsilon, self.delta) * GAUSSIAN_SIGMA / sqrt(self.versions) / LATTICE) + 1

        def breaks(multiple: int) -> bool:  # rises with the multiple
            return self._gaussian(multiple).epsilon(self.delta) > self.epsilon

        return bisect_left(range(1, most + 1), True, key=breaks)

    def _gaussian(self, multiple: int) -> SamplerError:
        slack = gaussian_slack(2 * self.versions)  # a person moves two sums a version
        mu = sqrt(self.versions) * LATTICE * multiple / GAUSSIAN_SIGMA * ROUND_UP
        return SamplerError(Gaussian(mu), slack.total_variation, 1, slack.epsilon, slack.delta_exponent)

    @cached_property
    def law(self) -> str:
        """The law of the smaller noise."""
        pure = sqrt(2.0) / (self._laplace * LATTICE) if self._laplace else inf
        normal = SIGMA_ABOVE / (LATTICE * self._multiple) if self._multiple else inf
        if min(pure, normal) == inf:
            raise PrivacyError(
                f"No noise that can be drawn keeps epsilon={self.epsilon:g} for {self.versions:,} versions a month: "
                "ask for longer versions, or for less privacy."
            )
        return LAPLACE if pure <= normal else GAUSSIAN

    @property
    def multiple(self) -> int:
        """By which sums on the lattice are multiplied before noise is added."""
        return 1 if self.law == LAPLACE else self._multiple

    @property
    def units(self) -> int:
        """Steps of released sums in a score of 1."""
        return LATTICE * self.multiple

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in one sum, in persons."""
        if self.law == GAUSSIAN:
            return SIGMA_ABOVE / self.units
        return sqrt(2 * exp(-self._laplace)) / -expm1(-self._laplace) / LATTICE

    @cached_property
    def curve(self) -> Curve:
        """What a month leaks."""
        if self.law == GAUSSIAN:
            return self._gaussian(self._multiple)
        return Pure(min(self.epsilon, self._laplace * self.versions * LATTICE * ROUND_UP))

    def draw(self, streams: Streams, count: int) -> IntArray:
        """Draw the noise of so many sums, exactly."""
        if self.law == GAUSSIAN:
            return DiscreteGaussian.from_streams(streams, "release").draw(count)
        return DiscreteLaplace.from_streams(streams, "release", self._laplace).draw(count)

    @property
    def noise(self) -> dict[str, Any]:
        """State the law and its numbers, as contracts and releases do."""
        rate = {"rate": self._laplace} if self.law == LAPLACE else {}
        return {"law": self.law, "units": self.units, "lattice": LATTICE, **rate}

    @property
    def at_delta(self) -> float:
        """The delta at which the promise is stated: 0 where the noise is two-sided geometric."""
        return self.delta if self.law == GAUSSIAN else 0.0

    @cached_property
    def guarantee(self) -> Guarantee:
        """What a ledger is charged for one month."""
        slack = gaussian_slack(2 * self.versions).epsilon
        return Guarantee(
            curve=self.curve,
            at_delta=self.at_delta,
            released=RELEASED,
            theorem=THEOREM,
            relation=Relation.ZERO_OUT,
            unit=PERSON if self.identified else EVENT,
            participation_limit=ENFORCED,
            numerics=EXACT if self.law == LAPLACE else exact_up_to(slack),
            randomness=SEALED,
            assumed="; ".join(ASSUMED),
        )

    @np.errstate(under="ignore")
    def contract(self, experiment: str, ledger: str) -> dict[str, Any]:
        """Write the contract as JSON, which `tacit contract verify` checks."""
        guarantee = self.guarantee
        points = ((at, guarantee.epsilon(at)) for at in CURVE_DELTAS if at != self.at_delta)
        curve = [{"delta": at, "epsilon": epsilon if epsilon < inf else None} for at, epsilon in points]
        return {
            "format": FORMAT,
            "tacit": __version__,
            "experiment": experiment,
            "ledger": ledger,
            "unit": "person-month" if self.identified else "event",
            "protected": guarantee.unit,
            "relation": str(guarantee.relation),
            "epsilon": guarantee.epsilon(),
            "delta": self.at_delta,
            "limit": {"versions": self.versions, "enforced": True},
            "noise": self.noise,
            "curve": curve,
            "released": guarantee.released,
            "theorem": guarantee.theorem,
            "numerics": guarantee.numerics,
            "randomness": guarantee.randomness,
            "assumed": list(ASSUMED),
        }

    def digest(self, experiment: str, ledger: str) -> str:
        """Hash the contract, less the version of the program that wrote it."""
        content = self.contract(experiment, ledger)
        del content["tacit"]
        return digest(content)

    def text(self, design: Design) -> str:
        """Write the contract for people who sign it."""
        epsilon = self.guarantee.epsilon()
        chance = f" (up to a chance of {self.at_delta:g})" if self.at_delta else ""
        who, unit = ("person and month", PERSON) if self.identified else ("reply", EVENT)
        kept = "added up to the largest value allowed" if design.adds else "as the largest value that was reported"
        hours = rounded_up((design.serving + design.closing) / 3600)
        paragraphs = {
            "What is protected": f"{unit[0].upper()}{unit[1:]}: how they replied, how often, when, and whether at all. "
            "One person is one identifier given by the operator; somebody with two identifiers is two persons.",
            "What may be seen": f"{RELEASED[0].upper()}{RELEASED[1:]}. All of it may be published.",
            "Promise": f"For every {who}: whoever sees all of that, and knows everything about everybody else, finds "
            f"any conclusion at most e^{rounded_up(epsilon)} = {_power(epsilon)} times more or less likely"
            f"{chance} than if {unit} had never been sent. Between two different replies of one person the factor is "
            f"at most the square: {_power(2 * epsilon)}.",
            "How it is kept": f"In each version a person counts once, {kept}, and at most {self.versions} versions "
            "begin in a month. The program enforces both. Noise is added to the sums of each version once, with a "
            f"standard deviation of {rounded_up(self.deviation)} persons.",
            "Months add up": f"Over twelve months the factor is at most e^{rounded_up(12 * epsilon)} by simple "
            f"addition. The exact figure stands in the ledger {design.ledger!r}, with all experiments on these people.",
            "Not protected": "That a person visited, which arm they got, and what the operator's own systems record.",
            "Whom you trust": "The operator's database and its administrators hold replies, under keyed hashes, until "
            f"the version closes: at most {hours} hours, and one hour more. Nobody else does.",
            "Assumed, not enforced": f"That {'; that '.join(ASSUMED)}.",
        }
        written = [f"{title}. {text}" for title, text in paragraphs.items()]
        return "\n\n".join(written if self.identified else [NAMELESS, *written])


def _power(exponent: float) -> str:
    return rounded_up(exp(exponent)) if exponent < 700 else "more than 1e304"
