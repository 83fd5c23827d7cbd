"""Which data sets are neighbours: who is protected."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.accounting.guarantee import REPLACE, Relation, as_relation
from tacit.ranges import Count, check_fields


@dataclass(frozen=True)
class Neighbours:
    """Which data sets are neighbours.

    Attributes:
        relation: how the feedback of one round differs.
        rounds: in how many rounds one person may stand.
        separation: by how many rounds these are apart at least (1: they may be any).

    >>> one = Neighbours(rounds=3)
    >>> one.covers(Neighbours(rounds=2, separation=5)), one.covers(Neighbours(rounds=4))
    (True, False)
    """

    relation: Relation = REPLACE
    rounds: Count = 1
    separation: Count = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", as_relation("Neighbours", self.relation))
        check_fields(self)

    @property
    def sides(self) -> int:
        """The number of contributions that move: the old and the new one, or the old one only."""
        return self.relation.sides

    @property
    def single(self) -> Neighbours:
        """The neighbours that differ in one round of a person."""
        return Neighbours(self.relation)

    def covers(self, others: Neighbours) -> bool:
        """Return True if noise that is sized for these neighbours suffices for the others.

        Lemma 5 (docs/releases.md): every pair of data sets that are neighbours among the others is
        a pair among these, or zeroing out replaces by the neutral feedback.
        """
        enough_apart = others.rounds == 1 or others.separation >= self.separation
        fewer = others.sides <= self.sides and others.rounds <= self.rounds
        return fewer and enough_apart

    def __str__(self) -> str:
        rounds = "one round" if self.rounds == 1 else f"{self.rounds} rounds"
        apart = "" if self.separation == 1 else f", {self.separation} apart"
        return f"{self.relation} of {rounds} of a person{apart}"
