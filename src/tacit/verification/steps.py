"""Few draws of bounded range, followed step by step: docs/algorithms/lazy-experts.md, "one draw", without the walk.

A profile V is convex in y = e^eps, so that a chord between two of its points lies above it. One draw of range r makes
A V = max over t in [0, r] of p_t V(eps - t) + (1 - p_t) V(eps - t + r), p_t = (1 - e^{t-r})/(1 - e^{-r}). Places whose
epsilons are r/K apart stay among themselves, and while t moves both arguments along one chord each, this is a constant
less b e^t and less c e^{-t} with b, c >= 0: the largest value is at e^t = sqrt(c/b), or at an end.
"""

from __future__ import annotations

from collections.abc import Sequence

import mpmath as mp
import numpy as np

from tacit.verification.leaks import Real, solved
from tacit.verification.walks import Floats

_CELLS = 128  # K
_ROUNDING = 1 + 1e-12


class Profile:
    """A bound on delta at every epsilon: values at public places, and chords between them.

    Args:
        width: the range r of a draw.
        most: how many draws there may be at most.
    """

    def __init__(self, width: float, most: int) -> None:
        self._width, self._step = width, width / _CELLS
        reach = (most + 2) * _CELLS
        self._places = np.arange(-reach, reach + 1) * self._step
        self._values = np.maximum(-np.expm1(self._places), 0.0)

    def mixed(self, chance: float) -> Profile:
        """A draw with this probability, else nothing."""
        return self._with(((1 - chance) * self._values + chance * self.drawn()._values) * _ROUNDING)

    def drawn(self) -> Profile:
        """One draw more; as many draws as there may be move nothing at either end of the places."""
        values, count = self._values, len(self._places) - 2 * _CELLS
        found = values[_CELLS:-_CELLS].copy()
        for cell in range(_CELLS):
            # At places i: V(eps - t) runs along [i - cell - 1, i - cell], V(eps - t + r) as far right as K.
            first = _CELLS - cell - 1
            near = values[first : first + count], values[first + 1 : first + 1 + count]
            far = values[first + _CELLS : first + _CELLS + count], values[first + _CELLS + 1 :][:count]
            found = np.maximum(found, self._largest(cell * self._step, near, far))
        total = values.copy()
        total[_CELLS:-_CELLS] = found * _ROUNDING
        return self._with(total)

    def __call__(self, epsilon: float) -> float:
        """On the chord."""
        if epsilon <= self._places[0]:
            return float(-np.expm1(epsilon))
        right = int(np.searchsorted(self._places, epsilon))
        if right == len(self._places):
            return 0.0
        share = np.expm1(self._places[right] - epsilon) / -np.expm1(-self._step)
        share *= np.exp(epsilon - self._places[right])
        low, high = self._values[right - 1], self._values[right]
        return float(high + min(1.0, share) * max(0.0, low - high)) * _ROUNDING

    def _with(self, values: Floats) -> Profile:
        made = object.__new__(Profile)
        made._width, made._step, made._places, made._values = self._width, self._step, self._places, values
        return made

    def _largest(self, start: float, near: tuple[Floats, Floats], far: tuple[Floats, Floats]) -> Floats:
        """The largest over t in [start, start + r/K], of chords whose left and right values are given."""
        fall, other = np.maximum(near[0] - near[1], 0.0), np.maximum(far[0] - far[1], 0.0)
        # With v = e^{t - start} both chords are A - F/v; the sum is a constant less e^{start-r} (A - A') v and less
        # (F - e^{-r} F')/v, over 1 - e^{-r}.
        unit, end = -np.expm1(-self._step), start + self._step
        rising = np.exp(start - self._width) * (near[1] - far[1] + (fall - other) / unit)
        falling = (fall - np.exp(-self._width) * other) / unit
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.nan_to_num(start + np.log(falling / rising) / 2, nan=end, posinf=end, neginf=start)
        best = np.clip(best, start, end)
        found = np.zeros_like(fall)
        for t in (np.full_like(fall, start), best, np.full_like(fall, end)):
            found = np.maximum(found, self._at(t, start, near, far))
        return found

    def _at(self, t: Floats, start: float, near: tuple[Floats, Floats], far: tuple[Floats, Floats]) -> Floats:
        """p_t V(eps - t) + (1 - p_t) V(eps - t + r): sums of positive terms."""
        share = np.clip(np.expm1(start - t) / np.expm1(-self._step), 0.0, 1.0)  # 0 at the right end of both chords
        up = np.clip(np.expm1(t - self._width) / np.expm1(-self._width), 0.0, 1.0)
        low = near[1] + share * np.maximum(near[0] - near[1], 0.0)
        high = far[1] + share * np.maximum(far[0] - far[1], 0.0)
        found: Floats = up * low + (1 - up) * high
        return found


class FewLeak:
    """Tosses of which the first, the person's own, keeps with q or q' at the given vertices (none: it draws).

    Args:
        width: the range of a draw.
        tosses: how many there are.
        chance: the largest probability of a redraw.
        reference: the probability with which a second chain draws at each toss.
        vertices: (q, ln q/q', ln (1-q)/(1-q')) of the person's toss.
    """

    sharp = True

    def __init__(
        self, width: float, tosses: int, chance: float, reference: float, vertices: Sequence[tuple[float, float, float]]
    ) -> None:
        profile = Profile(width, 2 * tosses if reference else tosses)
        for _ in range(tosses if reference else 0):
            profile = profile.mixed(reference)
        for _ in range(tosses - 1):
            profile = profile.mixed(chance)
        self._kept, self._drawn, self._vertices = profile, profile.drawn(), vertices

    def delta(self, epsilon: Real) -> Real:
        """At the worst vertex."""
        at = float(epsilon)
        if not self._vertices:
            return mp.mpf(self._drawn(at))
        found = [q * self._kept(at - keep) + (1 - q) * self._drawn(at - lose) for q, keep, lose in self._vertices]
        return mp.mpf(min(1.0, max(found) * _ROUNDING))

    def epsilon(self, delta: Real, near: Real) -> Real:
        """Solved."""
        return solved(self, delta, near)
