"""Learning from versions: shares, results and checks as functions of what was released, and nothing else.

A version serves fixed shares for some time, and each arm's sum of scores is then released with noise, once. Days and
weeks have levels of their own, which are common to all arms: Y_av = mu_a + g_v. Everything here is post-processing of
released sums and public counts, so it costs no privacy, keeps no state, and may be computed anywhere again.

`fit` and `best` are weighted least squares for mu and g, and the chance that an arm is the best. No regret is certified
for them, because the weights of the fit depend on later shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import inf, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.calibration import gaussian_mu
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, IntArray, check_integer, check_number, check_positive, real_array

POINTS = 4096  # fixed points that stand for the normal law of a fit
SPREAD = 0.25  # prior: arms differ by this share of the level
HOLD = 0.2  # the default arm's share until it is beaten
FLOOR, FLOOR_CHANGING = 0.01, 0.01  # times 1/K, and as it is if arms change
LEAST_KEPT = 0.25  # of an arm's share, from one version to the next
FORGETTING = 0.9  # a version, if arms change
CONVERSIONS = 1.8  # expected ones an arm and version, in units of the noise's variance
LENGTHS = {1: 31, 2: 16, 3: 11, 7: 5}  # days of a version, and how many versions can begin in a month
ALARM = 0.001  # the chance that a sample ratio is ever refused that is right
WHOLE = 2**32

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Releases:
    """The released versions, oldest first; all of it is public."""

    sums: FloatArray  # S, the noisy sums of scores in [0, 1], one row a version and one column an arm
    shares: FloatArray  # p, as they were served
    used: Flags  # which cells count: the arm was served, not killed, and the version was counting
    variances: FloatArray  # tau^2, that of the noise in one sum of each version
    people: float  # N0, expected persons a version; it scales estimates only

    def __post_init__(self) -> None:
        sums = real_array("Releases", "sums", self.sums, (None, None))
        shares = real_array("Releases", "shares", self.shares, sums.shape)
        variances = real_array("Releases", "variances", self.variances, sums.shape[:1])
        used = np.asarray(self.used, dtype=bool)
        if used.shape != sums.shape or not (np.all(shares >= 0) and np.all(variances >= 0)):
            raise InvalidInput("Releases need one truth value a sum, and shares and variances that are not negative.")
        check_positive("Releases", "people", self.people)
        for name, value in (("sums", sums), ("shares", shares), ("variances", variances)):
            object.__setattr__(self, name, np.where(np.isfinite(value), value, 0.0))
        object.__setattr__(self, "used", used & (shares > 0))

    @cached_property
    def counts(self) -> FloatArray:
        """n: expected persons of each cell, 0 where it is not used. Counted exposures are not needed."""
        return np.where(self.used, self.shares * self.people, 0.0)

    @cached_property
    def scores(self) -> FloatArray:
        """Y = S/n, 0 where a cell is not used."""
        return np.where(self.used, self.sums / np.maximum(self.counts, 1e-300), 0.0)

    @cached_property
    def levels(self) -> FloatArray:
        """Compute q of each version: one upper bound of the mean score for all arms and versions up to it."""
        noise = np.sqrt(np.cumsum((self.used * self.variances[:, None]).sum(axis=1)))
        total = np.maximum(0.0, np.cumsum(np.where(self.used, self.sums, 0.0).sum(axis=1)))
        people = np.cumsum(self.counts.sum(axis=1))
        return np.where(people > 0, np.minimum(1.0, (total + noise + 1) / np.maximum(people, 1e-300)), 1.0)

    @property
    def level(self) -> float:
        """The last of the levels: one upper bound of the mean score for all arms and versions."""
        return float(self.levels[-1]) if len(self.levels) else 1.0


@dataclass(frozen=True, eq=False)
class Fit:
    """The least-squares fit of Y_av = mu_a + g_v."""

    arms: IntArray  # the arms that took part: those with a used cell
    means: FloatArray  # mu of these arms, up to a constant that all share
    covariance: FloatArray  # of the means


def fit(releases: Releases, *, forgetting: float = 1.0) -> Fit:
    """Fit a mean to each arm and a level to each version; weights never look at an arm's own sums.

    The weight of a version shrinks by `forgetting` with each later one (1: nothing is forgotten).
    """
    arms = np.flatnonzero(releases.used.any(axis=0))
    counts, scores = releases.counts[:, arms], releases.scores[:, arms]
    level, k = releases.level, len(arms)
    age = np.arange(len(counts))[::-1, None]
    noise = releases.variances[:, None]
    weights = forgetting**age * counts**2 / np.maximum(level * counts + noise, 1e-300)
    totals = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    matrix = np.diag(weights.sum(axis=0)) - (weights / totals).T @ weights
    matrix += (np.eye(k) - 1 / k) / (SPREAD * level) ** 2
    right = (weights * (scores - (weights * scores).sum(axis=1, keepdims=True) / totals)).sum(axis=0)
    covariance = np.linalg.inv(matrix + np.trace(matrix) / k / k)
    return Fit(arms, covariance @ right, covariance)


@cache
def _normal_points(dimension: int) -> FloatArray:
    """POINTS points of a standard normal law, the same for everybody: Weyl's sequence of square roots of primes."""
    primes: list[int] = []
    number = 2
    while len(primes) < dimension:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    inverse = NormalDist().inv_cdf
    places = (np.arange(POINTS)[:, None] + 0.5) * np.sqrt(np.array(primes, dtype=float)) % 1.0
    return np.array([[inverse(min(max(x, 1e-12), 1 - 1e-12)) for x in row] for row in places.tolist()])


