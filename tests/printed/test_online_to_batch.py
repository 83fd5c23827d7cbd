"""The printed formulas of online_to_batch, against an independent typing with 40 digits."""

import mpmath as mp
import numpy as np
import pytest

from tacit.printed import online_to_batch as formulas
from tacit.printed.online_to_batch import Constants

mp.mp.dps = 40
SETTINGS = [
    # T, k, D, G, H, sigma_G, sigma_H, d, epsilon, delta, lambda, mu, |x*|, C, failure
    (10_000, 1, 4.0, 1.0, 0.25, 2.0, 0.5, 10, 1.0, 1e-6, 2.0, 0.1, 2.0, 1.0, 0.05),
    (777, 3, 1.5, 0.7, 1.3, 0.2, 0.1, 3, 0.3, 1e-9, 1.2, 0.7, 0.4, 2.5, 0.01),
    (100_000, 2, 10.0, 3.0, 0.01, 1.0, 0.0, 100, 8.0, 1e-5, 2.0, 2.0, 5.0, 0.3, 0.2),
]
settings = pytest.mark.parametrize("setting", SETTINGS, ids=("paper", "short", "long"))


def constants(setting):
    rounds, k, diameter, g, h, sigma_g, sigma_h, d, epsilon, delta, strong, *_ = setting
    rho = formulas.rho(epsilon, delta)
    return Constants(rounds, k, diameter, g, h, sigma_g, sigma_h, rho, float(d), strong)


def exact(setting):
    """The same numbers with all digits, rho typed anew."""
    numbers = [mp.mpf(value) for value in setting]
    rho = numbers[8] / mp.sqrt(4 * mp.log(1 / numbers[9]))
    return numbers, rho


def agrees(found, wanted):
    assert abs(mp.mpf(float(found)) / wanted - 1) < 1e-12


@settings
def test_privacy_and_noise(setting):
    (rounds, k, diameter, g, h, *_, d, epsilon, delta, strong, _, _, _, _), rho = exact(setting)
    agrees(formulas.rho(setting[8], setting[9]), rho)
    agrees(2 * rho * mp.sqrt(-mp.log(delta)), epsilon)
    agrees(formulas.smallest_delta(float(rho)), mp.e ** -(mp.mpf(float(rho)) ** 2))
    agrees(
        formulas.lemma_15(float(k), float(g), float(h), 0.37, 19.0), (k + 1) * (g + h * mp.mpf(0.37)) * 19 ** (k - 1)
    )
    # sigma_t of equation (6) at |w - x| = D, from the formula of its square.
    t = 19
    square = 4 * (k + 1) ** 2 / rho**2 * (g + h * diameter) ** 2 * mp.log(2 * rounds, 2) * mp.mpf(t) ** (2 * k - 2)
    scale = formulas.equation_6(float(rho), setting[0])["scale"]
    agrees(scale * formulas.lemma_15(float(k), float(g), float(h), float(diameter), t), mp.sqrt(square))
    known = constants(setting)
    noise = 8 * (k + 1) ** 2 * d * (g + diameter * h) ** 2 / (strong * rho**2) * mp.log(2 * rounds, 2) ** 2
    agrees(formulas.equation_7(known)[t - 1], noise * mp.mpf(t) ** (2 * k - 2))


@settings
def test_pure_noise(setting):
    (rounds, *_, d, epsilon, _, _, _, _, _, _), _ = exact(setting)
    plain = formulas.theorem_19(setting[8], setting[0], setting[7])
    linear = formulas.theorem_19(setting[8], setting[0], setting[7], linear=True)
    levels = 1 + mp.log(rounds) / mp.log(2)
    agrees(plain["scale"], 2 * mp.sqrt(levels) / epsilon)
    agrees(linear["scale"], 2 * levels / epsilon)
    # E|x|^2 of the density exp(-|x|): the second moment of a Gamma(d) variable.
    moment = mp.quad(lambda r: r ** (d + 1) * mp.e**-r, [0, d, 4 * d, mp.inf]) / mp.gamma(d)
    agrees(plain["variance"], moment)


