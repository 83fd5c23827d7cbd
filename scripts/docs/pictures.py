"""The pictures of the start page and of the algorithm pages. Run: `python scripts/docs/pictures.py`."""

import argparse
import ast
import tomllib
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
ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"


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


HOUSES = {
    "tacit_models": "private models from records",
    "tacit_experiments": "live traffic, a store, a service",
    "tacit": "foundation, and the papers' algorithms",
}
ROLES = {
    "tacit": {
        "cli": "the command line",
        "report": "pictures",
        "planning": "one plan is chosen",
        "simulation": "measured regret",
        "auditing": "attacks",
        "testing": "checks of learners",
        "algorithms": "by problem",
        "environments": "streams of losses",
        "runtime": "plan, learner, state",
        "solvers": "minimisers",
        "problems": "what is decided",
        "losses": "convex losses",
        "domains": "sets of points",
        "noise": "exact samplers",
        "accounting": "curves, ledgers",
        "verification": "second accountant",
    },
    "tacit_models": {
        "classifier": "logistic, SVC",
        "grid_search": "private choice",
        "pipeline": "one budget",
        "ridge": "regression",
        "statistics": "means, scores",
        "torch": "PyTorch",
        "linear_model": "training, bounds",
        "budget": "shares of epsilon",
        "published": "model cards",
        "scoring": "sensitivities",
        "table": "public schema",
        "records": "checked rows",
        "ledger": "what was spent",
    },
    "tacit_experiments": {
        "commands": "serve, tick, demo",
        "service": "HTTP, live page",
        "fleet": "Spark",
        "simulated": "made-up clicks",
        "experiments": "start, tick, end",
        "adapt": "closing, results",
        "records": "public rows",
        "replies": "private rows",
        "contract": "person and month",
        "witness": "against old copies",
        "design": "fixed at the start",
        "policy": "who gets what",
        "versions": "shares of arms",
        "store": "learners in rows",
        "storage": "database, ledgers",
        "client": "of the service",
    },
}
"""A few words below each name in the picture of the packages. Names and their order come from the code."""

STYLE = """
 .house{fill:#f4f6f8;stroke:#c5ccd3} .box{fill:#fff;stroke:#5b6b7a} .apart{stroke-dasharray:5 3}
 text{fill:#1d2731;font-size:14px;text-anchor:middle} .name{font-weight:600;font-size:17px;text-anchor:start}
 .role{font-size:11.5px;fill:#4a5763} .note{font-size:12.5px;fill:#4a5763;text-anchor:start}
 .bar{fill:#5b6b7a;font-size:18px} .arrow{stroke:#5b6b7a;stroke-width:2;marker-end:url(#head)}
"""


def folder_of(package: str) -> Path:
    return ROOT / "packages" / package.replace("_", "-") / "src" / package


