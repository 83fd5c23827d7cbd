"""Limited updates: one private selection at each power of two, for losses drawn from one distribution.

Paper: "Tracking the Best Expert Privately" (ICML 2025), Algorithm 1. One change: the selection is
permute-and-flip instead of report-noisy-max with Laplace noise (never worse at the same epsilon).
`LimitedUpdates.as_printed` runs the noise of the print.

    tau = 1, 2, 3, ...: if tau = 2^l, l >= 1: select the smallest sum over rounds tau/2 .. tau-1
                        play the expert in hand, then observe
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, log, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.curves import ROUND_UP
from tacit.accounting.guarantee import Relation
from tacit.algorithms.experts.expert_plan import ExpertLearner
from tacit.algorithms.tracking.thresholds import lattice_steps, selection_regret
from tacit.algorithms.tracking.tracking_plan import SelectionPlan, refuse_reading
from tacit.errors import PrivacyError
from tacit.noise.discrete_laplace import laplace_rate, laplace_units, noisy_least
from tacit.noise.exact_draws import permute_and_flip
from tacit.noise.lattice import LOSS_UNITS, sum_quantised
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms
from tacit.printed import tracking
from tacit.problems import Experts
from tacit.releases import Apart, Nothing, Releases, Selection
from tacit.runtime.printed import Printed
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target, check_confidence
from tacit.validation import FloatArray, IntArray, check_choice, check_integer, check_number

FLIP, LAPLACE = "permute-and-flip", "laplace"
"""How an expert is selected from the sums of a window."""
LATTICE_OF_SELECTIONS = "sums and noise are whole numbers of 2^-24, drawn exactly"


@dataclass(frozen=True)
class LimitedUpdates(SelectionPlan):
    """The best expert of the last window of 2^l rounds, chosen privately, held for the next 2^(l+1).

    Privacy contract: every decision, pure epsilon. The windows are disjoint, so each selection may spend the
    whole budget. A person who stands in k of a window's rounds costs k/m of the budget, hence m rounds cost epsilon
    however these rounds are spread. Adaptive adversaries. Enforced: losses in their range (others raise).
    Assumed for the regret: independent losses from one distribution. Numerics: exact.

    Reference: Asi, Raman and Saha (2025), "Tracking the Best Expert Privately", https://arxiv.org/abs/2503.09889.

    Page: docs/algorithms/limited-updates.md.

    Attributes:
        epsilon: privacy of the whole run.
        selection: "permute-and-flip", or "laplace" for report-noisy-min.

    >>> problem = Experts(n=10, horizon=10_000, adversary="stochastic")
    >>> plan = LimitedUpdates.calibrate(problem, epsilon=1.0, delta=0.0)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> expert = learner.play()
    >>> learner.observe([0.5] * 10)
    >>> round(float(plan.regret_bound))
    541
    """

    selection: str = field(default=FLIP, kw_only=True)
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 3.1", "Algorithm 1")
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every decision"

    def _check_parameters(self) -> None:
        check_choice("LimitedUpdates", "selection", self.selection, (FLIP, LAPLACE))

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name; the selection only if it is not permute-and-flip."""
        return {name: value for name, value in super().parameters.items() if name != "selection" or value != FLIP}

    @property
    def laplace(self) -> bool:
        """Whether selections have the Laplace noise of the print."""
        return self.selection == LAPLACE

    @property
    def theorem(self) -> str:
        selection = "report-noisy-min" if self.laplace else "permute-and-flip"
        return f"{selection} on disjoint windows, parallel composition"

    @cached_property
    def releases(self) -> Releases | None:
        """The declaration of permute-and-flip; there is none of report-noisy-min."""
        if self.laplace:
            return None
        if self.problem.n == 1:
            return Nothing()
        return Apart(selection(self, self.epsilon), over="windows", privacy=self.epsilon)

    @property
    def regret_bound(self) -> RegretBound:
        assumptions = ("independent losses from one distribution", "expectation over losses and coins")
        if self.problem.switches > 0:
            return RegretBound(float("inf"), "not certified: nothing reacts to a shift", assumptions)
        value = self.problem.width * stationary_regret(
            self.problem.n,
            self.rounds,
            noise_mean(self.epsilon, self.relation, self.rounds_per_person),
            self.laplace,
        )
        noise = "sum_k (1 - 2^-k)/k" if self.laplace else "(H_N - 1)"
        formula = f"1 + sum_l 2n min(1, (sqrt(n ln(N)/2) + scale {noise})/n) + sqrt(T ln(N)/2) + T/2^24, n = 2^l"
        return RegretBound(value, formula, assumptions)

    def window_regret(self, rounds: int, confidence: float | None = None) -> RegretBound:
        """Give the certified regret of so many consecutive rounds, against these rounds' best expert.

        Args:
            rounds: the length of the window.
            confidence: the probability with which all windows of all lengths meet their bounds in a single run
                (default: the expectation is bounded, for any window that is fixed in advance).
        """
        check_integer("LimitedUpdates.window_regret", "rounds", rounds, at_most=self.rounds)
        check_confidence("LimitedUpdates.window_regret", confidence)
        bound, scale = self.regret_bound, noise_mean(self.epsilon, self.relation, self.rounds_per_person)
        shifts = not isfinite(bound.value)
        if confidence is None:
            value = stationary_regret(self.problem.n, rounds, scale, self.laplace)
            assumptions = ("any window that is fixed in advance", *bound.assumptions)
            return replace(bound, value=bound.value if shifts else self.problem.width * value, assumptions=assumptions)
        value = every_window(self.problem.n, self.rounds, rounds, scale, 1 - confidence, self.laplace)
        return RegretBound(
            bound.value if shifts else self.problem.width * value,
            bound.formula if shifts else "sum of gaps of the first w rounds + sqrt(2 w ln(N T (T+1)/f)) + w/2^24",
            ("all windows of all lengths at once", "independent losses from one distribution"),
            confidence=confidence,
        )

    def regret_if(self, gap: float) -> RegretBound:
        """Give the certified regret if all other experts' means exceed the smallest by at least `gap`."""
        width, bound = self.problem.width, self.regret_bound
        check_number("LimitedUpdates.regret_if", "gap", gap, above=0.0, below=width, closed_low=True, closed_high=True)
        if self.problem.switches:
            return bound
        scale = noise_mean(self.epsilon, self.relation, self.rounds_per_person)
        value = width * regret_given_gap(self.problem.n, self.rounds, scale, gap / width, self.laplace)
        assumptions = ("independent losses from one distribution", f"all other means larger by {gap:g} at least")
        formula = "1 + sum_l 2n min_a (a + (N-1) max_x (x - a)^+ P[a mean larger by x is selected]), n = 2^l"
        against = "against the expert of smallest mean"
        return min(RegretBound(value, formula, (*assumptions, against)), bound, key=float)

    @property
    def expected_switches(self) -> float:
        return float(self.rounds.bit_length() - 1)

    @classmethod
    def _calibrate(cls, problem: Experts, target: Target) -> LimitedUpdates:
        plan = cls(problem, target.epsilon, **{**target.contract, "delta": 0.0})
        if target.max_switches is not None and plan.expected_switches > target.max_switches:
            raise PrivacyError(
                f"LimitedUpdates may switch {plan.expected_switches:g} times in {plan.rounds} rounds, "
                f"more than max_switches={target.max_switches}."
            )
        return plan

    @classmethod
    def _as_printed(
        cls, problem: Experts, asked: Target, result: str, reading: str | None, *, failure: float = 0.05
    ) -> LimitedUpdates:
        refuse_reading("LimitedUpdates.as_printed", reading)
        check_number("LimitedUpdates.as_printed", "failure", failure, above=0.0, below=1.0)
        rounds = problem.horizon or 1
        scale = tracking.algorithm_1(asked.epsilon)["scale"]
        regret = tracking.theorem_3_1_regret(problem.n, rounds, asked.epsilon, failure, rounds)
        evidence: tuple[str, ...] = ("report-noisy-min on disjoint windows (Lemma 2.3)",)
        if result == "Theorem 3.1":
            evidence += (f"its bound is for the window of all {rounds} rounds, with probability {1 - failure:g}",)
            if problem.adversary != "stochastic" or problem.switches:
                evidence += ("its bound assumes independent losses of one distribution",)
        printed = Printed(
            "tracking",
            result,
            asked.epsilon,
            asked.delta,
            regret=regret if result == "Theorem 3.1" else None,
            evidence=evidence,
            differs=(LATTICE_OF_SELECTIONS, "j_0 is drawn uniformly"),
            values={"scale": scale},
        )
        # The printed scale is for one replaced round, which moves two sums against each other by 2.
        epsilon = asked.epsilon * (asked.relation.sides * asked.rounds_per_person / 2)
        contract = {**asked.contract, "delta": 0.0}
        return cls(problem, epsilon, selection=LAPLACE, printed=printed, **contract)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        return self._enumerable({}, rounds=8)

    def _learner(self, randomness: Randomness) -> LimitedUpdatesLearner:
        width = self.relation.sides * self.rounds_per_person
        if self.laplace:
            return LimitedUpdatesLearner(self, randomness, 0.0, NoisyMinimum.for_budget(self.epsilon, width))
        rate = selection_rate(self.epsilon, self.relation, self.rounds_per_person)
        return LimitedUpdatesLearner(self, randomness, rate)


