"""Printed formulas of "Private Online Learning via Lazy Algorithms" (Asi, Koren, Liu and Talwar, 2024)."""

from __future__ import annotations

from math import ceil, log, sqrt


def theorem_3_2_epsilon(rounds: int, eta: float, force: float, batch: int, log_one: float) -> float:
    """Return epsilon of Theorem 3.2, without the deltas of its measure.

    Args:
        rounds: T.
        eta: divergence of consecutive measures.
        force: fake switching parameter p.
        batch: batch size B.
        log_one: ln(1/delta_1).
    """
    spread = rounds * eta**2 * force / batch
    return 2 * eta / force + eta + 1.5 * spread * log_one + sqrt(6 * spread) * log_one


def theorem_3_2_largest_eta(force: float, batch: int, log_one: float) -> float:
    """Return the largest eta that Theorem 3.2 allows: eta B ln(1/delta_1)/p <= 1 (and eta <= 1/10)."""
    return min(0.1, force / (batch * log_one))


def theorem_3_10(n: int, rounds: int, epsilon: float) -> dict[str, float]:
    """Return eta and B of Theorem 3.10 (experts); p is not printed."""
    smallest = rounds**-0.25 * log(n) ** 0.75
    return {
        "eta": min(smallest, epsilon) ** (2 / 3) / rounds ** (1 / 3),
        "batch": max(1, ceil(1 / epsilon)),
    }


def theorem_3_12(
    dimension: int, rounds: int, epsilon: float, delta: float, lipschitz: float, diameter: float
) -> dict[str, float]:
    """Return eta, p, B, lambda and beta of Theorem 3.12 (convex losses); B is rounded up."""
    eta = epsilon ** (2 / 3) / (rounds ** (1 / 3) * log(rounds / delta))
    ridge = lipschitz / diameter * max(sqrt(rounds), sqrt(dimension * log(rounds)) / eta)
    return {
        "eta": eta,
        "force": eta / epsilon,
        "batch": max(1, ceil(1 / (2 * epsilon * log(1 / delta)))),
        "ridge": ridge,
        "beta": eta**2 * ridge / (20 * lipschitz**2),
    }
