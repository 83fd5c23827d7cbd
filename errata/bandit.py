"""Errata of "Projection-Free Bandit Optimization with Privacy Guarantees", checked without tacit.

Alina Ene, Huy L. Nguyen and Adrian Vladu (2021; the text read is that of arXiv 2012.12138 with
Appendices A to D; it carries no version number). Run `python errata/bandit.py [name ...]`.

Notation: dimension n, diameter D, losses L-Lipschitz, smoothing radius zeta, batches of T^{1/2}
rounds. Algorithm 1, PrivateBandit, asks for values f_t(x + zeta u) around a leader x of noisy sums
of (n/zeta) f_t u.
"""

from __future__ import annotations

import sys
from math import ceil, isqrt, log, log2, pi, sqrt
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import log_ndtr, ndtr

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from errata.report import (
    CONSTANT,
    FALSE,
    GAP,
    LOOSE,
    PRIVACY,
    RATE,
    RIGHT,
    Errata,
    Finding,
    number,
)

errata = Errata(
    "errata/bandit.py",
    'Ene, Nguyen, Vladu: "Projection-Free Bandit Optimization with Privacy Guarantees"',
    "the text of the preprint with Appendices A to D; it carries no version number",
)

# The formulas of the paper.


def printed_sign_of_line_14() -> float:
    """Return the sign of <eta s, x> in line 14: it minimises |x|^2/2 - <eta s, x>."""
    return -1.0


def printed_parameters(
    rounds: int, dimension: int, lipschitz: float, diameter: float
) -> tuple[float, float]:
    """Return eta = D/(T^{3/4} n^{1/2} L) and zeta = D n^{1/2}/T^{1/4} of Algorithm 1."""
    eta = diameter / (rounds**0.75 * sqrt(dimension) * lipschitz)
    return eta, diameter * sqrt(dimension) / rounds**0.25


def printed_norm_of_a_batch(rounds: int, dimension: int, lipschitz: float) -> float:
    """Return T^{1/2} n L, the l1 norm of a batch in the proof of Lemma 5.1."""
    return sqrt(rounds) * dimension * lipschitz


def printed_laplace_scale(rounds: int, dimension: int, lipschitz: float, epsilon: float) -> float:
    """Return T^{1/2} n L log T/epsilon of Lemma 5.1, natural logarithm."""
    return printed_norm_of_a_batch(rounds, dimension, lipschitz) * log(rounds) / epsilon


def printed_gaussian_scale(
    rounds: int, dimension: int, lipschitz: float, epsilon: float, delta: float
) -> float:
    """Return sigma of Lemma 5.4."""
    tail = log((dimension + rounds) / delta)
    size = rounds**0.25 * sqrt(dimension) * lipschitz * log(rounds) * log(rounds / delta) / epsilon
    return size * (tail + sqrt((1 + sqrt(rounds) / dimension) * tail))


def printed_norm_of_lemma_5_3(bound: float, count: int, dimension: int, miss: float) -> float:
    """Return 10 Delta (ln((n+k)/delta) + sqrt((1 + k/n) ln((n+k)/delta)))."""
    tail = log((dimension + count) / miss)
    return 10 * bound * (tail + sqrt((1 + count / dimension) * tail))


def printed_tree_scale(bound: float, rounds: int, epsilon: float, base: float = 2.0) -> float:
    """Return lambda of Theorem 2.3: Y_1 log T/epsilon."""
    return bound * log(rounds) / log(base) / epsilon


def printed_tree_deviation(bound: float, rounds: int, epsilon: float, delta: float) -> float:
    """Return sigma of Theorem 2.3: (Y_2/epsilon) log T log(log T/delta), natural logarithms."""
    return bound / epsilon * log(rounds) * log(log(rounds) / delta)


def printed_rate_of_algorithm_2(size: float, variance: float, rounds: int) -> float:
    """Return eta of NoisyOCO: D_omega^{1/2}/(kappa T^{1/2})."""
    return sqrt(size) / (variance * sqrt(rounds))


def printed_regret_of_lemma_4_1(size: float, variance: float, rounds: int) -> float:
    """Return T^{1/2} kappa D_omega, the order of Lemma 4.1 without noise in the map."""
    return sqrt(rounds) * variance * size


def printed_bound_on_values(lipschitz: float, diameter: float) -> float:
    """Return L D, the bound on |f_t| of Section 2."""
    return lipschitz * diameter


def printed_price_of_doubling(epochs: int) -> float:
    """Return the factor of the privacy loss for an unknown horizon, one epsilon an epoch."""
    return float(epochs)


