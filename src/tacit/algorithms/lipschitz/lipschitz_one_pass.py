"""One pass over records whose losses are only Lipschitz: a corollary of Theorem 14 of "Differentially Private and Lazy
Online Convex Optimization" (COLT 2023), which the paper does not state.

Every decision of a Lipschitz learner may be shown, so any function of them may, by coins of its own. A decision does
not know the record that it meets: E l_t(x_t) = E L(x_t) for independent records, L the expected loss. So the decision
of a uniformly random round has expected excess risk of at most (certified regret)/T, convex or not; if L is convex, so
has the average of the decisions, by Jensen. The random round is drawn as the pass goes on: after t - 1 records the
model is any of x_1, ..., x_t with equal probability (x_t takes its place with probability 1/t).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.guarantee import Guarantee
from tacit.algorithms.lipschitz.lipschitz_grid import LipschitzGrid
from tacit.algorithms.lipschitz.lipschitz_net import LipschitzNet
from tacit.algorithms.lipschitz.lipschitz_plan import LipschitzLearner
from tacit.errors import PrivacyError, TacitError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import RunningSum
from tacit.noise.running_sums.running_sum import Grid
from tacit.problems import Lipschitz, Problem, StochasticLipschitz
from tacit.runtime.one_pass import OnePassLearner, OnePassPlan
from tacit.runtime.small_instances import FEW_ROUNDS, SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, check_choice, invalid


@dataclass(frozen=True)
class LipschitzOnePass(OnePassPlan):
    """The decision of a random round of a Lipschitz learner over one pass, or their average if the loss is convex.

    Privacy contract, enforced, numerics: those of `LipschitzGrid` or `LipschitzNet`; models are functions of their
    decisions and of coins that know no record. Assumed for the excess risk: independent records, Lipschitz losses, and
    a convex expected loss if the problem says so.
    Excess risk: their certified regret over the number of records.

    Reference: Agarwal, Kale, Singh and Thakurta (2023), "Differentially Private and Lazy Online Convex
    Optimization", https://proceedings.mlr.press/v195/; Cesa-Bianchi, Conconi and Gentile (2004), "On the
    Generalization Ability of On-Line Learning Algorithms", for the step from regret to risk.

    Page: docs/algorithms/lipschitz-one-pass.md.

    Attributes:
        online: the plan of the learner.

    >>> plan = LipschitzOnePass.calibrate(StochasticLipschitz(horizon=10_000), epsilon=1.0, delta=1e-6)
    >>> round(float(plan.regret_bound), 3)
    0.022
    """

    problem: StochasticLipschitz
    _takes: ClassVar[type[Problem]] = StochasticLipschitz
    online: LipschitzGrid | LipschitzNet
    released_streams: ClassVar[tuple[str, ...]] = ("draw",)  # of a net; a grid draws by the clock

    def _check_parameters(self) -> None:
        if not isinstance(self.online, LipschitzGrid | LipschitzNet):
            raise invalid("LipschitzOnePass", "online", "a LipschitzGrid or a LipschitzNet", self.online)
        check_choice("LipschitzOnePass", "online.problem", self.online.problem, (_online(self.problem),))

    @property
    def parameters(self) -> dict[str, Any]:
        """The learner, and its parameters."""
        return {"learner": self.online.algorithm, **self.online.parameters}

    @property
    def guarantee(self) -> Guarantee:
        """That of the learner, record by record."""
        online = self.online.guarantee
        return replace(online, unit="one record", released=f"{online.released}, hence every model of the pass")

    @property
    def _sums(self) -> LipschitzGrid:
        if not isinstance(self.online, LipschitzGrid):
            raise AttributeError(f"{self.online.algorithm} has no running sum.")
        return self.online

    @property
    def mechanism(self) -> RunningSum:
        """The running sum of a grid."""
        return self._sums.mechanism

    @property
    def privacy(self) -> float:
        """Its mu."""
        return self._sums.privacy

    @property
    def grid(self) -> Grid:
        """Its lattice."""
        return self._sums.grid

    @property
    def privacy_per_stream(self) -> float:
        """Its mu: it has one stream of noise."""
        return self._sums.privacy_per_stream

    @property
    def regret_bound(self) -> RegretBound:
        """The excess risk: certified regret over the number of records."""
        shape = ("convex expected loss",) if self.problem.convex else ()
        kept = (text for text in self.online.regret_bound.assumptions if "adversary" not in text)
        return self._excess_risk(*kept, *shape)

    @property
    def work_per_round(self) -> float:
        """That of the learner."""
        return self.online.work_per_round

    @property
    def trivial_regret(self) -> float:
        """No model is worse than this."""
        return self.problem.width

    @property
    def expected_switches(self) -> float:
        """Every record may change an average; the random round changes with probability 1/t."""
        rounds = self.rounds
        return float(rounds - 1) if self.problem.convex else float(np.sum(1 / np.arange(2, rounds + 1)))

    @classmethod
    def _calibrate(cls, problem: StochasticLipschitz, target: Target) -> LipschitzOnePass:
        if target.max_switches is not None and target.max_switches < problem.records - 1:
            raise PrivacyError("LipschitzOnePass cannot promise a limit on switches: leave out max_switches.")
        made, reasons = [], []
        for kind in (LipschitzGrid, LipschitzNet):
            try:
                made.append(cls(problem, kind._calibrate(_online(problem), replace(target, max_switches=None))))
            except TacitError as error:
                reasons.append(str(error))
        if not made:
            raise PrivacyError(" ".join(reasons))
        return min(made, key=lambda plan: float(plan.regret_bound))

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """Those of the learner; for a grid also a short pass, whose models must be functions of what it releases."""
        inner = self.online.small_instances(most_rounds)
        if not isinstance(self.online, LipschitzGrid):
            return inner
        records = min(FEW_ROUNDS, self.problem.records)
        problem = replace(self.problem, horizon=records)
        mechanism = replace(self.online.mechanism, steps=records - 1)
        online = replace(self.online, problem=_online(problem), mechanism=mechanism)
        short = replace(self, problem=problem, online=online)
        return (SmallInstance("replayed noise", f"own privacy, {records} records", short), *inner)

    def _learner(self, randomness: Randomness) -> LipschitzOnePassLearner:
        return LipschitzOnePassLearner(self, randomness)


class LipschitzOnePassLearner(OnePassLearner):
    """Plays the model so far: the decision of a random round, or the average of all, the one in hand included."""

    plan: LipschitzOnePass
    _stream_names = ("round",)
    _inner: LipschitzLearner

    @property
    def points(self) -> FloatArray:
        """The points at which losses are asked, in the order of array feedback."""
        return self._inner.points

    def _decision(self) -> FloatArray:
        return np.array(self._action)

    @np.errstate(all="ignore")  # whether differences are too large for a float depends on the losses
    def _absorb(self, losses: FloatArray) -> None:
        self._inner._finish(losses)
        count = self._round + 2  # decisions so far, the next one included
        if count > self.plan.rounds:  # nothing is decided after the last record
            return
        decision = self._inner._decision()
        if self.plan.problem.convex:
            self._total = self._total + decision
            self._show(self._total / count)
        elif self._streams["round"].random() * count < 1.0:
            self._show(decision)


def _online(problem: StochasticLipschitz) -> Lipschitz:
    # Whatever the online problem has, this one has too.
    return Lipschitz(**{field.name: getattr(problem, field.name) for field in fields(Lipschitz)})
