"""What every learner of the catalogue says about its arithmetic, and that it says one of the three things."""

from typing import NamedTuple

import pytest

import tacit
from attacks import rows
from tacit import algorithms
from tacit.accounting.rounding import EXACT, IDEALIZED, composed_numerics, exact_up_to, extra_epsilon
from tacit.planning.catalogue import CATALOGUE

BALL = tacit.domains.Ball(2, radius=2.0)
PROBLEMS = {
    tacit.Experts: tacit.Experts(n=3, horizon=60),
    tacit.Tracking: tacit.Tracking(n=3, horizon=60, switches=2, adversary="stochastic"),
    tacit.Convex: tacit.Convex(domain=BALL, loss=tacit.losses.QuadraticLoss(), horizon=60),
    tacit.Lipschitz: tacit.Lipschitz(horizon=60),
    tacit.Bandit: tacit.Bandit(domain=tacit.domains.Ball(2, radius=0.5), horizon=400),
    tacit.Arms: tacit.Arms(n=3, horizon=400),
    tacit.Policies: tacit.Policies(n=3, actions=2, horizon=400),
    tacit.ContextualArms: tacit.ContextualArms(n=3, dimension=2, horizon=400),
    tacit.Stochastic: tacit.Stochastic(domain=BALL, loss=tacit.losses.LogisticLoss(), horizon=60),
}
GAUSSIAN, PURE = {"delta": 1e-6}, {"delta": 0.0}


class Row(NamedTuple):
    """A learner, options, and the largest extra epsilon that its contract may state (0: exact, inf: idealized)."""

    algorithm: type
    options: dict
    most: float
    problem: object = None


SAMPLERS, WEIGHTS, MODEL, NONE = 1e-20, 1e-6, 1e-4, float("inf")
STILL = tacit.Tracking(n=3, horizon=60, switches=0, adversary="stochastic")
ROWS = [
    Row(algorithms.LazyExperts, GAUSSIAN, 0.0), Row(algorithms.LazyExperts, PURE, 0.0),
    Row(algorithms.L2P, GAUSSIAN, 0.0), Row(algorithms.ScheduledExperts, GAUSSIAN, 0.0),
    Row(algorithms.LipschitzNet, GAUSSIAN, 0.0), Row(algorithms.LimitedUpdates, PURE, 0.0, STILL),
    Row(algorithms.RecentLeader, PURE, 0.0), Row(algorithms.TrackingOnSums, PURE, 0.0),
    Row(algorithms.NoisyMirrorDescent, GAUSSIAN, 0.0),
    Row(algorithms.RestartOnShift, PURE, 0.0), Row(algorithms.BatchedTsallis, PURE, 0.0),
    Row(algorithms.PhasedArms, {**PURE, "adversary": "stochastic"}, 0.0),
    Row(algorithms.LiveArms, {**PURE, "adversary": "stochastic"}, 0.0),
    Row(algorithms.Responses, PURE, 0.0), Row(algorithms.PolicyArms, PURE, 0.0),
    Row(algorithms.HedgeOnSums, PURE, 0.0), Row(algorithms.PrivateFTRL, PURE, 0.0),
    Row(algorithms.BanditFW, PURE, 0.0), Row(algorithms.OnlineToBatch, PURE, 0.0), Row(algorithms.NoisyMirrorDescent,
    PURE, 0.0),
    Row(algorithms.HedgeOnSums, GAUSSIAN, SAMPLERS), Row(algorithms.LipschitzGrid, GAUSSIAN, SAMPLERS),
    Row(algorithms.AveragedFTRL, PURE, 0.0), Row(algorithms.AveragedFTRL, GAUSSIAN, SAMPLERS),
    Row(algorithms.ExploreLinear, GAUSSIAN, SAMPLERS),
    Row(algorithms.PrivateFTRL, GAUSSIAN, SAMPLERS), Row(algorithms.BanditFW, GAUSSIAN, SAMPLERS),
    Row(algorithms.OnlineToBatch, GAUSSIAN, SAMPLERS), Row(algorithms.OnlineToBatch, {**GAUSSIAN,
    "mechanism": "tree"}, SAMPLERS),
    Row(algorithms.NoisyMirrorDescent, {**GAUSSIAN, "noise": "gaussian"}, SAMPLERS),
    Row(algorithms.LazyFixedShare, GAUSSIAN, WEIGHTS),
    Row(algorithms.LazyFixedShare, GAUSSIAN, 0.0, STILL), Row(algorithms.LazyFixedShare, {**GAUSSIAN,
    "prior": "uniform"}, NONE),
    Row(algorithms.ObjectivePerturbation, GAUSSIAN, MODEL), Row(algorithms.ObjectivePerturbation, PURE, NONE),
    Row(algorithms.CTRL, GAUSSIAN, NONE), Row(algorithms.L2PConvex, GAUSSIAN, NONE),
]  # fmt: skip


