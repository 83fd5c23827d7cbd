"""Probed sums: the matrices of a shipped accumulator, and all of its privacy."""

import numpy as np
import pytest

from tacit.auditing.replay.running_sums import Response, exact_loss, response
from tacit.auditing.scripted.script import NotEnumerable
from tacit.mechanisms.running_sums import Buffered, LaplaceTree, SquareRoot, Tree


@pytest.mark.parametrize("mechanism", [Tree(13), Buffered(13), SquareRoot(13), LaplaceTree(13, 3)], ids=str)
def test_probes_see_the_declared_matrices_and_all_of_the_privacy(mechanism):
    scale = mechanism.scale(0.7)
    decoder, encoder = mechanism.matrices()
    seen = response(mechanism, scale)
    np.testing.assert_allclose(seen.data, decoder @ encoder, atol=1e-12)
    np.testing.assert_allclose(seen.noise, scale * decoder, atol=1e-9)
    assert 0.7 * (1 - 1e-9) <= exact_loss(mechanism, scale) <= 0.7 * (1 + 1e-12)
    assert exact_loss(mechanism, 0.9 * scale) > 0.77
    assert exact_loss(mechanism, scale, sensitivity=2.0) == pytest.approx(1.4)


def test_an_outcome_without_noise_is_an_infinite_loss():
    blind = Response(np.eye(2), np.array([[1.0], [0.0]]), laplace=False)
    assert blind.loss(np.array([[0.0], [1.0]])) == float("inf")
    wide = Response(np.eye(1), np.array([[1.0, 1.0]]), laplace=True)
    with pytest.raises(NotEnumerable, match="more noises than steps"):
        wide.loss(np.ones((1, 1)))
