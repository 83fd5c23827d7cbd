"""A comparison of plans: every algorithm calibrated to one target, the chosen one first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from textwrap import fill
from typing import Any

from tacit.accounting.guarantee import Guarantee
from tacit.accounting.ledger import Ledger
from tacit.accounting.rounding import rounded_up
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.planning.lower_bounds import LowerBound, floor
from tacit.planning.typical import Typical
from tacit.problems import Options, Problem
from tacit.runtime.learner import Learner
from tacit.runtime.plan import COLUMNS, Plan
from tacit.runtime.target import RegretBound, Target
from tacit.validation import invalid

_BELIEVED = (
    "Chosen by simulation in a world that you named; certified regret holds as it says, and privacy is the same."
)
_TYPICAL = (
    "Typical regret is the mean in reference worlds of this size, not of your data; single runs deviate as shown. "
    'rank="certified" goes by certified regret alone.'
)


@dataclass(frozen=True)
class Candidate:
    """One algorithm calibrated to the target: its plan, or the reason why it has none.

    Attributes:
        algorithm: its name.
        plan: its plan, or None.
        reason: why it has none.
        private: whether the algorithm has a privacy contract at all.
        simulated: mean regret and its standard error in the environment that was named, if one was.
        typical: regret in the reference worlds, where there are some.
        allowed: whether it may be chosen by its simulated or typical regret; the others come after by certificate.
        close: whether its typical regret is as small as any, up to errors: of these the smallest certificate is chosen.
    """

    algorithm: str
    plan: Plan | None
    reason: str = ""
    private: bool = True
    simulated: tuple[float, float] | None = None
    typical: Typical | None = None
    allowed: bool = False
    close: bool = False

    @property
    def regret_bound(self) -> RegretBound:
        """The certified regret (infinite without a plan)."""
        return self.plan.regret_bound if self.plan else RegretBound(float("inf"), "not applicable", (self.reason,))

    @property
    def vacuous(self) -> bool:
        """True if the certified regret says nothing."""
        return self.plan.vacuous if self.plan else True

    @property
    def weak(self) -> bool:
        """True if the certificate says nothing, or holds under a condition on the run itself."""
        return bool(self.regret_bound.condition) or self.vacuous

    @property
    def rank(self) -> tuple[bool, bool, bool, float]:
        """The candidate of the smallest rank is chosen."""
        if self.allowed and self.simulated:
            return False, False, False, self.simulated[0]
        if self.close:
            return False, False, False, float(self.regret_bound)
        if self.allowed and self.typical:
            return False, False, True, self.typical.mean
        return self.plan is None, True, self.weak, float(self.regret_bound)

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-ready description; numbers that are not finite become null."""
        plan = self.plan
        content: dict[str, Any] = {
            "algorithm": self.algorithm,
            "regret_bound": finite(float(self.regret_bound)),
            "vacuous": self.vacuous,
            "epsilon": finite(plan.guarantee.epsilon()) if plan else None,
            "delta": plan.guarantee.at_delta if plan else None,
            "expected_switches": plan.expected_switches if plan else None,
            "parameters": {name: _plain(value) for name, value in plan.parameters.items()} if plan else {},
        }
        if self.simulated is not None:
            content["simulated_regret"], content["standard_error"] = self.simulated
        if self.typical is not None:
            content["typical_regret"], content["deviation"] = self.typical.mean, self.typical.deviation
        if self.reason:
            content["reason"] = self.reason
        return content


