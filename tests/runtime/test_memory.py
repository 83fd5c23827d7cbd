"""Arrays that somebody writes to while they are read: what is used is what was checked, at every border.

For learners the contract of learners says so (`changing_memory_changes_nothing`).
"""

from multiprocessing import shared_memory

import numpy as np
import pytest

import tacit
from attacks import rows
from runtime.changing_arrays import never_mixed
from runtime.contract import numbers
from tacit import Randomness
from tacit.noise.noisy_vectors import NoisyVectors, vector_grid
from tacit.noise.running_sums import CubeTree, LaplaceTree, Tree, best_gaussian
from tacit.noise.running_sums.accumulators import LossRecords, VectorRecords
from tacit.validation import BLOCK_ENTRIES, Rows, real_array

LAZY = tacit.algorithms.LazyExperts(tacit.Experts(n=3, horizon=2000), eta=0.5, force=0.2)


class Twice:
    """An object whose content is another one every time it is asked for."""

    def __init__(self, *contents):
        self.left = list(contents)

    def __array__(self, dtype=None, copy=None):
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


@pytest.mark.attack(rows.BUFFER)
def test_objects_that_answer_twice_are_asked_once(record_property):
    record_property("attacked", LAZY.algorithm)
    fine, bad = np.full((4, 3), 0.5), np.full((4, 3), 1000.0)
    one, other = (LAZY.start(Randomness.replayable(1)) for _ in range(2))
    one.run(fine)
    other.run(Twice(fine, bad))
    one.play(), other.play()
    one.observe(fine[0])
    other.observe(Twice(fine[0], bad[0]))
    assert one.state_dict() == other.state_dict()


@pytest.mark.attack(rows.BUFFER)
def test_shared_memory_is_not_read_again(monkeypatch, record_property):
    """What another process writes after the check of a block is not summed."""
    record_property("attacked", LAZY.algorithm)
    losses = numbers(2000, 3)
    honest = LAZY.start(Randomness.replayable(1))
    honest.run(losses)
    block = shared_memory.SharedMemory(create=True, size=losses.nbytes)
    try:
        shared = np.ndarray(losses.shape, buffer=block.buf)
        shared[:] = losses
        learner = LAZY.start(Randomness.replayable(1))
        checked = type(learner)._check_block

        def then_written(self, part, first):
            made = checked(self, part, first)
            shared[first : first + len(part)] = 1000.0
            return made

        monkeypatch.setattr(type(learner), "_check_block", then_written)
        learner.run(shared)
        assert learner.state_dict() == honest.state_dict()
        del learner
    finally:
        shared = None
        block.close()
        block.unlink()


def test_long_arrays_are_read_in_blocks():
    table = np.broadcast_to(np.float32(0.5), (10**9, 100))  # 373 GB, if it were copied
    read = Rows("LazyExperts", "losses", table, 100)
    assert len(read) == 10**9
    block = next(read.blocks())
    assert block.dtype == np.float64
    assert block.size <= BLOCK_ENTRIES


@pytest.mark.parametrize("given", [np.ones(3), np.ones(3, dtype=np.float32), np.ones((3, 3)).T, [1.0, 2.0, 3.0]])
def test_arrays_are_new(given):
    for shape in (np.shape(given), None):
        made = real_array("test", "values", given, shape)
        assert made.flags.c_contiguous
        assert not np.may_share_memory(made, np.asarray(given)) or isinstance(given, list)


@pytest.mark.attack(rows.BUFFER)
@pytest.mark.parametrize("mechanism", [best_gaussian(8), Tree(8), LaplaceTree(8), CubeTree(8)], ids=str)
def test_running_sums(mechanism, record_property):
    record_property("attacked", "running sums")
    grid = mechanism.grid(1.0, LossRecords(3) if mechanism.noise == "cube" else VectorRecords(3, norm=2.0))

    def sums(x, how):
        made = mechanism.start_on(grid, Randomness.replayable(2), "noise")
        return getattr(made, how)(x)

    never_mixed(lambda x: sums(x, "add"), numbers(3))
    never_mixed(lambda x: sums(x, "add_many"), numbers(4, 3))


@pytest.mark.attack(rows.BUFFER)
def test_noisy_vectors(record_property):
    record_property("attacked", "noisy vectors")
    grid = vector_grid("gaussian", 5.0, VectorRecords(3, norm=2.0), rounds=1, batch=2)
    never_mixed(lambda x: NoisyVectors(grid, "gaussian", Randomness.replayable(2), "noise", 2).add(x), numbers(4, 3))
