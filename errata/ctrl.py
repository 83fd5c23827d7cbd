"""Errata of "Differentially Private and Lazy Online Convex Optimization", checked without tacit.

Naman Agarwal, Satyen Kale, Karan Singh and Abhradeep Thakurta (2023). Read: the text with the
editors' line of the proceedings (Gergely Neu and Lorenzo Rosasco, COLT 2023) and Appendices A to F;
it carries no version number. Run `python errata/ctrl.py [name ...]`.

Notation of the paper: losses are G-Lipschitz and beta-smooth on a set of diameter D, J is the
regularised objective, mu_t the law of argmin J(l_1 + ... + l_{t-1}) + <Z, x> with Z ~ N(0, sigma^2
I), Phi the scale of a coin.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import exp, expm1, inf, log, log1p, pi, sqrt
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp, ndtr, ndtri
from scipy.stats import chi

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from errata.report import CONSTANT, FALSE, GAP, LOOSE, PRIVACY, RATE, Errata, Finding, number

errata = Errata(
    "errata/ctrl.py",
    'Agarwal, Kale, Singh, Thakurta: "Differentially Private and Lazy Online Convex Optimization"',
    "the text of the COLT 2023 proceedings with appendices; it carries no version number",
)

Losses = list[tuple[float, float]]


@dataclass(frozen=True)
class Setting:
    """One problem on which a theorem is evaluated.

    Attributes:
        rounds: T.
        dimension: d.
        lipschitz: G.
        smoothness: beta.
        diameter: D.
        epsilon: the epsilon asked for.
        delta: the delta asked for.
    """

    rounds: int
    dimension: int
    lipschitz: float = 1.0
    smoothness: float = 1.0
    diameter: float = 2.0
    epsilon: float = 1.0
    delta: float = 1e-6


SIGMOID = 1 / (1 + exp(-1))
"""The largest slope of the logistic loss ln(1 + e^{-z}) on [-1, 1]."""
QUADRATIC = {"lipschitz": 2.0, "smoothness": 1.0}
"""|x - z|^2/2 with both points in the unit ball."""
LOGISTIC = {"lipschitz": SIGMOID, "smoothness": 0.25}
"""The logistic loss of a feature vector and a point of the unit ball."""
FAMILIES = (("Theorem 8", QUADRATIC, False), ("Theorem 11", LOGISTIC, True))
SIZES = ((2000, 3), (20_000, 10))
"""Rounds and dimensions at which both theorems are evaluated."""


class Interval:
    """Perturbed minimisers on (-1, 1): losses a x + (b/2) x^2, ridge 1/eta, barrier -w ln(1 - x^2).

    Args:
        ridge: 1/eta.
        weight: w.
        edge: distance of the outermost points from the ends.
        points: number of points of the grid, which are dense at both ends, where gradients grow.
    """

    def __init__(self, ridge: float, weight: float, edge: float = 1e-12, points: int = 200_001):
        self.x = np.tanh(np.linspace(-1.0, 1.0, points) * np.arctanh(1 - edge))
        self.ridge = ridge
        self.weight = weight

    def gradient(self, losses: Losses) -> np.ndarray:
        """Return J'(x) at the points of the grid."""
        own = self.ridge * self.x + 2 * self.weight * self.x / (1 - self.x**2)
        return own + sum(slope + bend * self.x for slope, bend in losses)

    def curvature(self, losses: Losses) -> np.ndarray:
        """Return J''(x) at the points of the grid."""
        own = self.ridge + 2 * self.weight * (1 + self.x**2) / (1 - self.x**2) ** 2
        return own + sum(bend for _, bend in losses)

    def log_density(self, losses: Losses, sigma: float) -> np.ndarray:
        """Return Lemma 2: the normal log density at -J'(x) plus ln J''(x)."""
        z = self.gradient(losses) / sigma
        return -(z**2) / 2 - log(sigma * sqrt(2 * pi)) + np.log(self.curvature(losses))

    def mass(self, marked: np.ndarray, losses: Losses, sigma: float) -> float:
        """Return the probability of the marked points, from P[x* <= y] = P[Z >= -J'(y)]."""
        steps = np.diff(ndtr(self.gradient(losses) / sigma))
        return float(np.sum(steps[marked[:-1] | marked[1:]]))


# The formulas of the paper.


def printed_log_phi_general(
    eta: float, sigma: float, smoothness: float, lipschitz: float, miss: float, dimension: int
) -> float:
    """Return ln Phi of Lemma 7: eta beta d + (G^2 + 2 G sigma sqrt(2 d ln 2/delta))/(2 sigma^2)."""
    tail = 2 * lipschitz * sigma * sqrt(2 * dimension * log(2 / miss))
    return eta * smoothness * dimension + (lipschitz**2 + tail) / (2 * sigma**2)


def printed_log_phi_linear(
    eta: float, sigma: float, smoothness: float, lipschitz: float, miss: float
) -> float:
    """Return ln Phi of Lemma 10: that of Lemma 7 with d = 1."""
    return printed_log_phi_general(eta, sigma, smoothness, lipschitz, miss, 1)


def printed_parameters(
    setting: Setting, linear_model: bool, constant: float = 1e3
) -> tuple[float, float]:
    """Return eta and sigma of Theorem 8, or of Theorem 11 for generalised linear losses."""
    rounds = setting.rounds
    d = 1 if linear_model else setting.dimension
    spread = sqrt(log(rounds / setting.delta))
    eta = min(
        setting.diameter / (2 * setting.lipschitz * sqrt(rounds)),
        sqrt(setting.epsilon)
        / (constant * rounds ** (5 / 12) * setting.smoothness * sqrt(d) * spread),
        setting.epsilon / (constant * rounds ** (1 / 3) * setting.smoothness * d * spread),
    )
    tail = sqrt(d * log(120 * rounds / setting.delta))
    sigma = setting.lipschitz * max(
        sqrt(rounds / d), constant * rounds ** (1 / 3) * tail / setting.epsilon
    )
    return eta, sigma


