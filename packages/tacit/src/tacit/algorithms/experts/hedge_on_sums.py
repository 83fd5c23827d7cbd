"""Hedge on private running sums: exponential weights on noisy cumulative losses.

Only the marginal law of the noise at each round enters the expected loss, so the noises may be coupled as a process
with independent increments: eta/2 times the last variance is paid once. That needs noise whose law only grows; tree
sums are padded up to their largest law with data-free noise. Under pure privacy the nodes of a tree carry noise shaped
for the cube: one round moves every coordinate by at most 1, which is paid once and not N times. Proofs:
docs/algorithms/hedge-on-sums.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log, log1p, sqrt, tanh
from typing import Any, ClassVar

import numpy as np

from tacit import kernels
from tacit.accounting.calibration import minimise
from tacit.algorithms.experts.expert_plan import ExpertLearner, ExpertPlan
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses.loss import clip_rows
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import CubeTree, RunningSum, Tree
from tacit.noise.running_sums.accumulators import unit_variance
from tacit.noise.running_sums.running_sum import Grid, check_mechanism
from tacit.printed.ctrl import lemma_16, theorem_15
from tacit.problems import Experts
from tacit.releases import Losses, NoisySums, Vectors
from tacit.runtime.on_sums import (
    READINGS_OF_SIGMA,
    RunningSumPlan,
    privacy_of_noise,
    private_sum,
    separated,
    sum_instances,
)
from tacit.runtime.plan import Plan
from tacit.runtime.printed import Printed, choose_reading, refuse_own
from tacit.runtime.rate_search import LEAST_COMPLEXITY, delay_formula, delay_regret
from tacit.runtime.small_instances import FEW_ROUNDS, SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, check_flag, check_positive, invalid, real_array

# What a matrix and back may change in a loss.
LARGEST_ERROR = 1e-9

RATES = (2.5,)  # times the rate of the smallest certificate: where losses are independent, it often loses less


@dataclass(frozen=True)
class HedgeOnSums(ExpertPlan, RunningSumPlan):
    """Exponential weights on losses summed by a private mechanism.

    Privacy contract: every noisy sum, hence every decision: mu-Gaussian DP (l2 sensitivity sqrt(N)), or pure
    DP with cube trees (l_infinity sensitivity 1) or Laplace trees (l1 sensitivity N). Adaptive adversaries. Enforced:
    losses in their range (others raise). Numerics: exact with pure noise, exact up to an epsilon that the contract
    states with Gaussian noise.
    Regret (oblivious): ln N/eta + eta (T/8 + sigma_T^2/2) with Gaussian or cube noise of last deviation sigma_T.
    With a `matrix` M the sums are of M l, clipped to `norm`: privacy rests on no promise about the losses. The l2
    sensitivity is 2 norm, and sigma_T is multiplied by the largest row norm of M's pseudoinverse. The bound is then
    for losses with |M l| <= norm (Lemmas 16 and 30 of "Differentially Private and Lazy Online Convex Optimization").

    Reference: Agarwal and Singh (2017), "The Price of Differential Privacy for Online Learning",
    https://arxiv.org/abs/1701.07953.

    Page: docs/algorithms/hedge-on-sums.md.

    Attributes:
        eta: learning rate.
        mechanism: the running sum, for horizon - 1 steps (the last losses are never used).
        privacy: mu for Gaussian mechanisms, epsilon for pure ones.
        hold: perturb with one Gumbel vector for all rounds (few switches) instead of a fresh draw a round.
        matrix: M, rows of N numbers each, that tells all losses apart up to a constant added to all losses of a
            round. For Gaussian noise (None: the losses themselves are summed).
        norm: the l2 norm to which M l is clipped, l from 1/2 and in units of the loss range.

    >>> plan = HedgeOnSums.calibrate(Experts(n=10, horizon=10_000), epsilon=1.0, delta=1e-6)
    >>> round(float(plan.regret_bound))
    157
    """

    _no_delay: ClassVar[str] = ""
    _single: ClassVar[bool] = True
    eta: float
    mechanism: RunningSum
    privacy: float
    hold: bool = True
    matrix: tuple[tuple[float, ...], ...] | None = None
    norm: float | None = None
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 15", "Lemma 16")
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every noisy cumulative loss, hence every decision"
    theorem: ClassVar[str] = "private running sum; weights and draws are post-processing"

    def _check_parameters(self) -> None:
        check_positive("HedgeOnSums", "eta", self.eta)
        check_mechanism("HedgeOnSums", self.mechanism, self.rounds - 1, ("gaussian", "laplace", "cube"))
        check_flag("HedgeOnSums", "hold", self.hold)
        if (self.matrix is None) != (self.norm is None):
            raise InvalidInput(
                "HedgeOnSums takes a 'matrix' together with the 'norm' to which its products are clipped."
            )
        if self.matrix is not None and self.norm is not None:
            check_positive("HedgeOnSums", "norm", self.norm)
            if self.mechanism.noise != "gaussian":
                raise invalid("HedgeOnSums", "mechanism", "Gaussian where there is a matrix", self.mechanism)
            checked = Coordinates.of(self.matrix, self.problem.n).matrix
            object.__setattr__(self, "matrix", tuple(map(tuple, checked.tolist())))

    @cached_property
    def coordinates(self) -> Coordinates | None:
        """What is summed in place of the losses (None: the losses)."""
        return None if self.matrix is None else Coordinates.of(self.matrix, self.problem.n)

    @cached_property
    def releases(self) -> NoisySums:
        clipped = self.matrix is not None and self.norm is not None
        records = Vectors(len(self.matrix or ()), self.norm or 0.0) if clipped else Losses(self.problem.n)
        return NoisySums(
            records=records,
            mechanism=self.mechanism,
            privacy=self.privacy,
            exact=self.numerics == "exact",
            made_for=self.neighbours,
        )

    @property
    def regret_bound(self) -> RegretBound:
        spread = 1.0 if self.coordinates is None else self.coordinates.spread
        scale, delay = self.scale * spread, self.problem.delay
        value = hedge_regret(self.eta, self.problem.n, self.rounds, self.mechanism, scale, delay)
        if self.problem.n > 1:
            value += self._lattice_cost
        assumptions: tuple[str, ...] = ("oblivious adversary", "expectation over all draws")
        if self.matrix is not None:
            assumptions = (*assumptions, "losses whose products with the matrix are no longer than the norm")
        formula = "ln(N)/eta + eta T/8 + eta sigma_T^2/2"
        if self.mechanism.noise == "laplace":
            formula = "ln(N)/eta + eta T/8 - (K/eta) ln(1 - eta^2 b^2)"
        formula += delay_formula(self.problem.delay)
        # Without a bound of moments the value is infinite, and what nobody exceeds is still proved.
        return RegretBound(value * self.problem.width, formula, assumptions).at_most(self.trivial_regret)

    def variants(self) -> dict[str, Plan]:
        """Give plans of larger rates on the same released sums: any rate costs the same privacy."""
        return {f"{times:g} eta": replace(self, eta=times * self.eta) for times in RATES}

    @property
    def _lattice_cost(self) -> float:
        """What the lattice adds: losses too small by less than a step, and weights off by rounded noise.

        Roundings move every sum by at most B, so the logarithms of weights within 2 eta B. Through a matrix a loss is
        off by at most `sums` times what a coordinate loses.
        """
        if self.coordinates is None:
            return self.rounds * (self.grid.lost + tilted_loss(2 * self.eta * self.grid.disturbance(self.mechanism)))
        off = self.coordinates.sums * self.grid.lost + self.coordinates.error
        moved = tilted_loss(2 * self.eta * self.coordinates.sums * self.grid.disturbance(self.mechanism))
        return self.rounds * (2 * off + self.eta * off * (1 + off) / 2 + moved)

    @classmethod
    def _calibrate(
        cls,
        problem: Experts,
        target: Target,
        *,
        mechanism: RunningSum | None = None,
        hold: bool = True,
        matrix: Any = None,
        norm: float | None = None,
    ) -> HedgeOnSums:
        if target.max_switches is not None:
            raise PrivacyError("HedgeOnSums cannot promise a limit on switches: use LazyExperts or ScheduledExperts.")
        steps = (problem.horizon or 1) - 1
        sums, privacy = private_sum(steps, target, mechanism, CubeTree.best)
        made = cls(problem, 1.0, sums, privacy, hold, matrix, norm, **separated(target, sums))
        scale = made.scale * (1.0 if made.coordinates is None else made.coordinates.spread)
        return replace(made, eta=best_eta(problem.n, steps + 1, sums, scale, problem.delay))

    @classmethod
    def _as_printed(
        cls,
        problem: Experts,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        eta: float | None = None,
        matrix: Any = None,
        norm: float | None = None,
    ) -> HedgeOnSums:
        """Make the plan of `as_printed`.

        Args:
            problem: the problem.
            asked: the privacy that is asked.
            result: Theorem 15, or Lemma 16 for sums in the coordinates of a matrix.
            reading: where sigma is added.
            eta: the learning rate, which is not printed (default: the one of the smallest bound).
            matrix: M of Lemma 16.
            norm: max |M l| of Lemma 16, l from 1/2.
        """
        owner = "HedgeOnSums.as_printed"
        named = choose_reading(owner, result, reading, READINGS_OF_SIGMA)
        left_open = ("eta", "matrix", "norm") if result == "Lemma 16" else ("eta",)
        refuse_own(owner, result, {"eta": eta, "matrix": matrix, "norm": norm}, left_open)
        if result == "Lemma 16" and (matrix is None or norm is None):
            raise InvalidInput(f"{owner} needs matrix and norm for Lemma 16.")
        rounds = problem.horizon or 1
        if asked.delta <= 0 or rounds < 2:
            raise PrivacyError(f"{owner} needs delta > 0 and 2 rounds: got {asked.delta:g} and {rounds}.")
        draft = cls(problem, 1.0, Tree(rounds - 1), 1.0, False, matrix, norm, **asked.contract)
        differs = [
            "sums are padded to the noise of the largest with noise that is free of data",
            "noise is discrete, on a lattice, and wider by 1e-5 of itself at most",
            "a loss outside its range is refused",
        ]
        evidence = ["eta is not printed: it is the one of our smallest bound"] if eta is None else []
        if draft.coordinates is None or norm is None:
            order = "O(sqrt(T log N) + sigma sqrt(log N))"
            values = {"sigma": theorem_15(rounds, sqrt(problem.n), asked.epsilon, asked.delta)}
            noise, spread = values["sigma"], 1.0
        else:
            order = "O(sqrt(T log N) + sigma' sqrt(log N))"
            spread = draft.coordinates.spread
            values = lemma_16(rounds, spread, norm, asked.epsilon, asked.delta)
            noise = values["coordinate"]
            differs.append("M l is clipped to its norm, so that privacy rests on no promise")
            evidence.append("replacing a loss moves M l by up to twice its norm, which the print leaves out")
        node = noise if named == READINGS_OF_SIGMA[0] else noise / draft.mechanism.largest_row_norm
        rate = eta
        if rate is None:
            rate = best_eta(problem.n, rounds, draft.mechanism, node * spread, problem.delay)
        printed = Printed(
            paper="ctrl",
            result=result,
            epsilon=asked.epsilon,
            delta=asked.delta,
            reading=named,
            order=order,
            evidence=(*evidence, "proved for all noisy sums, by the Gaussian mechanism"),
            differs=tuple(differs),
            values={**values, "node": node},
        )
        return replace(draft, eta=rate, privacy=privacy_of_noise(draft, node), printed=printed)

    def broken_assumption(self, feedback: Any) -> str:
        """Return the share of losses whose product with the matrix is longer than the norm, if there are any."""
        if self.matrix is None or self.norm is None:
            return ""
        low, high = self.problem.loss_range
        rows = (np.asarray(feedback, dtype=np.float64) - low) / (high - low) - 0.5
        lengths = np.linalg.norm(rows @ np.asarray(self.matrix).T, axis=1)
        share = float(np.mean(lengths > self.norm * (1 + 1e-9)))
        return f"{share:.0%} of the rounds have |M l| above {self.norm:g} and are clipped" if share else ""

    def small_instances(self) -> tuple[SmallInstance, ...]:
        rounds = min(FEW_ROUNDS, self.rounds)
        mechanism = replace(self.mechanism, steps=rounds - 1)
        n = min(8, self.problem.n) if self.matrix is None else self.problem.n
        return sum_instances(self._resized(rounds, n=n, mechanism=mechanism), rounds - 1)

    def _learner(self, randomness: Randomness) -> HedgeOnSumsLearner:
        return HedgeOnSumsLearner(self, randomness)


class HedgeOnSumsLearner(ExpertLearner):
    """Plays from the weights of the noisy sums."""

    plan: HedgeOnSums
    _stream_names = ("draw",)
    _state = ("_sums", "_pads", "_gumbel")  # the Gumbel vector, if it is held: a fresh one is used and forgotten

    def __init__(self, plan: HedgeOnSums, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._sums = plan.mechanism.start_on(plan.grid, randomness, "noise")
        self._pads = padding(plan.mechanism, plan.grid, self._n, randomness)
        gumbel = -np.log(self._streams["draw"].standard_exponential(self._n))
        self._action = int(np.argmax(gumbel))
        self._gumbel = gumbel if plan.hold else None
        self._coordinates = plan.coordinates
        self._rounds, self._eta, self._steady = plan.rounds, plan.eta, plan.mechanism.steady

    def _consistent(self) -> bool:
        return super()._consistent() and self._sums.step == min(self._round, self.plan.rounds - 1)

    def _absorb(self, losses: FloatArray) -> None:
        plan = self.plan
        step = self._round + 1
        if step == self._rounds:
            return
        if self._coordinates is None:
            noisy = self._sums.add(losses)
            if not self._steady:
                noisy += self._pad(step)
        else:
            assert plan.norm is not None
            noisy = self._coordinates.back(self._sums.add(self._coordinates.clipped(losses, plan.norm)))
        gumbel = self._gumbel
        if gumbel is None:
            gumbel = -np.log(self._streams["draw"].standard_exponential(self._n))
        if kernels.compiled is not None:
            self._move(kernels.compiled.leader(gumbel, self._eta, noisy))
        else:
            self._move(int(np.argmax(gumbel - self._eta * noisy)))

    def _absorb_block(self, block: FloatArray, best: FloatArray, actions: IntArray) -> None:
        """All rounds at once."""
        plan = self.plan
        summed = min(len(block), plan.rounds - 1 - self._round)
        if not summed or self._coordinates is not None:
            super()._absorb_block(block, best, actions)
            return
        noisy = self._sums.add_many(block[:summed])
        for row in range(0 if plan.mechanism.steady else summed):
            noisy[row] += self._pad(self._round + row + 1)
        gumbel = self._gumbel
        if gumbel is None:
            gumbel = -np.log(self._streams["draw"].standard_exponential((summed, self._n)))
        held = np.append(self._action, np.argmax(gumbel - plan.eta * noisy, axis=1))
        actions[:] = held[: len(block)]
        self._switches += int(np.count_nonzero(np.diff(held)))
        self._action = int(held[-1])
        self._round += len(block)
        self._played = False

    def _pad(self, step: int) -> FloatArray:
        """Data-free noise that lifts this sum's law to the largest one: as many nodes as are missing."""
        padding: FloatArray = self._pads[len(self._pads) - 1 - self._sums.nodes(step)]
        return padding


