"""How small a plan can be audited by which kind of attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tacit.learners.plan import Plan

Attack = Literal[
    # Learners whose outcomes can be counted.
    "enumeration", "exponential weights", "restarts", "replayed choices", "canaries", "epochs",
    "enumerated arms", "frequencies of arms", "unbiased release",
    # Learners that hide vectors behind noise.
    "running sum", "replayed noise", "norm noise", "cube noise",
    # Learners whose draws have a known density.
    "integrated interval", "integrated model", "draws", "keep probabilities", "minimisers", "many noises",
    "likelihood ratios",
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
