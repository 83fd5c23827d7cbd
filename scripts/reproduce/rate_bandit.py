"""The rate of "Projection-Free Bandit Optimization with Privacy Guarantees": T^(3/4) from one number a round.

A sweep over horizons and epsilons, measured and certified, with the printed slope beside it. With the sign that is
printed in line 14 the algorithm moves away from the minimum; what is run here is the corrected one. Run:
`python scripts/reproduce/rate_bandit.py [folder]`.
"""

import sys
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.reproduced import called, made, show

from tacit.environments.bandit import MovingTarget
from tacit.geometry import Ball
from tacit.problems import Bandit
from tacit.report.comparisons import plot_regret_by_horizon, split_floor
from tacit.report.tables import summary_table
from tacit.simulation.records import Summary
from tacit.simulation.sweep import sweep


def target(problem: Bandit) -> MovingTarget:
    """The distance to a target that jumps about a fixed place in the unit disc."""
    return MovingTarget(Ball(2), problem.horizon)


def slope(cells: list[Summary], values: list[float]) -> float:
    """Growth exponent of these values in the horizon."""
    return float(np.polyfit(np.log([s["horizon"] for s in cells]), np.log(values), 1)[0])


def main(folder: str = "reproduced", *, horizons: tuple[int, ...] = (10**4, 10**5, 10**6), runs: int = 3) -> None:
    path = made(folder)
    problems = [MovingTarget(Ball(2), rounds).problem for rounds in horizons]
    privacies = [(epsilon, 1e-6) for epsilon in (0.3, 1.0, 3.0, 1e4)]
    summaries = sweep(problems, privacies, target, runs=runs).summaries()
    lines = [summary_table(summaries).to_markdown(), "| epsilon | measured growth | certified growth | printed |"]
    lines.append("|---|---|---|---|")
    for epsilon in sorted({s["epsilon"] for s in split_floor(summaries)[0]}):
        cells = [s for s in summaries if s["epsilon"] == epsilon]
        found = f"T^{slope(cells, [s.mean for s in cells]):.2f} | T^{slope(cells, [s['bound'] for s in cells]):.2f}"
        lines.append(f"| {epsilon:g} | {found} | T^0.75 |")
    (path / "bandit_rate.md").write_text("\n".join(lines) + "\n")
    plot_regret_by_horizon(summaries, path / "bandit_rate.png", title="Bandit regret, target in the unit disc")
    show(path / "bandit_rate.md", path / "bandit_rate.png")


if __name__ == "__main__":
    called(main, __doc__)
