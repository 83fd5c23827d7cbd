"""Sums on a lattice: what neighbours move, what rounding costs, and the law of a small one in full."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import Gaussian, Pure
from tacit.accounting.guarantee import EXACT, IDEALIZED
from tacit.auditing.tapes import extreme_pair, moved_draws, paid_move, promised_move
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, Tree
from tacit.noise.running_sums.accumulators import LossRecords, SummedRecords, VectorRecords
from tacit.noise.running_sums.running_sum import Grid, Rounding, lattice_grid
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA

STEPS = 130
GAUSSIAN = [Tree(STEPS), Buffered(STEPS), Buffered(STEPS, (0.9, 0.5), (0.3, 0.2))]
EVERY = [*GAUSSIAN, LaplaceTree(STEPS, 2), LaplaceTree.best(STEPS), CubeTree(STEPS, 5)]
RECORDS = [LossRecords(4), LossRecords(3, sides=1, people=2), VectorRecords(4, norm=2.5), VectorRecords(2, 1, 3)]
every = pytest.mark.parametrize("mechanism", EVERY, ids=repr)
toeplitz = pytest.mark.parametrize("mechanism", GAUSSIAN[1:], ids=repr)


def generator(name="test"):
    return Randomness.replayable(5).stream(name)


def drawn(grid, steps, seed=3):
    source = grid.noise(Randomness.replayable(seed), "noise")
    return source.draw(steps * grid.records.dimension).astype(float).reshape(steps, -1)


# --- neighbours ----------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("records", RECORDS, ids=repr)
def test_neighbours_move_the_draws_by_what_was_paid_for(mechanism, records):
    grid = mechanism.grid(1.0, records)
    paid = paid_move(mechanism, grid, 1.0)
    assert promised_move(mechanism, grid) <= paid * (1 + 1e-12)
    for first in (0, 37, STEPS - records.people):
        pair = extreme_pair(records, grid.units, STEPS, generator(str(first)), first)
        moved, size = moved_draws(mechanism, grid, pair, drawn(grid, STEPS))
        assert size <= promised_move(mechanism, grid)
        assert not moved[:first].any()
        if first == 0 and records.people == 1 and mechanism.noise == "gaussian":
            assert size > 0.99 * paid, "nothing is wasted"


@toeplitz
@pytest.mark.parametrize("growing", [False, True])
def test_a_shift_is_its_column_up_to_two_roundings(mechanism, growing):
    """|z' - z + c_{t-s} (gamma_s/gamma_t) D| <= 1 + 2e in each coordinate, whatever the transcript."""
    records = VectorRecords(3)
    grid = lattice_grid(mechanism, 1.0, records, growing=growing)
    growth = np.maximum.accumulate(generator("growth").random(STEPS) + 0.1) if growing else np.ones(STEPS)
    _, encoder = mechanism.matrices()
    worst = 0.0
    for first in (0, 11, 50):
        rows, other = extreme_pair(records, grid.units, STEPS, generator(f"shift {first}"), first)
        pair = (rows * growth[:, None], other * growth[:, None])
        moved = moved_draws(mechanism, grid, pair, drawn(grid, STEPS, first), growth)[0]
        quantised = [records.quantised(part[first], grid.units, growth[first]) for part in pair]
        exact = np.outer(encoder[:, first] * growth[first] / growth, quantised[1] - quantised[0])
        error = np.abs(moved + exact)
        assert not error[: first + 1].any()
        assert error.max() <= 1 + 2 * grid.rounding.error
        worst = max(worst, error.max())
    assert worst > 0.5, "roundings are seen"


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), -float("inf"), 1e308, -1.0])
def test_no_loss_leaves_the_range(loss):
    """NaN passed both ends, and the sum was NaN ever after."""
    with np.errstate(over="ignore"):  # as learners are run
        whole = LossRecords(3).quantised(np.array([0.0, loss, 1.0]), 6, 1.0)
    assert whole.tolist()[::2] == [-3.0, 3.0]
    assert abs(whole[1]) == 3.0


