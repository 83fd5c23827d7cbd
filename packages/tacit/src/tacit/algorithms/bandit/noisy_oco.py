"""Noisy mirror descent (NoisyOCO, Algorithm 2): the core that private and bandit optimisation share.

The regularised leader x_t = map(eta s_{t-1}), where three things may be wrong: gradients are random with the right
mean, sums are noisy and may be late, and the map is approximate. The analysis charges each by itself:

    sum_t <G_t, x_t - x*>  <=  |x*|^2/(2 eta) + (eta/2) sum_t |g_t|^2 + sum_t <G_t, x_t - exact_t>    (in expectation),

where G_t is the conditional mean of the gradient g_t and exact_t the exact leader on the exact sums. The last term
takes the norm of the mean, where the print (Lemma 4.1) takes that of the gradient. Other mirror maps, such as the
entropy, have the same bound in their own norms: docs/algorithms/bandit-fw.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tacit.errors import InvalidInput, ProtocolError
from tacit.printed import bandit as printed_formulas
from tacit.runtime.printed import Printed
from tacit.validation import (
    LARGEST,
    LARGEST_DIMENSION,
    MALFORMED,
    FloatArray,
    check_choice,
    check_dimension,
    check_integer,
    check_positive,
    invalid,
    real_array,
)

RATES = {"line 1": printed_formulas.algorithm_2, "appendix B": printed_formulas.appendix_b_rate}
"""Learning rates that the print has for Algorithm 2: that of its line 1 is smaller by the root of D_w, up to 2."""


class Sums(Protocol):
    """Running sums, such as a private mechanism's `Accumulator`."""

    def add(self, x: FloatArray) -> FloatArray:
        """Add one vector and return the sum so far as a new array."""

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""


