"""Table 1 of "Tracking the Best Expert Privately", and its separation of oblivious and adaptive adversaries.

The table has the printed rates, what is wrong with them, and the regret that tacit certifies at one setting. The
picture has the separation twice: certified, where a learner for oblivious losses goes below sqrt(S/T) with epsilon
and one for adaptive losses cannot; and measured, where the lazy learner that is best on oblivious losses pays a
constant a round to an adversary that reacts to it. Plans that are refused are gaps, with their reasons under the table.
Run: `python scripts/reproduce/table1_tracking.py [folder]`.
"""

import sys
from functools import partial
from math import log, nan, sqrt
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.reproduced import Refusals, called, made, show

import tacit
from tacit.environments.tracking import PenaliseHeld, ShiftingBernoulli
from tacit.report.plots import legend_below, line_style, save_figure
from tacit.runtime.plan import Plan

EXPERTS, SWITCHES, DELTA = 10, 3, 1e-9
PRINTED = {
    "stochastic": ("sqrt(S T ln N) + S ln N / eps", "sqrt(S T ln N) + S ln(N/S) / eps"),
    "oblivious": ("sqrt(S T ln N) + S T^1/3 ln N / eps^2/3", "sqrt(S T ln N) + S ln(N/S) / eps"),
    "adaptive": ("sqrt(S T) (ln N)^1.5 / eps + S ln N / eps", "sqrt(S T ln N) + S / (eps ln(T/(S+1)))^2"),
}
REMARKS = {
    "stochastic": "the printed test spends .75 eps of a claimed .5, and its thresholds cannot fire below T of 1e4",
    "oblivious": "rests on the eps^2/3 of the static case, which fails; the learner here is efficient, O(N) a round",
    "adaptive": "the printed noise Lap(1/eps) is not private: the sensitivity is N",
}
CAPTION = (
    f"{EXPERTS} experts, {SWITCHES} switches, delta = {DELTA:g}, one round's feedback, replace-one neighbours\n"
    "left: certified regret per round; the lower bound for adaptive adversaries needs N >= 2 T/S experts\n"
    "right: measured on losses that shift (oblivious) and that punish the expert just held (adaptive);\n"
    "replayable randomness, so not private"
)


def table(horizon: int, epsilons: tuple[float, ...], refusals: Refusals) -> list[str]:
    """The printed rates, and the planner's choices."""
    heads = " | ".join(f"eps = {epsilon:g}" for epsilon in epsilons)
    lines = [
        f"Certified dynamic regret of the planner's choice at T = {horizon:,}, N = {EXPERTS}, S = {SWITCHES}:",
        "",
        f"| adversary | printed upper bound | printed lower bound | remark | {heads} |",
        "|---" * (4 + len(epsilons)) + "|",
    ]
    for adversary, (upper, lower) in PRINTED.items():
        problem = tacit.Tracking(n=EXPERTS, horizon=horizon, switches=SWITCHES, adversary=adversary)
        names = [f"{adversary}, eps = {epsilon:g}, T = {horizon:,}" for epsilon in epsilons]
        choices = [
            refusals.attempt(name, partial(tacit.plan, problem, epsilon=epsilon, delta=DELTA))
            for name, epsilon in zip(names, epsilons, strict=True)
        ]
        shown = " | ".join("refused" if choice is None else _shown(choice) for choice in choices)
        lines.append(f"| {adversary} | {upper} | {lower} | {REMARKS[adversary]} | {shown} |")
    return [*lines, "", "A star: the bound holds if there are at most S restarts. Vacuous: no better than any learner."]


def _shown(choice: tacit.Comparison) -> str:
    if choice.plan.vacuous:
        return "vacuous"
    star = "*" if choice.regret_bound.condition else ""
    return f"{float(choice.regret_bound):,.0f}{star} ({choice.algorithm})"


def calibrated(learner: type[Plan], problem: tacit.Tracking, epsilon: float, refusals: Refusals) -> Plan | None:
    """The plan of one learner, or None if it is refused."""
    name = f"{learner.__name__}, eps = {epsilon:.3g}, T = {problem.horizon:,}"
    return refusals.attempt(name, partial(learner.calibrate, problem, epsilon=epsilon, delta=DELTA))


