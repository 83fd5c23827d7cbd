"""Printed formulas of "Differentially Private Online-to-Batch for Smooth Losses" (Zhang, Tran and Cutkosky, 2022).

The letters are the paper's: T records, weights beta_t = t^k, a domain of diameter D, losses that are G-Lipschitz and
H-smooth, sigma_G and sigma_H of Assumptions 5 and 6, V of the noise's law and lambda of the norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log2, sqrt

import numpy as np

from tacit.validation import FloatArray


@dataclass(frozen=True)
class Constants:
    """What the printed bounds are computed from.

    Attributes:
        rounds: T, the number of records.
        power: k of the weights t^k.
        diameter: D.
        lipschitz: G.
        smoothness: H.
        gradient_deviation: sigma_G of Assumption 5; the paper notes that 2 G serves.
        hessian_deviation: sigma_H of Assumption 6; the paper notes that 2 H serves.
        rho: of the Renyi privacy (alpha, alpha rho^2/2).
        variance: V, of Definition 4.
        strong_convexity: lambda, of the squared norm.
    """

    rounds: int
    power: float
    diameter: float
    lipschitz: float
    smoothness: float
    gradient_deviation: float
    hessian_deviation: float
    rho: float
    variance: float
    strong_convexity: float

    @property
    def range(self) -> float:
        """G + D H."""
        return self.lipschitz + self.diameter * self.smoothness

    @property
    def deviation(self) -> float:
        """sigma_G + D sigma_H."""
        return self.gradient_deviation + self.diameter * self.hessian_deviation

    @property
    def levels(self) -> float:
        """log2(2T), the printed bound on the nodes of a record and of a sum."""
        return log2(2 * self.rounds)

    @property
    def steps(self) -> FloatArray:
        """The numbers 1, ..., T."""
        return np.arange(1.0, self.rounds + 1)


def rho(epsilon: float, delta: float) -> float:
    """Return the rho with 2 rho sqrt(ln(1/delta)) = epsilon, the conversion of Section 1.1."""
    return epsilon / (2 * sqrt(log(1 / delta)))


def smallest_delta(rho: float) -> float:
    """Return exp(-rho^2), from which on Section 1.1 prints its conversion; it holds up to there instead."""
    return exp(-(rho**2))


def lemma_15(power: float, lipschitz: float, smoothness: float, moved: float, step: float) -> float:
    """Return the bound of Lemma 15 on a gradient difference: (k+1)(G + H |w_t - x_{t-1}|) t^(k-1)."""
    bound: float = (power + 1) * (lipschitz + smoothness * moved) * step ** (power - 1)
    return bound


def equation_6(privacy: float, rounds: int) -> dict[str, float]:
    """Return the scale of a node's noise in units of the bound of Lemma 15, at the largest |w_i - x_{i-1}| so far.

    sigma_t^2 = 4(k+1)^2/rho^2 (G + H max_i |w_i - x_{i-1}|)^2 log2(2T) t^(2k-2); `privacy` is rho.
    """
    return {"scale": 2 * sqrt(log2(2 * rounds)) / privacy}


def theorem_19(epsilon: float, rounds: int, dimension: int, *, linear: bool = False) -> dict[str, float]:
    """Return the same for noise of density exp(-|x|): epsilon for rho, "correspondingly", and V in l2.

    Args:
        epsilon: what is asked.
        rounds: T.
        dimension: d.
        linear: read it with log2(2T) for its root, since pure epsilons of nodes add up.
    """
    levels = log2(2 * rounds)
    # |x| is a Gamma(d) variable.
    return {"scale": 2 * (levels if linear else sqrt(levels)) / epsilon, "variance": dimension * (dimension + 1.0)}


def equation_7(known: Constants) -> FloatArray:
    """Return the bounds of equation (7) on E|gamma_t|^2, the noise in the sum of step t."""
    factor = 8 * (known.power + 1) ** 2 * known.variance * known.range**2 / (known.strong_convexity * known.rho**2)
    return factor * known.levels**2 * known.steps ** (2 * known.power - 2)


def theorem_4(known: Constants, regret: float) -> dict[str, float]:
    """Return the bound of Theorem 4 on E L(x_T) - L(x*).

    Args:
        known: the constants.
        regret: a bound on the expected regret of the online learner.
    """
    k, rounds = known.power, known.rounds
    spread = known.deviation / sqrt(rounds)
    noise = sqrt(2 * known.variance) * known.range * known.levels / (known.rho * rounds)
    lost = 2 * (k + 1) ** 2 * known.diameter / sqrt(known.strong_convexity) * (spread + noise)
    return {"excess_risk": (k + 1) * regret / rounds ** (k + 1) + lost, "without_regret": lost}


def theorem_4_gradients(known: Constants) -> FloatArray:
    """Return the bounds of Theorem 4 on E|g_t + gamma_t|^2, what the learner observes."""
    t = known.steps
    errors = known.deviation**2 / t + 2 * known.variance * known.range**2 * known.levels**2 / (known.rho * t) ** 2
    factor = 4 * (known.power + 1) ** 2 / known.strong_convexity
    return np.asarray(3 * t ** (2 * known.power) * (known.lipschitz**2 + factor * errors))


def theorem_6_changes(known: Constants) -> FloatArray:
    """Return the bounds in the proof of Theorem 6 on E|g_t - hint_t|^2, the hint being the gradient before."""
    noise = 16 * known.variance * known.levels**2 / (known.strong_convexity * known.rho**2)
    return 3 * (known.power + 1) ** 2 * known.range**2 * known.steps ** (2 * known.power - 2) * (1 + noise)


def theorem_8(known: Constants, regret: float, curvature: float) -> dict[str, float]:
    """Return the bound of Theorem 8 on E L(x_T) - L(x*) for a loss of strong convexity mu = `curvature`.

    At k = 1 the proof's sum of t^(k-2) is ln T times what is printed.
    """
    k, rounds = known.power, known.rounds
    noise = 2 * known.variance * (known.range * known.levels) ** 2 / (known.rho * rounds) ** 2
    factor = 16 * (k + 1) ** 3 / (known.strong_convexity * curvature)
    lost = factor * (known.deviation**2 / rounds + noise)
    return {"excess_risk": (k + 1) * regret / rounds ** (k + 1) + lost, "without_regret": lost}


def theorem_8_gradients(known: Constants, curvature: float) -> FloatArray:
    """Return the bounds of Theorem 8 on E|g_t|^2 of the regularised losses."""
    t = known.steps
    errors = known.deviation**2 / t + 2 * known.variance * known.range**2 * known.levels**2 / (known.rho * t) ** 2
    signal = 4 * known.lipschitz**2 + (curvature * known.diameter) ** 2
    factor = 16 * (known.power + 1) ** 2 / known.strong_convexity
    return np.asarray(t ** (2 * known.power) * (signal + factor * errors))


def remark_9_regret(squares: FloatArray, weights: FloatArray, curvature: float) -> float:
    """Return sum_t E|g_t|^2/(2 mu_{1:t}) with mu_t = beta_t mu/2, the regret of Remark 9."""
    return float(np.sum(squares / (curvature * np.cumsum(weights))))


def theorem_10(
    known: Constants, dimension: int, failure: float, constant: float, sub_gaussian: float = 1.0
) -> dict[str, float]:
    """Return the regularisers of Theorem 10: xi_t = first t^(5/2) + second t^2, nu_t = square t^(5/2).

    Args:
        known: the constants, k = 3.
        dimension: d.
        failure: delta of the statement, with which probability it may fail.
        constant: the universal C, which the paper does not give.
        sub_gaussian: sigma_D of the noise's law.
    """
    a = 8 * sqrt(2) * constant**2
    a_noise = 8 * sqrt(dimension) * sub_gaussian * constant**2
    kappa = 1 + known.diameter * known.smoothness / known.lipschitz
    rounds = known.rounds
    phi = sqrt(log(20 * dimension * rounds * log(2 * kappa * rounds) / failure))
    return {
        "phi": phi,
        "first": a * known.lipschitz * phi,
        "second": a_noise * known.range * phi * known.levels / known.rho,
        "square": 28 * a * known.smoothness * phi,
        "a": a,
        "a_noise": a_noise,
    }


def theorem_11(
    known: Constants, dimension: int, failure: float, constant: float, distance: float, regret: float
) -> dict[str, float]:
    """Return the bound of Theorem 11 on L(x_T) - L(x*), with probability 1 - `failure`.

    Args:
        known: the constants, k = 3.
        dimension: d.
        failure: with which probability it may fail.
        constant: the universal C.
        distance: |x*|, from the first point.
        regret: of the learner on the regularised losses.
    """
    found = theorem_10(known, dimension, failure, constant)
    rounds, phi = known.rounds, found["phi"]
    signal = 8 * found["a"] * distance * (known.lipschitz + 28 * distance * known.smoothness) * phi / sqrt(rounds)
    noise = 8 * found["a_noise"] * distance * known.range * phi * known.levels / (known.rho * rounds)
    return {"excess_risk": 4 * regret / rounds**4 + signal + noise, "without_regret": signal + noise}


def theorem_11_gradients(known: Constants, dimension: int, failure: float, constant: float) -> FloatArray:
    """Return the bounds of Theorem 11 on |g_t| of the regularised losses."""
    found, t = theorem_10(known, dimension, failure, constant), known.steps
    middle = found["a"] * (2 * known.lipschitz + 57 * known.diameter * known.smoothness) * found["phi"]
    return np.asarray(known.lipschitz * t**3 + middle * t**2.5 + 2 * found["second"] * t**2)
