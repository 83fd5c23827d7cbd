"""Lemmas and theorems of docs/releases.md on programs that can be enumerated."""

from itertools import product
from math import exp, log

import numpy as np
import pytest

from releases import programs
from releases.instances import ONE, sums
from tacit.accounting.curves import Gaussian, Pure, SamplerError
from tacit.accounting.guarantee import REPLACE, ZERO_OUT
from tacit.accounting.objective_perturbation import release_curve
from tacit.accounting.perturbed_minimisers import PerturbedMinimiser as DrawCurve
from tacit.noise.discrete_laplace import laplace_rate
from tacit.noise.sampler_bounds import GaussianSlack
from tacit.releases import (
    Apart,
    Coin,
    Epochs,
    Grouped,
    Inexact,
    Minimisers,
    Neighbours,
    NoisyBits,
    Nothing,
    PerturbedMinimiser,
    Releases,
    Repeated,
    Softmax,
)
from tacit.releases.combinators import within

RELATIONS = pytest.mark.parametrize("relation", [REPLACE, ZERO_OUT])
PEOPLE = pytest.mark.parametrize("people", [1, 2])
ROUNDED = 1 + 1e-9


@RELATIONS
@PEOPLE
def test_draws_move_within_the_interval_of_lemma_1(relation, people):
    """All losses of three options, in halves for one round; the longest interval is met."""
    units, rate = (2, 0.7) if people == 1 else (1, 0.7)
    width = Softmax(rate).curve(Neighbours(relation, people)).width
    rounds = list(product(range(units + 1), repeat=3))
    neutral = [(0, 0, 0)] if relation is ZERO_OUT else rounds
    base = np.array([3, 0, 1])
    longest = 0.0
    for one in product(rounds, repeat=people):
        for other in product(neutral, repeat=people):
            first = programs.softmax(base + np.sum(one, axis=0), rate, units)
            second = programs.softmax(base + np.sum(other, axis=0), rate, units)
            longest = max(longest, programs.interval(first, second))
            if people == 1:
                curve = Softmax(rate).curve(Neighbours(relation))
                for epsilon in (0.05, 0.3):
                    assert programs.delta(first, second, epsilon) <= curve.delta(epsilon) * ROUNDED
    assert longest <= width * ROUNDED
    assert longest == pytest.approx(width)


@RELATIONS
def test_repeated_draws_stay_under_their_curve(relation):
    """Two draws over four experts' losses; a curve for one draw less is exceeded."""
    rate = 0.9
    among = Neighbours(relation)
    losses = list(product((0, 1), repeat=2))
    changed = [(0.5, 0.5)] if relation is ZERO_OUT else losses
    exceeded = False
    for one in losses:
        for other in changed:
            laws = []
            for first in (one, other):
                after = programs.softmax(np.array(first), rate, 1)
                later = programs.softmax(np.array(first) + np.array([0, 1]), rate, 1)
                laws.append({(a, b): after[a] * later[b] for a in after for b in later})
            for epsilon in (0.1, 0.4, 0.9):
                exact = programs.delta(*laws, epsilon)
                assert exact <= Repeated(Softmax(rate), 2).curve(among).delta(epsilon) * ROUNDED
                exceeded |= exact > Repeated(Softmax(rate), 1).curve(among).delta(epsilon)
    assert exceeded


@PEOPLE
@pytest.mark.parametrize(
    ("relation", "steps", "neutral", "change"),
    [(REPLACE, 1, None, 1), (ZERO_OUT, 1, None, 1), (ZERO_OUT, 2, 1, 1), (REPLACE, 2, 1, 2)],
)
def test_sums_of_bits_cost_what_lemma_2_says(relation, steps, neutral, change, people):
    """Sums that depend on earlier releases; the price is met, and a smaller one is refused."""
    among = Neighbours(relation, people)
    rate = laplace_rate(0.8, change * people)
    made = NoisyBits(rate, 0.8, steps, neutral, made_for=among)
    assert made.change == change
    fixed = neutral if relation is ZERO_OUT else None
    worst = 0.0
    for stream, other in programs.pairs((0, steps), 3, people, fixed):
        law = programs.noisy_bits(stream, rate)
        worst = max(worst, programs.largest_loss(law, programs.noisy_bits(other, rate)))
    assert worst <= made.curve(among).pure() * ROUNDED
    assert worst == pytest.approx(0.8, rel=1e-6)


