"""Switch among a portfolio of forecasters while the world changes, without giving away any single value.

Real data: the 273,280 pixels of a photograph that ships with scikit-learn, in the order of a scanner: sky, then a
roof, then a dark facade. Eight forecasters always say the same shade; which of them is right changes on the way
down. One pixel is what is protected. Run: `python examples/switching_portfolio.py [picture.png]`.
"""

import argparse

import numpy as np
from sklearn.datasets import load_sample_image

import tacit
from tacit.report.plots import legend_below, save_figure, start_figure
from tacit.simulation.comparators import best_switching_sequence

SHADES = np.linspace(16, 240, 8)
SWITCHES = 4


def forecast_losses(every: int = 1) -> np.ndarray:
    """How far each shade is from each pixel, in [0, 1]; `every` thins the scan."""
    pixels = load_sample_image("china.jpg").mean(axis=2).ravel()[::every]
    return np.abs(pixels[:, None] - SHADES) / 255


def main(output: str = "switching_portfolio.png", every: int = 1) -> None:
    losses = forecast_losses(every)
    rounds, n = losses.shape
    problem = tacit.Tracking(n=n, horizon=rounds, switches=SWITCHES)  # oblivious: a photograph is no random sample
    plan = tacit.plan(problem, epsilon=1.0, delta=1e-6)
    print(plan.explain())
    best, sequence = best_switching_sequence(losses, SWITCHES)
    report("the planner's choice", plan.algorithm, plan.start().run(losses), losses, best)

    # Restarts are planned for independent losses, but certify any finished run from the number of its restarts.
    watch = tacit.algorithms.RestartOnShift.calibrate(problem, epsilon=1.0, delta=0.0)
    learner = watch.start()
    held = learner.run(losses)
    report("restarts on a shift", watch.algorithm, held, losses, best)
    print(f"  {len(learner.restarts)} restarts, which certify a regret of at most ", end="")
    print(f"{watch.regret_after(len(learner.restarts)) / rounds:.4f} a round")
    print(f"best single shade: regret {losses.sum(axis=0).min() / rounds - best / rounds:.4f} a round")

    draw(held, sequence, learner.restarts, str(learner.guarantee), output)
    print(f"picture: {output}")


def report(what: str, algorithm: str, actions: np.ndarray, losses: np.ndarray, best: float) -> None:
    rounds = len(losses)
    regret = (losses[np.arange(rounds), actions].sum() - best) / rounds
    print(f"{what} ({algorithm}): regret {regret:.4f} a round against the best sequence with {SWITCHES} switches")


def draw(held: np.ndarray, best: np.ndarray, restarts: list[int], contract: str, output: str) -> None:
    """The shade that was held in each round, that of the best sequence, and the restarts."""
    figure, axes = start_figure(1)
    axes.step(np.arange(len(best)), best, where="post", color="0.75", linewidth=7, label="best sequence")
    axes.step(np.arange(len(held)), held, where="post", color="0.0", linewidth=1.2, label="held")
    for index, restart in enumerate(restarts):
        axes.axvline(restart, color="0.3", linestyle=":", label=None if index else "detected restart")
    axes.set_yticks(range(len(SHADES)), [f"{shade:.0f}" for shade in SHADES])
    axes.set_xlabel("round")
    axes.set_ylabel("shade")
    axes.set_title("Forecasting a photograph, pixel by pixel")
    legend_below(figure, axes.get_legend_handles_labels()[0])
    save_figure(figure, output, contract)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", default="switching_portfolio.png", help="where the picture goes")
    main(parser.parse_args().output)
