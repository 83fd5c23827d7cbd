"""Choose a point of a set: by convex losses, by their values alone, or once from records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import ClassVar

from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput
from tacit.losses.loss import CONSTRUCTED, Constants, LossFamily
from tacit.problems.problem import Problem
from tacit.validation import check_flag, check_integer, check_level, check_positive, check_range, invalid


@dataclass(frozen=True, kw_only=True)
class PointProblem(Problem):
    """Choose points of a convex set."""

    domain: ConvexSet

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.domain, ConvexSet):
            raise invalid(type(self).__name__, "domain", "a convex set such as Ball(2)", self.domain)


@dataclass(frozen=True, kw_only=True)
class LossProblem(PointProblem):
    """Choose points of a convex set by a loss whose constants are known."""

    loss: LossFamily

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.loss, LossFamily):
            raise invalid(type(self).__name__, "loss", "a loss such as LogisticLoss(), or a ConvexFamily", self.loss)

    @cached_property
    def constants(self) -> Constants:
        """The loss's Lipschitz, smoothness and strong convexity constants on the domain."""
        return self.loss.constants(self.domain)


@dataclass(frozen=True, kw_only=True)
class Convex(LossProblem):
    """Choose a point of a convex set each round, then see the data of that round's convex loss.

    Attributes:
        domain: the convex set; its centre and radius enter the regret bounds.
        loss: the loss, or a `ConvexFamily` of constants, which is enough to plan but not to start.
        proper: whether every decision must lie in the domain. False: comparators in the domain, decisions anywhere, as
            in prediction. The loss must then have bounded slope and curvature everywhere, and the constants of a
            `ConvexFamily` are taken to hold everywhere.
    """

    proper: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("Convex", "proper", self.proper)
        if not self.proper:
            self._check_everywhere()

    def _check_everywhere(self) -> None:
        if self.loss.family not in CONSTRUCTED:
            reason = "nobody knows the curvature of this loss"
        elif not isfinite(self.everywhere.lipschitz):
            reason = "the slope of this loss grows without bound outside of the domain"
        elif not isfinite(self.everywhere.smoothness):
            reason = "this loss may have kinks"
        else:
            return
        raise InvalidInput(
            f"The 'loss' parameter of Convex with proper=False must have bounded slope and curvature everywhere, as "
            f"LogisticLoss, SmoothedHingeLoss and HuberLoss have: {reason}. Got {self.loss!r} instead."
        )

    @cached_property
    def everywhere(self) -> Constants:
        """The loss's constants on the whole space, where they may be infinite."""
        return self.loss.constants(None)

    @property
    def lipschitz(self) -> float:
        """Largest norm of a gradient on the domain."""
        return self.constants.lipschitz

    @property
    def smoothness(self) -> float:
        """Largest curvature on the domain (infinite if the loss may have kinks)."""
        return self.constants.smoothness

    @property
    def strong_convexity(self) -> float:
        """Smallest curvature on the domain."""
        return self.constants.strong_convexity


@dataclass(frozen=True, kw_only=True)
class Bandit(PointProblem):
    """Choose a point of a convex set each round, then see one number: the loss at that point.

    Attributes:
        domain: the convex set, reached through its linear oracle.
        value_range: public bounds of a value; values outside are clipped, which is all that privacy needs.
        lipschitz: how fast a loss may change per unit of distance; regret bounds need it, privacy does not.
        margin: how far beyond the set, in its affine hull, losses are defined too, with the same properties. Points
            may then be played there, and exploring needs no room inside the set. 0: only on the set.
    """

    value_range: tuple[float, float] = (0.0, 1.0)
    lipschitz: float = 1.0
    margin: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "value_range", check_range("Bandit", "value_range", self.value_range))
        object.__setattr__(self, "lipschitz", check_positive("Bandit", "lipschitz", self.lipschitz))
        object.__setattr__(self, "margin", check_level("Bandit", "margin", self.margin, at_least=0.0))

    @property
    def width(self) -> float:
        """Length of the value range."""
        return self.value_range[1] - self.value_range[0]


@dataclass(frozen=True, kw_only=True)
class Stochastic(LossProblem):
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

    initial: tuple[float, ...] | None = None
    gradient_deviation: float | None = None
    hessian_deviation: float | None = None
    proper: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("Stochastic", "horizon", self.horizon)
        check_flag("Stochastic", "proper", self.proper)
        for name in ("gradient_deviation", "hessian_deviation"):
            if getattr(self, name) is not None:
                check_level("Stochastic", name, getattr(self, name), at_least=0.0)
        if self.initial is not None:
            initial = self.domain.member("Stochastic", "initial", self.initial)
            object.__setattr__(self, "initial", tuple(initial.tolist()))

    @property
    def records(self) -> int:
        """The horizon, known to be finite."""
        return int(self.horizon or 0)
