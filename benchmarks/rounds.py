"""What a round costs beside what it cannot cost less than: the arithmetic alone, the noise alone, the memory alone.

Time is that of the processor, the least of several runs; both sides are measured in one run.
Run: `python -m benchmarks rounds`.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from tacit import Convex, Experts, Randomness, kernels
from tacit.algorithms import HedgeOnSums, LazyExperts, PrivateFTRL, ScheduledExperts
from tacit.domains import Ball
from tacit.losses import LogisticLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.lattice import sum_quantised
from tacit.noise.source import raw_words

TARGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
HORIZON, DIMENSION = 100_000, 20
SOURCE = Randomness.replayable(1)


def measure() -> dict[str, float]:
    """Microseconds of a round, rates of arrays, sizes of states, each with its limit."""
    results = {}
    for n, rounds in ((10, 10_000), (1000, 2_000)):
        results |= experts(n, rounds)
    noise = DiscreteGaussian.from_streams(SOURCE, "noise")
    results |= leader(noise)
    results["exact Gaussian noise: nanoseconds a draw"] = fastest(lambda: noise.draw(100_000)) / 1e5 * 1e9
    words = SOURCE.stream("words")
    results["limit: nanoseconds of a word of AES"] = fastest(lambda: raw_words(words, 100_000)) / 1e5 * 1e9
    results |= arrays()
    results["KB of state, LazyExperts at N=1000 after 500 rounds"] = state(1000, 500) / 1024
    return results


def experts(n: int, rounds: int) -> dict[str, float]:
    """Play and observe of the learners of experts."""
    rows = list(np.random.default_rng(0).random((rounds, n)))
    problem = Experts(n=n, horizon=HORIZON)
    plans = {
        "LazyExperts": LazyExperts.calibrate(problem, **TARGET),
        "ScheduledExperts, a draw every round": ScheduledExperts(problem, eta=0.001),
        "HedgeOnSums": HedgeOnSums.calibrate(problem, **TARGET),
    }
    found = {name: played(lambda p=plan: p.start(SOURCE), rows) for name, plan in plans.items()}
    if find_spec("river"):
        found["river's epsilon-greedy bandit, not private"] = pulled(n, rows)
    total, noise = np.zeros(n, dtype=np.int64), DiscreteGaussian.from_streams(SOURCE, "noise")
    found["limit: the sum of the losses alone"] = fastest(lambda: [added(row, total) for row in rows]) / rounds
    found["limit: the noise of HedgeOnSums alone"] = fastest(lambda: noise.draw(rounds * n)) / rounds
    return {f"microseconds a round, N={n}, {name}": seconds * 1e6 for name, seconds in found.items()}


def leader(noise: DiscreteGaussian) -> dict[str, float]:
    """Play and observe of follow the regularised leader, on two streams of noise."""
    rng, rounds = np.random.default_rng(0), 3_000
    problem = Convex(domain=Ball(DIMENSION), loss=LogisticLoss(), horizon=10_000)
    plan = PrivateFTRL.calibrate(problem, **TARGET, streams=2)
    features = rng.normal(size=(rounds, DIMENSION))
    features /= np.linalg.norm(features, axis=1)[:, None]
    rows = list(zip(features, rng.choice([-1.0, 1.0], rounds).tolist(), strict=True))
    alone = fastest(lambda: noise.draw(rounds * 2 * DIMENSION)) / rounds
    return {
        "PrivateFTRL at d=20 on two streams: microseconds a round": played(lambda: plan.start(SOURCE), rows) * 1e6,
        "limit: microseconds of its noise alone": alone * 1e6,
    }


def arrays(rounds: int = 400_000, n: int = 10) -> dict[str, float]:
    """Rounds a second of a whole array, and of one pass over it."""
    losses = np.random.default_rng(0).random((rounds, n))
    plan = LazyExperts.calibrate(Experts(n=n, horizon=rounds), **TARGET)
    return {
        "LazyExperts at N=10, an array of 4e5 rounds: million rounds a second": rounds
        / fastest(lambda: plan.start(SOURCE).run(losses))
        / 1e6,
        "limit: million rounds a second of one losses.sum()": rounds / fastest(losses.sum) / 1e6,
    }


def state(n: int, rounds: int) -> int:
    """Bytes of the JSON that a store writes, of a secret learner."""
    learner = LazyExperts.calibrate(Experts(n=n, horizon=HORIZON), **TARGET).start()
    learner.run(np.random.default_rng(0).random((rounds, n)))
    return len(learner.state_text())


def played(start: Callable[[], Any], rows: list[Any]) -> float:
    """Processor seconds of a round."""
    times = []
    for _ in range(5):
        learner = start()
        begin = time.process_time()
        for row in rows:
            learner.play()
            learner.observe(row)
        times.append((time.process_time() - begin) / len(rows))
    return min(times)


def pulled(n: int, rows: list[Any]) -> float:
    """Processor seconds of a round of river's bandit, which sees one loss only."""
    from river import bandit

    policy, arms, times = bandit.EpsilonGreedy(epsilon=0.1, seed=0), list(range(n)), []
    for arm in arms:  # the first pulls of every arm are a special case
        policy.update(arm, 0.5)
    for _ in range(3):
        begin = time.process_time()
        for row in rows:
            arm = policy.pull(arms)
            policy.update(arm, 1 - row[arm])
        times.append((time.process_time() - begin) / len(rows))
    return min(times)


def added(row: Any, total: Any) -> None:
    """Add the losses of one round."""
    if kernels.compiled is not None:
        kernels.compiled.add_losses(row, total, 0, True)
    else:
        total += sum_quantised(row[None])


def fastest(work: Callable[[], object]) -> float:
    """Processor seconds of the fastest of some runs."""
    times = []
    for _ in range(5):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)
