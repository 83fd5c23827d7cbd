"""Private accelerated descent: full passes over the records, each of which releases one noisy sum of clipped gradients.

The model is y_T of an accelerated scheme (AC-SA; Lan, 2012) with a_t = t and A_t = a_1 + ... + a_t = t(t+1)/2:

    x_t = (A_{t-1} y_{t-1} + a_t w_t)/A_t,   g_t = (1/n)(sum_i clip_C(grad_i(x_t)) + Z_t),
    w_{t+1} = w_t - eta a_t g_t,             y_t = (A_{t-1} y_{t-1} + a_t w_{t+1})/A_t,

from y_0 = w_1 = 0. All losses are of linear scores: two classes have one score and the logistic loss, more of them
have one score each and the softmax. The divisor n is the declared number of records.

Rows and clipped residuals are integers, so that a record r_i (x) x_i has the norm |r_i||x_i| <= U, exactly, and sums
are exact if n U < 2^53: T adaptive passes are mu-Gaussian with mu = sqrt(T) sides U/sigma', up to sampler errors.
Two classes have a certificate of the training loss, with s = sqrt(D) sigma/n + q and eta < 1/(2L):

    E F(y_T) - F(u) <= |u|^2/(eta T(T+1)) + eta (2T+1) s^2/(6 (1 - 2 eta L)) + 4 q (1 + ln(1/q)).

Clip, steps and rate follow a rule from n, mu, the number of features and the relation alone (`calibrate`), whose
constants scripts/tune_descent.py measures. Proofs and rule: docs/algorithms/private-descent.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor, inf, log, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import ROUND_UP
from tacit.errors import PrivacyError
from tacit.losses.loss import LogisticLoss, largest_norm
from tacit.losses.several_classes import MultinomialLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.lattice import quantise_vectors
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.running_sum import FEWEST_UNITS
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA, SIGMA_ABOVE
from tacit.problems import Problem, Stochastic
from tacit.releases import Passes
from tacit.runtime.final_model import FinalModelLearner, FinalModelPlan
from tacit.runtime.target import RegretBound, Target, refuse_many_rounds
from tacit.validation import FloatArray, IntArray, check_choice, check_integer, check_positive, invalid

# The rule's constants: see the module's docstring.
CLIP, STEPS, FEWEST_STEPS, MOST_STEPS = 0.5, 4.0, 12, 20_000
MANY = 10.0
# Room for the roundings of clipping in float64, so that the check in integers never acts.
_INSIDE = 1 - 2.0**-30
# Numbers of a part of the rows, so that a part and what is made of it stay in the processor's memory.
_PART = 2**18
# Integers up to here are exact in float64.
_LARGEST_PRODUCT = 2**53
# Twice the square of these units is exact in int64, in which residuals are checked.
_MOST_UNITS = 2**31 - 1


@dataclass(frozen=True)
class PrivateDescent(FinalModelPlan):
    """Full passes of accelerated descent over the records; only their noisy gradient sums are seen.

    Privacy contract: every noisy sum of clipped gradients, hence every iterate and the model: mu-Gaussian DP. Adaptive
    adversaries. Enforced: each record's gradient is clipped to C and checked in integers, whatever the row; the divisor
    is the declared number of records. Assumed: nothing. Numerics: exact up to an epsilon that the contract states.
    No excess risk is certified. `training_bound` certifies the training loss of two classes.

    Reference: Lan (2012), "An optimal method for stochastic composite optimization"; Abadi et al. (2016),
    https://arxiv.org/abs/1607.00133, for clipped and noisy gradients. Page: docs/algorithms/private-descent.md.

    Attributes:
        steps: T, passes over the records.
        clip: C, the norm to which a record's gradient is clipped, for rows of norm 1.
        eta: step size.
        mu: Gaussian privacy of all passes together.

    >>> from tacit.domains import Ball
    >>> problem = Stochastic(domain=Ball(10, radius=6.0), loss=LogisticLoss(), horizon=10_000)
    >>> plan = PrivateDescent.calibrate(problem, epsilon=1.0, delta=1e-6)
    >>> plan.steps, round(plan.clip, 2)
    (138, 0.51)
    """

    problem: Stochastic
    _takes: ClassVar[type[Problem]] = Stochastic
    steps: int
    clip: float
    eta: float
    mu: float

    def _check_parameters(self) -> None:
        owner = self.algorithm
        check_loss(self.problem)
        check_choice(owner, "rounds_per_person", self.rounds_per_person, (1,))
        check_choice(owner, "numerics", self.numerics, ("exact",))
        check_integer(owner, "steps", self.steps, at_most=MOST_STEPS)
        for name in ("clip", "eta", "mu"):
            check_positive(owner, name, getattr(self, name))
        if self.units < FEWEST_UNITS or self.residual_units * self.clip < 64:
            raise PrivacyError(
                f"{owner} has no lattice that is fine enough for mu={self.mu:.3g} in {self.steps} steps over "
                f"{self.problem.records} records: ask for less privacy or fewer steps."
            )

    @property
    def scores(self) -> int:
        """How many scores a record has: one a class, or one for two classes."""
        return score_count(self.problem)

    @property
    def width(self) -> int:
        """Numbers in a row of features."""
        return self.problem.domain.dimension // self.scores

    @cached_property
    def units(self) -> int:
        """U: steps in the largest gradient of a record, so that T passes are mu-Gaussian and sums are exact."""
        hidden = self.mu * GAUSSIAN_SIGMA * (2 - ROUND_UP) / (self.relation.sides * sqrt(self.steps))
        return floor(min(hidden, _MOST_UNITS, (_LARGEST_PRODUCT - 1) // self.problem.records))

    @property
    def row_units(self) -> int:
        """M_x: steps in a row of norm 1, about the root of U."""
        return int(2 ** max(5, round(log(max(self.units, 2), 2) / 2)))

    @property
    def residual_units(self) -> float:
        """M_r: steps in a residual of 1."""
        return self.units / (self.clip * self.row_units)

    @property
    def deviation(self) -> float:
        """Of the noise in one coordinate of a sum of gradients, for rows of norm 1."""
        return SIGMA_ABOVE / (self.row_units * self.residual_units) * ROUND_UP

    @cached_property
    def releases(self) -> Passes:
        return Passes(self.steps, self.units, self.problem.domain.dimension)

    @property
    def regret_bound(self) -> RegretBound:
        """Nothing is certified about fresh records."""
        return RegretBound(inf, "none", ("no excess risk is certified: see training_bound",))

    @property
    def training_bound(self) -> RegretBound:
        """The certificate of the module's docstring, against models of the domain; infinite beyond two classes."""
        if self.scores > 1:
            return RegretBound(inf, "none", ("more than two classes: nothing is certified",))
        radius = largest_norm(self.problem.domain) * data_norm(self.problem)
        eta, steps, q = self.eta, self.steps, 1 / self.residual_units
        off = sqrt(self.problem.domain.dimension) * self.deviation / self.problem.records + q
        value = radius**2 / (eta * steps * (steps + 1))
        value += eta * (2 * steps + 1) * off**2 / (6 * (1 - 2 * eta * smoothness(self.scores)))
        value += 4 * q * (1 + log(1 / q))
        return RegretBound(
            value * ROUND_UP,
            "R^2/(eta T(T+1)) + eta (2T+1)(sqrt(D) sigma/n + q)^2/(6 (1 - 2 eta L)) + 4 q (1 + ln(1/q))",
            (
                "mean training loss, slopes cut at C/|x|, rows in whole steps",
                "comparators in the domain, the model anywhere",
                "expectation over the noise",
            ),
        )

    @classmethod
    def _calibrate(
        cls, problem: Stochastic, target: Target, *, steps: int | None = None, clip: float | None = None
    ) -> PrivateDescent:
        """The plan of the public rule.

        Args:
            problem: domain (whose radius bounds the models to compete with), loss and number of records.
            target: the privacy to meet.
            steps: T (None: the rule's).
            clip: C (None: the rule's).
        """
        refuse_many_rounds("PrivateDescent", target)
        check_loss(problem)
        if target.delta == 0:
            raise PrivacyError("PrivateDescent needs delta > 0: its noise is Gaussian.")
        mu = gaussian_mu(target.epsilon, target.delta)
        rho = problem.records * mu / target.relation.sides
        count = score_count(problem)
        width = problem.domain.dimension // count
        taken = clip or rule_clip(rho, count, width)
        passes = steps or int(np.clip(round(STEPS * sqrt(rho)), FEWEST_STEPS, MOST_STEPS))
        eta = rule_rate(rho, taken, passes, rule_reach(rho, count, width), count)
        most = _MOST_UNITS * target.relation.sides * sqrt(passes) / GAUSSIAN_SIGMA  # what `units` has room for
        return cls(problem, passes, taken, eta, min(mu, most), **target.contract)

    def _learner(self, randomness: Randomness) -> PrivateDescentLearner:
        return PrivateDescentLearner(self, randomness)