# What several checks use.


def epsilon_of_gaussian(mu: float, delta: float) -> float:
    """Return the epsilon of the Gaussian mechanism with shift over deviation mu."""

    def excess(epsilon: float) -> float:
        lost = np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
        return float(ndtr(mu / 2 - epsilon / mu) - lost) - delta

    return float(brentq(excess, 0.0, 10 * mu + mu**2)) if excess(0.0) > 0 else 0.0


def mu_of_gaussian(epsilon: float, delta: float) -> float:
    """Return the largest shift over deviation at which the Gaussian mechanism is private."""
    return float(brentq(lambda mu: epsilon_of_gaussian(mu, delta) - epsilon, 1e-3, 10.0))


def nodes_with_a_leaf(sums: int) -> int:
    """Return the number of tree nodes that a leaf is in, at most, over sums 1, ..., `sums`.

    The sum of the first t leaves is made of the node that ends at t and has lowbit(t) leaves, and
    of the sum before.
    """
    ends = np.arange(1, sums + 1)
    sizes = ends & -ends
    covered = np.zeros(sums + 2, dtype=int)
    np.add.at(covered, ends - sizes, 1)
    np.add.at(covered, ends, -1)
    return int(np.max(np.cumsum(covered)))


# The errata: first those that break privacy.


@errata.erratum(
    "Theorem 2.3, replacement",
    PRIVACY,
    FALSE,
    "Replacing a vector of norm at most Y moves it by up to 2 Y: the Laplace scale gives 2 "
    "epsilon and more.",
)
def theorem_2_3() -> Finding:
    """Check that tree sums with Laplace noise of scale Y log T/epsilon are epsilon-DP.

    Counterexample: y replaced by -y. At T = 2 the first sum has one noise of scale Y/epsilon; at T
    = 1024 all nodes with the leaf move. With the natural logarithm the scale is smaller still. The
    Gaussian scale has a factor to spare.
    """
    epsilon = 1.0
    bound = 1.0
    delta = 1e-6
    losses = {
        (rounds, base): 2
        * bound
        * nodes_with_a_leaf(rounds - 1)
        / printed_tree_scale(bound, rounds, epsilon, base)
        for rounds in (2, 1024)
        for base in (2.0, np.e)
    }
    levels = nodes_with_a_leaf(1023)
    deviation = printed_tree_deviation(bound, 1024, epsilon, delta)
    gaussian = epsilon_of_gaussian(2 * bound * sqrt(levels) / deviation, delta)
    mended = 2 * bound * levels / (2 * bound * levels / epsilon)
    return Finding(
        printed="Y=1: Laplace noise of scale log T/epsilon makes all sums epsilon-DP, epsilon=1",
        counter=(
            f"T=2, first sum: log ratio {losses[2, 2.0]:.2f} (log base 2), {losses[2, np.e]:.2f} "
            "(natural)",
            f"T=1024, all nodes: {losses[1024, 2.0]:.2f} (base 2), {losses[1024, np.e]:.2f} "
            "(natural)",
        ),
        shown=min(losses.values()) > 1.5 * epsilon,
        instead=f"scale 2 Y (floor(log2 n) + 1)/epsilon for n sums: {mended:g}; the printed "
        "Gaussian scale "
        f"keeps its promise at T=1024, delta=1e-6: epsilon {gaussian:.2f}",
        holds=mended <= epsilon and gaussian <= epsilon,
        numbers={
            "T=2": losses[2, 2.0],
            "T=1024, base 2": losses[1024, 2.0],
            "T=1024, natural": losses[1024, np.e],
            "gaussian": gaussian,
        },
    )


@errata.erratum(
    "Section 2, bounded values",
    PRIVACY,
    GAP,
    "|f| <= L D is promised of private data, and is false where f is asked: at distance zeta "
    "outside the set.",
)
def values() -> Finding:
    """Check |f_t| <= L D at the points where Algorithm 1 asks.

    Counterexample: f(x) = L|x - a| with a on the boundary, asked at distance zeta = .1 outside on
    the other side. A value of 10 L D, which nothing excludes, has ten times the privacy loss.
    """
    lipschitz = 1.0
    diameter = 1.0
    zeta = 0.1
    allowed = printed_bound_on_values(lipschitz, diameter)
    place = -diameter / 2
    asked = diameter / 2 + zeta
    value = lipschitz * abs(asked - place)
    loss = 10 * lipschitz * diameter / allowed
    clipped = np.clip([1e6, -1e6, 0.3], 0.0, allowed)
    return Finding(
        printed=f"L = D = 1: |f_t| <= {allowed:g}",
        counter=(
            f"zeta=.1: f = {value:.2f} is asked for",
            f"a value of 10 L D against 0 has {loss:g} epsilon under noise for L D",
        ),
        shown=value > allowed and loss > 1,
        instead=f"values clipped to [0, L D] differ by at most {np.ptp(clipped):g}, whatever the "
        "data",
        holds=float(np.ptp(clipped)) <= allowed,
        numbers={"value": value, "loss": loss},
    )


