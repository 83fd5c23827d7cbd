"""The exact law of everything a learner releases, on small instances, and the exact curve of two neighbours.

A learner draws only from the named streams it was started with. Here each stream hands out symbols in place of numbers:
an exponential clock that was not read yet, a uniform coin, a race of exponential variables. A symbol becomes an outcome
only when the learner compares or ranks it, and then the script is asked, with the exact probability of each outcome.
One script walks through all outcomes, another records a run and repeats it on other data (`tacit.auditing.tapes`). What
has no finite set of outcomes (normal noise) is refused with `NotEnumerable`.

So what is enumerated is the code that users run. The hockey-stick divergence of two laws is the true delta(epsilon) of
that pair of streams: no sampling, no confidence level. It must lie under the certified curve for all neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, exp, expm1, floor, inf, log
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy.special import softmax

from tacit.algorithms.tracking import restart_on_shift
from tacit.errors import TacitError
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Law as DrawLaw
from tacit.noise.uniforms import Uniforms
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.validation import FloatArray


@contextmanager
def swapped(*swaps: tuple[Any, str, Any]) -> Iterator[None]:
    """Put each (owner, name, value) in place, and the honest attributes back in the end.

    >>> class Coin:
    ...     side = "heads"
    >>> with swapped((Coin, "side", "tails")):
    ...     print(Coin.side)
    tails
    >>> Coin.side
    'heads'
    """
    honest = [
        (owner, name, vars(owner)[name]) for owner, name, _ in swaps
    ]  # the attribute itself: a property stays one
    for owner, name, value in swaps:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in honest:
            setattr(owner, name, value)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
# A hidden threshold is integrated out on cells of this share of its scale, over this many scales each way.
CELLS_PER_SCALE, SCALES = 32, 40
# A threshold on a lattice is summed out over all integers, if they are no more than this each way.
MOST_INTEGERS = 4_000
_PAIR, _PAIR_WEIGHTS = np.polynomial.legendre.leggauss(2)


def race_law(shift: FloatArray, factor: FloatArray) -> FloatArray:
    """Compute P[j is the smallest] for the variables shift_j + factor_j E_j, E_j independent unit exponentials.

    In closed form if all start together and run upwards (rates 1/factor_j); otherwise by Gauss-Legendre between
    the kinks of the integrand f_j(x) prod_k P[X_k > x], which is smooth there.
    """
    if np.all(shift == shift[0]) and np.all(factor > 0):
        rates = 1 / factor
        return np.asarray(rates / rates.sum())
    up = factor > 0
    size = np.abs(factor)
    edges = np.unique(np.concatenate([shift, (shift[:, None] + np.outer(factor, np.arange(1.0, 41.0))).ravel()]))
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    x = (middle[:, None] + half[:, None] * _NODES).ravel()
    w = (half[:, None] * _WEIGHTS).ravel()
    gap = (x - shift[:, None]) / size[:, None]
    reached = np.where(up[:, None], gap > 0, gap < 0)
    tail = np.exp(-np.abs(np.where(reached, gap, 0.0)))
    density = np.where(reached, tail, 0.0) / size[:, None]
    survival = np.where(up[:, None], tail, np.where(reached, 1 - tail, 0.0))
    law = np.empty(len(shift))
    for j in range(len(shift)):
        others = np.prod(np.delete(survival, j, axis=0), axis=0)
        law[j] = np.sum(w * density[j] * others)
    return np.asarray(law / law.sum())


@dataclass(frozen=True)
class GeometricLaw:
    """Two-sided geometric noise: P[z] proportional to e^{-rate |z|} on the integers."""

    rate: float

    def above(self, x: FloatArray) -> FloatArray:
        """Compute P[z > x] for whole x."""
        tail: FloatArray = np.exp(-self.rate * np.where(x >= 0, x + 1, -x)) / (1 + np.exp(-self.rate))
        return np.where(x >= 0, tail, 1 - tail)

    def support(self) -> tuple[FloatArray, FloatArray]:
        """Give all integers that matter, or if these are too many a quadrature, and weights that add up to 1."""
        last = ceil(SCALES / self.rate)
        if last <= MOST_INTEGERS:
            points = np.arange(-last, last + 1.0)
            weights = np.exp(-self.rate * np.abs(points))
            return points, weights / weights.sum()
        edges = np.linspace(-SCALES, SCALES, 2 * SCALES * CELLS_PER_SCALE + 1)
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        unit = (middle[:, None] + half[:, None] * _PAIR).ravel()
        weights = (half[:, None] * _PAIR_WEIGHTS).ravel() * np.exp(-np.abs(unit))
        return np.rint(unit / self.rate), weights / weights.sum()


Decide = Callable[[DrawLaw], int]
"""Asks the script for one of the outcomes of a law."""


class NotEnumerable(TacitError):
    """The learner used randomness in a way that has no finite set of outcomes."""


class Script(ABC):
    """Says which outcome happens; remembers which streams were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @abstractmethod
    def choose(self, stream: str, law: Callable[[], Sequence[float]]) -> int:
        """Give the index of the outcome; `law()` gives the probabilities of all of them."""

    def ask(self, stream: str, law: Callable[[], Sequence[float]]) -> int:
        """Choose, and remember that this stream was asked."""
        self.asked.append(stream)
        return self.choose(stream, law)


