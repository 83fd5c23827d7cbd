"""Planted bugs in the life of noise: used twice, told to somebody, taken back, or continued from half a round."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from attacks import rows
from planted_bugs.catalogue import Control, around, both, planting, swap
from planted_bugs.checked import ROUNDS, breach, found
from planted_bugs.tested import by_test
from tacit import process
from tacit.accounting.ledger import Ledger
from tacit.algorithms.bandit import BanditFW
from tacit.algorithms.bandit.bandit_plan import BanditLearner
from tacit.algorithms.experts import HedgeOnSums, LazyExperts
from tacit.algorithms.experts.expert_plan import ExpertLearner
from tacit.algorithms.experts.hedge_on_sums import HedgeOnSumsLearner
from tacit.algorithms.stochastic import OnlineToBatch
from tacit.algorithms.stochastic.objective_perturbation.objective_perturbation import (
    ObjectivePerturbation,
    ObjectivePerturbationLearner,
)
from tacit.auditing.report import Finding
from tacit.auditing.script import swapped
from tacit.domains import Ball
from tacit.losses import LogisticLoss
from tacit.noise import randomness
from tacit.noise.randomness import Randomness, Stream
from tacit.noise.running_sums.accumulators import BufferedAccumulator
from tacit.noise.source import Source
from tacit.problems import Bandit, Experts, Stochastic
from tacit.process import current_process
from tacit.runtime import state as states
from tacit.runtime.doubling import Doubling
from tacit.runtime.final_model import FinalModelLearner
from tacit.runtime.learner import Learner
from tacit.testing.rounds import Case
from tacit_models import PrivateLogisticRegression
from tacit_models.linear_model import PrivateLinearModel


def bandit() -> Case:
    """A learner whose feedback is a function of its decisions."""
    problem = Bandit(domain=Ball(2), lipschitz=1.0, value_range=(-1.0, 1.0), horizon=60)
    plan = BanditFW.calibrate(problem, epsilon=1.0, delta=1e-6)
    return Case(plan, Randomness.replayable(1).stream("values").random(60).tolist())


def pickled_pass() -> Finding:
    """Look for the records, the sums and the keys of an unfinished pass in the pickle of its estimator."""
    records = Randomness.replayable(2).stream("rows").random((30, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateLogisticRegression(
            data_norm=2.0, classes=[0, 1], horizon=100, random_state=0, fit_intercept=False
        )
        model.partial_fit(records, np.arange(30) % 2)
        inside = [*records, model._pass._sums._sum]
        stored = pickle.dumps(model)
    kept = any(np.asarray(secret).tobytes() in stored for secret in inside)
    return breach("pickle of an estimator", "raw records, sums or keys are in the pickle" if kept else "")


def released_by_threads() -> Finding:
    """Ask for the one model of some records from two threads, which meet where the release begins if they can."""
    problem = Stochastic(domain=Ball(2), loss=LogisticLoss(), horizon=ROUNDS)
    learner, meeting, drawn = ObjectivePerturbation.calibrate(problem, epsilon=1.0, delta=1e-6).start(), Barrier(2), []
    assert isinstance(learner, ObjectivePerturbationLearner)
    honest = ObjectivePerturbationLearner._made

    def meet(self: Any) -> None:
        with suppress(BrokenBarrierError):  # the other one waits for its turn
            meeting.wait(5.0)

    def made(self: Any) -> Any:
        drawn.append("a model")
        return honest(self)

    with swapped((Learner, "_close_last", meet), (ObjectivePerturbationLearner, "_made", made)):
        threads = [Thread(target=learner.release) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return breach("threads that release", "two models of the same records" if len(drawn) > 1 else "")


def _one_key(honest: Any) -> Any:
    return lambda key, message: honest(bytes(32) if key is None else key, message)


@around
def _told_positions(honest: Any, self: Learner) -> dict[str, Any]:
    told = {name: dict(stream.bit_generator.state) for name, stream in self._streams.items()}
    return {**honest(self), "positions": told}


@around
def _same_key(honest: Any, self: Stream) -> None:
    self.bit_generator.state = randomness._generator(bytes(32), b"renewed").state
    self.private = True


def _shared_source(honest: Any) -> Any:
    return lambda self, protocol: "the same object"  # a text is what says so to copy


@around
def _kept_view(honest: Any, self: BufferedAccumulator, fresh: Any, stretch: float) -> Any:
    view = vars(self).setdefault("_view", self._buffers[:])
    added = fresh - self._rounded(self._omega @ self._buffers)
    view += added
    view *= self._theta
    return added


@around
def _anywhere(honest: Any, self: Learner) -> None:
    if self._process is None:
        honest(self)
    self._process = current_process()


@contextmanager
def _unwiped() -> Iterator[None]:
    """A mark that no fork clears: whoever asks is in the process that he was in before."""
    mark, same = process._mark, bytearray(b"\1")
    compiled_watch = None if process._COMPILED is None else process._COMPILED.watch_process
    try:
        process._mark = same
        if compiled_watch is not None:
            compiled_watch(same, process._number, process._enter_child)
        yield
    finally:
        process._mark = mark
        if compiled_watch is not None:
            compiled_watch(mark, process._number, process._enter_child)


@around
def _never_busy(honest: Any, self: Learner, feedback: Any) -> None:
    if not self._played:
        honest(self, feedback)
    self._finish(self._check(feedback))


@around
def _admitted_at_the_end(honest: Any, self: Learner, *given: Any, **options: Any) -> Any:
    try:
        return honest(self, *given, **options)
    finally:
        self._process = current_process()


@around
def _at_once(honest: Any, self: Any) -> Any:
    self._lock = nullcontext()
    return honest(self)


@around
def _taken_back(honest: Any, self: BanditLearner, given: Any) -> Any:
    saved = self._remembered()
    try:
        return honest(self, given)
    except BaseException:
        self._scatter(saved)
        raise


in_noise = planting("noise")
CONTROLS = (
    in_noise("a secret source remembers its key", randomness, "_generator", _one_key,
             found("shared_secrets_share_no_noise"), row=rows.SHARE),
    in_noise("the state of a secret learner tells its keys", Learner, "_gather", _told_positions,
             found("secret_states_hold_no_keys"), row=rows.STEAL),
    in_noise("two continuations of one state draw the same noise", Stream, "renew", _same_key,
             found("secret_states_continue_with_fresh_noise"), row=rows.RESTORE),
    in_noise("a run that is undone keeps its keys", Stream, "renew", lambda honest: lambda self: None,
             found("interrupted_runs_are_undone"), row=rows.INTERRUPT),
    Control(
        "secret learners can be copied", "noise",
        both(
            swap(Learner, "__reduce_ex__", lambda honest: object.__reduce_ex__),
            swap(Stream, "__reduce__", lambda honest: lambda self: (randomness._at, (dict(self.bit_generator.state),))),
            swap(Source, "__reduce_ex__", lambda honest: object.__reduce_ex__),
        ),
        found("secrets_are_not_copied"), row=rows.COPY,
    ),
    in_noise("a copy draws from the generator of its original", Source, "__reduce_ex__", _shared_source,
             found("replayables_copy_faithfully"), row=rows.COPY),
    in_noise("a view kept as an attribute (frozen noise in copies)", BufferedAccumulator, "_advance", _kept_view,
             found("replayables_copy_faithfully"), row=rows.COPY),
    Control("a fork below Python is not noticed", "noise", _unwiped,
            by_test("test_process", "test_children_of_every_fork_draw_noise_of_their_own", "libc"),
            row=rows.FORK_BELOW),
    in_noise("a draw does not ask whether there was a fork", Stream, "standard_normal",
             lambda honest: np.random.Generator.standard_normal,
             by_test("test_process", "test_the_first_act_in_a_child_may_be_any_draw", "standard_normal"),
             row=rows.FORK_BELOW),
    in_noise("streams ask only where they were made first", Stream, "_enter_process",
             lambda honest: lambda self: None,
             by_test("test_process", "test_children_of_every_fork_draw_noise_of_their_own", "os"), row=rows.FORK_BELOW),
    in_noise("the end of a run admits a process", Learner, "run", _admitted_at_the_end,
             by_test("test_process", "test_a_child_of_a_fork_inside_run_is_refused", "LazyExperts"),
             row=rows.FORK_BELOW),
    in_noise("a child waits for a lock of its parent's thread", Learner, "_free_lock", lambda honest: lambda self: None,
             by_test("test_process", "test_a_learner_does_not_wait_for_a_thread_of_the_parent", "libc", "observe"),
             row=rows.FORK_BELOW, fast=False),
    in_noise("a forked worker charges a ledger in memory", Ledger, "_check_process", lambda honest: lambda self: None,
             by_test("test_process", "test_a_ledger_in_memory_refuses_in_a_child", "os"), row=rows.FORK_LEDGER),
    in_noise("a second process goes on with the same learner", Learner, "_admit", _anywhere,
             found("another_process_is_refused"), row=rows.FORK),
    in_noise("half a round is continued", Learner, "observe", _never_busy, found("half_rounds_are_not_continued"),
             row=rows.INTERRUPT),
    in_noise("points that a function saw are taken back", BanditLearner, "_run_openly", _taken_back,
             found("shown_decisions_are_not_taken_back", bandit), row=rows.RAISE),
    in_noise("sums that a learner of the user's saw are taken back", Learner, "_asks_others",
             lambda honest: lambda self: False,
             by_test("runtime.test_life_of_noise",
                     "test_what_a_class_of_the_users_saw_is_not_taken_back", OnlineToBatch, "learner"), row=rows.RAISE),
    in_noise("two threads release two models", FinalModelLearner, "release", _at_once, released_by_threads,
             row=rows.SHARE),
    in_noise("edited states are continued", states, "_digest_of", lambda honest: lambda text: "0",
             found("edited_states_are_refused"), row=rows.FORGE),
    in_noise("counts of a state are not compared", HedgeOnSumsLearner, "_consistent", lambda honest: lambda self: True,
             found("forged_states_are_refused"), row=rows.FORGE),
    in_noise("the pickle of an estimator holds its pass", PrivateLinearModel, "__getstate__",
             lambda honest: BaseEstimator.__getstate__, pickled_pass, row=rows.PICKLE),
    in_noise("functions and threads look at a run that is taken back", Learner, "_looking",
             lambda honest: lambda self, name: nullcontext(),
             by_test("runtime.test_life_of_noise", "test_a_function_sees_nothing_of_a_run_that_may_be_taken_back"),
             row=rows.RAISE),
    in_noise("losses of another range raise at underflows where numpy was told so", ExpertLearner, "_rescaled",
             lambda honest: lambda self, losses: losses / self._high,
             by_test("runtime.test_numpy_settings", "test_losses_of_another_range_underflow_quietly", HedgeOnSums),
             row=rows.NUMPY),
    in_noise("every epoch has a limit on switches of its own", Doubling, "_check_parameters",
             lambda honest: lambda self: None,
             by_test("runtime.test_life_of_noise", "test_a_limit_on_switches_needs_a_horizon", Experts, LazyExperts),
             row=rows.SWITCHES),
)  # fmt: skip
