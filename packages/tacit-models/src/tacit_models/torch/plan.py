"""Epochs over fixed batches, each step a noisy sum of clipped row gradients: what is public before any data.

Row i of the data is in batch i mod b of every epoch, or in the batch that a public hash of its person's id names. So it
stands in k steps that are b apart. The sums of clipped gradients are a private running sum for such rows
(docs/algorithms/running-sums.md): its differences are the noisy gradients. With b = 1 every step is a full pass, and
the noise is independent. A person with r rows moves the sums by at most r times as much, wherever they stand, by the
triangle inequality. The same inequality covers a record that is replaced by one of another person, in another batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.guarantee import REPLACE, Guarantee, Relation, as_relation
from tacit.errors import PrivacyError
from tacit.noise.lattice import LARGEST_LATTICE_DIMENSION
from tacit.noise.running_sums import Buffered, best_gaussian
from tacit.noise.running_sums.accumulators import LARGEST_SUMMED
from tacit.noise.running_sums.running_sum import Grid
from tacit.releases import Grouped, Neighbours, NoisySums, Releases, Vectors
from tacit.runtime.target import Target
from tacit.validation import FloatArray, check_flag, check_integer, check_positive, plain_fields, without_caches

ONE_ROW = "model, loss and preprocessing of a row look at that row and at public numbers"
PLACES = "rows have their places without a look at the data"
BITS = "the gradient of a row has the same bits whatever rows are computed beside it"


@dataclass(frozen=True)
class EpochPlan:
    """A calibrated plan of `epochs` times `batches` steps.

    Privacy contract: every noisy gradient, hence every parameter of every step. Enforced by the trainer: the order of
    the rows, clipping, integers, the divisor, and that every step is released once. Assumed: model, loss and
    preprocessing look at one row and at public numbers. With several batches, rows have their places without a look at
    the data, unless a hash of a person's id gives the places. Then ids say which rows are computed together, and a
    row's gradient is assumed to have the same bits whatever rows these are. Numerics: exact up to an extra epsilon that
    is stated. No loss is certified.

    Page: docs/torch.md.

    Attributes:
        records: rows of the data, public.
        parameters: numbers that are trained.
        epochs: passes over the data.
        batches: steps of a pass.
        clip: the norm to which the gradient of a row is clipped, over all parameters.
        mu: Gaussian privacy of the whole run.
        rows_per_person: how many rows one person may have.
        hashed: whether a public hash of a person's id says in which batch a row is; else its position does.

    >>> plan = EpochPlan.calibrate(
    ...     records=1257, parameters=2410, epsilon=3, delta=1e-6, epochs=20, batches=5, clip=0.5, relation="zero-out"
    ... )
    >>> plan.steps, round(plan.guarantee.epsilon(), 2)
    (100, 3.0)
    """

    records: int
    parameters: int
    epochs: int
    batches: int
    clip: float
    mu: float
    relation: Relation = REPLACE
    delta: float = 1e-6
    rows_per_person: int = 1
    hashed: bool = False

    def __post_init__(self) -> None:
        plain_fields(self)
        for name in ("records", "epochs", "batches", "rows_per_person"):
            check_integer("EpochPlan", name, getattr(self, name))
        check_integer("EpochPlan", "parameters", self.parameters, at_most=LARGEST_LATTICE_DIMENSION)
        check_integer("EpochPlan", "batches", self.batches, at_most=self.records)
        check_integer(
            "EpochPlan", "records", self.records, at_most=LARGEST_SUMMED * (1 if self.hashed else self.batches)
        )
        check_flag("EpochPlan", "hashed", self.hashed)
        check_positive("EpochPlan", "clip", self.clip)
        check_positive("EpochPlan", "mu", self.mu)
        object.__setattr__(self, "relation", as_relation("EpochPlan", self.relation))
        _ = self.grid  # refuses what has no lattice

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    @classmethod
    def calibrate(
        cls,
        *,
        records: int,
        parameters: int,
        epsilon: float,
        delta: float,
        epochs: int = 40,
        batches: int = 1,
        clip: float = 1.0,
        relation: Relation | str = REPLACE,
        rows_per_person: int = 1,
        hashed: bool = False,
    ) -> EpochPlan:
        """Return the plan that meets (epsilon, delta); everything in it is public."""
        related = as_relation("EpochPlan", relation)
        target = Target(epsilon, delta, related)
        if delta == 0:
            raise PrivacyError("EpochPlan needs delta > 0: its noise is Gaussian.")
        mu = gaussian_mu(target.epsilon, target.delta)
        for share in (1.0, 1 - 1e-9, 1 - 1e-6):
            plan = cls(records, parameters, epochs, batches, clip, mu * share, related, delta, rows_per_person, hashed)
            if target.met_by(plan.guarantee):
                return plan
        raise PrivacyError(f"EpochPlan does not meet epsilon={epsilon:g}, delta={delta:g}: take a larger delta.")

    @property
    def steps(self) -> int:
        """Epochs times batches."""
        return self.epochs * self.batches

    @cached_property
    def mechanism(self) -> Buffered:
        """The running sum, made for rows that are one pass apart."""
        return best_gaussian(self.steps, self.epochs, self.batches)

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets are neighbours: a person's row is in every pass, and a person has several rows."""
        return Neighbours(self.relation, self.epochs, self.batches)

    @cached_property
    def sums(self) -> NoisySums:
        """The declaration of the noisy sums of gradients, for one row of a person."""
        size = self.records if self.hashed else -(-self.records // self.batches)  # a hash may name one batch for all
        return NoisySums(
            records=Vectors(self.parameters, float(self.clip), size, once=True),
            mechanism=self.mechanism,
            privacy=self.mu / self.rows_per_person,
            made_for=self.neighbours,
        )

    @property
    def releases(self) -> Releases:
        """The declaration of what is released: the noisy sums, of all rows of a person together."""
        return Grouped(self.sums, self.rows_per_person) if self.rows_per_person > 1 else self.sums

    @cached_property
    def grid(self) -> Grid:
        """The lattice of the sums."""
        return self.sums.grid

    @property
    def scale(self) -> float:
        """The scale of a fresh draw, in the units of a gradient."""
        return self.grid.scale

    def errors(self) -> FloatArray:
        """Give the standard deviation of the noise in a coordinate of the sum of gradients after each step."""
        return self.mechanism.standard_deviations(self.scale)

    @property
    def divisor(self) -> float:
        """Rows of a batch, by the declared number of records: what a sum of gradients is divided by."""
        return self.records / self.batches

    def learning_rate(self, momentum: float = 0.0) -> float:
        """Return the rate of a public rule: n mu/(4 sides clip) over the steps, times 1 - momentum."""
        reach = self.records * self.mu / (4 * self.relation.sides * self.clip)
        return reach * (1 - momentum) / self.steps

    @cached_property
    def guarantee(self) -> Guarantee:
        """The privacy contract of one run."""
        return Guarantee(
            curve=self.releases.curve(self.neighbours),
            at_delta=self.delta,
            released="every noisy gradient, hence every parameter of every step",
            theorem="private running sum of clipped gradients of rows that are one pass apart",
            relation=self.relation,
            unit="one record",
            rounds_per_person=self.rows_per_person,
            numerics=self.releases.numerics(self.neighbours, self.delta),
            assumed=f"{ONE_ROW}; {BITS if self.hashed else PLACES}" if self.batches > 1 else ONE_ROW,
        )
