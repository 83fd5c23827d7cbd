"""What docs/algorithms/responses.md says was measured: skilled policies, digits, needles, turns, late feedback.

python -m scripts.reproduce.policies [runs]
"""

from __future__ import annotations

import sys

import numpy as np

import tacit
from tacit.algorithms import PolicyArms, Responses
from tacit.environments import DigitPolicies, NeedlePolicy, SkilledPolicies
from tacit.environments.policies import PoliciesWorld
from tacit.runtime.plan import Plan

ROUNDS = 100_000
WORLDS: dict[str, tuple[PoliciesWorld, tuple[float, ...]]] = {
    "digits, N = 50, K = 10": (DigitPolicies(50, ROUNDS), (0.3, 1.0, 3.0)),
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
