"""Certified regret, floors and measured ratios of arms."""

from functools import cache, partial

import tacit
from docs.sources.statement import CELL, Stated, just_above
from tacit.planning.lower_bounds import arms_floor
from tacit.runtime.target import Target


@cache
def tsallis_bound(n: int, epsilon: float) -> float:
    """Of 100,000 rounds."""
    problem = tacit.Arms(n=n, horizon=100_000, adversary="oblivious")
    return float(tacit.algorithms.BatchedTsallis.calibrate(problem, epsilon=epsilon, delta=0.0).regret_bound)


@cache
def phased_bound(epsilon: float) -> float:
    """Of 20 arms and 100,000 rounds."""
    problem = tacit.Arms(n=20, horizon=100_000, adversary="stochastic")
    return float(tacit.algorithms.PhasedArms.calibrate(problem, epsilon=epsilon, delta=0.0).regret_bound)


CONTEXTUAL = (
    (6, 10, "1e5", 10**5, "private", (), 1),
    (6, 10, "1e6", 10**6, "private", (), 1),
    (6, 10, "1e6", 10**6, "public", (("features", "public"),), 1),
    (3, 5, "1e5", 10**5, "private", (), 1),
    (20, 10, "1e6", 10**6, "private", (), 1),
    (6, 10, "1e5", 10**5, "private, D = 1000", (("delay", 1000),), 1),
    (6, 10, "1e6", 10**6, "private, p = 2", (), 2),
    (6, 10, "1e6", 10**6, "private, p = 5", (), 5),
)


@cache
def contextual_bound(n: int, d: int, rounds: int, made: tuple, people: int) -> list[float]:
    """Of linear contexts, a round."""
    problem = tacit.ContextualArms(n=n, dimension=d, horizon=rounds, **dict(made))
    plan = tacit.algorithms.ExploreLinear.calibrate(problem, epsilon=1.0, delta=1e-6, rounds_per_person=people)
    assert isinstance(plan, tacit.algorithms.ExploreLinear)
    by_rounds = plan.certificate.regret_of_rounds(plan.explore, plan.ridges)
    return [float(plan.regret_bound) / rounds, by_rounds / rounds]


@cache
def live_plan(n: int, rounds: int, epsilon: float, delay: int = 0) -> tacit.algorithms.LiveArms:
    """As the planner calibrates it."""
    problem = tacit.Arms(n=n, horizon=rounds, delay=delay, adversary="stochastic")
    return tacit.algorithms.LiveArms.calibrate(problem, epsilon=epsilon, delta=0.0)


def live_bounds(n: int, rounds: int, delay: int = 0) -> list[float]:
    """Whatever the gaps, and if all are .2 or more."""
    plan = live_plan(n, rounds, 1.0, delay)
    return [float(plan.regret_bound), float(plan.regret_if(0.2))]


def late_bounds() -> list[float]:
    """Of 20 arms, 100,000 rounds and replies that come up to 1,000 rounds late."""
    late = {"n": 20, "horizon": 100_000, "delay": 1000}
    phased = tacit.algorithms.PhasedArms.calibrate(tacit.Arms(**late), epsilon=1.0, delta=0.0)
    tsallis = tacit.Arms(**late, adversary="oblivious")
    third = tacit.algorithms.BatchedTsallis.calibrate(tsallis, epsilon=1.0, delta=0.0)
    return [live_bounds(20, 100_000, 1000)[0], float(phased.regret_bound), float(third.regret_bound)]


def floors() -> list[float]:
    """What no learner of 20 arms escapes in 100,000 rounds."""
    return [arms_floor(20, 100_000, Target(epsilon, 0.0)) for epsilon in (1.0, 0.1, 0.01)]


def arm_bounds() -> list[Stated]:
    page, phased, tsallis = "docs/arms.md", "docs/algorithms/phased-arms.md", "docs/algorithms/batched-tsallis.md"

    live = "docs/algorithms/live-arms.md"

    def all_three(epsilon: float) -> list[float]:
        certified = float(live_plan(20, 100_000, epsilon).regret_bound)
        return [certified, phased_bound(epsilon), tsallis_bound(20, epsilon)]

    rows = [
        Stated(page, r"\| certified, K = 20, T = 1e5, epsilon = 1 \|" + 3 * CELL, partial(all_three, 1.0), just_above),
        Stated(page, r"\| the same, epsilon = \.1 \|" + 3 * CELL, partial(all_three, 0.1), just_above),
        Stated(page, r"\| the same, epsilon = 1, replies [^|]* \|" + 3 * CELL, late_bounds, just_above),
        Stated(live, r"\| K = 2, T = 1e5 \|" + 2 * CELL, partial(live_bounds, 2, 100_000), just_above),
        Stated(live, r"\| K = 5, T = 1e4 \|" + 2 * CELL, partial(live_bounds, 5, 10_000), just_above),
        Stated(live, r"\| K = 20, T = 1e5 \|" + 2 * CELL, partial(live_bounds, 20, 100_000), just_above),
        Stated(live, r"\| K = 20, T = 1e6 \|" + 2 * CELL, partial(live_bounds, 20, 1_000_000), just_above),
        Stated(
            live, r"\| K = 20, T = 1e5, D = 1,000 \|" + 2 * CELL, partial(live_bounds, 20, 100_000, 1000), just_above
        ),
        Stated(page, r"(\d+) at K = 20, T = 1e5, epsilon = 1, (\d+) at\s+epsilon = \.1, (\d+) at \.01", floors),
    ]
    rows += [
        Stated(phased, rf"\| 20 \| 1e5 \| {shown} \|" + CELL, lambda e=epsilon: [phased_bound(e)], just_above)
        for shown, epsilon in (("1", 1.0), (r"\.1", 0.1))
    ]
    rows += [
        Stated(tsallis, rf"\| {n} \| 1e5 \| \d+ / (\d+) / \d+ \|", lambda n=n: [tsallis_bound(n, 1.0)], just_above)
        for n in (10, 20, 100)
    ]
    return rows + [
        Stated(
            "docs/algorithms/explore-linear.md",
            rf"\| {n} \| {d} \| {shown} \| {how} \|" + 2 * CELL,
            partial(contextual_bound, n, d, rounds, made, people),
            just_above,
        )
        for n, d, shown, rounds, how, made, people in CONTEXTUAL
    ]