@dataclass(frozen=True, eq=False)
class Coordinates:
    """M, one row for each coordinate, and its pseudoinverse: sums of M l are as good as sums of losses l."""

    matrix: FloatArray

    @classmethod
    def of(cls, matrix: Any, n: int) -> Coordinates:
        """Check a matrix for so many experts, and copy it."""
        checked = real_array("HedgeOnSums", "matrix", matrix, (None, n))
        if not (len(checked) and np.isfinite(checked).all()):
            raise InvalidInput(f"The 'matrix' of HedgeOnSums must have rows of {n} finite numbers each.")
        made = cls(checked)
        if not made.error <= LARGEST_ERROR:
            raise InvalidInput(
                "The 'matrix' of HedgeOnSums must tell all losses apart, up to a number that is added to all of a "
                "round: give it rank N, or N - 1 with rows that sum to 0."
            )
        return made

    @cached_property
    def inverse(self) -> FloatArray:
        """The pseudoinverse, whose rows are moved by one vector so that the longest of them is short."""
        found = np.linalg.pinv(self.matrix)
        centred = found - found.mean(axis=0)  # moves all experts alike, which no weight sees
        shorter = np.linalg.norm(centred, axis=1).max() < np.linalg.norm(found, axis=1).max()
        return np.asarray(centred if shorter else found, dtype=np.float64)

    @cached_property
    def error(self) -> float:
        """By how much two losses of a round, in [-1/2, 1/2], may be apart after M and back, beside what they were."""
        there = self.inverse @ self.matrix - np.eye(self.matrix.shape[1])
        there = there - there.mean(axis=0)
        return float(np.abs(there).sum(axis=1).max()) + 1e-14 * float(np.abs(self.inverse).sum(axis=1).max())

    @property
    def spread(self) -> float:
        """The deviation of a reconstructed loss for coordinates of deviation 1: |M^+| from l2 to l_infinity."""
        return float(np.linalg.norm(self.inverse, axis=1).max()) * (1 + 1e-12)

    @property
    def sums(self) -> float:
        """By how much a reconstructed loss moves if each coordinate moves by 1 at most."""
        return float(np.abs(self.inverse).sum(axis=1).max()) * (1 + 1e-12)

    @np.errstate(all="ignore")  # whether a product overflows depends on the losses
    def clipped(self, losses: FloatArray, norm: float) -> FloatArray:
        """M (l - 1/2), shortened to the norm; a product that is no number counts as 0."""
        product = np.nan_to_num(self.matrix @ (losses - 0.5), posinf=0.0, neginf=0.0)
        return np.asarray(clip_rows(product[None], norm)[0])

    def back(self, sums: FloatArray) -> FloatArray:
        """Sums of losses, up to a number that is added to all of them."""
        return np.asarray(self.inverse @ sums)