def made(row, **options):
    problem = row.problem or next(PROBLEMS[kind] for kind, known in CATALOGUE.items() if row.algorithm in known)
    return row.algorithm.calibrate(problem, **{"epsilon": 1.0, **row.options, **options})


def test_every_algorithm_of_the_catalogue_has_a_row():
    known = {algorithm for family in CATALOGUE.values() for algorithm in family}
    assert {row.algorithm for row in ROWS} == known


@pytest.mark.attack(rows.DIGITS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.algorithm.__name__} {row.options}"[:60])
def test_contracts_say_what_the_arithmetic_is(row, record_property):
    record_property("attacked", row.algorithm.__name__)
    plan = made(row)
    words, extra = plan.guarantee.numerics, extra_epsilon(plan.guarantee.numerics)
    if row.most == 0:
        assert words == EXACT
    elif row.most == NONE:
        assert words == IDEALIZED
    else:
        assert words.startswith("exact up to an extra epsilon of ")
        assert 0 < extra <= row.most
    assert words in str(plan.guarantee)
    assert plan.guarantee.epsilon() <= 1.0 + 1e-9  # the extra is part of it
    again = plan.guarantee.compose(plan.guarantee)
    assert again.numerics == composed_numerics([words, words])


@pytest.mark.parametrize(
    "algorithm", [algorithms.HedgeOnSums, algorithms.PrivateFTRL, algorithms.LipschitzGrid, algorithms.BanditFW,
    algorithms.OnlineToBatch,
                  algorithms.ObjectivePerturbation, algorithms.NoisyMirrorDescent],
)  # fmt: skip
@pytest.mark.parametrize("options", [GAUSSIAN, PURE], ids=["Gaussian", "pure"])
def test_simulations_on_floats_say_idealized(algorithm, options):
    if (algorithm, options) == (algorithms.LipschitzGrid, PURE):
        pytest.skip("it has no pure form")
    assert made(Row(algorithm, options, NONE), numerics="float").guarantee.numerics == IDEALIZED


@pytest.mark.parametrize(
    ("algorithm", "problem", "options", "times"),
    [
        (algorithms.HedgeOnSums, tacit.Experts(n=1000, horizon=10**6), {}, 1),
        (
            algorithms.PrivateFTRL,
            tacit.Convex(domain=tacit.domains.Ball(1000), loss=tacit.losses.LinearLoss(), horizon=10**6),
            {},
            1,
        ),
        (algorithms.LipschitzGrid, tacit.Lipschitz(horizon=10**6), {"coordinates": "multiscale"}, 1),
        # A value is the sum of thousands of differences, each of them rounded.
        (algorithms.LipschitzGrid, tacit.Lipschitz(horizon=10**6), {"coordinates": "differences"}, 10),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 1e-3), (0.1, 2e-3)])
def test_the_lattice_costs_next_to_no_regret(algorithm, problem, options, times, epsilon, most):
    """Of a million rounds, in many dimensions: the more private, the coarser the lattice."""
    exact, ideal = (
        float(algorithm.calibrate(problem, epsilon=epsilon, delta=1e-6, numerics=numerics, **options).regret_bound)
        for numerics in ("exact", "float")
    )
    assert 0 < exact / ideal - 1 < times * most


def test_what_only_decides_is_exact_whatever_is_asked():
    for algorithm in (
        algorithms.LazyExperts,
        algorithms.L2P,
        algorithms.ScheduledExperts,
        algorithms.RestartOnShift,
    ):
        assert made(Row(algorithm, GAUSSIAN, 0.0), numerics="float").guarantee.numerics == EXACT


def test_compositions_add_the_extras_and_are_idealized_if_a_part_is():
    plans = {
        "exact": made(Row(algorithms.RestartOnShift, PURE, 0.0)),
        "sums": made(Row(algorithms.NoisyMirrorDescent, GAUSSIAN, 0.0)),
        "weights": made(Row(algorithms.LazyFixedShare, GAUSSIAN, 0.0)),
        "uniform": made(Row(algorithms.LazyFixedShare, {**GAUSSIAN, "prior": "uniform"}, 0.0)),
    }
    exact, sums, weights, uniform = (plan.guarantee for plan in plans.values())
    total = extra_epsilon(sums.numerics) + extra_epsilon(weights.numerics)
    assert exact.compose(exact).numerics == EXACT
    assert exact.compose(sums).numerics == sums.numerics
    assert extra_epsilon(exact_up_to(total)) <= extra_epsilon(exact.compose(sums, weights).numerics) <= 1.1 * total
    assert exact.compose(sums, uniform).numerics == IDEALIZED
