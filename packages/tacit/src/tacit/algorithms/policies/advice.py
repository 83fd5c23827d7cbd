"""Recommendations as learners take them: an action of each policy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.problems import Policies
from tacit.runtime.learner import Learner
from tacit.validation import IntArray, real_array


class AdvisedLearner(Learner):
    """Decides by the recommendations of each round."""

    _takes_context = True
    _context = "recommendations"

    def _check_context(self, context: Any) -> IntArray:
        return self._checked(context)

    def _check_contexts(self, contexts: Any) -> IntArray:
        return self._checked(contexts, many=True)

    def _loaded_context(self, context: Any) -> IntArray:
        return self._checked(context)

    def _checked(self, given: Any, *, many: bool = False) -> IntArray:
        """Check a copy of the recommendations of a round, or of `many` rounds, one row each."""
        owner, problem = self.plan.algorithm, self.plan.problem
        assert isinstance(problem, Policies)
        rows = real_array(owner, "recommendations", given, None)
        shape = rows.shape[1:] if many else rows.shape
        if shape == (problem.n,) and np.all((rows >= 0) & (rows < problem.actions) & (rows == np.floor(rows))):
            return rows.astype(np.int64)
        raise InvalidInput(
            f"The recommendations of {owner} must be {problem.n} actions from 0 to {problem.actions - 1}, one a policy"
            f"{', in each round' if many else ''}. Got something else instead."
        )
