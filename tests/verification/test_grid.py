"""Accountants over a grid of relations, rounds per person, epsilons and deltas: stated follows, forged does not."""

import json
from itertools import product

import pytest

import tacit
from tacit.errors import PrivacyError

EXPERTS = tacit.Experts(n=4, horizon=300)
STOCHASTIC = tacit.Tracking(n=3, switches=2, horizon=400, adversary="stochastic")
ADAPTIVE = tacit.Tracking(n=3, switches=2, horizon=400, adversary="adaptive")
OBLIVIOUS = tacit.Tracking(n=3, switches=2, horizon=400)
LOGISTIC = tacit.Stochastic(domain=tacit.Ball(3), loss=tacit.LogisticLoss(), horizon=300)
HINGE = tacit.Stochastic(domain=tacit.Ball(3), loss=tacit.SmoothedHingeLoss(smoothing=0.5), horizon=300)
HUBER = tacit.Stochastic(domain=tacit.Ball(3), loss=tacit.HuberLoss(transition=0.5), horizon=300)
LINE = tacit.Lipschitz(dimension=1, horizon=300)
DISC = tacit.Bandit(domain=tacit.Ball(2, radius=0.5), horizon=4000, value_range=(0.0, 1.0), lipschitz=1.0)
RECORDS = tacit.StochasticLipschitz(dimension=1, horizon=300)

QUICK = [
    (tacit.OnlineToBatch, LOGISTIC, {"batch": 4}),
    (tacit.OnlineToBatch, LOGISTIC, {"batch": 4, "scheduled": True}),
    (tacit.LimitedUpdates, STOCHASTIC, {}),
    (tacit.RecentLeader, STOCHASTIC, {}),
    (tacit.RestartOnShift, STOCHASTIC, {}),
    (tacit.LipschitzGrid, LINE, {}),
    (tacit.BanditFW, DISC, {}),
]
SLOW = [
    (tacit.OnlineToBatch, LOGISTIC, {"batch": 4, "mechanism": "tree"}),
    (tacit.OnlineToBatch, LOGISTIC, {"batch": 4, "mechanism": "tree", "scheduled": True}),
    (tacit.OnlineToBatch, LOGISTIC, {"batch": 1, "mechanism": "square-root"}),
    (tacit.ObjectivePerturbation, LOGISTIC, {}),
    (tacit.ObjectivePerturbation, LOGISTIC, {"regularisation": 3.0}),
    (tacit.ObjectivePerturbation, HINGE, {}),
    (tacit.ObjectivePerturbation, HUBER, {}),
    (tacit.TrackingOnSums, STOCHASTIC, {}),
    (tacit.L2P, EXPERTS, {}),
    (tacit.SampledFixedShare, ADAPTIVE, {}),
    (tacit.LazyFixedShare, OBLIVIOUS, {}),
    (tacit.LipschitzNet, LINE, {}),
    (tacit.LipschitzOnePass, RECORDS, {}),
]
ONE_RECORD = ("ObjectivePerturbation",)


def made(algorithm, problem, options, relation, people, epsilon, delta):
    target = {"epsilon": epsilon, "delta": delta, "relation": relation, "rounds_per_person": people}
    adversary = {"adversary": problem.adversary} if isinstance(problem, tacit.Tracking) else {}
    plan = algorithm.calibrate(problem, **target, **adversary, **options)
    return json.loads(json.dumps(tacit.contract(plan)))


def check(contract):
    """The relative gap between what is stated and what is recomputed; None: not verifiable."""
    verdict = tacit.verify(contract)
    assert verdict.answer != "no", verdict
    least = min(contract["epsilon"], verdict.epsilon)  # where the second accountant is the sharper one
    forged = tacit.verify({**contract, "epsilon": least * 0.99})
    assert forged.answer != "yes", (verdict, forged)
    if verdict.answer == "not verifiable yet":
        return None
    gap = contract["epsilon"] / verdict.epsilon - 1
    assert -1e-9 < gap < 0.02
    return gap


def over(grid, algorithm, problem, options):
    gaps = []
    for relation, people, epsilon, delta in grid:
        if people > 1 and algorithm.__name__ in ONE_RECORD:
            continue
        try:
            contract = made(algorithm, problem, options, relation, people, epsilon, delta)
        except PrivacyError:  # this algorithm has no plan there
            continue
        gaps.append((check(contract), relation, people, epsilon, delta))
    return gaps


def names(part):
    return getattr(part, "__name__", "")


@pytest.mark.parametrize(("algorithm", "problem", "options"), QUICK, ids=names)
def test_a_few_corners(algorithm, problem, options):
    grid = [("replace", 1, 0.1, 1e-6), ("zero-out", 3, 3.0, 0.0), ("zero-out", 3, 0.5, 1e-6)]
    found = over(grid, algorithm, problem, options)
    assert found
    assert all(gap is not None for gap, *_ in found)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "problem", "options"), QUICK + SLOW, ids=names)
def test_the_whole_grid(algorithm, problem, options):
    grid = product(("replace", "zero-out"), (1, 3), (0.1, 1.0, 3.0), (0.0, 1e-6))
    found = over(grid, algorithm, problem, options)
    assert sum(gap is not None for gap, *_ in found) >= len(found) / 2 > 0
