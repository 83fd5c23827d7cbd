"""Phased arms: play the arm of the smallest lower confidence bound, in batches that grow by half.

Each arm is played in batches; its j-th batch ends when it has n_j rounds, n_{j+1} = ceil(1.5 n_j), and is released with
fresh noise of scale b. Doubling with forgetting (AdaP-UCB, Azize and Basu 2022) throws all but the last batch away;
here every batch stays in the estimate, with a weight that lets small noisy ones count little, and the confidence bound
is Chernoff's, for losses and noise together.

    each arm once: a batch of n_1;  then: the arm of the smallest index for its next batch (ties: the first arm)
    after its batch j: Y_j = (sum + noise)/m_j;  est = sum_i w_i Y_i,  w_i prop. to 1/(1/(4 m_i) + 2 b^2/m_i^2)
    index = smallest q in [0, 1] with Lambda_j(q) <= L_j,  L_j = level + ln max(1, T/(K n_j))
    Lambda_j(q) = max_s [ s est - sum_i m_i ln(1 - q + q e^{s w_i/m_i}) + sum_i ln(1 - (s w_i b/m_i)^2) ]

The certified regret, its proof and the letters c, Dbar, h, Psi_j and r_j: docs/algorithms/phased-arms.md. With a
delay D, n_1 + D and m_{j+1} + D stand in h. On grids everything is taken at its larger end: s_j one step down, left
sums for the integral, h at the left and x at the right end of each cell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, inf, log, sqrt
from typing import ClassVar

import numpy as np

from tacit.accounting.calibration import lowest, minimise
from tacit.algorithms.arms.arm_plan import WORST, ArmLearner, ArmPlan, pure
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Arms
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, check_integer, check_level, check_number, invalid

# Lengths of first batches that are tried: the same at every epsilon, so that a larger one never certifies more.
FIRST_BATCHES = tuple(sorted({times << power for times in (2, 3) for power in range(60)}))
MOST_RATIO = 16.0
LEVELS = (1.0, 0.3)  # of variants
RATIOS = (1.5, 2.0, 3.0)  # the first one, unless feedback is late
UNSEEN = -1.0  # an index below all others


@dataclass(frozen=True)
class PhasedArms(ArmPlan):
    """The arm of the smallest lower confidence bound, in growing batches none of which is forgotten.

    Privacy contract: every decision and every noisy batch mean, pure epsilon, one round's feedback, adaptive
    adversaries. Enforced: losses in their range (others raise), missing feedback counts as the
    largest loss, or as `missing` says. Assumed for the regret only: independent losses, one law per arm, missing ones
    included.
    Numerics: exact.
    Regret, against the arm of smallest mean: a sum over the gaps, in the worst case of them.

    Reference: Azize and Basu (2022), "When Privacy Meets Partial Information: A Refined Analysis of Differentially
    Private Bandits", https://arxiv.org/abs/2209.02570, whose learner forgets at each phase what this one keeps.

    Page: docs/algorithms/phased-arms.md.

    Attributes:
        epsilon: of all releases together.
        first: rounds of each arm's first batch.
        ratio: by which an arm's rounds grow from batch to batch.
        level: how sure a confidence bound is; larger certifies less regret and measures more.

    >>> plan = PhasedArms.calibrate(Arms(n=20, horizon=100_000, adversary="stochastic"), epsilon=1.0, delta=0.0)
    >>> plan.first, round(float(plan.regret_bound), -2), plan.guarantee.notion
    (96, 4300.0, 'pure')
    """

    _no_delay: ClassVar[str] = ""
    certified_against: ClassVar[tuple[str, ...]] = ("stochastic",)
    first: int
    ratio: float = 1.5
    level: float = 3.0

    def _check_parameters(self) -> None:
        check_number("PhasedArms", "ratio", self.ratio, above=1.0, below=MOST_RATIO, closed_high=True)
        check_level("PhasedArms", "level", self.level, at_least=0.0)
        check_integer("PhasedArms", "first", self.first)
        played = self.problem.n * (self.first + self.problem.delay)
        if self.problem.horizon is not None and played > self.problem.horizon:
            most = "horizon / n" if not self.problem.delay else "horizon / n - delay"
            raise invalid("PhasedArms", "first", f"at most {most}, so that each arm can be played", self.first)

    @cached_property
    def schedule(self) -> Phases:
        """The batches of an arm, and what is known of them before any data."""
        public = (self.problem.n, self.rounds, self.scale, self.first, self.ratio, self.level)
        return Phases(*public, self.problem.delay)

    @cached_property
    def regret_bound(self) -> RegretBound:
        """The certified regret for any means."""
        return self._bound("whatever the means")

    def _bound(self, means: str, least: float = 0.0) -> RegretBound:
        bound = RegretBound(
            self.problem.width * self.schedule.regret(least),
            "(T/c) Dbar + min_l (l T + sum over arms of max_x (x - l)^+ h(x))",
            (
                f"stochastic adversary, {means}",
                "against the arm of smallest mean (the best arm in hindsight: sqrt(T ln(K)/2) more at most)",
                self.missing_counts_as,
            ),
        )
        return bound.at_most(self.trivial_regret)

    def regret_if(self, gap: float) -> RegretBound:
        """Give the certified regret if the means of all other arms exceed the smallest by at least `gap`."""
        width = self.problem.width
        check_number("PhasedArms.regret_if", "gap", gap, above=0.0, below=width, closed_low=True, closed_high=True)
        return self._bound(f"all other means larger by {gap:g} at least", gap / width)

    @property
    def uses_data(self) -> bool:
        """Whether rounds are left for a further batch after the first one of each arm."""
        return self.problem.n == 1 or self.rounds > self.problem.n * (self.first + self.problem.delay)

    def variants(self) -> dict[str, Plan]:
        """Give plans of lower confidence and shorter first batches, which explore less and certify more regret."""
        short = max(1, min(4 * ceil(self.scale), self.rounds // (4 * self.problem.n) - self.problem.delay, self.first))
        return {f"level {level:g}, short batches": replace(self, level=level, first=short) for level in LEVELS}

    @property
    def expected_switches(self) -> float:
        """A sure bound: an arm with n rounds has ended at most 1 + log(n/n_1)/log(ratio) batches, concave in n."""
        arms = self.problem.n
        return arms * (1 + log(self.rounds / (arms * self.first)) / log(self.ratio))

    @classmethod
    def _calibrate(cls, problem: Arms, target: Target, *, missing: float | str = WORST) -> PhasedArms:
        if target.adversary != "stochastic" and problem.adversary != "stochastic":
            raise PrivacyError(
                "PhasedArms has certified regret for stochastic losses only: say so with adversary='stochastic'."
            )
        rounds, delay = problem.horizon or 1, problem.delay
        most = rounds // problem.n - delay
        if most < 1:
            least = "once at least" if not delay else f"{delay + 1} times at least"
            raise PrivacyError(f"PhasedArms plays each of its {problem.n} arms {least}. Got {rounds} rounds instead.")

        def make(first: int, ratio: float) -> PhasedArms:
            return cls(problem, target.epsilon, first, ratio, missing=missing, **pure(target))

        ratios = RATIOS if delay else RATIOS[:1]
        # Half of the rounds at most explore: with longer first batches nothing would be decided by data.
        shortest, longest = 1, max(1, most // 2)
        if target.max_switches is not None:
            shortest = longest = min(most, _shortest(problem.n, rounds, max(ratios), target.max_switches))
            longest = max(longest, most // 2)
        lengths = [shortest, *(length for length in FIRST_BATCHES if shortest < length <= longest)]
        start = bisect_left(lengths, max(24 * make(1, ratios[0]).scale, 24, delay / 100))

        def probe(ratio: float, place: int) -> tuple[float, int, float]:
            tried = make(lengths[place], ratio)
            regret = inf if _exceeds(tried, target) else tried.schedule.regret(cells=FEW_GAPS)
            return regret, tried.first, ratio

        found = [_walk(partial(probe, growth), min(start, len(lengths) - 1), len(lengths)) for growth in ratios]
        _, length, growth = min(found)
        plan = make(length, growth)
        if _exceeds(plan, target):
            switches = ceil(plan.expected_switches)
            raise PrivacyError(f"PhasedArms may switch {switches} times, more than max_switches={target.max_switches}.")
        return plan

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give two arms with first batches of one round."""
        counted = {"first": 1, "delta": 0.0}
        return self._enumerable({**counted, "epsilon": 1.0}, counted)

    def _learner(self, randomness: Randomness) -> PhasedArmsLearner:
        return PhasedArmsLearner(self, randomness)


