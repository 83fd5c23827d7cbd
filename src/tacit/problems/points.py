"""Choose a point of a set, by convex losses or by their values alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite

from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput
from tacit.losses.loss import CONSTRUCTED, Constants, LossFamily
from tacit.problems.problem import Problem
from tacit.validation import (
    check_flag,
    check_level,
    check_positive,
    check_range,
    invalid,
)


@dataclass(frozen=True, kw_only=True)
class Convex(Problem):
    """Choose a point of a convex set each round, then see the data of that round's convex loss.

    Attributes:
        domain: the convex set; its centre and radius enter the regret bounds.
        loss: the loss, or a `ConvexFamily` of constants, which is enough to plan but not to start.
        proper: whether every decision must lie in the domain. False: comparators in the domain, decisions anywhere, as
            in prediction. The loss must then have bounded slope and curvature everywhere, and the constants of a
            `ConvexFamily` are taken to hold everywhere.
    """

    domain: ConvexSet
    loss: LossFamily
    proper: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.domain, ConvexSet):
            raise invalid("Convex", "domain", "a convex set such as Ball(2)", self.domain)
        if not isinstance(self.loss, LossFamily):
            raise invalid("Convex", "loss", "a loss such as LogisticLoss(), or a ConvexFamily", self.loss)
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

    @cached_property
    def constants(self) -> Constants:
        """The loss's Lipschitz, smoothness and strong convexity constants on the domain."""
        return self.loss.constants(self.domain)

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
class Bandit(Problem):
    """Choose a point of a convex set each round, then see one number: the loss at that point.

    Attributes:
        domain: the convex set, reached through its linear oracle.
        value_range: public bounds of a value; values outside are clipped, which is all that privacy needs.
        lipschitz: how fast a loss may change per unit of distance; regret bounds need it, privacy does not.
        margin: how far beyond the set, in its affine hull, losses are defined too, with the same properties. Points
            may then be played there, and exploring needs no room inside the set. 0: only on the set.
    """

    domain: ConvexSet
    value_range: tuple[float, float] = (0.0, 1.0)
    lipschitz: float = 1.0
    margin: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.domain, ConvexSet):
            raise invalid("Bandit", "domain", "a convex set such as Ball(2)", self.domain)
        object.__setattr__(self, "value_range", check_range("Bandit", "value_range", self.value_range))
        object.__setattr__(self, "lipschitz", check_positive("Bandit", "lipschitz", self.lipschitz))
        object.__setattr__(self, "margin", check_level("Bandit", "margin", self.margin, at_least=0.0))

    @property
    def width(self) -> float:
        """Length of the value range."""
        return self.value_range[1] - self.value_range[0]
