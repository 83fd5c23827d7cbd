"""L2P on multiplicative weights: the paper's private prediction from experts, corrected.

Paper: "Private Online Learning via Lazy Algorithms" (NeurIPS 2024), Section 3.1. The switching rule
is `tacit.runtime.two_chains`. What differs from the print: batching costs eta T B/8, not O(T B^2 eta^2)
(Proposition 3.3 is false), and the printed parameters of Theorems 3.2 and 3.10 are run by
`L2P.as_printed`. The second chain is unnecessary for this measure: a reference that is
never redrawn (`reference_force=0`, the calibrated choice) leaves the law exact and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil, exp, log
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import largest, minimise
from tacit.algorithms.experts.expert_plan import ExpertLearner, ExpertPlan
from tacit.algorithms.experts.lazy_experts import WEIGHTS_FORMULA, weights_regret
from tacit.errors import PrivacyError
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
READINGS_OF_FORCE = {"p = eta/epsilon": 1.0, "p = 4 eta/epsilon": 4.0}
"""Theorem 3.10 prints no p; Theorem 3.2 needs it to be some multiple of eta/epsilon."""


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
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 3.2", "Theorem 3.10")
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
        evidence: tuple[str, ...] = ()
        if result == "Theorem 3.10":
            values = l2p.theorem_3_10(problem.n, problem.horizon or 1, asked.epsilon)
            named = check_choice(
                "L2P.as_printed", "reading", reading or next(iter(READINGS_OF_FORCE)), READINGS_OF_FORCE
            )
            chosen = READINGS_OF_FORCE[named] * values["eta"] / asked.epsilon if force is None else force
            eta, force, batch = values["eta"], min(chosen, 1.0), int(values["batch"])
            evidence = ("p is not printed", "B is 1/epsilon, rounded up")
        else:
            named = ""
            if eta is None or force is None or batch is None:
                eta, force, batch = printed_parameters(problem, asked)
        printed = Printed("l2p", result, asked.epsilon, asked.delta, reading=named, evidence=evidence)
        return cls(
            problem, eta, force, reference_force=force, batch=batch, slack=2.0, printed=printed, **asked.contract
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


def printed_parameters(problem: Experts, target: Target) -> tuple[float, float, int]:
    """(eta, p, B) that minimise the corrected regret under the printed constraints of Theorem 3.2.

    epsilon = 2 eta/p + eta + (3/2) T eta^2 p ln(1/d1)/B + sqrt(6 T eta^2 p ln^2(1/d1)/B), delta = 2 T d1,
    eta B ln(1/d1) <= p, B <= T p, eta <= 1/10.
    """
    rounds = problem.horizon or 1
    log_one = log(2 * rounds / target.delta)

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
