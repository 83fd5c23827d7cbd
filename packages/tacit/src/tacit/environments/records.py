"""Records for one-pass problems: each draw is a data set, and models are judged by their loss on records to come.

The model that others are compared with is planted: it follows from the law of the records, or from the data set that
was learned from, never from the records on which models are judged. A model that is fitted to n of those has an excess
risk below 0 of about d/(2n), which at 50,000 of them is as much as a good learner loses in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike
from scipy.special import expit

from tacit.environments.convex import ReplayData, unit_rows
from tacit.environments.environment import Data, PointsWorld, Risk
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss, QuadraticLoss, RegularisedLoss
from tacit.losses.loss import RowLoss
from tacit.validation import LARGEST, FloatArray, check_positive, invalid, plain_fields, real_array

NODES = 512
"""Nodes of the quadrature by which losses are averaged over the sphere."""
STEEPEST = 100.0
"""The largest length of a planted model of `LogisticRecords`: labels that follow from the features have none."""


@dataclass(frozen=True)
class Planted(PointsWorld):
    """Records with a planted model.

    Attributes:
        norm: length of the planted model, on the first axis.
        reach: length of the longest models that are compared with (None: any). The best of them is on the same axis.
    """

    norm: float = 1.0
    reach: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reach is not None:
            object.__setattr__(self, "reach", check_positive(type(self).__name__, "reach", self.reach))

    def _on_axis(self, length: float) -> FloatArray:
        point = np.zeros(self.dimension)
        point[0] = length if self.reach is None else min(length, self.reach)
        return point


@dataclass(frozen=True)
class LogisticRecords(Planted):
    """Unit feature vectors in all directions, labels from a planted logistic model.

    The margin <x, v> of a model has the law of |x| times a coordinate of a point of the sphere, so that expected losses
    are integrals over one number, which quadrature gives to about 14 digits. Where there is no regulariser the planted
    model is the best one; with one the best is shorter, and in a ball around the origin it is the longest that fits.

    Attributes:
        ridge: s of a regulariser (s/2)|x|^2 (0: none).

    >>> records = LogisticRecords(dimension=5, horizon=1000, norm=3.0)
    >>> records.excess(np.zeros(5), records.best).values.round(4).tolist()
    [0.1544]
    """

    norm: float = 3.0
    ridge: float = 0.0
    _between: ClassVar[tuple[tuple[str, float, float | str], ...]] = (("norm", 0.0, STEEPEST), ("ridge", 0.0, LARGEST))

    @cached_property
    def loss(self) -> RowLoss:
        """The logistic loss of unit features, regularised where there is a ridge."""
        plain = LogisticLoss(data_norm=1.0)
        return RegularisedLoss(plain, self.ridge) if self.ridge else plain

    def records(self, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw features of shape (horizon, dimension), and labels -1 or 1."""
        self._check_size()
        features = unit_rows(generator.standard_normal((self.horizon, self.dimension)))
        positive = generator.random(self.horizon) < expit(self.norm * features[:, 0])
        return features, np.where(positive, 1.0, -1.0)

    @cached_property
    def best(self) -> FloatArray:
        """The model of least expected loss: planted, never fitted."""
        length = self.norm
        if self.ridge and self.norm:
            length = float(scipy.optimize.brentq(self._slope, 0.0, self.norm, xtol=1e-15))
        return self._on_axis(length)

    def excess(self, models: ArrayLike, best: ArrayLike) -> Risk:
        """Return the expected loss of each model beyond that of `best`."""
        points = model_rows("LogisticRecords", models, self.dimension)
        standard = model_rows("LogisticRecords", best, self.dimension)[0]
        lengths = np.linalg.norm(points, axis=1)
        coordinates, weights = self._sphere
        margins = lengths[:, None] * coordinates
        level = np.linalg.norm(standard) * coordinates
        # The loss of a label y at margin m is ln(1 + e^m) - m where y = 1.
        curved = (np.logaddexp(0.0, margins) - np.logaddexp(0.0, level)) @ weights
        linear = self._pull * (points[:, 0] - standard[0])
        added = self.ridge / 2 * (lengths**2 - float(standard @ standard))
        return Risk(curved - linear + added, np.zeros(len(points)))

    @cached_property
    def _sphere(self) -> tuple[FloatArray, FloatArray]:
        return sphere_quadrature(self.dimension)

    @cached_property
    def _pull(self) -> float:
        """E[P(y = 1) u] over the first coordinate u of the features."""
        coordinates, weights = self._sphere
        return float(weights @ (coordinates * expit(self.norm * coordinates)))

    def _slope(self, length: float) -> float:
        """The derivative of the expected loss along the planted model."""
        coordinates, weights = self._sphere
        return float(weights @ (coordinates * expit(length * coordinates))) - self._pull + self.ridge * length


