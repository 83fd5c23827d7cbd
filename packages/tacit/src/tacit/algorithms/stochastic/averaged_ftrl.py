"""Averaged private FTRL: one pass over records for losses with kinks, or of one's own.

Every decision of private follow-the-regularised-leader may be shown, so their average may. A decision does not know the
record that it meets, so for independent records and a convex loss L, Jensen gives

    E L(average) - L(u) <= E sum_t (l_t(x_t) - l_t(u)) / T <= (certified regret)/T.

No smoothness is needed, where `OnlineToBatch` and `ObjectivePerturbation` need it; gradients are clipped, so that any
loss may be given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from tacit.algorithms.convex.private_ftrl import PrivateFTRL
from tacit.domains.convex_set import read_only
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import RunningSum
from tacit.problems import Convex, Problem, Stochastic
from tacit.releases import NoisySums
from tacit.runtime.learner import Learner
from tacit.runtime.on_sums import RunningSumPlan, separated
from tacit.runtime.small_instances import FEW_ROUNDS, SmallInstance, clipped_losses
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray


@dataclass(frozen=True)
class AveragedFTRL(RunningSumPlan):
    """The average of the decisions of private FTRL over one pass.

    Privacy contract: every noisy sum of gradients, hence every average: that of `PrivateFTRL`. Adaptive adversaries.
    Enforced: gradients clipped to G. Assumed for the excess risk: independent records and a convex loss. Numerics: as
    `PrivateFTRL`.
    Excess risk: the certified regret of `PrivateFTRL` over the number of records.

    Reference: Cesa-Bianchi, Conconi and Gentile (2004), "On the Generalization Ability of On-Line Learning
    Algorithms", for the average; Kairouz et al. (2021), https://arxiv.org/abs/2103.00039, for the learner.

    Page: docs/algorithms/averaged-ftrl.md.

    Attributes:
        eta: learning rate.
        mechanism: the running sum, for horizon - 1 steps.
        privacy: mu for Gaussian mechanisms, epsilon for Laplace ones.
        streams: 2: gradients are taken at the points of one noise, and those of another are averaged (smooth losses).

    >>> from tacit.domains import Ball
    >>> from tacit.losses import HingeLoss
    >>> problem = Stochastic(domain=Ball(3), loss=HingeLoss(), horizon=100_000)
    >>> round(float(AveragedFTRL.calibrate(problem, epsilon=1.0, delta=1e-6).regret_bound), 4)
    0.0353
    """

    problem: Stochastic
    _takes: ClassVar[type[Problem]] = Stochastic
    eta: float
    mechanism: RunningSum
    privacy: float
    streams: int = 1
    unit: ClassVar[str] = "one record"
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every noisy sum of gradients, hence every model of the pass"
    theorem: ClassVar[str] = "private running sum; projections and averages are post-processing"

    def _check_parameters(self) -> None:
        _ = self.online  # refuses what PrivateFTRL refuses

    @cached_property
    def online(self) -> PrivateFTRL:
        """The learner whose decisions are averaged."""
        return PrivateFTRL(
            _online(self.problem),
            self.eta,
            self.mechanism,
            self.privacy,
            streams=self.streams,
            relation=self.relation,
            rounds_per_person=self.rounds_per_person,
            separation=self.separation,
            delta=self.delta,
            numerics=self.numerics,
        )

    @property
    def certified_against(self) -> tuple[str, ...]:
        return ("stochastic", "oblivious")

    @property
    def releases(self) -> NoisySums:
        return self.online.releases

    @property
    def regret_bound(self) -> RegretBound:
        """The excess risk: certified regret over the number of records."""
        bound = self.online.regret_bound
        assumptions = ("independent records", *bound.assumptions[1:])
        return RegretBound(bound.value / self.problem.records, f"({bound.formula})/T", assumptions)

    @property
    def trivial_regret(self) -> float:
        return self.problem.constants.lipschitz * self.problem.domain.diameter

    @classmethod
    def _calibrate(cls, problem: Stochastic, target: Target, *, eta: float | None = None) -> AveragedFTRL:
        if target.max_switches is not None and target.max_switches < problem.records - 1:
            raise PrivacyError("AveragedFTRL cannot promise a limit on switches: its average moves with every record.")
        best = cast(PrivateFTRL, PrivateFTRL.calibrate_for(_online(problem), target, eta=eta))
        return cls(problem, best.eta, best.mechanism, best.privacy, best.streams, **separated(target, best.mechanism))

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give the learner's instances, and a short pass whose averages must be functions of its releases."""
        records = min(FEW_ROUNDS, self.problem.records)
        problem = replace(self.problem, horizon=records, loss=clipped_losses(_online(self.problem)).loss)
        short = replace(self, problem=problem, mechanism=replace(self.mechanism, steps=records - 1))
        averaged = SmallInstance("replayed noise", f"own privacy, {records} records", short)
        return (averaged, *self.online.small_instances())

    def _learner(self, randomness: Randomness) -> AveragedFTRLLearner:
        return AveragedFTRLLearner(self, randomness)


class AveragedFTRLLearner(Learner):
    """Plays the average of the learner's decisions so far, the one in hand included."""

    plan: AveragedFTRL
    _state = ("_inner", "_total")
    _reacts = True

    def __init__(self, plan: AveragedFTRL, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._inner = plan.online._learner(randomness)
        self._total: FloatArray = self._inner._decision()
        self._action = read_only(self._total.copy())

    @property
    def model(self) -> FloatArray:
        """The newest model; after the last record, the final one."""
        with self._looking("model"):
            return np.array(self._action)

    def release(self) -> FloatArray:
        """The newest model: every model of the pass is released already."""
        return self.model

    @property
    def shows_decisions(self) -> bool:
        """A loss of the user's is asked about the decisions."""
        return self._inner.shows_decisions

    def _check(self, record: Any) -> Any:
        return self._inner._check(record)

    def _check_many(self, records: Any) -> Any:
        return self._inner._check_many(records)

    def _nothing(self) -> Any:
        return self._inner._nothing()

    def _absorb(self, checked: Any) -> None:
        self._inner._finish(checked)
        if self._round + 1 < self.plan.rounds:  # nothing is decided after the last record
            self._total = self._total + self._inner._action
            average = self._total / (self._round + 2)
            self._switches += not np.array_equal(average, self._action)
            self._action = read_only(average)

    def _run(self, rows: Any) -> FloatArray:
        first = self._inner._run(rows)
        if not len(first):
            return first
        more = self._round + len(first) < self.plan.rounds
        following = np.concatenate([first[1:], self._inner._action[None]]) if more else first[1:]
        totals = np.add.accumulate(np.concatenate([self._total[None], following]), axis=0)
        averages = totals / np.arange(self._round + 1, self._round + len(totals) + 1)[:, None]
        self._total, shown = totals[-1], np.array(averages[: len(first)])
        self._switches += int(np.any(np.diff(averages, axis=0) != 0, axis=1).sum())
        self._action = read_only(averages[-1].copy())
        self._round += len(first)
        self._played = False
        return shown

    def _consistent(self) -> bool:
        counted = min(self._round + 1, self.plan.rounds)
        same = np.array_equal(self._action, self._total / counted)
        return same and self._inner.rounds == self._round and self._inner._consistent()


def _online(problem: Stochastic) -> Convex:
    return Convex(domain=problem.domain, loss=problem.loss, horizon=problem.horizon, delay=problem.delay)
