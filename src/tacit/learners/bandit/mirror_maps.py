"""Mirror maps for `NoisyOCO` besides |x|^2/2, with what `noisy_regret` needs to know of each (Lemma 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from tacit.validation import FloatArray, check_dimension, real_array


@dataclass(frozen=True)
class EntropicMap:
    """The entropy sum x ln x on the simplex: 1-strongly convex in the l1 norm, by Pinsker's inequality.

    Its leaders are exponential weights. In `noisy_regret`, distances are l1 and gradients are measured by their largest
    entry; `NoisyOCO(leader=map.leader, start=map.start, ...)` plays it.

    >>> EntropicMap(2).leader(np.array([0.0, np.log(3.0)])).round(2)
    array([0.75, 0.25])
    """

    dimension: int

    def __post_init__(self) -> None:
        check_dimension("EntropicMap", "dimension", self.dimension, at_least=2)

    @property
    def spread(self) -> float:
        """From the uniform distribution to a vertex: ln n."""
        return log(self.dimension)

    @property
    def start(self) -> FloatArray:
        """The leader of nothing, as a new array."""
        return np.full(self.dimension, 1.0 / self.dimension)

    def leader(self, slope: FloatArray) -> FloatArray:
        """The minimiser of the entropy plus <slope, x>."""
        checked = real_array("EntropicMap", "slope", slope, (self.dimension,))
        weights = np.exp(checked.min() - checked)
        return np.asarray(weights / weights.sum())
