"""What privacy costs in regret: certified and measured, each over what the same has without privacy.

Experts: the better of LazyExperts and HedgeOnSums, over the bound and the regret of Hedge on exact sums. "Before" is
what was certified before the accounting and the noise were last made tighter. Measured: one expert better by 0.1, coins
otherwise; the larger matrices are left out. Convex: PrivateFTRL with unit constants on the unit ball; "before" is its
bound for adaptive adversaries, the only one it had.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

import tacit
from tacit import Randomness

EPSILONS = (0.1, 1.0, 3.0)
# Certified regret at each epsilon for (T, N).
BEFORE = {
    (10**4, 10): (913.2, 157.2, 115.2),
    (10**4, 100): (1668.0, 421.9, 215.4),
    (10**4, 1000): (2373.9, 602.1, 307.4),
    (10**5, 10): (1215.6, 365.5, 342.3),
    (10**5, 100): (3907.5, 774.1, 528.7),
    (10**5, 1000): (5587.1, 1405.5, 730.2),
    (10**6, 10): (1724.9, 1084.7, 1073.0),
    (10**6, 100): (6223.0, 1673.0, 1521.6),
    (10**6, 1000): (12999.1, 3295.0, 1929.9),
}
RUNS = {10**4: 10, 10**5: 5, 10**6: 5}
LARGEST = 10**7  # entries of a matrix that is measured
GAP = 0.1


def measure() -> dict[str, float]:
    """Ratios; 1 is no price at all."""
    results: dict[str, float] = {}
    for (rounds, n), before in BEFORE.items():
        floor = 2 * sqrt(rounds * log(n) / 8)
        for epsilon, known in zip(EPSILONS, before, strict=True):
            best = expert_plan(rounds, n, epsilon)
            place = f"epsilon={epsilon:g}, T={rounds:.0e} N={n}".replace("e+0", "e")
            results[f"certified over no privacy, experts, {place}, before"] = known / floor
            results[f"certified over no privacy, experts, {place}, now"] = float(best.regret_bound) / floor
            if rounds * n <= LARGEST:
                results[f"measured over no privacy, experts, {place}"] = measured(best, rounds, n)
    return {**results, **convex()}


def expert_plan(rounds: int, n: int, epsilon: float) -> tacit.Plan:
    problem = tacit.Experts(n=n, horizon=rounds)
    kinds = (tacit.LazyExperts, tacit.HedgeOnSums)
    plans = [kind.calibrate(problem, epsilon=epsilon, delta=1e-6) for kind in kinds]
    return min(plans, key=lambda plan: float(plan.regret_bound))


def measured(plan: tacit.Plan, rounds: int, n: int) -> float:
    """Mean regret over that of Hedge on exact sums, on the same coins."""
    private = plain = 0.0
    eta = sqrt(8 * log(n) / rounds)
    for run in range(RUNS[rounds]):
        source = Randomness.replayable(run)
        losses = (source.stream("losses").random((rounds, n)) < 0.5 - GAP * (np.arange(n) == 0)).astype(float)
        best = losses.sum(axis=0).min()
        actions = plan.start(source.child("learner")).run(losses)
        private += losses[np.arange(rounds), actions].sum() - best
        sums = np.cumsum(losses, axis=0) - losses
        weights = np.exp(-eta * (sums - sums.min(axis=1, keepdims=True)))
        plain += float(((weights * losses).sum(axis=1) / weights.sum(axis=1)).sum()) - best
    return private / plain


def convex() -> dict[str, float]:
    results: dict[str, float] = {}
    for rounds in (10**4, 10**5, 10**6):
        for dimension in (1, 10):
            for epsilon in EPSILONS:
                place = f"epsilon={epsilon:g}, T={rounds:.0e} d={dimension}".replace("e+0", "e")
                forms = {"before": (True, "adaptive"), "now": (True, "oblivious"), "anywhere": (False, "oblivious")}
                for name, (proper, adversary) in forms.items():
                    problem = tacit.Convex(
                        domain=tacit.Ball(dimension),
                        loss=tacit.ConvexFamily(1.0, 1.0, "glm"),
                        horizon=rounds,
                        proper=proper,
                    )
                    plan = tacit.PrivateFTRL.calibrate(problem, epsilon=epsilon, delta=1e-6, adversary=adversary)
                    results[f"certified over no privacy, generalised linear, {place}, {name}"] = float(
                        plan.regret_bound
                    ) / sqrt(rounds)
    return results


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.4g}")
