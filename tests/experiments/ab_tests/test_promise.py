"""The promise: the longest vector over all looks, the epsilon that follows, and exact laws on small instances."""

import itertools
from math import sqrt
from statistics import NormalDist

import mpmath as mp
import numpy as np
import pytest

from experiments.ab_tests.test_vector import all_rows, squares
from tacit.accounting.conversion import gaussian_delta
from tacit.accounting.guarantee import Guarantee
from tacit.errors import PrivacyError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import SIGMA_ABOVE
from tacit.verification.sums import SIGMA_SQUARED
from tacit_experiments.ab_tests import promise as promises
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.metrics import Conversion, Ratio, Sum
from tacit_experiments.ab_tests.promise import Look, Promise, gaussian_curve
from tacit_experiments.ab_tests.release import add_noise
from tacit_experiments.ab_tests.vector import Layout
from tacit_experiments.ab_tests.weights import look_shares, weights

FOUR = (
    Conversion("bought", 0.03),
    Conversion("added", 0.2),
    Sum("revenue", 200, 0.6, 200 * sqrt(0.0006)),
    Conversion("left", 0.1),
)


def design_of(metrics=FOUR, epsilon=1.0, **others):
    return ABTest("checkout", ("control", "short"), metrics, epsilon=epsilon, **others)


def longest(promise):
    """The largest squared length of a person's vectors over all looks, by trying every row at every look."""
    rows = all_rows(promise.layout)
    return sum(max(squares(promise.layout, rows, block)) for look in promise.looks for block in look.blocks)


def test_the_longest_person_is_as_long_as_declared():
    layout = Layout((True, False, False), ((1, 2),), lattice=4)
    looks = (Look((11, 3, 5, 7, 2), ((4, 2, 2, 3, 1), (3, 3, 3, 3, 3))), Look((9, 9, 8, 7, 6), ((1,) * 5, (2,) * 5)))
    promise = Promise(layout, looks, 1e-6)
    assert longest(promise) == promise.squared_shift
    assert promise.draws == 2 * 3 * layout.size


def test_two_stories_are_as_far_apart_as_declared():
    """Every story: absent, or any row in any of two cells, at each look by itself."""
    layout = Layout((True, False), ((0, 1),), lattice=4)
    look = Look((5, 3, 4, 2), ((3, 2, 2, 1),))
    promise = Promise(layout, (look,), 1e-6)
    rows = layout.features(all_rows(layout))
    weigh = [np.array([block[place] for place in layout.multiplier_of]) for block in look.blocks]
    stories = [np.zeros(3 * layout.size)]
    for row, cell in itertools.product(rows, (0, 1)):
        cells = np.zeros((2, layout.size))
        cells[cell] = row * weigh[1]
        stories.append(np.concatenate([row * weigh[0], cells.ravel()]))
    points = np.array(stories)
    apart = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1).max()
    assert 0.8 * promise.squared_stories < apart <= promise.squared_stories
    single = Promise(Layout((False,), lattice=4), (Look((1, 7)),), 1e-6)
    ends = single.layout.features(np.array([[0], [4]])) * np.array([1, 7, 7])
    assert ((ends[0] - ends[1]) ** 2).sum() == single.squared_stories


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("looks", [1, 4, 12])
def test_multipliers_are_the_largest_that_keep_epsilon(epsilon, looks):
    design = design_of(epsilon=epsilon, looks=looks)
    promise = Promise.of(design)
    stated = promise.guarantee.epsilon()
    assert stated <= epsilon
    assert stated > epsilon * (1 - 60 / min(min(look.total) for look in promise.looks) / 10)
    assert Guarantee.from_json(promise.guarantee.to_json()) == promise.guarantee
    with mp.workdps(40):  # an accountant of its own
        mu = mp.sqrt(promise.squared_shift) / mp.sqrt(SIGMA_SQUARED)
        assert mu <= promise.mu <= mu * (1 + mp.mpf("1e-10"))
        at = mp.mpf(stated)
        delta = mp.ncdf(mu / 2 - at / mu) - mp.exp(at) * mp.ncdf(-mu / 2 - at / mu)
        assert 0.999e-6 < delta <= 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 20.0])
@pytest.mark.parametrize("delta", [1e-20, 1e-12, 1e-3, 0.5])
def test_epsilon_is_kept_at_every_delta_that_is_allowed(epsilon, delta):
    promise = Promise.of(design_of(epsilon=epsilon, delta=delta, looks=2))
    assert 0.97 * epsilon < promise.guarantee.epsilon() <= epsilon


def test_a_search_that_is_wrong_is_corrected(monkeypatch):
    """The longest shift as found is far too long: what is stated is computed from the multipliers, and shrinks."""
    honest = promises._longest
    monkeypatch.setattr(promises, "_longest", lambda *arguments: round(1.003 * honest(*arguments)))
    assert 0.99 < Promise.of(design_of()).guarantee.epsilon() <= 1.0


def test_the_next_larger_shift_breaks_epsilon():
    draws = 24
    length = promises._longest(draws, 1.0, 1e-6)
    kept, broken = (gaussian_curve(promises.shift_mu((length + more) ** 2), draws).epsilon(1e-6) for more in (0, 1))
    assert kept <= 1.0 < broken


