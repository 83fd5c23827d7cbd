"""Toeplitz running sums in constant memory.

The power series (1 - x)^(-1/2) has the square 1/(1 - x), the running sum, and no Toeplitz factorisation has less noise
at the last step than c_0 = 1, c_k = c_{k-1} (1 - 1/(2k)), its coefficients (Fichtenberger, Henzinger and Upadhyay,
2023).

`Buffered`, the default for Gaussian noise: Dvijotham, McMahan, Pillutla, Steinke and Thakurta (2024), "Efficient and
near-optimal noise generation for streaming differential privacy". The encoder C is lower-triangular Toeplitz with
c_0 = 1 and, for k >= 1, a sum of a few decaying exponentials c_k = sum_i omega_i theta_i^k (here `weights` and
`decays`), so that one buffer per exponential is enough. Privacy is exact for any weights and decays, because the
column norm is that of this very C. `buffered.json` holds values that minimise the noise of the last step for horizons
that are powers of two (made by scripts/optimise_buffers.py).

The decoder in closed form: in w = 1/x the series C is 1 + sum_i omega_i theta_i / (w - theta_i). Its zeros
lambda_i are the eigenvalues of diag(theta) - u u', u_i = sqrt(omega_i theta_i); they interlace with the thetas and lie
in (0, 1) if the weights sum to less than 1. Partial fractions of 1 / ((1 - x) C(x)) give the decoder's coefficients
b_k = r_0 + sum_i r_i lambda_i^k, all positive: nothing cancels.

Of the m rounds of one person, at least b apart, the worst are 1, 1+b, ..., 1+(m-1)b, moved alike, if the encoder's
coefficients fall. Proof: docs/algorithms/running-sums.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from math import fsum
from typing import Any

import numpy as np

from tacit.accounting.curves import ROUND_UP
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.running_sums.accumulators import BufferedAccumulator, Draws
from tacit.noise.running_sums.running_sum import Grid, Rounding, RunningSum, check_participation, tail_probability
from tacit.noise.sampler_bounds import SIGMA_ABOVE
from tacit.validation import FloatArray, real_array

_BLOCK = 1 << 16
# Persons with more rounds than this are charged as if their columns were parallel.
_MOST = 2**20
# Room for the rounding of sums of coefficients.
_ROUND_UP = 1 + 1e-9


@dataclass(frozen=True)
class Buffered(RunningSum):
    """The streaming form of the square root; up to 1e8 steps its largest noise is within 0.2% of it.

    Attributes:
        steps: the most vectors that will be added.
        decays: theta, each in (0, 1); left out together with `weights`, both come from the shipped table.
        weights: omega, positive and of sum below 1.

    >>> mechanism = Buffered(steps=1000)
    >>> len(mechanism.decays)
    3
    >>> round(mechanism.column_norm * mechanism.row_norm(1000), 2)  # the square root has 3.27
    3.27
    """

    decays: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        decays, weights = self.decays, self.weights
        if isinstance(decays, tuple | list) and isinstance(weights, tuple | list) and not decays and not weights:
            decays, weights = _tabulated(self.steps)
        theta = real_array("Buffered", "decays", decays, None)
        omega = real_array("Buffered", "weights", weights, None)
        if theta.ndim != 1 or theta.shape != omega.shape or not theta.size:
            raise InvalidInput("The 'decays' and 'weights' of Buffered must be two lists of one length.")
        if not np.all((theta > 0) & (theta < 1)):
            raise InvalidInput(f"The 'decays' of Buffered must lie in (0, 1). Got {decays!r} instead.")
        if not (np.all(omega > 0) and fsum(omega) < 1):  # fsum rounds once: no sum of 1 passes for less
            raise InvalidInput(f"The 'weights' of Buffered must be positive with sum below 1. Got {weights!r} instead.")
        object.__setattr__(self, "decays", tuple(theta.tolist()))
        object.__setattr__(self, "weights", tuple(omega.tolist()))

    @cached_property
    def column_norm(self) -> float:
        """The norm of c_0, ..., c_{steps - 1} in closed form, rounded up."""
        theta, omega = np.array(self.decays), np.array(self.weights)
        tail = omega * theta
        # ||c||^2 = 1 + sum_ij omega_i omega_j sum_{k=1}^{steps-1} (theta_i theta_j)^k; all terms are positive.
        squared = 1.0 + tail @ _geometric_sums(1 - theta, max(self.steps, 1) - 1) @ tail
        return float(np.sqrt(squared)) * ROUND_UP

    def crowding(self, people: int, separation: int = 1) -> float:
        """Give the first columns at this spacing: 1 > c_1 > c_2 > ... > 0 since the weights sum to less than 1."""
        check_participation(type(self).__name__, people, separation)
        count = min(people, -(-self.steps // separation))
        if people == 1 or count == 0 or count > _MOST:
            return 1.0
        return min(1.0, self._spaced_columns(count, separation) / (people * self.column_norm) * _ROUND_UP)

    def _spaced_columns(self, count: int, spacing: int) -> float:
        """Compute the norm of the sum of columns 1, 1 + b, ..., 1 + (count - 1) b, b the spacing, in closed form.

        r steps after column j began, the sum is sum_i omega_i S_ij theta_i^r with S_ij = sum_{a <= j} theta_i^{ab}; for
        r = 0 the newest column counts 1 instead of sum_i omega_i.
        """
        theta, omega = np.array(self.decays), np.array(self.weights)
        gaps = 1 - theta
        rates = spacing * np.log1p(-gaps)
        repeated = np.expm1(np.multiply.outer(np.arange(1, count + 1), rates)) / np.expm1(rates)  # S, a row for each j
        firsts = 1 + (repeated - 1) @ omega
        later = repeated * (omega * theta)
        between = np.einsum("ji,ik,jk->", later[:-1], _geometric_sums(gaps, spacing - 1), later[:-1])
        rest = later[-1] @ _geometric_sums(gaps, self.steps - 1 - (count - 1) * spacing) @ later[-1]
        return float(np.sqrt(np.sum(firsts**2) + between + rest))

    @cached_property
    def _fractions(self) -> tuple[FloatArray, FloatArray]:
        """(1 - lambda, r) of the decoder's partial fractions, the constant term (lambda = 1) last."""
        theta, omega = np.array(self.decays), np.array(self.weights)
        u = np.sqrt(omega * theta)
        # One minus the eigenvalues directly: close to 1, lambda itself would lose its digits.
        gaps, vectors = np.linalg.eigh(np.diag(1 - theta) + np.outer(u, u))
        residues = (u @ vectors) ** 2 / gaps
        constant = 1 / (1 + np.sum(omega * theta / (1 - theta)))
        return np.append(np.minimum(gaps, 1 - 2.0**-53), 0.0), np.append(residues, constant)

    def row_norm(self, step: int) -> float:
        """Give the noise at one step (from 1 on) per unit of drawn noise, without the steps before it."""
        gaps, residues = self._fractions
        return float(np.sqrt(residues @ _geometric_sums(gaps, self._check_step(step)) @ residues))

    def row_norms(self) -> FloatArray:
        """Give the norms of b_0, ..., b_{t - 1} from their closed form."""
        gaps, residues = self._fractions
        rates = np.log1p(-gaps)
        squares = np.empty(self.steps)
        powers = np.exp(np.multiply.outer(np.arange(min(_BLOCK, self.steps)), rates))
        for first in range(0, self.steps, _BLOCK):  # lambda^(first + k) = lambda^first lambda^k
            block = squares[first : first + _BLOCK]
            np.dot(powers[: block.size], residues * np.exp(first * rates), out=block)
            np.square(block, out=block)
        return np.sqrt(np.cumsum(squares, out=squares), out=squares)

    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """Give dense (decoder, encoder), the decoder by solving rather than from its closed form."""
        powers = np.array(self.decays)[:, None] ** np.arange(self.steps)
        coefficients: FloatArray = np.array(self.weights) @ powers
        coefficients[:1] = 1.0
        index = np.arange(self.steps)
        encoder = np.tril(coefficients[np.abs(index[:, None] - index)])
        # Lower-triangular Toeplitz matrices commute: A C^-1 = C^-1 A.
        return np.asarray(np.linalg.solve(encoder, np.tri(self.steps)), dtype=np.float64), encoder

    def _accumulator(self, dimension: int, scale: float, noise: Draws, grid: Grid | None) -> BufferedAccumulator:
        return BufferedAccumulator(self, dimension, scale, noise, grid)

    @property
    def response(self) -> float:
        gaps, residues = self._fractions  # b_k = sum_i r_i (1 - gap_i)^k
        series = np.where(gaps > 0, -np.expm1(self.steps * np.log1p(-gaps)) / np.maximum(gaps, 1e-300), self.steps)
        return float(residues @ series) * ROUND_UP

    def rounding(self, budget: float, dimension: int, *, growing: bool = False) -> Rounding:
        """Compute E = 2^-53 sum_i omega_i theta_i A_i (4 min(T, 1/(1-theta_i)) + B + 2), A_i a bound on buffer i.

        Buffer i plus v is the convolution of h_i = 1/((1 - theta_i x) C(x)) = sum_j rho_ij/(1 - lambda_j x) with the
        fresh draws and with roundings of at most 1; its l1 and l2 norms bound both parts, the draws being
        sub-Gaussian, except with the tail's probability. The neighbour's buffers are off by the shift of the data.
        """
        gaps, _ = self._fractions
        gaps = gaps[:-1]  # 1 - lambda; the last one stands for the pole at 1
        far = 1 - np.array(self.decays)  # 1 - theta
        count = far.size
        others = ~np.eye(count, dtype=bool)
        above = far[None, :] - gaps[:, None]  # lambda_j - theta_k
        apart = gaps[None, :] - gaps[:, None] + np.eye(count)  # lambda_j - lambda_k
        rho = np.array(
            [np.prod(np.where(others[i], above, 1.0), axis=1) / np.prod(apart, axis=1) for i in range(count)]
        )
        absolute = np.abs(rho) @ (1 / gaps)
        pairs = gaps[:, None] + gaps[None, :] - np.outer(gaps, gaps)  # 1 - lambda_j lambda_k
        square = np.sqrt(np.maximum(np.einsum("ij,ik,jk->i", rho, rho, 1 / pairs), 0.0))
        reach = 1.01 * ((13.2 if growing else 13.0) * SIGMA_ABOVE * square + absolute) + budget / self.column_norm
        memory = 4 * np.minimum(self.steps, 1 / far) + count + 2
        error = 2.0**-53 * float(np.array(self.weights) * np.array(self.decays) @ (reach * memory)) * ROUND_UP
        if error > 0.5:
            raise PrivacyError(f"{self} cannot run on a lattice: its noise would lose its digits in float64.")
        failure = tail_probability(count, self.steps, dimension, growing=growing)
        # c_0 = 1, and c_k = sum_i omega_i theta_i^k.
        series = np.array(self.decays) * -np.expm1(max(self.steps - 1, 0) * np.log1p(-far)) / far
        return Rounding(error, failure, exact=False, total=(1 + float(np.array(self.weights) @ series)) * ROUND_UP)


def _geometric_sums(gaps: FloatArray, count: int) -> FloatArray:
    """Compute sum_{k < count} (x_i x_j)^k for all pairs of x = 1 - gap in (0, 1], accurate for gaps down to 0."""
    rates = np.log1p(-gaps)
    numerator = -np.expm1(count * np.add.outer(rates, rates))
    denominator = np.add.outer(gaps, gaps) - np.multiply.outer(gaps, gaps)
    sums: FloatArray = np.full_like(denominator, float(count))
    np.divide(numerator, denominator, out=sums, where=denominator > 0)
    return sums


def _tabulated(steps: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Give the table's values for the next larger horizon (the largest there is, beyond it)."""
    table = _table()
    entry = next((entry for entry in table if entry["horizon"] >= steps), table[-1])
    return tuple(entry["decays"]), tuple(entry["weights"])


@cache
def _table() -> list[dict[str, Any]]:
    text = files("tacit.noise.running_sums").joinpath("buffered.json").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = json.loads(text)["entries"]
    return entries