@dataclass(frozen=True)
class QuadraticRecords(Planted):
    """Targets on a sphere around a planted model, for squared distances: excess risk is |x - best|^2/2, exactly.

    Attributes:
        spread: distance of every target from the planted model; with `norm` at most 1.
    """

    norm: float = 0.5
    spread: float = 0.5
    _between: ClassVar[tuple[tuple[str, float, float | str], ...]] = (("norm", 0.0, 1.0), ("spread", 0.0, 1.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm + self.spread > 1:
            raise InvalidInput(
                "The targets of QuadraticRecords must have a norm of at most 1, which is norm + spread. "
                f"Got {self.norm + self.spread:g} instead."
            )

    @cached_property
    def loss(self) -> QuadraticLoss:
        """Half the squared distance to a target of norm at most 1."""
        return QuadraticLoss()

    def records(self, generator: np.random.Generator) -> FloatArray:
        """Draw targets of shape (horizon, dimension)."""
        self._check_size()
        targets = self.spread * unit_rows(generator.standard_normal((self.horizon, self.dimension)))
        targets[:, 0] += self.norm
        return targets

    @cached_property
    def best(self) -> FloatArray:
        """The mean of the targets, or the longest model towards it that is compared with."""
        return self._on_axis(self.norm)

    def excess(self, models: ArrayLike, best: ArrayLike) -> Risk:
        """Return the expected loss of each model beyond that of `best`."""
        mean = np.zeros(self.dimension)
        mean[0] = self.norm
        points = model_rows("QuadraticRecords", models, self.dimension)
        standard = model_rows("QuadraticRecords", best, self.dimension)[0]
        values = np.sum((points - mean) ** 2, axis=1) - np.sum((standard - mean) ** 2)
        return Risk(values / 2, np.zeros(len(points)))


@dataclass(frozen=True, eq=False, repr=False)
class ReplayRecords:
    """Recorded data: some to learn from, the same in every run, and fresh ones on which models are judged.

    The best model of the records that were learned from is the one that others are compared with: nothing is fitted to
    the fresh ones, on which losses are compared record by record.

    Attributes:
        loss: the loss that the data belong to.
        train: what the loss takes for many records: an array of rows, or a pair (features, labels).
        fresh: the same, of records that nobody learns from.

    >>> rows = np.eye(3)
    >>> ReplayRecords(QuadraticLoss(), rows, rows[:2]).excess(np.zeros(3), rows[2]).values.tolist()
    [-0.5]
    """

    loss: RowLoss
    train: Data | ArrayLike
    fresh: Data | ArrayLike
    adaptive: ClassVar[bool] = False
    best: ClassVar[FloatArray | None] = None

    def __post_init__(self) -> None:
        plain_fields(self)
        if not isinstance(self.loss, RowLoss):
            raise invalid("ReplayRecords", "loss", "a loss of rows of data", self.loss)
        for name in ("train", "fresh"):
            object.__setattr__(self, name, ReplayData(self._data_loss, getattr(self, name)).recording)
        if self._fresh.dimension != self.dimension:
            raise InvalidInput(
                f"The records of ReplayRecords must have one dimension. Got {self.dimension} to learn from, and fresh "
                f"ones of {self._fresh.dimension}."
            )

    def __repr__(self) -> str:  # the records are private: their numbers are all that is shown
        sizes = f"{self.horizon} records, {self._fresh.horizon} fresh ones, dimension {self.dimension}"
        return f"ReplayRecords({self.loss!r}, {sizes})"

    @property
    def _data_loss(self) -> RowLoss:
        return self.loss.loss if isinstance(self.loss, RegularisedLoss) else self.loss

    @cached_property
    def _train(self) -> ReplayData:
        return ReplayData(self._data_loss, self.train)

    @cached_property
    def _fresh(self) -> ReplayData:
        return ReplayData(self._data_loss, self.fresh)

    @property
    def horizon(self) -> int:
        """Number of records to learn from."""
        return self._train.horizon

    @property
    def dimension(self) -> int:
        """Number of coordinates of a model."""
        return self._train.dimension

    def records(self, generator: np.random.Generator) -> Data:
        """Give the records to learn from."""
        return cast(Data, self.train)

    @cached_property
    def _rows(self) -> FloatArray:
        return self.loss.pack(cast(Any, self.fresh), self.dimension, many=True)

    def excess(self, models: ArrayLike, best: ArrayLike) -> Risk:
        """Return the mean loss of each model on the fresh records beyond that of `best`, and its standard error."""
        points = model_rows("ReplayRecords", models, self.dimension)
        level = self.loss.values(model_rows("ReplayRecords", best, self.dimension)[0], self._rows)
        gaps = [self.loss.values(point, self._rows) - level for point in points]
        few = len(level) < 2
        errors = [0.0 if few else float(np.std(gap, ddof=1)) / np.sqrt(len(gap)) for gap in gaps]
        return Risk(np.array([float(np.mean(gap)) for gap in gaps]), np.array(errors))


def sphere_quadrature(dimension: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of the law of one coordinate of a uniform point of the unit sphere (Gauss, Gegenbauer).

    The recurrence of its orthogonal polynomials has b_1 = 1/d, b_n = n (n + d - 3)/((2n + d - 2)(2n + d - 4)).
    """
    if dimension == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    n = np.arange(2.0, NODES)
    squares = np.append(1 / dimension, n * (n + dimension - 3) / ((2 * n + dimension - 2) * (2 * n + dimension - 4)))
    nodes, vectors = scipy.linalg.eigh_tridiagonal(np.zeros(NODES), np.sqrt(squares))
    weights = np.asarray(vectors[0], dtype=np.float64) ** 2
    return np.asarray(nodes, dtype=np.float64), weights / np.sum(weights)


def model_rows(owner: str, models: ArrayLike, dimension: int) -> FloatArray:
    """Return models of finite numbers as rows: one point, or one a row."""
    points = np.atleast_2d(real_array(owner, "models", models, None))
    if points.shape[1:] != (dimension,) or not np.isfinite(points).all():
        raise InvalidInput(
            f"The 'models' of {owner} must be finite points of {dimension} coordinates, one a row. "
            f"Got an array of shape {np.shape(models)} instead."
        )
    return points
