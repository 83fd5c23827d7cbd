"""Hedge on sums of what a user's own matrix makes of losses: Lemmas 16 and 30."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.algorithms.experts import HedgeOnSums
from tacit.auditing import attacks
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, LaplaceTree
from tacit.problems import Experts

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
N = 17
DIFFERENCES = np.diff(np.eye(N), axis=0)  # of neighbours: small for losses that vary slowly from expert to expert
SLOW = 1 / np.sqrt(N - 1)  # the largest |M l| of losses that vary by at most 1/(N - 1) from one to the next


def plan(horizon=2_000, **options):
    given = {**PRIVACY, "matrix": DIFFERENCES, "norm": SLOW, **options}
    return HedgeOnSums.calibrate(Experts(n=N, horizon=horizon), **given)


def test_a_matrix_that_fits_the_losses_needs_less_noise():
    plain = HedgeOnSums.calibrate(Experts(n=N, horizon=20_000), **PRIVACY)
    assert float(plan(20_000).regret_bound) < 0.85 * float(plain.regret_bound)
    identity = plan(20_000, matrix=np.eye(N), norm=np.sqrt(N) / 2)
    assert float(identity.regret_bound) <= float(plain.regret_bound) * 1.01
    assert tacit.verify(tacit.contract(plan(2_000))).exit_code == 0
    assert "entries), norm=0.25" in plan().explain()


@pytest.mark.parametrize("numerics", ["exact", "float"])
def test_without_noise_it_is_hedge_on_the_losses(numerics):
    made = plan(60, numerics=numerics)
    losses = np.abs(np.linspace(0, 1, N) - np.linspace(0.2, 0.6, 60)[:, None])
    noisy, silent = made.start(Randomness.replayable(1)), made.start(Randomness.replayable(1))
    noisy.run(losses[:58])
    silent.run(np.full((58, N), 0.5))
    seen = [learner._coordinates.back(learner._sums.add(np.zeros(N - 1))) for learner in (noisy, silent)]
    found, wanted = seen[0] - seen[1], losses[:58].sum(axis=0)
    np.testing.assert_allclose(found - found.mean(), wanted - wanted.mean(), atol=1e-5)


@pytest.mark.parametrize("numerics", ["exact", "float"])
def test_products_are_clipped_so_that_privacy_rests_on_no_promise(numerics):
    """Losses that jump have |M l| = 4, sixteen times the norm; what is summed has the norm all the same."""
    made = plan(12, numerics=numerics)
    jumps = np.arange(N) % 2
    assert np.linalg.norm(DIFFERENCES @ jumps) == 4.0
    assert np.linalg.norm(made.coordinates.clipped(jumps.astype(float), SLOW)) <= SLOW * (1 + 1e-12)
    small = next(small for small in made.small_instances() if small.attack == "replayed noise")
    found = attacks.replayed(small, Randomness.replayable(2).stream("x"), pairs=12)
    assert not found.violation


def test_mean_regret_is_under_the_certificate():
    made = plan(2_000, epsilon=2.0)
    centres = Randomness.replayable(3).stream("losses").random(2_000)
    losses = np.abs(np.linspace(0, 1, N) - 0.3 - 0.2 * centres[:, None])
    regrets = []
    for seed in range(5):
        played = made.run(losses, Randomness.replayable(seed))
        regrets.append(losses[np.arange(2_000), played].sum() - losses.sum(axis=0).min())
    assert np.mean(regrets) <= float(made.regret_bound)


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ({"matrix": np.ones((3, N))}, "tell all losses apart"),
        ({"matrix": DIFFERENCES[:-1]}, "tell all losses apart"),
        ({"matrix": np.full((N, N), np.nan)}, "finite"),
        ({"matrix": np.eye(N - 1)}, "matrix"),
        ({"norm": None}, "together"),
        ({"matrix": None}, "together"),
        ({"norm": 0.0}, "norm"),
        ({"mechanism": LaplaceTree.best(1_999)}, "Gaussian"),
    ],
)
def test_refusals(bad, match):
    with pytest.raises(InvalidInput, match=match):
        plan(**bad)


def test_a_copy_of_the_matrix_is_checked_and_used():
    given = DIFFERENCES.copy()
    made = HedgeOnSums(Experts(n=N, horizon=10), 0.1, Buffered(9), 1.0, matrix=given, norm=1.0)
    given[:] = 0.0
    assert made == replace(made)
    assert made.coordinates.error < 1e-9
