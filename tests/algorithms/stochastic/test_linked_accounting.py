"""The curve of objective perturbation with linked slope and curvature: exact integrals, numbers, composition."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, ndtr

from tacit.accounting.composition import compose
from tacit.accounting.curves import Curve, Gaussian
from tacit.accounting.objective_perturbation import GaussianAlternatives, LinkedReleases
from tacit.errors import InvalidInput

GRID = np.linspace(-60.0, 60.0, 60_001)
WIDTH = GRID[1] - GRID[0]


def density(records, ridge, sigma):
    gradient, curvature = ridge * GRID, np.full_like(GRID, ridge)
    for v, y in records:
        p = expit(-y * v * GRID)
        gradient, curvature = gradient - y * v * p, curvature + (y * v) ** 2 * p * (1 - p)
    with np.errstate(under="ignore"):
        return np.exp(-((gradient / sigma) ** 2) / 2) / (np.sqrt(2 * np.pi) * sigma) * curvature


@pytest.mark.parametrize("common", [[], [(0.9, 1.0)] * 3, [(1.0, -1.0)] * 8], ids=len)
@pytest.mark.parametrize(("ridge", "sigma"), [(1.0, 2.0), (0.3, 1.0), (5.0, 4.0), (0.05, 2.0)])
def test_exact_integrals_stay_below(common, ridge, sigma):
    records = [(1.0, 1.0), (1.0, -1.0), (-0.5, 1.0), (0.8, 0.5)]
    laws = [density([*common, record], ridge, sigma) for record in records]
    base = density(common, ridge, sigma)
    for replacement in (False, True):
        curve = LinkedReleases(1 / sigma, 0.25 / ridge, replacement, 0.0)
        pairs = product(laws, laws) if replacement else ((law, base) for law in laws)
        for first, second in pairs:
            for epsilon, (p, q) in product((0.0, 0.2, 1.0, 2.0), ((first, second), (second, first))):
                exact = float(np.sum(np.maximum(p - np.exp(epsilon) * q, 0)) * WIDTH)
                assert exact <= curve.delta(epsilon) + 1e-9


def test_the_bound_is_nearly_attained():
    """A record against others of the other label: where it is steep, its slope is all there is."""
    ridge, sigma, shares = 0.5, 2.0, []
    curve = LinkedReleases(1 / sigma, 0.25 / ridge, False, 0.0)
    for count in (0, 4, 20, 60):
        common = [(1.0, -1.0)] * count
        law, base = density([*common, (1.0, 1.0)], ridge, sigma), density(common, ridge, sigma)
        gaps = (np.maximum(p - np.exp(1.0) * q, 0) for p, q in ((law, base), (base, law)))
        shares.append(max(float(np.sum(gap)) for gap in gaps) * WIDTH / curve.delta(1.0))
    assert 0.75 < max(shares) <= 1


@pytest.mark.parametrize(
    ("share", "replacement", "moves"),
    [
        (4, False, (0.0275, 0.2360, 0.641)),
        (4, True, (0.0129, 0.1106, 0.300)),
        (2, False, (0.0235, 0.1967, 0.515)),
        (2, True, (0.0093, 0.0797, 0.218)),
    ],
)
def test_allowed_noise(share, replacement, moves):
    """lambda = beta/(e^{eps/share} - 1), delta = 1e-6: today's curve allows 10 to 40% less."""
    for epsilon, move in zip((0.1, 1.0, 3.0), moves, strict=True):
        growth = float(np.expm1(epsilon / share))
        curve = LinkedReleases(move, growth, replacement, 0.0)
        assert curve.epsilon(1e-6) <= epsilon * 1.004  # the moves are rounded to three digits
        assert LinkedReleases(move * 1.01, growth, replacement, 0.0).epsilon(1e-6) > epsilon
        assert curve.apart.epsilon(1e-6) > 1.1 * epsilon


@pytest.mark.parametrize("normal", [-6.0, -1.0, 0.0, 2.5, 9.0])
@pytest.mark.parametrize(("move", "growth"), [(0.2, 0.3), (0.01, 0.05), (1.5, 8.0), (0.5, 0.0)])
def test_the_largest_log_ratio(move, growth, normal):
    curve = LinkedReleases(move, growth, False, 0.0)
    got = curve._linked(np.array([normal]))[0]
    a = np.linspace(0, 1, 200_001)
    exact = np.max(np.log1p(4 * growth * a * (1 - a)) + a**2 * move**2 / 2 + a * move * normal)
    assert exact <= got <= exact + 1e-4 * (1 + growth)


