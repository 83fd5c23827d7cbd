"""Restarts on disjoint data: nothing of an epoch may reach the next one.

Doubling promises the whole budget to each epoch, because no round's feedback enters two of them. With all outcomes
frozen, two streams that differ in the first epoch only must make every later mechanism call with the same inputs.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from tacit.auditing.instances import alphabet
from tacit.auditing.replay.tapes import Tape, TapeRandomness, recorded_sums
from tacit.auditing.report import Finding
from tacit.auditing.scripted.script import NotEnumerable, ScriptedRandomness, symbols
from tacit.learners.plan import Plan

# Rounds that are played in the second epoch: enough for a few coins.
_AFTER = 24


@runtime_checkable
class EpochPlan(Protocol):
    """What this attack needs of a plan that starts again: the plan of each epoch."""

    def epoch(self, index: int) -> Plan:
        """The plan of this epoch."""


def epochs(plan: Plan, generator: np.random.Generator) -> Finding:
    """Replay a change in the last round of the first epoch; compare all later calls."""
    assert isinstance(plan, EpochPlan)
    first = plan.epoch(0)
    length = first.horizon or 1
    letters = alphabet(first)
    stream = letters.stream([int(k) for k in generator.integers(len(letters.symbols), size=length + _AFTER)])
    # Opposites that no learner may ignore: constant losses, first and last of the alphabet, change nothing.
    stream[length - 1], opposite = letters.symbols[1], letters.symbols[-2]
    neighbour = [*stream[: length - 1], opposite, *stream[length:]]
    worst, reason = 0.0, ""
    try:
        worst, reason = _later_difference(plan, stream, neighbour, generator, length, finite=True)
    except NotEnumerable:
        worst, reason = _later_difference(plan, stream, neighbour, generator, length, finite=False)
    return Finding(
        "epochs", f"epochs of {length} rounds", "largest change of a later call", 0.0, worst, worst > 0 or bool(reason),
        detail=reason or "data of one epoch reached a mechanism of the next",
        stream=tuple(stream[length - 2 : length + 1]), neighbour=tuple(neighbour[length - 2 : length + 1]), check=True,
    )  # fmt: skip


def _later_difference(
    plan: Plan, stream: list[Any], neighbour: list[Any], generator: np.random.Generator, length: int, *, finite: bool
) -> tuple[float, str]:
    tapes: list[Tape] = []
    marks: list[tuple[int, int]] = []
    for feedback in (stream, neighbour):
        tape = Tape(generator, before=tapes[0] if tapes else None)
        source = ScriptedRandomness(tape) if finite else TapeRandomness(tape)
        with symbols(), recorded_sums(tape):
            learner = plan.start(source)
            for count, row in enumerate(feedback):
                if count == length:
                    marks.append((len(tape.choices), len(tape.releases)))
                learner.play()
                learner.observe(row)
        tapes.append(tape)
    if tapes[1].diverged or marks[0] != marks[1]:
        return 0.0, tapes[1].diverged or "the epochs call their mechanisms a different number of times"
    choices, releases = marks[0]
    worst = 0.0
    for one, other in zip(tapes[0].probabilities[choices:], tapes[1].probabilities[choices:], strict=True):
        worst = max(worst, float(np.max(np.abs(np.array(one) - np.array(other)), initial=0.0)))
    for before, after in zip(tapes[0].releases[releases:], tapes[1].releases[releases:], strict=True):
        worst = max(worst, float(np.max(np.abs(before.value - after.value), initial=0.0)))
    return worst, ""
