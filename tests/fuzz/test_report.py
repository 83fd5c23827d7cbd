"""Pictures, tables and pages: drawn from what was measured, or refused."""

import io
from functools import cache

import pytest
from hypothesis import given

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.plans import made
from fuzz.strategies import examples, odd_arrays, values
from tacit.report import plots
from tacit.report.html import write_report
from tacit.report.tables import summary_table

pytestmark = pytest.mark.usefixtures("quick_planner")


@cache
def simulation():
    """A small one."""
    return tacit.simulate(made("ScheduledExperts"), tacit.environments.BernoulliGap(3, 20), runs=2)


def test_good_pictures(tmp_path):
    """The same functions draw what is good."""
    buffer = io.BytesIO()
    assert attempt(lambda: plots.plot_regret([simulation()], tmp_path / "regret.png")) is not REFUSED
    assert attempt(lambda: plots.plot_held([0, 1], [1, 1], buffer, restarts=[1], names=["a", "b"])) is not REFUSED


PICTURES = {
    plots.plot_regret: [lambda value, rows: ([value], "x.png"), lambda value, rows: (value, "x.png")],
    plots.plot_curves: [
        lambda value, rows: ({"a": (rows, rows, rows, value)}, None),
        lambda value, rows: (value, None),
    ],
    plots.plot_switches: [lambda value, rows: ({"a": (rows, rows)}, None), lambda value, rows: (value, None)],
    plots.plot_shares: [lambda value, rows: ({"a": rows}, None), lambda value, rows: (value, None)],
    plots.plot_held: [lambda value, rows: (rows, rows, None), lambda value, rows: (value, rows, None)],
    plots.plot_regret_by_epsilon: [lambda value, rows: (value, None), lambda value, rows: ([value], None)],
    plots.plot_regret_by_horizon: [lambda value, rows: (value, None), lambda value, rows: ([value], None)],
    write_report: [lambda value, rows: (value, "x.html")],
}


@pytest.mark.parametrize("plot", PICTURES, ids=lambda plot: plot.__qualname__)
@examples(12)
@given(value=values, rows=odd_arrays(dimensions=(1, 2)))
def test_nonsense_is_not_drawn(plot, value, rows):
    """Files are never reached: where the data could be drawn, the path is what is wrong."""
    for make in PICTURES[plot]:
        options = {"title": "a"} if plot is plots.plot_curves else {}
        assert attempt(lambda make=make, options=options: plot(*make(value, rows), **options)) is REFUSED


@examples(15)
@given(value=values)
def test_options(value):
    assert attempt(lambda: plots.plot_held([0, 1], [1, 1], None, rounds=value, restarts=value, names=value)) is REFUSED
    table = attempt(lambda: summary_table(value))
    assert table is REFUSED or not table.rows
