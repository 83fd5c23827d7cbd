"""What passes over records share that are made of an online learner's decisions: from regret to excess risk.

Every decision of the learner may be shown, so any function of them may, by coins of its own. A decision does not know
the record that it meets: E l_t(x_t) = E L(x_t) for independent records, L the expected loss. So the mean of E L(x_t) is
above the least expected loss by at most (certified regret)/T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.domains.convex_set import read_only
from tacit.noise.randomness import Randomness
from tacit.problems import Stochastic, StochasticLipschitz
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.runtime.target import RegretBound
from tacit.validation import FloatArray


@dataclass(frozen=True)
class OnePassPlan(Plan):
    """A plan that makes models of the decisions of `online`, the plan of a learner."""

    problem: Stochastic | StochasticLipschitz
    if TYPE_CHECKING:

        @property
        def online(self) -> Plan: ...

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Independent records."""
        return ("stochastic", "oblivious")

    def _excess_risk(self, *assumptions: str) -> RegretBound:
        """Certified regret over the number of records."""
        bound = self.online.regret_bound
        return RegretBound(
            bound.value / self.problem.records, f"({bound.formula})/T", ("independent records", *assumptions)
        )


class OnePassLearner(Learner):
    """Hands records to the online learner, and keeps the sum of its decisions and the model in hand."""

    plan: OnePassPlan
    _state = ("_inner", "_total")
    _inner: Learner

    def __init__(self, plan: OnePassPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._inner = plan.online._learner(randomness)
        self._total: FloatArray = self._inner._decision()
        self._action = read_only(self._total.copy())

    @property
    def model(self) -> FloatArray:
        """The newest model; after the last record, the final one."""
        with self._looking("model"):
            return np.array(self._action)

    def release(self) -> FloatArray:
        """The newest model: every model of the pass is released already."""
        return self.model

    def _check(self, record: Any) -> Any:
        return self._inner._check(record)

    def _check_many(self, records: Any) -> Any:
        return self._inner._check_many(records)

    def _nothing(self) -> Any:
        return self._inner._nothing()

    def _consistent(self) -> bool:
        return self._inner.rounds == self._round and self._inner._consistent()

    def _show(self, point: FloatArray) -> None:
        self._switches += not np.array_equal(point, self._action)
        self._action = read_only(np.array(point))