@pytest.mark.parametrize("replacement", [False, True])
def test_deltas_in_high_precision(replacement):
    move, growth, epsilon = 0.3, 0.4, 0.8
    curve = LinkedReleases(move, growth, replacement, 0.0)
    normal = np.linspace(-10, 10, 200_001)
    weight = np.exp(-(normal**2) / 2) / np.sqrt(2 * np.pi) * (normal[1] - normal[0])
    losses = [curve._linked(normal[::50])]
    fine = np.interp(normal, normal[::50], losses[0])
    exact = float(np.sum(weight * np.maximum(0, -np.expm1(epsilon - fine))))
    if replacement:
        both = move**2 / 2 + move * normal + np.interp(normal + move, normal, fine)
        exact += float(np.sum(weight * np.maximum(0, -np.expm1(epsilon - both))))
    assert exact * (1 - 1e-4) <= curve.delta(epsilon) <= exact * 1.01


def test_two_releases_are_two_independent_losses():
    """Zero-out: the loss of a release is Lam(n), so two of them are a double integral."""
    move, growth, epsilon = 0.4, 0.2, 1.0
    curve = LinkedReleases(move, growth, False, 0.0, 2)
    normal = np.linspace(-9, 9, 2001)
    loss = curve._linked(normal)
    weight = np.diff(ndtr(normal), append=1.0)
    exact = float(weight @ np.maximum(0, -np.expm1(epsilon - loss[:, None] - loss)) @ weight)
    assert exact * 0.98 <= curve.delta(epsilon) <= exact * 1.03
    assert curve.epsilon(1e-6) < 0.97 * curve.apart.epsilon(1e-6)


def test_protection_is_a_gaussian_step():
    """Without any record's move only the protection is left."""
    curve = LinkedReleases(1e-9, 0.0, False, 0.3, 4)
    for epsilon in (0.2, 1.0, 2.0):
        exact = Gaussian(0.6).delta(epsilon)
        assert exact <= curve.delta(epsilon) * (1 + 1e-6) <= exact * 1.03


@pytest.mark.parametrize("name", ["move", "growth", "protection", "releases"])
@pytest.mark.parametrize("replacement", [False, True])
def test_monotone(name, replacement):
    base = {"move": 0.2, "growth": 0.3, "protection": 0.02, "releases": 2}
    values = {"releases": (1, 2, 3)}.get(name, (0.01, 0.1, 0.4))
    curves = [LinkedReleases(replacement=replacement, **{**base, name: value}) for value in values]
    for delta in (1e-9, 1e-6, 1e-2):
        epsilons = [curve.epsilon(delta) for curve in curves]
        assert epsilons == sorted(epsilons)
        for curve, epsilon in zip(curves, epsilons, strict=True):
            assert curve.delta(epsilon) <= delta * (1 + 1e-6)
            assert epsilon <= curve.apart.epsilon(delta)
    assert all(curve.delta(0.3) <= curve.apart.delta(0.3) for curve in curves)


def test_tiny_deltas_and_pure_are_those_of_the_parts():
    curve = LinkedReleases(0.2, 0.3, True, 0.01)
    assert curve.epsilon(1e-15) == curve.apart.epsilon(1e-15)
    assert curve.epsilon(0.0) == curve.pure() == np.inf
    assert curve.delta(100.0) == curve.apart.delta(100.0)
    loud = LinkedReleases(1000.0, 0.1, True, 50.0)
    assert loud.delta(1.0) == loud.apart.delta(1.0)
    assert loud.epsilon(1e-6) == loud.apart.epsilon(1e-6)


def test_composition():
    one = LinkedReleases(0.2, 0.3, True, 0.01)
    assert compose([one, one]).joint == LinkedReleases(0.2, 0.3, True, 0.01, 2)
    other = compose([one, LinkedReleases(0.1, 0.3, True, 0.01), Gaussian(0.1)])
    assert isinstance(other.joint, GaussianAlternatives)
    assert Curve.from_dict(one.to_dict()) == one
    for bad in ({"move": -1.0}, {"growth": np.nan}, {"releases": 0}):
        with pytest.raises(InvalidInput):
            LinkedReleases(**{"move": 0.1, "growth": 0.1, "replacement": True, "protection": 0.0, **bad})