def printed_regret(setting: Setting, eta: float, sigma: float) -> float:
    """Return Theorem 4 without the terms that contain delta or e^{-T}."""
    return (
        setting.diameter**2 / (2 * eta)
        + 2 * setting.lipschitz**2 * eta * setting.rounds
        + sigma * sqrt(setting.dimension) * setting.diameter
        + 2 * setting.lipschitz * setting.diameter
    )


def printed_coin(setting: Setting, linear_model: bool, constant: float = 1e3) -> float:
    """Return ln Phi as Theorem 6 sets it: the square of a ratio for 3G and 2 beta at delta'."""
    eta, sigma = printed_parameters(setting, linear_model, constant)
    miss = setting.delta / setting.rounds**2 / 60
    d = 1 if linear_model else setting.dimension
    return 2 * printed_log_phi_general(
        eta, sigma, 2 * setting.smoothness, 3 * setting.lipschitz, miss, d
    )


def printed_extra_delta(rounds: int, log_phi: float) -> float:
    """Return the term 3 T exp(-(1 - Phi^-2) T) that Theorem 6 adds to delta."""
    return 3 * rounds * exp(expm1(-2 * log_phi) * rounds)


def printed_epsilon(setting: Setting, linear_model: bool, constant: float = 1e3) -> float:
    """Return the epsilon of Theorem 6 at the parameters of Theorem 8 or 11."""
    eta, sigma = printed_parameters(setting, linear_model, constant)
    log_phi = printed_coin(setting, linear_model, constant)
    rounds = setting.rounds
    d = 1 if linear_model else setting.dimension
    drift = 2 * setting.lipschitz**2 / sigma**2 + 2 * eta**2 * setting.smoothness**2 * d
    squares = printed_sum_of_squares(rounds, log_phi, drift)
    return 1.5 * squares + sqrt(6 * squares) * sqrt(log(2 / setting.delta))


def printed_sum_of_squares(rounds: int, log_phi: float, drift: float) -> float:
    """Return epsilon' of Theorem 6."""
    first = 7 * log_phi**2 * rounds ** (2 / 3)
    return first + 2 * log_phi**3 * rounds + drift**2 * rounds ** (5 / 3)


def printed_budget(rounds: int, log_phi: float) -> float:
    """Return the bound on B that the proof of Theorem 6 uses: 3 T^{2/3} + 2 ln(Phi) T."""
    return 3 * rounds ** (2 / 3) + 2 * log_phi * rounds


def printed_regret_of_theorem_12(
    rounds: int, switches: float, lipschitz: float, smoothness: float, diameter: float
) -> float:
    """Return 2 D G sqrt(T) + (T/S)(3 beta D^2 + 12 G D sqrt(ln T)) + 14 G D."""
    lazy = 3 * smoothness * diameter**2 + 12 * lipschitz * diameter * sqrt(log(rounds))
    common = 2 * diameter * lipschitz * sqrt(rounds) + 14 * lipschitz * diameter
    return common + rounds / switches * lazy


def printed_phi_of_theorem_13(
    t: float, rounds: int, dimension: int, sigma: float, lipschitz: float, condition: float
) -> float:
    """Return Phi_t of Theorem 13, which has no exponential; `condition` is beta/lambda."""
    spread = 2 * lipschitz * sqrt(dimension * log(rounds)) / sigma * sqrt(t + 1) / t
    return (
        condition * dimension / t
        + 4 * dimension * log(rounds) / t
        + dimension / 2 * log1p(1 / t)
        + lipschitz**2 / (2 * sigma**2 * t)
        + spread
    )


def printed_regret_of_theorem_13(
    rounds: int,
    switches: float,
    dimension: int,
    lipschitz: float,
    convexity: float,
    diameter: float,
) -> float:
    """Return 2 G^2 (1 + ln T)/lambda + 512 d^2 ln T (1 + ln T) T/(lambda S^2) + 14 G D."""
    grown = 1 + log(rounds)
    first = 2 * lipschitz**2 * grown / convexity
    second = 512 * dimension**2 * log(rounds) * grown / convexity * rounds / switches**2
    return first + second + 14 * lipschitz * diameter


def printed_squared_distances(dimension: int, bits: int) -> float:
    """Return C_d of Section 4: C_1 = 1 and C_2 = 2 (k + 1)."""
    return 1.0 if dimension == 1 else 2.0 * (bits + 1)


def printed_log_phi_of_lemma_24(
    convexity: float, smoothness: float, lipschitz: float, sigma: float, miss: float
) -> float:
    """Return ln Phi of Lemma 24: Lambda beta + (G^2 + 2 G sigma sqrt(2 ln 2/delta))/(2 sigma^2)."""
    tail = lipschitz**2 + 2 * lipschitz * sigma * sqrt(2 * log(2 / miss))
    return convexity * smoothness + tail / (2 * sigma**2)


def printed_barrier(rounds: int, lipschitz: float, diameter: float, norm: float) -> float:
    """Return the barrier of Section 2: -(G D/ln(T/2)) ln(1 - |x|^2)."""
    return -lipschitz * diameter / log(rounds / 2) * log(1 - norm**2)


def printed_gaussian_ratio(g: np.ndarray, u: np.ndarray, sigma: float) -> np.ndarray:
    """Return ln A_t of the proof of Claim 26: (2 <grad J, grad l> - |grad l|^2)/(2 sigma^2)."""
    return (2 * g * u - u**2) / (2 * sigma**2)


# The errata: first those that break privacy.


