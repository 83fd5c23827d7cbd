"""The running algorithm: play, observe, play, observe; its state, and the array form of the same rounds."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, ProtocolError, TacitError
from tacit.privacy.guarantee import Guarantee
from tacit.randomness import Randomness, stream_state
from tacit.validation import MALFORMED, check_integer

if TYPE_CHECKING:
    from tacit.learners.plan import Plan

STATE_WARNING = "PRIVATE: holds raw sums and generator keys; store it like the data itself"
STATE_VERSION = 1
_ALWAYS = ("version", "plan", "randomness", "round", "played", "switches", "action", "streams")


class Learner(ABC):
    """A running algorithm: play, observe, play, observe.

    Subclasses name their state in `_state`, draw from `self._streams[name]`, keep the next decision in
    `self._action`, and give `_check` (feedback -> checked feedback, raising before anything changes) and
    `_absorb` (the checked feedback of the round in hand).
    """

    _state: ClassVar[tuple[str, ...]] = ()
    _stream_names: ClassVar[tuple[str, ...]] = ()
    _first_row = 0  # what errors add to a row number when a longer run hands over a part of its rows

    def __init__(self, plan: Plan, randomness: Randomness) -> None:
        self.plan = plan
        self._label = randomness.label
        self._streams = {name: randomness.stream(name) for name in self._stream_names}
        self._horizon = plan.horizon
        self._round = 0
        self._played = False
        self._switches = 0
        self._action: Any = None

    @property
    def guarantee(self) -> Guarantee:
        """The contract, stamped with the source of randomness that was really used."""
        return self.plan.guarantee.with_randomness(self._label)

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
        if not self._played:
            if self._round == self._horizon:
                raise ProtocolError(
                    f"{self.plan.algorithm} was planned for {self._horizon} rounds and has played them all: "
                    "plan a longer horizon, or horizon=None."
                )
            self._played = True
        return self._action

    def observe(self, feedback: Any) -> None:
        """End the round with its feedback. Bad feedback raises and changes nothing."""
        if not self._played:
            raise ProtocolError("observe() came before play(): play a round first, then observe its feedback.")
        self._finish(self._check(feedback))

    def _finish(self, checked: Any) -> None:
        """End the round in hand with feedback that was checked."""
        self._absorb(checked)
        self._round += 1
        self._played = False

    def run(self, feedback: Any) -> Any:
        """Play a whole array of rounds: the same decisions as play/observe, returned as an array.

        If any row is bad, nothing has happened: the learner is where it was before the call.
        """
        rows = self._check_many(feedback)
        if self._horizon is not None and self._round + len(rows) > self._horizon:
            raise ProtocolError(
                f"{self.plan.algorithm} was planned for {self._horizon} rounds: {self._horizon - self._round} "
                f"are left, got {len(rows)}."
            )
        saved = self.state_dict()
        try:
            return self._run(rows)
        except BaseException:
            self.load_state_dict(saved)
            raise

    def _run(self, rows: Any) -> Any:
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

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue bit for bit. PRIVATE: keep it as safe as the data."""
        return {
            "warning": STATE_WARNING,
            "version": STATE_VERSION,
            "plan": self.plan.signature,
            "randomness": self._label,
            "round": self._round,
            "played": self._played,
            "switches": self._switches,
            "action": copy.deepcopy(self._action),
            "streams": {name: stream_state(stream) for name, stream in self._streams.items()},
            **{name: _saved(getattr(self, name)) for name in self._state},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state saved by a learner of the same plan."""
        missing = {*_ALWAYS, *self._state} - set(state) if isinstance(state, dict) else _ALWAYS
        if missing:
            raise InvalidInput(f"This is not the state of a {self.plan.algorithm} learner: it lacks {sorted(missing)}.")
        if not isinstance(state["version"], int) or state["version"] != STATE_VERSION:
            raise InvalidInput(f"State version {state['version']!r} cannot be read; this is version {STATE_VERSION}.")
        if not isinstance(state["plan"], str) or state["plan"] != self.plan.signature:
            raise InvalidInput(
                f"This state was saved by another plan. Saved: {state['plan']}. Here: {self.plan.signature}."
            )
        saved = self.state_dict()
        try:
            self._load(state)
        except MALFORMED as error:
            self._load(saved)
            if isinstance(error, TacitError):
                raise
            algorithm = self.plan.algorithm
            raise InvalidInput(f"This is not the state of a {algorithm} learner ({error!r}).") from None

    def _load(self, state: dict[str, Any]) -> None:
        """Take over a state that has all its parts."""
        self._label = str(state["randomness"])
        self._round = check_integer("load_state_dict", "round", state["round"], at_least=0, at_most=self._horizon)
        self._played = bool(state["played"])
        self._switches = int(state["switches"])
        self._action = copy.deepcopy(state["action"])
        for name, stream in self._streams.items():  # in place: mechanisms hold these generators
            stream.bit_generator.state = state["streams"][name]
        for name in self._state:
            setattr(self, name, _loaded(getattr(self, name), state[name]))


def _saved(value: Any) -> Any:
    return value.state_dict() if hasattr(value, "state_dict") else copy.deepcopy(value)


def _loaded(current: Any, saved: Any) -> Any:
    if hasattr(current, "load_state_dict"):
        current.load_state_dict(saved)
        return current
    same = isinstance(saved, type(current)) or current is None or saved is None
    if isinstance(current, np.ndarray) and saved is not None:
        same = isinstance(saved, np.ndarray) and saved.dtype == current.dtype and saved.ndim == current.ndim
    if not (same or (isinstance(current, int | float) and isinstance(saved, int | float))):
        raise TypeError(f"{type(current).__name__} expected, got {type(saved).__name__}")
    return copy.deepcopy(saved)
