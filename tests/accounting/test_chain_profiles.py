"""Deltas of lazy chains by walks: anchors, enumeration, brute force over the few steps, and lower limits."""

from dataclasses import replace
from itertools import pairwise, product
from math import comb, exp, expm1, inf, log1p

import numpy as np
import pytest

from tacit.accounting import chain_profiles
from tacit.accounting.chain_profiles import ChainProfile, Draws, moved_pairs, toss_atoms
from tacit.accounting.conversion import renyi_delta, renyi_epsilon
from tacit.accounting.curves import BoundedRange, Gaussian, Repeated
from tacit.accounting.lazy import CappedChain, LazyChain

EPSILONS = (0.0, 0.1, 0.25, 0.5, 1.0)


@pytest.fixture(autouse=True)
def nothing_is_remembered():
    """Tests that compute otherwise would find what others computed, or leave theirs behind."""
    ChainProfile.epsilon.cache_clear()
    yield
    ChainProfile.epsilon.cache_clear()


def chain(eta, force, batch, rounds, people=1, reference=0.0):
    return LazyChain.of_hazards(
        least=-log1p(-force),
        spread=batch * eta,
        decisions=-(-rounds // batch) - 1,
        bit=eta,
        draw=BoundedRange(2 * eta * people),
        batch=batch,
        rounds_per_person=people,
        reference=reference,
    )


def renyi_only(curve, delta=1e-6):
    return renyi_epsilon(curve.renyi, delta)


def constant_delta(width, count, end, epsilon):
    """A strategy that always takes the same t: a binomial walk, exact."""
    up = -expm1(end - width) / -expm1(-width)
    return sum(
        comb(count, k)
        * up**k
        * (1 - up) ** (count - k)
        * max(0.0, -expm1(epsilon - (count * end - (count - k) * width)))
        for k in range(count + 1)
    )


def constant_epsilon(width, count, end, delta=1e-6):
    low, high = 0.0, count * width
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if constant_delta(width, count, end, middle) <= delta else (middle, high)
    return low


# --- anchors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cap", "new", "renyi"), [(1001, 0.8635, 0.9174), (625, 0.7384, 0.7787)])
def test_caps(cap, new, renyi):
    whole = chain(0.00542, 0.0144, 2, 10**5)
    curve = CappedChain(whole, cap)
    assert curve.epsilon(1e-6) == pytest.approx(new, rel=1e-3)
    assert renyi_only(curve) == pytest.approx(renyi, rel=1e-3)
    assert curve.epsilon(1e-6) <= min(whole.epsilon(1e-6), Repeated(BoundedRange(0.01084), cap).epsilon(1e-6) + 1)


@pytest.mark.parametrize(
    ("few", "anchor"),
    [(0, (0.269, 0.236, 0.191, 0.127, 0.0453)), (12, (0.242, 0.208, 0.165, 0.103, 0.0295))],
    ids=["walk", "step by step"],
)
def test_six_batches(few, anchor, monkeypatch):
    """N=2, eta=p=.3: between the exact transcripts and the Renyi divergences."""
    monkeypatch.setattr(chain_profiles, "_FEW", few)
    curve = chain(0.3, 0.3, 1, 6)
    got = np.array([curve.delta(epsilon) for epsilon in EPSILONS])
    np.testing.assert_allclose(got, anchor, rtol=5e-3, atol=1e-4)
    assert np.all(got >= [0.2042, 0.1679, 0.1165, 0.0497, 0.0077])
    assert np.all(got < [renyi_delta(curve.renyi, epsilon) for epsilon in EPSILONS])


@pytest.mark.parametrize(
    ("rounds", "batch", "eta", "force", "target", "limit"),
    [
        (10**4, 2, 0.0119, 0.0335, 1.0, 0.024),
        (10**5, 2, 0.00572, 0.0151, 1.0, 0.011),
        (10**5, 31, 0.00144, 0.0447, 0.1, 0.026),
        (10**6, 2, 0.00275, 0.0067, 1.0, 0.006),
    ],
)
def test_close_to_a_lower_limit(rounds, batch, eta, force, target, limit):
    """No accounting of bounded range can state less than t = r/2 at every draw leaks."""
    curve = chain(eta, force, batch, rounds)
    found = curve.epsilon(1e-6)
    assert found == pytest.approx(target, rel=3e-3)
    assert found < 0.955 * renyi_only(curve)
    least = lower_limit(curve, found * (1 - limit))
    assert least > 1e-6
    assert lower_limit(curve, found) <= 1e-6


def lower_limit(curve, epsilon):
    """The walk of steps +-r/2, without any smoothing, behind the coin's worst vertex."""
    profile, a = curve.profile, curve.draw.width / 2
    count, s, size = profile.decisions - 1, profile.chance, 2**14
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size
    up = 1 / (1 + exp(-a))
    step = 1 + s * (np.cos(angles) - 1 + 1j * (2 * up - 1) * np.sin(angles))
    law = np.fft.irfft(np.conj(step**count), size)
    places = np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size) * a

    def walked(at):
        return float(np.maximum(-np.expm1(at - places), 0.0) @ law)

    def tossed(pair):
        keep, draw = pair.losses
        drawn = up * walked(epsilon - draw - a) + (1 - up) * walked(epsilon - draw + a)
        return exp(-pair.hazard) * walked(epsilon - keep) - expm1(-pair.hazard) * drawn

    return max(map(tossed, moved_pairs(profile.least, profile.spread, profile.shifts[0])))


