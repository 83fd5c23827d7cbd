"""What every running-sum mechanism must keep, whatever its structure."""

import copy
import pickle

import numpy as np
import pytest

from tacit.accounting.curves import Pure
from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import (
    Buffered,
    CubeTree,
    LaplaceTree,
    RunningSum,
    Tree,
)

STEPS = 130
MECHANISMS = [
    Tree(STEPS),
    Buffered(STEPS),
    Buffered(STEPS, decays=(0.9, 0.5), weights=(0.3, 0.2)),
    LaplaceTree(STEPS, 2),
    LaplaceTree(STEPS, 5),
    LaplaceTree.best(STEPS),
    CubeTree(STEPS, 5),
]
every = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


def impulses():
    """A noise source whose draw at step t is the t-th basis vector."""
    step = -1

    def draw(count):
        nonlocal step
        step += 1
        return np.eye(count)[step]

    return draw


def generator(name="noise"):
    return Randomness.replayable(11).stream(name)


def start(mechanism: RunningSum, dimension=3, noise=None):
    source = mechanism.noise_from(generator(), 3) if noise is None else noise
    return mechanism.start(dimension, mechanism.scale(1.0), source)


@every
def test_matrices_factor_the_running_sum(mechanism):
    decoder, encoder = mechanism.matrices()
    np.testing.assert_allclose(decoder @ encoder, np.tri(STEPS), atol=1e-11)


@every
def test_stream_is_the_dense_decoder(mechanism):
    """On unit impulses the noise of step t is row t of the decoder, so the covariance is decoder decoder'."""
    sums = mechanism.start(STEPS, 1.0, impulses())
    noise = np.array([sums.add(np.zeros(STEPS)) for _ in range(STEPS)])
    np.testing.assert_allclose(noise, mechanism.matrices()[0], rtol=1e-12, atol=1e-12)


@every
def test_growing_sensitivities_scale_only_the_fresh_noise(mechanism):
    grown = 1.0 + np.arange(STEPS) / 10
    sums = mechanism.start(STEPS, 2.0, impulses())
    noise = np.array([sums.add(np.zeros(STEPS), s) for s in grown])
    np.testing.assert_allclose(noise, mechanism.matrices()[0] * (2.0 * grown), rtol=1e-12, atol=1e-12)


@every
def test_column_norm_is_that_of_the_dense_encoder_rounded_up(mechanism):
    encoder = mechanism.matrices()[1]
    norms = np.linalg.norm(encoder, ord=2 if mechanism.noise == "gaussian" else 1, axis=0)
    exact = float(norms.max())
    assert exact * (1 - 1e-14) <= mechanism.column_norm <= exact * (1 + 1e-10)


@every
def test_row_norms_are_those_of_the_dense_decoder(mechanism):
    np.testing.assert_allclose(mechanism.row_norms(), np.linalg.norm(mechanism.matrices()[0], axis=1), rtol=1e-11)


@every
def test_sum_is_exact_without_noise(mechanism):
    sums = start(mechanism, 4, np.zeros)
    data = generator("data").integers(-1000, 1000, (STEPS, 4)).astype(float)
    released = np.array([sums.add(x) for x in data])
    np.testing.assert_array_equal(released, np.cumsum(data, axis=0))
    assert sums.step == STEPS


@every
def test_state_that_does_not_fit_is_refused_and_nothing_changes(mechanism):
    sums, other = start(mechanism), start(mechanism, dimension=2)
    sums.add(np.ones(3))
    before = sums.state_dict()
    for wrong in (other.state_dict(), {**before, "step": STEPS + 1}, {**before, "step": -1}):
        with pytest.raises(InvalidInput, match="the state is at step"):
            sums.load_state_dict(wrong)
    own = next(name for name in before if name not in ("step", "sensitivity", "sum", "noise"))
    with pytest.raises(InvalidInput, match=f"The '{own}'"):
        sums.load_state_dict({**before, own: before[own][:0], "sum": before["sum"] + 1})
    after = sums.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@every
def test_nothing_is_aliased(mechanism):
    """Neither the inputs, nor the outputs, nor the arrays of the noise source are kept or written to."""
    ones = np.ones(3)
    ones.flags.writeable = False
    clean, dirty = start(mechanism, noise=lambda count: ones), start(mechanism, noise=lambda count: ones)
    for t in range(STEPS):
        x = np.full(3, float(t))
        wanted, got = clean.add(x.copy()), dirty.add(x)
        np.testing.assert_array_equal(got, wanted)
        x[:] = np.nan
        got[:] = np.nan
        for value in dirty.state_dict().values():
            if isinstance(value, np.ndarray):
                value[:] = np.nan


@every
def test_bad_calls_raise_and_change_nothing(mechanism):
    rng = generator()
    sums = start(mechanism, noise=mechanism.noise_from(rng, 3))
    sums.add(np.ones(3), 2.0)
    before = sums.state_dict()
    position = repr(rng.bit_generator.state)
    restored = start(mechanism)
    restored.load_state_dict(before)
    for sensitivity in (1.999, -1.0, np.nan, np.inf):
        for each in (sums, restored):
            with pytest.raises(InvalidInput, match="may not fall"):
                each.add(np.ones(3), sensitivity)
    for shape in ((), (1,), (4,), (3, 1)):
        with pytest.raises(InvalidInput, match=r"must have shape \(3\)"):
            sums.add(np.ones(shape), 2.0)
    assert repr(rng.bit_generator.state) == position
    after = sums.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@every
def test_too_many_steps_raise_and_change_nothing(mechanism):
    sums = start(mechanism)
    for _ in range(STEPS):
        sums.add(np.ones(3))
    before = sums.state_dict()
    with pytest.raises(ProtocolError, match=f"planned for {STEPS} steps and has 0 left"):
        sums.add(np.ones(3))
    with pytest.raises(ProtocolError, match=f"planned for {STEPS} steps and has 0 left"):
        sums.add_many(np.ones((2, 3)))
    after = sums.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("kind", [Tree, Buffered, LaplaceTree, CubeTree])
def test_empty_and_single_step(kind):
    empty = kind(0)
    assert empty.curve(1.0) == Pure(0.0)
    assert empty.row_norms().shape == (0,)
    assert empty.column_norm == pytest.approx(1.0)
    with pytest.raises(ProtocolError):
        empty.start(1, 1.0, np.zeros).add(np.zeros(1))
    single = kind(1)
    assert single.column_norm == pytest.approx(1.0)
    assert single.row_norms() == pytest.approx([1.0])
    assert single.start(2, 3.0, np.ones).add(np.zeros(2)) == pytest.approx([3.0, 3.0])
    for wrong in (-1, 2.5, True, "10"):
        with pytest.raises(InvalidInput, match="'steps'"):
            kind(wrong)


@every
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda sums: pickle.loads(pickle.dumps(sums))])
def test_copies_in_mid_stream_make_the_same_sums(mechanism, copied):
    """Copied buffers once stopped being views of what was summed: every later sum carried one frozen noise vector."""
    original = start(mechanism, noise=Ramp())
    for row in range(40):
        original.add(np.full(3, float(row)))
    twin = copied(original)
    for row in range(40, STEPS):
        np.testing.assert_array_equal(twin.add(np.full(3, float(row))), original.add(np.full(3, float(row))))


class Ramp:
    """A noise source that can be copied, whose draws never repeat."""

    def __init__(self):
        self.drawn = 0

    def __call__(self, count):
        self.drawn += count
        return np.arange(self.drawn - count, self.drawn, dtype=float)
