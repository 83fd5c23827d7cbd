"""Objective perturbation: one private model, the minimiser of the data's loss plus a random linear term.

Chaudhuri, Monteleoni and Sarwate (2011); Kifer, Smith and Thakurta (2012); the law is that of one draw of CTRL. For
generalised linear losses with clipped features the price is the Gaussian mechanism's own curve, moved by
ln(1 + beta/lambda) (`accounting`), and no dimension enters. Only the final model is released, so on small data this is
far stronger than any pass that releases its iterates.

Minimisers are private only if they are minimisers. The solver certifies its distance to the exact one, for every data
set and every noise (`tacit.solvers.minimum`); noise of a scale far above that distance and far below what matters
covers the rest, and is charged. Both noises are integers times public steps (`model_noise`). Gaussian Z longer than
sigma times a public norm, which happens with probability 1e-30, is drawn anew: (1 + e^epsilon) 1e-30 of delta. With
delta = 0 the density of Z is proportional to exp(-|Z|/sigma), and the contract says "idealized".

    E[F(x)] - F(u) <= (lambda R^2/2 + E|Z|^2/lambda)/n + 2 G^2/lambda.

The model minimises over the whole space, so that it may leave the domain. Proofs:
docs/algorithms/objective-perturbation.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, expm1, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import smallest
from tacit.accounting.curves import ROUND_UP
from tacit.algorithms.stochastic.objective_perturbation.model_noise import (
    SHRUNK,
    FloatModelNoise,
    LatticeModelNoise,
    ModelNoise,
    private_minimum,
)
from tacit.domains import Ball
from tacit.errors import PrivacyError
from tacit.losses.loss import (
    LinkLoss,
    LogisticLoss,
    LossFamily,
    SmoothedHingeLoss,
    largest_norm,
    refuse_unchecked,
)
from tacit.noise.randomness import Randomness
from tacit.problems import Problem, Stochastic
from tacit.releases import Minimisers
from tacit.runtime.final_model import FinalModelLearner, FinalModelPlan
from tacit.runtime.renamed import renamed
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target, refuse_many_rounds
from tacit.solvers.loss_sums import LinkSum, hull_rows
from tacit.solvers.minimum import attainable_accuracy, truncated_norm
from tacit.validation import FloatArray, check_choice, check_integer, check_positive, invalid

RULES = ("certified", "practical")
# The share of the shift (Gaussian) or of epsilon (pure) that covers inexact minimisation.
_PROTECTION = 0.05


MOST_MODELS = 10**6
"""So many models, and no more, may be released from the same records."""


@renamed("releases", "models")  # until 0.6
@dataclass(frozen=True)
class ObjectivePerturbation(FinalModelPlan):
    """One private minimiser, which may lie outside of the domain, for when only the final model is needed.

    Privacy contract: the model, and nothing else. Enforced: features and labels are clipped, so the loss's constants
    hold; the minimiser's distance is certified, never an iteration count. Assumed: nothing; for the excess risk,
    independent records. Numerics: exact up to an extra epsilon that is stated (idealized if pure).

    Reference: Kifer, Smith and Thakurta (2012), "Private Convex Empirical Risk Minimization and High-dimensional
    Regression", https://proceedings.mlr.press/v23/kifer12.html. Page: docs/algorithms/objective-perturbation.md.

    Attributes:
        regularisation: lambda, on the scale of the sum of the losses.
        noise_scale: sigma of the linear term.
        accuracy: the certified distance to the exact minimiser.
        protection: scale of the noise on the model that covers that distance.
        models: how many minimisers over the same records this contract covers (one per class).
        pure: whether the noise is of the exponential-norm kind.

    >>> from tacit.domains import Ball
    >>> problem = Stochastic(domain=Ball(10, radius=3.0), loss=LogisticLoss(), horizon=10_000)
    >>> plan = ObjectivePerturbation.calibrate(problem, epsilon=1.0, delta=1e-6)
    >>> round(plan.noise_scale, 1)
    8.5
    """

    problem: Stochastic
    _takes: ClassVar[type[Problem]] = Stochastic
    regularisation: float
    noise_scale: float
    accuracy: float
    protection: float
    models: int = 1
    pure: bool = False

    def _check_parameters(self) -> None:
        check_loss(self.problem.loss)
        check_choice("ObjectivePerturbation", "rounds_per_person", self.rounds_per_person, (1,))
        for name in ("regularisation", "noise_scale", "accuracy", "protection"):
            check_positive("ObjectivePerturbation", name, getattr(self, name))
        least = least_accuracy(self.problem, self.regularisation, self.noise_scale, self.pure)
        if not self.accuracy >= least:
            raise invalid(self.algorithm, "accuracy", f"at least {least:.3g}, which float64 certifies", self.accuracy)
        least = 0.0 if self._floating else LatticeModelNoise.least_protection(self.noise.reach)
        if not self.protection >= least:
            raise invalid(self.algorithm, "protection", f"at least {least:.3g}, so that steps fit", self.protection)
        check_integer("ObjectivePerturbation", "models", self.models, at_most=MOST_MODELS)

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name; contracts and states say `releases` for the number of models."""
        return {("releases" if name == "models" else name): value for name, value in super().parameters.items()}

    @cached_property
    def releases(self) -> Minimisers:
        constants = self.problem.loss.constants(None)
        return Minimisers(
            move=constants.lipschitz / self.noise_scale,
            growth=constants.smoothness / self.regularisation,
            one_sided=one_sided(self.problem.loss),
            linked=isinstance(self.problem.loss, LogisticLoss),
            cover=self.noise.shift,
            ideal_cover=None if self._floating else 2 * self.accuracy / self.protection,
            slack=self.noise.slack,
            count=self.models,
            dimension=self.problem.domain.dimension,
            pure=self.pure,
        )

    @property
    def _floating(self) -> bool:
        """Whether the noise is float64."""
        return self.pure or self.numerics == "float"

    @cached_property
    def noise(self) -> ModelNoise:
        """The linear term, and the noise that covers inexact minimisation."""
        reach = largest_model(self.problem, self.regularisation, self.noise_scale, self.pure) + self.accuracy
        facts = (self.problem.domain.dimension, self.noise_scale, self.regularisation, self.accuracy)
        if self._floating:
            return FloatModelNoise(*facts, self.protection, reach, self.pure)
        return LatticeModelNoise(*facts, self.protection, reach)

    @property
    def regret_bound(self) -> RegretBound:
        """The excess risk: (lambda R^2/2 + E|Z|^2/lambda)/n + 2 G^2/lambda + the protection's share."""
        steep = self.problem.loss.constants(None).lipschitz
        domain, ridge = self.problem.domain, self.regularisation
        d, radius = domain.dimension, largest_norm(domain)
        square_noise = self.noise_scale**2 * (d * (d + 1) if self.pure else d) * ROUND_UP  # E|Z|^2
        value = (ridge * radius**2 / 2 + square_noise / ridge) / self.problem.records + 2 * steep**2 / ridge
        value += steep * (self.noise.cover + 2 * (1 - SHRUNK) * self.noise.reach)  # rows are shrunk a little
        formula = "(lambda R^2/2 + E|Z|^2/lambda)/n + 2 G^2/lambda + G E|protection|"
        return RegretBound(
            value, formula, ("independent records", "comparators in the domain, the model anywhere", "expectation")
        )

    @property
    def trivial_regret(self) -> float:
        return self.problem.loss.constants(None).lipschitz * self.problem.domain.diameter

    @classmethod
    def _calibrate(
        cls,
        problem: Stochastic,
        target: Target,
        *,
        regularisation: float | str = "certified",
        models: int = 1,
        releases: int | None = None,
    ) -> ObjectivePerturbation:
        """The plan with the least noise at this target.

        Args:
            problem: domain (whose radius bounds the models to compete with), loss and number of records.
            target: the privacy to meet.
            regularisation: lambda, or "certified" (least bound on the excess risk) or "practical" (a public rule of
                n, d, epsilon and delta that does better on data that are not the worst).
            models: how many minimisers over the same records are released.
            releases: the old name of `models`, read until 0.6.
        """
        refuse_many_rounds("ObjectivePerturbation", target)
        constants = problem.loss.constants(None)
        check_loss(problem.loss)
        count = check_integer(
            "ObjectivePerturbation", "models", models if releases is None else releases, at_most=MOST_MODELS
        )
        if isinstance(regularisation, str):
            check_choice("ObjectivePerturbation", "regularisation", regularisation, RULES)
        else:
            ridge = check_positive("ObjectivePerturbation", "regularisation", regularisation)
            least = constants.smoothness / expm1(min(target.epsilon / count, 700.0))
            if not ridge > least:
                raise PrivacyError(
                    f"regularisation={ridge:g} is too small for epsilon={target.epsilon:g}: ln(1 + beta/lambda) alone "
                    f"exceeds it. Take more than {least:.4g}."
                )
        pure = target.delta == 0

        def make(sigma: float) -> ObjectivePerturbation:
            ridge = _regulariser(regularisation, problem, sigma, target.epsilon / count, pure)
            accuracy = least_accuracy(problem, ridge, sigma, pure)
            share = _PROTECTION * (target.epsilon / count if pure else constants.lipschitz / sigma)
            reach = largest_model(problem, ridge, sigma, pure) + accuracy
            return cls(
                problem,
                ridge,
                sigma,
                accuracy,
                max(2 * accuracy / share, LatticeModelNoise.least_protection(reach)),
                models=count,
                pure=pure,
                **target.contract,
            )

        def safe(log_sigma: float) -> bool:
            curve = make(exp(log_sigma)).curve
            return curve.pure() <= target.epsilon if pure else curve.delta(target.epsilon) <= target.delta

        # Between a thousandth and a million times the gradient bound; more noise is always safer.
        centre = np.log(constants.lipschitz)
        return make(exp(smallest(safe, float(centre - 7), float(centre + 14), 1e-6)))

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give a model of three records in one dimension; pure plans draw noise with the density of a norm."""
        line = replace(self.problem, domain=Ball(1, radius=self.problem.domain.radius), horizon=3)
        target = Target(self.guarantee.epsilon(), self.delta, self.relation, numerics=self.numerics)
        small = type(self).calibrate_for(line, target)
        found = SmallInstance("integrated model", "own privacy, one dimension, three records", small)
        return (found, SmallInstance("norm noise", "own dimension", self)) if self.pure else (found,)

    def _learner(self, randomness: Randomness) -> ObjectivePerturbationLearner:
        return ObjectivePerturbationLearner(self, randomness)


class ObjectivePerturbationLearner(FinalModelLearner):
    """Collects the records, then releases one model. Until then the decision is the origin."""

    plan: ObjectivePerturbation
    _state = ("_losses", "_released", "_substitutes", "_noise")

    def __init__(self, plan: ObjectivePerturbation, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        loss = plan.problem.loss
        if not isinstance(loss, LinkLoss):
            raise PrivacyError(
                f"ObjectivePerturbation cannot start from {loss!r}: it has constants only. Give the problem a loss, "
                "for example tacit.losses.LogisticLoss()."
            )
        self._loss = loss
        self._losses = LinkSum(self._dimension, loss)
        self._noise = plan.noise.source(randomness, "noise")
        self._substitutes = 0  # minimisers without the losses: none, unless the solver is broken

    def _made(self) -> FloatArray:
        model, substitute = private_minimum(self.plan.noise, self._losses, self._noise)
        self._substitutes += substitute
        return model

    def _consistent(self) -> bool:
        return self._losses.count == self._round

    def _absorb(self, row: FloatArray) -> None:
        self._losses.add(self._shrunk(row))

    @np.errstate(all="ignore")  # the smallest numbers may vanish
    def _shrunk(self, rows: FloatArray) -> FloatArray:
        """Clipped rows whose features are no longer than their bound, whatever clipping in float64 left of it."""
        features = hull_rows(self._loss, None, rows)
        features[:, : self._dimension] *= SHRUNK
        return features


def _regulariser(rule: float | str, problem: Stochastic, sigma: float, epsilon: float, pure: bool) -> float:
    """lambda; both rules grow with sigma, so that more noise is always more private."""
    constants = problem.loss.constants(None)
    n, d = problem.records, problem.domain.dimension
    size = sqrt(d * (d + 1.0)) if pure else sqrt(d)
    if not isinstance(rule, str):
        return float(rule)
    if rule == "certified":
        return sqrt(2 * (2 * n * constants.lipschitz**2 + (size * sigma) ** 2)) / largest_norm(problem.domain)
    # Balance the noise against models whose margins reach R: the larger the signal n G/(sigma d), the larger. A ridge
    # that ignores d lets the noise of many features through: scripts/compare_models.py has the numbers.
    reach = practical_reach(n, size, sigma / constants.lipschitz)
    return max(
        constants.smoothness / expm1(min(epsilon / 4, 700.0)),  # beyond that it is nothing beside the others
        size * sigma * constants.lipschitz / reach,
        1e-5 * n * constants.lipschitz**2,  # keeps the certified distance, a multiple of n/lambda, out of sight
    )


def practical_reach(n: int, size: float, noise: float) -> float:
    """The margin that a model may reach, from 1 to 8: 1.5 sqrt(n/(noise d)), found on synthetic mixtures."""
    return float(np.clip(1.5 * sqrt(n / (noise * size**2)), 1.0, 8.0))


def check_loss(loss: LossFamily) -> None:
    """Refuse losses without a bounded slope and curvature on the whole space."""
    constants = loss.constants(None)
    if loss.family != "glm" or not np.isfinite([constants.lipschitz, constants.smoothness]).all():
        raise PrivacyError(
            "ObjectivePerturbation needs a generalised linear loss of bounded slope and curvature by construction "
            f"(LogisticLoss, SmoothedHingeLoss, HuberLoss). Got {loss!r} instead."
        )
    refuse_unchecked(loss, "ObjectivePerturbation")


def one_sided(loss: object) -> bool:
    """Whether the label fixes the sign of the slope."""
    return isinstance(loss, LogisticLoss | SmoothedHingeLoss)


def largest_model(problem: Stochastic, ridge: float, sigma: float, pure: bool) -> float:
    """A public bound on the norm of the minimiser, whatever the data.

    At most (n G + |Z|)/lambda, by comparing gradients, and for losses that are never negative
    |Z|/lambda + sqrt((|Z|/lambda)^2 + 2 n f(0)/lambda), by comparing values with those at 0.
    """
    loss, n = problem.loss, problem.records
    noise = largest_noise(problem, sigma, pure)
    reach = (loss.constants(None).lipschitz * n + noise) / ridge
    if isinstance(loss, LinkLoss) and loss.never_negative:
        labels = loss.clip_labels(np.array([-1e300, 1e300]))
        at_zero = float(np.max(loss.link(np.zeros(2), labels)))
        reach = min(reach, noise / ridge + sqrt((noise / ridge) ** 2 + 2 * n * at_zero / ridge))
    return reach


def largest_noise(problem: Stochastic, sigma: float, pure: bool) -> float:
    """The largest norm of Z; with density exp(-|z|), the largest one that float64 samplers produce: it is not cut off.

    There the norm is a Gamma(d) variable: in one dimension an exponential clock below 7.7 + 53 ln 2, in more
    b (1 + N/sqrt(9 b))^3 with b = d - 1/3 and a normal number N, which the ziggurat keeps below 14.
    """
    d = problem.domain.dimension
    if not pure:
        return sigma * truncated_norm(d)
    base = d - 1 / 3
    return sigma * float(base * (1 + 14 / sqrt(9 * base)) ** 3 if d > 1 else 45.0)


def least_accuracy(problem: Stochastic, ridge: float, sigma: float, pure: bool) -> float:
    """A public distance that the solver certifies whatever the data."""
    constants = problem.loss.constants(None)
    return attainable_accuracy(
        rounds=problem.records,
        dimension=problem.domain.dimension,
        lipschitz=constants.lipschitz,
        smoothness=constants.smoothness,
        ridge=ridge,
        noise=largest_noise(problem, sigma, pure),
        domain=None,
        reach=largest_model(problem, ridge, sigma, pure),
    )
