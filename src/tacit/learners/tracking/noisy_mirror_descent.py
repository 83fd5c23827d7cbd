"""Noisy clipped mirror descent: every loss vector is made noisy before anything is computed from it.

Paper: "Tracking the Best Expert Privately" (ICML 2025), Algorithm 3, with enough noise. One round changes N
coordinates by up to 1 each: Laplace noise must have scale N/epsilon (l1 sensitivity N), Gaussian noise
standard deviation sqrt(N)/mu (l2 sensitivity sqrt(N)). The printed Lap(1/epsilon) is refused: it is not
private, and already the released experts show it. The printed proof for adaptive adversaries also lets the
comparator depend on the noise; the bound here is for oblivious ones.

    w uniform;  each round: play J ~ w, observe l;  v = w e^{-eta (l + noise)};  w = max(floor, c v), sum 1
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log, log1p, sqrt
from typing import ClassVar

import numpy as np

from tacit.errors import PrivacyError
from tacit.learners.experts.common import ExpertLearner
from tacit.learners.plan import SmallInstance
from tacit.learners.small_problems import FEW_ROUNDS
from tacit.learners.target import RegretBound, Target
from tacit.learners.tracking.common import TrackingPlan, refuse_max_switches
from tacit.mechanisms.noisy_vectors import NoisyVectors, vector_grid
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.mechanisms.running_sums.records import LossRecords
from tacit.privacy.calibration import gaussian_mu, minimise
from tacit.privacy.curves import ROUND_UP, Curve, Pure
from tacit.privacy.guarantee import Relation
from tacit.problems import Tracking
from tacit.randomness import Randomness
from tacit.validation import FloatArray, IntArray, check_choice, check_positive

NOISES = ("laplace", "gaussian")


@dataclass(frozen=True)
class NoisyMirrorDescent(TrackingPlan):
    """Mirror descent on noisy losses over the simplex without its corners.

    Privacy contract: every weight and every decision; pure epsilon with Laplace noise,
    mu-Gaussian with Gaussian noise. A person in m rounds: epsilon adds, mu^2 adds. Under zero-out a constant
    loss stands for the round; only differences of losses matter, so it counts as 1/2 and sensitivities halve.
    Adaptive adversaries. Enforced: losses in their range (others raise). Numerics: exact with Laplace noise (two-sided
    geometric, on integer losses), exact up to an epsilon that the contract states with Gaussian noise.
    Regret (oblivious): (ln N + S ln(N T/S))/eta + T (eta/8 + noise(eta)) + S(1-1/N).

    Reference: Asi, Raman and Saha (2025), "Tracking the Best Expert Privately", https://arxiv.org/abs/2503.09889.

    Attributes:
        eta: learning rate.
        scale: Laplace scale, or standard deviation of the Gaussian noise, of each coordinate.
        noise: "laplace" or "gaussian".

    >>> problem = Tracking(n=2, horizon=10_000, switches=1, adversary="oblivious")
    >>> plan = NoisyMirrorDescent.calibrate(problem, epsilon=1.0, delta=0.0)
    >>> plan.noise, round(plan.scale, 6)
    ('laplace', 2.0)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> expert = learner.play()
    >>> learner.observe([0.0, 1.0])
    """

    eta: float
    scale: float
    noise: str = "laplace"
    delta: float = field(default=0.0, kw_only=True)
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every weight and every decision"

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = "NoisyMirrorDescent"
        refuse_printed_noise(self.noise)
        check_positive(owner, "eta", self.eta)
        check_positive(owner, "scale", self.scale)
        check_choice(owner, "noise", self.noise, NOISES)

    @property
    def floor(self) -> float:
        """The smallest weight of an expert: S/(N T), with S at least 1."""
        return smallest_weight(self.problem)

    @property
    def theorem(self) -> str:
        """What proves it."""
        return f"{self.noise} mechanism on each round's losses, parallel composition"

    @cached_property
    def grid(self) -> Grid:
        """The lattice of the losses."""
        records = LossRecords(self.problem.n, self.relation.sides)
        return vector_grid(self.noise, self.scale, records, self.rounds_per_person, self.numerics)

    @cached_property
    def curve(self) -> Curve:
        """What the noisy losses of one person's rounds leak."""
        return Pure(0.0) if self.problem.n == 1 else self.grid.curve

    @property
    def stated_numerics(self) -> str:
        """What the contract says about its numerics."""
        return self.grid.numerics

    @property
    def regret_bound(self) -> RegretBound:
        """Mirror descent's telescoping divergences, plus what curvature and noise cost each round.

        Each stretch of the comparator, mixed with floor weight on everyone, changes its divergence by at most
        ln(1/floor), the first one by ln N; the mixing costs S(1-1/N). A round costs eta/8 for the losses
        (Hoeffding) and (1/eta) ln E e^{eta noise} for the noise (Jensen), which is independent of the weights
        that it meets: eta scale^2/2 for Gaussian, -ln(1 - eta^2 scale^2)/eta for Laplace noise. Discrete noise has no
        larger moments than normal or Laplace noise of its scale. On the lattice losses are too small by less than a
        step, those of the comparator as well.
        """
        value = mirror_regret(self.problem, self.eta, self.grid.scale, self.noise)
        if self.problem.n > 1:
            value += self.rounds * self.grid.lost
        formula = "(ln(N) + S ln(N T/S))/eta + T (eta/8 + ln(E e^{eta noise})/eta) + S(1-1/N)"
        return RegretBound(
            self.problem.width * value, formula, ("oblivious adversary", "expectation over noise and draws")
        )

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Fixed sequences: a comparator that reacts could follow the noise."""
        return ("stochastic", "oblivious")

    @property
    def expected_switches(self) -> float:
        """At most one per round."""
        return float(self.rounds - 1)

    @classmethod
    def _calibrate(cls, problem: Tracking, target: Target, *, noise: str | None = None) -> NoisyMirrorDescent:
        refuse_printed_noise(noise)
        refuse_max_switches(cls.__name__, target, "it draws afresh every round")
        chosen = noise or ("gaussian" if target.delta > 0 else "laplace")
        check_choice(cls.__name__, "noise", chosen, NOISES)
        relation = target.relation
        sensitivity = _sensitivity(problem.n, chosen, relation)
        people = target.rounds_per_person
        if chosen == "laplace":
            scale, delta = people * sensitivity / target.epsilon, 0.0
        else:
            scale, delta = sqrt(people) * sensitivity / gaussian_mu(target.epsilon, target.delta), target.delta
        scale *= ROUND_UP**3  # so that the curve, itself rounded up, still meets the target

        most = 0.999 / scale if chosen == "laplace" else 10.0  # Laplace moments exist below 1/scale only
        eta = minimise(lambda eta: mirror_regret(problem, eta, scale, chosen), most * 1e-8, most)
        return cls(problem, eta, scale, chosen, **{**target.contract, "delta": delta})

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """Few rounds and experts at its own noise."""
        small = self._resized(min(FEW_ROUNDS, self.rounds), n=min(8, self.problem.n))
        return (SmallInstance("replayed noise", f"own privacy, T={small.rounds}", small),)

    def _learner(self, randomness: Randomness) -> NoisyMirrorDescentLearner:
        return NoisyMirrorDescentLearner(self, randomness)


class NoisyMirrorDescentLearner(ExpertLearner):
    """Weights on the clipped simplex, moved by noisy losses, and one draw a round."""

    plan: NoisyMirrorDescent
    _stream_names = ("draw",)
    _state = ("_weights", "_hidden")

    def __init__(self, plan: NoisyMirrorDescent, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._floor = plan.floor
        self._below: FloatArray = self._floor * np.arange(
            self._n, dtype=np.float64
        )  # mass of the experts that lie at the floor
        self._weights = np.full(self._n, 1 / self._n)
        self._hidden = NoisyVectors(plan.grid, plan.noise, randomness, "noise")
        self._action = int((self._streams["draw"].standard_exponential(self._n) / self._weights).argmin())

    @np.errstate(all="ignore")
    def _absorb(self, losses: FloatArray) -> None:
        self._steps(losses[None], np.empty(1, dtype=np.int64))

    def _absorb_block(self, block: FloatArray, best: FloatArray, actions: IntArray) -> None:
        self._steps(block, actions)
        self._round += len(block)
        self._played = False

    def _steps(self, block: FloatArray, actions: IntArray) -> None:
        exponents = self._hidden.release(block) * -self.plan.eta  # losses from their centre: the weights do not mind
        factors = np.exp(exponents - np.maximum.reduce(exponents, axis=1)[:, None])
        clocks = self._streams["draw"].standard_exponential(block.shape)
        for row in range(len(block)):
            actions[row] = self._action
            self._weights = clip_to_floor(self._weights * factors[row], self._floor, self._below)
            if self._round + row + 1 != self._horizon:
                self._move(int((clocks[row] / self._weights).argmin()))


def clip_to_floor(values: FloatArray, floor: float, below: FloatArray) -> FloatArray:
    """max(floor, c v) with the c that makes the sum 1: the divergence projection onto {w >= floor}.

    With the k smallest at the floor, c = (1 - k floor)/(sum of the others); the right k is the first at which
    the next one lies above the floor. `below` is k * floor for each k.
    """
    ordered = np.sort(values)
    scales = (1 - below) / np.add.accumulate(ordered[::-1])[::-1]
    first = int((scales * ordered >= floor).argmax())
    result: FloatArray = np.maximum(values * scales[first], floor)
    return result


def smallest_weight(problem: Tracking) -> float:
    """The smallest weight of an expert: S/(N T), with S at least 1."""
    return max(1, problem.switches) / (problem.n * (problem.horizon or 1))


def mirror_regret(problem: Tracking, eta: float, scale: float, noise: str) -> float:
    """(ln N + S ln(N T/S))/eta + T (eta/8 + noise cost) + S(1-1/N), in units of the loss range."""
    if problem.n == 1:
        return 0.0
    complexity = log(problem.n) + problem.switches * log(1 / smallest_weight(problem))
    per_round = eta / 8 + _noise_cost(eta, scale, noise)
    return complexity / eta + (problem.horizon or 1) * per_round + max(1, problem.switches) * (1 - 1 / problem.n)


def refuse_printed_noise(noise: str | None) -> None:
    """Refuse the noise of the printed algorithm, with the counterexample."""
    if noise == "printed":
        raise PrivacyError(
            "The printed noise Lap(1/epsilon) on all N coordinates is not epsilon-private: with N=3, T=6, S=2 and "
            "epsilon=0.5 the released experts alone have a log-likelihood ratio of 0.607; use noise='laplace' "
            "(scale N/epsilon) or noise='gaussian'."
        )


def _sensitivity(n: int, noise: str, relation: Relation) -> float:
    records = LossRecords(n, relation.sides)
    return records.l1_move if noise == "laplace" else records.l2_move


def _noise_cost(eta: float, scale: float, noise: str) -> float:
    """Ln E e^{eta noise}/eta."""
    if noise == "gaussian":
        return eta * scale**2 / 2
    return -log1p(-((eta * scale) ** 2)) / eta if eta * scale < 1 else inf
