"""Many batches of Tsallis-INF in one compiled pass: bits, noise, credit, the law that leads, and its draw.

How many uniforms and how much noise so many batches take is public, so all are drawn before. The draw of an arm is
decided by its uniform alone (`decisions`): one that 53 bits do not decide ends the pass, and is made outside of it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tacit.learners.arms.tsallis_leader import Rule, compiled_loop
from tacit.numerics.decisions import DRAW_MARGIN, DRAW_MARGIN_PER_WEIGHT
from tacit.numerics.source import Words
from tacit.validation import FloatArray, IntArray, require

UNDECIDED = -1
_WHOLE = 2.0**-53


class Tape(NamedTuple):
    """Everything random in some batches, drawn before.

    Attributes:
        bits: the words that round the losses, one a round.
        noise: of each batch's sum.
        arms: the words that choose the next arms, one a batch.
    """

    bits: Words
    noise: IntArray
    arms: Words

    def after(self, rounds: int, batches: int) -> Tape:
        """What is left after so many."""
        return Tape(self.bits[rounds:], self.noise[batches:], self.arms[batches:])


class Batches(NamedTuple):
    """How the sums of batches become releases.

    Attributes:
        size: rounds of a batch.
        steps: what a loss of 1 adds to a sum.
        centred: whether missing feedback is exactly one step, rather than a fair bit.
        values: the release of each noisy sum.
    """

    size: int
    steps: int
    centred: bool
    values: FloatArray


def play_batches(
    rows: FloatArray,
    loss_range: tuple[float, float],
    batches: Batches,
    rule: Rule,
    scales: FloatArray,
    law: tuple[FloatArray, FloatArray, float],
    arm: int,
    tape: Tape,
    actions: IntArray,
) -> tuple[int, int, float, int]:
    """Play a batch for each noise of the tape, the first with `arm`; scores and weights of `law` change in place.

    Returns:
        how many were played, the arm after them (UNDECIDED: 53 bits of its uniform do not say), nu, and the switches.
    """
    low, high = loss_range
    done, arm, level, switches = compiled_batches()(
        rows, low, high - low, *batches, *rule, scales, *law, arm, *tape, actions
    )
    return int(done), int(arm), float(level), int(switches)


def _play(
    rows: Any,
    low: float,
    width: float,
    size: int,
    steps: int,
    centred: bool,
    values: Any,
    exponent: float,
    kappa: float,
    overshoot: float,
    scales: Any,
    scores: Any,
    weights: Any,
    level: float,
    arm: int,
    bits: Any,
    noise: Any,
    arms: Any,
    actions: Any,
    advance: Any,
) -> tuple[int, int, float, int]:
    """The loop for the compiler."""
    switches = 0
    margin = DRAW_MARGIN + weights.size * DRAW_MARGIN_PER_WEIGHT
    for batch in range(noise.size):
        total = 0
        for row in range(batch * size, (batch + 1) * size):
            actions[row] = arm
            loss = (rows[row, arm] - low) / width
            missing = loss != loss
            bit = np.float64(bits[row] >> np.uint64(11)) * _WHOLE < (0.5 if missing else loss)
            if missing and centred:
                total += 1
            elif bit:
                total += 1 if missing else steps
        mean = values[min(max(total + noise[batch], 0), values.size - 1)]
        level = advance(scores, weights, level, arm, mean, scales[batch], scales[batch + 1], exponent, kappa, overshoot)
        mass = 0.0
        for place in range(weights.size):
            mass += weights[place]
        point, below, above, chosen = np.float64(arms[batch] >> np.uint64(11)) * _WHOLE * mass, 0.0, 0.0, 0
        for chosen in range(weights.size):
            below, above = above, above + weights[chosen]
            if above > point:
                break
        inside = above - point > margin * mass and (chosen == 0 or point - below > margin * mass)
        if not inside:
            return batch + 1, UNDECIDED, level, switches
        if chosen != arm:
            switches += 1
            arm = chosen
    return noise.size, arm, level, switches


@cache
def compiled_batches() -> Any:
    """The loop compiled by numba, or an error that names the extra that installs it."""
    numba = require("numba", "fast")
    play, advance = numba.njit(_play), compiled_loop()
    return lambda *arguments: play(*arguments, advance)
