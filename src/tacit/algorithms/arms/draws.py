"""Everything random in a learner of arms, exact: bits, two-sided geometric noise, and the draw of an arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.learners.arms.tsallis_batches import Tape
from tacit.numerics.decisions import decide_weighted, draw_weighted
from tacit.numerics.discrete_laplace import DiscreteLaplace
from tacit.numerics.uniforms import Uniforms, fractions
from tacit.randomness import Randomness
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
        return total + self._noise.draw_one()

    def arm(self, probabilities: FloatArray) -> int:
        """An arm with these probabilities."""
        return draw_weighted(self._arms, probabilities)

    def tape(self, rounds: int, batches: int) -> tuple[int, Tape]:
        """What so many rounds and batches draw, for one compiled pass, and the index of the first word for arms."""
        bits, noise = self._bits.take(rounds)[1], self._noise.draw(batches)
        index, arms = self._arms.take(batches)
        return index, Tape(bits, noise, arms)

    def arm_of(self, index: int, word: int, probabilities: FloatArray) -> int:
        """`arm` by a word of a tape that its first 53 bits do not decide."""
        return decide_weighted(self._arms, index, word, probabilities)

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
