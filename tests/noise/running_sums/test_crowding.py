"""Several rounds of one person in a running sum: the first ones are the worst, and no more than that is paid for."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from tacit import Convex, contract, verify
from tacit.algorithms import PrivateFTRL
from tacit.auditing.tapes import extreme_pair, moved_draws, promised_move
from tacit.domains import Ball
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import LinearLoss
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, best_gaussian
from tacit.noise.running_sums.accumulators import SummedRecords, VectorRecords
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA

SHARES = {
    10**3: {2: 0.950, 4: 0.908, 10: 0.855, 30: 0.789, 100: 0.708},
    10**5: {2: 0.966, 4: 0.937, 10: 0.903, 30: 0.860, 100: 0.812},
}


def random_buffered(seed, steps=8):
    rng = np.random.default_rng(seed)
    weights = rng.random(3)
    return Buffered(steps, tuple(rng.uniform(0.05, 0.99, 3)), tuple(weights / weights.sum() * rng.uniform(0.1, 0.99)))


@pytest.mark.parametrize(
    "mechanism", [Buffered(9), best_gaussian(9, 3, 3), *(random_buffered(s, 9) for s in (1, 2))], ids=str
)
@pytest.mark.parametrize("separation", [1, 2, 3, 4, 20])
def test_every_choice_of_rounds_that_are_apart(mechanism, separation):
    _, encoder = mechanism.matrices()
    allowed = [
        chosen
        for size in range(1, 10)
        for chosen in combinations(range(9), size)
        if all(late - early >= separation for early, late in pairwise(chosen))
    ]
    for people in range(1, 11):
        bound = people * mechanism.column_norm * mechanism.crowding(people, separation)
        worst = max(np.linalg.norm(encoder[:, chosen].sum(axis=1)) for chosen in allowed if len(chosen) <= people)
        assert worst <= bound <= worst * (1 + 1e-8)
        signed = max(
            np.linalg.norm(encoder[:, chosen] @ np.where(np.arange(len(chosen)) % 2, -1.0, 1.0)) for chosen in allowed
        )
        assert people < len(max(allowed, key=len)) or signed <= bound


@pytest.mark.parametrize(
    ("steps", "people", "separation", "most"), [(1000, 10, 100, 15.0), (2000, 20, 100, 27.1), (10_000, 10, 1000, 17.3)]
)
def test_coefficients_for_rounds_that_are_apart(steps, people, separation, most):
    """Below the noise of the table's, and above the lower bound of any Gaussian mechanism, the number of rounds."""
    best, table = best_gaussian(steps, people, separation), Buffered(steps)
    errors = [
        people * sums.column_norm * sums.crowding(people, separation) * sums.row_norm(steps) for sums in (best, table)
    ]
    assert people < errors[0] <= most < errors[1]
    assert sum(best.weights) < 1
    assert best_gaussian(steps, people, separation) is best


@pytest.mark.parametrize("separation", [1, 4])
@pytest.mark.parametrize("mechanism", [Buffered(12), best_gaussian(12, 3, 4), random_buffered(3, 12)], ids=str)
def test_directions_of_their_own_and_growing_sensitivities_move_less(mechanism, separation):
    _, encoder = mechanism.matrices()
    rng = np.random.default_rng(4)
    for people in (2, 3):
        bound = people * mechanism.column_norm * mechanism.crowding(people, separation)
        for _ in range(200):
            gaps = rng.integers(separation, separation + 2, people - 1)
            chosen = int(rng.integers(0, 12 - gaps.sum())) + np.append(0, np.cumsum(gaps))
            moves = rng.normal(size=(people, 3))
            moves /= np.linalg.norm(moves, axis=1, keepdims=True)
            sizes = np.maximum.accumulate(rng.random(12) + 0.01)
            assert np.linalg.norm((encoder * sizes[None, :] / sizes[:, None])[:, chosen] @ moves) <= bound


