"""Certified regret of learners that take the advice of policies."""

from functools import cache

import tacit
from docs.sources.statement import Stated, just_above

EPSILONS = (0.3, 1.0, 3.0)


@cache
def bound(n: int, actions: int, horizon: int = 100_000, epsilon: float = 1.0, **options: int) -> float:
    """Of Responses."""
    problem = tacit.Policies(n=n, actions=actions, horizon=horizon, delay=options.pop("delay", 0))
    return float(tacit.algorithms.Responses.calibrate(problem, epsilon=epsilon, delta=0.0, **options).regret_bound)


@cache
def arms_bound(n: int, epsilon: float = 1.0) -> float:
    """Of policies as arms, in 100,000 rounds."""
    problem = tacit.Policies(n=n, actions=6, horizon=100_000)
    return float(tacit.algorithms.PolicyArms.calibrate(problem, epsilon=epsilon, delta=0.0).regret_bound)


def policy_bounds() -> list[Stated]:
    page, short = "docs/algorithms/responses.md", "docs/policies.md"
    three = r" (\d+) / (\d+) / (\d+) \|"
    rows = [
        Stated(
            page,
            rf"\| {n} \| {actions} \|" + 3 * three,
            lambda n=n, k=actions: [bound(n, k, rounds, e) for rounds in (10**4, 10**5, 10**6) for e in EPSILONS],
            just_above,
        )
        for n, actions in ((10, 3), (100, 6), (1000, 20))
    ]
    rows += [
        Stated(
            page,
            r"\| 100 \| 20 \| (\d+) / (\d+) \| (\d+) / (\d+) \|",
            lambda: [bound(100, 20, delay=d, copies=copies) for d in (1, 10) for copies in (d + 1, 1)],
            just_above,
        ),
        Stated(
            page,
            r"certify (\d+) / (\d+) / (\d+) for N = 10 at T = 1e5",
            lambda: [arms_bound(10, e) for e in EPSILONS],
            just_above,
        ),
        Stated(
            short,
            r"certify (\d+) in 1e5 rounds at epsilon = 1, a thousand policies (\d+)",
            lambda: [bound(100, 6), bound(1000, 6)],
            just_above,
        ),
        Stated(short, r"(\d+) for 100 policies", lambda: [arms_bound(100)], just_above),
    ]
    return rows
