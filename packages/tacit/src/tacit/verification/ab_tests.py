"""The contract of a test of arms, recomputed from its theorems: how far one person moves all looks.

A person adds one vector to the sums of one arm, and to those of one cell of each segment. A metric is
a value y in {0..L}. In units of L its coordinates are a (2y-1) and a 4y(1-y); with u = (2y-1)^2 their
squares are a^2 (u + (1-u)^2), a convex function of u in [0, 1] that is a^2 at both ends. A pair has
a (2y-1)(2z-1), the number of persons a; nothing else moves. So a block's largest square is the one
with all values 0 or L: L^2 times the sum of the squares of its multipliers. Squares add up over
blocks and looks, and the discrete Gaussian hides their root (docs/algorithms/tests.md).

Two stories of a person share the first coordinate, and are two points of each metric's disc (radius
a L) and of each pair's interval: 4 L^2 times the other squares. Or the person is there in one story
only: the block's own square, which a segment's cells have twice where the stories are in two cells.
"""

from __future__ import annotations

from typing import Any

import mpmath as mp

from tacit.verification.experiments import RANDOMNESS, check_point
from tacit.verification.facts import Facts, contradiction
from tacit.verification.leaks import GaussianLeak
from tacit.verification.schema import check_schema
from tacit.verification.statements import Differs, curve_points, is_extra
from tacit.verification.sums import SIGMA_SQUARED, draw_errors

FORMAT = "tacit test contract 1"
STATED = (
    "randomness",
    "that one person has one identifier, and that the program cuts rows to their range and counts a person once",
)
_WORDS = {
    "protected": "everything that one test holds about one person",
    "relation": "zero-out",
    "released": "noisy sums of every arm and cell at each planned look, the design, all times, all acts, and which arm "
    "anybody would get",
    "theorem": "one vector of bounded length for each person and look, in one arm and one cell of each segment",
    "randomness": RANDOMNESS,
}
_ASSUMED = [
    "the operator gives one person one identifier",
    "a row says something of the person it names, and of nobody else",
    "acts, such as stopping a test, are not decided from raw rows",
    "other persons' rows do not depend on one person's but through what was released",
]
_DIGITS = mp.mpf("1e-9")
_LARGEST_CELLS, _LARGEST_LOOKS = 64, 18  # of planned looks and days of a watch


def check_test(content: dict[str, Any]) -> float:
    """Check the form, the words, the lengths, epsilon and the curve of a contract; return the recomputed epsilon."""
    check_schema(content, schema={"$ref": "#/$defs/test"})
    facts = Facts(content, "contract")
    if content["assumed"] != _ASSUMED:
        raise Differs("the 'assumed' of this contract must say what is assumed, word for word.")
    for name, expected in _WORDS.items():
        if facts.text(name) != expected:
            raise Differs(f"the '{name}' of this contract must be {expected!r}.")
    if not facts.part("limit").flag("enforced"):
        raise Differs("the limit of one row a person is not enforced by this contract.")
    _check_vector(facts)
    draws = sum(_draws(facts, block) for look in _looks(facts) for block in look)
    noise = facts.part("noise")
    if noise.integer("draws") != draws:
        raise Differs(f"the contract counts {noise.integer('draws')} draws; one person can move {draws}.")
    lattice = facts.part("vector").integer("lattice")
    squared = sum(lattice**2 * _square(block) for look in _looks(facts) for block in look)
    stories = sum(_apart(look, number) for look in _looks(facts) for number in range(len(look))) * lattice**2
    for shift, length in (("squared_shift", squared), ("squared_stories", stories)):
        if noise.text(shift) != str(length):
            raise Differs(f"the '{shift}' of this contract must be {length}, by its multipliers.")
    mu = _root(noise, "mu", squared)
    _root(noise, "stories_mu", stories)
    distance, extra, exponent = draw_errors(draws)
    if not is_extra(facts.text("numerics"), extra, extra):
        raise Differs("the 'numerics' of this contract must say the extra epsilon of its draws.")
    leak = GaussianLeak(mu, distance, extra, exponent)
    found = check_point(leak, facts.number("delta"), facts.number("epsilon"))
    for point in curve_points(facts):
        at = point.number("delta")
        if point.has("epsilon"):
            check_point(leak, at, point.number("epsilon"))
        elif leak.epsilon(mp.mpf(at), mp.mpf(found)) < mp.inf:
            raise Differs(f"the 'curve' of this contract states no epsilon at delta={at:g}, and there is one.")
    return found


def _check_vector(facts: Facts) -> None:
    """Check that looks have one multiplier for persons, each metric and each pair, and that pairs are of metrics."""
    vector, planned = facts.part("vector"), 0
    metrics, pairs = vector.parts("metrics"), vector.content("pairs")
    if not metrics or len(facts.parts("looks")) > _LARGEST_LOOKS:
        raise contradiction("metrics", "looks")
    names = [metric.text("name") for metric in metrics]
    for metric in metrics:
        if metric.text("kind") == "conversion" and metric.number("high") != 1:
            raise contradiction("high", "kind")
    if len(set(names)) < len(names) or any(len(pair) != 2 or not 0 <= pair[0] < pair[1] < len(names) for pair in pairs):
        raise contradiction("pairs", "metrics")
    segments = vector.parts("segments")
    if sum(len(segment.content("cells")) for segment in segments) > _LARGEST_CELLS:
        raise contradiction("segments", "cells")
    size = 1 + len(metrics) + len(pairs)
    for look in facts.parts("looks"):
        blocks = [look.content("total"), *look.content("cells")]
        is_planned = look.text("kind") == "look"
        planned += is_planned
        if len(blocks) != 1 + len(segments) or any(len(block) != size for block in blocks):
            raise contradiction("looks", "vector")
        # Days of a watch may leave metrics and cells out; a look that is planned releases everything.
        if is_planned and not all(multiplier > 0 for block in blocks for multiplier in block):
            raise contradiction("looks", "vector")
    if facts.part("limit").integer("looks") != planned:
        raise contradiction("looks", "limit")


def _looks(facts: Facts) -> list[list[list[int]]]:
    """Give the multipliers of every look: of an arm's totals, then of the cells of each segment."""
    return [[look.content("total"), *look.content("cells")] for look in facts.parts("looks")]


def _square(block: list[int]) -> int:
    return sum(multiplier * multiplier for multiplier in block)


def _apart(look: list[list[int]], number: int) -> int:
    """Bound the square between two stories in one block of a look, in units of the lattice."""
    block = look[number]
    elsewhere = _square(block) * (2 if number else 1)
    return max(elsewhere, 4 * _square(block[1:]))


def _draws(facts: Facts, block: list[int]) -> int:
    """Count the integers of one block that a person moves: a metric with a second moment has two."""
    metrics = facts.part("vector").parts("metrics")
    second = [metric.text("kind") != "conversion" for metric in metrics]
    extra = sum(also and multiplier > 0 for also, multiplier in zip(second, block[1:], strict=False))
    return sum(multiplier > 0 for multiplier in block) + extra


def _root(noise: Facts, name: str, squared: int) -> Any:
    """Check a stated mu, which may be rounded up in its last digits; give it as recomputed."""
    found = mp.sqrt(squared) / mp.sqrt(SIGMA_SQUARED)
    stated = mp.mpf(noise.number(name))
    if not found <= stated <= found * (1 + _DIGITS):
        raise Differs(f"the '{name}' of this contract must be {float(found):.6g}, by its multipliers.")
    return found
