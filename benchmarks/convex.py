"""How fast does CTRL hold and switch? Generalised linear losses in 20 dimensions, against bare numpy.

Holds: rounds per second of array runs in which no coin says draw, and time relative to a bare loop of rank-one
updates (at most 5 wanted, or 100,000 rounds a second). Switches: seconds of one certified draw after 100,000 rounds
(0.2 wanted), and time relative to one pass over the data. Busy: processor time of a round while other programs keep
every core at work, relative to that of a round without them (at most 1.5 wanted: threads of LAPACK that wait for each
other made it 9).
"""

from __future__ import annotations

import os
import subprocess
import sys
from time import perf_counter, process_time

import numpy as np

from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.ctrl import CTRL
from tacit.domains import Ball
from tacit.environments.convex import LogisticStream
from tacit.noise.randomness import Randomness
from tacit.problems import Convex

DIMENSION, ROUNDS, REPEATS = 20, 100_000, 3


def bare_loop(features: np.ndarray, curvature: float) -> float:
    """Seconds of the same number of rank-one updates of an inverse, and nothing else."""
    inverse = np.eye(features.shape[1])
    begin = perf_counter()
    for v in features:
        w = inverse @ v
        inverse -= (curvature / (1 + curvature * (v @ w))) * np.outer(w, w)
    return perf_counter() - begin


def busy_over_idle(plan: CTRL, features: np.ndarray, labels: np.ndarray, rounds: int = 2_000) -> float:
    """Processor time of rounds that hold and draw while every core is kept at work, over that without."""

    def played() -> float:
        times = []
        for repeat in range(REPEATS):
            learner = plan.start(Randomness.replayable(repeat))
            begin = process_time()
            learner.run((features[:rounds], labels[:rounds]))
            times.append(process_time() - begin)
        return min(times)

    idle = played()
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        return played() / idle
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure() -> dict[str, float]:
    """Rounds per second and seconds, each with its ratio to bare numpy; the best of three."""
    stream = LogisticStream(DIMENSION, ROUNDS)
    features, labels = stream.data(Randomness.replayable(1).stream("data"))
    problem = Convex(domain=Ball(DIMENSION), loss=stream.loss, horizon=2 * ROUNDS)
    # Parameters of a plan for a million rounds, but coins that never say draw.
    plan = CTRL(problem, eta=3e-4, sigma=2000.0, force=0.0, log_phi=1e-12)
    hold, bare, switch, sweep = np.inf, np.inf, np.inf, np.inf
    for repeat in range(REPEATS):
        learner = plan.start(Randomness.replayable(repeat))
        begin = perf_counter()
        learner.run((features, labels))
        hold = min(hold, perf_counter() - begin)
        bare = min(bare, bare_loop(features, 0.2))
        for _ in range(REPEATS):
            begin = perf_counter()
            learner._draw()
            switch = min(switch, perf_counter() - begin)
            begin = perf_counter()
            features.T @ (labels * (features @ learner.play()))
            sweep = min(sweep, perf_counter() - begin)
    ftrl = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6).start(Randomness.replayable(0))
    begin = perf_counter()
    ftrl.run((features[:20_000], labels[:20_000]))
    follow = perf_counter() - begin
    return {
        "CTRL holds d=20 rounds/s": ROUNDS / hold,
        "CTRL holds d=20 over bare rank-one loop": hold / bare,
        "CTRL switch t=1e5 d=20 seconds": switch,
        "CTRL switch t=1e5 d=20 over one pass": switch / sweep,
        "FTRL d=20 rounds/s": 20_000 / follow,
        "CTRL d=20, a round on a busy machine over one on an idle machine": busy_over_idle(
            CTRL(problem, eta=3e-4, sigma=2000.0, force=0.01, log_phi=1e-12), features, labels
        ),
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.4g}")
