"""Everything random in a learner of arms, exact: bits, two-sided geometric noise, and the draw of an arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.exact_draws import draw_weighted, weighted_draws
from tacit.noise.randomness import Randomness
from tacit.noise.source import Words
from tacit.noise.uniforms import Uniforms, fractions
from tacit.validation import FloatArray, IntArray

_WHOLE = 2.0**-53


class Draws:
    """The three streams of a learner of arms.

    Only the noise protects anyone: whatever number a loss is rounded by, its bit is 0 or 1; and an arm is drawn from
    probabilities that are a function of releases.

    Args:
        randomness: secret or replayable.
        rate: of the two-sided geometric noise.
    """

    def __init__(self, randomness: Randomness, rate: float) -> None:
        self.rate = rate
        self._bits = Uniforms.from_streams(randomness, "bits")
        self._arms = Uniforms.from_streams(randomness, "arms")
        self._noise = DiscreteLaplace.from_streams(randomness, "noise", rate)

    def bit(self, mean: float) -> int:
        """1 with probability `mean`, otherwise 0."""
        return int((self._bits.take_one()[1] >> 11) * _WHOLE < mean)

    def bits(self, means: FloatArray) -> IntArray:
        """A bit for each mean: the same as `bit` one after the other."""
        return (fractions(self._bits.take(means.size)[1]) < means).astype(np.int64)

    def noisy(self, total: int) -> int:
        """The sum of a batch with fresh two-sided geometric noise: what may be released of it, once."""
        return total + int(self._noise.draw(1)[0])

    def arm(self, probabilities: FloatArray) -> int:
        """An arm with these probabilities."""
        return draw_weighted(self._arms, probabilities)

    def arm_words(self, count: int) -> tuple[int, Words]:
        """The uniforms of the next `count` arms, for `arms_of`, and the index of the first one."""
        return self._arms.take(count)

    def arms_of(self, index: int, words: Words, probabilities: FloatArray) -> IntArray:
        """An arm for each uniform, the first of them number `index`: the same as `arm` one after the other."""
        return weighted_draws(self._arms, index, words, probabilities)

    @property
    def private(self) -> bool:
        """Whether all keys are secret: one stream that can be replayed makes the whole replayable."""
        return all(part.private for part in self._parts().values())

    def _parts(self) -> dict[str, Any]:
        return {"bits": self._bits, "arms": self._arms, "noise": self._noise}

    def state_dict(self) -> dict[str, Any]:
        """Nothing of secret streams, since whoever continues draws afresh; of replayable ones their positions."""
        return {name: part.state_dict() for name, part in self._parts().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
