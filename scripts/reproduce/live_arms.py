"""What docs/algorithms/live-arms.md says was measured: clicks, swings, levels, broken arms, small gaps; versions.

python -m scripts.reproduce.live_arms [runs]
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import tacit
from tacit.environments.arms import BernoulliArms, ClickArms
from tacit.noise.randomness import Randomness
from tacit.validation import FloatArray
from tacit_experiments.versions import Releases, next_shares, noise_deviation, result

RATES = (0.028, 0.030, 0.031, 0.033, 0.034, 0.040)
ROUNDS = 2_000_000
LATE = 20_000
CLICKS = {
    "clicks, no delay": (0, 0.05, {}),
    "clicks, D = 20,000": (LATE, 0.05, {}),
    "level swings by 30%, one cycle, D = 20,000": (LATE, 0.1, {"swing": 0.3}),
    "the same, seven cycles": (LATE, 0.1, {"swing": 0.3, "cycles": 7.0}),
    "level falls by 40%": (LATE, 0.05, {"fall": 0.4}),
    "a random level of 30% each day": (LATE, 0.1, {"days": 30, "day_level": 0.3}),
    "arm 5 loses 12% of its replies": (0, 0.05, {"lost": (0.0, 0.0, 0.0, 0.0, 0.12, 0.0)}),
}


def closed(delay: int, largest: float, options: dict, seed: int, run: int) -> tuple[float, float]:
    """The share of the gap between random and best that is closed, and the share of the fifth arm's traffic."""
    world = ClickArms(RATES, ROUNDS, **options)
    problem = tacit.Arms(n=6, horizon=ROUNDS, delay=delay, adversary="stochastic")
    target = {"epsilon": 1.0, "delta": 0.0, "rounds_per_person": 4}
    plan = tacit.algorithms.LiveArms.calibrate(problem, mean_at_most=largest, **target)
    levels = world.levels(np.random.default_rng([seed, run]))
    arms = plan.run(world.losses(np.random.default_rng([seed, run])), Randomness.replayable(1009 * seed + run))
    rates = np.array(RATES)
    got, even, most = (levels * rates[arms]).sum(), levels.sum() * rates.mean(), levels.sum() * rates.max()
    return float((got - even) / (most - even)), float((arms == 4).mean())


def regret(rewards: FloatArray, rounds: int, epsilon: float, seed: int, run: int) -> float:
    """What one run loses against the best arm."""
    world = BernoulliArms(tuple((1 - rewards).tolist()), rounds)
    problem = tacit.Arms(n=len(rewards), horizon=rounds, adversary="stochastic")
    plan = tacit.algorithms.LiveArms.calibrate(problem, epsilon=epsilon, delta=0.0)
    arms = plan.run(world.losses(np.random.default_rng([seed, run])), Randomness.replayable(1009 * seed + run))
    return float((rewards.max() - rewards)[arms].sum())


def month(
    rates: FloatArray,
    people: int,
    seed: list[int],
    *,
    levels: float = 0.0,
    lag: int = 1,
    lost: float | FloatArray = 0.0,
    traffic: FloatArray | None = None,
    **options,
) -> tuple[float, FloatArray, bool, Releases, float]:
    """Thirty daily versions: the share of the gap closed, the last shares, whether anything was declared; the releases
    of the month, and what was lost against the best arm.
    """
    generator, k = np.random.default_rng(seed), len(rates)
    _, deviation = noise_deviation(30, 1.0, 0.0)
    sums, served, shares = np.zeros((0, k)), np.zeros((0, k)), np.full(k, 1 / k)
    got = even = most = 0.0
    beaten = declared = False

    def released(days: int) -> Releases:
        return Releases(sums[:days], served[:days], np.ones((days, k), bool), np.full(days, deviation**2), people)

    for day in range(30):
        seen = released(max(0, day + 1 - lag))
        shares = next_shares(seen, active=np.ones(k, bool), served=shares, beaten=beaten, **options)
        present = int(people * (1.0 if traffic is None else traffic[day]))
        means = np.minimum(1.0, rates * np.exp(levels * generator.standard_normal() - levels**2 / 2))
        counts = generator.multinomial(present, shares)
        scores = generator.binomial(counts, means * (1 - np.asarray(lost)))
        got, even, most = got + counts @ means, even + present * means.mean(), most + present * means.max()
        sums = np.vstack([sums, scores + generator.laplace(size=k) * deviation / np.sqrt(2)])
        served = np.vstack([served, shares])
        looks = [result(released(day + 1), arm, level=0.05 / (k - 1), with_lift=False) for arm in range(1, k)]
        verdicts = {look.verdict for look in looks}
        beaten, declared = beaten or "better" in verdicts, declared or verdicts != {"open"}
    return float((got - even) / max(most - even, 1e-9)), shares, declared, released(30), float(most - got)


TRAFFIC = {
    "flat": np.ones(30),
    "weekly": 1 + 0.5 * np.sin(np.arange(30) * 2 * np.pi / 7),
    "growing": np.linspace(0.3, 2, 30),
    "falling": np.linspace(2, 0.3, 30),
    "random": np.random.default_rng(4).lognormal(0, 0.5, 30),
}


def show(name: str, found: list[float], digits: int = 4) -> None:
    mean, least, most = (f"{value:.{digits}f}" for value in (np.mean(found), min(found), max(found)))
    print(f"{name}: mean {mean}, least {least}, largest {most}, {len(found)} runs", flush=True)


def main(runs: int = 40) -> None:
    """Print everything that the page states as measured."""
    means, many = np.random.default_rng(9292), 6 * runs
    for name, rewards, epsilon, seed in (
        ("rewards .90 to .99", lambda: np.linspace(0.90, 0.99, 10), 1.0, 9200),
        ("uniform means", lambda: means.random(10), 1.0, 9202),
        ("uniform means, epsilon = .1", lambda: means.random(10), 0.1, 9203),
        ("ladder .3 to .7", lambda: np.linspace(0.3, 0.7, 10), 1.0, 9204),
    ):
        show(name, [regret(rewards(), 30_000, epsilon, seed, run) / 30_000 for run in range(many)])
    gap = partial(regret, np.array([0.7] + [0.5] * 19))
    show("K = 20, gap .2, T = 1e5", [gap(100_000, 1.0, 9205, run) / 1e5 for run in range(many)])
    show("K = 20, gap .2, T = 1e6", [gap(1_000_000, 1.0, 9206, run) / 1e6 for run in range(-(-3 * runs // 5))], 5)
    for name, (delay, largest, options) in CLICKS.items():
        found = [closed(delay, largest, options, 9300, run) for run in range(runs)]
        show(name, [one for one, _ in found])
        show("  traffic of arm 5", [share for _, share in found])
    small = np.array([0.7, 0.5, 0.5])
    show("K = 3, gap .2, T = 300,000", [regret(small, 300_000, 1.0, 9100, run) for run in range(many)], 1)
    rates = np.array(RATES)
    show(
        "versions, optimise",
        [month(rates, 200_000, [9021, run], levels=0.3, hold=0.0, kept=0.0)[0] for run in range(many)],
    )
    show("versions, defaults, lag", [month(rates, 200_000, [9022, run], levels=0.3, lag=2)[0] for run in range(many)])
    lost = np.array([0.0, 0.12, 0.0])
    show("broken arm", [month(np.full(3, 0.03), 200_000, [9041, run], lost=lost)[1][1] for run in range(many)])
    for name, pattern in TRAFFIC.items():
        false = [float(month(np.full(3, 0.03), 20_000, [9031, run], traffic=pattern)[2]) for run in range(many)]
        show(f"declared, equal arms, {name}", false)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
