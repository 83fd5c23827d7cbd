"""What a step may cost, for Tsallis entropy and for its limit: the proved supremum against phi as it is written."""

from functools import cache

import numpy as np
import pytest
from mpmath import mp

from tacit.algorithms import BatchedTsallis, Responses
from tacit.algorithms.arms.batched_tsallis.certificate import BatchLoss
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.algorithms.arms.step_cost import StepCost, thinned
from tacit.algorithms.policies.responses import ResponseCost
from tacit.problems import Arms, Policies

TSALLIS = [(100, 1000, 5.0), (100, 1000, 1.0), (2, 100_000, 1.0), (5, 1000, 0.3), (20, 100_000, 1.0)]
RESPONSES = [(6, 100, 100_000, 1.0), (6, 100, 1000, 0.3), (2, 2, 1000, 3.0), (20, 1000, 10_000, 1.0), (3, 5, 50, 1.0)]
points = pytest.mark.parametrize("point", [*TSALLIS, *RESPONSES])


@cache
def calibrated(arms, *rest):
    """The cost of a step and the rate; the number of policies, if there are any, stands before the horizon."""
    *policies, horizon, epsilon = rest
    if policies:
        problem = Policies(n=policies[0], actions=arms, horizon=horizon)
        plan = Responses.calibrate(problem, epsilon=epsilon, delta=0.0)
        return plan.cost, plan.eta
    plan = BatchedTsallis.calibrate(Arms(n=arms, horizon=horizon), epsilon=epsilon, delta=0.0)
    return plan.loss, plan.eta


def by_definition(cost: StepCost, eta: float, p: np.ndarray) -> np.ndarray:
    """phi(p), with u as it is written."""
    release = cost.release
    if isinstance(cost, BatchLoss):
        q = cost.power
        scale = q / (eta * (1 - q)) * p**q
        c = np.minimum(0.5 - cost.lowered / scale, cost.kappa * scale - release.overshoot)
    else:
        scale, q = p / eta, None
        c = 0.5 - abs(float(release.law(0) @ (release.values - 0.5) ** 3)) / (3 * scale)
    c = np.maximum(c, -release.overshoot)[:, None]

    def u(z):
        return np.exp(-z) - 1 + z if q is None else z - (1 - q) / q * (1 - (1 + z) ** (-q / (1 - q)))

    played, other = [], []
    for s in (0, release.steps):
        played.append(u((release.values - c) * ((1 - p) / scale)[:, None]) @ release.law(s))
        other.append(u((c - release.values) * (p / scale)[:, None]) @ release.law(s))
    return scale * (p * np.max(played, axis=0) + (1 - p) * np.max(other, axis=0))


@points
def test_no_law_costs_more_than_the_certificate(point) -> None:
    """Laws of two levels, among them the worst: j classes at p and the others equal.

    The largest value on a grid of p times 1.0002 certified 488.28 at K = 100, T = 1000, epsilon = 5, where 57 arms at
    0.00464 give 489.70.
    """
    cost, eta = calibrated(*point)
    certified, worst = cost.stability(eta), 0.0
    for j in range(1, cost.arms):
        p = np.geomspace(1e-7, 1 / j, 2000)[:-1]
        rest = (1 - j * p) / (cost.arms - j)
        found = j * by_definition(cost, eta, p) + (cost.arms - j) * by_definition(cost, eta, rest)
        worst = max(worst, float(found.max()))
    assert (0.997 if point in TSALLIS else 0.99) * certified <= worst <= certified


@points
def test_cells_bound_every_point_inside(point) -> None:
    rng, (cost, eta) = np.random.default_rng(7), calibrated(*point)
    low = 10 ** rng.uniform(-8, 0, 400)
    high = np.minimum(1.0, low * (1 + 10 ** rng.uniform(-6, 1, 400)))
    for kink in cost._kinks(eta)[:1]:
        if 1e-8 < kink < 1:
            low[:9], high[:9] = kink * (1 - np.geomspace(1e-7, 0.5, 9)), kink * (1 + np.geomspace(1e-7, 1, 9))
    high = np.minimum(1.0, high)
    bounds = cost.cell_bounds(eta, low, high)
    for share in (0.0, 0.5, 1.0, *rng.random(5)):
        assert np.all(by_definition(cost, eta, low ** (1 - share) * high**share) <= bounds)


@pytest.mark.parametrize("power", [0.05, 0.5, 0.75, 0.95, 0.99, 1])
def test_the_divergence_is_never_low(power: float) -> None:
    """Against 60 digits, for steps of all sizes and signs; a power of 1 is the limit."""
    release, sizes = ClippedGeometric(2, 1.0), 10.0 ** np.random.default_rng(8).uniform(-12, 3, 500)
    deepest = 20 if power == 1 else 0.95
    z = np.concatenate([sizes, -sizes[sizes < deepest], [0.0, 1e-6, -1e-6, -0.95]])
    cost = ResponseCost(2, release) if power == 1 else BatchLoss(2, release, power, 0.1, 0.0)
    with mp.workdps(60):
        q = mp.mpf(power)
        for value, x in zip(cost.divergence(z).tolist(), map(mp.mpf, z.tolist()), strict=True):
            true = mp.exp(-x) - 1 + x if q == 1 else x - (1 - q) / q * (1 - (1 + x) ** (-q / (1 - q)))
            assert true * (1 - mp.mpf("2e-9")) <= value <= true * (1 + mp.mpf("2e-6" if q == 1 else "3e-4"))


def test_thinning_only_raises_means_of_convex_functions() -> None:
    release = ClippedGeometric(300, 0.01)
    values, law = thinned(release.values, release.law(0))
    assert len(values) <= 65
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert law @ values == pytest.approx(release.law(0) @ release.values, abs=1e-12)
    for h in (np.square, np.exp, lambda x: np.abs(x - 0.3)):
        full = release.law(0) @ h(release.values)
        assert full <= law @ h(values) + 1e-12 <= full * 1.001 + 1e-9