@errata.erratum(
    "Section 4, the constants C_1 and C_2",
    PRIVACY,
    FALSE,
    "A point is left out of C_1, and replacing a loss moves M l by twice its norm: the noise is "
    "up to sqrt(6) too small.",
)
def section_4() -> Finding:
    """Check that M l moves by at most sqrt(C_d) G D, with C_1 = 1 and C_2 = 2(k+1).

    Counterexample: the grid is counted point by point. At level b = 0 of d = 1 stands one point, x
    = D, at distance D from its parent 0, which the printed sum counts as one half: C_1 = 3/2 -
    2^{-k-1}, C_2 = k + 5 - 2^{-k}. Replacing l(x) = G x by -G x moves M l by twice its norm.
    """
    sums = {
        (d, k): squared_distances(k, d) for d, most in ((1, 12), (2, 7)) for k in range(1, most + 1)
    }
    exact = max(
        abs(total - (1.5 - 2.0 ** (-k - 1) if d == 1 else k + 5 - 2.0**-k))
        for (d, k), total in sums.items()
    )
    bits = 12
    slope = np.arange(2**bits + 1) / 2**bits
    move = float(np.sum((multiscale(slope) - multiscale(-slope)) ** 2))
    counted = [
        f"d=2, k={k}: sum {sums[2, k]:.4g}, printed {printed_squared_distances(2, k):g}"
        for k in (1, 2, 7)
    ]
    allowed = printed_squared_distances(1, bits)
    return Finding(
        printed=f"d=1, k=12, G=D=1: replacing a loss moves M l by at most sqrt({allowed:g})",
        counter=(
            f"x replaced by -x moves it by sqrt({move:.4f}): noise too small by "
            f"{sqrt(move / allowed):.3f}",
            f"sum of |x - p(x)|^2 over the grid, d=1, k=12: {sums[1, 12]:.4f}",
            "; ".join(counted),
        ),
        shown=move > 4 * allowed and sums[2, 1] > printed_squared_distances(2, 1),
        instead="C_1 = 3/2 - 2^(-k-1), C_2 = k + 5 - 2^(-k): counted for 19 grids, error "
        f"{exact:.1g}",
        holds=exact < 1e-9 and abs(move - 4 * sums[1, bits]) < 1e-9,
        numbers={"move": move, "too small": sqrt(move / allowed), "C_1": sums[1, 12]},
    )


def squared_distances(bits: int, dimension: int) -> float:
    """Return the sum over the grid of |x - p(x)|^2/D^2, by the definition of p."""
    size = 2**bits
    if dimension == 1:
        return sum(((t & -t) / size) ** 2 for t in range(size + 1))
    total = 0.0
    for one in range(size + 1):
        for two in range(size + 1):
            lowest = (one | two) & -(one | two)
            moved = (one & lowest > 0) + (two & lowest > 0)
            total += moved * (lowest / size) ** 2
    return total


def multiscale(values: np.ndarray) -> np.ndarray:
    """Return M l in one dimension: l(x) - l(p(x)) at each point of the grid."""
    t = np.arange(len(values))
    return values - values[t - (t & -t)]


@errata.erratum(
    "Theorem 11, privacy",
    PRIVACY,
    GAP,
    "Lemma 10 has one feature vector; replacing a loss compares two, and Lemma 10's Phi is "
    "exceeded.",
)
def theorem_11() -> Finding:
    """Check that Lemma 10's Phi leaves neighbouring laws with probability at most delta.

    Theorem 11 puts Lemma 10, where l - l' = +-f(<v, x>) with one v, into Theorem 6, which replaces
    f(<v, x>) by f(<v', x>). Counterexample: linear losses G<v, x> and G<v', x> (then the log ratio
    is normal) over 61 angles.
    """
    g = 1.0
    sigma = 20.0
    delta = 1e-6
    printed = printed_log_phi_linear(0.0, sigma, 0.0, g, delta)
    corrected = 2 * g**2 / sigma**2 + 2 * g / sigma * float(-ndtri(delta / 4))
    missed = [largest_miss_of_two_vectors(bound, g, sigma) for bound in (printed, corrected)]
    return Finding(
        printed=f"G=1, sigma=20: the log ratio exceeds {printed:.4f} with probability <= {delta:g}",
        counter=f"v' = -v: it does with probability {missed[0]:.3g}, {missed[0] / delta:,.0f} "
        "times delta",
        shown=missed[0] > delta,
        instead=f"2G^2/sigma^2 + (2G/sigma) z(1 - delta/4) = {corrected:.4f}: probability "
        f"{missed[1]:.2g}",
        holds=missed[1] <= delta,
        numbers={"ln Phi": printed, "missed": missed[0], "missed corrected": missed[1]},
    )


def largest_miss_of_two_vectors(bound: float, lipschitz: float, sigma: float) -> float:
    """Return the largest probability of a log ratio beyond the bound, over angles of v, v'."""
    worst = 0.0
    for angle in np.linspace(0, pi, 61)[1:]:
        shift = 2 * lipschitz * float(np.sin(angle / 2)) / sigma
        above = ndtr(-(bound - shift**2 / 2) / shift)
        below = ndtr(-(bound + shift**2 / 2) / shift)
        worst = max(worst, float(above + below))
    return worst


@errata.erratum(
    "Claim 27, the good set given the history",
    PRIVACY,
    FALSE,
    "Given the history, a held point lies in the good set with probability 0 or 1; the proof "
    "bounds a marginal law.",
)
def claim_27() -> Finding:
    """Check P[x_t in E_t | history] >= 1 - 3 delta' - 9 T delta' - 3 exp(-p~ T).

    Counterexample: after "keep", x_t = x_{t-1} is part of the history. On (-1, 1) with losses x, x
    there is a point whose log ratio exceeds ln Phi; a history that holds it has positive
    probability. (At the printed Phi such points are 53 deviations out; adaptive composition needs
    the bound for every history all the same.)
    """
    rounds = 1000
    eta = 0.05
    sigma = 20.0
    delta = 1e-6
    force = rounds ** (-1 / 3)
    miss = delta / rounds**2 / 60
    log_phi = 2 * printed_log_phi_general(eta, sigma, 2.0, 3.0, miss, 1)
    line = Interval(1 / eta, 2 / log(rounds))
    ratio = -(2 * line.gradient([(1.0, 0.0)]) + 1) / (2 * sigma**2)  # ln mu_3/mu_2 for losses x, x
    outside = np.flatnonzero(np.abs(ratio) > log_phi)
    place = int(outside[np.argmin(np.abs(line.gradient([])[outside]))])
    deviations = float(abs(line.gradient([])[place]) / sigma)
    inside = float(abs(ratio[place]) <= log_phi)
    claimed = (
        1 - 3 * miss - 9 * rounds * miss - 3 * exp(expm1(-2 * log_phi) * rounds - force * rounds)
    )
    keep = float((1 - force) * exp(-2 * log_phi))
    move = largest_move_of_clipped_coins(line, sigma, log_phi)
    bound = min(2 * log_phi, 2 / sigma**2 + eta**2)
    return Finding(
        printed=f"T=1000, every history: x_2 is in E_2 with probability at least {claimed:.10f}",
        counter=(
            f"history x_1 = {line.x[place]:.6f}, then 'keep': probability {inside:g}",
            f"that history is possible: the coin keeps with probability {number(keep)} or more "
            f"({deviations:.0f} deviations out)",
        ),
        shown=inside < claimed and keep > 0,
        instead=f"with the printed clip ln keep moves by {move:.4g} <= {bound:.4g} at every "
        "point: no good set needed",
        holds=move <= bound,
        numbers={"deviations": deviations, "inside": inside, "move": move, "bound": bound},
    )


