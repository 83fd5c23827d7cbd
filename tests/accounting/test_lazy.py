"""Accounting of lazy chains: the vertex formula, the worst partition, and their limits."""

from itertools import product

import numpy as np
import pytest

import tacit
from tacit.accounting.curves import BoundedRange, Gaussian, Pure, Renyi, SamplerError
from tacit.accounting.lazy import CappedChain, LazyChain, hazards_of, log_step_moment, worst_partition
from tacit.algorithms.experts import LazyExperts
from tacit.errors import InvalidInput
from tacit.problems import Experts

ORDERS = np.array([1.01, 1.3, 2.0, 5.0, 30.0, 400.0])


def grid_moment(order, low, high, shift, log_draw, points=301):
    """ln F by brute force over admissible (q, q'), the corners of the region among them."""
    q = np.exp(np.linspace(np.log(low), np.log(high), points)) if low < high else np.array([low])
    ends = np.array([low, high, max(low, high * np.exp(-shift)), min(high, low * np.exp(shift))])
    q = np.unique(np.clip(np.concatenate([q, ends]), low, high))
    first, second = np.meshgrid(q, q, indexing="ij")
    with np.errstate(divide="ignore", invalid="ignore"):
        keep = order * np.log(first) + (1 - order) * np.log(second)
        move = order * np.log1p(-first) + (1 - order) * np.log1p(-second) + log_draw
        moment = np.logaddexp(keep, move)
    allowed = np.abs(np.log(first / second)) <= shift * (1 + 1e-12) + 1e-15
    return np.max(moment[allowed])


@pytest.mark.parametrize(
    ("low", "high"), [(0.5, 0.7), (0.1, 0.95), (0.65, 0.7), (0.7, 0.7), (0.001, 0.999), (0.9, 0.9999)]
)
def test_vertices_attain_the_maximum(low, high):
    for shift, width in product((0.0, 0.01, 0.3, 2.0), (0.0, 0.02, 0.6)):
        log_draw = (ORDERS - 1) * BoundedRange(width).renyi(ORDERS)
        vertices = log_step_moment(ORDERS, *hazards_of(low, high), shift, log_draw)
        grid = np.array([grid_moment(o, low, high, shift, d) for o, d in zip(ORDERS, log_draw, strict=True)])
        assert np.all(vertices >= grid - 1e-13 * (1 + ORDERS))
        np.testing.assert_allclose(vertices, grid, rtol=1e-9, atol=1e-12)


def test_no_decision_costs_nothing():
    chain = LazyChain(0, 0.5, 0.7, 0.3, Gaussian(1.0))
    for curve in (chain, CappedChain(chain, 3)):
        assert curve.epsilon(0.0) == curve.epsilon(1e-6) == curve.delta(0.0) == 0.0


def test_a_coin_below_the_floats_is_seen():
    chain = LazyExperts(Experts(n=2, horizon=2), eta=5e-17, force=1e-15).guarantee.curve
    assert chain.epsilon(0.0) == pytest.approx(np.log1p(5e-17 / (1 - (1 - 1e-15))), rel=1e-6)
    assert chain.keep_high - chain.keep_low < 2e-16  # one float or two: the floats have lost it
    # The redraw under one neighbour is 5% likelier: delta(0) is its difference, not nothing.
    assert 5e-17 <= chain.delta(0.0) <= 1e-8


def test_hazards_must_be_those_of_the_keep_probabilities():
    assert LazyChain(3, np.exp(-0.5), np.exp(-0.2), 0.1, Pure(1.0), hazards=(0.2, 0.3)).coin == (0.2, 0.3)
    for hazards in ((0.2, 0.5), (0.1, 0.4), (0.2,), (0.2, -0.3), (np.nan, 0.3)):
        with pytest.raises(InvalidInput, match="'hazards'"):
            LazyChain(3, np.exp(-0.5), np.exp(-0.2), 0.1, Pure(1.0), hazards=hazards)


