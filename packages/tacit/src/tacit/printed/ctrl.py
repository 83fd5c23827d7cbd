"""Printed formulas of "Differentially Private and Lazy Online Convex Optimization" (Agarwal et al., 2023).

G is the Lipschitz constant, beta the smoothness, D the diameter, d the dimension and T the rounds. Where the text
prints log, it is natural.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, expm1, inf, log, log1p, log2, sqrt

CONSTANT = 1e3
"""The constant of Theorems 8 and 11."""


@dataclass(frozen=True)
class Losses:
    """What the paper's convex problems are made of.

    Attributes:
        rounds: T.
        dimension: d.
        lipschitz: G.
        smoothness: beta.
        diameter: D.
    """

    rounds: int
    dimension: int
    lipschitz: float
    smoothness: float
    diameter: float


def lemma_7(losses: Losses, eta: float, sigma: float, delta: float) -> float:
    """Return ln Phi of Lemma 7: eta beta d + (G^2 + 2 G sigma sqrt(2 d ln(2/delta)))/(2 sigma^2)."""
    g, d = losses.lipschitz, losses.dimension
    tail = sqrt(2 * d * log(2 / delta))
    return eta * losses.smoothness * d + (g**2 + 2 * g * sigma * tail) / (2 * sigma**2)


def lemma_10(losses: Losses, eta: float, sigma: float, delta: float) -> float:
    """Return ln Phi of Lemma 10: eta beta + (G^2 + 2 G sigma sqrt(2 ln(2/delta)))/(2 sigma^2)."""
    g = losses.lipschitz
    tail = sqrt(2 * log(2 / delta))
    return eta * losses.smoothness + (g**2 + 2 * g * sigma * tail) / (2 * sigma**2)


def lemma_5(rounds: int, force: float, log_phi: float) -> dict[str, float]:
    """Return p~ = p + 1 - Phi^-2, the mean number of switches p~ T, the budget 3 p~ T, and P[it is reached]."""
    rate = force - expm1(-2 * log_phi)
    return {"rate": rate, "switches": rate * rounds, "budget": 3 * rate * rounds, "tail": exp(-rate * rounds)}


def theorem_4(losses: Losses, eta: float, sigma: float, delta: float, rate: float | None) -> float:
    """Return the bound on regret of Theorem 4, not capped.

    Args:
        losses: the problem.
        eta: inverse strength of the regulariser.
        sigma: deviation of the perturbation.
        delta: consecutive laws are (Phi, delta)-close.
        rate: p~, if the budget is 3 p~ T (None: it is infinite).
    """
    t, g, big = losses.rounds, losses.lipschitz, losses.diameter
    value = big**2 / (2 * eta) + 2 * g**2 * eta * t + sigma * sqrt(losses.dimension) * big + 2 * g * big
    if rate is None:
        return value + 6 * g * big * delta * t**2
    return value + 2 * g * big * t * (exp(-rate * t) + 3 * delta * t)


def theorem_6(losses: Losses, eta: float, sigma: float, delta: float, linear_model: bool) -> dict[str, float]:
    """Return delta', ln Phi and p of Theorem 6, and what follows from Lemma 5.

    Phi = Phi'^2, where laws of losses that differ by a 3G-Lipschitz and 2 beta-smooth function are (Phi', delta')-close
    by Lemma 7, or by Lemma 10 for generalised linear models.
    """
    t = losses.rounds
    miss = delta / t**2 / 60
    wide = Losses(t, losses.dimension, 3 * losses.lipschitz, 2 * losses.smoothness, losses.diameter)
    log_phi = 2 * (lemma_10 if linear_model else lemma_7)(wide, eta, sigma, miss)
    force = t ** (-1 / 3)
    return {"miss": miss, "log_phi": log_phi, "force": force, **lemma_5(t, force, log_phi)}


def theorem_6_promise(losses: Losses, eta: float, sigma: float, delta: float, log_phi: float) -> dict[str, float]:
    """Return the epsilon and the delta that Theorem 6 promises of any parameters.

    epsilon' = 7 ln^2(Phi) T^{2/3} + 2 ln^3(Phi) T + (2 G^2/sigma^2 + 2 eta^2 beta^2 d)^2 T^{5/3};
    epsilon = (3/2) epsilon' + sqrt(6 epsilon') sqrt(ln(2/delta)); delta + 3 T exp(-(1 - Phi^-2) T).
    """
    t = losses.rounds
    drift = 2 * losses.lipschitz**2 / sigma**2 + 2 * eta**2 * losses.smoothness**2 * losses.dimension
    spread = 7 * log_phi**2 * t ** (2 / 3) + 2 * log_phi**3 * t + drift**2 * t ** (5 / 3)
    return {
        "epsilon": 1.5 * spread + sqrt(6 * spread) * sqrt(log(2 / delta)),
        "delta": delta + 3 * t * exp(expm1(-2 * log_phi) * t),
    }


def theorem_8(losses: Losses, epsilon: float, delta: float, constant: float = CONSTANT) -> dict[str, float]:
    """Return eta and sigma of Theorem 8, with another constant in place of 10^3 where one is given."""
    t, d, g, beta = losses.rounds, losses.dimension, losses.lipschitz, losses.smoothness
    spread = sqrt(log(t / delta))
    eta = min(
        losses.diameter / (2 * g * sqrt(t)),
        _ratio(sqrt(epsilon), constant * t ** (5 / 12) * beta * sqrt(d) * spread),
        _ratio(epsilon, constant * t ** (1 / 3) * beta * d * spread),
    )
    noise = constant * g * t ** (1 / 3) * sqrt(d * log(120 * t / delta)) / epsilon
    return {"eta": eta, "sigma": max(g * sqrt(t) / sqrt(d), noise)}


def theorem_11(losses: Losses, epsilon: float, delta: float, constant: float = CONSTANT) -> dict[str, float]:
    """Return eta and sigma of Theorem 11 (generalised linear models)."""
    t, g, beta = losses.rounds, losses.lipschitz, losses.smoothness
    spread = sqrt(log(t / delta))
    eta = min(
        losses.diameter / (2 * g * sqrt(t)),
        _ratio(sqrt(epsilon), constant * t ** (5 / 12) * beta * spread),
        _ratio(epsilon, constant * t ** (1 / 3) * beta * spread),
    )
    noise = constant * g * t ** (1 / 3) * sqrt(log(120 * t / delta)) / epsilon
    return {"eta": eta, "sigma": max(g * sqrt(t), noise)}


def theorem_9(losses: Losses, switches: float) -> dict[str, float]:
    """Return sigma, eta, ln Phi, the bound on regret and the one on switches of Theorem 9 (p = 0, B infinite)."""
    t, d, g, beta, big = losses.rounds, losses.dimension, losses.lipschitz, losses.smoothness, losses.diameter
    sigma = 12 * g * t * sqrt(d * log(t)) / switches
    eta = min(big / (2 * g * sqrt(t)), _ratio(switches, 6 * beta * d * t))
    noise = 3 * beta * big**2 + 12 * g * big * sqrt(log(t))
    return {
        "sigma": sigma,
        "eta": eta,
        "log_phi": eta * beta * d + (g**2 + 4 * g * sigma * sqrt(d * log(t))) / (2 * sigma**2),
        "regret": 2 * g * big * sqrt(t) + d * t / switches * noise + 14 * g * big,
        "switches": switches,
    }


def theorem_12(losses: Losses, switches: float, noise_factor: float = 1.0) -> dict[str, float]:
    """Return sigma, eta, ln Phi, the bound on regret and the one on switches of Theorem 12.

    Args:
        losses: the problem, of generalised linear losses.
        switches: S.
        noise_factor: what the noise term of the bound is multiplied by; the print has 1, and sqrt(d) is true.
    """
    t, g, beta, big = losses.rounds, losses.lipschitz, losses.smoothness, losses.diameter
    sigma = 12 * g * t * sqrt(log(t)) / switches
    eta = min(big / (2 * g * sqrt(t)), _ratio(switches, 6 * beta * t))
    noise = 3 * beta * big**2 + 12 * g * big * sqrt(log(t)) * noise_factor
    return {
        "sigma": sigma,
        "eta": eta,
        "log_phi": eta * beta + (g**2 + 4 * g * sigma * sqrt(log(t))) / (2 * sigma**2),
        "regret": 2 * big * g * sqrt(t) + t / switches * noise + 14 * g * big,
        "switches": switches,
    }


def theorem_13(losses: Losses, convexity: float, switches: float) -> dict[str, float]:
    """Return sigma, the smallest budget, the bound on regret and the one on switches of Theorem 13.

    Args:
        losses: the problem, of strongly convex losses.
        convexity: lambda.
        switches: S.
    """
    t, d, g = losses.rounds, losses.dimension, losses.lipschitz
    first = 2 * g**2 * (1 + log(t)) / convexity
    second = 512 * d**2 * log(t) * (1 + log(t)) / convexity * t / switches**2
    return {
        "sigma": 16 * g * sqrt(d * t * log(t)) / switches,
        "least": (4 * losses.smoothness * d / convexity + 16 * d * log(t)) * log(t),
        "regret": first + second + 14 * g * losses.diameter,
        "switches": switches,
    }


def theorem_13_phi(losses: Losses, convexity: float, sigma: float, step: int) -> float:
    """Return Phi_t of Theorem 13 as it is printed, without exp."""
    t, d, g, logs = float(step), losses.dimension, losses.lipschitz, log(losses.rounds)
    value = losses.smoothness * d / (convexity * t) + 4 * d * logs / t + d / 2 * log1p(1 / t)
    return value + g**2 / (2 * sigma**2 * t) + 2 * g * sqrt(d * logs) / sigma * sqrt(t + 1) / t


def theorem_28(losses: Losses, convexity: float, sigma: float, delta: float) -> float:
    """Return the bound on regret of Theorem 28 for any sigma."""
    t, g, big = losses.rounds, losses.lipschitz, losses.diameter
    grown = 2 * (g**2 + losses.dimension * sigma**2) * (1 + log(t)) / convexity
    return grown + 6 * g * big * delta * t**2 + 2 * g * big


def theorem_15(rounds: int, norm: float, epsilon: float, delta: float) -> float:
    """Return sigma of Theorem 15: max |l| ln(T) sqrt(ln(1/delta))/epsilon."""
    return norm * log(rounds) * sqrt(log(1 / delta)) / epsilon


def lemma_16(rounds: int, spread: float, norm: float, epsilon: float, delta: float) -> dict[str, float]:
    """Return the noise of a coordinate of M l, and sigma' of Lemma 16, the noise of a loss.

    Args:
        rounds: T.
        spread: |M^+| from l2 to l_infinity.
        norm: max |M l|.
        epsilon: privacy that is asked.
        delta: delta that is asked.
    """
    coordinate = theorem_15(rounds, norm, epsilon, delta)
    return {"coordinate": coordinate, "sigma": spread * coordinate}


def theorem_14(
    rounds: int, dimension: int, lipschitz: float, diameter: float, epsilon: float, delta: float
) -> dict[str, float]:
    """Return k, C_d and the noise of Theorem 14: of a coordinate of M l, and sigma' of a loss.

    k = ceil(log2 T), C_1 = 1, C_2 = 2 (k + 1), |M l| <= sqrt(C_d) G D (equation 4.2), |M^+| = sqrt(k) (equation 4.3).
    """
    bits = ceil(log2(rounds))
    squared = 1.0 if dimension == 1 else 2.0 * (bits + 1)
    noise = lemma_16(rounds, sqrt(bits), sqrt(squared) * lipschitz * diameter, epsilon, delta)
    return {"bits": bits, "squared_norm": squared, **noise}


def _ratio(above: float, below: float) -> float:
    """Return above/below, infinite where the losses have no curvature."""
    return above / below if below else inf
