"""Certified regret, with feedback that comes at once and late."""

import re
from collections.abc import Callable
from functools import partial
from math import log, sqrt

import tacit
from docs.sources.statement import CELL, TARGET, Stated, near


def expert_bounds(rounds: int, n: int, epsilon: float) -> list[float]:
    """No privacy, Theorem 3.2 with its best parameters, lazy experts, Hedge on sums."""
    problem = tacit.Experts(n=n, horizon=rounds)
    plans = [
        tacit.algorithms.L2P.as_printed(problem, epsilon=epsilon, delta=1e-6, result="Theorem 3.2"),
        tacit.algorithms.LazyExperts.calibrate(problem, epsilon=epsilon, delta=1e-6),
        tacit.algorithms.HedgeOnSums.calibrate(problem, epsilon=epsilon, delta=1e-6),
    ]
    return [2 * sqrt(rounds * log(n) / 8), *(float(plan.regret_bound) for plan in plans)]


def convex_bounds(family: str, dimension: int, rounds: int) -> list[float]:
    """CTRL and private FTRL."""
    loss = tacit.losses.ConvexFamily(1.0, 1.0, family)
    problem = tacit.Convex(domain=tacit.domains.Ball(dimension), loss=loss, horizon=rounds)
    return [
        float(plan.calibrate(problem, **TARGET).regret_bound)
        for plan in (tacit.algorithms.CTRL, tacit.algorithms.PrivateFTRL)
    ]


def interval_bounds() -> list[float]:
    """Certified regret on the unit interval, epsilon = 1: both kinds of differences at two horizons."""
    return [
        float(
            tacit.algorithms.LipschitzGrid.calibrate(
                tacit.Lipschitz(horizon=rounds), coordinates=coordinates, **TARGET
            ).regret_bound
        )
        for rounds in (10**4, 10**5)
        for coordinates in ("differences", "multiscale")
    ]


def leader_bounds(rounds: int, dimension: int, epsilon: float) -> list[float]:
    """Private FTRL against adaptive adversaries; two streams and no projection, beta = 1 and .25; no privacy."""
    found = []
    for proper, adversary, betas in ((True, "adaptive", (1.0,)), (True, None, (1.0, 0.25)), (False, None, (1.0, 0.25))):
        for beta in betas:
            family = tacit.losses.ConvexFamily(1.0, beta, "glm")
            problem = tacit.Convex(domain=tacit.domains.Ball(dimension), loss=family, horizon=rounds, proper=proper)
            target = {"epsilon": epsilon, "delta": 1e-6, "adversary": adversary or "oblivious"}
            found.append(float(tacit.algorithms.PrivateFTRL.calibrate(problem, **target).regret_bound))
    return [*found, sqrt(rounds)]


def held_decisions() -> list[float]:
    """How often CTRL changes its decision, d = 10, T = 1e5."""
    family = tacit.losses.ConvexFamily(1.0, 1.0, "glm")
    problem = tacit.Convex(domain=tacit.domains.Ball(10), loss=family, horizon=100_000)
    return [float(tacit.algorithms.CTRL.calibrate(problem, **TARGET).expected_switches or 0)]


def mirror_bounds(n: int, switches: int, rounds: int) -> list[float]:
    """Noisy mirror descent, pure: losses fixed in advance, adaptive adversaries."""
    problems = [
        tacit.Tracking(n=n, horizon=rounds, switches=switches, adversary=adversary)
        for adversary in ("oblivious", "adaptive")
    ]
    return [
        float(tacit.algorithms.NoisyMirrorDescent.calibrate(p, epsilon=1.0, delta=0.0).regret_bound) for p in problems
    ]


def recent_bounds(n: int) -> list[float]:
    """The recent leader and noisy mirror descent, pure."""
    problem = tacit.Tracking(n=n, horizon=100_000, switches=3, adversary="stochastic")
    kinds = (tacit.algorithms.RecentLeader, tacit.algorithms.NoisyMirrorDescent)
    return [float(kind.calibrate(problem, epsilon=1.0, delta=0.0).regret_bound) for kind in kinds]


def stationary_bounds(n: int) -> list[float]:
    """Limited updates, lazy experts and Hedge on sums, pure."""
    problem = tacit.Experts(n=n, horizon=100_000)
    kinds = (tacit.algorithms.LimitedUpdates, tacit.algorithms.LazyExperts, tacit.algorithms.HedgeOnSums)
    return [float(kind.calibrate(problem, epsilon=1.0, delta=0.0).regret_bound) for kind in kinds]


MIRROR_ROWS = [(5, 2, 100_000), (10, 3, 20_000), (10, 3, 100_000), (12, 3, 200_000)]
EXPERT_ROWS = [("1e4", "10", "1"), ("1e5", "100", "1"), ("1e5", "100", r"\.1"), ("1e6", "1000", "1")]
LEADER_ROWS = [("1e4", 5, "1"), ("1e5", 1, "1"), ("1e5", 10, "1"), ("1e6", 10, "1"), ("1e5", 10, r"\.1")]
CONVEX_ROWS = [("general", 1), ("general", 10), ("generalised linear", 10)]


