"""Trees on a lattice whose records grow: nodes are whole numbers, and floors cost what was paid for."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.auditing.tapes import extreme_pair, moved_draws, paid_move, promised_move
from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import LaplaceTree, Tree
from tacit.noise.running_sums.accumulators import SummedRecords, VectorRecords, node_level
from tacit.noise.running_sums.running_sum import FIRST_MULTIPLE, lattice_grid

STEPS = 40
TREES = [Tree(STEPS), LaplaceTree(STEPS, 2), LaplaceTree(STEPS, 3)]
trees = pytest.mark.parametrize("mechanism", TREES, ids=repr)


def generator(name):
    return Randomness.replayable(5).stream(name)


def growing_grid(mechanism, privacy, records):
    return lattice_grid(mechanism, privacy, records, growing=True, multiple=1 / FIRST_MULTIPLE)


def growth_of(grid, steps=STEPS, name="growth", factor=0.3):
    """Sizes that rise at random, as the lattice has them."""
    sizes = np.cumprod(1 + factor * generator(name).random(steps) * (generator(name + "?").random(steps) < 0.5))
    return grid.admissible(sizes)


def drawn(grid, steps=STEPS):
    source = grid.noise(Randomness.replayable(3), "noise")
    return source.draw(steps * grid.records.dimension).astype(float).reshape(steps, -1)


@trees
@pytest.mark.parametrize("records", [SummedRecords(4), SummedRecords(3, 1, 2)], ids=repr)
def test_neighbours_move_the_draws_by_what_was_paid_for(mechanism, records):
    grid = growing_grid(mechanism, 1.0, records)
    growth = growth_of(grid)
    assert growth[-1] > 3 * growth[0]
    paid, worst = paid_move(mechanism, grid, 1.0), 0.0
    assert promised_move(mechanism, grid) <= paid * (1 + 1e-12)
    for first in (0, 7, 16, STEPS - records.people):
        pair = extreme_pair(records, grid.units, STEPS, generator(str(first)), first)
        moved, size = moved_draws(mechanism, grid, pair, drawn(grid), growth)
        assert size <= promised_move(mechanism, grid)
        assert not moved[:first].any()
        worst = max(worst, size)
    assert worst > 0.3 * paid


@trees
@pytest.mark.parametrize("factor", [0.3, 40.0])
def test_released_sums_are_those_of_rational_arithmetic(mechanism, factor):
    """Against nodes in fractions, also where sums of k n need more than 64 bits."""
    grid = growing_grid(mechanism, 1.0, SummedRecords(2, batch=1000))
    growth = growth_of(grid, factor=factor)
    rows = np.rint(generator("rows").uniform(-1, 1, (STEPS, 2)) * 1000 * grid.units / np.sqrt(2))
    sums = mechanism.start_on(grid, Randomness.replayable(3), "noise")
    released = np.array([sums.add(row, s) for row, s in zip(rows, growth.tolist(), strict=True)])
    assert (sums._open.dtype == object) == (factor > 1)
    base = mechanism.base if isinstance(mechanism, LaplaceTree) else 2
    counts = [round(s / grid.multiple) for s in growth.tolist()]
    outputs = [np.zeros(2)]
    for t, draw in enumerate(drawn(grid), start=1):
        start = t - base ** node_level(t, base)
        node = [
            Fraction(sum(counts[j] * int(rows[j, i]) for j in range(start, t)), counts[t - 1]).__floor__()
            + int(draw[i])
            for i in range(2)
        ]
        outputs.append(outputs[start] + np.array(node, dtype=float) * growth[t - 1])
    np.testing.assert_array_equal(released, np.array(outputs[1:]) * grid.step)


@trees
def test_loops_arrays_and_states_agree_bit_for_bit(mechanism):
    grid = growing_grid(mechanism, 1.0, SummedRecords(2, batch=10**6))
    rows = np.rint(generator("rows").uniform(-1, 1, (STEPS, 2)) * grid.units)
    loop, array, saved = (mechanism.start_on(grid, Randomness.replayable(3), "noise") for _ in range(3))
    sizes = grid.admissible(np.array([1.0] * 20 + [7.7] * 20)).tolist()
    one = np.array([loop.add(row, s) for row, s in zip(rows, sizes, strict=True)])
    many = np.concatenate([array.add_many(rows[:20], sizes[0]), array.add_many(rows[20:], sizes[-1])])
    np.testing.assert_array_equal(one, many)
    for t in range(13):
        saved.add(rows[t], sizes[t])
    other = mechanism.start_on(grid, Randomness.replayable(3), "noise")
    other.load_state_dict(saved.state_dict())
    np.testing.assert_array_equal(one[13:], [other.add(rows[t], sizes[t]) for t in range(13, STEPS)])


def test_sizes_are_whole_multiples_and_waste_little():
    grid = growing_grid(LaplaceTree(8), 1.0, SummedRecords(2))
    sizes = np.array([1.0, 1.0001, 2.34567, 1e6 / 3])
    found = grid.admissible(sizes)
    assert np.all((found >= sizes * (1 - 1e-11)) & (found <= sizes * 1.001))
    np.testing.assert_array_equal(grid.admissible(found), found)
    sums = LaplaceTree(8).start_on(grid, Randomness.replayable(1), "noise")
    with pytest.raises(InvalidInput, match="whole multiples"):
        sums.add(np.zeros(2), 1.00055)
    assert sums.step == 0
    fixed = Tree(8).grid(1.0, VectorRecords(2))
    with pytest.raises(ProtocolError, match="one size"):
        Tree(8).start_on(fixed, Randomness.replayable(1), "noise").add(np.zeros(2), 2.0)


def test_malformed_states_change_nothing():
    grid = growing_grid(LaplaceTree(8), 1.0, SummedRecords(2))
    sums = LaplaceTree(8).start_on(grid, Randomness.replayable(1), "noise")
    sums.add(np.ones(2), 1.0)
    state = sums.state_dict()
    for bad in ({"open": [[0, 0]]}, {"open": [[0.5, 0]] * 4}, {"bound": -1}, {"open": None}):
        with pytest.raises(InvalidInput):
            sums.load_state_dict({**state, **bad})
    assert sums.state_dict()["open"] == state["open"]


def test_the_rate_pays_for_records_and_floors():
    """In rational arithmetic: nodes times (2 K_1 + d)."""
    mechanism, records = LaplaceTree(STEPS, 3), SummedRecords(5)
    grid = growing_grid(mechanism, 0.7, records)
    moved = mechanism.nodes * (records.pure_shift("laplace", grid.units) + 5)
    assert Fraction(grid.rate) * moved <= Fraction(0.7) < Fraction(grid.rate) * moved * (1 + Fraction(1, 2**50))
