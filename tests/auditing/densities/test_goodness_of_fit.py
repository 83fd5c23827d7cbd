"""Exact tests of residuals: quiet on what they describe, loud on what is slightly different."""

import numpy as np
import pytest

from tacit import Randomness
from tacit.auditing.statistics import MOST, coin_surprise, normal_surprises, worst_surprise


def generator(seed=0):
    return Randomness.replayable(seed).stream("tests")


def surprises(normals):
    return {surprise.name: surprise.value for surprise in normal_surprises(normals, "draws")}


def test_surprises_of_honest_normals_are_as_rare_as_they_say():
    """A surprise above s has probability at most 10^-s: counted over 400 samples at s = 1."""
    source = generator(1)
    seen = [surprises(source.standard_normal((60, 2))) for _ in range(400)]
    for name in seen[0]:
        share = np.mean([found[name] > 1 for found in seen])
        assert share <= 0.1 + 4 * np.sqrt(0.09 / 400), name


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("scale of draws", lambda z: 0.9 * z),
        ("mean of draws", lambda z: z + 0.2),
        ("coordinates of draws", lambda z: np.sign(z)),
        ("lengths of draws", lambda z: z / np.linalg.norm(z, axis=1, keepdims=True) * np.sqrt(2)),
        ("dependence of draws", lambda z: np.repeat(z[: len(z) // 2], 2, axis=0)),
    ],
)
def test_each_test_sees_what_it_is_for(name, change):
    normals = generator(2).standard_normal((3000, 2))
    limit = worst_surprise(normal_surprises(normals, "draws"), 1e-7)[1]
    assert max(surprises(normals).values()) < limit
    assert surprises(change(normals))[name] > limit


def test_noise_that_is_not_there_or_no_number():
    assert surprises(np.zeros((50, 2)))["scale of draws"] == MOST
    assert surprises(np.full((50, 2), np.nan))["scale of draws"] == MOST


def test_bets_on_coins():
    source = generator(3)
    keep = source.uniform(0.2, 0.8, 4000)
    reasons = np.column_stack([np.ones(4000), 2 * keep - 1])
    honest = source.random(4000) < keep
    assert coin_surprise(honest, keep, reasons).value < 2
    assert coin_surprise(source.random(4000) < keep + 0.06, keep, reasons).value > 8
    assert coin_surprise(source.random(4000) < 1 - keep, keep, reasons).value > 8
    assert coin_surprise(np.array([True]), np.array([0.0]), np.ones((1, 1))).value == np.inf
    assert coin_surprise(np.zeros(0, dtype=bool), np.zeros(0), np.ones((0, 1))).value == 0.0


def test_a_gambler_at_fair_odds_rarely_wins():
    """Ville: a fortune of ten has probability at most a tenth, wherever the run stops."""
    source = generator(4)
    won = 0
    for _ in range(300):
        kept = source.random(200) < 0.4
        won += coin_surprise(kept, np.full(200, 0.4), np.ones((200, 1))).value > 1
    assert won <= 30 + 4 * np.sqrt(27)
