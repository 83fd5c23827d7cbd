"""CTRL's privacy: the draw's curve against integrated divergences, the drift of later coins, a whole transcript."""

from itertools import product

import mpmath
import numpy as np
import pytest

from tacit.accounting.curves import Curve
from tacit.accounting.guarantee import REPLACE, ZERO_OUT
from tacit.accounting.perturbed_minimisers import PerturbedMinimiser, log_excess_moment
from tacit.algorithms.convex.ctrl.certificate import Facts, ctrl_chain
from tacit.domains import Ball
from tacit.errors import InvalidInput
from tacit.losses import ConvexFamily
from tacit.noise.randomness import Randomness
from tacit.problems import Convex
from tacit.releases import Neighbours


def reference(a, d, c, s):
    a, c, s, d = (mpmath.mpf(value) for value in (a, c, s, d))

    def integrand(x):
        m = c + s * x
        density = x ** (d - 1) * mpmath.exp(-x * x / 2) * 2 ** (1 - d / 2) / mpmath.gamma(d / 2)
        return density * (mpmath.exp(a * m) - 1 - a * (mpmath.exp(m) - 1))

    peak = float(a * s) + float(d) ** 0.5
    return float(mpmath.log(mpmath.quad(integrand, [0, peak / 2, peak, peak + 5, peak + 15, peak + 40])))


@pytest.mark.parametrize(("degrees", "slope"), [(1, 1e-6), (1, 1.0), (3, 1e-3), (3, 0.1), (30, 1e-3), (30, 0.3)])
def test_quadrature_agrees_with_twenty_five_digits(degrees, slope):
    with mpmath.workdps(25):
        for offset, order in ((1e-9, 1.0001), (1e-3, 1.5), (0.3, 20.0), (1e-3, 200.0)):
            found = log_excess_moment(np.array([order]), degrees, offset, slope)[0]
            assert found == pytest.approx(reference(order, degrees, offset, slope), abs=1e-10)


def test_large_orders_stay_finite_and_grow():
    orders = 1 + np.geomspace(1e-4, 3e5, 60)
    values = PerturbedMinimiser(4, 1e-3, 1e-2).renyi(orders)
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) > 0)
    # A Gaussian of the same move leaks less; the moment cannot be below it.
    assert np.all(PerturbedMinimiser(1, 0.0, 1e-2).renyi(orders) >= orders * 1e-4 / 2)


def test_curve_round_trip_and_bad_parameters():
    curve = PerturbedMinimiser(3, 0.01, 0.1, 0.02)
    assert Curve.from_dict(curve.to_dict()) == curve
    assert curve.epsilon(1e-6) > PerturbedMinimiser(3, 0.01, 0.1).epsilon(1e-6)
    for bad in ((0, 0.1, 0.1, 0.0), (1, -0.1, 0.1, 0.0), (1, 0.1, np.nan, 0.0), (1, 0.1, 0.1, -1.0)):
        with pytest.raises(InvalidInput):
            PerturbedMinimiser(*bad)


class OneDimension:
    """Perturbed minimisers over (-1, 1), their densities on a grid of cell midpoints."""

    def __init__(self, eta, sigma, weight=0.3, cells=1000):
        self.eta, self.sigma, self.weight = eta, sigma, weight
        # Midpoints in the gradient of the regulariser, where the law is close to a Gaussian of deviation sigma:
        # for smooth integrands that vanish at the ends, midpoint sums are exact to rounding.
        step = 2 * (7 * sigma + 4) / cells
        levels = (np.arange(cells) - (cells - 1) / 2) * step
        low, high = np.full(cells, -1.0), np.ones(cells)
        for _ in range(60):
            middle = (low + high) / 2
            above = middle / eta + weight * 2 * middle / (1 - middle**2) > levels
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        self.x = (low + high) / 2
        self.width = step / (1 / eta + self.barrier_hessian(self.x))

    def barrier_hessian(self, x):
        slack = 1 - x**2
        return self.weight * (2 / slack + 4 * x**2 / slack**2)

    def logarithm(self, losses, displaced=0.0):
        """ln mu(x) for losses given as pairs (slope, curvature) of functions of x.

        The barrier's Hessian may stand at a point displaced by so much in its own local norm.
        """
        x, slack = self.x, 1 - self.x**2
        gradient = x / self.eta + self.weight * 2 * x / slack
        moved = x + displaced / np.sqrt(self.barrier_hessian(x) / self.weight)
        hessian = 1 / self.eta + self.barrier_hessian(moved)
        for slope, curvature in losses:
            gradient = gradient + slope(x)
            hessian = hessian + curvature(x)
        log_normal = -(gradient**2) / (2 * self.sigma**2) - np.log(self.sigma * np.sqrt(2 * np.pi))
        return log_normal + np.log(hessian)


