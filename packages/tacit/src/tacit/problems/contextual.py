"""Choose one of finitely many actions for each request, by its features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tacit.problems.options import Options
from tacit.problems.problem import ADVERSARIES
from tacit.validation import check_choice, check_dimension, check_integer, check_level, check_number, check_positive

FEATURES = ("private", "public")
MOST_DIMENSIONS = 1000


@dataclass(frozen=True, kw_only=True)
class ContextualArms(Options):
    """Choose one of `n` actions by the features of each round, then see the loss of the chosen one, or nothing.

    Features are vectors of length at most 1; longer ones are shortened. Regret is against the best action of every
    round. Expected losses are assumed to be linear in the features: E[loss | x, a] = middle of the range +
    width <theta_a, x>. Give the features a constant coordinate if the losses themselves are linear, not the centred
    ones.

    Attributes:
        dimension: number of features.
        horizon: number of rounds, which must be known: no theorem covers exploration that is spread over epochs.
        radius: R, the largest distance of any theta_a from some common vector. Losses within their range do not imply
            a radius: with a constant feature of .4 it may be 1.25.
        features: "private" (protected like the losses: a decision is shown to its own person only) or "public" (known
            to everybody and no function of anybody's private losses: all decisions may be published).
        misspecification: by how much expected losses may differ from linear ones, as a share of the loss range.
        missing: the largest share of rounds whose feedback never comes, independently of features, action and loss.
        adversary: "stochastic": features and coins are exchangeable, and given them the losses of different rounds are
            independent. Nothing is certified otherwise.
    """

    dimension: int = field()
    radius: float = 0.5
    features: str = "private"
    misspecification: float = 0.0
    missing: float = 0.0
    adversary: str = "stochastic"
    adversaries: ClassVar[tuple[str, ...]] = ADVERSARIES[:1]

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = "ContextualArms"
        check_integer(owner, "horizon", self.horizon)
        check_dimension(owner, "n", self.n, at_least=2)
        check_integer(owner, "dimension", self.dimension, at_most=MOST_DIMENSIONS)
        check_positive(owner, "radius", self.radius)
        check_choice(owner, "features", self.features, FEATURES)
        check_level(owner, "misspecification", self.misspecification, at_least=0.0)
        check_number(owner, "missing", self.missing, above=0.0, below=1.0, closed_low=True)

    @property
    def largest_gap(self) -> float:
        """Delta: by how much the expected losses of two actions can differ, as a share of the loss range."""
        return min(1.0, 2 * self.radius + 2 * self.misspecification)
