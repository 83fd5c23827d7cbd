"""Restart on a shift: limited updates that start again when their own regret looks too large.

Paper: "Tracking the Best Expert Privately" (ICML 2025), Algorithm 2, with these changes. One replaced loss
moves the regret of a window by up to 2, not 1: the test uses the width form of above-threshold, whose noise
is exactly enough for that (the print spends .75 epsilon where it claims .5). The loss at a restart belongs
to the old epoch only. The T windows that could end now are covered by log T recursions,

    M[a,j] = max(0, M[a,j] + l_t(j_t) - l_t(j) - slope/(2a)),   alarm when max (M[a,j] - slope a/2) > margin,

since margin + slope sqrt(w) is close to the smallest of margin + slope (w/(2a) + a/2). The printed thresholds cannot be
reached before T of order 1e4 to 1e5; ours come from `tacit.algorithms.tracking.thresholds`.
`RestartOnShift.as_printed` runs the print: its thresholds, its test of every window (`every_window.py`), its noise.
Proofs: docs/algorithms/restart-on-shift.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.curves import ROUND_UP
from tacit.accounting.rounding import IDEALIZED
from tacit.algorithms.tracking.every_window import EveryWindowLearner, WindowTest
from tacit.algorithms.tracking.limited_updates import (
    LATTICE_OF_SELECTIONS,
    LimitedUpdatesLearner,
    NoisyMinimum,
    noise_mean,
    selection,
    selection_rate,
)
from tacit.algorithms.tracking.thresholds import (
    CERTIFIED_FALSE_ALARM,
    Detector,
    certified,
    certified_margin,
    expected_stretches_regret,
    stretches_regret,
    tuned,
)
from tacit.algorithms.tracking.tracking_plan import (
    SelectionPlan,
    TrackingPlan,
    refuse_max_switches,
    refuse_reading,
)
from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.discrete_laplace import laplace_rate, laplace_units, two_sided_geometric
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms
from tacit.printed import tracking
from tacit.problems import Tracking
from tacit.releases import Apart, Nothing, Releases, ThresholdTest, Together
from tacit.runtime.printed import Printed
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.state import fitting
from tacit.runtime.target import RegretBound, Target
from tacit.validation import MALFORMED, FloatArray, check_choice, check_integer, check_number, check_positive, invalid

GRID, ALL = "grid", "all"
"""Which windows are tested."""
# Shares of epsilon: selections, threshold noise, test noise. Tuned on simulated streams.
SHARES = (0.4, 0.3, 0.3)
# Rounds between tests that a plan proposes at most: they are kept until the next one.
LONGEST_INTERVAL = 10**7
LARGEST_LEVEL = 2**60
"""Queries and thresholds are at most so far from 0: with any noise they are still int64."""


@dataclass(frozen=True)
class RestartOnShift(TrackingPlan, SelectionPlan):
    """Limited updates under watch: a private test restarts them when the best expert has changed.

    Privacy contract: every decision and every restart, pure epsilon, the sum of the three shares. Within an
    epoch, one replaced round moves the statistic of expert j by d(j_t) - d(j), d in [-1, 1]^N: all of them
    lie in one interval of width 2 that contains 0, and max(0, .) only shrinks them. Epochs use disjoint
    data. For a person in m rounds, widths and sensitivities grow by m. Of these rounds k in one window or epoch
    cost k/m of its share. So the parts add up to epsilon however the rounds are spread.
    Adaptive adversaries. Enforced: losses in their range (others raise). Numerics: exact.

    Regret: `regret_after` certifies a finished run, for any losses, from the number of its restarts; the
    bound in advance assumes at most S of them. Only thresholds="certified", several times larger than the
    tuned ones, make that provable for independent losses.

    Reference: Asi, Raman and Saha (2025), "Tracking the Best Expert Privately", https://arxiv.org/abs/2503.09889.

    Page: docs/algorithms/restart-on-shift.md.

    Attributes:
        epsilon: privacy of the whole run.
        interval: rounds between tests.
        slope: a window of w rounds causes a restart if its regret exceeds margin + slope sqrt(w), up to noise.
        margin: the part of that threshold that does not depend on w.
        shares: how epsilon is split among selections, threshold noise and test noise.
        windows: "grid", or "all" for the printed test of every window after every round. There selections have Laplace
            noise, and the round of a restart is used by both epochs: the share of the test noise counts twice.

    >>> problem = Tracking(n=10, horizon=20_000, switches=3, adversary="stochastic")
    >>> plan = RestartOnShift.calibrate(problem, epsilon=1.0, delta=0.0)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> expert = learner.play()
    >>> learner.observe([0.5] * 10)
    >>> learner.restarts
    []
    """

    interval: int
    slope: float
    margin: float
    shares: tuple[float, float, float] = SHARES
    windows: str = field(default=GRID, kw_only=True)
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 3.2", "Algorithm 2")
    released_streams: ClassVar[tuple[str, ...]] = ("start",)
    released: ClassVar[str] = "every decision and every restart"

    def _check_parameters(self) -> None:
        owner = "RestartOnShift"
        check_integer(owner, "interval", self.interval)
        check_positive(owner, "slope", self.slope)
        check_number(owner, "margin", self.margin, above=0.0, closed_low=True)
        if not isinstance(self.shares, tuple | list):
            raise invalid(owner, "shares", "three positive numbers", self.shares)
        shares = tuple(check_positive(owner, "shares", share) for share in self.shares)
        check_choice(owner, "windows", self.windows, (GRID, ALL))
        twice = shares[-1:] if self.windows == ALL else ()
        if len(shares) != 3 or sum((*shares, *twice)) > 1 + 1e-15:
            third = ", the third counted twice," if twice else ""
            raise invalid(owner, "shares", f"three positive numbers that{third} add up to at most 1", self.shares)
        object.__setattr__(self, "shares", shares)
        if self.windows == ALL and self.interval != 1:
            raise invalid(owner, "interval", "1, because windows='all' tests after every round", self.interval)
        laplace_units(min(self.budgets[1:]), self.width)  # refuses a privacy for which no lattice is coarse enough

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name; the windows only if all are tested."""
        return {name: value for name, value in super().parameters.items() if name != "windows" or value != GRID}

    @property
    def theorem(self) -> str:
        if self.windows == ALL:
            return "report-noisy-min and width-form above-threshold over epochs that share the round of a restart"
        return "permute-and-flip and width-form above-threshold, parallel composition over epochs"

    @property
    def stated_numerics(self) -> str:
        """Exact, but for the tests of all windows, which are decided in floating point."""
        return IDEALIZED if self.windows == ALL else super().stated_numerics

    @property
    def budgets(self) -> tuple[float, float, float]:
        """The parts of epsilon for selections, threshold noise and test noise, rounded down."""
        selected, threshold, query = (share * self.epsilon / ROUND_UP for share in self.shares)
        return selected, threshold, query

    @property
    def width(self) -> int:
        """Length of the interval that holds the shifts of all tests of an epoch, in losses."""
        return self.relation.sides * self.rounds_per_person

    @cached_property
    def detector(self) -> Detector:
        """The public facts about the test."""
        selected, *tests = self.budgets
        units = laplace_units(min(tests), self.width)
        threshold_scale, query_scale = (1 / laplace_rate(part, self.width * units) / units for part in tests)
        return Detector(
            n=self.problem.n,
            rounds=self.rounds,
            interval=self.interval,
            selection_scale=noise_mean(selected, self.relation, self.rounds_per_person),
            threshold_scale=threshold_scale,
            query_scale=query_scale,
            units=units,
        )

    @property
    def test_rates(self) -> tuple[float, float]:
        """The Laplace rates of the threshold and of a test, for each step."""
        threshold, query = (laplace_rate(part, self.width * self.detector.units) for part in self.budgets[1:])
        return threshold, query

    @cached_property
    def releases(self) -> Releases | None:
        """The declaration of tests on the grid; there is none of tests of all windows, whose epochs share rounds."""
        if self.windows == ALL:
            return None
        if self.problem.n == 1:
            return Nothing()
        selected, threshold, query = self.budgets
        threshold_rate, query_rate = self.test_rates
        test = ThresholdTest(
            privacy=(threshold, query),
            threshold_rate=threshold_rate,
            query_rate=query_rate,
            units=self.detector.units,
            made_for=self.neighbours,
        )
        return Apart(Together((selection(self, selected), test)), over="epochs", privacy=self.epsilon)

    @property
    def regret_bound(self) -> RegretBound:
        """The regret for any losses over runs with at most S restarts; over all runs if false alarms are provably rare.

        The first is E[regret; restarts <= S]: the regret counts as 0 where there are more.
        """
        assumptions: tuple[str, ...] = ("independent losses, at most S shifts of their distribution", "expectation")
        if self.problem.n == 1:
            return RegretBound(0.0, "0: one expert", assumptions)
        if self.windows == ALL:
            return RegretBound(
                float("inf"), "not certified: nothing is proved for the test of all windows", assumptions
            )
        pieces, condition = _pieces(self.problem.switches), ""
        formula = "P (margin + noise + interval + envelope(T/P)) + T P[noise exceeded] + T/units, P = 2S + 1"
        if self.margin < certified_margin(self.detector, self.slope) * (1 - 1e-9):
            pieces, condition = 2 * self.problem.switches + 1, "there are at most S restarts"
            conditional = "E[regret; restarts <= S], not a conditional expectation"
            assumptions = ("any losses", conditional, "regret_after(restarts) certifies any finished run")
        else:
            formula += " + fa (S+1)/(1-fa)"
        value = expected_stretches_regret(self.detector, self.slope, self.margin, pieces)
        return RegretBound(self.problem.width * value, formula, assumptions, condition)

    def regret_after(self, restarts: int) -> float:
        """Bound the dynamic regret of a finished run with this many restarts, up to probability 1/T.

        The bound holds for any losses: a window of large regret would have been noticed. The number of
        restarts is released, so that the bound costs no privacy.
        """
        check_integer("regret_after", "restarts", restarts, at_least=0)
        if self.windows == ALL:
            return self.trivial_regret
        pieces = self.problem.switches + 1 + restarts
        value = stretches_regret(self.detector, self.slope, self.margin, pieces)
        return self.problem.width * min(float(self.rounds), value)

    @classmethod
    def _calibrate(cls, problem: Tracking, target: Target, *, thresholds: str = "tuned") -> RestartOnShift:
        refuse_max_switches(cls.__name__, target, "each restart may add as many as the first epoch has")
        if thresholds == "paper":
            raise InvalidInput(
                "The printed thresholds are those of RestartOnShift.as_printed(problem, epsilon=, delta=), with the "
                "printed test; the thresholds of RestartOnShift.calibrate are 'tuned' or 'certified'."
            )
        check_choice("RestartOnShift", "thresholds", thresholds, ("tuned", "certified"))
        rounds = problem.horizon or 1
        between = min(LONGEST_INTERVAL, max(1, round(sqrt(rounds) / 4)))

        def make(slope: float, margin: float) -> RestartOnShift:
            return cls(problem, target.epsilon, between, slope, margin, **{**target.contract, "delta": 0.0})

        detector = make(1.0, 0.0).detector
        if thresholds == "certified":
            return make(*certified(detector, _pieces(problem.switches)))
        return make(*tuned(detector))

    @classmethod
    def _as_printed(
        cls,
        problem: Tracking,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        failure: float | None = None,
        noise: float = 1.0,
    ) -> RestartOnShift:
        """Make Algorithm 2; `failure` is beta (default: that of Theorem 3.2), `noise` multiplies all of its noise."""
        owner = "RestartOnShift.as_printed"
        refuse_reading(owner, reading)
        check_positive(owner, "noise", noise)
        rounds = problem.horizon or 1
        rare = 1 / rounds if failure is None else check_number(owner, "failure", failure, above=0.0, below=1.0)
        if rounds < 2:
            raise InvalidInput(f"The 'problem' of {owner} must have a horizon of at least 2. Got {rounds} instead.")
        values = tracking.algorithm_2(problem.n, rounds, asked.epsilon, rare)
        scales = {name: value * noise for name, value in values.items() if name.endswith("scale")}
        order = tracking.theorem_3_2_order(problem.n, rounds, max(1, problem.switches), asked.epsilon)
        spent = tracking.algorithm_2_epsilon()
        louder = () if noise == 1 else (f"all noise is {noise:g} times the printed one",)
        printed = Printed(
            "tracking",
            result,
            asked.epsilon,
            asked.delta,
            order="sqrt(S T ln(NT)) + S ln(NT) ln(T)/epsilon" if result == "Theorem 3.2" else "",
            evidence=(
                "one replaced loss moves the regret of a window by 2, and the test is printed for 1",
                f"composition over the round of a restart, which two epochs use: {spent:g} epsilon as printed",
                *independent_losses(problem),
            ),
            differs=(
                "the expert of a round is played before its loss is seen (lines 5 and 6)",
                "all tests of a round are decided by one number of their law, in floating point",
                LATTICE_OF_SELECTIONS,
                *louder,
            ),
            values={**values, **scales, **({"order": order} if result == "Theorem 3.2" else {})},
        )
        # The printed noise is for one replaced round; shares are those of selections, threshold, and tests (twice).
        width = asked.relation.sides * asked.rounds_per_person
        epsilon = asked.epsilon * (spent * (width / 2) / noise)
        shares = (2 / 4 / spent, 2 / 4 / spent, 2 / 8 / spent)
        contract = {**asked.contract, "delta": 0.0}
        slope, margin = values["slope"], values["margin"]
        return cls(problem, epsilon, 1, slope, margin, shares, windows=ALL, printed=printed, **contract)

    @property
    def window_test(self) -> WindowTest:
        """The test of all windows."""
        selected, _, query = self.budgets
        return WindowTest(
            slope=self.slope,
            margin=self.margin,
            threshold_rate=self.test_rates[0],
            units=self.detector.units,
            query_scale=self.width / query,
            selection=NoisyMinimum.for_budget(selected, self.width),
        )

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give two experts, tested after every round, with thresholds that are often exceeded."""
        loud = {"interval": 1, "slope": 0.5, "margin": 0.0}
        if self.windows == ALL:
            return self._enumerable(loud, {}, rounds=4)
        return self._enumerable(loud, {"interval": 1}, rounds=4, also=("restarts",))

    def _learner(self, randomness: Randomness) -> RestartOnShiftLearner | EveryWindowLearner:
        if self.windows == ALL:
            return EveryWindowLearner(self, randomness, self.window_test)
        return RestartOnShiftLearner(self, randomness)


class RestartOnShiftLearner(LimitedUpdatesLearner):
    """Looks for a shift at each checkpoint; `restarts` lists the first rounds of the later epochs."""

    plan: RestartOnShift
    _state: ClassVar[tuple[str, ...]] = (
        *LimitedUpdatesLearner._state, "_rows", "_held", "_filled", "_excess", "_tests", "_alarm", "_restarts"
    )  # fmt: skip
    _any_shape: ClassVar[tuple[str, ...]] = ("_rows", "_held")

    def __init__(self, plan: RestartOnShift, randomness: Randomness) -> None:
        self._restarts: list[int] = []
        self._tests = Uniforms.from_streams(randomness, "alarm")
        rate = selection_rate(plan.budgets[0], plan.relation, plan.rounds_per_person)
        self._interval = plan.interval  # rounds between checkpoints
        self._rows, self._held = np.zeros((plan.interval, plan.problem.n)), np.zeros(plan.interval)
        self._filled = 0  # rows since the last checkpoint
        super().__init__(plan, randomness, rate)
        self._units = plan.detector.units
        a = np.asarray(plan.detector.windows, dtype=float)[:, None]
        # Rounds whose slope is above every loss leave nothing, and levels above every sum are never reached.
        slope = np.floor(np.minimum(plan.slope / (2 * a), 1.0) * self._units).astype(np.int64)
        self._drift = slope[:, :, None] * np.arange(1, plan.interval + 1)[:, None]
        level = np.floor((plan.margin + plan.slope * a / 2) * self._units)
        self._level = np.minimum(level, LARGEST_LEVEL // 2).astype(np.int64)

    @property
    def restarts(self) -> list[int]:
        """The rounds (counted from 0) from which the learner started again. Released."""
        with self._looking("restarts"):
            return list(self._restarts)

    def _gather(self) -> dict[str, Any]:
        content = super()._gather()
        for name in ("_rows", "_held"):  # what lies behind is done with
            content[name] = content[name][: self._filled]
        return content

    def _scatter(self, content: dict[str, Any]) -> None:
        super()._scatter(content)
        rows, held = self._rows, self._held
        self._rows, self._held = np.zeros((self._interval, self._n)), np.zeros(self._interval)
        self._rows[: self._filled] = fitting(self._rows[: self._filled], rows)
        self._held[: self._filled] = fitting(self._held[: self._filled], held)

    def _consistent(self) -> bool:
        waiting, rounds = self._rows[: self._filled], [0, *self._restarts, self._round]
        if not ((waiting >= 0) & (waiting <= 1)).all() or (self._round - self._filled) % self._interval:
            return False
        return super()._consistent() and all(type(r) is int for r in rounds) and rounds == sorted(rounds)

    def _epoch_start(self) -> int:
        return self._restarts[-1] if self._restarts else 0

    def _begin(self) -> None:
        super()._begin()
        detector = self.plan.detector
        self._excess = np.zeros((len(detector.windows), self._n), dtype=np.int64)  # M[a,j]
        _, threshold, query = self.plan.budgets
        self._alarm = AboveThreshold(
            0,
            width=self.plan.width * detector.units,
            epsilon_threshold=threshold,
            epsilon_query=query,
            uniforms=self._tests,
        )

    @property
    def _room(self) -> int:
        return min(super()._room, self._interval - self._filled)

    def _keep(self, rows: FloatArray) -> None:
        super()._keep(rows)
        old, new = self._filled, self._filled + len(rows)
        self._rows[old:new], self._held[old:new] = rows, rows[:, self._action]
        self._filled = new

    def _checkpoint(self, finished: int) -> None:
        if self._filled < self._interval:
            return
        self._filled = 0
        # The recursion M = max(0, M + x) after a whole interval: S_b - min(-M, S_1, ..., S_b), S the sums of x.
        held, rows = (self._held * self._units).astype(np.int64), (self._rows * self._units).astype(np.int64)
        walk = np.add.accumulate(held[:, None] - rows, axis=0) - self._drift
        self._excess = walk[:, -1] - np.minimum(np.minimum.reduce(walk, axis=1), -self._excess)
        if self._alarm.test(int(np.max(self._excess - self._level))):
            self._restarts.append(finished)
            self._begin()
            self._move(self._start.integer(self._n))


def independent_losses(problem: Tracking) -> tuple[str, ...]:
    """Say that the printed regret needs independent losses, where the problem does not promise them."""
    return () if problem.adversary == "stochastic" else ("its bound assumes independent losses that shift",)


def _pieces(switches: int) -> float:
    """Stretches between shifts, switches and restarts, on average."""
    return 2 * switches + 1 + CERTIFIED_FALSE_ALARM * (switches + 1) / (1 - CERTIFIED_FALSE_ALARM)


class AboveThreshold:
    """Tells once that a query exceeds the threshold; each earlier answer is "below".

    If one interval of `width` steps that contains 0 holds the shifts of all queries, all answers together cost
    epsilon_threshold + epsilon_query (pure, exact). Only the answers may be released.
    """

    def __init__(
        self, threshold: int, *, width: int, epsilon_threshold: float, epsilon_query: float, uniforms: Uniforms
    ) -> None:
        level = _check_level("threshold", threshold)
        check_integer("AboveThreshold", "width", width)
        check_positive("AboveThreshold", "epsilon_threshold", epsilon_threshold)
        check_positive("AboveThreshold", "epsilon_query", epsilon_query)
        self._uniforms = uniforms
        self._query_rate = laplace_rate(epsilon_query, width)
        self._noisy_threshold = level + one_draw(uniforms, laplace_rate(epsilon_threshold, width))
        self._spent = False

    @property
    def spent(self) -> bool:
        """True once the answer was "above"."""
        return self._spent

    def test(self, query: int) -> bool:
        """Whether the noisy query exceeds the noisy threshold; fresh query noise each time."""
        if self._spent:
            raise ProtocolError("This above-threshold instance has answered 'above' and is spent: start a new one.")
        level = _check_level("query", query)
        self._spent = level + one_draw(self._uniforms, self._query_rate) > self._noisy_threshold
        return self._spent

    def state_dict(self) -> dict[str, Any]:
        """PRIVATE: the noisy threshold must not be released."""
        return {"noisy_threshold": np.array(self._noisy_threshold, dtype=np.int64), "spent": self._spent}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        try:
            noisy, spent = state["noisy_threshold"], bool(state["spent"])
            if not (isinstance(noisy, np.ndarray) and noisy.dtype == np.int64 and noisy.shape == ()):
                raise TypeError("whole number expected")
        except MALFORMED as error:
            raise InvalidInput(f"This is not the state of an above-threshold instance ({error!r}).") from None
        self._noisy_threshold, self._spent = int(noisy), spent


def one_draw(uniforms: Uniforms, rate: float) -> int:
    """One integer of two-sided geometric noise."""
    return int(two_sided_geometric(uniforms, rate, 1)[0])


def _check_level(name: str, value: object) -> int:
    return check_integer("AboveThreshold", name, value, at_least=-LARGEST_LEVEL, at_most=LARGEST_LEVEL)
