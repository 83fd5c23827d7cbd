"""Numerical integration for learners with one continuous coordinate: draws become nodes of a quadrature.

In one dimension a draw has a density that the learner's own state determines. Replacing the draw by Gauss-Legendre
nodes, each as likely as its weight times its density, turns the learner into one with finite outputs, and
the enumeration of scripted/enumeration.py then integrates the hockey stick over all draws of the transcript. Coins,
clipping, measures and gradients are the shipped code's; only "draw from this density" is taken on trust here, and
tested by draws.py in one and more dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import exp, expm1, inf
from typing import Any

import numpy as np

from tacit.auditing.densities.keep_probabilities import hazard
from tacit.auditing.scripted.enumeration import Feedback, Law, transcript_law
from tacit.auditing.scripted.script import Stream
from tacit.auditing.swapped_attributes import swapped
from tacit.learners.ctrl import coupled, held_point
from tacit.learners.l2p_convex import measure
from tacit.learners.plan import Plan
from tacit.validation import FloatArray

NODES = 8
QUADRATURE_SLACK = 0.03
"""Relative error of integrated hockey sticks, whose integrand has kinks."""


def interval_law(plan: Plan, feedback: Feedback) -> Law:
    """The law of everything released, on the nodes of the quadrature."""
    with integrated_draws():
        return transcript_law(plan, feedback)


@contextmanager
def integrated_draws(nodes: int = NODES) -> Iterator[None]:
    """Draws from one-dimensional densities take nodes; coins that are kept as numbers are asked instead."""
    unit, weights = np.polynomial.legendre.leggauss(nodes)

    def sample(self: Any, generator: Stream) -> FloatArray:
        """The measure's density at the nodes, from its own history and penalty."""
        low, high = float(self._nodes[0]), float(self._nodes[-1])
        points = (low + high) / 2 + (high - low) / 2 * unit

        def masses() -> FloatArray:
            potential = self._rate * (self._history.value(points[:, None]) + self._penalty(points))
            return np.asarray(weights * np.exp(potential.min() - potential))

        return np.array([points[_ask(generator, masses)]])

    def draw(self: Any) -> None:
        """The density of the perturbed minimiser at x: that of the noise -J'(x), times J''(x)."""
        points = unit * (1 - 1e-9)
        barrier = self._set.hull_barrier

        def slope(x: FloatArray) -> FloatArray:
            return np.asarray(self._sums.gradient(x)[0] + self._ridge * x + self._weight * barrier.gradient(x))

        def masses() -> FloatArray:
            slopes, curvatures = np.empty(nodes), np.empty(nodes)
            for index, x in enumerate(points[:, None]):
                bend = self._sums.hessian(x) + self._weight * barrier.hessian(x)
                slopes[index], curvatures[index] = slope(x)[0], bend[0, 0] + self._ridge
            deviation = self._deviation(self._sums.count)
            return np.asarray(weights * curvatures * np.exp(-((slopes / deviation) ** 2) / 2))

        x = points[[_ask(self._streams["noise"], masses)]]
        self._hold(self._set.from_hull(x), x, -slope(x))

    scripted: list[Stream] = []

    def clocks(self: Stream, size: Any = None) -> Any:
        """Clocks that a learner keeps as numbers: not a number, until its coin is asked."""
        if self._name != "keep" or size is None:
            return honest_clocks(self, size)
        scripted.append(self)
        return np.full(size, np.nan)

    def asked(honest_scan: Any) -> Any:
        """A scan of one round whose coin is the script's; its hazard is read off the shipped scan itself."""

        def scan(self: held_point.Held, rows: FloatArray, coins: held_point.Coins) -> int:
            if np.isinf(coins.clocks[0]):
                return int(honest_scan(self, rows, coins))

            def law() -> tuple[float, float]:
                limit = hazard(honest_scan, self, rows, coins)
                return exp(-limit), -expm1(-limit)

            drawn = scripted[-1]._script.ask("keep", law) == 1
            return int(honest_scan(self, rows, replace(coins, clocks=np.array([0.0 if drawn else inf]))))

        return scan

    honest_clocks = Stream.standard_exponential
    swaps = (
        (measure.IntervalMeasure, "sample", sample),
        (coupled.CoupledLearner, "_draw", draw),
        *((kind, "scan", asked(kind.scan)) for kind in held_point.KINDS),
        (Stream, "standard_exponential", clocks),
    )
    with swapped(*swaps):
        yield


def _ask(stream: Stream, masses: Callable[[], FloatArray]) -> int:
    def law() -> list[float]:
        values = masses()
        return list((values / values.sum()).tolist())

    return stream._script.ask(stream._name, law)
