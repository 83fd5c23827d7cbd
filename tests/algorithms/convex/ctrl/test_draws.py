"""Every draw of the shipped learner: all losses so far under fresh noise, minimised and covered as certified."""

import numpy as np
import pytest

from tacit.algorithms.convex.ctrl import CTRL, coupled
from tacit.auditing.script import swapped
from tacit.auditing.statistics import normal_surprises, worst_surprise
from tacit.domains import Ball
from tacit.losses import LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex


@pytest.mark.parametrize(("loss", "rounds"), [(QuadraticLoss(), 1400), (LogisticLoss(), 300)], ids=["quadratic", "glm"])
def test_draws_are_those_of_the_certificate(loss, rounds):
    problem = Convex(domain=Ball(2), loss=loss, horizon=rounds)
    plan = CTRL(problem, eta=1.0, sigma=2 * problem.lipschitz, force=0.9, log_phi=0.3)
    barrier, ridge = plan.domain.hull_barrier, np.eye(2) / plan.eta
    drawn, started = [], []
    honest, honest_reset = coupled.perturbed_minimum, coupled.Held.reset

    def minimum(losses, *, noise, **settings):
        found = honest(losses, noise=noise, **settings)
        x = found.point
        slope = losses.gradient(x)[0] + ridge @ x + plan.certificate.facts.weight * barrier.gradient(x) + noise
        bend = losses.hessian(x) + ridge + plan.certificate.facts.weight * barrier.hessian(x)
        away = np.linalg.norm(np.linalg.solve(bend, slope))  # a Newton step: how far the exact minimiser is
        drawn.append((losses.count, noise / plan.sigma, away / plan.certificate.accuracy, np.copy(x)))
        return found

    def reset(self, x, gradient, curvature):
        started.append(gradient / plan.sigma)
        honest_reset(self, x, gradient, curvature)
        if loss.family == "glm":  # its determinants come from the inverse
            np.testing.assert_allclose(self._inverse @ curvature, np.eye(2), atol=1e-9)

    vectors = Randomness.replayable(3).stream("data").standard_normal((rounds, 2))
    data = (vectors, np.sign(vectors[:, 0])) if loss.family == "glm" else vectors
    with swapped((coupled, "perturbed_minimum", minimum), (coupled.Held, "reset", reset)):
        points = plan.start(Randomness.replayable(4)).run(data)
    counts, noises, distances, minimisers = (np.array(part) for part in zip(*drawn, strict=True))
    times = [0, *(np.flatnonzero(np.any(np.diff(points, axis=0) != 0, axis=1)) + 1)]
    assert counts.tolist()[: len(times)] == times
    assert len(times) > 0.85 * rounds
    assert distances.max() <= 1
    np.testing.assert_array_equal(started, -noises)  # coins compare gradients at the minimiser, not at its release
    covering = (plan.domain.to_hull(points[times]) - minimisers[: len(times)]) / plan.certificate.release_scale
    for normals in (noises, covering):
        worst, limit = worst_surprise(normal_surprises(normals, "draws"), 1e-7)
        assert worst.value < limit, worst
