"""Stores and fleets take no plan whose printed promise is not kept."""

from dataclasses import replace

import pytest

import tacit_experiments
from runtime.test_printed import PROBLEM, check_door, compared, every_status, plan_of
from tacit import InvalidInput, PrivacyError, Randomness
from tacit.algorithms import L2P
from tacit.runtime.printed import RUNNABLE
from tacit_experiments.fleet.contract import contract as fleet_contract
from tacit_experiments.fleet.fleet import Fleet
from tacit_experiments.store.rows import Beginning

DOORS = {
    "fleet": lambda plan: Fleet(plan, Randomness.sealed(bytes(range(32)))),
    "contract of a fleet": fleet_contract,
    "store": lambda plan: Beginning.of(compared(plan), None, None, False),
}


@pytest.mark.parametrize("door", DOORS)
@every_status
def test_every_door_refuses_what_is_not_kept(status, door):
    check_door(status, DOORS[door])


@every_status
def test_a_store_refuses_an_algorithm_that_plans_so(status, tmp_path, monkeypatch):
    problem = replace(PROBLEM, horizon=60)
    target = {"epsilon": 50.0, "delta": 0.1, "algorithms": ["L2P"]}
    monkeypatch.setattr(L2P, "_calibrate", classmethod(lambda cls, problem, target: plan_of(status, problem)))
    with tacit_experiments.Store(tmp_path / "store.db") as store:
        if status in RUNNABLE:
            store.open("home", problem, **target)
        else:
            # Where nothing is proved the target is not met either.
            with pytest.raises((PrivacyError, InvalidInput), match=r"is for simulations|would state epsilon=inf"):
                store.open("home", problem, **target)
        assert ("home" in store) == (status in RUNNABLE)