class ScriptedRandomness(Randomness):
    """A source whose streams, made by `kind` of the script and a name, follow a script."""

    __slots__ = ("_kind", "_prefix", "_script")

    def __init__(self, script: Script, kind: Callable[[Any, str], Any] | None = None, prefix: str = "") -> None:
        super().__init__(bytes(32))
        self._script, self._kind, self._prefix = script, kind or Stream, prefix

    def child(self, name: str | int) -> Randomness:
        """Give the same script under another name."""
        return ScriptedRandomness(self._script, self._kind, f"{self._prefix}{name}/")

    def stream(self, name: str) -> Any:
        """Give a stream that hands out symbols."""
        return self._kind(self._script, self._prefix + name)


class Stream:
    """Hands out symbols where a generator hands out numbers."""

    private = False  # as the scripted source: nothing here is secret

    def __init__(self, script: Script, name: str) -> None:
        self._script = script
        self._name = name

    def decide(self, law: Callable[[], Sequence[float]]) -> int:
        """Give the outcome of an exact decision (`tacit.noise.exact_draws`): its uniforms ask their stream."""
        return self._script.ask(self._name, law)

    def bytes(self, count: int) -> Any:
        """Give a key that nothing is decided by."""
        return bytes(count)

    def standard_exponential(self, size: Any = None) -> Any:
        """Give one clock, a race of clocks, or rows of races."""
        if size is None:
            return Clock(self._script, self._name)
        shape = (size,) if isinstance(size, int | np.integer) else tuple(size)
        if len(shape) == 2:
            return [Race(self._script, self._name, int(shape[1])) for _ in range(shape[0])]
        return Race(self._script, self._name, int(shape[0]))

    def random(self, size: Any = None) -> Coin:
        """Give a uniform coin."""
        if size is not None:
            raise NotEnumerable(f"The stream {self._name!r} was asked for an array of uniform numbers.")
        return Coin(self._script, self._name)

    def integers(self, high: int) -> int:
        """Give one of `high` equally likely outcomes."""
        return self._script.ask(self._name, lambda: [1 / int(high)] * int(high))

    def __getattr__(self, name: str) -> Any:
        raise NotEnumerable(f"The stream {self._name!r} was asked for {name}, which has no finite set of outcomes.")


class Bounded(ABC):
    """A continuous number of which only an interval is known; each comparison halves what is unknown."""

    def __init__(self, script: Script, stream: str, low: float = 0.0, high: float = inf) -> None:
        self._script, self._stream = script, stream
        self._low, self._high = low, high

    @abstractmethod
    def _mass(self, low: float, high: float) -> float:
        """Compute the probability of an interval under the unconditional law."""

    def _below(self, x: float) -> bool:
        """Check whether the number is below x, as the script decides."""
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

    def __lt__(self, x: float) -> bool:
        return self._below(float(x))

    def __ge__(self, x: float) -> bool:
        return not self._below(float(x))

    __le__, __gt__ = __lt__, __ge__