# Those that break the rate.


@errata.erratum(
    "Algorithm 1, line 14, the sign",
    RATE,
    FALSE,
    "The leader minimises |x|^2/2 - <eta s, x> and runs uphill; the plus is right.",
)
def line_14() -> Finding:
    """Run Algorithm 1 with the printed sign and with the other, and uniform play.

    Counterexample: distances to a target that jumps about (.3, 0) in the disc of radius 1/2,
    T = 100,000, epsilon = 1, the printed parameters and Laplace noise (three runs each), with and
    without the noise by which Algorithm 4 fills up every sum, and without any noise.
    """
    rounds = 100_000
    sign = printed_sign_of_line_14()
    regrets = {
        (way, noise): [regret_of_algorithm_1(rounds, way, noise, seed) for seed in (1, 2, 3)]
        for way in (sign, 1.0)
        for noise in ("printed", "not filled up", "none")
    }
    means = {case: float(np.mean(runs)) for case, runs in regrets.items()}
    uniform = regret_of_uniform_play(4 * rounds)
    noises = ("printed", "not filled up", "none")
    worse = all(min(regrets[sign, noise]) > uniform for noise in noises)
    better = all(max(regrets[1.0, noise]) < min(regrets[sign, noise]) for noise in noises)
    return Finding(
        printed="T=1e5, n=2, L=D=1, epsilon=1: regret of the order of T^(3/4)",
        counter=(
            f"regret a round {means[sign, 'printed']:.3f}, worse than uniform play, {uniform:.3f}",
            f"sums not filled up {means[sign, 'not filled up']:.3f}, "
            f"no noise {means[sign, 'none']:.3f}",
        ),
        shown=worse,
        instead=f"with the plus {means[1.0, 'printed']:.3f}, "
        f"{means[1.0, 'not filled up']:.3f}, {means[1.0, 'none']:.3f}",
        holds=better and max(regrets[1.0, "none"]) < 0.5 * uniform,
        numbers={
            "printed": means[sign, "printed"],
            "printed, not filled up": means[sign, "not filled up"],
            "printed, no noise": means[sign, "none"],
            "plus": means[1.0, "printed"],
            "plus, not filled up": means[1.0, "not filled up"],
            "plus, no noise": means[1.0, "none"],
            "uniform": uniform,
        },
    )


def jumping_targets(rounds: int, generator: np.random.Generator) -> np.ndarray:
    """Return targets about (.3, 0) with deviation .1, within the disc of radius 1/2."""
    targets = 0.1 * generator.standard_normal((rounds, 2)) + np.array([0.3, 0.0])
    return into_disc(targets)


def into_disc(points: np.ndarray) -> np.ndarray:
    """Return the nearest points of the disc of radius 1/2."""
    lengths = np.linalg.norm(points, axis=-1, keepdims=True)
    return points * np.minimum(1.0, 0.5 / np.maximum(lengths, 1e-300))


def best_fixed_distance(targets: np.ndarray) -> float:
    """Return the mean distance of the targets to their geometric median."""

    def cost(point: np.ndarray) -> float:
        return float(np.mean(np.linalg.norm(targets - point, axis=1)))

    return float(minimize(cost, np.array([0.3, 0.0]), method="Nelder-Mead", tol=1e-6).fun)


