"""The certified samplers against laws known in closed form or by integration.

Every distribution test has a false-alarm rate of at most 1e-6 and also rejects a planted error.
"""

from dataclasses import replace
from math import log, pi, sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from tacit.algorithms.convex.l2p_convex.measure import sample_interval
from tacit.algorithms.convex.l2p_convex.proximal import (
    ProximalSampler,
    _inside_probability,
    certified_sampler,
    truncated_normal,
)
from tacit.domains import Ball, Box
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness

RATE = 1e-6
Z = 4.9  # two-sided normal quantile of that rate


def kolmogorov_limit(count, slack=0.0):
    """Dvoretzky, Kiefer and Wolfowitz: exceeded with probability at most RATE; `slack` allows a sampler's error."""
    return sqrt(log(2 / RATE) / (2 * count)) + slack


def kolmogorov(uniforms):
    """The largest gap between the empirical and the uniform distribution function."""
    ordered = np.sort(uniforms)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


class Linear:
    def __init__(self, slope):
        self.slope = np.asarray(slope)

    def value(self, points):
        return points @ self.slope

    def gradient(self, point):
        return self.slope


class Kinked:
    """steepness * |x_0 - kink|, or its Huber version: convex, Lipschitz, with or without a kink."""

    def __init__(self, steepness, kink, smoothing=0.0):
        self.steepness, self.kink, self.smoothing = steepness, kink, smoothing

    def value(self, points):
        gap = np.abs(points[:, 0] - self.kink)
        inner = np.minimum(gap, self.smoothing)
        rounded = inner * (gap - inner / 2) / self.smoothing if self.smoothing else gap
        return self.steepness * rounded

    def gradient(self, point):
        gap = point[0] - self.kink
        slope = np.clip(gap / self.smoothing, -1, 1) if self.smoothing else np.sign(gap)
        return np.append(self.steepness * slope, np.zeros(len(point) - 1))


