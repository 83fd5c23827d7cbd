"""L2P on multiplicative weights: the paper's private prediction from experts, corrected.

Paper: "Private Online Learning via Lazy Algorithms" (NeurIPS 2024), Section 3.1. The switching rule
is `tacit.runtime.two_chains`. What differs from the print: batching costs eta T B/8, not O(T B^2 eta^2)
(Proposition 3.3 is false), and the printed parameters of Theorems 3.2 and 3.10 are run by
`L2P.as_printed`. The second chain is unnecessary for this measure: a reference that is
never redrawn (`reference_force=0`, the calibrated choice) leaves the law exact and costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, exp, inf, log
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit.accounting.calibration import largest, minimise
from tacit.algorithms.experts.expert_plan import ExpertLearner, ExpertPlan
from tacit.algorithms.experts.lazy_experts import WEIGHTS_FORMULA, weights_regret
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.exact_draws import coin, draw_softmax
from tacit.noise.lattice import LOSS_UNITS, quantise_losses
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms
from tacit.printed import l2p
from tacit.problems import Experts
from tacit.releases import Coin, LazyChain, Softmax
from tacit.runtime.printed import Printed
from tacit.runtime.rate_search import Parameters, best_chain, delay_formula, tosses, wanted_rate
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.state import fitting
from tacit.runtime.target import RegretBound, Target
from tacit.runtime.two_chains import CHAIN_STREAMS, TwoChains
from tacit.validation import FloatArray, IntArray, check_choice, check_integer, check_number, check_positive

MOST_SLACK = 1e6
READINGS_OF_FORCE = {
    "p = eta/epsilon": "p as Theorem 3.12 prints it",
    "p = 2 eta/epsilon": "the least p at which the proof of Theorem 3.12 has its eta/p <= epsilon/2",
    "p = eta B ln(1/delta_1)": "the least p that Theorem 3.2 allows",
}
"""Readings of Theorem 3.10, which prints no p."""
REPAIRED = "repaired"
"""The reading of Theorem 3.10 with eta small enough, and batches short enough, for what is proved."""
REPAIRED_FORCES = (1.0, 2.0, 4.0, 8.0)
"""The p that a repair tries, in units of eta/epsilon."""
ROUNDED = "losses are rounded down to multiples of 2^-24"


@dataclass(frozen=True)
class L2P(ExpertPlan):
    """Two chains on exponential weights: a held expert, and a reference that hides the history from its coin.

    Privacy contract: every decision and the switch times of both chains; draws of bounded range 2 eta, the
    coin moves by at most 2 eta, once. Adaptive adversaries. Enforced: losses in their range (others raise). Numerics:
    exact.
    Regret: ln N/eta + eta T B/8 + T 2^-24 (oblivious): the marginal law is exactly exponential weights, on losses that
    are rounded down to multiples of 2^-24.

    Reference: Asi, Koren, Liu and Talwar (2024), "Private Online Learning via Lazy Algorithms",
    https://arxiv.org/abs/2406.03620.

    Page: docs/algorithms/l2p.md.

    Attributes:
        eta: learning rate.
        force: probability of a forced redraw of the held expert at each toss of the coins.
        reference_force: probability of a redraw of the reference at each toss.
        batch: rounds from one toss to the next.
        slack: the coin's constant C in units of batch * eta; 1 suffices, the print has 2.

    >>> plan = L2P(Experts(n=4, horizon=500), eta=0.02, force=0.1)
    >>> learner = plan.start(Randomness.replayable(3))
    >>> actions = learner.run(np.zeros((500, 4)))
    >>> plan.regret_bound.formula
    'ln(N)/eta + eta T B/8 + T/2^24'
    """

    _no_delay: ClassVar[str] = ""
    _single: ClassVar[bool] = True
    eta: float
    force: float
    reference_force: float = 0.0
    batch: int = 1
    slack: float = 1.0
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 3.2", "Theorem 3.10", "Proposition 3.3", "Algorithm 1")
    _promises_nothing: ClassVar[tuple[str, ...]] = ("Proposition 3.3", "Algorithm 1")
    _prints_epsilon: ClassVar[Mapping[str, tuple[str, ...]]] = {"Theorem 3.2": ("eta", "force", "batch")}
    released_streams: ClassVar[tuple[str, ...]] = ("draw", "reference draw")
    theorem: ClassVar[str] = "L2P (Theorem 3.2, repaired), composition of random draws"

    def _check_parameters(self) -> None:
        check_positive("L2P", "eta", self.eta)
        check_number("L2P", "force", self.force, above=0.0, below=1.0, closed_low=True)
        check_number("L2P", "reference_force", self.reference_force, above=0.0, below=1.0, closed_low=True)
        check_integer("L2P", "batch", self.batch)
        check_number("L2P", "slack", self.slack, above=1.0, below=MOST_SLACK, closed_low=True, closed_high=True)

    @property
    def decisions(self) -> int:
        return tosses(self.rounds, self.batch)

    @cached_property
    def releases(self) -> LazyChain:
        tuned = Parameters(self.eta, self.force, self.batch)
        return two_chains(self.problem, tuned, self.reference_force, self.slack)

    @property
    def regret_bound(self) -> RegretBound:
        value = weights_regret(self.problem, self.eta, self.batch, self.rounds)
        formula = WEIGHTS_FORMULA + delay_formula(self.problem.delay, self.batch)
        return RegretBound(value, formula, ("oblivious adversary", "expectation over the coins"))

    @property
    def expected_switches(self) -> float:
        return self.decisions * (1 - (1 - self.force) * exp(-(self.slack + 1) * self.batch * self.eta))

    @classmethod
    def _calibrate(cls, problem: Experts, target: Target, *, slack: float = 1.0) -> L2P:
        if target.delta == 0 or target.max_switches is not None:
            raise PrivacyError("L2P cannot promise a limit on switches and has no pure form: use LazyExperts.")
        rounds = problem.horizon or 1
        among = target.neighbours
        best = best_chain(
            rounds,
            target,
            curve=lambda tuned: two_chains(problem, tuned, 0.0, slack).curve(among),
            regret=lambda tuned: weights_regret(problem, tuned.rate, tuned.batch, rounds),
            wanted=partial(wanted_rate, log(problem.n), rounds, delay=problem.delay),
        )
        return cls(problem, best.rate, best.force, 0.0, best.batch, slack, **target.contract)

    @classmethod
    def _as_printed(
        cls,
        problem: Experts,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        eta: float | None = None,
        force: float | None = None,
        batch: int | None = None,
    ) -> L2P:
        own = Own(eta, force, batch)
        if problem.n < 2:
            raise InvalidInput("The printed parameters of L2P need at least 2 experts. Got 1 instead.")
        if result == "Theorem 3.10":
            chosen = theorem_3_10(problem, asked, reading, own)
        elif reading is not None:
            raise InvalidInput(f"{result} has no readings. Got reading={reading!r} instead.")
        elif result == "Theorem 3.2":
            chosen = theorem_3_2(problem, asked, own)
        else:
            chosen = without_privacy(problem, asked, result, own)
        tuned = chosen.tuned
        if not 0 < tuned.force < 1:
            raise InvalidInput(
                f"{result} has p={tuned.force:.4g} here, which is no probability below 1: take a smaller eta, a larger "
                "epsilon, or another p (the parameter force)."
            )
        return cls(
            problem,
            tuned.rate,
            tuned.force,
            reference_force=tuned.force,
            batch=tuned.batch,
            slack=2.0,
            printed=chosen.printed(problem, result),
            **chosen.asked.contract,
        )

    def small_instances(self) -> tuple[SmallInstance, ...]:
        loud = {"eta": 0.3, "force": 0.3, "batch": 1}
        own = {"batch": min(2, self.batch)}
        return self._enumerable(loud, own, rounds=4, also=("exponential weights",))

    def _learner(self, randomness: Randomness) -> L2PLearner:
        return L2PLearner(self, randomness)


class L2PLearner(ExpertLearner):
    """Plays the first chain."""

    plan: L2P
    _state = ("_measure", "_chains", "_keep", "_choice", "_reference_keep", "_reference_choice")

    def __init__(self, plan: L2P, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._batch = plan.batch
        self._last_decision = plan.decisions * plan.batch
        self._measure = ExponentialWeights(self._n, plan.eta)
        sources = {name: Uniforms.from_streams(randomness, name) for name in CHAIN_STREAMS}
        self._keep, self._choice, self._reference_keep, self._reference_choice = sources.values()
        self._chains = ExactChains(self._measure, plan, sources)
        self._action = self._chains.decision

    def _consistent(self) -> bool:
        return (
            super()._consistent()
            and self._summable_units(self._measure.total)
            and self._action == self._chains.decision
        )

    def _absorb(self, losses: FloatArray) -> None:
        self._chains.absorb(quantise_losses(losses))
        finished = self._round + 1
        if finished % self._batch == 0 and finished <= self._last_decision and self._chains.decide():
            self._move(self._chains.decision)


class ExponentialWeights:
    """The measure exp(-eta * cumulative loss) over experts; losses are integers, of 2^24 units."""

    def __init__(self, n: int, eta: float) -> None:
        self._rate = eta / LOSS_UNITS
        self.total = np.zeros(n, dtype=np.int64)  # the cumulative losses. PRIVATE.

    def absorb(self, feedback: IntArray) -> None:
        self.total += feedback

    def log_ratio(self, decision: int, feedback: IntArray) -> int:
        return -feedback.item(decision)

    def sample(self, source: Uniforms) -> int:
        return draw_softmax(source, self._rate, self.total)

    def state_dict(self) -> dict[str, Any]:
        return {"total": self.total.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.total = np.array(fitting(self.total, state["total"]))


class ExactChains(TwoChains):
    """The switching rule in integers, with coins that are decided exactly.

    The running ratio is counted in units of eta/2^24 from its smallest value, so that it is never negative.
    """

    def __init__(self, measure: ExponentialWeights, plan: L2P, sources: dict[str, Uniforms]) -> None:
        super().__init__(
            measure,
            limit=LOSS_UNITS,
            batch=plan.batch,
            slack=plan.slack,
            force=plan.force,
            reference_force=plan.reference_force,
            streams=sources,
        )
        self._ratio = 0
        self._rate = plan.eta / LOSS_UNITS
        self._most = coin_constant(plan.batch, plan.slack) + plan.batch * LOSS_UNITS
        self._stay, self._reference_stay = 1 - plan.force, 1 - plan.reference_force

    def absorb(self, feedback: IntArray) -> None:
        super().absorb(feedback)
        self._ratio += LOSS_UNITS

    def decide(self) -> bool:
        redrawn = super().decide()
        self._ratio = 0
        return redrawn

    def _kept(self) -> bool:
        return coin(self._streams["keep"], self._stay, self._rate, int(self._most - self._ratio))

    def _reference_kept(self) -> bool:
        return coin(self._streams["reference keep"], self._reference_stay)


def two_chains(problem: Experts, tuned: Parameters, reference_force: float, slack: float) -> LazyChain:
    """Declare the two chains on exponential weights."""
    coin = Coin(
        force=1 - (1 - tuned.force),  # what is left to the float that the coin is given
        limit=tuned.rate,
        batch=tuned.batch,
        signed=True,
        slack=coin_constant(tuned.batch, slack) / (tuned.batch * LOSS_UNITS),
    )
    count = 0 if problem.n == 1 else tosses(problem.horizon or 1, tuned.batch)
    return LazyChain(count, coin, Softmax(tuned.rate), reference=1 - (1 - reference_force))


def coin_constant(batch: int, slack: float) -> int:
    """The coin's constant C in units of eta/2^24."""
    return ceil(slack * (batch * LOSS_UNITS))