def largest_move_of_clipped_coins(line: Interval, sigma: float, log_phi: float) -> float:
    """Return the sensitivity of ln of a later, clipped keep probability, over eight streams."""
    worst = 0.0
    for first in ([(1.0, 0.0)], [(0.5, 0.5)]):
        for other in ([(-1.0, 0.0)], [(-0.5, 0.5)]):
            for later in ([(0.5, 0.5)], [(-1.0, 0.0)]):
                coins = []
                for start in (first, other):
                    z = line.log_density(start + later, sigma) - line.log_density(start, sigma)
                    coins.append(np.clip(z - log_phi, -2 * log_phi, 0.0))
                worst = max(worst, float(np.max(np.abs(coins[0] - coins[1]))))
    return worst


@errata.erratum(
    "Theorem 8, privacy and regret",
    PRIVACY,
    GAP,
    "Theorem 6 adds 3 T exp(-(1 - Phi^-2) T) to delta, hundreds at the printed parameters; and "
    "the regret bound is vacuous.",
)
def theorem_8() -> Finding:
    """Check that Theorems 6 and 4 give the privacy and the regret of Theorems 8 and 11.

    Computed at the printed eta and sigma. The term comes from splitting e^{-p~ T} needlessly: e^{-p
    T} is small. The regret is a O(); with the constants 10^3 Theorem 4 exceeds what any learner
    pays.
    """
    numbers = {}
    rows = []
    vacuous = []
    for name, family, linear in FAMILIES:
        for rounds, d in SIZES:
            setting = Setting(rounds, d, **family)
            extra = printed_extra_delta(rounds, printed_coin(setting, linear))
            own = printed_epsilon(setting, linear)
            regret = printed_regret(setting, *printed_parameters(setting, linear))
            trivial = rounds * setting.lipschitz * setting.diameter
            place = f"{name}, T={rounds:,}, d={d}"
            rows.append(
                f"{place}: epsilon {own:.3f}, delta 1e-6 + {number(extra)}; "
                f"regret bound {number(regret)} where T G D = {number(trivial)}"
            )
            vacuous.append(regret > trivial)
            numbers[f"extra delta, {place}"] = extra
            numbers[f"epsilon, {place}"] = own
            numbers[f"regret, {place}"] = regret
    for epsilon, rounds in ((0.1, 10**4), (0.1, 10**5), (1.0, 10**4), (1.0, 10**5)):
        unit = Setting(rounds, 1, epsilon=epsilon)
        numbers[f"extra delta, epsilon={epsilon:g}, T={rounds:,}"] = printed_extra_delta(
            rounds, printed_coin(unit, False)
        )
    long_run = Setting(10**6, 1)
    bound = printed_regret(long_run, *printed_parameters(long_run, False))
    numbers["regret, T=1e6"] = bound
    extras = {name: value for name, value in numbers.items() if name.startswith("extra delta")}
    units = [
        f"{number(value)} ({name[13:]})" for name, value in extras.items() if "epsilon" in name
    ]
    kept = max(3 * t * exp(-(t ** (2 / 3))) for t in (2000, 10**4, 20_000, 10**5))
    return Finding(
        printed="epsilon=1, delta=1e-6: (1, 1e-6)-private; regret ~ sqrt(T) + d T^(1/3)/epsilon",
        counter=(
            *rows,
            f"G=beta=d=1, delta 1e-6 + {', '.join(units)}",
            f"G=beta=d=1, T=1e6: regret bound {number(bound)} where T G D = 2,000,000",
        ),
        shown=max(extras.values()) > 1 and all(vacuous) and bound > 2e6,
        instead=f"without the split the term is 3 T exp(-p T), at most {kept:.1g} in these "
        "settings",
        holds=kept <= 1e-6,
        numbers=numbers,
    )


@errata.erratum(
    "Theorem 12, regret", RATE, FALSE, "The noise term of the regret bound lacks sqrt(d)."
)
def theorem_12() -> Finding:
    """Check R_T <= 2 D G sqrt(T) + (T/S)(3 beta D^2 + 12 G D sqrt(ln T)) + 14 G D.

    Counterexample: losses x_1 on the unit ball, d = 100, T = 10^6, S = 6 sqrt(d ln T). Round t
    plays at best the point of the sphere opposite to t e_1 + Z, up to a total variation of 6/T, and
    |Z| is about sigma sqrt(d) = 2 T. The expected cosine is a two-dimensional integral; right ends
    of the intervals of t make the regret a lower bound.
    """
    rounds = 10**6
    d = 100
    g = 1.0
    diameter = 2.0
    switches = 6 * sqrt(d * log(rounds))
    sigma = 12 * g * rounds * sqrt(log(rounds)) / switches
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    across = sigma * chi.ppf((np.arange(400) + 0.5) / 400, d - 1)
    cosines = []
    for t in np.linspace(0, rounds, 501)[1:]:
        along = t + sigma * nodes[:, None]
        cosines.append(float(weights @ np.maximum(0, along / np.hypot(along, across)).mean(axis=1)))
    regret = g * rounds * (1 - float(np.mean(cosines)))
    printed = printed_regret_of_theorem_12(rounds, switches, g, 0.0, diameter)
    noise = 12 * g * diameter * sqrt(log(rounds)) * rounds / switches
    corrected = printed + (sqrt(d) - 1) * noise
    return Finding(
        printed=f"linear losses, d=100, S={switches:.0f}: regret <= {number(printed)}",
        counter=f"the algorithm's regret is at least {number(regret)}",
        shown=regret > printed,
        instead=f"with sqrt(d) on the noise term: {number(corrected)}",
        holds=regret <= corrected,
        numbers={"switches": switches, "printed": printed, "regret": regret},
    )