def regret_of_algorithm_1(rounds: int, sign: float, noise: str, seed: int) -> float:
    """Return the regret a round of Algorithm 1 with exact leaders and this sign of <eta s, x>.

    Args:
        rounds: T.
        sign: sign of <eta s, x> in line 14.
        noise: "printed", "not filled up" (a sum has the noise of its nodes only) or "none".
        seed: seed of the targets, directions and noise.
    """
    generator = np.random.default_rng(seed)
    targets = jumping_targets(rounds, generator)
    eta, zeta = printed_parameters(rounds, 2, 1.0, 1.0)
    batches = isqrt(rounds)
    length = rounds // batches
    scale = 0.0 if noise == "none" else printed_laplace_scale(rounds, 2, 1.0, 1.0)
    padded = ceil(log2(batches))  # every sum carries ceil(log T_round) noises
    nodes: dict[int, np.ndarray] = {}
    leader = np.zeros(2)
    previous = np.zeros(2)
    total = np.zeros(2)
    cost = 0.0
    for batch in range(1, batches + 1):
        angles = 2 * pi * generator.random(length)
        u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        rows = slice((batch - 1) * length, batch * length)
        losses = np.linalg.norm(leader + zeta * u - targets[rows], axis=1)
        cost += float(losses.sum())
        total = total + (2 / zeta * losses[:, None] * u).sum(axis=0)
        nodes[batch] = generator.laplace(0.0, scale, 2)
        drawn = np.zeros(2)
        end = batch
        count = 0
        while end:
            drawn, end, count = drawn + nodes[end], end - (end & -end), count + 1
        if noise == "printed" and count < padded:
            drawn = drawn + generator.laplace(0.0, scale, (padded - count, 2)).sum(axis=0)
        # The leader of a batch is computed, beside the batch before it, from the sums before that.
        leader, previous = into_disc(-sign * eta * previous), total + drawn
    played = batches * length
    return cost / played - best_fixed_distance(targets[:played])


def regret_of_uniform_play(rounds: int) -> float:
    """Return the regret a round of uniform points of the disc."""
    generator = np.random.default_rng(4)
    targets = jumping_targets(rounds, generator)
    points = generator.standard_normal((rounds, 2))
    points *= (0.5 * np.sqrt(generator.random(rounds)) / np.linalg.norm(points, axis=1))[:, None]
    cost = float(np.mean(np.linalg.norm(points - targets, axis=1)))
    return cost - best_fixed_distance(targets)


@errata.erratum(
    "Algorithm 2, the rate",
    RATE,
    FALSE,
    "eta = D^{1/2}/(kappa T^{1/2}) walks sqrt(D) times too slowly; D/(kappa T^{1/2}) is right.",
)
def algorithm_2_rate() -> Finding:
    """Check regret O(kappa D T^{1/2}) of NoisyOCO (Lemma 4.1) at the printed rate.

    Counterexample: one linear loss on an interval of half length sqrt(2) D (the mirror map x^2/2 is
    at most D^2), T = 10^6, no noise, D = 1 and 10^4. (Line 5 should read s_t = s_{t-1} + g_t.)
    """
    rounds = 10**6
    kappa = 1.0
    ratios = {}
    for size in (1.0, 1e4):
        half = sqrt(2) * size
        for name, rate in (
            ("printed", printed_rate_of_algorithm_2(size, kappa, rounds)),
            ("corrected", size / (kappa * sqrt(rounds))),
        ):
            points = np.minimum(half, rate * kappa * np.arange(rounds))
            regret = kappa * float(np.sum(half - points))
            ratios[size, name] = regret / printed_regret_of_lemma_4_1(size, kappa, rounds)
    return Finding(
        printed="T=1e6: regret at most a constant times kappa D sqrt(T)",
        counter=f"regret over that: {ratios[1.0, 'printed']:.2f} at D=1, "
        f"{ratios[1e4, 'printed']:.0f} at D=1e4",
        shown=ratios[1e4, "printed"] > 10 * ratios[1.0, "printed"],
        instead=f"at the rate D/(kappa sqrt(T)): {ratios[1.0, 'corrected']:.2f} and "
        f"{ratios[1e4, 'corrected']:.2f}",
        holds=max(ratios[1.0, "corrected"], ratios[1e4, "corrected"]) <= 1.5,
        numbers={f"{name}, D={size:g}": value for (size, name), value in ratios.items()},
    )


# Constants and typos.