class NoisyOCO:
    """Plays the regularised leader of sums that may be noisy and late.

    Privacy is that of the sums: points are post-processing. The sums get `steps - 1 - delay` vectors and never more,
    because the points of the last steps do not depend on the others.

    Args:
        steps: how many points will be played.
        dimension: their dimension.
        eta: learning rate.
        leader: slope -> the minimiser of |x|^2/2 + <slope, x>, exact or approximate, or that of another mirror map.
        sums: those of a private mechanism, or exact ones.
        delay: how many steps the map may take: the point of step t uses the sum of step t - 1 - delay.
        start: the leader of nothing, played first (None: 0, which is that of |x|^2/2).

    >>> from tacit.noise.running_sums import Buffered
    >>> sums = Buffered(2).start(1, 1.0, np.zeros)  # without noise
    >>> core = NoisyOCO(steps=3, dimension=1, eta=0.5, leader=lambda slope: -slope, sums=sums)
    >>> core.observe(np.array([2.0]))
    >>> core.point
    array([-1.])
    """

    def __init__(
        self,
        *,
        steps: int,
        dimension: int,
        eta: float,
        leader: Callable[[FloatArray], FloatArray],
        sums: Sums,
        delay: int = 0,
        start: FloatArray | None = None,
    ) -> None:
        self._steps = check_integer("NoisyOCO", "steps", steps)
        self._eta = check_positive("NoisyOCO", "eta", eta)
        size = check_dimension("NoisyOCO", "dimension", dimension)
        most = min(self._steps, LARGEST_DIMENSION // size)
        self._delay = check_integer("NoisyOCO", "delay", delay, at_least=0, at_most=most)
        for name, method in (("leader", leader), ("sums", getattr(sums, "add", None))):
            if not callable(method):
                allowed = "a function of a sum" if name == "leader" else "running sums"
                raise invalid("NoisyOCO", name, allowed, leader if name == "leader" else sums)
        self._leader = leader
        self._sums = sums
        self._step = 0
        self.printed: Printed | None = None
        first = np.zeros(size) if start is None else real_array("NoisyOCO", "start", start, (size,))
        if not np.isfinite(first).all():
            raise InvalidInput("The 'start' of NoisyOCO must have finite entries.")
        # The first 1 + delay points are the leader of nothing.
        self._next = [first.copy() for _ in range(1 + self._delay)]

    @classmethod
    def as_printed(
        cls,
        *,
        steps: int,
        dimension: int,
        spread_root: float,
        gradient_norm: float,
        leader: Callable[[FloatArray], FloatArray],
        sums: Sums,
        map_error: float = 0.0,
        reading: str | None = None,
    ) -> NoisyOCO:
        """Make Algorithm 2 with a printed learning rate; it promises no privacy but that of the sums.

        Args:
            steps: T.
            dimension: dimension of points.
            spread_root: D_w, the root of a bound on the mirror map.
            gradient_norm: kappa, the root of a bound on the mean square of a gradient estimate.
            leader: slope -> the minimiser of the mirror map plus <slope, x>.
            sums: running sums of the gradient estimates.
            map_error: gamma, a bound on the mean distance from the exact leader.
            reading: "line 1" (default) or "appendix B": whose learning rate.
        """
        owner = "NoisyOCO.as_printed"
        steps = check_integer(owner, "steps", steps)
        check_positive(owner, "spread_root", spread_root)
        check_positive(owner, "gradient_norm", gradient_norm)
        chosen = check_choice(owner, "reading", reading or "line 1", tuple(RATES))
        eta = RATES[chosen](steps, spread_root, gradient_norm)
        made = cls(steps=steps, dimension=dimension, eta=eta, leader=leader, sums=sums)
        made.printed = Printed(
            "bandit",
            "Algorithm 2",
            reading=chosen,
            order="T^(1/2) kappa D_w + T kappa gamma",
            evidence=("no privacy is promised but that of the sums",),
            differs=("line 5 adds to s_(t-1); the last vector is never added",),
            values={
                "eta": eta,
                "order": printed_formulas.lemma_4_1(steps, spread_root, gradient_norm, map_error),
            },
        )
        return made

    @property
    def eta(self) -> float:
        """The learning rate."""
        return self._eta

    @property
    def step(self) -> int:
        """How many gradients were observed."""
        return self._step

    @property
    def private(self) -> bool | None:
        """Whether the sums' noise is secret (None: there is none, or it is handed in)."""
        return getattr(self._sums, "private", None)

    @property
    def point(self) -> FloatArray:
        """The point of this step (of the last one, when all are over), as a new array."""
        return self._next[0].copy()

    def observe(self, gradient: FloatArray) -> None:
        """End the step with the gradient estimate at its point."""
        if self._step == self._steps:
            raise ProtocolError(f"NoisyOCO was planned for {self._steps} steps and has made them all.")
        gradient = real_array("NoisyOCO", "gradient", gradient, self._next[0].shape)
        if not np.abs(gradient).max() <= LARGEST:
            raise InvalidInput(f"The 'gradient' of NoisyOCO must have finite entries of at most {LARGEST:g}.")
        if self._step < self._steps - 1 - self._delay:
            self._next.append(self._leader(self._eta * self._sums.add(gradient)))
        self._step += 1
        if len(self._next) > 1:
            del self._next[0]

    def state_dict(self) -> dict[str, Any]:
        """Give everything needed to go on. PRIVATE: the sums' state is in the result."""
        return {"step": self._step, "next": [point.copy() for point in self._next], "sums": self._sums.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        shape = self._next[0].shape
        try:
            step = int(state["step"])
            points = [real_array("NoisyOCO", "next", point, shape) for point in state["next"]]
            if not (points and np.isfinite(points).all() and 0 <= step <= self._steps):
                raise InvalidInput(f"This NoisyOCO has {self._steps} steps; the state is at step {step}.")
            self._sums.load_state_dict(state["sums"])
        except InvalidInput:
            raise
        except MALFORMED as error:
            raise InvalidInput(f"This is not the state of a NoisyOCO ({error!r}).") from None
        self._step, self._next = step, points


def noisy_regret(
    *, eta: float, steps: int, spread: float, second_moment: float, mean_norm: float, map_error: float
) -> float:
    """The bound above with its constants.

    Args:
        eta: learning rate.
        steps: number of steps.
        spread: the mirror map's largest minus its smallest value on the set: half the squared radius for |x|^2/2.
        second_moment: bound on the expected squared (dual) norm of a gradient.
        mean_norm: bound on the (dual) norm of a gradient's conditional mean.
        map_error: bound on the sum over all steps of the expected distance from the exact leader.
    """
    return spread / eta + eta / 2 * steps * second_moment + mean_norm * map_error
