"""How one fit divides its budget between the model and the counts beside it: public numbers only, and one contract.

Counts take a small share of epsilon and the model the rest. With Gaussian noise shares are cheap: mu^2 add up, so that
5% of epsilon is about a tenth of mu^2. Pure shares are twice as large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt

from tacit.errors import PrivacyError
from tacit.estimators.counts import STEPS, NoisyCounts
from tacit.learners.plan import SERIOUS
from tacit.learners.stochastic import ObjectivePerturbation, OnlineToBatch
from tacit.mechanisms.noisy_statistics import statistics_curve
from tacit.privacy.calibration import gaussian_mu, largest
from tacit.privacy.composition import compose, joint
from tacit.privacy.curves import Curve, Pure
from tacit.privacy.guarantee import Guarantee, Relation
from tacit.privacy.numerics import EXACT, composed_numerics

SHARE = 0.05
"""The share of epsilon that class counts, and that the line between two classes, may spend."""
PURE_SHARE = 0.1
"""The same if delta is 0."""
# Beyond this share of the records the noise of a count tells nothing about the line.
_LOUDEST = 0.12
# Below the epsilon that is asked for by more than the sums' last digits.
_ROUNDED = 1 - 1e-9

ModelPlan = ObjectivePerturbation | OnlineToBatch


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
    """The plan of a fit within the budget.

    Args:
        epsilon: of everything together.
        delta: of everything together.
        relation: of all parts.
        model_at: the model's plan at an epsilon.
        classes: how many counts one release has.
        counts: whether class counts are released.
        line: whether the line is searched for.
    """
    parts = counts + line
    if not parts:
        model = model_at(epsilon)
        return FitPlan(model, model.guarantee)
    model = model_at(epsilon * (1 - parts * (SHARE if delta > 0 else PURE_SHARE)))
    draws = counts * classes + line * STEPS
    mu = largest_mu(model.curve, epsilon, delta, draws) if delta > 0 else None
    pure = mu is None
    if mu is None:
        each = (epsilon - model.curve.epsilon(delta)) / parts * _ROUNDED
        beside: Curve = Pure(each * parts)
        curve, numerics = compose([model.curve, beside], [delta, 0.0]), EXACT
        step = each / STEPS * _ROUNDED
    else:
        beside, numerics = statistics_curve(mu, draws)
        curve = joint([model.curve, beside])
        each = mu / sqrt(parts) * _ROUNDED
        step = each / sqrt(STEPS) * _ROUNDED
    between = relation.sides if pure else sqrt(relation.sides)
    names = ["noisy class counts"] * counts + ["where the line between the classes is"] * line
    return FitPlan(
        model,
        _together(model.guarantee, curve, delta, numerics, names, "geometric" if pure else "Gaussian"),
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


def _together(model: Guarantee, curve: Curve, delta: float, numerics: str, names: list[str], noise: str) -> Guarantee:
    return replace(
        model,
        curve=curve,
        at_delta=delta,
        released=f"{model.released}; {'; '.join(names)}",
        theorem=f"{model.theorem}; {noise} mechanism on counts",
        numerics=composed_numerics([model.numerics, numerics]),
    )


def statistics_guarantee(
    epsilon: float, delta: float, relation: str, draws: int, *, released: str, theorem: str
) -> Guarantee:
    """The contract of one release of so many noisy numbers that spends the whole budget."""
    curve, numerics = statistics_curve(gaussian_mu(epsilon, delta), draws)
    if epsilon <= SERIOUS and not curve.epsilon(delta) <= epsilon * (1 + 1e-6):
        raise PrivacyError(
            f"Noisy statistics cannot meet epsilon={epsilon:g}, delta={delta:g}: the errors of their samplers cost "
            "more than so small a delta."
        )
    return Guarantee(
        curve=curve,
        at_delta=delta,
        released=released,
        theorem=theorem,
        relation=Relation(relation),
        unit="one record",
        numerics=numerics,
    )