@errata.erratum(
    "Lemma 5.1, the norm of a batch",
    CONSTANT,
    RIGHT,
    "T^{1/2} n^{1/2} M is T^{3/4} n L, not T^{1/2} n L; the lemma holds all the same, since one "
    "round moves far less.",
)
def lemma_5_1() -> Finding:
    """Check T_batch n^{1/2} M <= T^{1/2} n L, M = T^{1/4} n^{1/2} L, in the proof.

    Counterexample to the step: T = 10^6, n = 10. Given the transcript the points are fixed, so
    replacing a round moves one row by (n/zeta)|y - y'||u|, in l1 at most sqrt(n) n W/zeta, W = L D:
    the lemma's noise is enough, and too much.
    """
    rounds = 10**6
    n = 10
    lipschitz = 1.0
    diameter = 1.0
    _, zeta = printed_parameters(rounds, n, lipschitz, diameter)
    entry = rounds**0.25 * sqrt(n) * lipschitz
    product = sqrt(rounds) * sqrt(n) * entry
    printed = printed_norm_of_a_batch(rounds, n, lipschitz)
    diagonal = np.full(n, 1 / sqrt(n))
    move = float(np.abs(diagonal * n / zeta * lipschitz * diameter).sum())
    levels = nodes_with_a_leaf(isqrt(rounds))
    spare = printed_laplace_scale(rounds, n, lipschitz, 1.0) / (move * levels)
    return Finding(
        printed=f"T=1e6, n=10, L=D=1: T^(1/2) n^(1/2) M <= {number(printed)}",
        counter=f"the product is {number(product)}",
        shown=product > printed,
        instead=f"one round moves a batch by at most {number(move)}: the printed noise is "
        f"{spare:.0f} times what is needed",
        holds=move <= printed and spare >= 1,
        numbers={"printed": printed, "product": product, "move": move, "spare": spare},
    )


@errata.erratum(
    "Lemma 5.4, an l2 norm",
    CONSTANT,
    RIGHT,
    "Lemma 5.3 wants the norm of all coefficients, up to T^{1/4} M; a bound on each of them was "
    "inserted.",
)
def lemma_5_4() -> Finding:
    """Check that sum c_i u_i, |c_i| <= M, has the norm of Lemma 5.3 with Delta = M.

    Counterexample to the step: n = 2, k = 10^5, c_i = M sign(u_i1): the norm is about 2 k M/pi.
    (Values of a Lipschitz loss vary little over a ball of radius zeta, so this is no attack.) One
    round's l2 move is n W/zeta: the printed noise is thousands of times what is needed.
    """
    rounds = 10**10
    n = 2
    delta = 1e-6
    k = isqrt(rounds)
    u = np.random.default_rng(4).standard_normal((k, n))
    u /= np.linalg.norm(u, axis=1)[:, None]
    norm = float(np.linalg.norm(np.sum(u * np.sign(u[:, :1]), axis=0)))
    miss = delta / (2 * sqrt(rounds))
    printed = printed_norm_of_lemma_5_3(1.0, k, n, miss)
    corrected = printed_norm_of_lemma_5_3(sqrt(k), k, n, miss)
    short = 10**5
    _, zeta = printed_parameters(short, n, 1.0, 1.0)
    levels = nodes_with_a_leaf(isqrt(short))
    needed = n / zeta * sqrt(levels) / mu_of_gaussian(1.0, delta)
    spare = printed_gaussian_scale(short, n, 1.0, 1.0, delta) / needed
    return Finding(
        printed=f"n=2, k=1e5: the norm is at most {number(printed)} M",
        counter=f"it is {number(norm)} M (2 k/pi = {number(2 * k / pi)})",
        shown=norm > printed,
        instead=f"with Delta = sqrt(k) M: {number(corrected)} M; the printed noise is "
        f"{number(spare)} times what one "
        "round needs (T=1e5, n=2)",
        holds=norm <= corrected and spare >= 1,
        numbers={"printed": printed, "norm": norm, "spare": spare},
    )


@errata.erratum(
    "Section 2, the doubling trick",
    CONSTANT,
    LOOSE,
    "Epochs use disjoint rounds: an unknown horizon costs no privacy, where a factor O(log T) is "
    "charged.",
)
def doubling() -> Finding:
    """Check that the doubling trick costs a factor of the number of epochs in privacy.

    Counterexample: each round's loss enters one epoch, and the lengths are fixed in advance, so
    parallel composition applies. Counted for epochs of 1, 2, 4, ... rounds up to 10^6.
    """
    lengths = []
    while sum(lengths) < 10**6:
        lengths.append(2 ** len(lengths))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.cumsum([0, *lengths[:-1]])
    uses = np.zeros(len(owner), dtype=int)
    for start, length in zip(starts, lengths, strict=True):
        uses[start : start + length] += 1
    printed = printed_price_of_doubling(len(lengths))
    return Finding(
        printed=f"T=1e6: the privacy loss is up to {printed:g} epsilon",
        counter=f"a round's loss enters {uses.max()} epoch: epsilon",
        shown=printed > 2 * uses.max() and uses.min() == 1,
        numbers={"printed": printed, "uses": float(uses.max())},
    )


if __name__ == "__main__":
    sys.exit(errata.main(sys.argv[1:]))
