import numpy as np
import pytest
from scipy.special import softmax

from tacit.algorithms.bandit.noisy_oco import NoisyOCO, noisy_regret
from tacit.domains import Ball
from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered


def gradients(steps, dimension, name="gradients"):
    return Randomness.replayable(3).stream(name).standard_normal((steps, dimension))


def exact_sums(dimension, steps=300):
    return Buffered(steps).start(dimension, 1.0, np.zeros)


def run(core, rows):
    points = []
    for row in rows:
        points.append(core.point)
        core.observe(row)
    return np.array(points)


def test_without_constraints_the_bound_is_an_identity():
    # Against the comparator -eta S_T the regret is exactly |x*|^2/(2 eta) + (eta/2) sum |g|^2.
    eta, rows = 0.3, gradients(50, 4)
    core = NoisyOCO(steps=50, dimension=4, eta=eta, leader=lambda slope: -slope, sums=exact_sums(4))
    points = run(core, rows)
    best = -eta * rows.sum(axis=0)
    regret = np.sum(rows * (points - best))
    bound = noisy_regret(
        eta=eta, steps=50, spread=float(best @ best) / 2, second_moment=float((rows**2).sum() / 50),
        mean_norm=1.0, map_error=0.0,
    )  # fmt: skip
    assert regret == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_noise_delay_and_a_rough_map_cost_what_the_bound_says(delay):
    steps, eta, ball = 300, 0.02, Ball(2, 0.5)
    rows = gradients(steps, 2) + np.array([0.2, 0.1])
    private = Buffered(steps - 1 - delay)
    stream = Randomness.replayable(8).stream("noise")
    rough = Randomness.replayable(8).stream("rough")
    core = NoisyOCO(
        steps=steps,
        dimension=2,
        eta=eta,
        leader=lambda slope: ball.project(ball.project(-slope) + 0.01 * rough.standard_normal(2)),
        sums=private.start(2, 2.0, private.noise_from(stream)),
        delay=delay,
    )
    points = run(core, rows)
    exact = np.array([ball.project(-eta * s) for s in np.vstack([np.zeros((1, 2)), np.cumsum(rows, axis=0)[:-1]])])
    error = np.sum(np.linalg.norm(rows, axis=1) * np.linalg.norm(points - exact, axis=1))
    best = ball.minimize_linear(rows.sum(axis=0))
    bound = noisy_regret(
        eta=eta, steps=steps, spread=0.125, second_moment=float((rows**2).sum() / steps), mean_norm=1.0, map_error=error
    )
    assert error > 0
    assert np.sum(rows * (points - best)) <= bound


@pytest.mark.parametrize("eta", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("delay", [0, 2])
def test_the_entropic_map_meets_the_same_bound_in_its_own_norms(eta, delay):
    steps, start = 300, np.full(5, 0.2)
    rows = gradients(steps, 5) + np.array([0.3, 0.0, -0.1, 0.0, 0.2])
    core = NoisyOCO(
        steps=steps,
        dimension=5,
        eta=eta,
        leader=lambda slope: softmax(-slope),
        sums=exact_sums(5),
        delay=delay,
        start=start,
    )
    points = run(core, rows)
    exact = np.array([softmax(-eta * s) for s in np.vstack([np.zeros((1, 5)), np.cumsum(rows, axis=0)[:-1]])])
    sizes = np.abs(rows).max(axis=1)
    error = float(np.sum(sizes * np.abs(points - exact).sum(axis=1)))
    assert (error > 0) == (delay > 0)
    best = np.eye(5)[rows.sum(axis=0).argmin()]
    bound = noisy_regret(
        eta=eta, steps=steps, spread=np.log(5), second_moment=float(np.mean(sizes**2)), mean_norm=1.0,
        map_error=error,
    )  # fmt: skip
    assert np.sum(rows * (points - best)) <= bound


@pytest.mark.parametrize("delay", [0, 1, 2])
def test_points_use_the_sum_of_1_plus_delay_steps_before(delay):
    core = NoisyOCO(steps=6, dimension=1, eta=1.0, leader=lambda s: -s, sums=exact_sums(1), delay=delay)
    points = run(core, np.ones((6, 1)))[:, 0]
    np.testing.assert_array_equal(points, [-max(0, t - delay) for t in range(6)])
    assert core.point[0] == -(5 - delay)  # what is left over plays the last point


@pytest.mark.parametrize("delay", [0, 1, 5])
def test_the_sums_get_no_vector_that_no_point_depends_on(delay):
    steps = max(0, 4 - delay)
    private = Buffered(steps)
    sums = private.start(1, 1.0, np.ones)
    core = NoisyOCO(steps=5, dimension=1, eta=1.0, leader=lambda s: -s, sums=sums, delay=delay)
    run(core, np.ones((5, 1)))
    assert sums.step == steps
    with pytest.raises(ProtocolError, match="planned for"):
        sums.add(np.ones(1))


def test_errors():
    def make(**changes):
        values = {"steps": 2, "dimension": 2, "eta": 1.0, "leader": lambda s: -s, "sums": exact_sums(2), "delay": 0}
        return NoisyOCO(**{**values, **changes})

    for name, bad in (("steps", 0), ("eta", 0.0), ("eta", float("nan")), ("delay", -1), ("dimension", 0)):
        with pytest.raises(InvalidInput, match=f"'{name}' parameter of NoisyOCO"):
            make(**{name: bad})
    core = make()
    with pytest.raises(InvalidInput, match="must have shape"):
        core.observe(np.zeros(3))
    run(core, np.zeros((2, 2)))
    with pytest.raises(ProtocolError, match="planned for 2 steps"):
        core.observe(np.zeros(2))
