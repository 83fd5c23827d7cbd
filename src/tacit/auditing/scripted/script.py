"""Randomness that follows a script: the shipped learner runs, and every coin says what it would do and how likely.

A learner draws only from the named streams it was started with. Here each stream hands out symbols in place of numbers:
an exponential clock that was not read yet, a uniform coin, a race of Gumbel variables. A symbol becomes an outcome only
when the learner compares or ranks it, and then the script is asked, with the exact probability of each outcome. One
script walks through all outcomes (enumeration.py), another records a run and repeats it on other data
(`tacit.auditing.replay.tapes`). No second implementation of any learner is needed.

What has no finite set of outcomes (normal noise) is refused here with `NotEnumerable`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import exp, expm1, floor, inf
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tacit.auditing.scripted.races_and_thresholds import (
    GeometricLaw,
    LaplaceLaw,
    NoiseLaw,
    Threshold,
    race_law,
    softmax,
)
from tacit.auditing.swapped_attributes import swapped
from tacit.errors import TacitError
from tacit.mechanisms import above_threshold
from tacit.numerics.uniforms import Law, Uniforms
from tacit.randomness import Randomness
from tacit.validation import FloatArray

Decide = Callable[[Law], int]
"""Asks the script for one of the outcomes of a law."""


class NotEnumerable(TacitError):
    """The learner used randomness in a way that has no finite set of outcomes."""


class Script(ABC):
    """Says which outcome happens; remembers which streams were asked since `forget`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @abstractmethod
    def choose(self, stream: str, law: Callable[[], Sequence[float]]) -> int:
        """The index of the outcome; `law()` gives the probabilities of all of them."""

    def ask(self, stream: str, law: Callable[[], Sequence[float]]) -> int:
        """Choose, and remember that this stream was asked."""
        self.asked.append(stream)
        return self.choose(stream, law)

    def forget(self) -> None:
        """Forget which streams were asked."""
        self.asked.clear()


class ScriptedRandomness(Randomness):
    """A source whose streams follow a script."""

    __slots__ = ("_prefix", "_script")

    def __init__(self, script: Script, prefix: str = "") -> None:
        super().__init__(bytes(32))
        self._script = script
        self._prefix = prefix

    def child(self, name: str | int) -> Randomness:
        """The same script under another name."""
        return type(self)(self._script, f"{self._prefix}{name}/")

    def stream(self, name: str) -> Any:
        """A stream that hands out symbols."""
        return self._stream(self._script, self._prefix + name)

    def _stream(self, script: Script, name: str) -> Any:
        return Stream(script, name)


class Stream:
    """Hands out symbols where a generator hands out numbers."""

    private = False  # as the scripted source: nothing here is secret

    def __init__(self, script: Script, name: str) -> None:
        self._script = script
        self._name = name

    def decide(self, law: Callable[[], Sequence[float]]) -> int:
        """The outcome of an exact decision (`tacit.numerics.decisions`): its uniforms ask their stream."""
        return self._script.ask(self._name, law)

    def bytes(self, count: int) -> Any:
        """A key that nothing is decided by."""
        return bytes(count)

    def standard_exponential(self, size: Any = None) -> Any:
        """One clock, a race of clocks, or rows of races."""
        if size is None:
            return Clock(self._script, self._name)
        shape = (size,) if isinstance(size, int | np.integer) else tuple(size)
        if len(shape) == 2:
            return [Race(self._script, self._name, int(shape[1])) for _ in range(shape[0])]
        return Race(self._script, self._name, int(shape[0]))

    def random(self, size: Any = None) -> Coin:
        """A uniform coin."""
        if size is not None:
            raise NotEnumerable(f"The stream {self._name!r} was asked for an array of uniform numbers.")
        return Coin(self._script, self._name)

    def integers(self, high: int) -> int:
        """One of `high` equally likely outcomes."""
        return self._script.ask(self._name, lambda: [1 / int(high)] * int(high))

    def laplace(self, location: float, scale: float, size: Any = None) -> NoisyNumber:
        """A Laplace variable that was not read yet."""
        if size is not None:
            raise NotEnumerable(f"The stream {self._name!r} was asked for an array of Laplace noise.")
        return NoisyNumber(self.decide, float(location), LaplaceLaw(float(scale)))

    def __getattr__(self, name: str) -> Any:
        raise NotEnumerable(f"The stream {self._name!r} was asked for {name}, which has no finite set of outcomes.")


