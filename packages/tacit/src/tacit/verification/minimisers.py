"""Perturbed minimisers: docs/algorithms/objective-perturbation.md, its table, its lattice and its logistic loss.

The slopes G and curvatures beta are those of the losses' definitions. Taken as stated is the distance to the exact
minimiser that the code certifies, and the bound to which it cuts a model.

For the logistic loss slope and curvature are linked (`LinkedLeak`). With s = G/sigma, c = beta/lambda and
h(a) = ln(1 + 4a(1-a)c) + a^2 s^2/2, the loss Lam(n) = max_a h(a) + a s n is above x iff n is above the least of
(x - h(a))/(a s) over a in (0, 1]: no maximum is inverted. In the same way s^2/2 + s n + Lam(n + s) is above x iff n is
above the least of (x - s^2/2 - h(a) - a s^2)/((1 + a) s). Together they have the survival function
S(x) = min(1, Phi(-n_1) + Phi(-n_2)). Behind a Gaussian mechanism of profile d_mu, for all epsilons,
delta(eps) = d_mu(eps) + integral of S(x) over the increments of d_mu(eps - x).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log1p

import mpmath as mp
import numpy as np
from scipy.special import ndtr

from tacit.errors import InvalidInput
from tacit.verification.chains import Floats
from tacit.verification.convex import constants_anywhere
from tacit.verification.facts import Facts, NotVerifiable, idealized, people, sides
from tacit.verification.leaks import BestOf, GaussianLeak, Leak, PureLeak, Real, SampledLeak
from tacit.verification.sums import SIGMA_SQUARED, draw_errors

# Cells of the integral, slopes of the first look, golden sections that follow, and normal numbers that are too large.
_CELLS, _SLOPES, _SECTIONS, _LARGEST_NORMAL = 2**13, 129, 40, 12.0
_GOLDEN = (np.sqrt(5.0) - 1) / 2


class LinkedLeak(Leak):
    """One minimiser of logistic losses: s is `move`, c is `growth`, mu of the noise that covers it is `cover`."""

    def __init__(self, move: float, growth: float, replacement: bool, cover: float) -> None:
        self._move, self._growth, self._replacement, self._cover = move, growth, replacement, cover

    def delta(self, epsilon: Real) -> Real:
        """The integral as a sum of chords, and what these may miss."""
        places, survival, missed = self._survival
        profile = self._profile(float(epsilon) - places)
        weights = np.maximum(np.diff(profile), 0.0)
        chords = float(np.sum(weights * ((survival[1:] + survival[:-1]) / 2 + missed)))
        return mp.mpf(min(1.0, (profile[0] + chords + survival[-1]) * (1 + 1e-10)))

    def _profile(self, epsilon: Floats) -> Floats:
        """Of N(0, 1) against N(mu, 1), at epsilons of both signs."""
        if self._cover == 0:
            return np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0)
        mu = self._cover
        tail = np.exp(np.minimum(epsilon, 700.0)) * ndtr(-mu / 2 - epsilon / mu)
        found: Floats = np.maximum(ndtr(mu / 2 - epsilon / mu) - tail, 0.0)
        return found

    @cached_property
    def _survival(self) -> tuple[Floats, Floats, Floats]:
        """Places, S there, and by how much a chord may lie below S in each cell."""
        s, c = self._move, self._growth
        most = log1p(c) + s * s + _LARGEST_NORMAL * s
        places = np.linspace(0.0, most + (s * s * 2 + _LARGEST_NORMAL * s if self._replacement else 0.0), _CELLS + 1)
        total = ndtr(-self._least(places, 0.0))
        if self._replacement:
            total = total + ndtr(-self._least(places, 1.0))
        survival = np.minimum(total, 1.0)
        survival[0] = 1.0
        bends = np.abs(np.diff(survival, 2)) / 4
        missed = np.maximum(np.append(bends, bends[-1]), np.append(bends[0], bends))
        return places, survival, missed

    def _least(self, places: Floats, other: float) -> Floats:
        """The least n at which the loss exceeds each place, the other record's slope being 0 or 1."""
        s, c = self._move, self._growth

        def at(a: Floats) -> Floats:
            own = np.log1p(4 * a * (1 - a) * c) + a * a * (s * s / 2)
            found: Floats = (places - own - other * s * s * (0.5 + a)) / ((a + other) * s)
            return found

        slopes = np.linspace(0.0 if other else 1e-9, 1.0, _SLOPES)
        values = np.stack([at(np.full_like(places, slope)) for slope in slopes])
        best = np.argmin(values, axis=0)
        left, right = slopes[np.maximum(best - 1, 0)], slopes[np.minimum(best + 1, _SLOPES - 1)]
        found: Floats = values[best, np.arange(places.size)]
        for _ in range(_SECTIONS):
            first, second = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
            low, high = at(first), at(second)
            found = np.minimum(found, np.minimum(low, high))
            smaller = low < high
            left, right = np.where(smaller, left, first), np.where(smaller, second, right)
        return found - 1e-12 * (1 + np.abs(found))