class Clock(Bounded):
    """An exponential clock."""

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

    __rmul__ = __mul__

    def _unknown(self, *others: object) -> NoReturn:
        raise NotEnumerable(
            f"A uniform number of the stream {self._stream!r} was read as a number: outcomes can be counted if it is "
            "only compared with thresholds (u < p), or picks one of k by int(u * k)."
        )

    __float__ = __add__ = __radd__ = __sub__ = __rsub__ = __rtruediv__ = __pow__ = __neg__ = _unknown
    __array_ufunc__ = None

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

    def __init__(self, decide: Decide, shift: float, law: GeometricLaw) -> None:
        self._decide = decide
        self.shift, self.law = shift, law
        # Where it may be, and the weights that the answers so far leave these places.
        self._hidden: tuple[FloatArray, FloatArray] | None = None
        self._read = False

    def __add__(self, x: float) -> NoisyNumber:
        moved = NoisyNumber(self._decide, self.shift + float(x), self.law)
        moved._read = self._read
        return moved

    __radd__ = __add__

    def __gt__(self, other: NoisyNumber | float) -> bool:
        """Check whether this noisy query exceeds a hidden threshold, or a number."""
        if self._read:
            raise NotEnumerable("One noisy number was compared twice as a query.")
        self._read = True
        if isinstance(other, NoisyNumber):
            return other._answer(lambda hidden: self.law.above(hidden - self.shift), self._decide)
        above = float(self.law.above(np.asarray(float(other) - self.shift)))
        return self._decide(lambda: (1 - above, above)) == 1

    def __lt__(self, other: float) -> bool:
        """Check whether a hidden threshold lies below a query without noise."""
        return self._answer(lambda hidden: (hidden < float(other)).astype(float), self._decide)

    def _answer(self, above: Callable[[FloatArray], FloatArray], decide: Decide) -> bool:
        if self._hidden is None:
            points, prior = self.law.support()
            self._hidden = self.shift + points, prior
        places, weights = self._hidden
        likelihood = above(places)
        probability = min(1.0, max(0.0, float(weights @ likelihood)))
        answer = decide(lambda: (1 - probability, probability)) == 1
        left = weights * (likelihood if answer else 1 - likelihood)  # Bayes' rule
        self._hidden = places, left / left.sum()
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
        """Find the smallest variable."""
        return self._winner(1.0)

    def argmax(self, axis: Any = None, out: Any = None) -> int:
        """Find the largest variable."""
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
    honest = restart_on_shift.one_draw

    def one_draw(uniforms: Uniforms, rate: float) -> Any:
        decide = uniforms.decide
        return honest(uniforms, rate) if decide is None else NoisyNumber(decide, 0.0, GeometricLaw(rate))

    with swapped((restart_on_shift, "one_draw", one_draw)):
        yield


Feedback = Sequence[Any]
"""One round's feedback after the other."""

Law = dict[tuple[Any, ...], float]
"""Transcripts and their probabilities."""

MOST_TRANSCRIPTS = 200_000
# Probabilities are sums of products of doubles, and thresholds are integrated to about 1e-7.
NUMERICAL_SLACK = 1e-6
# Beyond this an epsilon says nothing that any probability could show.
LARGE_EPSILON = 50.0
# e to a larger power is near the end of the doubles (e^709.8): the smallest probabilities times it are still numbers.
LARGEST_EXPONENT = 700.0


class Walk(Script):
    """Takes given choices, then the first possible outcome each time; notes the branches it passed."""

    def __init__(self, choices: tuple[int, ...], probability: float) -> None:
        super().__init__()
        self._given = choices
        self._taken = list(choices)
        self._place = 0
        self.branches: list[tuple[tuple[int, ...], float]] = []
        self.probability = probability

    def choose(self, stream: str, law: Callable[[], Sequence[float]]) -> int:
        place = self._place
        self._place = place + 1
        if place < len(self._given):
            return self._given[place]
        (choice, chance), *others = ((index, chance) for index, chance in enumerate(law()) if not chance <= 0)
        self.branches += [((*self._taken, index), self.probability * chance) for index, chance in others]
        self._taken.append(choice)
        self.probability *= chance
        return choice


def transcript(plan: Plan, feedback: Feedback, script: Script) -> tuple[Any, ...]:
    """Give what one scripted run releases: each action, and whether each released stream was used after it."""
    names = plan.released_streams
    learner = plan.start(ScriptedRandomness(script))
    released: list[Any] = []
    late = plan.problem.delay > 0  # then feedback is absorbed before a decision, otherwise after it
    for round_feedback in feedback:
        if late:
            script.asked.clear()
        released.append(plain(learner.play()))
        if not late:
            script.asked.clear()
        learner.observe(round_feedback)
        if names:
            released.append(tuple(name in script.asked for name in names))
    return tuple(released)


