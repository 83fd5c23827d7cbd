"""Speed and regret of learners of arms, beside river's bandits. Run: `python -m benchmarks.arms`.

Ratios of times below 1: tacit is faster. "seconds" are those of a whole array run.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from benchmarks import WAYS, loops_in
from tacit.algorithms.arms import BatchedTsallis, PhasedArms
from tacit.environments.arms import BernoulliArms
from tacit.noise.randomness import Randomness
from tacit.problems import Arms
from tacit.runtime.plan import Plan

ARMS, EPSILON = 20, 1.0
SINGLE_ROUNDS = 20_000


def measure() -> dict[str, float]:
    """Seconds of a million rounds as an array; microseconds of a single round; regret per round."""
    results = {}
    for rounds in (100_000, 1_000_000):
        world = BernoulliArms((0.3, *[0.5] * (ARMS - 1)), rounds)
        losses = world.losses(Randomness.replayable(1).stream("world"))
        plan = phased(rounds)
        seconds, regret = array_run(plan, world, losses)
        results[f"PhasedArms K=20 T={rounds:.0e} seconds"] = seconds
        results[f"PhasedArms K=20 T={rounds:.0e} regret a round"] = regret / rounds
    return results | single_rounds(losses[:SINGLE_ROUNDS], plan)


def single_rounds(rows: np.ndarray, plan: Plan) -> dict[str, float]:
    """Microseconds of a round of ours and of river's, in turns, and their ratios."""
    ours = {"PhasedArms": lambda: playing(plan, rows), **both_ways(rows)}
    theirs = river(rows) if find_spec("river") else {}
    times = fastest({**ours, **theirs})
    results = {f"{name}, microseconds a round": value for name, value in times.items()}
    for name in ours:
        for other in theirs:
            policy = other.removeprefix("river's ")
            results[f"time of play and observe over river's at K={ARMS}, policy={policy}, {name}"] = (
                times[name] / times[other]
            )
    return results


def phased(rounds: int) -> Plan:
    """At epsilon = 1."""
    return PhasedArms.calibrate(Arms(n=ARMS, horizon=rounds, adversary="stochastic"), epsilon=EPSILON, delta=0.0)


def tsallis() -> Plan:
    """At epsilon = 1."""
    return BatchedTsallis.calibrate(Arms(n=ARMS, horizon=100_000), epsilon=EPSILON, delta=0.0)


def both_ways(rows: np.ndarray) -> dict[str, Callable[[], Callable[[], None]]]:
    """BatchedTsallis in C, where there was a compiler, and in Python; the decisions are the same."""
    plan = tsallis()

    def making(way: str) -> Callable[[], None]:
        play = playing(plan, rows)

        def switched() -> None:
            with loops_in(way):
                play()

        return switched

    return {f"BatchedTsallis with {way}": lambda way=way: making(way) for way in WAYS}


def array_run(plan: Plan, world: BernoulliArms, losses: np.ndarray) -> tuple[float, float]:
    """The fastest of three runs, and their mean regret."""
    times, regrets = [], []
    for seed in range(3):
        start = time.perf_counter()
        actions = plan.run(losses, Randomness.replayable(seed))
        times.append(time.perf_counter() - start)
        regrets.append(float(np.sum(np.array(world.means)[actions] - min(world.means))))
    return min(times), float(np.mean(regrets))


def playing(plan: Plan, rows: np.ndarray) -> Callable[[], None]:
    """Play and observe, round by round."""
    learner = plan.start()

    def play() -> None:
        for row in rows:
            learner.observe(float(row[learner.play()]))

    return play


def river(rows: np.ndarray) -> dict[str, Callable[[], Callable[[], None]]]:
    """Pull and update of river's bandits, which keep no secrets."""
    from river import bandit

    policies = {"EpsilonGreedy": bandit.EpsilonGreedy(epsilon=0.1, seed=0), "UCB": bandit.UCB(delta=1.0, seed=0),
                "Exp3": bandit.Exp3(gamma=0.1, seed=0)}  # fmt: skip
    arms = list(range(ARMS))

    def pulling(policy: bandit.base.Policy) -> Callable[[], None]:
        def play() -> None:
            for row in rows:
                arm = policy.pull(arms)
                policy.update(arm, 1 - row[arm])

        return play

    return {f"river's {name}": lambda p=policy: pulling(p) for name, policy in policies.items()}


def fastest(makers: dict[str, Callable[[], Callable[[], None]]]) -> dict[str, float]:
    """Microseconds a round, the fastest of five turns."""
    times: dict[str, list[float]] = {name: [] for name in makers}
    for _ in range(5):
        for name, make in makers.items():
            play = make()
            start = time.process_time()
            play()
            times[name].append(time.process_time() - start)
    return {name: min(seen) / SINGLE_ROUNDS * 1e6 for name, seen in times.items()}


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:48s} {value:12.6g}")
