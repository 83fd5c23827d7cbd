"""Floors against brute force, at the numbers that the page states, and never above a certificate."""

from itertools import product
from math import comb

import numpy as np
import pytest

import tacit
from tacit import Arms, Convex, Experts, Tracking
from tacit.accounting.guarantee import ZERO_OUT
from tacit.domains import Ball, Box, Simplex
from tacit.losses import ConvexFamily, LinearLoss, LogisticLoss
from tacit.planning.lower_bounds import LowerBound, arms_floor, chance_floor, floor, privacy_floor, signs_floor
from tacit.runtime.target import Target


@pytest.mark.parametrize(("experts", "rounds"), [(2, 1), (2, 4), (3, 5), (4, 3)])
def test_chance_is_the_expected_luck_of_the_best_expert(experts, rounds):
    counts = [comb(rounds, k) / 2**rounds for k in range(rounds + 1)]
    luck = sum(max(heads) * np.prod([counts[k] for k in heads]) for heads in product(range(rounds + 1), repeat=experts))
    assert chance_floor(experts, rounds) == pytest.approx(luck - rounds / 2, rel=1e-8)
    assert chance_floor(experts, rounds) <= luck - rounds / 2


def test_chance_in_cells_is_below_the_sum_of_all_terms(monkeypatch):
    whole = chance_floor(10, 100_000)
    monkeypatch.setattr("tacit.planning.lower_bounds.MOST_CELLS", 300)
    assert 0.95 * whole < chance_floor(10, 100_000) < whole


@pytest.mark.parametrize("rounds", [1, 2, 3, 8, 13])
def test_signs_are_the_expected_distance_of_a_walk(rounds):
    distance = sum(abs(rounds - 2 * k) * comb(rounds, k) for k in range(rounds + 1)) / 2**rounds
    assert 0 <= distance - signs_floor(rounds) < 1e-9
    assert signs_floor(10**9) == pytest.approx(np.sqrt(2e9 / np.pi), rel=1e-2)


def by_rounds(experts, rounds, epsilon, delta, m, steps):
    """The sum as it is printed, a round at a time."""
    total = 0.0
    for t in range(1, rounds + 1):
        k = steps * -(-(t - 1) // m)
        grown = np.exp(epsilon * k)
        total += max(0.0, 1 - grown / experts - delta * (grown - 1) / (np.exp(epsilon) - 1))
    return total


@pytest.mark.parametrize("m", [1, 3, 7])
@pytest.mark.parametrize(("relation", "steps"), [("replace", 1), ("zero-out", 2)])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_privacy_is_the_printed_sum(m, relation, steps, delta):
    target = Target(0.3, delta, relation, m)
    for rounds in (1, 2, 5, 100):
        wanted = by_rounds(50, rounds, 0.3, delta, m, steps)
        assert privacy_floor(50, rounds, target) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize(
    ("problem", "epsilon", "delta", "stated"),
    [
        (Experts(n=10, horizon=10**4), 1.0, 0.0, 77),
        (Experts(n=100, horizon=10**5), 0.1, 0.0, 396),
        (Experts(n=1000, horizon=10**6), 0.01, 0.0, 1621),
        (Tracking(n=10, switches=3, horizon=20_000), 1.0, 1e-6, 218),
        (Arms(n=20, horizon=10**5), 1.0, 0.0, 71),
        (Arms(n=20, horizon=10**5), 0.1, 0.0, 224),
        (Arms(n=20, horizon=10**5), 0.01, 0.0, 1376),
        (Convex(domain=Ball(3), loss=LinearLoss(), horizon=10**4), 1.0, 0.0, 79.8),
    ],
)
def test_stated_numbers(problem, epsilon, delta, stated):
    assert float(floor(problem, Target(epsilon, delta))) == pytest.approx(stated, rel=0.006)


def test_a_floor_is_shown_from_below():
    assert [str(LowerBound(value, "chance", "x")).split()[0] for value in (24.69, 396.99, 0.5)] == [
        "24.6",
        "396",
        "0.5",
    ]


def test_privacy_alone():
    assert privacy_floor(100, 10**5, Target(0.1, 0.0)) == pytest.approx(36.6, abs=0.05)
    assert privacy_floor(1000, 10**6, Target(0.01, 0.0)) == pytest.approx(591, abs=0.5)
    assert privacy_floor(1000, 10**6, Target(0.01, 1e-6)) == pytest.approx(582, abs=0.5)
    assert privacy_floor(10, 10**9, Target(1e3, 0.5)) <= 1.0  # no overflow


@pytest.mark.parametrize(
    "problem",
    [
        Experts(n=1, horizon=10),
        Experts(n=3, horizon=None),
        Convex(domain=Ball(3), loss=LogisticLoss(), horizon=100),
        Convex(domain=Ball(3), loss=ConvexFamily(1.0, 2.0, strong_convexity=1.0), horizon=100),
    ],
)
def test_nothing_is_claimed_where_nothing_is_proved(problem):
    assert floor(problem, Target(1.0, 0.0)) is None


@pytest.mark.parametrize("domain", [Ball(2), Box([-1.0, 0.0], [1.0, 1.0]), Simplex(3)])
def test_convex_floors_use_half_the_diameter(domain):
    problem = Convex(domain=domain, loss=ConvexFamily(2.0), horizon=1000)
    assert float(floor(problem, Target(1.0, 0.0))) == pytest.approx(domain.diameter * signs_floor(1000))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
@pytest.mark.parametrize(
    "problem",
    [
        Experts(n=10, horizon=5000, loss_range=(0.0, 3.0)),
        Tracking(n=5, switches=1, horizon=5000),
        Arms(n=5, horizon=5000),
        Convex(domain=Ball(2), loss=LinearLoss(), horizon=5000),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_no_certificate_is_below_a_floor(problem, epsilon):
    choice = tacit.plan(problem, epsilon=epsilon, delta=1e-6)
    assert choice.floor is not None
    smallest = min(float(candidate.regret_bound) for candidate in choice.candidates)
    assert float(choice.floor) <= smallest
    shown = float(choice.explain().split("Lower bound: ")[1].split(" by")[0])
    assert 0.99 * float(choice.floor) <= shown <= float(choice.floor)
    assert choice.to_dict()["floor"] == float(choice.floor)


def test_arms_of_other_contracts_have_the_floor_of_chance():
    assert arms_floor(20, 10**5, Target(0.01, 0.0, ZERO_OUT)) == arms_floor(20, 10**5, Target(0.01, 0.0, "replace", 2))
    assert arms_floor(20, 10**5, Target(0.01, 0.0, ZERO_OUT)) == pytest.approx(70.7, abs=0.1)
