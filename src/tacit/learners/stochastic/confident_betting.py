"""A bettor whose gradients are penalised by their largest error: excess risk that holds in a single run.

Theorems 10 and 11 of the paper, with explicit constants. Let c_t bound |error_t| for all t at once, except with
probability f (`Conversion.largest_errors`), and let r_t = (w_t - x_1)/|w_t - x_1|. The bettor sees g_t + c_t r_t, whose
norm is at most beta_t G + 2 c_t. Since <r_t, w_t - u> >= |w_t - x_1| - |u - x_1|,

    sum <beta_t grad L(x_t), w_t - u> <= sum <g_t, w_t - u> + c_t (|w_t - x_1| + |u - x_1|)
                                      <= sum <g_t + c_t r_t, w_t - u> + 2 c_t |u - x_1|,

hence for every u, with probability 1 - f,

    L(x) - L(u) <= (Regret of the bettor at |u - x_1| + 2 |u - x_1| sum c_t)/beta_{1:T+1}.

It shrinks with |u - x_1|: a certificate for good first points. On a whole domain its constants are large.
"""

from __future__ import annotations

import numpy as np

from tacit.learners.stochastic.coin_betting import Bettor
from tacit.learners.stochastic.common import OnlineLearner
from tacit.learners.stochastic.conversion import Conversion
from tacit.learners.target import RegretBound, check_confidence
from tacit.validation import FloatArray


class ConfidentBetting(OnlineLearner):
    """A fresh bettor behind penalties c_1, c_2, ...; `OnlineToBatch` makes it where a `confidence` is asked for.

    Attributes:
        bettor: the bettor; its gradient bound must be at least the largest beta_t G + 2 c_t.
        penalties: c_t, in the order of the rounds.
        confidence: the probability with which no error exceeds its penalty.
    """

    def __init__(self, bettor: Bettor, penalties: FloatArray, confidence: float) -> None:
        super().__init__(bettor.domain, initial=bettor.initial)
        check_confidence("ConfidentBetting", confidence)
        self.confidence = confidence
        self.bettor = bettor
        self.penalties = tuple(np.asarray(penalties, dtype=np.float64).tolist())

    def _update(self, gradient: FloatArray) -> None:
        away = self._point - self._start
        distance = float(np.sqrt(away @ away))
        penalty = self.penalties[min(self._rounds, len(self.penalties) - 1)]
        self.bettor.observe(gradient + away * (penalty / distance) if distance > 0 else gradient)
        self._point = self.bettor.play()

    def regret_bound(self) -> RegretBound:
        """That of the bettor, on the penalised gradients."""
        return self.bettor.regret_bound()

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """Nothing is proved in expectation."""
        return float("inf")

    def risk_within(self, distance: float, conversion: Conversion) -> float:
        """The bound of the module's docstring, or infinity if the penalties are not those of the conversion."""
        if not conversion.always_bounded:
            return float("inf")
        largest = conversion.largest_errors(1 - self.confidence)
        sizes = gradient_sizes(conversion, largest)
        if self.penalties != tuple(largest.tolist()) or float(sizes.max()) > self.bettor.gradient_bound:
            return float("inf")
        regret = self.bettor.regret_within(distance, float(np.sum(sizes**2)), sizes.size)
        return (regret + 2 * distance * float(np.sum(largest))) / float(np.sum(conversion.weights))

    def _shown(self) -> str:
        return f"{self.bettor!r}, confidence={self.confidence!r}"


def gradient_sizes(conversion: Conversion, largest: FloatArray) -> FloatArray:
    """beta_t G + 2 c_t."""
    return np.asarray(conversion.weights * conversion.slope + 2 * largest)
