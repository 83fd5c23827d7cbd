"""What the planner's choice loses over the best candidate of its comparison, in worlds that chose nothing.

Other gaps, mixtures and sizes than those of the reference worlds. A ratio is mean regret of the chosen plan over that
of the best of all candidates that have a plan, on the same losses; regret below .002 a round counts as .002, so that no
ratio of two small numbers is large. Then choices of single problems, beside one candidate that was known to be good.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.resources import files
from statistics import geometric_mean

import numpy as np

import tacit
from tacit import Arms, Experts, Tracking
from tacit.environments.arms import BernoulliArms
from tacit.environments.environment import Environment
from tacit.environments.experts import BernoulliGap, Replay, SwitchingAdversary
from tacit.environments.tracking import DriftingLosses, ShiftingBernoulli
from tacit.problems import Options
from tacit.simulation.loop import simulate

RUNS = {700: 120, 3000: 24}  # by horizon: the mean of few runs in a world of few switches is mostly luck
LEAST = 0.002  # regret a round below which candidates count as equal


def measure() -> dict[str, float]:
    """Ratios and seconds."""
    results: dict[str, float] = {}
    for kind in ("experts", "tracking", "arms"):
        for adversary in ("stochastic", "oblivious"):
            if (kind, adversary) == ("arms", "oblivious"):
                continue  # there is one candidate
            found = [
                ratio(problem, world, epsilon, delta) for problem, world, epsilon, delta in held_out(kind, adversary)
            ]
            results[f"{kind}, {adversary}: geometric mean over {len(found)} worlds"] = geometric_mean(found)
            results[f"{kind}, {adversary}: largest"] = max(found)
    return {**results, **known_rows(), **short_rows(), **seconds()}


def held_out(kind: str, adversary: str) -> Iterator[tuple[Options, Environment, float, float]]:
    """Problems with worlds of theirs, epsilon and delta."""
    for n, rounds in ((5, 700), (20, 3000)):
        for epsilon, delta in ((0.3, 0.0), (3.0, 1e-6)):
            means = {"gap": [0.42] + [0.5] * (n - 1), "low": [0.1 + 0.2 * k / n for k in range(n)]}
            if kind == "tracking":
                problem: Options = Tracking(n=n, horizon=rounds, switches=3, adversary=adversary)
                changes = (rounds // 5, rounds // 2, rounds * 3 // 4)
                yield problem, ShiftingBernoulli(n, rounds, changes, gap=0.2, mean=0.4), epsilon, delta
                if adversary == "oblivious":
                    yield problem, DriftingLosses(n, rounds, 1.5, 0.2, 0.3), epsilon, delta
                continue
            problem = (Arms if kind == "arms" else Experts)(n=n, horizon=rounds, adversary=adversary)
            for listed in means.values():
                yield problem, BernoulliArms(tuple(listed), rounds), epsilon, delta
            if adversary == "oblivious":
                yield problem, SwitchingAdversary(n, rounds, 120), epsilon, delta


def ratio(problem: Options, world: Environment, epsilon: float, delta: float) -> float:
    """Mean regret of the choice over that of the best candidate."""
    choice = tacit.plan(problem, epsilon=epsilon, delta=delta)
    plans = [candidate.plan for candidate in choice.candidates if candidate.plan]
    runs = RUNS[world.horizon]
    regret = [float(simulate(plan, world, runs=runs, seed=2_099, progress=False).mean[-1]) for plan in plans]
    least = LEAST * world.horizon
    return max(least, regret[0]) / max(least, min(regret))


def known_rows() -> dict[str, float]:
    """Single problems: regret of the choice over that of a candidate that was known to be good."""
    shifts = ShiftingBernoulli(12, 200_000, (50_000, 100_000, 150_000), gap=0.25)
    rows = files("tacit.data").joinpath("digits_models.csv").read_text().splitlines()[1:]
    digits = Replay(np.array([[float(x) for x in row.split(",")] for row in rows]))
    experts = {"n": digits.n, "horizon": digits.horizon, "adversary": "stochastic"}
    cases = {
        "tracking, stochastic, N=12, T=2e5, over TrackingOnSums": (
            Tracking(n=12, horizon=200_000, switches=3, adversary="stochastic"), shifts, 1.0, 1e-6, "TrackingOnSums", 1,
        ),
        "tracking, oblivious, N=5, T=2e4, over TrackingOnSums": (
            Tracking(n=5, horizon=20_000, switches=1), ShiftingBernoulli(5, 20_000, (10_000,)), 1.0, 1e-6,
            "TrackingOnSums", 3,
        ),
        "experts, stochastic, N=10, T=2e4, over LimitedUpdates": (
            Experts(n=10, horizon=20_000, adversary="stochastic"), BernoulliGap(10, 20_000, 0.08), 1.0, 0.0,
            "LimitedUpdates", 4,
        ),
        "experts, stochastic, N=10, T=5,000, over LimitedUpdates": (
            Experts(n=10, horizon=5_000, adversary="stochastic"), BernoulliGap(10, 5_000, 0.1), 1.0, 0.0,
            "LimitedUpdates", 6,
        ),
        **{
            f"experts, digits, epsilon={e:g}, over LimitedUpdates": (
                Experts(**experts), digits, e, 0.0, "LimitedUpdates", 10,
            )
            for e in (0.5, 1.0, 3.0)
        },
    }  # fmt: skip
    results = {}
    for name, (problem, world, epsilon, delta, good, runs) in cases.items():
        choice = tacit.plan(problem, epsilon=epsilon, delta=delta)
        other = next(c.plan for c in choice.candidates if c.algorithm == good)
        if other is None:
            continue
        lost = [float(simulate(p, world, runs=runs, seed=5, progress=False).mean[-1]) for p in (choice.plan, other)]
        results[name] = 1.0 if choice.algorithm == good else lost[0] / lost[1]
    return results


def short_rows() -> dict[str, float]:
    """Regret of the choice in 1,000 rounds of arms: means over 60 runs."""
    ladder, better = np.linspace(0.3, 0.7, 20), (0.2, 0.5, 0.5, 0.5, 0.5)
    cases = {
        "ladder of 20, epsilon=.5": (tuple(ladder.tolist()), 0.5),
        "ladder of 5, epsilon=.1": (tuple(np.linspace(0.3, 0.7, 5).tolist()), 0.1),
        "one of 5 better by .3, epsilon=8": (better, 8.0),
    }
    results = {}
    for name, (means, epsilon) in cases.items():
        choice = tacit.plan(Arms(n=len(means), horizon=1000), epsilon=epsilon, delta=0.0)
        mean = simulate(choice.plan, BernoulliArms(means, 1000), runs=60, seed=7, progress=False).mean[-1]
        results[f"regret of arms, T=1,000, {name}: {choice.algorithm}"] = float(mean)
    return results


def seconds() -> dict[str, float]:
    """CPU time of planning."""
    problems = {
        "experts": Experts(n=10, horizon=100_000, adversary="stochastic"),
        "tracking": Tracking(n=12, horizon=100_000, switches=3, adversary="stochastic"),
        "arms": Arms(n=20, horizon=100_000),
    }
    tacit.plan(Experts(n=2, horizon=10), epsilon=1.0, delta=0.0)  # the table is read once
    results = {}
    for name, problem in problems.items():
        start = time.process_time()
        tacit.plan(problem, epsilon=1.0, delta=1e-6)
        results[f"seconds of planning, {name}, T=1e5"] = time.process_time() - start
    return results
