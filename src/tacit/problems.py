"""What is to be decided: frozen descriptions made of public quantities only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import ClassVar

import numpy as np

from tacit.errors import InvalidInput
from tacit.geometry.base import ConvexSet, ProjectableSet
from tacit.losses.base import CONSTRUCTED, Constants, LossFamily
from tacit.validation import (
    LARGEST,
    FloatArray,
    check_choice,
    check_dimension,
    check_integer,
    check_level,
    check_number,
    check_positive,
    check_range,
    invalid,
    plain_fields,
)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A decision problem of `horizon` rounds (None: unknown, handled by doubling).

    Attributes:
        horizon: number of rounds, or None if it is not known.
        delay: how many further rounds may be decided before the feedback of a round is there; what is later than that
            is missing.
    """

    criterion: ClassVar[str] = "regret"
    """What a plan for this problem certifies a bound on."""

    horizon: int | None
    delay: int = 0

    def __post_init__(self) -> None:
        plain_fields(self)
        if self.horizon is not None:
            check_integer(type(self).__name__, "horizon", self.horizon)
        check_integer(type(self).__name__, "delay", self.delay, at_least=0)


@dataclass(frozen=True, kw_only=True)
class Options(Problem):
    """Choose one of `n` options each round; what is seen afterwards makes the difference between problems."""

    n: int
    loss_range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check_dimension(owner, "n", self.n)
        object.__setattr__(self, "loss_range", check_range(owner, "loss_range", self.loss_range))

    @property
    def width(self) -> float:
        """Length of the loss range: the unit in which regret is measured."""
        return self.loss_range[1] - self.loss_range[0]


@dataclass(frozen=True, kw_only=True)
class Experts(Options):
    """Choose one of `n` experts each round, then see the loss of every one of them.

    Attributes:
        n: number of experts.
        horizon: number of rounds, or None if it is not known.
        loss_range: public bounds of every loss; regret is measured in these units.
    """


ADVERSARIES = ("stochastic", "oblivious", "adaptive")


@dataclass(frozen=True, kw_only=True)
class Arms(Options):
    """Choose one of `n` arms each round, then see the loss of the chosen one only, or nothing.

    Attributes:
        n: number of arms.
        horizon: number of rounds, or None if it is not known.
        loss_range: public bounds of every loss; regret is measured in these units.
        adversary: who makes the losses: "stochastic" (independent, one law per arm) or "oblivious" (fixed in
            advance). Nothing is certified against losses that react to the decisions.
    """

    adversary: str = "oblivious"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("Arms", "adversary", self.adversary, ADVERSARIES[:2])


@dataclass(frozen=True, kw_only=True)
class Tracking(Experts):
    """Experts in a changing world: compete with every sequence of experts that switches at most `switches` times.

    Attributes:
        n: number of experts.
        horizon: number of rounds, or None if it is not known.
        loss_range: public bounds of every loss; regret is measured in these units.
        switches: how many times the comparator, the best such sequence, may switch.
        adversary: who makes the losses: "stochastic" (independent losses whose means shift), "oblivious"
            (any fixed sequence), or "adaptive" (may react to earlier decisions).
    """

    switches: int
    adversary: str = "oblivious"

    def __post_init__(self) -> None:
        super().__post_init__()
        most = None if self.horizon is None else self.horizon - 1
        check_integer("Tracking", "switches", self.switches, at_least=0, at_most=most)
        check_choice("Tracking", "adversary", self.adversary, ADVERSARIES)


