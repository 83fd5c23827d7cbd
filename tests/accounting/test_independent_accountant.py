"""Curves against an independent accountant: dp-accounting's privacy loss distributions, from below and from above."""

from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.accounting.curves import Gaussian

EPSILONS = (0.0, 0.01, 0.1, 0.5, 1.0, 3.0)


def test_gaussian_matches_the_independent_accountant():
    upper = pld.from_gaussian_mechanism(1 / 0.8, pessimistic_estimate=True)
    lower = pld.from_gaussian_mechanism(1 / 0.8, pessimistic_estimate=False)
    for epsilon in EPSILONS:
        assert lower.get_delta_for_epsilon(epsilon) <= Gaussian(0.8).delta(epsilon) * (1 + 1e-9)
        assert Gaussian(0.8).delta(epsilon) <= upper.get_delta_for_epsilon(epsilon) * (1 + 1e-6) + 1e-12
