import functools
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import cloudpickle
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from sweeps import sweep_child
from tacit.algorithms.experts import ScheduledExperts
from tacit.domains import Box
from tacit.environments.bandit import Routing
from tacit.environments.experts import BernoulliGap, Replay
from tacit.errors import InvalidInput, MissingExtra
from tacit.planning.planner import CATALOGUE
from tacit.problems import Experts
from tacit.simulation.loop import simulate
from tacit.sweeps import records
from tacit.sweeps import sweep as module
from tacit.sweeps.records import Store, Sweep, describe, digest
from tacit.sweeps.sweep import sweep

EXPERTS = Experts(n=3, horizon=50)
PRIVATE = (1.0, 1e-6)


def numbers(result):
    """Everything that was measured except the time it took."""
    return result.table.drop_columns(["seconds"]).to_pydict()


@pytest.fixture(autouse=True)
def plan_once(monkeypatch):
    """Planning takes most of the time of these small sweeps, and always gives the same."""
    monkeypatch.setattr(module, "plan", PLAN)


PLAN = functools.cache(module.plan)


@functools.cache
def reference():
    return sweep(EXPERTS, [PRIVATE], "gap", runs=4, command="x")


# --- killed and started again ----------------------------------------------------------------------------------


def stored(folder):
    return len(list(folder.glob("part-*.parquet"))) if folder.exists() else 0


