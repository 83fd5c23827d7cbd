"""A link of one's own, made safe to minimise: the slope is tabulated, and what lies between is known.

Methods that minimise or sample need a convex loss of bounded slope and curvature everywhere, and no finite number of
questions to a function f' can show that it is one. So it is asked once, at declaration, on a public grid of margins
and labels, and never again: the loss *is* the integral of the piecewise linear interpolant of f' on that grid,
constant outside. Of the interpolant everything can be checked. It grows with the margin if it does from node to node;
its curvature is one of the difference quotients; and between two labels it is a mixture of two such slopes, which has
their bounds. Slopes beyond the declared bound are clipped (the loss is Huberised: its integral stays convex); quotients
that are negative or above the declared curvature are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.domains.convex_set import read_only
from tacit.errors import InvalidInput
from tacit.losses.loss import LinkLoss
from tacit.validation import FloatArray, check_integer, check_positive, invalid, real_array

# Tables of more entries are refused: every node costs memory in every process.
_MOST_ENTRIES = 1 << 22
# Slopes and their quotients are computed in float64: this share of the declared bounds is left to their rounding.
_ROUNDING = 1e-9
_UNIT = 2.0**-53

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class TabulatedLoss(LinkLoss):
    """f(<v, x>, y) with f' piecewise linear between the nodes of a public table: a link of your own, checked.

    Make it with `TabulatedLoss.of(loss, largest_margin)` from a `LinkLoss` of your own.

    Attributes:
        data_norm: public bound on the norm of a feature vector; longer ones are scaled down.
        largest_margin: the table covers margins from minus this to this; beyond, slopes are constant.
        labels: the labels of the table, growing; others are pulled between them and interpolate.
        slopes: f' at each label (rows) and margin (columns, equally spaced).
        largest_slope: declared bound on |f'|; larger entries are clipped to it.
        largest_curvature: declared bound on f''; a table that is steeper is refused.

    >>> class Exponential(LinkLoss):
    ...     label_range = (-1.0, 1.0)
    ...     def link(self, margins, labels): return np.exp(-labels * margins)
    ...     def slope(self, margins, labels): return -labels * np.exp(-labels * margins)
    ...     def curvature(self, margins, labels): return labels**2 * np.exp(-labels * margins)
    ...     def link_constants(self, largest_margin): return np.exp(largest_margin), np.exp(largest_margin)
    >>> loss = TabulatedLoss.of(Exponential(), largest_margin=2.0)
    >>> round(loss.value([0.5], ([1.0], 1.0)) - loss.value([0.0], ([1.0], 1.0)), 4)
    -0.3935
    """

    largest_margin: float = 1.0
    labels: FloatArray | Sequence[float] = (-1.0, 1.0)
    slopes: FloatArray | Sequence[Sequence[float]] = ((-1.0, 0.0), (0.0, 1.0))
    largest_slope: float = 1.0
    largest_curvature: float = 1.0
    bend: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("largest_margin", "largest_slope", "largest_curvature"):
            object.__setattr__(self, name, check_positive("TabulatedLoss", name, getattr(self, name)))
        labels = real_array("TabulatedLoss", "labels", self.labels, (None,))
        if len(labels) < 1 or not np.isfinite(labels).all() or np.any(np.diff(labels) <= 0):
            raise invalid("TabulatedLoss", "labels", "finite numbers that grow", self.labels)
        slopes = real_array("TabulatedLoss", "slopes", self.slopes, (len(labels), None))
        if slopes.shape[1] < 2 or slopes.size > _MOST_ENTRIES or not np.isfinite(slopes).all():
            allowed = f"finite numbers, two margins or more for each label, at most {_MOST_ENTRIES:,} in all"
            raise InvalidInput(f"The 'slopes' parameter of TabulatedLoss must be {allowed}.")
        # Clipping keeps growth and quotients: the integral of what is clipped is the Huberised loss.
        slopes = np.clip(slopes, -self.largest_slope, self.largest_slope)
        object.__setattr__(self, "labels", read_only(labels))
        # A slope that is constant may fall by its last digits: those are lifted, so that none falls.
        object.__setattr__(self, "slopes", read_only(np.maximum.accumulate(slopes, axis=1)))
        self._check_quotients(slopes)

    def _check_quotients(self, given: FloatArray) -> None:
        where = f"between margins {self._width:g} apart"
        if np.any(self._table - given > _ROUNDING * self.largest_slope):
            raise InvalidInput(
                f"The slopes of this link fall {where}: it is not convex, and a method that minimises needs a convex "
                "loss."
            )
        steepest = float(self._quotients.max())
        if steepest > self.largest_curvature * (1 + _ROUNDING):
            raise InvalidInput(
                f"The slopes of this link grow by {steepest:.6g} a unit of margin {where}, more than the declared "
                f"curvature {self.largest_curvature:g}: declare at least that."
            )

    @classmethod
    def of(
        cls, loss: LinkLoss, largest_margin: float, nodes: int = 1025, labels: Sequence[float] | None = None
    ) -> TabulatedLoss:
        """The loss that a `LinkLoss` of your own becomes on a public grid.

        Args:
            loss: your link, with the bounds on slope and curvature that its `link_constants` declare.
            largest_margin: how far the grid reaches.
            nodes: how many margins it has; the finer, the closer it is to your link.
            labels: which labels it has (default: the two ends of your `label_range`).
        """
        if not isinstance(loss, LinkLoss):
            raise invalid("TabulatedLoss.of", "loss", "a LinkLoss of your own", loss)
        reach = check_positive("TabulatedLoss.of", "largest_margin", largest_margin)
        count = check_integer("TabulatedLoss.of", "nodes", nodes, at_least=2)
        ends = np.unique(loss.clip_labels(np.array([-1e300, 1e300])))
        rows = ends if labels is None else real_array("TabulatedLoss.of", "labels", labels, (None,))
        check_integer("TabulatedLoss.of", "nodes times labels", count * max(1, len(rows)), at_most=_MOST_ENTRIES)
        slope, curvature = loss.link_constants(reach)
        margins = np.linspace(-reach, reach, count)
        with np.errstate(all="ignore"):
            table = np.asarray(loss.slope(margins[None, :], rows[:, None]), dtype=np.float64)
        return cls(loss.data_norm, reach, rows, np.broadcast_to(table, (len(rows), count)), slope, curvature)

    @property
    def slope_rounding(self) -> float:
        """Products and sums of nodes, and the place of a margin, known to the last digit of the table's length."""
        return _UNIT * (16 * self.largest_slope + 8 * self.largest_margin * self.largest_curvature)

    def clip_labels(self, labels: FloatArray) -> FloatArray:
        """Labels pulled into the range of the table."""
        return np.clip(labels, self._nodes[0], self._nodes[-1])

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """The interpolated slope, constant outside of the table."""
        cell, share = self._cell(margins)
        table = self._table

        def at(row: Places) -> FloatArray:
            return np.asarray((1 - share) * table[row, cell] + share * table[row, cell + 1])

        return self._mixed(labels, at)

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """The difference quotient of the cell, 0 outside of the table."""
        cell, _ = self._cell(margins)
        inside = np.abs(margins) <= self.largest_margin
        return self._mixed(labels, lambda row: np.where(inside, self._quotients[row, cell], 0.0))

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """The integral of the slope from margin 0."""
        cell, share = self._cell(margins)
        beyond = margins - np.clip(margins, -self.largest_margin, self.largest_margin)
        table, width = self._table, self._width

        def at(row: Places) -> FloatArray:
            start, end = table[row, cell], table[row, cell + 1]
            inside = self._integrals[row, cell] + width * share * (start + share * (end - start) / 2)
            return np.asarray(inside + beyond * np.where(beyond < 0, table[row, 0], table[row, -1]))

        return self._mixed(labels, at)

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """As declared, with room for the rounding of quotients: the table has both bounds everywhere."""
        return self.largest_slope, self.largest_curvature * (1 + 2 * _ROUNDING)

    @property
    def _nodes(self) -> FloatArray:
        return np.asarray(self.labels)

    @property
    def _table(self) -> FloatArray:
        return np.asarray(self.slopes)

    @property
    def _width(self) -> float:
        return float(2 * self.largest_margin / (self._table.shape[1] - 1))

    @cached_property
    def _quotients(self) -> FloatArray:
        return np.diff(self._table, axis=1) / self._width

    @cached_property
    def _integrals(self) -> FloatArray:
        """From margin 0 to the left end of each cell."""
        steps = (self._table[:, :-1] + self._table[:, 1:]) / 2 * self._width
        sums = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
        middle = (self._table.shape[1] - 1) / 2
        cell, share = int(middle), middle - int(middle)
        start, end = self._table[:, cell], self._table[:, min(cell + 1, self._table.shape[1] - 1)]
        at_zero = sums[:, cell] + self._width * share * (start + share * (end - start) / 2)
        return np.asarray(sums - at_zero[:, None])

    def _cell(self, margins: FloatArray) -> tuple[Places, FloatArray]:
        """The cell of each margin and where in it the margin lies, from 0 to 1; the nearest one outside."""
        place = np.clip((np.asarray(margins) + self.largest_margin) / self._width, 0.0, self._table.shape[1] - 1)
        cell = np.minimum(place.astype(np.intp), self._table.shape[1] - 2)
        return cell, np.asarray(place - cell)

    def _mixed(self, labels: FloatArray, at: Callable[[Places], FloatArray]) -> FloatArray:
        """What the rows of the table on both sides of each label say, mixed."""
        nodes = self._nodes
        if len(nodes) == 1:
            return at(np.zeros(np.shape(labels), dtype=np.intp))
        row = np.clip(np.searchsorted(nodes, labels, side="right") - 1, 0, len(nodes) - 2)
        share = np.clip((labels - nodes[row]) / (nodes[row + 1] - nodes[row]), 0.0, 1.0)
        return np.asarray((1 - share) * at(row) + share * at(row + 1))

    @cached_property
    def _key(self) -> str:
        content = (self.data_norm, self.largest_margin, self.largest_slope, self.largest_curvature, self._table.shape)
        return sha256(repr(content).encode() + self._nodes.tobytes() + self._table.tobytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TabulatedLoss) and type(self) is type(other) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        rows, columns = self._table.shape
        return (
            f"TabulatedLoss(data_norm={self.data_norm!r}, largest_margin={self.largest_margin!r}, {rows} labels, "
            f"{columns} margins, largest_slope={self.largest_slope!r}, largest_curvature={self.largest_curvature!r}, "
            f"table {self._key[:16]})"
        )
