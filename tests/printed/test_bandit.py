"""The printed formulas of the paper `bandit`, typed again with mpmath, and the attack on its trees."""

import math

import mpmath as mp
import numpy as np
import pytest

from errata import bandit as errata
from tacit.noise.randomness import Randomness
from tacit.printed import bandit

# n, T, D, L, epsilon, delta
SETTINGS = [
    (2, 100_000, 1.0, 1.0, 1.0, 1e-6),
    (10, 1_000_000, 1.5, 2.0, 0.3, 1e-9),
    (5, 9_999, 0.25, 0.5, 4.0, 1e-3),
]
setting = pytest.mark.parametrize("case", SETTINGS, ids=str)


def same(found, typed):
    assert found == pytest.approx(float(typed), rel=1e-12)


@setting
def test_algorithm_1(case):
    n, rounds, diameter, lipschitz, _, _ = map(mp.mpf, case)
    found = bandit.algorithm_1(int(n), int(rounds), float(diameter), float(lipschitz))
    assert set(found) == {"batches", "batch", "eta", "zeta", "precision"}
    same(found["batches"], mp.sqrt(rounds))
    same(found["batch"], mp.sqrt(rounds))
    same(found["eta"], diameter / (rounds ** (mp.mpf(3) / 4) * mp.sqrt(n) * lipschitz))
    same(found["zeta"], diameter * mp.sqrt(n) / mp.root(rounds, 4))
    same(found["precision"], diameter / mp.root(rounds, 4))
    assert errata.printed_parameters(case[1], case[0], case[3], case[2]) == pytest.approx(
        (found["eta"], found["zeta"]), rel=1e-12
    )


@setting
def test_laplace_noise_and_its_regret(case):
    n, rounds, diameter, lipschitz, epsilon, _ = map(mp.mpf, case)
    found = bandit.lemma_5_1(case[0], case[1], case[3], case[4])
    same(found, mp.sqrt(rounds) * n * lipschitz * mp.log(rounds) / epsilon)
    same(found, errata.printed_laplace_scale(case[1], case[0], case[3], case[4]))
    first = rounds ** mp.mpf("0.75") * mp.sqrt(n) * lipschitz * diameter
    second = rounds ** mp.mpf("0.75") * n ** mp.mpf("1.5") * lipschitz * diameter * mp.log(rounds) ** 2 / epsilon
    same(bandit.lemma_5_2(*case[:5]), first + second)


@setting
def test_gaussian_noise_and_its_regret(case):
    n, rounds, diameter, lipschitz, epsilon, delta = map(mp.mpf, case)
    tail = mp.log((n + rounds) / delta)
    logs = mp.log(rounds) * mp.log(rounds / delta) / epsilon
    sigma = mp.root(rounds, 4) * mp.sqrt(n) * lipschitz * logs * (tail + mp.sqrt((1 + mp.sqrt(rounds) / n) * tail))
    found = bandit.lemma_5_4(case[0], case[1], case[3], case[4], case[5])
    same(found, sigma)
    same(found, errata.printed_gaussian_scale(case[1], case[0], case[3], case[4], case[5]))
    order = rounds ** mp.mpf("0.75") * mp.sqrt(n) * lipschitz * diameter
    order += mp.sqrt(rounds) * n * lipschitz * diameter * mp.log(rounds) * logs * tail
    order += rounds ** mp.mpf("0.75") * mp.sqrt(n) * lipschitz * diameter * mp.log(rounds) * logs * mp.sqrt(tail)
    same(bandit.lemma_5_5(*case), order)


@setting
def test_norm_of_a_random_combination(case):
    n, rounds, _, norm, _, delta = map(mp.mpf, case)
    tail = mp.log((n + rounds) / delta)
    found = bandit.lemma_5_3(case[1], case[0], case[3], case[5])
    same(found, 10 * norm * (tail + mp.sqrt((1 + rounds / n) * tail)))
    same(found, errata.printed_norm_of_lemma_5_3(case[3], case[1], case[0], case[5]))