@errata.erratum(
    "Theorem 13 and Algorithm 2",
    RATE,
    FALSE,
    "Phi_t lacks exp, so it falls below 1 and every coin keeps; its index is t-1, round 1 must "
    "redraw, G^2 is missing.",
)
def theorem_13() -> Finding:
    """Check the regret of Algorithm 2 with the printed Phi_t, and its corrected density ratios.

    Counterexample: T = 10^6, losses (x + 1)^2/2 for 100 rounds and (x - 1)^2/2 afterwards, at the
    smallest S allowed. Once Phi_t < 1 the keep probability is 1, so the point is never redrawn. The
    2,000 runs redraw in round 1 (where mu_1 has no density) and take fresh noise at each redraw,
    which Algorithm 2 does not say.
    """
    rounds = 10**6
    g = 2.0
    switches = (4 + 16 * log(rounds)) * log(rounds)
    sigma = 16 * g * sqrt(rounds * log(rounds)) / switches
    phis = {t: printed_phi_of_theorem_13(t, rounds, 1, sigma, g, 1.0) for t in range(1, 2001)}
    below = [t for t in phis if phis[t] < 1]
    frozen = below[0] if below else rounds
    printed = printed_regret_of_theorem_13(rounds, switches, 1, g, 1.0, 2.0)
    points = algorithm_2_points(min(frozen, 100), phis, sigma, g, rounds)
    cost = float(np.mean((points - 1) ** 2 / 2))
    error = float(np.std((points - 1) ** 2 / 2)) / sqrt(len(points))
    # The best point pays at most (1 + 1)^2/2 in each of the first 100 rounds.
    regret = (rounds - 100) * (cost - 6 * error) - 200 if frozen <= 100 else -inf
    missed, allowed = miss_of_corrected_phi()
    growth = log(1000) * (1 + log(1000)) * 1000 / 954**2
    ratio = 512 * growth / (2 * (16 * 2) ** 2 * growth)
    return Finding(
        printed=f"T=1e6, d=1, G=2, lambda=beta=1, S={switches:,.0f}: regret <= {number(printed)}",
        counter=(
            f"Phi_t < 1 from t={frozen} on: 'keep' has probability 1, regret at least "
            f"{number(regret)}",
            f"second term of the regret at G=2, printed over Theorem 28's: {ratio:.2g} (G^2 is "
            "missing)",
        ),
        shown=frozen <= 100 and regret > printed and ratio < 1,
        instead=f"ln Phi_t with index t-1: ratios beyond it have probability {missed:.2g} <= "
        f"1/T^2 = {allowed:.2g}",
        holds=missed <= allowed,
        numbers={"printed": printed, "regret": regret, "frozen from": frozen, "missed": missed},
    )


def algorithm_2_points(
    last: int, phis: dict[int, float], sigma: float, lipschitz: float, rounds: int
) -> np.ndarray:
    """Return x_last of Algorithm 2 in 2,000 runs on losses (x + 1)^2/2 on (-1, 1)."""
    generator = np.random.default_rng(13)
    weight = lipschitz * 2.0 / log(rounds**2 / (2 * rounds - 1))

    def slope(x: np.ndarray, t: int) -> np.ndarray:
        return t * (x + 1) + 2 * weight * x / (1 - x**2)

    def log_density(x: np.ndarray, t: int) -> np.ndarray:
        curvature = t + 2 * weight * (1 + x**2) / (1 - x**2) ** 2
        return -(slope(x, t) ** 2) / (2 * sigma**2 * t) - log(t) / 2 + np.log(curvature)

    def drawn(t: int) -> np.ndarray:
        z = sigma * sqrt(t) * generator.standard_normal(2000)
        low = np.full(2000, -1.0)
        high = np.full(2000, 1.0)
        for _ in range(60):
            middle = (low + high) / 2
            falling = slope(middle, t) + z < 0
            low, high = np.where(falling, middle, low), np.where(falling, high, middle)
        return (low + high) / 2

    x = drawn(1)
    for t in range(2, last):
        # x_t has seen t-1 losses; mu_{t+1}/mu_t decides whether it is kept.
        ratio = np.exp(log_density(x, t) - log_density(x, t - 1)) / phis[t]
        keep = np.minimum(1.0, np.maximum(phis[t] ** -2, ratio))
        x = np.where(generator.random(2000) < keep, x, drawn(t))
    return x


def miss_of_corrected_phi() -> tuple[float, float]:
    """Return the largest probability of a ratio beyond the corrected Phi_t, and its limit.

    T = 1000, d = 1, targets 1 and -1 by turns (G = 2, lambda = beta = 1), t from 2 to 900, by
    quadrature.
    """
    rounds = 1000
    switches = 954
    g = 2.0
    sigma = 16 * sqrt(rounds * log(rounds)) / switches
    allowed = 1 / (rounds - 1) ** 2
    q = float(chi.isf(allowed, 1))
    line = Interval(0.0, 0.1)
    missed = 0.0
    for t in (2, 3, 10, 100, 900):
        bound = (
            log1p(1 / (t - 1))
            + (g**2 + 2 * g * sigma * sqrt(t) * q) / (2 * sigma**2 * (t - 1))
            + q**2 / (2 * (t - 1))
            + log(t / (t - 1)) / 2
        )
        streams = [[(1.0 if k % 2 else -1.0, 1.0) for k in range(t - 1 + more)] for more in (0, 1)]
        scales = [sigma * sqrt(t - 1), sigma * sqrt(t)]
        laws = [
            line.log_density(losses, scale) for losses, scale in zip(streams, scales, strict=True)
        ]
        outside = np.abs(laws[1] - laws[0]) > bound
        for losses, scale in zip(streams, scales, strict=True):
            missed = max(missed, line.mass(outside, losses, scale))
    return missed, allowed


