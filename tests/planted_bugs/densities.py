"""Planted bugs in learners that draw from densities in several dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, around, planting
from planted_bugs.tested import by_test
from tacit.algorithms.convex.ctrl import coupled, ctrl
from tacit.algorithms.convex.l2p_convex import measure, proximal
from tacit.domains import Ball, Box
from tacit.losses.loss import LogisticLoss, QuadraticLoss
from tacit.runtime.two_chains import TwoChains

CTRL, GIBBS = "algorithms.convex.ctrl", "algorithms.convex.l2p_convex"
drawn = by_test(f"{CTRL}.test_draws", "test_draws_are_those_of_the_certificate", QuadraticLoss(), 1400)
modelled = by_test(f"{CTRL}.test_draws", "test_draws_are_those_of_the_certificate", LogisticLoss(), 300)
tossed = by_test(f"{CTRL}.test_ctrl", "test_without_losses_the_law_is_the_perturbed_minimiser")
compared = by_test(f"{CTRL}.test_held_point", "test_coins_know_the_density_ratio", QuadraticLoss(0.5), Ball(2))
moved = by_test(
    f"{GIBBS}.test_l2p_convex",
    "test_one_replaced_loss_moves_the_log_of_the_keep_probability_by_at_most_twice_the_clip",
)
coined = by_test(f"{GIBBS}.test_l2p_convex", "test_each_chain_moves_by_coins_of_its_own")
LAW = "test_draws_in_several_dimensions_have_the_law_of_the_measure"
fresh = by_test(f"{GIBBS}.test_l2p_convex", LAW, 8, 40.0, 1300)
wide = by_test(f"{GIBBS}.test_l2p_convex", LAW, 8, 2.0, 1000)
cut = by_test(f"{GIBBS}.test_proximal", "test_a_truncated_gaussian_law_is_met_and_half_the_steps_are_rejected", "ball")
rejected = by_test(
    f"{GIBBS}.test_proximal", "test_rejection_makes_the_law_of_a_kinked_potential_and_its_absence_is_noticed",
    0.4, Box.cube(2),
)  # fmt: skip


@around
def _barrier_of_release(honest: Any, self: coupled.CoupledLearner, point: Any, minimiser: Any, noise: Any) -> None:
    """Coins look at the objective of the released point, barrier and all, and not at the minimiser behind it."""
    x = self._set.to_hull(point)
    inside = x if self._set.hull_barrier.value(x) < np.inf else minimiser
    slope = self._sums.gradient(inside)[0] + self._ridge * inside
    honest(self, point, inside, -slope - self._weight * self._set.hull_barrier.gradient(inside))


def _less_noise(honest: Any) -> Any:
    return lambda self, rounds: 0.9 * honest(self, rounds)


@around
def _wrong_sign(honest: Any, self: coupled.Held, gradients: Any, coins: coupled.Coins) -> Any:
    """+2<g, u> in place of -2<g, u>, as printed."""
    ratios, path = honest(self, gradients, coins)
    return ratios + 4 * coins.precision * np.sum(path[:-1] * gradients, axis=1), path


@around
def _stale_hessian(honest: Any, self: coupled.HeldLink, curvature: Any) -> None:
    """A redraw keeps the inverse Hessian of the point before it."""
    before, fresh = self._inverse, np.array_equal(self._inverse, np.eye(len(curvature)))
    honest(self, curvature)
    if not fresh:
        self._inverse = before


@around
def _no_determinant(honest: Any, self: coupled.HeldQuadratic, curvature: Any) -> None:
    honest(self, curvature)
    self._eigenvalues = np.full_like(self._eigenvalues, 1e12)


def _times(attribute: str, factor: float) -> Any:
    """While the method runs, an attribute is so many times what it is."""

    def plant(honest: Any) -> Any:
        def method(self: Any, *arguments: Any) -> Any:
            kept = getattr(self, attribute)
            setattr(self, attribute, factor * kept)
            try:
                return honest(self, *arguments)
            finally:
                setattr(self, attribute, kept)

        return method

    return plant


def _stops_early(honest: Any) -> Any:
    return lambda losses, *, accuracy, **settings: honest(losses, accuracy=0.01, **settings)


@around
def _same_noise(honest: Any, self: coupled.CoupledLearner) -> None:
    """Every draw starts the stream of noise again."""
    generator = self._streams["noise"].bit_generator
    first = vars(self).setdefault("_first_state", generator.state)
    generator.state = first
    honest(self)


@around
def _no_force(honest: Any, self: ctrl.CTRLLearner, first: int, count: int, clocks: Any) -> coupled.Coins:
    tossed: coupled.Coins = honest(self, first, count, clocks)
    return replace(tossed, hazard=0.0)


@around
def _slow_clocks(honest: Any, self: ctrl.CTRLLearner, first: int, count: int, clocks: Any) -> coupled.Coins:
    tossed: coupled.Coins = honest(self, first, count, 1.3 * clocks)
    return tossed


@around
def _old_losses(honest: Any, self: coupled.CoupledLearner) -> None:
    """A redraw forgets the round that caused it."""
    newest = self._sums.count - 1
    if newest >= 0:
        self._sums.count = newest
    honest(self)
    if newest >= 0:
        self._sums.count = newest + 1


@around
def _few_steps(honest: Any, self: proximal.ProximalSampler, potential: Any, generator: Any) -> Any:
    return honest(replace(self, steps=1), potential, generator)


def _always_accepts(honest: Any) -> Any:
    """The Gaussian of the linearised losses for the law itself."""

    class Linear:
        def __init__(self, potential: Any) -> None:
            self.gradient = potential.gradient
            self._slope: Any = None

        def value(self, points: Any) -> Any:
            if len(points) == 1:  # where the losses are linearised
                self._slope = self.gradient(points[0])
            return points @ self._slope

    return lambda self, potential, generator: honest(self, Linear(potential), generator)


@around
def _projects(honest: Any, self: proximal._BallKernel, mean: Any, scale: float, generator: Any) -> Any:
    """Proposals outside the ball are pulled onto its surface and accepted."""
    points, inside = honest(self, mean, scale, generator)
    return np.array([self.project(point) for point in points]), np.ones_like(inside)


def _reversed(honest: Any) -> Any:
    return lambda self, decision, feedback: -honest(self, decision, feedback)


@around
def _one_coin(honest: Any, self: TwoChains) -> bool:
    """The reference is redrawn together with the decision, and never else."""
    self._reference_hazard, hazard = 0.0, self._reference_hazard
    redrawn = bool(honest(self))
    self._reference_hazard = hazard
    if redrawn:
        self._reference = self._measure.sample(self._streams["reference draw"])
    return redrawn


in_convex = planting("convex")
CONTROLS: tuple[Control, ...] = (
    in_convex("noise x .9 (CTRL)", ctrl.CTRLLearner, "_deviation", _less_noise, drawn),
    in_convex("the same noise at every redraw (CTRL)", coupled.CoupledLearner, "_draw", _same_noise, tossed),
    in_convex("a redraw forgets the newest loss (CTRL)", coupled.CoupledLearner, "_draw", _old_losses, modelled),
    in_convex("coins at the released point, with the barrier there (CTRL)", coupled.CoupledLearner, "_hold",
              _barrier_of_release, modelled),
    in_convex("release noise missing (CTRL)", coupled.CoupledLearner, "_released", _times("_blur", 0.0), modelled),
    in_convex("minimiser stopped early (CTRL)", coupled, "perturbed_minimum", _stops_early, modelled),
    in_convex("clocks x 1.3 (CTRL)", ctrl.CTRLLearner, "_coins", _slow_clocks, tossed),
    in_convex("missing forced redraw (CTRL)", ctrl.CTRLLearner, "_coins", _no_force, tossed),
    in_convex("wrong acceptance sign (CTRL)", coupled.Held, "_gaussian_part", _wrong_sign, compared),
    in_convex("determinant term missing (CTRL)", coupled.HeldQuadratic, "renew", _no_determinant, compared),
    in_convex("stale Hessian at a redraw (CTRL)", coupled.HeldLink, "renew", _stale_hessian, modelled),
    in_convex("temperature x 1.1 (Gibbs)", measure.ProximalMeasure, "sample", _times("_rate", 1.1), fresh),
    in_convex("proximal sampler stopped early (Gibbs)", proximal.ProximalSampler, "sample", _few_steps, cut),
    in_convex("every proposal accepted (Gibbs)", proximal.ProximalSampler, "sample", _always_accepts, rejected),
    in_convex("proposals pulled onto the ball (Gibbs)", proximal._BallKernel, "propose", _projects, wide),
    in_convex("ratio reversed (Gibbs)", measure.GibbsMeasure, "log_ratio", _reversed, moved),
    in_convex("the reference moves with the decision (Gibbs)", TwoChains, "decide", _one_coin, coined),
)  # fmt: skip