def best(found: Fit, active: Sequence[int]) -> dict[int, float]:
    """The chance that each active arm of the fit has the largest mean."""
    places = [place for place, arm in enumerate(found.arms.tolist()) if arm in set(active)]
    means, covariance = found.means[places], found.covariance[np.ix_(places, places)]
    draws = means + _normal_points(len(places)) @ np.linalg.cholesky(covariance).T
    wins = np.bincount(draws.argmax(axis=1), minlength=len(places)) / POINTS
    return {int(found.arms[place]): float(share) for place, share in zip(places, wins, strict=True)}


def next_shares(
    releases: Releases,
    *,
    active: Flags,  # the arms that may be served
    served: FloatArray,  # the shares of the version before (0: a fresh arm)
    default: int | None = 0,  # the arm that is held at `hold` (None: no arm is)
    beaten: bool = False,  # whether the leader was ever declared better than the default
    hold: float = HOLD,  # the default's share until it is beaten, at most 1/K; 0 to optimise only
    kept: float = LEAST_KEPT,  # how much of its share an arm keeps at least, from one version to the next
    changing: bool = False,  # whether arms change: versions are then forgotten, and every arm keeps one per cent
    least_share: float | None = None,  # of every arm (None: 1% of an equal share, or 1% if arms change)
) -> FloatArray:
    """The shares of the next version."""
    count, k = int(active.sum()), len(active)
    listed = np.flatnonzero(active)
    seen = releases.used.any(axis=0) & active
    if seen.sum() < 2:
        return np.where(active, 1 / max(count, 1), 0.0)
    chances = best(fit(releases, forgetting=FORGETTING if changing else 1.0), np.flatnonzero(seen).tolist())
    wanted = np.zeros(k)
    fresh = count - int(seen.sum())
    for arm in listed:
        wanted[arm] = chances[int(arm)] * (1 - fresh / count) if seen[arm] else 1 / count
    if least_share is None:
        least_share = FLOOR_CHANGING if changing else FLOOR / count
    least = np.where(active, least_share, 0.0)
    if (
        default is not None
        and active[default]
        and not (beaten and max(chances, key=lambda arm: chances[arm]) != default)
    ):
        least[default] = max(least[default], min(hold, 1 / count))
    least = np.where(active, np.maximum(least, kept * served), 0.0)
    least = least / max(1.0, float(least.sum()))
    shares = np.maximum(wanted, least)
    room = shares - least
    over = float(shares.sum()) - 1
    return np.asarray(shares - room * over / room.sum() if room.sum() > 0 else shares / shares.sum())


def policy(shares: FloatArray) -> IntArray:
    """Shares as the ends of intervals of 32-bit hashes: arm a serves hashes from the end before it to its own."""
    ends = np.floor(WHOLE * np.cumsum(shares) + 0.5).astype(np.int64)
    ends[-1] = WHOLE
    return ends


@dataclass(frozen=True)
class Result:
    """What is known of an arm against the default, at all looks together."""

    effect: float  # the difference of mean scores, a weighted mean over versions
    low: float  # the lower end of its interval
    high: float  # the upper end
    lift: tuple[float, float] | None  # the interval of the relative difference (None: not known yet)
    verdict: str  # "better", "worse" or "open"


