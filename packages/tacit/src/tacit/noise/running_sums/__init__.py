"""Private running sums: `add(x)` returns the noisy sum of everything added so far."""

from tacit.noise.running_sums.accumulators import Accumulator
from tacit.noise.running_sums.running_sum import NoiseSource, RunningSum, check_participation
from tacit.noise.running_sums.search import best_buffers
from tacit.noise.running_sums.toeplitz import Buffered
from tacit.noise.running_sums.tree import CubeTree, LaplaceTree, Tree

__all__ = [
    "Accumulator",
    "Buffered",
    "CubeTree",
    "LaplaceTree",
    "NoiseSource",
    "RunningSum",
    "Tree",
    "best_gaussian",
]


def best_gaussian(steps: int, people: int = 1, separation: int = 1) -> Buffered:
    """Return the default under Gaussian noise (mu-Gaussian DP, l2 sensitivity): the least noise at the last step.

    Args:
        steps: the most vectors that will be added.
        people: rounds in which one person may stand.
        separation: by how many steps these are apart at least.

    >>> sums = best_gaussian(1000, people=10, separation=100)
    >>> round(10 * sums.column_norm * sums.crowding(10, 100) * sums.row_norm(1000), 1)  # 16.6 by the table
    14.9
    """
    check_participation("best_gaussian", people, separation)
    plain = Buffered(steps)
    return plain if people == 1 or steps < 2 else best_buffers(plain, people, separation)