def certified() -> list[Stated]:
    rows = [
        Stated(
            "docs/errata/lazy-to-private.md",
            rf"\| {rounds} \| {n} \| {epsilon} \|" + 4 * CELL,
            partial(expert_bounds, int(float(rounds)), int(n), float(epsilon.replace("\\", ""))),
            near,
        )
        for rounds, n, epsilon in EXPERT_ROWS
    ]
    pair = r"\s*(\d+) \((\d+)\)\s*\|"
    rows += [
        Stated(
            "docs/algorithms/private-ftrl.md",
            rf"\| {rounds}, {dimension}, {epsilon} \|" + CELL + 2 * pair + CELL,
            partial(leader_bounds, int(float(rounds)), dimension, float(epsilon.replace("\\", ""))),
            near,
        )
        for rounds, dimension, epsilon in LEADER_ROWS
    ]
    interval = r"regret of (\d+) instead of (\d+) at T = 1e4, and of (\d+) instead of (\d+) at T = 1e5"
    rows.append(Stated("docs/algorithms/lipschitz-grid.md", interval, interval_bounds))
    for page in ("docs/how-to-choose.md", "docs/algorithms/ctrl.md"):
        rows.append(Stated(page, r"at most ([\d,]+) (?:times|changes)", held_decisions, near))
    for n, switches, rounds in MIRROR_ROWS:
        rows.append(
            Stated(
                "docs/algorithms/noisy-mirror-descent.md",
                rf"\| N = {n}, S = {switches}, T = {rounds:,} \|" + 2 * r"\s*([\d,]+) \(\d+\)\s*\|",
                partial(mirror_bounds, n, switches, rounds),
                near,
            )
        )
    for n in (10, 1000):
        rows.append(
            Stated(
                "docs/algorithms/limited-updates.md", rf"\| {n:,} \|" + 3 * CELL, partial(stationary_bounds, n), near
            )
        )
    for n in (10, 100, 1000):
        rows.append(
            Stated("docs/algorithms/recent-leader.md", rf"\| N = {n:,} \|" + 2 * CELL, partial(recent_bounds, n), near)
        )
    for family, dimension in CONVEX_ROWS:
        for rounds in ("1e5", "1e6"):
            name = "general" if family == "general" else "glm"
            rows.append(
                Stated(
                    "docs/errata/ctrl.md",
                    rf"\| {family} \| {dimension} \| {rounds} \|" + 2 * CELL,
                    partial(convex_bounds, name, dimension, int(float(rounds))),
                    near,
                    slow=(family, rounds) != ("generalised linear", "1e5"),
                )
            )
    return rows


def late_bounds(algorithm: type[tacit.Plan], make: Callable[[int], tacit.Plan], epsilon: float = 1.0) -> list[float]:
    """Certified with feedback 0, 10, 100 and 1000 rounds late."""
    delta = 0.0 if algorithm in (tacit.algorithms.BatchedTsallis, tacit.algorithms.PhasedArms) else 1e-6
    plans = [algorithm.calibrate(make(delay), epsilon=epsilon, delta=delta) for delay in (0, 10, 100, 1000)]
    return [float(plan.regret_bound) for plan in plans]


def late() -> list[Stated]:
    """The table of late feedback."""
    family = tacit.losses.ConvexFamily(lipschitz=1.0)
    experts = {n: partial(tacit.Experts, n=n, horizon=100_000) for n in (10, 100)}
    ball = partial(tacit.Convex, domain=tacit.domains.Ball(10), loss=family, horizon=100_000)
    arms = partial(tacit.Arms, n=20, horizon=100_000, adversary="stochastic")
    rows = [
        ("`HedgeOnSums`, N = 10", tacit.algorithms.HedgeOnSums, experts[10]),
        ("`LazyExperts`, N = 10", tacit.algorithms.LazyExperts, experts[10]),
        ("`HedgeOnSums`, N = 100", tacit.algorithms.HedgeOnSums, experts[100]),
        ("`LazyExperts`, N = 100", tacit.algorithms.LazyExperts, experts[100]),
        ("`PrivateFTRL`, d = 10, G = R = 1, any convex losses", tacit.algorithms.PrivateFTRL, ball),
        ("`BatchedTsallis`, K = 20, pure", tacit.algorithms.BatchedTsallis, arms),
        ("`PhasedArms`, K = 20, pure", tacit.algorithms.PhasedArms, arms),
    ]
    return [
        Stated(
            "docs/delays.md",
            rf"\| {re.escape(name)} \|" + 4 * CELL,
            partial(late_bounds, algorithm, lambda delay, make=make: make(delay=delay)),
            near,
            slow=algorithm in (tacit.algorithms.BatchedTsallis, tacit.algorithms.PhasedArms),
        )
        for name, algorithm, make in rows
    ]
