"""The certified regret of `LiveArms`: Theorem 2 of docs/algorithms/live-arms.md, in numbers.

With I_j(t) = max_s [s t - sum_i m_i kappa(-s c_i) - sum_i nu(s c_i)],
kappa(u) = max_{q <= p} ln(1 - q + q e^u) - q u, and I+_j the same with kappa(s c_i), the regret after T rounds is at
most, for every c in (0, 1) and l >= 0,

    l T + int_l^p min(T, R(x)) dx + sum over other arms of (gap - l)^+ h(gap) + g T sum of gaps
    R(x) = sum_j int_{I_j(c x)}^inf [ min(m_{j+1} (e^{H y} - 1), T (1 - e^{-H y})) + D (1 - e^{-H y}) ] e^{-y} dy
    h(x) = min(T, n_1 + ceil(D/K) + sum_j E_j[ min(m_{j+1}, T F) + D F ]),   F = exp(-H I_j(((1 - c) x - z)^+/SPACING))

with H the heat and z of survival function exp(-I+_j(z)). On grids everything is taken at its larger end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf

import numpy as np

from tacit.accounting.calibration import lowest
from tacit.algorithms.arms.live_arms.hopes import SPACING, Blocks, Stage
from tacit.validation import FloatArray

STEP = 1.03  # from one gap of the grid to the next
SMALLEST = 1e-5  # the smallest gap of the grid: smaller ones cost no more than it does, T times
PIECES = 60  # of an estimate's deviation upwards
SHARE_ERROR = 1e-6  # of the shares in total variation: quadrature and float64, see hopes.py


@dataclass(frozen=True)
class Certificate:
    """Numbers of a plan that do not depend on the horizon.

    Attributes:
        arms: K.
        blocks: of each arm.
        largest: p, which no mean reward exceeds.
        delay: D.
        least: g, the share that every arm gets at least.
    """

    arms: int
    blocks: Blocks
    largest: float
    delay: int
    least: float

    @cached_property
    def gaps(self) -> FloatArray:
        """The grid of x."""
        count = ceil(np.log(self.largest / SMALLEST) / np.log(STEP))
        return np.append(SMALLEST * STEP ** np.arange(count), self.largest)

    def regret(self, rounds: int, gap: float = 0.0) -> float:
        """The certified regret after so many rounds in units of the range, if all other arms are worse by `gap`."""
        if self.arms == 1:
            return 0.0
        stages = range(1, self._stages(rounds) + 1)
        costs = {}
        for c in (0.25, 0.32, 0.38, 0.44, 0.5, 0.57):
            costs[c] = self._at(c, rounds, gap, stages)
        return min(costs.values())

    def _stages(self, rounds: int) -> int:
        """Stages after which something is decided: the block before must fit into the rounds."""
        stage = 1
        while self.blocks.end(stage + 1) <= rounds:
            stage += 1
        return stage

    def _at(self, c: float, rounds: int, gap: float, stages: range) -> float:
        x = self.gaps
        lost = np.zeros(len(x))
        plays = np.full(len(x), float(self.blocks.first + -(-self.delay // self.arms)))
        for j in stages:
            rates = self._rates(j)
            following = self.blocks.length(j + 1)
            lost += self._lost(rates.low(c * x), rates.heat, following, rounds)
            plays += self._plays(j, (1 - c) * x, following, rounds)
        # At the left end of each cell R and h are larger, at the right end a gap is.
        lost, plays = np.minimum(lost, rounds), np.minimum(plays, rounds)
        left, right = x[:-1], x[1:]
        inside = right > gap  # cells that reach above the gap: those below cost what the gap itself does
        cost_of_lost = np.where(inside, lost[:-1], lost[:-1][inside][0] if inside.any() else 0.0)
        smallest = float(rounds if not gap else cost_of_lost[0])

        def total(price: float) -> float:
            width = np.maximum(right - np.maximum(left, price), 0.0)
            integral = float(cost_of_lost @ width) + smallest * max(0.0, SMALLEST - price)
            worst = float(np.max(np.maximum(right - price, 0.0)[inside] * plays[:-1][inside], initial=0.0))
            tiny = rounds * max(0.0, SMALLEST - price) if not gap else 0.0
            return price * rounds + integral + tiny + (self.arms - 1) * worst

        shared = self.least * rounds * (self.arms - 1) * self.largest
        return lowest(total, 0.0, self.largest) + shared + SHARE_ERROR * rounds * self.largest

    def _lost(self, exponents: FloatArray, heat: float, following: int, rounds: int) -> FloatArray:
        """One term of R from a lower bound of I_j(c x), in closed form."""
        y, m, total = exponents, float(following), float(rounds)
        crossing = max(0.0, float(np.log(total / m)) / heat)
        low = np.minimum(y, crossing)
        growth = (np.exp((heat - 1) * crossing) - np.exp((heat - 1) * low)) / (heat - 1)
        early = m * (growth - (np.exp(-low) - np.exp(-crossing)))
        high = np.maximum(y, crossing)
        return np.asarray(early + total * _tail(high, heat) + self.delay * _tail(y, heat))

    def _plays(self, j: int, distances: FloatArray, following: int, rounds: int) -> FloatArray:
        """One term of h for (1 - c) x = `distances`."""
        rates = self._rates(j)
        z, mass = rates.upward
        drawn = np.exp(-rates.heat * rates.low(np.maximum(distances[:, None] - z, 0.0) / SPACING))
        rounds_of = np.minimum(following, rounds * drawn) + self.delay * drawn
        return np.asarray(rounds_of @ mass)

    def _rates(self, j: int) -> Rates:
        if j not in self._known:
            self._known[j] = Rates(self.blocks.stage(j), self.largest)
        return self._known[j]

    @cached_property
    def _known(self) -> dict[int, Rates]:
        return {}


def _tail(y: FloatArray, heat: float) -> FloatArray:
    """The integral of (1 - e^{-H y}) e^{-y} from y on."""
    return np.asarray(np.exp(-y) - np.exp(-(1 + heat) * y) / (1 + heat))


class Rates:
    """I_j and the law of an estimate's deviation upwards, from tables that are below and above them.

    Args:
        stage: what is known of an arm.
        largest: no mean exceeds it.
    """

    def __init__(self, stage: Stage, largest: float) -> None:
        self.heat = stage.heat
        slopes = stage.slopes
        tilted = slopes[:, None] * stage.tilts
        downward = (_kappa(-tilted, largest) @ stage.lengths) + stage.noises
        upward = (_kappa(tilted, largest) @ stage.lengths) + stage.noises
        self._distances = np.append(0.0, stage.deviation / 30 * 1.02 ** np.arange(600))
        self._distances = self._distances[self._distances < 2.0 * largest]
        self._exponents = _conjugate(slopes, downward, self._distances)
        z = np.append(0.0, stage.deviation * np.geomspace(0.03, 14.0, PIECES))
        survival = np.exp(-_conjugate(slopes, upward, z))
        # The mass of each cell stands at its right end; what is beyond the last one may be anything.
        self.upward = np.append(z, inf)[1:], np.append(survival[:-1] - survival[1:], survival[-1])

    def low(self, distances: FloatArray) -> FloatArray:
        """I_j at these distances, at most."""
        return np.asarray(self._exponents[np.searchsorted(self._distances, distances, side="right") - 1])


def _conjugate(slopes: FloatArray, exponents: FloatArray, distances: FloatArray) -> FloatArray:
    return np.asarray(np.maximum((distances[:, None] * slopes - exponents).max(axis=1), 0.0))


@np.errstate(all="ignore")
def _kappa(u: FloatArray, largest: float) -> FloatArray:
    """The largest over q <= `largest` of ln(1 - q + q e^u) - q u."""
    centre = np.where(np.abs(u) < 1e-4, 0.5 - u / 12, 1 / u - 1 / np.expm1(u))
    q = np.minimum(largest, centre)
    return np.asarray(np.log1p(q * np.expm1(u)) - q * u)
