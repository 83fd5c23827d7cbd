"""Feedback that comes late or never, made up for simulations.

When within its window feedback comes changes no decision, so all that a simulation has to know of a round is whether
its feedback comes in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.runtime.rounds import Absent
from tacit.validation import check_integer, check_number


@dataclass(frozen=True)
class Arrivals:
    """How feedback arrives, whatever it says.

    Attributes:
        late: feedback comes a number of rounds later, uniform from 0 to this; beyond the plan's delay it never counts.
        missing: the share of the others that never comes.
    """

    late: int = 0
    missing: float = 0.0

    def __post_init__(self) -> None:
        check_integer("simulate", "late", self.late, at_least=0)
        check_number("simulate", "missing", self.missing, above=0.0, below=1.0, closed_low=True, closed_high=True)

    def mask(self, rounds: int, delay: int, generator: np.random.Generator) -> Absent | None:
        """Whether the feedback of each round comes in time (None: always)."""
        if not self.missing and self.late <= delay:
            return None
        lateness = generator.integers(self.late + 1, size=rounds)
        arrived: Absent = (lateness <= delay) & (generator.random(rounds) >= self.missing)
        return arrived
