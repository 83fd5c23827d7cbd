"""A paper as its reader looks for it: results by printed number, errata by rank, and the streams it is shown on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit import algorithms
from tacit.environments.environment import Environment
from tacit.errors import InvalidInput
from tacit.problems import Problem
from tacit.runtime.plan import Plan

ResultKind = Literal["algorithm", "regret", "privacy", "switches", "rate", "lower bound"]
EntryKind = Literal["still", "printed", "repaired", "calibrated", "rival"]
RANKS = {1: "breaks privacy", 2: "breaks the rate", 3: "constant or typo"}


def algorithm_named(name: str | type) -> Any:
    """Return an algorithm by its name; a class is returned as it is."""
    if isinstance(name, type):
        return name
    found = getattr(algorithms, name, None)
    if found is None:
        raise InvalidInput(f"tacit.algorithms has no {name!r}.")
    return found


@dataclass(frozen=True)
class Result:
    """One numbered result of a paper.

    Attributes:
        number: as printed, such as "Theorem 8".
        name: what it is about, in a few words.
        kind: what it states.
        statement: the printed formula or sentence.
        plan: name of the algorithm in `tacit.algorithms` that runs it, or a class (empty: nothing runs).
        choose: arguments of `as_printed` beside the problem and the privacy.
        readings: choices where the print leaves a parameter open, by name.
        errata: names of errata that concern it.
    """

    number: str
    name: str
    kind: ResultKind
    statement: str
    plan: str | type = ""
    choose: Mapping[str, Any] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    errata: tuple[str, ...] = ()

    @property
    def runs(self) -> Any:
        """The class that runs it (None: nothing runs)."""
        return algorithm_named(self.plan) if self.plan else None


@dataclass(frozen=True)
class Erratum:
    """Something printed that is not so; `errata/NAME.py` shows it by a computation of its own.

    Attributes:
        name: the function in `errata/NAME.py`.
        where: the place in the paper.
        rank: 1 breaks privacy, 2 breaks the rate, 3 is a constant or a typo.
        verdict: one of `VERDICTS` in `errata/report.py`.
        line: what is wrong, in one line.
    """

    name: str
    where: str
    rank: int
    verdict: str
    line: str


@dataclass(frozen=True)
class Stream:
    """A problem and what makes its feedback.

    Attributes:
        name: how rows name it.
        problem: makes the problem for a number of rounds and a dimension (number of experts, for experts).
        environment: makes the feedback of that problem.
    """

    name: str
    problem: Callable[[int, int], Problem]
    environment: Callable[[Any, int], Environment]


@dataclass(frozen=True)
class Entry:
    """A row of the table: an algorithm, and how its parameters are found.

    Attributes:
        kind: "printed" and "repaired" run printed parameters, "calibrated" and "rival" run `calibrate`; "still" is
            another player that looks at nothing.
        plan: name of the algorithm in `tacit.algorithms`, or a plan of the paper's own.
        stream: name of the stream.
        result: number of the result whose parameters are run.
        choose: further arguments of `as_printed` or `calibrate`; functions are called with the problem. An epsilon or a
            delta here is asked for in place of the run's.
        note: what a reader must know of the row: words, or a function of the plan that ran.
        private: whether epsilon and delta are asked.
        fixed: whether the algorithm learns one fixed expert, on a stream whose comparator switches.
        shown: whether the row is in the table of those who name no result.
    """

    kind: EntryKind
    plan: str | type[Plan]
    stream: str
    result: str = ""
    choose: Mapping[str, Any] = field(default_factory=dict)
    note: str | Callable[[Any], str] = ""
    private: bool = True
    fixed: bool = False
    shown: bool = True


@dataclass(frozen=True)
class Paper:
    """One paper.

    Attributes:
        name: the name in commands and modules.
        title: as printed.
        authors: as printed.
        year: of the version that was read.
        venue: where it appeared.
        link: where it can be read.
        version: which text was read.
        says: what it states, in about ten lines.
        results: its results, in the paper's order.
        errata: what is not so, the worst first.
        streams: what its algorithms are run on.
        entries: the rows of its table.
        horizon: rounds of a run, if nothing else is said.
        dimension: dimension or number of experts of a run, if nothing else is said.
    """

    name: str
    title: str
    authors: str
    year: int
    venue: str
    link: str
    version: str
    says: str
    results: tuple[Result, ...]
    errata: tuple[Erratum, ...]
    streams: tuple[Stream, ...]
    entries: tuple[Entry, ...]
    horizon: int
    dimension: int

    def result(self, number: str) -> Result:
        """Return the result of this number."""
        for each in self.results:
            if each.number == number:
                return each
        known = ", ".join(each.number for each in self.results)
        raise InvalidInput(f"The results of {self.name} are {known}. Got {number!r} instead.")