def test_shifts_by_brute_force():
    """All records of a coarse lattice in two dimensions: the declared shifts are the largest ones, exactly."""
    units = 6
    losses = np.array(list(product(np.linspace(0, 1, 25), repeat=2)))
    rows = LossRecords(2).quantised(losses, units, 1.0)
    gaps = rows[:, None] - rows
    assert np.abs(gaps).sum(axis=2).max() == LossRecords(2).pure_shift("laplace", units) == 12
    assert np.sqrt((gaps**2).sum(axis=2)).max() == pytest.approx(LossRecords(2).l2_shift(units), rel=1e-9)
    assert np.abs(rows).max() == units // 2  # zero-out: half of it
    assert LossRecords(2, sides=1).pure_shift("laplace", units) == 6
    assert np.abs(gaps).max() == LossRecords(2).pure_shift("cube", units) == 6
    assert LossRecords(2, sides=1).pure_shift("cube", units) == 3
    angles = np.linspace(0, 2 * np.pi, 721)
    for stretch in (1.0, 3.7):
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 2.5 * stretch
        records = VectorRecords(2, norm=2.5)
        rows = np.concatenate([records.quantised(circle * (1 + k * 2.0**-52), 50, stretch) for k in (-2, 0, 2, 2**50)])
        assert 0.99 * 50**2 <= (rows**2).sum(axis=1).max() <= 50**2
        gaps = rows[:, None, :] - rows[None, ::5]
        assert 0.98 * 100**2 <= (gaps**2).sum(axis=2).max() <= 100**2
        inside = circle / stretch / records.worth(50)
        assert np.abs(records.quantised(circle, 50, stretch) - inside).max() <= records.off
        assert np.abs(gaps).sum(axis=2).max() <= records.pure_shift("laplace", 50)
        assert 98 <= np.abs(gaps).max() <= records.pure_shift("cube", 50) == 100


def test_a_float_sum_moves_by_more_than_the_loss_that_was_changed():
    """2^27 = 1.3e8 losses of 1, one of them changed to 0, then small ones: float64 rounds the two sums differently."""
    later = np.full(2**16, 2.0**-26 * (1 + 2.0**-20))
    sums = [2.0**27, 2.0**27 - 1]
    for _ in range(2**9):
        sums = [np.add.accumulate(np.append(total, later))[-1] for total in sums]
    assert sums[0] - sums[1] == 1.5
    grid = Tree(2**28).grid(1.0, LossRecords(1))
    ends = []
    for before in (2**27, 2**27 - 1):
        accumulator = Tree(2**28)._accumulator(1, grid.scale, np.zeros, grid)
        state = {**accumulator.state_dict(), "step": 2**27, "sum": np.array([float(before * grid.units)])}
        accumulator.load_state_dict(state)
        ends.append(accumulator.add_many(later[:2000, None])[-1, 0] / grid.step)
    assert ends[0] - ends[1] == grid.units


# --- roundings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["random", "constant"])
def test_the_correction_is_as_exact_as_its_bound_says(kind):
    """Against integers with 200 fractional bits, the floats theta and omega taken as they are."""
    mechanism = Buffered(10**6)
    grid = mechanism.grid(gaussian_mu(1.0, 1e-6), VectorRecords(1))
    bits, given = 200, np.zeros(1)
    accumulator = mechanism._accumulator(1, grid.scale, lambda count: given, grid)
    numbers = [(int(t * 2**60), int(w * 2**60)) for t, w in zip(mechanism.decays, mechanism.weights, strict=True)]
    buffers, worst, total = [0] * len(numbers), 0.0, 0
    draws = drawn(grid, 1000)[:, 0] if kind == "random" else np.full(1000, 2.0 * round(GAUSSIAN_SIGMA))
    for draw in draws:
        exact = sum(w * buffer for (_, w), buffer in zip(numbers, buffers, strict=True)) >> 60
        computed = float((accumulator._weights * accumulator._buffers).sum(axis=0)[0])
        worst = max(worst, abs((int(computed * 2**20) << (bits - 20)) - exact) / 2**bits)
        given[0] = draw
        released = round(float(accumulator.add(np.zeros(1))[0] / grid.step))
        value, total = released - total, released
        buffers = [t * (buffer + (value << bits)) >> 60 for (t, _), buffer in zip(numbers, buffers, strict=True)]
    assert 1e-8 < worst < 1e-4 < grid.rounding.error
    assert grid.rounding.error == pytest.approx(0.0108, rel=0.02)
    assert mechanism.grid(gaussian_mu(1.0, 1e-6), VectorRecords(10**4)).rounding.failure < 1e-25


