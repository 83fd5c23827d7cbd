from io import BytesIO

import numpy as np
import pytest

from tacit.errors import InvalidInput, MissingExtra
from tacit.report import plots
from tacit.report.plots import (
    NOT_PRIVATE,
    plot_curves,
    plot_held,
    plot_regret,
    plot_regret_by_epsilon,
    plot_regret_by_horizon,
    plot_shares,
    plot_switches,
    shared_contract,
    split_floor,
)
from tacit.report.tables import show, summary_table


@pytest.fixture
def drawn(monkeypatch):
    """What was drawn: the figures, before they become pixels."""
    figures, write = [], plots.save_figure

    def save(figure, target, caption):
        figures.append((figure, caption))
        return write(figure, target, caption)

    monkeypatch.setattr(plots, "save_figure", save)
    return figures


def gap(summaries):
    return [s for s in summaries if s["world"] == "gap"]


def test_regret_by_horizon_shows_the_means_the_bounds_and_the_floor(summaries, drawn):
    plot_regret_by_horizon(gap(summaries), BytesIO())
    [(figure, caption)] = drawn
    [axes] = figure.axes
    private, floor = split_floor(gap(summaries))
    lines = {tuple(np.asarray(line.get_ydata(), dtype=float)) for line in axes.lines}
    for epsilon in (1.0, 8.0):
        cells = sorted((s for s in private if s["epsilon"] == epsilon), key=lambda s: s["horizon"])
        assert tuple(s.mean for s in cells) in lines
        assert tuple(s["bound"] for s in cells) in lines
    assert tuple(s.mean for s in floor) in lines
    assert "neighbours: replace" in caption
    assert "3 runs a point" in caption
    assert axes.get_ylabel().endswith("(units of loss)")


def test_regret_by_epsilon_shows_one_line_for_each_horizon(summaries, drawn):
    plot_regret_by_epsilon(gap(summaries), BytesIO())
    [(figure, _)] = drawn
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:2] == ["64 rounds", "256 rounds"]
    assert "without privacy, measured" in labels


def test_lines_are_told_apart_without_colour():
    looks = [plots.line_style(index) for index in range(12)]
    assert len({(look["linestyle"], look["marker"]) for look in looks}) == 12
    for look in looks:
        assert 0 <= float(look["color"]) <= 0.6  # grey levels only


def test_nothing_private_is_refused(summaries):
    floor = [s for s in summaries if s["epsilon"] >= NOT_PRIVATE]
    for plot in (plot_regret_by_epsilon, plot_regret_by_horizon):
        with pytest.raises(InvalidInput, match="epsilon below 1000"):
            plot(floor, BytesIO())


def test_held_marks_restarts_and_shows_only_used_experts(drawn):
    plot_held([5, 5, 7, 7], [5, 7, 7, 7], BytesIO(), restarts=[2], names=[f"model {i}" for i in range(9)])
    [(figure, _)] = drawn
    [axes] = figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["model 5", "model 7"]
    assert any(np.array_equal(line.get_xdata(), [2, 2]) for line in axes.lines)


@pytest.mark.parametrize(("held", "best"), [([], []), ([1, 2], [1]), ([[1]], [[1]])])
def test_held_needs_two_sequences_of_one_length(held, best):
    with pytest.raises(InvalidInput, match="of one length"):
        plot_held(held, best, BytesIO())


def test_switches_and_curves(drawn):
    plot_switches({"A": ([1, 2, 3], [0, 1, 1])}, BytesIO(), caption="contract")
    rounds, mean = np.arange(1, 4), np.array([1.0, 2.0, 3.0])
    plot_curves({"A": (rounds, mean, 0 * mean, np.inf), "B": (rounds, mean, 0 * mean, 9.0)}, BytesIO(), title="t")
    assert drawn[0][1] == "contract"
    labels = [text.get_text() for text in drawn[1][0].legends[0].get_texts()]
    assert labels == ["A", "B (certified 9)", "thin: certified bounds"]  # in the legend, where they cover nothing


def test_shares_are_stacked_from_the_arm_that_ends_largest(drawn):
    plot_shares({"a": [0.5, 0.2], "b": [0.5, 0.8]}, BytesIO(), caption="contract")
    [(figure, caption)] = drawn
    assert caption == "contract"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b", "a"]
    tops = [band.get_paths()[0].vertices[:, 1].max() for band in figure.axes[0].collections]
    assert tops == [0.8, 1.0]
    with pytest.raises(InvalidInput, match="as many shares"):
        plot_shares({"a": [0.5, 0.2], "b": [0.5]}, BytesIO())


def test_regret_needs_a_simulation(tmp_path):
    with pytest.raises(InvalidInput, match="at least one simulation"):
        plot_regret([], tmp_path / "x.png")


def test_missing_matplotlib_names_the_extra(monkeypatch):
    def missing(module, extra):
        raise MissingExtra(extra)

    monkeypatch.setattr(plots, "require", missing)
    with pytest.raises(MissingExtra, match="plots"):
        plots.start_figure()


def test_shared_contract_keeps_what_is_shared():
    first, second = "epsilon=1\n  released: a\n  unit: u", "epsilon=2\n  released: b\n  unit: u"
    assert shared_contract([first, first]) == first
    assert shared_contract([first, second]).splitlines()[1:] == ["  unit: u"]


def test_tables(summaries):
    table = summary_table(summaries)
    assert table.to_text().count("\n") == len(summaries) + 2
    lines = table.to_markdown().splitlines()
    assert len({line.count("|") for line in lines}) == 1
    limited = next(row for row in table.rows if row[1].shown == "LimitedUpdates")
    bound = table.heads.index("certified bound")
    assert limited[bound].shown == "none"  # its bound is infinite
    restarts = next(row for row in table.rows if row[1].shown == "RestartOnShift")
    assert "if there are at most S restarts" in restarts[bound].shown or "vacuous" in restarts[bound].shown
    assert show(12) == "12"
