"""How small a plan can be audited by which kind of attack: few rounds, few dimensions, losses with data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from tacit.domains import Ball
from tacit.losses.loss import LinearLoss, LogisticLoss, RowLoss
from tacit.problems import Convex, Problem, Stochastic

if TYPE_CHECKING:
    from tacit.runtime.plan import Plan


Attack = Literal[
    # Learners whose outcomes can be counted.
    "enumeration", "exponential weights", "restarts", "epochs",
    "enumerated arms", "frequencies of arms",
    # Learners that hide vectors behind noise.
    "running sum", "replayed noise", "norm noise", "moved sums",
    # Learners whose draws have a known density.
    "integrated interval", "integrated model",
]  # fmt: skip
"""The kinds of attack that `tacit.audit` knows."""


@dataclass(frozen=True)
class SmallInstance:
    """A plan small enough for one kind of attack.

    Attributes:
        attack: the kind.
        label: what was made smaller or louder, in words.
        plan: the same algorithm: accounting and learner are the same code at every size.
    """

    attack: Attack
    label: str
    plan: Plan


AnyProblem = TypeVar("AnyProblem", bound=Problem)
AnyLoss = TypeVar("AnyLoss", Convex, Stochastic)

# Rounds of an instance whose sums are audited: several levels of a tree, and matrices that are solved at once.
FEW_ROUNDS = 16
# Rounds by which feedback is late in an instance, if it may be late at all: a short stream must see some of it.
SMALL_DELAY = 1


def few_rounds(problem: AnyProblem, most: int = FEW_ROUNDS) -> AnyProblem:
    """The same problem on a short stream."""
    return replace(problem, horizon=min(most, problem.horizon or most), delay=min(problem.delay, SMALL_DELAY))


def clipped_losses(problem: AnyLoss) -> AnyLoss:
    """Where any loss may be given its gradients are clipped: linear losses reach the clip."""
    if isinstance(problem.loss, RowLoss):
        return problem
    return replace(problem, loss=LinearLoss(problem.loss.constants(problem.domain).lipschitz))


def on_interval(problem: Convex, rounds: int = 3) -> Convex:
    """The same losses on an interval: draws of one coordinate can be integrated.

    Where only constants or functions were given, the logistic loss stands for all losses that have them.
    """
    loss = problem.loss if isinstance(problem.loss, RowLoss) else LogisticLoss()
    return Convex(domain=Ball(1), loss=loss, horizon=rounds)
