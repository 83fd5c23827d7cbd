"""Convex streams: shapes, norms, seeds, and what is refused."""

import numpy as np
import pytest

from tacit.environments.convex import DriftingQuadratic, LogisticStream, SignFlips
from tacit.errors import InvalidInput
from tacit.randomness import Randomness


def generator(name="data"):
    return Randomness.replayable(7).stream(name)


@pytest.mark.parametrize("environment", [LogisticStream(3, 50), DriftingQuadratic(3, 50), SignFlips(3, 50)], ids=repr)
def test_streams_fit_their_loss_and_repeat(environment):
    data = environment.data(generator())
    rows = environment.loss.pack(data, 3, many=True)
    assert len(rows) == environment.horizon == 50
    np.testing.assert_array_equal(rows, environment.loss.pack(environment.data(generator()), 3, many=True))
    assert not np.array_equal(rows, environment.loss.pack(environment.data(generator("other")), 3, many=True))
    assert environment.adaptive is False


def test_logistic_labels_follow_the_model():
    features, labels = LogisticStream(2, 20_000, strength=8.0).data(generator())
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0)
    assert set(labels) == {-1.0, 1.0}
    mean = np.mean(labels[:, None] * features, axis=0)
    assert np.linalg.norm(mean) > 0.4
    _, noise = LogisticStream(2, 20_000, strength=0.0).data(generator())
    assert abs(noise.mean()) < 0.05


def test_target_goes_round():
    targets = DriftingQuadratic(2, 1000, turns=1.0, spread=0.0).data(generator())
    np.testing.assert_allclose(targets[0], [0.7, 0.0])
    np.testing.assert_allclose(targets[500], [-0.3, 0.0], atol=1e-12)
    assert np.all(np.linalg.norm(targets, axis=1) <= 1)
    assert DriftingQuadratic(1, 10).data(generator()).shape == (10, 1)


def test_signs_flip_at_random_times():
    gradients = SignFlips(2, 5000, phase=20).data(generator())
    np.testing.assert_allclose(np.linalg.norm(gradients, axis=1), 1.0)
    flips = np.sum(np.any(np.diff(gradients, axis=0), axis=1))
    assert 100 < flips < 500


@pytest.mark.parametrize(
    "make",
    [
        lambda: LogisticStream(0, 10),
        lambda: LogisticStream(2, 0),
        lambda: LogisticStream(2, 10, strength=-1.0),
        lambda: DriftingQuadratic(0, 10),
        lambda: DriftingQuadratic(2, 1.5),
        lambda: DriftingQuadratic(2, 10, turns=np.nan),
        lambda: DriftingQuadratic(2, 10, spread=-1.0),
        lambda: SignFlips(0, 10),
        lambda: SignFlips(2, -1),
        lambda: SignFlips(2, 10, phase=0.0),
        lambda: SignFlips(2, 10, bias=1.0),
    ],
)
def test_bad_parameters_raise(make):
    with pytest.raises(InvalidInput):
        make()
