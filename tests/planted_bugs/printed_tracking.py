"""Planted bugs in the printed formulas, learners and rows of the tracking paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planted_bugs.catalogue import Control, around, both, planting, swap
from planted_bugs.tested import by_test
from tacit.algorithms.tracking.every_window import EveryWindowLearner, WindowTest
from tacit.algorithms.tracking.limited_updates import NoisyMinimum
from tacit.algorithms.tracking.restart_on_shift import RestartOnShift
from tacit.algorithms.tracking.switching_sequences import SwitchingSequencesLearner
from tacit.papers import run as papers
from tacit.printed import tracking
from tacit.runtime.printed import Printed
from tacit.simulation import games

FORMULAS, ROWS = "printed.test_tracking", "papers.test_tracking"
LEARNERS, SEQUENCES = "algorithms.tracking.test_as_printed", "algorithms.tracking.test_switching_sequences"
SIMULATED = "simulation.test_loop"
CARRY = "test_a_learner_of_a_fixed_expert_is_compared_with_the_best_sequence"


def times(factor: float) -> Any:
    """A formula that is off by a factor."""
    return around(lambda honest, *given: factor * honest(*given))


def entry(name: str, factor: float) -> Any:
    """One parameter of a formula that is off by a factor."""

    @around
    def broken(honest: Any, *given: Any) -> Any:
        values = honest(*given)
        return {**values, name: factor * values[name]}

    return broken


@around
def _natural_is_binary(honest: Any, n: int, rounds: int, *others: Any) -> float:
    """A logarithm of base 2 in one place."""
    return honest(n, rounds**1.442695, *others)  # type: ignore[no-any-return]


@around
def _one_failure(honest: Any, rounds: int, epsilon: float, failure: float) -> float:
    """ln(1/beta) for ln(2/beta)."""
    return honest(rounds, epsilon, 2 * failure)  # type: ignore[no-any-return]


@around
def _no_errors(honest: Any, epsilon: float, eta: float, floor: float, noise: Any) -> Any:
    """The likelihood ratio of half the noise."""
    return honest(epsilon, eta, floor, noise / 2)


def _half_query(honest: Any) -> Any:
    """4/epsilon for 8/epsilon, in the running learner."""
    return property(lambda self: replace(honest.fget(self), query_scale=honest.fget(self).query_scale / 2))


@around
def _one_epoch(honest: Any, self: EveryWindowLearner, finished: int) -> None:
    """The round of a restart belongs to the old epoch only."""
    before = len(self._restarts)
    honest(self, finished)
    if len(self._restarts) > before:
        self._sums = 0 * self._sums
        self._lead[1] = 0
        self._local = 0


@around
def _epoch_after(honest: Any, self: EveryWindowLearner) -> int:
    return self._restarts[-1] if self._restarts else 0


@around
def _half_bound(honest: Any, self: WindowTest, *given: Any) -> Any:
    """Rounds are skipped whose tests could be above."""
    return honest(self, *given) / 20


def _typed_status(honest: Any) -> Any:
    """Exceeded says kept."""
    return lambda self, curve: "kept" if honest(self, curve) == "exceeded" else honest(self, curve)


@around
def _calibrated_rows(honest: Any, row: Any, problem: Any, settings: Any) -> Any:
    """Printed rows run calibrated plans."""
    return honest(replace(row, result="", choose={}) if row.result else row, problem, settings)


@around
def _of_the_fixed_expert(honest: Any, losses: Any, switches: int) -> Any:
    """A static learner judged by the fixed expert."""
    return honest(losses, 0)


@around
def _stale_sequence(honest: Any, self: SwitchingSequencesLearner, losses: Any) -> None:
    """The expert of the sequence in the round before."""
    honest(self, losses)
    self._action = int(self._experts[self._round, self._inner._action])


def _said_nothing(plan: Any) -> Any:
    """A plan that says nothing of where it differs."""
    return replace(plan, printed=replace(plan.printed, differs=()))


def _classmethod(broken: Any) -> Any:
    return lambda honest: classmethod(broken(honest.__func__))


in_print = planting("printed")


def formula(name: str, part: str, make: Any, test: str) -> Control:
    return in_print(f"tracking: {name}", tracking, part, make,
                    by_test(FORMULAS, "test_formulas_are_those_of_the_paper", test))  # fmt: skip


CONTROLS: tuple[Control, ...] = (
    formula("Lap(1/epsilon) in Algorithm 1", "algorithm_1", entry("scale", 0.5), "Algorithm 1, scale"),
    formula("ln(T^1.44) in Theorem 3.1", "theorem_3_1_regret", _natural_is_binary, "Theorem 3.1"),
    formula("Lap(4/epsilon) on the queries of Algorithm 2", "algorithm_2", entry("query_scale", 0.5),
            "Algorithm 2, queries"),
    formula("6 sqrt(w) in Algorithm 2", "algorithm_2", entry("slope", 2 / 3), "Algorithm 2, slope"),
    formula("a smaller margin in Algorithm 2", "algorithm_2", entry("margin", 0.9), "Algorithm 2, margin"),
    formula("ln(1/beta) in Lemma 2.4", "lemma_2_4", _one_failure, "Lemma 2.4"),
    formula("S for 2S in the proof of Theorem 3.2", "theorem_3_2_regret", times(0.5), "Theorem 3.2, proof"),
    formula("T^1.44 in Corollary 4.3", "corollary_4_3_order", _natural_is_binary, "Corollary 4.3"),
    formula("a rate without its logarithm in Theorem 5.2", "theorem_5_2", entry("eta", 3.0), "Theorem 5.2, eta"),
    formula("a factor .9 in Theorem C.2", "theorem_c_2_regret", times(0.9), "Theorem C.2"),
    formula("a factor 1.1 in Theorem 5.1", "theorem_5_1_order", times(1.1), "Theorem 5.1"),
    in_print("tracking: 1 epsilon for Algorithm 2", tracking, "algorithm_2_epsilon", lambda honest: lambda: 1.0,
             by_test(FORMULAS, "test_the_price_of_algorithm_2_is_added_up_from_its_noise")),
    in_print("tracking: each sequence once", tracking, "theorem_4_1_experts", times(0.5),
             by_test(FORMULAS, "test_meta_experts_are_counted", 2, 3, 1)),
    in_print("tracking: the leak of half the noise", tracking, "theorem_5_2_leak", _no_errors,
             by_test(FORMULAS, "test_the_leak_of_six_rounds_is_above_the_printed_epsilon")),
    in_print("tracking: 4/epsilon for 8/epsilon in the running test", RestartOnShift, "window_test", _half_query,
             by_test(LEARNERS, "test_the_running_test_has_the_printed_noise", 1.0, 3.0)),
    Control("tracking: the round of a restart in one epoch", "printed",
            both(swap(EveryWindowLearner, "_checkpoint", _one_epoch),
                 swap(EveryWindowLearner, "_epoch_start", _epoch_after)),
            by_test(LEARNERS, "test_queries_and_selections_are_those_of_the_print")),
    in_print("tracking: tests are skipped that could be above", WindowTest, "fires_at_most", _half_bound,
             by_test(LEARNERS, "test_skipped_tests_change_nothing", 15.0)),
    in_print("tracking: half the noise of a selection", NoisyMinimum, "for_budget", _classmethod(
             lambda honest: lambda cls, epsilon, width: NoisyMinimum(2 * honest(cls, epsilon, width).rate,
                                                                      honest(cls, epsilon, width).units)),
             by_test(LEARNERS, "test_coarse_steps_keep_the_scale_and_the_sensitivity")),
    in_print("tracking: exceeded says kept", Printed, "status", _typed_status,
             by_test(ROWS, "test_the_status_of_each_result", "Theorem 3.2")),
    in_print("tracking: printed rows run calibrated plans", papers, "plan_of", _calibrated_rows,
             by_test(ROWS, "test_rows_of_a_fresh_run_are_the_plans_of_their_labels")),
    in_print("tracking: a static learner judged by the fixed expert", games, "best_switching_sequence",
             _of_the_fixed_expert, by_test(SIMULATED, CARRY)),
    in_print("tracking: the sequence of the round before", SwitchingSequencesLearner, "_absorb", _stale_sequence,
             by_test(SEQUENCES, "test_the_black_box_sees_the_losses_of_sequences_and_decides")),
    in_print("tracking: nothing is said of where the learner differs", RestartOnShift, "_as_printed", _classmethod(
             lambda honest: lambda cls, *given, **named: _said_nothing(honest(cls, *given, **named))),
             by_test(ROWS, "test_the_status_of_each_result", "Theorem 3.2")),
)  # fmt: skip
