"""What a learner remembers: its state as text and numbers, and the rules by which it is continued.

Noise is used once. A secret learner cannot be copied or pickled, and is used in the process that started it; its state
holds no keys, so that whoever restores it goes on with fresh noise; a round that was interrupted is never continued.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from tacit.errors import InvalidInput, ProtocolError, TacitError
from tacit.learners.slots import loaded, saved
from tacit.learners.states import alike, fitting, opened, sealed, sealed_text
from tacit.randomness import COMPUTATIONAL, Process, Randomness
from tacit.validation import MALFORMED, check_integer

if TYPE_CHECKING:
    from tacit.learners.plan import Plan


class Stateful:
    """A learner's memory. Subclasses name their own part of it in `_state`, and draw from `self._streams[name]`."""

    _state: ClassVar[tuple[str, ...]] = ()
    _any_shape: ClassVar[tuple[str, ...]] = ()  # arrays of the state whose length changes from round to round
    _stream_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, plan: Plan, randomness: Randomness) -> None:
        self.plan = plan
        self._private = randomness.private
        self._label = randomness.label if self._private else COMPUTATIONAL  # what it says of itself while private
        self._streams = {name: randomness.stream(name) for name in self._stream_names}
        self._horizon = plan.horizon
        # No window is longer than the run.
        self._delay = plan.problem.delay if plan.horizon is None else min(plan.problem.delay, plan.horizon)
        self._lock = RLock()
        self._round = 0  # how many are closed
        self._slots: dict[int, Any] = {}  # those after them that are open, without the one in the hand of play
        self._played = False
        self._opens = False
        self._switches = 0
        self._action: Any = None
        self._process: int | None = Process.number  # None while a round is being absorbed
        self._saved_round: int | None = None
        self._unseen = False  # while `run` goes on, which may be taken back

    @contextmanager
    def _looking(self, name: str) -> Iterator[None]:
        """While somebody reads how far the learner has come: never in rounds that may still be taken back.

        `run` takes back what nobody saw. A function of the user's that looked in the middle of it would have seen
        decisions that are then drawn anew; another thread waits until the run is over.
        """
        with self._lock:
            if self._unseen:
                raise ProtocolError(
                    f"This {self.plan.algorithm} learner is in the middle of run(), which is taken back if a row is "
                    f"bad: its '{name}' is not shown there. Where a function looks, play and observe round by round."
                )
            yield

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

    def state_dict(self, *, waiting: bool = True) -> dict[str, Any]:
        """Everything needed to continue, as text and numbers that JSON can hold. PRIVATE: keep it as safe as the data.

        A secret learner's state holds no keys: see `Plan.restore`. A replayable learner's state holds the positions
        of its streams, and continues bit for bit.

        Args:
            waiting: with the feedback that waits in open rounds; whoever keeps that elsewhere settles it again.
        """
        with self._lock:
            return sealed(self.plan.signature, self._content(waiting))

    def state_text(self, *, waiting: bool = True) -> str:
        """What `state_dict` gives, as JSON."""
        with self._lock:
            return sealed_text(self.plan.signature, self._content(waiting))

    def _content(self, waiting: bool) -> dict[str, Any]:
        if self._process != Process.number:
            self._admit()
        content = self._gather()
        if not waiting:
            content["open"] = len(self._slots)
        self._saved_round = self._round + len(self._slots)
        return content

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state saved by a learner of the same plan, as `Plan.restore` does."""
        with self._lock:
            self._load(state)

    def _load(self, state: dict[str, Any]) -> None:
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
        self._saved_round = self._round + len(self._slots)
        self._process = Process.number

    def _gather(self) -> dict[str, Any]:
        """The state as copies of its values; positions of streams only if they may be replayed."""
        content: dict[str, Any] = {
            "round": self._round,
            "open": saved(self._slots),
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
        self._slots = loaded(self._round, content["open"], self._delay + 1)
        self._played = fitting(True, content["played"])
        decided = self._round + len(self._slots) + self._played
        if decided - self._round > self._delay + 1 or (self._horizon is not None and decided > self._horizon):
            raise TypeError("fewer open rounds expected")
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
        if isinstance(current, Stateful):
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
        vars(self).update(state, _lock=RLock())

    def __copy__(self) -> Self:
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
    if isinstance(value, Stateful):
        return value._gather()
    return value.state_dict() if hasattr(value, "state_dict") else copy.deepcopy(value)
