"""Learn one model from records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tacit.domains.convex_set import ConvexSet
from tacit.losses.loss import Constants, LossFamily
from tacit.problems.problem import Problem
from tacit.validation import (
    check_flag,
    check_integer,
    check_level,
    invalid,
)


@dataclass(frozen=True, kw_only=True)
class Stochastic(Problem):
    """Learn one point from `horizon` records, each seen once; what counts is the last model's expected loss.

    Attributes:
        domain: the set of models; its centre and radius enter the regret bounds.
        loss: the loss of a model on a record, or a `ConvexFamily` of constants, which is enough to plan.
        horizon: number of records: public, and needed in advance.
        initial: a public point of the domain where `OnlineToBatch` begins (default: the domain's centre); the other
            algorithms do not ask for one.
        gradient_deviation: the declared s with E|grad l - grad L|^2 <= s^2, for a record's loss l and the expected loss
            L. Certificates may use s, privacy never does (default: what the constants say).
        hessian_deviation: the same of how fast that difference changes from point to point.
        proper: whether the model must lie in the domain. False: it may be anywhere, and the domain only says with which
            models it is compared; `ObjectivePerturbation`, which minimises over the whole space, may then be chosen.
    """

    criterion: ClassVar[str] = "excess risk"
    adversary: str = "stochastic"
    adversaries: ClassVar[tuple[str, ...]] = ("stochastic",)

    domain: ConvexSet
    loss: LossFamily
    initial: tuple[float, ...] | None = None
    gradient_deviation: float | None = None
    hessian_deviation: float | None = None
    proper: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("Stochastic", "horizon", self.horizon)
        if not isinstance(self.domain, ConvexSet):
            raise invalid("Stochastic", "domain", "a convex set such as Ball(2)", self.domain)
        if not isinstance(self.loss, LossFamily):
            raise invalid("Stochastic", "loss", "a loss such as LogisticLoss(), or a ConvexFamily", self.loss)
        check_flag("Stochastic", "proper", self.proper)
        for name in ("gradient_deviation", "hessian_deviation"):
            if getattr(self, name) is not None:
                check_level("Stochastic", name, getattr(self, name), at_least=0.0)
        if self.initial is not None:
            object.__setattr__(
                self, "initial", tuple(self.domain.member("Stochastic", "initial", self.initial).tolist())
            )

    @property
    def records(self) -> int:
        """The horizon, known to be finite."""
        return int(self.horizon or 0)

    @cached_property
    def constants(self) -> Constants:
        """The loss's Lipschitz, smoothness and strong convexity constants on the domain."""
        return self.loss.constants(self.domain)
