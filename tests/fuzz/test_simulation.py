"""Simulations, sweeps, comparators and pictures."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.plans import made
from fuzz.strategies import examples, nearly, odd_arrays, one_of, values
from tacit.simulation.comparators import best_fixed_point, best_switching_sequence
from tacit.sweeps.records import Sweep

pytestmark = pytest.mark.usefixtures("quick_planner")

WORLD = tacit.environments.BernoulliGap(3, 20)


@examples(25)
@given(arguments=nearly(plan=made("ScheduledExperts"), environment=WORLD, runs=2, seed=0, progress=one_of(None, False)))
def test_simulate(arguments):
    if isinstance(arguments["runs"], int) and arguments["runs"] > 10**5:
        arguments["runs"] = 2  # as many runs as were asked for would be made
    found = attempt(lambda: tacit.simulate(**arguments))
    if found is REFUSED:
        return
    assert found.regret.shape == (arguments["runs"], len(found.rounds))
    assert np.isfinite(found.per_round)
    assert found.bound >= 0
    assert all(np.all(np.isfinite(part)) for part in (found.mean, found.standard_error))
    assert attempt(found.summary)
    assert attempt(lambda: json.dumps(found.to_dict()))


@examples(15)
@given(losses=odd_arrays())
def test_environments_that_do_not_fit(losses):
    world = attempt(lambda: tacit.environments.Replay(losses))
    if world is not REFUSED:
        found = attempt(lambda: tacit.simulate(made("ScheduledExperts"), world, runs=1))
        assert found is REFUSED or np.all(np.isfinite(found.regret))


SWEEP = {
    "problems": one_of(tacit.Experts(n=2, horizon=8), [tacit.Experts(n=2, horizon=8)], []),
    "privacies": one_of([(1.0, 1e-6)], [(1.0, 0.0), (2.0, 1e-6)], [], [(1.0,)]),
    "environments": one_of("gap", ["gap"], lambda problem: tacit.environments.BernoulliGap(2, 8), "none"),
    "runs": one_of(1, 2),
    "seed": 0,
    "algorithms": one_of("best", "all", "none", ["ScheduledExperts"]),
    "progress": False,
    "command": "none",
    "path": None,
}


@examples(12)
@given(arguments=nearly(**SWEEP))
def test_sweep(arguments):
    if isinstance(arguments["runs"], int) and arguments["runs"] > 10:
        arguments["runs"] = 1
    if isinstance(arguments["path"], str | bytes):
        arguments["path"] = None  # every text is the name of a folder
    found = attempt(lambda: tacit.sweep(**arguments))
    if found is not REFUSED:
        assert len(found) >= 1
        assert attempt(found.summaries)
        assert isinstance(repr(found), str)
        assert len(found.to_frame()) == len(found.summaries())


@examples(15)
@given(content=st.binary(max_size=20), path=values)
def test_sweeps_are_read_or_refused(content, path):
    with TemporaryDirectory() as folder:
        file = Path(folder, "part-1.parquet")
        file.write_bytes(content)
        assert attempt(lambda: Sweep.read(file)) is REFUSED
        assert attempt(lambda: Sweep.read(folder)) is REFUSED
        assert attempt(lambda: Sweep.read(Path(folder, "none"))) is REFUSED
    if not isinstance(path, str | bytes):
        assert attempt(lambda: Sweep.read(path)) is REFUSED


@examples(30)
@given(losses=odd_arrays(), switches=values | st.integers(0, 3))
def test_comparators(losses, switches):
    inputs = [losses] if isinstance(losses, np.ndarray) else []
    best = attempt(lambda: best_switching_sequence(losses, 0), *inputs)
    found = attempt(lambda: best_switching_sequence(losses, switches), *inputs)
    if found is not REFUSED:
        assert found[0] <= best[0] + 1e-9 * abs(best[0])


@examples(15)
@given(
    arguments=nearly(
        loss=one_of(tacit.losses.LinearLoss(), tacit.losses.LogisticLoss()),
        domain=tacit.domains.Ball(3),
        tolerance=1e-6,
    ),
    data=odd_arrays(),
)
def test_best_fixed_points(arguments, data):
    best = attempt(lambda: best_fixed_point(data=data, **arguments))
    if best is not REFUSED:
        assert arguments["domain"].contains(best.point, 1e-6)
