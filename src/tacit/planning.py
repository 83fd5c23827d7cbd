"""The planner: every applicable algorithm, calibrated to the same privacy, compared on certified regret."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from tacit.errors import InvalidInput, PrivacyError
from tacit.learners.arms import BatchedTsallis, PhasedArms
from tacit.learners.arms.common import floor_warning
from tacit.learners.bandit import BanditFW
from tacit.learners.convex import PrivateFTRL
from tacit.learners.ctrl import CTRL
from tacit.learners.experts import L2P, HedgeOnSums, LazyExperts, ScheduledExperts
from tacit.learners.l2p_convex import L2PConvex
from tacit.learners.learner import Learner
from tacit.learners.lipschitz import LipschitzGrid, LipschitzNet
from tacit.learners.plan import Plan
from tacit.learners.stochastic import ObjectivePerturbation, OnlineToBatch
from tacit.learners.target import RegretBound, Target
from tacit.learners.tracking import (
    LazyFixedShare,
    LimitedUpdates,
    NoisyMirrorDescent,
    RestartOnShift,
    SampledFixedShare,
    lower_bound_warning,
)
from tacit.privacy.guarantee import REPLACE, Guarantee, Relation, as_relation
from tacit.problems import Arms, Bandit, Convex, Experts, Lipschitz, Problem, Stochastic, Tracking
from tacit.progress import Progress
from tacit.randomness import Randomness
from tacit.validation import invalid

CATALOGUE: dict[type[Problem], tuple[type[Plan], ...]] = {
    Experts: (LazyExperts, L2P, ScheduledExperts, HedgeOnSums),
    Tracking: (RestartOnShift, LimitedUpdates, LazyFixedShare, SampledFixedShare, NoisyMirrorDescent),
    Convex: (PrivateFTRL, CTRL, L2PConvex),
    Lipschitz: (LipschitzGrid, LipschitzNet),
    Bandit: (BanditFW,),
    Arms: (PhasedArms, BatchedTsallis),
    Stochastic: (ObjectivePerturbation, OnlineToBatch),
}
"""Which algorithms apply to which problem; an algorithm joins by standing here."""

# A bound for losses fixed in advance holds for each draw of random ones, one for adaptive adversaries for all.
HARDER = {
    "stochastic": ("stochastic", "oblivious", "adaptive"),
    "oblivious": ("oblivious", "adaptive"),
    "adaptive": ("adaptive",),
}


@dataclass(frozen=True)
class Candidate:
    """One algorithm calibrated to the target: its plan, or the reason why it has none.

    Attributes:
        algorithm: its name.
        plan: its plan, or None.
        reason: why it has none.
    """

    algorithm: str
    plan: Plan | None
    reason: str = ""

    @property
    def regret_bound(self) -> RegretBound:
        """The certified regret (infinite without a plan)."""
        return self.plan.regret_bound if self.plan else RegretBound(float("inf"), "not applicable", (self.reason,))

    @property
    def vacuous(self) -> bool:
        """True if the certified regret says nothing."""
        return self.plan.vacuous if self.plan else True

    @property
    def rank(self) -> tuple[bool, float]:
        """The candidate of the smallest rank is chosen: certified regret, divided by what favours the algorithm."""
        favour = self.plan.favour[0] if self.plan and not self.vacuous else 1.0
        return self.plan is None, float(self.regret_bound) / favour

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description; numbers that are not finite become null."""
        bound = float(self.regret_bound)
        content: dict[str, Any] = {
            "algorithm": self.algorithm,
            "regret_bound": bound if bound < float("inf") else None,
            "vacuous": self.vacuous,
            "epsilon": None,
            "delta": None,
            "expected_switches": None,
            "parameters": {},
        }
        if self.plan:
            guarantee = self.plan.guarantee
            content["epsilon"], content["delta"] = guarantee.epsilon(), guarantee.at_delta
            content["expected_switches"] = self.plan.expected_switches
            content["parameters"] = {name: _plain(value) for name, value in self.plan.parameters.items()}
        if self.reason:
            content["reason"] = self.reason
        return content


