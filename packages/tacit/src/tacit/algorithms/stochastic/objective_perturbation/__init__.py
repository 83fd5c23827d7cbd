"""ObjectivePerturbation: the minimiser of a noisy objective."""
