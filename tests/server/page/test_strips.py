"""Counts of decisions stay small and right, however many rounds there are."""

from ast import literal_eval
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from tacit.server.page.views import OTHERS, PARTS, SHOWN, TRACKED, Scale, Strip
from tacit.store.history import Count


def counts(points, first, last, width):
    """As a database counts: lists are their texts."""
    decisions = [repr(point) for point in points]
    found = Counter((number // width, decisions[number]) for number in range(first, last))
    moved = Counter(
        (number // width, decisions[number])
        for number in range(max(first, 1), last)
        if decisions[number] != decisions[number - 1]
    )
    return [Count(part, literal_eval(action), times, moved[part, action]) for (part, action), times in found.items()]


def read(decisions, pieces, scale=Scale("expert")):  # noqa: B008, a scale is frozen
    strip = Strip(scale)
    for last in pieces:
        strip.widen(last)
        strip.add(counts(decisions, strip.rounds, last, strip.width), last)
    return strip


@pytest.mark.parametrize("pieces", [[1000], [1, 2, 160, 161, 500, 1000], [999, 1000]])
def test_pieces_give_what_the_whole_does(pieces):
    decisions = np.random.default_rng(0).integers(5, size=1000).tolist()
    strip = read(decisions, pieces)
    assert strip.rounds == 1000
    assert strip.width == 8
    assert strip.switches == sum(a != b for a, b in pairwise(decisions))
    assert strip.shares() == {f"expert {option}": decisions.count(option) / 1000 for option in range(5)}
    stacks = strip.stacks()
    assert len(stacks) == 125 <= PARTS
    for index, stack in enumerate(stacks):
        part = decisions[8 * index : 8 * index + 8]
        assert stack[:-1] == [part.count(option) / 8 for option in range(5)]
        assert stack[-1] == pytest.approx(0.0)


def test_a_few_options_keep_their_places():
    strip = read([3] * 10, [10], Scale("arm", options=4))
    assert strip.shares() == {"arm 0": 0.0, "arm 1": 0.0, "arm 2": 0.0, "arm 3": 1.0}


def test_many_options_are_counted_together():
    decisions = [option for option in range(10 * TRACKED) for _ in range(3 if option < 5 else 1)]
    strip = read(decisions, range(100, len(decisions) + 1, 50), Scale("expert", options=10 * TRACKED))
    shares = strip.shares()
    assert len(shares) == SHOWN + 1
    assert list(shares)[-1] == OTHERS
    assert {f"expert {option}" for option in range(5)} < set(shares)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert len(strip._order) <= TRACKED


def test_points_of_an_interval_are_bands_in_order():
    scale = Scale.of({"kind": "lipschitz", "dimension": 1, "low": 0.0, "high": 6.0})
    strip = read([[5.5], [0.1], [0.2], [6.0], [2.5]], [5], scale)
    assert list(strip.shares().items()) == [("0 to 1", 0.4), ("2 to 3", 0.2), ("5 to 6", 0.4)]


@pytest.mark.parametrize("action", [[0.1, 0.2], 0.5, True])
def test_points_without_an_interval_are_one(action):
    expected = "option True" if action is True else "points"
    assert list(read([action], [1], Scale()).shares()) == [expected]


def test_a_strip_without_rounds_is_empty():
    assert Strip(Scale()).shares() == {}
    assert Strip(Scale()).stacks() == []
