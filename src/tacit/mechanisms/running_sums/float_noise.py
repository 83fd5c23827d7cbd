"""Noise in float64: unit noise drawn as if floats were real numbers, for simulation and where no lattice is proved."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tacit.numerics.source import Source, Streams
from tacit.randomness import Stream
from tacit.validation import FloatArray

UnitNoise = Callable[[np.random.Generator], Callable[[int], FloatArray]]


def unit_noise(noise: str, generator: np.random.Generator, dimension: int = 1) -> Callable[[int], FloatArray]:
    """Draws standard normal ("gaussian"), standard Laplace or cube variables from `generator`.

    Cube noise of unit scale comes in whole vectors of `dimension` numbers with the density exp(-max |z_j|).
    """
    # No closure: a copy of what holds this must draw from its own copy of the generator.
    if noise == "cube":
        return partial(_cube, generator, dimension)
    return partial(_laplace, generator) if noise == "laplace" else generator.standard_normal


def unit_variance(noise: str, dimension: int) -> float:
    """The variance of one coordinate of `unit_noise`; cube noise is Gamma(d + 1) times a uniform point of [-1, 1]^d."""
    return {"gaussian": 1.0, "laplace": 2.0, "cube": (dimension + 1) * (dimension + 2) / 3}[noise]


class FloatNoise(Source):
    """Unit noises on a stream of their own; states and copies are those of every other source.

    Args:
        unit: makes a function that draws so many unit noises from a generator.
        stream: the stream.
    """

    def __init__(self, unit: UnitNoise, stream: Stream) -> None:
        super().__init__()
        self._unit, self._stream = unit, stream

    @classmethod
    def from_streams(cls, unit: UnitNoise, streams: Streams, name: str) -> FloatNoise:
        """The source on the stream of that name."""
        return cls(unit, streams.stream(name))

    @property
    def private(self) -> bool:
        return self._stream.private

    def draw(self, count: int) -> FloatArray:
        """The next `count` unit noises."""
        self._check_process()
        return self._unit(self._stream)(count)

    def renew(self) -> None:
        self._stream.renew()

    def _saved(self) -> dict[str, Any]:
        return {"stream": self._stream.position()}

    def _load(self, state: dict[str, Any]) -> None:
        self._stream.move_to(state["stream"])


def _cube(generator: np.random.Generator, dimension: int, count: int) -> FloatArray:
    # Uniforms alone, row by row: one long draw gives the same vectors as many short ones.
    uniforms = generator.random((count // dimension, 2 * dimension + 1))
    radii = -np.log1p(-uniforms[:, : dimension + 1]).sum(axis=1, keepdims=True)
    return np.asarray(radii * (2 * uniforms[:, dimension + 1 :] - 1)).ravel()


def _laplace(generator: np.random.Generator, count: int) -> FloatArray:
    return generator.laplace(0.0, 1.0, count)
