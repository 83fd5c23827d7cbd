"""A sweep in a process of its own, for tests that kill it: `python sweep_child.py folder runs jobs most`.

Once it has stored `most` parts it waits to be killed, so that it never ends before.
"""

import sys
import time
from dataclasses import dataclass
from unittest.mock import patch

from tacit.algorithms.experts import ScheduledExperts
from tacit.environments.experts import BernoulliGap
from tacit.planning.planner import CATALOGUE
from tacit.problems import Experts
from tacit.sweeps import sweep as module
from tacit.sweeps.records import Store


@dataclass(frozen=True)
class Slow(BernoulliGap):
    """Takes its time, so that there is a moment to be killed in."""

    def losses(self, generator):
        time.sleep(0.01)
        return super().losses(generator)


def slow(problem):
    return Slow(problem.n, problem.horizon)


def run(path, runs, jobs=1):
    problem = Experts(n=3, horizon=40)
    with patch.dict(CATALOGUE, {Experts: (ScheduledExperts,)}):  # the quickest to calibrate
        return module.sweep(problem, [(1.0, 0.0)], [slow, "switching"], runs=runs, path=path, n_jobs=jobs, command="x")


if __name__ == "__main__":
    module.FLUSH_SECONDS = 0.0
    module.FLUSH_SHARE = 0.0
    append = Store.append

    def and_wait(self, *content):
        append(self, *content)
        while len(list(self.path.glob("part-*.parquet"))) >= float(sys.argv[4]):
            time.sleep(1)

    Store.append = and_wait
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
