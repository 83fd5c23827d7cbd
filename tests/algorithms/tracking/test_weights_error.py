"""Fixed-share weights in float64 against weights of 200 bits: Hilbert's metric stays under 2 kappa t."""

import pytest
from mpmath import mp, mpf

from tacit.algorithms.tracking import LazyFixedShare
from tacit.noise.lattice import LOSS_UNITS, quantise_losses
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import hilbert_error
from tacit.problems import Tracking

ROUNDS = 400


def metric(weights, exact):
    """The largest minus the least logarithm of a ratio."""
    ratios = [mp.log(mpf(float(w)) / e) for w, e in zip(weights, exact, strict=True)]
    return max(ratios) - min(ratios)


def exact_weights(losses, eta, stay, other):
    """The recursion of the floats stay, other and eta, in 200 bits; one list a round."""
    weights = [mpf(1)] * losses.shape[1]
    for row in quantise_losses(losses).tolist():
        grown = [w * mp.exp(-mpf(eta) * q / LOSS_UNITS) for w, q in zip(weights, row, strict=True)]
        total = sum(grown)
        weights = [mpf(stay) * g / total + mpf(other) for g in grown]
        yield weights


@pytest.mark.parametrize("n", [2, 7])
@pytest.mark.parametrize("eta", [0.01, 0.7, 16.0])
def test_errors_of_the_shipped_weights_are_covered(n, eta):
    losses = Randomness.replayable(n).stream("losses").random((ROUNDS, n))
    losses[: ROUNDS // 2, 0] *= 0.2  # one falls far behind, and comes back
    losses[ROUNDS // 2 :, 1] *= 0.2
    paths = LazyFixedShare(Tracking(n=n, horizon=ROUNDS + 2, switches=3), eta=eta, force=0.1).paths
    share, weights, worst = paths.share, paths.initial(), mpf(0)
    with mp.workprec(200):
        other = share / (n - 1)
        recursion = exact_weights(losses, eta, 1 - share - other, other)
        for t, (row, exact) in enumerate(zip(losses, recursion, strict=True), start=1):
            paths.advance(weights, quantise_losses(row[None]) / LOSS_UNITS)
            if t % 40 == 0:
                error = metric(weights, exact) / (2 * hilbert_error(n) * t)
                assert error <= 1
                worst = max(worst, error)
    assert worst > 1e-7, "errors are seen"
