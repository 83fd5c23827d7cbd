"""Private running sums: `add(x)` returns the noisy sum of everything added so far."""

from tacit.mechanisms.running_sums.base import Accumulator, NoiseSource, RunningSum
from tacit.mechanisms.running_sums.buffered import Buffered
from tacit.mechanisms.running_sums.laplace_tree import CubeTree, LaplaceTree
from tacit.mechanisms.running_sums.square_root import SquareRoot
from tacit.mechanisms.running_sums.tree import Tree

__all__ = [
    "Accumulator",
    "Buffered",
    "CubeTree",
    "LaplaceTree",
    "NoiseSource",
    "RunningSum",
    "SquareRoot",
    "Tree",
    "best_cube",
    "best_gaussian",
    "best_laplace",
]


def best_gaussian(steps: int) -> Buffered:
    """The default under Gaussian noise (mu-Gaussian DP, l2 sensitivity)."""
    return Buffered(steps)


def best_laplace(steps: int) -> LaplaceTree:
    """The default under Laplace noise (pure DP, l1 sensitivity)."""
    return LaplaceTree.best(steps)


def best_cube(steps: int) -> CubeTree:
    """The default for losses under pure DP (l_infinity sensitivity)."""
    return CubeTree.best(steps)