class Bounded(ABC):
    """A continuous number of which only an interval is known; each comparison halves what is unknown."""

    def __init__(self, script: Script, stream: str, low: float, high: float) -> None:
        self._script, self._stream = script, stream
        self._low, self._high = low, high

    @abstractmethod
    def _mass(self, low: float, high: float) -> float:
        """The probability of an interval under the unconditional law."""

    def _below(self, x: float) -> bool:
        """Whether the number is below x, as the script decides."""
        if x <= self._low:
            return False
        if x >= self._high:
            return True
        low, high = self._mass(self._low, x), self._mass(x, self._high)
        share = low / (low + high)
        below = self._script.ask(self._stream, lambda: (1 - share, share)) == 1
        if below:
            self._high = x
        else:
            self._low = x
        return below

    def __le__(self, x: float) -> bool:
        return self._below(float(x))

    def __lt__(self, x: float) -> bool:
        return self._below(float(x))

    def __ge__(self, x: float) -> bool:
        return not self._below(float(x))

    def __gt__(self, x: float) -> bool:
        return not self._below(float(x))


class Clock(Bounded):
    """An exponential clock."""

    def __init__(self, script: Script, stream: str) -> None:
        super().__init__(script, stream, 0.0, inf)

    def _mass(self, low: float, high: float) -> float:
        return -exp(-low) * expm1(low - high)


