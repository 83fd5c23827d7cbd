import functools
import re
import sys

import cloudpickle
import numpy as np
import pytest

import tacit
from tacit.algorithms.experts import ScheduledExperts
from tacit.environments.bandit import Routing
from tacit.environments.experts import BernoulliGap
from tacit.errors import InvalidInput, MissingExtra
from tacit.planning.planner import CATALOGUE
from tacit.problems import Experts
from tacit.sweeps import sweep as module
from tacit.sweeps.sweep import sweep

EXPERTS = Experts(n=3, horizon=50)
PRIVATE = (1.0, 1e-6)


def numbers(result):
    """Everything that is in the frame except the time it took, and the regret of every run."""
    rows = result.to_frame().drop(columns="mean_seconds").to_dict("records")
    return rows, [cell.simulation.regret.tolist() for cell in result.cells]


@pytest.fixture(autouse=True)
def plan_once(monkeypatch):
    """Planning takes most of the time of these small sweeps, and always gives the same."""
    monkeypatch.setattr(module, "plan", PLAN)


PLAN = functools.cache(module.plan)


@functools.cache
def reference():
    return sweep(EXPERTS, [PRIVATE], "gap", runs=4)


def test_cells_are_what_simulate_measures():
    [cell] = reference().cells
    plan = tacit.plan(EXPERTS, epsilon=1.0, delta=1e-6)
    result = tacit.simulate(plan, BernoulliGap(3, 50), runs=4, progress=False)
    np.testing.assert_array_equal(cell.simulation.regret, result.regret)
    [row] = reference().to_frame().to_dict("records")
    measured = result.to_dict()
    assert row["certified_regret"] == measured["certified_bound"]
    assert row["proved_floor"] == float(plan.floor)
    for name in ("algorithm", "runs", "rounds", "mean_regret", "standard_error", "mean_switches"):
        assert row[name] == measured[name]


def test_loky_makes_the_same_rows():
    assert numbers(sweep(EXPERTS, [PRIVATE], "gap", runs=4, n_jobs=2)) == numbers(reference())


def test_unknown_horizon_travels_to_workers(monkeypatch):
    monkeypatch.setitem(CATALOGUE, Experts, (ScheduledExperts,))
    sent = []
    original = module._timed_run

    def sending(*job):
        sent.append(cloudpickle.loads(cloudpickle.dumps(job)))
        return original(*job)

    monkeypatch.setattr(module, "_timed_run", sending)
    result = sweep(Experts(n=2, horizon=None), [(20.0, 1e-6)], lambda problem: BernoulliGap(problem.n, 1100), runs=1)
    [cell] = result.cells
    assert cell.to_dict()["rounds"] == 1100
    np.testing.assert_array_equal(original(*sent[0])[0].regret, cell.simulation.regret[0])
    assert cloudpickle.dumps(module._candidates(Experts(n=2, horizon=None), 20.0, 1e-6, (ScheduledExperts,)))


def test_dask_cluster_makes_the_same_rows(tmp_path):
    distributed = pytest.importorskip("distributed")
    import joblib

    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        result = sweep(EXPERTS, [PRIVATE], "gap", runs=4)
    assert numbers(result) == numbers(reference())


def test_problems_without_experts():
    world = Routing(horizon=2000)
    [cell] = sweep(world.problem, [PRIVATE], lambda problem: world, runs=1).cells
    assert cell.world == "Routing"


def test_all_algorithms_and_by_name():
    every = sweep(EXPERTS, [PRIVATE], "gap", runs=1, algorithms="all").to_frame()
    assert set(every["algorithm"]) == {"LazyExperts", "L2P", "ScheduledExperts", "HedgeOnSums"}
    assert every["chosen"].sum() == 1
    two = sweep(EXPERTS, [PRIVATE, (2.0, 1e-6)], "gap", runs=1, algorithms=["L2P", "HedgeOnSums"]).to_frame()
    assert two["algorithm"].tolist() == ["L2P", "HedgeOnSums"] * 2
    assert two["epsilon"].tolist() == [1.0, 1.0, 2.0, 2.0]


MODELS = tacit.Stochastic(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=50)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"problems": [3]}, "'problems' parameter of sweep"),
        ({"problems": []}, "sweep is empty"),
        ({"privacies": []}, "sweep is empty"),
        ({"environments": []}, "sweep is empty"),
        ({"privacies": [1.0]}, "pairs"),
        ({"privacies": [(-1.0, 0.0)]}, "'epsilon'"),
        ({"environments": "nowhere"}, "'gap', 'switching', 'perfect' or 'fair'"),
        ({"problems": Routing(horizon=100).problem}, "Bandit simulations must be 'moving'"),
        ({"problems": MODELS}, "Stochastic has no environments by name"),
        ({"problems": Experts(n=2, horizon=None)}, "needs a number of rounds"),
        ({"environments": lambda problem: BernoulliGap(5, 50)}, "5"),
        ({"runs": 0}, "'runs'"),
        ({"seed": -1}, "'seed'"),
        ({"algorithms": ["Magic"]}, "'Magic'"),
    ],
)
def test_bad_grids_raise_before_anything_is_run(change, words, monkeypatch):
    monkeypatch.setattr(module, "_timed_run", None)
    with pytest.raises(InvalidInput, match=words):
        sweep(**{"problems": EXPERTS, "privacies": [PRIVATE], "environments": "gap"} | change)


def test_missing_joblib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingExtra, match=re.escape("tacit[sweeps]")):
        sweep(EXPERTS, [PRIVATE], "gap")
