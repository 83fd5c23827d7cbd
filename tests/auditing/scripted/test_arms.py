"""Exact audits of learners of arms: every neighbouring pair of a small instance."""

from functools import cache
from itertools import product

import pytest

import tacit
from tacit.algorithms.arms import BatchedTsallis, LiveArms, PhasedArms
from tacit.auditing.arms import arms_law
from tacit.auditing.instances import alphabet
from tacit.auditing.script import ExactCurve
from tacit.problems import Arms


def pairs(size, rounds, public=False):
    """Streams and neighbours that differ in one of the rounds that count."""
    for stream in product(range(size), repeat=rounds):
        for place in range(rounds):
            for other in (-1,) if public else range(size):
                if other != stream[place]:
                    yield stream, (*stream[:place], other, *stream[place + 1 :])


def worst(plan, rounds):
    """The largest loss of all neighbouring pairs."""
    letters = alphabet(plan)

    @cache
    def law(stream):
        return arms_law(plan, letters.stream((*stream, *[0] * (plan.rounds - rounds))))

    zero_out = plan.relation is tacit.ZERO_OUT
    curves = [ExactCurve.of(law(one), law(other)) for one, other in pairs(len(letters.symbols), rounds, zero_out)]
    return max(curve.largest_loss for curve in curves)


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_every_pair_of_a_short_stream(relation):
    for missing in ("worst", 0.5):
        plan = BatchedTsallis(Arms(n=2, horizon=3), 1.0, 1, 0.5, 0.3, 0.2, relation=relation, missing=missing)
        assert worst(plan, 2) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_every_pair_of_short_phases(relation):
    for missing in ("worst", 0.5):
        plan = PhasedArms(Arms(n=2, horizon=3, adversary="stochastic"), 1.0, 1, relation=relation, missing=missing)
        assert worst(plan, 2) == pytest.approx(1.0, abs=1e-9)


LIVE = {
    "replace": ({}, 3),
    "late": ({"delay": 1}, 4),
    "zero-out": ({"relation": "zero-out"}, 3),
    "zero-out, middle": ({"relation": "zero-out", "missing": 0.5}, 3),
    "several rounds": ({"rounds_per_person": 2}, 3),
}


@pytest.mark.parametrize(("options", "rounds"), LIVE.values(), ids=LIVE)
def test_every_pair_of_live_arms(options, rounds):
    """The ratio is exactly e^{epsilon/m} for one of a person's m rounds, and absence is a feedback like any other."""
    options = dict(options)
    problem = Arms(n=2, horizon=rounds, adversary="stochastic", delay=options.pop("delay", 0))
    plan = LiveArms(problem, 1.0, 1, **options)
    letters = alphabet(plan)
    laws = {
        stream: arms_law(plan, letters.stream((*stream, *[0] * (rounds - 2))))
        for stream in product((-1, 0, 3), repeat=2)
    }
    replaced = plan.relation is tacit.REPLACE
    losses = [
        ExactCurve.of(laws[one], laws[other]).largest_loss
        for one, other in product(laws, repeat=2)
        if sum(x != y for x, y in zip(one, other, strict=True)) == 1
        and (replaced or any(y == -1 != x for x, y in zip(one, other, strict=True)))
    ]
    assert max(losses) == pytest.approx(1 / plan.rounds_per_person, abs=1e-9)


def test_a_batch_of_two_rounds_is_one_release():
    plan = BatchedTsallis(Arms(n=2, horizon=5), 0.7, 2, 0.5, 0.3, 0.2)
    assert worst(plan, 2) == pytest.approx(0.7, abs=1e-9)
