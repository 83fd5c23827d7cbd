"""Lazy fixed share: the lazy learner over all sequences of experts, in O(N) time a round.

Paper: "Tracking the Best Expert Privately" (ICML 2025), Section 4, runs a private static learner over all
(NT)^{2S} switching sequences. A prior that is a Markov chain makes the weights of N^T paths a forward recursion on N
numbers, and a path that was drawn reveals its next expert only when that round comes.

    f uniform;  i ~ f;  for each batch of B rounds, each round: play i, add l(i) - min_j l(j) to A
        f <- normalise(f e^{-eta l}) K;   inside the batch: i ~ K(i, .), a move that no data decides
        at its end: keep the path with probability (1-p) e^{-eta A}: i ~ K(i, .);  otherwise i ~ f;  A = 0

This is `LazyExperts` with paths for experts, and the accounting is the same. With a delay D the coin of a round looks
at the path's position in that round; a new path is drawn where the losses end and moves on from there by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import expm1, log
from typing import Any, ClassVar

import numpy as np

from tacit.algorithms.experts.expert_plan import LazyLearner
from tacit.algorithms.experts.lazy_experts import best_lazy, check_lazy, lazy_chain, lazy_regret, rounding_regret
from tacit.algorithms.tracking.tracking_plan import TrackingPlan, path_complexity, refuse_max_switches
from tacit.noise.exact_draws import draw_softmax, draw_weighted, toss
from tacit.noise.lattice import LOSS_UNITS, sum_quantised, whole_losses
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import hilbert_error
from tacit.noise.uniforms import Uniforms
from tacit.problems import Tracking
from tacit.releases import LazyChain
from tacit.runtime.rate_search import Parameters, delay_formula, tosses
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, Rows, check_choice, check_integer

LARGEST_ETA = 16.0  # beyond it the error of a product q * eta is not covered by kappa


@dataclass(frozen=True)
class LazyFixedShare(TrackingPlan):
    """Exponential weights over all sequences of experts, one of which is held until a coin says otherwise.

    Privacy contract: every decision, for the curve of `LazyChain` with keep probabilities in
    [(1-p)e^{-B eta}, 1-p] and draws of bounded range 2 eta; the redraw times are covered too. Adaptive
    adversaries. Enforced: losses in their range (others raise). Numerics: exact up to the error of the weights, which
    are floats. The error adds 4 kappa T to the range, kappa about 2^-45 (idealized: uniform prior and eta above 16).
    Without switches the paths are the experts, their weights integer sums, and everything is exact.
    Regret: complexity/eta + eta T B/8 + T (2^-24 + e^{2 kappa T} - 1) (oblivious), complexity = -ln of the prior
    weight of the best sequence.

    Reference: Asi, Raman and Saha (2025), "Tracking the Best Expert Privately", https://arxiv.org/abs/2503.09889.

    Page: docs/algorithms/lazy-fixed-share.md.

    Attributes:
        eta: learning rate.
        force: probability p of a forced redraw at each toss of the coin.
        batch: rounds B from one toss to the next.
        prior: "markov" (fixed share, O(N) a round) or "uniform" over at most S switches (O(NS) a round).
        max_redraws: hard limit on redraws, after which the sequence is held (for pure privacy).

    >>> plan = LazyFixedShare(Tracking(n=3, horizon=1000, switches=2), eta=0.05, force=0.1, batch=2)
    >>> round(plan.guarantee.epsilon(1e-6), 1)
    2.5
    >>> plan.run(np.zeros((1000, 3)), Randomness.replayable(1)).shape
    (1000,)
    """

    _no_delay: ClassVar[str] = ""
    eta: float
    force: float
    batch: int = 1
    prior: str = "markov"
    max_redraws: int | None = None
    released_streams: ClassVar[tuple[str, ...]] = ("draw",)
    released: ClassVar[str] = "every decision and every redraw time"
    theorem: ClassVar[str] = "lazy chain over paths, composition of random draws"
    certified_against: ClassVar[tuple[str, ...]] = ("stochastic", "oblivious")

    def _check_parameters(self) -> None:
        check_lazy(self.algorithm, self.eta, self.force, self.batch)
        check_choice(self.algorithm, "prior", self.prior, PRIORS)
        if self.max_redraws is not None:
            check_integer(self.algorithm, "max_redraws", self.max_redraws, at_least=0)

    @property
    def decisions(self) -> int:
        """How many times the coin is tossed: after every batch but the last."""
        return 0 if self.problem.n == 1 else tosses(self.rounds, self.batch)

    @cached_property
    def paths(self) -> PathPrior:
        """The prior over sequences of experts."""
        return path_prior(self.prior, self.problem.n, self.rounds, self.problem.switches, self.eta)

    @cached_property
    def releases(self) -> LazyChain:
        exact = self.prior == "markov" and self.eta <= LARGEST_ETA  # the logarithms of the uniform prior are not proved
        return lazy_chain(self.problem.n, self.rounds, self._tuned, 2 * self._error, exact)

    @property
    def _error(self) -> float:
        """2 kappa T: how far the logarithm of a ratio of two weights may be off in the last round."""
        return path_error(self.problem, self.rounds)

    @property
    def regret_bound(self) -> RegretBound:
        value = lazy_regret(self.problem.n, self.rounds, self._tuned, self.paths.complexity, self.problem.delay)
        value += rounding_regret(self.problem.n, self.rounds)
        value = 0.0 if self.problem.n == 1 else self.problem.width * (value + self.rounds * expm1(self._error))
        formula = "complexity/eta + eta T B/8 + T/2^24 + T (e^(2 kappa T) - 1)"
        formula += delay_formula(self.problem.delay, self.batch)
        formula += " + T P[cap hit]" if self.max_redraws is not None else ""
        return RegretBound(value, formula, ("oblivious adversary", "expectation over the learner's coins"))

    @property
    def expected_switches(self) -> float:
        """Redraws and the moves of the paths between them.

        The Markov prior moves S times on average; with the uniform one every drawn path may have all its S moves to
        come.
        """
        redraws = self.decisions * self._tuned.redraw
        redraws = redraws if self.max_redraws is None else min(redraws, self.max_redraws)
        paths = 1 + redraws if self.prior == "uniform" else 1.0
        return min(self.problem.switches * paths + redraws, self.rounds - 1.0)

    @property
    def _tuned(self) -> Parameters:
        return Parameters(self.eta, self.force, self.batch, self.max_redraws)

    @classmethod
    def _calibrate(cls, problem: Tracking, target: Target, *, prior: str = "markov") -> LazyFixedShare:
        refuse_max_switches(cls.__name__, target, "the paths it holds move by themselves")
        check_choice(cls.__name__, "prior", prior, PRIORS)
        rounds = problem.horizon or 1
        complexity = path_prior(prior, problem.n, rounds, problem.switches, 1.0).complexity
        best = best_lazy(problem.n, rounds, target, complexity, 2 * path_error(problem, rounds), problem.delay)
        return cls(problem, best.rate, best.force, best.batch, prior, best.cap, **target.contract)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        loud: dict[str, Any] = {"eta": 0.3, "force": 0.3, "batch": 1}
        loud |= {} if self.max_redraws is None else {"max_redraws": 1}
        return self._enumerable(loud, {"batch": min(2, self.batch)}, rounds=4)

    def _learner(self, randomness: Randomness) -> LazyFixedShareLearner:
        return LazyFixedShareLearner(self, randomness)


class LazyFixedShareLearner(LazyLearner):
    """Holds one path, known up to the next round, and the forward weights for the next draw."""

    plan: LazyFixedShare
    _stream_names = ("move",)
    _state = ("_weights", "_held_loss", "_redraws", "_used", "_ahead", "_keep", "_choice")
    _any_shape = ("_ahead",)

    def __init__(self, plan: LazyFixedShare, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._paths = plan.paths
        self._begin_chain(plan._tuned, plan.decisions, randomness)
        self._moves = (-1, np.zeros((0, 1)))  # the block that the planned moves were computed for
        self._weights = self._paths.initial()
        self._used = 0  # switches of the held path; never released
        # With a delay: the held path's positions from the oldest round whose losses are to come, on to the newest.
        self._ahead = np.full(1, self._action)
        self._opens = self._delay > 0
        self._vectorised = self._vectorised and not self._opens

    def _at_opening(self, number: int) -> None:
        if number >= self._round + len(self._ahead):
            coin = self._streams["move"].random()
            self._ahead = np.append(self._ahead, self._moved(number - 1, int(self._ahead[-1]), coin))
        self._move(int(self._ahead[number - self._round]))

    def _moved(self, number: int, expert: int, coin: float) -> int:
        """Where a path stands in the round after this one, by a move that no data decides."""
        probability = self._planned_moves(number)[self._used]
        if coin < probability:
            expert = self._target(expert, coin, probability)
            self._used += self._counting
        return expert

    def _draw_path(self, finished: int) -> None:
        """A new path from where the losses end on to the newest round, which was decided."""
        newest = finished + len(self._ahead) - 1
        path = [self._drawn(finished)]
        for number in range(finished, newest):
            path.append(self._moved(number, path[-1], self._streams["move"].random()))
        self._ahead = np.array(path)

    def _absorb(self, losses: FloatArray) -> None:
        if self._round < self._last_decision:  # otherwise no draw follows
            self._advance(losses[None])
        held = int(self._ahead[0]) if self._opens else self._action  # the path's position in the round of these losses
        self._held_loss += int(losses.item(held) * LOSS_UNITS) - int(self._best * LOSS_UNITS)
        finished = self._round + 1
        if self._opens:
            self._ahead = self._ahead[1:]
            if self._lost(finished):
                self._draw_path(finished)
            return
        moving = self._streams["move"].random()
        if self._lost(finished):
            self._draw(finished)  # the forward weights contain the step to the next round
        elif finished != self._horizon:
            self._move(self._moved(self._round, self._action, moving))

    def _consistent(self) -> bool:
        used = 0 <= self._used < max(1, len(self._weights) if self._counting else 1)
        ahead = self._ahead
        known = len(ahead) == max(1, self._decided - self._round) if self._opens else len(ahead) == 1
        return super()._consistent() and used and known and bool(((ahead >= 0) & (ahead < self._n)).all())

    @property
    def _counting(self) -> int:
        """1 if the prior counts switches, else 0."""
        return int(self._weights.ndim > 1)

    def _planned_moves(self, number: int) -> FloatArray:
        """The probability of a move after this round, by switches used."""
        moves: FloatArray = self._block_moves(number)[number % self._block]
        return moves

    def _block_moves(self, number: int) -> FloatArray:
        """The same for every round of its block."""
        block = number // self._block
        if self._moves[0] != block:
            first = block * self._block
            self._moves = (block, self._paths.moves(first, min(self._block, self.plan.rounds - first)))
        return self._moves[1]

    def _target(self, expert: int, coin: float, probability: float) -> int:
        """One of the others: given coin < probability, their ratio is uniform again."""
        return (expert + 1 + min(self._n - 2, int(coin / probability * (self._n - 1)))) % self._n

    def _advance(self, rows: FloatArray) -> None:
        self._paths.advance(self._weights, whole_losses(rows) / LOSS_UNITS)  # exact: a power of two

    def _draw(self, finished: int) -> None:
        self._move(self._drawn(finished))

    def _drawn(self, finished: int) -> int:
        """A new position in the round after the finished ones."""
        self._redraws += 1
        state = self._paths.draw(self._choice, self._weights, finished)
        self._used, expert = divmod(state, self._n)
        return expert

    def _play_whole(self, rows: Rows, first: int, actions: IntArray) -> None:
        size, batch = self._block, self._batch
        block, best = self._check_block(rows.read(), first)
        index, words = self._keep.take(size // batch)
        least = whole_losses(best)
        coins = self._streams["move"].random(size)
        row = 0  # rows before it are played and, from the second pass on, in the weights
        while row < size:
            path, last, used = self._plan_path(coins, row)
            held = np.add.reduce(
                (whole_losses(block[np.arange(row, size), path]) - least[row:]).reshape(-1, batch), axis=1
            )
            done = row // batch
            rings = np.flatnonzero(~toss(self._keep, index + done, words[done:], self._stay, self._rate, held))
            stop = size if not rings.size else row + (int(rings[0]) + 1) * batch
            actions[row:stop] = path = path[: stop - row]
            self._switches += int(np.count_nonzero(path[1:] != path[:-1]))
            self._action = int(path[-1])
            self._advance(block[row:stop])
            if rings.size:
                self._draw(self._round + stop)
            else:
                self._move(last)
                self._used = used
            row = stop
        self._round += size

    def _plan_path(self, coins: FloatArray, row: int) -> tuple[IntArray, int, int]:
        """The held path from `row` to the end of the block if nothing is redrawn, and its state after it."""
        moves = self._block_moves(self._round)
        size, expert, used = self._block, int(self._action), self._used
        path = np.full(size - row, expert)
        at = row
        while at < size:
            hits = np.flatnonzero(coins[at:] < moves[at:, used])
            if not hits.size:
                break
            at += int(hits[0]) + 1
            expert = self._target(expert, coins.item(at - 1), moves.item(at - 1, used))
            used += self._counting
            path[at - row :] = expert
        return path, expert, used


def path_error(problem: Tracking, rounds: int) -> float:
    """2 kappa T, or nothing if paths never switch: then integer sums stand for the weights."""
    return 2 * hilbert_error(problem.n) * rounds if problem.switches and problem.n > 1 else 0.0


_SMALLEST_SUM = 1e-300
_UNREACHED = -1e30


class PathPrior(ABC):
    """A prior over paths of `rounds` experts; times are numbers of rounds that are complete."""

    def __init__(self, n: int, rounds: int, switches: int, eta: float) -> None:
        self.n, self.rounds, self.switches, self.eta = n, rounds, switches, eta

    @abstractmethod
    def initial(self) -> FloatArray | IntArray:
        """The forward weights before the first round."""

    @abstractmethod
    def advance(self, weights: Any, rows: FloatArray) -> None:
        """Take in the losses of some rounds, each followed by one step of the chain. In place."""

    @abstractmethod
    def draw(self, uniforms: Uniforms, weights: Any, time: int) -> int:
        """The state in the next round, with exactly the probabilities that the weights give it."""

    @abstractmethod
    def moves(self, time: int, count: int) -> FloatArray:
        """Row i: the probability that a path moves between rounds time+i+1 and time+i+2, by switches used."""

    @property
    @abstractmethod
    def complexity(self) -> float:
        """-ln of the smallest prior weight of an admissible path."""


class ConstantPaths(PathPrior):
    """Paths without a switch: the experts themselves, whose weights are known by their integer sums of losses."""

    @property
    def complexity(self) -> float:
        return log(self.n)

    def initial(self) -> IntArray:
        return np.zeros(self.n, dtype=np.int64)

    def advance(self, weights: Any, rows: FloatArray) -> None:
        weights += sum_quantised(rows)

    def draw(self, uniforms: Uniforms, weights: Any, time: int) -> int:
        return draw_softmax(uniforms, self.eta / LOSS_UNITS, weights)

    def moves(self, time: int, count: int) -> FloatArray:
        return np.zeros((count, 1))


class MarkovPrior(PathPrior):
    """Leave the expert with the same probability each round, for any other one (fixed share); switches above 0."""

    def __init__(self, n: int, rounds: int, switches: int, eta: float) -> None:
        super().__init__(n, rounds, switches, eta)
        # Beyond (N-1)/N the chain would prefer to move; there all paths weigh the same.
        self.share = min(switches / max(1, rounds - 1), (n - 1) / n)
        self._other = self.share / max(1, n - 1)

    @property
    def complexity(self) -> float:
        return path_complexity(self.n, self.rounds, self.switches, self.share)

    def initial(self) -> FloatArray:
        return np.full(self.n, 1 / self.n)

    def advance(self, weights: FloatArray, rows: FloatArray) -> None:
        """W <- normalise(w e^{-eta l}), then (1-share) w + share (1-w)/(N-1)."""
        total, stay, other = np.add.reduce, 1 - self.share - self._other, self._other
        for factor in np.exp(rows * -self.eta):
            np.multiply(weights, factor, out=weights)
            np.multiply(weights, stay / total(weights), out=weights)
            np.add(weights, other, out=weights)

    def draw(self, uniforms: Uniforms, weights: FloatArray, time: int) -> int:
        return draw_weighted(uniforms, weights)

    def moves(self, time: int, count: int) -> FloatArray:
        return np.full((count, 1), self.share)


class UniformPrior(PathPrior):
    """All paths with at most S switches, equally likely: the meta-experts of the paper's Section 4.

    Weights are F[c, j] = ln of the total weight of the beginnings that end in j after c switches. With
    G(n, k) = sum_{i<=k} C(n, i) (N-1)^i ways to complete a path in n more rounds with k switches left, the
    state (j, c) has probability proportional to e^F G, and a path moves with probability
    (N-1) G(n-1, k-1)/G(n, k).
    """

    @property
    def complexity(self) -> float:
        """Ln of the number of paths, N G(T-1, S)."""
        return log(self.n) + float(self._log_completions(np.asarray([self.rounds - 1]))[0, -1])

    def initial(self) -> FloatArray:
        """No switch used, all experts alike."""
        weights = np.full((self.switches + 1, self.n), _UNREACHED)
        weights[0] = 0.0
        return weights

    @np.errstate(all="ignore")
    def advance(self, weights: FloatArray, rows: FloatArray) -> None:
        """F(j,c) <- ln( e^F(j,c) + sum over k != j of e^F(k,c-1) ), after the losses."""
        others = np.zeros_like(weights)
        for losses in rows * self.eta:
            weights -= losses
            top = np.maximum.reduce(weights, axis=1)[:, None]
            linear = np.exp(weights - top)
            # Sums over all others from both sides: subtracting j from the total would cancel its digits.
            others[:, 0] = 0.0
            np.add.accumulate(linear[:, :-1], axis=1, out=others[:, 1:])
            others[:, :-1] += np.add.accumulate(linear[:, :0:-1], axis=1)[:, ::-1]
            # What underflows here is dominated by staying, which has used one switch less.
            arrivals = np.log(np.maximum(others, _SMALLEST_SUM)) + top
            weights[1:] = np.logaddexp(weights[1:], arrivals[:-1])
            weights -= np.max(weights)

    def draw(self, uniforms: Uniforms, weights: FloatArray, time: int) -> int:
        return draw_weighted(uniforms, self.law(weights, time))

    @np.errstate(all="ignore")
    def law(self, weights: FloatArray, time: int) -> FloatArray:
        """e^F(j,c) G(rounds after the next one, S-c), up to a factor, as a flat array."""
        left = self._log_completions(np.asarray([self.rounds - time - 1]))[0]
        scores = (weights + left[::-1, None]).ravel()
        return np.asarray(np.exp(scores - np.maximum.reduce(scores)))

    def moves(self, time: int, count: int) -> FloatArray:
        """(N-1) G(n-1, k-1)/G(n, k), with n rounds to come and k = S - c switches left."""
        to_come = self.rounds - np.arange(time + 1, time + count + 1)
        now = self._log_completions(np.maximum(to_come, 1))
        later = self._log_completions(np.maximum(to_come - 1, 0))
        result = np.zeros((count, self.switches + 1))
        if self.n > 1:
            result[:, 1:] = np.exp(later[:, :-1] - now[:, 1:] + log(self.n - 1))
        result[to_come < 1] = 0.0
        return result[:, ::-1]  # from switches left to switches used

    @np.errstate(all="ignore")
    def _log_completions(self, rounds: np.ndarray[tuple[int], np.dtype[np.int64]]) -> FloatArray:
        """Ln G(n, k) for each n in `rounds` and k = 0, ..., S."""
        terms = np.zeros((len(rounds), self.switches + 1))
        used = np.arange(1, self.switches + 1)
        # C(n, i) = C(n, i-1) (n-i+1)/i; no term beyond i = n, none at all with one expert.
        ratio = (rounds[:, None] - used + 1) / used * (self.n - 1)
        terms[:, 1:] = np.add.accumulate(np.where(ratio > 0, np.log(np.maximum(ratio, 1e-300)), _UNREACHED), axis=1)
        result: FloatArray = np.logaddexp.accumulate(terms, axis=1)
        return result


PRIORS: dict[str, type[PathPrior]] = {"markov": MarkovPrior, "uniform": UniformPrior}


def path_prior(name: str, n: int, rounds: int, switches: int, eta: float) -> PathPrior:
    """The prior of that name; without switches all of them are one."""
    kind = PRIORS[name] if switches and n > 1 else ConstantPaths
    return kind(n, rounds, switches, eta)
