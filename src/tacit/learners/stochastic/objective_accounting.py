"""What one perturbed minimiser of generalised linear losses leaks: Gaussian curves, not tail quantiles.

The release is x = argmin J + <Z, x>, J = sum of f_i(<v_i, x>) + (lambda/2)|x|^2, Z ~ N(0, sigma^2 I), with
|f_i' v_i| <= G and f_i'' |v_i|^2 <= beta. Write g = grad J(x); under the data at hand g = -Z is N(0, sigma^2 I), and
by the change of variables the density of x is N(g; 0, sigma^2 I) det(hess J(x)).

Zero-out. Take the record u = f'(<v, x>) v away: grad becomes g - u, and the determinant, a rank-one update, moves
its logarithm by l in [0, ln(1 + beta/lambda)]. The log ratio is l + (|u|^2 - 2<g, u>)/(2 sigma^2). With
u = a G v/|v|, a = a(x), it is convex in a, so the ends decide. Losses that only fall or only rise along the margin
(logistic, hinge: the label fixes the sign) have a in [0, 1] or [-1, 0]: at most l + max(0, A), where
A = s^2/2 + s N, s = G/sigma, N standard normal, is the log ratio of the Gaussian mechanism with mu = s. Hence

    delta(eps) <= E(1 - e^{eps - l - max(0, A)})_+ = delta_s(eps - l)     for eps >= l:

exactly the Gaussian curve, shifted by l = ln(1 + beta/lambda). In the other direction (the record is added) the
determinant helps, and the same bound holds without l. With both signs, a in [-1, 1], the two ends +-s add:
2 delta_s(eps - l), the tight form of Redberg, Koskela and Wang (2023).

Replacement of u_1 by u_2. The log ratio is l_1 - l_2 + (|u_2 - u_1|^2 + 2<g, u_2 - u_1>)/(2 sigma^2), convex in
(a_1, a_2); its largest value is at a vertex of the square, each a Gaussian mechanism with mu = |difference|/sigma.
One sign: vertices 0, s, s and |v_1 - v_2| s <= 2s, so delta_{2s} + 2 delta_s. Both signs: +-(v_1 + v_2) and
+-(v_1 - v_2) with squared lengths that sum to at most 4: 2 delta_{2s} + 2 delta_{sqrt 2 s}. Each term grows with mu.

Composition. A release whose log ratio is at most l + max of alternatives A_i, followed by one with l' and A'_j, has
at most l + l' + max(A_i + A'_j): offsets add, alternatives multiply, squared shifts add. That is adaptive, since
each A'_j is conditionally Gaussian whatever came before. The noise that covers inexact minimisation is one more
Gaussian mechanism, {m} with m = 2 accuracy/scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from tacit.errors import InvalidInput, PrivacyError
from tacit.privacy.calibration import smallest
from tacit.privacy.curves import ROUND_UP, Curve, Gaussian
from tacit.privacy.guarantee import ZERO_OUT, Relation
from tacit.validation import LARGEST_INTEGER, FloatArray, check_integer, check_number

# Alternatives multiply with every release: beyond this many they are added as Renyi curves.
_MOST_RELEASES = 64


@dataclass(frozen=True)
class GaussianAlternatives(Curve):
    """A log ratio of at most `offset` plus the largest of several Gaussian mechanisms' log ratios.

    Attributes:
        offset: what the log ratio may reach without noise.
        shifts: the mu of each alternative; 0 stands for "nothing happened".
        counts: how many alternatives have that mu.

    >>> curve = GaussianAlternatives(0.1, (0.0, 0.5), (1, 1))
    >>> round(curve.epsilon(1e-6) - Gaussian(0.5).epsilon(1e-6), 6)
    0.1
    """

    offset: float
    shifts: Sequence[float]
    counts: Sequence[int]
    notion: ClassVar[str] = "Gaussian alternatives"

    def __post_init__(self) -> None:
        owner = "GaussianAlternatives"
        check_number(owner, "offset", self.offset, above=0.0, closed_low=True)
        if len(self.shifts) != len(self.counts) or not len(self.shifts):
            raise InvalidInput("The 'shifts' and 'counts' of GaussianAlternatives must be two lists of one length.")
        shifts = (check_number(owner, "shifts", shift, above=0.0, closed_low=True) for shift in self.shifts)
        object.__setattr__(self, "shifts", tuple(shifts))
        object.__setattr__(self, "counts", tuple(check_integer(owner, "counts", count) for count in self.counts))

    def delta(self, epsilon: float) -> float:
        epsilon = check_number("GaussianAlternatives", "epsilon", epsilon, above=0.0, closed_low=True)
        beyond = epsilon - self.offset
        if beyond < 0:
            # Every log ratio is at least 0 in the bound, so below the offset 1 - e^{eps - z} is linear in e^{-z}.
            return min(1.0, (1 - float(np.exp(beyond)) * (1 - self.delta(self.offset))) * ROUND_UP)
        terms = (count * Gaussian(shift).delta(beyond) for shift, count in zip(self.shifts, self.counts, strict=True))
        return min(1.0, sum(terms) * ROUND_UP)

    def epsilon(self, delta: float) -> float:
        delta = check_number("GaussianAlternatives", "delta", delta, above=0.0, below=1.0, closed_low=True)
        if self.delta(0.0) <= delta:
            return 0.0
        if delta == 0:
            return self.pure()
        high = self.offset + Gaussian(max(self.shifts)).epsilon(delta / sum(self.counts)) + 1e-9
        return smallest(lambda epsilon: self.delta(epsilon) <= delta, 0.0, high * (1 + 1e-6), 1e-10)

    def merged(self, others: Sequence[Curve]) -> Curve | None:
        known = [other for other in others if isinstance(other, GaussianAlternatives | Gaussian)]
        if len(known) < len(others) or len(others) >= _MOST_RELEASES:
            return None
        try:
            return composed([self, *known])
        except PrivacyError:  # more alternatives than can be counted
            return None

    def pure(self) -> float:
        return self.offset if max(self.shifts) == 0 else float("inf")

    def renyi(self, orders: FloatArray) -> FloatArray:
        # E max(1, e^{(alpha-1) A_i}) <= 1 + sum_i E(e^{(alpha-1) A_i} - 1)_+, in closed form.
        orders = np.asarray(orders, dtype=np.float64)
        total = np.zeros_like(orders)  # logarithm of the bound, from ln 1
        for shift, count in zip(self.shifts, self.counts, strict=True):
            if shift == 0:
                continue
            grown = orders * (orders - 1) * shift**2 / 2 + log_ndtr((orders - 0.5) * shift)
            # e^grown - Phi(shift/2) >= 0: the first term grows with the order and equals the second at order 1.
            excess = -np.expm1(np.minimum(log_ndtr(shift / 2) - grown, -1e-18))
            total = np.logaddexp(total, np.log(count) + grown + np.log(excess))
        return np.asarray((self.offset + total / (orders - 1)) * ROUND_UP)


def release_curve(
    *, move: float, growth: float, one_sided: bool, relation: Relation, protection: float
) -> GaussianAlternatives:
    """The curve of one release.

    Args:
        move: s = G/sigma.
        growth: beta/lambda.
        one_sided: whether the label fixes the sign of the loss's slope.
        relation: zero-out or replacement.
        protection: mu of the noise that covers inexact minimisation.
    """
    if relation is ZERO_OUT:
        alternatives = {0.0: 1, move: 1 if one_sided else 2}
    elif one_sided:
        alternatives = {0.0: 1, move: 2, 2 * move: 1}
    else:
        alternatives = {0.0: 1, float(np.sqrt(2)) * move: 2, 2 * move: 2}
    release = GaussianAlternatives(float(np.log1p(growth)), tuple(alternatives), tuple(alternatives.values()))
    return composed([release, Gaussian(protection)])


def composed(curves: Iterable[GaussianAlternatives | Gaussian]) -> GaussianAlternatives:
    """The composition of releases and Gaussian mechanisms: offsets add, alternatives multiply."""
    return reduce(_product, (_as_alternatives(curve) for curve in curves))


def _as_alternatives(curve: GaussianAlternatives | Gaussian) -> GaussianAlternatives:
    return curve if isinstance(curve, GaussianAlternatives) else GaussianAlternatives(0.0, (curve.mu,), (1,))


def _product(first: GaussianAlternatives, second: GaussianAlternatives) -> GaussianAlternatives:
    found: Counter[float] = Counter()
    for a, m in zip(first.shifts, first.counts, strict=True):
        for b, n in zip(second.shifts, second.counts, strict=True):
            found[float(np.hypot(a, b)) * ROUND_UP] += m * n
    # Shifts that differ by rounding only are merged into the largest of them: the list stays short.
    merged: dict[float, int] = {}
    above = float("inf")
    for shift in sorted(found, reverse=True):
        above = above if shift >= above * (1 - 1e-8) else shift
        merged[above] = merged.get(above, 0) + found[shift]
    if max(merged.values()) > LARGEST_INTEGER:
        raise PrivacyError(
            "So many releases have more alternatives than can be counted (2**63): make fewer of them, or use delta=0."
        )
    offset = (first.offset + second.offset) * ROUND_UP
    return GaussianAlternatives(offset, tuple(merged), tuple(merged.values()))
