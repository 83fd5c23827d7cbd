"""The leader of the last block: its exact law, its bound, its blocks."""

import math
from itertools import product

import numpy as np
import pytest

from tacit.algorithms.tracking import RecentLeader
from tacit.auditing.script import ExactCurve, transcript_law
from tacit.noise.randomness import Randomness
from tacit.problems import Tracking


def tracking(n=10, horizon=20_000, switches=3):
    return Tracking(n=n, horizon=horizon, switches=switches, adversary="stochastic")


@pytest.mark.parametrize(("relation", "people"), [("replace", 1), ("zero-out", 1), ("replace", 2)])
def test_the_exact_law_is_under_its_epsilon_and_near_it(relation, people):
    """Streams of two experts and three kinds of rounds: two blocks, and a round that no selection sees."""
    plan = RecentLeader(tracking(2, 5, 0), epsilon=1.0, block=2, relation=relation, rounds_per_person=people)
    rows = [np.array(row) for row in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0))]
    blank = np.full(2, 0.5)
    laws = {}

    def law(stream):
        key = tuple(map(tuple, stream))
        if key not in laws:
            laws[key] = transcript_law(plan, [*stream, blank])
        return laws[key]

    worst = 0.0
    for stream in product(rows, repeat=4):
        for first in range(4 - people + 1):
            for others in product([blank] if relation == "zero-out" else rows, repeat=people):
                neighbour = [*stream[:first], *others, *stream[first + people :]]
                worst = max(worst, ExactCurve.of(law(stream), law(neighbour)).largest_loss)
    assert worst <= 1.0 + 1e-6
    assert worst > 0.99


@pytest.mark.parametrize(
    ("n", "switches", "rounds", "bound"), [(5, 1, 50_000, 4_342), (12, 3, 200_000, 16_628), (10, 3, 20_000, 3_897)]
)
def test_certified_regret(n, switches, rounds, bound):
    plan = RecentLeader.calibrate(tracking(n, rounds, switches), epsilon=1.0, delta=0.0)
    assert float(plan.regret_bound) == pytest.approx(bound, rel=2e-3)
    assert not plan.regret_bound.condition
    harmonic = sum(1 / k for k in range(2, n + 1))
    sequences = sum(math.comb(rounds - 1, k) * n * (n - 1) ** k for k in range(switches + 1))
    by_hand = (1 + 2 * switches) * plan.block + math.sqrt(rounds * math.log(sequences) / 2)
    by_hand += rounds * (math.sqrt(plan.block * math.log(n) / 2) + 2 * harmonic) / plan.block + rounds / 2**24
    assert float(plan.regret_bound) == pytest.approx(by_hand, rel=1e-9)
    for other in (plan.block - 9, plan.block + 9):
        again = RecentLeader.calibrate(tracking(n, rounds, switches), epsilon=1.0, delta=0.0, block=other)
        assert float(again.regret_bound) > 0.9999 * float(plan.regret_bound)


def test_blocks_keep_a_limit_on_switches():
    plan = RecentLeader.calibrate(tracking(), epsilon=1.0, delta=1e-6, max_switches=7)
    assert plan.block == 2500
    assert plan.expected_switches == 7
    assert plan.guarantee.at_delta == 0.0
    learner = plan.start(Randomness.replayable(1))
    learner.run(Randomness.replayable(2).stream("losses").random((20_000, 10)))
    assert learner.switches <= 7
