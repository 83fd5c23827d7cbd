"""Decisions over time in a few numbers: counts of every decision in at most 160 parts of the rounds so far.

A strip is read once and then goes on with what is new. When the rounds outgrow its parts, neighbouring parts are put
together and each is twice as wide, so that its size depends neither on the number of rounds nor on the number of
options: those beyond the most frequent ones are counted together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tacit.store.history import Count

PARTS = 160
TRACKED = 64  # decisions that are counted one by one, at most
SHOWN = 7  # of which so many have a colour of their own
BANDS = 6  # equal parts of an interval, if decisions are its points
OTHERS = "others"


@dataclass(frozen=True)
class Scale:
    """How decisions become labels that can be counted.

    Attributes:
        word: what a decision is called ("expert", "arm", "option").
        options: how many there are, or None.
        interval: the ends of the interval whose points are decided, or None.
    """

    word: str = "option"
    options: int | None = None
    interval: tuple[float, float] | None = None

    @staticmethod
    def of(problem: dict[str, Any] | None) -> Scale:
        """The scale of a problem as a store describes it."""
        content = problem or {}
        words = {"experts": "expert", "tracking": "expert", "arms": "arm"}
        line = content.get("kind") == "lipschitz" and content.get("dimension") == 1
        interval = (float(content["low"]), float(content["high"])) if line else None
        return Scale(words.get(content.get("kind", ""), "option"), content.get("n"), interval)

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label in order, if they are few: each then keeps its place, whether it was decided or not."""
        return tuple(self.label(option) for option in range(self.options or 0)) if self.few else ()

    @property
    def few(self) -> bool:
        """Whether every option has a colour of its own."""
        return self.options is not None and self.options <= SHOWN + 1

    def label(self, action: Any) -> str:
        """The label of a decision.

        >>> Scale("arm").label(3)
        'arm 3'
        >>> Scale(interval=(0.0, 3.0)).label(0.7)
        '0.5 to 1'
        >>> Scale().label([0.1, 0.2])
        'points'
        """
        if isinstance(action, list) and len(action) == 1:
            return self.label(action[0])
        if isinstance(action, int):
            return f"{self.word} {action}"
        if not isinstance(action, float) or self.interval is None:
            return "points"
        low, high = self.interval
        step = (high - low) / BANDS
        band = min(max(int((action - low) / step), 0), BANDS - 1)
        return f"{low + band * step:.3g} to {low + (band + 1) * step:.3g}"


class Strip:
    """The counts of one learner's decisions.

    Attributes:
        rounds: how many rounds are counted.
        width: how many rounds a part has.
        switches: in how many rounds the decision was another one than before.
    """

    def __init__(self, scale: Scale) -> None:
        self.rounds = 0
        self.width = 1
        self.switches = 0
        self._scale = scale
        self._parts: list[Counter[str]] = []
        self._order: dict[str, tuple[int, float]] = {}

    def widen(self, rounds: int) -> None:
        """Make room for so many rounds."""
        while rounds > PARTS * self.width:
            self.width *= 2
            pairs = [self._parts[index : index + 2] for index in range(0, len(self._parts), 2)]
            self._parts = [sum(pair[1:], pair[0]) for pair in pairs]

    def add(self, counts: Iterable[Count], rounds: int) -> None:
        """Count what was decided up to `rounds`, in parts of `width`."""
        for count in counts:
            while len(self._parts) <= count.part:
                self._parts.append(Counter())
            label = self._scale.label(count.action)
            self._order.setdefault(label, _rank(count.action))
            self._parts[count.part][label] += count.times
            self.switches += count.switches
        self.rounds = rounds
        self._forget_rare_ones()

    def shares(self) -> dict[str, float]:
        """The most frequent decisions in their own order, and what part of the rounds each had; the others last."""
        totals = self._totals()
        frequent = [label for label, _ in totals.most_common() if label != OTHERS][:SHOWN]
        named = self._scale.labels or sorted(frequent, key=lambda label: self._order[label])
        left = totals.total() - sum(totals[label] for label in named)
        shown = {label: totals[label] for label in named} | ({OTHERS: left} if left else {})
        return {label: times / max(totals.total(), 1) for label, times in shown.items()}

    def stacks(self) -> list[list[float]]:
        """For every part the shares of the labels that `shares` names, in the same order."""
        named = [label for label in self.shares() if label != OTHERS]
        return [_stack(part, named) for part in self._parts]

    def _totals(self) -> Counter[str]:
        totals: Counter[str] = Counter()
        for part in self._parts:
            totals.update(part)
        return totals

    def _forget_rare_ones(self) -> None:
        totals = self._totals()
        if len(totals) <= TRACKED:
            return
        kept = {label for label, _ in totals.most_common(TRACKED // 2)} - {OTHERS}
        for part in self._parts:
            for label in [label for label in part if label not in kept and label != OTHERS]:
                part[OTHERS] += part.pop(label)
        self._order = {label: rank for label, rank in self._order.items() if label in kept}


def _stack(part: Counter[str], named: list[str]) -> list[float]:
    total = part.total() or 1
    shares = [part[label] / total for label in named]
    return [*shares, max(0.0, 1.0 - sum(shares))]


def _rank(action: Any) -> tuple[int, float]:
    """Numbers by size; points have no order."""
    value = action[0] if isinstance(action, list) and len(action) == 1 else action
    return (0, float(value)) if isinstance(value, int | float) else (1, 0.0)