class Coin(Bounded):
    """A uniform number; `int(coin / p * k)` picks a cell once the coin is known to lie below p."""

    def __init__(self, script: Script, stream: str, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(script, stream, low, high)

    def _mass(self, low: float, high: float) -> float:
        return high - low

    def __mul__(self, factor: float) -> Coin:
        return Coin(self._script, self._stream, self._low * factor, self._high * factor)

    def __truediv__(self, factor: float) -> Coin:
        return self * (1 / factor)

    def __int__(self) -> int:
        # Rounding may lift the upper end a hair above a whole number: that cell has no mass.
        first, last = floor(self._low + 1e-9), floor(self._high - 1e-9)
        edges = np.clip(np.arange(first, last + 2), self._low, self._high)
        masses = np.diff(edges)
        return first + self._script.ask(self._stream, lambda: (masses / masses.sum()).tolist())


class NoisyNumber:
    """A number plus noise of a known law. As a threshold it stays hidden: its law is updated by every answer."""

    def __init__(self, decide: Decide, shift: float, law: NoiseLaw) -> None:
        self._decide = decide
        self.shift, self.law = shift, law
        self._hidden: Threshold | None = None
        self._read = False

    def __add__(self, x: float) -> NoisyNumber:
        moved = NoisyNumber(self._decide, self.shift + float(x), self.law)
        moved._read = self._read
        return moved

    __radd__ = __add__

    def __gt__(self, other: NoisyNumber | float) -> bool:
        """Whether this noisy query exceeds a hidden threshold, or a number."""
        if self._read:
            raise NotEnumerable("One noisy number was compared twice as a query.")
        if isinstance(other, NoisyNumber):
            answer = other._answer(lambda hidden: self.law.above(hidden - self.shift), self._decide)
        else:
            above = float(self.law.above(np.asarray(float(other) - self.shift)))
            answer = self._decide(lambda: (1 - above, above)) == 1
        self._read = True
        return answer

    def __lt__(self, other: float) -> bool:
        """Whether a hidden threshold lies below a query without noise."""
        return self._answer(lambda hidden: (hidden < float(other)).astype(float), self._decide)

    def _answer(self, above: Callable[[FloatArray], FloatArray], decide: Decide) -> bool:
        if self._hidden is None:
            self._hidden = Threshold(self.shift, self.law)
        likelihood = above(self._hidden.nodes)
        probability = self._hidden.mean(likelihood)
        answer = decide(lambda: (1 - probability, probability)) == 1
        self._hidden.update(likelihood if answer else 1 - likelihood)
        return answer


class Race(NDArrayOperatorsMixin):
    """Variables a_j + b_j E_j, or a_j + b_j ln E_j, of exponential E_j, of which only the winner is asked."""

    def __init__(self, script: Script, stream: str, size: int) -> None:
        self._script, self._stream = script, stream
        self.shift: Any = 0.0
        self.factor: Any = 1.0
        self.logarithmic = False
        self._spent = False
        self.shape = (size,)
        self.size = size

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **_: Any) -> Any:
        left = inputs[0] is self
        other = None if len(inputs) == 1 else inputs[1] if left else inputs[0]
        if method != "__call__" or isinstance(other, Race):
            raise NotEnumerable(f"The race of stream {self._stream!r} was used in {ufunc.__name__}.")
        shift, factor, logarithmic = self.shift, self.factor, self.logarithmic
        if ufunc is np.log and not logarithmic and not np.any(shift):
            shift, factor, logarithmic = np.log(factor), 1.0, True
        elif ufunc is np.negative:
            shift, factor = -shift, -factor
        elif ufunc is np.add:
            shift = shift + other
        elif ufunc is np.subtract:
            shift, factor = (shift - other, factor) if left else (other - shift, -factor)
        elif ufunc is np.multiply:
            shift, factor = shift * other, factor * other
        elif ufunc is np.divide and left:
            with np.errstate(divide="ignore"):
                shift, factor = shift / other, factor / other
        else:
            raise NotEnumerable(f"The race of stream {self._stream!r} was used in {ufunc.__name__}.")
        target = out[0] if out is not None and isinstance(out[0], Race) else Race(self._script, self._stream, self.size)
        target.shift, target.factor, target.logarithmic, target._spent = shift, factor, logarithmic, self._spent
        return target

    def argmin(self, axis: Any = None, out: Any = None) -> int:
        """Which variable is the smallest."""
        return self._winner(1.0)

    def argmax(self, axis: Any = None, out: Any = None) -> int:
        """Which variable is the largest."""
        return self._winner(-1.0)

    def _winner(self, sign: float) -> int:
        if self._spent:
            raise NotEnumerable(f"The race of stream {self._stream!r} was run twice.")
        self._spent = True
        # The learner may change its arrays in place later: the law is taken from them now or never.
        return self._script.ask(self._stream, lambda: self._law(sign))

    def _law(self, sign: float) -> list[float]:
        shift = sign * np.broadcast_to(np.asarray(self.shift, dtype=float), self.shape)
        factor = sign * np.broadcast_to(np.asarray(self.factor, dtype=float), self.shape)
        if not self.logarithmic:
            return list(race_law(shift, factor).tolist())
        # a + b ln E with one b > 0 is smallest for j with probability proportional to exp(-a_j / b).
        if np.any(factor != factor[0]) or not factor[0] > 0:
            raise NotEnumerable(f"The race of stream {self._stream!r} has no closed law.")
        return list(softmax(-shift / factor[0]).tolist())


@contextmanager
def symbols() -> Iterator[None]:
    """Let above-threshold compare symbols: whole numbers of noise would be too many outcomes."""
    honest = above_threshold.one_draw

    def one_draw(uniforms: Uniforms, rate: float) -> Any:
        decide = uniforms.decide
        return honest(uniforms, rate) if decide is None else NoisyNumber(decide, 0.0, GeometricLaw(rate))

    with swapped((above_threshold, "one_draw", one_draw)):
        yield