# --- never less than what a strategy reaches -------------------------------------------------------------------


@pytest.mark.parametrize(("width", "count", "end", "reached"), [(1.0, 4, 0.955, 3.776), (2.0, 10, 1.713, 16.84)])
@pytest.mark.parametrize("few", [0, 12])
def test_constant_strategies(width, count, end, reached, few, monkeypatch):
    """t = r/2 at every draw is not the worst: 2.0 and 10.0, where these reach 3.776 and 16.84."""
    monkeypatch.setattr(chain_profiles, "_FEW", few)
    assert constant_epsilon(width, count, end) == pytest.approx(reached, abs=0.01)
    assert constant_epsilon(width, count, width / 2) == pytest.approx(count * width / 2, abs=1e-3)
    curve = Repeated(BoundedRange(width), count)
    assert constant_epsilon(width, count, end) <= curve.epsilon(1e-6)
    for share, epsilon in product((0.2, 0.5, 0.8, 0.95), (0.0, 0.3, 0.7)):
        at = epsilon * count * width
        assert constant_delta(width, count, share * width, at) <= curve.delta(at) * (1 + 1e-12)


@pytest.mark.parametrize("few", [0, 12])
def test_adaptive_strategies(few, monkeypatch):
    """Every strategy that chooses t from a list, after every history of ups and downs."""
    monkeypatch.setattr(chain_profiles, "_FEW", few)
    width, count = 0.8, 5
    ends = np.linspace(0.05, 0.75, 9)

    def reached(left, epsilon):
        if left == 0:
            return max(0.0, -expm1(epsilon))
        best = 0.0
        for end in ends:
            up = -expm1(end - width) / -expm1(-width)
            best = max(
                best, up * reached(left - 1, epsilon - end) + (1 - up) * reached(left - 1, epsilon - end + width)
            )
        return best

    curve = Repeated(BoundedRange(width), count - 2)
    for epsilon in (0.0, 0.4, 1.1, 1.9):
        assert reached(count - 2, epsilon) <= curve.delta(epsilon)
        if few:
            assert curve.delta(epsilon) <= reached(count - 2, epsilon) * 1.03 + 1e-4


def test_one_draw_is_the_envelope():
    """(1 - e^{(eps-r)/2})^2/(1 - e^-r): the best t for each epsilon, in closed form."""
    for width in (0.1, 0.6, 3.0):
        curve = BoundedRange(width)
        for share in (0.0, 0.2, 0.55, 0.9):
            exact = expm1((share - 1) * width / 2) ** 2 / -expm1(-width)
            assert exact <= curve.delta(share * width) <= exact * (1 + 1e-2) + 1e-12


# --- coins of several rounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.01, 0.3, 0.9])
@pytest.mark.parametrize(("least", "spread"), [(0.02, 0.05), (0.3, 0.6), (2.0, 1e-3)])
def test_atoms_have_the_envelope_of_the_vertices(least, spread, shift):
    losses, chances = toss_atoms(least, spread, shift)
    assert chances.sum() == pytest.approx(1, abs=1e-14)
    assert (chances * np.exp(-losses)).sum() == pytest.approx(1, abs=1e-12)
    for epsilon in np.linspace(-2, 2, 81):
        envelope = max(0.0, -expm1(epsilon))
        for pair in moved_pairs(least, spread, shift):
            keep, draw = pair.losses
            toss = exp(-pair.hazard) * max(0.0, -expm1(epsilon - keep))
            envelope = max(envelope, toss - expm1(-pair.hazard) * max(0.0, -expm1(epsilon - draw)))
        got = float(chances @ np.maximum(0.0, -np.expm1(epsilon - losses)))
        assert got == pytest.approx(envelope, abs=1e-13)


def test_partitions():
    def parts(rounds, largest, decisions):
        profile = ChainProfile(0.1, decisions, 0.2, 0.1, 0.3, tuple(0.1 * k for k in range(1, largest + 1)), rounds)
        return sorted(profile._partitions)

    assert parts(4, 2, 10) == [(1, 1, 1, 1), (2, 1, 1), (2, 2)]
    assert parts(4, 3, 2) == [(2, 2), (3, 1)]
    assert parts(9, 2, 3) == [(2, 2, 2)]
    assert parts(1, 1, 5) == [(1,)]
    assert len(parts(12, 12, 12)) == 77


