"""Counts of decisions are right, and small however many rounds and options there are."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from tacit.server.page.views import LATEST, OTHERS, PARTS, SHOWN, Scale, Strip
from tacit.store.history import Count


def drawn(decisions, scale=Scale("expert")):  # noqa: B008, a scale is frozen
    """As a database counts."""
    first, width = Strip.span(len(decisions))
    found = Counter((number // width, decisions[number]) for number in range(first, len(decisions)))
    moved = Counter(
        (number // width, decisions[number])
        for number in range(max(first, 1), len(decisions))
        if decisions[number] != decisions[number - 1]
    )
    counts = [Count(part, action, times, moved[part, action]) for (part, action), times in found.items()]
    return Strip.of(scale, counts, len(decisions))


@pytest.mark.parametrize(("rounds", "width"), [(7, 1), (1000, 7), (5003, 10)])
def test_a_strip_has_the_latest_rounds(rounds, width):
    decisions = np.random.default_rng(0).integers(5, size=rounds).tolist()
    strip = drawn(decisions)
    latest = decisions[strip.first :]
    assert rounds - strip.first <= LATEST + width
    assert strip.switches == sum(a != b for a, b in pairwise(decisions[max(strip.first - 1, 0) :]))
    options = sorted(set(latest))
    assert strip.shares == {f"expert {option}": latest.count(option) / len(latest) for option in options}
    assert len(strip.stacks) == -(-len(latest) // width) <= PARTS + 1
    for index, stack in enumerate(strip.stacks):
        part = latest[width * index : width * index + width]
        assert stack[:-1] == [part.count(option) / len(part) for option in options]
        assert stack[-1] == pytest.approx(0.0)


def test_a_few_options_keep_their_places():
    strip = drawn([3] * 10, Scale("arm", options=4))
    assert strip.shares == {"arm 0": 0.0, "arm 1": 0.0, "arm 2": 0.0, "arm 3": 1.0}


def test_many_options_are_counted_together():
    decisions = [option for option in range(500) for _ in range(3 if option < 5 else 1)]
    shares = drawn(decisions, Scale("expert", options=500)).shares
    assert len(shares) == SHOWN + 1
    assert list(shares)[-1] == OTHERS
    assert {f"expert {option}" for option in range(5)} < set(shares)
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("action", [(0.1, 0.2), 0.5])
def test_points_are_one(action):
    assert list(drawn([action], Scale()).shares) == ["points"]


def test_a_strip_without_rounds_is_empty():
    assert drawn([]) == Strip()