class Choice:
    """The planner's answer: usable as the chosen plan, with every candidate beside it.

    Attributes:
        plan: the chosen plan itself, with what only its algorithm has.
        candidates: every algorithm that was considered, the chosen one first.
        warnings: sentences about the problem that no algorithm can help.
    """

    def __init__(
        self, problem: Problem, target: Target, candidates: Sequence[Candidate], warnings: Sequence[str] = ()
    ) -> None:
        self.problem = problem
        self.target = target
        self.warnings = tuple(warnings)
        listed = list(candidates) if isinstance(candidates, Sequence) else []
        if not listed or not all(isinstance(candidate, Candidate) for candidate in listed):
            raise invalid("Choice", "candidates", "one Candidate or more", candidates)
        self.candidates = tuple(sorted(listed, key=lambda candidate: candidate.rank))
        if self.candidates[0].plan is None:
            reasons = " ".join(_because(candidate) for candidate in self.candidates)
            raise PrivacyError(f"No algorithm meets this target. {reasons}")
        self.plan: Plan = self.candidates[0].plan

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

    def start(self, randomness: Randomness | None = None) -> Learner:
        """A fresh learner of the chosen plan."""
        return self.plan.start(randomness)

    def run(self, feedback: Any, randomness: Randomness | None = None) -> Any:
        """The decisions of a fresh learner of the chosen plan on an array of feedback."""
        return self.plan.run(feedback, randomness)

    def restore(self, state: dict[str, Any]) -> Learner:
        """A learner of the chosen plan that continues from a saved state."""
        return self.plan.restore(state)

    def explain(self) -> str:
        """The comparison as a table, then the chosen plan and its contract; coloured in a terminal if rich is there."""
        head = (
            f"{self.problem}\nepsilon={self.target.epsilon:g}, delta={self.target.delta:g}; "
            f"regret against the {self.target.adversary} adversary\n"
        )
        notes = [_because(candidate) for candidate in self.candidates if candidate.reason]
        if any(float(other.regret_bound) < float(self.regret_bound) for other in self.candidates):
            factor, reason = self.plan.favour
            rule = f"chosen while its certificate is at most {factor:g} times the smallest, because {reason}."
            notes.insert(0, f"{self.algorithm}: {rule}")
        foot = "\n".join([f"Chosen: {self.plan.explain()}", *notes, *(f"Warning: {text}" for text in self.warnings)])
        return f"{head}\n{_table(self._rows())}\n{foot}\n"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description of the choice and all candidates."""
        return {
            "chosen": self.algorithm,
            "problem": str(self.problem),
            "contract": str(self.guarantee),
            "warnings": list(self.warnings),
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("algorithm", f"certified {self.problem.price}", "expected switches", "note")]
        for candidate in self.candidates:
            if candidate.plan is None:
                rows.append((candidate.algorithm, "-", "-", "not applicable"))
                continue
            switches = candidate.plan.expected_switches
            note = "vacuous: no better than deciding blindly" if candidate.vacuous else ""
            condition = candidate.regret_bound.condition
            parts = ["chosen" if candidate.plan is self.plan else "", note, f"if {condition}" if condition else ""]
            note = "; ".join(part for part in parts if part)
            shown = "-" if switches is None else f"<= {switches:,.0f}"
            rows.append((candidate.algorithm, f"{float(candidate.regret_bound):,.4g}", shown, note))
        return rows

    def __repr__(self) -> str:
        price = f"certified {self.problem.price} {float(self.regret_bound):.4g}"
        return f"Choice({self.algorithm}, {price}, of {len(self.candidates)})"


def plan(
    problem: Problem,
    *,
    epsilon: float,
    delta: float,
    adversary: str | None = None,
    relation: Relation | str = REPLACE,
    rounds_per_person: int = 1,
    max_switches: int | None = None,
    progress: bool | None = None,
) -> Choice:
    """Calibrate every algorithm that applies, and choose the one with the smallest certified regret.

    Args:
        problem: what is to be decided.
        epsilon: the privacy budget for the whole run.
        delta: the failure probability; 0 asks for pure differential privacy.
        adversary: who makes the losses, for the regret bound: "oblivious" (fixed in advance, the default) or
            "adaptive" (may react to your decisions); `Tracking` and `Arms` name their own. Privacy holds against both.
        relation: which data sets are neighbours: "replace" or "zero-out" (see `Relation`).
        rounds_per_person: how many rounds one person may stand in.
        max_switches: a hard limit on how often the decision may change.
        progress: show which algorithm is being calibrated (default: only in a terminal).
    """
    algorithms = CATALOGUE.get(type(problem))
    if algorithms is None:
        known = ", ".join(kind.__name__ for kind in CATALOGUE)
        raise InvalidInput(f"The 'problem' parameter of plan must be one of {known}. Got {problem!r} instead.")
    against = _adversary(problem, adversary)
    target = Target(epsilon, delta, as_relation("plan", relation), rounds_per_person, max_switches, against)
    candidates = []
    with Progress("calibrating", progress) as shown:
        for index, algorithm in enumerate(algorithms, 1):
            shown.say(f"{algorithm.__name__} ({index} of {len(algorithms)})")
            try:
                made = algorithm.calibrate(
                    problem,
                    epsilon=target.epsilon,
                    delta=target.delta,
                    relation=target.relation,
                    rounds_per_person=target.rounds_per_person,
                    max_switches=target.max_switches,
                    adversary=target.adversary,
                )
                certified = any(adversary in made.certified_against for adversary in HARDER[target.adversary])
            except PrivacyError as error:
                candidates.append(Candidate(algorithm.__name__, None, str(error)))
                continue
            if certified:
                candidates.append(Candidate(algorithm.__name__, made))
            else:
                reason = f"its regret is not certified against the {target.adversary} adversary."
                candidates.append(Candidate(algorithm.__name__, None, reason))
    warnings = [lower_bound_warning(problem, target.epsilon), floor_warning(problem, target)]
    return Choice(problem, target, candidates, [warning for warning in warnings if warning])


def _because(candidate: Candidate) -> str:
    """Why a candidate has no plan, the algorithm named once."""
    named = candidate.reason.startswith(candidate.algorithm)
    return candidate.reason if named else f"{candidate.algorithm}: {candidate.reason}"


def _adversary(problem: Problem, asked: str | None) -> str:
    """Whom the regret bound must hold against: the problem's own adversary, if it names one."""
    if not isinstance(problem, Tracking | Arms):
        return "oblivious" if asked is None else asked
    if asked not in (None, problem.adversary):
        raise invalid("plan", "adversary", f"that of the problem, {problem.adversary!r}, or left out", asked)
    return problem.adversary


def _table(rows: list[tuple[str, ...]]) -> str:
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
        except ImportError:
            pass
        else:
            table = Table(*rows[0])
            for row in rows[1:]:
                table.add_row(*row, style="bold" if row[-1].startswith("chosen") else None)
            buffer = StringIO()
            Console(file=buffer, force_terminal=True).print(table)
            return buffer.getvalue()
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
