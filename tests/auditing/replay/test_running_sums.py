"""Probed sums: the matrices of a shipped accumulator, and all of its privacy."""

from dataclasses import replace

import numpy as np
import pytest

from tacit import Randomness, Stochastic
from tacit.algorithms import OnlineToBatch
from tacit.auditing import attacks
from tacit.auditing.script import NotEnumerable
from tacit.auditing.tapes import Response, response
from tacit.domains import Ball
from tacit.losses import LogisticLoss
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, Tree


def generator(seed):
    return Randomness.replayable(seed).stream("tests")


@pytest.mark.parametrize("mechanism", [Tree(13), Buffered(13), LaplaceTree(13, 3), CubeTree(13, 3)], ids=str)
def test_probes_see_the_declared_matrices_and_all_of_the_privacy(mechanism):
    scale = mechanism.scale(0.7)
    decoder, encoder = mechanism.matrices()
    seen = response(mechanism, scale)
    np.testing.assert_allclose(seen.data, decoder @ encoder, atol=1e-12)
    np.testing.assert_allclose(seen.noise, scale * decoder, atol=1e-9)
    assert max(seen.loss(step[:, None]) for step in np.eye(13)) == pytest.approx(0.7)


def test_an_outcome_without_noise_is_an_infinite_loss():
    blind = Response(np.eye(2), np.array([[1.0], [0.0]]), "gaussian")
    assert blind.loss(np.array([[0.0], [1.0]])) == float("inf")
    wide = Response(np.eye(1), np.array([[1.0, 1.0]]), "laplace")
    with pytest.raises(NotEnumerable, match="more noises than steps"):
        wide.loss(np.ones((1, 1)))


def test_sums_of_growing_records_are_audited_on_their_lattice():
    problem = Stochastic(domain=Ball(3), loss=LogisticLoss(), horizon=12)
    plan = OnlineToBatch.calibrate(problem, epsilon=1.0, delta=1e-6, batch=1)
    finding = attacks.lattice(plan, generator(3), pairs=6)
    assert not finding.violation
    assert finding.tightness > 0.99
    cheap = replace(plan, privacy=0.8 * plan.privacy)
    vars(cheap)["grid"] = plan.grid  # noise that was made for less privacy
    assert attacks.lattice(cheap, generator(3), pairs=6).violation
