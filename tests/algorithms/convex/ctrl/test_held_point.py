"""The coins: log ratios against the numerical density of the perturbed minimiser, and single rounds against blocks."""

import numpy as np
import pytest

import tacit
from tacit.algorithms.convex.ctrl.coupled import Coins, held_point
from tacit.domains import Ball, Simplex
from tacit.noise.randomness import Randomness
from tacit.solvers.loss_sums import hull_rows, loss_sum
from tacit.solvers.minimum import perturbed_minimum

RIDGE, WEIGHT = 5.0, 0.3


def coins(clocks, log_phi, sigma, following=None, d=1):
    count = len(clocks)
    after = sigma if following is None else following
    return Coins(
        clocks=np.asarray(clocks, dtype=float),
        hazard=0.0,
        log_phi=np.full(count, log_phi),
        precision=np.full(count, 1 / (2 * after**2)),
        drop=np.full(count, 1 / (2 * sigma**2) - 1 / (2 * after**2)),
        spread=np.full(count, d * np.log(after / sigma)),
    )


def density(losses, domain, x, sigma):
    """ln of the density at x, from the Jacobian of Z -> minimiser, measured by solving (Richardson differences)."""
    d = losses.dimension
    barrier = domain.hull_barrier
    z = -(losses.gradient(x)[0] + RIDGE * x + WEIGHT * barrier.gradient(x))

    def solve(noise):
        return perturbed_minimum(
            losses, ridge=RIDGE, noise=noise, domain=domain, weight=WEIGHT, accuracy=1e-12, start=x
        ).point

    np.testing.assert_allclose(solve(z), x, atol=1e-11)
    jacobian = np.empty((d, d))
    for i, axis in enumerate(np.eye(d)):
        wide, narrow = (((solve(z + h * axis) - solve(z - h * axis)) / (2 * h)) for h in (0.02, 0.01))
        jacobian[:, i] = (4 * narrow - wide) / 3
    return -(z @ z) / (2 * sigma**2) - d * np.log(sigma) - np.linalg.slogdet(jacobian)[1]


def held_at(loss, losses, domain, x):
    held = held_point(loss, losses.dimension)
    barrier = domain.hull_barrier
    gradient = losses.gradient(x)[0] + RIDGE * x + WEIGHT * barrier.gradient(x)
    curvature = losses.hessian(x) + WEIGHT * barrier.hessian(x) + RIDGE * np.eye(losses.dimension)
    held.reset(x, gradient, curvature)
    return held


def log_ratio(loss, losses, domain, x, rows, sigma, following=None):
    """The log ratio of the last row, read off the clock at which its coin turns (all earlier rows are kept)."""
    low, high = 0.0, 20.0
    for _ in range(60):
        clock = (low + high) / 2
        held = held_at(loss, losses, domain, x)
        steady = coins(np.full(len(rows) - 1, np.inf), 10.0, sigma)
        assert held.scan(rows[:-1], steady) == len(rows) - 1
        if held.scan(rows[-1:], coins([clock], 10.0, sigma, following, losses.dimension)):
            high = clock
        else:
            low = clock
    return 10.0 - low


def rounds_of(loss, vectors, generator):
    """Data of the loss made of these vectors."""
    return (vectors, np.sign(generator.standard_normal(len(vectors)))) if loss.family == "glm" else vectors


@pytest.mark.parametrize("domain", [Ball(1), Ball(2), Simplex(3)], ids=repr)
@pytest.mark.parametrize(
    "loss",
    [
        tacit.losses.LogisticLoss(),
        tacit.losses.SquaredLoss(),
        tacit.losses.LinearLoss(),
        tacit.losses.QuadraticLoss(0.5),
    ],
    ids=repr,
)
def test_coins_know_the_density_ratio(loss, domain):
    generator = Randomness.replayable(3).stream("ratio")
    n = domain.dimension
    vectors = generator.standard_normal((9, n))
    rows = hull_rows(loss, domain, loss.pack(rounds_of(loss, vectors, generator), n, many=True))
    sums = [loss_sum(loss, domain.hull_dimension) for _ in range(3)]
    for total, count in zip(sums, (5, 8, 9), strict=True):
        total.add(rows[:count])
    x = 0.1 * generator.standard_normal(domain.hull_dimension)
    for sigma, following in ((1.5, 1.5), (1.5, 1.7)):
        exact = density(sums[2], domain, x, following) - density(sums[1], domain, x, sigma)
        # Held since five rounds: three kept rounds are absorbed by incremental updates first.
        found = log_ratio(loss, sums[0], domain, x, rows[5:], sigma, following)
        assert found == pytest.approx(exact, abs=1e-6)
        assert abs(found) > 1e-3


@pytest.mark.parametrize(
    "loss", [tacit.losses.LogisticLoss(), tacit.losses.LinearLoss(), tacit.losses.QuadraticLoss()], ids=repr
)
def test_blocks_equal_single_rounds_to_the_bit(loss):
    generator = Randomness.replayable(4).stream("blocks")
    domain, d = Ball(7), 7
    vectors = generator.standard_normal((200, d))
    rows = hull_rows(loss, domain, loss.pack(rounds_of(loss, vectors, generator), d, many=True))
    losses = loss_sum(loss, d)
    one, many = (held_at(loss, losses, domain, np.full(d, 0.05)) for _ in range(2))
    clocks = np.full(200, np.inf)
    assert many.scan(rows, coins(clocks, 0.5, 30.0)) == 200
    for row in range(200):
        assert one.scan(rows[row : row + 1], coins(clocks[:1], 0.5, 30.0)) == 1
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(value, many.state_dict()[name])


def test_inverse_stays_accurate():
    generator = Randomness.replayable(4).stream("inverse")
    domain, loss, d = Ball(6), tacit.losses.LogisticLoss(), 6
    features = generator.standard_normal((2000, d))
    rows = hull_rows(loss, domain, loss.pack((features, np.sign(features[:, 0])), d, many=True))
    losses = loss_sum(loss, d)
    x = np.full(d, 0.1)
    held = held_at(loss, losses, domain, x)
    held.scan(rows, coins(np.full(2000, np.inf), 0.5, 30.0))
    losses.add(rows)
    fresh = held_at(loss, losses, domain, x).state_dict()
    kept = held.state_dict()
    np.testing.assert_allclose(np.tril(kept["_inverse"]), np.tril(fresh["_inverse"]), atol=1e-14)
    np.testing.assert_allclose(kept["_gradient"], fresh["_gradient"], atol=1e-11)
