"""The decision table and the crossover picture of docs/how-to-choose.md, from the planner.

Run `python scripts/docs/how_to_choose.py` to rewrite both; `--check` only compares the table, exit code 1 if stale.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.ticker import NullFormatter

import tacit
from tacit.accounting.rounding import rounded_down, rounded_up
from tacit.planning.comparison import Candidate
from tacit.problems import Problem
from tacit.report.plots import legend_below, save_figure, start_figure

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "how-to-choose.md"
START, STOP = "<!-- table: begin -->", "<!-- table: end -->"
DELTA = 1e-6


def convex(dim: int, horizon: int, family: str, *, proper: bool = True) -> tacit.Convex:
    """Unit ball, unit constants."""
    smoothness = 0.0 if family == "linear" else 1.0
    return tacit.Convex(
        domain=tacit.domains.Ball(dim=dim, radius=1.0),
        loss=tacit.losses.ConvexFamily(1.0, smoothness, family),
        horizon=horizon,
        proper=proper,
    )


def rows() -> list[tuple[str, str, Problem, str, float]]:
    """What you see, who makes the losses, the problem, its dimension in words, epsilon."""
    full, moving = "the loss of every option", "the loss of every option, and the best one changes"
    found: list[tuple[str, str, Problem, str, float]] = []
    for n, horizon, epsilon in [
        (10, 10_000, 1.0), (100, 100_000, 1.0), (100, 100_000, 0.1), (1000, 100_000, 0.1), (10, 10_000, 0.1),
    ]:  # fmt: skip
        found.append((full, "oblivious", tacit.Experts(n=n, horizon=horizon), f"{n} options", epsilon))
    for epsilon in (1.0, 0.1):
        problem = tacit.Experts(n=100, horizon=100_000, adversary="adaptive")
        found.append((full, "adaptive", problem, "100 options", epsilon))
    for n, horizon, epsilon in [(10, 20_000, 1.0), (100, 100_000, 0.1)]:
        problem = tacit.Experts(n=n, horizon=horizon, adversary="stochastic")
        found.append((full, "stochastic", problem, f"{n} options", epsilon))
    for adversary in ("stochastic", "oblivious", "adaptive"):
        problem = tacit.Tracking(n=10, horizon=200_000, switches=3, adversary=adversary)
        found.append((moving, adversary, problem, "10 options, 3 switches", 1.0))
    for family, dim, horizon in [
        ("linear", 10, 100_000), ("glm", 10, 10_000), ("glm", 10, 100_000), ("glm", 10, 1_000_000),
        ("free", 10, 100_000), ("general", 1, 100_000), ("general", 10, 100_000),
    ]:  # fmt: skip
        words = {"glm": "a generalised linear loss", "general": "a smooth convex loss", "linear": "a linear loss"}
        words["free"] = "a generalised linear loss, and decisions may leave the domain"
        proper = family != "free"
        problem = convex(dim, horizon, family if proper else "glm", proper=proper)
        found.append((words[family], "oblivious", problem, f"d = {dim}", 1.0))
    hostile = replace(convex(10, 100_000, "general"), adversary="adaptive")
    found.append(("a smooth convex loss", "adaptive", hostile, "d = 10", 1.0))
    for dimension in (1, 2):
        problem = tacit.Lipschitz(dimension=dimension, horizon=100_000)
        found.append(("a Lipschitz loss, not convex", "oblivious", problem, f"d = {dimension}", 1.0))
    bandit = tacit.Bandit(domain=tacit.domains.Ball(dim=2, radius=0.5), horizon=100_000)
    found.append(("one number, the loss of your decision", "oblivious", bandit, "d = 2", 1.0))
    for adversary, epsilon in (("stochastic", 1.0), ("stochastic", 0.1), ("oblivious", 1.0), ("oblivious", 0.1)):
        arms = tacit.Arms(n=20, horizon=100_000, adversary=adversary)
        found.append(("one number, the loss of the option you chose", adversary, arms, "20 options", epsilon))
    for horizon, epsilon in ((10_000, 1.0), (10_000, 0.1)):
        stochastic = tacit.Stochastic(
            domain=tacit.domains.Ball(dim=10, radius=1.5), loss=tacit.losses.LogisticLoss(), horizon=horizon
        )
        found.append(("records, and want one model of them", "independent records", stochastic, "d = 10", epsilon))
    return found


def typical(candidate: Candidate, per_round: int) -> str:
    """Typical regret a round."""
    return "-" if candidate.typical is None else f"{candidate.typical.mean / per_round:.2g}"


def table() -> str:
    """The table in Markdown: one part for each kind of feedback."""
    lines: list[str] = []
    shown_feedback = ""
    for feedback, adversary, problem, size, epsilon in rows():
        if feedback != shown_feedback:
            head = "| losses | size | T | epsilon | choose | certified | typical | next best | lower bound |"
            lines += [f"\n**You see {feedback}**\n", head, "|---|---|---|---|---|---|---|---|---|"]
            shown_feedback = feedback
        choice = tacit.plan(problem, epsilon=epsilon, delta=DELTA)
        best, *others = choice.candidates
        usable = [c for c in others if c.plan is not None]
        per_round = 1 if isinstance(problem, tacit.Stochastic) else problem.horizon or 1
        shown = "none says anything yet" if best.vacuous else f"`{best.algorithm}`"
        condition = best.regret_bound.condition
        value = rounded_up(float(best.regret_bound) / per_round, 3) + (f", if {condition}" if condition else "")
        second = usable[0] if usable else None
        following = f"`{second.algorithm}` {rounded_up(float(second.regret_bound) / per_round, 3)}" if second else "-"
        following += f" ({typical(second, per_round)})" if second and second.typical else ""
        floor = "-" if choice.floor is None else rounded_down(float(choice.floor) / per_round, 2)
        cells = (
            adversary,
            size,
            f"{problem.horizon:,}",
            f"{epsilon:g}",
            shown,
            value,
            typical(best, per_round),
            following,
            floor,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines).strip()


def crossover(path: Path) -> Path:
    """Certified regret of PrivateFTRL in its forms and of CTRL over T, generalised linear losses, d = 10."""
    horizons = np.array([10_000, 30_000, 100_000, 300_000, 1_000_000])
    figure, axes = start_figure(1)

    def draw(label: str, shape: str, marker: str, shade: str, regret: Callable[[int], tacit.Plan]) -> None:
        regrets = [float(regret(int(t)).regret_bound) for t in horizons]
        axes.loglog(horizons, regrets, shape, marker=marker, color=shade, label=label)

    def leader(proper: bool, adversary: str) -> Callable[[int], tacit.Plan]:
        target = {"epsilon": 1.0, "delta": DELTA, "adversary": adversary}
        return lambda t: tacit.algorithms.PrivateFTRL.calibrate(convex(10, t, "glm", proper=proper), **target)

    draw("PrivateFTRL, adaptive adversary", "-", "^", "0.55", leader(True, "adaptive"))
    draw(
        "CTRL",
        "--",
        "s",
        "0.35",
        lambda t: tacit.algorithms.CTRL.calibrate(convex(10, t, "glm"), epsilon=1.0, delta=DELTA),
    )
    draw("PrivateFTRL, two streams", "-", "o", "0.0", leader(True, "oblivious"))
    draw("PrivateFTRL, decisions anywhere", ":", "v", "0.0", leader(False, "oblivious"))
    axes.loglog(horizons, np.sqrt(horizons), "-.", color="0.6", label="no privacy, R G sqrt(T)")
    axes.set_xlabel("horizon T (rounds)")
    axes.set_ylabel("certified regret")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title("Gradient sums and held minimisers")
    legend_below(figure, axes.get_legend_handles_labels()[0])
    save_figure(figure, path, "")  # the page says what is held fixed
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the table and write nothing")
    check = parser.parse_args().check
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(STOP)
    fresh = f"{before}{START}\n\n{table()}\n\n{STOP}{after}"
    if check:
        sys.exit(0 if fresh == text else "docs/how-to-choose.md is stale: run scripts/docs/how_to_choose.py")
    PAGE.write_text(fresh, encoding="utf-8")
    print(PAGE)
    print(crossover(DOCS / "images" / "crossover.png"))
