"""Worlds for learners that decide by features: expected losses linear in them, and the attacks on that.

Losses are coins of mean 1/2 + <theta_a, x>. Regret is measured in these means, against the best action of each round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.environments.environment import InContext, OptionsWorld
from tacit.validation import SMALLEST, FloatArray, check_choice, check_integer, check_table

SHAPES = ("sphere", "gaussian", "one-hot", "skewed", "ties", "weak", "shrunk", "gap one")
"""Features and parameters of `LinearContexts`."""
_CONSTANT = 0.6  # the constant coordinate of features on a sphere; the others have the rest of the length
_STRONG = 0.95  # the constant coordinate of "shrunk"


@dataclass(frozen=True)
class LinearContexts(OptionsWorld):
    """Independent features and coins whose means are linear in them, every parameter within `radius` of 0.

    Shapes: "sphere" (a constant and a uniform direction), "gaussian" (short vectors), "one-hot" (one of `dimension`
    groups), "skewed" (a geometric spectrum). Attacks: "ties" (all actions as close as `gap`), "weak" (a
    spectrum as small as a ridge), "shrunk" (a safe action on a strong direction, better actions on weak ones: shrinkage
    turns the order round), "gap one" (one action costs nothing, all others everything).

    Attributes:
        shape: one of the above.
        radius: the largest length of a parameter.
        gap: of "ties"; the variance of a coordinate, over its largest, of "weak" and "shrunk".
        missing: probability that a round has no reply, whatever is played.
    """

    dimension: int = 5
    shape: str = "sphere"
    radius: float = 0.5
    gap: float = 0.05
    missing: float = 0.0
    _fewest: ClassVar[int] = 2
    _between = (("radius", SMALLEST, 0.5), ("gap", SMALLEST, 1.0), ("missing", 0.0, 1.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("LinearContexts", "dimension", self.dimension)
        check_choice("LinearContexts", "shape", self.shape, SHAPES)

    def in_context(self, generator: np.random.Generator) -> InContext:
        """Draw features, and coins with their means."""
        check_table("LinearContexts", self.horizon, max(self.n, self.dimension))
        features, parameters = self._features(generator), self._parameters(generator)
        means = 0.5 + features @ parameters.T
        losses = (generator.random(means.shape) < means).astype(np.float64)
        if self.missing:
            losses[generator.random(self.horizon) < self.missing] = np.nan
        return InContext(features, losses, means)

    def _features(self, generator: np.random.Generator) -> FloatArray:
        rounds, d = self.horizon, self.dimension
        if self.shape in ("one-hot", "gap one"):
            groups = generator.integers(d, size=rounds) if self.shape == "one-hot" else np.zeros(rounds, dtype=np.int64)
            return np.eye(d)[groups]
        drawn = generator.standard_normal((rounds, d))
        match self.shape:
            case "gaussian":
                drawn *= 0.5 / np.sqrt(d)
            case "skewed":
                drawn *= 0.5 ** (np.arange(d) / 2)
                drawn /= max(1.0, float(np.sqrt(np.sum(0.5 ** np.arange(d)))))
            case "weak":
                drawn = np.sign(drawn) * np.sqrt(self.gap / d)
            case "shrunk":
                drawn = np.sign(drawn) * np.sqrt(self.gap / d)
                drawn[:, 0] = _STRONG
            case _:
                drawn[:, 0] = 0.0
                length = np.linalg.norm(drawn, axis=1, keepdims=True)
                drawn *= np.sqrt(1 - _CONSTANT**2) / np.maximum(length, 1e-300)
                drawn[:, 0] = _CONSTANT
        return np.asarray(drawn / np.maximum(1.0, np.linalg.norm(drawn, axis=1, keepdims=True)))

    def _parameters(self, generator: np.random.Generator) -> FloatArray:
        n, d = self.n, self.dimension
        if self.shape == "gap one":
            apart = np.zeros((n, d))
            apart[:, 0] = self.radius
            apart[int(generator.integers(n)), 0] = -self.radius
            return apart
        drawn = generator.standard_normal((n, d))
        lengths = np.maximum(np.linalg.norm(drawn, axis=1, keepdims=True), 1e-300)
        if self.shape == "ties":  # the best of two neighbours changes with the features, and by about the gap
            return np.asarray(drawn / lengths * min(self.radius, self.gap))
        parameters: FloatArray = drawn / lengths * self.radius
        if self.shape == "shrunk":
            parameters[:, 0] = 0.0
            parameters[0] = 0.0
            parameters[0, 0] = -min(self.radius, self.radius * np.sqrt(self.gap / d)) / _STRONG
        return parameters
