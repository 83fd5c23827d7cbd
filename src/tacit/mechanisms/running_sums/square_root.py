"""The square-root mechanism: the all-ones lower triangle as the square of one Toeplitz matrix.

Fichtenberger, Henzinger and Upadhyay (2023). The power series (1 - x)^(-1/2) has the coefficients c_0 = 1,
c_k = c_{k-1} (1 - 1/(2k)); its square is 1/(1 - x), the running sum. Encoder and decoder are the same matrix, and
no Toeplitz factorisation has less noise at the last step. The noise of a sum needs every past draw, O(t d) a step:
this dense form is for tests and short streams, `Buffered` is its streaming form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.mechanisms.running_sums.base import Accumulator, Draws, RunningSum, lower_toeplitz
from tacit.mechanisms.running_sums.crowding import falling_crowding
from tacit.mechanisms.running_sums.lattice_sums import Grid, Rounding, tail_probability
from tacit.numerics.bounds import SIGMA_ABOVE
from tacit.privacy.curves import ROUND_UP
from tacit.validation import LARGEST_DIMENSION, FloatArray, check_integer


@dataclass(frozen=True)
class SquareRoot(RunningSum):
    """The best Toeplitz factorisation, in dense form.

    >>> SquareRoot(steps=3).coefficients
    array([1.   , 0.5  , 0.375])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        # All coefficients and all draws are kept; `Buffered` needs neither.
        check_integer("SquareRoot", "steps", self.steps, at_least=0, at_most=LARGEST_DIMENSION)

    @cached_property
    def coefficients(self) -> FloatArray:
        """c_0, ..., c_{steps - 1}: the first column of the encoder and of the decoder."""
        ratios = np.ones(self.steps)
        ratios[1:] -= 0.5 / np.arange(1, self.steps)
        coefficients = np.cumprod(ratios, out=ratios)
        coefficients.flags.writeable = False
        return coefficients

    @property
    def column_norm(self) -> float:
        """The norm of all coefficients, rounded up."""
        return float(np.sqrt(np.sum(self.coefficients**2))) * ROUND_UP if self.steps else 1.0

    def crowding(self, people: int) -> float:
        """The first columns together: for falling coefficients they are the worst (see `falling_crowding`)."""
        return falling_crowding(lambda count: _first_columns(self.coefficients, count), people, self)

    def row_norm(self, step: int) -> float:
        """The norm of the first `step` coefficients."""
        return float(np.sqrt(np.sum(self.coefficients[: self._check_step(step)] ** 2)))

    def row_norms(self) -> FloatArray:
        """The norms of the first t coefficients."""
        return np.sqrt(np.cumsum(self.coefficients**2))

    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """Dense (decoder, encoder): the same matrix twice."""
        root = lower_toeplitz(self.coefficients)
        return root, root.copy()

    def _accumulator(self, dimension: int, scale: float, noise: Draws, grid: Grid | None) -> SquareRootAccumulator:
        return SquareRootAccumulator(self, dimension, scale, noise, grid)

    @property
    def response(self) -> float:
        return float(np.sum(self.coefficients)) * ROUND_UP

    def rounding(self, budget: float, dimension: int, *, growing: bool = False) -> Rounding:
        """No |v| exceeds 13 sqrt(2) sigma and a step or two but with the given probability, for sum p_k^2 <= 1."""
        reach = (19.0 + (0.3 if growing else 0.0)) * SIGMA_ABOVE + budget / self.column_norm
        total = float(np.sum(self.coefficients)) * ROUND_UP
        error = 2.0**-53 * (self.steps + 2) * 1.01 * reach * total
        return Rounding(error, tail_probability(1, self.steps, dimension, growing=growing), exact=False, total=total)


class SquareRootAccumulator(Accumulator):
    """v_t = z_t - sum_{k >= 1} c_k v_{t-k}. Keeps every v; the memory grows by doubling up to steps times dimension."""

    def __init__(
        self, mechanism: SquareRoot, dimension: int, scale: float, noise: Draws, grid: Grid | None = None
    ) -> None:
        super().__init__(mechanism.steps, dimension, scale, noise, grid)
        self._newest_last = np.ascontiguousarray(mechanism.coefficients[:0:-1])  # c_{steps-1}, ..., c_1
        self._added = np.empty((0, self.dimension))

    def _advance(self, fresh: FloatArray, stretch: float) -> FloatArray:
        step = self._step
        if step > len(self._added):
            grown = np.empty((min(2 * step, self._steps), self.dimension))
            grown[: step - 1] = self._added[: step - 1]
            self._added = grown
        correction: FloatArray = self._newest_last[self._steps - step :] @ self._added[: step - 1]
        if stretch != 1.0:
            correction /= stretch
        added: FloatArray = fresh - self._rounded(correction)
        np.multiply(added, stretch, out=self._added[step - 1])
        return added

    def _noise_state(self) -> dict[str, Any]:
        return {"added": self._added[: self._step].copy()}

    def _load_noise_state(self, state: dict[str, Any], step: int) -> None:
        self._added = self._fitting(state, "added", step)


def _first_columns(coefficients: FloatArray, count: int) -> float:
    """The norm of the sum of the first `count` columns: windows of so many coefficients, added up."""
    sums = np.cumsum(coefficients)
    sums[count:] -= sums[:-count].copy()
    return float(np.sqrt(np.sum(sums**2)))
