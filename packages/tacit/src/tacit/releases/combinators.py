"""Declarations that are made of others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, inf, nextafter, sqrt
from typing import Any, Literal

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.composition import compose, joint
from tacit.accounting.curves import (
    ROUND_UP,
    Approximate,
    BoundedRange,
    Curve,
    Gaussian,
    Pure,
    SamplerError,
)
from tacit.accounting.curves import Repeated as RepeatedCurve
from tacit.accounting.rounding import (
    EXACT,
    IDEALIZED,
    composed_numerics,
    exact_up_to,
    extra_epsilon,
    sum_up,
)
from tacit.errors import PrivacyError
from tacit.ranges import Count, Number, Positive, Probability, Size
from tacit.releases.draws import Softmax
from tacit.releases.neighbours import Neighbours
from tacit.releases.release import Releases, Sized
from tacit.validation import invalid

LATTICE_SLACK = 1e-20
"""What lattices may add to epsilon and delta in any epoch (1e8 rounds in 1e4 dimensions: 6e-24)."""
# Distances cost delta 1 + e^epsilon times as much: this share of the target's, which its mu leaves
# unspent, at most, but never less than 1e9 rounds times dimensions need.
DELTA_SHARE = 1e-11
NEED = "are accounted for where noise is pure or Gaussian."
LEAST_DISTANCE = 4e-27


@dataclass(frozen=True)
class Repeated(Releases):
    """The same release several times; every round may move all of them (Theorem 1).

    Attributes:
        release: one of them.
        times: number of releases.
    """

    release: Releases
    times: Number

    @property
    def theorem(self) -> str:
        return f"composition of {self.release.theorem}"

    @property
    def shown(self) -> str:
        return self.release.shown

    def curve(self, among: Neighbours) -> Curve:
        one = self.release.curve(among)
        if self.times == 0:
            return RepeatedCurve(one, 0)
        if isinstance(one, Gaussian):
            return Gaussian(one.mu * sqrt(self.times) * ROUND_UP)
        if isinstance(one, BoundedRange):
            return RepeatedCurve(one, self.times)
        # Distances and factors of samplers are no divergences: they are added once, last.
        return joint([RepeatedCurve(one, self.times)])

    def numerics(self, among: Neighbours, delta: float) -> str:
        if self.times == 0:
            return EXACT
        if isinstance(self.release, Softmax):
            ideal = replace(self, release=replace(self.release, slack=0.0))
            return self.release.stated(self.curve(among), ideal.curve(among), delta)
        extra = extra_epsilon(self.release.numerics(among, delta))
        return IDEALIZED if extra == inf else exact_up_to(extra * self.times * ROUND_UP)


@dataclass(frozen=True)
class Together(Releases):
    """Releases of different kinds; every round may move all of them (Theorem 1).

    Attributes:
        parts: the releases, at least one.
    """

    parts: tuple[Releases, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parts(self, self.parts)

    @property
    def theorem(self) -> str:
        return " and ".join(part.theorem for part in self.parts)

    @property
    def shown(self) -> str:
        return max((part.shown for part in self.parts), key=len)  # every part shows decisions

    def curve(self, among: Neighbours) -> Curve:
        curves = [part.curve(among) for part in self.parts]
        pure = [curve.value for curve in curves if isinstance(curve, Pure)]
        return Pure(sum_up(pure)) if len(pure) == len(curves) else compose(curves)

    def numerics(self, among: Neighbours, delta: float) -> str:
        return composed_numerics(part.numerics(among, delta) for part in self.parts)


@dataclass(frozen=True)
class Apart(Releases):
    """Releases on disjoint rounds: a round enters one of them (Theorem 2).

    If k of a person's rounds in one part cost at most k c, then m rounds cost at most m c, wherever
    they are. A part is hence asked for m rounds, and must be pure by group privacy.

    Attributes:
        release: one of them.
        over: what is disjoint.
        privacy: epsilon of all together.
    """

    release: Releases
    over: Literal["windows", "blocks", "epochs"]
    privacy: Positive

    @property
    def theorem(self) -> str:
        return f"{self.release.theorem} on disjoint {self.over}, parallel composition"

    @property
    def shown(self) -> str:
        return self.release.shown

    def curve(self, among: Neighbours) -> Curve:
        one = self.release.curve(among)
        if not isinstance(one, Pure):
            where = f"Releases on disjoint {self.over}"
            raise PrivacyError(f"{where} are accounted for where they are pure.")
        return Pure(max(self.privacy, one.value))

    def numerics(self, among: Neighbours, delta: float) -> str:
        return self.release.numerics(among, delta)


@dataclass(frozen=True)
class Inexact(Releases):
    """A release whose draws are off by at most `distance` in total variation (Lemma 3).

    Attributes:
        release: the release if every draw had exactly its law.
        distance: total variation between the law of a draw and the exact one.
        draws: largest number of draws on any path.
    """

    release: Releases
    distance: Positive
    draws: Number

    @property
    def theorem(self) -> str:
        return self.release.theorem

    @property
    def shown(self) -> str:
        return self.release.shown

    def curve(self, among: Neighbours) -> Curve:
        return SamplerError(self.release.curve(among), self.distance, self.draws)


@dataclass(frozen=True)
class Grouped(Releases):
    """A release that is accounted for one unit of a person, who may have several (Theorem 3).

    Attributes:
        release: the release.
        units: number of units of one person.
    """

    release: Releases
    units: Count

    @property
    def theorem(self) -> str:
        return f"{self.release.theorem}, {self.units} of a person as {self.units} single ones"

    @property
    def shown(self) -> str:
        return self.release.shown

    def curve(self, among: Neighbours) -> Curve:
        one = self.release.curve(among)
        match one:
            case Pure(value=value):
                return Pure(times_up(value, self.units))
            case Gaussian(mu=mu):
                return Gaussian(times_up(mu, self.units))
            case SamplerError(curve=Gaussian(mu=mu)):
                group = Gaussian(times_up(mu, self.units))
                draws = one.draws * self.units
                return SamplerError(group, one.distance, draws, one.extra, one.exponent)
        raise PrivacyError(f"Several units of a person {NEED}")

    def numerics(self, among: Neighbours, delta: float) -> str:
        return self.release.numerics(among, delta)


@dataclass(frozen=True)
class Epochs(Sized):
    """Epochs of 1024, 2048, ... rounds at one promise, each with releases of its own rounds.

    A round enters one epoch. Each of the rounds of a person may enter another one, hence epochs
    are asked for one round, and m rounds cost m times as much (Theorem 3).

    Attributes:
        parts: releases of the epochs that are planned so far.
        epsilon: epsilon that all epochs promise, at `delta`.
        delta: the delta of that promise.
    """

    parts: tuple[Releases, ...]
    epsilon: Size
    delta: Probability

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parts(self, self.parts)

    @property
    def theorem(self) -> str:
        rounds = self.made_for.rounds
        group = f", {rounds} rounds of a person as {rounds} single ones," if rounds > 1 else ""
        return f"parallel composition over disjoint epochs{group} of: {self.parts[0].theorem}"

    @property
    def shown(self) -> str:
        return self.parts[0].shown

    @property
    def single(self) -> Neighbours:
        """The neighbours of one epoch."""
        return self.made_for.single

    def to_dict(self, among: Neighbours) -> dict[str, Any]:
        self.check_covers(among)
        parts = [part.to_dict(self.single) for part in self.parts]
        numbers = {"epsilon": self.epsilon, "delta": self.delta}
        return {"kind": type(self).__name__, "parts": parts, **numbers}

    def shared_curve(self) -> Curve:
        """Return one curve of the kind of the first epoch, or the point that all epochs meet."""
        return shared_curve(self.parts[0].curve(self.single), self.epsilon, self.delta)

    def own_curve(self) -> Curve:
        shared = self.shared_curve()
        rounds = self.made_for.rounds
        if rounds > 1 and isinstance(shared, Approximate):
            raise PrivacyError(f"Several rounds of a person in epochs {NEED}")
        for index, part in enumerate(self.parts):
            if not within(shared, part.curve(self.single), rounds):
                raise PrivacyError(
                    f"Epoch {index} costs more than epsilon={self.epsilon:g} at "
                    f"delta={self.delta:g}, which all epochs promise."
                )
        return shared

    def numerics(self, among: Neighbours, delta: float) -> str:
        if isinstance(self.shared_curve(), SamplerError):
            return exact_up_to(LATTICE_SLACK)
        return self.parts[0].numerics(self.single, delta)


@dataclass(frozen=True)
class Billboard(Releases):
    """What everybody may see, by which each person's own decision is made.

    The billboard lemma: a decision that depends on the billboard and on private data of its own
    person only may be shown to that person, and costs nobody else anything.

    Attributes:
        release: the billboard.
        own: whether a decision depends on what is private of its round.
    """

    release: Releases
    own: bool

    @property
    def theorem(self) -> str:
        lemma = "joint differential privacy by the billboard lemma: " if self.own else ""
        return lemma + self.release.theorem

    @property
    def shown(self) -> str:
        own = "every {decision} to its own person only" if self.own else "every {decision}"
        return f"{self.release.shown}; {own}"

    def curve(self, among: Neighbours) -> Curve:
        return self.release.curve(among)

    def numerics(self, among: Neighbours, delta: float) -> str:
        return self.release.numerics(among, delta)


def check_parts(release: Releases, parts: tuple[Releases, ...]) -> None:
    """Raise InvalidInput if a declaration of several parts has none."""
    if not parts:
        raise invalid(type(release).__name__, "parts", "at least one release", parts)


def times_up(value: float, count: int) -> float:
    """Return count times value, rounded up."""
    product = value * count
    return product if Fraction(product) >= Fraction(value) * count else nextafter(product, inf)


def shared_curve(first: Curve, epsilon: float, delta: float) -> Curve:
    """Return a curve that epochs can share, given that of the first epoch.

    Where one number says it all, it is a curve of the same kind; else the one point that all meet.
    """
    if delta == 0 or isinstance(first, Pure):
        return Pure(epsilon)
    ideal = first.curve if isinstance(first, SamplerError) else first
    if not isinstance(ideal, Gaussian):
        return Approximate(epsilon, delta)
    noise = Gaussian(gaussian_mu(epsilon, delta))
    if ideal is first:
        return noise
    # How far samplers of an epoch may be from their laws: the target is met all the same.
    affordable = DELTA_SHARE * delta / (1 + exp(min(epsilon, 700.0)))
    distance = min(LATTICE_SLACK, max(LEAST_DISTANCE, affordable))
    return SamplerError(noise, distance, 1, LATTICE_SLACK, LATTICE_SLACK)


def within(shared: Curve, one: Curve, rounds: int) -> bool:
    """Return True if `rounds` rounds of a person, each in any epoch, cost at most the shared curve.

    The rounds make a chain of data sets that differ in one epoch each: `rounds` times epsilon or
    mu, and samplers that are off as many times (Theorem 3).

    Args:
        shared: the curve that epochs share.
        one: the curve of an epoch for one round.
        rounds: number of rounds of one person.
    """
    match shared, one:
        case Pure(value=limit), _:
            return rounds * one.pure() <= limit
        case Gaussian(mu=limit), Gaussian(mu=mu):
            return rounds * mu <= limit
        case SamplerError(curve=Gaussian(mu=limit)), SamplerError(curve=Gaussian(mu=mu)):
            far = rounds * one.distance * one.draws > shared.distance
            slack = rounds * max(one.extra, one.exponent)
            return rounds * mu <= limit and not far and slack <= LATTICE_SLACK
        case Approximate(value=limit, at=delta), _:
            return one.epsilon(delta) <= limit or one.delta(limit) <= delta
    return False
