"""The contract of learners: one call runs every check on a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tacit.errors import InvalidInput
from tacit.runtime.plan import Plan
from tacit.testing import delays, noise, playing, states
from tacit.testing.rounds import Case, Runs

Check = Callable[[Case], None]

CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        playing.play_is_idempotent,
        playing.run_is_the_loop,
        playing.settings_of_numpy_change_nothing,
        playing.parts_and_loops_mix,
        playing.rounds_are_counted,
        playing.bad_feedback_changes_nothing,
        playing.inputs_are_not_kept,
        playing.changing_memory_changes_nothing,
        playing.contract_is_stored,
        delays.deciding_is_playing,
        delays.missing_rounds_are_rounds,
        delays.slots_refuse,
        delays.open_rounds_are_saved,
        states.replayable_states_continue,
        states.secret_states_hold_no_keys,
        states.secret_states_continue_with_fresh_noise,
        states.foreign_states_are_refused,
        states.edited_states_are_refused,
        states.forged_states_are_refused,
        noise.shared_secrets_share_no_noise,
        noise.secrets_are_not_copied,
        noise.replayables_copy_faithfully,
        noise.sealed_batches_repeat,
        noise.another_process_is_refused,
        noise.half_rounds_are_not_continued,
        noise.interrupted_runs_are_undone,
        noise.shown_decisions_are_not_taken_back,
    )
}


def check_learner(
    plan: Plan, feedback: Sequence[Any], *, as_run: Runs | None = None, contexts: Sequence[Any] | None = None
) -> None:
    """Raise AssertionError, with the name of the check, where a plan's learner breaks the contract of learners.

    Checked are: play is idempotent; `run` is the loop bit for bit; bad input changes nothing; arrays that change
    while they are read are used as they were checked; feedback may come late
    within its window, in any order, or never; states go through JSON,
    continue bit for bit (replayable) or with fresh noise (secret), hold no keys and are checked when they are loaded;
    no copies of secret learners, faithful copies of replayable ones; no use in a second process; no half round is
    continued. What it cannot check is the privacy of the algorithm itself: see `tacit.audit`.

    Args:
        plan: the plan whose learners are checked.
        feedback: at least 8 rounds, as `observe` takes them; no more than the plan's horizon.
        as_run: turns a list of rounds into what `run` takes (default: an array, or a pair of arrays).
        contexts: one a round, where decisions depend on a context.

    >>> from tacit import Experts
    >>> from tacit.algorithms import LazyExperts
    >>> check_learner(LazyExperts(Experts(n=2, horizon=20), eta=0.1, force=0.1), [[0.0, 1.0]] * 20)
    """
    if len(feedback) < 8:
        raise InvalidInput(f"check_learner needs at least 8 rounds of feedback. Got {len(feedback)} instead.")
    case = Case(plan, list(feedback), as_run, None if contexts is None else list(contexts))
    for name, check in CHECKS.items():
        try:
            check(case)
        except AssertionError as error:
            raise AssertionError(f"{plan.algorithm} breaks '{name}': {error}") from error
