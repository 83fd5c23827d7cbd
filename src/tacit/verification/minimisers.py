"""Perturbed minimisers: docs/algorithms/objective-perturbation.md, its table, its lattice and its logistic loss.

The slopes G and curvatures beta are those of the losses' definitions. Taken as stated is the distance to the exact
minimiser that the code certifies, and the bound to which it cuts a model.
"""

from __future__ import annotations

from dataclasses import dataclass

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.facts import Facts, NotVerifiable, idealized, people, sides
from tacit.verification.leaks import BestOf, GaussianLeak, Leak, PureLeak, Real, SampledLeak, solved
from tacit.verification.linked import LinkedLeak
from tacit.verification.losses import constants_anywhere
from tacit.verification.sums import SIGMA_SQUARED, draw_errors

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
    plain = _alternatives(loss.text("kind"), sides(contract), move, growth, cover, count)
    ideal: Leak = plain
    if loss.text("kind") == "LogisticLoss":
        linked = (LinkedLeak(float(move), float(growth), sides(contract) == 2, float(cover)),) if count == 1 else ()
        ideal = BestOf((plain, *linked), sharp=count == 1)
    distance, extra, exponent = draw_errors(4 * dimension)
    return SampledLeak(ideal, count * (distance + _TRUNCATION + dimension * _FAR), count * extra, count * exponent)


@dataclass(frozen=True)
class Alternatives:
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

    def epsilon(self, delta: Real, near: Real) -> Real:
        """Solved."""
        return mp.inf if delta == 0 else solved(self, delta, near)


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