@setting
def test_the_frame_of_noisy_mirror_descent(case):
    _, steps, spread, kappa, noise, gamma = map(mp.mpf, case)
    rate = bandit.algorithm_2(case[1], case[2], case[3])
    same(rate, mp.sqrt(spread) / (kappa * mp.sqrt(steps)))
    same(rate, errata.printed_rate_of_algorithm_2(case[2], case[3], case[1]))
    same(bandit.appendix_b_rate(case[1], case[2], case[3]), 2 * spread / (kappa * mp.sqrt(steps)))
    same(
        bandit.lemma_4_1(case[1], case[2], case[3], case[5]),
        mp.sqrt(steps) * kappa * spread + steps * kappa * gamma,
    )
    plain = steps ** mp.mpf("0.75") * mp.sqrt(case[0]) * kappa * spread
    same(
        bandit.lemma_3_1(case[0], case[1], case[2], case[3], case[4]),
        plain + mp.root(steps, 4) * spread * noise * mp.log(steps),
    )


@setting
def test_the_lemmas_of_appendix_c_and_d(case):
    n, rounds, diameter, lipschitz, noise, zeta = map(mp.mpf, case)
    batch = mp.sqrt(rounds)
    same(
        bandit.lemma_c_2(float(batch), case[0], case[5], case[2], case[3]),
        batch * (lipschitz * diameter * n / zeta) ** 2 + batch**2 * lipschitz**2,
    )
    levels = mp.ceil(mp.log(rounds) / mp.log(2))
    moved = noise * (levels * lipschitz + diameter)
    same(bandit.lemma_c_3(case[1], case[4], case[3], case[2]), moved)
    same(bandit.lemma_c_4(float(batch), case[2]), mp.sqrt(20) * diameter / mp.sqrt(batch))
    same(
        bandit.corollary_c_5(case[1], case[4], case[3], case[2], float(batch), case[2]),
        moved + mp.sqrt(20) * diameter / mp.sqrt(batch),
    )
    shrunk = bandit.appendix_d(case[1], case[5], case[2], case[3], case[4])
    same(shrunk["shrink"], zeta / noise)
    same(shrunk["regret"], rounds * zeta * lipschitz * diameter / noise)


@setting
@pytest.mark.parametrize("base", [None, 2.0])
def test_the_noise_of_a_tree(case, base):
    _, length, _, norm, epsilon, delta = map(mp.mpf, case)
    logarithm = mp.log(length) if base is None else mp.log(length) / mp.log(2)
    found = bandit.theorem_2_3_laplace(case[1], case[3], case[4], base)
    same(found, norm * logarithm / epsilon)
    same(found, errata.printed_tree_scale(case[3], case[1], case[4], base or math.e))
    deviation = bandit.theorem_2_3_gaussian(case[1], case[3], case[4], case[5], base)
    same(deviation, norm / epsilon * logarithm * mp.log(logarithm / delta))
    if base is None:
        same(deviation, errata.printed_tree_deviation(case[3], case[1], case[4], case[5]))
    assert bandit.theorem_2_3_levels(case[1]) == int(mp.ceil(mp.log(length) / mp.log(2)))


@pytest.mark.parametrize(("count", "threshold"), [(1, 0.0), (1, 2.0), (2, 0.5), (3, 4.0), (10, 12.0), (20, 3.0)])
def test_tails_of_sums_of_laplace_variables(count, threshold):
    # The characteristic function of the sum is (1 + x^2)^-count.
    def integrand(x):
        return mp.sin(threshold * x) / x / (1 + x * x) ** count

    pieces = [0, *(mp.mpf(k) / 2 for k in range(1, 81)), 200, mp.inf] if count > 1 else None
    if count == 1:
        typed = mp.exp(-threshold) / 2
    else:
        typed = mp.mpf(1) / 2 - mp.quad(integrand, pieces) / mp.pi
    assert bandit.laplace_tail(count, threshold) == pytest.approx(float(typed), rel=1e-8, abs=1e-12)


