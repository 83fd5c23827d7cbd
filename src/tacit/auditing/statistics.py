"""Lower bounds on epsilon and mu from runs: black-box audits with a stated confidence.

Many runs on two neighbouring streams, one score per run, a threshold chosen on the first half of the runs and judged
on the second. Clopper-Pearson bounds on both error rates turn into a lower bound on epsilon at a delta, or, for
mechanisms with Gaussian noise, on mu, which is far sharper (Nasr et al., 2023): a Gaussian mechanism keeps every
test's rates on one known curve, so rates near one half, which need few runs, are as good as rare ones.

One-run auditing (Steinke, Nasr and Jagielski, 2023): a canary in every round, in or out by a fair coin, all guessed
from a single long run. Right guesses beyond what epsilon allows are a lower bound on it.

Exact tests of residuals: vectors that should be standard normal, coins that should have their probabilities.

Each test answers with its surprise, -log10 of a bound on the probability of what was seen, and every bound holds for
finite samples: chi-square, beta, the Dvoretzky-Kiefer-Wolfowitz inequality with Massart's constant, and for coins
Ville's inequality on betting martingales, which lets runs stop whenever they like. Tests share one probability of a
false alarm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, log10

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, betainc, betaincinv, chdtr, chdtrc, logsumexp, ndtr, ndtri

from tacit.auditing.tapes import response
from tacit.noise.running_sums.running_sum import RunningSum
from tacit.validation import FloatArray

# Bets on a coin, as shares of the stake; each is made for and against every weight.
_STAKES = (0.05, 0.15, 0.45)
MOST = 300.0
"""Surprises beyond it are not told apart."""


@dataclass(frozen=True)
class Surprise:
    """What was tested, and -log10 of a bound on the probability of what was seen."""

    name: str
    value: float


def worst_surprise(surprises: list[Surprise], failure: float) -> tuple[Surprise, float]:
    """The largest surprise, and the value that all of them together exceed with probability at most `failure`."""
    return max(surprises, key=lambda surprise: surprise.value), -log10(failure / len(surprises))


def normal_surprises(normals: FloatArray, label: str, slack: float = 0.0) -> list[Surprise]:
    """Tests that the rows, in the order in which they were drawn, are independent standard normal vectors.

    `slack` is the error in probability with which the rows are known (of a quadrature); distances are judged after it.
    """
    n, d = normals.shape
    squares = np.einsum("ij,ij->i", normals, normals)
    total, mean = float(squares.sum()), normals.mean(axis=0)
    below, above = float(chdtr(n * d, total)), float(chdtrc(n * d, total))
    half = n // 2
    one, other = normals[: 2 * half : 2], normals[1 : 2 * half : 2]
    sums, gaps = float(np.sum((one + other) ** 2)), float(np.sum((one - other) ** 2))
    # Sums and differences of independent normals are independent: their share has a beta law.
    share = sums / (sums + gaps) if sums + gaps > 0 else 0.5
    left = float(betainc(half * d / 2, half * d / 2, share))
    return [
        Surprise(f"scale of {label}", _surprise(2 * min(below, above))),
        Surprise(f"mean of {label}", _surprise(float(chdtrc(d, n * float(mean @ mean))))),
        Surprise(f"coordinates of {label}", _distance_surprise(ndtr(normals).ravel(), slack)),
        Surprise(f"lengths of {label}", _distance_surprise(chdtr(d, squares), d * slack)),
        Surprise(f"dependence of {label}", _surprise(2 * min(left, 1 - left))),
    ]


def coin_surprise(kept: NDArray[np.bool_], keep: FloatArray, weights: FloatArray, label: str = "coins") -> Surprise:
    """A gambler bets on each coin at the claimed odds; under the claim she multiplies her money by 10^s with
    probability at most 10^-s.

    Args:
        kept: what happened.
        keep: the claimed probability of it, given everything before.
        weights: one column for each reason to bet, in [-1, 1], known before the coin.
        label: what the coins are.
    """
    if not len(kept):
        return Surprise(label, 0.0)
    if np.any(kept & (keep == 0)) or np.any(~kept & (keep == 1)):
        return Surprise(label, inf)
    gains = weights * (kept - keep)[:, None]
    fortunes = [np.log1p(sign * stake * gains).sum(axis=0) for stake in _STAKES for sign in (1, -1)]
    wealth = np.concatenate(fortunes)
    return Surprise(label, min(MOST, float(logsumexp(wealth) - log(wealth.size)) / log(10)))


def _distance_surprise(uniform: FloatArray, slack: float) -> float:
    """The largest distance of the empirical law from the uniform one: P[distance > s] <= 2 e^{-2 n s^2}."""
    n = uniform.size
    ordered = np.sort(uniform)
    steps = np.arange(n + 1) / n
    distance = max(float(np.max(steps[1:] - ordered)), float(np.max(ordered - steps[:-1])))
    return min(MOST, max(0.0, (2 * n * max(0.0, distance - slack) ** 2 - log(2)) / log(10)))


def _surprise(probability: float) -> float:
    return MOST if probability <= 10.0**-MOST else max(0.0, -log10(probability))


FAILURE = 1e-7
"""The probability with which one statistical statement may be wrong."""


def lower_rate(successes: int, trials: int, failure: float) -> float:
    """Clopper-Pearson lower bound on a probability."""
    return 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, failure))


def upper_rate(successes: int, trials: int, failure: float) -> float:
    """Clopper-Pearson upper bound on a probability."""
    return 1.0 if successes == trials else float(1 - betaincinv(trials - successes, successes + 1, failure))


@dataclass(frozen=True)
class Bound:
    """What the runs prove, except with probability `failure`."""

    epsilon: float
    mu: float
    failure: float
    runs: int


def rates_bound(hits: int, runs: int, alarms: int, other_runs: int, delta: float, failure: float = FAILURE) -> Bound:
    """Bounds from the event's frequency under one stream (`hits`) and under its neighbour (`alarms`)."""
    half = failure / 4  # two rates, each from both sides
    power, false = lower_rate(hits, runs, half), upper_rate(alarms, other_runs, half)
    miss, quiet = upper_rate(runs - hits, runs, half), lower_rate(other_runs - alarms, other_runs, half)
    epsilon = 0.0
    for top, bottom in ((power, false), (quiet, miss)):
        if top > delta and bottom > 0:
            epsilon = max(epsilon, log((top - delta) / bottom))
    mu = float(ndtri(power) - ndtri(false)) if power > 0 and false < 1 else 0.0
    return Bound(epsilon, max(0.0, mu), failure, runs + other_runs)


