"""Curves against an independent accountant: dp-accounting's privacy loss distributions, from below and from above."""

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.accounting.curves import BoundedRange, Gaussian, Pure, Repeated
from tacit.accounting.lazy import LazyChain

EPSILONS = (0.0, 0.01, 0.1, 0.5, 1.0, 3.0)


def optimistic(first, second):
    """A lower bound on the exact curve of one pair of distributions, given as probabilities of outcomes."""

    def logs(p):
        return {i: float(np.log(x)) for i, x in enumerate(p)}

    return pld.from_two_probability_mass_functions(
        logs(first), logs(second), pessimistic_estimate=False, value_discretization_interval=1e-4
    )


def test_repeated_pure_covers_composed_randomised_response():
    p = np.exp(0.3) / (1 + np.exp(0.3))
    exact = optimistic((p, 1 - p), (1 - p, p)).self_compose(12)
    certified = Repeated(Pure(0.3), 12)
    for epsilon in EPSILONS:
        lower = exact.get_delta_for_epsilon(epsilon)
        assert lower <= certified.delta(epsilon) <= 5 * lower + 0.2
    single = pld.from_randomized_response(2 / (1 + np.e), 2)
    assert single.get_delta_for_epsilon(0.0) <= Pure(1.0).delta(0.0) * (1 + 1e-3)


def test_repeated_bounded_range_covers_composed_selections():
    up, down = np.exp(0.1), np.exp(-0.1)  # log odds in an interval of length 0.2
    second = (1 - down) / (up - down)
    exact = optimistic((second * up, (1 - second) * down), (second, 1 - second)).self_compose(50)
    certified = Repeated(BoundedRange(0.2), 50)
    for epsilon in EPSILONS:
        assert exact.get_delta_for_epsilon(epsilon) <= certified.delta(epsilon)
    assert certified.delta(1.0) <= 4 * exact.get_delta_for_epsilon(1.0)


def test_repeated_sometimes_covers_lazy_draws():
    s, p = 0.2, np.exp(0.5) / (1 + np.exp(0.5))
    exact = optimistic((1 - s, s * p, s * (1 - p)), (1 - s, s * (1 - p), s * p)).self_compose(40)
    certified = LazyChain(40, 1 - s, 1 - s, 0.0, Pure(0.5))
    for epsilon in EPSILONS:
        assert exact.get_delta_for_epsilon(epsilon) <= certified.delta(epsilon)
    assert certified.delta(1.0) <= 4 * exact.get_delta_for_epsilon(1.0)


def test_gaussian_matches_the_independent_accountant():
    upper = pld.from_gaussian_mechanism(1 / 0.8, pessimistic_estimate=True)
    lower = pld.from_gaussian_mechanism(1 / 0.8, pessimistic_estimate=False)
    for epsilon in EPSILONS:
        assert lower.get_delta_for_epsilon(epsilon) <= Gaussian(0.8).delta(epsilon) * (1 + 1e-9)
        assert Gaussian(0.8).delta(epsilon) <= upper.get_delta_for_epsilon(epsilon) * (1 + 1e-6) + 1e-12
