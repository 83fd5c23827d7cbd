"""What one fit releases beside its model, and how it divides its budget: public numbers only, one contract.

Class counts and the line between two classes take a small share of epsilon each. With Gaussian noise shares are cheap:
mu^2 add up, so that 5% of epsilon is about a tenth of mu^2. Pure shares are twice as large.

Sums are integers, and so is the noise: a release is exact, up to the slack of Gaussian draws. A record moves a vector
of counts of disjoint classes by 1 (zero-out), or by sqrt(2) in l2 and 2 in l1 (replacement); one number
1[above] - 1[positive] by 1 or 2.

The line is the threshold of predictions, between 0 and the intercept, at which predicted positives match actual
positives: a noisy binary search of `STEPS` counts (docs/one-pass.md says what it is for).

`warn_if_useless` compares what noise can cost, sqrt(2 (2 n G^2 + E|Z|^2))/(n B) against models of margins up to 1 (see
`ObjectivePerturbation`; B the norm of rows), with the most that such a model can gain, f(0) - f(1).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from tacit.accounting.calibration import gaussian_mu, largest
from tacit.accounting.composition import compose, joint
from tacit.accounting.curves import ROUND_UP, Curve, Gaussian, Pure, SamplerError
from tacit.accounting.guarantee import Guarantee, Relation
from tacit.accounting.rounding import EXACT, composed_numerics, exact_up_to
from tacit.algorithms.stochastic import ObjectivePerturbation, OnlineToBatch, PrivateDescent
from tacit.errors import PrivacyError
from tacit.losses.loss import LinkLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace, laplace_rate, laplace_units
from tacit.noise.lattice import LARGEST_UNITS
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.running_sum import FEWEST_UNITS, last_below
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA, SIGMA_ABOVE, gaussian_slack
from tacit.noise.source import Streams
from tacit.runtime.target import Target
from tacit.validation import FloatArray, IntArray, check_positive

STEPS = 5
"""Counts that the search for the line asks for."""


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


@dataclass(frozen=True)
class NoisyCounts:
    """The noise of one release of counts.

    Attributes:
        privacy: mu of the release, or its epsilon if pure.
        reach: by how much one record moves the counts, in l2, or in l1 if pure.
        pure: whether the noise is two-sided geometric.
    """

    privacy: float
    reach: float
    pure: bool

    @property
    def units(self) -> int:
        """How many steps a count of 1 has."""
        return laplace_units(self.privacy, ceil(self.reach)) if self.pure else self._statistics.units

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of a count, rounded up."""
        return sqrt(2) / (self._rate * self.units) * ROUND_UP if self.pure else self._statistics.deviation

    def whole(self, weights: FloatArray) -> IntArray:
        """Weights in [0, 1] as integers of at most `units`."""
        return np.clip(np.floor(weights * self.units), 0, self.units).astype(np.int64)

    def release(self, sums: IntArray, source: Randomness, name: str) -> FloatArray:
        """Integer sums of `whole` weights with fresh noise, as counts."""
        if not self.pure:
            return self._statistics.release(sums, source, name)
        noise = DiscreteLaplace.from_streams(source, name, self._rate)
        return np.asarray((sums + noise.draw(sums.size).reshape(sums.shape)) / self.units)

    @property
    def _statistics(self) -> NoisyStatistics:
        return NoisyStatistics.finest(self.privacy, lambda units: self.reach * units * ROUND_UP)

    @property
    def _rate(self) -> float:
        return laplace_rate(self.privacy, ceil(self.reach) * self.units)


def class_counts(noise: NoisyCounts, codes: IntArray, classes: int, source: Randomness) -> FloatArray:
    """The noisy number of records of each class."""
    sums = np.bincount(codes, minlength=classes).astype(np.int64) * noise.units
    return noise.release(sums, source, "class counts")


def matched_line(
    noise: NoisyCounts,
    scores: FloatArray,
    positive: FloatArray,
    weights: FloatArray,
    intercept: float,
    source: Randomness,
) -> float:
    """Where to draw the line between scores of records, of which some are positive: between 0 and the intercept."""
    low, high, whole = min(intercept, 0.0), max(intercept, 0.0), noise.whole(weights)
    for step in range(STEPS):
        middle = low + (high - low) / 2
        called = np.where(scores > middle, 1, 0) - positive.astype(np.int64)
        net = noise.release(np.array([np.sum(whole * called)]), source, f"line {step}")[0]
        low, high = (middle, high) if net > 0 else (low, middle)
    return low + (high - low) / 2


SHARE = 0.05
"""The share of epsilon that class counts, and that the line between two classes, may spend."""
PURE_SHARE = 0.1
"""The same if delta is 0."""
# Beyond this share of the records the noise of a count tells nothing about the line.
_LOUDEST = 0.12
ROUNDED = 1 - 1e-9
"""Below the epsilon or mu that is asked for by more than the last digits of the sum of their parts."""

ModelPlan = ObjectivePerturbation | OnlineToBatch | PrivateDescent


@dataclass(frozen=True)
class FitPlan:
    """What one fit will do and spend.

    Attributes:
        model: the plan of the model.
        guarantee: the contract of everything together.
        counts: the noise of the class counts (None: they are not asked for).
        line: the noise of one count of the search for the line (None: it stays where it is).
    """

    model: ModelPlan
    guarantee: Guarantee
    counts: NoisyCounts | None = None
    line: NoisyCounts | None = None