@errata.erratum(
    "Theorem 6, the sum of squares",
    CONSTANT,
    FALSE,
    "B = 3 p~ T switches cost 6 ln^3(Phi) T, not 2, and the square of a sum has a cross term.",
)
def theorem_6() -> Finding:
    """Check 3 p~ T <= 3 T^{2/3} + 2 ln(Phi) T, and epsilon_t^2 summed without cross terms.

    Counterexample: T = 10^6, ln Phi = .01, drift 10^{-6}.
    """
    rounds = 10**6
    log_phi = 0.01
    drift = 1e-6
    force = rounds ** (-1 / 3)
    budget = 3 * (force - expm1(-2 * log_phi)) * rounds
    printed = printed_budget(rounds, log_phi)
    corrected = 3 * rounds ** (2 / 3) + 6 * log_phi * rounds
    squares = budget * (log_phi + drift / force) ** 2 + (rounds - budget) * (drift / force) ** 2
    apart = budget * log_phi**2 + rounds * (drift / force) ** 2
    return Finding(
        printed=(
            f"T=1e6, ln Phi=.01: B <= {number(printed)}",
            f"sum of squares after the change <= {apart:.4f}",
        ),
        counter=(f"B = 3 p~ T = {number(budget)}", f"with the cross term {squares:.4f}"),
        shown=budget > printed and squares > apart,
        instead=f"B <= 3 T^(2/3) + 6 ln(Phi) T = {number(corrected)}",
        holds=budget <= corrected,
        numbers={"budget": budget, "printed": printed, "squares": squares, "apart": apart},
    )


@errata.erratum(
    "Lemma 21, determinants",
    CONSTANT,
    GAP,
    "The eigenvalue step divides by Lambda where an eigenvalue falls; Weyl's inequality gives (1 "
    "+ beta/Lambda)^d.",
)
def lemma_21() -> Finding:
    """Check lambda_i/lambda'_i <= 1 + (lambda_i - lambda'_i)/Lambda, the step of the proof.

    Counterexample: Lambda = 1, lambda' = 10, lambda = 9.5. The corrected bound is tried on 2,000
    random pairs.
    """
    smallest = 1.0
    was = 10.0
    now = 9.5
    left = now / was
    right = 1 + (now - was) / smallest
    generator = np.random.default_rng(7)
    worst = 0.0
    for _ in range(2000):
        d = int(generator.integers(1, 6))
        beta, least = np.exp(generator.uniform(-2, 2, 2))
        common = least * np.eye(d) + generator.integers(0, 2) * random_curvature(generator, d, 3.0)
        # l - l' is beta-smooth: the difference of Hessians lies between -beta and beta.
        change = random_curvature(generator, d, 2 * beta) - beta * np.eye(d)
        both = [common + beta * np.eye(d) + part for part in (change, 0.0)]
        found = log_determinant(both[0]) - log_determinant(both[1])
        worst = max(worst, abs(found) / (d * log1p(beta / least)))
    return Finding(
        printed=f"Lambda=1: {now:g}/{was:g} <= 1 + ({now:g} - {was:g})/1 = {right:g}",
        counter=f"{now:g}/{was:g} = {left:g}",
        shown=left > right,
        instead=f"|ln det ratio| <= d ln(1 + beta/Lambda): reached up to {worst:.3f} in 2,000 "
        "pairs",
        holds=worst <= 1 + 1e-9,
        numbers={"left": left, "right": right, "worst": worst},
    )


def random_curvature(generator: np.random.Generator, dimension: int, largest: float) -> np.ndarray:
    """Return a matrix with eigenvalues 0 or `largest` in a random basis."""
    basis = np.linalg.qr(generator.standard_normal((dimension, dimension)))[0]
    return basis @ np.diag(largest * generator.integers(0, 2, dimension)) @ basis.T


def log_determinant(matrix: np.ndarray) -> float:
    """Return ln det of a positive definite matrix."""
    return float(np.linalg.slogdet(matrix)[1])


@errata.erratum(
    "Lemma 24, the first term of Phi",
    CONSTANT,
    FALSE,
    "Lambda beta stands for beta/Lambda. Rank 1 in code that follows the paper: Phi is far too "
    "small for Lambda < 1.",
)
def lemma_24() -> Finding:
    """Check that the laws are (Phi, delta)-close at the printed Phi.

    ln Phi = Lambda beta + (G^2 + 2 G sigma sqrt(2 ln 2/delta))/(2 sigma^2).

    Counterexample: l - l' = x^2/2 on [-1, 1], Lambda = .1, sigma = 10, delta = 10^{-3}, by
    quadrature.
    """
    strong = 0.1
    beta = 1.0
    g = 1.0
    sigma = 10.0
    delta = 1e-3
    line = Interval(strong, 1e-4)
    with_loss: Losses = [(0.0, beta)]
    without: Losses = []
    ratio = np.abs(line.log_density(with_loss, sigma) - line.log_density(without, sigma))
    printed = printed_log_phi_of_lemma_24(strong, beta, g, sigma, delta)
    corrected = printed_log_phi_of_lemma_24(0.0, beta, g, sigma, delta) + log1p(beta / strong)
    missed = [
        max(line.mass(ratio > bound, losses, sigma) for losses in (with_loss, without))
        for bound in (printed, corrected)
    ]
    return Finding(
        printed=f"l - l' = x^2/2, Lambda=.1: the log ratio exceeds {printed:.3f} with "
        f"probability <= {delta:g}",
        counter=f"it does with probability {missed[0]:.3f}",
        shown=missed[0] > delta,
        instead=f"ln(1 + beta/Lambda) for Lambda beta: ln Phi = {corrected:.3f}, probability "
        f"{missed[1]:.2g}",
        holds=missed[1] <= delta,
        numbers={"ln Phi": printed, "missed": missed[0], "missed corrected": missed[1]},
    )


