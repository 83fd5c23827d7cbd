"""Tables 1 and 2 of "Differentially Private and Lazy Online Convex Optimization", beside what is certified.

Table 1: regret against privacy, epsilon = T^-alpha. Table 2: regret against a budget of switches, S = T^alpha. The
printed exponents at fixed dimension are lines; stars and crosses are how tacit's certified regret grows from T to
100 T, with the repaired constants. Beyond ten million rounds CTRL's bound grows faster than any of these lines: there
the noise that covers inexact minimisation in float64 takes over, and the last table says how much of the bound it is.
Run: `python scripts/reproduce/tables_ctrl.py [folder]`.
"""

import sys
from math import log
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.reproduced import called, made, show

from tacit.errors import PrivacyError
from tacit.geometry import Ball
from tacit.learners.convex import PrivateFTRL
from tacit.learners.ctrl import CTRL, LazyOCO
from tacit.learners.ctrl.accounting import chi_mean
from tacit.learners.plan import Plan
from tacit.losses import ConvexFamily, LogisticLoss
from tacit.problems import Convex
from tacit.report.style import legend_below, line_style, save_figure

DIMENSION = 4
FAMILIES = {"general": ConvexFamily(lipschitz=1.0, smoothness=0.25), "GLM": LogisticLoss()}
CAPTION = (
    f"exponents in T at d = {DIMENSION}, logarithms ignored; replace-one neighbours, oblivious losses, delta = T^-2\n"
    "lines: as printed. markers: growth of the certified regret from T to 100 T (constants and logarithms included)\n"
    "the lazy learner of the right panel keeps a budget of switches and promises no privacy at all"
)


def growth(make, short: int) -> float:
    """The growth exponent of the certified regret (nan if there is no plan)."""
    try:
        bounds = [float(make(rounds).regret_bound) for rounds in (short, 100 * short)]
    except PrivacyError:
        return float("nan")
    return log(bounds[1] / bounds[0]) / log(100)


def private(learner: type[Plan], family: str, alpha: float):
    def make(rounds: int) -> Plan:
        problem = Convex(domain=Ball(DIMENSION), loss=FAMILIES[family], horizon=rounds)
        return learner.calibrate(problem, epsilon=rounds**-alpha, delta=rounds**-2.0)

    return make


def float_share(rounds: int) -> float:
    """The part of CTRL's certified regret that its release noise costs, at alpha = 0 in the general family."""
    plan = private(CTRL, "general", 0.0)(rounds)
    released = plan.problem.lipschitz * plan.release_scale * chi_mean(DIMENSION) * rounds
    return released / float(plan.regret_bound)


def lazy(family: str, alpha: float):
    def make(rounds: int) -> Plan:
        problem = Convex(domain=Ball(DIMENSION), loss=FAMILIES[family], horizon=rounds)
        return LazyOCO.for_budget(problem, switches=max(1, round(rounds**alpha)))

    return make


def table(heads: list[str], alphas: tuple[float, ...], columns: list[list[float]]) -> list[str]:
    rows = zip(alphas, *columns, strict=True)
    lines = ["| alpha | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    return [*lines, *("| " + " | ".join(f"{value:.3g}" for value in row) + " |" for row in rows)]


def main(folder: str = "reproduced", *, alphas: tuple[float, ...] = (0.0, 0.15, 0.3, 0.4), short: int = 10**5) -> None:
    from matplotlib.figure import Figure

    target = made(folder)
    figure = Figure(figsize=(10, 5.4), dpi=130)
    left, right = (figure.add_axes((x, 0.45, 0.41, 0.47)) for x in (0.07, 0.57))
    line = np.linspace(0.0, 0.5, 101)
    before = np.minimum(0.5 + line / 2, np.maximum(0.5, 1 / 3 + line))
    left.plot(line, before, label="before (sampling below 1/3)", **(line_style(1) | {"marker": ""}))
    left.plot(line, np.maximum(0.5, 1 / 3 + line), label="claimed for CTRL", **(line_style(0) | {"marker": ""}))
    found = {
        "CTRL, general": [growth(private(CTRL, "general", alpha), short) for alpha in alphas],
        "CTRL, GLM": [growth(private(CTRL, "GLM", alpha), short) for alpha in alphas],
        "PrivateFTRL": [growth(private(PrivateFTRL, "GLM", alpha), short) for alpha in alphas],
    }
    for marker, (label, values) in zip("*xD", found.items(), strict=True):
        left.plot(alphas, values, marker, color="0.0", markersize=9, label=f"certified, {label}")
    left.set(xlabel="alpha, where epsilon = T^-alpha", title="Table 1: privacy")
    budgets = (0.3, 0.45, 0.6, 0.75)
    switches = np.linspace(0.25, 0.8, 101)
    right.plot(switches, np.maximum(0.5, 1 - switches), color="0.0", label="claimed for the lazy leader")
    spent = {family: [growth(lazy(family, alpha), short) for alpha in budgets] for family in FAMILIES}
    for marker, values in zip("*x", spent.values(), strict=True):
        right.plot(budgets, values, marker, color="0.0", markersize=9)
    right.set(xlabel="alpha, where switches = T^alpha", title="Table 2: switches")
    for axes in (left, right):
        axes.set_ylabel("beta, where regret = T^beta")
        axes.grid(color="0.92")
    legend_below(figure, left.get_legend_handles_labels()[0])
    save_figure(figure, target / "ctrl_tables.png", CAPTION)
    claimed = [max(0.5, 1 / 3 + alpha) for alpha in alphas]
    text = [
        "Table 1, epsilon = T^-alpha:",
        "",
        *table(["claimed for CTRL", *found], alphas, [claimed, *found.values()]),
    ]
    saved = [max(0.5, 1 - alpha) for alpha in budgets]
    text += ["", "Table 2, switches = T^alpha:", "", *table(["claimed", *spent], budgets, [saved, *spent.values()])]
    text += ["", "Share of CTRL's bound at alpha = 0 that covers inexact minimisation in float64:", ""]
    lengths = [short * factor for factor in (1, 100, 1000)]
    text += ["| T | share |", "|---|---|", *(f"| {rounds:.0e} | {float_share(rounds):.2g} |" for rounds in lengths)]
    (target / "ctrl_tables.md").write_text("\n".join(text) + "\n")
    show(target / "ctrl_tables.md", target / "ctrl_tables.png")


if __name__ == "__main__":
    called(main, __doc__)