# --- failing closed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [Renyi([2.0], [0.1]), SamplerError(Pure(0.1), 1e-9, 1), Gaussian(0.3)], ids=repr)
def test_a_coin_that_may_be_certain_is_never_free(draw):
    """Keeping for sure is 0 times infinity in a moment: it must not come out as no cost."""
    for chain in (LazyChain(5, 0.5, 1.0, 0.5, draw), CappedChain(LazyChain(5, 0.5, 1.0, 0.5, draw), 3)):
        assert np.all(chain.renyi(ORDERS) == np.inf)
        assert chain.epsilon(1e-6) == chain.epsilon(0.0) == np.inf
        assert chain.delta(50.0) == 1.0


def test_a_draw_with_an_error_costs_everything_inside_a_chain():
    draw = SamplerError(Pure(0.1), 1e-9, 1)
    assert LazyChain(5, 0.5, 0.7, 0.1, draw).epsilon(1e-6) == np.inf
    assert LazyChain(5, 1.0, 1.0, 0.0, draw).epsilon(1e-6) == 0.0  # it never draws


@pytest.mark.parametrize("draw", [Gaussian(5.0), Renyi([2.0], [0.1]), SamplerError(Pure(0.1), 1e-9, 1)], ids=repr)
def test_a_cap_of_zero_leaves_the_coin(draw):
    """No draw is ever made: the bits are the cost, and they are not zero."""
    capped = CappedChain(LazyChain(5, 0.5, 0.7, 0.2, draw), 0)
    coin = CappedChain(LazyChain(5, 0.5, 0.7, 0.2, Pure(0.0)), 0)
    assert capped.pure() == coin.pure() > 0.2
    assert capped.epsilon(1e-6) == coin.epsilon(1e-6) > 0.1


def test_a_drifting_coin_with_several_rounds_needs_its_whole_range():
    def chain(bit, rounds, drift):
        return LazyChain(5, 0.5, 0.7, bit, Pure(0.1), rounds_per_person=rounds, drift=drift)

    with pytest.raises(InvalidInput, match="whole range"):
        chain(0.2, 2, 0.01)
    assert chain(0.34, 2, 0.01).epsilon(1e-6) > chain(0.34, 2, 0.0).epsilon(1e-6)
    chain(0.2, 1, 0.01)
    chain(0.2, 2, 0.0)


def brute_partition(extra, rounds, parts):
    best = 0.0
    for split in product(range(len(extra) + 1), repeat=parts):
        if sum(split) <= rounds:
            best = max(best, sum(float(extra[k - 1][0]) for k in split if k))
    return best


@pytest.mark.parametrize(
    "values", [[1.0], [1.0, 1.5], [1.0, 3.0], [1.0, 1.9, 3.5], [0.5, 2.0, 2.2], [-1.0, 0.3], [-0.2, -0.1, -0.3]]
)
def test_worst_partition_covers_brute_force(values):
    for rounds, parts in product((1, 2, 3, 4, 5), (1, 2, 5)):
        extra = [np.array([v]) for v in values[: min(rounds, len(values))]]
        got = float(worst_partition(extra, rounds, parts)[0])
        exact = brute_partition(extra, rounds, parts)
        assert got >= exact - 1e-12
        if parts >= rounds:
            assert got == pytest.approx(exact, abs=1e-12)


def test_closed_form_for_many_rounds_is_safe():
    rng = np.random.default_rng(5)
    extra = [np.array([v]) for v in np.cumsum(rng.random(6))]
    step = float(worst_partition(extra, 256, 256)[0])
    closed = float(worst_partition(extra, 257, 257)[0])
    assert closed >= step
    assert closed <= 1.05 * step


def test_hazards_beyond_all_floats_have_a_price():
    plan = tacit.algorithms.LazyExperts(
        tacit.Experts(n=2, horizon=20), eta=400.0, force=0.1, batch=4, rounds_per_person=3
    )
    assert 400 < plan.guarantee.epsilon() < float("inf")
    with pytest.raises(tacit.InvalidInput, match="slack"):
        tacit.algorithms.L2P(tacit.Experts(n=2, horizon=20), eta=0.1, force=0.1, slack=1e308)


def test_ends_that_round_to_the_width_have_a_moment():
    eta = 3.50929930858541e-07
    assert (
        0
        <= tacit.algorithms.ScheduledExperts(Experts(n=2, horizon=2), eta, relation="zero-out").guarantee.delta(eta)
        < 1e-3
    )
