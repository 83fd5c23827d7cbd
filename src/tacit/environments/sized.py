"""What the environments of options and of points are made of: their size, which is checked and made plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.validation import check_integer, check_table, plain_fields


@dataclass(frozen=True)
class OptionsWorld:
    """Experts or arms over a number of rounds, oblivious unless a world says otherwise.

    Attributes:
        n: number of experts or arms.
        horizon: number of rounds.
    """

    n: int
    horizon: int
    adaptive: ClassVar[bool] = False
    _fewest: ClassVar[int] = 1
    """The least number of options that the world makes sense for."""

    def __post_init__(self) -> None:
        plain_fields(self)
        check_integer(type(self).__name__, "n", self.n, at_least=self._fewest)
        check_integer(type(self).__name__, "horizon", self.horizon)

    def _check_size(self) -> None:
        check_table(type(self).__name__, self.horizon, self.n)


@dataclass(frozen=True)
class PointsWorld:
    """Data of a loss of points over a number of rounds, oblivious.

    Attributes:
        dimension: number of coordinates.
        horizon: number of rounds.
    """

    dimension: int
    horizon: int
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        plain_fields(self)
        check_integer(type(self).__name__, "dimension", self.dimension)
        check_integer(type(self).__name__, "horizon", self.horizon)

    def _check_size(self) -> None:
        check_table(type(self).__name__, self.horizon, self.dimension)