def layers_of(package: str) -> list[list[str]]:
    """Return the layers of a package, highest first: those of its contract, or else those that its imports have."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract.get("containers") == [package]:
            return [[name.strip(" ()") for name in layer.split("|")] for layer in contract["layers"]]
    below = imports_between(package)
    layers = []
    while below:
        top = sorted(name for name in below if not any(name in others for others in below.values()))
        if not top:
            raise ValueError(f"modules of {package} import each other in a circle: {', '.join(sorted(below))}")
        layers.append(top)
        below = {name: others for name, others in below.items() if name not in top}
    return layers


def imports_between(package: str) -> dict[str, set[str]]:
    """Return, for each module or folder of a package, the others of that package that it imports."""
    folder = folder_of(package)
    names = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    found: dict[str, set[str]] = {name: set() for name in names - {"__init__"}}
    for path in folder.rglob("*.py"):
        name = path.relative_to(folder).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            if name in found and isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
                found[name].add(str(node.module).split(".")[1])
    return {name: others - {name} for name, others in found.items()}


def architecture(folder: Path) -> Path:
    """Draw the three packages and what is in them, in the order in which they import each other."""
    drawing, widest, edge, room = [], 900, 20, 44
    half = (widest - 3 * edge) // 2
    bottoms = []
    for package, left in (("tacit_models", edge), ("tacit_experiments", 2 * edge + half)):
        lines, bottom = house(package, left, 16, half, columns=3)
        drawing.append((package, left, 16, half, bottom, lines))
        bottoms.append(bottom)
    top = max(bottoms) + room
    lines, bottom = house("tacit", edge, top, widest - 2 * edge, columns=6)
    drawing.append(("tacit", edge, top, widest - 2 * edge, bottom, lines))
    height = bottom + 68
    text = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest} {height}" font-family="system-ui, sans-serif" '
        'role="img" aria-labelledby="title">',
        '<title id="title">Three packages: tacit_models and tacit_experiments import tacit, and not each other. '
        "In a package, a module imports what stands to its right or in a lower row.</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L10 5L0 10z" fill="#5b6b7a"/></marker></defs>',
        f'<rect width="{widest}" height="{height}" fill="#fff"/>',
    ]
    for package, left, upper, width, lower, lines in drawing:
        lower = max(bottoms) if package != "tacit" else lower
        text.append(f'<rect class="house" x="{left}" y="{upper}" width="{width}" height="{lower - upper}" rx="8"/>')
        text.append(f'<text class="name" x="{left + 14}" y="{upper + 25}">{package}')
        text.append(f'<tspan class="note" dx="8" font-weight="400">{HOUSES[package]}</tspan></text>')
        text += lines
        if package != "tacit":
            middle = left + width // 2
            text.append(f'<line class="arrow" x1="{middle}" y1="{lower + 3}" x2="{middle}" y2="{top - 3}"/>')
            text.append(f'<text class="note" x="{middle + 10}" y="{lower + room / 2 + 4:g}">imports</text>')
    notes = (
        "A module imports only what stands to its right in its row, or in a lower row.",
        "Bar: neither module imports the other. Dashed: imports nothing of tacit but its errors.",
    )
    text += [
        f'<text class="note" x="{edge}" y="{bottom + 26 + 20 * row}">{note}</text>' for row, note in enumerate(notes)
    ]
    path = folder / "architecture.svg"
    path.write_text("\n".join([*text, "</svg>", ""]))
    return path


def house(package: str, left: int, top: int, width: int, columns: int) -> tuple[list[str], int]:
    """Return the boxes of one package, row by row in the order of its imports, and where they end."""
    gap, tall, inner = 14, 42, 14
    wide = (width - 2 * inner - (columns - 1) * gap) / columns
    lines, place, upper = [], 0, top + 40
    single = []
    for layer in layers_of(package):
        for number, name in enumerate(layer):
            if package == "tacit" and not (folder_of(package) / name).is_dir():
                single.append(name)
                continue
            x = left + inner + place % columns * (wide + gap)
            y = upper + place // columns * (tall + 10)
            middle = x + wide / 2
            kind = "box apart" if name == "verification" else "box"
            role = ROLES[package].get(name, "")
            lines.append(f'<rect class="{kind}" x="{x:g}" y="{y}" width="{wide:g}" height="{tall}" rx="5"/>')
            lines.append(f'<text x="{middle:g}" y="{y + (19 if role else 26)}">{name}</text>')
            if role:
                lines.append(f'<text class="role" x="{middle:g}" y="{y + 34}">{role}</text>')
            if number < len(layer) - 1:  # the next one is of the same layer
                lines.append(f'<text class="bar" x="{x + wide + gap / 2:g}" y="{y + 27}">|</text>')
            place += 1
    bottom = upper + -(-place // columns) * (tall + 10) + 4
    if single:
        lines.append(f'<text class="note" x="{left + inner}" y="{bottom + 14}">Below them: {", ".join(single)}</text>')
        bottom += 28
    return lines, bottom


def shrink(path: Path) -> Path:
    """Keep 16 greys: all that these pictures need, and a third of the bytes."""
    with Image.open(path) as picture:
        small = picture.convert("L").quantize(16)
    small.save(path, optimize=True)
    return path


PICTURES = {
    "architecture": architecture,
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
        picture = PICTURES[name](arguments.folder)
        print(picture if picture.suffix == ".svg" else shrink(picture))