def best_eta(n: int, rounds: int, mechanism: RunningSum, scale: float, delay: int = 0) -> float:
    """The learning rate of the smallest `hedge_regret`, in closed form unless noise is Laplace (with tanh x <= x)."""
    if mechanism.noise != "laplace" or not mechanism.steps:
        spread = rounds / 8 + rounds * delay / 4 + _last_variance(n, mechanism, scale) / 2
        return sqrt(max(LEAST_COMPLEXITY, log(n)) / spread)
    # Laplace moments exist below 1/scale only.
    return minimise(lambda eta: hedge_regret(eta, n, rounds, mechanism, scale, delay), 1e-9 / scale, 1 / scale, 1e-3)


def tilted_loss(spread: float) -> float:
    """By how much the mean of losses in [0, 1] changes at most if the logarithms of all weights move within `spread`.

    The total variation is at most (e^{spread/2} - 1)/(e^{spread/2} + 1) = tanh(spread/4).
    """
    return tanh(spread / 4)


def hedge_regret(eta: float, n: int, rounds: int, mechanism: RunningSum, scale: float, delay: int = 0) -> float:
    """Ln N/eta + eta T/8 + (1/eta) ln E[exp(eta noise)] + `delay_regret` for losses in [0, 1]."""
    if n == 1:
        return 0.0
    if mechanism.noise != "laplace" or not mechanism.steps:
        noise = eta * _last_variance(n, mechanism, scale) / 2
    elif eta * scale < 1:
        noise = -(mechanism.largest_row_norm**2) * log1p(-((eta * scale) ** 2)) / eta
    else:
        noise = float("inf")
    return log(n) / eta + eta * rounds / 8 + noise + delay_regret(eta, rounds, delay)


def _last_variance(n: int, mechanism: RunningSum, scale: float) -> float:
    """The variance of one coordinate of the noisiest sum."""
    return (scale * mechanism.largest_row_norm) ** 2 * unit_variance(mechanism.noise, n) if mechanism.steps else 0.0


def padding(mechanism: RunningSum, grid: Grid, size: int, randomness: Randomness) -> FloatArray:
    """Row k: the sum of the first k of as many noises as the noisiest sum has nodes; none if noise never falls.

    All rounds may share one list of noises: a round's expected loss sees only the law of its own sum.

    Args:
        mechanism: the running sum.
        grid: the lattice of the sum.
        size: coordinates of a sum.
        randomness: the learner's noise.
    """
    count = 0 if mechanism.steady else round(mechanism.largest_row_norm**2)
    pads = np.zeros((count + 1, size))
    if grid.units:
        pads[1:] = grid.noise(randomness, "pad").draw(count * size).reshape(count, size) * grid.step
    elif count:
        drawn = mechanism.noise_from(randomness.stream("pad"), size)(count * size)
        pads[1:] = grid.scale * drawn.reshape(count, size)
    return np.asarray(np.add.accumulate(pads))
