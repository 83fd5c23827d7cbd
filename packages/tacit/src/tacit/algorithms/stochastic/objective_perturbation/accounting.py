"""The home that saved curves name; the code is `tacit.accounting.objective_perturbation`."""

from tacit.accounting.objective_perturbation import GaussianAlternatives, LinkedReleases

__all__ = ["GaussianAlternatives", "LinkedReleases"]
