"""Planted bugs in learners that draw from densities in several dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, around, swap
from tacit.algorithms.convex.ctrl import coupled, ctrl
from tacit.algorithms.convex.l2p_convex import measure, proximal
from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvex
from tacit.auditing import integration as keep_probabilities
from tacit.auditing.draws import law, release
from tacit.auditing.instances import Instance, alphabet
from tacit.auditing.report import Finding
from tacit.domains import Ball, Box
from tacit.losses.loss import LinearLoss, LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex
from tacit.runtime.plan import Plan
from tacit.runtime.two_chains import TwoChains

GENERAL = Convex(domain=Ball(2), loss=QuadraticLoss(), horizon=6)
MODEL = Convex(domain=Ball(3), loss=LogisticLoss(), horizon=8)
THIN = Convex(domain=Box([-1.0, -1e-6], [1.0, 1e-6]), loss=LogisticLoss(), horizon=8)
BALL = Convex(domain=Ball(2), loss=LogisticLoss(), horizon=4)
BOX = Convex(domain=Box(np.full(3, -1.0), np.ones(3)), loss=LinearLoss(), horizon=4)


def minimiser(problem: Convex, sigma: float = 2.0) -> Plan:
    """CTRL with wide coins."""
    slope = problem.lipschitz
    return ctrl.CTRL(problem, eta=4 / slope, sigma=sigma * slope, force=0.1, log_phi=0.5)


def weights(problem: Convex, **changes: Any) -> L2PConvex:
    """Regularised multiplicative weights with a reference of its own."""
    plan = L2PConvex(
        problem, rate=2.0, regularisation=2.0, force=0.3, clip=0.5, reference_force=0.3, sampler_distance=1e-12
    )
    return replace(plan, **changes)


def described(plan: Plan, draws: int) -> Finding:
    """Attack the law of draws and coins."""
    return law(Instance("planted", plan, alphabet(plan)), Randomness.replayable(8), draws=draws)


def read_off(plan: Plan) -> Finding:
    """Attack the probabilities of coins."""
    return keep_probabilities.coins(Instance("planted", plan, alphabet(plan)), Randomness.replayable(9), runs=12)


def released() -> Finding:
    """Attack what CTRL adds to its minimisers."""
    plan = minimiser(MODEL)
    return release(Instance("planted", plan, alphabet(plan)), Randomness.replayable(9), draws=120)


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


CONTROLS: tuple[Control, ...] = (
    Control(
        "noise x .9 (CTRL, d = 2)", "convex", swap(ctrl.CTRLLearner, "_deviation", _less_noise),
        lambda: described(minimiser(GENERAL), 2200), fast=False,
    ),
    Control(
        "the same noise at every redraw (CTRL, d = 2)", "convex", swap(coupled.CoupledLearner, "_draw", _same_noise),
        lambda: described(minimiser(GENERAL), 200), fast=False,
    ),
    Control(
        "a redraw forgets the newest loss (CTRL, d = 3, generalised linear)", "convex",
        swap(coupled.CoupledLearner, "_draw", _old_losses), lambda: described(minimiser(MODEL, 0.5), 400), fast=False,
    ),
    Control(
        "clocks x 1.3 (CTRL, d = 2)", "convex", swap(ctrl.CTRLLearner, "_coins", _slow_clocks),
        lambda: described(minimiser(GENERAL), 1200), fast=False,
    ),
    Control(
        "wrong acceptance sign (CTRL, d = 2)", "convex", swap(coupled.Held, "_gaussian_part", _wrong_sign),
        lambda: read_off(minimiser(GENERAL)),
    ),
    Control(
        "coins at the released point, with the barrier there (CTRL, thin box)", "convex",
        swap(coupled.CoupledLearner, "_hold", _barrier_of_release), lambda: read_off(minimiser(THIN)),
    ),
    Control(
        "stale Hessian at a redraw (CTRL, d = 3, generalised linear)", "convex",
        swap(coupled.HeldLink, "renew", _stale_hessian), lambda: read_off(minimiser(MODEL)), fast=False,
    ),
    Control(
        "determinant term missing (CTRL, d = 2)", "convex", swap(coupled.HeldQuadratic, "renew", _no_determinant),
        lambda: read_off(minimiser(GENERAL)),
    ),
    Control(
        "missing forced redraw (CTRL, d = 2)", "convex", swap(ctrl.CTRLLearner, "_coins", _no_force),
        lambda: read_off(minimiser(GENERAL)),
    ),
    Control(
        "release noise missing (CTRL, d = 3)", "convex",
        swap(coupled.CoupledLearner, "_released", _times("_blur", 0.0)), released, fast=False,
    ),
    Control(
        "minimiser stopped early (CTRL, d = 3)", "convex", swap(coupled, "perturbed_minimum", _stops_early),
        released, fast=False,
    ),
    Control(
        "temperature x 1.1 (Gibbs, d = 3)", "convex", swap(measure.ProximalMeasure, "sample", _times("_rate", 1.1)),
        lambda: described(weights(BOX, force=1.0, regularisation=4.0), 5000), fast=False,
    ),
    Control(
        "proximal sampler stopped early (Gibbs, d = 2)", "convex", swap(proximal.ProximalSampler, "sample", _few_steps),
        lambda: described(weights(BALL, rate=12.0, regularisation=1 / 6, force=1.0), 300), fast=False,
    ),
    Control(
        "every proposal accepted (Gibbs, d = 2)", "convex", swap(proximal.ProximalSampler, "sample", _always_accepts),
        lambda: described(weights(BALL, rate=8.0, regularisation=0.5, force=1.0), 1500), fast=False,
    ),
    Control(
        "proposals pulled onto the ball (Gibbs, d = 2)", "convex", swap(proximal._BallKernel, "propose", _projects),
        lambda: described(weights(BALL, regularisation=0.5), 300), fast=False,
    ),
    Control(
        "ratio reversed (Gibbs, d = 2)", "convex", swap(measure.GibbsMeasure, "log_ratio", _reversed),
        lambda: read_off(weights(BALL)),
    ),
    Control(
        "the reference moves with the decision (Gibbs, d = 2)", "convex", swap(TwoChains, "decide", _one_coin),
        lambda: described(weights(BALL), 300), fast=False,
    ),
)  # fmt: skip
