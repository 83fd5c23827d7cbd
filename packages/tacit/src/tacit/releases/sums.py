"""Noisy sums of vectors: running sums, sums of batches, products, and passes over all records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar, Literal

from tacit.accounting.composition import joint
from tacit.accounting.curves import ROUND_UP, Curve, Gaussian, SamplerError
from tacit.accounting.rounding import IDEALIZED, exact_up_to
from tacit.noise.noisy_vectors import vector_grid
from tacit.noise.running_sums import RunningSum
from tacit.noise.running_sums.running_sum import Grid, lattice_grid
from tacit.noise.sampler_bounds import (
    GAUSSIAN_SIGMA,
    WIDE_SIGMA,
    GaussianSlack,
    gaussian_slack,
)
from tacit.ranges import Count, Number, Positive, Size
from tacit.releases.neighbours import Neighbours
from tacit.releases.records import Losses, Vectors
from tacit.releases.release import Releases, Sized, check_single

LAWS = {"gaussian": "discrete gaussian", "laplace": "two-sided geometric", "cube": "cube"}
# A wide draw is made of two; with the convolution of the two it costs less than four.
DRAWS_OF_A_WIDE_ONE = 4


@dataclass(frozen=True)
class NoisySums(Sized):
    """All prefix sums of a stream of records, behind the noise of a running-sum mechanism.

    The m rounds of one person stand in columns of the factor that are `separation` apart; a column
    of norm c moves the draws by sides c times the size of a record.

    Attributes:
        records: what a round contributes.
        mechanism: the factorisation, and the law of its noise.
        privacy: mu (Gaussian) or epsilon (pure) of all streams together.
        streams: number of independent noises on the same sums.
        exact: whether noise is drawn on a lattice (else float64, for simulation).
        multiple: what a record's size is a multiple of, if sizes grow along the stream (None: the
            size is fixed).
        spherical: whether pure noise in float64 has the density e^{-|z|} in the norm by which
            records are clipped (else it is independent Laplace noise).
    """

    records: Losses | Vectors
    mechanism: RunningSum
    privacy: Positive
    streams: Count = 1
    exact: bool = True
    multiple: Size | None = None
    spherical: bool = False
    shown: ClassVar[str] = "every noisy sum, hence every {decision}"
    theorem: ClassVar[str] = "private running sum; what follows from it is post-processing"

    @property
    def privacy_per_stream(self) -> float:
        """The mu or epsilon of each stream, rounded down."""
        if self.streams == 1:
            return self.privacy
        gaussian = self.mechanism.noise == "gaussian"
        together = sqrt(self.streams) if gaussian else self.streams
        return self.privacy / together / ROUND_UP**2

    @cached_property
    def grid(self) -> Grid:
        """The lattice of each stream."""
        records = self.records.records(self.made_for)
        privacy = self.privacy_per_stream
        if self.multiple is not None:
            growing: dict[str, Any] = {"growing": True, "multiple": self.multiple}
            return lattice_grid(self.mechanism, privacy, records, **growing)
        if self.spherical and not self.exact:
            moved = float(records.sides * records.people)
            scale = self.mechanism.scale(privacy, moved) * ROUND_UP
            return Grid(records, 0, scale, self.mechanism.curve(privacy), IDEALIZED)
        numerics = "exact" if self.exact else "float"
        return self.mechanism.grid(privacy, records, numerics=numerics)

    def own_curve(self) -> Curve:
        if self.streams > 1 and self.mechanism.steps > 0:
            return joint([self.grid.curve] * self.streams)
        return self.grid.curve

    def numerics(self, among: Neighbours, delta: float) -> str:
        curve = self.curve(among)
        if self.streams > 1 and isinstance(curve, SamplerError):
            return exact_up_to(curve.extra)
        return self.grid.numerics

    def _drawn(self, among: Neighbours) -> dict[str, Any]:
        return {"noise": noise_of(self.grid, self.mechanism.noise)}


@dataclass(frozen=True)
class NoisyBatches(Releases):
    """The sum of each batch of records, once, with fresh noise; a round enters one of them.

    Of the m rounds of one person k_i stand in batch i. Pure noise costs in proportion to their
    sum, and Gaussian noise to the root of the sum of k_i^2: most if they fill whole batches.

    Attributes:
        records: what a round contributes.
        law: law of the noise.
        scale: scale of the noise, in the units of the records.
        batch: number of rounds that are added up.
        exact: whether noise is drawn on a lattice (else float64, for simulation).
    """

    records: Losses | Vectors
    law: Literal["gaussian", "laplace", "cube"]
    scale: Positive
    batch: Count
    exact: bool = True
    shown: ClassVar[str] = "every noisy sum, hence every {decision}"
    theorem: ClassVar[str] = "noise on each batch's sum, parallel composition"

    def grid(self, among: Neighbours) -> Grid:
        """Return the lattice of the records, with the curve for these neighbours."""
        records = self.records.records(among.single)
        numerics = "exact" if self.exact else "float"
        return vector_grid(self.law, self.scale, records, among.rounds, numerics, self.batch)

    def curve(self, among: Neighbours) -> Curve:
        return self.grid(among).curve

    def numerics(self, among: Neighbours, delta: float) -> str:
        return self.grid(among).numerics

    def _drawn(self, among: Neighbours) -> dict[str, Any]:
        return {"noise": noise_of(self.grid(among), self.law)}


@dataclass(frozen=True)
class Passes(Releases):
    """Several passes over all records: each releases the sum of integer vectors, with noise.

    A record is in every pass, where it moves the sum by at most sides `units` in l2: Gaussian DP
    with mu = sqrt(times) sides units/sigma. Proved for one record of a person.

    Attributes:
        times: number of passes.
        units: largest l2 norm of a vector.
        dimension: number of coordinates.
    """

    times: Count
    units: Count
    dimension: Count
    exact = True
    shown: ClassVar[str] = "every noisy sum of clipped gradients, hence every iterate and the model"
    theorem: ClassVar[str] = "Gaussian mechanism on integer outer products, composed over passes"

    @property
    def slack(self) -> GaussianSlack:
        """What the samplers of all passes add."""
        return gaussian_slack(self.times * self.dimension)

    def curve(self, among: Neighbours) -> Curve:
        check_single(self, among)
        moved = sqrt(self.times) * among.sides * self.units / GAUSSIAN_SIGMA * ROUND_UP
        return with_slack(Gaussian(moved), self.slack)

    def numerics(self, among: Neighbours, delta: float) -> str:
        return exact_up_to(self.slack.epsilon)


@dataclass(frozen=True)
class LinearProducts(Releases):
    """Noisy sums of the products x x' and x y over actions; a round enters one release.

    A record moves the first release by at most a factor of `factor` units^2, a later one by a
    factor of `later_factor` units^2 (docs/algorithms/explore-linear.md, Lemma 1).

    Attributes:
        actions: number of actions.
        dimension: number of features.
        units: steps in a feature vector of length 1 and in a centred loss.
        factor: multiplier of the first sums before noise of deviation 2^57.
        later_factor: multiplier of later Gram matrices (0: features are public, and only losses
            are hidden).
        releases: number of releases.
    """

    actions: Count
    dimension: Count
    units: Count
    factor: Count
    later_factor: Number
    releases: Number
    exact = True
    shown: ClassVar[str] = "every coin, every noisy sum, hence every model"
    theorem: ClassVar[str] = "a round enters one noisy sum of integers, by a public schedule"

    @property
    def slack(self) -> GaussianSlack:
        """What the samplers of all releases add."""
        gram = self.dimension * (self.dimension + 1) // 2 if self.later_factor else 0
        cross = (self.actions - 1) * self.dimension
        return gaussian_slack(DRAWS_OF_A_WIDE_ONE * (cross + self.releases * gram))

    def mu(self, among: Neighbours) -> float:
        """Return the mu of everything that is released, for all rounds of a person together."""
        first, later = product_shifts(self.later_factor == 0, among.sides)
        moved = max(first * self.factor, later * self.later_factor) * float(self.units**2)
        return moved * among.rounds / WIDE_SIGMA * ROUND_UP

    def curve(self, among: Neighbours) -> Curve:
        return with_slack(Gaussian(self.mu(among)), self.slack)

    def numerics(self, among: Neighbours, delta: float) -> str:
        return exact_up_to(self.slack.epsilon)


def product_shifts(public: bool, sides: int) -> tuple[float, float]:
    """Return the shift of the first release and of a later one, in units of factor units^2.

    Args:
        public: whether features are public, so that only losses are hidden.
        sides: number of contributions that a neighbour moves.
    """
    if public:
        return float(sides), 0.0
    return (sqrt(2.0), 1.0) if sides == 1 else (3 / sqrt(2.0), sqrt(2.0))


def with_slack(curve: Curve, slack: GaussianSlack) -> SamplerError:
    """Return a curve with what its discrete Gaussian draws are off."""
    return SamplerError(curve, slack.total_variation, 1, slack.epsilon, slack.delta_exponent)


def noise_of(grid: Grid, noise: str) -> dict[str, Any]:
    """Return the noise that is drawn, as JSON can hold it."""
    if not grid.units:
        return {"law": f"float64 {noise}", "scale": grid.scale}
    rounding = {"rounding_error": grid.rounding.error, "failure": grid.rounding.failure}
    return {"law": LAWS[noise], "units": grid.units, "rate": grid.rate or None, **rounding}