def test_roundings_of_one_sign_are_what_the_bound_pays_for():
    """All roundings along the record's column: no transcript moves draws by more, and a triangle pays too much."""
    for mechanism in (Buffered(400), Buffered(400, (0.9, 0.5), (0.3, 0.2))):
        rounding = mechanism.grid(1.0, VectorRecords(3)).rounding
        _, encoder = mechanism.matrices()
        assert rounding.total == pytest.approx(encoder[:, 0].sum(), rel=1e-9)
        for shift in (30.0, 1e4, 1e7):
            column = np.outer(encoder[:, 0], np.full(3, shift / np.sqrt(3)))
            worst = np.linalg.norm(column + (1 + 2 * rounding.error) * (np.arange(400) > 0)[:, None])
            bound = rounding.moved(shift, mechanism.column_norm, 400, 3)
            assert worst <= bound <= shift * mechanism.column_norm + rounding.shift(400, 3) + 1e-9 * shift
            assert bound - shift * mechanism.column_norm < 0.9 * rounding.shift(400, 3) or shift < 1e3


def test_the_law_of_three_releases_in_full():
    """All transcripts of three steps at sigma = 7: the certified curve lies above, and without roundings it would not.

    One coordinate is one transcript: the shipped accumulator finds the neighbour's draws for all of them at once.
    """
    reach, sigma, epsilon = 42, 7.0, 0.3
    axis = np.arange(-reach, reach + 1.0)
    draws = np.stack([part.ravel() for part in np.meshgrid(axis, axis, axis, indexing="ij")])
    size = draws.shape[1]
    grid = Grid(SummedRecords(size), 1, 1.0, Pure(1.0), EXACT, rounding=Rounding(exact=False))
    rows = np.zeros((3, size))
    other = rows.copy()
    other[0] = 1.0
    mechanism = Buffered(3, (0.75,), (2 / 3,))  # c = 1, 1/2, 3/8
    moved = moved_draws(mechanism, grid, (rows, other), draws)[0]
    law = np.exp(-(np.arange(-reach - 9, reach + 10.0) ** 2) / (2 * sigma**2))
    law /= law.sum()

    def probability(z):
        return np.prod(law[(z + reach + 9).astype(int)], axis=0)

    exact = np.maximum(probability(draws) - np.exp(epsilon) * probability(draws + moved), 0.0).sum()
    hidden = np.sqrt(sigma**2 - 4)
    without = Gaussian(mechanism.column_norm / hidden).delta(epsilon)
    certified = Gaussian((mechanism.column_norm + np.sqrt(2)) / hidden).delta(epsilon)
    assert exact == pytest.approx(0.0070, abs=5e-5)
    assert without == pytest.approx(0.0037, abs=5e-5)
    assert certified == pytest.approx(0.0557, abs=5e-5)


@pytest.mark.parametrize("records", [LossRecords(2), LossRecords(2, sides=1, people=2)], ids=repr)
def test_the_law_of_a_cube_tree_in_full(records):
    """All draws of two nodes near the origin: no transcript is likelier by more than e^epsilon, and some by as much."""
    mechanism, epsilon = CubeTree(2, 2), 1.5
    grid = mechanism.grid(epsilon, records)
    pair = extreme_pair(records, grid.units, 2, generator("cube"), 0)
    moved = moved_draws(mechanism, grid, pair, drawn(grid, 2))[0]
    axis = np.arange(-6.0, 7.0) * grid.units / 8  # every draw of a coarser lattice
    points = np.stack([part.ravel() for part in np.meshgrid(axis, axis)], axis=1)
    losses = [grid.rate * (np.abs(points + move).max(axis=1) - np.abs(points).max(axis=1)) for move in moved]
    worst = losses[0].max() + losses[1].max()
    # A person in two rounds is paid for as if both stood in two nodes; the second one stands in one.
    assert worst == pytest.approx(epsilon if records.people == 1 else 0.75 * epsilon, rel=1e-12)
    assert -losses[0].min() - losses[1].min() <= epsilon * (1 + 1e-12)


def test_cube_noise_of_many_dimensions_is_never_refused():
    for dimension, epsilon in ((3, 1e3), (100_000, 1e3), (100_000, 1e-3)):
        grid = CubeTree(1, 2).grid(epsilon, LossRecords(dimension))
        assert grid.rate * dimension <= 1
        assert grid.rate * grid.records.pure_shift("cube", grid.units) <= epsilon
        assert grid.numerics == EXACT