@PEOPLE
def test_epochs_that_end_themselves_cost_what_theorem_2_says(people):
    """And twice as much, if the round of an alarm is used once more: the theorem's condition."""
    cost = 0.4
    among = Neighbours(rounds=people)
    made = Apart(Priced(Pure(cost * people)), "epochs", cost * people)
    worst, reused = 0.0, 0.0
    for stream, other in programs.pairs((0, 1), 3, people):
        law = programs.restarting(stream, cost)
        worst = max(worst, programs.largest_loss(law, programs.restarting(other, cost)))
        law = programs.restarting(stream, cost, reused=True)
        again = programs.restarting(other, cost, reused=True)
        reused = max(reused, programs.largest_loss(law, again))
    assert worst <= made.curve(among).pure() * ROUNDED < reused
    assert worst == pytest.approx(cost * people)


class Priced(Releases):
    """A release of a known curve, whoever asks."""

    theorem = "stated"

    def __init__(self, curve):
        self._curve = curve

    def curve(self, among):
        return self._curve


@pytest.mark.parametrize("draws", [1, 5, 9])
def test_inexact_draws_are_paid_for(draws):
    """Lemma 3: draws that show a bit now and then; a price for one of them is exceeded."""
    distance = 0.01
    laws = [programs.leaking(bit, draws, distance) for bit in (0, 1)]
    exact = programs.delta(*laws, 0.05)
    assert 0 < exact <= Inexact(Nothing(), distance, draws).curve(ONE).delta(0.05)
    assert (exact > Inexact(Nothing(), distance, 1).curve(ONE).delta(0.05)) == (draws > 2)


@pytest.mark.parametrize("units", [1, 2, 3])
def test_a_group_pays_for_every_draw_of_its_release(units):
    """Theorem 3: a price for one draw of each unit is exceeded."""
    draws, distance = 10, 0.02
    laws = [programs.leaking(bit, draws, distance) for bit in (0, 1)]
    exact = programs.delta(*laws, 0.05)
    release = Priced(SamplerError(Gaussian(0.0), distance, draws))
    assert exact <= Grouped(release, units).curve(ONE).delta(0.05)
    assert exact > SamplerError(Gaussian(0.0), distance, units).delta(0.05)


@pytest.mark.parametrize("people", [1, 2, 3])
def test_epochs_pay_for_the_draws_of_every_epoch(people):
    """Theorem 3: the rounds of a person make the draws of so many epochs inexact."""
    draws, distance = 3, 1e-3
    laws = [programs.leaking(bit, draws * people, distance) for bit in (0, 1)]
    exact = programs.delta(*laws, 0.05)
    assert exact > SamplerError(Gaussian(0.0), distance, 1).delta(0.05)
    part = Priced(SamplerError(Gaussian(0.0), distance, draws))
    for room, enough in ((people * draws * ROUNDED, True), (people * draws - 0.5, False)):
        shared = SamplerError(Gaussian(0.0), distance * room, 1)
        assert within(shared, part.curve(ONE), people) == enough
        assert exact <= shared.delta(0.05) or not enough


