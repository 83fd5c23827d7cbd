"""The pictures of the start page and of the algorithm pages. Run: `python scripts/docs/pictures.py`."""

import argparse
from pathlib import Path

from PIL import Image

import tacit
from tacit.cli.demo import digits_models
from tacit.report.plots import plot_regret

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def start(folder: Path) -> Path:
    """Eight digit classifiers on the bundled stream: measured regret, its bound, and the floor without privacy."""
    _, losses = digits_models()
    problem = tacit.Experts(n=losses.shape[1], horizon=losses.shape[0])
    environment = tacit.Replay(losses)
    private = tacit.simulate(tacit.plan(problem, epsilon=1.0, delta=1e-6), environment, runs=20)
    floor = tacit.simulate(tacit.plan(problem, epsilon=1e4, delta=1e-6), environment, runs=20)
    title = "Choosing among eight digit classifiers, epsilon = 1"
    return plot_regret([private], folder / "start.png", title=title, floor=floor)


def experts(folder: Path) -> Path:
    """The expert learners on one stream: 20 experts, one a little better."""
    problem = tacit.Experts(n=20, horizon=20_000)
    environment = tacit.BernoulliGap(n=20, horizon=20_000, gap=0.1)
    kinds = (tacit.LazyExperts, tacit.HedgeOnSums, tacit.ScheduledExperts, tacit.L2P)
    plans = [kind.calibrate(problem, epsilon=1.0, delta=1e-6) for kind in kinds]
    results = [tacit.simulate(plan, environment, runs=10) for plan in plans]
    title = "20 experts, one better by 0.1, epsilon = 1"
    return plot_regret(results, folder / "experts.png", title=title)


def tracking(folder: Path) -> Path:
    """The tracking learners on a stream whose best expert changes three times."""
    environment = tacit.ShiftingBernoulli(n=10, horizon=40_000, changes=(10_000, 20_000, 30_000), gap=0.3)
    results = []
    for kind, adversary in (
        (tacit.RestartOnShift, "stochastic"),
        (tacit.LazyFixedShare, "oblivious"),
        (tacit.SampledFixedShare, "adaptive"),
    ):
        problem = tacit.Tracking(n=10, horizon=40_000, switches=3, adversary=adversary)
        plan = kind.calibrate(problem, epsilon=1.0, delta=1e-6, adversary=adversary)
        results.append(tacit.simulate(plan, environment, runs=5))
    title = "Dynamic regret: the best of 10 experts changes three times, epsilon = 1"
    return plot_regret(results, folder / "tracking.png", title=title)


def convex(folder: Path) -> Path:
    """CTRL and private FTRL on a logistic stream."""
    problem = tacit.Convex(domain=tacit.Ball(dim=5, radius=1.0), loss=tacit.LogisticLoss(), horizon=10_000)
    environment = tacit.LogisticStream(dimension=5, horizon=10_000)
    plans = [kind.calibrate(problem, epsilon=1.0, delta=1e-6) for kind in (tacit.PrivateFTRL, tacit.CTRL)]
    results = [tacit.simulate(plan, environment, runs=3) for plan in plans]
    return plot_regret(results, folder / "convex.png", title="Online logistic regression, d = 5, epsilon = 1")


def shrink(path: Path) -> Path:
    """Keep 16 greys: all that these pictures need, and a third of the bytes."""
    with Image.open(path) as picture:
        small = picture.convert("L").quantize(16)
    small.save(path, optimize=True)
    return path


PICTURES = {"start": start, "experts": experts, "tracking": tracking, "convex": convex}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which pictures (default: all of {', '.join(PICTURES)})")
    parser.add_argument("--folder", type=Path, default=IMAGES, help="where the pictures go")
    arguments = parser.parse_args()
    for name in arguments.names or PICTURES:
        print(shrink(PICTURES[name](arguments.folder)))
