"""Above threshold (sparse vector), one-sided, in its width form.

If, for each neighbouring pair and transcript, one interval of width `width` that contains 0 holds the
shifts of all queries of the instance, then threshold noise Lap(width/eps1) and fresh query noise
Lap(width/eps2) cost eps1 + eps2 in all, until the first "above". (The generic form, for queries that
move by up to w in either direction, has width 2w.) After "above" the instance is spent.
"""

from math import isfinite
from typing import Any

import numpy as np

from tacit.errors import InvalidInput, ProtocolError
from tacit.validation import MALFORMED, check_level, check_positive


class AboveThreshold:
    """Tells once that a query exceeds the threshold; each earlier answer is "below".

    Privacy: epsilon_threshold + epsilon_query (pure), for all answers together. Only the answers may be
    released: not the queries, nor the noisy values.
    """

    def __init__(
        self,
        threshold: float,
        *,
        width: float,
        epsilon_threshold: float,
        epsilon_query: float,
        generator: np.random.Generator,
    ) -> None:
        check_level("AboveThreshold", "threshold", threshold)
        check_positive("AboveThreshold", "width", width)
        check_positive("AboveThreshold", "epsilon_threshold", epsilon_threshold)
        check_positive("AboveThreshold", "epsilon_query", epsilon_query)
        self._generator = generator
        self._query_scale = width / epsilon_query
        self._noisy_threshold = threshold + float(generator.laplace(0.0, width / epsilon_threshold))
        self._spent = False

    @property
    def spent(self) -> bool:
        """True once the answer was "above"."""
        return self._spent

    def test(self, query: float) -> bool:
        """Whether the noisy query exceeds the noisy threshold; fresh query noise each time."""
        if self._spent:
            raise ProtocolError("This above-threshold instance has answered 'above' and is spent: start a new one.")
        check_level("AboveThreshold", "query", query)
        self._spent = query + float(self._generator.laplace(0.0, self._query_scale)) > self._noisy_threshold
        return self._spent

    def state_dict(self) -> dict[str, Any]:
        """PRIVATE: the noisy threshold must not be released."""
        return {"noisy_threshold": self._noisy_threshold, "spent": self._spent}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        try:
            noisy, spent = float(state["noisy_threshold"]), bool(state["spent"])
        except MALFORMED as error:
            raise InvalidInput(f"This is not the state of an above-threshold instance ({error!r}).") from None
        if not isfinite(noisy):
            raise InvalidInput("The noisy threshold of an above-threshold instance must be finite.")
        self._noisy_threshold, self._spent = noisy, spent
