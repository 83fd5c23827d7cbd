"""Switching sequences: a learner of a fixed expert on all sequences with few switches, as one black box.

Paper: "Tracking the Best Expert Privately" (ICML 2025), Theorem 4.1 and Corollary 4.3. Each sequence with at most S
switches is an expert of its own, whose loss is that of the expert that the sequence plays. There are about (NT)^(S+1),
so that the reduction runs for few rounds only: `LazyFixedShare` has exponential weights over all sequences in time N.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.curves import Curve
from tacit.algorithms.experts.expert_plan import ExpertLearner, ExpertPlan
from tacit.algorithms.experts.l2p import L2P
from tacit.algorithms.tracking.tracking_plan import TrackingPlan, refuse_max_switches
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.printed import tracking
from tacit.problems import Experts, Tracking
from tacit.releases import Releases
from tacit.runtime.printed import Printed
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, check_integer, invalid

MOST_SEQUENCES = 10_000
"""So many sequences, and no more: each of them is an expert."""


@dataclass(frozen=True)
class Sequences:
    """The sequences of the proof of Theorem 4.1: c <= S change points among T rounds, and c + 1 experts.

    Some stand more than once, as in the print: neighbouring experts may be the same.

    Attributes:
        n: number of experts.
        horizon: number of rounds.
        switches: largest number of switches of a sequence.

    >>> Sequences(n=2, horizon=300, switches=1).count
    1202
    >>> Sequences(n=2, horizon=3, switches=1).experts[2:6].tolist()
    [[0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 1]]
    """

    n: int
    horizon: int
    switches: int

    def __post_init__(self) -> None:
        check_integer("Sequences", "n", self.n)
        check_integer("Sequences", "horizon", self.horizon)
        check_integer("Sequences", "switches", self.switches, at_least=0, at_most=self.horizon - 1)
        if self.count > MOST_SEQUENCES:
            raise InvalidInput(
                f"Theorem 4.1 needs {self.count:,} sequences for n={self.n}, horizon={self.horizon} and "
                f"switches={self.switches}, and at most {MOST_SEQUENCES:,} are enumerated: take fewer rounds, or "
                "LazyFixedShare."
            )

    @property
    def count(self) -> int:
        """Number of sequences."""
        return tracking.theorem_4_1_experts(self.n, self.horizon, self.switches)

    @cached_property
    def experts(self) -> IntArray:
        """The expert of each sequence in each round, shape (count, horizon)."""
        rows = []
        for changes in range(self.switches + 1):
            for times in combinations(range(self.horizon), changes):
                lengths = np.diff([0, *times, self.horizon])
                rows += [np.repeat(experts, lengths) for experts in product(range(self.n), repeat=changes + 1)]
        return np.array(rows, dtype=np.int64)


@dataclass(frozen=True)
class SwitchingSequences(TrackingPlan):
    """A private learner of a fixed expert, whose experts are sequences with at most `switches` switches.

    Privacy contract: every decision, which is computed from the black box's: its curve, by post-processing. One
    replaced round replaces one round of the black box. Adaptive adversaries. Enforced: losses in their range.
    Regret: that of the black box on `Sequences(n, horizon, switches).count` experts.

    Reference: Asi, Raman and Saha (2025), "Tracking the Best Expert Privately", https://arxiv.org/abs/2503.09889.

    Attributes:
        box: the black box, a plan for experts that are sequences.

    >>> plan = SwitchingSequences.calibrate(Tracking(n=2, horizon=300, switches=1), epsilon=1.0, delta=1e-6)
    >>> plan.box.problem.n, round(float(plan.regret_bound))
    (1202, 172)
    """

    box: ExpertPlan
    printed_results: ClassVar[tuple[str, ...]] = ("Corollary 4.3", "Theorem 4.1")
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every decision"

    def _check_parameters(self) -> None:
        if not isinstance(self.box, ExpertPlan):
            raise invalid("SwitchingSequences", "box", "a plan for experts", self.box)
        if self.box.problem != box_problem(self.problem):
            raise invalid("SwitchingSequences", "box", f"for {box_problem(self.problem)!r}", self.box.problem)
        for name in ("relation", "rounds_per_person", "separation", "delta", "numerics"):
            if getattr(self, name) != getattr(self.box, name):
                raise invalid("SwitchingSequences", name, f"that of its black box, {getattr(self.box, name)!r}",
                              getattr(self, name))  # fmt: skip

    @property
    def sequences(self) -> Sequences:
        """The experts of the black box."""
        return sequences_of(self.problem)

    @property
    def releases(self) -> Releases | None:
        """The declaration of the black box."""
        return self.box.releases

    @cached_property
    def curve(self) -> Curve:
        return self.box.curve

    @property
    def theorem(self) -> str:
        return f"Theorem 4.1, post-processing of: {self.box.theorem}"

    @property
    def assumed(self) -> str:
        return self.box.assumed

    @property
    def stated_numerics(self) -> str:
        return self.box.stated_numerics

    @property
    def certified_against(self) -> tuple[str, ...]:
        return self.box.certified_against

    @property
    def regret_bound(self) -> RegretBound:
        bound = self.box.regret_bound
        return replace(bound, formula=f"{bound.formula}, N = {self.sequences.count} sequences")

    @property
    def work_per_round(self) -> float:
        return float(self.sequences.count)

    @classmethod
    def _calibrate(cls, problem: Tracking, target: Target, *, box: type[ExpertPlan] = L2P) -> SwitchingSequences:
        refuse_max_switches(cls.__name__, target, "sequences switch when the black box does not")
        return cls.around(problem, box.calibrate_for(box_problem(problem), target))

    @classmethod
    def around(cls, problem: Tracking, box: Any, printed: Printed | None = None) -> SwitchingSequences:
        """Make the plan around a black box, whose contract it has."""
        names = ("relation", "rounds_per_person", "separation", "delta", "numerics")
        return cls(problem, box, printed=printed, **{name: getattr(box, name) for name in names})

    @classmethod
    def _as_printed(
        cls,
        problem: Tracking,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        box: type[ExpertPlan] = L2P,
        box_result: str = "Theorem 3.10",
    ) -> SwitchingSequences:
        """Make the reduction; Theorem 4.1 leaves the black box open, Corollary 4.3 takes that of Proposition 4.2.

        `box_result`: the result of paper l2p whose parameters the black box of Corollary 4.3 has.
        """
        inside = box_problem(problem)
        values = {"experts": float(inside.n)}
        evidence = [f"its {inside.n:,} experts are those of the proof, of which some are the same sequence"]
        if result == "Corollary 4.3":
            if asked.delta == 0:
                raise PrivacyError("Corollary 4.3 has no pure form: ask for a delta above 0.")
            if box is not L2P:
                raise invalid("SwitchingSequences.as_printed", "box", "L2P for Corollary 4.3", box)
            inner: Any = L2P.as_printed(
                inside,
                epsilon=asked.epsilon,
                delta=asked.delta,
                result=box_result,
                reading=reading,
                relation=asked.relation,
                rounds_per_person=asked.rounds_per_person,
            )
            evidence += [f"black box as printed: {inner.printed.place}", *inner.printed.evidence]
            size = problem.n, problem.horizon or 1, problem.switches
            values["order"] = tracking.corollary_4_3_order(*size, asked.epsilon, asked.delta)
            order = "sqrt(S T ln(NT)) + S T^(1/3) ln(T/delta) ln(NT)/epsilon^(2/3)"
            chosen, differs = inner.printed.reading, inner.printed.differs
            no_proof = inner.printed.no_proof
        else:
            if reading is not None:
                raise invalid("SwitchingSequences.as_printed", "reading", "None for Theorem 4.1", reading)
            inner = box.calibrate_for(inside, asked)
            order, chosen, differs, no_proof = "that of the black box on (NT)^(2S) experts", "", (), ""
            if not problem.switches:
                evidence.append("(NT)^(2S) is 1 without switches, and N experts are run")
        printed = Printed(
            "tracking",
            result,
            asked.epsilon,
            asked.delta,
            reading=chosen,
            order=order,
            no_proof=no_proof,
            evidence=tuple(evidence),
            differs=differs,
            values=values,
        )
        return cls.around(problem, inner, printed)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give two experts and two rounds: ten sequences, and one toss of the black box's coins."""
        small = replace(self.problem, n=2, horizon=2, switches=1, delay=0)
        changes: dict[str, Any] = {"batch": 1} if hasattr(self.box, "batch") else {}
        inner = replace(self.box, problem=box_problem(small), **changes)
        return (SmallInstance("enumeration", "own parameters, N=2, T=2", self.around(small, inner)),)

    def _learner(self, randomness: Randomness) -> SwitchingSequencesLearner:
        return SwitchingSequencesLearner(self, randomness)