@settings
def test_theorems_4_and_6(setting):
    (rounds, k, diameter, g, h, sigma_g, sigma_h, d, _, _, strong, *_), rho = exact(setting)
    known, regret = constants(setting), 123.5
    levels = mp.log(2 * rounds, 2)
    bracket = (sigma_g + diameter * sigma_h) / mp.sqrt(rounds)
    bracket += mp.sqrt(2 * d) * (g + diameter * h) * levels / (rho * rounds)
    lost = 2 * (k + 1) ** 2 * diameter / mp.sqrt(strong) * bracket
    found = formulas.theorem_4(known, regret)
    agrees(found["without_regret"], lost)
    agrees(found["excess_risk"], (k + 1) * mp.mpf(regret) / rounds ** (k + 1) + lost)
    for t in (1, 17, setting[0]):
        inner = (sigma_g + diameter * sigma_h) ** 2 / t
        inner += 2 * d * (g + diameter * h) ** 2 * levels**2 / (rho**2 * mp.mpf(t) ** 2)
        square = 3 * mp.mpf(t) ** (2 * k) * (g**2 + 4 * (k + 1) ** 2 / strong * inner)
        agrees(formulas.theorem_4_gradients(known)[t - 1], square)
        changes = 3 * (k + 1) ** 2 * (g + diameter * h) ** 2 * mp.mpf(t) ** (2 * k - 2)
        agrees(formulas.theorem_6_changes(known)[t - 1], changes * (1 + 16 * d * levels**2 / (strong * rho**2)))


@settings
def test_theorem_8(setting):
    (rounds, k, diameter, g, h, sigma_g, sigma_h, d, _, _, strong, mu, *_), rho = exact(setting)
    known, regret = constants(setting), 123.5
    levels = mp.log(2 * rounds, 2)
    bracket = (sigma_g + diameter * sigma_h) ** 2 / rounds
    bracket += 2 * d * (g + diameter * h) ** 2 * levels**2 / (rho**2 * rounds**2)
    lost = 16 * (k + 1) ** 3 / (strong * mu) * bracket
    found = formulas.theorem_8(known, regret, float(mu))
    agrees(found["without_regret"], lost)
    agrees(found["excess_risk"], (k + 1) * mp.mpf(regret) / rounds ** (k + 1) + lost)
    for t in (1, 17, setting[0]):
        inner = (sigma_g + diameter * sigma_h) ** 2 / t
        inner += 2 * d * (g + diameter * h) ** 2 * levels**2 / (rho**2 * mp.mpf(t) ** 2)
        square = mp.mpf(t) ** (2 * k) * (4 * g**2 + mu**2 * diameter**2 + 16 * (k + 1) ** 2 / strong * inner)
        agrees(formulas.theorem_8_gradients(known, float(mu))[t - 1], square)
    squares, weights = np.array([1.0, 4.0, 9.0]), np.array([1.0, 2.0, 3.0])
    by_hand = 1 / mu + 4 / (3 * mu) + 9 / (6 * mu)  # 2 mu_(1:t) = mu beta_(1:t)
    agrees(formulas.remark_9_regret(squares, weights, float(mu)), by_hand)


@settings
def test_theorems_10_and_11(setting):
    (rounds, _, diameter, g, h, _, _, d, _, _, _, _, distance, c, failure), rho = exact(setting)
    setting = (setting[0], 3, *setting[2:])
    known, size = constants(setting), setting[7]
    levels = mp.log(2 * rounds, 2)
    a, a_noise = 8 * mp.sqrt(2) * c**2, 8 * mp.sqrt(d) * c**2
    phi = mp.sqrt(mp.log(20 * d * rounds * mp.log(2 * (1 + diameter * h / g) * rounds) / failure))
    found = formulas.theorem_10(known, size, float(failure), float(c))
    t = 23
    xi = a * g * phi * mp.mpf(t) ** 2.5 + a_noise * (g + diameter * h) * phi * levels * t**2 / rho
    agrees(found["phi"], phi)
    agrees(found["first"] * t**2.5 + found["second"] * t**2, xi)
    agrees(found["square"] * t**2.5, 28 * a * h * phi * mp.mpf(t) ** 2.5)
    bound = formulas.theorem_11(known, size, float(failure), float(c), float(distance), 55.0)
    lost = 8 * a * distance * (g + 28 * distance * h) * phi / mp.sqrt(rounds)
    lost += 8 * a_noise * distance * (g + diameter * h) * phi * levels / (rho * rounds)
    agrees(bound["without_regret"], lost)
    agrees(bound["excess_risk"], lost + 4 * mp.mpf(55) / rounds**4)
    gradient = g * mp.mpf(t) ** 3 + a * (2 * g + 57 * diameter * h) * phi * mp.mpf(t) ** 2.5
    gradient += 2 * a_noise * (g + diameter * h) * phi * levels * t**2 / rho
    agrees(formulas.theorem_11_gradients(known, size, float(failure), float(c))[t - 1], gradient)
