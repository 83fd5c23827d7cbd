"""What every tracking learner promises, whichever algorithm it runs."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from algorithms.tracking.measured import measured
from runtime.contract import LearnerContract, pytest_generate_tests
from runtime.contract import losses as small_losses
from tacit import algorithms
from tacit.algorithms.tracking import lower_bound_warning
from tacit.environments.tracking import ShiftingBernoulli
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Experts, Tracking

__all__ = ["pytest_generate_tests"]

ROUNDS, EXPERTS = 1500, 4
PROBLEM = Tracking(n=EXPERTS, horizon=ROUNDS, switches=2)
PLANS = {
    "limited updates": algorithms.LimitedUpdates(PROBLEM, epsilon=2.0),
    "limited updates, laplace": algorithms.LimitedUpdates(PROBLEM, epsilon=2.0, selection="laplace"),
    "restarts, all windows": algorithms.RestartOnShift(
        PROBLEM, epsilon=4.0, interval=1, slope=0.5, margin=25.0, shares=(0.3, 0.3, 0.2), windows="all"
    ),
    "restarts": algorithms.RestartOnShift(PROBLEM, epsilon=4.0, interval=9, slope=0.5, margin=4.0),
    "lazy, markov": algorithms.LazyFixedShare(PROBLEM, eta=0.1, force=0.05, batch=2),
    "lazy, uniform": algorithms.LazyFixedShare(PROBLEM, eta=0.1, force=0.05, prior="uniform"),
    "lazy, capped": algorithms.LazyFixedShare(PROBLEM, eta=0.1, force=0.05, max_redraws=30, delta=0.0),
    "on sums": algorithms.TrackingOnSums(PROBLEM, eta=0.05, mix=0.05, scale=2.0, block=7),
    "on sums, leader": algorithms.TrackingOnSums(PROBLEM, eta=1.0, mix=0.05, scale=2.0, block=11, base="leader"),
    "recent leader": algorithms.RecentLeader(PROBLEM, epsilon=2.0, block=6),
    "mirror, cube": algorithms.NoisyMirrorDescent(PROBLEM, eta=0.05, scale=2.0, batch=7),
    "mirror, laplace": algorithms.NoisyMirrorDescent(PROBLEM, eta=0.05, scale=2.0, noise="laplace"),
    "mirror, gaussian": algorithms.NoisyMirrorDescent(PROBLEM, eta=0.05, scale=2.0, noise="gaussian"),
}


SMALL = Tracking(n=3, horizon=40, switches=2)
SHORT = {**PLANS, "mirror, batches": algorithms.NoisyMirrorDescent(PROBLEM, eta=0.1, scale=2.0, batch=6)}


def uniform():
    return Randomness.replayable(9).stream("losses").random((ROUNDS, EXPERTS))


def shifting():
    """Losses after which detectors start anew, twice."""
    environment = ShiftingBernoulli(n=6, horizon=3000, changes=(1000, 2000), gap=0.6)
    return list(environment.losses(Randomness.replayable(1).stream("losses")))


class TestContract(LearnerContract):
    """Plans of each learner, short enough to run in a blink, and long ones."""

    cases: ClassVar = {
        name: lambda plan=plan: (replace(plan, problem=SMALL), small_losses(3)) for name, plan in SHORT.items()
    }
    long: ClassVar = {
        **{name: lambda plan=plan: (plan, list(uniform())) for name, plan in PLANS.items()},
        "mirror, one batch": lambda: (
            algorithms.NoisyMirrorDescent(PROBLEM, eta=0.1, scale=1.5, batch=3000),
            list(uniform()),
        ),
        "restarts, twice": lambda: (
            algorithms.RestartOnShift.calibrate(
                Tracking(n=6, horizon=3000, switches=2, adversary="stochastic"), epsilon=3.0, delta=0.0
            ),
            shifting(),
        ),
    }


@pytest.fixture(params=list(PLANS))
def plan(request):
    return PLANS[request.param]


@pytest.fixture
def losses():
    return uniform()


def test_other_loss_ranges_are_rescaled(plan, losses):
    problem = Tracking(n=EXPERTS, horizon=ROUNDS, switches=2, loss_range=(-4.0, 4.0))
    wide = type(plan)(problem, **plan.parameters)
    quarters = np.round(losses * 4) / 4  # exact in both ranges
    first = plan.start(Randomness.replayable(4)).run(quarters)
    np.testing.assert_array_equal(wide.start(Randomness.replayable(4)).run(quarters * 8 - 4), first)
    assert float(wide.regret_bound) == pytest.approx(8 * float(plan.regret_bound))


def test_unknown_horizons_double():
    problem = Tracking(n=3, horizon=None, switches=1, adversary="stochastic")
    losses = Randomness.replayable(1).stream("losses").random((2000, 3))
    for make in set(BAD) - {algorithms.LazyFixedShare}:
        plan = make.calibrate(problem, epsilon=1.0, delta=0.0)
        assert len(plan.start(Randomness.replayable(1)).run(losses)) == 2000
        assert plan.guarantee.epsilon() <= 1.0


GOOD = {
    algorithms.LimitedUpdates: {"epsilon": 1.0},
    algorithms.RestartOnShift: {"epsilon": 1.0, "interval": 5, "slope": 1.0, "margin": 1.0},
    algorithms.RecentLeader: {"epsilon": 1.0, "block": 10},
    algorithms.LazyFixedShare: {"eta": 0.1, "force": 0.1},
    algorithms.NoisyMirrorDescent: {"eta": 0.1, "scale": 1.0},
    algorithms.TrackingOnSums: {"eta": 0.1, "mix": 0.1, "scale": 1.0, "block": 5},
}
BAD = {
    algorithms.LimitedUpdates: {"epsilon": [-1.0]},
    algorithms.RestartOnShift: {
        "epsilon": [0.0], "interval": [0], "slope": [-1.0], "margin": [float("nan")], "rounds_per_person": [0],
        "shares": [(0.5, 0.5, 0.5), (0.5, 0.5), (0.5, 0.5, 0.0)],
    },
    algorithms.RecentLeader: {"epsilon": [0.0], "block": [0, 1.5]},
    algorithms.LazyFixedShare: {
        "eta": [0.0, float("nan")], "force": [1.0], "batch": [0], "prior": ["flat"], "max_redraws": [-1],
    },
    algorithms.NoisyMirrorDescent: {
        "eta": [0.0], "scale": [float("inf")], "noise": ["cauchy"], "batch": [0], "rounds_per_person": [0],
    },
    algorithms.TrackingOnSums: {"eta": [0.0], "mix": [-1.0], "scale": [float("inf")], "block": [0], "base": ["none"]},
}  # fmt: skip
every = pytest.mark.parametrize("algorithm", BAD)


@every
def test_bad_parameters(algorithm):
    for field, values in BAD[algorithm].items():
        for bad in values:
            with pytest.raises(InvalidInput, match=field):
                algorithm(PROBLEM, **{**GOOD[algorithm], field: bad})


@every
def test_one_expert_is_free(algorithm):
    problem = Tracking(n=1, horizon=10, switches=0, adversary="stochastic")
    plan = algorithm.calibrate(problem, epsilon=1.0, delta=0.0)
    assert plan.guarantee.epsilon() == float(plan.regret_bound) == 0.0
    assert not plan.start(Randomness.replayable(1)).run(np.zeros((10, 1))).any()


@pytest.mark.parametrize("algorithm", [kind for kind in BAD if kind is not algorithms.RecentLeader])
def test_limits_on_switches_that_cannot_be_promised_are_refused(algorithm):
    with pytest.raises(PrivacyError, match="max_switches=2"):
        algorithm.calibrate(PROBLEM, epsilon=1.0, delta=0.0, max_switches=2)


@pytest.mark.parametrize(
    ("algorithm", "delta", "options"),
    [
        (algorithms.LimitedUpdates, 0.0, {}),
        (algorithms.RecentLeader, 0.0, {}),
        (algorithms.LazyFixedShare, 1e-6, {}),
        (algorithms.NoisyMirrorDescent, 0.0, {"noise": "cube"}),
        (algorithms.NoisyMirrorDescent, 0.0, {"noise": "laplace"}),
        (algorithms.NoisyMirrorDescent, 1e-6, {"noise": "gaussian"}),
    ],
)
def test_measured_regret_is_under_the_certificate(algorithm, delta, options):
    rounds, changes = 5000, () if algorithm is algorithms.LimitedUpdates else (2500,)
    problem = Tracking(n=3, horizon=rounds, switches=len(changes), adversary="stochastic")
    plan = algorithm.calibrate(problem, epsilon=4.0, delta=delta, **options)
    assert not plan.vacuous
    assert 0 < measured(plan, changes, 0.4, 6)[0].mean() < float(plan.regret_bound)


def test_lower_bound_warning():
    problem = Tracking(n=10_000, horizon=10_000, switches=4, adversary="adaptive")
    assert "linear dynamic regret" in lower_bound_warning(problem, 0.01)
    assert lower_bound_warning(problem, 0.03) is None
    static = Tracking(n=10_000, horizon=10_000, switches=0, adversary="adaptive")
    assert lower_bound_warning(static, 0.009) is not None
    assert lower_bound_warning(Tracking(n=10, horizon=10_000, switches=4), 0.01) is None
    assert lower_bound_warning(Tracking(n=10, horizon=None, switches=4, adversary="adaptive"), 0.01) is None
    assert lower_bound_warning(Experts(n=10, horizon=100), 0.01) is None
    with pytest.raises(InvalidInput, match="epsilon"):
        lower_bound_warning(problem, 0.0)