@pytest.mark.parametrize("people", [1, 2, 3])
def test_rounds_in_different_epochs_add_up(people):
    """Theorem 3: epochs of one response each; m rounds of a person cost m times that of one."""
    cost = 0.3
    low = 1 / (1 + exp(cost))
    worst = 0.0
    for stream, other in programs.pairs((0, 1), 3, people):
        laws = [programs.responses(bits, low) for bits in (stream, other)]
        worst = max(worst, programs.largest_loss(*laws))
    made_for = Neighbours(rounds=people)
    parts = (Priced(Pure(cost)),) * 3
    promised = cost * people * ROUNDED
    assert worst <= Epochs(parts, promised, 0.0, made_for=made_for).curve(made_for).pure()
    assert worst == pytest.approx(cost * people)


@RELATIONS
@pytest.mark.parametrize("signed", [False, True])
def test_coins_move_as_far_as_lemma_4_says(relation, signed):
    """All terms of two rounds on a grid: where -ln keep lies, and how far a round moves it."""
    limit, batch, force, slack = 0.3, 2, 0.2, 1.5 if signed else 1.0
    coin = Coin(force, limit, batch, signed, slack)
    grid = np.linspace(-limit if signed else 0.0, limit, 7)
    base = slack * batch * limit if signed else 0.0
    hazards = [base - log(1 - force) + first + second for first in grid for second in grid]
    least, spread = coin.hazards()
    assert min(hazards) == pytest.approx(least)
    assert max(hazards) == pytest.approx(least + spread)
    missing = grid if relation is REPLACE or not signed else [0.0]
    moved = max(abs(one - other) for one in grid for other in missing)
    assert coin.bit(Neighbours(relation)) == pytest.approx(moved)
    known = Coin(force, limit, batch, signed, slack, neutral=0.1)
    assert known.bit(Neighbours(ZERO_OUT)) == 0.1
    assert known.bit(Neighbours(REPLACE)) == coin.bit(Neighbours(REPLACE))


@RELATIONS
@PEOPLE
def test_perturbed_minimisers_are_pulled_by_all_sides(relation, people):
    """In one dimension: shift and determinant of sums of squares, against the declared numbers."""
    lipschitz, growth, sigma = 1.0, 0.05, 20.0
    made = PerturbedMinimiser(lipschitz, growth, sigma, True, 1, 0.0)
    found = made.curve(Neighbours(relation, people))
    assert isinstance(found, DrawCurve)
    slopes = [-lipschitz, lipschitz]
    pulls = [sum(s) for s in product(slopes, repeat=people)]
    others = pulls if relation is REPLACE else [0.0]
    longest = max(abs(one - other) for one in pulls for other in others) / sigma
    bent = log((1 + growth) ** people)
    assert found.slope == pytest.approx(longest)
    assert found.offset == pytest.approx(bent + longest**2 / 2)


def test_final_models_move_by_all_sides():
    """The same numbers as the accountant of objective perturbation, for each relation."""
    nothing = GaussianSlack(0.0, 0.0, 0.0)
    for relation in (REPLACE, ZERO_OUT):
        made = Minimisers(0.3, 0.1, False, False, 0.02, None, nothing, 1, 3, False)
        numbers = {"move": 0.3, "growth": 0.1, "one_sided": False, "protection": 0.02}
        one = release_curve(**numbers, relation=relation)
        assert made.curve(Neighbours(relation)).epsilon(1e-6) == one.epsilon(1e-6)
        pure = Minimisers(0.3, 0.1, False, False, 0.02, None, nothing, 2, 3, True)
        stated = pure.curve(Neighbours(relation)).pure()
        sides = 2 if relation is REPLACE else 1
        assert stated == pytest.approx(2 * (log(1.1) + 0.3 * sides + 0.02))


def test_streams_are_paid_together():
    """Two noises on the same sums: squares of mu add up to what is stated, rounded up."""
    both = sums(streams=2)
    each = both.grid.curve.curve.mu
    stated = both.curve(ONE).curve.mu
    assert each < 0.5 / 2**0.5
    assert stated == pytest.approx(0.5)
    assert stated >= (2 * each**2) ** 0.5
