"""Priors over sequences of experts whose exponential weights need only O(N) or O(NS) numbers.

A path is one expert per round. Both priors are Markov chains once the right state is named: the expert
itself, or the expert with the number of switches used. So the law of the current state given all losses
(forward weights) is enough to draw a path, and its future can be drawn step by step, when it is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import log
from typing import Any

import numpy as np

from tacit.learners.tracking.common import path_complexity
from tacit.numerics.decisions import draw_softmax, draw_weighted
from tacit.numerics.lattice import LOSS_UNITS, sum_quantised
from tacit.numerics.uniforms import Uniforms
from tacit.validation import FloatArray, IntArray

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
    def law(self, weights: Any, time: int) -> FloatArray:
        """Probabilities, up to a factor, of the state in the next round, as a flat array."""

    def draw(self, uniforms: Uniforms, weights: Any, time: int) -> int:
        """The state in the next round, with exactly the probabilities of `law`."""
        return draw_weighted(uniforms, self.law(weights, time))

    @abstractmethod
    def moves(self, time: int, count: int) -> FloatArray:
        """Row i: the probability that a path moves between rounds time+i+1 and time+i+2, by switches used."""

    @property
    @abstractmethod
    def complexity(self) -> float:
        """-ln of the smallest prior weight of an admissible path."""


class ConstantPaths(PathPrior):
    """Paths without a switch: the experts themselves, whose weights are known by their integer sums of losses.

    A share of 0 would let float weights underflow; sums lose nothing, and the draw is exact.
    """

    @property
    def complexity(self) -> float:
        """Ln N."""
        return log(self.n)

    def initial(self) -> IntArray:
        """No losses."""
        return np.zeros(self.n, dtype=np.int64)

    def advance(self, weights: Any, rows: FloatArray) -> None:
        """Sums of the losses, in steps of 2^-24."""
        weights += sum_quantised(rows)

    def law(self, weights: Any, time: int) -> FloatArray:
        """Exponential weights."""
        return np.asarray(np.exp((weights.min() - weights) * (self.eta / LOSS_UNITS)))

    def draw(self, uniforms: Uniforms, weights: Any, time: int) -> int:
        """As lazy experts draw."""
        return draw_softmax(uniforms, self.eta / LOSS_UNITS, weights)

    def moves(self, time: int, count: int) -> FloatArray:
        """Never."""
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
        """Ln N + S ln((N-1)/share) + (T-1-S) ln(1/(1-share))."""
        return path_complexity(self.n, self.rounds, self.switches, self.share)

    def initial(self) -> FloatArray:
        """Uniform over experts."""
        return np.full(self.n, 1 / self.n)

    def advance(self, weights: FloatArray, rows: FloatArray) -> None:
        """W <- normalise(w e^{-eta l}), then (1-share) w + share (1-w)/(N-1)."""
        total, stay, other = np.add.reduce, 1 - self.share - self._other, self._other
        for factor in np.exp(rows * -self.eta):
            np.multiply(weights, factor, out=weights)
            np.multiply(weights, stay / total(weights), out=weights)
            np.add(weights, other, out=weights)

    def law(self, weights: FloatArray, time: int) -> FloatArray:
        """The forward weights already contain the step to the next round."""
        return weights

    def moves(self, time: int, count: int) -> FloatArray:
        """The share, always; a path that could still switch is no different from one that did."""
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

    @np.errstate(all="ignore")
    def law(self, weights: FloatArray, time: int) -> FloatArray:
        """e^F(j,c) G(rounds after the next one, S-c)."""
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
