import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.domains import Ball, Simplex
from tacit.environments.bandit import MovingTarget, Routing
from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.randomness import Randomness

WORLDS = [
    MovingTarget(Ball(2, 0.5), 400),
    MovingTarget(Ball(1, 0.5), 400),
    MovingTarget(Simplex(3), 400, distance=0.2),
    Routing(horizon=400),
]
NAMES = ["target", "line", "simplex", "routing"]
worlds = pytest.mark.parametrize("world", WORLDS, ids=NAMES)


def stream(name="world"):
    return Randomness.replayable(4).stream(name)


def mixtures(domain, count, name="points"):
    """Points of the set: between the centre and random extreme points, some of them extreme."""
    generator = stream(name)
    ends = np.array([domain.minimize_linear(d) for d in generator.standard_normal((count, domain.dimension))])
    share = np.minimum(1.0, 1.3 * generator.random((count, 1)))
    return domain.centre + share * (ends - domain.centre)


def losses(world, point, rounds=400):
    """The losses of one fixed point in every round of the same draw."""
    return world.start(stream()).values(np.tile(point, (rounds, 1)), 0)


@worlds
def test_the_same_draw_whatever_the_blocks(world):
    points = mixtures(world.domain, 400)
    whole, parts = world.start(stream()), world.start(stream())
    values = whole.values(points, 0)
    pieces = [parts.values(points[a:b], a) for a, b in ((0, 1), (1, 137), (137, 137), (137, 400))]
    np.testing.assert_allclose(values, np.concatenate(pieces), rtol=1e-12)  # up to the last bit of a product
    assert parts.total == pytest.approx(values.sum())
    assert parts.regret == pytest.approx(whole.regret)


@worlds
def test_losses_are_what_the_problem_says(world):
    problem = world.problem
    low, high = problem.value_range
    first, second = mixtures(world.domain, 30, "first"), mixtures(world.domain, 30, "second")
    for one, two in zip(first, second, strict=True):
        here, there, between = (losses(world, point) for point in (one, two, (one + two) / 2))
        assert low <= here.min() <= here.max() <= high
        assert np.abs(here - there).max() <= problem.lipschitz * np.linalg.norm(one - two) + 1e-9
        assert (between <= (here + there) / 2 + 1e-12).all()  # convex
    assert problem.horizon == world.horizon


@worlds
def test_no_fixed_point_beats_the_best_value(world):
    opponent = world.start(stream())
    opponent.values(mixtures(world.domain, 400), 0)
    best = opponent.best_value()
    totals = [losses(world, point).sum() for point in mixtures(world.domain, 200, "more")]
    assert min(totals) >= best - 1e-4
    domain = world.domain

    def cost(coordinates):
        """The total at the point, pulled back into the set."""
        if domain.contains(domain.from_hull(coordinates), 1e-12):
            return losses(world, domain.from_hull(coordinates)).sum()
        return 1e3 + float(np.linalg.norm(coordinates))

    if isinstance(world, MovingTarget):  # Routing has its best point at an extreme point
        start = domain.to_hull(mixtures(domain, 1, "start")[0]) / 2
        found = minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8, "maxiter": 600})
        assert found.fun == pytest.approx(best, abs=1e-3)
    else:
        assert min(totals) == pytest.approx(best, abs=1e-9)


def test_targets_stay_in_the_inner_ball():
    opponent = MovingTarget(Ball(2, 0.5), 1000, distance=0.5, spread=1.0).start(stream())
    assert np.linalg.norm(opponent._targets(1000, stream()), axis=1).max() <= 0.5 + 1e-12


def test_the_quickest_route_of_the_town():
    world = Routing(horizon=10)
    route = world.domain.minimize_linear(world.means)
    taken = [edge for edge, used in zip(world.edges, route, strict=True) if used]
    assert taken == [("home", "park"), ("park", "market"), ("market", "work")]
    assert world.largest == pytest.approx(0.2 + 0.9 + 2 * 0.1)


def test_order_and_end():
    opponent = WORLDS[0].start(stream())
    with pytest.raises(ProtocolError, match=r"next round of MovingTargetOpponent is 0 of 400\. Got 1 rounds from 3"):
        opponent.values(np.zeros((1, 2)), 3)
    with pytest.raises(ProtocolError, match="Got 401 rounds from 0"):
        opponent.values(np.zeros((401, 2)), 0)
    with pytest.raises(InvalidInput, match=r"must have shape \(any, 2\)"):
        opponent.values(np.zeros((1, 3)), 0)
