"""How time and memory grow: fitted exponents beside those of docs/growth.md. Run: `python -m benchmarks growth`.

Every learner of the catalogue against rounds (T) and against experts, arms or points (N) or dimensions (d); a fleet
against its keys; a store against its learners. A fitted exponent far above the promise is a defect; one below it says
that fixed costs still count at these sizes, or that a bound is generous. A logarithm is promised as 0.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

import tacit.noise.source as draws
from benchmarks.growing import around, learners
from benchmarks.growing.case import Case, exponent, measured, promised

PAGE = Path(__file__).parents[1] / "docs" / "growth.md"
COLUMNS = {"microseconds": 0, "KB of memory": 1, "KB of state": 2}  # of the formulas of a row


def measure(cases: Iterable[Case] | None = None) -> dict[str, float]:
    """Microseconds, KB of memory and KB of state at every size; the fitted exponents, and those of the page."""
    formulas, results = read_formulas(PAGE.read_text()), {}
    with steady(), tempfile.TemporaryDirectory() as folder:
        for case in [*learners.cases(), *around.cases(Path(folder))] if cases is None else cases:
            for what, values in measured(case).items():
                formula = formulas[case.row][next(place for name, place in COLUMNS.items() if what.startswith(name))]
                fitted = {"exponent": exponent(values), "promised": promised(formula, case.size)}
                for column, value in {**values, **fitted}.items():
                    results[f"{what}, {case.size}={column}, {case.row}"] = value
    return results


def read_formulas(text: str) -> dict[str, list[str]]:
    """The formulas of each row of the page's table: time, memory and state."""
    found = {}
    for line in re.findall(r"^\| (.*) \|$", text, re.MULTILINE):
        row, *cells = [cell.strip() for cell in line.split("|")]
        if any(cell.startswith("O(") for cell in cells):
            found[row.strip("`")] = cells[:3]
    return found


@contextmanager
def steady() -> Iterator[None]:
    """One thread does it all, and pools of draws begin at their last, constant size."""
    first, draws.FIRST_POOL = draws.FIRST_POOL, draws.POOL
    try:
        with threadpool_limits(1):  # of linear algebra: those that wait for each other take processor time too
            yield
    finally:
        draws.FIRST_POOL = first


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.4g}")
