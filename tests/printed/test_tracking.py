"""Printed formulas of "Tracking the Best Expert Privately", against a typing of their own with 40 digits."""

from itertools import combinations, product

import numpy as np
import pytest
from mpmath import mp, mpf

from tacit.noise.randomness import Randomness
from tacit.printed import tracking

SETTINGS = [
    {"n": 10, "T": 20_000, "S": 3, "epsilon": 1.0, "beta": 0.05, "delta": 1e-9, "w": 20_000, "eta": 0.004},
    {"n": 2, "T": 300, "S": 1, "epsilon": 0.25, "beta": 0.01, "delta": 1e-6, "w": 17, "eta": 0.3},
    {"n": 1000, "T": 1_000_000, "S": 20, "epsilon": 0.03, "beta": 1e-4, "delta": 1e-12, "w": 4096, "eta": 1e-5},
]


def exact(setting):
    """The numbers of a setting with 40 digits, and their logarithms."""
    mp.dps = 40
    found = {name: mpf(value) for name, value in setting.items()}
    return type("Exact", (), {**found, "lnT": mp.log(found["T"]), "lnNT": mp.log(found["n"] * found["T"])})


def theorem_3_1(x):
    spread = mp.log(x.n * x.T / x.beta)
    return 16 * spread * x.lnT / x.epsilon + 9 * mp.sqrt(x.w * mp.log(x.T * x.n / x.beta))


def alpha(x, beta):
    return 16 * (2 * x.lnT + mp.log(2 / beta)) / x.epsilon


def reg(x, beta):
    """Reg_w of Algorithm 2, line 7, without its root: the other part is slope sqrt(w)."""
    return 16 * mp.log(x.n * x.T / beta) * x.lnT / x.epsilon


def theorem_3_2_proof(x):
    beta = 1 / x.T
    root = 9 * mp.sqrt(2 * x.S * x.T * mp.log(x.T * x.n / beta))
    return root + 2 * x.S * (reg(x, beta) + 2 * alpha(x, beta) + 1)


def corollary_4_3(x):
    return mp.sqrt(x.S * x.T * x.lnNT) + x.S * x.T ** (mpf(1) / 3) * mp.log(x.T / x.delta) * x.lnNT / x.epsilon ** (
        mpf(2) / 3
    )


def theorem_c_2(x):
    return 2 * x.S * x.lnNT / x.eta + 10 * x.eta * x.T * x.lnNT**2 / x.epsilon**2 + 4 * x.S * x.lnNT / x.epsilon + 1


