"""Late and missing feedback: the contract of every learner that takes a delay; the planner's word on the others."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from sys import getswitchinterval, setswitchinterval
from typing import ClassVar

import numpy as np
import pytest

import tacit
from runtime.contract import LearnerContract, losses, numbers, pairs, pytest_generate_tests, vectors
from tacit.algorithms.experts.expert_plan import MIDDLE
from tacit.noise.lattice import quantise_losses
from tacit.runtime.rate_search import delay_regret
from tacit.testing.rounds import content

__all__ = ["pytest_generate_tests"]

TARGET = {"epsilon": 1.0, "delta": 1e-6}
EXPERTS = tacit.Experts(n=3, horizon=40, delay=3)
WIDE = tacit.Experts(n=3, horizon=40, delay=3, loss_range=(0.0, 1.5))
TRACKING = tacit.Tracking(n=3, horizon=40, delay=3, switches=2)
ARMS = tacit.Arms(n=3, horizon=40, delay=3)
PHASED = tacit.Arms(n=2, horizon=40, delay=3, adversary="stochastic")


def convex(loss):
    """A problem on a ball."""
    return tacit.Convex(domain=tacit.domains.Ball(2), loss=loss, horizon=40, delay=3)


def arms(plan):
    """A plan of arms with losses that are the same for every arm."""
    count = plan.problem.n
    return plan, numbers(40).tolist(), lambda part: np.tile(np.array(part, dtype=float)[:, None], count)


class TestContract(LearnerContract):
    """As without delay: the same checks, with a window of three rounds."""

    cases: ClassVar = {
        "lazy": lambda: (tacit.algorithms.LazyExperts(EXPERTS, eta=0.3, force=0.1), losses(3)),
        "lazy, batches": lambda: (tacit.algorithms.LazyExperts(WIDE, eta=0.3, force=0.1, batch=2), losses(3)),
        "L2P": lambda: (tacit.algorithms.L2P(EXPERTS, eta=0.3, force=0.1, reference_force=0.1, batch=2), losses(3)),
        "scheduled": lambda: (tacit.algorithms.ScheduledExperts(EXPERTS, eta=0.3), losses(3)),
        "scheduled, batches": lambda: (tacit.algorithms.ScheduledExperts(EXPERTS, eta=0.3, batch=3), losses(3)),
        "hedge": lambda: (tacit.algorithms.HedgeOnSums.calibrate(EXPERTS, **TARGET), losses(3)),
        "hedge, fresh draws": lambda: (
            tacit.algorithms.HedgeOnSums.calibrate(EXPERTS, hold=False, **TARGET),
            losses(3),
        ),
        "shares, lazy": lambda: (tacit.algorithms.LazyFixedShare(TRACKING, eta=0.3, force=0.1, batch=2), losses(3)),
        "shares, uniform": lambda: (
            tacit.algorithms.LazyFixedShare(TRACKING, eta=0.3, force=0.1, prior="uniform"),
            losses(3),
        ),
        "FTRL": lambda: (
            tacit.algorithms.PrivateFTRL.calibrate(convex(tacit.losses.LinearLoss()), **TARGET),
            vectors(2),
        ),
        "FTRL, logistic": lambda: (
            tacit.algorithms.PrivateFTRL.calibrate(convex(tacit.losses.LogisticLoss()), **TARGET),
            pairs(2),
        ),
        "FTRL, custom": lambda: (
            tacit.algorithms.PrivateFTRL.calibrate(
                convex(tacit.losses.CustomLoss(_value, _gradient, lipschitz=1.0)), **TARGET
            ),
            vectors(2),
        ),
        "tsallis": lambda: arms(tacit.algorithms.BatchedTsallis(ARMS, 1.0, 2, 0.75, 0.05, 0.1)),
        "phased": lambda: arms(tacit.algorithms.PhasedArms(PHASED, 1.0, 4)),
    }


def _value(x, z):
    return float(np.abs(x - z).sum())


def _gradient(x, z):
    return np.sign(x - z)


ROUNDS, DELAYS = 100_000, (0, 10, 100, 1000)
FAMILY = tacit.losses.ConvexFamily(lipschitz=1.0)


def experts(algorithm, n):
    """Certified at epsilon = 1."""
    return [algorithm.calibrate(tacit.Experts(n=n, horizon=ROUNDS, delay=delay), **TARGET) for delay in DELAYS]


def bandits(algorithm, epsilon):
    """Certified for twenty arms."""
    problem = tacit.Arms(n=20, horizon=ROUNDS, adversary="stochastic")
    plans = [replace(problem, delay=delay) for delay in DELAYS]
    return [algorithm.calibrate(made, epsilon=epsilon, delta=0.0) for made in plans]


@pytest.mark.parametrize(
    ("make", "certified"),
    [
        (lambda: experts(tacit.algorithms.HedgeOnSums, 10), (365, 1561, 4812, 15164)),
        (lambda: experts(tacit.algorithms.HedgeOnSums, 100), (774, 2281, 6829, 21433)),
        (lambda: experts(tacit.algorithms.LazyExperts, 10), (525, 1555, 4810, 15164)),
        (lambda: experts(tacit.algorithms.LazyExperts, 100), (948, 2199, 6802, 21424)),
        (
            lambda: [
                tacit.algorithms.PrivateFTRL.calibrate(
                    tacit.Convex(domain=tacit.domains.Ball(10), loss=FAMILY, horizon=ROUNDS, delay=delay), **TARGET
                )
                for delay in DELAYS
            ],
            (4894, 5094, 6629, 14965),
        ),
        (lambda: bandits(tacit.algorithms.BatchedTsallis, 1.0), (3334, 6912, 17621, 52741)),
        pytest.param(
            lambda: bandits(tacit.algorithms.BatchedTsallis, 0.1), (11322, 16026, 22393, 55920), marks=pytest.mark.slow
        ),
        pytest.param(
            lambda: bandits(tacit.algorithms.PhasedArms, 1.0), (4324, 4337, 4763, 20170), marks=pytest.mark.slow
        ),
        pytest.param(
            lambda: bandits(tacit.algorithms.PhasedArms, 0.1), (6807, 6684, 7944, 24303), marks=pytest.mark.slow
        ),
    ],
)
def test_certified_regret_with_late_feedback(make, certified):
    """At T = 1e5, epsilon = 1: without delay, and 10, 100 and 1000 rounds late."""
    plans = make()
    np.testing.assert_allclose([float(plan.regret_bound) for plan in plans], certified, rtol=2e-3)
    target = 0.1 if getattr(plans[0], "epsilon", 1.0) == 0.1 else 1.0
    assert all(plan.guarantee.epsilon() <= target for plan in plans)


def test_delay_costs_exponential_weights_no_more_than_the_proof_says():
    """Two laws with log ratio of range r differ by at most tanh(r/4), and some differ by as much."""
    generator = np.random.default_rng(3)
    for _ in range(200):
        log_odds = generator.uniform(0, 3, size=4)
        one = generator.dirichlet(np.ones(4))
        other = one * np.exp(log_odds)
        distance = np.abs(one - other / other.sum()).sum() / 2
        assert distance <= np.tanh(np.ptp(log_odds) / 4) + 1e-12
    # Equality: two experts whose odds are e^{r/2} under one law and e^{-r/2} under the other.
    up, down = (np.exp([0.6 * sign / 2, 0.0]) for sign in (1, -1))
    assert up[0] / up.sum() - down[0] / down.sum() == pytest.approx(np.tanh(0.6 / 4))
    assert delay_regret(0.01, 1000, 0) == 0
    assert delay_regret(0.01, 1000, 10) == pytest.approx(1000 * np.tanh(0.025))
    assert delay_regret(0.01, 1000, 10, batch=5) == pytest.approx(1000 * np.tanh(0.035))


REFUSED = {
    tacit.Tracking(n=3, horizon=500, switches=2, delay=5): {
        "RestartOnShift", "LimitedUpdates", "NoisyMirrorDescent", "TrackingOnSums", "RecentLeader",
    },
    tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=500, delay=5): {
        "CTRL", "L2PConvex",
    },
    tacit.Experts(n=3, horizon=500, delay=5): set(),
}  # fmt: skip


@pytest.mark.parametrize("problem", REFUSED, ids=lambda problem: type(problem).__name__)
def test_the_planner_says_who_takes_no_delay(problem):
    choice = tacit.plan(problem, **TARGET)
    reasons = {candidate.algorithm: candidate.reason for candidate in choice.candidates if candidate.reason}
    assert set(reasons) == REFUSED[problem]
    assert all("takes no delay=5" in reason for reason in reasons.values())
    text = choice.explain()
    assert "Delay: feedback may come 5 rounds late; if it came at once" in text
    assert "regret over the rounds whose feedback comes in time" in text


@pytest.mark.parametrize(
    "problem",
    [
        tacit.Bandit(domain=tacit.domains.Ball(2), horizon=500, delay=1),
        tacit.Lipschitz(horizon=500, delay=1),
        tacit.Stochastic(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=500, delay=1),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_problems_without_a_delayed_learner_are_refused(problem):
    with pytest.raises(tacit.PrivacyError, match="takes no delay=1"):
        tacit.plan(problem, **TARGET)


@pytest.mark.parametrize(
    "problem",
    [
        tacit.Experts(n=3, horizon=20, delay=2**62),
        tacit.Tracking(n=3, horizon=20, switches=1, delay=2**62),
        tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LinearLoss(), horizon=20, delay=2**62),
        tacit.Arms(n=3, horizon=20, delay=2**62),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_a_window_longer_than_the_run_takes_no_more_memory(problem):
    choice = tacit.plan(problem, **TARGET)
    for candidate in choice.candidates:
        if candidate.plan is not None:
            learner = candidate.plan.start()
            for _ in range(20):
                learner.decide()
            assert (learner.rounds, learner.decided) == (0, 20)
            assert candidate.vacuous


@pytest.mark.parametrize("delay", [0, 20])
def test_threads_share_a_learner(delay):
    """Every round is decided once, and everything that was settled in time is counted, exactly once."""
    plan = tacit.algorithms.ScheduledExperts(tacit.Experts(n=3, horizon=800, delay=delay), eta=0.1, batch=2)
    learner, rows, decided, refusals = plan.start(), losses(3, 800), [], []

    def work(_):
        for _ in range(100):
            number = learner.decide().round
            decided.append(number)
            try:
                learner.settle(number, rows[number])
            except tacit.ProtocolError:  # other threads closed its window
                refusals.append(number)

    before = getswitchinterval()
    setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))
    finally:
        setswitchinterval(before)
    assert sorted(decided) == list(range(800))
    assert (learner.decided, learner.rounds) == (800, 799 - delay)
    counted = [MIDDLE * np.ones(3) if n in refusals else rows[n] for n in range(learner.rounds)]
    np.testing.assert_array_equal(learner._total, sum(quantise_losses(row) for row in counted))


@pytest.mark.parametrize("mask", [[True, False], [False, True]])
@pytest.mark.parametrize("delay", [0, 1])
def test_two_rounds_of_pairs_are_no_pair_of_rounds(mask, delay):
    """As many rounds as a pair has parts: a mask took the features for the first of two rows, and raised."""
    problem = replace(convex(tacit.losses.LogisticLoss()), delay=delay)
    plan, (features, labels) = (
        tacit.algorithms.PrivateFTRL.calibrate(problem, **TARGET),
        (np.eye(2), np.array([1.0, -1.0])),
    )
    loop, array = plan.start(tacit.Randomness.replayable(3)), plan.start(tacit.Randomness.replayable(3))
    for row, label, there in zip(features, labels, mask, strict=True):
        loop.play()
        loop.observe((row, label) if there else None)
    array.run((features, labels), mask)
    assert content(array) == content(loop)


def test_a_state_may_leave_out_the_feedback_that_waits():
    """Whoever keeps it elsewhere settles it again, and the run goes on bit for bit."""
    plan = tacit.plan(tacit.Experts(n=2, horizon=50, delay=3), epsilon=1.0, delta=1e-6)
    learner = plan.start(tacit.Randomness.replayable(1))
    for number in range(6):
        learner.decide()
        learner.settle(number, [number / 6, 0.5])
    state = learner.state(waiting=False).entries()
    assert state["open"] == 4
    restored = plan.restore(state)
    for number in range(2, 6):
        restored.settle(number, [number / 6, 0.5])
    assert restored.state_dict() == learner.state_dict()
    with pytest.raises(tacit.InvalidInput):
        plan.restore({**state, "open": 5})
