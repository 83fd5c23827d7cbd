"""Planted bugs that need an unusual value to show: errors that quote data, that come for some data only, NaN scores."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from attacks import rows
from planted_bugs.catalogue import Control, around, both, planting, swap
from planted_bugs.checked import found
from planted_bugs.tested import by_test
from tacit import Arms, Convex, validation
from tacit.algorithms import CTRL, BatchedTsallis
from tacit.algorithms.arms.draws import Draws
from tacit.algorithms.convex.convex_plan import ConvexLearner
from tacit.algorithms.convex.ctrl import coupled
from tacit.algorithms.experts import expert_plan
from tacit.auditing.report import Finding
from tacit.domains import Box
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss, loss
from tacit.noise import noisy_vectors, running_sums
from tacit.noise.lattice import LOSS_UNITS
from tacit.noise.running_sums import accumulators
from tacit.testing.rounds import Case
from tacit_models import (
    Ledger,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateStandardScaler,
    pipeline,
    private_pipeline,
    scoring,
    table,
)
from tacit_models import linear_model as base

SECRET = "0.1251"


def arms() -> Case:
    """Arms, whose noise is in draws of their own."""
    return Case(BatchedTsallis.calibrate(Arms(n=3, horizon=40), epsilon=1.0, delta=0.0), [0.25] * 40)


def tiny_features() -> Case:
    """Minimisers of losses with features that underflow when they are multiplied."""
    problem = Convex(domain=Box([-1, -1], [1, 1]), loss=LogisticLoss(), horizon=24)
    rows = [(np.array([1e-320 if t % 2 else 1.0, -0.5]), 1.0 if t % 3 else -1.0) for t in range(24)]
    return Case(CTRL.calibrate(problem, epsilon=9.0, delta=1e-6), rows)


def quoting(call: Callable[[], Any]) -> Callable[[], Finding]:
    """Attack by data that are refused: is a value of theirs in the error, or in one behind it?"""

    def attack() -> Finding:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except (InvalidInput, TypeError, ValueError) as error:
            shown = "".join(traceback.format_exception(error, limit=0))
            return _finding("quoted values", float(SECRET in shown), 0.0)
        return _finding("quoted values", 1.0, 0.0)

    return attack


def raised() -> Finding:
    """Attack by finite rows: does one of them, far outside of the public bounds, end the fit of a pipeline?"""
    rows = np.linspace(0, 1e-3, 60).reshape(30, 2)
    rows[7, 1] = 1.7e308
    steps = [PrivateStandardScaler(bounds=(0, 1e-3)), PrivateLogisticRegression(data_norm=1.0, classes=[0, 1])]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            private_pipeline(steps, ledger=Ledger()).fit(rows, np.arange(30) % 2)
    except (ArithmeticError, ValueError):
        return _finding("finite rows that are refused", 1.0, 0.0)
    return _finding("finite rows that are refused", 0.0, 0.0)


def _finding(method: str, observed: float, allowed: float) -> Finding:
    return Finding(method, "unusual values", "largest", allowed, observed, violation=observed > allowed, check=True)


def _refused_text() -> Any:
    rows = [[f"x{SECRET}", "0"], ["1", "2"]]
    return PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], ledger=Ledger()).fit(rows, [0, 1])


def _refused_target() -> Any:
    model = PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=Ledger())
    return model.fit([[0.0, 1.0], [1.0, 0.0]], np.array([f"x{SECRET}", "1"]))


@around
def _target_by_numpy(honest: Any, estimator: Any, *data: Any, y_numeric: bool = False, **options: Any) -> Any:
    found = honest(estimator, *data, **options)
    return (found[0], np.asarray(found[1], dtype=np.float64)) if y_numeric else found


def _least(honest: Any) -> Any:
    return lambda errors: np.minimum(errors, 1.0) * LOSS_UNITS


def _plainly_validated(honest: Any) -> Any:
    return lambda estimator, *data, **options: validate_data(estimator, *data, dtype=np.float64, **options)


def _in_place(honest: Any) -> Any:
    """Numbers are checked where the caller has them, and read from there again."""
    return lambda owner, name, values, shape: np.asarray(values)


class _Seen(np.ndarray):
    """The memory of the caller, of a type that takes the long way to `real_array`."""


@around
def _as_seen(honest: Any, *arguments: Any, **named: Any) -> Any:
    """Arrays among the arguments are handed on as they stand in the memory of the caller."""
    return honest(*(x.view(_Seen) if type(x) is np.ndarray else x for x in arguments), **named)


in_memory = planting("memory")
in_estimators = planting("estimators")
CONTROLS = (
    *(
        Control(
            f"{what} are read from the caller's memory again", "memory",
            both(swap(owner, "real_array", _in_place), swap(*reader, _as_seen)), attack, row=rows.BUFFER,
        )
        for what, owner, reader, attack in (
            ("losses of experts", expert_plan, (expert_plan.ExpertLearner, "_check"),
             found("changing_memory_changes_nothing")),
            ("gradients", loss, (loss, "finite_rows"), found("changing_memory_changes_nothing", tiny_features)),
            ("records of a running sum", accumulators, (accumulators.Accumulator, "add"), by_test(
                "runtime.test_memory", "test_running_sums", running_sums.best_gaussian(8))),
            ("batches of vectors", noisy_vectors, (noisy_vectors.NoisyVectors, "add"),
             by_test("runtime.test_memory", "test_noisy_vectors")),
        )
    ),
    in_memory("blocks of a run are read from the caller's memory again", validation.Rows, "read",
              lambda honest: lambda self: self._rows, found("changing_memory_changes_nothing"), row=rows.BUFFER),
    in_memory("scikit-learn's check of the caller's memory is trusted", base, "checked_data", _plainly_validated,
              by_test("models.test_memory", "test_estimators", "ridge"), row=rows.BUFFER),
    in_estimators("a score that is not a number wins every grid search", scoring, "whole_errors", _least,
                  by_test("models.test_scoring", "test_no_row_moves_a_sum_of_errors_by_more_than_one"),
                  row=rows.SCORES),
    in_estimators("a step of a pipeline that looks up a cell quotes it", pipeline, "without_words",
                  lambda honest: lambda call, *data, **params: call(*data, **params),
                  by_test("models.test_strangers", "test_no_error_or_warning_of_a_step_is_passed_on", "transform"),
                  row=rows.WORDS),
    in_estimators("a word among numbers makes texts of all categories", table, "number_of",
                  lambda honest: lambda cell: honest(cell) if isinstance(cell, float) else np.nan,
                  by_test("models.test_table", "test_one_cell_does_not_change_how_others_are_read"),
                  row=rows.CELLS),
    in_estimators("scikit-learn's errors quote the cells that it refuses", base, "checked_data", _plainly_validated,
                  quoting(_refused_text), row=rows.NAMED),
    in_estimators("numpy quotes a target of text", base, "checked_data", _target_by_numpy, quoting(_refused_target)),
    in_estimators("a pipeline passes on the words of its steps", pipeline, "TacitError", lambda honest: Exception,
                  by_test("models.test_strangers", "test_no_error_or_warning_of_a_step_is_passed_on", "fit"),
                  row=rows.NAMED),
    in_estimators("a scaler makes infinities, which the next step refuses", PrivateStandardScaler, "transform",
                  lambda honest: lambda self, X: (X - self.mean_) / self.scale_, raised),
    Control(
        "a replayable state of arms passes for a secret one", "noise",
        swap(Draws, "private", lambda honest: None), found("forged_states_are_refused", arms), row=rows.FORGE,
    ),
    Control(
        "minimisers raise at underflows where numpy was told so", "noise",
        both(
            swap(coupled, "perturbed_minimum", lambda honest: honest.__wrapped__),
            swap(ConvexLearner, "_absorb", lambda honest: honest.__wrapped__),
        ),
        found("settings_of_numpy_change_nothing", tiny_features), row=rows.NUMPY,
    ),
)  # fmt: skip
