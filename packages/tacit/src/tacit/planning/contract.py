"""The contract of a plan or a learner as one JSON document: for those who keep it, and those who check it.

Besides the guarantee it holds the public numbers that epsilon follows from (the problem, the plan's parameters, the law
of its noise), so that `tacit.verification` can compute it again. The schema ships with the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from tacit.algorithms.arms.arm_plan import ArmPlan
from tacit.algorithms.contextual import ExploreLinear
from tacit.algorithms.convex.ctrl import CTRL
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.algorithms.policies import PolicyArms
from tacit.algorithms.stochastic.objective_perturbation.model_noise import LatticeModelNoise
from tacit.algorithms.stochastic.objective_perturbation.objective_perturbation import ObjectivePerturbation
from tacit.algorithms.stochastic.private_descent import PrivateDescent
from tacit.algorithms.tracking.limited_updates import selection_rate
from tacit.algorithms.tracking.noisy_batches import BatchPlan
from tacit.algorithms.tracking.restart_on_shift import RestartOnShift
from tacit.algorithms.tracking.tracking_plan import SelectionPlan
from tacit.noise.lattice import LOSS_UNITS
from tacit.noise.running_sums.running_sum import Grid
from tacit.planning.comparison import Comparison, finite
from tacit.runtime.doubling import Doubling
from tacit.runtime.learner import Learner
from tacit.runtime.on_sums import RunningSumPlan
from tacit.runtime.plan import Plan
from tacit.validation import invalid
from tacit.verification.statements import CURVE_DELTAS
from tacit.verification.verify import FORMAT
from tacit.version import __version__

_LONGEST = 4096  # entries of an array that are written out


def contract(of: Plan | Comparison | Learner) -> dict[str, Any]:
    """Write a guarantee as a JSON-ready dictionary, with the public numbers that it follows from.

    Args:
        of: a plan, a comparison (its chosen plan), or a learner, whose guarantee names its own randomness.

    >>> import tacit
    >>> plan = tacit.plan(tacit.Experts(n=3, horizon=100), epsilon=1.0, delta=1e-6)
    >>> made = tacit.contract(plan)
    >>> made["algorithm"], round(made["epsilon"], 2), tacit.verify(made).answer
    ('HedgeOnSums', 1.0, 'yes')
    """
    plan = of if isinstance(of, Plan) else getattr(of, "plan", None)
    if not isinstance(of, Plan | Comparison | Learner) or not isinstance(plan, Plan):
        raise invalid("contract", "of", "a plan, a comparison or a learner", of)
    plan.refuse_unkept(of.guarantee.private)
    guarantee = of.guarantee
    stated: dict[str, Any] = {
        name: getattr(guarantee, name)
        for name in (
            "released",
            "theorem",
            "unit",
            "rounds_per_person",
            "participation_limit",
            "adversary",
            "numerics",
            "randomness",
            "assumed",
        )
    }
    epsilon = finite(guarantee.epsilon())
    return {
        "format": FORMAT,
        "tacit": __version__,
        "algorithm": plan.algorithm,
        "epsilon": epsilon,
        "delta": guarantee.at_delta,
        "notion": guarantee.notion,
        "relation": str(guarantee.relation),
        "private": guarantee.private and epsilon is not None,
        **stated,
        **({"separation": guarantee.separation} if guarantee.separation > 1 else {}),
        **_numbers(plan),
        **({"epochs": [_numbers(epoch) for epoch in plan.planned()]} if isinstance(plan, Doubling) else {}),
        "curve": [
            {"delta": delta, "epsilon": finite(guarantee.epsilon(delta))}
            for delta in CURVE_DELTAS
            if delta != guarantee.at_delta
        ],
    }


def _numbers(plan: Plan) -> dict[str, Any]:
    """The public numbers of a plan."""
    return {
        "problem": {"kind": type(plan.problem).__name__, **_fields(plan.problem)},
        "parameters": {name: _plain(value) for name, value in plan.parameters.items()},
        "noise": _noise(plan),
    }


def _noise(plan: Plan) -> dict[str, Any] | None:
    """The law of a plan's noise and its lattice (None: it draws decisions only, or says nothing of its noise)."""
    match plan:
        case PolicyArms():
            return _noise(plan.arms)
        case RunningSumPlan():
            return _of_grid(plan.grid, plan.mechanism.noise)
        case BatchPlan():
            return {**_of_grid(plan.grid, plan.noise), "batch": plan.batch}
        case ArmPlan():
            return {"law": "two-sided geometric", "rate": plan.release().rate}
        case ExploreLinear():
            factors = {"factor": plan.lattice.scale, "later_factor": plan.lattice.later_scale}
            return {"law": "wide discrete gaussian", "units": plan.lattice.units, **factors}
        case RestartOnShift():
            threshold, query = plan.test_rates
            rates = {"threshold_rate": threshold, "query_rate": query, "test_units": plan.detector.units}
            return {**_selection(plan, plan.budgets[0]), **rates}
        case SelectionPlan():
            return _selection(plan, plan.epsilon)
        case ObjectivePerturbation(noise=LatticeModelNoise() as noise):
            return {"law": "wide discrete gaussian", "dimension": noise.dimension, "reach": noise.reach}
        case PrivateDescent():
            dimension = plan.problem.domain.dimension
            return {"law": "discrete gaussian", "units": plan.units, "dimension": dimension}
        case CTRL():
            return {
                "law": "float64 gaussian, minimised",
                "dimension": plan.domain.hull_dimension,
                "accuracy": plan.certificate.accuracy,
                "release_scale": plan.certificate.release_scale,
                "barrier_weight": plan.certificate.facts.weight,
                "largest_curvature": plan.certificate.largest_curvature,
            }
        case L2PConvex():
            return {"law": "gibbs measure", "dimension": plan.problem.domain.dimension}
    return None


def _selection(plan: SelectionPlan, epsilon: float) -> dict[str, Any]:
    rate = selection_rate(epsilon, plan.relation, plan.rounds_per_person)
    return {"law": "permute-and-flip", "units": LOSS_UNITS, "rate": rate}


def _of_grid(grid: Grid, noise: str) -> dict[str, Any]:
    laws = {"gaussian": "discrete gaussian", "laplace": "two-sided geometric", "cube": "cube"}
    if not grid.units:
        return {"law": f"float64 {noise}", "units": 0, "dimension": grid.records.dimension, "scale": grid.scale}
    return {
        "law": laws[noise],
        "units": grid.units,
        "dimension": grid.records.dimension,
        "rate": grid.rate or None,
        "rounding_error": grid.rounding.error,
        "failure": grid.rounding.failure,
    }


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value) if not field.name.startswith("_")}


def _plain(value: Any) -> Any:
    """A public value for JSON: what has parts becomes an object with its kind; what has none is named."""
    match value:
        case None | bool() | int() | str() if not isinstance(value, Enum):
            return value
        case float() | np.floating():
            return finite(float(value))
        case np.integer():
            return int(value)
        case Enum():
            return str(value.value)
        case np.ndarray():
            return value.tolist() if value.size <= _LONGEST else f"array of shape {value.shape}"
        case list() | tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return {str(name): _plain(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": type(value).__name__, **_fields(value)}
    return type(value).__name__ if not callable(value) else getattr(value, "__name__", type(value).__name__)