_linked = lru_cache(maxsize=16)(LinkedLeak)  # its survival function is computed once
# Of draws: how long ones are drawn anew, how far wide ones are from normal ones, and how likely farther.
_TRUNCATION, _COUPLED, _FAR = mp.mpf("1.01e-30"), mp.mpf(2) ** -47, mp.mpf(2) ** -104
_MOST_RELEASES = 64


def objective_perturbation(contract: Facts) -> Leak:
    """One or several minimisers over the same records."""
    if people(contract) != 1:
        raise NotVerifiable("Minimisers are accounted for people with one record only.")
    parameters = contract.part("parameters")
    loss = contract.part("problem").part("loss")
    steep, bent = _constants(loss)
    sigma, ridge = mp.mpf(parameters.positive("noise_scale")), mp.mpf(parameters.positive("regularisation"))
    count = parameters.integer("releases", at_least=1)
    move, growth = steep / sigma, bent / ridge
    if parameters.flag("pure"):
        return _pure(contract, move, growth, count)
    dimension, cover = _cover(contract, sigma, ridge)
    return _sampled(_covered(contract, move, growth, cover), dimension, count)


def _sampled(ideal: Leak, dimension: int, count: int) -> Leak:
    distance, extra, exponent = draw_errors(4 * dimension)
    return SampledLeak(ideal, count * (distance + _TRUNCATION + dimension * _FAR), count * extra, count * exponent)


def _covered(contract: Facts, move: Real, growth: Real, cover: Real) -> Leak:
    """What minimisers leak whose inexactness is covered by noise of mu = `cover`."""
    kind, count = contract.part("problem").part("loss").text("kind"), contract.part("parameters").integer("releases")
    plain = _alternatives(kind, sides(contract), move, growth, cover, count)
    if kind != "LogisticLoss":
        return plain
    linked = (_linked(float(move), float(growth), sides(contract) == 2, float(cover)),) if count == 1 else ()
    return BestOf((plain, *linked), sharp=count == 1)


def lattice_extra(contract: Facts) -> Real:
    """What integers add to epsilon, as against noise that covers the accuracy of minimisers alone.

    By the table, in closed form: a difference of two sums of chords would lose its digits.
    """
    parameters, loss = contract.part("parameters"), contract.part("problem").part("loss")
    sigma, ridge = mp.mpf(parameters.positive("noise_scale")), mp.mpf(parameters.positive("regularisation"))
    (steep, bent), count = _constants(loss), parameters.integer("releases", at_least=1)
    dimension, cover = _cover(contract, sigma, ridge)
    least = 2 * mp.mpf(parameters.positive("accuracy")) / mp.mpf(parameters.positive("protection"))
    integers, ideal = (
        _alternatives(loss.text("kind"), sides(contract), steep / sigma, bent / ridge, mu, count)
        for mu in (cover, least)
    )
    delta, epsilon = mp.mpf(contract.number("delta")), mp.mpf(contract.number("epsilon"))
    with_integers = _sampled(integers, dimension, count).epsilon(delta, epsilon)
    return max(with_integers - ideal.epsilon(delta, epsilon), mp.mpf(0))


