"""The certified regret of `BanditFW` as a function of its two parameters, and the search for the best ones.

With N = floor(sqrt T) batches of B = floor(T/N) rounds, hull dimension n, L-Lipschitz convex losses with values in
[lo, hi] on the set, |value - baseline| <= w, inner radius r, radius R about the centre:

    R^2/(2 eta) + (eta/2) N k^2 + B L (eta sum_R lag_R + (N - 2) D/sqrt(2B))
        + N B (zeta L/(n+1) + s min(L sqrt(R^2 + r^2 n/(n+2)), W) + m L n/(n+1)) + (T - N B) min(L D, W)

- k^2 = B (n w/zeta)^2 + B (B-1) L^2 bounds the second moment of a batch's gradient.
- lag_R^2 = B (n w/zeta)^2 + (sigma_{R-2} + B L)^2: the point of batch R misses the last gradient and has the noise of
  root mean square sigma_{R-2}; the fluctuation of the last gradient is independent of both, so squares add.
- D/sqrt(2B) is the distance that the gap D^2/(2B) of Frank-Wolfe certifies.
- Smoothing: the sphere costs at most zeta L/(n+1) more than the ball (couple them along rays); by convexity the
  smoothed loss at the shrunk comparator is at most the loss at the comparator, with weight 1 - s, and the mean
  loss over the inner ball, with weight s. That shrinking also shrinks the linearised regret is not used.
- m is how far points may leave the set, at most the margin of the problem, and s = (zeta - m)/r the share by which
  leaders are shrunk: (1-s) x + zeta u = [(1-s) x + s r u] + m u, where the bracket is in the set. The step m u costs
  m L n/(n+1) at the comparator, n/(n+1) being the mean length of a point of the unit ball. No margin: m = 0 and
  s = zeta/r; zeta within the margin: s = 0, nothing is shrunk and smoothing costs zeta L in all.

The print (Lemma 3.1) gives the order only; Appendix D's smoothing terms 2 T zeta L + T (zeta/r) L D are larger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, isqrt, log, sqrt

import numpy as np

from tacit.errors import PrivacyError
from tacit.learners.bandit.noisy_oco import noisy_regret
from tacit.privacy.calibration import minimise
from tacit.problems import Bandit
from tacit.validation import FloatArray

# Two batches play the centre before the first sum is used.
FEWEST_ROUNDS = 9

# Beyond this many rounds the search for a sufficient horizon answers with the closed form.
_SEARCH_LIMIT = 10**12


@dataclass(frozen=True)
class CertifiedRegret:
    """The bound above for one problem.

    Attributes:
        problem: the problem.
        rounds: number of rounds.
        deviation: w, the largest distance of a value from the baseline.
        noise: zeta times the root mean square norm of the noise in each sum, of shape (N - 2,).
        lost: zeta times the norm by which an estimate may be off on a lattice. Then the bound is for the quantised
            estimates, which are longer by at most that, whose means are steeper by it, and which miss the true ones by
            it.
    """

    problem: Bandit
    rounds: int
    deviation: float
    noise: FloatArray
    lost: float = 0.0

    def regret(self, zeta: float, eta: float) -> float:
        """The certified regret."""
        second_moment, lag, smoothing = self._terms(zeta)
        batches, length = batches_of(self.rounds)
        domain, lipschitz = self.problem.domain, self.problem.lipschitz
        mirror = noisy_regret(
            eta=eta,
            steps=batches,
            spread=domain.radius**2 / 2,
            second_moment=second_moment,
            mean_norm=length * (lipschitz + self.lost / zeta),
            map_error=eta * lag + (batches - 2) * sqrt(gap_tolerance(self.problem, self.rounds)),
        )
        left_over = self.rounds - batches * length
        worst = min(lipschitz * domain.diameter, self.problem.width)
        return mirror + smoothing + left_over * worst + batches * length * self.lost / zeta * domain.diameter

    def best_eta(self, zeta: float) -> float:
        """The learning rate that minimises the regret at this smoothing radius."""
        second_moment, lag, _ = self._terms(zeta)
        batches, length = batches_of(self.rounds)
        slope = batches / 2 * second_moment + length * (self.problem.lipschitz + self.lost / zeta) * lag
        return self.problem.domain.radius / sqrt(2 * slope)

    def best_zeta(self) -> float:
        """The smoothing radius that minimises the regret; it may not fit the set."""
        widest = reach(self.problem)
        return minimise(lambda zeta: self.regret(zeta, self.best_eta(zeta)), 1e-9 * widest, 1e3 * widest)

    def _terms(self, zeta: float) -> tuple[float, float, float]:
        """(k^2, sum of the lags, all that smoothing costs)."""
        batches, length = batches_of(self.rounds)
        domain, lipschitz = self.problem.domain, self.problem.lipschitz
        n = domain.hull_dimension
        beyond, share = room(self.problem, zeta)
        variance = length * ((n * self.deviation + self.lost) / zeta) ** 2
        steepest = lipschitz + self.lost / zeta
        second_moment = variance + length * (length - 1) * steepest**2
        noise = np.append(0.0, self.noise / zeta)
        lag = float(np.sqrt(variance + (noise + length * steepest) ** 2).sum())
        smoothing = zeta * lipschitz / (n + 1) + share * inside(self.problem) + beyond * lipschitz * n / (n + 1)
        return second_moment, lag, batches * length * smoothing


def inside(problem: Bandit) -> float:
    """A bound on what the mean of a loss over the inner ball exceeds its value at a point of the set by."""
    domain, n = problem.domain, problem.domain.hull_dimension
    return min(problem.lipschitz * sqrt(domain.radius**2 + domain.inner_radius**2 * n / (n + 2)), problem.width)


def usable_margin(problem: Bandit) -> float:
    """The margin, as far as leaving the set is cheaper than shrinking within it; more than the diameter is no use."""
    n = problem.domain.hull_dimension
    cheaper = problem.lipschitz * n / (n + 1) <= inside(problem) / problem.domain.inner_radius
    return min(problem.margin, problem.domain.diameter) if cheaper else 0.0


def reach(problem: Bandit) -> float:
    """What smoothing radii must stay below."""
    return problem.domain.inner_radius + usable_margin(problem)


def room(problem: Bandit, zeta: float) -> tuple[float, float]:
    """(m, s): how far points leave the set, and by which share leaders are shrunk."""
    beyond = min(zeta, usable_margin(problem))
    return beyond, (zeta - beyond) / problem.domain.inner_radius


def batches_of(rounds: int) -> tuple[int, int]:
    """The number of batches, floor(sqrt T), and their length."""
    batches = isqrt(rounds)
    return batches, rounds // batches


def gap_tolerance(problem: Bandit, rounds: int) -> float:
    """The duality gap at which Frank-Wolfe stops, D^2/(2B)."""
    return problem.domain.diameter**2 / (2 * batches_of(rounds)[1])


def paper_parameters(problem: Bandit, rounds: int) -> tuple[float, float]:
    """The smoothing radius and learning rate of Algorithm 1: D sqrt(n)/T^(1/4) and D/(L sqrt(n) T^(3/4))."""
    diameter, root = problem.domain.diameter, sqrt(problem.domain.hull_dimension)
    return diameter * root / rounds**0.25, diameter / (problem.lipschitz * root * rounds**0.75)


def paper_scale(problem: Bandit, rounds: int, epsilon: float, delta: float) -> float:
    """The printed noise of a tree node: Lemma 5.1 (delta = 0) and Lemma 5.4."""
    n, lipschitz = problem.domain.hull_dimension, problem.lipschitz
    if delta == 0:
        return sqrt(rounds) * n * lipschitz * log(rounds) / epsilon
    tail = log((n + rounds) / delta)
    norm = tail + sqrt((1 + sqrt(rounds) / n) * tail)
    return sqrt(sqrt(rounds) * n) * lipschitz * log(rounds) * log(rounds / delta) / epsilon * norm


def best_parameters(make: Callable[[int], CertifiedRegret], rounds: int) -> tuple[float, float]:
    """The smoothing radius and learning rate of the smallest certified regret among those that fit the set.

    Raises `PrivacyError`, with a horizon that would be enough, if none fits.
    """
    certified = make(rounds)
    fitting = _fitting(certified)
    if fitting:
        return min(fitting, key=lambda pair: certified.regret(*pair))
    wanted = min(certified.best_zeta(), paper_parameters(certified.problem, rounds)[0])
    raise too_short(certified.problem, rounds, wanted, _enough(make, rounds))


def too_short(problem: Bandit, rounds: int, zeta: float, enough: int) -> PrivacyError:
    """The refusal of a horizon at which the smoothing radius does not fit the set."""
    return PrivacyError(
        f"BanditFW with T={rounds} rounds needs a smoothing radius of {zeta:.3g}, but a ball of radius only "
        f"{reach(problem):.3g} fits into the set{' and its margin' if problem.margin else ''}: "
        f"T={enough} would be enough."
    )


def paper_enough(problem: Bandit) -> int:
    """The smallest horizon at which the paper's smoothing radius has room."""
    ratio = problem.domain.diameter * sqrt(problem.domain.hull_dimension) / reach(problem)
    enough = max(FEWEST_ROUNDS, ceil(ratio**4))
    while not paper_parameters(problem, enough)[0] < reach(problem):
        enough += ceil(1e-12 * enough)
    return enough


def _fitting(certified: CertifiedRegret) -> list[tuple[float, float]]:
    """The optimised parameters and the paper's, where they fit."""
    widest = reach(certified.problem)
    paper = paper_parameters(certified.problem, certified.rounds)
    zeta = certified.best_zeta()
    return [pair for pair in (paper, (zeta, certified.best_eta(zeta))) if pair[0] < widest]


def _enough(make: Callable[[int], CertifiedRegret], low: int) -> int:
    """A horizon that fits, within 1% of the smallest."""
    high = paper_enough(make(low).problem)
    if high > _SEARCH_LIMIT:
        return high
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        if _fitting(make(middle)):
            high = middle
        else:
            low = middle
    return high
