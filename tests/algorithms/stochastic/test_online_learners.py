"""Every online learner alone: regret under its bound on random and adversarial sequences."""

import numpy as np
import pytest

from tacit.algorithms.stochastic import (
    BettingGrid,
    MirrorDescent,
    Optimistic,
    StronglyConvex,
    Subgradient,
)
from tacit.algorithms.stochastic.online_to_batch.descent import ConversionErrors
from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.domains import Ball, Box, KSubsets, L1Ball, Simplex
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness

ROUNDS = 300
BALL = Ball(4, radius=2.0)
MAKERS = {
    "subgradient": lambda: Subgradient(BALL),
    "subgradient on a box": lambda: Subgradient(Box.cube(4, 0.7)),
    "optimistic": lambda: Optimistic(BALL),
    "betting grid": lambda: BettingGrid(BALL, gradient_bound=1.0, horizon=ROUNDS),
    "mirror descent, l1 ball": lambda: MirrorDescent(L1Ball(4, radius=1.5)),
    "mirror descent, simplex": lambda: MirrorDescent(Simplex(4), Norm(1.4)),
}


def gradients(kind: str, learner, stream):
    """One gradient at a time, of norm at most 1; adversaries look at the point."""
    for t in range(ROUNDS):
        if kind == "random":
            g = stream.standard_normal(4)
        elif kind == "constant":
            g = np.array([1.0, -0.5, 0.2, 0.0])
        elif kind == "slow":
            g = np.array([np.cos(t / 40), np.sin(t / 40), 0.3, 0.0])
        elif kind == "against":
            g = learner.play() + 0.1 * stream.standard_normal(4)
        else:  # tiny, then large
            g = stream.standard_normal(4) * (1e-3 if t < ROUNDS // 2 else 1.0)
        yield g / max(1.0, np.linalg.norm(g))


@pytest.mark.parametrize("kind", ["random", "constant", "slow", "against", "jump"])
@pytest.mark.parametrize("name", MAKERS)
def test_regret_is_below_the_bound(name, kind):
    learner, stream = MAKERS[name](), Randomness.replayable(5).stream(kind)
    total, played, sizes, changes, last = np.zeros(4), 0.0, [], [], np.zeros(4)
    for g in gradients(kind, learner, stream):
        point = learner.play()
        assert learner.domain.contains(point, 1e-8)
        played += float(g @ point)
        learner.observe(g)
        total += g
        sizes.append(learner.norm.dual_size(g))
        changes.append(learner.norm.dual_size(g - last))
        last = g
    regret = played - float(total @ learner.domain.minimize_linear(total))
    assert learner.rounds == ROUNDS
    if isinstance(learner, BettingGrid):
        bound = learner.regret_within(learner.reach, float(np.sum(np.square(sizes))), ROUNDS)
    else:
        bound = learner.expected_regret(np.array(sizes), np.array(changes))
    assert regret <= bound * (1 + 1e-9)


def test_long_gradients_are_scaled_down_by_bettors():
    first, second = BettingGrid(BALL, 1.0, 10), BettingGrid(BALL, 1.0, 10)
    first.observe([100.0, 0.0, 0.0, 0.0])
    second.observe([1.0, 0.0, 0.0, 0.0])
    assert np.array_equal(first.play(), second.play())


def test_strongly_convex_regret():
    learner, stream, mu = StronglyConvex(BALL, strong_convexity=0.5), Randomness.replayable(7).stream("x"), 0.5
    targets = 0.5 * stream.standard_normal((ROUNDS, 4))
    lost, sizes = 0.0, []
    for z in targets:
        point = learner.play()
        lost += mu / 2 * float((point - z) @ (point - z))
        learner.observe(mu * (point - z))
        sizes.append(mu * np.linalg.norm(point - z))
    best = BALL.project(np.mean(targets, axis=0))
    regret = lost - mu / 2 * float(np.sum((best - targets) ** 2))
    assert 0 < regret <= learner.expected_regret(np.array(sizes), np.zeros(ROUNDS))
    assert learner.expected_regret(np.ones(3), np.ones(3)) == pytest.approx((1 + 1 / 2 + 1 / 3) / (2 * mu))


def test_the_conversion_adds_half_of_the_curvature():
    learner = StronglyConvex(Ball(1), strong_convexity=2.0)
    learner.observe([0.3], average=[0.2], weight=4.0)
    # Gradient 0.3 + (4 * 2/2)(0 - 0.2) = -0.5, curvature 4.
    assert learner.play() == pytest.approx([0.125])


def test_excess_risks_by_hand():
    """Two iterates of weights 1 and 3 in a ball of radius 2, from its centre: D = 4 and G = 0.5."""
    errors = ConversionErrors(
        weights=np.array([1.0, 3.0]),
        lipschitz=0.5,
        sampling=np.array([0.1, 0.2]),
        noise=np.array([0.3, 0.4]),
        changes=np.array([0.7, 0.6]),
        bias=0.05,
    )
    # Gradients of at most 0.5 + 0.1 + 0.3 and 1.5 + 0.2 + 0.4; one sampling error and one noise are charged.
    charged = 2 * (0.1 + 0.4) + 6 * 0.05
    regret = 4 * (2 * (0.9**2 + 2.1**2)) ** 0.5
    assert Subgradient(BALL).excess_risk(errors) == pytest.approx((regret + charged) / 4)
    regret = 1.4 * 1.5 * 4 * (0.9**2 + 0.6**2) ** 0.5  # the hint of the first round is 0
    assert Optimistic(BALL).excess_risk(errors) == pytest.approx((regret + charged) / 4)
    # At mu = 2 the quadratic (beta_t mu/4)|w - x|^2 adds beta_t mu D/2 to gradients: 4 and 12.
    regret = 4.9**2 / 2 + 14.1**2 / 8
    lost = 2 * (0.1**2 + 0.3**2) / 2 + 2 * (0.2**2 + 0.4**2) / 6
    assert StronglyConvex(BALL, 2.0).excess_risk(errors) == pytest.approx((regret + lost + 8 * 0.05) / 4)


def test_the_mirror_leader_solves_its_problem():

    for domain in (L1Ball(3, radius=1.0), Simplex(3)):
        learner = MirrorDescent(domain, Norm(1.5))
        for g in ([0.9, 0.1, -0.4], [0.5, -0.8, 0.1], [0.4, -0.3, 0.0]):
            learner.observe(g)
        theta, rate = learner._sum, learner._rate

        def objective(w, theta=theta, rate=rate):
            return theta @ w + rate * np.sum(np.abs(w) ** 1.5) ** (2 / 1.5) / 2

        found = learner.play()
        stream = Randomness.replayable(8).stream("x")
        for _ in range(300):
            other = domain.project(found + 0.2 * stream.standard_normal(3))
            assert objective(found) <= objective(other) + 1e-9


def test_bad_arguments_raise_and_change_nothing():
    learner = Subgradient(BALL)
    for bad in ([1.0, 2.0], [1.0, np.nan, 0.0, 0.0], [1.0, np.inf, 0.0, 0.0], "text"):
        with pytest.raises(InvalidInput):
            learner.observe(bad)
    assert learner.rounds == 0
    with pytest.raises(InvalidInput, match="projection"):
        Subgradient(KSubsets(4, 2))
    with pytest.raises(InvalidInput, match="L1Ball"):
        MirrorDescent(BALL)
    with pytest.raises(InvalidInput, match="strong_convexity"):
        StronglyConvex(BALL, 0.0)
    with pytest.raises(InvalidInput, match="gradient_bound"):
        BettingGrid(BALL, -1.0, 10)
    with pytest.raises(InvalidInput, match="horizon"):
        BettingGrid(BALL, 1.0, horizon=0)
    with pytest.raises(InvalidInput, match="weight"):
        StronglyConvex(BALL, 1.0).observe([1.0, 0.0, 0.0, 0.0], average=np.zeros(4), weight=0.0)


def test_points_are_never_written_to():
    learner = Optimistic(BALL)
    learner.observe([1.0, 0.0, 0.0, 0.0])
    point = learner.play()
    copy = point.copy()
    learner.observe([0.0, 1.0, 0.0, 0.0])
    assert np.array_equal(point, copy)
    assert repr(learner) == f"Optimistic({BALL!r})"
