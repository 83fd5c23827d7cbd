"""Laws of perturbed minimisers in one dimension, where densities and masses can be computed on a grid."""

from math import log, pi, sqrt

import numpy as np
from scipy.special import ndtr


class Interval:
    """Perturbed minimisers on (-1, 1): losses a x + (b/2) x^2, ridge 1/eta, barrier -w ln(1 - x^2)."""

    def __init__(self, ridge: float, weight: float, edge: float = 1e-12, points: int = 200_001) -> None:
        # Gradients grow like 1/(1 - |x|): points crowd at both ends.
        self.x = np.tanh(np.linspace(-1.0, 1.0, points) * np.arctanh(1 - edge))
        self.ridge, self.weight = ridge, weight

    def gradient(self, losses: list[tuple[float, float]]) -> np.ndarray:
        """J'(x)."""
        own = self.ridge * self.x + 2 * self.weight * self.x / (1 - self.x**2)
        return own + sum(a + b * self.x for a, b in losses)

    def curvature(self, losses: list[tuple[float, float]]) -> np.ndarray:
        """J''(x)."""
        own = self.ridge + 2 * self.weight * (1 + self.x**2) / (1 - self.x**2) ** 2
        return own + sum(b for _, b in losses)

    def log_density(self, losses: list[tuple[float, float]], sigma: float) -> np.ndarray:
        """Lemma 2: the normal density at -J'(x), times J''(x)."""
        z = self.gradient(losses) / sigma
        return -(z**2) / 2 - log(sigma * sqrt(2 * pi)) + np.log(self.curvature(losses))

    def mass(self, outside: np.ndarray, losses: list[tuple[float, float]], sigma: float) -> float:
        """The probability of the points marked, by differences of the distribution function."""
        steps = np.diff(ndtr(self.gradient(losses) / sigma))
        return float(np.sum(steps[outside[:-1] | outside[1:]]))
