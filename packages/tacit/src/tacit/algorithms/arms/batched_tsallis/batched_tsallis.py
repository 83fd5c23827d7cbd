"""Batched Tsallis: follow the regularised leader on importance-weighted releases of batch means.

Tsallis-INF (Zimmert and Seldin, 2021) with any power q of the entropy, on batches whose means are released by
`ClippedGeometric`: bounded and unbiased, so that no exploration is mixed in and none of the noise is wasted.

    A = q/(eta (1-q));  G = 0
    batch s: p_i = (A/(G_i - nu))^{1/(1-q)}, nu such that sum p = 1;  I ~ p;  play I for B rounds;  f = released mean
        c_i = max(-d/n, min(1/2 - m/(A p_i^q), kappa A p_i^q - d/n))    # as high as the stability of a small p_i allows
        G_i += c_i - 1/2 for all i;  G_I += (f - c_I)/p_I   # unbiased for the batch mean minus 1/2, whatever c is
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from tacit.algorithms.arms.arm_plan import WORST, ArmLearner, ArmPlan, pure, release_of
from tacit.algorithms.arms.batched_tsallis.certificate import (
    MOST_DROP,
    BatchLoss,
    best_batches,
    best_parameters,
    copies_needed,
    tsallis_regret,
)
from tacit.algorithms.arms.batched_tsallis.leader import Rule, advance
from tacit.algorithms.arms.clipped_geometric import LARGEST_BATCH, ClippedGeometric
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Arms
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, check_number, check_positive, check_table, invalid


@dataclass(frozen=True)
class BatchedTsallis(ArmPlan):
    """Tsallis-INF on batches of `batch` rounds with bounded, unbiased releases.

    Privacy contract: every decision and every noisy batch mean, pure epsilon, one round's feedback, adaptive
    adversaries. Enforced: losses in their range (others raise), missing feedback counts as the largest
    loss, or as `missing` says.
    Assumed for the regret only: losses fixed in advance. Numerics: exact.
    Regret: about sqrt(2 T B V (K - K^q)(1 - 1/K)/(q (1-q))), B V = 1.039 at epsilon = 1.

    Reference: Zimmert and Seldin (2021), "Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits",
    https://www.jmlr.org/papers/v22/19-753.html, for the learner without noise and batches.

    Page: docs/algorithms/batched-tsallis.md.

    Attributes:
        epsilon: pure epsilon of all releases together.
        batch: rounds B of a batch.
        power: q of the Tsallis entropy (0.5: Tsallis-INF; towards 1: EXP3).
        eta: learning rate.
        kappa: how far the baseline of an unlikely arm may rise.
        lowering: how much of the skewness of a release the baseline makes up for, from 0 to 1.

    >>> plan = BatchedTsallis.calibrate(Arms(n=20, horizon=100_000), epsilon=1.0, delta=0.0)
    >>> plan.batch, plan.power, round(float(plan.regret_bound), -1)
    (2, 0.75, 3330.0)
    """

    _no_delay: ClassVar[str] = ""
    batch: int
    power: float
    eta: float
    kappa: float
    lowering: float = 0.0

    def _check_parameters(self) -> None:
        for name, low, high in (("power", 0.05, 0.99), ("kappa", 1e-6, MOST_DROP), ("lowering", 0.0, 1.0)):
            value = getattr(self, name)
            check_number("BatchedTsallis", name, value, above=low, below=high, closed_low=True, closed_high=True)
        check_positive("BatchedTsallis", "eta", self.eta)
        loss = self.loss  # refuses a batch that cannot be released
        if not loss.admissible(self.eta):
            raise invalid(
                "BatchedTsallis", "eta", "small enough for its regret to be certified at this kappa", self.eta
            )
        check_table("BatchedTsallis", self.copies, self.problem.n)

    @cached_property
    def loss(self) -> BatchLoss:
        """The loss of one batch in the analysis."""
        return BatchLoss(self.problem.n, self.release(self.batch), self.power, self.kappa, self.lowering)

    @property
    def batches(self) -> int:
        """How many batches are begun."""
        return -(-self.rounds // self.batch)

    @property
    def copies(self) -> int:
        """How many learners take turns, batch by batch: one, if feedback is never late."""
        return min(self.batches, copies_needed(self.problem.delay, self.batch))

    @cached_property
    def regret_bound(self) -> RegretBound:
        """The certified regret, by the number itself rather than its leading term."""
        return RegretBound(
            self.problem.width * tsallis_regret(self.loss, self.rounds, self.eta, self.problem.delay),
            f"B ({'C ' if self.copies > 1 else ''}(K^(1-q) - 1)/(eta (1-q)) + "
            "sum over batches of (l + K sup_p (phi(p) - l p)))"
            + (f", C = ceil(D/B) + 1 = {self.copies} copies" if self.copies > 1 else ""),
            ("oblivious adversary", self.missing_counts_as),
        )

    @property
    def expected_switches(self) -> float:
        """At most one for each batch after the first."""
        return float(self.batches - 1)

    @classmethod
    def _calibrate(cls, problem: Arms, target: Target, *, missing: float | str = WORST) -> BatchedTsallis:
        if target.adversary == "adaptive":
            raise PrivacyError("BatchedTsallis has no certified regret against losses that react to its decisions.")
        releases = _releases(problem, target, missing)
        loss, rate = best_parameters(problem.n, problem.horizon or 1, releases, problem.delay)
        parameters = (loss.release.batch, loss.power, rate, loss.kappa, loss.lowering)
        return cls(problem, target.epsilon, *parameters, missing=missing, **pure(target))

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give two arms with batches of one round."""
        own = {"batch": 1, "power": 0.5, "eta": 0.05, "kappa": 0.1, "lowering": 0.0}
        loud = {**own, "epsilon": 1.0, "eta": 0.3, "kappa": 0.2}
        return self._enumerable(loud, own)

    def _learner(self, randomness: Randomness) -> BatchedTsallisLearner:
        return BatchedTsallisLearner(self, randomness)