def result(releases: Releases, arm: int, default: int = 0, *, level: float = 0.05, with_lift: bool = True) -> Result:
    """An arm against the default: a normal-mixture confidence sequence, valid at every look.

    `level` is that of this comparison: for all arms together divide it by how many there are.
    """
    both = np.flatnonzero(releases.used[:, arm] & releases.used[:, default])
    if not len(both):
        return Result(0.0, -inf, inf, None, "open")
    n, base = releases.counts[both, arm], releases.counts[both, default]
    noise = releases.variances[both]
    levels = releases.levels[both]
    omega = 1 / (levels * (1 / n + 1 / base) + noise * (1 / n**2 + 1 / base**2))
    one, other = releases.scores[both, arm], releases.scores[both, default]
    spread = _second_moment(releases.sums[both, arm], n, noise)
    reference = _second_moment(releases.sums[both, default], base, noise)
    rho = float(omega[0]) / 4

    def radius(times: float) -> float:
        variance = float((omega**2 * (spread + times**2 * reference)).sum())
        return sqrt((variance + rho) * log((variance + rho) / (rho * level**2)))

    total = float(omega.sum())
    effect, half = float(omega @ (one - other)) / total, radius(1.0) / total
    verdict = "better" if effect - half > 0 else "worse" if effect + half < 0 else "open"
    lift = _lift(omega, one, other, radius) if with_lift else None
    return Result(effect, effect - half, effect + half, lift, verdict)


def _second_moment(sums: FloatArray, counts: FloatArray, noise: FloatArray) -> FloatArray:
    """The variance of a released mean score, at most: scores in [0, 1] have y^2 <= y."""
    mean = np.minimum(1.0, (np.maximum(sums, 0.0) + np.sqrt(noise) + 1) / counts)
    return np.asarray(mean / counts + noise / counts**2)


def _lift(omega: FloatArray, one: FloatArray, other: FloatArray, radius: Any) -> tuple[float, float] | None:
    """{x : |sum omega (Y_a - (1 + x) Y_0)| <= radius(1 + x)}, by bisection; None where it has no end."""

    def inside(times: float) -> bool:
        return bool(abs(float(omega @ (one - times * other))) <= radius(times))

    mean = float(omega @ other)
    centre = float(omega @ one) / mean if mean > 0 else inf
    if not (0 < centre < inf) or inside(0.0) or inside(100 * centre):
        return None
    ends = []
    for outside in (0.0, 100 * centre):
        near, far = centre, outside
        for _ in range(60):
            middle = (near + far) / 2
            near, far = (middle, far) if inside(middle) else (near, middle)
        ends.append(far - 1)
    return ends[0], ends[1]


def sample_ratio(counts: IntArray, shares: FloatArray, *, level: float = ALARM) -> Flags:
    """Which arms have had too many or too few persons for their shares, at any look; public counts only.

    `counts` are persons of each version and arm, and `level` is the chance of any false alarm, ever.
    """
    totals = counts.sum(axis=1, keepdims=True)
    excess = (counts - shares * totals).sum(axis=0)
    variance = shares * (1 - shares) * totals
    spread, rho = variance.sum(axis=0), np.maximum(variance[0], 1.0)
    most = (spread + rho) * np.log((spread + rho) / (rho * (level / shares.shape[1]) ** 2))
    return np.asarray(excess**2 > most)


def noise_deviation(versions: int, epsilon: float, delta: float) -> tuple[str, float]:
    """The kind and the deviation of the noise in one sum, if a person may stand in every version.

    The two sums of a version, of scores and of what is lacking to 1, move by 1 together when a person leaves.
    """
    count = check_integer("noise_deviation", "versions", versions)
    laplace = sqrt(2) * count / check_positive("noise_deviation", "epsilon", epsilon)
    if check_number("noise_deviation", "delta", delta, above=0.0, below=1.0, closed_low=True) == 0:
        return "laplace", laplace
    gauss = sqrt(count) / gaussian_mu(epsilon, delta)
    return ("laplace", laplace) if laplace <= gauss else ("gaussian", gauss)


def version_length(arms: int, people: float, score: float, epsilon: float, delta: float = 0.0) -> int:
    """Days of a version: the shortest of 1, 2, 3 and 7 whose sums are not lost in their noise.

    There are so many `people` a day with an expected `score` each, and a month has (epsilon, delta).
    """
    for days, versions in LENGTHS.items():
        _, deviation = noise_deviation(versions, epsilon, delta)
        if people * days * score / arms >= CONVERSIONS * deviation**2:
            return days
    return max(LENGTHS)


def loss_so_far(releases: Releases, *, level: float = 0.05) -> float:
    """A bound on what was lost against the best single arm, at all looks at once, with probability 1 - level.

    It holds if differences a person are constant and `people` is real traffic, and inherits the normal approximation
    of `result`.
    """
    arms = np.flatnonzero(releases.used.any(axis=0)).tolist()
    pairs = max(1, len(arms) * (len(arms) - 1))
    served = releases.counts.sum(axis=0)
    return max(
        (
            sum(
                float(served[other]) * max(0.0, min(1.0, result(releases, arm, other, level=2 * level / pairs).high))
                for other in arms
                if other != arm
            )
            for arm in arms
        ),
        default=0.0,
    )