class PhasedArmsLearner(ArmLearner):
    """Holds an arm for a batch; everything it keeps besides the open batch is a function of releases."""

    plan: PhasedArms
    _state = (*ArmLearner._state, "_done", "_sums", "_indices", "_unused")

    def __init__(self, plan: PhasedArms, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._schedule = plan.schedule
        self._weights = np.cumsum(plan.schedule.precisions)
        self._done = np.zeros(self._n, dtype=np.int64)  # batches of each arm
        self._sums = np.zeros(self._n)  # of their means, times their precisions
        self._indices = np.full(self._n, UNSEEN)
        self._size = plan.first
        self._unused = 0  # rounds to come that were played while a batch was on its way back
        self._action = 0

    def _absorb(self, loss: float | None) -> None:
        if self._unused:
            self._unused -= 1
        else:
            super()._absorb(loss)

    @property
    def estimates(self) -> FloatArray:
        """The released estimate of each arm's mean loss, NaN before its first; a function of what was released."""
        with self._looking("estimates"):
            low, high = self.plan.problem.loss_range
            means = np.full(self._n, np.nan)
            seen = self._done > 0
            means[seen] = self._sums[seen] / self._weights[self._done[seen] - 1]
            return low + (high - low) * means

    def _consistent(self) -> bool:
        lengths, ends = self._schedule.lengths, (0, *self._schedule.ends)
        if not (super()._consistent() and np.all(self._done >= 0) and np.all(self._done < len(lengths))):
            return False
        played = sum(ends[int(done)] for done in self._done) + self._filled
        played += int(self._done.sum()) * self._delay - self._unused
        return self._size == lengths[int(self._done[self._action])] and played == self._round

    @np.errstate(all="ignore")
    def _release(self, total: int) -> None:
        arm, schedule = self._action, self._schedule
        done = int(self._done[arm])
        mean = self._draws.noisy(total) / (self._steps * schedule.lengths[done])
        self._sums[arm] += schedule.precisions[done] * mean
        self._done[arm] += 1
        estimate = float(self._sums[arm] / self._weights[done])
        self._indices[arm] = schedule.phases[done].index(estimate)
        following = int(self._indices.argmin())
        self._size = schedule.lengths[int(self._done[following])]
        self._unused = self._delay
        self._move(following)


def _walk(probe: Callable[[int], tuple[float, int, float]], start: int, count: int) -> tuple[float, int, float]:
    """The smallest answer of a search downhill among so many places: on, until two in a row are no smaller."""
    found = {start: probe(start)}
    for step in (1, -1):
        place, best, worse = start, found[start], 0
        while worse < 2 and 0 <= place + step < count:
            place += step
            found[place] = probe(place)
            best, worse = (found[place], 0) if found[place] < best else (best, worse + 1)
    return min(found.values())


def _shortest(arms: int, rounds: int, ratio: float, most: int) -> int:
    """The shortest first batch with at most so many switches (the longest there is, if none has)."""
    length: float = rounds / arms * ratio ** (1 - most / arms)
    return max(1, min(ceil(length * (1 + 1e-12)), rounds // arms))


def _exceeds(plan: PhasedArms, target: Target) -> bool:
    return target.max_switches is not None and plan.expected_switches > target.max_switches


SLOPES, GAPS, CELLS = 200, 1500, 1000
FEW_GAPS = 150  # where searches compare
BISECTIONS = 40
_SHARES = (0.05, 0.6)  # where the best c lies


@dataclass(frozen=True)
class Phase:
    """What is known of an arm after j batches, before any data."""

    slopes: FloatArray  # the grid of s
    tilts: FloatArray  # s w_i/m_i for each s and batch
    noise: FloatArray  # the logarithm of the noise's moment generating function at each s, at most
    lengths: FloatArray  # m_1..m_j
    level: float  # L_j

    def index(self, estimate: float) -> float:
        """The lower confidence bound of an arm with this estimate."""
        # Each slope refuses all q below a root of its own; the index is the largest root.
        gains, growth = self.slopes * estimate - self.noise - self.level, self._growth
        low, high = 0.0, 1.0
        refusing = gains > 0.0
        for _ in range(BISECTIONS):
            if not refusing.any():
                return low
            if not refusing.all():  # the others' roots lie below
                gains, growth = gains[refusing], growth[refusing]
            middle = (low + high) / 2
            above = gains > np.log1p(middle * growth) @ self.lengths
            if above.any():
                low, refusing = middle, above
            else:
                high, refusing = middle, ~above
        return low

    @cached_property
    def _growth(self) -> FloatArray:
        return np.expm1(self.tilts)

    @cached_property
    def exponents(self) -> FloatArray:
        """Psi_j on the grid."""
        return np.asarray((self.tilts**2) @ self.lengths / 8 + self.noise)

    @cached_property
    def radius(self) -> float:
        """r_j: the index is at least the estimate minus this."""
        return float(self._radii.min()) + 2.0**-BISECTIONS

    @property
    def _radii(self) -> FloatArray:
        return (self.level + self.exponents) / self.slopes

    def excess(self, cells: int = CELLS) -> float:
        """The mean of (index - true mean)^+, at most, by a sum over so many cells."""
        tilts = self.tilts[max(0, int(self._radii.argmin()) - 1)]
        x = np.append(0.0, np.geomspace(1e-8, 1.0, cells))
        density = np.exp(-np.log1p(x[:-1, None] * -np.expm1(-tilts)) @ self.lengths)
        return float(np.exp(-self.level) * (density @ np.diff(x)))

    def unlikely(self, distances: FloatArray) -> FloatArray:
        """The probability that the estimate is below the mean by r_j and this distance, at most."""
        slopes, exponents = self.slopes[::4], self.exponents[::4]
        conjugate = (np.maximum(distances - self.radius, 0.0)[:, None] * slopes - exponents).max(axis=1)
        return np.asarray(np.exp(-np.maximum(conjugate, 0.0)))


@dataclass(frozen=True)
class Phases:
    """The public schedule of `PhasedArms`."""

    arms: int  # K
    rounds: int  # T
    scale: float  # b, of the noise in a sum of losses in [0, 1]
    first: int  # n_1, rounds of an arm's first batch
    ratio: float  # alpha, by which the rounds of an arm grow from batch to batch
    level: float  # L_0; L_j = L_0 + ln max(1, T/(K n_j))
    delay: int = 0  # D; after a batch its arm is played for so many rounds more, until the batch is back

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """n_1, n_2, .., up to the first one that the horizon does not exceed."""
        ends = [self.first]
        while ends[-1] < self.rounds:
            ends.append(ceil(self.ratio * ends[-1]))
        return tuple(ends)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """m_1, m_2, .."""
        return tuple(end - before for before, end in zip((0, *self.ends), self.ends, strict=False))

    @cached_property
    def precisions(self) -> FloatArray:
        """1/(1/(4 m_i) + 2 b^2/m_i^2): what batch i weighs, before weights are made to add up to 1."""
        m = np.array(self.lengths, dtype=float)
        return np.asarray(1 / (1 / (4 * m) + self.scale**2 * 2 / m**2))

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """One for each number of complete batches that is followed by a decision."""
        return tuple(self._phase(j) for j in range(1, len(self.ends)))

    def _phase(self, j: int) -> Phase:
        m = np.array(self.lengths[:j], dtype=float)
        weights = self.precisions[:j] / self.precisions[:j].sum()
        per_slope = weights / m
        level = self.level + log(max(1.0, self.rounds / (self.arms * self.ends[j - 1])))
        # The slope that a sub-Gaussian estimate of this variance would use; small means use larger ones.
        typical = sqrt(2 * level * self.precisions[:j].sum())
        top = min(30 * typical, 0.9999 / self.scale / per_slope.max())
        slopes = np.geomspace(min(typical, top) / 10, top, SLOPES)
        tilts = slopes[:, None] * per_slope
        noise = -np.log1p(-((tilts * self.scale) ** 2))
        return Phase(slopes, tilts, np.asarray(noise.sum(axis=1)), m, level)

    def regret(self, least: float = 0.0, cells: int = GAPS) -> float:
        """The certified regret in units of the loss range.

        `least`: all gaps are at least so large. `cells`: of the grid of gaps; fewer certify more.
        """
        if self.arms == 1:
            return 0.0
        excess = sum(phase.excess(CELLS * cells // GAPS) for phase in self.phases)

        def certified(c: float, cells: int = FEW_GAPS) -> float:
            return self.rounds / c * excess + self._others(c, least, cells)

        return certified(minimise(certified, *_SHARES, tolerance=0.1), cells)

    def _others(self, c: float, least: float, cells: int) -> float:
        """What the arms cost, at the best lambda, whose gap exceeds the error of the best arm's index."""
        x = np.append(0.0, np.geomspace(1e-5, 1.0, cells))
        x = np.append(least, x[x > least])
        left, right = (x[:-1], x[1:]) if len(x) > 1 else (x, x)
        plays, others = self._plays((1 - c) * left), self.arms - 1
        return lowest(lambda price: price * self.rounds + others * max(0.0, float(((right - price) * plays).max())))

    def _plays(self, distances: FloatArray) -> FloatArray:
        """h, the expected rounds of an arm."""
        plays = np.full_like(distances, float(self.first + self.delay))
        for phase, length in zip(self.phases, self.lengths[1:], strict=True):
            plays += (length + self.delay) * phase.unlikely(distances)
        return np.asarray(np.minimum(plays, self.rounds))