def draws(sampler, potential, count, seed=1):
    generator = Randomness.replayable(seed).stream("draw")
    return np.array([sampler.sample(potential, generator) for _ in range(count)])


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_a_truncated_gaussian_law_is_met_and_half_the_steps_are_rejected(shape):
    # N((8, 0), I), cut off by the ball at |x| = 9.5, or by the box at |x_1| = 1/2.
    edge, count = 9.5, 300
    domain = Ball(2, edge) if shape == "ball" else Box([-14.0, -0.5], [14.0, 0.5])
    ends = float(domain.high[0]) if shape == "box" else edge
    axis = np.linspace(-ends, ends, 40_001)
    density = np.exp(-((axis - 8.0) ** 2) / 2)
    if shape == "ball":
        density *= 2 * ndtr(np.sqrt(np.maximum(0.0, edge**2 - axis**2))) - 1
        volume, spread = pi * edge**2, edge**2 / 2
    else:
        density *= 2 * ndtr(0.5) - 1
        volume, spread = 28.0, (14.0**2 + 0.25) / 3
    table = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1]) / 2]) * (axis[1] - axis[0])
    sampler = certified_sampler(
        domain,
        strength=1.0,
        lipschitz=8.0,
        smoothness=0.0,
        divergence=(64 + spread) / 2 + log(table[-1] * sqrt(2 * pi) / volume),  # exact, for the uniform start
        distance=0.04,
        step=0.5,
    )

    def uniforms(made):
        drawn = draws(made, Linear([-8.0, 0.0]), count)
        return np.interp(drawn[:, 0], axis, table / table[-1]), drawn[:, 1]

    first, second = uniforms(sampler)
    assert abs(first.mean() - 0.5) * sqrt(12 * count) < Z
    assert kolmogorov(first) < kolmogorov_limit(count, sampler.distance)
    if shape == "box":
        across = (ndtr(second) - ndtr(-0.5)) / (ndtr(0.5) - ndtr(-0.5))
        assert kolmogorov(across) < kolmogorov_limit(count, sampler.distance)
    half, _ = uniforms(replace(sampler, steps=sampler.steps // 2))
    assert abs(half.mean() - 0.5) * sqrt(12 * count) > Z


@pytest.mark.parametrize(("smoothing", "domain"), [(0.0, Box.cube(2)), (0.4, Box.cube(2)), (0.4, Ball(2))])
def test_rejection_makes_the_law_of_a_kinked_potential_and_its_absence_is_noticed(smoothing, domain):
    steepness, strength, count = 6.0, 4.0, 300
    # A few long steps, many tries each: the law is right only if rejection is.
    sampler = ProximalSampler(domain, strength, 1.0, steps=5, refinements=0, tries=1000, acceptance=0.1, distance=0.01)
    potential = Kinked(steepness, 0.3, smoothing)
    axis = np.linspace(-1, 1, 20_001)
    density = np.exp(-potential.value(axis[:, None]) - strength / 2 * axis**2)
    if isinstance(domain, Ball):
        density *= 2 * ndtr(np.sqrt(1 - axis**2) * sqrt(strength)) - 1
    table = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    table /= table[-1]

    def gap(made, seed):
        return kolmogorov(np.interp(draws(made, potential, count, seed)[:, 0], axis, table))

    assert gap(sampler, 1) < kolmogorov_limit(count, sampler.distance)

    class Careless(Kinked):
        """Its values are its linearisations, so that every proposal is accepted."""

        def value(self, points):
            return points @ self.gradient(self.last)

        def gradient(self, point):
            self.last = point
            return super().gradient(point)

    drawn = draws(sampler, Careless(steepness, 0.3, smoothing), count)
    assert kolmogorov(np.interp(drawn[:, 0], axis, table)) > kolmogorov_limit(count, sampler.distance)


def test_the_certified_acceptance_is_a_lower_bound():
    generator = Randomness.replayable(2).stream("x")
    for dimension, mean, scale in ((2, 0.9, 0.3), (3, 1.4, 0.2), (8, 1.1, 0.1), (5, 0.0, 0.5)):
        points = scale * generator.standard_normal((40_000, dimension))
        ends = np.array(-1.0), np.array(1.0)
        points[:, 0] = truncated_normal(np.array(mean), scale, *ends, generator, (40_000,))
        share = float(((points**2).sum(axis=1) <= 1).mean())
        bound = _inside_probability(Ball(dimension), mean, scale)
        assert 0.8 * share - 0.02 < bound < share + Z * 0.5 / sqrt(40_000)


def test_the_number_of_steps_is_the_certificate():
    made = certified_sampler(
        Box.cube(2), strength=2.0, lipschitz=1.0, smoothness=0.0, divergence=100.0, distance=1e-6, step=0.1
    )
    assert 100.0 * (1 + 0.2) ** (-2 * made.steps) <= 2 * (made.distance / 2) ** 2
    assert 100.0 * (1 + 0.2) ** (-2 * (made.steps - 1)) > 2 * (made.distance / 2) ** 2
    assert made.steps * (1 - made.acceptance) ** made.tries <= made.distance / 4


@pytest.mark.parametrize(
    ("mean", "low", "high"), [(0.0, -1.0, 1.0), (-9.0, -1.0, 1.0), (30.0, -1.0, 1.0), (0.0, 0.5, np.inf)]
)
def test_truncated_normals_are_exact_in_the_tails(mean, low, high):
    generator = Randomness.replayable(3).stream("x")
    drawn = truncated_normal(np.array(mean), 1.0, np.array(low), np.array(high), generator, (20_000,))
    assert drawn.min() >= low
    assert drawn.max() <= high
    flip = -1.0 if mean > high else 1.0  # work in the left tail of the standard normal
    ends = sorted((flip * (low - mean), flip * (high - mean)))
    ends = [-e for e in reversed(ends)] if ends[0] > 0 else ends
    inside = flip * (drawn - mean)
    inside = -inside if inside.min() > 0 else inside
    uniforms = (ndtr(inside) - ndtr(ends[0])) / (ndtr(ends[1]) - ndtr(ends[0]))
    assert kolmogorov(uniforms) < kolmogorov_limit(20_000)


@pytest.mark.parametrize(
    ("case", "cells"),
    [("smooth", 4), ("smooth", 64), ("kinked", 3), ("kinked", 64), ("steep", 32), ("flat", 3), ("needle", 4)],
)
def test_draws_on_an_interval_are_exact_and_unexamined_ones_are_not(case, cells):
    functions = {
        "smooth": (lambda x: 2 * (x - 0.3) ** 4 + np.logaddexp(0, 5 * x), 48.0),
        "kinked": (lambda x: 9 * np.abs(x - 0.13) + 6 * np.abs(x + 0.4) + x**2, 20.0),
        "steep": (lambda x: 40 * (x + 1) + 5 * x**2, 60.0),
        "flat": (lambda x: 0.0 * x, 0.0),
        "needle": (lambda x: 1e6 * (x - 0.13) ** 2 + np.abs(x), 3.8e6),  # far narrower than a cell
    }
    (function, steepest), count = functions[case], 2000
    nodes = np.linspace(-1, 2, cells + 1)
    axis = np.linspace(-1, 2, 400_001)
    density = np.exp(-function(axis) + function(axis).min())
    table = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    table /= table[-1]

    def gap(exact):
        generator = Randomness.replayable(4).stream("x")
        drawn = [sample_interval(nodes, function(nodes), steepest, exact, generator) for _ in range(count)]
        return kolmogorov(np.interp(drawn, axis, table))

    assert gap(lambda x: float(function(np.array(x)))) < kolmogorov_limit(count)
    if cells < 5 and case != "flat":
        assert gap(lambda x: -np.inf) > kolmogorov_limit(count)  # every proposal of the hull accepted


def test_errors():
    common = {"strength": 1.0, "lipschitz": 1.0, "smoothness": 1.0, "divergence": 1.0, "distance": 0.1}
    for name, bad in (
        ("strength", 0.0),
        ("lipschitz", -1.0),
        ("smoothness", -1.0),
        ("divergence", 0.0),
        ("distance", 1.0),
        ("step", 0.0),
    ):
        with pytest.raises(InvalidInput, match=f"'{name}' parameter of certified_sampler"):
            certified_sampler(Ball(2), **{**common, name: bad})
    with pytest.raises(PrivacyError, match="certified acceptance probability"):
        certified_sampler(Ball(2), **{**common, "lipschitz": 1e9, "smoothness": np.inf, "step": 1.0})


def test_the_start_of_a_ball_is_uniform():
    sampler = ProximalSampler(Ball(2, 14.0), 1.0, 0.5, steps=0, refinements=0, tries=2, acceptance=1.0, distance=0.1)
    drawn = draws(sampler, Linear([0.0, 0.0]), 2000)
    assert kolmogorov((drawn**2).sum(axis=1) / 14.0**2) < kolmogorov_limit(2000)
    assert kolmogorov(np.arctan2(drawn[:, 1], drawn[:, 0]) / (2 * pi) + 0.5) < kolmogorov_limit(2000)
