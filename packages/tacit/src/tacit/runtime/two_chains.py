"""L2P: any lazy online learner made private, generic in its measure.

Paper: "Private Online Learning via Lazy Algorithms" (NeurIPS 2024), Algorithm 1, corrected. Two
independent chains x and y. At the end of a batch x is kept with probability
(1 - p_x) min(1, exp(r - C)), r the sum over the batch of the clipped log ratios of x against y, and y is
kept with probability 1 - p_y. Because y normalises the ratio, one round's feedback moves one coin only.

What differs from the print: two separate switch bits, never their union, which leaks which chain moved; the ratio is
taken at the old x and y; C = batch * limit suffices (the print has twice that, kept as `slack=2`); privacy is the
composition of random draws, without the conditioning events of the print.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from math import log1p
from typing import Any, Protocol

from tacit.runtime.state import fitting


class Measure(Protocol):
    """An unnormalised measure over decisions, multiplied each round by a function of that round's feedback."""

    def absorb(self, feedback: Any) -> None:
        """Multiply the measure by this round's factor."""

    def log_ratio(self, decision: Any, feedback: Any) -> float:
        """The logarithm of this round's factor at a decision, up to a constant of the round."""

    def sample(self, source: Any) -> Any:
        """A draw from the normalised measure, by the generator or the uniforms of a chain."""


class TwoChains:
    """The switching rule of L2P on any measure. Holds decisions only; its state is private.

    Logarithms and coins are floats here; `l2p.ExactChains` counts and tosses them exactly.
    """

    def __init__(
        self,
        measure: Measure,
        *,
        limit: float,
        batch: int,
        slack: float,
        force: float,
        reference_force: float,
        streams: Mapping[str, Any],
    ) -> None:
        self._measure = measure
        self._limit = limit
        self._streams = streams
        self._hazard = slack * batch * limit - log1p(-force)
        self._reference_hazard = -log1p(-reference_force)
        self._ratio = 0.0
        self.decision = measure.sample(streams["draw"])
        self._reference = measure.sample(streams["reference draw"])

    def absorb(self, feedback: Any) -> None:
        """One round inside a batch: add its clipped log ratio, then update the measure."""
        ratio = self._measure.log_ratio(self.decision, feedback) - self._measure.log_ratio(self._reference, feedback)
        self._ratio += min(self._limit, max(-self._limit, ratio))
        self._measure.absorb(feedback)

    def decide(self) -> bool:
        """The end of a batch: keep or redraw each chain. True if the decision was redrawn."""
        redraw = not self._kept()
        if redraw:
            self.decision = self._measure.sample(self._streams["draw"])
        if not self._reference_kept():
            self._reference = self._measure.sample(self._streams["reference draw"])
        self._ratio = 0.0
        return redraw

    def _kept(self) -> bool:
        # A coin that keeps with probability e^{-h} is an exponential clock that outlives h.
        return not self._streams["keep"].standard_exponential() <= self._hazard - self._ratio

    def _reference_kept(self) -> bool:
        return not self._streams["reference keep"].standard_exponential() <= self._reference_hazard

    def state_dict(self) -> dict[str, Any]:
        """PRIVATE: the reference and the running ratio are not covered by the guarantee."""
        return {"decision": copy(self.decision), "reference": copy(self._reference), "ratio": self._ratio}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict` (the measure restores itself)."""
        decision, reference = fitting(self.decision, state["decision"]), fitting(self._reference, state["reference"])
        self._ratio = fitting(self._ratio, state["ratio"])
        self.decision, self._reference = copy(decision), copy(reference)


CHAIN_STREAMS = ("keep", "draw", "reference keep", "reference draw")
