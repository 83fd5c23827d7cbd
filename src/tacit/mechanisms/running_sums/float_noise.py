"""Noise in float64, for simulation: the unit noise of a mechanism, drawn as if floats were real numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.numerics.source import Source, Streams
from tacit.randomness import Stream
from tacit.validation import FloatArray

if TYPE_CHECKING:
    from tacit.mechanisms.running_sums.base import RunningSum


class FloatNoise(Source):
    """Unit noises of a mechanism on a stream of its own; states and copies are those of every other source."""

    def __init__(self, mechanism: RunningSum, stream: Stream) -> None:
        super().__init__()
        self._mechanism, self._stream = mechanism, stream

    @classmethod
    def from_streams(cls, mechanism: RunningSum, streams: Streams, name: str) -> FloatNoise:
        """The source on the stream of that name."""
        return cls(mechanism, streams.stream(name))

    @property
    def private(self) -> bool:
        return self._stream.private

    def draw(self, count: int) -> FloatArray:
        """The next `count` unit noises."""
        self._check_process()
        return self._mechanism.noise_from(self._stream)(count)

    def renew(self) -> None:
        self._stream.renew()

    def _saved(self) -> dict[str, Any]:
        return {"stream": self._stream.position()}

    def _load(self, state: dict[str, Any]) -> None:
        self._stream.move_to(state["stream"])