@errata.erratum(
    "Proof of Claim 26, difference of Hessians",
    CONSTANT,
    GAP,
    "The difference of Hessians need not be positive; the drift is eta^2 beta^2 d, half of the "
    "print.",
)
def hessian_difference() -> Finding:
    """Check <Y, X^-1 - (X+D)^-1> <= eta^2 <Y, D> for D = l_t0'' - l'_t0'' + l_t''.

    Counterexample in one dimension, eta = beta = 1: l'_t0 has curvature 1, l_t0 has 0, l_t has 1/2,
    so D = -1/2. The corrected drift eta^2 beta^2 d is tried on 2,000 random instances.
    """
    x_matrix = 1 + 1.0
    difference = 0.0 - 1.0 + 0.5
    later = 0.5
    left = later * (1 / x_matrix - 1 / (x_matrix + difference))
    right = later * difference
    generator = np.random.default_rng(5)
    worst = 0.0
    for _ in range(2000):
        d = int(generator.integers(1, 5))
        eta, beta = np.exp(generator.uniform(-3, 2, 2))
        base = np.eye(d) / eta * (1 + generator.integers(0, 2) * generator.random())
        later_round, one, other = (random_curvature(generator, d, beta) for _ in range(3))
        growths = [
            log_determinant(base + own + later_round) - log_determinant(base + own)
            for own in (one, other)
        ]
        worst = max(worst, abs(growths[0] - growths[1]) / (eta * beta) ** 2 / d)
    return Finding(
        printed=f"l'_t0'' = 1, l_t0'' = 0, l_t'' = 1/2, eta=1: left side <= {right:g}",
        counter=f"the left side is {left:.4f}",
        shown=left > right,
        instead=f"drift <= eta^2 beta^2 d (printed 2 of it): reached up to {worst:.3f} in 2,000 "
        "instances",
        holds=0.8 < worst <= 1 + 1e-9,
        numbers={"left": left, "right": right, "worst": worst},
    )


@errata.erratum(
    "Proof of Claim 26, the density ratio",
    CONSTANT,
    FALSE,
    "2 <grad J, grad l> has the wrong sign. Rank 1 in code that follows the paper: the coins "
    "keep another law.",
)
def density_ratio() -> Finding:
    """Check 2 sigma^2 ln A_t = 2 <grad J, grad l_t> - |grad l_t|^2.

    Counterexample: both signs against slopes of the distribution function P[x* <= y] = P[Z >=
    -J'(y)], one dimension.
    """
    sigma = 3.0
    line = Interval(2.0, 0.5, edge=1e-3, points=20_001)
    before: Losses = [(0.3, 0.2)]
    loss = (0.6, 0.4)
    g = line.gradient(before)
    curvature = line.curvature(before)
    u = loss[0] + loss[1] * line.x
    laws = [
        np.gradient(ndtr(line.gradient(losses) / sigma), line.x)
        for losses in (before, [*before, loss])
    ]
    inner = np.abs(line.x) < 0.9
    exact = np.log(laws[1][inner] / laws[0][inner])
    growth = np.log1p(loss[1] / curvature)
    printed = printed_gaussian_ratio(g, u, sigma) + growth
    corrected = -(2 * g * u + u**2) / (2 * sigma**2) + growth
    errors = [float(np.max(np.abs(formula[inner] - exact))) for formula in (printed, corrected)]
    return Finding(
        printed="ln mu_{t+1}/mu_t by the printed sign equals the logarithm of the numerical ratio",
        counter=f"it is off by up to {errors[0]:.3f}",
        shown=errors[0] > 1e-4,
        instead=f"with the minus sign it is off by {errors[1]:.1g}",
        holds=errors[1] < 1e-4,
        numbers={"error": errors[0], "error corrected": errors[1]},
    )


@errata.erratum(
    "Section 2, the barrier",
    CONSTANT,
    FALSE,
    "The barrier scaled by G D/ln(T/2) exceeds G D on the shrunk ball, and 0 must be an interior "
    "point.",
)
def barrier() -> Finding:
    """Check -(G D/ln(T/2)) ln(1 - |x|^2) <= G D for |x| <= 1 - 1/T.

    Counterexample: the edge of the shrunk ball at T = 100. For K = [0, 1] the shrunk set (1 - 1/T)
    K contains 0, a boundary point, where every barrier is infinite.
    """
    rounds = 100
    g = 1.0
    diameter = 2.0
    edge = 1 - 1 / rounds
    printed = printed_barrier(rounds, g, diameter, edge)
    corrected = -g * diameter / log(rounds**2 / (2 * rounds - 1)) * log(1 - edge**2)
    lower_end = 0.0  # (1 - 1/T) * 0, for K = [0, 1] with the barrier -ln x - ln(1 - x)
    at_zero = inf if lower_end <= 0 else -log(lower_end)
    return Finding(
        printed=f"T=100, D=2, G=1: at most {g * diameter:g} on the ball of radius .99",
        counter=(
            f"{printed:.4f} at its edge",
            f"K = [0, 1]: {at_zero} at 0, a point of (1 - 1/T) K",
        ),
        shown=printed > g * diameter and at_zero > g * diameter,
        instead=f"with G D/ln(T^2/(2T-1)): {corrected:.4f}",
        holds=corrected <= g * diameter * (1 + 1e-12),
        numbers={"printed": printed, "corrected": corrected},
    )


