"""The rate of "Differentially Private Online-to-Batch for Smooth Losses": 1/sqrt(T) + sqrt(d)/(epsilon T).

Excess risk of one private pass of logistic regression over T records, measured on fresh ones and certified, for
several epsilons. Run: `python scripts/reproduce/rate_online_to_batch.py [folder]`.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.special import expit

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.reproduced import called, made, show

from tacit.algorithms.stochastic import OnlineToBatch
from tacit.domains import Ball
from tacit.losses import LogisticLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Stochastic
from tacit.report.plots import legend_below, legend_lines, line_style, save_figure, start_figure

DIMENSION = 10
DOMAIN = Ball(DIMENSION, radius=2.0)
TRUTH = np.linspace(-1.0, 1.0, DIMENSION)
EPSILONS = (0.3, 1.0, 10.0)


def records(count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the unit sphere, labels from a logistic model."""
    rows = generator.standard_normal((count, DIMENSION))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    return rows, np.where(generator.random(count) < expit(4 * rows @ TRUTH), 1.0, -1.0)


def risk(model: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(np.logaddexp(0, -labels * (rows @ model))))


def best_model(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The best model of the domain on these records, by projected gradient descent."""
    model = np.zeros(DIMENSION)
    for _ in range(400):
        model = DOMAIN.project(model + 4 * ((labels * expit(-labels * (rows @ model))) @ rows) / len(labels))
    return model


def main(folder: str = "reproduced", *, sizes: tuple[int, ...] = (1000, 10_000, 100_000), runs: int = 4) -> None:
    target = made(folder)
    rows, labels = records(50_000, Randomness.replayable(0).stream("fresh"))
    least = risk(best_model(rows, labels), rows, labels)
    lines = ["| records | epsilon | measured excess risk | certified |", "|---|---|---|---|"]
    figure, axes = start_figure(legend_lines(len(EPSILONS) + 1, 2))
    for index, epsilon in enumerate(EPSILONS):
        measured, certified = [], []
        for size in sizes:
            problem = Stochastic(domain=DOMAIN, loss=LogisticLoss(), horizon=size)
            plan = OnlineToBatch.calibrate(problem, epsilon=epsilon, delta=1e-6)
            found = []
            for run in range(runs):
                source = Randomness.replayable(1).child(run)
                learner = plan.start(source.child("learner"))
                learner.run(records(size, source.stream(f"records {size}")))
                found.append(risk(learner.model, rows, labels) - least)
            measured.append(float(np.mean(found)))
            certified.append(float(plan.regret_bound))
            lines.append(f"| {size:,} | {epsilon:g} | {measured[-1]:.4f} | {certified[-1]:.3f} |")
        look = line_style(index)
        axes.plot(sizes, measured, label=f"epsilon = {epsilon:g}, measured", **look)
        axes.plot(sizes, certified, **(look | {"markerfacecolor": "white", "linewidth": 0.7}))
    axes.plot(sizes, np.asarray(sizes) ** -0.5, color="0.6", linestyle=(0, (1, 1)), label="1/sqrt(T)")
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="excess risk (hollow: certified)")
    axes.set_title("One private pass of logistic regression")
    legend_below(figure, axes.get_legend_handles_labels()[0], 2)
    note = f"{runs} run(s) a point; replayable randomness, so not private; epsilon as shown"
    save_figure(figure, target / "online_to_batch_rate.png", f"{plan.guarantee}\n{note}")
    (target / "online_to_batch_rate.md").write_text("\n".join(lines) + "\n")
    show(target / "online_to_batch_rate.md", target / "online_to_batch_rate.png")


if __name__ == "__main__":
    called(main, __doc__)
