"""Coins read off the shipped learner: the exact probability with which it would keep each point, against the claim.

A coin keeps a point exactly if an exponential clock outlives a hazard, so the hazard says everything about the coin.
It can be read without tossing: from the comparison itself, or by asking the learner's own scan again with other clocks,
on copies. No statistics: a determinant that is missing, a Hessian of an older point or a sign is seen in a few runs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import exp
from typing import Any

import numpy as np

from tacit.auditing.attacks import random_stream
from tacit.auditing.densities.transcripts import Reading, claim_of, read, recorded_minima, stepwise
from tacit.auditing.instances import Instance
from tacit.auditing.report import Finding
from tacit.auditing.swapped_attributes import swapped
from tacit.learners.ctrl import held_point
from tacit.learners.l2p_convex.l2p_convex import L2PConvexLearner
from tacit.learners.learner import Learner
from tacit.randomness import Randomness
from tacit.validation import FloatArray

TOLERANCE = 1e-7
"""Of a probability: bisection and the rounding of incremental updates."""


def coins(instance: Instance, source: Randomness, *, runs: int, rounds: int = 8) -> Finding:
    """The largest difference between the learner's keep probability and the claimed one, over all coins."""
    plan = instance.plan
    worst, tossed, seen = 0.0, 0, ()
    for run in range(runs):
        stream = random_stream(instance, source.stream(f"neighbours {run}"))[:rounds]
        hazards: list[float] = []
        with metered(hazards), recorded_minima() as minima:
            learner = plan.start(source.child(run))
            _listen(learner, hazards)
            transcript = replace(stepwise(learner, stream), minima=tuple(minima))
        reading = Reading()
        read(claim_of(plan, stream), transcript, reading)
        claimed = [exp(toss.log_keep) for toss in reading.tosses if not toss.reference]
        # The last coin of a run is tossed but its outcome is never played.
        gaps = [abs(exp(-read_off) - keep) for read_off, keep in zip(hazards, claimed, strict=False)]
        tossed += len(gaps)
        if max(gaps, default=0.0) > worst:
            worst, seen = max(gaps), tuple(stream)
    return Finding(
        "coins", f"{instance.label}, {tossed} coins", "largest difference of a keep probability", TOLERANCE, worst,
        worst > TOLERANCE, detail="a coin does not have its claimed probability", stream=seen, check=True,
    )  # fmt: skip


@contextmanager
def metered(hazards: list[float]) -> Iterator[None]:
    """Scans of single rounds note the hazard of their coin."""

    def wrapped(honest: Any) -> Any:
        def scan(self: held_point.Held, rows: FloatArray, tosses: held_point.Coins) -> int:
            if len(rows) == 1 and np.isfinite(tosses.clocks[0]):
                hazards.append(hazard(honest, self, rows, tosses))
            return int(honest(self, rows, tosses))

        return scan

    with swapped(*((kind, "scan", wrapped(kind.scan)) for kind in held_point.KINDS)):
        yield


def hazard(honest: Any, state: held_point.Held, rows: FloatArray, tosses: held_point.Coins) -> float:
    """The clock at which the scan changes its mind, by bisection on copies."""
    low, high = 0.0, tosses.hazard + 2 * float(tosses.log_phi[0]) + 1.0
    for _ in range(40):
        middle = (low + high) / 2
        kept = honest(copy.deepcopy(state), rows, replace(tosses, clocks=np.array([middle])))
        low, high = (low, middle) if kept else (middle, high)
    return high


def _listen(learner: Learner, hazards: list[float]) -> None:
    """The two-chain rule compares one clock with its hazard: the clock notes with what."""
    if isinstance(learner, L2PConvexLearner):
        streams: dict[str, Any] = learner._streams
        streams["keep"] = _Listening(streams["keep"], hazards)


class _Listening:
    """A stream whose clocks note what they are compared with."""

    def __init__(self, stream: np.random.Generator, hazards: list[float]) -> None:
        self._stream, self._hazards = stream, hazards

    def standard_exponential(self) -> _Clock:
        return _Clock(self._stream.standard_exponential(), self._hazards)


class _Clock:
    """A clock that notes its hazard."""

    def __init__(self, time: float, hazards: list[float]) -> None:
        self._time, self._hazards = time, hazards

    def __le__(self, hazard: float) -> bool:
        self._hazards.append(max(0.0, float(hazard)))
        return self._time <= hazard