@errata.erratum(
    "Theorems 8 and 11, the constant 10^3",
    CONSTANT,
    LOOSE,
    "Priced decision by decision, 14 to 16 in place of 10^3 keeps the asked epsilon: noise 60 to "
    "70 times smaller.",
)
def constants_of_theorems_8_and_11() -> Finding:
    """Find the smallest constant in place of 10^3 at which the run is (1, 10^-6)-private.

    The accounting is typed here from first principles: each toss of the clipped coin, with the draw
    that follows it, has a Renyi moment of at most F, whatever the history (`step_moment`); a draw's
    log ratio is at most offset + slope chi (`draw_moment`), and the order is optimised. T = 2000, d
    = 3 and T = 20,000, d = 10; Theorem 8 with quadratic losses, Theorem 11 with logistic ones. The
    printed regret is evaluated at both constants.
    """
    rows = []
    numbers = {}
    constants = []
    gains = []
    for name, family, linear in FAMILIES:
        for rounds, d in SIZES:
            setting = Setting(rounds, d, **family)
            constant = brentq(
                lambda c, setting=setting, linear=linear: epsilon_of_run(setting, linear, c) - 1.0,
                5,
                1000,
            )
            proved = epsilon_of_run(setting, linear, 1e3)
            regrets = [
                printed_regret(setting, *printed_parameters(setting, linear, c))
                for c in (1e3, constant)
            ]
            constants.append(constant)
            gains.append(regrets[0] / regrets[1])
            rows.append(
                f"{name}, T={rounds:,}, d={d}: {constant:.1f} is enough (at 10^3 epsilon is "
                f"{proved:.3f}); "
                f"Theorem 4: {number(regrets[0])} -> {number(regrets[1])}"
            )
            numbers[f"{name}, T={rounds}"] = constant
            numbers[f"{name}, T={rounds}, proved epsilon"] = proved
            numbers[f"{name}, T={rounds}, printed regret"] = regrets[0]
            numbers[f"{name}, T={rounds}, regret"] = regrets[1]
    return Finding(
        printed="epsilon=1, delta=1e-6: eta and sigma with the constant 10^3",
        counter=tuple(rows),
        shown=max(constants) < 100 and min(gains) > 10,
        numbers=numbers,
    )


def epsilon_of_run(setting: Setting, linear_model: bool, constant: float) -> float:
    """Return an epsilon at which Algorithm 1 is private, with this constant in place of 10^3.

    The coins of the changed round move over their whole range 2 ln Phi, those of later rounds by
    the drift 2 G^2/sigma^2 + eta^2 beta^2 d (d = 1 for linear models); T - 1 coins are tossed.
    """
    eta, sigma = printed_parameters(setting, linear_model, constant)
    log_phi = printed_coin(setting, linear_model, constant)
    force = setting.rounds ** (-1 / 3)
    d = 1 if linear_model else setting.dimension
    slope = 2 * setting.lipschitz / sigma
    offset = d * log1p(eta * setting.smoothness) + slope**2 / 2
    drift = min(
        2 * log_phi,
        2 * (setting.lipschitz / sigma) ** 2 + (eta * setting.smoothness) ** 2 * d,
    )
    best = inf
    for order in 1 + np.geomspace(0.5, 1e4, 120):
        log_draw = draw_moment(order, d, offset, slope)
        total = step_moment(order, force, 2 * log_phi, 2 * log_phi, log_draw)
        total += (setting.rounds - 2) * step_moment(order, force, 2 * log_phi, drift, log_draw)
        conversion = log1p(-1 / order) - (log(setting.delta) + log(order)) / (order - 1)
        best = min(best, total / (order - 1) + conversion)
    return best


def draw_moment(order: float, degrees: int, offset: float, slope: float) -> float:
    """Return a bound on ln E[e^{a z}] under E[e^z] = 1 and |z| <= M = offset + slope chi.

    E[e^{a z}] = 1 + E[phi(z)], phi(z) = e^{a z} - 1 - a(e^z - 1), and phi(z) <= phi(|z|) grows with
    |z|.
    """
    upper = order * slope + sqrt(degrees) + 14.0
    x = np.linspace(0.0, upper, 4001)[1:]
    log_law = (
        (degrees - 1) * np.log(x) - x**2 / 2 - (degrees / 2 - 1) * log(2) - gammaln(degrees / 2)
    )
    reach = offset + slope * x
    with np.errstate(over="ignore"):
        direct = np.expm1(order * reach) - order * np.expm1(reach)
        series = order * (order - 1) * reach**2 / 2
        small = order * reach < 1e-5
        log_phi = np.where(small, np.log(series), np.log(np.maximum(direct, 1e-300)))
        log_phi = np.where(np.isfinite(log_phi), log_phi, order * reach)
    return float(np.logaddexp(0.0, logsumexp(log_law + log_phi) + log(x[1] - x[0])))


def step_moment(order: float, force: float, spread: float, shift: float, log_draw: float) -> float:
    """Return the largest log moment of one toss with the draw that follows a redraw.

    The keep probabilities q, q' lie in (1 - force)[e^{-spread}, 1] and differ by a factor of at
    most e^{shift}. The moment q^a q'^{1-a} + (1-q)^a (1-q')^{1-a} E is jointly convex, so one of
    six vertices is the worst.
    """
    high = 1 - force
    low = high * exp(-spread)
    near_high = max(low, high * exp(-shift))
    near_low = min(high, low * exp(shift))
    pairs = (
        (high, near_high),
        (near_high, high),
        (low, near_low),
        (near_low, low),
        (high, high),
        (low, low),
    )
    moments = []
    for q, other in pairs:
        kept = log(other) + order * log(q / other)
        redrawn = log1p(-other) + order * (log1p(-q) - log1p(-other)) + log_draw
        # F - 1 = q'(e^kept' - 1) + (1-q')(e^redrawn' - 1): small moments keep their digits.
        excess = other * expm1(min(kept - log(other), 600.0))
        excess += (1 - other) * expm1(min(redrawn - log1p(-other), 600.0))
        moments.append(log1p(max(excess, 0.0)))
    return max(moments)


if __name__ == "__main__":
    sys.exit(errata.main(sys.argv[1:]))
