"""What docs/algorithms/explore-linear.md says is certified and was measured: settings, worlds, attacks, digits.

python -m scripts.reproduce.explore_linear [seeds]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.datasets import load_digits

import tacit
from tacit.algorithms import ExploreLinear
from tacit.environments import LinearContexts
from tacit.environments.contextual import SHAPES
from tacit.environments.environment import ContextStream, InContext

FRESH = 7_000  # added to the number of a run: seeds that no test uses
SETTINGS: tuple[tuple[int, int, int, float, dict[str, Any], dict[str, Any]], ...] = (
    (6, 10, 100_000, 1.0, {}, {}),
    (6, 10, 100_000, 1.0, {"features": "public"}, {}),
    (6, 10, 100_000, 1.0, {"missing": 0.3}, {}),
    (6, 10, 100_000, 1.0, {"delay": 1000}, {}),
    (6, 10, 100_000, 1.0, {}, {"relation": "zero-out"}),
    (3, 5, 10_000, 3.0, {"features": "public"}, {"relation": "zero-out"}),
    (2, 2, 100_000, 1.0, {}, {}),
    (20, 10, 1_000_000, 1.0, {}, {}),
    (6, 30, 1_000_000, 1.0, {}, {}),
)


def made(n: int, dimension: int, rounds: int, epsilon: float, problem: dict, target: dict) -> ExploreLinear:
    """The plan of a setting."""
    wanted = tacit.ContextualArms(n=n, dimension=dimension, horizon=rounds, **problem)
    plan = ExploreLinear.calibrate(wanted, epsilon=epsilon, delta=1e-6, **target)
    assert isinstance(plan, ExploreLinear)
    return plan


def measured(plan: ExploreLinear, world: ContextStream, seeds: int) -> np.ndarray:
    """Regret a round of each seed."""
    found = []
    for seed in range(seeds):
        source = tacit.Randomness.replayable(FRESH + seed)
        contexts, losses, means = world.in_context(source.stream("world"))
        actions = plan.run(losses, source.child("learner"), contexts=contexts)
        found.append(float(np.mean(means[np.arange(len(actions)), actions] - means.min(axis=1))))
    return np.array(found)


def worlds(seeds: int) -> None:
    """Every setting in every world; for the first one also the best fixed action and random play."""
    closest = 0.0
    for number, (n, dimension, rounds, epsilon, problem, target) in enumerate(SETTINGS):
        plan = made(n, dimension, rounds, epsilon, problem, target)
        certified = float(plan.regret_bound) / rounds
        print(f"\nK={n} d={dimension} T={rounds:.0e} epsilon={epsilon:g} {problem} {target}: certified {certified:.4f}")
        for shape in SHAPES:
            world = LinearContexts(n, rounds, dimension, shape, missing=problem.get("missing", 0.0))
            found = measured(plan, world, seeds)
            closest = max(closest, float(found.max()) / certified)
            line = f"  {shape:10} {found.mean():.4f}  largest seed {found.max():.4f}"
            if number == 0:
                means = world.in_context(tacit.Randomness.replayable(FRESH).stream("world")).means
                best = means.min(axis=1).mean()
                line += f"  best action {means.mean(axis=0).min() - best:.4f}  random {means.mean() - best:.4f}"
            print(line)
    print(f"\nlargest share of a certificate in any run: {closest:.2f}")


@dataclass(frozen=True)
class DigitContexts:
    """Handwritten digits: a public random projection of the 64 pixels and a constant, ten actions, 0 for the right one.

    Images are drawn with replacement from the 1,797 of scikit-learn.
    """

    horizon: int
    n: ClassVar[int] = 10
    adaptive: ClassVar[bool] = False

    def in_context(self, generator: np.random.Generator) -> InContext:
        """Draw images."""
        data = load_digits()
        pixels = (np.asarray(data.data, dtype=np.float64) - 5.0) / 16.0
        axes = tacit.Randomness.replayable(0).stream("axes").standard_normal((64, 16))
        projected = pixels @ np.linalg.qr(axes)[0]
        features = np.column_stack([projected / np.linalg.norm(projected, axis=1, keepdims=True), np.ones(len(pixels))])
        features /= np.sqrt(2.0)
        chosen = generator.integers(len(pixels), size=self.horizon)
        losses = np.ones((self.horizon, self.n))
        losses[np.arange(self.horizon), np.asarray(data.target)[chosen]] = 0.0
        return InContext(features[chosen], losses, losses)


def digits(seeds: int) -> None:
    """Handwritten digits as a bandit: not linear, so what is certified is what would be if it were."""
    print("\ndigits, d=17, T=1e5, R=1")
    for epsilon in (1.0, 3.0):
        for features in ("private", "public"):
            plan = made(10, 17, 100_000, epsilon, {"radius": 1.0, "features": features}, {})
            loss = measured(plan, DigitContexts(100_000), seeds)
            certified = float(plan.regret_bound) / 100_000
            print(f"  epsilon={epsilon:g} {features:8} certified if linear {certified:.3f}  loss {loss.mean():.3f}")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    worlds(count)
    digits(count)
