"""Measured regret in random environments stays below the certificate, for learners that see one loss a round."""

import pytest
from benchmarks.certificates import ENVIRONMENTS, shares

import tacit
from tacit.planning.catalogue import CATALOGUE

KINDS = (tacit.Arms, tacit.ContextualArms, tacit.Policies)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [algorithm for kind in KINDS for algorithm in CATALOGUE[kind]])
def test_certificates_hold_in_random_environments(algorithm):
    found = shares(algorithm)
    assert found.shape == (4 * ENVIRONMENTS, 2)
    assert found[:, 1].max() <= 1.0, "mean minus two standard errors"
    assert found[:, 0].max() > 0.3, "and the environments are hard enough to tell"
