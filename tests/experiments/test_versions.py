"""The learner for versions: the fit, shares, results, checks."""

import numpy as np
import pytest
from scripts.reproduce.live_arms import month

from tacit.errors import InvalidInput
from tacit_experiments.versions import (
    LENGTHS,
    WHOLE,
    Releases,
    best,
    fit,
    loss_so_far,
    next_shares,
    noise_deviation,
    policy,
    result,
    sample_ratio,
    version_length,
)

RATES = np.array([0.028, 0.030, 0.031, 0.033, 0.034, 0.040])


def releases(sums, shares, people, deviation=0.0) -> Releases:
    sums = np.asarray(sums, dtype=float)
    return Releases(sums, shares, np.ones(sums.shape, bool), np.full(len(sums), deviation**2), people)


def test_the_fit_removes_levels_that_are_common() -> None:
    """Without noise the differences of means are exact, however levels and shares move."""
    shares = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
    means = np.array([0.02, 0.05, 0.03]) + np.array([[0.0], [0.3], [0.1]])
    found = fit(releases(means * shares * 1e9, shares, 1e9))
    np.testing.assert_allclose(found.means - found.means[0], [0.0, 0.03, 0.01], atol=1e-6)
    assert best(found, [0, 1, 2]) == {0: 0.0, 1: 1.0, 2: 0.0}
    assert best(found, [0, 2]) == {0: 0.0, 2: 1.0}


def test_shares() -> None:
    active, served = np.ones(4, bool), np.full(4, 0.25)
    nothing = Releases(np.zeros((0, 4)), np.zeros((0, 4)), np.zeros((0, 4), bool), np.zeros(0), 100.0)
    np.testing.assert_allclose(next_shares(nothing, active=active, served=served), 0.25)
    sums = np.array([[100.0, 900.0, 100.0, 100.0]])
    seen = releases(sums, served[None], 10_000)
    p = next_shares(seen, active=active, served=served)
    assert p.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(p[[0, 2, 3]], [0.2, 0.0625, 0.0625], atol=1e-9)  # held; a quarter is kept
    p = next_shares(seen, active=active, served=served, beaten=True, kept=0.0)
    np.testing.assert_allclose(p[[0, 2, 3]], 0.0025, atol=1e-9)
    five = Releases(
        np.append(sums, [[0.0]], axis=1), np.append(served[None], [[0.0]], axis=1), np.ones((1, 5), bool), [0.0], 1e4
    )
    p = next_shares(five, active=np.ones(5, bool), served=np.append(served, 0.0), beaten=True, kept=0.0)
    assert p[4] == pytest.approx(0.2, abs=0.01)
    ends = policy(p)
    assert ends[-1] == WHOLE
    np.testing.assert_allclose(np.diff(ends, prepend=0) / WHOLE, p, atol=1e-9)
    killed = np.array([True, True, False, True])
    assert next_shares(seen, active=killed, served=served)[2] == 0


def test_results() -> None:
    shares = np.full((5, 2), 0.5)
    clear = result(releases(np.tile([300.0, 400.0], (5, 1)), shares, 20_000, 5.0), 1)
    assert clear.verdict == "better"
    assert clear.effect == pytest.approx(0.01)
    assert clear.low < clear.effect < clear.high
    assert clear.lift is not None
    assert clear.lift[0] < 1 / 3 < clear.lift[1]
    assert result(releases(np.tile([400.0, 300.0], (5, 1)), shares, 20_000, 5.0), 1).verdict == "worse"
    assert result(releases(np.tile([300.0, 305.0], (5, 1)), shares, 20_000, 5.0), 1).verdict == "open"
    assert result(releases(np.tile([3.0, 1.0], (1, 1)), shares[:1], 200, 50.0), 1).lift is None
    nothing = Releases(np.zeros((1, 2)), np.array([[1.0, 0.0]]), np.ones((1, 2), bool), [1.0], 100.0)
    assert result(nothing, 1).verdict == "open"


def test_sample_ratios() -> None:
    shares = np.full((20, 2), 0.5)
    right = np.random.default_rng(1).binomial(10_000, 0.5, 20)
    counts = np.stack([right, 10_000 - right], axis=1)
    assert not sample_ratio(counts, shares).any()
    counts[:, 1] = (0.95 * counts[:, 1]).astype(int)
    assert sample_ratio(counts, shares).all()


@pytest.mark.parametrize(
    ("epsilon", "versions", "laplace", "gauss"),
    [(0.5, 5, 14.1, 18.0), (1.0, 5, 7.07, 9.45), (1.0, 30, 42.4, 23.1), (2.0, 30, 21.2, 12.2), (1.0, 31, 43.8, 23.5)],
)
def test_noise(epsilon: float, versions: int, laplace: float, gauss: float) -> None:
    kind, deviation = noise_deviation(versions, epsilon, 1e-6)
    assert deviation == pytest.approx(min(laplace, gauss), rel=0.01)
    assert kind == ("laplace" if laplace < gauss else "gaussian")
    assert noise_deviation(versions, epsilon, 0.0)[1] == pytest.approx(laplace, rel=0.01)


def test_lengths() -> None:
    assert version_length(3, 2_000_000, 0.03, 1.0) == 1
    assert version_length(3, 20_000, 0.03, 1.0) == 3
    assert version_length(3, 200, 0.005, 1.0) == max(LENGTHS)


def test_bad_releases_are_refused() -> None:
    with pytest.raises(InvalidInput, match="truth value"):
        Releases(np.zeros((1, 2)), np.zeros((1, 2)), np.ones((1, 3), bool), np.zeros(1), 1.0)
    with pytest.raises(InvalidInput):
        Releases(np.zeros((1, 2)), np.zeros((1, 2)), np.ones((1, 2), bool), np.zeros(1), 0.0)


def test_day_levels_do_not_matter() -> None:
    closed = [month(RATES, 200_000, [5, run], levels=0.3, hold=0.0, kept=0.0)[0] for run in range(8)]
    assert np.mean(closed) > 0.94
    held = [month(RATES, 200_000, [6, run], levels=0.3, lag=2)[0] for run in range(8)]
    assert np.mean(held) > 0.88


@pytest.mark.slow
def test_equal_arms_are_rarely_declared_different() -> None:
    traffic = np.random.default_rng(4).lognormal(0, 0.5, 30)
    false = sum(month(np.full(3, 0.03), 20_000, [7, run], traffic=traffic)[2] for run in range(150))
    assert false <= 17  # more than 17 of 150 has probability 5e-4 at .05


def test_an_arm_that_loses_replies_loses_traffic() -> None:
    lost = np.array([0.0, 0.12, 0.0])
    last = [month(np.full(3, 0.03), 200_000, [8, run], lost=lost)[1][1] for run in range(6)]
    assert max(last) < 0.05


def test_the_loss_so_far_is_bounded() -> None:
    for run in range(3):
        *_, seen, lost = month(np.array([0.03, 0.033, 0.036]), 200_000, [9, run])
        assert lost < loss_so_far(seen) < 12_000
