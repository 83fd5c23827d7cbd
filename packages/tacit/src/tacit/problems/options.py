"""Choose one of finitely many options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tacit.problems.problem import ADVERSARIES, Problem
from tacit.validation import check_choice, check_dimension, check_integer, check_range

RECOMMENDATIONS = ("public", "private")


@dataclass(frozen=True, kw_only=True)
class Options(Problem):
    """Choose one of `n` options each round; what is seen afterwards makes the difference between problems.

    Attributes:
        n: number of options: experts, arms, policies or actions.
        loss_range: public bounds of every loss; regret is measured in these units.
    """

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
    """Choose one of `n` experts each round, then see the loss of every one of them."""

    switches: ClassVar[int] = 0
    """How many times the comparator may switch: regret is against the best single expert."""


@dataclass(frozen=True, kw_only=True)
class Arms(Options):
    """Choose one of `n` arms each round, then see the loss of the chosen one only, or nothing.

    Attributes:
        adversary: who makes the losses: "stochastic" (independent, one law per arm) or "oblivious" (fixed in
            advance). Nothing is certified against losses that react to the decisions.
    """

    adversary: str = "stochastic"
    adversaries: ClassVar[tuple[str, ...]] = ADVERSARIES[:2]


@dataclass(frozen=True, kw_only=True)
class Policies(Options):
    """Choose one of `actions` actions each round, advised by `n` policies; then see its loss, or nothing.

    A policy recommends an action in each round. Regret is against the best single
    policy.

    Attributes:
        actions: number of actions.
        adversary: who makes recommendations and losses: "stochastic" (independent, from one distribution) or
            "oblivious" (fixed in advance). Nothing is certified if they react to the decisions.
        recommendations: "public" (all may see them: losses are private, and nothing else), or "private" (those of a
            round belong to its person, who alone is shown the decision).
    """

    actions: int
    recommendations: str = "public"
    adversaries: ClassVar[tuple[str, ...]] = ADVERSARIES[:2]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_dimension("Policies", "actions", self.actions)
        check_choice("Policies", "recommendations", self.recommendations, RECOMMENDATIONS)

    @property
    def classes(self) -> int:
        """The largest number of policies of which no two agree."""
        return min(self.n, self.actions)


@dataclass(frozen=True, kw_only=True)
class Tracking(Experts):
    """Experts in a changing world: compete with every sequence of experts that switches at most `switches` times.

    Attributes:
        switches: how many times the comparator, the best such sequence, may switch.
        adversary: who makes the losses: "stochastic" (independent losses whose means shift), "oblivious"
            (any fixed sequence), or "adaptive" (may react to earlier decisions).
    """

    switches: int = field()  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        most = None if self.horizon is None else self.horizon - 1
        check_integer("Tracking", "switches", self.switches, at_least=0, at_most=most)