class Own(NamedTuple):
    """Parameters of a print that its reader chooses."""

    eta: float | None
    force: float | None
    batch: int | None

    @property
    def complete(self) -> bool:
        return None not in self


class Chosen(NamedTuple):
    """Parameters of a printed result, and what is to be said of them."""

    asked: Target
    tuned: Parameters
    values: Mapping[str, float]  # as printed: B before it is rounded
    reading: str = ""
    order: str = ""
    evidence: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    def printed(self, problem: Experts, result: str) -> Printed:
        """Return the record of the plan, with what an attack on the decisions finds."""
        differs = [ROUNDED, *self.differs]
        rounds = problem.horizon or 1
        if rounds % self.tuned.batch:
            differs.append(f"the last batch has {rounds % self.tuned.batch} rounds, not {self.tuned.batch}")
        record = Printed(
            "l2p",
            result,
            reading=self.reading,
            order=self.order,
            evidence=self.evidence,
            differs=tuple(differs),
            values=self.values,
        )
        if self.asked.epsilon == inf:
            return record
        leaked = leaked_delta(problem, self.asked, self.tuned)
        attack = (f"an attack on the decisions alone has delta({self.asked.epsilon:.4g}) >= {leaked:.2g}",)
        return replace(
            record,
            epsilon=self.asked.epsilon,
            delta=self.asked.delta,
            lower_bound=leaked,
            evidence=self.evidence + (attack if leaked > 0 else ()),
        )


