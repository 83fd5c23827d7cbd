"""What the page shows of a learner and of a ledger: plain values, made of public things only."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from tacit.learners.plan import Plan
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.rounding import rounded_up
from tacit.service.page.certificates import Certified, certified, paragraph
from tacit.service.page.strips import OTHERS, Scale, Strip
from tacit.store.history import Head

PLANNING = Certified("...", "being computed")
UNKNOWN = Certified("not known here", "only the program that made the learner can plan it again")


@dataclass(frozen=True)
class LearnerView:
    """One learner as it is now.

    Attributes:
        number: its number in the store.
        name: its name.
        problem: what it decides, in words.
        privacy: epsilon and delta in a few words.
        contract: the contract as a paragraph.
        private: False if its noise can be replayed.
        ledger: the name of the ledger that it is charged to, or None.
        rounds: how many rounds were decided.
        counted: of how many of them the strip knows.
        horizon: how many it may decide, or None.
        switches: how often the decision has changed, as far as was counted.
        expected_switches: how often it changes at most, in expectation, in words (empty: not bounded).
        latest: the latest decision in words (empty: there is none).
        certified: the certified regret.
        shares: the decisions, and what part of the rounds each had.
        stacks: the same for every part of the rounds.
    """

    number: int
    name: str
    problem: str
    privacy: str
    contract: str
    private: bool
    ledger: str | None
    rounds: int
    counted: int
    horizon: int | None
    switches: int
    expected_switches: str
    latest: str
    certified: Certified
    shares: dict[str, float]
    stacks: list[list[float]]


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
    """

    def __init__(self, request: dict[str, Any], guarantee: Guarantee) -> None:
        self.request = request
        self.scale = Scale.of(request["problem"])
        self.plan: Plan | None = None
        self.planned = False
        self._guarantee = guarantee
        self._contract = paragraph(guarantee)
        self._privacy = _privacy(guarantee)

    def view(self, head: Head, ledger: str | None, strip: Strip, latest: Any) -> LearnerView:
        """The learner as it is now."""
        problem = self.request["problem"] or {}
        bound = certified(self.plan, head.rounds) if self.plan else UNKNOWN if self.planned else PLANNING
        switches = self.plan.expected_switches if self.plan else None
        return LearnerView(
            number=head.number,
            name=head.name,
            problem=_words(self.request, self.plan),
            privacy=self._privacy,
            contract=self._contract,
            private=self._guarantee.private,
            ledger=ledger,
            rounds=head.rounds,
            counted=strip.rounds,
            horizon=problem.get("horizon"),
            switches=strip.switches,
            expected_switches="" if switches is None else f"{ceil(switches):,}",
            latest="" if latest is None else _decision(self.scale, latest),
            certified=bound,
            shares=strip.shares(),
            stacks=strip.stacks(),
        )


def _privacy(guarantee: Guarantee) -> str:
    epsilon = rounded_up(guarantee.epsilon())
    return f"epsilon {epsilon}" + (f" at delta {rounded_up(guarantee.at_delta, 6)}" if guarantee.at_delta else ", pure")


def _words(request: dict[str, Any], plan: Plan | None) -> str:
    """The problem in a few words, and who solves it."""
    problem = request["problem"]
    if problem is None:
        return str(request["text"])
    parts = [str(problem["kind"])]
    if "n" in problem:
        parts.append(f"{problem['n']:,} options")
    if problem.get("switches"):
        parts.append(f"a world that shifts {problem['switches']:,} times")
    if problem.get("delay"):
        parts.append(f"feedback up to {problem['delay']:,} rounds late")
    return ", ".join([*parts, *([plan.algorithm] if plan else [])])


def _decision(scale: Scale, action: Any) -> str:
    label = scale.label(action)
    if label == "points" or scale.interval is not None or label == OTHERS:
        values = action if isinstance(action, list) else [action]
        return ", ".join(f"{value:.3g}" for value in values[:3]) + (", ..." if len(values) > 3 else "")
    return label
