"""Minimisers of perturbed sums of losses: draws of points, and final models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log1p
from typing import ClassVar

import numpy as np

from tacit.accounting.curves import ROUND_UP, Curve, Pure, SamplerError
from tacit.accounting.objective_perturbation import LinkedReleases, composed, release_curve
from tacit.accounting.perturbed_minimisers import PerturbedMinimiser as DrawCurve
from tacit.accounting.perturbed_minimisers import log_growth
from tacit.accounting.rounding import IDEALIZED, exact_up_to
from tacit.noise.sampler_bounds import GaussianSlack
from tacit.ranges import Count, Positive, Size
from tacit.releases.neighbours import Neighbours
from tacit.releases.release import Releases, check_single

TRUNCATION = 1e-30
"""So much of each float64 Gaussian vector is cut off."""
# The linked account may add more than the Gaussian alternatives by this factor: 4% was measured.
LINKED_ROOM = 1.1
# Two epsilons that were found by bisection are off by less.
SOLVED = 1e-9


@dataclass(frozen=True)
class PerturbedMinimiser(Releases):
    """A minimiser of regularised losses with a Gaussian linear term (docs/algorithms/ctrl.md).

    The m rounds of one person shift the linear term by m sides L/sigma, and grow determinants by
    what the curvature of one round is over the ridge.

    Attributes:
        lipschitz: L, the largest slope of the loss of one round.
        growth: largest curvature of the loss of one round, over the ridge.
        sigma: deviation of the linear term.
        linear: whether a loss bends along one direction.
        dimension: dimension of the hull of the domain.
        cover: mu of the noise that covers inexact minimisation.
    """

    lipschitz: Size
    growth: Size
    sigma: Positive
    linear: bool
    dimension: Count
    cover: Size
    theorem: ClassVar[str] = "perturbed minimisers"

    def curve(self, among: Neighbours) -> Curve:
        move = among.sides * among.rounds * self.lipschitz / self.sigma
        if self.linear:
            degrees = 1
            grown = among.rounds * log_growth(self.growth, 1)
        else:
            degrees = self.dimension
            grown = self.dimension * float(np.log1p(among.rounds * self.growth))
        return DrawCurve(degrees, float(grown + move**2 / 2), move, self.cover)


@dataclass(frozen=True)
class Minimisers(Releases):
    """Perturbed minimisers of generalised linear losses over the same records.

    Objective perturbation (docs/algorithms/objective-perturbation.md), proved for one record of a
    person.

    Attributes:
        move: largest slope of a loss, over the deviation of the linear term.
        growth: largest curvature of a loss, over the ridge.
        one_sided: whether the label fixes the sign of the slope.
        linked: whether slope and curvature are accounted for together.
        cover: mu (pure: epsilon) of the noise that covers inexact minimisation.
        ideal_cover: the same without a lattice (None: noise is float64).
        slack: what the samplers of one model are off.
        count: number of minimisers.
        dimension: dimension of a minimiser.
        pure: whether noise has the density e^{-|z|}.
    """

    move: Size
    growth: Size
    one_sided: bool
    linked: bool
    cover: Size
    ideal_cover: Size | None
    slack: GaussianSlack
    count: Count
    dimension: Count
    pure: bool
    theorem: ClassVar[str] = (
        "objective perturbation of generalised linear losses: Gaussian curve shifted by "
        "ln(1 + beta/lambda), certified minimiser"
    )

    @property
    def shown(self) -> str:
        if self.count == 1:
            return "the final model"
        return f"{self.count} final models of the same records"

    def curve(self, among: Neighbours) -> Curve:
        check_single(self, among)
        count = self.count
        if self.pure:
            one = log1p(self.growth) + among.sides * self.move + self.cover
            return Pure(count * one * ROUND_UP)
        whole: Curve
        if self.linked:
            replacement = among.sides == 2
            whole = LinkedReleases(self.move, self.growth, replacement, self.cover, count)
        else:
            model = release_curve(
                move=self.move,
                growth=self.growth,
                one_sided=self.one_sided,
                relation=among.relation,
                protection=self.cover,
            )
            whole = composed([model] * count)
        extra = count * self.slack.epsilon
        exponent = count * self.slack.delta_exponent
        return SamplerError(whole, self.slack.total_variation, count, extra, exponent)

    def numerics(self, among: Neighbours, delta: float) -> str:
        """Return what lattice and samplers add, by the Gaussian alternatives.

        These are smooth in the cover: differences keep their digits. On the grid of
        `LinkedReleases` they are lost; there the same shift adds a few percent more at most.
        """
        if self.pure or self.ideal_cover is None:
            return IDEALIZED
        apart = replace(self, linked=False)
        cut_off = GaussianSlack(0.0, 0.0, TRUNCATION)
        ideal = replace(apart, cover=self.ideal_cover, slack=cut_off)
        added = apart.curve(among).epsilon(delta) - ideal.curve(among).epsilon(delta)
        return exact_up_to(max(LINKED_ROOM * added, self.count * self.slack.epsilon) + SOLVED)
