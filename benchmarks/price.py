"""What privacy costs in regret: certified and measured, each over what the same has without privacy; 1 is no price.

Experts: the better of LazyExperts and HedgeOnSums, over the bound and the regret of Hedge on exact sums. Measured: one
expert better by 0.1, coins otherwise; the larger matrices are left out.

Generalised linear losses: PrivateFTRL with unit constants on the unit ball, over sqrt(T); losses that are fixed in
advance (oblivious), losses that react to decisions (adaptive), and decisions that may leave the ball (improper).
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

import tacit
from tacit import Randomness

EPSILONS = (0.1, 1.0, 3.0)
SIZES = tuple((rounds, n) for rounds in (10**4, 10**5, 10**6) for n in (10, 100, 1000))
FORMS = (("adaptive", True, "adaptive"), ("oblivious", True, "oblivious"), ("improper", False, "oblivious"))
RUNS = {10**4: 10, 10**5: 5, 10**6: 5}
LARGEST = 10**7  # entries of a matrix that is measured
GAP = 0.1


def measure() -> dict[str, float]:
    """Ratios."""
    results: dict[str, float] = {}
    for rounds, n in SIZES:
        plain = 2 * sqrt(rounds * log(n) / 8)
        for epsilon in EPSILONS:
            best = expert_plan(rounds, n, epsilon)
            place = f"epsilon={epsilon:g}, T={rounds:.0e} N={n}".replace("e+0", "e")
            results[f"certified over no privacy, experts, {place}"] = float(best.regret_bound) / plain
            if rounds * n <= LARGEST:
                results[f"measured over no privacy, experts, {place}"] = measured(best, rounds, n)
    return {**results, **convex()}


def expert_plan(rounds: int, n: int, epsilon: float) -> tacit.Plan:
    problem = tacit.Experts(n=n, horizon=rounds)
    kinds = (tacit.algorithms.LazyExperts, tacit.algorithms.HedgeOnSums)
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
                for name, proper, adversary in FORMS:
                    problem = tacit.Convex(
                        domain=tacit.domains.Ball(dimension),
                        loss=tacit.losses.ConvexFamily(1.0, 1.0, "glm"),
                        horizon=rounds,
                        proper=proper,
                    )
                    plan = tacit.algorithms.PrivateFTRL.calibrate(
                        problem, epsilon=epsilon, delta=1e-6, adversary=adversary
                    )
                    results[f"certified over no privacy, generalised linear, {place}, {name}"] = float(
                        plan.regret_bound
                    ) / sqrt(rounds)
    return results


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.4g}")
