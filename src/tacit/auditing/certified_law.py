"""Attacks on above-threshold itself, and on what a restart may remember.

`above_threshold` enumerates the answers of one instance on queries whose shifts all lie in an interval of its width
(the whole width upwards, downwards, or half of it each way), as long a sequence as the budget allows; the hidden
threshold is summed out over all integers. `isolation` freezes the outcomes of runs that restart and checks that no
later probability depends on data from before the restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tacit.auditing.instances import Instance
from tacit.auditing.replay.tapes import Tape
from tacit.auditing.report import Finding
from tacit.auditing.scripted.enumeration import ExactCurve, Law, Walk
from tacit.auditing.scripted.script import ScriptedRandomness, symbols
from tacit.mechanisms.above_threshold import AboveThreshold
from tacit.numerics.uniforms import Uniforms

# Sums of thousands of products of doubles.
_SLACK = 1e-9
# Shifts in halves of the width: all queries, alternating halves, the last one only, all but the last.
_PATTERNS = (
    lambda k, last: 2,
    lambda k, last: (-1) ** k,
    lambda k, last: 2 * (k == last),
    lambda k, last: 2 * (k < last),
)


def above_threshold(
    *, width: int = 4, epsilon_threshold: float = 0.5, epsilon_query: float = 0.5, queries: int = 8
) -> Finding:
    """The largest privacy loss of any sequence of answers, against the sum of both epsilons; `width` is even."""
    settings = {"width": width, "epsilon_threshold": epsilon_threshold, "epsilon_query": epsilon_query}
    worst, seen = 0.0, ([0], [0])
    for level in (-4, 0, 4):
        base = [level * width] * queries
        for shift in (width // 2, -width // 2):
            for pattern in _PATTERNS:
                other = [query + shift * pattern(k, queries - 1) for k, query in enumerate(base)]
                loss = ExactCurve.of(_answers(base, settings), _answers(other, settings)).largest_loss
                if loss > worst:
                    worst, seen = loss, (base, other)
    certified = epsilon_threshold + epsilon_query
    return Finding(
        "threshold", f"{queries} queries of width {width}", "largest privacy loss", certified, worst,
        worst > certified * (1 + _SLACK), detail="answers tell these queries apart too well",
        epsilon=(certified, worst), stream=tuple(seen[0]), neighbour=tuple(seen[1]),
    )  # fmt: skip


def _answers(queries: list[int], settings: dict[str, Any]) -> Law:
    """The law of the answers until the instance is spent, or the queries are."""
    law: Law = {}
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    with symbols():
        while waiting:
            walk = Walk(*waiting.pop())
            uniforms = Uniforms.from_streams(ScriptedRandomness(walk), "alarm")
            instance = AboveThreshold(0, uniforms=uniforms, **settings)
            answers = []
            for query in queries:
                answers.append(instance.test(query))
                if instance.spent:
                    break
            law[tuple(answers)] = law.get(tuple(answers), 0.0) + walk.probability
            waiting += walk.branches
    return law


@runtime_checkable
class Restarting(Protocol):
    """What `isolation` needs of a learner."""

    @property
    def restarts(self) -> Sequence[int]:
        """The rounds after which it started again."""


def isolation(instance: Instance, generator: np.random.Generator, *, runs: int) -> Finding:
    """After a restart, no probability may depend on data from before it."""
    plan, letters = instance.plan, instance.alphabet
    rounds, size = int(plan.horizon or 1), len(letters.symbols)
    worst, seen, restarts = 0.0, ((), ()), 0
    for _ in range(runs):
        indices = [int(k) for k in generator.integers(size, size=rounds)]
        place = int(generator.integers(rounds - 1))
        other = [*indices[:place], size - 1 - indices[place], *indices[place + 1 :]]
        streams = letters.stream(indices), letters.stream(other)
        tapes: list[Tape] = []
        mark: int | None = None
        with symbols():
            for side, feedback in enumerate(streams):
                tape = Tape(generator, before=tapes[0] if tapes else None)
                learner = plan.start(ScriptedRandomness(tape))
                assert isinstance(learner, Restarting)
                for count, row in enumerate(feedback):
                    learner.play()
                    before = len(learner.restarts)
                    learner.observe(row)
                    if side == 0 and mark is None and count >= place and len(learner.restarts) > before:
                        mark = len(tape.choices)
                tapes.append(tape)
        if mark is None:
            continue
        restarts += 1
        later = zip(tapes[0].probabilities[mark:], tapes[1].probabilities[mark:], strict=False)
        gap = max((float(np.max(np.abs(np.subtract(a, b)))) for a, b in later if len(a) == len(b)), default=0.0)
        if gap > worst:
            worst, seen = gap, (tuple(streams[0]), tuple(streams[1]))
    return Finding(
        "isolation", f"{instance.label}, {restarts} restarts", "largest change after a restart", 0.0, worst,
        worst > 1e-12, detail="data from before a restart decides after it",
        stream=seen[0], neighbour=seen[1], check=True,
    )  # fmt: skip
