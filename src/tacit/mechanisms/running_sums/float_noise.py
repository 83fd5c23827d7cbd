"""Noise in float64, for simulation: the unit noise of a mechanism, drawn as if floats were real numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.numerics.source import Source, Streams, load_streams, saved_streams
from tacit.validation import FloatArray

if TYPE_CHECKING:
    from tacit.mechanisms.running_sums.base import RunningSum


class FloatNoise(Source):
    """Unit noises of a mechanism on a stream of its own; states and copies are those of every other source."""

    def __init__(self, mechanism: RunningSum, stream: np.random.Generator, *, private: bool) -> None:
        super().__init__(private=private)
        self._mechanism, self._stream = mechanism, stream

    @classmethod
    def from_streams(cls, mechanism: RunningSum, streams: Streams, name: str) -> FloatNoise:
        """The source on the stream of that name."""
        return cls(mechanism, streams.stream(name), private=streams.private)

    def draw(self, count: int) -> FloatArray:
        """The next `count` unit noises."""
        self._check_process()
        return self._mechanism.noise_from(self._stream)(count)

    def forget(self) -> None:
        """Nothing is drawn ahead."""

    def _saved(self) -> dict[str, Any]:
        return {"streams": saved_streams((self._stream,))}

    def _load(self, state: dict[str, Any]) -> None:
        load_streams((self._stream,), state["streams"])
