"""Policies as arms: a learner of arms chooses a policy, whose recommendation is the decision.

A round's loss enters one noisy sum of the arms' learner, whatever was recommended, so that its guarantee is for
recommendations and losses together. What it releases, the policy in use and noisy sums, is the billboard. The decision
of a round is a function of the billboard and of that round's recommendations. So everything but a person's own decision
is as private as the billboard (the billboard lemma, Hsu, Huang, Roth, Roughgarden and Wu, 2014): joint differential
privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from tacit.accounting.guarantee import EVENT, Guarantee
from tacit.algorithms.arms.arm_plan import ArmPlan
from tacit.algorithms.arms.batched_tsallis.batched_tsallis import BatchedTsallis
from tacit.algorithms.arms.live_arms.live_arms import LiveArms
from tacit.algorithms.arms.phased_arms import PhasedArms
from tacit.algorithms.policies.advice import AdvisedLearner
from tacit.errors import PrivacyError, TacitError
from tacit.noise.randomness import Randomness
from tacit.problems import Arms, Policies, Problem
from tacit.releases import Billboard, Neighbours
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, Rows, check_choice, invalid

LEARNERS: tuple[type[ArmPlan], ...] = (BatchedTsallis, PhasedArms, LiveArms)
RECORD = "one round's recommendations and feedback"


@dataclass(frozen=True)
class PolicyArms(Plan):
    """A learner of arms whose arms are the policies.

    Privacy contract: with private recommendations joint differential privacy. All that anybody else than a round's own
    person sees, however many collude, is (epsilon, delta)-close if recommendations and feedback of that round are
    replaced: the policy in use, every noisy sum, and the decisions of all other persons. A decision is shown to its own
    person only. With public recommendations all decisions may be shown, and feedback is protected.
    Enforced, numerics: those of the learner of arms. Assumed for the regret only: as there; a policy's loss is that of
    the action which it recommends.
    Regret: that of the learner of arms on as many arms as there are policies, however few actions there are.

    Reference: Hsu, Huang, Roth, Roughgarden and Wu (2014), "Private Matchings and Allocations",
    https://arxiv.org/abs/1311.2828, for the billboard lemma.

    Page: docs/algorithms/responses.md.

    Attributes:
        arms: the plan of the learner of arms.

    >>> problem = Policies(n=10, actions=3, horizon=100_000, recommendations="private")
    >>> plan = PolicyArms.calibrate(problem, epsilon=1.0, delta=0.0)
    >>> plan.arms.algorithm, round(float(plan.regret_bound), -1)
    ('BatchedTsallis', 2070.0)
    """

    problem: Policies
    _takes: ClassVar[type[Problem]] = Policies
    _no_delay: ClassVar[str] = ""
    released_streams: ClassVar[tuple[str, ...]] = ArmPlan.released_streams
    arms: ArmPlan

    def _check_parameters(self) -> None:
        if not isinstance(self.arms, LEARNERS):
            raise invalid("PolicyArms", "arms", f"a plan of {', '.join(_NAMES)}", self.arms)
        check_choice("PolicyArms", "arms.problem", self.arms.problem, (_arms(self.problem),))

    @property
    def parameters(self) -> dict[str, Any]:
        """The learner of arms, and its parameters."""
        return {"learner": self.arms.algorithm, **self.arms.parameters}

    @property
    def certified_against(self) -> tuple[str, ...]:
        return self.arms.certified_against

    @cached_property
    def releases(self) -> Billboard:
        """The declaration of the learner of arms, by whose releases each person's own decision is made."""
        return Billboard(self.arms.releases, own=self.problem.recommendations == "private")

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets are neighbours."""
        return self.arms.neighbours

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the learner of arms, with the policy in the place of the decision."""
        arms, private = self.arms.guarantee, self.problem.recommendations == "private"
        released = arms.released.replace("every decision", "the policy of every round")
        shown = "every decision to its own person only" if private else "every recommendation and decision"
        theorem = f"joint differential privacy by the billboard lemma; {arms.theorem}" if private else arms.theorem
        unit = RECORD if private else EVENT
        return replace(arms, released=f"{released}; {shown}", theorem=theorem, unit=unit)

    @property
    def regret_bound(self) -> RegretBound:
        return self.arms.regret_bound

    def regret_if(self, gap: float) -> RegretBound:
        return self.arms.regret_if(gap)

    @property
    def trivial_regret(self) -> float:
        return self.arms.trivial_regret

    @property
    def blind_regret(self) -> float:
        """Every round a uniform action, or a uniform policy: the comparator's is met with probability 1/min(K, N)."""
        return self.trivial_regret * (1 - 1 / self.problem.classes)

    @classmethod
    def _calibrate(cls, problem: Policies, target: Target, *, learner: str | None = None) -> PolicyArms:
        if target.max_switches is not None and target.max_switches < (problem.horizon or 1) - 1:
            raise PrivacyError("PolicyArms follow recommendations and cannot promise a limit on switches.")
        if learner is not None:
            check_choice("PolicyArms.calibrate", "learner", learner, _NAMES)
        made, reasons = [], []
        for kind in LEARNERS:
            if learner not in (None, kind.__name__):
                continue
            try:
                arms = kind.calibrate_for(_arms(problem), replace(target, max_switches=None))
            except TacitError as error:
                reasons.append(str(error))
            else:
                if isinstance(arms, ArmPlan):
                    made.append(cls(problem, arms))
        if not made:
            raise PrivacyError(" ".join(reasons))
        return min(made, key=lambda plan: float(plan.regret_bound))

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give the enumerated instances of the learner of arms, with two policies and two actions."""
        made = []
        for instance in self.arms.small_instances():
            problem = replace(
                self.problem, n=2, actions=2, horizon=instance.plan.horizon, delay=instance.plan.problem.delay
            )
            if instance.attack in ("enumerated arms", "frequencies of arms"):
                assert isinstance(instance.plan, ArmPlan)
                made.append(replace(instance, plan=PolicyArms(problem, instance.plan)))
        return tuple(made)

    def _learner(self, randomness: Randomness) -> PolicyArmsLearner:
        return PolicyArmsLearner(self, randomness)


class PolicyArmsLearner(AdvisedLearner):
    """Hands every round's loss to the learner of arms, and follows the policy that it chose."""

    plan: PolicyArms
    _reacts = True
    _skips = True
    _state = ("_arms",)

    def __init__(self, plan: PolicyArms, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._arms = plan.arms.start(randomness)
        self._action = 0

    @property
    def policy(self) -> int:
        """The policy of the round in hand: may be shown to everybody."""
        with self._looking("policy"):
            return int(self._arms._action)

    def _choose(self, number: int, context: IntArray) -> int:
        if self._arms._opens:
            self._arms._at_opening(number)
        return int(context[self._arms._action])

    def _check(self, loss: Any) -> Any:
        return self._arms._check(loss)

    def _nothing(self) -> Any:
        return self._arms._nothing()

    def _check_row(self, number: int, row: FloatArray) -> Any:
        loss = float(row[self._action])
        return None if loss != loss else self._check(loss)

    def _check_many(self, losses: Any) -> Rows:
        return Rows("PolicyArms", "losses", losses, self.plan.problem.actions)

    def _read(self, rows: Rows) -> Any:
        self._arms._absent = self._absent
        try:
            yield from self._arms._read(rows)
        finally:
            self._arms._absent = None

    def _absorb(self, loss: Any) -> None:
        self._taken()
        self._arms._finish(loss)

    def _consistent(self) -> bool:
        inner = self._arms
        whole = type(self._action) is int and 0 <= self._action < self.plan.problem.actions
        slots, played, inner._slots, inner._played = inner._slots, inner._played, self._slots, self._played
        try:
            return whole and inner._round == self._round and inner._consistent()
        finally:
            inner._slots, inner._played = slots, played


_NAMES = tuple(kind.__name__ for kind in LEARNERS)


def _arms(problem: Policies) -> Arms:
    """The same rounds with policies as arms."""
    return Arms(
        n=problem.n,
        horizon=problem.horizon,
        delay=problem.delay,
        loss_range=problem.loss_range,
        adversary=problem.adversary,
    )
