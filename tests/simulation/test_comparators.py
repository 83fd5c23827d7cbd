import itertools

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.simulation.comparators import best_switching_sequence


def brute_force(losses, switches):
    rounds, n = losses.shape
    return min(
        losses[np.arange(rounds), list(path)].sum()
        for path in itertools.product(range(n), repeat=rounds)
        if sum(a != b for a, b in itertools.pairwise(path)) <= switches
    )


def round_by_round(losses, switches):
    values = np.zeros((switches + 1, losses.shape[1]))
    for row in losses:
        values[1:] = np.minimum(values[1:], values[:-1].min(axis=1)[:, None])
        values = values + row
    return values[-1].min()


def count(sequence):
    return int(np.count_nonzero(sequence[1:] != sequence[:-1]))


@pytest.mark.parametrize("switches", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("integer", [False, True])
def test_small_instances_agree_with_enumeration(switches, integer):
    for seed in range(5):
        losses = Randomness.replayable(seed).stream("losses").random((6, 3))
        losses = np.round(losses) if integer else losses
        loss, sequence = best_switching_sequence(losses, switches)
        assert loss == pytest.approx(brute_force(losses, switches), abs=1e-12)
        assert loss == losses[np.arange(6), sequence].sum()
        assert count(sequence) <= switches


def test_long_streams_agree_with_the_plain_recursion():
    losses = (Randomness.replayable(2).stream("losses").random((5000, 6)) < 0.5).astype(float)
    for switches in (0, 1, 5, 40):
        loss, sequence = best_switching_sequence(losses, switches)
        assert loss == round_by_round(losses, switches)
        assert count(sequence) <= switches
    assert best_switching_sequence(losses, 0)[0] == losses.sum(axis=0).min()


@pytest.mark.parametrize("bad", [np.zeros((0, 3)), np.full((2, 2), np.nan), np.zeros(3), [["a"]]])
def test_bad_losses_raise(bad):
    with pytest.raises(InvalidInput, match="losses"):
        best_switching_sequence(bad, 1)


def test_bad_switches_raise():
    with pytest.raises(InvalidInput, match="switches"):
        best_switching_sequence(np.zeros((3, 2)), -1)
