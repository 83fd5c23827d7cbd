"""The running algorithm: decide and settle, or play and observe; its state, and the array form of the same rounds.

Every round has a slot for its feedback (`rounds.py`). Noise is used once. A secret learner cannot be copied or pickled,
and is used in the process that started it; its state (`state.py`) holds no keys, so that whoever restores it goes on
with fresh noise; a round that was interrupted is never continued; and where a function of the user's has seen
decisions, they are not taken back. A learner may be used by several threads: each call is atomic.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from tacit.accounting.guarantee import Guarantee
from tacit.decisions import Decision
from tacit.errors import InvalidInput, ProtocolError, TacitError
from tacit.noise.randomness import COMPUTATIONAL, REPLAYABLE, Randomness
from tacit.packages import OWN_PACKAGES
from tacit.process import call_in_children, current_process
from tacit.runtime.rounds import (
    OPEN,
    Absent,
    absent_rows,
    loaded,
    owned,
    patched,
    refuse,
    reported_otherwise,
    same,
    saved,
)
from tacit.runtime.state import State, alike, fitting
from tacit.validation import MALFORMED, IntArray, check_integer, without_caches

if TYPE_CHECKING:
    from tacit.runtime.plan import OptionPlan, Plan


_freeing = RLock()


def _free_locks() -> None:
    """Replace the lock below, which a thread of the parent process may hold."""
    global _freeing
    _freeing = RLock()


call_in_children(_free_locks)


class Learner(ABC):
    """A running algorithm: decide, settle; or, one round after the other, play, observe, play, observe.

    `decide()` opens a round whatever is still open, and `settle(round, feedback)` reports its feedback, up to `delay`
    rounds later and in any order, or never. `play()` and `observe(feedback)` are the same for programs that finish a
    round before they begin the next one. Where decisions depend on a context, such as features or recommendations, both
    take that of the round. Threads may share a learner: every call is atomic.

    Subclasses name their state in `_state`, draw from `self._streams[name]`, and keep the next decision in
    `self._action`. `_check` maps feedback to checked feedback, or raises before anything changes: the only place where
    functions of the user's are called. `_absorb` takes the checked feedback of the oldest open round. `_nothing` gives
    the checked feedback of a round without feedback. With `_opens` set, `_at_opening` is told of every round before
    the round is decided. With `_takes_context` set, `_check_context` checks a copy of the context before anything
    changes, and `_choose` gives the decision. Context and decision wait in `_opened` until `_absorb` calls `_taken`.
    """

    _state: ClassVar[tuple[str, ...]] = ()
    _any_shape: ClassVar[tuple[str, ...]] = ()  # arrays of the state whose length changes from round to round
    _stream_names: ClassVar[tuple[str, ...]] = ()
    _plain: ClassVar[bool] = True  # whether `_action` is what `play` returns
    _reacts: ClassVar[bool] = False  # whether what feedback means depends on the decision
    _skips: bool = False  # whether `_run` looks at `_absent`
    _takes_context: bool = False  # whether decisions depend on a context of their round
    _context: str = "features"  # what errors call it
    _runs_all: ClassVar[bool] = False  # whether `_run` opens and closes its rounds itself, late or missing ones too
    _absent: Absent | None = None  # the rows without feedback, while `run` goes on
    _first_row = 0  # what errors add to a row number when a longer run hands over a part of its rows

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._plain = cls._decision is Learner._decision

    def __init__(self, plan: Plan, randomness: Randomness) -> None:
        self.plan = plan
        self._private = randomness.private
        self._label = randomness.label if self._private else COMPUTATIONAL  # what it says of itself while private
        self._streams = {name: randomness.stream(name) for name in self._stream_names}
        self._horizon = plan.horizon
        # No window is longer than the run.
        self._delay = plan.problem.delay if plan.horizon is None else min(plan.problem.delay, plan.horizon)
        self._lock = RLock()
        self._lock_process = current_process()
        self._round = 0  # how many are closed
        self._slots: dict[int, Any] = {}  # those after them that are open, without the one in the hand of play
        self._opened: dict[int, tuple[Any, Any]] = {}  # context and decision of each open round, where there are any
        self._played = False
        self._opens = False
        self._switches = 0
        self._action: Any = None
        self._process: int | None = current_process()  # None while a round is being absorbed
        self._saved_round: int | None = None
        self._unseen = False  # while `run` goes on, which may be taken back

    @property
    def guarantee(self) -> Guarantee:
        """The contract, stamped with the source of randomness that was really used."""
        return self.plan.guarantee.with_randomness(self._label if self._private else REPLAYABLE)

    @property
    def rounds(self) -> int:
        """How many rounds are closed: their feedback is counted, or will never be."""
        with self._looking("rounds"):
            return self._round

    @property
    def decided(self) -> int:
        """How many rounds were decided: the closed ones, and those that still take feedback."""
        with self._looking("decided"):
            return self._decided

    @property
    def _decided(self) -> int:
        return self._round + len(self._slots) + self._played

    @property
    def switches(self) -> int:
        """How often the decision has changed so far."""
        with self._looking("switches"):
            return self._switches

    def decide(self, context: Any = None) -> Decision:
        """Open the next round, whatever is still open: its number and its decision.

        At most `delay` earlier rounds stay open; the one before them closes, with its feedback or without. Atomic.

        Args:
            context: of the round, where decisions depend on one, and only there. Bad ones raise and change nothing.
        """
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            if self._process != self._lock_process:
                self._admit()
            checked = self._checked_context(context)
            if self._played and self._decided != self._horizon:  # the round in hand stays open like any other
                self._put_back(OPEN)
            number = self._open_round(checked)
            self._slots[number] = OPEN
            return Decision(number, self._action if self._plain else self._decision())

    def settle(self, round: int, feedback: Any) -> None:
        """Report the feedback of an open round (None: there is none). Atomic.

        Bad feedback raises and changes nothing, and the round stays open. The same feedback again is accepted; another
        one is refused, as is any for a round that is closed or was not decided.
        """
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            checked, number = self.checked(round, feedback), int(round)
            if self._slots[number] is OPEN:
                self._slots[number] = owned(checked)
            elif not same(self._slots[number], checked):
                raise reported_otherwise(number)

    def checked(self, round: int, feedback: Any) -> Any:
        """Check feedback of an open round as `settle` does, and give what would be kept; nothing changes. Atomic."""
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            if self._process != self._lock_process:
                self._admit()
            slots = self._slots
            number = round if type(round) is int else check_integer("settle", "round", round, at_least=0)
            if number not in slots:
                refuse(self.plan.algorithm, number, self._decided, self._delay, self._played)
            checked = None if feedback is None else self._check_at(number, feedback)
            if slots is not self._slots or number not in slots:
                self._refuse_nested(number)
            return checked

    def play(self, context: Any = None) -> Any:
        """Give the decision of this round; the same decision until `observe` ends the round.

        Args:
            context: of the round, only where decisions depend on a context; a context given once may be left out.
        """
        lock = self._lock
        if not lock.acquire(False):  # most plays find it free, and need not ask in which process they are
            lock = self._wait_for_lock()
        try:
            if self._process is None:
                self._admit()
            if self._takes_context or context is not None:
                self._play_in(context)
            elif not self._played:
                if self._slots or self._opens or self._round == self._horizon:  # otherwise nothing is to be done
                    self._open_round()
                self._played = True
            return self._action if self._plain else self._decision()
        finally:
            lock.release()

    def _play_in(self, context: Any) -> None:
        if self._played and context is None:
            return
        checked = self._checked_context(context)
        if not self._played:
            self._open_round(checked)
            self._played = True
        else:
            self._check_in_hand(checked)

    def _check_in_hand(self, context: Any) -> None:
        if not same(self._opened[self._decided - 1][0], context):
            raise ProtocolError(
                f"Round {self._decided - 1} was played with other {self._context}: end it with observe() first."
            )

    def _checked_context(self, context: Any) -> Any:
        if self._takes_context and context is None:
            raise InvalidInput(
                f"{self.plan.algorithm} decides by the {self._context} of each round: hand it to play or decide."
            )
        if context is None:
            return None
        if not self._takes_context:
            raise InvalidInput(f"{self.plan.algorithm} takes no context: its decisions depend on feedback alone.")
        return self._check_context(context)

    def _check_context(self, context: Any) -> Any:
        """Check a copy of a round's context, raising before anything changes."""
        raise NotImplementedError(f"{self.plan.algorithm} sets `_takes_context` but has no `_check_context()`.")

    def _choose(self, number: int, context: Any) -> Any:
        """Decide a round in its checked context."""
        raise NotImplementedError(f"{self.plan.algorithm} sets `_takes_context` but has no `_choose()`.")

    def _taken(self) -> tuple[Any, Any]:
        """Take the checked context and the decision of the round that `_absorb` closes."""
        return self._opened.pop(self._round)

    def _open_round(self, context: Any = None) -> int:
        """Close the round whose window is over, and say which one is decided next."""
        number = self._decided
        if number == self._horizon:
            raise ProtocolError(
                f"{self.plan.algorithm} was planned for {self._horizon} rounds and has played them all: "
                "plan a longer horizon, or horizon=None."
            )
        if len(self._slots) > self._delay:
            self._close_round()
        if self._opens:
            process, self._process = self._process, None
            self._at_opening(number)
            self._process = process
        if self._takes_context:
            process, self._process = self._process, None
            action = self._choose(number, context)
            self._opened[number] = context, action
            if number:
                self._move(action)
            self._action = action
            self._process = process
        return number

    def _close_round(self) -> None:
        """Absorb the feedback of the oldest open round, or that there is none."""
        if self._process not in (None, self._lock_process):
            self._admit()
        checked = self._recalled(self._slots[self._round])
        process, self._process = self._process, None
        del self._slots[self._round]
        self._absorb(checked)
        self._round += 1
        self._process = process

    def _recalled(self, kept: Any) -> Any:
        return self._nothing() if kept is OPEN or kept is None else kept

    def _at_opening(self, number: int) -> None:
        """A round is about to be decided; all that closes before it is closed."""
        raise NotImplementedError(f"{self.plan.algorithm} sets `_opens` but does not implement `_at_opening()`.")

    def _decision(self) -> Any:
        return self._action

    def _move(self, decision: Any) -> None:
        """Change the decision from the next round on, and count whether it is another one."""
        if self._action is not None:
            other = decision != self._action
            self._switches += bool(np.logical_or.reduce(other, axis=None) if type(other) is np.ndarray else other)
        self._action = decision

    def observe(self, feedback: Any) -> None:
        """End the round with its feedback (None: there is none). Bad feedback raises and changes nothing."""
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            if self._process != self._lock_process:
                self._admit()
            if not self._played:
                raise ProtocolError("observe() came before play(): play a round first, then observe its feedback.")
            if self._delay or feedback is None:
                self._observe_late(feedback)
                return
            number = self._round
            checked = self._check(feedback)
            if not self._played or self._round != number:
                self._refuse_nested(number)
            process, self._process = self._process, None  # whoever finds None knows that a round was left half done
            self._absorb(checked)  # as `_finish`, without the call: this is the hot path
            self._round += 1
            self._played = False
            self._process = process

    def _observe_late(self, feedback: Any) -> None:
        number = self._round + len(self._slots)
        checked = None if feedback is None else owned(self._check_at(number, feedback))
        if not self._played or self._round + len(self._slots) != number:
            self._refuse_nested(number)
        self._put_back(checked)
        if not self._delay:
            self._close_round()

    def _refuse_nested(self, number: int) -> NoReturn:
        raise ProtocolError(
            f"A function that {self.plan.algorithm} asked about round {number} has gone on with the learner itself: "
            "this feedback is not counted."
        )

    def _put_back(self, kept: Any) -> None:
        process, self._process = self._process, None
        self._slots[self._round + len(self._slots)] = kept
        self._played = False
        self._process = process

    def _finish(self, checked: Any) -> None:
        self._absorb(checked)
        self._round += 1
        self._played = False

    def run(self, feedback: Any, mask: Any = None, *, contexts: Any = None) -> Any:
        """Play a whole array of rounds: the same decisions as play/observe, returned as an array.

        If any row is bad, nothing has happened. Only a function of yours (a `CustomLoss`, the values of a bandit) sees
        decisions at once, and these are never taken back. If that function raises, the learner stands at the last
        complete round, and the round in hand is played. If a loss, set or learner of a class of yours raises, the
        learner cannot go on.

        Args:
            feedback: one row a round; in a list, None where a round has no feedback.
            mask: one truth value a round, False where a round has no feedback; its row is not looked at.
            contexts: one row a round, where decisions depend on a context, and only there.
        """
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            if self._process != self._lock_process:
                self._admit()
            rows, absent = self._with_missing(feedback, mask)
            around = self._checked_contexts(contexts, len(rows))
            if self._horizon is not None and self._round + len(self._slots) + len(rows) > self._horizon:
                raise ProtocolError(
                    f"{self.plan.algorithm} was planned for {self._horizon} rounds: "
                    f"{self._horizon - self._round - len(self._slots)} are left, got {len(rows)}."
                )
            if self.shows_decisions:
                return self._run_openly(rows)
            before = self._remembered()
            process, self._process, self._unseen = self._process, None, True
            try:
                with np.errstate(all="ignore"):  # whether something underflows depends on the data
                    actions = self._run_rows(rows, absent, around)
            except BaseException:
                self._unseen = False
                if not self._asks_others():  # what others have seen is not taken back
                    # A secret learner goes on under fresh keys: what was drawn is not drawn again.
                    if process == current_process():  # a child of a fork meanwhile is refused
                        self._scatter(before)
                    self._process = process
                raise
            self._process, self._unseen = process, False
            return actions

    def _with_missing(self, feedback: Any, mask: Any) -> tuple[Any, Absent | None]:
        """Give the rows as `_run` takes them, and which of them have no feedback (None: all have)."""
        absent = absent_rows(self.plan.algorithm, feedback, mask)
        if absent is None or not absent.any():
            return self._check_many(feedback), None
        if self.shows_decisions:
            return self._check_many(patched(feedback, absent, None)), absent
        if absent.all():
            return [None] * len(absent), absent
        if self._skips and not isinstance(feedback, list | tuple):
            return self._check_many(feedback), absent
        return self._check_many(patched(feedback, absent, int(np.argmin(absent)))), absent

    def _checked_contexts(self, contexts: Any, count: int) -> Any:
        if not self._takes_context or contexts is None:
            return self._checked_context(contexts)
        checked = self._check_contexts(contexts)
        if len(checked) != count:
            raise InvalidInput(
                f"The 'contexts' of {self.plan.algorithm}.run must be as many as its rows, {count}. "
                f"Got {len(checked)} instead."
            )
        return checked

    def _check_contexts(self, contexts: Any) -> Any:
        return [self._check_context(context) for context in contexts]

    def _run_rows(self, rows: Any, absent: Absent | None, contexts: Any = None) -> Any:
        """Play checked rows while nobody looks, whatever was open before."""
        self._absent = absent
        try:
            if self._takes_context:
                return self._run_in(rows, absent, contexts)
            if self._runs_all:
                return self._run(rows)
            if not self._delay:
                while self._slots:
                    self._close_round()
                return self._run_now(rows, absent)
            if not len(rows):
                return self._run(rows)
            one_by_one = self._opens or self._reacts
            return (self._run_one_by_one if one_by_one else self._run_behind)(rows, absent)
        finally:
            self._absent = None

    def _run_now(self, rows: Any, absent: Absent | None) -> Any:
        """Play without delay: stretches with feedback as arrays, the others round by round."""
        if absent is None or not absent.any() or (self._skips and not absent.all()):
            return self._run(rows)
        borders = [0, *(np.flatnonzero(np.diff(absent)) + 1).tolist(), len(absent)]
        parts = []
        for first, last in pairwise(borders):
            if absent[first]:
                for _ in range(first, last):
                    parts.append(np.asarray(self._decision())[None])
                    self._finish(self._nothing())
            else:
                self._first_row, self._absent = first, None
                parts.append(self._run(rows[first:last]))
        self._first_row = 0
        return np.concatenate(parts)

    def _run_behind(self, rows: Any, absent: Absent | None) -> Any:
        """Play with a delay where decisions depend on feedback only: as without delay, some rounds behind.

        Each decision is the one that was due when `delay` rounds before it, and no more, were still open.
        """
        waiting, count = len(self._slots), len(rows)
        self._played = False
        absorbed = max(0, waiting + count - self._delay - 1)
        parts = []
        for _ in range(min(waiting, absorbed)):
            parts.append(np.asarray(self._decision())[None])
            self._close_round()
        direct = absorbed - len(parts)
        if direct:
            parts.append(self._run_now(rows[:direct], None if absent is None else absent[:direct]))
        parts.append(np.asarray(self._decision())[None])
        behind: IntArray = np.maximum(0, waiting + np.arange(count) - self._delay)
        self._absent = absent
        silent = absent is not None and absent[direct:].all()
        tail = rows[direct:] if silent else self._check_rows(rows[direct:], direct)
        for index, checked in enumerate(tail, direct):
            missing = absent is not None and absent[index]
            self._slots[self._round + len(self._slots)] = None if missing else owned(checked)
        return np.concatenate(parts)[behind]

    def _run_in(self, rows: Any, absent: Absent | None, contexts: Any) -> Any:
        actions = self._run_one_by_one(rows, absent, contexts)
        while self._slots and not self._delay:
            self._close_round()
        return actions

    def _run_one_by_one(self, rows: Any, absent: Absent | None, contexts: Any = None) -> Any:
        """Decide, then settle: where feedback depends on the decision, or decisions on more than feedback."""
        actions = []
        blocks = (rows,) if absent is not None and absent.all() else self._read(rows)
        for index, row in enumerate(row for block in blocks for row in block):
            context = None if contexts is None else contexts[index]
            if self._played and contexts is not None:
                self._check_in_hand(context)
            number = self._round + len(self._slots) if self._played else self._open_round(context)
            self._played = False
            actions.append(self._decision())
            missing = absent is not None and absent[index]
            self._slots[number] = None if missing else owned(self._check_row(number, row))
        return np.asarray(actions)

    @property
    def shows_decisions(self) -> bool:
        """Whether functions of the user's see decisions while `run` goes on."""
        return False

    def _asks_others(self) -> bool:
        """Whether a loss, a set or a learner of the user's sees points or noisy sums while `run` goes on."""
        problem = self.plan.problem
        parts = (getattr(problem, "loss", None), getattr(problem, "domain", None), getattr(self.plan, "learner", None))
        return _is_of_others(parts)

    def _run(self, rows: Any) -> Any:
        actions = []
        for row in rows:
            checked = self._check(row)
            actions.append(self._decision())
            self._finish(checked)
        return np.asarray(actions)

    def _run_openly(self, rows: Any) -> Any:
        actions = []
        for row in rows:
            actions.append(self.play())
            self.observe(row)
        return np.asarray(actions)

    @abstractmethod
    def _check(self, feedback: Any) -> Any: ...

    def _check_at(self, number: int, feedback: Any) -> Any:
        """As `_check`, for feedback of this open round."""
        return self._check(feedback)

    def _check_many(self, feedback: Any) -> Any:
        """The rows of an array of feedback; each row is checked when its turn comes."""
        return feedback

    def _read(self, rows: Any) -> Iterable[Any]:
        """The rows of `run` in blocks."""
        return (rows,)

    @abstractmethod
    def _absorb(self, feedback: Any) -> None: ...

    def _nothing(self) -> Any:
        """Checked feedback of a round without any: a public constant that contributes nothing."""
        return self._check(None)

    def _close_last(self) -> None:
        """No decision follows: close the rounds that have their feedback. Atomic."""
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            if self._slots and self._process != self._lock_process:
                self._admit()
            while self._slots and self._slots[self._round] is not OPEN:
                self._close_round()

    def _check_row(self, number: int, row: Any) -> Any:
        """As `_check_at`, for a row of `run`."""
        return self._check_at(number, row)

    def _check_rows(self, rows: Any, first: int) -> Any:
        absent = self._absent
        return [None if absent is not None and absent[at] else self._check(row) for at, row in enumerate(rows, first)]

    @contextmanager
    def _looking(self, name: str) -> Iterator[None]:
        """While somebody reads how far the learner has come: never in rounds that `run` may still take back."""
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            if self._unseen:
                raise ProtocolError(
                    f"This {self.plan.algorithm} learner is in the middle of run(), which is taken back if a row is "
                    f"bad: its '{name}' is not shown there. Where a function looks, play and observe round by round."
                )
            yield

    def _free_lock(self) -> None:
        """Replace a lock that a thread of the parent process holds, which is not here to release it."""
        with _freeing:
            number = current_process()
            if self._lock_process != number:
                if self._lock.acquire(blocking=False):
                    self._lock.release()
                else:
                    self._lock = RLock()
                self._lock_process = number  # last

    def _wait_for_lock(self) -> Any:
        """Return the learner's lock once it is acquired, in a child not the one that its parent holds."""
        if self._lock_process != current_process():
            self._free_lock()
        lock = self._lock
        lock.acquire()
        return lock

    def _admit(self) -> None:
        """Refuse half rounds, and secret noise in a second process; replayable noise may go anywhere."""
        if self._process is None:
            saved = "none was saved" if self._saved_round is None else f"the last one is of round {self._saved_round}"
            raise ProtocolError(
                f"This {self.plan.algorithm} learner was interrupted in the middle of round {self._round}, whose "
                f"feedback may or may not be counted, and cannot go on: restore a saved state_dict ({saved})."
            )
        if self._private:
            raise ProtocolError(
                f"This {self.plan.algorithm} learner was started in another process, and in two processes its secret "
                "noise would be used twice: send its state_dict() there instead and continue with plan.restore(state)."
            )
        self._process = current_process()

    def state(self, *, waiting: bool = True) -> State:
        """Give everything needed to continue, as `state_dict` and `state_text` write it. PRIVATE.

        Args:
            waiting: with the feedback of open rounds; whoever keeps that feedback elsewhere settles it again.
        """
        if self._lock_process != current_process():
            self._free_lock()
        with self._lock:
            if self._process != self._lock_process:
                self._admit()
            content = self._remembered(waiting)
            self._saved_round = self._round + len(self._slots)
            return State(self.plan.signature, content)

    def state_dict(self) -> dict[str, Any]:
        """Give the whole state, as text and numbers that JSON can hold. PRIVATE: keep the state as safe as the data.

        A secret learner's state holds no keys (see `Plan.restore`). A replayable learner's continues bit for bit.
        """
        return self.state().entries()

    def state_text(self, *, waiting: bool = True) -> str:
        """Give the state of `state_dict` as JSON."""
        return self.state(waiting=waiting).text()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state saved by a learner of the same plan, as `Plan.restore` does."""
        with self._looking("state"):
            needed = set(self._remembered(waiting=False)) - {"streams"}
            self.load(State.read(self.plan.algorithm, self.plan.signature, state, needed))

    def load(self, state: State) -> None:
        """Continue from a state of the same plan that was read; one that contradicts itself changes nothing."""
        with self._looking("state"):
            algorithm, process, before = self.plan.algorithm, self._process, self._remembered()
            here = current_process()
            if state.plan != self.plan.signature:
                raise InvalidInput(f"This state was saved by another plan than this {algorithm} learner's.")
            self._process = None
            try:
                self._scatter(state.content)
                if not self._consistent():
                    raise InvalidInput(
                        f"This state of a {algorithm} learner contradicts itself: its counts do not agree."
                    )
                self.plan.refuse_unkept(self._private)
            except MALFORMED as error:
                self._scatter(before)
                self._process = process
                if isinstance(error, TacitError):
                    raise
                raise InvalidInput(f"This is not the state of a {algorithm} learner ({error!r}).") from None
            self._saved_round = self._round + len(self._slots)
            self._process = here

    def _remembered(self, waiting: bool = True) -> dict[str, Any]:
        """Give the whole state as copies; of open rounds the feedback, or only their number."""
        return {**self._gather(), "open": saved(self._slots) if waiting else len(self._slots)}

    def _gather(self) -> dict[str, Any]:
        """Give the state without its open rounds; positions of streams only if they may be replayed."""
        content: dict[str, Any] = {
            "round": self._round,
            "played": self._played,
            "switches": self._switches,
            "action": copy.deepcopy(self._action),
            **{name: _saved(getattr(self, name)) for name in self._state},
        }
        if self._takes_context:
            content["opened"] = copy.deepcopy(list(self._opened.values()))
        if not self._private:
            content["streams"] = {name: stream.position() for name, stream in self._streams.items()}
        return content

    def _scatter(self, content: dict[str, Any]) -> None:
        """Take over gathered values; without positions the streams continue under fresh keys."""
        self._round = check_integer("load_state_dict", "round", content["round"], at_least=0, at_most=self._horizon)
        self._slots = loaded(self._round, content["open"], self._delay + 1)
        self._played = fitting(True, content["played"])
        decided = self._round + len(self._slots) + self._played
        if decided - self._round > self._delay + 1 or (self._horizon is not None and decided > self._horizon):
            raise TypeError("fewer open rounds expected")
        self._opened = {}
        if self._takes_context:
            self._opened = dict(enumerate(self._loaded_contexts(content["opened"], decided - self._round), self._round))
        self._switches = fitting(0, content["switches"])
        self._action = copy.deepcopy(fitting(self._action, content["action"]))
        self._private = "streams" not in content
        for name, stream in self._streams.items():  # in place: mechanisms hold these generators
            if self._private:
                stream.renew()
            else:
                stream.move_to(content["streams"][name])
        for name in self._state:
            setattr(self, name, self._loaded(name, content[name]))

    def _loaded_contexts(self, opened: Any, count: int) -> list[tuple[Any, Any]]:
        """Give the contexts and decisions of the open rounds of a state; a context passes the check that it passed."""
        if not isinstance(opened, list) or len(opened) != count:
            raise TypeError(f"{count} contexts of open rounds expected")
        return [(self._loaded_context(context), fitting(self._action, action)) for context, action in opened]

    def _loaded_context(self, context: Any) -> Any:
        return owned(context)

    def _loaded(self, name: str, saved: Any) -> Any:
        current = getattr(self, name)
        if isinstance(current, Learner):
            current._scatter(saved)
            if current._private != self._private:
                raise InvalidInput("One part of this state is replayable and another is not.")
        elif hasattr(current, "load_state_dict"):
            alike(current.state_dict(), saved)
            current.load_state_dict(saved)
            if getattr(current, "private", None) not in (None, self._private):
                raise InvalidInput("One part of this state is replayable and another is not.")
        else:
            return copy.deepcopy(fitting(current, saved, any_shape=name in self._any_shape))
        return current

    def _consistent(self) -> bool:
        """Whether the state that was just loaded can be that of a learner after so many rounds."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock(), _lock_process=current_process())

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._private:
            raise ProtocolError(
                f"A secret {self.plan.algorithm} learner cannot be copied or pickled, because its noise would be used "
                "twice: save its state_dict() and continue with plan.restore(state), which draws fresh noise."
            )
        return super().__reduce_ex__(protocol)


class OptionLearner(Learner):
    """Plays one of the options, and counts how often it changes."""

    plan: OptionPlan
    _action: int

    def _move(self, option: int) -> None:
        if option != self._action:
            self._switches += 1
        self._action = option


def _saved(value: Any) -> Any:
    if isinstance(value, Learner):
        return value._remembered()
    return value.state_dict() if hasattr(value, "state_dict") else copy.deepcopy(value)


def _is_of_others(part: Any) -> bool:
    """Whether this is a function, or an object of a class, that tacit did not write, or has one inside."""
    if isinstance(part, dict | list | tuple):
        return any(map(_is_of_others, part.values() if isinstance(part, dict) else part))
    home = str(getattr(part if callable(part) else type(part), "__module__", "")).partition(".")[0]
    if home in OWN_PACKAGES and not isinstance(part, type):
        return _is_of_others(without_caches(part)) if hasattr(part, "__dict__") else False
    return callable(part) or home not in (*OWN_PACKAGES, "builtins", "numpy")
