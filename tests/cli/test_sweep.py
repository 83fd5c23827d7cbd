import json
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from tacit.algorithms.experts import HedgeOnSums, ScheduledExperts
from tacit.cli.app import app
from tacit.errors import InvalidInput
from tacit.planning.planner import CATALOGUE
from tacit.problems import Experts

GRID = ["--horizons", "50,100", "--n", "3", "--epsilons", "1,4", "--runs", "2", "--jobs", "1"]


def invoke(*arguments):
    quick = {Experts: (ScheduledExperts, HedgeOnSums)}
    with patch.dict(CATALOGUE, quick), patch("sys.argv", ["tacit", *arguments]):
        return CliRunner().invoke(app, arguments)


def test_sweep_then_report(tmp_path):
    folder = str(tmp_path / "results.parquet")
    done = invoke("sweep", "experts", *GRID, "--floor", "--output", folder)
    assert done.exit_code == 0, done.output
    assert "12 runs in" in done.stdout
    again = invoke("sweep", "experts", *GRID, "--floor", "--output", folder, "--json")
    answer = json.loads(again.stdout)
    assert answer["runs"] == 12
    assert {cell["epsilon"] for cell in answer["cells"]} == {1.0, 4.0, 1e4}
    shown = invoke("report", folder).stdout
    assert "mean regret" in shown
    assert shown.count("gap") == 6


def test_tracking(tmp_path):
    folder = str(tmp_path / "results.parquet")
    arguments = ["--horizons", "200", "--n", "3", "--switches", "1", "--epsilons", "4", "--runs", "1", "--jobs", "1"]
    arguments += ["--adversary", "stochastic", "--algorithms", "RestartOnShift,LimitedUpdates", "--delta", "0"]
    done = invoke("sweep", "tracking", *arguments, "--output", folder, "--json")
    assert done.exit_code == 0, done.output
    cells = {cell["algorithm"]: cell for cell in json.loads(done.stdout)["cells"]}
    assert cells["LimitedUpdates"]["bound"] is None
    assert cells["RestartOnShift"]["kind"] == "Tracking"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--horizons", "50;100"], "--horizons must be whole numbers"),
        (["--epsilons", "one"], "--epsilons must be numbers"),
        (["--environments", "nowhere"], "'gap', 'switching', 'perfect' or 'fair'"),
        (["--algorithms", "Magic"], "'Magic'"),
    ],
)
def test_bad_grids(arguments, words, tmp_path):
    done = invoke("sweep", "experts", *GRID, *arguments, "--output", str(tmp_path / "r"))
    assert isinstance(done.exception, InvalidInput)
    assert words in str(done.exception)
    assert not (tmp_path / "r").exists()


def test_report_of_nothing(tmp_path):
    assert "There is no file" in str(invoke("report", str(tmp_path / "none")).exception)


@pytest.mark.parametrize(
    ("options", "sizes", "head"),
    [(["experts"], ["--n", "2,3"], "n"), (["convex", "--loss", "linear"], ["--dim", "1,2"], "dimension")],
)
def test_sizes_that_are_swept_have_a_column(options, sizes, head, tmp_path):
    folder = str(tmp_path / "results.parquet")
    grid = ["--horizons", "50", "--epsilons", "4", "--runs", "1", "--jobs", "1", "--output", folder]
    one = invoke("sweep", *options, *grid, sizes[0], sizes[1][0]).stdout
    assert head not in one.splitlines()[0].split()
    both = invoke("sweep", *options, *grid, *sizes).stdout
    for text in (both, invoke("report", folder).stdout):
        lines = [line.split() for line in text.splitlines()]
        assert {line[lines[0].index(head)] for line in lines[2:4]} == set(sizes[1].split(","))