def test_more_rounds_and_more_draws_never_leak_less():
    base = chain(0.02, 0.05, 3, 900)
    many = [chain(0.02, 0.05, 3, 900, people).epsilon(1e-6) for people in (1, 2, 3, 5, 12, 13)]
    assert all(a < b for a, b in pairwise(many))
    assert many[-1] == renyi_only(chain(0.02, 0.05, 3, 900, 13))
    caps = [CappedChain(base, cap).epsilon(1e-6) for cap in (0, 1, 5, 20, 50, 299)]
    assert all(a <= b * (1 + 1e-12) for a, b in pairwise(caps))
    assert caps[-1] == pytest.approx(base.epsilon(1e-6), rel=1e-3)
    short = chain(0.02, 0.05, 3, 30)
    assert CappedChain(short, short.decisions).profile == short.profile  # no limit
    two = chain(0.02, 0.05, 3, 900, reference=0.1)
    assert base.epsilon(1e-6) < two.epsilon(1e-6) < 0.97 * renyi_only(two)
    lengths = [chain(0.02, 0.05, 3, rounds).epsilon(1e-6) for rounds in (6, 30, 39, 42, 300, 3000)]
    assert all(a < b for a, b in pairwise(lengths))


# --- where there is no walk ------------------------------------------------------------------------------------


def test_other_curves_keep_renyi():
    drifting = LazyChain(5, 0.5, 0.7, 0.2, BoundedRange(0.2), drift=0.1)
    assert drifting.profile is None
    assert LazyChain(5, 0.5, 0.7, 0.2, Gaussian(0.1)).profile is None
    assert Repeated(Gaussian(0.1), 5).profile is None
    assert Repeated(BoundedRange(5.0), 100).epsilon(1e-6) == min(500.0, renyi_only(Repeated(BoundedRange(5.0), 100)))
    assert Repeated(BoundedRange(1e-12), 10).epsilon(1e-6) == renyi_only(Repeated(BoundedRange(1e-12), 10))


def test_profiles_that_know_nothing_better():
    certain = LazyChain(5, 0.5, 1.0, 0.1, BoundedRange(0.1))
    assert certain.epsilon(1e-6) == inf
    assert certain.delta(1.0) == 1.0
    assert ChainProfile(0.1, 0, 1.0).epsilon(1e-6, 0.0) == 0.0
    still = LazyChain(5, 0.7, 0.7, 0.0, BoundedRange(0.0))
    assert still.epsilon(1e-6) == 0.0


def test_a_coin_without_draws_is_exact():
    """No draw is ever made: the coin's own delta, at its worst vertex."""
    curve = CappedChain(LazyChain(5, 0.5, 0.7, 0.2, BoundedRange(0.1)), 0)
    pairs = moved_pairs(*curve.chain.coin, 0.2)
    exact = max(
        exp(-p.hazard) * max(0.0, -expm1(0.1 - p.losses[0])) - expm1(-p.hazard) * max(0.0, -expm1(0.1 - p.losses[1]))
        for p in pairs
    )
    assert exact <= curve.delta(0.1) <= exact * (1 + 1e-9)


def test_profiles_take_any_number_of_tosses():
    profile = ChainProfile(0.01, 10**6, 0.01)
    assert profile.epsilon(1e-6, 50.0) < 50.0
    assert replace(profile, decisions=10**13).epsilon(1e-6, 50.0) == 50.0
    assert Draws([(5, 0.5)], cap=2).mean == 2


@pytest.mark.parametrize("cap", [None, 13])
def test_delta_never_rises(cap):
    """A coin that tells more than the draws: the tilted walk forgot the left side, and delta rose from .004 to .02."""
    coin = LazyChain.of_hazards(0.0186, 0.00407, decisions=19, bit=0.041, draw=BoundedRange(0.0089), batch=2)
    curve = coin if cap is None else CappedChain(coin, cap)
    deltas = [curve.delta(epsilon) for epsilon in np.linspace(0.0, 0.2, 21)]
    assert all(later <= earlier for earlier, later in pairwise(deltas))
    assert curve.epsilon(deltas[1]) <= 0.0101


def test_an_end_that_is_above_delta_among_others_does_not_make_epsilon_zero(monkeypatch):
    """A pure plan of LipschitzOnePass (three rounds per person, epsilon 10, 50 rounds) stated 0 at delta=.001."""

    def profile(epsilons):  # delta at the end of the range alone, and one unit in the last place above it among others
        above = 1e-3 * (1 + 4e-16 * (len(epsilons) > 1))
        return above * np.exp(4.6 - np.minimum(epsilons, 4.6))

    monkeypatch.setattr(ChainProfile, "_best", lambda *given: profile)
    assert ChainProfile(width=0.76, decisions=16, chance=0.4)._epsilon_near(4.6, 1e-3, 4.6) == 4.6
