"""The shapes that every algorithm fills in: a calibrated plan, and the learner it starts.

A `Plan` is frozen and public: parameters, guarantee and regret bound, all known before the first round.
`plan.start()` makes a `Learner`: `play()` gives the decision of the round, `observe(feedback)` ends it,
and `run(feedback)` does the same for a whole array of rounds, bit for bit.
"""

from __future__ import annotations

import copy
import textwrap
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, ProtocolError, TacitError
from tacit.learners.target import RegretBound, Target
from tacit.privacy.guarantee import REPLACE, Guarantee, Relation, as_relation
from tacit.problems import Problem
from tacit.randomness import Randomness, stream_state
from tacit.validation import MALFORMED, check_integer, plain_fields

STATE_WARNING = "PRIVATE: holds raw sums and generator keys; store it like the data itself"
STATE_VERSION = 1
COLUMNS = 100  # a line of `explain`
_ALWAYS = ("version", "plan", "randomness", "round", "played", "switches", "action", "streams")


@dataclass(frozen=True)
class Plan(ABC):
    """A calibrated algorithm for one problem. Everything in it is public.

    Subclasses are frozen dataclasses whose first field is the problem and whose other fields are the
    parameters; they give `guarantee`, `regret_bound`, `_calibrate` and `_learner`.
    """

    problem: Problem
    _takes: ClassVar[type[Problem]] = Problem

    def __post_init__(self) -> None:
        plain_fields(self)
        self._check_problem(self.problem)

    @classmethod
    def _check_problem(cls, problem: object) -> None:
        if not isinstance(problem, cls._takes):
            kind = "problem" if cls._takes is Problem else f"{cls._takes.__name__} problem"
            raise InvalidInput(f"The 'problem' parameter of {cls.__name__} must be a {kind}. Got {problem!r} instead.")

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Adversaries for whom the regret bound is proved (privacy always holds for adaptive ones)."""
        return ("oblivious",)

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""
        return type(self).__name__

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "problem"}

    @property
    def signature(self) -> str:
        """The problem and the parameters to the last digit: what a saved state must match."""
        return f"{self.algorithm}({self.problem!r}, {self.parameters!r})"

    @property
    def horizon(self) -> int | None:
        """How many rounds the plan covers (None: any number)."""
        return self.problem.horizon

    @property
    def rounds(self) -> int:
        """The horizon, known to be finite."""
        if self.problem.horizon is None:
            raise InvalidInput(
                f"{self.algorithm} needs a finite horizon: for an unknown one use {self.algorithm}.calibrate or "
                "tacit.plan, which restart it at doubling lengths."
            )
        return self.problem.horizon

    @property
    def expected_switches(self) -> float | None:
        """A bound on the expected number of times the decision changes (None: not bounded)."""
        return None

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The privacy contract."""

    @property
    @abstractmethod
    def regret_bound(self) -> RegretBound:
        """The certified regret."""

    @property
    def trivial_regret(self) -> float:
        """The regret that no learner can exceed."""
        return float("inf")

    @property
    def blind_regret(self) -> float:
        """The certified regret of deciding without any data: certified regret at or above it says nothing."""
        return self.trivial_regret

    @property
    def vacuous(self) -> bool:
        """True if the certified regret says nothing: deciding without any data has no more."""
        return not float(self.regret_bound) < self.blind_regret

    @classmethod
    def calibrate(
        cls,
        problem: Problem,
        *,
        epsilon: float,
        delta: float,
        relation: Relation | str = REPLACE,
        rounds_per_person: int = 1,
        max_switches: int | None = None,
        adversary: str = "oblivious",
        **options: Any,
    ) -> Plan:
        """The plan with the smallest certified regret that meets (epsilon, delta).

        The arguments are those of `tacit.plan`, then options of the algorithm's own. The search sees public
        quantities only. An unknown horizon gives the same algorithm, restarted at doubling lengths.
        """
        cls._check_problem(problem)
        target = Target(epsilon, delta, as_relation("the target", relation), rounds_per_person, max_switches, adversary)
        if problem.horizon is None:
            from tacit.learners.doubling import Doubling

            return Doubling(problem, target, partial(_calibrate_epoch, cls, target, options))
        return cls._calibrate(problem, target, **options)

    @classmethod
    @abstractmethod
    def _calibrate(cls, problem: Any, target: Target, **options: Any) -> Plan: ...

    def start(self, randomness: Randomness | None = None) -> Learner:
        """A fresh learner; its randomness is secret unless a replayable source is named."""
        source = Randomness.secret() if randomness is None else randomness
        if not isinstance(source, Randomness):
            raise InvalidInput(
                "The 'randomness' parameter of start must be Randomness.secret() or "
                f"Randomness.replayable(seed). Got {randomness!r} instead."
            )
        return self._learner(source)

    def run(self, feedback: Any, randomness: Randomness | None = None) -> Any:
        """The decisions of a fresh learner on an array of feedback: `start` and `Learner.run` in one call."""
        return self.start(randomness).run(feedback)

    @abstractmethod
    def _learner(self, randomness: Randomness) -> Learner: ...

    def restore(self, state: dict[str, Any]) -> Learner:
        """A learner of this plan that continues from `Learner.state_dict`."""
        learner = self._learner(Randomness.replayable(0))
        learner.load_state_dict(state)
        return learner

    def explain(self) -> str:
        """The plan in words: parameters, certified regret, contract."""
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        bound = self.regret_bound
        lines = textwrap.wrap(f"{self.algorithm}({shown})", COLUMNS, subsequent_indent="  ", break_long_words=False)
        lines += [f"certified {self.problem.price}: {bound.value:.4g}", f"  formula:    {bound.formula}"]
        lines += [f"  if:         {bound.condition}"] if bound.condition else []
        lines += [f"  holds for:  {'; '.join(bound.assumptions)}"] if bound.assumptions else []
        return "\n".join([*lines, str(self.guarantee)])


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


def _calibrate_epoch(cls: type[Plan], target: Target, options: dict[str, Any], problem: Problem) -> Plan:
    return cls._calibrate(problem, target, **options)


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


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
