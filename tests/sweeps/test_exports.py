"""Exports of a sweep: every number of a cell, for other programs."""

import csv
import io

import pytest

import tacit
from tacit.errors import InvalidInput
from tacit.sweeps.records import latex_of


@pytest.fixture(scope="module")
def result():
    return tacit.sweep(tacit.Experts(n=3, horizon=40), [(1.0, 1e-6), (2.0, 1e-6)], "gap", runs=2, progress=False)


def test_csv_has_a_row_for_each_cell_to_the_last_digit(result, tmp_path):
    rows = list(csv.DictReader(io.StringIO(result.to_csv(tmp_path / "cells.csv"))))
    assert [float(row["mean_regret"]) for row in rows] == [summary.mean for summary in result.summaries()]
    assert (tmp_path / "cells.csv").read_text() == result.to_csv()


def test_frames_have_the_same_columns(result):
    frame = result.to_frame()
    assert list(frame.columns) == result.to_csv().splitlines()[0].split(",")
    assert frame["epsilon"].tolist() == [1.0, 2.0]


def test_latex_is_a_whole_table_and_escaped(result, tmp_path):
    text = result.to_latex(tmp_path / "cells.tex")
    assert text.startswith(r"\begin{tabular}")
    assert text.count(r"\\") == 1 + len(result.summaries())
    assert r"a\_b \& \textbackslash{}c & $\infty$ \\" in latex_of([{"what": "a_b & \\c", "bound": float("inf")}])


def test_bad_paths_raise(result):
    for export in (result.to_csv, result.to_latex):
        with pytest.raises(InvalidInput):
            export(3)
