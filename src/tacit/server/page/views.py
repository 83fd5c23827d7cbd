"""What the page shows of a learner and of a ledger: plain values made of public things only, and the templates.

- Decisions over time are counts in at most 161 parts of the latest rounds. So the size of a strip depends neither on
  the number of rounds nor on that of options: those beyond the most frequent are counted together.
- Most plans certify regret for their whole horizon; one of an unknown horizon does for any number of rounds. No learner
  can lose more in a round than the widest loss. The smallest of these is shown, and the words say which it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import ceil
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from tacit.accounting.guarantee import Guarantee
from tacit.accounting.rounding import rounded_up
from tacit.runtime.doubling import Doubling
from tacit.runtime.plan import Plan
from tacit.store.history import Count, Head

PARTS = 160
LATEST = 10 * PARTS  # rounds that are drawn
SHOWN = 7  # decisions that have a colour of their own
OTHERS = "others"


_TEMPLATES = Environment(
    loader=PackageLoader("tacit.server.page"), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
_TEMPLATES.filters |= {
    "percent": lambda share: "under 1%" if 0 < share < 0.005 else f"{100 * share:.0f}%",
    "spent": lambda value: "infinite" if value is None else rounded_up(value),
    "left": lambda value: rounded_up(-value).removeprefix("-"),  # rounded down
}


def render(template: str, **values: Any) -> Markup:
    """Fill in a template; what comes from a store is escaped."""
    return Markup(_TEMPLATES.get_template(template).render(values))


@dataclass(frozen=True)
class Scale:
    """How decisions become labels that can be counted."""

    word: str = "option"  # what a decision is called
    options: int | None = None  # how many there are

    @staticmethod
    def of(problem: dict[str, Any] | None) -> Scale:
        """The scale of a problem as a store describes it."""
        content = problem or {}
        words = {"experts": "expert", "tracking": "expert", "arms": "arm"}
        return Scale(words.get(content.get("kind", ""), "option"), content.get("n"))

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label in order, if they are few: each then keeps its place, whether it was decided or not."""
        few = self.options is not None and self.options <= SHOWN + 1
        return tuple(self.label(option) for option in range(self.options or 0)) if few else ()

    def label(self, action: Any) -> str:
        """The label of a decision.

        >>> Scale("arm").label(3), Scale().label([0.1, 0.2])
        ('arm 3', 'points')
        """
        return f"{self.word} {action}" if isinstance(action, int) else "points"


@dataclass(frozen=True)
class Strip:
    """The latest decisions of a learner."""

    first: int = 0  # round
    last: int = 0  # round, which is not among them
    switches: int = 0
    shares: dict[str, float] = field(default_factory=dict)  # the most frequent decisions in order; the others last
    stacks: list[list[float]] = field(default_factory=list)  # the same for every part of these rounds

    @staticmethod
    def span(rounds: int) -> tuple[int, int]:
        """The first round that is drawn, and how many rounds a part has."""
        width = max(1, ceil(min(rounds, LATEST) / PARTS))
        return max(0, rounds - LATEST) // width * width, width

    @staticmethod
    def of(scale: Scale, counts: Iterable[Count], rounds: int) -> Strip:
        """Count what was decided from the first round that is drawn to `rounds`."""
        parts: dict[int, Counter[str]] = {}
        order: dict[str, int] = {}
        switches = 0
        for count in counts:
            label = scale.label(count.action)
            order[label] = count.action if isinstance(count.action, int) else 0
            parts.setdefault(count.part, Counter())[label] += count.times
            switches += count.switches
        totals = sum(parts.values(), Counter())
        frequent = [label for label, _ in totals.most_common(SHOWN)]
        named = scale.labels or sorted(frequent, key=lambda label: order[label])
        left = totals.total() - sum(totals[label] for label in named)
        shown = {label: totals[label] for label in named} | ({OTHERS: left} if left else {})
        return Strip(
            Strip.span(rounds)[0],
            rounds,
            switches,
            {label: times / max(totals.total(), 1) for label, times in shown.items()},
            [_stack(parts[part], list(named)) for part in sorted(parts)],
        )


def _stack(part: Counter[str], named: list[str]) -> list[float]:
    shares = [part[label] / part.total() for label in named]
    return [*shares, max(0.0, 1.0 - sum(shares))]


class Certified(NamedTuple):
    """A certified number and what it is about."""

    value: str  # as it is shown, rounded up
    scope: str  # which rounds it is for, and what else must be said


def certified(plan: Plan, rounds: int) -> Certified:
    """The smallest regret that is certified for the first `rounds` rounds, or for the horizon if that is all there is.

    >>> from tacit import Experts
    >>> from tacit.algorithms import HedgeOnSums
    >>> plan = HedgeOnSums.calibrate(Experts(n=3, horizon=1000), epsilon=1.0, delta=1e-6)
    >>> certified(plan, 20)
    Certified(value='20', scope='for the rounds so far, as nobody can lose more in 20 rounds; 42.51 for all 1,000')
    >>> certified(plan, 900)
    Certified(value='42.51', scope='for all 1,000 rounds')
    """
    if isinstance(plan, Doubling):
        bound = plan.regret_bound_at(max(rounds, 1))
        return Certified(_shown(float(bound)), f"for the rounds so far{_condition(bound.condition)}")
    most, bound = plan.trivial_regret * rounds / plan.rounds, plan.regret_bound
    if most < float(bound):
        many = "1 round" if rounds == 1 else f"{rounds:,} rounds"
        whole = f"{_shown(float(bound))} for all {plan.rounds:,}{_condition(bound.condition)}"
        return Certified(_shown(most), f"for the rounds so far, as nobody can lose more in {many}; {whole}")
    says = "; it says nothing, deciding blindly has no more" if plan.vacuous else ""
    return Certified(_shown(float(bound)), f"for all {plan.rounds:,} rounds{_condition(bound.condition)}{says}")


