"""Arms: what privacy costs beside river's and mabwiser's bandits, and what it costs other private ones."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from math import sqrt
from typing import Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from river import bandit

import tacit
from benchmarks.peers.private_arms import decisions
from benchmarks.peers.timing import in_turns

PACKAGES = ("river", "mabwiser", "numpy", "tacit")
ARMS, ROUNDS, RUNS, FEWER = 20, 100_000, 6, 2
SINGLE_ROUNDS = 2_000
EPSILONS = (0.1, 1.0)
STREAMS = ((0.3, 0.5), (0.45, 0.5), (0.05, 0.1))

ABOUT = f"""Coins with one good arm among {ARMS}, {ROUNDS:,} rounds; everyone sees the loss of the arm that was played,
on the same streams. tacit's learners and the three of the literature have the same contract: pure epsilon, replacement
of one round's loss, every decision and noisy batch mean released. DP-SE, AdaP-UCB and DP-IMED are written from their
papers (`benchmarks/peers/private_arms.py`), with beta=1/T, alpha=3.1 and phases that grow by half. Regret is against
the good arm, mean with its standard error over {RUNS} runs ({FEWER} of BatchedTsallis and of river's policies; those of
mabwiser take a tenth of a millisecond a round and more, and have one run on the first stream). The policies of river
and mabwiser protect nobody; their rewards are 1 - loss. Speed is that of the first {SINGLE_ROUNDS:,} rounds, in which
PhasedArms ends most of its batches."""

Policy = Callable[[np.ndarray, int], np.ndarray]
"""Plays all rows of losses with that seed, and says which arms it played."""


def measure() -> dict[str, float]:
    return regrets() | speeds()


def regrets() -> dict[str, float]:
    """Mean regret of everyone on every stream, with its standard error."""
    results = {}
    for good, bad in STREAMS:
        found: dict[str, list[float]] = {}
        means = np.array([bad] * (ARMS - 1) + [good])
        for seed in range(RUNS):
            losses = (np.random.default_rng(seed).random((ROUNDS, ARMS)) < means).astype(np.float64)
            for name, arms in played(losses, seed, first=seed == 0 and good == STREAMS[0][0]):
                found.setdefault(name, []).append(float(np.sum(means[arms] - good)))
        for name, seen in found.items():
            key = f"regret with means {good} and {bad}, {name}"
            results[key] = float(np.mean(seen))
            if len(seen) > 1:
                results[f"{key}, standard error"] = float(np.std(seen, ddof=1) / sqrt(len(seen)))
            print(f"    {key}: {results[key]:.0f}", flush=True)
    return results


def played(losses: np.ndarray, seed: int, first: bool) -> Iterator[tuple[str, np.ndarray]]:
    """The arms of everyone on one stream; the slow ones have fewer runs, the slowest the very first alone."""
    for epsilon in EPSILONS:
        for name, plan in plans(epsilon).items():
            if seed < FEWER or name in ("LiveArms", "PhasedArms"):
                yield f"epsilon={epsilon:g}, tacit {name}", plan.run(losses, tacit.Randomness.replayable(seed))
        for name, arms in decisions(losses, epsilon, seed):
            yield f"epsilon={epsilon:g}, {name}", arms
    for name, policy in policies().items():
        if name == "Thompson sampling" or (seed < FEWER if "river" in name else first):
            yield f"epsilon=none, {name}", policy(losses, seed)


@cache
def plans(epsilon: float) -> dict[str, Any]:
    problem = tacit.Arms(n=ARMS, horizon=ROUNDS, adversary="stochastic")
    calibrated = partial(tacit.algorithms.BatchedTsallis.calibrate, problem, epsilon=epsilon, delta=0.0)
    return {
        "LiveArms": tacit.algorithms.LiveArms.calibrate(problem, epsilon=epsilon, delta=0.0),
        "PhasedArms": tacit.algorithms.PhasedArms.calibrate(problem, epsilon=epsilon, delta=0.0),
        "BatchedTsallis": calibrated(),
    }


def policies() -> dict[str, Policy]:
    """The peers, each started afresh."""
    return {
        "Thompson sampling": thompson,
        "river EpsilonGreedy": lambda rows, seed: pull(bandit.EpsilonGreedy(epsilon=0.1, seed=seed), rows),
        "river UCB": lambda rows, seed: pull(bandit.UCB(delta=1.0, seed=seed), rows),
        "river Exp3": lambda rows, seed: pull(bandit.Exp3(gamma=0.1, seed=seed), rows),
        "mabwiser UCB1": lambda rows, seed: predict(LearningPolicy.UCB1(alpha=1.0), rows, seed),
        "mabwiser ThompsonSampling": lambda rows, seed: predict(LearningPolicy.ThompsonSampling(), rows, seed),
    }


def thompson(rows: np.ndarray, seed: int) -> np.ndarray:
    """Thompson (1933) with uniform priors: the yardstick without privacy."""
    generator, played = np.random.default_rng(seed), []
    good, bad = np.ones(rows.shape[1]), np.ones(rows.shape[1])
    for row in rows:
        arm = int(generator.beta(good, bad).argmax())
        good[arm] += 1 - row[arm]
        bad[arm] += row[arm]
        played.append(arm)
    return np.array(played)


def pull(policy: bandit.base.Policy, rows: np.ndarray) -> np.ndarray:
    arms, played = list(range(ARMS)), []
    for row in rows:
        arm = policy.pull(arms)
        policy.update(arm, 1 - row[arm])
        played.append(arm)
    return np.array(played)


def predict(policy: object, rows: np.ndarray, seed: int) -> np.ndarray:
    machine = MAB(list(range(ARMS)), policy, seed=seed)
    played = list(range(ARMS))  # it wants one reward of every arm before it predicts
    machine.fit(played, [1 - rows[arm, arm] for arm in played])
    for row in rows[ARMS:]:
        arm = machine.predict()
        machine.partial_fit([arm], [1 - row[arm]])
        played.append(arm)
    return np.array(played)


def speeds() -> dict[str, float]:
    """Rounds a second of a loop of one decision and one update."""
    rows = (np.random.default_rng(0).random((SINGLE_ROUNDS, ARMS)) < 0.5).astype(np.float64)
    ours = {f"tacit {name}": partial(loop, plan, rows) for name, plan in plans(1.0).items() if "," not in name}
    theirs = {name: partial(policy, rows, 0) for name, policy in policies().items()}
    best = in_turns({**ours, **theirs})
    return {f"rounds a second, K={ARMS}, {name}": SINGLE_ROUNDS / seconds for name, seconds in best.items()}


def loop(plan: Any, rows: np.ndarray) -> None:
    learner = plan.start(tacit.Randomness.replayable(0))
    for row in rows:
        learner.observe(float(row[learner.play()]))
