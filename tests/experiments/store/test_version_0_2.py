"""Learners of every problem that version 0.2 kept, 15 rounds of each: they go on as they would have gone on there.

The store, its marks and the 25 decisions that followed (`families-0.2.json`) were made by version 0.2.
"""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tacit
import tacit_experiments
from tacit.domains import Ball
from tacit.errors import Conflict
from tacit.losses import LogisticLoss

pytest.importorskip("sqlalchemy")
HERE = Path(__file__).parent
FAMILIES = {
    "late": (tacit.Experts(n=4, horizon=200, delay=3), {"epsilon": 1.0}),
    "lazy": (tacit.Experts(n=4, horizon=200, delay=3), {"epsilon": 8.0}),
    "pure": (tacit.Experts(n=4, horizon=200), {"delta": 0.0}),
    "no end": (tacit.Experts(n=4, horizon=None), {}),
    "returning": (tacit.Experts(n=4, horizon=200), {"rounds_per_person": 3}),
    "zero-out": (tacit.Experts(n=4, horizon=200), {"relation": "zero-out"}),
    "few switches": (tacit.Experts(n=4, horizon=200), {"max_switches": 20}),
    "shifts": (tacit.Tracking(n=4, horizon=200, switches=2, delay=2), {}),
    "independent": (tacit.Tracking(n=4, horizon=200, switches=2, adversary="stochastic"), {"delta": 0.0}),
    "adaptive": (tacit.Tracking(n=4, horizon=200, switches=2, adversary="adaptive"), {"epsilon": 4.0}),
    "arms": (tacit.Arms(n=3, horizon=200, delay=5, adversary="oblivious"), {}),
    "clicks": (tacit.Arms(n=3, horizon=5000, delay=5), {"epsilon": 4.0}),
    "price": (tacit.Lipschitz(dimension=1, horizon=200), {}),
    "plane": (tacit.Lipschitz(dimension=2, horizon=60), {}),
    "convex": (tacit.Convex(domain=Ball(2), loss=LogisticLoss(), horizon=200), {}),
    "bandit": (tacit.Bandit(domain=Ball(2), horizon=200), {}),
}


def feedback(problem, number):
    values = [((7 * number + 3 * place) % 10) / 10 for place in range(4)]
    match problem:
        case tacit.Arms() | tacit.Bandit():
            return values[0]
        case tacit.Lipschitz():
            return None
        case tacit.Convex():
            return [values[0] / 2, values[1] / 2], 1.0
    return values


def written(folder):
    path = folder / "families.db"
    path.write_bytes(gzip.decompress((HERE / "families-0.2.db.gz").read_bytes()))
    path.with_name("families.db.mark").write_bytes((HERE / "families-0.2.db.mark").read_bytes())
    return path


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    with tacit_experiments.Store(written(tmp_path_factory.mktemp("old"))) as store:
        yield store


@pytest.mark.filterwarnings("ignore:Arms in a store")
@pytest.mark.parametrize("name", FAMILIES)
def test_a_learner_of_version_0_2_goes_on(old, name):
    """The planner chooses others now, and plans have new fields: most of these were refused."""
    problem, target = FAMILIES[name]
    target = {"epsilon": 1.0, "delta": 1e-6, **target}
    live = old.open(name, problem, **target)
    made = []
    for number in range(15, 40):
        made.append(np.asarray(live.decide(key=f"k{number}").action).tolist())
        if number >= problem.delay and number % 7:
            live.settle(number - problem.delay, feedback(problem, number))
    assert made == json.loads((HERE / "families-0.2.json").read_text())[name]
    old._lives.clear()
    again = old.open(name, problem, **target)  # of the fields that are written down now
    assert again.decide().round == 40


@pytest.mark.parametrize("name", ["price", "convex"])
def test_another_adversary_is_another_contract(tmp_path, name):
    """The signatures of version 0.2 do not name it, and the same plan has another certificate against it."""
    problem, target = FAMILIES[name]
    target = {"epsilon": 1.0, "delta": 1e-6, **target}
    with tacit_experiments.Store(written(tmp_path)) as store:
        for _ in range(2):
            with pytest.raises(Conflict, match=r"has another contract.*adversary='oblivious'"):
                store.open(name, replace(problem, adversary="stochastic"), **target)
        assert store.open(name, problem, **target).plan.problem.adversary == "oblivious"


def test_a_damaged_signature_is_refused(tmp_path):
    with tacit_experiments.Store(written(tmp_path)) as store:
        for damaged in ("-" * 200_000 + "1", "LazyExperts(", ""):
            with store.database.writing() as transaction:
                transaction.run("UPDATE tacit_learners SET signature = :damaged WHERE name = 'late'", damaged=damaged)
            with pytest.raises(Conflict, match="has another contract"):
                store.open("late")