def printed_tree_sums(vectors, noises, scale, generator, runs):
    """Algorithms 3 to 5, typed from the paper, for numbers: the sums of all rounds, shape (runs, T)."""
    length = len(vectors)
    depth = noises
    nodes = {}
    for level in range(depth + 1):
        for index in range(2**level):
            # A node covers the leaves whose first `level` bits are `index`.
            first, size = index * 2 ** (depth - level), 2 ** (depth - level)
            nodes[level, index] = sum(vectors[first : first + size]) + scale * generator.laplace(size=runs)
    sums = np.empty((runs, length))
    for t in range(1, length + 1):
        chosen = []
        if t == 2**depth:
            chosen = [(0, 0)]
        else:
            for level in range(1, depth + 1):
                index = t >> (depth - level)  # the ancestor of leaf t
                if index % 2 == 1:
                    chosen.append((level, index - 1))  # its left sibling
        padding = scale * generator.laplace(size=(runs, depth - len(chosen))).sum(axis=1)
        sums[:, t - 1] = sum(nodes[node] for node in chosen) + padding
    return sums


@pytest.mark.parametrize(("length", "epsilon"), [(2, 1.0), (4, 1.0), (8, 0.5)])
def test_the_attack_succeeds_as_often_as_the_lower_bound_says(length, epsilon):
    """The printed trees, run on neighbours: the first vector is 1 or -1, and one threshold is exceeded by all sums."""
    runs = 200_000
    noises = bandit.theorem_2_3_levels(length)
    scale = bandit.theorem_2_3_laplace(length, 1.0, epsilon)
    shift = 2.0 / scale
    bound = bandit.theorem_2_3_lower_bound(length, shift, epsilon)
    places = [shift + math.sqrt(2 * noises) * part / 20 for part in range(161)]
    count = length.bit_length()

    def gain(place):
        return (
            bandit.laplace_tail(noises, place - shift) ** count
            - math.exp(epsilon) * bandit.laplace_tail(noises, place) ** count
        )

    place = max(places, key=gain)
    assert bound == pytest.approx(gain(place), rel=1e-10)
    generator = Randomness.replayable(1).stream("trees")
    shares = []
    for first in (1.0, -1.0):
        sums = printed_tree_sums([first, *[0.0] * (length - 1)], noises, scale, generator, runs)
        at_powers = sums[:, [2**power - 1 for power in range(count)]]
        shares.append(float(np.mean((at_powers >= -1.0 + place * scale).all(axis=1))))
    measured = shares[0] - math.exp(epsilon) * shares[1]
    error = math.sqrt(shares[0] / runs) + math.exp(epsilon) * math.sqrt(max(shares[1], 1 / runs) / runs)
    assert abs(measured - bound) < 5 * error  # 5 standard errors
    assert measured > 3 * error  # and the promise is seen to be broken


def test_the_lower_bound_is_no_larger_than_what_is_leaked():
    """Two nodes with one noise each at T = 2: delta by integration over both."""
    shift = 2 / bandit.theorem_2_3_laplace(2, 1.0, 1.0)
    axis = np.linspace(-30, 30, 4001)
    before = np.exp(-np.abs(axis)) / 2
    after = np.exp(-np.abs(axis - shift)) / 2
    excess = np.maximum(after[:, None] * after[None, :] - math.e * before[:, None] * before[None, :], 0.0)
    leaked = float(excess.sum()) * (axis[1] - axis[0]) ** 2
    found = bandit.theorem_2_3_lower_bound(2, shift, 1.0)
    assert 0.2 < found < leaked < 1.0
    # Scales for the true sensitivity are beyond the attack.
    for length in (2, 64, 1024):
        assert bandit.theorem_2_3_lower_bound(length, 1.0 / length.bit_length(), 1.0) == 0.0
