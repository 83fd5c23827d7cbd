"""Numbers of the benchmarks' results and of simulations."""

import json
from functools import partial
from math import ceil

import numpy as np

import tacit
from docs.sources.statement import CELL, ROOT, TARGET, Stated
from errata import bandit
from tacit.data import digits_models
from tacit.noise.randomness import Randomness
from tacit.simulation.comparators import best_switching_sequence

BENCHMARKS = json.loads((ROOT / "benchmarks" / "latest.json").read_text())["results"]


def bandit_row(n: int, rounds: int) -> list[float]:
    """Measured, pure, printed noise (from the benchmarks); certified."""
    measured = [
        BENCHMARKS["bandit"][f"n={n} T={rounds:.0e} regret{kind}"] for kind in ("", ", pure", ", printed noise")
    ]
    problem = tacit.Bandit(domain=tacit.domains.Ball(n, 0.5), horizon=rounds, value_range=(0, 1), lipschitz=1)
    return [*measured, float(tacit.algorithms.BanditFW.calibrate(problem, **TARGET).regret_bound) / rounds]


def accuracies(relation: str, model: str) -> list[float]:
    """Test accuracy on three data sets at three epsilons."""
    return [
        BENCHMARKS["estimators"][f"{data}, epsilon={epsilon}, {relation}, {model}"]
        for data in ("breast cancer", "digits", "synthetic")
        for epsilon in ("0.1", "1", "3")
    ]


def few_positives() -> list[float]:
    """Balanced accuracy of logistic regression at epsilon=1, without and with public class weights."""
    results = json.loads((ROOT / "benchmarks" / "peers.json").read_text())["diffprivlib"]["results"]
    key = "balanced test accuracy on 5% positives, epsilon=1, tacit logistic (replace)"
    return [results[key], results[f"{key}; class weights"]]


TRIPLE = r"\s*([\d.]+) / ([\d.]+) / ([\d.]+)\s*\|"
ESTIMATORS = {
    "`PrivateLogisticRegression`": ("zero-out", "logistic"),
    "`PrivateLinearSVC`": ("zero-out", "svc"),
    "logistic, replace": ("replace", "logistic"),
    "SVC, replace": ("replace", "svc"),
}


def benchmarked() -> list[Stated]:
    rows = [
        Stated("docs/bandit.md", rf"\| {n} \| {rounds} \|" + 4 * CELL, partial(bandit_row, n, int(float(rounds))))
        for n, rounds in ((2, "1e5"), (2, "1e6"), (10, "1e6"))
    ]
    rows += [
        Stated("docs/one-pass.md", rf"\| {name} \|" + 3 * TRIPLE, partial(accuracies, *source))
        for name, source in ESTIMATORS.items()
    ]
    rows.append(Stated("docs/one-pass.md", r"balanced accuracy of ([\d.]+), and ([\d.]+)\s", few_positives))
    return rows


def shifting_regret(rounds: int) -> list[float]:
    """Mean dynamic regret a round of RestartOnShift over 20 seeds, three shifts of gap .3."""
    problem = tacit.Tracking(n=10, horizon=rounds, switches=3, adversary="stochastic")
    plan = tacit.algorithms.RestartOnShift.calibrate(problem, epsilon=1.0, delta=0.0)
    changes = tuple(rounds * k // 4 for k in (1, 2, 3))
    world = tacit.environments.ShiftingBernoulli(10, rounds, changes, gap=0.3)
    regrets = []
    for seed in range(20):
        losses = world.losses(Randomness.replayable(seed).stream("losses"))
        actions = plan.start(Randomness.replayable(seed)).run(losses)
        regrets.append(losses[np.arange(rounds), actions].sum() - best_switching_sequence(losses, 3)[0])
    return [float(np.mean(regrets)) / rounds]


def start_picture() -> list[float]:
    """Regret at epsilon = 1 and without privacy, 20 runs; the bound."""
    _, losses = digits_models()
    problem = tacit.Experts(n=losses.shape[1], horizon=losses.shape[0])
    plans = [tacit.plan(problem, epsilon=epsilon, delta=1e-6) for epsilon in (1.0, 1e4)]
    found = [
        tacit.simulate(plan, tacit.environments.Replay(losses), runs=20, progress=False).mean[-1] for plan in plans
    ]
    return [*map(float, found), float(ceil(plans[0].regret_bound))]  # a certified number is shown from above


def uniform_play() -> list[float]:
    """Regret a round of uniform points of the disc."""
    return [bandit.errata.find("line_14")[0].numbers["uniform"]]


def simulated() -> list[Stated]:
    picture = r"about (\d+) with epsilon = 1 and about (\d+) without privacy, .*bound of (\d+)"
    place = r"has dynamic regret (\.\d+) a round\s+at T = 2e4"
    return [
        Stated("docs/tracking.md", place, partial(shifting_regret, 20_000), slow=True),
        Stated("docs/tracking.md", r"and (\.\d+) at T = 2e5", partial(shifting_regret, 200_000), slow=True),
        Stated("docs/index.md", picture, start_picture, slow=True),
        Stated("docs/bandit.md", r"Uniform play pays (\.\d+)", uniform_play),
    ]
