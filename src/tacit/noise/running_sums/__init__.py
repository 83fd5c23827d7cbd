"""Private running sums: `add(x)` returns the noisy sum of everything added so far."""

from tacit.noise.running_sums.accumulators import Accumulator
from tacit.noise.running_sums.running_sum import NoiseSource, RunningSum
from tacit.noise.running_sums.toeplitz import Buffered, SquareRoot
from tacit.noise.running_sums.tree import CubeTree, LaplaceTree, Tree

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


def best_gaussian(steps: int, people: int = 1, separation: int = 1) -> Buffered:
    """The default under Gaussian noise (mu-Gaussian DP, l2 sensitivity)."""
    return Buffered.best(steps, people, separation)


def best_laplace(steps: int) -> LaplaceTree:
    """The default under Laplace noise (pure DP, l1 sensitivity)."""
    return LaplaceTree.best(steps)


def best_cube(steps: int) -> CubeTree:
    """The default for losses under pure DP (l_infinity sensitivity)."""
    return CubeTree.best(steps)
