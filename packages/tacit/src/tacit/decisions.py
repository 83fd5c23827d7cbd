"""What is decided in a round."""

from __future__ import annotations

from typing import Any, NamedTuple


class Decision(NamedTuple):
    """What to do in a round, and the number under which its feedback is reported.

    Attributes:
        round: counted from 0; `learner.settle(round, feedback)` wants it. A default belongs to no round: -1.
        action: the decision itself.
    """

    round: int
    action: Any

    @property
    def default(self) -> bool:
        """Whether the service did not answer in time, so that a client took the action that its caller named."""
        return self.round < 0