def transcript_law(plan: Plan, feedback: Feedback) -> Law:
    """Compute the law of everything that the learner of `plan` releases on this feedback."""
    with symbols():
        return law_of(lambda walk: transcript(plan, feedback, walk))


def law_of(run: Callable[[Walk], tuple[Any, ...]]) -> Law:
    """Compute the law of what `run` returns: `run` is called for each outcome of a script."""
    law: Law = {}
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while waiting:
        walk = Walk(*waiting.pop())
        key = run(walk)
        law[key] = law.get(key, 0.0) + walk.probability
        waiting += walk.branches
        if len(law) > MOST_TRANSCRIPTS:
            raise NotEnumerable(f"There are more than {MOST_TRANSCRIPTS} transcripts here.")
    return law


@dataclass(frozen=True)
class ExactCurve:
    """The exact delta(epsilon) of one pair of laws, in the worse direction."""

    one: FloatArray
    other: FloatArray

    @classmethod
    def of(cls, law: Law, neighbour: Law) -> ExactCurve:
        """Align two laws on all their transcripts."""
        keys = list(law.keys() | neighbour.keys())
        return cls(np.array([law.get(key, 0.0) for key in keys]), np.array([neighbour.get(key, 0.0) for key in keys]))

    def delta(self, epsilon: float) -> float:
        """Compute the maximum over both directions of the sum of (p - e^epsilon q)+."""
        return float(self.deltas([epsilon])[0])

    def deltas(self, epsilons: Sequence[float]) -> FloatArray:
        """Compute `delta` at several epsilons."""
        factors = np.exp(np.minimum(epsilons, LARGEST_EXPONENT))[:, None]
        forward = np.maximum(self.one - factors * self.other, 0.0).sum(axis=1)
        backward = np.maximum(self.other - factors * self.one, 0.0).sum(axis=1)
        return np.asarray(np.maximum(forward, backward))

    def epsilon(self, delta: float) -> float:
        """Give the smallest epsilon whose delta is at most this: no certificate below it can be right."""
        if self.delta(0.0) <= delta:
            return 0.0
        both = (self.one > 0) & (self.other > 0)
        high = float(np.max(np.abs(np.log(self.one[both] / self.other[both])), initial=0.0))
        if self.delta(high) > delta + NUMERICAL_SLACK * 1e-6:
            return float("inf")
        low = 0.0
        while high - low > 1e-9 * max(1.0, high):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return low

    @property
    def largest_loss(self) -> float:
        """The largest absolute log ratio of any transcript (infinite if one is impossible on one side only)."""
        if np.any((self.one > 0) != (self.other > 0)):
            return float("inf")
        here = self.one > 0
        return float(np.max(np.abs(np.log(self.one[here] / self.other[here])), initial=0.0))


def plain(action: Any) -> Any:
    """Give an action as a value that can be a key."""
    if isinstance(action, np.ndarray):
        return tuple(float(x) for x in action.ravel())
    return action.item() if isinstance(action, np.generic) else action


def played(learner: Learner, feedback: Feedback) -> tuple[Any, ...]:
    """Give the actions of a learner on this feedback."""
    actions = []
    for row in feedback:
        actions.append(plain(learner.play()))
        learner.observe(row)
    return tuple(actions)


def marginal(law: Law, kept: slice) -> Law:
    """Compute the law of a part of each transcript."""
    found: Law = {}
    for key, mass in law.items():
        found[key[kept]] = found.get(key[kept], 0.0) + mass
    return found


def epsilons(plan: Plan) -> tuple[float, ...]:
    """Give epsilons to compare curves at: shares of the certified epsilon at a delta that small instances can reach."""
    top = plan.guarantee.epsilon(1e-3)
    top = top if top < LARGE_EPSILON else plan.guarantee.curve.pure()
    top = top if top < LARGE_EPSILON else log(1e6)
    return tuple(top * share for share in (0.0, 0.05, 0.15, 0.3, 0.5, 0.75, 1.0))
