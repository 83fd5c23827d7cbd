"""What the environments of options and of points are made of: their size, which is checked and made plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.validation import check_integer, check_table, plain_fields


class RoundsWorld:
    """A world of a number of rounds, oblivious unless it says otherwise.

    Attributes:
        horizon: number of rounds.
    """

    horizon: int
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        plain_fields(self)
        check_integer(type(self).__name__, "horizon", self.horizon)


@dataclass(frozen=True)
class OptionsWorld(RoundsWorld):
    """Experts or arms over a number of rounds.

    Attributes:
        n: number of experts or arms.
        horizon: number of rounds.
    """

    n: int
    horizon: int
    _fewest: ClassVar[int] = 1
    """The least number of options that the world makes sense for."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "n", self.n, at_least=self._fewest)

    def _check_size(self) -> None:
        check_table(type(self).__name__, self.horizon, self.n)


@dataclass(frozen=True)
class PointsWorld(RoundsWorld):
    """Data of a loss of points over a number of rounds.

    Attributes:
        dimension: number of coordinates.
        horizon: number of rounds.
    """

    dimension: int
    horizon: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "dimension", self.dimension)

    def _check_size(self) -> None:
        check_table(type(self).__name__, self.horizon, self.dimension)
