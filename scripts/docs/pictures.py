"""The pictures of the start page and of the algorithm pages. Run: `python scripts/docs/pictures.py`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter
from PIL import Image

import tacit
from tacit.accounting.calibration import gaussian_mu
from tacit.data import digits_models
from tacit.environments.environment import Environment
from tacit.noise.running_sums import Buffered, LaplaceTree, RunningSum, Tree
from tacit.problems import Problem
from tacit.report.plots import (
    LINES,
    SHADES,
    legend_below,
    line_style,
    plot_regret,
    save_figure,
    start_figure,
)
from tacit.simulation.comparators import best_fixed_point

Lines = dict[str, tuple[Sequence[int], Sequence[float], Sequence[float]]]
IMAGES = Path(__file__).parents[2] / "docs" / "images"


def measured(
    problem: Problem, environment: Environment, kinds: Sequence[type[tacit.Plan]], runs: int, **target: Any
) -> list[tacit.Simulation]:
    """Simulate algorithms of one problem, at epsilon = 1 and delta = 1e-6 unless the target says otherwise."""
    plans = [kind.calibrate(problem, **{"epsilon": 1.0, "delta": 1e-6} | target) for kind in kinds]
    return [tacit.simulate(plan, environment, runs=runs) for plan in plans]


def start(folder: Path) -> Path:
    """Eight digit classifiers on the bundled stream: measured regret, its bound, and the floor without privacy."""
    _, losses = digits_models()
    problem = tacit.Experts(n=losses.shape[1], horizon=losses.shape[0])
    environment = tacit.environments.Replay(losses)
    private = tacit.simulate(tacit.plan(problem, epsilon=1.0, delta=1e-6), environment, runs=20)
    floor = tacit.simulate(tacit.plan(problem, epsilon=1e4, delta=1e-6), environment, runs=20)
    title = "Choosing among eight digit classifiers, epsilon = 1"
    return plot_regret([private], folder / "start.png", title=title, floor=floor)


def experts(folder: Path) -> Path:
    """The expert learners on one stream: 20 experts, one a little better."""
    problem = tacit.Experts(n=20, horizon=20_000)
    environment = tacit.environments.BernoulliGap(n=20, horizon=20_000, gap=0.1)
    kinds = (
        tacit.algorithms.LazyExperts,
        tacit.algorithms.HedgeOnSums,
        tacit.algorithms.ScheduledExperts,
        tacit.algorithms.L2P,
    )
    results = measured(problem, environment, kinds, 10)
    title = "20 experts, one better by 0.1, epsilon = 1"
    return plot_regret(results, folder / "experts.png", title=title)


def tracking(folder: Path) -> Path:
    """The tracking learners on a stream whose best expert changes three times."""
    environment = tacit.environments.ShiftingBernoulli(n=10, horizon=40_000, changes=(10_000, 20_000, 30_000), gap=0.3)
    results = []
    for kind, adversary in (
        (tacit.algorithms.RestartOnShift, "stochastic"),
        (tacit.algorithms.LazyFixedShare, "oblivious"),
        (tacit.algorithms.NoisyMirrorDescent, "adaptive"),
    ):
        problem = tacit.Tracking(n=10, horizon=40_000, switches=3, adversary=adversary)
        plan = kind.calibrate(problem, epsilon=1.0, delta=1e-6, adversary=adversary)
        results.append(tacit.simulate(plan, environment, runs=5))
    title = "Dynamic regret: the best of 10 experts changes three times, epsilon = 1"
    return plot_regret(results, folder / "tracking.png", title=title)


def convex(folder: Path) -> Path:
    """CTRL and private FTRL on a logistic stream."""
    problem = tacit.Convex(
        domain=tacit.domains.Ball(dim=5, radius=1.0), loss=tacit.losses.LogisticLoss(), horizon=10_000
    )
    environment = tacit.environments.LogisticStream(dimension=5, horizon=10_000)
    results = measured(problem, environment, (tacit.algorithms.PrivateFTRL, tacit.algorithms.CTRL), 3)
    return plot_regret(results, folder / "convex.png", title="Online logistic regression, d = 5, epsilon = 1")


def stationary(folder: Path) -> Path:
    """Limited updates, alone and with a test for shifts, on a stream without any."""
    problem = tacit.Tracking(n=10, horizon=40_000, switches=0, adversary="stochastic")
    environment = tacit.environments.ShiftingBernoulli(n=10, horizon=40_000, changes=(), gap=0.03)
    kinds = (tacit.algorithms.LimitedUpdates, tacit.algorithms.RestartOnShift)
    results = measured(problem, environment, kinds, 20, delta=0.0, adversary="stochastic")
    title = "10 experts, one better by 0.03, no shift, pure epsilon = 1"
    return plot_regret(results, folder / "stationary.png", title=title)


def two_experts(folder: Path) -> Path:
    """Mirror descent on noisy losses beside the other tracking learners, where it is at its best: two experts."""
    problem = tacit.Tracking(n=2, horizon=40_000, switches=1, adversary="oblivious")
    environment = tacit.environments.ShiftingBernoulli(n=2, horizon=40_000, changes=(20_000,), gap=0.3)
    kinds = (tacit.algorithms.NoisyMirrorDescent, tacit.algorithms.LazyFixedShare)
    results = measured(problem, environment, kinds, 5)
    title = "Dynamic regret: two experts change places once, epsilon = 1"
    return plot_regret(results, folder / "two-experts.png", title=title)


def interval(folder: Path) -> Path:
    """L2P on a Gibbs measure over an interval, beside the other convex learners."""
    problem = tacit.Convex(
        domain=tacit.domains.Ball(dim=1, radius=1.0), loss=tacit.losses.LogisticLoss(), horizon=10_000
    )
    environment = tacit.environments.LogisticStream(dimension=1, horizon=10_000)
    kinds = (tacit.algorithms.L2PConvex, tacit.algorithms.PrivateFTRL, tacit.algorithms.CTRL)
    results = measured(problem, environment, kinds, 3)
    return plot_regret(results, folder / "interval.png", title="Online logistic regression, d = 1, epsilon = 1")


def pricing(folder: Path) -> Path:
    """Posted prices: a loss with two valleys, learned on a grid and on a net."""
    environment = tacit.environments.PricingCurve(horizon=10_000)
    problem = tacit.Lipschitz(horizon=10_000, lipschitz=environment.lipschitz)
    results = measured(problem, environment, (tacit.algorithms.LipschitzNet, tacit.algorithms.LipschitzGrid), 3)
    title = f"Posted prices in [0, 1], slopes up to {problem.lipschitz:g}, epsilon = 1"
    return plot_regret(results, folder / "pricing.png", title=title)


def budget(folder: Path) -> Path:
    """Three budgets of switches for the lazy learner that is not private."""
    rounds, runs, curves = 3_000, 3, {}
    problem = tacit.Convex(
        domain=tacit.domains.Ball(dim=2, radius=1.0), loss=tacit.losses.LogisticLoss(), horizon=rounds
    )
    environment = tacit.environments.LogisticStream(dimension=2, horizon=rounds)
    for switches in (100, 300, 1_000):
        plan = tacit.algorithms.LazyOCO.for_budget(problem, switches=switches)
        results = [tacit.simulate(plan, environment, runs=1, seed=seed) for seed in range(runs)]
        moved = np.mean([np.any(np.diff(r.last["points"], axis=0) != 0.0, axis=1) for r in results], axis=0)
        regret = np.mean([result.mean[-1] for result in results])
        label = f"budget {switches:,}: regret {regret:.0f}, certified {float(plan.regret_bound):.0f}"
        curves[label] = (np.arange(2, rounds + 1), np.cumsum(moved))
    figure, axes = start_figure(2)
    for index, (label, (played, switches)) in enumerate(curves.items()):
        axes.step(played, switches, where="post", linestyle=LINES[index % 4], color=SHADES[index % 6], label=label)
    axes.set_xlabel("round")
    axes.set_ylabel("switches so far (mean)")
    axes.set_title("Lazy online logistic regression, d = 2")
    axes.set_ylim(bottom=0.0)
    legend_below(figure, axes.get_legend_handles_labels()[0], 2)
    caption = f"{plan.guarantee}\nmean of {runs} runs; regret at the end, in units of loss"
    return save_figure(figure, folder / "budget.png", caption)


def doubling(folder: Path) -> Path:
    """What it costs not to know the horizon."""
    environment = tacit.environments.BernoulliGap(n=10, horizon=60_000, gap=0.1)
    problems = [tacit.Experts(n=10, horizon=horizon) for horizon in (None, 60_000)]
    plans = [tacit.algorithms.LazyExperts.calibrate(problem, epsilon=1.0, delta=1e-6) for problem in problems]
    results = [tacit.simulate(plan, environment, runs=10) for plan in plans]
    caption = f"{plans[1].guarantee}\n10 runs, band: two standard errors; seed {results[0].seed}, so not private"
    title, labels = "Lazy experts, 10 experts, one better by 0.1, epsilon = 1", ("horizon unknown", "horizon known")
    return plot_regret(results, folder / "doubling.png", title=title, labels=labels, caption=caption)


def bandit(folder: Path) -> Path:
    """Bandit Frank-Wolfe on a disc: regret a round, because the bound is far above what is measured."""
    horizons, lines, contracts = (10_000, 30_000, 100_000), {}, []
    for name, delta in (("Gaussian sums", 1e-6), ("pure, Laplace tree", 0.0)):
        measured, certified = [], []
        for horizon in horizons:
            environment = tacit.environments.MovingTarget(domain=tacit.domains.Ball(dim=2, radius=0.5), horizon=horizon)
            plan = tacit.algorithms.BanditFW.calibrate(environment.problem, epsilon=1.0, delta=delta)
            measured.append(tacit.simulate(plan, environment, runs=5).per_round)
            certified.append(float(plan.regret_bound) / horizon)
        lines[name] = (horizons, measured, certified)
        contracts.append(plan.guarantee)
    caption = f"{contracts[0]}\n5 runs for each horizon; seeded, so not private. The pure lines have delta=0."
    title = "Distance to a jumping target, disc of radius 0.5, epsilon = 1"
    names = ("horizon (rounds)", "regret a round (units of loss)")
    return plot_growth(lines, folder / "bandit.png", title, names, caption)


def one_pass(folder: Path) -> Path:
    """Excess risk of one released model against the number of records."""
    domain, loss, lines = tacit.domains.Ball(dim=10, radius=1.5), tacit.losses.LogisticLoss(), {}
    counts, fresh = (1_000, 3_000, 10_000, 30_000), 100_000
    for kind in (tacit.algorithms.ObjectivePerturbation, tacit.algorithms.OnlineToBatch):
        measured, certified = [], []
        for count in counts:
            problem = tacit.Stochastic(domain=domain, loss=loss, horizon=count)
            plan = kind.calibrate(problem, epsilon=1.0, delta=1e-6)
            excess = []
            for seed in range(5):
                # One stream, one hidden model: the first records are learned from, the others measure the loss.
                stream = tacit.environments.LogisticStream(dimension=10, horizon=count + fresh, strength=1.5)
                features, labels = stream.data(np.random.default_rng(seed))
                learner = plan.start(tacit.Randomness.replayable(seed))
                learner.run((features[:count], labels[:count]))
                later = features[count:], labels[count:]
                rows, best = loss.pack(later, 10, many=True), best_fixed_point(loss, later, domain)
                excess.append(np.mean(loss.values(learner.release(), rows) - loss.values(best.point, rows)))
            measured.append(np.mean(excess))
            certified.append(float(plan.regret_bound))
        lines[plan.algorithm] = (counts, measured, certified)
    caption = f"{plan.guarantee}\n5 seeds for each point, {fresh:,} fresh records measure the loss; not private"
    title = "Logistic regression in one pass, d = 10, radius 1.5, epsilon = 1"
    names = ("records", "excess risk (units of loss)")
    return plot_growth(lines, folder / "one-pass.png", title, names, caption)


def plot_growth(lines: Lines, path: Path, title: str, names: tuple[str, str], caption: str) -> Path:
    """Measured (full markers) and certified numbers (empty ones) against a size, both axes logarithmic."""
    figure, axes = start_figure(2)
    for index, (label, (sizes, measured, certified)) in enumerate(lines.items()):
        style = line_style(index)
        axes.loglog(sizes, measured, **style, label=f"{label}, measured")
        axes.loglog(sizes, certified, **style, markerfacecolor="white", label=f"{label}, certified")
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.set_title(title)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    legend_below(figure, axes.get_legend_handles_labels()[0], 2)
    save_figure(figure, path, caption)
    return path


def running_sums(folder: Path) -> Path:
    """The noise of the private running sums, step by step."""
    steps, epsilon, delta = 1000, 1.0, 1e-6
    mu = gaussian_mu(epsilon, delta)
    mechanisms: list[tuple[RunningSum, float]] = [(made(steps), mu) for made in (Tree, Buffered)]
    mechanisms.append((LaplaceTree.best(steps), epsilon))
    figure, axes = start_figure(2)
    for index, (mechanism, privacy) in enumerate(mechanisms):
        values = mechanism.standard_deviations(mechanism.scale(privacy))
        label = f"{type(mechanism).__name__}, mean {values.mean():.1f}, largest {values.max():.1f}"
        look = {"linestyle": LINES[index % 4], "color": SHADES[index % 6], "linewidth": 1.1}
        axes.plot(np.arange(1, steps + 1), values, label=label, **look)
    axes.set_xlabel("step")
    axes.set_ylabel("standard deviation (sensitivities)")
    axes.set_title(f"Noise of private running sums of {steps:,} steps")
    axes.set_yscale("log")
    legend_below(figure, axes.get_legend_handles_labels()[0], 2)
    caption = (
        f"epsilon={epsilon:g} at delta={delta:g} for the whole stream of sums (LaplaceTree: pure epsilon)\n"
        "  unit:       one added vector of norm at most 1 (l2 for Gaussian noise, l1 for Laplace noise)\n"
        "  released:   every noisy sum\n  numerics:   idealized: float64 samplers"
    )
    path = folder / "running-sums.png"
    save_figure(figure, path, caption)
    return path


def shrink(path: Path) -> Path:
    """Keep 16 greys: all that these pictures need, and a third of the bytes."""
    with Image.open(path) as picture:
        small = picture.convert("L").quantize(16)
    small.save(path, optimize=True)
    return path


PICTURES = {
    "start": start,
    "experts": experts,
    "tracking": tracking,
    "convex": convex,
    "stationary": stationary,
    "two-experts": two_experts,
    "interval": interval,
    "pricing": pricing,
    "budget": budget,
    "doubling": doubling,
    "bandit": bandit,
    "one-pass": one_pass,
    "running-sums": running_sums,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which pictures (default: all of {', '.join(PICTURES)})")
    parser.add_argument("--folder", type=Path, default=IMAGES, help="where the pictures go")
    arguments = parser.parse_args()
    for name in arguments.names or PICTURES:
        print(shrink(PICTURES[name](arguments.folder)))