def squared(v, y, g=1.0):
    """k (v x - y)^2/2 with slope at most g on [-1, 1]."""
    k = g / (abs(v) * (abs(v) + abs(y)))
    return lambda x: k * v * (v * x - y), lambda x: np.full_like(x, k * v * v)


def linear(g):
    return lambda x: np.full_like(x, g), lambda x: np.zeros_like(x)


@pytest.mark.parametrize(("eta", "sigma"), [(0.05, 2.0), (0.5, 5.0), (2.0, 20.0), (0.01, 60.0)])
def test_draw_bounds_the_integrated_divergence(eta, sigma):
    world = OneDimension(eta, sigma)
    pairs = [
        (linear(1.0), linear(-1.0)),
        (squared(1.0, 1.0), squared(1.0, -1.0)),
        (squared(1.0, 0.0), linear(0.0)),
        (squared(1.0, 0.0), linear(1.0)),
    ]
    common = [squared(0.7, 0.4), squared(1.0, -0.2)]
    move = 2 / sigma
    beta = 1.0
    bound = PerturbedMinimiser(1, float(np.log1p(eta * beta) + move**2 / 2), move)
    for (one, other), order in product(pairs, (1.1, 2.0, 8.0, 32.0)):
        p, q = world.logarithm([*common, one]), world.logarithm([*common, other])
        assert np.sum(np.exp(p) * world.width) == pytest.approx(1.0, abs=1e-6)
        exact = np.log(np.sum(np.exp(order * p + (1 - order) * q) * world.width)) / (order - 1)
        assert exact <= bound.renyi(np.array([order]))[0] * (1 + 1e-6)


@pytest.mark.parametrize("linear_model", [False, True])
def test_drift_of_later_coins(linear_model):
    """How much ln keep of a later round moves between neighbours, in units of the bound s2: nearly attained."""
    generator = Randomness.replayable(5).stream("drift")
    worst = 0.0
    for _ in range(1000):
        d = int(generator.integers(1, 5))
        eta, sigma, beta, g = np.exp(generator.uniform(-3, 2, 4))
        hessian = np.eye(d) / eta + beta * generator.integers(0, 3) * generator.random() * np.eye(d)
        curvatures, gradients = [], []
        for _ in range(3):  # the later round, and the two versions of the changed one
            if linear_model:
                v = generator.standard_normal(d)
                v *= generator.choice([1.0, generator.random()]) / np.linalg.norm(v)
                curvatures.append(beta * generator.choice([0.0, 1.0]) * np.outer(v, v))
                gradients.append(g * generator.choice([-1.0, 1.0]) * v)
            else:
                basis = np.linalg.qr(generator.standard_normal((d, d)))[0]
                curvatures.append(basis @ np.diag(beta * generator.integers(0, 2, d)) @ basis.T)
                u = generator.standard_normal(d)
                gradients.append(g * u / np.linalg.norm(u))
        common = generator.standard_normal(d) * sigma
        ratios = []
        for version in (1, 2):
            before, u = hessian + curvatures[version], gradients[0]
            total = common + gradients[version]
            growth = np.linalg.slogdet(before + curvatures[0])[1] - np.linalg.slogdet(before)[1]
            ratios.append(-(2 * total @ u + u @ u) / (2 * sigma**2) + growth)
        bound = ctrl_chain(
            rounds=10, dimension=d, linear_model=linear_model, lipschitz=g, smoothness=beta, eta=eta, sigma=sigma,
            force=0.1, log_phi=1e9, shift=0.0,
        ).curve(Neighbours()).drift  # fmt: skip
        worst = max(worst, abs(ratios[0] - ratios[1]) / bound)
    assert 0.8 < worst <= 1 + 1e-9


