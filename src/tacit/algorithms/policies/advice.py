"""Recommendations as learners take them: an action of each policy, or a distribution over actions of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.noise.exact_draws import draw_weighted
from tacit.noise.uniforms import Uniforms
from tacit.problems import Policies
from tacit.validation import FloatArray, IntArray, real_array

Advice = IntArray | FloatArray
_ROUNDING = 1e-6  # by as much the probabilities of a distribution may miss 1


def checked_advice(owner: str, problem: Policies, given: Any, *, many: bool = False) -> Advice:
    """Check a copy of the recommendations of a round, or of `many` rounds, one row each.

    Returns:
        Whole numbers, one a policy; or floats, one distribution a policy.
    """
    rows = real_array(owner, "recommendations", given, None)
    n, actions, shape = problem.n, problem.actions, rows.shape[1:] if many else rows.shape
    if shape == (n,):
        if np.all((rows >= 0) & (rows < actions) & (rows == np.floor(rows))):
            return rows.astype(np.int64)
    elif shape == (n, actions) and np.all(rows >= 0) and np.all(np.abs(rows.sum(axis=-1) - 1) <= _ROUNDING):
        return rows
    raise InvalidInput(
        f"The recommendations of {owner} must be {n} actions from 0 to {actions - 1}, one a policy, or {n} "
        f"distributions over {actions} actions{' in each round' if many else ''}. Got something else instead."
    )


def drawn(advice: Advice, coins: Uniforms) -> IntArray:
    """Draw an action of each policy that recommends a distribution; its mean loss is that of the distribution."""
    if advice.ndim == 1:
        return advice.astype(np.int64, copy=False)
    return np.array([draw_weighted(coins, row) for row in advice], dtype=np.int64)
