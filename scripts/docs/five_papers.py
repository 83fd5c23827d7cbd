"""Draw the README's picture: algorithms of five papers on one stream, light and dark, to docs/images.

`python -m scripts.docs.five_papers`. Four options for 100,000 rounds, one of them better by .3, without a shift, at
epsilon = 1 and delta = 1e-6. On the left regret of one run each, on the right excess risk of a model. The legend
says what each algorithm sees of a round.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import tacit
from tacit.algorithms import CTRL, L2P, BanditFW, HedgeOnSums, LimitedUpdates, ObjectivePerturbation, OnlineToBatch
from tacit.algorithms.bandit import Rounds
from tacit.domains import Ball, Simplex
from tacit.environments import BernoulliGap
from tacit.losses import LinearLoss
from tacit.noise.randomness import Randomness
from tacit.validation import FloatArray

OPTIONS = 4
ROUNDS = 100_000
GAP = 0.3
SEED = 1
TARGET = {"epsilon": 1.0, "delta": 1e-6}


def losses_of_stream() -> FloatArray:
    """Return the losses of every option in every round."""
    generator = Randomness.replayable(SEED).stream("losses")
    return BernoulliGap(OPTIONS, ROUNDS, gap=GAP).losses(generator)


def source() -> Randomness:
    """Return the randomness of one learner."""
    return Randomness.replayable(SEED)


def cost_of_options(losses: FloatArray, actions: Any) -> FloatArray:
    """Return what the options that were played cost in each round."""
    return losses[np.arange(ROUNDS), actions]


def hedge(losses: FloatArray) -> FloatArray:
    """Return the costs of HedgeOnSums (paper ctrl, Theorem 15)."""
    plan = HedgeOnSums.calibrate(tacit.Experts(n=OPTIONS, horizon=ROUNDS), **TARGET)
    return cost_of_options(losses, plan.run(losses, source()))


def lazy_to_private(losses: FloatArray) -> FloatArray:
    """Return the costs of L2P."""
    plan = L2P.calibrate(tacit.Experts(n=OPTIONS, horizon=ROUNDS), **TARGET)
    return cost_of_options(losses, plan.run(losses, source()))


def limited_updates(losses: FloatArray) -> FloatArray:
    """Return the costs of LimitedUpdates (tracking, Algorithm 1), which counts on independent losses."""
    problem = tacit.Tracking(n=OPTIONS, horizon=ROUNDS, switches=0, adversary="stochastic")
    plan = LimitedUpdates.calibrate(problem, **TARGET)
    return cost_of_options(losses, plan.run(losses, source()))


def points(losses: FloatArray) -> FloatArray:
    """Return the costs of CTRL on the simplex; a constant in a gradient moves no decision there."""
    centred = losses - losses.mean(axis=1, keepdims=True)
    problem = tacit.Convex(domain=Simplex(OPTIONS), loss=LinearLoss(lipschitz=1.0), horizon=ROUNDS)
    chosen = CTRL.calibrate(problem, **TARGET).run(centred, source())
    return np.einsum("ij,ij->i", losses, chosen)


def bandit(losses: FloatArray) -> FloatArray:
    """Return the costs of BanditFW on the simplex, which sees one number a round."""
    problem = tacit.Bandit(domain=Simplex(OPTIONS), lipschitz=1.0, value_range=(0.0, 1.0), horizon=ROUNDS)
    costs = np.empty(ROUNDS)

    def values(chosen: FloatArray, first: int) -> FloatArray:
        shown = np.einsum("ij,ij->i", losses[first : first + len(chosen)], chosen)
        costs[first : first + len(chosen)] = shown
        return shown

    BanditFW.calibrate(problem, **TARGET).run(Rounds(values, ROUNDS, 0), source())
    return costs


LINES = (
    ("LimitedUpdates, paper 4: losses of all, counts on chance", limited_updates),
    ("HedgeOnSums, paper 1: losses of all", hedge),
    ("L2P, paper 2: losses of all, rarely switches", lazy_to_private),
    ("CTRL, paper 1: gradients, rarely switches", points),
    ("BanditFW, paper 3: one number a round", bandit),
)

RECORDS = 20_000
DIMENSION = 10
MODEL_RUNS = 10
LOOKS = {
    "light": {"paper": "#ffffff", "ink": "#1f2328", "faint": "#8c959f"},
    "dark": {"paper": "#0d1117", "ink": "#e6edf3", "faint": "#656d76"},
}
COLOURS = ("#0b7a57", "#2f81f7", "#b3301c", "#d29922", "#8957e5", "#8c959f")
IMAGES = Path(__file__).parents[2] / "docs" / "images"


def regret_of(costs: FloatArray, losses: FloatArray) -> FloatArray:
    """Return regret against the option that is the best over the whole stream."""
    best = losses[:, int(losses.sum(axis=0).argmin())]
    return np.cumsum(costs - best)


def risks() -> list[tuple[str, Any]]:
    """Return simulations of models from records: online-to-batch, and what others do with the same records."""
    stream = tacit.environments.LogisticRecords(DIMENSION, RECORDS, 3.0)
    problem = tacit.Stochastic(domain=Ball(DIMENSION, 4.0), loss=stream.loss, horizon=RECORDS)
    named = (
        ("OnlineToBatch, paper 5: records as they come", OnlineToBatch),
        ("ObjectivePerturbation, ours: all records, one model", ObjectivePerturbation),
    )
    found = []
    for label, algorithm in named:
        plan = algorithm.calibrate(problem, **TARGET)
        found.append((label, tacit.simulate(plan, stream, runs=MODEL_RUNS, seed=SEED, progress=False)))
    return found


def draw(look: dict[str, str], lines: list[tuple[str, FloatArray]], models: list[tuple[str, Any]], file: Path) -> None:
    """Draw both panels in the colours of a page."""
    style = {
        "text.color": look["ink"], "axes.labelcolor": look["ink"], "xtick.color": look["ink"],
        "ytick.color": look["ink"], "axes.edgecolor": look["faint"], "font.size": 9,
    }  # fmt: skip
    with plt.rc_context(style):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.9), dpi=130, facecolor=look["paper"])
        figure.subplots_adjust(left=0.075, right=0.985, top=0.92, bottom=0.36, wspace=0.2)
        marks = np.unique(np.geomspace(10, ROUNDS, 400).astype(int))
        for (label, regret), colour in zip(lines, COLOURS, strict=True):
            left.plot(marks, np.maximum(regret[marks - 1], 0.1), color=colour, linewidth=1.7, label=label)
        for (label, simulation), colour in zip(models, COLOURS, strict=False):
            once = {"marker": "o"} if len(simulation.rounds) == 1 else {}
            right.plot(simulation.rounds, simulation.mean, color=colour, linewidth=1.7, label=label, **once)
        left.set_title("Regret, one run each", loc="left", fontsize=10)
        right.set_title(f"Excess risk of a model, mean of {MODEL_RUNS} runs", loc="left", fontsize=10)
        left.set_xlabel("round")
        right.set_xlabel("records read")
        for axes in (left, right):
            axes.set_facecolor(look["paper"])
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(
                frameon=False, fontsize=8.2, loc="upper left", bbox_to_anchor=(-0.02, -0.2), labelcolor=look["ink"]
            )
        figure.savefig(file, facecolor=look["paper"])
        plt.close(figure)


def main() -> None:
    """Draw the picture twice."""
    losses = losses_of_stream()
    lines = [(label, regret_of(costs(losses), losses)) for label, costs in LINES]
    uniform = losses.mean(axis=1)
    lines.append(("uniform: looks at nothing", regret_of(uniform, losses)))
    models = risks()
    for name, look in LOOKS.items():
        draw(look, lines, models, IMAGES / f"five-papers-{name}.png")
    for label, regret in lines:
        print(f"{regret[-1]:10,.0f}  {label}")
    for label, simulation in models:
        print(f"{simulation.mean[-1]:10.4f}  {label}")


if __name__ == "__main__":
    main()
