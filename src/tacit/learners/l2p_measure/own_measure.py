"""What one brings to make a lazy learner of one's own private: a measure, its sampler, and how fast it changes.

Assumption 3.1 of "Private Online Learning via Lazy Algorithms": the measure over decisions is multiplied each round by
a factor that is a function of that round's feedback and the decision alone, and the factor varies by at most
e^limit over the decisions. Nothing else is asked of it: decisions may be numbers, points or names, the measure
discrete or not, its sampler any.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf, isfinite
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.privacy.curves import BoundedRange, Curve
from tacit.privacy.guarantee import Relation
from tacit.validation import FloatArray, check_number, check_positive, real_array

Number = int | float
DecisionOf = Number | FloatArray


class OwnMeasure(ABC):
    """A measure over decisions: public parameters only, no data. Make it a frozen dataclass, so that it has a repr.

    What is enforced: the shape of feedback, that it is finite, and that no coin moves by more than `limit` a round.
    What is taken on trust, and named in the contract: that the logarithm of a round's factor differs by at most `limit`
    between any two decisions, whatever the feedback; that `sample` draws from the product of the factors up to
    `sampler_distance` in total variation; that both answer, and answer alike, for all feedback; and a `draw_curve` of
    your own, if you give one.
    """

    @property
    @abstractmethod
    def feedback_shape(self) -> tuple[int, ...]:
        """The shape of a round's feedback, an array of finite numbers (empty: one number)."""

    @property
    @abstractmethod
    def limit(self) -> float:
        """The most by which the logarithm of a round's factor differs between two decisions."""

    @abstractmethod
    def log_factor(self, decision: Any, feedback: FloatArray) -> float:
        """The logarithm of the factor by which a round's feedback multiplies the measure at a decision."""

    @abstractmethod
    def sample(self, history: FloatArray, generator: Any) -> DecisionOf:
        """A draw from the measure after the rounds in `history`, one row each, by a numpy generator.

        A whole number, a number, or a vector; always of the same kind. Without rounds it draws from the prior.
        """

    @property
    def neutral(self) -> FloatArray:
        """Public feedback whose factor is the same at all decisions: that of a round without feedback."""
        return np.zeros(self.feedback_shape)

    @property
    def sampler_distance(self) -> float:
        """A bound on the total variation distance of a draw from its law; it enters delta."""
        return 0.0

    @property
    def extremes(self) -> tuple[FloatArray, ...]:
        """Feedback at the ends of what is allowed, opposites at opposite ends: what audits try (empty: no audit)."""
        return ()

    def draw_curve(self, relation: Relation, rounds_per_person: int) -> Curve:
        """What one draw leaks: a person moves the log density by a function of range `limit` on each side.

        Give another one where more is known, for example that the measure is strongly log-concave.
        """
        return BoundedRange(relation.sides * rounds_per_person * self.limit)

    def regret(self, rounds: int, batch: int) -> float:
        """The expected regret of a fresh draw after each batch (infinite: not certified); see `weighted_regret`."""
        return inf


def weighted_regret(rounds: int, batch: int, *, rate: float, limit: float, mass: float, excess: float = 0.0) -> float:
    """The regret of a measure of factors exp(-rate loss): ln(1/mass)/rate + T B limit^2/(8 rate) + excess.

    Log partition functions telescope, and the losses of a batch have range B limit/rate (Hoeffding's lemma).

    Args:
        rounds: the horizon.
        batch: rounds from one draw to the next.
        rate: the weight of the losses.
        limit: rate times the range of a loss over the decisions.
        mass: the prior probability of decisions about as good as the comparator (one of N: 1/N).
        excess: how much more those cost than the comparator, over all rounds.
    """
    check_positive("weighted_regret", "rate", rate)
    check_number("weighted_regret", "mass", mass, above=0.0, below=1.0, closed_high=True)
    return float(-np.log(mass) / rate + rounds * batch * limit**2 / (8 * rate) + excess)


def check_measure(measure: object) -> OwnMeasure:
    """Refuse what is no measure, or does not say what a contract needs to know."""
    if not isinstance(measure, OwnMeasure):
        raise InvalidInput(f"The 'measure' parameter of L2PMeasure must be an OwnMeasure. Got {measure!r} instead.")
    name = type(measure).__name__
    check_positive(name, "limit", measure.limit)
    check_number(name, "sampler_distance", measure.sampler_distance, above=0.0, below=1.0, closed_low=True)
    finite_feedback(name, measure, measure.neutral)
    if " at 0x" in repr(measure):
        raise InvalidInput(f"{name} must have a repr of its public parameters: make it a frozen dataclass.")
    return measure


def finite_feedback(owner: str, measure: OwnMeasure, feedback: Any) -> FloatArray:
    """A round's feedback as an array of its own."""
    checked = real_array(owner, "feedback", feedback, measure.feedback_shape)
    if not np.isfinite(checked).all():
        raise InvalidInput(f"The 'feedback' of {owner} must be finite numbers.")
    return np.array(checked, dtype=np.float64)


class History:
    """The rounds so far under a measure: what `TwoChains` asks. PRIVATE."""

    def __init__(self, measure: OwnMeasure) -> None:
        self._measure = measure
        self._neutral = np.array(measure.neutral, dtype=np.float64)
        self._rows = np.empty((0, *measure.feedback_shape))
        self.count = 0

    def absorb(self, feedback: FloatArray) -> None:
        """Multiply the measure by this round's factor."""
        if self.count == len(self._rows):
            grown = np.empty((max(64, 2 * self.count), *self._measure.feedback_shape))
            grown[: self.count] = self._rows[: self.count]
            self._rows = grown
        self._rows[self.count] = feedback
        self.count += 1

    def log_ratio(self, decision: Any, feedback: FloatArray) -> float:
        """The logarithm of the factor; what is not finite, or raises, counts as 0: coins hide every number alike.

        So does the factor of a round without feedback, whatever the measure says.
        """
        if np.array_equal(feedback, self._neutral):
            return 0.0
        try:
            found = float(self._measure.log_factor(decision, feedback.copy()))
        except Exception:
            return 0.0
        return found if isfinite(found) else 0.0

    def sample(self, source: Any) -> DecisionOf:
        """A draw from the measure."""
        rows = self._rows[: self.count].copy()
        drawn = self._measure.sample(rows, source)
        if isinstance(drawn, np.ndarray) and drawn.ndim:
            point = np.array(drawn, dtype=np.float64)
            point.setflags(write=False)
            return point
        plain = drawn.item() if isinstance(drawn, np.generic | np.ndarray) else drawn
        if not isinstance(plain, int | float):
            raise InvalidInput(f"{type(self._measure).__name__}.sample must give a number or a vector of numbers.")
        return plain

    def state_dict(self) -> dict[str, Any]:
        """PRIVATE: the feedback of every round."""
        return {"rows": self._rows[: self.count].copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        rows = real_array("History", "rows", state["rows"], (None, *self._measure.feedback_shape))
        if not np.isfinite(rows).all():
            raise InvalidInput("The rows in the state of a measure must be finite.")
        self._rows, self.count = np.array(rows), len(rows)