class Comparison:
    """The planner's answer: usable as the chosen plan, with every candidate beside it.

    Attributes:
        plan: the chosen plan itself, with what only its algorithm has.
        candidates: every algorithm that was considered, the chosen one first.
        warnings: sentences about the problem that no algorithm can help.
        ranked_by: the environment and runs, or the rule, by which the choice was made ("": certified regret alone).
    """

    def __init__(
        self,
        problem: Problem,
        target: Target,
        candidates: Sequence[Candidate],
        warnings: Sequence[str] = (),
        ranked_by: str = "",
    ) -> None:
        self.problem = problem
        self.target = target
        self.warnings = tuple(warnings)
        self.ranked_by = ranked_by
        listed = list(candidates) if isinstance(candidates, Sequence) else []
        if not listed or not all(isinstance(candidate, Candidate) for candidate in listed):
            raise invalid("Comparison", "candidates", "one Candidate or more", candidates)
        # Of a single one the rank, for which its certificate is computed, is not looked at.
        self.candidates = tuple(sorted(listed, key=lambda candidate: candidate.rank) if len(listed) > 1 else listed)
        if self.candidates[0].plan is None:
            reasons = " ".join(_because(candidate) for candidate in self.candidates)
            raise PrivacyError(f"No algorithm meets this target. {reasons}")
        self.plan: Plan = self.candidates[0].plan

    @cached_property
    def floor(self) -> LowerBound | None:
        """The regret that no learner escapes, where one is proved."""
        return floor(self.problem, self.target)

    @property
    def algorithm(self) -> str:
        """The name of the chosen algorithm."""
        return self.plan.algorithm

    @property
    def guarantee(self) -> Guarantee:
        """The chosen plan's privacy contract."""
        return self.plan.guarantee

    @property
    def regret_bound(self) -> RegretBound:
        """The chosen plan's certified regret."""
        return self.plan.regret_bound

    @property
    def parameters(self) -> dict[str, Any]:
        """The chosen plan's parameters."""
        return self.plan.parameters

    def start(self, randomness: Randomness | None = None, *, ledger: Ledger | None = None) -> Learner:
        """Make a fresh learner of the chosen plan, charged to the ledger if one is named."""
        return self.plan.start(randomness, ledger=ledger)

    def run(self, feedback: Any, randomness: Randomness | None = None, *, contexts: Any = None) -> Any:
        """Give the decisions of a fresh learner of the chosen plan on an array of feedback."""
        return self.plan.run(feedback, randomness, contexts=contexts)

    def restore(self, state: dict[str, Any]) -> Learner:
        """Make a learner of the chosen plan that continues from a saved state."""
        return self.plan.restore(state)

    def explain(self) -> str:
        """Show the comparison as a table, then the chosen plan and its contract."""
        head = (
            f"{self.problem}\n{'' if self.target.private else 'no privacy is asked for: '}"
            f"epsilon={self.target.epsilon:g}, delta={self.target.delta:g}; "
            f"{self._against}\n"
        )
        head += fill(f"chosen: {self._choice}", COLUMNS) + "\n"
        notes = [*self._cost_of_delay(), *(_because(candidate) for candidate in self.candidates if candidate.reason)]
        if self._simulated:
            notes.insert(0, _BELIEVED)
        elif self.candidates[0].typical:
            notes.insert(0, fill(_TYPICAL, COLUMNS))
        gaps = [f"{line}." for line in self._gap_lines()]
        least = [f"Lower bound: {self.floor}."] if self.floor else []
        warnings = [f"Warning: {text}" for text in self.warnings]
        foot = "\n".join([f"Chosen: {self.plan.explain()}", *gaps, *least, *notes, *warnings])
        return f"{head}\n{text_table(self._rows())}\n{foot}\n"

    @property
    def _simulated(self) -> bool:
        return self.candidates[0].simulated is not None

    @property
    def _choice(self) -> str:
        """By what the choice was made."""
        if self._simulated:
            return f"smallest simulated {self.problem.criterion}, {self.ranked_by}"
        return self.ranked_by or f"smallest certified {self.problem.criterion}"

    def _gap_lines(self) -> list[str]:
        """What the chosen plan certifies if one option is better than all others by some gap."""
        if not isinstance(self.problem, Options) or self.target.adversary != "stochastic" or self.plan.horizon is None:
            return []
        given = {gap: float(self.plan.regret_if(gap * self.problem.width)) for gap in (0.05, 0.2)}
        return [
            f"If the best option is better by {gap * self.problem.width:g}: at most {rounded_up(value, thousands=True)}"
            for gap, value in given.items()
            if value < float(self.regret_bound)
        ]

    @property
    def _against(self) -> str:
        """What is certified, for whom: excess risk is that of independent records, whoever was asked for."""
        if self.problem.criterion != "regret":
            return f"{self.problem.criterion} over independent records"
        return f"regret against the {self.target.adversary} adversary"

    def _cost_of_delay(self) -> list[str]:
        """What the chosen algorithm would certify if all feedback came at once."""
        delay = self.problem.delay
        if not delay:
            return []
        prompt = self.plan.undelayed.calibrate_for(replace(self.problem, delay=0), self.target)
        certified, without = rounded_up(float(self.regret_bound)), rounded_up(float(prompt.regret_bound))
        return [
            f"Delay: feedback may come {delay} rounds late; if it came at once, {self.algorithm} would certify "
            f"{without} instead of {certified}."
        ]

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-ready description of the chosen plan and all candidates."""
        return {
            "chosen": self.algorithm,
            "problem": str(self.problem),
            "ranked_by": self.ranked_by or f"certified {self.problem.criterion}",
            "contract": str(self.guarantee),
            "floor": None if self.floor is None else float(self.floor),
            "warnings": list(self.warnings),
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }

    def _rows(self) -> list[tuple[str, ...]]:
        criterion = self.problem.criterion
        shown = self._simulated or any(candidate.typical for candidate in self.candidates)
        measured = (f"{'simulated' if self._simulated else 'typical'} {criterion}",) if shown else ()
        rows: list[tuple[str, ...]] = [("algorithm", *measured, f"certified {criterion}", "expected switches", "note")]
        for candidate in self.candidates:
            measured = (_measured(candidate),) if shown else ()
            if candidate.plan is None:
                note = "not applicable" if candidate.private else "NOT PRIVATE"
                rows.append((candidate.algorithm, *measured, "-", "-", note))
                continue
            switches, bound = candidate.plan.expected_switches, candidate.regret_bound
            notes = {
                "chosen": candidate.plan is self.plan,
                "NOT PRIVATE": not candidate.private,
                candidate.plan.form: candidate.plan.form,
                "vacuous: no better than deciding blindly": candidate.vacuous,
                f"if {bound.condition}": bound.condition,
            }
            note = "; ".join(text for text, holds in notes.items() if holds)
            most = "-" if switches is None else f"<= {ceil(switches):,}"
            rows.append((candidate.algorithm, *measured, rounded_up(float(bound), thousands=True), most, note))
        return rows

    def __repr__(self) -> str:
        certified = f"certified {self.problem.criterion} {rounded_up(float(self.regret_bound))}"
        return f"Comparison({self.algorithm}, {certified}, of {len(self.candidates)})"


def smallest_certificate(candidates: Sequence[Candidate]) -> float:
    """The smallest certified regret of those that say something without a condition, or of all if none does."""
    strong = [candidate for candidate in candidates if candidate.plan and not candidate.weak]
    return min((float(c.regret_bound) for c in strong or candidates), default=float("inf"))


def _measured(candidate: Candidate) -> str:
    """The simulated regret with its standard error, or the typical one with the deviation of a single run."""
    if candidate.simulated is not None:
        return f"{candidate.simulated[0]:,.4g} +- {candidate.simulated[1]:,.2g}"
    if candidate.typical is not None:
        return f"{candidate.typical.mean:,.3g} (one run: +- {candidate.typical.deviation:,.2g})"
    return "-"


def _because(candidate: Candidate) -> str:
    """Why a candidate has no plan, the algorithm named once."""
    named = candidate.reason.startswith(candidate.algorithm)
    return candidate.reason if named else f"{candidate.algorithm}: {candidate.reason}"


def text_table(rows: Sequence[tuple[str, ...]]) -> str:
    """Align the columns of a table; its first row are the heads."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


def finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if abs(value) < float("inf") else None


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