# The function (by its name, where bugs may be planted), its arguments, the key of its answer (None: a number), and the
# paper's formula.
FORMULAS = {
    "Algorithm 1, scale": ("algorithm_1", "epsilon", "scale", lambda x: 2 / x.epsilon),
    "Theorem 3.1": ("theorem_3_1_regret", "n T epsilon beta w", None, theorem_3_1),
    "Lemma 2.4": (
        "lemma_2_4",
        "T epsilon beta",
        None,
        lambda x: 8 * (x.lnT + mp.log(2 / x.beta)) / x.epsilon,
    ),
    "Algorithm 2, selections": ("algorithm_2", "n T epsilon beta", "selection_scale", lambda x: 4 / x.epsilon),
    "Algorithm 2, threshold": ("algorithm_2", "n T epsilon beta", "threshold_scale", lambda x: 4 / x.epsilon),
    "Algorithm 2, queries": ("algorithm_2", "n T epsilon beta", "query_scale", lambda x: 8 / x.epsilon),
    "Algorithm 2, alpha": ("algorithm_2", "n T epsilon beta", "alpha", lambda x: alpha(x, x.beta)),
    "Algorithm 2, slope": (
        "algorithm_2",
        "n T epsilon beta",
        "slope",
        lambda x: 9 * mp.sqrt(mp.log(x.T * x.n / x.beta)),
    ),
    "Algorithm 2, margin": (
        "algorithm_2",
        "n T epsilon beta",
        "margin",
        lambda x: reg(x, x.beta) + alpha(x, x.beta) + 1,
    ),
    "Theorem 3.2, order": (
        "theorem_3_2_order",
        "n T S epsilon",
        None,
        lambda x: mp.sqrt(x.S * x.T * x.lnNT) + x.S * x.lnNT * x.lnT / x.epsilon,
    ),
    "Theorem 3.2, proof": ("theorem_3_2_regret", "n T S epsilon", None, theorem_3_2_proof),
    "Section 3": ("section_3_order", "n S epsilon", None, lambda x: x.S * mp.log(x.n / x.S) / x.epsilon),
    "Proposition 4.2": (
        "proposition_4_2_order",
        "n T epsilon delta",
        None,
        lambda x: (
            mp.sqrt(x.T * mp.log(x.n)) + mp.cbrt(x.T) * mp.log(x.T / x.delta) * mp.log(x.n) / mp.cbrt(x.epsilon**2)
        ),
    ),
    "Corollary 4.3": ("corollary_4_3_order", "n T S epsilon delta", None, corollary_4_3),
    "Theorem 5.1": (
        "theorem_5_1_order",
        "T S epsilon",
        None,
        lambda x: min(x.T, x.S / (x.epsilon * mp.log(x.T / (x.S + 1))) ** 2),
    ),
    "Proposition D.1": (
        "proposition_d_1_order",
        "T epsilon",
        None,
        lambda x: min(x.T, 1 / (x.epsilon * x.lnT) ** 2),
    ),
    "Theorem 5.2, eta": (
        "theorem_5_2",
        "n T S epsilon",
        "eta",
        lambda x: x.epsilon * mp.sqrt(x.S / (x.T * x.lnNT)),
    ),
    "Algorithm 3, scale": ("theorem_5_2", "n T S epsilon", "scale", lambda x: 1 / x.epsilon),
    "Algorithm 3, floor": ("theorem_5_2", "n T S epsilon", "floor", lambda x: x.S / (x.n * x.T)),
    "Theorem 5.2, order": (
        "theorem_5_2_order",
        "n T S epsilon",
        None,
        lambda x: mp.sqrt(x.S * x.T) * x.lnNT ** mpf("1.5") / x.epsilon + x.S * x.lnNT / x.epsilon,
    ),
    "Theorem C.2": ("theorem_c_2_regret", "n T S epsilon eta", None, theorem_c_2),
}


@pytest.mark.parametrize("name", list(FORMULAS))
def test_formulas_are_those_of_the_paper(name):
    function, taken, key, formula = FORMULAS[name]
    for setting in SETTINGS:
        found = getattr(tracking, function)(*(setting[each] for each in taken.split()))
        value = found if key is None else found[key]
        wanted = formula(exact(setting))
        assert abs(mpf(value) - wanted) <= mpf("1e-12") * abs(wanted)


def test_every_formula_is_typed_twice():
    public = {
        name for name, value in vars(tracking).items() if callable(value) and value.__module__ == tracking.__name__
    }
    apart = {"algorithm_2_epsilon", "theorem_4_1_experts", "theorem_5_2_leak", "_first_expert_every_round"}
    assert {function for function, *_ in FORMULAS.values()} | apart == public


def test_the_numbers_of_the_comparison():
    """What the table of the paper was compared with, to the digit."""
    assert round(tracking.theorem_3_1_regret(10, 20_000, 1.0, 0.05, 20_000)) == 7_371
    assert round(tracking.theorem_3_1_regret(10, 200_000, 1.0, 0.05, 200_000)) == 20_258
    assert round(tracking.theorem_3_2_order(10, 20_000, 3, 1.0)) == 1_218
    assert round(tracking.theorem_3_2_order(10, 200_000, 3, 1.0)) == 3_482
    assert round(tracking.theorem_5_2_order(10, 20_000, 3, 1.0)) == 10_482
    assert round(tracking.theorem_5_2_order(10, 200_000, 3, 1.0)) == 42_851
    assert tracking.corollary_4_3_order(10, 20_000, 3, 1.0, 1e-9) == pytest.approx(31_298, rel=2e-4)
    assert tracking.theorem_4_1_experts(2, 300, 1) == 1_202
    assert tracking.theorem_4_1_experts(2, 1000, 1) == 4_002