def test_the_numbers_of_the_design():
    """mu at epsilon 1 with four looks; noise in persons; what somebody guesses right."""
    promise = Promise.of(design_of())
    assert promise.mu == pytest.approx(0.237, abs=0.0005)
    assert NormalDist().cdf(promise.mu / 2) == pytest.approx(0.5471, abs=2e-4)
    assert NormalDist().cdf(promise.stories_mu / 2) == pytest.approx(0.5725, abs=3e-4)
    assert promise.stories_mu / promise.mu == pytest.approx(2 * sqrt(1 - weights(design_of())[0]), rel=0.005)
    for metrics, expected in ((FOUR[:1], 4.6), (FOUR, 6.7)):
        last = Promise.of(design_of(metrics)).looks[-1].total
        persons, first = (SIGMA_ABOVE / (2**16 * multiplier) for multiplier in last[:2])
        assert sqrt(first**2 / 4 + (0.5 - 0.03) ** 2 * persons**2) == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("metrics", [FOUR[:1], FOUR, (*FOUR, Ratio("basket", "revenue", "bought"))], ids=len)
@pytest.mark.parametrize("segments", [{}, {"device": ("phone", "desktop"), "country": ("x", "y", "z")}], ids=len)
def test_shares_of_the_vector_and_of_looks_are_spent(metrics, segments):
    design = design_of(metrics, segments=segments)
    betas = weights(design)
    assert sum(betas) == pytest.approx(1.0)
    assert betas[0] <= 0.5
    assert sum(look_shares(4)) == pytest.approx(1.0)
    promise = Promise.of(design)
    last = promise.layout.squared_norm(promise.looks[-1].total) / promise.squared_shift
    assert last == pytest.approx(0.8 * (0.7 if segments else 1.0), rel=0.02)
    assert len(promise.looks[0].cells) == len(segments)


def test_an_epsilon_that_whole_multipliers_cannot_keep_is_refused():
    with pytest.raises(PrivacyError, match="too small"):
        Promise.of(design_of(epsilon=0.005, looks=12))


def exact_delta(shift, sigma, epsilon):
    """delta at epsilon of discrete Gaussian noise on several integers that move by `shift`, by enumeration.

    The loss at k is linear in sum_c shift_c k_c, whose law is a convolution.
    """
    reach = 14 * sigma
    support = np.arange(-reach, reach + 1)
    law = np.exp(-(support**2) / (2 * sigma**2))
    law /= law.sum()
    whole, offset = np.ones(1), 0
    for moved in shift:
        part = np.zeros(2 * abs(moved) * reach + 1)
        part[support * abs(moved) + abs(moved) * reach] = law
        whole = np.convolve(whole, part)
        offset += abs(moved) * reach
    place = np.arange(len(whole)) - offset
    square = sum(moved**2 for moved in shift)
    loss = (square + 2 * place) / (2 * sigma**2)  # of the person's world over the other one, at x = k + shift
    return float((whole * np.maximum(0.0, -np.expm1(epsilon - loss))).sum())


SMALL = Promise(Layout((True, False), (), lattice=4), (Look((1, 1, 1)), Look((1, 2, 1))), 1e-6)


def small_shifts():
    """What each person of a small lattice adds to two looks, where they may be absent from the first one."""
    layout, rows = SMALL.layout, all_rows(SMALL.layout)
    features = layout.features(rows).tolist()
    weigh = [[look.total[place] for place in layout.multiplier_of] for look in SMALL.looks]
    for first, second in itertools.product([[0] * layout.size, *features], features):
        yield [a * x for a, x in zip(weigh[0], first, strict=True)] + [
            a * x for a, x in zip(weigh[1], second, strict=True)
        ]


def worst_ratio(noise=1.0, sigma=12):
    """The exact delta of every person over the certified curve, at sigma^2 - 4: the largest quotient."""
    mu = sqrt(SMALL.squared_shift / (sigma**2 - 4))
    seen = {tuple(sorted(map(abs, shift))) for shift in small_shifts()}
    longest = sorted(seen, key=lambda shift: -sum(x * x for x in shift))[:4]
    return max(
        exact_delta(shift, round(noise * sigma), epsilon) / gaussian_delta(mu, epsilon)
        for shift in longest
        for epsilon in (0.2, 0.5, 1.0, 2.0)
    )


def test_the_exact_law_of_two_looks_is_under_the_certified_curve():
    assert max(sum(x * x for x in shift) for shift in small_shifts()) == SMALL.squared_shift
    assert 0.9 < worst_ratio() <= 1.0


def test_half_of_the_noise_is_above_the_certified_curve():
    assert worst_ratio(noise=0.5) > 1.5


def guesses(promise, runs, generator):
    """How often the worst person's sums, with noise of the program, look more like theirs than sums without them."""
    layout = promise.layout
    row = layout.features(np.full((1, len(layout.binary)), layout.lattice)).tolist()[0]
    shift = [value for look in promise.looks for value in layout.weighted(row, look.total)]
    direction = np.array(shift, dtype=float) / sqrt(promise.squared_shift)
    noise = DiscreteGaussian.from_streams(generator, "release").draw(2 * runs * len(shift)).reshape(2, runs, -1)
    without, with_them = noise @ direction
    with_them = with_them + sqrt(promise.squared_shift)
    order = np.concatenate([without, with_them]).argsort().argsort()
    return (order[runs:].sum() - runs * (runs - 1) / 2) / runs**2


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_the_worst_person_is_guessed_as_often_as_mu_says(epsilon):
    """The area under the curve is Phi(mu/sqrt 2); its standard error is .0006, and five of them are allowed."""
    promise = Promise.of(design_of(epsilon=epsilon))
    expected = NormalDist().cdf(promise.mu / sqrt(2))
    assert guesses(promise, 200_000, Randomness.replayable(11)) == pytest.approx(expected, abs=5 * 0.00095)


def test_noise_is_added_to_every_integer_with_its_deviation():
    drawn = np.array(add_noise([10**15] * 20_000, Randomness.replayable(5))) - 10**15
    assert np.std(drawn) == pytest.approx(SIGMA_ABOVE, rel=0.03)
    assert abs(np.mean(drawn)) < 4 * SIGMA_ABOVE / sqrt(20_000)
    assert len(np.unique(drawn)) > 19_000