@dataclass(frozen=True, kw_only=True)
class Convex(Problem):
    """Choose a point of a convex set each round, then see the data of that round's convex loss.

    Attributes:
        domain: the convex set; its centre and radius enter the regret bounds.
        loss: the loss, or a `ConvexFamily` of constants, which is enough to plan but not to start.
        horizon: number of rounds, or None if it is not known.
        proper: whether every decision must lie in the domain. False: comparators in the domain, decisions anywhere, as
            in prediction, where the domain only says whom regret compares with; the loss must then have bounded slope
            and curvature everywhere, and the constants of a `ConvexFamily` are taken to hold everywhere.
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
        if not isinstance(self.proper, bool):
            raise invalid("Convex", "proper", "True or False", self.proper)
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
        horizon: number of rounds, or None if it is not known.
        value_range: public bounds of a value; values outside are clipped, which is all that privacy needs.
        lipschitz: how fast a loss may change per unit of distance; regret bounds need it, privacy does not.
        margin: how far beyond the set, in its affine hull, losses are defined too, with all that is said of them
            here; points may then be played there, and exploring needs no room inside the set. 0: only on the set.
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


@dataclass(frozen=True, kw_only=True)
class LipschitzLosses(Problem):
    """Points of a box, or of a convex set, of one or two dimensions, and losses that are only Lipschitz.

    A set stands in a cube of its affine hull, and a point x of the cube for the nearest point P(x) of the set. P moves
    no two points apart, so that l(P(x)) varies on the cube as slowly as l on the set, and has the same smallest value.

    Attributes:
        dimension: 1 or 2.
        low: lower end of every coordinate.
        high: upper end of every coordinate.
        lipschitz: public bound on the slope of every loss; steeper ones are clipped.
        domain: a set with a projection in place of the box, which then follows from it.
    """

    dimension: int = 1
    low: float = 0.0
    high: float = 1.0
    lipschitz: float = 1.0
    domain: ConvexSet | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        if self.domain is not None:
            self._take_domain(owner, self.domain)
        check_integer(owner, "dimension", self.dimension, at_most=2)
        low = check_level(owner, "low", self.low)
        high = check_number(owner, "high", self.high, above=low, below=LARGEST, closed_high=True)
        check_positive(owner, "high - low", high - low)
        slope = check_positive(owner, "lipschitz", self.lipschitz)
        for name, value in (("low", low), ("high", high), ("lipschitz", slope)):
            object.__setattr__(self, name, value)

    def _take_domain(self, owner: str, domain: ConvexSet) -> None:
        if not isinstance(domain, ProjectableSet) or domain.hull_dimension > 2:
            raise invalid(owner, "domain", "a set with a projection, of one or two dimensions", domain)
        coordinates = [
            float(end) for axis in np.eye(domain.dimension)
            for end in (domain.minimize_linear(axis) @ axis, domain.minimize_linear(-axis) @ axis)
        ]  # fmt: skip
        for name, value in (
            ("dimension", domain.hull_dimension), ("low", min(coordinates)), ("high", max(coordinates)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @cached_property
    def corner(self) -> FloatArray:
        """The lower ends of the cube's coordinates: those of the affine hull, if there is a domain."""
        return np.full(self.dimension, self.low) if self.domain is None else self._extent[0]

    @cached_property
    def side(self) -> float:
        """Length of the cube's sides."""
        return self.high - self.low if self.domain is None else float(np.max(self._extent[1] - self._extent[0]))

    @cached_property
    def _extent(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the domain in the coordinates of its affine hull."""
        assert self.domain is not None
        axes = self.domain.hull_basis.T
        low = [self.domain.to_hull(self.domain.minimize_linear(axis))[index] for index, axis in enumerate(axes)]
        high = [self.domain.to_hull(self.domain.minimize_linear(-axis))[index] for index, axis in enumerate(axes)]
        return np.array(low), np.array(high)

    def place(self, shares: FloatArray) -> FloatArray:
        """The points that may be played for rows of the unit cube."""
        points = self.corner + self.side * shares
        if not isinstance(self.domain, ProjectableSet):
            return points
        ambient = self.domain.from_hull(points)
        return np.array([self.domain.project(point) for point in ambient]).reshape(ambient.shape)

    @property
    def diagonal(self) -> float:
        """The largest distance of two points of the cube."""
        return self.side * float(self.dimension**0.5)

    @property
    def width(self) -> float:
        """The largest difference of a loss between two points that may be played."""
        reach = self.diagonal if self.domain is None else min(self.diagonal, self.domain.diameter)
        return self.lipschitz * reach


@dataclass(frozen=True, kw_only=True)
class Lipschitz(LipschitzLosses):
    """Choose a point of the box [low, high]^dimension each round, then see a Lipschitz loss, convex or not.

    Attributes:
        dimension: 1 or 2.
        low: lower end of every coordinate.
        high: upper end of every coordinate.
        lipschitz: public bound on the slope of every loss; steeper ones are clipped.
        domain: a convex set of one or two dimensions to choose from, in place of the box.
        horizon: number of rounds, or None if it is not known.
    """


@dataclass(frozen=True, kw_only=True)
class StochasticLipschitz(LipschitzLosses):
    """Learn one point from `horizon` records, each seen once, by losses that are Lipschitz and need not be convex.

    Attributes:
        dimension: 1 or 2.
        low: lower end of every coordinate.
        high: upper end of every coordinate.
        lipschitz: public bound on the slope of every loss; steeper ones are clipped.
        domain: a convex set of one or two dimensions to choose from, in place of the box.
        convex: whether the expected loss is convex, so that decisions may be averaged.
        horizon: number of records: public, and needed in advance.
    """

    criterion: ClassVar[str] = "excess risk"

    convex: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("StochasticLipschitz", "horizon", self.horizon)
        if not isinstance(self.convex, bool):
            raise invalid("StochasticLipschitz", "convex", "True or False", self.convex)

    @property
    def records(self) -> int:
        """The horizon, known to be finite."""
        return int(self.horizon or 0)


@dataclass(frozen=True, kw_only=True)
class Stochastic(Problem):
    """Learn one point from `horizon` records, each seen once; what counts is the last model's expected loss.

    Attributes:
        domain: the set of models; its centre and radius enter the regret bounds.
        loss: the loss of a model on a record, or a `ConvexFamily` of constants, which is enough to plan.
        horizon: number of records: public, and needed in advance.
        initial: a public point of the domain where one pass begins (default: the domain's centre).
        gradient_deviation: s with E|grad l - grad L|^2 <= s^2 for the gradient of a record's loss and of the expected
            one, as you declare it: certificates may use it, privacy never does (default: what the constants say).
        hessian_deviation: the same of how fast that difference changes from point to point.
    """

    criterion: ClassVar[str] = "excess risk"

    domain: ConvexSet
    loss: LossFamily
    initial: tuple[float, ...] | None = None
    gradient_deviation: float | None = None
    hessian_deviation: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("Stochastic", "horizon", self.horizon)
        if not isinstance(self.domain, ConvexSet):
            raise invalid("Stochastic", "domain", "a convex set such as Ball(2)", self.domain)
        if not isinstance(self.loss, LossFamily):
            raise invalid("Stochastic", "loss", "a loss such as LogisticLoss(), or a ConvexFamily", self.loss)
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