def leaked_delta(problem: Experts, asked: Target, tuned: Parameters) -> float:
    """Return a lower bound on delta(asked epsilon) of the printed algorithm."""
    decisions = tosses(problem.horizon or 1, tuned.batch)
    sides = asked.relation.sides
    return l2p.leaked_delta(problem.n, decisions, tuned.rate, tuned.force, tuned.batch, asked.epsilon, sides)


def theorem_3_2(problem: Experts, asked: Target, own: Own) -> Chosen:
    """Return parameters of one's own with the epsilon that Theorem 3.2 prints for them, or the best for a target."""
    rounds = problem.horizon or 1
    if any(value is not None for value in own) and not own.complete:
        raise InvalidInput("L2P.as_printed takes eta, force and batch for Theorem 3.2 together, or none of them.")
    if asked.delta == 0:
        raise InvalidInput("Theorem 3.2 needs delta above 0. Got 0 instead.")
    log_one = l2p.theorem_3_2_log_one(rounds, asked.delta)
    eta, force, batch = own_parameters(own) if own.complete else printed_parameters(problem, asked)
    promised = l2p.theorem_3_2_epsilon(rounds, eta, force, batch, log_one)
    evidence = [f"epsilon of Theorem 3.2 is {promised:.4g} at these parameters, delta_1 = delta/(2T)"]
    if asked.epsilon == inf:
        asked = replace(asked, epsilon=promised)
    elif promised > asked.epsilon * (1 + 1e-9):
        evidence.append("Theorem 3.2 itself does not promise what is asked")
    return Chosen(
        asked,
        Parameters(eta, force, batch),
        {"eta": eta, "force": force, "batch": batch, "epsilon": promised},
        order=PROPOSITION_ORDER,
        evidence=(*evidence, *l2p.theorem_3_2_failures(rounds, eta, force, batch, log_one)),
    )