@dataclass(frozen=True)
class NoisyMinimum:
    """Report-noisy-min on sums of losses: the rate of its noise, and the steps of a loss in which it counts."""

    rate: float
    units: int

    @classmethod
    def for_budget(cls, epsilon: float, width: int) -> NoisyMinimum:
        """Make the selection that costs epsilon if a person moves two sums against each other by at most `width`."""
        units = laplace_units(epsilon, width)
        return cls(laplace_rate(epsilon, width * units), units)

    def draw(self, uniforms: Uniforms, sums: IntArray) -> int:
        """Select from sums in units of 2^-24. A loss is a whole number of coarser steps, too: it moves as many."""
        return noisy_least(uniforms, self.rate, sums // (LOSS_UNITS // self.units))


class SelectionLearner(ExpertLearner):
    """Adds up the losses of a window, each rounded to integers; selects from their sums at its end, and forgets."""

    _state: ClassVar[tuple[str, ...]] = ("_sums", "_start", "_select")

    def __init__(
        self, plan: SelectionPlan, randomness: Randomness, rate: float, noisy: NoisyMinimum | None = None
    ) -> None:
        super().__init__(plan, randomness)
        self._rate = rate  # of the selection's coins
        self._noisy = noisy  # in their place
        self._start, self._select = (Uniforms.from_streams(randomness, name) for name in ("start", "select"))
        self._begin()
        self._action = self._start.integer(self._n)

    def _begin(self) -> None:
        """Nothing but released values is remembered."""
        self._sums = np.zeros(self._n, dtype=np.int64)

    def _absorb(self, losses: FloatArray) -> None:
        self._add_units(losses, self._sums)
        self._keep(losses[None])
        self._events(self._round + 1)

    def _absorb_block(self, block: FloatArray, best: FloatArray, actions: IntArray) -> None:
        row = 0
        while row < len(block):
            take = min(len(block) - row, self._room)
            played = block[row : row + take]
            self._sums += sum_quantised(played)
            actions[row : row + take] = self._action
            self._keep(played)
            self._events(self._round + take)
            self._round += take
            row += take
        self._played = False

    @property
    @abstractmethod
    def _room(self) -> int:
        """How many rounds may be played before something happens."""

    def _keep(self, rows: FloatArray) -> None:
        """Remember more of the rows than their sums."""

    def _events(self, finished: int) -> None:
        """What happens between rounds: first a checkpoint, then a selection."""
        if finished == self._horizon:
            return  # no decision follows
        self._checkpoint(finished)
        if self._selects(finished):
            if self._noisy is None:
                chosen = permute_and_flip(self._select, self._rate, self._sums)
            else:
                chosen = self._noisy.draw(self._select, self._sums)
            self._move(chosen)
            self._sums = np.zeros(self._n, dtype=np.int64)  # each round is used once: the proofs rest on this

    def _checkpoint(self, finished: int) -> None:
        """Nothing is checked where nothing shifts."""

    @abstractmethod
    def _selects(self, finished: int) -> bool:
        """Whether a window ends with so many finished rounds."""


class LimitedUpdatesLearner(SelectionLearner):
    """Windows end before powers of two; `RestartOnShift` inherits this and looks for shifts at its checkpoints."""

    _state: ClassVar[tuple[str, ...]] = ("_local", *SelectionLearner._state)

    def _begin(self) -> None:
        super()._begin()
        self._local = 0

    def _scatter(self, content: dict[str, Any]) -> None:
        super()._scatter(content)
        if "_summed" in content:
            summed = check_integer("load_state_dict", "_summed", content["_summed"], at_least=0, at_most=self._round)
            self._sums = self._sums + sum_quantised(self._waiting(content)[summed:])

    def _consistent(self) -> bool:
        return super()._consistent() and self._local == self._round - self._epoch_start()

    def _epoch_start(self) -> int:
        """The round from which local time counts."""
        return 0

    @property
    def _room(self) -> int:
        return (1 << (self._local + 1).bit_length()) - 1 - self._local

    def _keep(self, rows: FloatArray) -> None:
        self._local += len(rows)

    def _selects(self, finished: int) -> bool:
        return self._local & (self._local + 1) == 0 and self._local > 0


def selection_rate(epsilon: float, relation: Relation, rounds_per_person: int) -> float:
    """What the coins of a selection are given for each unit of loss: 1/`noise_mean`, in units, rounded down.

    One replaced round moves two sums against each other by at most 2; a round of constant loss instead of it, by at
    most 1.
    """
    return laplace_rate(epsilon, relation.sides * rounds_per_person * LOSS_UNITS)


def selection(plan: SelectionPlan, epsilon: float) -> Selection:
    """Declare a selection whose coins are given all that this epsilon pays for."""
    rate = selection_rate(epsilon, plan.relation, plan.rounds_per_person)
    return Selection(epsilon, rate, LOSS_UNITS, made_for=plan.neighbours)


def noise_mean(epsilon: float, relation: Relation, rounds_per_person: int) -> float:
    """The mean of exponential noise by which a selection has the same law: argmin(sum - noise)."""
    return relation.sides * rounds_per_person / epsilon * ROUND_UP


def selection_excess(n: int, scale: float, laplace: bool) -> float:
    """Return by how much, in expectation, the selected sum may exceed the smallest one.

    Exponential noise: scale (H_N - 1). Laplace noise: E of the largest of N, at most scale E[H_K] with K ~ Bin(N, 1/2)
    positive ones among them, which is scale sum_k (1 - 2^-k)/k.
    """
    counts = np.arange(1, n + 1)
    if not laplace:
        return scale * (float(np.sum(1.0 / counts)) - 1)
    return scale * float(np.sum((1 - 0.5**counts) / counts)) + lattice_steps(scale)


def stationary_regret(n: int, rounds: int, scale: float, laplace: bool = False) -> float:
    """Expected regret of limited updates on independent losses from one distribution.

    Selected from a window of k rounds, an expert's gap is at most (sqrt(k ln N/2) + excess)/k, and it is held
    for at most 2k rounds (`selection_excess`). The best expert in hindsight may be lucky by sqrt(T ln N/2). Proof:
    docs/algorithms/limited-updates.md.
    """
    if n == 1:
        return 0.0
    excess = selection_excess(n, scale, laplace)
    total, window = 1.0, 1
    while 2 * window <= rounds:
        held = min(2 * window, rounds - 2 * window + 1)
        total += held * min(1.0, (sqrt(window * log(n) / 2) + excess) / window)
        window *= 2
    return min(float(rounds), total + sqrt(rounds * log(n) / 2) + rounds / LOSS_UNITS)


def regret_given_gap(n: int, rounds: int, scale: float, gap: float, laplace: bool = False) -> float:
    """Expected regret of limited updates, against the expert of smallest mean, if all others are worse by `gap`.

    The expected gap of a selection is at most a + (N-1) max_x (x - a)^+ P(x) for each a, P the Chernoff bound of
    `selected_worse`, which falls in x: a cell of a grid counts with P at its left end and x at its right end.
    Proof: docs/algorithms/limited-updates.md.
    """
    if n == 1:
        return 0.0
    excess = selection_excess(n, scale, laplace) if laplace else scale * float(np.sum(1.0 / np.arange(2, n + 1)))
    x = np.unique(np.clip(np.append(gap + np.geomspace(1e-4, 1.0, 200) * (1 - gap), [gap, 1.0]), 0.0, 1.0))
    left, right = (x[:-1], x[1:]) if len(x) > 1 else (x, x)
    lift = np.append(0.0, np.geomspace(1e-4, 1.0, 100))
    total, window = 1.0, 1
    while 2 * window <= rounds:
        chance = selected_worse(window, scale, left, laplace)
        expected = lift + (n - 1) * np.max(np.maximum(right - lift[:, None], 0.0) * chance, axis=1)
        gaps = min(1.0, float(np.min(expected)), (sqrt(window * log(n) / 2) + excess) / window)
        total += min(2 * window, rounds - 2 * window + 1) * gaps
        window *= 2
    return min(float(rounds), total + rounds / LOSS_UNITS)


def selected_worse(window: int, scale: float, gaps: FloatArray, laplace: bool = False) -> FloatArray:
    """The probability, at most, that a selection from so many rounds prefers an expert whose mean is larger so much.

    The difference of two exponential noises is one Laplace noise; that of two Laplace noises is two of them.
    """
    slopes = np.append(np.geomspace(1e-3, 0.999, 160) / scale, np.geomspace(1e-3, 3.0, 40))
    slopes = slopes[slopes * scale < 1]
    lost = np.maximum(gaps - 1 / LOSS_UNITS, 0.0)[:, None]
    moment = window * np.log((1 + lost) / 2 * np.exp(-slopes) + (1 - lost) / 2 * np.exp(slopes))
    least = np.min(moment - (2 if laplace else 1) * np.log1p(-((slopes * scale) ** 2)), axis=1)
    return np.asarray(np.exp(np.minimum(least, 0.0)) * ROUND_UP)


def every_window(n: int, horizon: int, rounds: int, scale: float, failure: float, laplace: bool = False) -> float:
    """Regret of all windows of so many rounds, and at once of all other lengths, except with probability `failure`.

    Half of it for the selections (`selection_regret`), half for luck: Azuma over T (T+1)/2 windows and N experts.
    Proof: docs/tracking.md.
    """
    if n == 1:
        return 0.0
    gaps = float(selection_regret(n, horizon, scale, np.array([float(rounds)]), failure / 2, laplace)[0])
    luck = sqrt(2 * rounds * log(n * horizon * (horizon + 1) / failure))
    return min(float(rounds), gaps + luck + rounds / LOSS_UNITS)
