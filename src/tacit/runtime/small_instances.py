"""How small a plan can be audited by which kind of attack: few rounds, few dimensions, losses with data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from tacit.domains import Ball, Box, L1Ball, Simplex
from tacit.losses.loss import LinearLoss, LogisticLoss, RowLoss
from tacit.problems import Convex, Problem, Stochastic

if TYPE_CHECKING:
    from tacit.runtime.plan import Plan


Attack = Literal[
    # Learners whose outcomes can be counted.
    "enumeration", "exponential weights", "restarts", "epochs",
    "enumerated arms", "frequencies of arms", "unbiased release",
    # Learners that hide vectors behind noise.
    "running sum", "replayed noise", "norm noise", "cube noise", "moved sums",
    # Learners whose draws have a known density.
    "integrated interval", "integrated model", "draws", "keep probabilities", "minimisers", "many noises",
]  # fmt: skip
"""The kinds of attack that `tacit.audit` knows."""


@dataclass(frozen=True)
class SmallInstance:
    """A plan small enough for one kind of attack.

    Attributes:
        attack: the kind.
        label: what was made smaller or louder, in words.
        plan: the same algorithm: accounting and learner are the same code at every size.
        effort: draws that the attack makes at budget 1 (0: as many as it makes of any plan).
    """

    attack: Attack
    label: str
    plan: Plan
    effort: int = 0


AnyProblem = TypeVar("AnyProblem", bound=Problem)
AnyLoss = TypeVar("AnyLoss", Convex, Stochastic)

# Rounds of an instance whose sums are audited: several levels of a tree, and matrices that are solved at once.
FEW_ROUNDS = 16
# Rounds by which feedback is late in an instance, if it may be late at all: a short stream must see some of it.
SMALL_DELAY = 1
# Coordinates of a domain whose densities are integrated; those of a shape that cannot be cut are left up to more.
FEW_DIMENSIONS, LEFT_DIMENSIONS = 3, 6


def few_rounds(problem: AnyProblem, most: int = FEW_ROUNDS) -> AnyProblem:
    """The same problem on a short stream."""
    return replace(problem, horizon=min(most, problem.horizon or most), delay=min(problem.delay, SMALL_DELAY))


def clipped_losses(problem: AnyLoss) -> AnyLoss:
    """Where any loss may be given its gradients are clipped: linear losses reach the clip."""
    if isinstance(problem.loss, RowLoss):
        return problem
    return replace(problem, loss=LinearLoss(problem.loss.constants(problem.domain).lipschitz))


def playable_losses(problem: Convex) -> Convex:
    """Where only constants or functions were given, the logistic loss stands for all losses that have them."""
    return problem if isinstance(problem.loss, RowLoss) else replace(problem, loss=LogisticLoss())


def on_interval(problem: Convex, rounds: int = 3) -> Convex:
    """The same losses on an interval: draws of one coordinate can be integrated."""
    return Convex(domain=Ball(1), loss=playable_losses(problem).loss, horizon=rounds)


def few_dimensions(problem: Convex, rounds: int) -> Convex:
    """The same losses on the same kind of domain, with few coordinates."""
    domain = problem.domain
    few = min(FEW_DIMENSIONS, domain.dimension)
    if isinstance(domain, Box):
        domain = Box(domain.low[:few], domain.high[:few])
    elif isinstance(domain, Simplex):
        domain = Simplex(min(FEW_DIMENSIONS + 1, domain.dimension))
    elif isinstance(domain, L1Ball):
        domain = L1Ball(few, radius=domain.radius)
    elif isinstance(domain, Ball) or domain.dimension > LEFT_DIMENSIONS:
        domain = Ball(few, radius=domain.radius)
    return replace(playable_losses(problem), domain=domain, horizon=rounds)


def described(label: str, problem: Convex) -> str:
    """A label with the shape of the problem."""
    domain = problem.domain
    return f"{label}, {type(domain).__name__} of {domain.dimension} dimensions, T={problem.horizon}"
