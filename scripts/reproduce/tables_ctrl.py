"""Tables 1 and 2 of "Differentially Private and Lazy Online Convex Optimization", beside what is certified.

Table 1: regret against privacy, epsilon = T^-alpha. Table 2: regret against a budget of switches, S = T^alpha. The
printed exponents at fixed dimension are lines; stars and crosses are how tacit's certified regret grows from T to
100 T, with the repaired constants. Beyond ten million rounds CTRL's bound grows faster than any of these lines: there
the noise that covers inexact minimisation in float64 takes over, and the last table says how much of the bound it is.
Two dimensions stand side by side. Plans that are refused are gaps, with their reasons under the tables.
Run: `python scripts/reproduce/tables_ctrl.py [folder]`.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from math import log, nan
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.reproduced import Refusals, called, made, show

from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.ctrl import CTRL, LazyOCO
from tacit.domains import Ball
from tacit.losses import ConvexFamily, LogisticLoss
from tacit.noise.sampler_bounds import chi_mean
from tacit.problems import Convex
from tacit.report.plots import legend_below, line_style, save_figure
from tacit.runtime.plan import Plan

DIMENSIONS = (4, 16)
FAMILIES = {"general": ConvexFamily(lipschitz=1.0, smoothness=0.25), "GLM": LogisticLoss()}
CAPTION = (
    f"exponents in T at d = {DIMENSIONS[0]} (black) and {DIMENSIONS[1]} (grey), logarithms ignored\n"
    "replace-one neighbours, oblivious losses, delta = T^-2\n"
    "lines: as printed. markers: growth of the certified regret from T to 100 T (constants and logarithms included)\n"
    "the lazy learner of the right panel keeps a budget of switches and promises no privacy at all"
)


def growth(make: Callable[[int], Plan], short: int) -> float:
    """The growth exponent of the certified regret."""
    bounds = [float(make(rounds).regret_bound) for rounds in (short, 100 * short)]
    return log(bounds[1] / bounds[0]) / log(100)


def private(learner: type[Plan], family: str, dimension: int, alpha: float) -> Callable[[int], Plan]:
    """Plans of a private learner at epsilon = T^-alpha."""

    def make(rounds: int) -> Plan:
        problem = Convex(domain=Ball(dimension), loss=FAMILIES[family], horizon=rounds)
        return learner.calibrate(problem, epsilon=rounds**-alpha, delta=rounds**-2.0)

    return make


def float_share(dimension: int, rounds: int) -> float:
    """The part of CTRL's certified regret that its release noise costs, at alpha = 0 in the general family."""
    plan = private(CTRL, "general", dimension, 0.0)(rounds)
    released = plan.problem.lipschitz * plan.certificate.release_scale * chi_mean(dimension) * rounds
    return released / float(plan.regret_bound)


def lazy(family: str, dimension: int, alpha: float) -> Callable[[int], Plan]:
    """Plans of the lazy learner with T^alpha switches."""

    def make(rounds: int) -> Plan:
        problem = Convex(domain=Ball(dimension), loss=FAMILIES[family], horizon=rounds)
        return LazyOCO.for_budget(problem, switches=max(1, round(rounds**alpha)))

    return make


Column = list[float | None]


def table(first: str, heads: list[str], left: Sequence[float], columns: list[Column]) -> list[str]:
    """A Markdown table of these columns beside the left one."""
    lines = [f"| {first} | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for row in zip(left, *columns, strict=True):
        lines.append("| " + " | ".join("refused" if value is None else f"{value:.3g}" for value in row) + " |")
    return lines


def main(folder: str = "reproduced", *, alphas: tuple[float, ...] = (0.0, 0.15, 0.3, 0.4), short: int = 10**5) -> None:
    from matplotlib.figure import Figure

    target, refusals = made(folder), Refusals()

    def grown(label: str, made_for: Callable[[float], Callable[[int], Plan]], powers: tuple[float, ...]) -> Column:
        return [refusals.attempt(f"{label}, alpha = {a:g}", partial(growth, made_for(a), short)) for a in powers]

    figure = Figure(figsize=(10, 5.4), dpi=130)
    left, right = (figure.add_axes((x, 0.45, 0.41, 0.47)) for x in (0.07, 0.57))
    line = np.linspace(0.0, 0.5, 101)
    before = np.minimum(0.5 + line / 2, np.maximum(0.5, 1 / 3 + line))
    left.plot(line, before, label="before (sampling below 1/3)", **(line_style(1) | {"marker": ""}))
    left.plot(line, np.maximum(0.5, 1 / 3 + line), label="claimed for CTRL", **(line_style(0) | {"marker": ""}))
    budgets = (0.3, 0.45, 0.6, 0.75)
    switches = np.linspace(0.25, 0.8, 101)
    right.plot(switches, np.maximum(0.5, 1 - switches), color="0.0", label="claimed for the lazy leader")
    found: dict[str, Column] = {"claimed for CTRL": [max(0.5, 1 / 3 + alpha) for alpha in alphas]}
    spent: dict[str, Column] = {"claimed": [max(0.5, 1 - alpha) for alpha in budgets]}
    for shade, d in zip(("0.0", "0.6"), DIMENSIONS, strict=True):
        learners = {"CTRL, general": (CTRL, "general"), "CTRL, GLM": (CTRL, "GLM"), "PrivateFTRL": (PrivateFTRL, "GLM")}
        for marker, (label, (learner, family)) in zip("*xD", learners.items(), strict=True):
            name = f"{label}, d = {d}"
            found[name] = grown(name, partial(private, learner, family, d), alphas)
            values = [nan if value is None else value for value in found[name]]
            left.plot(alphas, values, marker, color=shade, markersize=9, label=f"certified, {name}")
        for marker, family in zip("*x", FAMILIES, strict=True):
            name = f"{family}, d = {d}"
            spent[name] = grown(f"LazyOCO, {name}", partial(lazy, family, d), budgets)
            values = [nan if value is None else value for value in spent[name]]
            right.plot(budgets, values, marker, color=shade, markersize=9)
    left.set(xlabel="alpha, where epsilon = T^-alpha", title="Table 1: privacy")
    right.set(xlabel="alpha, where switches = T^alpha", title="Table 2: switches")
    for axes in (left, right):
        axes.set_ylabel("beta, where regret = T^beta")
        axes.grid(color="0.92")
    legend_below(figure, left.get_legend_handles_labels()[0])
    save_figure(figure, target / "ctrl_tables.png", CAPTION)
    lengths = [short * factor for factor in (1, 100, 1000)]
    shares = {
        f"d = {d}": [refusals.attempt(f"share, d = {d}, T = {t:.0e}", partial(float_share, d, t)) for t in lengths]
        for d in DIMENSIONS
    }
    text = ["Table 1, epsilon = T^-alpha:", "", *table("alpha", [*found], alphas, [*found.values()])]
    text += ["", "Table 2, switches = T^alpha:", "", *table("alpha", [*spent], budgets, [*spent.values()])]
    text += ["", "Share of CTRL's bound at alpha = 0 that covers inexact minimisation in float64:", ""]
    text += [*table("T", [*shares], lengths, [*shares.values()]), *refusals.lines()]
    (target / "ctrl_tables.md").write_text("\n".join(text) + "\n")
    show(target / "ctrl_tables.md", target / "ctrl_tables.png")


if __name__ == "__main__":
    called(main, __doc__)
