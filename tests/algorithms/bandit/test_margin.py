"""Losses that are defined beyond the set: points may be played there, and less is shrunk, or nothing."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.algorithms.bandit.bandit_fw import BanditFW, inside, reach, room, usable_margin
from tacit.domains import Ball, Birkhoff, Simplex
from tacit.environments.bandit import MovingTarget
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Bandit

TARGET = {"epsilon": 1.0, "delta": 1e-6}
SETS = [Ball(2, 0.5), Simplex(4), Birkhoff(3)]


def steep(points, first_round):
    """Convex, 1-Lipschitz, and largest outside: the distance from a corner of the world."""
    return np.minimum(1.0, np.linalg.norm(points - 0.2, axis=1) / 2)


@pytest.mark.parametrize("domain", SETS, ids=lambda domain: type(domain).__name__)
@pytest.mark.parametrize("margin", [0.0, 0.03, 0.5])
def test_points_leave_the_set_by_the_margin_and_no_farther(domain, margin):
    problem = Bandit(domain=domain, horizon=400, margin=margin)
    zeta = 0.9 * reach(problem) if margin < 0.1 else 0.4
    plan = replace(
        BanditFW.calibrate(Bandit(domain=Ball(2, 0.5), horizon=400), **TARGET),
        problem=problem, zeta=zeta, eta=1.0,
    )  # fmt: skip
    beyond, share = room(problem, zeta)
    assert plan.shrink == share
    assert zeta == pytest.approx(beyond + share * domain.inner_radius)
    points = plan.start(Randomness.replayable(1)).run(steep)
    # How far each point is outside: the distance from the set, by moving towards the leader.
    distances = [distance(domain, point) for point in points[::8]]
    assert max(distances) <= beyond + 1e-3
    assert (max(distances) > 1e-3) == (margin > 0)
    assert (share == 0) == (margin == 0.5)


def distance(domain, point):
    """The distance from the set, by Frank-Wolfe on the squared distance."""
    solver = tacit.solvers.frank_wolfe.FrankWolfe(domain, tolerance=1e-7)
    x = domain.to_hull(point)
    return float(np.linalg.norm(solver.minimize(-x).point - x))


@pytest.mark.parametrize("domain", SETS, ids=lambda domain: type(domain).__name__)
def test_smoothing_costs_what_the_bound_says(domain):
    """The mean of a loss around the shrunk comparator, against its value at the comparator."""
    generator = Randomness.replayable(2).stream("directions")
    n = domain.hull_dimension
    directions = generator.standard_normal((4_000, n))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    lengths = generator.random(4_000) ** (1 / n)
    for margin in (0.0, 0.5 * domain.inner_radius, 3 * domain.inner_radius):
        problem = Bandit(domain=domain, horizon=400, margin=margin, value_range=(0.0, 100.0))
        zeta = 0.8 * min(reach(problem), 2 * domain.inner_radius)
        beyond, share = room(problem, zeta)
        for vertex in np.eye(domain.dimension)[:3]:
            comparator = domain.to_hull(domain.minimize_linear(-vertex))
            # Distances from the comparator are dearest around it; a slope along a line has mean 0.
            around = (1 - share) * comparator + zeta * (lengths[:, None] * directions)
            cost = np.linalg.norm(around - comparator, axis=1)
            bound = share * inside(problem) + beyond * n / (n + 1)
            assert cost.mean() <= bound + 5 * cost.std() / np.sqrt(len(cost))
    assert cost.mean() >= 0.99 * beyond * n / (n + 1)  # without shrinking it is exact


def test_a_margin_lowers_the_certificate_and_the_horizon_that_is_needed():
    problems = [Bandit(domain=Birkhoff(3), horizon=10**6, margin=margin) for margin in (0.0, 0.05, 0.5)]
    bounds = [float(BanditFW.calibrate(problem, **TARGET).regret_bound) for problem in problems]
    assert bounds[0] > bounds[1] > bounds[2]
    short = Bandit(domain=Birkhoff(4), horizon=100)
    with pytest.raises(PrivacyError, match="would be enough"):
        BanditFW.calibrate(short, **TARGET)
    plan = BanditFW.calibrate(replace(short, margin=1.0), **TARGET)
    assert plan.shrink == 0.0
    assert "1 beyond it" in str(plan.regret_bound)
    wide = Bandit(domain=Ball(2, 0.5), horizon=100, margin=1.0)
    assert BanditFW.as_printed(wide, **TARGET).shrink == 0.0


def test_a_margin_that_does_not_pay_is_not_used():
    narrow = Bandit(domain=Ball(2, 10.0), horizon=400, margin=1.0, value_range=(0.0, 0.5))
    assert usable_margin(narrow) == 0.0
    assert room(narrow, 0.5) == (0.0, 0.05)
    with pytest.raises(InvalidInput, match="margin"):
        Bandit(domain=Ball(2), horizon=400, margin=-1.0)


@pytest.mark.parametrize("domain", SETS, ids=lambda domain: type(domain).__name__)
def test_oracle_calls_stay_below_their_certificate(domain):
    world = MovingTarget(domain, 900, distance=min(0.3, domain.inner_radius), margin=1.0)
    plan = BanditFW.calibrate(world.problem, **TARGET)
    asked = []
    honest = type(domain)._minimize

    def counting(self, direction):
        asked.append(1)
        return honest(self, direction)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(domain), "_minimize", counting)
        learner = plan.start(Randomness.replayable(3))
        opponent = world.start(Randomness.replayable(3).stream("world"))
        learner.run(opponent.values)
    assert plan.mechanism.steps <= learner.oracle_calls == len(asked) <= plan.most_oracle_calls
