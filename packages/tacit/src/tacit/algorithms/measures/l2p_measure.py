"""L2P for any measure: bring a lazy learner of your own, and it becomes private (Algorithm 1, corrected).

What one brings is an `OwnMeasure`: a measure over decisions, its sampler, and how fast it changes. Assumption 3.1 of
"Private Online Learning via Lazy Algorithms" is all that is asked of it: each round multiplies the measure by a factor
that is a function of that round's feedback and the decision alone, and varies by at most e^limit over the decisions.
Proofs: docs/algorithms/l2p-measure.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, isfinite
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import minimise
from tacit.accounting.curves import BoundedRange, Curve
from tacit.accounting.guarantee import Relation
from tacit.domains.convex_set import read_only
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.printed import l2p
from tacit.problems import Problem
from tacit.releases import Coin, Inexact, LazyChain, Neighbours, OwnDraw, Releases
from tacit.runtime.learner import Learner
from tacit.runtime.plan import PrivatePlan
from tacit.runtime.printed import Printed
from tacit.runtime.rate_search import Parameters, best_chain, tosses
from tacit.runtime.rounds import same
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.runtime.two_chains import CHAIN_STREAMS, TwoChains
from tacit.validation import FloatArray, check_integer, check_number, check_positive, real_array


class OwnMeasure(ABC):
    """A measure over decisions: public parameters only, no data. Make it a frozen dataclass, so that it has a repr.

    Enforced: feedback has its shape and is finite, and no coin moves by more than `limit` a round.
    Assumed, and named in the contract: the logarithm of a round's factor differs by at most `limit` between any
    two decisions, whatever the feedback. `sample` draws from the product of the factors up to `sampler_distance` in
    total variation. Both answer, and answer alike, for all feedback. A `draw_curve` of your own holds.
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
        """Compute the logarithm of the factor by which a round's feedback multiplies the measure at a decision."""

    @abstractmethod
    def sample(self, history: FloatArray, generator: Any) -> Any:
        """Draw from the measure after the rounds in `history`, one row each, by a numpy generator.

        A number, a vector of numbers, a text, or a tuple of such (a ranking); always of the same kind. Without rounds
        it draws from the prior.
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
        """Bound what one draw leaks: a person moves the log density by a function of range `limit` on each side.

        Override where more is known, for example that the measure is strongly log-concave.
        """
        return BoundedRange(relation.sides * rounds_per_person * self.limit)

    def loss(self, decision: Any, feedback: FloatArray) -> float:
        """Compute a decision's loss in a round, for simulations: minus the log factor, over `rate` if any."""
        return -self.log_factor(decision, feedback) / float(getattr(self, "rate", 1.0))

    def best(self, history: FloatArray) -> Any:
        """Find the decision of smallest total loss in these rounds, the comparator of simulations."""
        raise InvalidInput(
            f"A simulation needs to know the best decision of a run: give {type(self).__name__} a method best(history)."
        )

    def regret(self, rounds: int, batch: int) -> float:
        """Bound the expected regret of a draw after each batch (infinite: not certified); see `weighted_regret`."""
        return inf


