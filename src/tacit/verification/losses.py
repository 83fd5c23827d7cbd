"""Constants of convex losses, from their definitions: how steep and how bent one round can be on its domain.

A generalised linear loss f(<v, x>) with |v| <= B has gradients of at most B sup|f'| and a Hessian of trace at most
B^2 sup f'', the suprema over margins of at most B max|x|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.facts import Facts, NotVerifiable, contradiction
from tacit.verification.leaks import Real


@dataclass(frozen=True)
class Constants:
    """What holds for every round.

    Attributes:
        steep: the largest norm G of a gradient.
        bent: the largest curvature beta (of linear models: the largest trace of a Hessian; infinite: there are kinks).
        least: the smallest curvature.
        linear: whether a round bends along the directions of its feature vectors only.
        terms: how many feature vectors a round has.
        flat: whether a round without feedback has the same loss everywhere.
    """

    steep: Real
    bent: Real
    least: Real = 0
    linear: bool = True
    terms: int = 1
    flat: bool = True


def constants(problem: Facts) -> Constants:
    """Those of a problem's loss on its domain."""
    return _of(problem.part("loss"), partial(reach, problem.part("domain")))


def constants_anywhere(loss: Facts) -> Constants:
    """Those of a generalised linear loss over all margins."""
    return _link(loss, lambda: mp.inf)


def _of(loss: Facts, longest: Callable[[], Real]) -> Constants:
    match loss.text("kind"):
        case "LinearLoss":
            return Constants(mp.mpf(loss.positive("lipschitz")), mp.mpf(0))
        case "ConvexFamily" | "DeclaredLoss" as kind:
            declared = kind == "DeclaredLoss"
            least = mp.mpf(0) if declared else mp.mpf(loss.number("strong_convexity"))
            bent = mp.mpf(loss.number("smoothness")) if loss.has("smoothness") else mp.inf
            linear = not declared and loss.text("family") != "general"
            return Constants(mp.mpf(loss.positive("lipschitz")), bent, least, linear, flat=least == 0)
        case "QuadraticLoss" | "QuadraticFormLoss" as kind:
            even = kind == "QuadraticLoss"
            bent = mp.mpf(loss.positive("strength" if even else "largest_curvature"))
            steep = bent * (longest() + mp.mpf(loss.positive("data_norm")))
            return Constants(steep, bent, bent if even else mp.mpf(0), linear=False, flat=not even)
        case "SeveralLinks":
            one, count = _of(loss.part("link"), longest), loss.integer("count", at_least=1)
            return Constants(mp.sqrt(count) * one.steep, one.bent, terms=count)
    return _link(loss, longest)


def _link(loss: Facts, longest: Callable[[], Real]) -> Constants:
    """One feature vector and a fixed link."""
    length = mp.mpf(loss.positive("data_norm")) if loss.has("data_norm") else mp.mpf(0)
    match loss.text("kind"):
        case "LogisticLoss":
            slope, curvature = 1 / (1 + mp.exp(-length * longest())), mp.mpf(1) / 4
        case "SmoothedHingeLoss":
            width = mp.mpf(loss.positive("smoothing"))
            slope, curvature = min(mp.mpf(1), (1 + length * longest()) / width), 1 / width
        case "SquaredLoss":
            slope, curvature = length * longest() + mp.mpf(loss.positive("label_bound")), mp.mpf(1)
        case "HuberLoss":
            farthest = length * longest() + mp.mpf(loss.positive("label_bound"))
            slope, curvature = min(mp.mpf(loss.positive("transition")), farthest), mp.mpf(1)
        case "HingeLoss" | "AbsoluteLoss":
            slope, curvature = mp.mpf(1), mp.inf
        case "QuantileLoss":
            level = mp.mpf(loss.positive("level"))
            slope, curvature = max(level, 1 - level), mp.inf
        case kind:
            raise NotVerifiable(f"The constants of {kind} are not recomputed yet.")
    if length == 0:
        raise InvalidInput("The 'data_norm' in the 'loss' of a contract must be a number above 0.")
    return Constants(slope * length, curvature * length**2)


def reach(domain: Facts) -> Real:
    """The norm of a domain's centre and its radius about it: no point is longer."""
    return mp.fsum(_extent(domain))


def radius(domain: Facts) -> Real:
    """How far the points of a domain are from its centre at most."""
    return _extent(domain)[1]


def _extent(domain: Facts) -> tuple[Real, Real]:
    """The norm of the centre, and the radius."""
    match domain.text("kind"):
        case "Ball" | "L1Ball":
            return mp.mpf(0), mp.mpf(domain.positive("radius"))
        case "Simplex":
            share = mp.mpf(1) / domain.integer("dim", at_least=1)
            return mp.sqrt(share), mp.sqrt(1 - share)
        case "Box":
            low, high = (domain.numbers(name, signed=True) for name in ("low", "high"))
            if len(low) != len(high) or not all(left < right for left, right in zip(low, high, strict=True)):
                raise InvalidInput("The 'low' of a contract's Box must lie below its 'high', one by one.")
            pairs = [(mp.mpf(left), mp.mpf(right)) for left, right in zip(low, high, strict=True)]
            centre = mp.sqrt(mp.fsum((left + right) ** 2 for left, right in pairs)) / 2
            return centre, mp.sqrt(mp.fsum((right - left) ** 2 for left, right in pairs)) / 2
        case kind:
            raise NotVerifiable(f"How long the points of a {kind} are is not recomputed yet.")


def dimension(contract: Facts) -> int:
    """That of the domain's affine hull; where its kind does not say, that of the noise is taken as stated."""
    domain = contract.part("problem").part("domain")
    stated = contract.part("noise").integer("dimension", at_least=1)
    known = {"Ball": "dim", "L1Ball": "dim", "Simplex": "dim", "Box": "low"}.get(domain.text("kind"))
    if known is None:
        return stated
    size = len(domain.numbers("low", signed=True)) if known == "low" else domain.integer("dim", at_least=1)
    if stated != max(1, size - (domain.text("kind") == "Simplex")):
        raise contradiction("dimension", "noise")
    return stated
