from io import BytesIO
from math import ceil

import numpy as np
import pytest
from hypothesis import given

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.strategies import examples, odd_arrays, values
from tacit.errors import InvalidInput, MissingExtra
from tacit.report import plots
from tacit.report.plots import plot_regret, plot_shares

THIN = "thin: certified bounds"


@pytest.fixture
def drawn(monkeypatch):
    """What was drawn: the figures, before they become pixels."""
    figures, write = [], plots.save_figure

    def save(figure, target, caption):
        figures.append((figure, caption))
        return write(figure, target, caption)

    monkeypatch.setattr(plots, "save_figure", save)
    return figures


def test_lines_are_told_apart_without_colour():
    looks = [plots.line_style(index) for index in range(12)]
    assert len({(look["linestyle"], look["marker"]) for look in looks}) == 12
    for look in looks:
        assert 0 <= float(look["color"]) <= 0.6  # grey levels only


def test_regret_and_its_bound_with_the_contract_that_all_share(drawn, tmp_path):
    problem, environment = tacit.Experts(n=3, horizon=20), tacit.environments.BernoulliGap(3, 20)
    made = [tacit.algorithms.ScheduledExperts(problem, eta=eta) for eta in (0.1, 0.2)]
    results = [tacit.simulate(plan, environment, runs=2) for plan in made]
    assert plot_regret(results[:1], tmp_path / "one.png").exists()
    plot_regret(results, BytesIO())
    assert drawn[0][1].startswith(str(made[0].guarantee))
    heads, *shared = drawn[1][1].splitlines()
    assert heads.count("epsilon=") == 2
    assert any("neighbours: replace" in line for line in shared)
    for result, line in zip(results, drawn[1][0].axes[0].lines[::2], strict=False):  # each before its bound
        np.testing.assert_array_equal(line.get_ydata(), result.mean)
    named = [text.get_text() for text in drawn[1][0].legends[0].get_texts()]
    bounds = [f" (certified {ceil(result.bound)})" for result in results]
    assert named == [f"ScheduledExperts {n}, measured{b}" for n, b in zip((1, 2), bounds, strict=True)] + [THIN]
    plot_regret(results, BytesIO(), labels=["a", "b"], floor=results[0])
    assert drawn[2][0].legends[0].get_texts()[0].get_text() == f"a, measured{bounds[0]}"
    with pytest.raises(InvalidInput, match="at least one simulation"):
        plot_regret([], tmp_path / "x.png")


def test_shares_are_stacked_from_the_arm_that_ends_largest(drawn):
    plot_shares({"a": [0.5, 0.2], "b": [0.5, 0.8]}, BytesIO(), caption="contract")
    [(figure, caption)] = drawn
    assert caption == "contract"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b", "a"]
    tops = [band.get_paths()[0].vertices[:, 1].max() for band in figure.axes[0].collections]
    assert tops == [0.8, 1.0]
    with pytest.raises(InvalidInput, match="as many finite shares"):
        plot_shares({"a": [0.5, 0.2], "b": [0.5]}, BytesIO())


def test_missing_matplotlib_names_the_extra(monkeypatch):
    def missing(module, extra):
        raise MissingExtra(extra)

    monkeypatch.setattr(plots, "require", missing)
    with pytest.raises(MissingExtra, match="plots"):
        plots.start_figure()


PICTURES = {
    plot_regret: [lambda value, rows: ([value], "x.png"), lambda value, rows: (value, "x.png")],
    plot_shares: [lambda value, rows: ({"a": rows}, None), lambda value, rows: (value, None)],
}


@pytest.mark.parametrize("plot", PICTURES, ids=lambda plot: plot.__qualname__)
@examples(12)
@given(value=values, rows=odd_arrays(dimensions=(1, 2)))
def test_nonsense_is_not_drawn(plot, value, rows):
    """Files are never reached: where the data could be drawn, the path is what is wrong."""
    for make in PICTURES[plot]:
        assert attempt(lambda make=make: plot(*make(value, rows))) is REFUSED
