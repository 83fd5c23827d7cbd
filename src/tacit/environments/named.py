"""Environments by name, made to fit a problem: what the command line and sweeps offer without any code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.environments.experts import BernoulliGap, SwitchingAdversary
from tacit.environments.tracking import DriftingLosses, PenaliseHeld, ShiftingBernoulli
from tacit.errors import InvalidInput
from tacit.problems import Experts, Problem, Tracking
from tacit.validation import check_choice


def gap(problem: Experts, horizon: int) -> BernoulliGap:
    """Independent coins, one expert better than the others."""
    return BernoulliGap(problem.n, horizon)


def switching(problem: Experts, horizon: int) -> SwitchingAdversary:
    """Two groups of experts take turns at being wrong."""
    return SwitchingAdversary(problem.n, horizon)


def shifting(problem: Tracking, horizon: int) -> ShiftingBernoulli:
    """As many shifts as the comparator may follow, evenly spaced."""
    changes = np.linspace(0, horizon, problem.switches + 2)[1:-1].astype(int)
    return ShiftingBernoulli(problem.n, horizon, tuple(int(t) for t in np.unique(changes[changes > 0])))


def drifting(problem: Tracking, horizon: int) -> DriftingLosses:
    """The best expert goes once around."""
    return DriftingLosses(problem.n, horizon)


def penalising(problem: Tracking, horizon: int) -> PenaliseHeld:
    """An adaptive adversary that makes the held expert expensive."""
    return PenaliseHeld(problem.n, horizon)


NAMED: dict[type[Problem], dict[str, Callable[[Any, int], Any]]] = {
    Experts: {"gap": gap, "switching": switching},
    Tracking: {"shifting": shifting, "drifting": drifting, "penalising": penalising},
}
"""For each kind of problem its environments by name; the first is the default."""


def named_environment(name: str, problem: Problem, horizon: int | None = None) -> Any:
    """The environment of that name, of the problem's size.

    >>> named_environment("gap", Experts(n=4, horizon=100))
    BernoulliGap(n=4, horizon=100, gap=0.1, mean=0.5, best=0)
    """
    known = NAMED.get(type(problem))
    if known is None:
        raise InvalidInput(f"{type(problem).__name__} has no environments by name: pass a function that makes one.")
    check_choice(type(problem).__name__, "environment", name, tuple(known))
    rounds = problem.horizon if horizon is None else horizon
    if rounds is None:
        raise InvalidInput(f"The environment {name!r} needs a number of rounds: the problem's horizon is unknown.")
    return known[name](problem, rounds)