class BatchedTsallisLearner(ArmLearner):
    """Draws an arm for each batch; everything it keeps besides the open batch is a function of releases.

    With a delay, copies of it take turns: batch s is played and learned from by copy s modulo their number, whose last
    batch is back by then. Rounds are disjoint, so that each has the whole budget.
    """

    plan: BatchedTsallis
    _state = (*ArmLearner._state, "_scores", "_levels", "_weights", "_arms", "_batch")

    def __init__(self, plan: BatchedTsallis, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._mean = plan.loss.release
        self._size = plan.batch
        self._scale = plan.power / (plan.eta * (1 - plan.power))  # A
        self._batch = 0  # how many are released
        self._copies = plan.copies
        self._scores = np.zeros((self._copies, self._n))
        # That of equal scores.
        self._levels = np.full(self._copies, -self._scale * float(self._n) ** (1 - plan.power))
        self._weights = np.full((self._copies, self._n), 1 / self._n)
        self._arms = [self._draws.arm(weights) for weights in self._weights]
        self._action = self._arms[0]
        self._opens = self._copies > 1
        self._rule = Rule(1 / (1 - plan.power), plan.kappa, self._mean.overshoot, plan.loss.lowered)

    def _at_opening(self, number: int) -> None:
        if number % self._size == 0:
            self._move(self._arms[number // self._size % self._copies])

    @property
    def probabilities(self) -> FloatArray:
        """The law from which the arm in hand was drawn: a function of what was released."""
        with self._looking("probabilities"):
            in_hand = self._round // self._size if self._copies == 1 else max(0, self._decided - 1) // self._size
            return np.array(self._weights[in_hand % self._copies])

    def _consistent(self) -> bool:
        counted = self._size == self.plan.batch and self._batch * self._size + self._filled == self._round
        arms = len(self._arms) == self._copies and all(type(arm) is int and 0 <= arm < self._n for arm in self._arms)
        gaps = self._scores - self._levels[:, None]
        if not (super()._consistent() and counted and arms and bool(np.all(gaps > 0))):
            return False
        law = (self._scale / gaps) ** self._rule.exponent
        near = np.allclose(law, self._weights, rtol=1e-6, atol=1e-12)
        return bool(near and np.all(abs(self._weights.sum(axis=1) - 1) < 1e-9))

    def _release(self, total: int) -> None:
        copy = self._batch % self._copies
        mean = self._mean.value(self._draws.noisy(total))
        self._batch += 1
        scores, weights, level = self._scores[copy], self._weights[copy], float(self._levels[copy])
        self._levels[copy] = advance(self._rule, scores, weights, level, (self._arms[copy], mean), self._scale)
        self._arms[copy] = self._draws.arm(weights)
        if not self._opens:
            self._move(self._arms[copy])


def _releases(problem: Arms, target: Target, missing: float | str) -> list[ClippedGeometric]:
    """The lengths worth trying, as few as the limit on switches allows."""
    rounds = problem.horizon or 1
    fewest = 1 if target.max_switches is None else -(-rounds // (target.max_switches + 1))
    if fewest > LARGEST_BATCH:
        raise PrivacyError(
            f"BatchedTsallis needs batches of {fewest} rounds to switch {target.max_switches} times at most, and "
            f"{LARGEST_BATCH} are allowed."
        )
    make = partial(release_of, problem, target, missing)
    return best_batches(make, min(fewest, rounds), min(rounds, LARGEST_BATCH), problem.delay)
