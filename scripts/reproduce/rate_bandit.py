"""The rate of "Projection-Free Bandit Optimization with Privacy Guarantees": T^(3/4) from one number a round.

A sweep over horizons and epsilons, measured and certified, with the printed slope beside it. With the sign that is
printed in line 14 the algorithm moves away from the minimum; what is run here is the corrected one. Plans that are
refused are gaps, with their reasons under the table. Run: `python scripts/reproduce/rate_bandit.py [folder]`.
"""

import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.reproduced import Refusals, called, made, show

from tacit.domains import Ball
from tacit.environments.bandit import MovingTarget
from tacit.problems import Bandit
from tacit.report.plots import legend_below, legend_lines, line_style, save_figure, start_figure
from tacit.report.tables import NOT_PRIVATE, summary_table
from tacit.sweeps.records import Summary
from tacit.sweeps.sweep import sweep

DELTA = 1e-6


def target(problem: Bandit) -> MovingTarget:
    """The distance to a target that jumps about a fixed place in the unit disc."""
    return MovingTarget(Ball(2), problem.horizon)


def slope(cells: list[Summary], values: list[float]) -> float:
    """Growth exponent of these values in the horizon."""
    return float(np.polyfit(np.log([s["horizon"] for s in cells]), np.log(values), 1)[0])


def main(
    folder: str = "reproduced",
    *,
    horizons: tuple[int, ...] = (10**4, 10**5, 10**6),
    epsilons: tuple[float, ...] = (0.3, 1.0, 3.0, 1e4),
    runs: int = 3,
) -> None:
    path = made(folder)
    problems = [MovingTarget(Ball(2), rounds).problem for rounds in horizons]
    refusals = Refusals()
    summaries: list[Summary] = []
    for epsilon, problem in product(epsilons, problems):
        name = f"epsilon {epsilon:g}, {problem.horizon:,} rounds"
        found = refusals.attempt(name, partial(sweep, [problem], [(epsilon, DELTA)], target, runs=runs))
        summaries += [] if found is None else found.summaries()
    heads, *rows = summary_table(summaries)
    lines = [f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows)]
    lines += ["", "| epsilon | measured growth | certified growth | printed |"]
    lines.append("|---|---|---|---|")
    for epsilon in sorted({s["epsilon"] for s in summaries if s["epsilon"] < NOT_PRIVATE}):
        cells = [s for s in summaries if s["epsilon"] == epsilon]
        grown = ["one horizon"] * 2
        if len(cells) > 1:
            grown = [f"T^{slope(cells, vs):.2f}" for vs in ([s.mean for s in cells], [s["bound"] for s in cells])]
        lines.append(f"| {epsilon:g} | {' | '.join(grown)} | T^0.75 |")
    lines += refusals.lines()
    (path / "bandit_rate.md").write_text("\n".join(lines) + "\n")
    draw(summaries, path / "bandit_rate.png")
    show(path / "bandit_rate.md", path / "bandit_rate.png")


def draw(summaries: list[Summary], path: Path) -> None:
    """Mean regret against the horizon, one line for each epsilon, with its certified bounds as hollow markers."""
    epsilons = sorted({s["epsilon"] for s in summaries})
    figure, axes = start_figure(legend_lines(len(epsilons)))
    for index, epsilon in enumerate(epsilons):
        cells = sorted((s for s in summaries if s["epsilon"] == epsilon), key=lambda s: s["horizon"])
        horizons, look = [s["horizon"] for s in cells], line_style(index)
        axes.loglog(horizons, [s.mean for s in cells], label=f"epsilon = {epsilon:g}", **look)
        axes.loglog(horizons, [s["bound"] for s in cells], **look, markerfacecolor="white", linewidth=0.7)
    axes.set_xlabel("horizon (rounds)")
    axes.set_ylabel("final regret (units of loss); hollow: certified bound")
    axes.set_title("Bandit regret, target in the unit disc")
    legend_below(figure, axes.get_legend_handles_labels()[0])
    save_figure(figure, path, summaries[0]["contract"])


if __name__ == "__main__":
    called(main, __doc__)
