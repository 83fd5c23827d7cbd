"""What docs/algorithms/responses.md says was measured: skilled policies, digits, needles, turns, late feedback.

python -m scripts.reproduce.policies [runs]
"""

from __future__ import annotations

import sys
from functools import cached_property

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import tacit
from tacit.algorithms import PolicyArms, Responses
from tacit.environments import NeedlePolicy, SkilledPolicies
from tacit.environments.environment import InContext
from tacit.environments.policies import PoliciesWorld
from tacit.runtime.plan import Plan

ROUNDS = 100_000


class DigitPolicies(PoliciesWorld):
    """Classifiers of handwritten digits, trained on few images each: which one answers? A wrong digit costs 1.

    Logistic regressions, trees and nearest neighbours take turns; they are trained on disjoint parts of 8 to 40 of
    1,200 images of scikit-learn's digits. The stream draws from the other images.
    """

    def in_context(self, generator: np.random.Generator) -> InContext:
        answers, digits = self._answers
        drawn = generator.integers(len(digits), size=self.horizon)
        losses = self._where(digits[drawn], 0.0, 1.0)
        return InContext(answers[drawn], losses, losses)

    @cached_property
    def _answers(self) -> tuple[np.ndarray, np.ndarray]:
        """What each classifier says to each of 597 images, and the digits."""
        images, digits = load_digits(return_X_y=True)
        order = 811 * np.arange(len(digits)) % len(digits)  # neighbours come from one writer
        train, rest = order[:1200], order[1200:]
        sizes = np.linspace(8, 40, self.n).astype(int)
        answers = np.empty((len(rest), self.n), dtype=np.int64)
        for policy, (size, end) in enumerate(zip(sizes.tolist(), np.cumsum(sizes).tolist(), strict=True)):
            kinds = (LogisticRegression(max_iter=500), DecisionTreeClassifier(random_state=0), KNeighborsClassifier(1))
            part = train[end - size : end]
            answers[:, policy] = kinds[policy % 3].fit(images[part] / 16, digits[part]).predict(images[rest] / 16)
        return answers, digits[rest].astype(np.int64)


WORLDS: dict[str, tuple[PoliciesWorld, tuple[float, ...]]] = {
    "digits, N = 50, K = 10": (DigitPolicies(50, ROUNDS, 10), (0.3, 1.0, 3.0)),
    "skilled, N = 100, K = 6": (SkilledPolicies(100, ROUNDS, 6), (0.3, 1.0, 3.0)),
    "skilled, N = 1000, K = 6, T = 3e4": (SkilledPolicies(1000, 30_000, 6), (1.0,)),
    "needle, gap .08, N = 100, K = 6": (NeedlePolicy(100, ROUNDS, 6, 0.08), (1.0,)),
    "turning, gap .2, N = 100, K = 6": (NeedlePolicy(100, ROUNDS, 6, 0.2, "turning"), (1.0,)),
    "lonely, gap .2, N = 100, K = 6": (NeedlePolicy(100, ROUNDS, 6, 0.2, "lonely"), (1.0,)),
}
SIZES = ((2, 2), (10, 3), (20, 20), (100, 6), (1000, 6))


def measured(name: str, plan: Plan, world: PoliciesWorld, runs: int, seed: int) -> tuple[float, float]:
    """Print the mean regret of so many runs, its standard error, the deviation of one run, and the certificate."""
    result = tacit.simulate(plan, world, runs=runs, seed=seed, progress=False)
    found, certified = result.regret[:, -1], float(plan.regret_bound)
    mean, deviation = float(found.mean()), float(found.std(ddof=1))
    error = deviation / np.sqrt(runs)
    above = float((found > certified).mean())
    print(
        f"{name}: {mean:.0f} +- {error:.0f}, one run +- {deviation:.0f}, certified {certified:.0f}, "
        f"ratio {mean / certified:.2f}, above it {above:.0%} of {runs}",
        flush=True,
    )
    return mean / certified, error / certified


def main(runs: int = 8) -> None:
    """Print everything that the page states as measured."""
    for number, (name, (world, epsilons)) in enumerate(WORLDS.items()):
        problem = tacit.Policies(n=world.n, actions=world.actions, horizon=world.horizon, adversary="stochastic")
        for epsilon in epsilons:
            target = {"epsilon": epsilon, "delta": 0.0}
            label, seed = f"{name}, epsilon = {epsilon:g}", 2200 + number
            many = 5 * runs if isinstance(world, NeedlePolicy) else runs  # where means come near the certificate
            measured(f"{label}, Responses", Responses.calibrate(problem, **target), world, many, seed)
            for learner in ("BatchedTsallis", "PhasedArms"):
                plan = PolicyArms.calibrate(problem, learner=learner, **target)
                measured(f"{label}, policies as arms, {learner}", plan, world, max(2, runs // 2), seed)
    worst = (0.0, 0.0)
    for number, (n, actions) in enumerate(SIZES):
        plan = Responses.calibrate(tacit.Policies(n=n, actions=actions, horizon=5_000), epsilon=1.0, delta=0.0)
        for times in (2.0, 4.0):
            gap = min(0.5, times * float(plan.regret_bound) / 5_000)
            for shape in ("guessing", "turning"):
                label = f"{shape}, N = {n}, K = {actions}, T = 5,000, gap {gap:.3f}"
                world = NeedlePolicy(n, 5_000, actions, gap, shape)
                worst = max(worst, measured(label, plan, world, 5 * runs, 2300 + number))
    print(f"largest ratio {worst[0]:.3f} +- {worst[1]:.3f}")
    for delay, copies in ((1, 2), (10, 11), (10, 1), (100, 1)):
        problem = tacit.Policies(n=100, actions=6, horizon=20_000, delay=delay)
        plan = Responses.calibrate(problem, epsilon=1.0, delta=0.0, copies=copies)
        gap = min(0.5, 2 * float(plan.regret_bound) / 20_000)
        label = f"needle, gap {gap:.2f}, T = 20,000, D = {delay}, {copies} learners"
        measured(label, plan, NeedlePolicy(100, 20_000, 6, gap), 5 * runs, 2400 + delay)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