# --- contract ------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("numerics", ["exact", "float"])
def test_loops_arrays_and_states_agree_bit_for_bit(mechanism, numerics):
    records = LossRecords(3)
    grid = mechanism.grid(1.0, records, numerics=numerics)
    rows = generator("rows").random((STEPS, 3))
    one, other = (mechanism.start_on(grid, Randomness.replayable(4), "noise") for _ in range(2))
    wanted = np.array([one.add(row) for row in rows])
    first = other.add_many(rows[:57])
    third = mechanism.start_on(grid, Randomness.replayable(99), "noise")
    third.add_many(rows[:3])
    third.load_state_dict(other.state_dict())
    for accumulator in (other, third):
        np.testing.assert_array_equal(np.concatenate([first, accumulator.add_many(rows[57:])]), wanted)
    if grid.units:
        steps = wanted / grid.step
        np.testing.assert_allclose(steps, np.rint(steps), rtol=1e-15)


@every
def test_what_is_said_and_what_is_drawn(mechanism):
    grid = mechanism.grid(1.0, LossRecords(3))
    plain = mechanism.grid(1.0, LossRecords(3), numerics="float")
    assert plain.numerics == IDEALIZED
    assert grid.numerics == EXACT if grid.rate else grid.numerics.startswith("exact up to an extra epsilon of ")
    assert plain.scale <= grid.scale <= plain.scale * (1 + 1e-5)
    assert grid.curve.pure() == plain.curve.pure()
    if not grid.rate:
        assert plain.curve.delta(1.0) <= grid.curve.delta(1.0) <= plain.curve.delta(1.0) * (1 + 1e-9)


def test_refusals():
    with pytest.raises(PrivacyError, match="too coarse"):
        Buffered(10**6).grid(1e-6, VectorRecords(10))
    with pytest.raises(PrivacyError, match="lose its digits"):
        Buffered(10**8, decays=(1 - 1e-15,), weights=(0.9,)).grid(1.0, VectorRecords(1))
    with pytest.raises(InvalidInput, match="'numerics'"):
        Tree(3).grid(1.0, VectorRecords(1), numerics="real")
    grid = Tree(3).grid(1.0, VectorRecords(1))
    accumulator = Tree(3).start_on(grid, Randomness.replayable(0), "noise")
    before = accumulator.state_dict()
    with pytest.raises(InvalidInput, match="finite"):
        accumulator.add(np.array([np.nan]))
    np.testing.assert_array_equal(accumulator.state_dict()["noise"]["pool"], before["noise"]["pool"])
    assert replace(grid, units=0).step == 1.0


@pytest.mark.parametrize("dimension", [1, 2, 7, 300])
@pytest.mark.parametrize("steps", [700, 10**8])
@pytest.mark.parametrize("records", [LossRecords, VectorRecords])
def test_steps_in_c_are_those_of_numpy_bit_for_bit(records, dimension, steps, both_ways):
    """Vectors inside, on and outside of the ball; losses at the ends of their range."""
    mechanism, rng = Buffered(steps), generator("rows")
    grid = mechanism.grid(1.0, records(dimension))
    rows = rng.standard_normal((400, dimension))
    if records is VectorRecords:
        sizes = rng.choice([0.0, 1e-12, 0.5, 1 - 2.0**-39, 1.0, 1 + 2.0**-50, 1.4, 1e9], (400, 1))
        rows *= sizes / np.linalg.norm(rows, axis=1)[:, None]
    else:
        rows = np.clip(rows, 0.0, 1.0)

    def summed():
        sums = mechanism.start_on(grid, Randomness.replayable(4), "noise")
        single = [sums.add(row) for row in rows[:150]]
        return np.concatenate([single, sums.add_many(rows[150:333]), sums.add_many(rows[333:])]), sums.state_dict()

    (compiled, state), (plain, other) = both_ways(summed)
    np.testing.assert_array_equal(compiled, plain)
    np.testing.assert_array_equal(state["buffers"], other["buffers"])
    assert state["step"] == other["step"] == 400


@pytest.mark.parametrize("dimension", [1, 2, 3, 10])
def test_every_pure_lattice_has_a_sampler(dimension):
    """The l1 shift of two units is rounded down: the lattice that it suggested had a rate too small to draw."""
    tree = LaplaceTree.best(999)
    for epsilon in np.linspace(0.02, 1.0, 99):
        grid = tree.grid(float(epsilon), VectorRecords(dimension, people=10))
        assert grid.rate >= 2.0**-32
        assert Fraction(grid.rate) * tree.nodes * grid.records.pure_shift("laplace", grid.units) <= Fraction(
            float(epsilon)
        )
        tree.start_on(grid, Randomness.replayable(1), "noise")
