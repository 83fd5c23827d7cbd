"""Theorem 3.12 on a set for which tacit has no sampler: a triangle, drawn from by exact rejection."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pytest

from tacit.accounting.curves import ROUND_UP, Gaussian
from tacit.accounting.guarantee import ZERO_OUT
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.algorithms.convex.l2p_convex.l2p_convex import gibbs_regret
from tacit.algorithms.measures import L2PMeasure, OwnMeasure
from tacit.domains import Ball, Polytope
from tacit.losses import ConvexFamily
from tacit.noise.randomness import Randomness
from tacit.problems import Convex, Problem

TRIANGLE = Polytope(np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class GibbsOnTriangle(OwnMeasure):
    """exp(-rate (sum of <z, x> + weight |x|^2)), slopes z of norm at most 1."""

    rate: float
    weight: float
    diameter: float = sqrt(2.0)
    feedback_shape: tuple = (2,)

    @property
    def limit(self):
        return self.rate * self.diameter

    def slopes(self, feedback):
        return feedback / np.maximum(1.0, np.linalg.norm(feedback, axis=-1, keepdims=True))

    def log_factor(self, decision, feedback):
        return -self.rate * float(self.slopes(feedback) @ decision)

    def sample(self, history, generator):
        centre = -self.slopes(history).sum(axis=0) / (2 * self.weight)
        while True:
            point = centre + generator.standard_normal(2) / sqrt(2 * self.rate * self.weight)
            if point.min() >= 0 and point.sum() <= 1:
                return point

    def draw_curve(self, relation, rounds_per_person):
        return Gaussian(rounds_per_person * relation.sides / 2 * sqrt(2 * self.rate / self.weight) * ROUND_UP)

    def regret(self, rounds, batch):
        problem = Convex(domain=TRIANGLE, loss=ConvexFamily(1.0, 0.0, "linear"), horizon=rounds)
        return gibbs_regret(problem, self.rate, self.weight, batch)


@pytest.mark.parametrize("options", [{}, {"relation": ZERO_OUT}, {"rounds_per_person": 2}], ids=str)
def test_the_accounting_is_that_of_balls_and_boxes(options):
    ball = Convex(domain=Ball(2, sqrt(0.5)), loss=ConvexFamily(1.0, 0.0, "linear"), horizon=500)
    rate, weight = 0.05, 30.0
    there = L2PConvex(
        ball, rate=rate, regularisation=weight, force=0.2, clip=rate * sqrt(2.0), batch=2, work_limit=None,
        sampler_distance=1e-12, **options,
    )  # fmt: skip
    here = L2PMeasure(Problem(horizon=500), GibbsOnTriangle(rate, weight), force=0.2, batch=2, **options)
    orders = np.array([2.0, 8.0, 32.0])
    np.testing.assert_allclose(here.curve.renyi(orders), there.exact_curve.renyi(orders), rtol=1e-9)


def test_points_stay_in_the_triangle_and_regret_below_its_bound():
    plan = L2PMeasure(Problem(horizon=400), GibbsOnTriangle(0.3, 40.0), force=0.1)
    generator = Randomness.replayable(1).stream("slopes")
    slopes = generator.standard_normal((400, 2)) * 0.3 + np.array([0.02, -0.03])  # far slopes are hardly ever accepted
    points = plan.start(Randomness.replayable(2)).run(slopes)
    assert all(TRIANGLE.contains(point) for point in points)
    clipped = plan.measure.slopes(slopes)
    best = float(clipped.sum(axis=0) @ TRIANGLE.minimize_linear(clipped.sum(axis=0)))
    assert float(np.sum(points * clipped)) - best <= float(plan.regret_bound)