def kill_and_continue(folder, runs, kills):
    """Start the sweep, kill it once it stored something new, start again; then let it end."""
    command = [sys.executable, sweep_child.__file__, str(folder), str(runs), "1"]
    step = max(1, 2 * runs // (kills + 2))
    for _ in range(kills):
        before = stored(folder)
        child = subprocess.Popen([*command, str(min(before + step + 5, 2 * runs - 1))], start_new_session=True)
        while child.poll() is None and stored(folder) < before + step:
            time.sleep(0.002)
        assert child.poll() is None, "it ended before it could be killed"
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait(60) == -signal.SIGKILL
    subprocess.run([*command, "inf"], check=True, timeout=300)


def test_killed_sweep_goes_on_where_it_stopped(tmp_path):
    folder, runs, kills = tmp_path / "results.parquet", 20, 2
    kill_and_continue(folder, runs, kills)
    parts = [pq.read_table(part) for part in sorted(folder.glob("part-*.parquet"))]
    keys = [key for part in parts for key in zip(part["cell"].to_pylist(), part["run"].to_pylist(), strict=True)]
    assert len(keys) == len(set(keys)) == 2 * runs
    assert not list(folder.glob(".*.tmp"))
    assert len(pq.read_table(folder)) == 2 * runs  # any reader takes the folder for one table
    whole = sweep_child.run(tmp_path / "uninterrupted.parquet", runs)
    assert numbers(Sweep.read(folder)) == numbers(whole)


def test_killed_inside_a_write_leaves_nothing_behind(tmp_path, monkeypatch):
    store = Store.open(tmp_path / "r")
    (tmp_path / "r" / ".half.1.tmp").write_bytes(b"PAR1 half of a part")
    with store.alone():
        assert not list(store.path.glob(".*.tmp"))

    def dies(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(records.os, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        store.append(reference().table, "a")
    assert records.read_tables(store.path) == []
    monkeypatch.undo()
    assert numbers(sweep(EXPERTS, [PRIVATE], "gap", runs=4, path=store.path, command="x")) == numbers(reference())


def test_second_writer_is_refused(tmp_path):
    store = Store.open(tmp_path / "r")
    program = f"from tacit.sweeps.records import Store\nwith Store.open({str(store.path)!r}).alone(): pass"
    with store.alone():
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "Another sweep is writing" in other.stderr
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# --- the numbers -----------------------------------------------------------------------------------------------


def test_rows_are_the_runs_of_simulate():
    [summary] = reference().summaries()

    plan = tacit.plan(EXPERTS, epsilon=1.0, delta=1e-6)
    result = simulate(plan, BernoulliGap(3, 50), runs=4, progress=False)
    np.testing.assert_array_equal(summary.regret, result.regret)
    np.testing.assert_array_equal(summary.switches, result.switches)
    assert summary["bound"] == result.bound
    assert summary["contract"] == str(plan.guarantee.with_randomness("replayable: not private"))
    assert summary["algorithm"] == plan.algorithm
    assert summary.mean == pytest.approx(result.mean[-1])
    assert summary.standard_error == pytest.approx(result.standard_error[-1])
    assert summary.per_round == pytest.approx(result.per_round)


def test_more_runs_only_add_rows(tmp_path, monkeypatch):
    folder = tmp_path / "r.parquet"
    sweep(EXPERTS, [PRIVATE], "gap", runs=2, path=folder, command="x")
    first = {part: part.read_bytes() for part in folder.glob("part-*.parquet")}
    made = []
    original = module.make_row
    monkeypatch.setattr(module, "make_row", lambda job: made.append(job.run) or original(job))
    assert numbers(sweep(EXPERTS, [PRIVATE], "gap", runs=4, path=folder, command="x")) == numbers(reference())
    assert made == [2, 3]
    assert all(part.read_bytes() == content for part, content in first.items())
    sweep(EXPERTS, [PRIVATE], "gap", runs=3, path=folder, command="x")
    assert made == [2, 3]


def test_other_cells_in_the_folder_are_not_ours(tmp_path):
    sweep(EXPERTS, [PRIVATE], "switching", runs=2, path=tmp_path / "r", command="x")
    ours = sweep(EXPERTS, [PRIVATE], "gap", runs=4, path=tmp_path / "r", command="x")
    assert numbers(ours) == numbers(reference())
    assert len(Sweep.read(tmp_path / "r")) == 6


def test_loky_makes_the_same_rows():
    assert numbers(sweep(EXPERTS, [PRIVATE], "gap", runs=4, n_jobs=2, command="x")) == numbers(reference())


def test_unknown_horizon_travels_to_workers(monkeypatch):
    monkeypatch.setitem(CATALOGUE, Experts, (ScheduledExperts,))
    sent = []
    original = module.make_row

    def make_row(job):
        sent.append(cloudpickle.loads(cloudpickle.dumps(job)))
        return original(job)

    monkeypatch.setattr(module, "make_row", make_row)
    result = sweep(Experts(n=2, horizon=None), [(20.0, 1e-6)], lambda problem: BernoulliGap(problem.n, 1100), runs=1)
    assert result.summaries()[0]["horizon"] == 1100
    assert original(sent[0])["regret_curve"] == result.table["regret_curve"].to_pylist()[0]
    assert cloudpickle.dumps(module._candidates(Experts(n=2, horizon=None), 20.0, 1e-6, (ScheduledExperts,)))


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_dask_cluster_makes_the_same_rows(processes, tmp_path):
    distributed = pytest.importorskip("distributed")
    import joblib

    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=processes,
            dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        result = sweep(EXPERTS, [PRIVATE], "gap", runs=4, path=tmp_path / "r", command="x")
    assert numbers(result) == numbers(reference())


def test_backend_that_only_gives_lists():
    import joblib
    from joblib._parallel_backends import SequentialBackend

    class Lists(SequentialBackend):
        supports_return_generator = False

    joblib.register_parallel_backend("lists", Lists)
    result = sweep(EXPERTS, [PRIVATE], "gap", runs=4, backend="lists", command="x")
    assert numbers(result) == numbers(reference())


def test_problems_without_experts():
    world = Routing(horizon=2000)
    result = sweep(world.problem, [PRIVATE], lambda problem: world, runs=1)
    [summary] = result.summaries()
    assert summary["dimension"] == 7
    assert summary["n"] is None


def test_all_algorithms_and_by_name():
    every = sweep(EXPERTS, [PRIVATE], "gap", runs=1, algorithms="all")
    names = {summary["algorithm"] for summary in every.summaries()}
    assert names == {"LazyExperts", "L2P", "ScheduledExperts", "HedgeOnSums"}
    assert sum(summary["chosen"] for summary in every.summaries()) == 1
    two = sweep(EXPERTS, [PRIVATE], "gap", runs=1, algorithms=["L2P", "HedgeOnSums"])
    assert [summary["algorithm"] for summary in two.summaries()] == ["HedgeOnSums", "L2P"]
    assert set(two.summaries()[0]["candidates"]) == names


# --- names -----------------------------------------------------------------------------------------------------


def test_names_are_the_same_in_another_process():
    program = "from tacit.sweeps.records import *; from tacit.environments.experts import *; import numpy as np; "
    program += "print(digest(describe(Replay(np.arange(6.0).reshape(3, 2)))))"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest(describe(Replay(np.arange(6.0).reshape(3, 2))))


def test_large_arrays_with_one_repr_have_two_names():
    losses = np.zeros((2000, 3))
    other = losses.copy()
    other[1000, 1] = 1.0
    assert repr(losses) == repr(other)
    assert describe(Replay(losses)) != describe(Replay(other))
    assert describe(Replay(losses)) == describe(Replay(losses.copy()))


def test_everything_public_has_a_name():
    assert describe(Box(np.zeros(2), np.ones(2))).startswith("Box(")
    assert describe(functools.partial(describe, 1)) == "partial(tacit.sweeps.records.describe, (1), {})"
    assert describe({"a": [1, np.float64(2.0)]}) == "{'a': [1, 2.0]}"


@dataclass
class Holder:
    inside: object


@pytest.mark.parametrize("inside", [object(), lambda: 1, np.array([object()])])
def test_what_has_no_name_is_refused(inside):
    with pytest.raises(InvalidInput, match="name"):
        describe(Holder(inside))


# --- progress --------------------------------------------------------------------------------------------------


def test_progress_ends_with_nothing_left(capsys):
    sweep(EXPERTS, [PRIVATE], "gap", runs=3, progress=True)
    shown = capsys.readouterr().err
    assert re.search(r"3/3 runs, 0 s left *\n$", shown)
    sweep(EXPERTS, [PRIVATE], "gap", runs=1)
    assert capsys.readouterr().err == ""  # not a terminal


# --- errors ----------------------------------------------------------------------------------------------------


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
def test_bad_grids_raise_before_anything_is_written(change, words, tmp_path):
    arguments = {"problems": EXPERTS, "privacies": [PRIVATE], "environments": "gap", "path": tmp_path / "r"} | change
    with pytest.raises(InvalidInput, match=words):
        sweep(arguments.pop("problems"), arguments.pop("privacies"), arguments.pop("environments"), **arguments)
    assert not (tmp_path / "r").exists()


def test_missing_joblib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingExtra, match=re.escape("tacit[sweeps]")):
        sweep(EXPERTS, [PRIVATE], "gap")


def test_sweeps_of_the_schema_before_are_read(tmp_path):
    made = sweep(EXPERTS, [PRIVATE], "gap", runs=1, path=tmp_path / "new")
    [floor] = [summary["floor"] for summary in made.summaries()]
    assert floor == float(tacit.plan(EXPERTS, epsilon=PRIVATE[0], delta=PRIVATE[1]).floor)
    [file] = (tmp_path / "new").glob("part-*.parquet")
    old = pq.read_table(file).append_column("held", pa.array([[]]))
    old = old.set_column(old.column_names.index("tacit_schema"), "tacit_schema", pa.array([2]))
    pq.write_table(old, tmp_path / "old.parquet")
    assert Sweep.read(tmp_path / "old.parquet").table["regret_curve"] == made.table["regret_curve"]


def broken_files(folder):
    (folder / "text.parquet").write_text("not Parquet")
    pq.write_table(pa.table({"a": [1]}), folder / "foreign.parquet")
    pq.write_table(pa.table({"tacit_schema": [99]}), folder / "newer.parquet")
    pq.write_table(pa.table({"tacit_schema": [records.SCHEMA_VERSION]}), folder / "short.parquet")
    (folder / "empty.parquet").mkdir()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none", "There is no file"),
        ("text", "is not a Parquet file"),
        ("foreign", "no column 'tacit_schema'"),
        ("newer", "rows of schema"),
        ("short", "lacks the columns"),
        ("empty", "no rows yet"),
    ],
)
def test_unreadable_results(name, words, tmp_path):
    broken_files(tmp_path)
    with pytest.raises(InvalidInput, match=words):
        Sweep.read(tmp_path / f"{name}.parquet")


def test_a_sweep_does_not_write_over_a_file(tmp_path):
    (tmp_path / "r").write_text("precious")
    with pytest.raises(InvalidInput, match="is a file"):
        sweep(EXPERTS, [PRIVATE], "gap", runs=1, path=tmp_path / "r")
    assert (tmp_path / "r").read_text() == "precious"


def test_one_file_made_from_the_folder_is_read(tmp_path):
    made = sweep(EXPERTS, [PRIVATE], "gap", runs=4, path=tmp_path / "r", command="x")
    pq.write_table(pq.read_table(tmp_path / "r"), tmp_path / "one.parquet")
    assert numbers(Sweep.read(tmp_path / "one.parquet")) == numbers(made)
    assert repr(made) == f"Sweep(4 runs of 1 cells, path={str(tmp_path / 'r')!r})"


def test_frames_have_a_row_for_each_cell():
    result = tacit.sweep(tacit.Experts(n=3, horizon=40), [(1.0, 1e-6), (2.0, 1e-6)], "gap", runs=2, progress=False)
    frame = result.to_frame()
    assert frame["mean_regret"].tolist() == [summary.mean for summary in result.summaries()]
    assert frame["epsilon"].tolist() == [1.0, 2.0]
