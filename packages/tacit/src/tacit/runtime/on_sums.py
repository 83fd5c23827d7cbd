"""What plans share whose every release is a private running sum: the curve, and the scale of its noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.accounting.calibration import gaussian_mu
from tacit.noise.running_sums import Buffered, LaplaceTree, RunningSum, best_gaussian
from tacit.noise.running_sums.accumulators import Records
from tacit.noise.running_sums.running_sum import Grid
from tacit.problems import Problem
from tacit.releases import NoisySums
from tacit.runtime.plan import PrivatePlan
from tacit.runtime.small_instances import Attack, SmallInstance
from tacit.runtime.target import Target
from tacit.validation import check_positive


@dataclass(frozen=True)
class RunningSumPlan(PrivatePlan):
    """A plan on a running sum: `privacy` is mu for Gaussian noise, epsilon for pure noise.

    Both are fields of the subclasses, which have other fields before them.
    Every step of the sum is a round, in order, also where feedback is late, so that steps are as far apart as rounds.
    """

    _separates: ClassVar[bool] = True

    if TYPE_CHECKING:

        @property
        def mechanism(self) -> RunningSum: ...

        @property
        def privacy(self) -> float: ...

    def _check_contract(self) -> None:
        super()._check_contract()
        check_positive(self.algorithm, "privacy", self.privacy)

    @property
    @abstractmethod
    def releases(self) -> NoisySums:
        """The declaration of the sums."""

    @property
    def streams(self) -> int:
        """How many independent noises hide the same sums."""
        return 1

    @property
    def privacy_per_stream(self) -> float:
        """The mu or epsilon of each stream, rounded to the private side."""
        return self.releases.privacy_per_stream

    @property
    def records(self) -> Records:
        """What a round adds to the sums, and how far one person moves them."""
        return self.releases.records.records(self.neighbours)

    @property
    def sensitivity(self) -> float:
        """How far one person moves the sums, in l2 (Gaussian), l1 (Laplace) or l_infinity (cube noise)."""
        return self.records.size * self.records.move(self.mechanism.noise)

    @cached_property
    def grid(self) -> Grid:
        """The lattice of the sums, in each stream."""
        return self.releases.grid

    @property
    def scale(self) -> float:
        """Scale of each fresh noise."""
        return self.grid.scale

    def _summed(self, problem: Problem, steps: int | None = None) -> tuple[SmallInstance, ...]:
        """The instances of a short problem, whose sum has so many steps (None: the last round is never used)."""
        steps = (problem.horizon or 1) - 1 if steps is None else steps
        short: dict[str, Any] = {"problem": problem, "mechanism": replace(self.mechanism, steps=steps)}
        return sum_instances(replace(self, **short), steps)


READINGS_OF_SIGMA = ("sigma on each node", "sigma on each sum")
"""Where a printed deviation of the noise may stand, if a paper says only that its tree adds it."""


def privacy_of_noise(plan: RunningSumPlan, scale: float) -> float:
    """Return the mu of a plan's sums if each node, or fresh draw, has noise of this deviation."""
    return plan.sensitivity * plan.mechanism.column_norm / scale


def separated(target: Target, sums: RunningSum) -> dict[str, Any]:
    """What a plan on these sums takes over from the target; trees hide rounds that are apart as any others."""
    spread = isinstance(sums, Buffered) and target.rounds_per_person > 1
    return {**target.contract, "separation": target.separation if spread else 1}


def private_sum(
    steps: int,
    target: Target,
    mechanism: RunningSum | None = None,
    pure: Callable[[int], RunningSum] = LaplaceTree.best,
    batch: int = 1,
) -> tuple[RunningSum, float]:
    """The mechanism (left out: the best one, `pure` of the steps at delta=0) and its privacy, the most allowed.

    `batch`: how many rounds a step adds up.
    """
    people, separation = target.rounds_per_person, max(1, target.separation // batch)
    if batch > target.separation:  # all of a person's rounds may be in one batch
        people = 1
    sums = mechanism or (pure(steps) if target.delta == 0 else best_gaussian(steps, people, separation))
    return sums, gaussian_mu(target.epsilon, target.delta) if sums.noise == "gaussian" else target.epsilon


def sum_instances(small: PrivatePlan, steps: int) -> tuple[SmallInstance, ...]:
    """Attacks on a running sum of so many steps, and on what reaches it."""
    kinds: tuple[Attack, ...] = ("running sum", "replayed noise") if steps else ("replayed noise",)
    return tuple(SmallInstance(kind, f"own privacy, T={small.horizon}", small) for kind in kinds)
