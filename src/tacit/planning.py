"""The planner: every applicable algorithm, calibrated to the same privacy, compared on certified regret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tacit.catalogue import CATALOGUE, algorithms_for, register
from tacit.comparison import Candidate, Comparison
from tacit.errors import TacitError
from tacit.floors import floor
from tacit.learners.plan import Plan
from tacit.learners.target import Target
from tacit.learners.tracking import lower_bound_warning
from tacit.privacy.guarantee import REPLACE, Relation, as_relation
from tacit.problems import Arms, Problem, Tracking
from tacit.progress import Progress
from tacit.validation import invalid

if TYPE_CHECKING:
    from tacit.environments.environment import Environment

__all__ = ["CATALOGUE", "Candidate", "Choice", "Comparison", "plan", "register"]

Choice = Comparison
"""The former name of a comparison."""

# A bound for losses fixed in advance holds for each draw of random ones, one for adaptive adversaries for all.
HARDER = {
    "stochastic": ("stochastic", "oblivious", "adaptive"),
    "oblivious": ("oblivious", "adaptive"),
    "adaptive": ("adaptive",),
}


@np.errstate(under="ignore")  # as in `calibrate`
def plan(
    problem: Problem,
    *,
    epsilon: float,
    delta: float,
    adversary: str | None = None,
    relation: Relation | str = REPLACE,
    rounds_per_person: int = 1,
    max_switches: int | None = None,
    numerics: str = "exact",
    confidence: float | None = None,
    algorithms: Sequence[type[Plan] | str] | None = None,
    environment: Environment | str | None = None,
    runs: int = 20,
    seed: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Calibrate every algorithm that applies, and choose one by certified regret: the smallest, with public exceptions.

    Bounds that hold without a condition on the run come first; where measured regret speaks for an algorithm, its
    certificate may be somewhat larger (`explain` states the rule).

    Args:
        problem: what is to be decided.
        epsilon: the privacy budget for the whole run; `math.inf` asks for no privacy at all, and only algorithms
            that are NOT private are then planned (`LazyOCO`, for convex problems with `max_switches`).
        delta: the failure probability; 0 asks for pure differential privacy.
        adversary: who makes the losses, for the regret bound: "oblivious" (fixed in advance, the default) or
            "adaptive" (may react to your decisions), or "stochastic" (independent, from one distribution);
            `Tracking` and `Arms` name their own. Privacy holds against all of them.
        relation: which data sets are neighbours: "replace" or "zero-out" (see `Relation`).
        rounds_per_person: how many rounds one person may stand in.
        max_switches: a hard limit on how often the decision may change. The comparison then names algorithms that
            are lazy but NOT private as well, and says what they would certify; no finite epsilon chooses them.
        numerics: "exact", on integers wherever that is proved (each contract says), or "float": float64 samplers, for
            simulation only.
        confidence: the probability, at least 1/2, with which a single run must meet the certified regret (default: its
            expectation is bounded, and single runs vary). Few algorithms can promise that.
        algorithms: the algorithms to compare, classes or names (default: all that apply, and those you registered).
        environment: a world that you believe in, or its name (see `tacit.environments.named.NAMED`): every plan is
            simulated in it, and the smallest mean regret is chosen. Certified regret stands beside it; privacy is the
            same.
        runs: how many runs of each plan are simulated there.
        seed: makes these repeatable.
        progress: show which algorithm is being calibrated (default: only in a terminal).
    """
    compared = algorithms_for(problem, algorithms, adversary, max_switches is not None or epsilon == inf)
    against = _adversary(problem, adversary)
    related = as_relation("plan", relation)
    target = Target(epsilon, delta, related, rounds_per_person, max_switches, against, numerics, confidence)
    if not target.private and all(algorithm.private for algorithm in compared):
        raise invalid("plan", "epsilon", "finite: none of the algorithms of this comparison does without it", epsilon)
    candidates = []
    with Progress("calibrating", progress) as shown:
        for index, algorithm in enumerate(compared, 1):
            shown.say(f"{algorithm.__name__} ({index} of {len(compared)})")
            candidates.append(_candidate(algorithm, problem, target))
        believed = ""
        if environment is not None:
            candidates, believed = _believed(candidates, environment, runs, seed, shown)
    warning = lower_bound_warning(problem, target.epsilon) if target.private else None
    return Comparison(problem, target, candidates, [warning] if warning else [], floor(problem, target), believed)


def _believed(
    candidates: list[Candidate], environment: Environment | str, runs: int, seed: int, shown: Progress
) -> tuple[list[Candidate], str]:
    """The candidates with what they lose in this world, and the world in words."""
    from tacit.simulation.loop import simulate

    measured, believed = [], ""
    for index, candidate in enumerate(candidates, 1):
        if candidate.plan is None:
            measured.append(candidate)
            continue
        shown.say(f"simulating {candidate.algorithm} ({index} of {len(candidates)})")
        result = simulate(candidate.plan, environment, runs=runs, seed=seed, progress=False)
        world = result.environment
        believed = f"mean of {runs} runs in {type(world).__name__}, {world.horizon:,} rounds"
        ended = float(result.mean[-1]), float(result.standard_error[-1])
        measured.append(replace(candidate, simulated=ended))
    return measured, believed


def _candidate(algorithm: type[Plan], problem: Problem, target: Target) -> Candidate:
    """The algorithm calibrated to the target, or the reason why it cannot be."""
    try:
        made = algorithm.calibrate_for(problem, target)
        reason = _refusal(made, target)
    except TacitError as error:
        return Candidate(algorithm.__name__, None, str(error), algorithm.private)
    return Candidate(algorithm.__name__, None if reason else made, reason, algorithm.private)


def _refusal(made: Plan, target: Target) -> str:
    """Why a plan may not be chosen (empty: it may); algorithms of other people are held to the target as well."""
    promised = made.guarantee
    if promised.relation != target.relation or promised.rounds_per_person < target.rounds_per_person:
        return "its contract is for other neighbours than the target's."
    if promised.epsilon(target.delta) > target.epsilon and promised.delta(target.epsilon) > target.delta:
        return f"its contract does not meet epsilon={target.epsilon:g} at delta={target.delta:g}."
    if not any(adversary in made.certified_against for adversary in HARDER[target.adversary]):
        return f"its regret is not certified against the {target.adversary} adversary."
    if target.confidence is not None and not (made.regret_bound.confidence or 0.0) >= target.confidence:
        return "its certified regret bounds the expectation, not a single run."
    return "" if float(made.regret_bound) >= 0 else "its certified regret is not a number."


def _adversary(problem: Problem, asked: str | None) -> str:
    """Whom the regret bound must hold against: the problem's own adversary, if it names one."""
    if not isinstance(problem, Tracking | Arms):
        return "oblivious" if asked is None else asked
    if asked not in (None, problem.adversary):
        raise invalid("plan", "adversary", f"that of the problem, {problem.adversary!r}, or left out", asked)
    return problem.adversary
