"""Several rounds of one person in a running sum: the first ones are the worst, and no more than that is paid for."""

from itertools import combinations, product

import numpy as np
import pytest

from tacit import Convex
from tacit.algorithms import PrivateFTRL
from tacit.domains import Ball
from tacit.errors import InvalidInput
from tacit.losses import LinearLoss
from tacit.noise.running_sums import Buffered, LaplaceTree, SquareRoot, Tree
from tacit.noise.running_sums.accumulators import SummedRecords, VectorRecords

SHARES = {
    10**3: {2: 0.950, 4: 0.908, 10: 0.855, 30: 0.789, 100: 0.708},
    10**5: {2: 0.966, 4: 0.937, 10: 0.903, 30: 0.860, 100: 0.812},
}


def random_buffered(seed, steps=8):
    rng = np.random.default_rng(seed)
    weights = rng.random(3)
    return Buffered(steps, tuple(rng.uniform(0.05, 0.99, 3)), tuple(weights / weights.sum() * rng.uniform(0.1, 0.99)))


@pytest.mark.parametrize("mechanism", [SquareRoot(8), Buffered(8), *map(random_buffered, range(6))], ids=str)
def test_every_choice_of_rounds_and_signs(mechanism):
    _, encoder = mechanism.matrices()
    for people in range(1, 10):
        bound = people * mechanism.column_norm * mechanism.crowding(people)
        worst = 0.0
        for chosen in combinations(range(8), min(people, 8)):
            columns = encoder[:, chosen]
            for signs in product((1.0, -1.0), repeat=len(chosen) - 1):
                worst = max(worst, float(np.linalg.norm(columns @ np.array([1.0, *signs]))))
        assert worst <= bound <= worst * (1 + 1e-8)


@pytest.mark.parametrize("mechanism", [SquareRoot(8), Buffered(8), random_buffered(3)], ids=str)
def test_directions_of_their_own_and_growing_sensitivities_move_less(mechanism):
    _, encoder = mechanism.matrices()
    rng = np.random.default_rng(4)
    for people in (2, 3, 5):
        bound = people * mechanism.column_norm * mechanism.crowding(people)
        for _ in range(200):
            chosen = rng.choice(8, people, replace=False)
            moves = rng.normal(size=(people, 3))
            moves /= np.linalg.norm(moves, axis=1, keepdims=True)
            sizes = np.maximum.accumulate(rng.random(8) + 0.01)
            scaled = encoder * sizes[None, :] / sizes[:, None]
            assert np.linalg.norm(scaled[:, chosen] @ moves) <= bound


@pytest.mark.parametrize("steps", SHARES)
@pytest.mark.parametrize("kind", [SquareRoot, Buffered])
def test_shares(steps, kind):
    mechanism = kind(steps)
    for people, share in SHARES[steps].items():
        assert mechanism.crowding(people) == pytest.approx(share, abs=2e-3 if kind is Buffered else 6e-4)
    assert mechanism.crowding(1) == 1.0


def test_trees_pay_for_every_round():
    for mechanism in (Tree(100), LaplaceTree(100)):
        assert mechanism.crowding(7) == 1.0


def test_persons_with_more_rounds_than_there_are():
    mechanism = Buffered(20)
    assert 50 * mechanism.crowding(50) == pytest.approx(20 * mechanism.crowding(20))
    assert Buffered(0).crowding(5) == 1.0
    assert Buffered(10**8).crowding(10**7) == 1.0
    with pytest.raises(InvalidInput, match="people"):
        mechanism.crowding(0)


@pytest.mark.parametrize("numerics", ["exact", "float"])
def test_plans_add_less_noise(numerics):
    problem = Convex(domain=Ball(2), loss=LinearLoss(), horizon=1001)
    one, ten = (
        PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, rounds_per_person=m, numerics=numerics) for m in (1, 10)
    )
    assert ten.scale / one.scale == pytest.approx(8.55, rel=1e-3)
    assert ten.guarantee.epsilon(1e-6) <= 1.0


def test_the_lattice_pays_for_the_first_rounds():
    """The draws of ten rounds moved alike, without roundings, against what the lattice allows."""
    mechanism, records = Buffered(1000), VectorRecords(1, 2, 10)
    grid = mechanism.grid(1.0, records)
    column = mechanism.column_norm * mechanism.crowding(10)
    moved = records.l2_shift(grid.units) * column + grid.rounding.shift(1000, 1)
    assert moved <= grid.records.l2_shift(grid.units) * mechanism.column_norm * 0.86


def test_rounds_that_share_a_step_are_parallel():
    """A batch is one step: all of a person's rounds may be in it, and then their columns are the same."""
    mechanism = Buffered(100)
    alone, summed = VectorRecords(2, 2, 5), SummedRecords(2, 2, 5)
    assert (alone.apart, summed.apart) == (5, 1)
    scales = [mechanism.grid(1.0, records).scale for records in (alone, summed)]
    assert scales[1] == pytest.approx(scales[0] / mechanism.crowding(5), rel=1e-3)
    assert scales[1] >= 10 * mechanism.column_norm * (1 - 1e-9)
