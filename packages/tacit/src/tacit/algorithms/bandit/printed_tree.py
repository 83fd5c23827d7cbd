"""The tree of sums with the noise that Theorem 2.3 prints (TreeBasedAgg, Algorithms 3 to 5).

Under replacement a vector of norm at most Y moves by 2 Y in
each of the floor(log_2 T) + 1 nodes that it enters. The printed Laplace scale Y ln T/epsilon gives more than twice the
epsilon that it promises; the printed Gaussian deviation has a factor ln(ln T/delta) to spare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tacit.accounting.curves import ROUND_UP, Curve, Pure
from tacit.accounting.guarantee import REPLACE, Guarantee, Relation, as_relation
from tacit.accounting.rounding import IDEALIZED
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import LaplaceTree, RunningSum, Tree
from tacit.noise.running_sums.accumulators import Accumulator, VectorRecords
from tacit.noise.running_sums.running_sum import Grid
from tacit.printed import bandit as printed_formulas
from tacit.runtime.printed import RUNNABLE, Printed, Status
from tacit.validation import check_choice, check_dimension, check_integer, check_positive, check_privacy

READINGS: dict[str, float | None] = {"natural logarithms": None, "logarithms of base 2": 2.0}
"""Bases of the logarithm of T, which the print leaves open."""


@dataclass(frozen=True)
class PrintedTree:
    """A tree of sums whose noise has a printed scale.

    Attributes:
        mechanism: the tree, of T sums.
        norm: the largest norm of a vector, l1 for Laplace noise and l2 for Gaussian noise.
        dimension: number of coordinates.
        scale: printed scale of each noise.
        relation: which data sets are neighbours.
        printed: what was asked, and what is known of it.

    >>> tree = PrintedTree.as_printed(1.0, 1024, epsilon=1.0, delta=1e-6)
    >>> tree.status, round(tree.guarantee.epsilon(1e-6), 2)
    ('kept', 0.23)
    """

    mechanism: RunningSum
    norm: float
    dimension: int
    scale: float
    relation: Relation
    printed: Printed

    @classmethod
    def as_printed(
        cls,
        norm: float,
        length: int,
        *,
        epsilon: float,
        delta: float = 0.0,
        reading: str | None = None,
        dimension: int = 1,
        relation: Relation | str = REPLACE,
    ) -> PrintedTree:
        """Make the tree of Theorem 2.3: Laplace noise for delta = 0, Gaussian noise else.

        Args:
            norm: Y_1 (Laplace) or Y_2 (Gaussian), the largest norm of a vector.
            length: T, the number of vectors and of sums.
            epsilon: what is asked of the printed formula.
            delta: what is asked of it.
            reading: base of the logarithm of T, one of `READINGS`.
            dimension: number of coordinates.
            relation: which data sets are neighbours.
        """
        owner = f"{cls.__name__}.as_printed"
        check_positive(owner, "norm", norm)
        check_integer(owner, "length", length, at_least=2)
        check_dimension(owner, "dimension", dimension)
        epsilon, delta = check_privacy(owner, epsilon, delta)
        related = as_relation(owner, relation)
        chosen = check_choice(owner, "reading", reading or next(iter(READINGS)), tuple(READINGS))
        base = READINGS[chosen]
        mechanism: RunningSum = Tree(length) if delta else LaplaceTree(length)
        lower = 0.0
        if mechanism.noise == "gaussian":
            scale = printed_formulas.theorem_2_3_gaussian(length, norm, epsilon, delta, base)
        else:
            scale = printed_formulas.theorem_2_3_laplace(length, norm, epsilon, base)
            lower = printed_formulas.theorem_2_3_lower_bound(length, related.sides * norm / scale, epsilon)
        levels = printed_formulas.theorem_2_3_levels(length)
        printed = Printed(
            "bandit",
            "Theorem 2.3",
            epsilon,
            delta,
            reading=chosen,
            lower_bound=lower,
            evidence=(
                f"a vector enters {mechanism.nodes} nodes and moves each by {related.sides:g} times its norm",
                "the attack looks at the sums up to 1, 2, 4, ..., padding included",
            ),
            differs=(
                f"sums have the noise of their own nodes, not of {levels} levels (line 3 of Algorithm 4)",
                "the first output, which is noise alone, is left out",
                "Gaussian noise is drawn on a lattice; vectors are shortened to the norm"
                if mechanism.noise == "gaussian"
                else "noise is drawn in float64, for simulations",
            ),
            values={"scale": scale, "levels": levels},
        )
        return cls(mechanism, norm, dimension, scale, related, printed)

    @property
    def sensitivity(self) -> float:
        """How far one vector moves a node: 2 norm, or norm where it is zeroed out."""
        return self.relation.sides * self.norm

    @property
    def privacy(self) -> float:
        """The epsilon of Laplace noise, or the mu of Gaussian noise, that the printed scale gives."""
        return self.mechanism.scale(1.0, self.sensitivity) / self.scale * ROUND_UP

    @cached_property
    def grid(self) -> Grid:
        """The lattice of Gaussian noise."""
        return self.mechanism.grid(self.privacy, VectorRecords(self.dimension, self.relation.sides, norm=self.norm))

    @property
    def curve(self) -> Curve:
        """The privacy curve of all sums."""
        return self.grid.curve if self.mechanism.noise == "gaussian" else Pure(self.privacy)

    @property
    def status(self) -> Status:
        """What became of the printed promise: computed from the curve and the lower bound."""
        return self.printed.status(self.curve)

    @property
    def guarantee(self) -> Guarantee:
        """The privacy contract of all sums."""
        gaussian = self.mechanism.noise == "gaussian"
        return Guarantee(
            curve=self.curve,
            at_delta=self.printed.delta or 0.0,
            released="all noisy sums",
            theorem="composition of the nodes in which a vector stands",
            relation=self.relation,
            numerics=self.grid.numerics if gaussian else IDEALIZED,
        )

    def start(self, randomness: Randomness | None = None) -> Accumulator:
        """Start a stream of vectors; secret randomness is refused where the printed promise is not kept.

        Gaussian noise runs on a lattice and longer vectors are shortened. Laplace noise, whose promise is never kept,
        is drawn in float64 for simulations, and that vectors have l1 norm at most `norm` is left to the caller.
        """
        source = Randomness.secret() if randomness is None else randomness
        if source.private and self.status not in RUNNABLE:
            raise PrivacyError(
                f"The tree as printed ({self.printed.place}) is for simulations: {self.printed.promise(self.curve)}. "
                f"Use {type(self.mechanism).__name__}({self.mechanism.steps}) at scale(epsilon, {self.sensitivity:g}), "
                "or start(Randomness.replayable(seed))."
            )
        if self.mechanism.noise == "gaussian":
            return self.mechanism.start_on(self.grid, source, "noise")
        noise = self.mechanism.noise_from(source.stream("noise"), self.dimension)
        return self.mechanism.start(self.dimension, self.scale, noise)