PROPOSITION_ORDER = "that of the measure + O(T B^2 eta^2)"


def own_parameters(own: Own) -> tuple[float, float, int]:
    """Return eta, p and B that a reader chose, checked."""
    return (
        check_positive("L2P.as_printed", "eta", own.eta),
        check_number("L2P.as_printed", "force", own.force, above=0.0, below=1.0),
        check_integer("L2P.as_printed", "batch", own.batch),
    )


def theorem_3_10(problem: Experts, asked: Target, reading: str | None, own: Own) -> Chosen:
    """Return the parameters of Theorem 3.10, with one of its readings or p of one's own."""
    rounds = problem.horizon or 1
    owner = "L2P.as_printed"
    if own.eta is not None or own.batch is not None:
        raise InvalidInput("Theorem 3.10 prints eta and batch: only force can be chosen.")
    if asked.delta == 0:
        raise InvalidInput("Theorem 3.10 needs delta above 0. Got 0 instead.")
    values = l2p.theorem_3_10(problem.n, rounds, asked.epsilon)
    batch = rounded_batch(values["batch"])
    log_one = l2p.theorem_3_2_log_one(rounds, asked.delta)
    tuned = Parameters(values["eta"], 0.0, batch)
    differs = list(batch_differs(values["batch"], batch))
    if own.force is not None:
        if reading is not None:
            raise InvalidInput(f"{owner} takes a reading of p or the parameter force, not both.")
        named = f"p = {check_number(owner, 'force', own.force, above=0.0, below=1.0):.4g}"
        tuned = tuned._replace(force=own.force)
    else:
        named = check_choice(owner, "reading", reading or next(iter(READINGS_OF_FORCE)), (*READINGS_OF_FORCE, REPAIRED))
        forces = (values["eta"] / asked.epsilon, 2 * values["eta"] / asked.epsilon, values["eta"] * batch * log_one)
        tuned = tuned._replace(force=dict(zip(READINGS_OF_FORCE, forces, strict=True)).get(named, 0.0))
    if named == REPAIRED:
        tuned, ratio = repaired_theorem_3_10(problem, asked, values)
        share = tuned.rate / values["eta"]
        named = f"{REPAIRED}: eta x {share:.3g}, p = {ratio:g} eta/epsilon, B = {tuned.batch}"
        differs = [f"eta is {share:.3g} of the printed one"]
        if tuned.batch != values["batch"]:
            differs.append(f"B = {tuned.batch} for {values['batch']:.4g}: its regret is at most that of the weights")
    promised = l2p.theorem_3_2_epsilon(rounds, tuned.rate, tuned.force, tuned.batch, log_one) if tuned.force else inf
    failures = l2p.theorem_3_2_failures(rounds, tuned.rate, tuned.force, tuned.batch, log_one)
    return Chosen(
        asked,
        tuned,
        {**values, "regret order": l2p.theorem_3_10_order(problem.n, rounds, asked.epsilon)},
        reading=named,
        order="O(sqrt(T ln d) + T^(1/3) ln(d)/epsilon^(2/3))",
        evidence=("p is not printed", f"epsilon of Theorem 3.2 is {promised:.4g} at these parameters", *failures),
        differs=tuple(differs),
    )


