"""Rows in one compiled pass: the sums, scores and stops of the formula, bad losses, coins that stay open."""

from math import exp

import numpy as np
import pytest

from noise.keyed import uniforms
from tacit import Experts, InvalidInput, Randomness
from tacit.algorithms import LazyExperts
from tacit.algorithms.experts import lazy_experts
from tacit.algorithms.experts.lazy_experts import BAD, KEPT, LOST, OPEN, Chain, play_until_lost
from tacit.noise import exact_draws as decisions
from tacit.noise.discrete_gaussian import SWITCH
from tacit.noise.exact_draws import draw_softmax, first_lost, toss
from tacit.noise.lattice import LOSS_UNITS, sum_quantised, whole_losses

pytest.importorskip("numba")


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


@pytest.fixture(params=["as it is", "every decision to the digits"], scope="module")
def margins(request):
    """With margins of 2 nothing is decided by 53 bits; the loops are compiled anew."""
    compiled = (lazy_experts.compiled_loop, decisions.compiled_softmax)
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "as it is":
            for module in (decisions, lazy_experts):
                patch.setattr(module, "COIN_MARGIN", 2.0)
            patch.setattr(decisions, "DRAW_MARGIN", 2.0)
        for loop in compiled:
            loop.cache_clear()
        yield
    for loop in compiled:
        loop.cache_clear()


@pytest.mark.parametrize("ranged", [(0.0, 1.0), (-1.0, 3.0)])
def test_a_learner_plays_alike_with_and_without_numba(ranged, margins, monkeypatch):
    rng = np.random.default_rng(1)
    rows = ranged[0] + (ranged[1] - ranged[0]) * rng.random((2500, 5))
    rows[rng.random(rows.shape) < 0.1] = ranged[0]
    rows[rng.random(rows.shape) < 0.1] = ranged[1]
    plan = LazyExperts(Experts(n=5, horizon=2600, loss_range=ranged), eta=0.1, force=0.02, batch=2)
    runs = []
    for wish in ("always", "never"):
        monkeypatch.setenv(SWITCH, wish)
        learner = plan.start(Randomness.replayable(3))
        runs.append((learner.run(rows).tolist(), repr(learner.state_dict())))
    assert runs[0] == runs[1]
    assert learner.switches > 50


def test_a_bad_row_takes_everything_back(monkeypatch):
    monkeypatch.setenv(SWITCH, "always")
    assert lazy_experts.use_numba()
    rows = np.random.default_rng(1).random((2500, 5))
    rows[1700, 3] = 1.5
    learner = LazyExperts(Experts(n=5, horizon=2600), eta=0.1, force=0.02).start(Randomness.replayable(3))
    before = repr(learner.state_dict())
    with pytest.raises(InvalidInput, match=r"\[0, 1\]; the one of expert 3 in row 1700 is not"):
        learner.run(rows)
    assert repr(learner.state_dict()) == before


def test_draws_are_those_of_numpy(monkeypatch):
    drawn = []
    for wish in ("always", "never"):
        monkeypatch.setenv(SWITCH, wish)
        source, scores = uniforms(6), np.random.default_rng(7).integers(0, 2**26, (400, 9))
        drawn.append([draw_softmax(source, 3.0 / 2**26, row) for row in scores])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 9
