"""Phased arms: play the arm of the smallest lower confidence bound, in batches that grow by half.

Each arm is played in batches; its j-th batch ends when it has n_j rounds, n_{j+1} = ceil(1.5 n_j), and is released with
fresh noise. Doubling with forgetting (AdaP-UCB, Azize and Basu 2022) throws all but the last batch away; here every
batch stays in the estimate, with a weight that lets small noisy ones count little, and the confidence bound
is Chernoff's, for losses and noise together.

    each arm once: a batch of n_1;  then: the arm of the smallest index for its next batch (ties: the first arm)
    after its batch j: Y_j = (sum + noise)/m_j;  est = sum_i w_i Y_i,  w_i prop. to 1/(1/(4 m_i) + 2 b^2/m_i^2)
    index = smallest q in [0, 1] with Lambda_j(q) <= L_j,  L_j = level + ln max(1, T/(K n_j))     # see phased_regret.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import PrivacyError
from tacit.learners.arms.common import ArmLearner, ArmPlan, pure
from tacit.learners.arms.phased_regret import Phases
from tacit.learners.small_instances import SmallInstance
from tacit.learners.target import RegretBound, Target
from tacit.privacy.calibration import gaussian_mu
from tacit.privacy.curves import Curve, Gaussian, Pure
from tacit.privacy.guarantee import EXACT, IDEALIZED
from tacit.problems import Arms
from tacit.randomness import Randomness
from tacit.validation import FloatArray, check_choice, check_integer, check_level, check_number, invalid, real_array

NOISES = ("geometric", "gaussian")
FIRST_BATCHES, LATE_FIRST_BATCHES = (4, 8, 16), (16, 24, 32, 48)  # times the scale of the noise
MOST_RATIO = 16.0
RATIOS = (1.5, 2.0, 3.0)  # the first one, unless feedback is late
UNSEEN = -1.0  # an index below all others


@dataclass(frozen=True)
class PhasedArms(ArmPlan):
    """The arm of the smallest lower confidence bound, in growing batches none of which is forgotten.

    Privacy contract: every decision and every noisy batch mean, pure epsilon (or Gaussian noise's curve), one round's
    feedback, adaptive adversaries. Enforced: losses in their range (others raise), missing feedback counts as the
    middle of the range. Assumed for the regret only: independent losses, one law per arm, missing ones included.
    Numerics: exact (geometric noise) or idealized (Gaussian).
    Regret, against the arm of smallest mean: a sum over the gaps, in the worst case of them.

    Reference: Azize and Basu (2022), "When Privacy Meets Partial Information: A Refined Analysis of Differentially
    Private Bandits", https://arxiv.org/abs/2209.02570, whose learner forgets at each phase what this one keeps.

    Page: docs/algorithms/phased-arms.md.

    Attributes:
        epsilon: of all releases together.
        first: rounds of each arm's first batch.
        ratio: by which an arm's rounds grow from batch to batch.
        level: how sure a confidence bound is; larger certifies less regret and measures more.
        noise: "geometric" (pure), or "gaussian" at (epsilon, delta) for those who compose in mu.

    >>> plan = PhasedArms.calibrate(Arms(n=20, horizon=100_000, adversary="stochastic"), epsilon=1.0, delta=0.0)
    >>> plan.first, round(float(plan.regret_bound), -2), plan.guarantee.notion
    (16, 4400.0, 'pure')
    """

    _no_delay: ClassVar[str] = ""
    first: int
    ratio: float = 1.5
    level: float = 3.0
    noise: str = "geometric"

    def _check_parameters(self) -> None:
        check_choice("PhasedArms", "noise", self.noise, NOISES)
        check_number("PhasedArms", "ratio", self.ratio, above=1.0, below=MOST_RATIO, closed_high=True)
        check_level("PhasedArms", "level", self.level, at_least=0.0)
        check_integer("PhasedArms", "first", self.first)
        played = self.problem.n * (self.first + self.problem.delay)
        if self.problem.horizon is not None and played > self.problem.horizon:
            most = "horizon / n" if not self.problem.delay else "horizon / n - delay"
            raise invalid("PhasedArms", "first", f"at most {most}, so that each arm can be played", self.first)
        if self.noise == "gaussian" and self.delta == 0:
            raise PrivacyError("Gaussian noise needs delta > 0; with delta = 0 use noise='geometric'.")

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Independent losses with one law per arm."""
        return ("stochastic",)

    @property
    def stated_numerics(self) -> str:
        """Geometric noise is drawn exactly."""
        return EXACT if self.noise == "geometric" else IDEALIZED

    @cached_property
    def mu(self) -> float:
        """Of Gaussian noise: the largest one that meets (epsilon, delta)."""
        return gaussian_mu(self.epsilon, self.delta)

    @property
    def curve(self) -> Curve:
        """Pure epsilon, or Gaussian: standardised shifts k_i mu/m have squares that add up to at most mu^2."""
        return Pure(self.epsilon) if self.noise == "geometric" else Gaussian(self.mu)

    @property
    def scale(self) -> float:
        """b, the scale of the noise in a sum of losses in [0, 1] (Gaussian noise: its deviation)."""
        release = self.release()
        steps = 1 / release.rate if self.noise == "geometric" else self.rounds_per_person / self.mu
        return steps / release.steps_per_round

    @cached_property
    def schedule(self) -> Phases:
        """The batches of an arm, and what is known of them before any data."""
        gaussian = self.noise == "gaussian"
        public = (self.problem.n, self.rounds, self.scale, self.first, self.ratio, self.level)
        return Phases(*public, gaussian, self.problem.delay)

    @cached_property
    def regret_bound(self) -> RegretBound:
        """The certified regret for any means."""
        return self._bound(None, "whatever the means")

    def regret_bound_given(self, gaps: ArrayLike) -> RegretBound:
        """The certified regret when the other arms' means exceed the smallest by these gaps, in units of loss.

        Args:
            gaps: n - 1 numbers, or one for all of them.
        """
        listed, others = real_array("PhasedArms", "gaps", gaps, None), (self.problem.n - 1,)
        if listed.shape not in ((), others) or not np.all((listed >= 0) & (listed <= self.problem.width)):
            raise invalid(
                "PhasedArms.regret_bound_given", "gaps", f"one number or n - 1, from 0 to {self.problem.width:g}", gaps
            )
        return self._bound(np.broadcast_to(listed / self.problem.width, others), "for the given gaps")

    def _bound(self, gaps: FloatArray | None, means: str) -> RegretBound:
        return RegretBound(
            self.problem.width * self.schedule.regret(gaps),
            "(T/c) Dbar + min_l (l T + sum over arms of max_x (x - l)^+ h(x))",
            (
                f"stochastic adversary, {means}",
                "against the arm of smallest mean (the best arm in hindsight: sqrt(T ln(K)/2) more at most)",
                "missing feedback counts as the middle of the loss range",
            ),
        )

    @property
    def favour(self) -> tuple[float, str]:
        """By how much its certificate may exceed the smallest one when the planner chooses, and why."""
        return 3.0, "on stochastic losses its measured regret was 1.8 to 5.5 times smaller than BatchedTsallis's"

    @property
    def expected_switches(self) -> float:
        """Surely: an arm with n rounds has ended at most 1 + log(n/n_1)/log(ratio) batches, concave in n."""
        return switches(self.problem.n, self.rounds, self.first, self.ratio)

    @classmethod
    def _calibrate(
        cls,
        problem: Arms,
        target: Target,
        *,
        level: float = 3.0,
        first: int | None = None,
        ratio: float | None = None,
        noise: str = "geometric",
    ) -> PhasedArms:
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
            contract = pure(target) if noise == "geometric" else target.contract
            return cls(problem, target.epsilon, first, ratio, level, noise, **contract)

        ratios = (RATIOS if delay else RATIOS[:1]) if ratio is None else (ratio,)
        unit = ceil(make(1, ratios[0]).scale)
        tried = {times * unit for times in (LATE_FIRST_BATCHES if delay else FIRST_BATCHES)}
        tried |= {-(-delay // 2)} - {0}
        lengths = {min(length, most) for length in tried} if first is None else {first}
        if target.max_switches is not None and first is None:
            shortest = min(most, _shortest(problem.n, rounds, max(ratios), target.max_switches))
            lengths = {max(length, shortest) for length in lengths}
        made = [make(length, growth) for length in sorted(lengths) for growth in ratios]
        found = min(made, key=lambda plan: (_exceeds(plan, target), float(plan.regret_bound)))
        return _within(found, target)

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """Two arms with first batches of one round; normal noise has no finite law, but hides the same sums."""
        counted = {"first": 1, "noise": "geometric", "delta": 0.0}
        return self._enumerable({**counted, "epsilon": 1.0}, counted)

    def _learner(self, randomness: Randomness) -> PhasedArmsLearner:
        return PhasedArmsLearner(self, randomness)


class PhasedArmsLearner(ArmLearner):
    """Holds an arm for a batch; everything it keeps besides the open batch is a function of releases."""

    plan: PhasedArms
    _stream_names = ("gaussian",)
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

    @property
    def indices(self) -> FloatArray:
        """The lower confidence bound of each arm, in [0, 1]; -1 before its first batch is released."""
        with self._looking("indices"):
            return self._indices.copy()

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
        mean = self._noisy(total) / (self._steps * schedule.lengths[done])
        self._sums[arm] += schedule.precisions[done] * mean
        self._done[arm] += 1
        estimate = float(self._sums[arm] / self._weights[done])
        self._indices[arm] = schedule.phases[done].index(estimate)
        following = int(self._indices.argmin())
        self._size = schedule.lengths[int(self._done[following])]
        self._unused = self._delay
        self._move(following)

    def _noisy(self, total: int) -> float:
        """The sum with noise, in steps."""
        if self.plan.noise == "geometric":
            return self._draws.noisy(total)
        return total + float(self._streams["gaussian"].standard_normal()) * self.plan.scale * self._steps


def switches(arms: int, rounds: int, first: int, ratio: float) -> float:
    """How many batches are complete after so many rounds, at most: one switch each."""
    return arms * (1 + log(rounds / (arms * first)) / log(ratio))


def _shortest(arms: int, rounds: int, ratio: float, most: int) -> int:
    """The shortest first batch with at most so many switches (the longest there is, if none has)."""
    length: float = rounds / arms * ratio ** (1 - most / arms)
    return max(1, min(ceil(length * (1 + 1e-12)), rounds // arms))


def _exceeds(plan: PhasedArms, target: Target) -> bool:
    return target.max_switches is not None and plan.expected_switches > target.max_switches


def _within(plan: PhasedArms, target: Target) -> PhasedArms:
    if _exceeds(plan, target):
        raise PrivacyError(
            f"PhasedArms may switch {ceil(plan.expected_switches)} times, more than max_switches={target.max_switches}."
        )
    return plan
