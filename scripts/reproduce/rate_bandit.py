"""The rate of "Projection-Free Bandit Optimization with Privacy Guarantees": T^(3/4) from one number a round.

Horizons and epsilons, measured and certified, with the printed slope beside it. With the sign that is
printed in line 14 the algorithm moves away from the minimum; what is run here is the corrected one. Plans that are
refused are gaps, with their reasons under the table. Run: `python scripts/reproduce/rate_bandit.py [folder]`.
"""

import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.reproduced import Refusals, called, made, show

from tacit.domains import Ball
from tacit.environments.bandit import MovingTarget
from tacit.noise.randomness import REPLAYABLE
from tacit.planning.planner import plan
from tacit.report.plots import legend_below, legend_lines, line_style, save_figure, start_figure
from tacit.simulation.loop import simulate

DELTA = 1e-6
WITHOUT_PRIVACY = 1e4
COLUMNS = ("algorithm", "rounds", "epsilon", "runs", "mean_regret", "standard_error", "certified_bound")
Rows = list[dict[str, Any]]


def slope(rows: Rows, measured: str) -> float:
    """Growth exponent of what was measured in the horizon."""
    return float(np.polyfit(np.log([s["rounds"] for s in rows]), np.log([s[measured] for s in rows]), 1)[0])


def main(
    folder: str = "reproduced",
    *,
    horizons: tuple[int, ...] = (10**4, 10**5, 10**6),
    epsilons: tuple[float, ...] = (0.3, 1.0, 3.0, WITHOUT_PRIVACY),
    runs: int = 3,
) -> None:
    path = made(folder)
    refusals = Refusals()
    found: Rows = []
    for epsilon, horizon in product(epsilons, horizons):
        target = MovingTarget(Ball(2), horizon)  # its distance, in the unit disc
        planned = partial(plan, target.problem, epsilon=epsilon, delta=DELTA)
        choice = refusals.attempt(f"epsilon {epsilon:g}, {horizon:,} rounds", planned)
        if choice is not None:
            found.append({"epsilon": epsilon, "plan": choice, **simulate(choice, target, runs=runs).to_dict()})
    shown = [[s["algorithm"], *(f"{s[name]:,.4g}" for name in COLUMNS[1:])] for s in found]
    lines = [f"| {' | '.join(row)} |" for row in (COLUMNS, ("---",) * len(COLUMNS), *shown)]
    lines += ["", "| epsilon | measured growth | certified growth | printed |"]
    lines.append("|---|---|---|---|")
    for epsilon in sorted({s["epsilon"] for s in found if s["epsilon"] < WITHOUT_PRIVACY}):
        rows = [s for s in found if s["epsilon"] == epsilon]
        grown = ["one horizon"] * 2
        if len(rows) > 1:
            grown = [f"T^{slope(rows, name):.2f}" for name in ("mean_regret", "certified_bound")]
        lines.append(f"| {epsilon:g} | {' | '.join(grown)} | T^0.75 |")
    lines += refusals.lines()
    (path / "bandit_rate.md").write_text("\n".join(lines) + "\n")
    contract = found[0]["plan"].guarantee.with_randomness(REPLAYABLE)
    draw(found, str(contract), path / "bandit_rate.png")
    show(path / "bandit_rate.md", path / "bandit_rate.png")


def draw(found: Rows, contract: str, path: Path) -> None:
    """Mean regret against the horizon, one line for each epsilon, with its certified bounds as hollow markers."""
    epsilons = sorted({s["epsilon"] for s in found})
    figure, axes = start_figure(legend_lines(len(epsilons)))
    for index, epsilon in enumerate(epsilons):
        rows = sorted((s for s in found if s["epsilon"] == epsilon), key=lambda s: s["rounds"])
        horizons, look = [s["rounds"] for s in rows], line_style(index)
        axes.loglog(horizons, [s["mean_regret"] for s in rows], label=f"epsilon = {epsilon:g}", **look)
        axes.loglog(horizons, [s["certified_bound"] for s in rows], **look, markerfacecolor="white", linewidth=0.7)
    axes.set(xlabel="horizon (rounds)", ylabel="final regret (units of loss); hollow: certified bound")
    axes.set_title("Bandit regret, target in the unit disc")
    legend_below(figure, axes.get_legend_handles_labels()[0])
    save_figure(figure, path, contract)


if __name__ == "__main__":
    called(main, __doc__)