def test_a_phase_of_one_round_has_the_regret_of_the_horizon():
    """The logarithm of its length is 0."""
    assert tracking.theorem_5_1_order(2, 1, 0.5) == 2.0
    assert tracking.proposition_d_1_order(1, 0.5) == 1.0
    assert tracking.theorem_5_1_order(1000, 0, 0.01) == 0.0


def test_the_price_of_algorithm_2_is_added_up_from_its_noise():
    """A move of 2 against Lap(4/epsilon), Lap(4/epsilon) and Lap(8/epsilon), and of 2 at the old epoch's last tests."""
    values = tracking.algorithm_2(5, 1000, 1.0, 0.001)
    selection, threshold, query = (2 / values[f"{name}_scale"] for name in ("selection", "threshold", "query"))
    assert tracking.algorithm_2_epsilon() == pytest.approx(query + selection + threshold + query) == 1.5


@pytest.mark.parametrize(("n", "rounds", "switches"), [(2, 3, 1), (3, 4, 2), (2, 5, 0)])
def test_meta_experts_are_counted(n, rounds, switches):
    listed = [
        (times, experts)
        for changes in range(switches + 1)
        for times in combinations(range(rounds), changes)
        for experts in product(range(n), repeat=changes + 1)
    ]
    assert tracking.theorem_4_1_experts(n, rounds, switches) == len(listed)


def test_the_leak_is_that_of_two_rounds_by_quadrature():
    """N = 2, T = 2: P[J_2 = 1] is an integral over Z_1 - Z_2, whose density is (1 + |z|/b) e^{-|z|/b}/(4b)."""
    epsilon, eta, floor, scale = 0.4, 0.7, 0.1, 2.5

    def chance(gap):
        """E of the clipped weight of expert 1, whose loss is smaller by `gap`."""

        def integrand(z):
            weight = 1 / (1 + mp.exp(-mpf(eta) * (gap - z)))
            density = (1 + abs(z) / scale) * mp.exp(-abs(z) / scale) / (4 * scale)
            return min(max(weight, mpf(floor)), 1 - mpf(floor)) * density

        edge = mp.log((1 - mpf(floor)) / floor) / eta
        return mp.quad(integrand, sorted([-200, gap - edge, 0, gap + edge, 200]))

    mp.dps = 20
    better, worse = chance(1), chance(-1)
    noise = Randomness.replayable(3).stream("noise").laplace(0.0, scale, (1, 200_000, 2))
    leak, ratio = tracking.theorem_5_2_leak(epsilon, eta, floor, noise)
    assert ratio == pytest.approx(float(mp.log(better / worse)), abs=0.01)
    assert leak == 0.0, "two rounds leak less than epsilon"
    tight, _ = tracking.theorem_5_2_leak(0.1, eta, floor, noise)
    wanted = float(better - mp.exp(mpf("0.1")) * worse)
    assert 0.9 * wanted < tight <= wanted, "lowered by six standard errors"


def test_the_leak_of_six_rounds_is_above_the_printed_epsilon():
    values = tracking.theorem_5_2(3, 6, 2, 0.5)
    noise = Randomness.replayable(1).stream("noise").laplace(0.0, values["scale"], (5, 100_000, 3))
    leak, ratio = tracking.theorem_5_2_leak(0.5, values["eta"], values["floor"], noise)
    assert ratio == pytest.approx(0.607, abs=0.006)
    assert leak > 1e-3
    enough = tracking.theorem_5_2_leak(0.5, values["eta"], values["floor"], 3 * noise)
    assert enough[0] == 0.0
    assert enough[1] < 0.5
    assert np.isfinite(enough[1])