@dataclass(frozen=True, eq=False)
class Alternatives(Leak):
    """A log ratio of at most `offset` plus the largest of so many Gaussian ones: their deltas add up.

    Attributes:
        offset: what the determinant may add.
        counts: how many alternatives there are for each squared mu.
    """

    offset: Real
    counts: dict[Real, int]
    sharp: bool = True

    def delta(self, epsilon: Real) -> Real:
        """Summed beyond the offset; below it 1 - e^{epsilon - loss} is linear in e^{-loss}."""
        if epsilon < self.offset:
            return 1 - mp.exp(epsilon - self.offset) * (1 - self.delta(self.offset))
        terms = (count * GaussianLeak(mp.sqrt(mu)).delta(epsilon - self.offset) for mu, count in self.counts.items())
        return min(mp.mpf(1), mp.fsum(terms))


def _constants(loss: Facts) -> tuple[Real, Real]:
    """The largest |f' v| and f'' |v|^2, over all margins."""
    if loss.text("kind") not in ("LogisticLoss", "SmoothedHingeLoss", "HuberLoss"):
        raise NotVerifiable(f"Minimisers of {loss.text('kind')} have no independent accountant yet.")
    found = constants_anywhere(loss)
    return found.steep, found.bent


def _pure(contract: Facts, move: Real, growth: Real, count: int) -> Leak:
    """Noise of density exp(-|z|) has no exact sampler: its contract must say so."""
    idealized(contract)
    parameters = contract.part("parameters")
    cover = 2 * mp.mpf(parameters.positive("accuracy")) / mp.mpf(parameters.positive("protection"))
    return PureLeak(count * (mp.log1p(growth) + sides(contract) * move + cover))


def _cover(contract: Facts, sigma: Real, ridge: Real) -> tuple[int, Real]:
    """The dimension, and mu_r: what the noise leaks that covers inexact minimisation."""
    if not contract.has("noise") or contract.part("noise").text("law") != "wide discrete gaussian":
        raise NotVerifiable("Its noise is drawn in float64, for simulation: only integers are recomputed.")
    noise, parameters = contract.part("noise"), contract.part("parameters")
    dimension, reach = noise.integer("dimension", at_least=1), mp.mpf(noise.positive("reach"))
    accuracy, scale = mp.mpf(parameters.positive("accuracy")), mp.mpf(parameters.positive("protection"))
    root, deviation = mp.sqrt(dimension), mp.sqrt(SIGMA_SQUARED)
    if reach * deviation > scale * 2**61 * (1 + mp.mpf(10) ** -9):
        raise InvalidInput("The 'protection' of a contract must be so large that models are 64-bit numbers of steps.")
    apart = 2 * (accuracy + _COUPLED * sigma * root / ridge) + mp.mpf(2) ** -52 * reach * root
    return dimension, apart / scale + root / deviation


def _alternatives(kind: str, both: int, move: Real, growth: Real, cover: Real, count: int) -> Alternatives:
    """The table's row and column; releases add offsets and squared shifts, and multiply alternatives."""
    if count > _MOST_RELEASES:
        raise NotVerifiable(f"More than {_MOST_RELEASES} minimisers of the same records are not recomputed.")
    one_sign, square = kind != "HuberLoss", move**2
    if both == 1:
        table = {mp.mpf(0): 1, square: 1 if one_sign else 2}
    elif one_sign:
        table = {mp.mpf(0): 1, square: 2, 4 * square: 1}
    else:
        table = {mp.mpf(0): 1, 2 * square: 2, 4 * square: 2}
    total = {mp.mpf(0): 1}
    for _ in range(count):
        found: dict[Real, int] = {}
        for mu, ways in total.items():
            for more, other in table.items():
                found[mu + more] = found.get(mu + more, 0) + ways * other
        total = found
    return Alternatives(count * mp.log1p(growth), {mu + count * cover**2: ways for mu, ways in total.items()})