@pytest.mark.parametrize("steps", SHARES)
def test_shares(steps):
    mechanism = Buffered(steps)
    for people, share in SHARES[steps].items():
        assert mechanism.crowding(people) == pytest.approx(share, abs=2e-3)
    assert mechanism.crowding(1) == 1.0


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
    noises = [plan.scale * plan.mechanism.row_norm(1000) for plan in (one, ten)]
    assert noises[1] / noises[0] == pytest.approx(25.51 / 3.27, rel=3e-3)  # 8.55 with the coefficients of one round
    assert ten.guarantee.epsilon(1e-6) <= 1.0


def test_rounds_that_share_a_step_are_parallel():
    """A batch is one step: all of a person's rounds may be in it, and then their columns are the same."""
    mechanism = Buffered(100)
    alone, summed = VectorRecords(2, 2, 5), SummedRecords(2, 2, 5)
    assert (alone.apart, summed.apart) == (5, 1)
    scales = [mechanism.grid(1.0, records).scale for records in (alone, summed)]
    assert scales[1] == pytest.approx(scales[0] / mechanism.crowding(5), rel=1e-3)
    assert scales[1] >= 10 * mechanism.column_norm * (1 - 1e-9)


def test_plans_for_rounds_that_are_apart():
    problem = Convex(domain=Ball(2), loss=LinearLoss(), horizon=1001)
    target = {"epsilon": 1.0, "delta": 1e-6, "rounds_per_person": 10}
    near, far = (PrivateFTRL.calibrate(problem, **target, separation=gap) for gap in (1, 100))
    noises = [plan.scale * plan.mechanism.row_norm(1000) for plan in (near, far)]
    assert noises[1] / noises[0] == pytest.approx(14.88 / 25.51, rel=1e-2)
    assert "up to 10 rounds that are at least 100 apart, together; the limit is promised" in far.guarantee.protected
    assert "separation" not in near.signature
    assert "'separation': 100" in far.signature
    assert verify(contract(far)).answer == "yes"
    closer = contract(far) | {"separation": 101}
    with pytest.raises(InvalidInput, match="contradict"):
        verify(closer)
    for gap in (50, 90, 110):
        stated = contract(far)
        with pytest.raises(InvalidInput, match="'noise' does not fit"):
            verify(stated | {"separation": gap, "parameters": stated["parameters"] | {"separation": gap}})
    with pytest.raises(PrivacyError, match="your promise"):
        far.guarantee.with_enforced_persons()
    with pytest.raises(PrivacyError, match="separation"):
        far.guarantee.compose(near.guarantee)


def test_batches_are_as_far_apart_as_their_rounds():
    near, far = (SummedRecords(2, 2, 5, batch=10, separation=gap) for gap in (9, 35))
    assert (near.apart, near.spacing, far.apart, far.spacing) == (1, 1, 5, 3)
    problem = Convex(domain=Ball(2), loss=LinearLoss(), horizon=1000)
    plan = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, rounds_per_person=5, separation=35, batch=10)
    assert plan.records.apart == 5
    assert verify(contract(plan)).answer == "yes"


@pytest.mark.parametrize("first", [0, 3])
def test_draws_of_rounds_that_are_apart_on_the_lattice(first):
    """Draws that release the same on a neighbour with rounds that are apart: as far as was paid for, and no farther."""
    mechanism, records = best_gaussian(40, 4, 8), VectorRecords(2, 2, 4, separation=8)
    grid = mechanism.grid(1e-4, records)
    pair = extreme_pair(records, grid.units, 40, Randomness.replayable(5).stream("pair"), first)
    draws = grid.noise(Randomness.replayable(3), "noise").draw(80).astype(float).reshape(40, 2)
    found = moved_draws(mechanism, grid, pair, draws)[1]
    promised = promised_move(mechanism, grid)
    assert (0.99 if first == 0 else 0.5) * promised <= found <= promised
    assert promised <= 1e-4 * GAUSSIAN_SIGMA * (1 + 1e-9)
