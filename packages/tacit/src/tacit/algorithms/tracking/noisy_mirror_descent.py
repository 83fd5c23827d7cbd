"""Noisy clipped mirror descent: losses are made noisy, batch by batch, before anything is computed from them.

Paper: "Tracking the Best Expert Privately" (ICML 2025), Algorithm 3, with enough noise and less regret. One round
changes N coordinates by up to 1 each. The printed Lap(1/epsilon), which `NoisyMirrorDescent.as_printed` runs, does not
keep its epsilon, and in small instances already the released experts show it. Under pure privacy noise shaped for the
cube pays for the N coordinates once; Laplace noise must have scale N/epsilon (l1 sensitivity N), Gaussian noise
standard deviation sqrt(N)/mu (l2 sensitivity sqrt(N)). One noise hides the sum of a batch of rounds. The printed proof
for adaptive adversaries forgets that the comparator may follow the noise; the bound here pays for it.

    w uniform;  each round: play a fresh J ~ w, observe l
    at the end of a batch, its losses being L in sum:  v = w e^{-eta (L + noise)};  w = max(floor, c v), sum 1
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import log
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import ROUND_UP
from tacit.accounting.guarantee import REPLACE
from tacit.algorithms.tracking.noisy_batches import (
    BatchLearner,
    BatchNoise,
    BatchPlan,
    best_length,
    clip_to_floor,
    mirror_rate,
    mirror_regret,
    smallest_weight,
)
from tacit.algorithms.tracking.tracking_plan import TrackingPlan, refuse_max_switches, refuse_reading
from tacit.errors import InvalidInput
from tacit.noise.noisy_vectors import NOISES, together
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import LossRecords
from tacit.printed import tracking
from tacit.problems import Problem, Tracking
from tacit.runtime.doubling import REFERENCE_ROUNDS
from tacit.runtime.plan import Plan, check_options
from tacit.runtime.printed import Printed
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, check_choice, check_integer, check_positive

MOST_OUTCOMES = 10**5
"""Sequences of experts up to which the leak of the printed noise is simulated: beyond, one event shows too little."""
LEAK_SAMPLES, LEAK_SEED = 100_000, 1


@dataclass(frozen=True)
class NoisyMirrorDescent(TrackingPlan, BatchPlan):
    """Mirror descent on noisy sums of batches over the simplex without its corners.

    Privacy contract: every weight and every decision; pure epsilon with cube or Laplace noise, mu-Gaussian with
    Gaussian noise. A person in m rounds: epsilon adds; squares of mu add, over batches. Under zero-out a constant
    loss stands for the round; only differences of losses matter, so it counts as 1/2 and sensitivities halve.
    Adaptive adversaries. Enforced: losses in their range (others raise). Numerics: exact with cube and Laplace noise
    (on integer losses), exact up to an epsilon that the contract states with Gaussian noise.
    Regret, n batches of B rounds, floor a = S/(N n): (ln N + S ln(1/a))/eta + n (eta B^2/8 + noise(eta)) + S B (1-1/N)
    + S B/2; against adaptive adversaries, who may know all noise, the largest sum of noises more.

    Reference: Asi, Raman and Saha (2025), "Tracking the Best Expert Privately", https://arxiv.org/abs/2503.09889.

    Page: docs/algorithms/noisy-mirror-descent.md.

    Attributes:
        eta: learning rate.
        scale: scale of the cube or Laplace noise, or standard deviation of the Gaussian noise, of each coordinate.
        noise: "cube", "laplace" or "gaussian".
        batch: rounds whose losses are added up before noise.

    >>> problem = Tracking(n=5, horizon=100_000, switches=2, adversary="adaptive")
    >>> plan = NoisyMirrorDescent.calibrate(problem, epsilon=1.0, delta=0.0)
    >>> plan.noise, round(plan.scale, 6), plan.batch, round(float(plan.regret_bound))
    ('cube', 1.0, 15, 6472)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> expert = learner.play()
    >>> learner.observe([0.0, 1.0, 0.5, 0.5, 1.0])
    """

    eta: float
    scale: float
    noise: str = "cube"
    batch: int = 1
    delta: float = field(default=0.0, kw_only=True)
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 5.2", "Theorem C.2", "Algorithm 3")
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every weight and every decision"

    def _check_parameters(self) -> None:
        owner = "NoisyMirrorDescent"
        refuse_printed_noise(self.noise)
        check_positive(owner, "eta", self.eta)
        check_positive(owner, "scale", self.scale)
        check_choice(owner, "noise", self.noise, NOISES)
        check_integer(owner, "batch", self.batch)

    @property
    def theorem(self) -> str:
        return f"{self.noise} mechanism on each batch's losses, parallel composition"

    @property
    def regret_bound(self) -> RegretBound:
        """Mirror descent's telescoping divergences, plus what curvature and noise cost each batch.

        The moment generating function of integer noise is at most that of the normal, Laplace or cube noise of its
        scale. On the lattice losses are too small by less than a step, those of the comparator as well.
        """
        value = mirror_regret(self.problem, self.eta, self.batch, self.law)
        if self.problem.n > 1:
            value += self.rounds * self.grid.lost
        formula = "(ln(N) + S ln(1/a))/eta + n (eta B^2/8 + ln(E e^{eta noise})/eta) + S B(1-1/N) + S B/2"
        if self.problem.adversary == "adaptive":
            formula += " + E max noise of a sequence"
        return RegretBound(
            self.problem.width * value,
            f"{formula}, n = T/B, a = S/(N n)",
            (f"{self.certified_against[-1]} adversary", "expectation over noise and draws"),
        )

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Adaptive adversaries, if the problem has one: their comparator may follow the noise, which costs."""
        fixed = ("stochastic", "oblivious")
        return (*fixed, "adaptive") if self.problem.adversary == "adaptive" else fixed

    @classmethod
    def calibrate_for(cls, problem: Problem, target: Target, *, by_rule: bool = True, **options: Any) -> Plan:
        """Calibrate; for an unknown horizon all epochs have the kind of noise of a long run."""
        if isinstance(problem, Tracking) and problem.horizon is None and options.get("noise") is None:
            # Which kind is the better one depends on the horizon, and epochs of two kinds would share no guarantee.
            check_options(f"{cls.__name__}.calibrate", cls._calibrate, options)
            long = cls._calibrate(replace(problem, horizon=REFERENCE_ROUNDS), target, **options)
            options = {**options, "noise": long.noise}
        return super().calibrate_for(problem, target, by_rule=by_rule, **options)

    @classmethod
    def _calibrate(
        cls, problem: Tracking, target: Target, *, noise: str | None = None, batch: int | None = None
    ) -> NoisyMirrorDescent:
        refuse_printed_noise(noise)
        refuse_max_switches(cls.__name__, target, "it draws afresh every round")
        # A pure plan meets every delta, and cube noise is the smaller one for few experts.
        kinds = (noise,) if noise else ("cube", "gaussian") if target.delta > 0 else ("cube",)
        for kind in kinds:
            check_choice(cls.__name__, "noise", kind, NOISES)
        if batch is not None:
            check_integer(cls.__name__, "batch", batch)

        def regret(kind: str, length: int) -> float:
            law = BatchNoise(kind, _scale(problem, target, kind, length), problem.n)
            return mirror_regret(problem, mirror_rate(problem, length, law), length, law)

        def best(kind: str) -> int:
            return best_length(problem.horizon or 1, partial(regret, kind)) if batch is None else batch

        kind, length = min(((kind, best(kind)) for kind in kinds), key=lambda pair: regret(*pair))
        scale = _scale(problem, target, kind, length)
        eta = mirror_rate(problem, length, BatchNoise(kind, scale, problem.n))
        contract = target.contract if kind == "gaussian" else {**target.contract, "delta": 0.0}
        return cls(problem, eta, scale, kind, length, **contract)

    @classmethod
    def _as_printed(
        cls,
        problem: Tracking,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        eta: float | None = None,
        noise: float = 1.0,
    ) -> NoisyMirrorDescent:
        """Make Algorithm 3; `eta` is its input (default: that of Theorem 5.2), `noise` multiplies the printed scale."""
        owner = "NoisyMirrorDescent.as_printed"
        refuse_reading(owner, reading)
        check_positive(owner, "noise", noise)
        rounds, switches = problem.horizon or 1, problem.switches
        if eta is not None and result == "Theorem 5.2":
            raise InvalidInput(f"{result} prints its eta: give eta for 'Algorithm 3' or 'Theorem C.2' only.")
        if not switches or problem.n * rounds < 2:
            raise InvalidInput(f"The 'problem' of {owner} must have a switch, because eta is 0 or undefined otherwise.")
        values = tracking.theorem_5_2(problem.n, rounds, switches, asked.epsilon)
        rate = values["eta"] if eta is None else check_positive(owner, "eta", eta)
        order = tracking.theorem_5_2_order(problem.n, rounds, switches, asked.epsilon)
        upper = tracking.theorem_c_2_regret(problem.n, rounds, switches, asked.epsilon, rate)
        scale = values["scale"] * noise
        leak, shown = printed_leak(problem, asked, rate, scale)
        louder = () if noise == 1 else (f"the noise is {noise:g} times the printed one",)
        printed = Printed(
            "tracking",
            result,
            asked.epsilon,
            asked.delta,
            regret=upper if result == "Theorem C.2" else None,
            order="sqrt(S T) ln(NT)^1.5/epsilon + S ln(NT)/epsilon" if result == "Theorem 5.2" else "",
            lower_bound=leak,
            evidence=(
                f"one replaced loss moves all {problem.n} coordinates by up to 1, and the noise is printed for one",
                *(("the theorem is for epsilon below 1",) if asked.epsilon >= 1 and result == "Theorem 5.2" else ()),
                *shown,
            ),
            differs=("losses and noise are whole numbers of steps of at most 2^-24, drawn exactly", *louder),
            values={
                **values,
                "eta": rate,
                "scale": scale,
                **({"order": order} if result == "Theorem 5.2" else {}),
            },
        )
        return cls(problem, rate, scale, "laplace", printed=printed, **{**asked.contract, "delta": 0.0})

    def small_instances(self) -> tuple[SmallInstance, ...]:
        return self._shortened(batch=min(2, self.batch))

    def _learner(self, randomness: Randomness) -> NoisyMirrorDescentLearner:
        return NoisyMirrorDescentLearner(self, randomness)


