"""Table 1 and Figure 1 of "Private Online Learning via Lazy Algorithms", beside what is true of them.

With epsilon = T^-alpha and regret T^beta up to logarithms, each rate is a line beta(alpha). The printed rates for
experts rest on a proposition about batches that is false: whatever a learner does inside its rule of committing for
B = 1/epsilon rounds, two experts that take turns at random for B rounds cost it .4 sqrt(B T), which is above the
claim for every alpha. The corrected rates, and the exponents that tacit certifies, stand beside it. Run:
`python scripts/reproduce/table1_lazy.py [folder]`.
"""

import sys
from math import exp, lgamma, log, sqrt
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.reproduced import called, made, show

import tacit
from tacit.report.plots import legend_below, line_style, save_figure

ALPHA = np.linspace(0.0, 0.6, 121)
HALF = np.full_like(ALPHA, 0.5)
CAPTION = (
    "exponents, logarithms ignored; replace-one neighbours, oblivious losses\n"
    "claimed: Theorem 3.10 and Table 1 of the paper. corrected: the same analysis with the batching term eta T B/8\n"
    "grey area: below it no learner can be that commits for B = 1/epsilon rounds (two experts, random turns)\n"
    "stars: growth of LazyExperts' certified regret from T to 100 T, 100 experts, delta = T^-2, where privacy dominates"
)


def exponent(*terms: tuple[float, float]) -> np.ndarray:
    """beta(alpha) of sqrt(T) + sum of T^a / epsilon^b, never above 1."""
    return np.minimum(1.0, np.maximum.reduce([HALF, *(a + b * ALPHA for a, b in terms)]))


CORRECTED = "corrected: best of T^2/5 / eps^3/5, T^1/3 / eps"
EXPERTS = {
    "claimed: T^1/3 / eps^2/3": exponent((1 / 3, 2 / 3)),
    "before: T^1/3 / eps": exponent((1 / 3, 1.0)),
    "before: T^2/5 / eps^4/5": exponent((2 / 5, 4 / 5)),
    CORRECTED: np.minimum(exponent((2 / 5, 3 / 5)), exponent((1 / 3, 1.0))),
}


def convex(dimension: float) -> dict[str, np.ndarray]:
    """The printed lines of convex losses at d = T^dimension (no corrected exponent is claimed for them)."""
    half = dimension / 2
    before = exponent((1 / 3 + half, 1.0), (3 / 8 + half, 3 / 4))
    return {
        "claimed: sqrt(d) T^1/3 / eps^2/3": exponent((1 / 3 + half, 2 / 3)),
        "before": np.minimum(before, np.minimum(1.0, np.maximum(0.5, dimension / 4 + 0.5 + ALPHA / 2))),
    }


def batch_regret(rounds: int, batch: int) -> float:
    """The regret of every learner that commits for `batch` rounds, two experts that take turns at random.

    Its mean loss is 1/2 a round; the better expert gains batch/2 times the mean absolute value of a random walk.
    """
    steps = rounds // batch
    middle = (steps - 1) // 2
    chosen = lgamma(steps) - lgamma(middle + 1) - lgamma(steps - middle)  # ln of steps - 1 over its half
    return batch / 2 * steps * exp(chosen - (steps - 1) * log(2))


def certified_growth(alpha: float, short: int, long: int) -> float:
    """The growth exponent of the certified regret at epsilon = T^-alpha."""
    bounds = []
    for rounds in (short, long):
        problem = tacit.Experts(n=100, horizon=rounds)
        plan = tacit.algorithms.LazyExperts.calibrate(problem, epsilon=rounds**-alpha, delta=rounds**-2.0)
        bounds.append(float(plan.regret_bound))
    return log(bounds[1] / bounds[0]) / log(long / short)


def figure1(folder: Path, alphas: tuple[float, ...], short: int, long: int) -> dict[float, float]:
    """The three panels, the third with what is true."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.4), dpi=130)
    panels = [("(a) convex, d = polylog T", convex(0.0)), ("(b) convex, d = T^1/3", convex(1 / 3))]
    growth = {alpha: certified_growth(alpha, short, long) for alpha in alphas}
    for number, (title, lines) in enumerate([*panels, ("(c) experts, N = poly T", EXPERTS)]):
        axes = figure.add_axes((0.06 + 0.32 * number, 0.44, 0.27, 0.49))
        for index, (label, beta) in enumerate(lines.items()):
            axes.plot(ALPHA, beta, label=label, **(line_style(index) | {"markevery": 20 + 3 * index}))
        axes.set_xlabel("alpha, where epsilon = T^-alpha")
        axes.set_ylabel("beta, where regret = T^beta")
        axes.set_ylim(0.45, 1.02)
        axes.set_title(title)
        axes.grid(color="0.92")
    axes.fill_between(ALPHA, 0.45, 0.5 + ALPHA / 2, color="0.85", zorder=0, label="impossible with B = 1/eps")
    axes.plot(list(growth), list(growth.values()), "*", color="0.0", markersize=11, label="certified by tacit")
    legend_below(figure, axes.get_legend_handles_labels()[0])
    save_figure(figure, folder / "lazy_figure1.png", CAPTION)
    return growth


def table1(folder: Path, growth: dict[float, float]) -> None:
    """Rates, and the numbers behind them."""
    lines = [
        "| problem | before | claimed | what holds |",
        "|---|---|---|---|",
        "| experts | sqrt(T ln N) + min(sqrt N, T^1/3) ln N / eps | sqrt(T ln N) + T^1/3 ln N / eps^2/3 "
        "| sqrt(T ln N) + T^2/5 (ln N)^4/5 / eps^3/5, or T^1/3 ln N / eps with B = 1 |",
        "| convex | min(d^1/4 sqrt(T/eps), sqrt T + T^1/3 sqrt d / eps + T^3/8 sqrt d / eps^3/4) "
        "| sqrt T + T^1/3 sqrt d / eps^2/3 | rests on the same proposition |",
        "",
        "Every learner that commits for B = 1/eps rounds, against two experts that take turns at random, at",
        "eps = T^-1/4, where the claim says that privacy is free:",
        "",
        "| T | B | its regret, exactly | over sqrt(B T) | over the claimed rate |",
        "|---|---|---|---|---|",
    ]
    for batch in (10, 30, 100, 300, 1000):
        rounds = batch**4
        regret = batch_regret(rounds, batch)
        claim = sqrt(rounds * log(2)) + rounds ** (1 / 3) * log(2) * batch ** (2 / 3)
        over = f"{regret / sqrt(batch * rounds):.3f} | {regret / claim:.2f}"
        lines.append(f"| {rounds:.2g} | {batch} | {regret:,.0f} | {over} |")
    lines += ["", "| alpha | corrected | certified by LazyExperts |", "|---|---|---|"]
    for alpha, beta in growth.items():
        corrected = np.interp(alpha, ALPHA, EXPERTS[CORRECTED])
        lines.append(f"| {alpha:g} | {corrected:.3f} | {beta:.3f} |")
    (folder / "lazy_table1.md").write_text("\n".join(lines) + "\n")


def main(folder: str = "reproduced", *, alphas: tuple[float, ...] = (0.2, 0.3, 0.4, 0.5), long: int = 10**8) -> None:
    target = made(folder)
    table1(target, figure1(target, alphas, long // 100, long))
    show(target / "lazy_table1.md", target / "lazy_figure1.png")


if __name__ == "__main__":
    called(main, __doc__)
