"""Which learner, and how many records a step: the smallest certified excess risk among public candidates.

Noise is the same for every batch, but not the bound: a larger one makes fewer and larger steps. The sizes tried are
powers of two that make at most `STEPS` steps, a limit on work. Where no certificate says anything, batches are small
ones that make at most `UNCERTIFIED_STEPS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from tacit.errors import PrivacyError
from tacit.geometry import L1Ball, Simplex
from tacit.learners.stochastic.common import OnlineLearner
from tacit.learners.stochastic.conversion import Conversion
from tacit.learners.stochastic.norms import Norm
from tacit.learners.stochastic.online_learners import (
    BETTORS,
    confident_bettor,
    default_norm,
    default_power,
    named_learner,
)
from tacit.learners.target import RegretBound, Target
from tacit.losses.regularised import parted
from tacit.mechanisms.running_sums import Buffered, LaplaceTree, RunningSum, SquareRoot, Tree
from tacit.privacy.calibration import gaussian_mu
from tacit.problems import Stochastic
from tacit.validation import check_choice, check_integer, check_positive

MECHANISMS: dict[str, type[Buffered] | type[SquareRoot] | type[Tree]] = {
    "buffered": Buffered,
    "square-root": SquareRoot,
    "tree": Tree,
}
STEPS = 100_000
UNCERTIFIED_STEPS = 2000


class ConversionPlan(Protocol):
    """What the search asks of the plans that it makes."""

    @property
    def regret_bound(self) -> RegretBound:
        """The certified excess risk."""

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing."""

    @property
    def conversion(self) -> Conversion:
        """From which errors follow."""


PlanT = TypeVar("PlanT", bound=ConversionPlan)


@dataclass(frozen=True)
class Search(Generic[PlanT]):
    """What `OnlineToBatch.calibrate` was asked for, and how plans are made."""

    make: Callable[..., PlanT]
    problem: Stochastic
    target: Target
    learner: Any
    power: float | None
    batch: int | None
    mechanism: str
    lipschitz: float | None
    smoothness: float | None
    norm: Norm | None
    scheduled: bool

    def best(self) -> PlanT:
        """The plan with the smallest certified excess risk."""
        check_choice("OnlineToBatch", "mechanism", self.mechanism, tuple(MECHANISMS))
        if self.target.confidence is not None and not self._may_be_confident:
            raise PrivacyError(
                "OnlineToBatch bounds single runs with Gaussian noise (delta > 0), in the Euclidean norm, for learners "
                f"that bet: 'certified', {' or '.join(map(repr, BETTORS))}."
            )
        found = self._smallest(self._batches)
        return self._smallest([self._usual_batch]) if found.vacuous and self.batch is None else found

    @property
    def _may_be_confident(self) -> bool:
        euclidean = self.norm is None or self.norm.power == 2.0
        names = isinstance(self.learner, str) and self.learner in ("certified", *BETTORS)
        return self.target.delta > 0 and euclidean and names

    @property
    def _learners(self) -> list[Any]:
        """The candidates: names, or the one object that was given."""
        if not isinstance(self.learner, str) or self.learner != "certified":
            return [self.learner]
        if self.target.confidence is not None:
            return ["betting-grid"]
        sparse = isinstance(self.problem.domain, L1Ball | Simplex)
        curved = self.problem.constants.strong_convexity > 0
        return ["subgradient", "optimistic", *["strongly-convex"] * curved, *["mirror-descent"] * sparse]

    def _smallest(self, batches: list[int]) -> PlanT:
        found = (self._plan(learner, size) for learner in self._learners for size in batches)
        return min(found, key=lambda plan: float(plan.regret_bound))

    @property
    def _usual_batch(self) -> int:
        return max(1, ceil(self.problem.records / UNCERTIFIED_STEPS))

    @property
    def _batches(self) -> list[int]:
        """The sizes that are compared: powers of two, unless there is nothing to compare."""
        records, given = self.problem.records, self.learner
        if self.batch is not None:
            return [check_integer("OnlineToBatch", "batch", self.batch)]
        betting = isinstance(given, str) and given in BETTORS and self.target.confidence is None
        if betting or not isinstance(given, str | OnlineLearner):
            return [self._usual_batch]
        least = (ceil(records / STEPS) - 1).bit_length()
        return [2**level for level in range(least, max(least, records.bit_length() - 1) + 1)]

    def _plan(self, learner: Any, batch: int) -> PlanT:
        """The plan around one learner, at one size of the batches."""
        given = getattr(learner, "norm", None)
        norm = self.norm or (given if isinstance(given, Norm) else default_norm(learner, self.problem))
        mechanism, privacy = self._sums(ceil(self.problem.records / batch))
        lipschitz, smoothness = self._constants
        around = partial(
            self.make,
            self.problem,
            mechanism=mechanism,
            privacy=privacy,
            power=default_power(learner) if self.power is None else self.power,
            batch=batch,
            lipschitz=lipschitz,
            smoothness=smoothness,
            norm=norm,
            scheduled=self.scheduled,
            **self.target.contract,
        )
        if not isinstance(learner, str):
            return around(learner=learner)
        if learner not in BETTORS:
            return around(learner=named_learner(learner, self.problem, norm))
        # Bettors need to know how large the noisy gradients get; any plan on this domain tells.
        conversion = around(learner=named_learner("subgradient", self.problem, norm)).conversion
        if self.target.confidence is None:
            return around(learner=named_learner(learner, self.problem, norm, conversion.errors))
        return around(learner=confident_bettor(learner, self.problem, conversion, self.target.confidence))

    @cached_property
    def _constants(self) -> tuple[float, float]:
        """G and H, to which differences of gradients are clipped."""
        known = parted(self.problem.loss)[0].constants(self.problem.domain)
        lipschitz = known.lipschitz if self.lipschitz is None else self.lipschitz
        smoothness = known.smoothness if self.smoothness is None else self.smoothness
        if self.lipschitz is not None:
            check_positive("OnlineToBatch", "lipschitz", self.lipschitz)
        if not (np.isfinite(lipschitz) and np.isfinite(smoothness)):
            raise PrivacyError(
                "OnlineToBatch needs finite constants: give lipschitz= and smoothness= for a loss that has none "
                "(gradients are clipped to them, so privacy holds for any choice)."
            )
        return lipschitz, smoothness

    def _sums(self, steps: int) -> tuple[RunningSum, float]:
        """The running sum and its privacy."""
        if self.target.delta == 0:
            return LaplaceTree.best(steps), self.target.epsilon
        return MECHANISMS[self.mechanism](steps), self._mu

    @cached_property
    def _mu(self) -> float:
        return gaussian_mu(self.target.epsilon, self.target.delta)