def line_is_audible(epsilon: float, delta: float, relation: Relation, records: int) -> bool:
    """Whether the search for the line is worth its share: a public rule."""
    pure = delta == 0
    scale = sqrt(2) * STEPS / (PURE_SHARE * epsilon) if pure else sqrt(STEPS) / (0.3 * gaussian_mu(epsilon, delta))
    return bool(relation.sides * scale <= _LOUDEST * records)


def divided(
    epsilon: float,
    delta: float,
    relation: Relation,
    model_at: Callable[[float], ModelPlan],
    *,
    classes: int,
    counts: bool,
    line: bool,
) -> FitPlan:
    """The plan of a fit within the budget; `model_at` gives the model's plan at an epsilon."""
    parts = counts + line
    if not parts:
        model = model_at(epsilon)
        return FitPlan(model, model.guarantee)
    model = model_at(epsilon * (1 - parts * (SHARE if delta > 0 else PURE_SHARE)))
    draws = counts * classes + line * STEPS
    mu = largest_mu(model.curve, epsilon, delta, draws) if delta > 0 else None
    pure = mu is None
    if mu is None:
        each = (epsilon - model.curve.epsilon(delta)) / parts * ROUNDED
        beside: Curve = Pure(each * parts)
        curve, numerics = compose([model.curve, beside], [delta, 0.0]), EXACT
        step = each / STEPS * ROUNDED
    else:
        beside, numerics = statistics_curve(mu, draws)
        curve = joint([model.curve, beside])
        each = mu / sqrt(parts) * ROUNDED
        step = each / sqrt(STEPS) * ROUNDED
    between = relation.sides if pure else sqrt(relation.sides)
    names = ["noisy class counts"] * counts + ["the threshold between the classes"] * line
    return FitPlan(
        model,
        replace(
            model.guarantee,
            curve=curve,
            at_delta=delta,
            released=f"{model.guarantee.released}; {'; '.join(names)}",
            theorem=f"{model.guarantee.theorem}; {'geometric' if pure else 'Gaussian'} mechanism on counts",
            numerics=composed_numerics([model.guarantee.numerics, numerics]),
        ),
        NoisyCounts(each, between, pure) if counts else None,
        NoisyCounts(step, relation.sides, pure) if line else None,
    )


@lru_cache(maxsize=128)
def largest_mu(model: Curve, epsilon: float, delta: float, draws: int) -> float | None:
    """What the model leaves to counts (None: at an enormous epsilon nobody can tell, and pure noise adds up)."""

    def cost(mu: float) -> float:
        return joint([model, statistics_curve(mu, draws)[0]]).delta(epsilon)

    high = gaussian_mu(epsilon, delta)
    try:
        return largest(cost, delta, 1e-3 * high, high, 1e-2)
    except PrivacyError:
        return None


def statistics_guarantee(epsilon: float, delta: float, relation: str, draws: int, released: str) -> Guarantee:
    """The contract of one release of so many noisy numbers that spends the whole budget."""
    pure: tuple[Curve, str] = Pure(epsilon), EXACT
    curve, numerics = statistics_curve(gaussian_mu(epsilon, delta), draws) if delta > 0 else pure
    made = Guarantee(
        curve=curve,
        at_delta=float(delta),
        released=released,
        theorem="Gaussian mechanism" if delta > 0 else "geometric mechanism",
        relation=Relation(relation),
        unit="one record",
        numerics=numerics,
    )
    if delta > 0 and not Target(epsilon, delta).met_by(made):
        raise PrivacyError(
            f"Noisy statistics do not meet epsilon={epsilon:g}, delta={delta:g}: the errors of their samplers cost "
            "more than so small a delta."
        )
    return made


FEWEST_FOR_DESCENT = 10
"""n mu/sides for each class below which descent learns little: of ten digits, .38 at 3.8 and .75 at 12."""


class UsefulnessWarning(UserWarning):
    """A fit is private, and too noisy to be worth its budget as far as public numbers tell."""


def certified_excess(plan: ObjectivePerturbation) -> float:
    """A bound on the excess risk against models of margins up to 1."""
    problem = plan.problem
    steep, d, n = problem.loss.constants(None).lipschitz, problem.domain.dimension, problem.records
    square = plan.noise_scale**2 * (d * (d + 1) if plan.pure else d)
    norm = problem.loss.data_norm if isinstance(problem.loss, LinkLoss) else 1.0
    return sqrt(2 * (2 * n * steep**2 + square)) / (n * norm)


def warn_if_useless(
    plan: ObjectivePerturbation | PrivateDescent, loss: LinkLoss, facts: str, epsilon: float, level: int
) -> None:
    """Warn if half of what a model could gain may be lost to noise, or if descent has too few records to learn from.

    `facts`: the public numbers, in words. `level`: how many calls above this one the warning belongs to.
    """
    if isinstance(plan, PrivateDescent):
        useless = plan.problem.records * plan.mu / plan.relation.sides < FEWEST_FOR_DESCENT * max(2, plan.scores)
        told = "is to be expected: take more rows or a larger epsilon."
    else:
        blind, best = loss.link(np.array([0.0, 1.0]), np.ones(2)).tolist()  # at margins of 0 and 1
        excess, gain = certified_excess(plan), blind - best
        useless = excess >= gain / 2
        told = (
            f"is certified (at most {gain:.2g} can be gained, up to {excess:.2g} lost to noise): take more rows, fewer "
            "features or a larger epsilon."
        )
    if useless:
        words = f"With {facts} and epsilon={epsilon:g} little gain over deciding blindly {told}"
        warnings.warn(words, UsefulnessWarning, stacklevel=level + 1)
