"""Convex streams: shapes, norms, seeds, and what is refused."""

import numpy as np
import pytest

from tacit.algorithms.convex import PrivateFTRL
from tacit.domains import Ball
from tacit.environments.convex import DriftingQuadratic, LogisticStream, ReplayData, SignFlips
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex
from tacit.simulation.loop import simulate


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


def test_replayed_data_is_what_was_recorded_and_is_not_shown():
    features, labels = np.array([[0.25, 0.5], [0.125, 0.0], [0.0, 0.75]]), np.array([1.0, -1.0, 1.0])
    stream = ReplayData(LogisticLoss(), (features, labels))
    assert (stream.horizon, stream.dimension) == (3, 2)
    seen = stream.data(Randomness.replayable(0).stream("x"))
    np.testing.assert_array_equal(seen[0], features)
    np.testing.assert_array_equal(seen[1], labels)
    assert "0.125" not in repr(stream)
    assert "3 rounds" in repr(stream)
    plan = PrivateFTRL.calibrate(Convex(domain=Ball(2), loss=LogisticLoss(), horizon=3), epsilon=1.0, delta=1e-6)
    assert simulate(plan, stream, runs=2).regret.shape[0] == 2
    rows = ReplayData(QuadraticLoss(), [[0.5, 0.5]])
    assert rows.horizon == 1


@pytest.mark.parametrize(
    ("loss", "recording", "words"),
    [
        ("logistic", ([[1.0]], [1.0]), "'loss'"),
        (LogisticLoss(), ([[1.0]], [1.0, 1.0]), "labels"),
        (LogisticLoss(), [[1.0], [0.5], [0.5]], "pair"),
        (QuadraticLoss(), np.empty((0, 2)), "one round or more"),
        (QuadraticLoss(), [[np.nan, 0.0]], "finite"),
    ],
)
def test_recordings_that_do_not_fit_their_loss(loss, recording, words):
    with pytest.raises(InvalidInput, match=words):
        ReplayData(loss, recording)
