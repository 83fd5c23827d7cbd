"""The certified regret of `LiveArms`: Theorem 2 of docs/algorithms/live-arms.md, in numbers.

Means of the best arm are looked at in cells [a, b]. For a cell, every c in (0, 1) and l >= 0, the regret after T rounds
is at most

    l T + int_l^b min(T, R(c x)) dx + sum over other arms of (gap - l)^+ h((1 - c) gap)
    R(u) = sum_j E_j[ min(m_{j+1} (1/q - 1), T (1 - q)) + D (1 - q) ],       q = exp(-H_j Up_j(u, z))
    h(d) = min(T, n_1 + ceil(D/K) + sum_j E+_j[ min(m_{j+1}, T F) + D F ]),  F = exp(-H_j Low_j((d - z)^+/SPACING))

with H the heat. Up_j is at least the exponent of the best arm's draw, Low_j at most that of another arm's; z has a
survival function that is at least that of an estimate's deviation downwards (R) or upwards (h). The bound is the
largest over all cells; the worst ones are halved. On grids everything is taken at its larger end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import asin, ceil, pi, sin, sqrt

import numpy as np
from scipy.special import ndtr

from tacit.algorithms.arms.live_arms.hopes import SPACING, Blocks, Stage
from tacit.validation import FloatArray

Cell = tuple[float, float]

SHARES = np.array([0.25, 0.32, 0.38, 0.44, 0.5, 0.57, 0.65, 0.74, 0.82])  # c
STEP, PRICES = 1.04, 4  # from one gap of the grid to the next; every fourth one is tried as l
SMALLEST = 1e-5  # the smallest gap of the grid, in units of the range
CELLS = (0.0, 0.02, 0.065, 0.14, 0.25, 0.5, 0.72, 0.89, 0.97, 1.0)  # of best means
HALVINGS = 20  # of the worst cell
# Means at which the exponents of draws are known: close to 0 and 1, where the variance of a bit vanishes, dense.
_NEAR_AN_END = np.append(0.0, np.geomspace(1e-4, 0.5, 41))
KNOTS = np.append(_NEAR_AN_END, 1 - _NEAR_AN_END[-2::-1])
MEANS = (0.0, 0.02, 0.06, 0.15, 0.3, 0.42, 0.5, 0.58, 0.7, 0.85, 0.94, 0.98, 1.0)  # cells of other arms' means
# In units of the estimate's deviation: distances of draws, deviations of the best arm, offsets u; deviations of others
# and distances d.
DISTANCES = np.linspace(0.0, 12.0, 49)
DOWNWARD = np.append(np.linspace(0.0, 5.0, 81), np.linspace(5.25, 12.0, 28))
OFFSETS = np.append(0.0, np.geomspace(0.03, 12.0, 85))
UPWARD = np.append(np.linspace(-3.0, 6.0, 145), np.geomspace(6.2, 45.0, 30))
GAPS = np.append(0.0, np.geomspace(0.05, 60.0, 140))
SHEVTSOVA = 0.56  # the constant of Berry and Esseen for independent summands (Shevtsova 2010)
ROUNDING = 1e-9  # of exponents and of sums in float64, relative and absolute
SHARE_ERROR = 1e-6  # of the shares in total variation: quadrature and float64, see hopes.py


@dataclass(frozen=True)
class Certificate:
    """Numbers of a plan that do not depend on the horizon."""

    arms: int  # K
    blocks: Blocks  # of each arm
    largest: float  # p, which no mean reward exceeds
    delay: int  # D
    # whether each round adds 0 or 1 to its sum; a value between leaves the variance of a round unknown
    bits: bool = True

    def regret(self, rounds: int, gap: float = 0.0) -> float:
        """The certified regret after so many rounds in units of the range, if all other arms are worse by `gap`."""
        if self.arms == 1:
            return 0.0
        if (rounds, gap) not in self._found:
            self._found[rounds, gap] = self._largest(rounds, gap)
        return min(self._found[rounds, gap], self.regret(rounds)) if gap else self._found[rounds, gap]

    @cached_property
    def _found(self) -> dict[tuple[int, float], float]:
        return {}

    @np.errstate(all="ignore")
    def _largest(self, rounds: int, gap: float) -> float:
        """The largest bound of all cells of means of the best arm."""
        edges = [self.largest * edge for edge in CELLS]
        found = {cell: self._within(cell, rounds, gap) for cell in pairwise(edges)}
        for _ in range(HALVINGS):
            worst = max(found, key=lambda cell: found[cell])
            before, middle = found.pop(worst), _middle(*worst)
            for half in ((worst[0], middle), (middle, worst[1])):
                found[half] = min(before, self._within(half, rounds, gap))
        return max(found.values()) * (1 + ROUNDING) + SHARE_ERROR * rounds * self.largest

    def _within(self, cell: Cell, rounds: int, gap: float) -> float:
        """What is lost if the best arm's mean is in the cell, at the best c and l."""
        top, least = cell[1], gap or SMALLEST
        if top <= least:
            return 0.0 if gap else top * rounds  # no mean is below 0, and so no gap above the best arm's
        left = least * STEP ** np.arange(ceil(np.log(top / least) / np.log(STEP)))
        right = np.append(left[1:], top)
        # At the left end of each cell R and h are larger, at the right end a gap is.
        lost = np.zeros((len(SHARES), len(left)))
        plays = np.full_like(lost, float(self.blocks.first + -(-self.delay // self.arms)))
        means = self.largest / 2 if top <= self.largest / 2 else self.largest
        for j, stage in enumerate(self._stages(rounds), 1):
            costs = self.blocks.length(j + 1), rounds, self.delay
            lost += _at(stage.deviation * OFFSETS, stage.lost(cell, costs, self.bits), SHARES[:, None] * left)
            plays += _at(stage.deviation * GAPS, stage.plays(means, costs, self.bits), (1 - SHARES[:, None]) * left)
        lost, plays = np.minimum(lost, rounds), np.minimum(plays, rounds)
        prices = (left if not gap else np.append(0.0, left))[::PRICES, None]
        widths = np.maximum(right - np.maximum(left, prices), 0.0)
        before = lost[:, :1] * np.maximum(gap - prices.T, 0.0)  # below the smallest gap R is that of the gap
        worst = (np.maximum(right - prices, 0.0) * plays[:, None]).max(axis=2)
        total = prices.T * rounds + lost @ widths.T + before + (self.arms - 1) * worst
        return min(rounds * top, float(total.min()))

    def _stages(self, rounds: int) -> list[Exponents]:
        """The stages after which something is decided: their blocks must fit into the rounds."""
        while self.blocks.end(len(self._known) + 1) <= max(rounds, self.blocks.first):
            self._known.append(Exponents(self.blocks.stage(len(self._known) + 1)))
        return [stage for j, stage in enumerate(self._known, 1) if j == 1 or self.blocks.end(j) <= rounds]

    @cached_property
    def _known(self) -> list[Exponents]:
        return []


def _middle(low: float, high: float) -> float:
    """Between two means, half of the way of a bit's standardised mean: arcsin(sqrt(mean))."""
    return sin((asin(sqrt(low)) + asin(sqrt(min(high, 1.0)))) / 2) ** 2


def _at(grid: FloatArray, values: FloatArray, points: FloatArray) -> FloatArray:
    """The value at the next point of the grid on the left."""
    return values[np.searchsorted(grid, points, side="right") - 1]


class Exponents:
    """What a stage adds to R and h: exponents of draws, and tails of estimates."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.deviation, self.heat = stage, stage.deviation, stage.heat
        self._tilted = stage.slopes[:, None] * stage.tilts
        self._known: dict[tuple[float, ...], FloatArray] = {}

    @cached_property
    def _draws(self) -> FloatArray:
        """Lambda_j(y - t, y) for each knot y and distance t: jointly convex, a maximum of s t - (concave in y)."""
        lines = np.array([self._log_moment(-self._tilted, np.array(y)) for y in KNOTS]) + self.stage.noises
        rises = self.deviation * DISTANCES[:, None] * self.stage.slopes
        return np.array([np.maximum((rises - line).max(axis=1), 0.0) for line in lines])

    def _log_moment(self, tilted: FloatArray, mean: FloatArray) -> FloatArray:
        """The sum over rounds of the logarithm of E e^{u (bit - mean)}, for each slope."""
        return np.asarray((np.log1p(mean * np.expm1(tilted)) - mean * tilted) @ self.stage.lengths)

    def survival(self, cell: Cell, z: FloatArray, sign: float, bits: bool) -> FloatArray:
        """P[sign (estimate - mean) >= z], at most, for every mean in the cell.

        By Chernoff, sharpened by Berry and Esseen under the tilted law; and by Berry and Esseen alone.
        """
        stage = self.stage
        tilted = sign * self._tilted
        upper = self._log_moment(tilted, _worst_mean(tilted, *cell)) + stage.noises
        deviation, error = self._normal(np.concatenate([np.zeros_like(tilted[:1]), tilted]), cell, bits)
        sharper = 1 / (sqrt(2 * pi) * stage.slopes * deviation[0, 1:]) + 2 * error[1:]
        chernoff = np.exp(-_conjugate(stage.slopes, upper + np.log(np.minimum(sharper, 1.0)), z))
        narrow, wide = deviation[:, 0]
        normal = ndtr(-z / np.where(z > 0, wide, narrow)) + error[0]
        return np.asarray(np.minimum(np.minimum(chernoff, normal) * (1 + ROUNDING) + 1e-300, 1.0))

    def _normal(self, tilted: FloatArray, cell: Cell, bits: bool) -> tuple[FloatArray, FloatArray]:
        """The estimate under each tilted law: its smallest and largest deviation, and how far from normal it is.

        The variance v of a tilted bit is smallest at an end of the cell; its third absolute moment v (1 - 2 v) rises
        with v.
        """
        ends = [q / (q + (1 - q) * np.exp(-tilted)) for q in cell]
        variances = [q * (1 - q) for q in ends]
        most = np.where((ends[0] <= 0.5) & (ends[1] >= 0.5), 0.25, np.maximum(*variances))
        least = np.minimum(*variances) if bits else np.zeros_like(most)
        lengths, tilts = self.stage.lengths, self.stage.tilts
        variance, third = self.stage.noise.tilted_moments(np.abs(tilted))
        squares = [(v * lengths + variance) @ tilts**2 for v in (least, most)]
        cubes = (most * (1 - 2 * most) * lengths + third) @ tilts**3
        return np.sqrt(squares), SHEVTSOVA * cubes / squares[0] ** 1.5

    def lost(self, cell: Cell, costs: tuple[int, int, int], bits: bool) -> FloatArray:
        """One term of R at each of `OFFSETS`, for means of the best arm in the cell."""
        key = (*cell, *costs)
        if key not in self._known:
            following, rounds, delay = costs
            survival = self.survival(cell, self.deviation * DOWNWARD, -1.0, bits)
            mass = survival[:-1] - survival[1:]  # of each cell of z, at its right end; what is beyond costs the most
            hot = np.minimum(self.heat * self._up(cell), 700.0)[:, 1:]
            blind = -np.expm1(-hot)
            most = np.minimum(following * np.expm1(hot), rounds * blind) + delay * blind
            self._known[key] = most @ mass + survival[-1] * (rounds + delay)
        return self._known[key]

    def _up(self, cell: Cell) -> FloatArray:
        """The exponent of the best arm's draw above mean - u, its estimate being mean - z: at most, for all means.

        Convex in y = mean - u, it is largest at an end of the cell, and below its chords in y and in t = z - u.
        """
        place, share = _OFFSET_PLACES, _OFFSET_SHARES
        found = np.zeros(place.shape)
        for end in (cell[0],) if cell[1] <= 0.5 else cell:  # up to 1/2 it falls with y
            y = np.maximum(end - self.deviation * OFFSETS, 0.0)
            knot = np.minimum(np.searchsorted(KNOTS, y, side="right") - 1, len(KNOTS) - 2)
            between = ((y - KNOTS[knot]) / np.diff(KNOTS)[knot])[:, None]
            rows = (1 - between) * self._draws[knot] + between * self._draws[knot + 1]
            low, high = np.take_along_axis(rows, place, 1), np.take_along_axis(rows, place + 1, 1)
            found = np.maximum(found, (1 - share) * low + share * high)
        return np.where(_AHEAD, found * (1 + ROUNDING) + ROUNDING, 0.0)

    def plays(self, largest: float, costs: tuple[int, int, int], bits: bool) -> FloatArray:
        """One term of h at each of `GAPS`, for means up to `largest`."""
        key = (largest, *costs)
        if key not in self._known:
            following, rounds, delay = costs
            stage, z = self.stage, self.deviation * UPWARD
            edges = [largest * mean for mean in MEANS]
            survival = np.max([self.survival(cell, z, 1.0, bits) for cell in pairwise(edges)], axis=0)
            mass = np.append(1 - survival[1], survival[1:-1] - survival[2:])  # of each cell, at its right end
            lower = self._log_moment(-self._tilted, _worst_mean(-self._tilted, 0.0, largest)) + stage.noises
            table = np.append(0.0, self.deviation / 30 * 1.02 ** np.arange(400))
            least = np.maximum(_conjugate(stage.slopes, lower, table) * (1 - ROUNDING) - ROUNDING, 0.0)
            distances = np.maximum(self.deviation * GAPS[:, None] - z[1:], 0.0) / SPACING
            chance = _at(table, np.exp(-self.heat * least), distances)
            most = np.minimum(following, rounds * chance) + delay * chance
            self._known[key] = most @ mass + survival[-1] * (following + delay)
        return self._known[key]


# Where t = z - u stands among DISTANCES, for each u and z: the same in every stage, in units of its deviation.
_AHEAD = np.greater(DOWNWARD, OFFSETS[:, None])
_OFFSET_PLACES = np.clip(
    np.searchsorted(DISTANCES, DOWNWARD - OFFSETS[:, None], side="right") - 1, 0, len(DISTANCES) - 2
)
_OFFSET_SHARES = (DOWNWARD - OFFSETS[:, None] - DISTANCES[_OFFSET_PLACES]) / np.diff(DISTANCES)[_OFFSET_PLACES]


def _conjugate(slopes: FloatArray, exponents: FloatArray, distances: FloatArray) -> FloatArray:
    return np.asarray(np.maximum((distances[:, None] * slopes - exponents).max(axis=1), 0.0))


@np.errstate(all="ignore")
def _worst_mean(u: FloatArray, low: float, high: float) -> FloatArray:
    """The mean q from `low` to `high` with the largest ln(1 - q + q e^u) - q u, which is concave in q."""
    centre = np.where(np.abs(u) < 1e-4, 0.5 - u / 12, 1 / u - 1 / np.expm1(u))
    return np.asarray(np.clip(centre, low, high))