class NoisyMirrorDescentLearner(BatchLearner):
    """Weights on the clipped simplex, moved by noisy sums of batches, and one draw a round."""

    plan: NoisyMirrorDescent
    _stream_names = ("draw",)
    _state = ("_weights", "_hidden")

    def __init__(self, plan: NoisyMirrorDescent, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._action = int((self._streams["draw"].standard_exponential(self._n) / self._weights).argmin())

    def _steps(self, block: FloatArray, actions: IntArray) -> None:
        exponents = self._ended(block) * -self.plan.eta  # losses from their centre: the weights do not mind
        factors = np.exp(exponents - np.maximum.reduce(exponents, axis=1)[:, None])
        clocks = self._streams["draw"].standard_exponential(block.shape)
        first = 0
        for factor in factors:
            last = self._end(first)
            self._play(clocks[first : last - 1], actions[first : last - 1])
            self._weights = clip_to_floor(self._weights * factor, self._floor, self._below)
            self._play(clocks[last - 1 : last], actions[last - 1 : last])
            first = last
        last = len(block) - (self._round + len(block) == self._horizon)  # behind the last round nothing is drawn
        self._play(clocks[first:last], actions[first:last])
        actions[last:] = self._action

    def _play(self, clocks: FloatArray, actions: IntArray) -> None:
        """Write the decision of each round, and draw that of the next one by this round's clocks."""
        if not len(clocks):
            return
        drawn = np.append(self._action, (clocks / self._weights).argmin(axis=1))
        actions[:] = drawn[:-1]
        self._switches += int(np.count_nonzero(np.diff(drawn)))
        self._action = int(drawn[-1])


def _scale(problem: Tracking, target: Target, kind: str, batch: int) -> float:
    """The smallest that meets the target, rounded up so that the curve, itself rounded up, still meets it."""
    move = LossRecords(problem.n, target.relation.sides).move(kind) * ROUND_UP**3
    if kind != "gaussian":
        return target.rounds_per_person * move / target.epsilon
    return together(target.rounds_per_person, batch) * move / gaussian_mu(target.epsilon, target.delta)


def refuse_printed_noise(noise: str | None) -> None:
    """Name the new spelling of the printed noise."""
    if noise == "printed":
        raise InvalidInput(
            "The printed noise is that of NoisyMirrorDescent.as_printed(problem, epsilon=, delta=), for simulations; "
            "noise='laplace' has scale N/epsilon, and there are 'cube' and 'gaussian'."
        )


def printed_leak(problem: Tracking, asked: Target, eta: float, scale: float) -> tuple[float, tuple[str, ...]]:
    """Return a lower bound on delta(epsilon) of Algorithm 3's experts with Laplace noise, and how it is known.

    One event is simulated where it is likely enough: at most `MOST_OUTCOMES` sequences of experts. Neighbours replace a
    loss; under zero-out, or for several rounds of a person, nothing is bounded here.
    """
    n, rounds = problem.n, problem.horizon or 1
    single = asked.relation is REPLACE and asked.rounds_per_person == 1
    if n < 2 or rounds < 2 or not single or (rounds - 1) * log(n) > log(MOST_OUTCOMES):
        return 0.0, ()
    stream = Randomness.replayable(LEAK_SEED).stream("noise")
    drawn = stream.laplace(0.0, scale, (rounds - 1, LEAK_SAMPLES, n))
    leak, ratio = tracking.theorem_5_2_leak(asked.epsilon, eta, smallest_weight(problem, 1), drawn)
    event = f"P[J_2 = .. = J_T = 1] for first losses (0, 1, ..) and (1, 0, ..), by {LEAK_SAMPLES:,} draws of the noise"
    return leak, (f"log ratio {ratio:.3f} of {event}; delta is lowered by {tracking.ERRORS_BELOW:g} standard errors",)
