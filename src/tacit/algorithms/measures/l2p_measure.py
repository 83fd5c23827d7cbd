"""L2P for any measure: bring a lazy learner of your own, and it becomes private (Algorithm 1, corrected).

The switching rule and its accounting are those of `tacit.learners.two_chains`; a measure of one's own says how fast it
changes (`OwnMeasure.limit`) and how it is drawn from.

Privacy. Coins: a round's log ratio is clipped at `limit`, so one replaced round moves the logarithm of one keep
probability by at most 2 limit (zeroed out: limit), whatever the measure does. Draws: replacing a round multiplies
the measure by a ratio of two factors, whose logarithm has range at most 2 limit, and so has that of the normalised
densities: bounded range, unless the measure states a better curve.

Law. With C = batch limit a coin is at most 1 - p and never cut off: given the reference y and the losses, a draw x of
nu_s is kept at x with probability proportional to nu_{s+1}(x)/nu_s(x), and is otherwise drawn from nu_{s+1}: its
law is nu_{s+1}, for every y, so that x stays independent of the reference. A decision has the law of a fresh draw, and
expected regret against losses fixed in advance is that of fresh draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, PrivacyError
from tacit.learners.l2p_measure.own_measure import History, OwnMeasure, check_measure, finite_feedback
from tacit.learners.learner import Learner
from tacit.learners.plan import PrivatePlan
from tacit.learners.search import Parameters, best_chain, tosses
from tacit.learners.small_instances import SmallInstance
from tacit.learners.target import RegretBound, Target
from tacit.learners.two_chains import CHAIN_STREAMS, TwoChains, two_chains_curve
from tacit.privacy.calibration import minimise
from tacit.privacy.curves import Curve, SamplerError
from tacit.privacy.guarantee import Relation
from tacit.problems import Problem
from tacit.randomness import Randomness
from tacit.validation import FloatArray, check_integer, check_number

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

    `L2PMeasure.calibrate(problem, epsilon=, delta=, measure=make)` searches force, batch and rate, where `make(rate)`
    is the measure at that rate.
    """

    measure: OwnMeasure
    force: float
    batch: int = 1
    reference_force: float = 0.0
    released_streams: ClassVar[tuple[str, ...]] = ("draw", "reference draw")
    released: ClassVar[str] = "every decision and the switch times of both chains"

    def _check_parameters(self) -> None:
        check_measure(self.measure)
        check_number("L2PMeasure", "force", self.force, above=0.0, below=1.0, closed_low=True)
        check_integer("L2PMeasure", "batch", self.batch)
        check_number("L2PMeasure", "reference_force", self.reference_force, above=0.0, below=1.0, closed_low=True)

    @property
    def decisions(self) -> int:
        """How many times the coins are tossed: after every batch but the last."""
        return tosses(self.rounds, self.batch)

    @property
    def theorem(self) -> str:
        """What proves it, and what it rests on."""
        own = type(self.measure)
        curve = "" if own.draw_curve is OwnMeasure.draw_curve else ", which leak no more than its own draw_curve says"
        return (
            f"L2P (Theorem 3.2, repaired), composition of random draws; ASSUMED: {own.__name__} has factors of log "
            f"range {self.measure.limit:g} and draws within {self.measure.sampler_distance:g} of its law{curve}"
        )

    @cached_property
    def curve(self) -> Curve:
        """What the transcript leaks, the sampler's error included."""
        tuned = Parameters(self.measure.limit, self.force, self.batch)
        exact = measure_curve(
            self.measure, self.rounds, tuned, self.reference_force, self.relation, self.rounds_per_person
        )
        if self.measure.sampler_distance == 0:
            return exact
        chains = 2 if self.reference_force > 0 else 1
        return SamplerError(exact, self.measure.sampler_distance, chains * self.decisions)

    @property
    def regret_bound(self) -> RegretBound:
        """The measure's own bound for fresh draws; infinite if it has none."""
        value = self.measure.regret(self.rounds, self.batch)
        name = type(self.measure).__name__
        return RegretBound(
            value if value >= 0 else inf,
            f"{name}.regret(T, B)" if value < inf else f"not certified: {name} states no regret",
            ("oblivious adversary", "expectation over the coins", f"what {name} states of itself"),
        )

    @property
    def expected_switches(self) -> float:
        """A kept coin has probability at least (1 - p) e^{-2 B limit}."""
        return self.decisions * (1 - (1 - self.force) * exp(-2 * self.batch * self.measure.limit))

    @classmethod
    def _calibrate(
        cls,
        problem: Problem,
        target: Target,
        *,
        measure: Callable[[float], OwnMeasure] | None = None,
        reference_force: float = 0.0,
    ) -> L2PMeasure:
        if measure is None or not callable(measure):
            raise InvalidInput(
                "The 'measure' option of L2PMeasure.calibrate must be a function that makes an OwnMeasure of a rate. "
                f"Got {measure!r} instead."
            )
        if target.delta == 0 or target.max_switches is not None:
            raise PrivacyError("L2PMeasure cannot promise a limit on switches and has no pure form: take delta > 0.")
        rounds, contract = problem.horizon or 1, (target.relation, target.rounds_per_person)

        def regret(tuned: Parameters) -> float:
            return check_measure(measure(tuned.rate)).regret(rounds, tuned.batch)

        def curve(tuned: Parameters) -> Curve:
            return measure_curve(check_measure(measure(tuned.rate)), rounds, tuned, reference_force, *contract)

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
        made = cls(problem, measure(best.rate), best.force, best.batch, reference_force, **target.contract)
        if made.guarantee.epsilon(target.delta) > target.epsilon:
            raise PrivacyError(
                f"The sampler's distance {made.measure.sampler_distance:g} leaves no room at delta={target.delta:g}."
            )
        return made

    @property
    def extreme_feedback(self) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """What audits try: the ends of what is allowed, and a round without feedback."""
        if not self.measure.extremes:
            raise InvalidInput(
                f"An audit needs to know the extreme feedback of {type(self.measure).__name__}: give it `extremes`."
            )
        return self.measure.extremes, self.measure.neutral

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """Few rounds; decisions must be whole numbers, drawn by comparing `generator.random()` with thresholds."""
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
            slack=1.0,
            force=plan.force,
            reference_force=plan.reference_force,
            streams=self._streams,
        )
        self._action = self._chains.decision

    def _decision(self) -> Any:
        return np.array(self._action) if isinstance(self._action, np.ndarray) else self._action

    def _consistent(self) -> bool:
        return self._history.count == self._round and bool(np.all(self._action == self._chains.decision))

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


def measure_curve(
    measure: OwnMeasure,
    rounds: int,
    tuned: Parameters,
    reference_force: float,
    relation: Relation,
    rounds_per_person: int,
) -> Curve:
    """What the two chains on a measure leak, if every draw has its law."""
    return two_chains_curve(
        limit=measure.limit,
        bit=measure.limit * relation.sides,
        batch=tuned.batch,
        slack=1.0,
        force=tuned.force,
        reference_force=reference_force,
        decisions=tosses(rounds, tuned.batch),
        draw=measure.draw_curve(relation, rounds_per_person),
        rounds_per_person=rounds_per_person,
    )
