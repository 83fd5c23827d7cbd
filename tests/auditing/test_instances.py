"""Every shipped plan says how small it can be audited, by attacks that exist, on feedback that is known."""

from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest

import tacit
from tacit.auditing.instances import extremes
from tacit.auditing.run import ATTACKS
from tacit.errors import InvalidInput
from tacit.losses import HuberLoss, LinearLoss
from tacit.planning.catalogue import CATALOGUE
from tacit.problems import Convex, Experts, Lipschitz, Problem, Tracking
from tacit.runtime import plan as plan_module
from tacit.runtime.small_instances import Attack

KNOWN = set(get_args(Attack))


def test_every_kind_of_attack_can_be_run():
    assert set(ATTACKS) == KNOWN


def test_every_shipped_plan_says_how_small_it_can_be_audited():
    for kinds in CATALOGUE.values():
        for kind in kinds:
            assert kind.small_instances is not plan_module.Plan.small_instances, kind.__name__


@pytest.mark.parametrize("batch", [1, 7])
def test_capped_chains_are_audited_at_a_cap_that_binds(batch):
    plan = tacit.algorithms.LazyExperts(Experts(n=9, horizon=700), eta=0.02, force=0.1, batch=batch, max_switches=30)
    loud, own = (small for small in plan.small_instances() if small.attack == "enumeration")
    assert loud.plan.max_switches == 1
    assert own.plan.max_switches == 30
    assert own.plan.batch == min(2, batch)
    assert (own.plan.eta, own.plan.problem.n) == (0.02, 2)
    assert "exponential weights" not in {small.attack for small in plan.small_instances()}
    shared = tacit.algorithms.LazyFixedShare(
        Tracking(n=9, horizon=700, switches=40), eta=0.02, force=0.1, max_redraws=9
    )
    assert next(small for small in shared.small_instances() if small.attack == "enumeration").plan.max_redraws == 1


def test_instances_are_never_longer_than_the_plan_or_the_budget():
    plan = tacit.algorithms.ScheduledExperts(Experts(n=3, horizon=20), eta=0.1)
    assert [small.plan.rounds for small in plan.small_instances()] == [6, 6, 6]
    long = tacit.algorithms.LazyFixedShare(Tracking(n=3, horizon=9_000, switches=500), eta=0.1, force=0.1)
    assert [small.plan.rounds for small in long.small_instances()] == [4, 4]
    assert all(small.plan.problem.switches < small.plan.rounds for small in long.small_instances())


def test_doubling_is_audited_at_its_border_and_as_its_first_epoch():
    plan = tacit.algorithms.ScheduledExperts.calibrate(Experts(n=3, horizon=None), epsilon=1.0, delta=1e-6)
    first, *others = plan.small_instances()
    assert first.attack == "epochs"
    assert tuple(others) == plan.epoch(0).small_instances()


def test_extreme_feedback_has_opposites_at_opposite_ends():
    for problem in (
        Experts(n=2, horizon=3),
        Experts(n=7, horizon=3),
        Convex(domain=tacit.domains.Ball(2), loss=LinearLoss(), horizon=3),
    ):
        letters = extremes(problem).symbols
        np.testing.assert_allclose(np.add(letters[0], letters[-1]), np.add(letters[1], letters[-2]))
    row, label = extremes(Convex(domain=tacit.domains.Ball(2), loss=HuberLoss(), horizon=3)).symbols[0]
    assert (len(row), label) == (2, 1.0)
    low, high = (extremes(Lipschitz(horizon=3)).symbols[k](np.array([[0.5]])) for k in (1, -2))
    np.testing.assert_allclose(low, -high)


@dataclass(frozen=True, kw_only=True)
class Weather(Problem):
    """A problem that no audit knows."""


def test_a_problem_of_ones_own_can_be_registered():
    with pytest.raises(InvalidInput, match="No audit knows what feedback Weather has"):
        extremes(Weather(horizon=3))