def test_zero_out_and_people_scale_as_they_should():
    common = {
        "rounds": 100, "dimension": 3, "lipschitz": 1.0, "smoothness": 1.0, "eta": 0.01, "sigma": 50.0,
        "force": 0.1, "log_phi": 0.2, "shift": 0.0,
    }  # fmt: skip
    one = ctrl_chain(**common, linear_model=True).curve(Neighbours(REPLACE, 1))
    zero = ctrl_chain(**common, linear_model=True).curve(Neighbours(ZERO_OUT, 1))
    two = ctrl_chain(**common, linear_model=True).curve(Neighbours(REPLACE, 2))
    general = ctrl_chain(**common, linear_model=False).curve(Neighbours(REPLACE, 1))
    assert zero.draw.slope == one.draw.slope / 2 == two.draw.slope / 4
    assert one.draw.slope == pytest.approx(2 / 50)  # both versions of a round pull by at most G, against sigma
    assert one.draw.offset == pytest.approx(np.log(1.01) + (2 / 50) ** 2 / 2)
    assert one.bit == one.coin[1] == pytest.approx(2 * 0.2)
    assert one.coin[0] == pytest.approx(-np.log(0.9))
    assert zero.epsilon(1e-6) < one.epsilon(1e-6) < two.epsilon(1e-6)
    assert one.epsilon(1e-6) < general.epsilon(1e-6)
    assert one.decisions == 99
    assert general.drift == pytest.approx(2 / 2500 + 3e-4)


def transcript(world, first, second, p, log_phi, displaced=0.0):
    """Log probabilities of every transcript of three rounds: (keep, keep), (keep, x3), (x2, keep), (x2, x3)."""
    histories = [], [first], [first, second]
    mass = [world.logarithm(losses) + np.log(world.width) for losses in histories]
    seen = [world.logarithm(losses, displaced) for losses in histories]  # as the coins see it
    stay = [np.log1p(-p) + np.clip(seen[i + 1] - seen[i] - log_phi, -2 * log_phi, 0.0) for i in range(2)]
    move = [np.log(-np.expm1(value)) for value in stay]
    keep_keep = mass[0] + stay[0] + stay[1]
    keep_draw = (mass[0] + stay[0] + move[1])[:, None] + mass[2][None, :]
    draw_keep = (mass[0] + move[0])[:, None] + (mass[1] + stay[1])[None, :]
    draw_draw = (mass[0] + move[0])[:, None, None] + (mass[1] + move[1])[None, :, None] + mass[2][None, None, :]
    return [keep_keep, keep_draw, draw_keep, draw_draw]


@pytest.mark.parametrize(("sigma", "eta", "force"), [(2.0, 0.1, 0.2), (4.0, 0.3, 0.05), (8.0, 0.05, 0.5)])
def test_whole_transcript_is_under_the_certified_curve(sigma, eta, force):
    world = OneDimension(eta, sigma, cells=100)
    second = squared(0.8, 0.3)
    log_phi = float(np.log1p(eta) + 1 / (2 * sigma**2) + 3 / sigma)
    curve = ctrl_chain(
        rounds=3, dimension=1, linear_model=True, lipschitz=1.0, smoothness=1.0, eta=eta, sigma=sigma, force=force,
        log_phi=log_phi, shift=0.0,
    ).curve(Neighbours())  # fmt: skip
    pairs = [(linear(1.0), linear(-1.0)), (squared(1.0, 1.0), squared(1.0, -1.0)), (squared(1.0, 0.0), linear(1.0))]
    closest = 0.0
    for one, other in pairs:
        for a, b in ((one, other), (other, one)):
            p, q = transcript(world, a, second, force, log_phi), transcript(world, b, second, force, log_phi)
            assert sum(np.exp(part).sum() for part in p) == pytest.approx(1.0, abs=1e-6)
            for epsilon in (0.1, 0.5, 1.0):
                pieces = zip(p, q, strict=True)
                exact = sum(np.maximum(np.exp(x) - np.exp(epsilon + y), 0.0).sum() for x, y in pieces)
                assert exact <= curve.delta(epsilon) + 1e-9
                closest = max(closest, exact / curve.delta(epsilon))
    assert closest > 0.02  # the certificate is not empty