def scores_bound(one: FloatArray, other: FloatArray, delta: float, failure: float = FAILURE) -> Bound:
    """The bound at the thresholds that look best on the first half of the scores, judged on the second half."""
    cut_one, cut_other = len(one) // 2, len(other) // 2
    candidates = np.quantile(np.concatenate([one[:cut_one], other[:cut_other]]), np.linspace(0.02, 0.98, 49))

    def counts(threshold: float, first: FloatArray, second: FloatArray) -> tuple[int, int, int, int]:
        return int(np.sum(first > threshold)), len(first), int(np.sum(second > threshold)), len(second)

    def at(threshold: float) -> Bound:
        return rates_bound(*counts(threshold, one[:cut_one], other[:cut_other]), delta, failure)

    best_mu = max(candidates, key=lambda threshold: at(threshold).mu)
    best_epsilon = max(candidates, key=lambda threshold: at(threshold).epsilon)
    bounds = [
        rates_bound(*counts(threshold, one[cut_one:], other[cut_other:]), delta, failure / 2)
        for threshold in (best_mu, best_epsilon)
    ]
    return Bound(bounds[1].epsilon, bounds[0].mu, failure, len(one) + len(other))


def classifier_scores(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fisher's linear score of feature rows, fitted on the first halves (which must not be judged)."""
    cut_one, cut_other = len(one) // 2, len(other) // 2
    first, second = one[:cut_one], other[:cut_other]
    spread = np.atleast_2d(np.cov(first, rowvar=False) + np.cov(second, rowvar=False))
    ridge = 1e-9 * (1 + np.trace(spread))
    direction = np.linalg.solve(spread + ridge * np.eye(len(spread)), first.mean(axis=0) - second.mean(axis=0))
    return one @ direction, other @ direction


def sums_bound(
    mechanism: RunningSum,
    scale: float,
    generator: np.random.Generator,
    *,
    runs: int,
    step: int = 0,
    delta: float = 1e-6,
    failure: float = FAILURE,
) -> Bound:
    """The mu of a running sum from its released sums alone; each coordinate of one long vector is a run of its own."""
    shift = np.zeros(mechanism.steps)
    shift[step] = 1.0
    answer = response(mechanism, scale)
    # The likelihood ratio of Gaussian sums is linear in the whitened sums: the best score if the noise is as declared.
    declared = np.linalg.pinv(answer.noise).T @ (np.linalg.pinv(answer.noise) @ (answer.data @ shift))
    released = []
    for change in (shift, np.zeros(mechanism.steps)):
        accumulator = mechanism.start(runs, scale, mechanism.noise_from(generator))
        released.append(np.stack([accumulator.add(np.full(runs, value)) for value in change], axis=1))
    one, other = released
    # If it is not, a fitted score finds what the declared one cannot see.
    bounds = [
        scores_bound(one @ declared, other @ declared, delta, failure / 2),
        scores_bound(*classifier_scores(one, other), delta, failure / 2),
    ]
    return Bound(max(b.epsilon for b in bounds), max(b.mu for b in bounds), failure, 2 * runs)


def one_run_epsilon(
    correct: int, guesses: int, canaries: int, delta: float, failure: float = FAILURE, most: float = 30.0
) -> float:
    """The largest epsilon that one run with this many right guesses refutes (0: none).

    Under (epsilon, delta) the number of right guesses among `guesses` is at least v with probability at most
    P[Binomial(r, q) >= v] + 2 m delta max_i P[v > Binomial >= v - i]/i,  q = e^epsilon/(1 + e^epsilon).
    """
    if guesses == 0:
        return 0.0

    def refuted(epsilon: float) -> bool:
        q = 1 / (1 + np.exp(-epsilon))
        tail = float(bdtrc(correct - 1, guesses, q)) if correct else 1.0
        if delta > 0:
            depth = np.arange(1, correct + 1)
            deeper = correct - 1 - depth
            below = np.where(deeper >= 0, bdtr(np.maximum(deeper, 0), guesses, q), 0.0)
            within = bdtr(correct - 1, guesses, q) - below
            tail += 2 * canaries * delta * float(np.max(within / depth, initial=0.0))
        return tail <= failure

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, most
    if refuted(high):
        return inf
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
