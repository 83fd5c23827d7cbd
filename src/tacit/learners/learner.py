"""The running algorithm: decide and settle, or play and observe; its state, and the array form of the same rounds.

Every round has a slot for its feedback (`slots.py`). Noise is used once: `stateful.py` says what that means for copies,
processes, states and interrupts; and where a function of the user's has seen decisions, they are not taken back.
A learner may be used by several threads: each call is atomic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn

import numpy as np

from tacit.decisions import Decision
from tacit.errors import ProtocolError
from tacit.learners.array_runs import Absent, run_rows, with_missing
from tacit.learners.slots import OPEN, owned, refuse, same
from tacit.learners.stateful import Stateful
from tacit.learners.states import STATE_VERSION, STATE_WARNING
from tacit.markup import card
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.rounding import rounded_up
from tacit.randomness import REPLAYABLE, Process
from tacit.validation import check_integer

__all__ = ["STATE_VERSION", "STATE_WARNING", "Learner"]


class Learner(Stateful, ABC):
    """A running algorithm: decide, settle; or, one round after the other, play, observe, play, observe.

    `decide()` opens a round whatever is still open, and `settle(round, feedback)` reports its feedback, up to `delay`
    rounds later and in any order, or never. `play()` and `observe(feedback)` are the same for programs that finish a
    round before they begin the next one. Threads may share a learner: every call is atomic.

    Subclasses name their state in `_state`, draw from `self._streams[name]`, keep the next decision in
    `self._action`, and give `_check` (feedback -> checked feedback, raising before anything changes; the only place
    where functions of the user's are called), `_absorb` (the checked feedback of the oldest open round) and `_nothing`
    (the checked feedback that contributes nothing: that of a round without feedback). With `_opens` set, `_at_opening`
    is told of every round before it is decided.
    """

    _plain: ClassVar[bool] = True  # whether `_action` is what `play` returns
    _reacts: ClassVar[bool] = False  # whether what feedback means depends on the decision
    _skips: bool = False  # whether `_run` looks at `_absent`
    _absent: Absent | None = None  # the rows without feedback, while `run` goes on
    _first_row = 0  # what errors add to a row number when a longer run hands over a part of its rows

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._plain = cls._decision is Learner._decision

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

    def _repr_html_(self) -> str:
        """The learner in a notebook: public facts only."""
        plan, first = self.plan, str(self.guarantee).splitlines()[0]
        facts = [
            ("problem", str(plan.problem)),
            ("rounds decided", f"{self.decided:,}"),
            (f"certified {plan.problem.criterion}", rounded_up(float(plan.regret_bound), thousands=True)),
            ("contract", first),
            ("released", self.guarantee.released),
        ]
        warning = "" if self.guarantee.private else "Its noise can be replayed by whoever knows the seed: NOT private."
        return card(f"{plan.algorithm} learner", facts, warning=warning, note="Its state is private and not shown.")

    @property
    def switches(self) -> int:
        """How often the decision has changed so far."""
        with self._looking("switches"):
            return self._switches

    def decide(self) -> Decision:
        """Open the next round, whatever is still open: its number and its decision.

        At most `delay` earlier rounds stay open; the one before them closes, with its feedback or without. Atomic.
        """
        with self._lock:
            if self._process != Process.number:
                self._admit()
            if self._played and self._decided != self._horizon:  # the round in hand stays open like any other
                self._put_back(OPEN)
            number = self._open_round()
            self._slots[number] = OPEN
            return Decision(number, self._action if self._plain else self._decision())

    def settle(self, round: int, feedback: Any) -> None:
        """Report the feedback of an open round (None: there is none). Atomic.

        Bad feedback raises and changes nothing, and the round stays open. The same feedback again is accepted; another
        one is refused, as is any for a round that is closed or was not decided.
        """
        with self._lock:
            if self._process != Process.number:
                self._admit()
            slots = self._slots
            number = round if type(round) is int else check_integer("settle", "round", round, at_least=0)
            if number not in slots:
                refuse(self.plan.algorithm, number, self._decided, self._delay, self._played)
            checked = None if feedback is None else self._check_at(number, feedback)
            if slots is not self._slots or number not in slots:
                self._refuse_nested(number)
            if slots[number] is OPEN:
                slots[number] = owned(checked)
            elif not same(slots[number], checked):
                raise ProtocolError(f"Round {number} has its feedback already, and another one was reported.")

    def play(self) -> Any:
        """The decision of this round; the same one until `observe` ends the round."""
        with self._lock:
            if self._process is None:
                self._admit()
            if not self._played:
                if self._slots or self._opens or self._round == self._horizon:  # otherwise nothing is to be done
                    self._open_round()
                self._played = True
            return self._action if self._plain else self._decision()

    def _open_round(self) -> int:
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
        return number

    def _close_round(self) -> None:
        """Absorb the feedback of the oldest open round, or that there is none."""
        if self._process not in (None, Process.number):
            self._admit()
        checked = self._recalled(self._slots[self._round])
        process, self._process = self._process, None
        del self._slots[self._round]
        self._absorb(checked)
        self._round += 1
        self._process = process

    def _recalled(self, kept: Any) -> Any:
        """What `_absorb` takes, from what stood in a slot."""
        return self._nothing() if kept is OPEN or kept is None else kept

    def _at_opening(self, number: int) -> None:
        """A round is about to be decided; all that closes before it is closed."""
        raise NotImplementedError(f"{self.plan.algorithm} asks to be told of rounds, and does not listen.")

    def _decision(self) -> Any:
        """What `play` returns: the decision of the round in hand, as a value of its own."""
        return self._action

    def observe(self, feedback: Any) -> None:
        """End the round with its feedback (None: there is none). Bad feedback raises and changes nothing."""
        with self._lock:
            if self._process != Process.number:
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
        """Put the feedback of the round in hand into its slot, and close it at once if its window is over."""
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
        """Give the round in the hand of play a slot."""
        process, self._process = self._process, None
        self._slots[self._round + len(self._slots)] = kept
        self._played = False
        self._process = process

    def _finish(self, checked: Any) -> None:
        """End the round in hand with feedback that was checked."""
        self._absorb(checked)
        self._round += 1
        self._played = False

    def run(self, feedback: Any, mask: Any = None) -> Any:
        """Play a whole array of rounds: the same decisions as play/observe, returned as an array.

        If any row is bad, nothing has happened: no decision was shown, and the learner is where it was before the
        call. Only where a function of yours is asked about the decisions (a `CustomLoss`, the values of a bandit) are
        they shown at once and never taken back: if it raises, the learner stands at the last complete round, and the
        round in hand is played.

        Args:
            feedback: one row a round; in a list, None where a round has no feedback.
            mask: one truth value a round, False where a round has no feedback; its row is not looked at.
        """
        with self._lock:
            if self._process != Process.number:
                self._admit()
            rows, absent = with_missing(self, feedback, mask)
            if self._horizon is not None and self._round + len(self._slots) + len(rows) > self._horizon:
                raise ProtocolError(
                    f"{self.plan.algorithm} was planned for {self._horizon} rounds: "
                    f"{self._horizon - self._round - len(self._slots)} are left, got {len(rows)}."
                )
            if self._shows:
                return self._run_openly(rows)
            before = self._gather()
            self._process, self._unseen = None, True
            try:
                with np.errstate(all="ignore"):  # whether something underflows depends on the data
                    actions = run_rows(self, rows, absent)
            except BaseException:
                self._scatter(before)  # a secret learner goes on under fresh keys: what was drawn is not drawn again
                self._process, self._unseen = Process.number, False
                raise
            self._process, self._unseen = Process.number, False
            return actions

    @property
    def _shows(self) -> bool:
        """Whether functions of the user's see decisions while `run` goes on."""
        return False

    def _run(self, rows: Any) -> Any:
        """Play checked rows while nobody looks."""
        actions = []
        for row in rows:
            checked = self._check(row)
            actions.append(self._decision())
            self._finish(checked)
        return np.asarray(actions)

    def _run_openly(self, rows: Any) -> Any:
        """Play rows round by round, each shown and then ended for good."""
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

    @abstractmethod
    def _absorb(self, feedback: Any) -> None: ...

    def _nothing(self) -> Any:
        """Checked feedback of a round without any: a public constant that contributes nothing."""
        return self._check(None)

    def _close_last(self) -> None:
        """No decision follows: close the rounds that have their feedback. Atomic."""
        with self._lock:
            if self._slots and self._process != Process.number:
                self._admit()
            while self._slots and self._slots[self._round] is not OPEN:
                self._close_round()

    def _check_row(self, number: int, row: Any) -> Any:
        """As `_check_at`, for a row of `run` (None: it tells that there is no feedback)."""
        return self._check_at(number, row)

    def _check_rows(self, rows: Any, first: int) -> Any:
        """The rows of `run` from number `first` on, each checked."""
        absent = self._absent
        return [None if absent is not None and absent[at] else self._check(row) for at, row in enumerate(rows, first)]
