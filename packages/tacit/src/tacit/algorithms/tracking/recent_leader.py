"""Recent leader: in each block, a private choice of the expert that was best in the block before.

Old blocks are forgotten, so a change of the world is forgotten too. The regret bound has no condition, and grows with
the logarithm of the number of experts: the smallest certificate for many of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import ClassVar

import numpy as np

from tacit.algorithms.tracking.limited_updates import SelectionLearner, noise_mean, selection, selection_rate
from tacit.algorithms.tracking.noisy_batches import best_length, log_sequences
from tacit.algorithms.tracking.tracking_plan import SelectionPlan, TrackingPlan
from tacit.noise.lattice import LOSS_UNITS
from tacit.noise.randomness import Randomness
from tacit.problems import Tracking
from tacit.releases import Apart, Nothing, Releases
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import check_integer


@dataclass(frozen=True)
class RecentLeader(TrackingPlan, SelectionPlan):
    """The leader of the last block, chosen privately, held for the next one.

    Privacy contract: every decision, pure epsilon. Blocks are disjoint, and each is used by one selection. A person who
    stands in k of a block's rounds costs k/m of epsilon, hence m rounds cost epsilon however spread. Adaptive
    adversaries. Enforced: losses in their range (others raise). Assumed for the regret: independent losses whose means
    shift at most S times. Numerics: exact.
    Regret: (1 + 2S) B + T gap(B) + sqrt(T ln(C)/2), C the number of sequences with at most S switches.

    Page: docs/algorithms/recent-leader.md.

    Attributes:
        epsilon: privacy of the whole run.
        block: rounds between selections.

    >>> problem = Tracking(n=10, horizon=20_000, switches=3, adversary="stochastic")
    >>> plan = RecentLeader.calibrate(problem, epsilon=1.0, delta=0.0)
    >>> plan.block, round(float(plan.regret_bound))
    (177, 3895)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> expert = learner.play()
    >>> learner.observe([0.5] * 10)
    """

    block: int
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every decision"
    theorem: ClassVar[str] = "permute-and-flip on disjoint blocks, parallel composition"

    def _check_parameters(self) -> None:
        check_integer("RecentLeader", "block", self.block)

    @cached_property
    def releases(self) -> Releases:
        if self.problem.n == 1:
            return Nothing()
        return Apart(selection(self, self.epsilon), over="blocks", privacy=self.epsilon)

    @property
    def regret_bound(self) -> RegretBound:
        scale = noise_mean(self.epsilon, self.relation, self.rounds_per_person)
        return RegretBound(
            self.problem.width * recent_regret(self.problem, self.block, scale),
            "(1 + 2S) B + T min(1, (sqrt(B ln(N)/2) + scale (H_N - 1))/B) + sqrt(T ln(C)/2) + T/2^24",
            ("independent losses, at most S shifts of their distribution", "expectation over losses and coins"),
        )

    @property
    def expected_switches(self) -> float:
        return float(-(-self.rounds // self.block) - 1)

    @classmethod
    def _calibrate(cls, problem: Tracking, target: Target, *, block: int | None = None) -> RecentLeader:
        rounds = problem.horizon or 1
        scale = noise_mean(target.epsilon, target.relation, target.rounds_per_person)
        chosen = best_length(rounds, lambda length: recent_regret(problem, length, scale)) if block is None else block
        if target.max_switches is not None:  # long blocks keep any limit
            chosen = max(chosen, -(-rounds // (target.max_switches + 1)))
        return cls(problem, target.epsilon, chosen, **{**target.contract, "delta": 0.0})

    def small_instances(self) -> tuple[SmallInstance, ...]:
        return self._enumerable({"block": 2}, {"block": min(3, self.block)}, rounds=7)

    def _learner(self, randomness: Randomness) -> RecentLeaderLearner:
        rate = selection_rate(self.epsilon, self.relation, self.rounds_per_person)
        return RecentLeaderLearner(self, randomness, rate)


class RecentLeaderLearner(SelectionLearner):
    """Selects at the end of each block."""

    plan: RecentLeader

    @property
    def _room(self) -> int:
        return self.plan.block - self._round % self.plan.block

    def _selects(self, finished: int) -> bool:
        return finished % self.plan.block == 0

    def _consistent(self) -> bool:
        waiting = self._round % self.plan.block if self._round < self.plan.rounds else self.plan.block
        fits = self._sums.min() >= 0 and self._sums.max() <= waiting * LOSS_UNITS
        return super()._consistent() and bool(fits)


def recent_regret(problem: Tracking, block: int, scale: float) -> float:
    """Expected regret on independent losses whose means shift at most S times, in units of the loss range.

    In all blocks but 1 + 2S the means are those of the block before, and a selection's gap is that of limited updates.
    The best sequence in hindsight may be lucky, by at most sqrt(T ln C/2). Proof: docs/algorithms/recent-leader.md.
    """
    n, rounds, switches = problem.n, problem.horizon or 1, problem.switches
    if n == 1:
        return 0.0
    noise = scale * float(np.sum(1.0 / np.arange(2, n + 1)))
    gap = min(1.0, (sqrt(block * log(n) / 2) + noise) / block)
    luck = sqrt(rounds * log_sequences(n, rounds, switches) / 2)
    return min(float(rounds), (1 + 2 * switches) * block + rounds * gap + luck + rounds / LOSS_UNITS)