def logistic(y):
    return lambda x: -y / (1 + np.exp(y * x)), lambda x: 1 / (2 + 2 * np.cosh(x))


@pytest.mark.parametrize("weight", [0.02, 0.3])
@pytest.mark.parametrize(
    "second", [linear(-0.6), squared(0.8, 0.3), logistic(-1.0)], ids=["linear", "squared", "logistic"]
)
def test_barriers_at_displaced_minimisers_are_paid_for(weight, second):
    """Both neighbours' barriers stand rho from the exact minimiser, on two sides, with mass at the boundary."""
    eta, sigma, force, rho = 0.3, 12.0, 0.2, 0.03
    world = OneDimension(eta, sigma, weight=weight, cells=100)
    edge = np.abs(world.x) > 0.9
    assert np.sum(np.exp(world.logarithm([])[edge]) * world.width[edge]) > 0.3
    log_phi = float(np.log1p(eta) + 1 / (2 * sigma**2) + 3 / sigma)
    error = -2 * np.log1p(-rho) * eta / (1 + eta)
    curve = ctrl_chain(
        rounds=3, dimension=1, linear_model=True, lipschitz=1.0, smoothness=1.0, eta=eta, sigma=sigma, force=force,
        log_phi=log_phi, shift=0.0, coin_error=error,
    ).curve(Neighbours())  # fmt: skip
    moved = 0.0
    for one, other in (
        (linear(1.0), linear(-1.0)),
        (squared(1.0, 1.0), squared(1.0, -1.0)),
        (logistic(1.0), linear(-1.0)),
    ):
        p = transcript(world, one, second, force, log_phi, rho)
        q = transcript(world, other, second, force, log_phi, -rho)
        plain = transcript(world, other, second, force, log_phi)
        moved = max(moved, *(float(np.max(np.abs(a - b))) for a, b in zip(q, plain, strict=True)))
        for epsilon in (0.05, 0.2, 0.5):
            exact = sum(np.maximum(np.exp(x) - np.exp(epsilon + y), 0.0).sum() for x, y in zip(p, q, strict=True))
            assert exact <= curve.delta(epsilon) + 1e-9
    assert moved > 1e-5  # the displacement is seen, and paid for


@pytest.mark.parametrize("weight", [0.02, 0.3])
def test_the_chain_keeps_the_law_up_to_clipping(weight):
    """Sixty rounds, exact: the law of what is held is that of a fresh minimiser, within min(t, 1/p) P[clip]."""
    eta, sigma, force, miss = 0.05, 8.0, 0.1, 1e-4
    world = OneDimension(eta, sigma, weight=weight)
    problem = Convex(domain=Ball(1), loss=ConvexFamily(1.0, 1.0, "glm"), horizon=60)
    log_phi = Facts(problem, REPLACE, 1).log_range(eta, sigma, miss)
    generator = Randomness.replayable(2).stream("losses")
    losses, law = [], np.exp(world.logarithm([])) * world.width
    before, farthest = world.logarithm([]), 0.0
    for t in range(60):
        losses.append([linear(1.0), linear(-1.0), squared(1.0, 1.0), squared(1.0, -1.0)][generator.integers(4)])
        after = world.logarithm(losses)
        keep = (1 - force) * np.exp(np.clip(after - before - log_phi, -2 * log_phi, 0.0))
        fresh = np.exp(after) * world.width
        law = keep * law + np.sum((1 - keep) * law) * fresh / fresh.sum()
        distance = np.sum(np.abs(law - fresh)) / 2
        assert distance <= min(t + 1, 1 / force) * miss + 1e-6
        farthest, before = max(farthest, distance), after
    assert farthest < 1e-4