def _shown(value: float) -> str:
    return rounded_up(value, thousands=True)


def _condition(text: str) -> str:
    return f", if {text}" if text else ""


PLANNING = Certified("...", "being computed")
UNKNOWN = Certified("not known here", "only the program that made the learner can plan it again")


@dataclass(frozen=True)
class LearnerView:
    """One learner as it is now."""

    head: Head
    about: About
    ledger: str | None  # the name of the ledger that it is charged to
    strip: Strip
    latest: str  # the latest decision in words (empty: there is none)
    certified: Certified

    @property
    def marks(self) -> list[str]:
        """Give the colour of each decision."""
        return ["rest" if label == OTHERS else f"c{index}" for index, label in enumerate(self.strip.shares)]

    @property
    def paths(self) -> list[tuple[str, str]]:
        """Draw the decisions."""
        return areas(self.marks, self.strip.stacks)


def areas(marks: list[str], stacks: list[list[float]]) -> list[tuple[str, str]]:
    """Draw each colour: rectangles, those that stand beside each other at the same height put together.

    >>> areas(["c0", "c1"], [[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    [('c0', 'M0 50h2v50h-2zM2 80h1v20h-1z'), ('c1', 'M0 0h2v50h-2zM2 0h1v80h-1z')]
    """
    edges = [[0, *(round(100 * level) for level in accumulate(stack))] for stack in stacks]
    paths = []
    for index, mark in enumerate(marks):
        pieces: list[str] = []
        start = 0
        for part in range(1, len(edges) + 1):
            span = edges[start][index : index + 2]
            if part == len(edges) or edges[part][index : index + 2] != span:
                low, high = span
                if high > low:
                    pieces.append(f"M{start} {100 - high}h{part - start}v{high - low}h{start - part}z")
                start = part
        if pieces:
            paths.append((mark, "".join(pieces)))
    return paths


@dataclass(frozen=True)
class LedgerView:
    """One ledger as it is now."""

    name: str
    epsilon: float | None  # the budget
    delta: float
    period: str  # that runs now, in words (empty: the budget never renews)
    spent: float | None  # in it (None: without limit)
    ever: float | None  # over all time (None: without limit)
    entries: int  # how many charges there are

    @staticmethod
    def of(account: dict[str, Any]) -> LedgerView:
        """The view of an account as `Ledger.to_dict` gives it."""
        same = {name: account[name] for name in ("name", "epsilon", "delta", "period", "spent")}
        return LedgerView(**same, ever=account["spent_ever"], entries=len(account["entries"]))

    @property
    def left(self) -> float:
        """What is left of the budget."""
        spent = self.epsilon if self.spent is None else self.spent
        return max(0.0, (self.epsilon or 0.0) - (spent or 0.0))


class About:
    """What never changes about a learner, and its plan once that was looked for."""

    def __init__(self, request: dict[str, Any], guarantee: Guarantee) -> None:
        self.request = request
        self.scale = Scale.of(request["problem"])
        self.plan: Plan | None = None
        self.planned = False
        self.guarantee = guarantee

    def view(self, head: Head, ledger: str | None, strip: Strip, latest: Any) -> LearnerView:
        """The learner as it is now."""
        known = certified(self.plan, head.rounds) if self.plan else UNKNOWN if self.planned else PLANNING
        return LearnerView(head, self, ledger, strip, "" if latest is None else _decision(self.scale, latest), known)

    @property
    def horizon(self) -> int | None:
        """How many rounds it may decide, or None."""
        horizon: int | None = (self.request["problem"] or {}).get("horizon")
        return horizon

    @property
    def expected_switches(self) -> str:
        """How often the decision changes at most, in expectation, in words (empty: not bounded)."""
        switches = self.plan.expected_switches if self.plan else None
        return "" if switches is None else f"{ceil(switches):,}"

    @cached_property
    def privacy(self) -> str:
        """Epsilon and delta in a few words."""
        delta = self.guarantee.at_delta
        slack = f" at delta {rounded_up(delta, 6)}" if delta else ", pure"
        return f"epsilon {rounded_up(self.guarantee.epsilon())}{slack}"

    @property
    def problem(self) -> str:
        """The problem in a few words, and who solves it."""
        problem = self.request["problem"]
        if problem is None:
            return str(self.request["text"])
        parts = [str(problem["kind"])]
        if "n" in problem:
            parts.append(f"{problem['n']:,} options")
        if problem.get("switches"):
            parts.append(f"a world that shifts {problem['switches']:,} times")
        if problem.get("delay"):
            parts.append(f"feedback up to {problem['delay']:,} rounds late")
        return ", ".join([*parts, *([self.plan.algorithm] if self.plan else [])])


def _decision(scale: Scale, action: Any) -> str:
    if isinstance(action, int):
        return scale.label(action)
    values = action if isinstance(action, list) else [action]
    return ", ".join(f"{value:.3g}" for value in values[:3]) + (", ..." if len(values) > 3 else "")
