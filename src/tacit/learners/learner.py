"""The running algorithm: play, observe, play, observe; its state, and the array form of the same rounds.

Noise is used once. A secret learner cannot be copied or pickled, and is used in the process that started it; its state
holds no keys, so that whoever restores it goes on with fresh noise; a round that was interrupted is never
continued; and where a function of the user's has seen decisions, they are not taken back.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from tacit.errors import InvalidInput, ProtocolError, TacitError
from tacit.learners.states import STATE_VERSION, STATE_WARNING, alike, fitting, opened, sealed
from tacit.privacy.guarantee import Guarantee
from tacit.randomness import COMPUTATIONAL, REPLAYABLE, Process, Randomness
from tacit.validation import MALFORMED, check_integer

if TYPE_CHECKING:
    from tacit.learners.plan import Plan

__all__ = ["STATE_VERSION", "STATE_WARNING", "Learner"]


class Learner(ABC):
    """A running algorithm: play, observe, play, observe.

    Subclasses name their state in `_state`, draw from `self._streams[name]`, keep the next decision in
    `self._action`, and give `_check` (feedback -> checked feedback, raising before anything changes; the only place
    where functions of the user's are called) and `_absorb` (the checked feedback of the round in hand).
    """

    _state: ClassVar[tuple[str, ...]] = ()
    _any_shape: ClassVar[tuple[str, ...]] = ()  # arrays of the state whose length changes from round to round
    _stream_names: ClassVar[tuple[str, ...]] = ()
    _plain: ClassVar[bool] = True  # whether `_action` is what `play` returns
    _first_row = 0  # what errors add to a row number when a longer run hands over a part of its rows

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._plain = cls._decision is Learner._decision

    def __init__(self, plan: Plan, randomness: Randomness) -> None:
        self.plan = plan
        self._private = randomness.private
        self._streams = {name: randomness.stream(name) for name in self._stream_names}
        self._horizon = plan.horizon
        self._round = 0
        self._played = False
        self._switches = 0
        self._action: Any = None
        self._process: int | None = Process.number  # None while a round is being absorbed
        self._saved_round: int | None = None

    @property
    def guarantee(self) -> Guarantee:
        """The contract, stamped with the source of randomness that was really used."""
        return self.plan.guarantee.with_randomness(COMPUTATIONAL if self._private else REPLAYABLE)

    @property
    def rounds(self) -> int:
        """How many rounds are complete."""
        return self._round

    @property
    def switches(self) -> int:
        """How often the decision has changed so far."""
        return self._switches

    def play(self) -> Any:
        """The decision of this round; the same one until `observe` ends the round."""
        if self._process is None:
            self._admit()
        if not self._played:
            if self._round == self._horizon:
                raise ProtocolError(
                    f"{self.plan.algorithm} was planned for {self._horizon} rounds and has played them all: "
                    "plan a longer horizon, or horizon=None."
                )
            self._played = True
        return self._action if self._plain else self._decision()

    def _decision(self) -> Any:
        """What `play` returns: the decision of the round in hand, as a value of its own."""
        return self._action

    def observe(self, feedback: Any) -> None:
        """End the round with its feedback. Bad feedback raises and changes nothing."""
        if self._process != Process.number:
            self._admit()
        if not self._played:
            raise ProtocolError("observe() came before play(): play a round first, then observe its feedback.")
        checked = self._check(feedback)
        process, self._process = self._process, None  # whoever finds None knows that a round was left half done
        self._absorb(checked)  # as `_finish`, without the call: this is the hot path
        self._round += 1
        self._played = False
        self._process = process

    def _finish(self, checked: Any) -> None:
        """End the round in hand with feedback that was checked."""
        self._absorb(checked)
        self._round += 1
        self._played = False

    def run(self, feedback: Any) -> Any:
        """Play a whole array of rounds: the same decisions as play/observe, returned as an array.

        If any row is bad, nothing has happened: no decision was shown, and the learner is where it was before the
        call. Only where a function of yours is asked about the decisions (a `CustomLoss`, the values of a bandit) are
        they shown at once and never taken back: if it raises, the learner stands at the last complete round, and the
        round in hand is played.
        """
        if self._process != Process.number:
            self._admit()
        rows = self._check_many(feedback)
        if self._horizon is not None and self._round + len(rows) > self._horizon:
            raise ProtocolError(
                f"{self.plan.algorithm} was planned for {self._horizon} rounds: {self._horizon - self._round} "
                f"are left, got {len(rows)}."
            )
        if self._shows:
            return self._run_openly(rows)
        saved = self._gather()
        self._process = None
        try:
            with np.errstate(all="ignore"):  # whether something underflows depends on the data
                actions = self._run(rows)
        except BaseException:
            self._scatter(saved)  # a secret learner goes on under fresh keys: what was drawn is not drawn again
            self._process = Process.number
            raise
        self._process = Process.number
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

    def _check_many(self, feedback: Any) -> Any:
        """The rows of an array of feedback; each row is checked when its turn comes."""
        return feedback

    @abstractmethod
    def _absorb(self, feedback: Any) -> None: ...

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
        self._process = Process.number

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, as text and numbers that JSON can hold. PRIVATE: keep it as safe as the data.

        A secret learner's state holds no keys: see `Plan.restore`. A replayable learner's state holds the positions
        of its streams, and continues bit for bit.
        """
        if self._process != Process.number:
            self._admit()
        state = sealed(self.plan.signature, self._gather())
        self._saved_round = self._round
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state saved by a learner of the same plan, as `Plan.restore` does."""
        algorithm, process, saved = self.plan.algorithm, self._process, self._gather()
        content = opened(algorithm, self.plan.signature, state, set(saved) - {"streams"})
        self._process = None
        try:
            self._scatter(content)
            if not self._consistent():
                raise InvalidInput(f"This state of a {algorithm} learner contradicts itself: its counts do not agree.")
        except MALFORMED as error:
            self._scatter(saved)
            self._process = process
            if isinstance(error, TacitError):
                raise
            raise InvalidInput(f"This is not the state of a {algorithm} learner ({error!r}).") from None
        self._saved_round = self._round
        self._process = Process.number

    def _gather(self) -> dict[str, Any]:
        """The state as copies of its values; positions of streams only if they may be replayed."""
        content: dict[str, Any] = {
            "round": self._round,
            "played": self._played,
            "switches": self._switches,
            "action": copy.deepcopy(self._action),
            **{name: _saved(getattr(self, name)) for name in self._state},
        }
        if not self._private:
            content["streams"] = {name: stream.position() for name, stream in self._streams.items()}
        return content

    def _scatter(self, content: dict[str, Any]) -> None:
        """Take over gathered values; without positions the streams continue under fresh keys."""
        self._round = check_integer("load_state_dict", "round", content["round"], at_least=0, at_most=self._horizon)
        self._played = fitting(True, content["played"])
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

    def __copy__(self) -> Learner:
        return copy.deepcopy(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._private:
            self._refuse_copies()
        return super().__reduce_ex__(protocol)

    def _refuse_copies(self) -> NoReturn:
        raise ProtocolError(
            f"A secret {self.plan.algorithm} learner cannot be copied or pickled, because its noise would be used "
            "twice: save its state_dict() and continue with plan.restore(state), which draws fresh noise."
        )


def _saved(value: Any) -> Any:
    if isinstance(value, Learner):
        return value._gather()
    return value.state_dict() if hasattr(value, "state_dict") else copy.deepcopy(value)
