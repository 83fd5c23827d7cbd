"""Rows in one loop in C: the sums, scores and stops of the formula, bad losses, coins that stay open."""

from math import exp
from typing import NamedTuple

import numpy as np
import pytest

from noise.keyed import uniforms
from tacit import Experts, Randomness, kernels
from tacit.algorithms import LazyExperts
from tacit.algorithms.experts import lazy_experts
from tacit.algorithms.experts.lazy_experts import BAD, KEPT, LOST, OPEN
from tacit.noise import exact_draws as decisions
from tacit.noise.exact_draws import COIN_MARGIN, draw_softmax, first_lost, toss
from tacit.noise.lattice import LOSS_UNITS, sum_quantised, whole_losses


class Chain(NamedTuple):
    """What the coins of a lazy chain depend on, besides losses."""

    batch: int
    stay: float
    rate: float
    relative: bool


def play_until_lost(block, first, held, total, words, loss_range, chain):
    """The loop in C, if there is one."""
    if kernels.compiled is None:
        pytest.skip("the loops in C are not installed")
    return kernels.compiled.play_until_lost(
        block, np.empty(block.shape[1]), first, held, total, words, *loss_range, *chain, COIN_MARGIN
    )


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_stretch_is_what_numpy_plays(batch, relative):
    rng = np.random.default_rng(4)
    block = rng.random((60, 7))
    source = uniforms(5)
    chain = Chain(batch, 0.97, 0.05 / LOSS_UNITS, relative)
    index, words = source.take(60 // batch)
    row, ends = 0, []
    while row < 60:
        total = np.zeros(7, dtype=np.int64)
        end, stop, score = play_until_lost(block, row, 2, total, words, (0.0, 1.0), chain)
        held = whole_losses(block[row:, 2]) - (whole_losses(block[row:].min(axis=1)) if relative else 0)
        scores = held.reshape(-1, batch).sum(axis=1)
        kept = toss(source, index + row // batch, words[row // batch :], chain.stay, chain.rate, scores)
        lost = first_lost(source, index + row // batch, words[row // batch :], chain.stay, chain.rate, scores)
        assert lost == (kept.argmin() if not kept.all() else kept.size)
        assert stop == min(60, row + (lost + 1) * batch)
        assert end == (LOST if lost < kept.size else KEPT)
        assert score == (scores[lost] if end == LOST else 0)
        np.testing.assert_array_equal(total, sum_quantised(block[row:stop]))
        ends.append(end)
        row = stop
    assert LOST in ends


@pytest.mark.parametrize("bad", [np.nan, 1 + 2.0**-52, -1e-300, np.inf, -np.inf])
def test_a_bad_loss_ends_the_stretch(bad):
    block = np.full((9, 4), 0.5)
    block[6, 3] = bad
    words = np.zeros(9, dtype=np.uint64)
    chain = Chain(1, 1.0, 1e-9, True)
    assert play_until_lost(block, 0, 0, np.zeros(4, dtype=np.int64), words, (0.0, 1.0), chain)[:2] == (BAD, 6)


def test_a_coin_beside_its_threshold_is_left_open():
    block, chain = np.full((1, 2), 0.5), Chain(1, 0.75, 0.3 / LOSS_UNITS, False)
    word = np.array([int(0.75 * exp(-0.15) * 2**64)], dtype=np.uint64)
    end, stop, score = play_until_lost(block, 0, 0, np.zeros(2, dtype=np.int64), word, (0.0, 1.0), chain)
    assert (end, stop, score) == (OPEN, 1, LOSS_UNITS // 2)


@pytest.fixture(params=["as it is", "every decision to the digits"])
def margins(request, monkeypatch):
    """With margins of 2 nothing is decided by 53 bits."""
    if request.param != "as it is":
        for module in (decisions, lazy_experts):
            monkeypatch.setattr(module, "COIN_MARGIN", 2.0)
        monkeypatch.setattr(decisions, "DRAW_MARGIN", 2.0)


@pytest.mark.parametrize("ranged", [(0.0, 1.0), (-1.0, 3.0)])
def test_a_learner_plays_alike_in_c_and_in_numpy(ranged, margins, both_ways):
    rng = np.random.default_rng(1)
    rows = ranged[0] + (ranged[1] - ranged[0]) * rng.random((2500, 5))
    rows[rng.random(rows.shape) < 0.1] = ranged[0]
    rows[rng.random(rows.shape) < 0.1] = ranged[1]
    plan = LazyExperts(Experts(n=5, horizon=2600, loss_range=ranged), eta=0.1, force=0.02, batch=2)

    def played():
        learner = plan.start(Randomness.replayable(3))
        return learner.run(rows).tolist(), repr(learner.state_dict()), learner.switches

    compiled, plain = both_ways(played)
    assert compiled == plain
    assert plain[2] > 50


@pytest.mark.parametrize("n", [9, 700])
def test_draws_are_those_of_numpy(n, both_ways):
    scores = np.random.default_rng(7).integers(0, 2**26, (400, n))

    def drawn():
        source = uniforms(6)
        return [draw_softmax(source, 3.0 / 2**26, row) for row in scores]

    compiled, plain = both_ways(drawn)
    assert compiled == plain
    assert len(set(plain)) > min(n, 250) - 1
