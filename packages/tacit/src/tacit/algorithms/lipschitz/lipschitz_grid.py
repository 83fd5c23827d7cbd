"""Online Lipschitz learning in one or two dimensions, losses not necessarily convex.

Paper: "Differentially Private and Lazy Online Convex Optimization" (COLT 2023), Section 4, Theorem 14.
`LipschitzGrid` sums the multiscale coefficients of the losses privately (`Multiscale`), or on an interval their first
differences (`Differences`), and plays Hedge on the reconstruction.

What differs from the print: the constants C_1 = 3/2 - 2^{-k-1} and C_2 = k + 5 - 2^{-k} and the factor 2 of replacing a
loss (the print adds up to sqrt(6) times too little noise); first differences, which hide losses on an interval with
3k/2 times less variance; a grid of fewer bits is allowed; noise enters Hedge's regret once, through its last variance;
other sets than boxes are played through the projection from the cube around them. Coefficients are clipped, so privacy
never rests on the losses being Lipschitz. Proofs: docs/algorithms/lipschitz-grid.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import ceil, inf, log, log2, sqrt
from typing import ClassVar

import numpy as np

from tacit.algorithms.experts.hedge_on_sums import hedge_regret, padding, tilted_loss
from tacit.algorithms.lipschitz.lipschitz_plan import MAX_POINTS, LipschitzLearner, LipschitzPlan
from tacit.domains.convex_set import read_only
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import RunningSum, Tree
from tacit.noise.running_sums.running_sum import check_mechanism
from tacit.printed.ctrl import theorem_14
from tacit.problems import Lipschitz
from tacit.releases import Neighbours, NoisySums, Vectors
from tacit.runtime.on_sums import READINGS_OF_SIGMA, RunningSumPlan, privacy_of_noise, private_sum, separated
from tacit.runtime.printed import Printed, choose_reading
from tacit.runtime.small_instances import SmallInstance, few_rounds
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, check_choice, check_flag, check_integer, check_positive, invalid

# A smaller grid is preferred if its bound is this close to the best one: rounds cost time in proportion.
CLOSE = 1.005


REPAIRED = "repaired: C_d and twice the norm, sigma on each node"
DIFFERS: tuple[str, ...] = (
    "sums are padded to the noise of the largest with noise that is free of data",
    "noise is discrete, on a lattice, and wider by 1e-5 of itself at most",
    "coefficients are clipped, so that privacy does not rest on losses being Lipschitz",
    "the grid spans the smallest cube around the set, whose side may be less than D",
)
"""Where the learner is not the printed one."""


@dataclass(frozen=True)
class LipschitzGrid(LipschitzPlan, RunningSumPlan):
    """Hedge on privately summed differences.

    Privacy contract: every noisy sum of coefficients, hence every decision: mu-Gaussian DP, l2 sensitivity
    2 G D sqrt(C), C of the coordinates. Adaptive adversaries. Enforced: each coefficient is clipped to G times its
    distance. Numerics: exact up to an epsilon that the contract states.
    Regret (oblivious, G-Lipschitz losses): W (ln N/eta' + eta' T/8) + eta k sigma_T^2/2 + T G diagonal/2^{k+1},
    W = G diagonal (of a domain: G diameter, if that is less), eta' = eta W, N grid points; k + 1 in place of k on the
    noise in two dimensions, 2^k for first differences (whose sigma_T is that much smaller).

    Reference: Agarwal, Kale, Singh and Thakurta (2023), "Differentially Private and Lazy Online Convex
    Optimization", https://proceedings.mlr.press/v195/.

    Page: docs/algorithms/lipschitz-grid.md.

    Attributes:
        eta: learning rate, in inverse units of loss.
        bits: k, bits of the grid in each coordinate.
        mechanism: the running sum, for horizon - 1 steps (the last loss is never used). Where its noise may fall, as
            that of the paper's binary tree, sums are padded to the noise of the largest with data-free noise.
        privacy: mu.
        hold: perturb with one Gumbel vector for all rounds (few switches) instead of a fresh draw a round.
        coordinates: which differences are summed: "multiscale" (the paper's), or in one dimension "differences" of
            neighbouring points, which need less noise; `calibrate` takes what has the smaller bound.

    >>> plan = LipschitzGrid.calibrate(Lipschitz(horizon=1000), epsilon=1.0, delta=1e-6)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> point = learner.play()
    >>> learner.observe(lambda points: np.abs(points[:, 0] - 0.3))
    """

    eta: float
    bits: int
    mechanism: RunningSum
    privacy: float
    hold: bool = True
    coordinates: str = "multiscale"
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 14",)
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every noisy sum of differences, hence every decision"
    theorem: ClassVar[str] = "private running sum; reconstruction, weights and draws are post-processing"

    def _check_parameters(self) -> None:
        check_integer("LipschitzGrid", "bits", self.bits, at_least=0)
        check_choice("LipschitzGrid", "coordinates", self.coordinates, _coordinates(self.problem))
        check_flag("LipschitzGrid", "hold", self.hold)
        check_positive("LipschitzGrid", "eta", self.eta)
        if self.transform.size > MAX_POINTS:
            most = (MAX_POINTS.bit_length() - 1) // self.problem.dimension - 1
            raise invalid("LipschitzGrid", "bits", f"at most {most}, so that a sum fits on its lattice", self.bits)
        check_mechanism("LipschitzGrid", self.mechanism, self.rounds - 1)
        if self.mechanism.noise != "gaussian":
            raise invalid("LipschitzGrid", "mechanism", "a Gaussian running sum", self.mechanism)

    @cached_property
    def transform(self) -> Transform:
        return _transform(self.coordinates, self.bits, self.problem)

    @property
    def work_per_round(self) -> float:
        return float(self.transform.size * (2 * self.bits + 4))

    @cached_property
    def releases(self) -> NoisySums:
        exact = self.numerics == "exact"
        return grid_sums(self.problem, self.transform, self.mechanism, self.privacy, exact, self.neighbours)

    @property
    def regret_bound(self) -> RegretBound:
        value = grid_regret(self.problem, self.eta, self.transform, self.mechanism, self.scale) + self._lattice_cost
        return RegretBound(
            value,
            "ln(N)/eta + eta (T W^2/8 + depth sigma_T^2/2) + T G diagonal/2^(k+1)",
            ("oblivious adversary", "expectation over all draws", "Lipschitz losses"),
        )

    @property
    def _lattice_cost(self) -> float:
        """What the lattice adds.

        Quantised losses are off by at most q = depth times what a coefficient loses: regrets differ by 2 q a round, and
        losses range over W + 2 q. Roundings of the noise move a round's loss by `tilted_loss`.
        """
        depth, width = self.transform.depth, self.problem.width
        off = depth * self.grid.lost
        moved = tilted_loss(2 * self.eta * depth * self.grid.disturbance(self.mechanism))
        return self.rounds * (2 * off + self.eta * off * (width + off) / 2 + width * moved)

    @classmethod
    def _calibrate(
        cls,
        problem: Lipschitz,
        target: Target,
        *,
        mechanism: RunningSum | None = None,
        bits: int | None = None,
        hold: bool = True,
        coordinates: str | None = None,
    ) -> LipschitzGrid:
        if target.delta == 0 or target.max_switches is not None:
            raise PrivacyError(
                "LipschitzGrid needs delta > 0 and cannot promise a limit on switches: use LipschitzNet."
            )
        rounds = problem.horizon or 1
        sums, privacy = private_sum(rounds - 1, target, mechanism)
        exact, among = target.numerics == "exact", target.neighbours

        def probe(kind: str, depth: int) -> tuple[float, float, int]:
            transform = _transform(kind, depth, problem)
            try:
                scale = grid_sums(problem, transform, sums, privacy, exact, among).grid.scale
            except PrivacyError:  # so many coordinates have no lattice that is fine enough
                if depth == fitting[0]:
                    raise
                return inf, 1.0, depth
            eta = best_rate(problem, transform, scale * sums.largest_row_norm)
            return grid_regret(problem, eta, transform, sums, scale), eta, depth

        def best(kind: str) -> LipschitzGrid:
            found = [probe(kind, depth) for depth in fitting]
            _, eta, depth = next(answer for answer in found if answer[0] <= CLOSE * min(found)[0])
            return cls(problem, eta, depth, sums, privacy, hold, kind, **separated(target, sums))

        if coordinates is not None:
            check_choice("LipschitzGrid.calibrate", "coordinates", coordinates, _coordinates(problem))
        kinds = _coordinates(problem) if coordinates is None else (coordinates,)
        depths = range(max(1, ceil(log2(max(2, rounds)))) + 1) if bits is None else [bits]
        sized = [depth for depth in depths if Multiscale(depth, problem.dimension).size <= MAX_POINTS]
        fitting = sized or list(depths[:1])
        return min(map(best, kinds), key=lambda plan: plan.regret_bound.searched)  # the lattices cost unlike much

    @classmethod
    def _as_printed(
        cls, problem: Lipschitz, asked: Target, result: str, reading: str | None, *, eta: float | None = None
    ) -> LipschitzGrid:
        """Make the plan of `as_printed`: the multiscale coordinates of ceil(log2 T) bits, on a binary tree.

        Args:
            problem: the problem.
            asked: the privacy that is asked.
            result: Theorem 14.
            reading: where sigma is added.
            eta: the learning rate, which is not printed (default: the one of the smallest bound).
        """
        owner = "LipschitzGrid.as_printed"
        named = choose_reading(owner, result, reading, (*READINGS_OF_SIGMA, REPAIRED))
        rounds, dimension = problem.horizon or 1, problem.dimension
        if asked.delta <= 0 or rounds < 2:
            raise PrivacyError(f"{owner} needs delta > 0 and 2 rounds: got {asked.delta:g} and {rounds}.")
        diameter = problem.width / problem.lipschitz
        values = theorem_14(rounds, dimension, problem.lipschitz, diameter, asked.epsilon, asked.delta)
        bits = int(values["bits"])
        draft = cls(problem, 1.0, bits, Tree(rounds - 1), 1.0, False, "multiscale", **asked.contract)
        squared, last = draft.transform.squared_norm, draft.mechanism.largest_row_norm
        node = values["coordinate"] / (last if named == READINGS_OF_SIGMA[1] else 1.0)
        differs = DIFFERS
        if named == REPAIRED:
            node *= 2 * sqrt(max(squared, values["squared_norm"]) / values["squared_norm"])
            differs = (*differs, "sigma is that of twice the norm, with the larger one of both C_d")
        rate = best_rate(problem, draft.transform, node * last) if eta is None else eta
        printed = Printed(
            paper="ctrl",
            result=result,
            epsilon=asked.epsilon,
            delta=asked.delta,
            reading=named,
            order="O(G D sqrt(T log T) + G D log(T)^2 sqrt(C_d log(1/delta))/epsilon)",
            evidence=(
                *(("eta is not printed: it is the one of our smallest bound",) if eta is None else ()),
                f"C_{dimension} is {squared:.3g} and not {values['squared_norm']:g}, and replacing a loss moves M l by "
                "twice its norm",
                "proved for all noisy sums, by the Gaussian mechanism",
            ),
            differs=differs,
            values={**values, "node": node},
        )
        return replace(draft, eta=rate, privacy=privacy_of_noise(draft, node), printed=printed)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        return self._summed(few_rounds(self.problem))

    def _learner(self, randomness: Randomness) -> LipschitzGridLearner:
        return (LipschitzGridLearner if self.mechanism.steady else PaddedGridLearner)(self, randomness)


class LipschitzGridLearner(LipschitzLearner):
    """Plays from the weights of the reconstructed noisy sums."""

    plan: LipschitzGrid
    _stream_names = ("draw",)
    _state: ClassVar[tuple[str, ...]] = ("_sums", "_gumbel", "_index")

    def __init__(self, plan: LipschitzGrid, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        problem = plan.problem
        self._transform = plan.transform
        self.points = read_only(problem.place(self._transform.points))
        self._limits = problem.lipschitz * problem.side * self._transform.distances
        size = self._transform.size
        self._sums = plan.mechanism.start_on(plan.grid, randomness, "noise")
        gumbel = -np.log(self._streams["draw"].standard_exponential(size))
        self._index = int(np.argmax(gumbel))
        self._gumbel = gumbel if plan.hold else None  # a fresh one is used and forgotten

    def _decision(self) -> FloatArray:
        return np.array(self.points[self._index])

    def _consistent(self) -> bool:
        return self._index < len(self.points) and self._sums.step == min(self._round, self.plan.rounds - 1)

    def _padded(self, sums: FloatArray) -> FloatArray:
        """Return sums as noisy as the noisiest one: these are."""
        return sums

    @np.errstate(all="ignore")  # whether differences are too large for a float depends on the losses
    def _absorb(self, losses: FloatArray) -> None:
        if self._round + 1 == self.plan.rounds:
            return
        differences = self._transform.transform(losses)
        np.clip(differences, -self._limits, self._limits, out=differences)
        noisy = self._transform.inverse(self._padded(self._sums.add(differences)))
        gumbel = self._gumbel
        if gumbel is None:
            gumbel = -np.log(self._streams["draw"].standard_exponential(noisy.size))
        index = int(np.argmax(gumbel - self.plan.eta * noisy))
        self._switches += index != self._index
        self._index = index


class PaddedGridLearner(LipschitzGridLearner):
    """Lifts every sum to the law of the noisiest one, by noise that is free of data."""

    _state = (*LipschitzGridLearner._state, "_pads")

    def __init__(self, plan: LipschitzGrid, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._pads = padding(plan.mechanism, plan.grid, self._transform.size, randomness)

    def _padded(self, sums: FloatArray) -> FloatArray:
        missing = len(self._pads) - 1 - self._sums.nodes(self._sums.step)
        return np.asarray(sums + self._pads[missing])


def best_rate(problem: Lipschitz, transform: Transform, deviation: float) -> float:
    """Return the learning rate of the smallest bound, for the deviation of the last sum's coefficients."""
    spread = (problem.horizon or 1) * problem.width**2 / 8 + transform.depth * deviation**2 / 2
    return sqrt(log(transform.size) / spread)


def _coordinates(problem: Lipschitz) -> tuple[str, ...]:
    """In which coordinates sums can be hidden."""
    return ("multiscale", "differences") if problem.dimension == 1 else ("multiscale",)


def _transform(kind: str, bits: int, problem: Lipschitz) -> Transform:
    return Differences(bits) if kind == "differences" else Multiscale(bits, problem.dimension)


def grid_sums(
    problem: Lipschitz, transform: Transform, mechanism: RunningSum, privacy: float, exact: bool, among: Neighbours
) -> NoisySums:
    """Declare the noisy sums of the coefficients of losses, each clipped to G times its distance."""
    norm = problem.lipschitz * problem.side * sqrt(transform.squared_norm)
    return NoisySums(Vectors(transform.size, norm), mechanism, privacy, exact=exact, made_for=among)


def grid_regret(problem: Lipschitz, eta: float, transform: Transform, mechanism: RunningSum, scale: float) -> float:
    """Hedge's bound with the noise of a reconstructed value, plus the discretisation."""
    rounds, width = problem.horizon or 1, problem.width
    noise = scale * sqrt(transform.depth) / width
    value = width * hedge_regret(eta * width, transform.size, rounds, mechanism, noise)
    # The nearest point is half a cell's diagonal away.
    return value + rounds * problem.lipschitz * problem.diagonal / 2.0 ** (transform.bits + 1)


@dataclass(frozen=True)
class Differences:
    """The grid of `bits` bits on the unit interval.

    >>> Differences(bits=2).transform(np.array([0.0, 1.0, 3.0, 3.0, 4.0]))
    array([0., 1., 2., 0., 1.])
    """

    bits: int

    def __post_init__(self) -> None:
        check_integer("Differences", "bits", self.bits, at_least=0)

    @property
    def size(self) -> int:
        return int(2**self.bits) + 1

    @property
    def squared_norm(self) -> float:
        """The sum over the grid of |x - p(x)|^2, p(x) the point before x: it bounds |M l|^2 for 1-Lipschitz l."""
        return 2.0**-self.bits

    @property
    def depth(self) -> int:
        """The most coefficients that make one value."""
        return int(2**self.bits)

    @cached_property
    def points(self) -> FloatArray:
        return read_only(np.arange(self.size)[:, None] / 2.0**self.bits)

    @cached_property
    def distances(self) -> FloatArray:
        return read_only(np.append(0.0, np.full(self.size - 1, 2.0**-self.bits)))

    def transform(self, values: FloatArray) -> FloatArray:
        return np.diff(values, prepend=values[:1])

    def inverse(self, coefficients: FloatArray) -> FloatArray:
        return np.asarray(np.cumsum(coefficients) - coefficients[0])


@dataclass(frozen=True)
class Multiscale:
    """The grid of `bits` bits a coordinate on the unit box, in one or two dimensions.

    >>> Multiscale(bits=2).transform(np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    array([0., 1., 2., 1., 4.])
    """

    bits: int
    dimension: int = 1

    def __post_init__(self) -> None:
        check_integer("Multiscale", "bits", self.bits, at_least=0)
        check_choice("Multiscale", "dimension", self.dimension, (1, 2))

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each coordinate."""
        return (2**self.bits + 1,) * self.dimension

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return int((2**self.bits + 1) ** self.dimension)

    @property
    def squared_norm(self) -> float:
        """C: the sum over the grid of |x - p(x)|^2, which bounds |M l|^2 for 1-Lipschitz l."""
        if self.dimension == 1:
            return 1.5 - 2.0 ** (-self.bits - 1)
        return self.bits + 5.0 - 2.0**-self.bits

    @property
    def depth(self) -> int:
        """The most coefficients that make one value: k, or k + 1 in two dimensions."""
        return max(1, self.bits) if self.dimension == 1 else self.bits + 1

    @cached_property
    def points(self) -> FloatArray:
        """The grid as rows of coordinates in [0, 1], shape (size, dimension)."""
        axis = np.arange(2**self.bits + 1) / 2.0**self.bits
        rows = np.stack(np.meshgrid(*[axis] * self.dimension, indexing="ij"), axis=-1)
        return read_only(np.ascontiguousarray(rows.reshape(-1, self.dimension)))

    @cached_property
    def distances(self) -> FloatArray:
        """|x - p(x)| for every point, shape (size,)."""
        result = np.zeros(self.shape)
        for level, child, _ in self._families():
            odd = sum(1 for part in child if part.start)
            result[child] = sqrt(odd) * 2.0 ** (level - self.bits)
        return read_only(result.reshape(-1))

    def transform(self, values: FloatArray) -> FloatArray:
        """M: every value less its parent's; shape (size,) in and out."""
        grid = values.reshape(self.shape)
        result = np.zeros(self.shape)
        for _, child, parent in self._families():
            np.subtract(grid[child], grid[parent], out=result[child])
        return result.reshape(-1)

    def inverse(self, coefficients: FloatArray) -> FloatArray:
        """M^+: coefficients summed along the parents, with value 0 at the origin."""
        grid = coefficients.reshape(self.shape)
        result = np.zeros(self.shape)
        for _, child, parent in self._families():  # from coarse to fine: parents are ready
            np.add(grid[child], result[parent], out=result[child])
        return result.reshape(-1)

    def _families(self) -> list[tuple[int, tuple[slice, ...], tuple[slice, ...]]]:
        """(bit, children, their parents) as strided slices, from the highest bit down."""
        families = []
        for level in range(self.bits, -1, -1):
            unit, end = 2**level, 2**self.bits
            even = slice(0, end + 1, 2 * unit)  # the multiples of 2 unit
            odd, cleared = slice(unit, end + 1, 2 * unit), slice(0, end + 1 - unit, 2 * unit)
            for which in product((False, True), repeat=self.dimension):
                if any(which):
                    child = tuple(odd if bit else even for bit in which)
                    parent = tuple(cleared if bit else even for bit in which)
                    families.append((level, child, parent))
        return families


Transform = Multiscale | Differences
"""Coordinates in which losses are summed: differences along a tree of grid points, and back."""