def certified(horizon: int, epsilons: np.ndarray, refusals: Refusals) -> dict[str, list[float]]:
    """Certified regret per round of the learners for each adversary, at most 1; no number where a plan is refused."""
    problem = tacit.Tracking(n=EXPERTS, horizon=horizon, switches=SWITCHES)
    plans = {
        "oblivious: LazyFixedShare": tacit.algorithms.LazyFixedShare,
        "adaptive: NoisyMirrorDescent": tacit.algorithms.NoisyMirrorDescent,
    }
    found = {label: [calibrated(plan, problem, float(e), refusals) for e in epsilons] for label, plan in plans.items()}
    return {
        label: [nan if plan is None else min(1.0, float(plan.regret_bound) / horizon) for plan in values]
        for label, values in found.items()
    }


def measured(horizon: int, epsilons: tuple[float, ...], runs: int, refusals: Refusals) -> dict[str, list[float]]:
    """Mean dynamic regret per round: two learners against two adversaries; no number where a plan is refused."""
    problem = tacit.Tracking(n=EXPERTS, horizon=horizon, switches=SWITCHES)
    changes = tuple(horizon * k // (SWITCHES + 1) for k in range(1, SWITCHES + 1))
    worlds = {"shifts": ShiftingBernoulli(EXPERTS, horizon, changes), "reacts": PenaliseHeld(EXPERTS, horizon)}
    results = {}
    for learner in (tacit.algorithms.LazyFixedShare, tacit.algorithms.NoisyMirrorDescent):
        plans = [calibrated(learner, problem, epsilon, refusals) for epsilon in epsilons]
        for name, world in worlds.items():
            results[f"{learner.__name__}, adversary {name}"] = [
                nan if plan is None else tacit.simulate(plan, world, runs=runs, progress=False).per_round
                for plan in plans
            ]
    return results


def picture(folder: Path, far: int, near: int, runs: int, refusals: Refusals) -> None:
    """Both panels of the separation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.4), dpi=130)
    left, right = (figure.add_axes((x, 0.45, 0.41, 0.47)) for x in (0.07, 0.57))
    epsilons = np.geomspace(3e-5, 1.0, 9)
    for index, (label, values) in enumerate(certified(far, epsilons, refusals).items()):
        left.plot(epsilons, values, label=label, **line_style(index))
    critical = sqrt(SWITCHES / far)
    lower = np.minimum(1.0, SWITCHES / (epsilons * log(far / (SWITCHES + 1))) ** 2 / far)
    left.plot(epsilons, lower, label="adaptive: lower bound, no constant", color="0.6", linestyle=(0, (1, 1)))
    left.axvline(critical, color="0.4", linewidth=0.8)
    left.annotate(" sqrt(S/T)", (critical, 2e-6), fontsize=9)
    left.set(xscale="log", yscale="log", ylim=(1e-6, 2), title=f"Certified, T = {far:.0e}")
    wide = (1.0, 4.0, 16.0, 64.0)
    for index, (label, values) in enumerate(measured(near, wide, runs, refusals).items()):
        right.plot(wide, values, label=label, **line_style(index + 2))
    right.set(xscale="log", ylim=(0, None), title=f"Measured, T = {near:,}")
    for axes in (left, right):
        axes.set_xlabel("epsilon")
        axes.set_ylabel("dynamic regret per round")
        axes.grid(color="0.92")
    handles = left.get_legend_handles_labels()[0] + right.get_legend_handles_labels()[0]
    legend_below(figure, handles, 3)
    save_figure(figure, folder / "tracking_separation.png", CAPTION)


def main(folder: str = "reproduced", *, far: int = 10**8, near: int = 5000, runs: int = 3) -> None:
    target = made(folder)
    refusals = Refusals()
    lines = table(10**6, (0.1, 1.0), refusals)
    picture(target, far, near, runs, refusals)
    (target / "tracking_table1.md").write_text("\n".join([*lines, *refusals.lines()]) + "\n")
    show(target / "tracking_table1.md", target / "tracking_separation.png")


if __name__ == "__main__":
    called(main, __doc__)
