"""Explore first, then decide for each request by a linear model that all actions share.

Features x with |x| <= 1, K actions, centred losses y in [-1/2, 1/2] with E[y | x, a] = <theta_a, x>:

    rounds 1..m:     a_t uniform, by public coins
    then once:       S = sum x x' + noise,   C_a = sum_t x_t y_t (1{a_t = a} - 1/K) + noise
    phase j:         M = (m/n_j) S + (L_j + nu_j) I, eigenvalues below L_j lifted to L_j
                     a_t = argmin_a <x_t, K M^{-1} C_a>
    after phase j:   S += sum of the phase's x x' + fresh noise,   n_j = 2^j m

Coins know nothing of the features, so one Gram matrix of all rounds serves all actions. The mean over actions never
changes a decision, so only contrasts are released. Losses of greedy rounds are never read: the design would depend on
them. Theorems 1 (privacy, by the billboard lemma), 2 and 3 (regret): docs/algorithms/explore-linear.md. Sums and noise
are integers (release.py); the certificate is certificate.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit.accounting.calibration import gaussian_mu, minimise
from tacit.algorithms.arms.arm_plan import LossLearner
from tacit.algorithms.contextual.explore_linear.certificate import Certificate, Phase, phases, weight_bits
from tacit.algorithms.contextual.explore_linear.release import Lattice
from tacit.errors import PrivacyError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.lattice import quantise_vectors
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms
from tacit.problems import ContextualArms, Problem
from tacit.releases import Billboard
from tacit.runtime.plan import OptionPlan
from tacit.runtime.rounds import OPEN, Absent
from tacit.runtime.small_instances import SMALL_DELAY, SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, Rows, check_integer, check_positive, invalid, real_array

MOST_ACTIONS = 1_000
BLOCK = 4096  # rows whose products, at most 2^40 each, are added up in float64 without rounding
SEARCHED = 48  # lengths of exploration that are tried before the best is refined


@dataclass(frozen=True)
class ExploreLinear(OptionPlan):
    """Explore with public coins for m rounds, then decide by the features of each round and one noisy linear model.

    Privacy contract, private features: joint differential privacy by the billboard lemma. What is published (coins,
    noisy sums, hence all models) is (epsilon, delta)-DP in the features and losses of one person's rounds, against
    adaptive adversaries. A round's decision depends on what is published and on that round's own features, and is
    shown to that person only. So what all others see together, their decisions included, is (epsilon, delta)-DP in the
    features and losses of that person. Not covered: others whose data react to what that person was shown.
    Public features: all decisions may be published; what is protected are the losses of exploring rounds, the only ones
    that are read. Features must then be no function of anybody's private losses.
    Enforced: features are clipped to length 1, and features that are not finite count as 0. Losses must be in their
    range. Both are whole numbers before they are added up. Numerics: exact, up to what the samplers cost.

    Regret: the smaller of Theorems 2 and 3 of docs/algorithms/explore-linear.md, against the best action of every
    round. Assumed: exchangeable features, and losses that are independent given all features, linear in expectation,
    of the declared radius.

    Attributes:
        mu: of everything that is released, for all rounds of a person together (Gaussian DP).
        explore: m, how many rounds explore.
        ridges: L_j, one for each phase.

    >>> problem = ContextualArms(n=3, dimension=5, horizon=100_000)
    >>> plan = ExploreLinear.calibrate(problem, epsilon=1.0, delta=1e-6)
    >>> round(float(plan.regret_bound) / 100_000, 3)
    0.119
    >>> learner = plan.start()
    >>> action = learner.play([0.5, 0.1, 0.0, -0.3, 0.2])   # features of this request
    >>> learner.observe(0.25)                               # its loss
    """

    problem: ContextualArms
    mu: float
    explore: int
    ridges: tuple[float, ...]
    _takes: ClassVar[type[Problem]] = ContextualArms
    _no_delay: ClassVar[str] = ""
    released_streams: ClassVar[tuple[str, ...]] = ("coins", "noise")
    certified_against: ClassVar[tuple[str, ...]] = ("stochastic",)

    def _check_parameters(self) -> None:
        check_positive("ExploreLinear", "mu", self.mu)
        if self.problem.n > MOST_ACTIONS:
            raise PrivacyError(f"ExploreLinear takes up to {MOST_ACTIONS} actions. Got {self.problem.n} instead.")
        if self.rounds < self.problem.delay + 2:
            raise PrivacyError(
                f"ExploreLinear needs more rounds than the delay of {self.problem.delay} and one to explore. "
                f"Got {self.rounds} instead."
            )
        check_integer("ExploreLinear", "explore", self.explore, at_most=self.rounds - self.problem.delay - 1)
        if not isinstance(self.ridges, tuple) or len(self.ridges) != len(self.phases):
            allowed = f"a tuple of {len(self.phases)} numbers, one for each phase"
            raise invalid("ExploreLinear", "ridges", allowed, self.ridges)
        for ridge in self.ridges:
            check_positive("ExploreLinear", "ridges", ridge)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The greedy rounds that share a model each."""
        return tuple(phases(self.explore, self.rounds, self.problem.delay))

    @cached_property
    def lattice(self) -> Lattice:
        """The whole numbers in which records are added up and hidden."""
        return Lattice.finest(self.problem, self.mu, self.relation, self.rounds_per_person)

    @cached_property
    def certificate(self) -> Certificate:
        """Theorems 2 and 3 for this problem and noise."""
        return Certificate(self.problem, self.lattice, self.rounds_per_person)

    @cached_property
    def releases(self) -> Billboard:
        """A round enters one release, so each may spend the whole mu: k_i rounds in release i add up in squares."""
        return Billboard(self.lattice.products(len(self.phases)), own=not self._public)

    @property
    def unit(self) -> str:  # type: ignore[override]
        return "one round's feedback" if self._public else "one round's features and feedback"

    @property
    def released(self) -> str:
        if self._public:
            return "every decision, every coin, noisy contrasts of the actions, hence every model"
        return (
            "every coin, noisy Gram matrices and contrasts, hence every model, and the decisions of all other persons: "
            "a decision is shown to its own person only"
        )

    @property
    def theorem(self) -> str:
        noisy = "a round enters one noisy sum of integers, by a public schedule"
        return noisy if self._public else f"joint differential privacy by the billboard lemma: {noisy}"

    @property
    def assumed(self) -> str:
        return "the features are public, and no function of anybody's private losses" if self._public else ""

    @property
    def _public(self) -> bool:
        return self.problem.features == "public"

    @cached_property
    def regret_bound(self) -> RegretBound:
        """Exploration, then what each phase's model costs."""
        problem = self.problem
        formula = "at most (m + D) Delta (K-1)/K + sum_j T_j (min(Delta, e_j sqrt(B_j) + b_j + xi_j) + eta Delta)"
        if problem.missing:
            formula = f"[{formula}]/(1 - missing), R and Delta times 1 - missing"
        assumptions = (
            "features in exchangeable order, losses independent given all features",
            f"expected losses linear in features of length 1, parameters within {problem.radius:g} of a common vector"
            + (f", up to {problem.misspecification:g}" if problem.misspecification else ""),
            f"at most {problem.missing:g} of the feedback missing, independently of all else",
        )
        return RegretBound(self.certificate.regret(self.explore, self.ridges), formula, assumptions)

    @property
    def trivial_regret(self) -> float:
        """No round costs more than the largest gap."""
        return super().trivial_regret * self.problem.largest_gap

    @property
    def work_per_round(self) -> float:
        """A Gram matrix while exploring, a product afterwards."""
        return float(self.problem.dimension * (self.problem.dimension + self.problem.n))

    @property
    def remark(self) -> str:
        """How long it explores."""
        return f"explores the first {self.explore:,} rounds, then decides by {len(self.phases)} models in turn"

    @classmethod
    def _calibrate(cls, problem: ContextualArms, target: Target) -> ExploreLinear:
        if target.max_switches is not None and target.max_switches < (problem.horizon or 0) - 1:
            raise PrivacyError("ExploreLinear decides by features, which change: leave out max_switches.")
        mu = gaussian_mu(target.epsilon, target.delta)
        most = (problem.horizon or 0) - problem.delay - 1
        lattice = Lattice.finest(problem, mu, target.relation, target.rounds_per_person)
        certificate = Certificate(problem, lattice, target.rounds_per_person)

        def regret(explore: float) -> float:
            return certificate.best_ridges(max(1, round(explore)))[0]

        tried = np.unique(np.geomspace(1, max(1, most), SEARCHED).round())
        best = int(np.argmin([regret(explore) for explore in tried]))
        around = float(tried[max(0, best - 1)]), float(tried[min(best + 1, len(tried) - 1)])
        refined = minimise(regret, *around) if log(around[1] / around[0]) > 0 else around[0]
        explore = max(1, round(refined if regret(refined) < regret(float(tried[best])) else float(tried[best])))
        return cls(problem, mu, explore, certificate.best_ridges(explore)[1], **target.contract)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give two actions, two features and few rounds: every coin and neighbour of extreme records is tried."""
        delay = min(self.problem.delay, SMALL_DELAY)
        dimension = min(2, self.problem.dimension)
        problem = replace(self.problem, n=2, dimension=dimension, horizon=6 + delay, delay=delay)
        ridges = (1.0,) * len(tuple(phases(2, 6 + delay, delay)))
        small = replace(self, problem=problem, explore=2, ridges=ridges)
        return (SmallInstance("moved sums", f"own privacy, K=2, T={6 + delay}", small),)

    def _learner(self, randomness: Randomness) -> ExploreLinearLearner:
        return ExploreLinearLearner(self, randomness)


class ExploreLinearLearner(LossLearner):
    """Adds up whole numbers, and releases each sum once; decides by coins, then by the model of the last release."""

    plan: ExploreLinear
    _takes_context = True
    _context = "features"
    _state = ("_coins", "_noise", "_features", "_losses", "_gram", "_contrasts", "_weights", "_released")

    def __init__(self, plan: ExploreLinear, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        d, self._units = plan.problem.dimension, plan.lattice.units
        self._coins = Uniforms.from_streams(randomness, "coins")
        self._noise = DiscreteGaussian.from_streams(randomness, "noise")
        self._features = np.zeros((d, d), dtype=np.int64)  # sum of X X' since the last release
        self._losses = np.zeros((self._n, d), dtype=np.int64)  # sums of X Y of exploring rounds, by action
        self._gram = np.zeros((d, d))  # the noisy Gram matrix of all releases
        self._contrasts = np.zeros((self._n, d))
        self._weights = np.zeros((self._n, d))  # whole numbers: the model in use
        self._released = 0  # how many releases there were
        self._action = 0

    def _check_context(self, context: Any) -> IntArray:
        return self._quantised(real_array(self.plan.algorithm, "features", context, (self.plan.problem.dimension,)))

    def _check_contexts(self, contexts: Any) -> Rows:
        return Rows(self.plan.algorithm, "features", contexts, self.plan.problem.dimension)

    def _loaded_context(self, context: Any) -> IntArray:
        fits = isinstance(context, np.ndarray) and context.dtype == np.int64
        if not fits or context.shape != (self.plan.problem.dimension,) or not _within(context, self._units):
            raise TypeError("whole features expected")
        if int(context @ context) > self._units**2:
            raise TypeError("shorter features expected")
        return np.array(context)

    def _quantised(self, features: FloatArray) -> IntArray:
        """Features as whole numbers of length at most `units`; those that are not finite contribute nothing."""
        finite = np.isfinite(features).all(axis=-1, keepdims=True)
        return quantise_vectors(np.where(finite, features, 0.0), 1.0, self._units)

    def _choose(self, number: int, context: IntArray) -> int:
        if number < self._greedy:
            return int(self._coins_of(np.array([self._coins.take_one()[1]], dtype=np.uint64))[0])
        return int(self._best(context[None])[0])

    @property
    def _greedy(self) -> int:
        """The first round that is decided by a model."""
        return self.plan.explore + self._delay

    def _coins_of(self, words: Any) -> IntArray:
        """Uniform actions from 53 bits each; a public coin hides nothing, and is off by at most K 2^-53."""
        return np.asarray((words >> np.uint64(11)) * np.uint64(self._n) >> np.uint64(53), dtype=np.int64)

    def _best(self, features: IntArray) -> IntArray:
        """The first action of smallest score: whole numbers below 2^53, so that every order of adding is exact."""
        return np.asarray(np.argmin(features.astype(np.float64) @ self._weights.T, axis=1))

    def _absorb(self, loss: float | None) -> None:
        features, action = self._taken()
        self._add(features[None], np.array([action]), np.array([np.nan if loss is None else loss]), self._round)
        self._release_at(self._round + 1)

    def _add(self, features: IntArray, actions: IntArray, losses: FloatArray, first: int) -> None:
        """Add rounds from number `first` on to the sums; losses of greedy rounds are not read."""
        for start in range(0, len(features), BLOCK):
            part = features[start : start + BLOCK].astype(np.float64)
            self._features += (part.T @ part).astype(np.int64)
            exploring = max(0, min(len(part), self.plan.explore - first - start))
            if exploring:
                centred = 2 * losses[start : start + exploring] - 1
                whole = np.rint(np.where(np.isnan(centred), 0.0, centred) * self._units)
                chosen = actions[start : start + exploring, None] == np.arange(self._n)
                self._losses += ((chosen * whole[:, None]).T @ part[:exploring]).astype(np.int64)

    def _release_at(self, closed: int) -> None:
        """Release what was added up, if so many rounds end a phase after which something is decided."""
        if self._released == len(self.plan.phases) or closed != self.plan.phases[self._released].known:
            return
        first, lattice = self._released == 0, self.plan.lattice
        features, self._features = self._features, np.zeros_like(self._features)
        losses, self._losses = self._losses, np.zeros_like(self._losses)
        self._gram = self._gram + lattice.noisy_gram(features, self._noise, first=first)
        if first:
            self._contrasts = lattice.noisy_contrasts(losses, self._noise)
        self._weights = self._model(self.plan.phases[self._released], self.plan.ridges[self._released])
        self._released += 1

    def _model(self, phase: Phase, ridge: float) -> FloatArray:
        """K M^{-1} C in whole numbers, the largest of them 2^bits: a function of what was released."""
        explore, d = self.plan.explore, self.plan.problem.dimension
        nu = self.plan.certificate.spectral(explore, phase)
        values, vectors = np.linalg.eigh(explore / phase.known * self._gram + (ridge + nu) * np.eye(d))
        weights = self._contrasts @ vectors / np.maximum(values, ridge) @ vectors.T
        largest = float(np.abs(weights).max())
        return np.rint(weights / largest * 2.0 ** weight_bits(d)) if largest > 0 else np.zeros_like(weights)

    def _run_in(self, rows: Any, absent: Absent | None, contexts: Any) -> IntArray:
        """As the loop, in stretches between two releases."""
        silent = absent is not None and absent.all()
        blocks = ([np.full((len(rows), self._n), np.nan)] if len(rows) else []) if silent else self._read(rows)
        parts, at = [np.empty(0, dtype=np.int64)], 0
        for losses in blocks:
            features = self._quantised(contexts[at : at + len(losses)].read())
            parts.append(self._run_block(features, (losses - self._low) / (self._high - self._low)))
            at += len(losses)
        return np.concatenate(parts)

    def _run_block(self, features: IntArray, losses: FloatArray) -> IntArray:
        """Decide rounds whose losses of all actions are given, and close those whose window is over."""
        done = 0
        if self._played:
            self._check_in_hand(features[0])
            loss = float(losses[0, self._action])
            self._put_back(None if loss != loss else loss)
            done = 1
        # The open rounds, then those to come, from number `first` on; without a report feedback is missing.
        first, opened = self._round, [self._opened.pop(number) for number in list(self._slots)]
        kept = [np.nan if loss is OPEN or loss is None else loss for loss in self._slots.values()]
        place, self._slots = len(opened), {}
        before = np.array([own for own, _ in opened], dtype=np.int64).reshape(place, features.shape[1])
        rounds = _Rounds(
            np.concatenate([before, features[done:]]),
            np.array([action for _, action in opened] + [0] * (len(features) - done), dtype=np.int64),
            np.array(kept + [np.nan] * (len(features) - done), dtype=np.float64),
        )
        rows, count = losses[done:], len(rounds.actions)
        borders = [self._greedy, *(phase.known + self._delay for phase in self.plan.phases)]
        while place < count:
            number = first + place
            self._close(rounds, first, number - self._delay)
            last = min([count, *(border - first for border in borders if border > number)])
            if number < self._greedy:
                chosen = self._coins_of(self._coins.take(last - place)[1])
            else:
                chosen = self._best(rounds.features[place:last])
            self._count_switches(chosen, number)
            rounds.actions[place:last] = chosen
            at = np.arange(place, last) - len(opened)
            rounds.losses[place:last] = rows[at, chosen]
            place = last
        self._close(rounds, first, first + count - self._delay - 1 if self._delay else first + count)
        for place in range(self._round - first, count):
            loss = rounds.losses.item(place)
            self._slots[first + place] = None if loss != loss else loss
            self._opened[first + place] = rounds.features[place].copy(), int(rounds.actions[place])
        return rounds.actions[len(opened) - done :]

    def _count_switches(self, chosen: IntArray, number: int) -> None:
        before = np.concatenate([[chosen[0] if number == 0 else self._action], chosen[:-1]])
        self._switches += int(np.sum(chosen != before))
        self._action = int(chosen[-1])

    def _close(self, rounds: _Rounds, first: int, until: int) -> None:
        """Absorb rounds up to number `until`, of those from `first` on, and release where a phase ends."""
        while self._round < until:
            last = min([until, *(phase.known for phase in self.plan.phases if phase.known > self._round)])
            part = slice(self._round - first, last - first)
            self._add(rounds.features[part], rounds.actions[part], rounds.losses[part], self._round)
            self._round = last
            self._release_at(last)

    def _consistent(self) -> bool:
        rounds, square = self._round, self._units**2
        begun = self.plan.phases[self._released - 1].known if self._released else 0
        due = sum(phase.known <= rounds for phase in self.plan.phases)
        explored = min(rounds, self.plan.explore) if not self._released else 0
        whole = bool(np.all(self._weights == np.rint(self._weights)))
        settled = [loss for loss in self._slots.values() if isinstance(loss, float)]
        return (
            super()._consistent()
            and self._released == due
            and whole
            and bool(np.abs(self._weights).max() <= 2.0 ** weight_bits(self.plan.problem.dimension))
            and _within(self._features, (rounds - begun) * square)
            and _within(self._losses, explored * square)
            and 0 <= self._action < self._n
            and all(0 <= action < self._n for _, action in self._opened.values())
            and all(0 <= loss <= 1 for loss in settled)
        )


class _Rounds(NamedTuple):
    """Rounds as arrays."""

    features: IntArray
    actions: IntArray
    losses: FloatArray  # NaN where feedback is missing


def _within(whole: IntArray, most: int) -> bool:
    """Whether whole numbers lie in {-most..most}: compared at both ends, since |-2^63| is negative in 64 bits."""
    return bool(np.all((whole >= -most) & (whole <= most)))
