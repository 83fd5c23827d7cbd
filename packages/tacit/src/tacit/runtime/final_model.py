"""What learners share that collect records and release one model of them, once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from tacit.domains.convex_set import read_only
from tacit.errors import ProtocolError
from tacit.losses.loss import RowLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Stochastic
from tacit.process import current_process
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan, PrivatePlan
from tacit.runtime.state import fitting
from tacit.validation import FloatArray


class FinalModelPlan(PrivatePlan):
    """A plan that releases one model, once."""

    unit: ClassVar[str] = "one record"
    releases_once: ClassVar[bool] = True
    released_streams: ClassVar[tuple[str, ...]] = ()

    @property
    def proper(self) -> bool:
        """Never: the model may be anywhere, and the domain only says with whom it is compared.

        A projection would be as private, but its loss may exceed that of the model, and no bound would hold.
        """
        return False

    @property
    def expected_switches(self) -> float:
        return 1.0


class FinalModelLearner(Learner):
    """Collects the records, then releases one model. Until then the decision is the origin."""

    _loss: RowLoss
    _any_shape: ClassVar[tuple[str, ...]] = ("_released",)  # nothing, or a model

    def __init__(self, plan: Plan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        assert isinstance(plan.problem, Stochastic)
        self._dimension = plan.problem.domain.dimension
        self._released: FloatArray | None = None
        self._action = read_only(np.zeros(self._dimension))

    @property
    def model(self) -> FloatArray:
        """The model that was released."""
        with self._looking("model"):
            if self._released is None:
                raise ProtocolError(
                    f"{self.plan.algorithm} has not released its model: call release() after all records."
                )
            return np.array(self._released)

    def release(self) -> FloatArray:
        """Make and release the private model: once, then the same one again. No more records can come. Atomic."""
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            if self._process != self._lock_process:
                self._admit()
            if self._released is None:
                self._close_last()
                process, self._process = self._process, None  # an interrupted release is not made again
                self._released = self._made()
                self._action = read_only(self._released)
                self._switches += 1
                self._process = process
            return self.model

    @abstractmethod
    def _made(self) -> FloatArray:
        """The private model of the records so far."""

    def _scatter(self, content: dict[str, Any]) -> None:
        if content["_released"] is not None:  # nothing, or a model
            fitting(np.zeros(self._dimension), content["_released"])
        self._released = None
        super()._scatter(content)

    def _check(self, record: Any) -> FloatArray:
        self._refuse_late()
        if record is None:
            return self._loss.neutral(self._dimension).reshape(1, -1)
        return self._loss.pack(record, self._dimension, many=False).reshape(1, -1)

    def _check_many(self, records: Any) -> FloatArray:
        self._refuse_late()
        return self._loss.pack(records, self._dimension, many=True)

    def _run(self, rows: FloatArray) -> FloatArray:
        self._absorb(rows)
        self._round += len(rows)
        self._played = False
        return np.broadcast_to(self._action, (len(rows), self._dimension))

    def _refuse_late(self) -> None:
        if self._released is not None:
            raise ProtocolError(f"{self.plan.algorithm} has released its model: records cannot be added any more.")