def rounded_batch(printed: float) -> int:
    """Return a printed batch size, rounded up; what rounding of floats adds to a whole number is none."""
    return max(1, ceil(printed * (1 - 1e-12)))


def batch_differs(printed: float, batch: int) -> tuple[str, ...]:
    """Return the words that say that B was rounded, if it was."""
    return (f"B = {printed:.4g} is rounded up to {batch}",) if abs(printed - batch) > 1e-9 * batch else ()


def repaired_theorem_3_10(problem: Experts, asked: Target, values: Mapping[str, float]) -> tuple[Parameters, float]:
    """Return the largest eta below the printed one that is proved to keep epsilon, with the ratio of p to eta/epsilon.

    Batches are never so long that they cost more than the weights do: eta T B/8 <= ln(N)/eta, or B = 1.
    """
    rounds = problem.horizon or 1

    def tuned(eta: float, ratio: float) -> Parameters:
        affordable = int(8 * log(problem.n) / (rounds * eta**2))
        return Parameters(
            eta, min(0.5, ratio * eta / asked.epsilon), max(1, min(rounded_batch(values["batch"]), affordable))
        )

    def proved(eta: float, ratio: float) -> float:
        at = tuned(eta, ratio)
        return two_chains(problem, at, at.force, 2.0).curve(asked.neighbours).epsilon(asked.delta)

    rates = {
        ratio: largest(partial(proved, ratio=ratio), asked.epsilon, 1e-6 * values["eta"], values["eta"], 1e-3)
        for ratio in REPAIRED_FORCES
    }
    ratio = max(rates, key=lambda each: rates[each])
    return tuned(rates[ratio], ratio), ratio


def without_privacy(problem: Experts, asked: Target, result: str, own: Own) -> Chosen:
    """Return the parameters of a result that promises no privacy: those of Proposition 3.3 or of Algorithm 1."""
    rounds = problem.horizon or 1
    if own.eta is None or own.batch is None:
        raise InvalidInput(f"L2P.as_printed needs eta and batch for {result}: neither is printed.")
    least = l2p.proposition_3_3_least_force(own.eta, own.batch)
    if own.force is None and result == "Algorithm 1":
        raise InvalidInput("L2P.as_printed needs force for Algorithm 1: p is one of its inputs.")
    eta, force, batch = own_parameters(own if own.force is not None else own._replace(force=min(least, 1 - 1e-9)))
    added = l2p.proposition_3_3_order(rounds, eta, batch)
    failed = ("no delta_1 < 1/2 has eta B ln(1/delta_1)/p <= 1",) if force < least else ()
    return Chosen(
        replace(asked, delta=L2P.delta),
        Parameters(eta, force, batch),
        {"eta": eta, "force": force, "batch": batch, "T B^2 eta^2": added},
        reading="" if own.force is not None else "the least p that it allows",
        order=PROPOSITION_ORDER,
        evidence=(f"T B^2 eta^2 = {added:.3g}", *failed),
    )


def printed_parameters(problem: Experts, target: Target) -> tuple[float, float, int]:
    """(eta, p, B) that minimise the corrected regret under the printed constraints of Theorem 3.2.

    epsilon = 2 eta/p + eta + (3/2) T eta^2 p ln(1/d1)/B + sqrt(6 T eta^2 p ln^2(1/d1)/B), delta = 2 T d1,
    eta B ln(1/d1) <= p, B <= T p, eta <= 1/10.
    """
    rounds = problem.horizon or 1
    log_one = l2p.theorem_3_2_log_one(rounds, target.delta)

    def rate(force: float, batch: int) -> float:
        def printed(eta: float) -> float:
            return l2p.theorem_3_2_epsilon(rounds, eta, force, batch, log_one)

        return largest(printed, target.epsilon, 1e-15, l2p.theorem_3_2_largest_eta(force, batch, log_one))

    def regret(force: float, batch: int) -> float:
        wanted = wanted_rate(log(problem.n), rounds, batch, problem.delay)
        return weights_regret(problem, min(wanted, rate(force, batch)), batch, rounds)

    if rounds < 2:
        raise PrivacyError(f"Theorem 3.2 needs at least 2 rounds. Got {rounds} instead.")
    batches = [2**power for power in range((rounds - 1).bit_length())]  # below T
    forces = [minimise(partial(regret, batch=batch), batch / rounds, 0.99) for batch in batches]
    force, batch = min(zip(forces, batches, strict=True), key=lambda pair: regret(*pair))
    return min(wanted_rate(log(problem.n), rounds, batch, problem.delay), rate(force, batch)), force, batch
