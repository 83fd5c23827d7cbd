"""Attacks that are checks of the contract of learners: with a bug planted, the check must raise."""

from __future__ import annotations

from collections.abc import Callable

from tacit.algorithms.experts import HedgeOnSums
from tacit.auditing.report import Finding
from tacit.noise.randomness import Randomness
from tacit.problems import Experts
from tacit.testing import CHECKS
from tacit.testing.rounds import Case

ROUNDS = 16


def hedge(delta: float = 1e-6) -> Case:
    """Hedge on private sums: the learner with the most noise in its state."""
    plan = HedgeOnSums.calibrate(Experts(n=2, horizon=ROUNDS), epsilon=1.0, delta=delta)
    return Case(plan, list(Randomness.replayable(1).stream("losses").random((ROUNDS, 2))))


def found(check: str, case: Callable[[], Case] = hedge) -> Callable[[], Finding]:
    """Attack by one check of the contract of learners."""

    def attack() -> Finding:
        try:
            CHECKS[check](case())
        except AssertionError as error:
            return breach(check, str(error))
        return breach(check, "")

    return attack


def breach(method: str, detail: str) -> Finding:
    """What an attack found on a learner (nothing: an empty text)."""
    broken = bool(detail)
    return Finding(method, "a learner", "breaches", 0.0, float(broken), violation=broken, detail=detail, check=True)
