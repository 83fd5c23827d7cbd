"""What the page shows of a learner and of a ledger: plain values made of public things only, and the templates.

- Decisions over time are counts in at most 160 parts of the rounds so far. A strip is read once and then goes on with
  what is new. When the rounds outgrow its parts, neighbouring parts are put together and each is twice as wide. So its
  size depends neither on the number of rounds nor on that of options: those beyond the most frequent are counted
  together.
- Most plans certify regret for their whole horizon; one of an unknown horizon does for any number of rounds. No learner
  can lose more in a round than the widest loss. The smallest of these is shown, and the words say which it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import ceil
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from tacit.accounting.guarantee import ZERO_OUT, Guarantee
from tacit.accounting.rounding import rounded_up
from tacit.runtime.doubling import Doubling
from tacit.runtime.plan import Plan
from tacit.store.history import Count, Head

PARTS = 160
TRACKED = 64  # decisions that are counted one by one, at most
SHOWN = 7  # of which so many have a colour of their own
BANDS = 6  # equal parts of an interval, if decisions are its points
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


@dataclass(frozen=True)
class Certified:
    """A certified number and what it is about.

    Attributes:
        value: the number as it is shown, rounded up.
        scope: which rounds it is for, and what else must be said.
    """

    value: str
    scope: str


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


def paragraph(guarantee: Guarantee) -> str:
    """The contract in sentences: what is shown, what that gives away of whom, and on what the proof rests."""
    other = "a public constant" if guarantee.relation == ZERO_OUT else "any other"
    epsilon = rounded_up(guarantee.epsilon())
    slack = f", up to a probability of delta = {rounded_up(guarantee.at_delta, 6)}" if guarantee.at_delta else ""
    sentences = [
        f"Shown: {guarantee.released}.",
        f"Protected: {guarantee.protected}.",
        f"Had all of it been {other}, whatever is shown would have been at most e^epsilon times as likely, "
        f"epsilon = {epsilon}{slack}.",
        f"Proof: {guarantee.theorem}; it holds against {_article(guarantee.adversary)} adversary.",
        f"Numerics: {guarantee.numerics}; randomness: {guarantee.randomness}.",
    ]
    if not guarantee.private:
        sentences.insert(0, "NOT PRIVATE: whoever knows the seed can make the noise again.")
    return " ".join(sentences)


def _shown(value: float) -> str:
    return rounded_up(value, thousands=True)


def _condition(text: str) -> str:
    return f", if {text}" if text else ""


def _article(word: str) -> str:
    return f"an {word}" if word[:1] in "aeiou" else f"a {word}"


PLANNING = Certified("...", "being computed")
UNKNOWN = Certified("not known here", "only the program that made the learner can plan it again")


@dataclass(frozen=True)
class LearnerView:
    """One learner as it is now.

    Attributes:
        head: its number in the store, its name, and how many rounds were decided.
        about: problem, contract and plan.
        ledger: the name of the ledger that it is charged to, or None.
        counted: of how many rounds the strip knows.
        switches: how often the decision has changed, as far as was counted.
        latest: the latest decision in words (empty: there is none).
        certified: the certified regret.
        shares: the decisions, and what part of the rounds each had.
        stacks: the same for every part of the rounds.
    """

    head: Head
    about: About
    ledger: str | None
    counted: int
    switches: int
    latest: str
    certified: Certified
    shares: dict[str, float]
    stacks: list[list[float]]

    @property
    def marks(self) -> list[str]:
        """Give the colour of each decision."""
        return ["rest" if label == OTHERS else f"c{index}" for index, label in enumerate(self.shares)]

    @property
    def paths(self) -> list[tuple[str, str]]:
        """Draw the decisions."""
        return areas(self.marks, self.stacks)


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
    """One ledger as it is now.

    Attributes:
        name: its name.
        epsilon: the budget, or None.
        delta: its delta.
        period: the period that runs now, in words (empty: the budget never renews).
        spent: what was spent in it (None: without limit).
        ever: what was spent over all time (None: without limit).
        entries: how many charges there are.
    """

    name: str
    epsilon: float | None
    delta: float
    period: str
    spent: float | None
    ever: float | None
    entries: int

    @staticmethod
    def of(account: dict[str, Any]) -> LedgerView:
        """The view of an account as `Ledger.to_dict` gives it."""
        return LedgerView(
            account["name"],
            account["epsilon"],
            account["delta"],
            account["period"],
            account["spent"],
            account["spent_ever"],
            len(account["entries"]),
        )

    @property
    def left(self) -> float:
        """What is left of the budget."""
        spent = self.epsilon if self.spent is None else self.spent
        return max(0.0, (self.epsilon or 0.0) - (spent or 0.0))


class About:
    """What never changes about a learner, and its plan once that is known.

    Attributes:
        request: what was asked for when it was made.
        scale: how its decisions are counted.
        plan: its plan, or None.
        planned: whether `plan` was looked for.
        guarantee: its contract.
        contract: the same as a paragraph.
    """

    def __init__(self, request: dict[str, Any], guarantee: Guarantee) -> None:
        self.request = request
        self.scale = Scale.of(request["problem"])
        self.plan: Plan | None = None
        self.planned = False
        self.guarantee = guarantee
        self.contract = paragraph(guarantee)

    def view(self, head: Head, ledger: str | None, strip: Strip, latest: Any) -> LearnerView:
        """The learner as it is now."""
        return LearnerView(
            head=head,
            about=self,
            ledger=ledger,
            counted=strip.rounds,
            switches=strip.switches,
            latest="" if latest is None else _decision(self.scale, latest),
            certified=certified(self.plan, head.rounds) if self.plan else UNKNOWN if self.planned else PLANNING,
            shares=strip.shares(),
            stacks=strip.stacks(),
        )

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
    label = scale.label(action)
    if label == "points" or scale.interval is not None or label == OTHERS:
        values = action if isinstance(action, list) else [action]
        return ", ".join(f"{value:.3g}" for value in values[:3]) + (", ..." if len(values) > 3 else "")
    return label