def weighted_regret(rounds: int, batch: int, *, rate: float, limit: float, mass: float, excess: float = 0.0) -> float:
    """The regret of a measure of factors exp(-rate loss): ln(1/mass)/rate + T B limit^2/(8 rate) + excess.

    `limit` is rate times the range of a loss, `mass` the prior probability of decisions about as good as the comparator
    (one of N: 1/N), `excess` how much more those cost than the comparator, over all rounds.
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
    return checked


class History:
    """The rounds so far under a measure: what `TwoChains` asks. PRIVATE."""

    def __init__(self, measure: OwnMeasure) -> None:
        self._measure = measure
        self._neutral = np.array(measure.neutral, dtype=np.float64)
        self._rows = np.empty((0, *measure.feedback_shape))
        self.count = 0

    def absorb(self, feedback: FloatArray) -> None:
        if self.count == len(self._rows):
            grown = np.empty((max(64, 2 * self.count), *self._measure.feedback_shape))
            grown[: self.count] = self._rows[: self.count]
            self._rows = grown
        self._rows[self.count] = feedback
        self.count += 1

    def log_ratio(self, decision: Any, feedback: FloatArray) -> float:
        # What is not finite, or raises, counts as 0, as does a round without feedback: coins hide every number alike.
        if np.array_equal(feedback, self._neutral):
            return 0.0
        try:
            found = float(self._measure.log_factor(decision, feedback.copy()))
        except Exception:
            return 0.0
        return found if isfinite(found) else 0.0

    def sample(self, source: Any) -> Any:
        rows = self._rows[: self.count].copy()
        return _plain(type(self._measure).__name__, self._measure.sample(rows, source))

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self._rows[: self.count].copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        rows = real_array("History", "rows", state["rows"], (None, *self._measure.feedback_shape))
        if not np.isfinite(rows).all():
            raise InvalidInput("The rows in the state of a measure must be finite.")
        self._rows, self.count = rows, len(rows)


def _plain(owner: str, drawn: Any) -> Any:
    """A decision as a state can hold it: a number, a text, a vector that cannot be written to, or a tuple of such."""
    if isinstance(drawn, np.ndarray) and drawn.ndim and drawn.dtype.kind in "biuf":
        return read_only(np.array(drawn, dtype=np.float64))
    if isinstance(drawn, tuple):
        return tuple(_plain(owner, entry) for entry in drawn)
    plain = drawn.item() if isinstance(drawn, np.generic | np.ndarray) else drawn
    if isinstance(plain, str):
        return str(plain)
    if not isinstance(plain, int | float):
        raise InvalidInput(
            f"{owner}.sample must give a number, a vector of numbers, a text, or a tuple of these (a ranking). Got "
            f"a {type(drawn).__name__} instead."
        )
    return plain


# Rates that a search tries.
RATES = (1e-9, 1e3)
# Rounds of a small instance, with a reference that stays and one that moves: two chains have many outcomes.
SMALL_ROUNDS = (3, 2)


@dataclass(frozen=True)
class L2PMeasure(PrivatePlan):
    """Two chains on a measure of one's own: a held decision, and a reference that hides the history from its coin.

    Privacy contract: every decision and the switch times of both chains; coins move by at most 2 limit, once, draws
    leak what the measure says (bounded range 2 limit). Adaptive adversaries. Enforced: feedback finite and of its
    shape, log ratios clipped at `limit`. ASSUMED, on your word: the factors' range, and the law of the draws.
    Numerics: idealized; the sampler's distance is charged to delta.
    Regret (oblivious): that of fresh draws after each batch, as the measure states it.

    Reference: Asi, Koren, Liu and Talwar (2024), "Private Online Learning via Lazy Algorithms",
    https://arxiv.org/abs/2406.03620.

    Attributes:
        measure: what one brings.
        force: probability of a forced redraw of the held decision at each toss of the coins.
        batch: rounds from one toss to the next.
        reference_force: probability of a redraw of the reference at each toss; 0: it is one draw of the prior.
        slack: the coin's constant C in units of batch * limit; 1 suffices, the print has 2.

    `L2PMeasure.calibrate(problem, epsilon=, delta=, measure=make)` searches force, batch and rate, where `make(rate)`
    is the measure at that rate.
    """

    measure: OwnMeasure
    force: float
    batch: int = 1
    reference_force: float = 0.0
    slack: float = 1.0
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 3.2",)
    _prints_epsilon: ClassVar[Mapping[str, tuple[str, ...]]] = {"Theorem 3.2": ("measure", "force", "batch")}
    released_streams: ClassVar[tuple[str, ...]] = ("draw", "reference draw")

    def _check_parameters(self) -> None:
        check_measure(self.measure)
        check_number("L2PMeasure", "force", self.force, above=0.0, below=1.0, closed_low=True)
        check_integer("L2PMeasure", "batch", self.batch)
        check_number("L2PMeasure", "reference_force", self.reference_force, above=0.0, below=1.0, closed_low=True)
        check_number("L2PMeasure", "slack", self.slack, above=1.0, closed_low=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name; the slack only where it is not 1."""
        named = super().parameters
        if self.slack == 1:
            del named["slack"]
        return named

    @property
    def decisions(self) -> int:
        return tosses(self.rounds, self.batch)

    @property
    def theorem(self) -> str:
        """The theorem that proves the guarantee, and its assumptions."""
        own = type(self.measure)
        curve = "" if own.draw_curve is OwnMeasure.draw_curve else ", which leak no more than its own draw_curve says"
        return (
            f"L2P (Theorem 3.2, repaired), composition of random draws; ASSUMED: {own.__name__} has factors of log "
            f"range {self.measure.limit:g} and draws within {self.measure.sampler_distance:g} of its law{curve}"
        )

    @cached_property
    def releases(self) -> Releases:
        tuned = Parameters(self.measure.limit, self.force, self.batch)
        exact = measure_chains(self.measure, self.rounds, tuned, self.reference_force, self.slack)
        if self.measure.sampler_distance == 0:
            return exact
        chains = 2 if self.reference_force > 0 else 1
        return Inexact(exact, self.measure.sampler_distance, chains * self.decisions)

    @property
    def regret_bound(self) -> RegretBound:
        value = self.measure.regret(self.rounds, self.batch)
        name = type(self.measure).__name__
        return RegretBound(
            value if value >= 0 else inf,
            f"{name}.regret(T, B)" if value < inf else f"not certified: {name} states no regret",
            ("oblivious adversary", "expectation over the coins", f"what {name} states of itself"),
        )

    @property
    def expected_switches(self) -> float:
        return self.decisions * (1 - (1 - self.force) * exp(-(self.slack + 1) * self.batch * self.measure.limit))

    @classmethod
    def _calibrate(
        cls,
        problem: Problem,
        target: Target,
        *,
        measure: Callable[[float], OwnMeasure] | None = None,
    ) -> L2PMeasure:
        if measure is None or not callable(measure):
            raise InvalidInput(
                "The 'measure' option of L2PMeasure.calibrate must be a function that makes an OwnMeasure of a rate. "
                f"Got {measure!r} instead."
            )
        if target.delta == 0 or target.max_switches is not None:
            raise PrivacyError("L2PMeasure cannot promise a limit on switches and has no pure form: take delta > 0.")
        rounds, among = problem.horizon or 1, target.neighbours

        def regret(tuned: Parameters) -> float:
            return check_measure(measure(tuned.rate)).regret(rounds, tuned.batch)

        def curve(tuned: Parameters) -> Curve:
            return measure_chains(check_measure(measure(tuned.rate)), rounds, tuned, 0.0).curve(among)

        if not regret(Parameters(1.0, 0.0, 1)) < inf:
            raise PrivacyError(
                "L2PMeasure is calibrated by certified regret: give the measure a `regret`, or choose the parameters."
            )
        best = best_chain(
            rounds,
            target,
            curve=curve,
            regret=regret,
            wanted=lambda batch: minimise(lambda rate: regret(Parameters(rate, 0.0, batch)), *RATES),
        )
        made = cls(problem, measure(best.rate), best.force, best.batch, **target.contract)
        if made.guarantee.epsilon(target.delta) > target.epsilon:
            raise PrivacyError(
                f"The sampler's distance {made.measure.sampler_distance:g} leaves no room at delta={target.delta:g}."
            )
        return made

    @classmethod
    def _as_printed(
        cls,
        problem: Problem,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        measure: OwnMeasure | None = None,
        force: float | None = None,
        batch: int | None = None,
    ) -> L2PMeasure:
        owner = "L2PMeasure.as_printed"
        if reading is not None:
            raise InvalidInput(f"{result} has no readings. Got reading={reading!r} instead.")
        if asked.delta == 0:
            raise InvalidInput(f"{result} needs delta above 0. Got 0 instead.")
        if measure is None or force is None or batch is None:
            raise InvalidInput(f"{owner} needs measure, force and batch for {result}: none of them is printed.")
        eta = check_measure(measure).limit
        check_number(owner, "force", force, above=0.0, below=1.0)
        check_integer(owner, "batch", batch)
        rounds = problem.horizon or 1
        log_one = l2p.theorem_3_2_log_one(rounds, asked.delta)
        promised = l2p.theorem_3_2_epsilon(rounds, eta, force, batch, log_one)
        evidence = [f"epsilon of Theorem 3.2 is {promised:.4g} at these parameters, delta_1 = delta/(2T)"]
        differs = ["log ratios are clipped at the measure's limit"]
        if measure.sampler_distance:
            differs.append(f"draws are within {measure.sampler_distance:.2g} of their law in total variation")
        if rounds % batch:
            differs.append(f"the last batch has {rounds % batch} rounds, not {batch}")
        printed = Printed(
            "l2p",
            result,
            promised if asked.epsilon == inf else asked.epsilon,
            asked.delta,
            order="that of the measure + O(T B^2 eta^2)",
            evidence=(*evidence, *l2p.theorem_3_2_failures(rounds, eta, force, batch, log_one)),
            differs=tuple(differs),
            values={"eta": eta, "force": force, "batch": batch, "epsilon": promised},
        )
        return cls(problem, measure, force, batch, force, 2.0, printed=printed, **asked.contract)

    @property
    def extreme_feedback(self) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """The feedback that audits try: the ends of what is allowed, and a round without feedback."""
        if not self.measure.extremes:
            raise InvalidInput(
                f"An audit needs to know the extreme feedback of {type(self.measure).__name__}: give it `extremes`."
            )
        return self.measure.extremes, self.measure.neutral

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give few rounds; decisions must be whole numbers, drawn by comparing `generator.random()` with thresholds."""
        rounds = SMALL_ROUNDS[self.reference_force > 0]
        small = replace(self, problem=replace(self.problem, horizon=rounds), force=max(0.3, self.force), batch=1)
        _ = small.extreme_feedback  # raises without them
        return (SmallInstance("enumeration", f"loud coins, T={rounds}", small),)

    def _learner(self, randomness: Randomness) -> L2PMeasureLearner:
        return L2PMeasureLearner(self, randomness)


class L2PMeasureLearner(Learner):
    """Plays the first chain."""

    plan: L2PMeasure
    _stream_names = CHAIN_STREAMS
    _state = ("_history", "_chains")

    def __init__(self, plan: L2PMeasure, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._batch = plan.batch
        self._last_decision = plan.decisions * plan.batch
        self._history = History(plan.measure)
        self._chains = TwoChains(
            self._history,
            limit=plan.measure.limit,
            batch=plan.batch,
            slack=plan.slack,
            force=plan.force,
            reference_force=plan.reference_force,
            streams=self._streams,
        )
        self._action = self._chains.decision

    def _decision(self) -> Any:
        return np.array(self._action) if isinstance(self._action, np.ndarray) else self._action

    def _consistent(self) -> bool:
        return self._history.count == self._round and same(self._action, self._chains.decision)

    def _check(self, feedback: Any) -> FloatArray:
        return finite_feedback(self.plan.algorithm, self.plan.measure, feedback)

    def _nothing(self) -> FloatArray:
        return np.array(self.plan.measure.neutral, dtype=np.float64)

    @np.errstate(all="ignore")
    def _absorb(self, feedback: FloatArray) -> None:
        self._chains.absorb(feedback)
        finished = self._round + 1
        if finished % self._batch == 0 and finished <= self._last_decision and self._chains.decide():
            self._switches += 1
            self._action = self._chains.decision


def measure_chains(
    measure: OwnMeasure, rounds: int, tuned: Parameters, reference_force: float, slack: float = 1.0
) -> LazyChain:
    """Declare the two chains on a measure, if every draw has its law."""
    own = type(measure)

    def stated(among: Neighbours) -> Curve:
        return measure.draw_curve(among.relation, among.rounds)

    plain = own.draw_curve is OwnMeasure.draw_curve
    draw = OwnDraw(own.__name__, measure.limit, None if plain else stated)
    coin = Coin(tuned.force, limit=measure.limit, batch=tuned.batch, signed=True, slack=slack)
    return LazyChain(tosses(rounds, tuned.batch), coin, draw, reference=reference_force)