class PrivateDescentLearner(FinalModelLearner):
    """Collects the records, then releases the model of all passes. Until then the decision is the origin."""

    plan: PrivateDescent
    _state = ("_records", "_released", "_noise")
    _any_shape = ("_released", "_records")

    def __init__(self, plan: PrivateDescent, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        loss = plan.problem.loss
        assert isinstance(loss, LogisticLoss | MultinomialLoss)
        self._loss = loss
        self._records = np.empty((0, loss.neutral(self._dimension).shape[-1]))
        self._noise = DiscreteGaussian.from_streams(randomness, "noise")

    def _made(self) -> FloatArray:
        width = self.plan.width
        rows = whole_rows(self.plan, self._records[:, :width])
        return descend(self.plan, rows, self._records[:, width:].copy(), self._noise)

    def _consistent(self) -> bool:
        return len(self._records) == self._round

    def _absorb(self, row: FloatArray) -> None:
        self._records = np.concatenate([self._records, row])


def whole_rows(plan: PrivateDescent, rows: Any) -> Any:
    """Rows, dense or sparse, in steps of 1/M_x of the largest norm, towards zero: whole numbers as floats.

    Sparse rows are clipped to that norm by the caller; the check of residuals reads whatever the norms are.
    """
    norm, units = data_norm(plan.problem), plan.row_units
    if not is_sparse(rows):
        return quantise_vectors(rows, norm, units).astype(np.float64) if len(rows) else rows
    whole = np.trunc(np.clip(rows.data * (units / norm), -units, units))
    return type(rows)((whole, rows.indices, rows.indptr), shape=rows.shape)


@np.errstate(all="ignore")  # whether something underflows depends on the data
def descend(plan: PrivateDescent, rows: Any, columns: FloatArray, noise: DiscreteGaussian) -> FloatArray:
    """The model of all passes over `whole_rows`, its rows of coefficients one after another.

    `columns`: what the loss takes beside the rows. `noise`: fresh integers, which nobody else draws.
    """
    records, shape = plan.problem.records, (plan.width, plan.scores)
    if rows.shape[0] > records:
        raise PrivacyError(f"PrivateDescent was planned for {records} records: no more can be used.")
    limits = residual_limits(plan, rows)
    worth = step_worth(plan, rows)
    point, average, weight = np.zeros(shape), np.zeros(shape), 0.0
    for t in range(1, plan.steps + 1):
        after = weight + t
        look = (weight * average + t * point) / after
        summed = gradient_sum(plan, rows, columns, limits, look)
        released = summed + noise.draw(summed.size).reshape(shape)  # integers below 2^53: exact in float64
        point = point - plan.eta * t * worth * released
        average = (weight * average + t * point) / after
        weight = after
    return np.asarray(average.T.ravel() / data_norm(plan.problem))  # rows had norm 1


def gradient_sum(
    plan: PrivateDescent, rows: Any, columns: FloatArray, limits: IntArray, point: FloatArray
) -> FloatArray:
    """The sum of the records' clipped gradients at a point, in whole steps: PRIVATE."""
    total = np.zeros((plan.width, plan.scores))
    size = rows.shape[0] if is_sparse(rows) else max(1, _PART // max(plan.width, plan.scores))
    for first in range(0, rows.shape[0], max(1, size)):
        place = slice(first, first + size)
        part = rows if is_sparse(rows) else rows[place]
        total += part.T @ whole_residuals(plan, (part @ point) / plan.row_units, columns[place], limits[place])
    return total


def step_worth(plan: PrivateDescent, rows: Any) -> float:
    """What a step of a sum is worth in the mean gradient: by the declared number of records, not by those that came."""
    return 1 / (plan.row_units * plan.residual_units * plan.problem.records)


@np.errstate(all="ignore")
def whole_residuals(plan: PrivateDescent, scores: FloatArray, columns: FloatArray, limits: IntArray) -> FloatArray:
    """Clipped residuals as whole numbers r with r.r x.x <= U^2, checked in integers: what is too large is left out."""
    if plan.scores == 1:
        loss = plan.problem.loss
        assert isinstance(loss, LogisticLoss)
        residuals = loss.slope(scores[:, 0], columns[:, 0])[:, None]
    else:
        residuals = MultinomialLoss.slopes(scores, columns[:, 0].astype(np.int64), columns[:, 1])
    residuals *= plan.residual_units
    lengths = np.sqrt(np.einsum("ij,ij->i", residuals, residuals))
    cut = np.minimum(1.0, np.sqrt(limits) / np.maximum(lengths, 1e-300)) * _INSIDE
    whole = np.trunc(residuals * cut[:, None])
    # Sizes first: what is not finite, or too large, has a square that int64 does not hold.
    whole[~(np.einsum("ij,ij->i", whole, whole) <= 2.0 * plan.units**2)] = 0.0  # also NaN
    integers = whole.astype(np.int64)
    whole[np.einsum("ij,ij->i", integers, integers) > limits] = 0.0
    return np.asarray(whole)


def residual_limits(plan: PrivateDescent, rows: Any) -> IntArray:
    """floor(U^2/x.x), the largest r.r that a row may have."""
    return np.asarray(plan.units**2 // np.maximum(squared_norms(rows), 1))


def squared_norms(rows: Any) -> IntArray:
    """x.x of whole rows in int64; |x_ij| <= M_x < 2^16, so that no sum overflows."""
    if is_sparse(rows):
        whole = rows.data.astype(np.int64)
        sums = np.zeros(rows.shape[0], dtype=np.int64)
        np.add.at(sums, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), whole * whole)
        return sums
    whole = rows.astype(np.int64)
    return np.asarray(np.sum(whole * whole, axis=1))


def is_sparse(rows: Any) -> bool:
    """Whether these rows are a sparse matrix (CSR)."""
    return hasattr(rows, "indptr")


def rule_clip(rho: float, scores: int, width: int) -> float:
    """C of the rule: more where there are more records or less privacy, up to where nothing is clipped.

    Of two classes it is up to half of that where features are many: records then pull alike for longer.
    """
    largest = 1.0 if scores == 1 else sqrt(2.0)
    plain = float(np.clip(CLIP * (rho / 1000) ** 0.125, CLIP, largest))
    return plain if scores > 1 else plain * float(np.clip(sqrt(rho / (MANY * width)), 0.5, 1.0))


def rule_reach(rho: float, scores: int, width: int) -> float:
    """Tau over rho/C by the rule: of two classes, down to a half where there are more features than rho."""
    return 1.0 if scores > 1 else float(np.clip(sqrt(rho / width), 0.5, 1.0))


def rule_rate(rho: float, clip: float, steps: int, reach: float, scores: int) -> float:
    """Eta, so that steps along one direction go as far as tau = reach rho/C, or as the loss allows."""
    times = np.arange(1, steps + 1)
    before = times * (times - 1) / (steps * (steps + 1.0))  # A_{s-1}/A_T
    rate = reach * rho / clip / float(np.sum(times * (1 - before)))
    return min(rate, 1 / (4 * smoothness(scores)))


def smoothness(scores: int) -> float:
    """L of the logistic loss of one score, or of the softmax of several, for rows of norm 1."""
    return 0.25 if scores == 1 else 0.5


def score_count(problem: Stochastic) -> int:
    """How many scores a record has: one a class, or one for two classes."""
    return problem.loss.count if isinstance(problem.loss, MultinomialLoss) else 1


def data_norm(problem: Stochastic) -> float:
    """The norm to which rows are clipped."""
    assert isinstance(problem.loss, LogisticLoss | MultinomialLoss)
    return float(problem.loss.data_norm)


def check_loss(problem: Stochastic) -> None:
    """Refuse losses other than the logistic one and that of several classes."""
    if not isinstance(problem.loss, LogisticLoss | MultinomialLoss):
        raise PrivacyError(
            f"PrivateDescent takes LogisticLoss, or MultinomialLoss of several classes. Got {problem.loss!r} instead."
        )
    if problem.domain.dimension % score_count(problem):
        raise invalid("PrivateDescent", "domain", "of one coefficient for each feature and class", problem.domain)
