"""Draws of options, of answers and of points: one release each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import Any, ClassVar

from tacit.accounting.composition import Responses
from tacit.accounting.conversion import renyi_epsilon
from tacit.accounting.curves import ROUND_UP, BoundedRange, Curve, Gaussian, Pure
from tacit.accounting.rounding import EXACT, IDEALIZED, exact_up_to, sum_up
from tacit.ranges import Count, Number, Positive, Rate, Size
from tacit.releases.neighbours import Neighbours
from tacit.releases.release import Releases, Sized
from tacit.validation import invalid

ONE_RESPONSE = "a round's feedback enters one randomised response"
COMPOSED = f"{ONE_RESPONSE}; those of a person's rounds compose"


@dataclass(frozen=True)
class Nothing(Releases):
    """Nothing that depends on data."""

    exact = True
    theorem: ClassVar[str] = "nothing is released that depends on data"

    def curve(self, among: Neighbours) -> Curve:
        return Pure(0.0)


@dataclass(frozen=True)
class Softmax(Releases):
    """One option, drawn with probability proportional to e^{-rate score}.

    A round adds a loss in [0, 1] to each score. Lemma 1: if m rounds of one person change, log
    probabilities move within an interval of length m rate under zero-out, 2 m rate under
    replacement.

    Attributes:
        rate: learning rate.
        slack: how much longer the interval may be, because weights are float64.
        exact: whether the slack is proved to bound the errors of float64.

    >>> Softmax(0.01).curve(Neighbours(rounds=3)).pure()
    0.06
    """

    rate: Positive
    slack: Size = 0.0
    exact: bool = True
    theorem: ClassVar[str] = "draws from exponential weights"

    def curve(self, among: Neighbours) -> Curve:
        width = self.rate * among.sides * among.rounds
        return BoundedRange(width + self.slack)

    def numerics(self, among: Neighbours, delta: float) -> str:
        ideal = replace(self, slack=0.0)
        return self.stated(self.curve(among), ideal.curve(among), delta)

    def stated(self, found: Curve, ideal: Curve, delta: float) -> str:
        """Return the statement on arithmetic of a release that is made of such draws.

        Args:
            found: the curve of the release.
            ideal: its curve if weights were exact.
            delta: the delta at which the contract is stated.
        """
        if self.slack == 0:
            return EXACT
        if not self.exact:
            return IDEALIZED
        # By Renyi divergences, which are smooth in the length: differences keep their digits.
        if delta > 0:
            found_epsilon = renyi_epsilon(found.renyi, delta)
            ideal_epsilon = renyi_epsilon(ideal.renyi, delta)
        else:
            found_epsilon = found.pure()
            ideal_epsilon = ideal.pure()
        # Nothing can be added to an infinite epsilon.
        added = found_epsilon - ideal_epsilon if isfinite(found_epsilon) else 0.0
        return exact_up_to(max(added, self.slack))


@dataclass(frozen=True)
class Selection(Sized):
    """One option, selected by permute-and-flip on sums of whole losses.

    A loss of 1 is `units` steps, and each step costs `rate`: m rounds of one person move the
    score of one option against that of another by at most m sides units steps.

    Attributes:
        privacy: epsilon that the rate was made for.
        rate: what a step costs.
        units: steps in a loss of 1.
    """

    privacy: Positive
    rate: Rate
    units: Count
    exact = True
    theorem: ClassVar[str] = "permute-and-flip"

    def own_curve(self) -> Curve:
        self.check_cost(self.rate, self.units * self.made_for.sides, self.privacy)
        return Pure(self.privacy)


@dataclass(frozen=True)
class ThresholdTest(Sized):
    """Tests of all rounds up to the first positive one, with noise on threshold and answers.

    The shifts of all tests lie in one interval that holds 0, of m sides units steps. Noise on the
    threshold hides where it lies, and noise on the positive answer hides that answer.

    Attributes:
        privacy: epsilons of the threshold's noise and of the answers'.
        threshold_rate: what a step costs in the threshold's noise.
        query_rate: what a step costs in an answer's noise.
        units: steps in a loss of 1.
    """

    privacy: tuple[Positive, Positive]
    threshold_rate: Rate
    query_rate: Rate
    units: Count
    exact = True
    shown: ClassVar[str] = "every {decision} and every restart"
    theorem: ClassVar[str] = "width-form above-threshold"

    def own_curve(self) -> Curve:
        steps = self.units * self.made_for.sides
        self.check_cost(self.threshold_rate, steps, self.privacy[0])
        self.check_cost(self.query_rate, steps, self.privacy[1])
        return Pure(sum_up(self.privacy))


@dataclass(frozen=True)
class Response(Sized):
    """One randomised response to the loss of each round, of privacy loss at most `rate`.

    Attributes:
        rate: what the response of one round costs.
        privacy: epsilon that all responses of a person were made for (0: their composition's).
    """

    rate: Positive
    privacy: Size
    exact = True
    shown: ClassVar[str] = "every {decision} and every randomised response"
    theorem: ClassVar[str] = COMPOSED

    def own_curve(self) -> Curve:
        if not self.privacy:
            return Responses((self.rate,), (self.made_for.rounds,))
        self.check_cost(self.rate, 1, self.privacy)
        return Pure(self.privacy)


@dataclass(frozen=True)
class NoisyBits(Sized):
    """Sums of bits, each released once with two-sided geometric noise; a round enters one of them.

    Lemma 2: a round of one person moves one sum by at most M, where M = `steps` under replacement
    or if what a missing round adds is not fixed, and max(neutral, steps - neutral) otherwise.

    Attributes:
        rate: what a step costs.
        privacy: epsilon that all rounds of a person cost.
        steps: what a bit of 1 adds.
        neutral: what a round without feedback adds, if that is fixed (None: it is 0 or `steps`).
    """

    rate: Rate
    privacy: Positive
    steps: Count
    neutral: Number | None
    exact = True
    shown: ClassVar[str] = "every {decision} and every noisy batch mean"
    theorem: ClassVar[str] = "parallel composition: a round's feedback enters one noisy sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neutral is not None and self.neutral > self.steps:
            raise invalid("NoisyBits", "neutral", f"at most steps={self.steps}", self.neutral)

    @property
    def change(self) -> int:
        """The largest number of steps by which one round moves a sum."""
        if self.made_for.sides == 2 or self.neutral is None:
            return self.steps
        return max(self.neutral, self.steps - self.neutral)

    def own_curve(self) -> Curve:
        self.check_cost(self.rate, self.change, self.privacy)
        return Pure(self.privacy)


@dataclass(frozen=True)
class GibbsDraw(Releases):
    """A point drawn from the measure e^{-rate (losses + ridge |x - centre|^2)}.

    One round changes the exponent by a function whose slopes are at most sides rate L, and the
    measure is 2 rate ridge strongly log-concave. So m rounds are Gaussian DP with
    mu = m sides rate L/sqrt(2 rate ridge) = m sides/2 L sqrt(2 rate/ridge).

    Attributes:
        lipschitz: L, the largest slope of the loss of one round.
        rate: weight of the losses.
        ridge: weight of the squared distance among the losses.
    """

    lipschitz: Positive
    rate: Positive
    ridge: Positive
    theorem: ClassVar[str] = "draws from strongly log-concave measures"

    def curve(self, among: Neighbours) -> Curve:
        mu = among.sides / 2 * self.lipschitz * sqrt(2 * self.rate / self.ridge) * ROUND_UP
        mu *= among.rounds
        return Gaussian(mu)


@dataclass(frozen=True)
class OwnDraw(Releases):
    """A draw from a measure of the user's own, in float64; what it leaks is ASSUMED.

    Attributes:
        name: name of the measure.
        limit: log range of the factor of a round: log probabilities move within an interval of
            length m sides limit.
        stated: a curve of the user's that is known better (None: there is none).
    """

    name: str
    limit: Positive
    stated: Callable[[Neighbours], Curve] | None = None
    theorem: ClassVar[str] = "draws of your own, which leak no more than they say"

    def curve(self, among: Neighbours) -> Curve:
        if self.stated is not None:
            return self.stated(among)
        return BoundedRange(among.sides * among.rounds * self.limit)

    def to_dict(self, among: Neighbours) -> dict[str, Any]:
        own = {"kind": type(self).__name__, "name": self.name, "limit": self.limit}
        return {**own, "stated": self.stated is not None}
