"""Weights, sensitivities and noise of the private conversion, before any data (Section 2 of the paper).

With beta_t = t^k and iterates x_t = sum beta_i w_i/beta_{1:t}, the gradient differences
delta_t = (beta_t - beta_{t-1}) grad l(x_t) + beta_{t-1} (grad l(x_t) - grad l(x_{t-1})) have norm at most
C_t = (beta_t - beta_{t-1}) G + beta_{t-1} H |x_t - x_{t-1}|, and |x_t - x_{t-1}| <= (beta_t/beta_{1:t}) D.
"""

from __future__ import annotations

import numpy as np
import scipy

from tacit.mechanisms.running_sums import Buffered, LaplaceTree, RunningSum, Tree
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.mechanisms.running_sums.tree import node_level
from tacit.privacy.curves import ROUND_UP
from tacit.validation import FloatArray


def weights(count: int, power: float) -> FloatArray:
    """beta_1, ..., beta_count."""
    return np.asarray(np.arange(1.0, count + 1) ** power)


def clipping_norms(count: int, power: float, lipschitz: float, smoothness: float, diameter: float) -> FloatArray:
    """The largest C_t that can occur, t = 1, ..., count."""
    beta = weights(count, power)
    before = np.concatenate([[0.0], beta[:-1]])
    return np.asarray((beta - before) * lipschitz + before * smoothness * diameter * beta / np.cumsum(beta))


def growing_deviations(mechanism: RunningSum, scales: FloatArray) -> FloatArray:
    """sqrt(sum_i decoder_{ti}^2 scales_i^2) at each step: the noise of the sums when scales grow.

    Scales that are only bounded by these, and predictable, have no larger second moment.
    """
    squares = scales**2
    if isinstance(mechanism, Tree | LaplaceTree):
        base = mechanism.base if isinstance(mechanism, LaplaceTree) else 2
        total = [0.0]
        for step, square in enumerate(squares.tolist(), start=1):
            total.append(total[step - base ** node_level(step, base)] + square)
        return np.sqrt(total[1:])
    # Toeplitz: the squared coefficients are the increments of the squared row norms.
    coefficients = np.diff(mechanism.row_norms() ** 2, prepend=0.0)
    total_squares = scipy.signal.fftconvolve(coefficients, squares)[: squares.size]
    return np.asarray(np.sqrt(np.maximum(total_squares, squares) + 1e-14 * squares.max(initial=0.0)))


def scheduled_column_norm(mechanism: RunningSum, sensitivities: FloatArray) -> float:
    """max_j of the norm of c_{i-j} s_j/s_i over i >= j, for growing sensitivities that are fixed in advance.

    Smaller than the column norm, because later noise is larger than what this step needs. Only sums of positive
    terms: a Fourier transform would lose all digits. l1 for Laplace-type noise. Other mechanisms: no gain taken.
    """
    if isinstance(mechanism, Tree | LaplaceTree):
        base = mechanism.base if isinstance(mechanism, LaplaceTree) else 2
        order = 1 if mechanism.noise == "laplace" else 2
        worst, values = 0.0, sensitivities.tolist()
        for leaf, own in enumerate(values, start=1):
            total, node = 0.0, leaf
            while node <= mechanism.steps:  # the nodes that contain this leaf
                total += (own / values[node - 1]) ** order
                reach = base ** (node_level(node, base) + 1)
                node = -(-node // reach) * reach
            worst = max(worst, total)
        return float(worst ** (1 / order)) * ROUND_UP
    if isinstance(mechanism, Buffered):
        theta, omega = np.array(mechanism.decays), np.array(mechanism.weights)
        inverse = sensitivities[::-1] ** -2.0  # backwards: a step is charged by those after it
        total_squares = inverse.copy()
        for a in range(theta.size):
            for b in range(theta.size):
                decay = float(theta[a] * theta[b])
                following = scipy.signal.lfilter([0.0, decay], [1.0, -decay], inverse)
                total_squares += omega[a] * omega[b] * following
        return float(np.sqrt(np.max(total_squares / inverse))) * ROUND_UP
    return mechanism.column_norm


def weighted_noise(
    mechanism: RunningSum,
    privacy: float,
    *,
    power: float,
    lipschitz: float,
    smoothness: float,
    diameter: float,
    sides: float = 2.0,
    scheduled: bool = True,
) -> float:
    """(1/beta_{1:T}) sum_t std(noise_t), one coordinate, T = steps + 1: how much noise the final iterate feels.

    Sensitivities are `sides` times the largest C_t; `scheduled` fixes them in advance.
    """
    steps = mechanism.steps
    growing = sides * np.maximum.accumulate(clipping_norms(steps, power, lipschitz, smoothness, diameter))
    column = scheduled_column_norm(mechanism, growing) if scheduled else mechanism.column_norm
    deviations = growing_deviations(mechanism, growing * column / privacy)
    return float(np.sum(deviations) / np.sum(weights(steps + 1, power)))


def paper_weighted_noise(
    horizon: int, power: float, epsilon: float, delta: float, *, lipschitz: float, smoothness: float, diameter: float
) -> float:
    """The same number for the printed equation (6): its node scales, its tree, rho = epsilon/(2 sqrt(ln(1/delta)))."""
    rho = epsilon / (2 * np.sqrt(np.log(1 / delta)))
    t = weights(horizon, 1.0)
    nodes = 2 * (power + 1) / rho * (lipschitz + smoothness * diameter) * np.sqrt(np.log2(2 * horizon))
    deviations = growing_deviations(Tree(horizon), nodes * t ** (power - 1))
    return float(np.sum(deviations) / np.sum(weights(horizon, power)))


def lattice_bias(mechanism: RunningSum, grid: Grid, growing: FloatArray, batch: int) -> FloatArray:
    """By how much, in l2, a lattice moves each averaged sum: what records lose adds up, roundings of noise do not."""
    spread = float(np.sqrt(grid.records.dimension))
    rounded = grid.disturbance(mechanism) / batch
    return np.asarray(spread * (grid.lost * np.cumsum(growing) + rounded * growing))
