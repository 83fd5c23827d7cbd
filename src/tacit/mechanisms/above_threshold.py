"""Above threshold (sparse vector), one-sided, in its width form, on integers.

If, for each neighbouring pair and transcript, one interval of `width` steps that contains 0 holds the shifts of
all queries of the instance, then two-sided geometric noise of rate eps1/width on the threshold and fresh noise of
rate eps2/width on each query cost eps1 + eps2 in all, until the first "above". (The generic form, for queries that
move by up to w in either direction, has width 2w.) After "above" the instance is spent.

Proof. Let hi be the interval's upper end, an integer. Compare the data set at the threshold rho with its neighbour at
rho + hi: each "below" of the one implies "below" of the other with the same query noise, since no query moved by more
than hi. The final "above" needs its noise to make up hi minus that query's own move, between 0 and width: a factor of
at most e^eps2. Shifting rho by hi costs at most e^eps1. Queries, threshold and noise are integers and the rates are
exact, so no rounding enters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InvalidInput, ProtocolError
from tacit.numerics.discrete_laplace import laplace_rate, two_sided_geometric
from tacit.numerics.uniforms import Uniforms
from tacit.validation import MALFORMED, check_integer, check_positive

LARGEST_LEVEL = 2**60
"""Queries and thresholds are at most so far from 0: with any noise they are still int64."""


class AboveThreshold:
    """Tells once that a query exceeds the threshold; each earlier answer is "below".

    Privacy: epsilon_threshold + epsilon_query (pure, exact), for all answers together. Only the answers may be
    released: not the queries, nor the noisy values.
    """

    def __init__(
        self, threshold: int, *, width: int, epsilon_threshold: float, epsilon_query: float, uniforms: Uniforms
    ) -> None:
        level = _check_level("threshold", threshold)
        check_integer("AboveThreshold", "width", width)
        check_positive("AboveThreshold", "epsilon_threshold", epsilon_threshold)
        check_positive("AboveThreshold", "epsilon_query", epsilon_query)
        self._uniforms = uniforms
        self._query_rate = laplace_rate(epsilon_query, width)
        self._noisy_threshold = level + one_draw(uniforms, laplace_rate(epsilon_threshold, width))
        self._spent = False

    @property
    def spent(self) -> bool:
        """True once the answer was "above"."""
        return self._spent

    def test(self, query: int) -> bool:
        """Whether the noisy query exceeds the noisy threshold; fresh query noise each time."""
        if self._spent:
            raise ProtocolError("This above-threshold instance has answered 'above' and is spent: start a new one.")
        level = _check_level("query", query)
        self._spent = level + one_draw(self._uniforms, self._query_rate) > self._noisy_threshold
        return self._spent

    def state_dict(self) -> dict[str, Any]:
        """PRIVATE: the noisy threshold must not be released."""
        return {"noisy_threshold": np.array(self._noisy_threshold, dtype=np.int64), "spent": self._spent}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        try:
            noisy, spent = state["noisy_threshold"], bool(state["spent"])
            if not (isinstance(noisy, np.ndarray) and noisy.dtype == np.int64 and noisy.shape == ()):
                raise TypeError("whole number expected")
        except MALFORMED as error:
            raise InvalidInput(f"This is not the state of an above-threshold instance ({error!r}).") from None
        self._noisy_threshold, self._spent = int(noisy), spent


def one_draw(uniforms: Uniforms, rate: float) -> int:
    """One integer of two-sided geometric noise."""
    return int(two_sided_geometric(uniforms, rate, 1)[0])


def _check_level(name: str, value: object) -> int:
    return check_integer("AboveThreshold", name, value, at_least=-LARGEST_LEVEL, at_most=LARGEST_LEVEL)
