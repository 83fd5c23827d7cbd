from unittest.mock import patch

import pytest

from tacit.algorithms.experts import HedgeOnSums, ScheduledExperts
from tacit.algorithms.tracking import LimitedUpdates, RestartOnShift
from tacit.planning.planner import CATALOGUE
from tacit.problems import Experts, Tracking
from tacit.sweeps.records import Sweep
from tacit.sweeps.sweep import sweep

COMMAND = "tacit sweep experts --horizons 64,256 --n 4 --epsilons 1,8 --floor --runs 3 --output results.parquet"


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A folder with a grid of experts and one tracking run; the algorithms that are quick to calibrate."""
    folder = tmp_path_factory.mktemp("report") / "results.parquet"
    quick = {Experts: (ScheduledExperts, HedgeOnSums), Tracking: (RestartOnShift, LimitedUpdates)}
    privacies = [(1.0, 1e-6), (8.0, 1e-6), (1e4, 1e-6)]
    with patch.dict(CATALOGUE, quick):
        problems = [Experts(n=4, horizon=rounds) for rounds in (64, 256)]
        sweep(problems, privacies, ["gap", "switching"], runs=3, path=folder, command=COMMAND)
        changing = Tracking(n=3, horizon=1500, switches=1, adversary="stochastic")
        sweep(
            changing, [(4.0, 0.0)], "shifting", runs=2, path=folder, algorithms="all", command="tacit sweep tracking x"
        )
    return folder


@pytest.fixture(scope="session")
def summaries(results):
    return Sweep.read(results).summaries()
