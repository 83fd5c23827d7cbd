"""Online learners by name, with the constants that the conversion knows."""

from __future__ import annotations

from typing import Any

from tacit.errors import InvalidInput
from tacit.geometry import L1Ball, Simplex
from tacit.geometry.base import ProjectableSet
from tacit.learners.stochastic.coin_betting import BettingGrid, Bettor, KrichevskyTrofimov
from tacit.learners.stochastic.common import ConversionErrors, OnlineLearner
from tacit.learners.stochastic.confident_betting import ConfidentBetting, gradient_sizes
from tacit.learners.stochastic.conversion import Conversion
from tacit.learners.stochastic.mirror_descent import MirrorDescent
from tacit.learners.stochastic.norms import Norm
from tacit.learners.stochastic.optimistic import Optimistic
from tacit.learners.stochastic.strongly_convex import StronglyConvex
from tacit.learners.stochastic.subgradient import Subgradient
from tacit.problems import Stochastic
from tacit.validation import check_choice

BETTORS = ("coin-betting", "betting-grid")
LEARNERS = ("subgradient", "optimistic", "strongly-convex", *BETTORS, "mirror-descent")


def named_learner(name: str, problem: Stochastic, norm: Norm, errors: ConversionErrors | None = None) -> OnlineLearner:
    """A fresh learner on the problem's domain; bettors take their gradient bound from `errors`."""
    check_choice("OnlineToBatch", "learner", name, LEARNERS)
    domain, initial = _projectable(problem), problem.initial
    if name == "strongly-convex":
        return StronglyConvex(domain, problem.constants.strong_convexity, initial)
    if name == "optimistic":
        return Optimistic(domain, initial)
    if name == "mirror-descent":
        if not isinstance(domain, L1Ball | Simplex):
            raise InvalidInput(f"mirror-descent needs an L1Ball or a Simplex. Got {domain!r} instead.")
        return MirrorDescent(domain, norm, initial)
    if errors is not None and name in BETTORS:
        return _bettor(name, problem, usual_size(errors), errors.weights.size)
    return Subgradient(domain, initial)


def confident_bettor(name: str, problem: Stochastic, conversion: Conversion, confidence: float) -> ConfidentBetting:
    """A bettor behind the penalties of this conversion."""
    penalties = conversion.largest_errors(1 - confidence)
    largest = float(gradient_sizes(conversion, penalties).max())
    return ConfidentBetting(_bettor(name, problem, largest, penalties.size), penalties, confidence)


def _bettor(name: str, problem: Stochastic, gradient_bound: float, rounds: int) -> Bettor:
    domain, initial = _projectable(problem), problem.initial
    if name == "coin-betting":
        return KrichevskyTrofimov(domain, gradient_bound, initial=initial)
    return BettingGrid(domain, gradient_bound, rounds, initial=initial)


def _projectable(problem: Stochastic) -> ProjectableSet:
    if not isinstance(problem.domain, ProjectableSet):
        raise InvalidInput(f"OnlineToBatch needs a domain with a projection. Got {problem.domain!r} instead.")
    return problem.domain


def usual_size(errors: ConversionErrors) -> float:
    """A public size that noisy gradients rarely exceed: signal, sampling error, and twice the noise."""
    return float(errors.weights[-1] * errors.lipschitz + errors.sampling[-1] + 2 * errors.noise[-1])


def default_power(learner: Any) -> float:
    """The k of the weights t^k that suits the learner: bettors 3, strongly convex 2, others 1."""
    if isinstance(learner, Bettor | ConfidentBetting) or learner in BETTORS:
        return 3.0
    return 2.0 if isinstance(learner, StronglyConvex) or learner == "strongly-convex" else 1.0


def default_norm(learner: Any, problem: Stochastic) -> Norm:
    """The l_p norm that suits the learner."""
    return Norm.for_sparse(problem.domain.dimension) if learner == "mirror-descent" else Norm()