class SwitchingSequencesLearner(ExpertLearner):
    """Plays the expert that the black box's sequence has in this round."""

    plan: SwitchingSequences
    _state: ClassVar[tuple[str, ...]] = ("_inner",)

    def __init__(self, plan: SwitchingSequences, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._experts = plan.sequences.experts.T.copy()
        self._inner: Any = plan.box._learner(randomness.child("sequences"))
        self._action = int(self._experts[0, self._inner._action])

    def _absorb(self, losses: FloatArray) -> None:
        of_sequences = losses[self._experts[self._round]]
        self._inner._best = float(of_sequences.min())
        self._inner._finish(of_sequences)
        if self._round + 1 < self.plan.rounds:
            self._move(int(self._experts[self._round + 1, self._inner._action]))

    def _consistent(self) -> bool:
        return super()._consistent() and self._inner._round == self._round and bool(self._inner._consistent())


def sequences_of(problem: Tracking) -> Sequences:
    """Return the sequences of a problem with a known horizon."""
    if problem.horizon is None:
        raise InvalidInput("SwitchingSequences needs a horizon: its experts are sequences of so many rounds.")
    return Sequences(problem.n, problem.horizon, problem.switches)


def box_problem(problem: Tracking) -> Experts:
    """Return the problem of the black box: a fixed expert among all sequences."""
    return Experts(
        n=sequences_of(problem).count,
        horizon=problem.horizon,
        delay=problem.delay,
        adversary=problem.adversary,
        loss_range=problem.loss_range,
    )
