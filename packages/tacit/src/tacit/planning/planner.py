"""The planner: every applicable algorithm, calibrated to the same privacy, compared by certified and typical regret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any
from warnings import warn

import numpy as np

from tacit.accounting.guarantee import REPLACE, Relation, as_relation
from tacit.algorithms.measures import L2PMeasure, OwnMeasure
from tacit.algorithms.tracking import lower_bound_warning
from tacit.environments.environment import Environment
from tacit.errors import TacitError
from tacit.planning.catalogue import algorithms_for
from tacit.planning.comparison import Candidate, Comparison, smallest_certificate
from tacit.planning.typical import blind_regret, tabulated, tabulated_at, typical_regret
from tacit.problems import Problem
from tacit.progress import Progress
from tacit.runtime.plan import Plan
from tacit.runtime.target import Target
from tacit.simulation.loop import simulate
from tacit.validation import check_choice, invalid

ALLOWED = {"stochastic": 5.0, "oblivious": 1.6, "adaptive": 1.6}
"""How many times the smallest certificate another may be when typical regret decides, for each adversary."""
RULE = (
    "smallest typical regret of those whose certificate holds against the {adversary} adversary and is at most "
    "{factor:g} times the smallest"
)
ALIKE = 1.1
"""Typical regrets within this factor are alike, up to the errors of measuring: the smaller certificate decides."""
HARDLY = 0.8  # of the regret of deciding blindly

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
    separation: int = 1,
    max_switches: int | None = None,
    numerics: str = "exact",
    confidence: float | None = None,
    algorithms: Sequence[type[Plan] | str] | None = None,
    rank: str = "typical",
    environment: Environment | str | None = None,
    runs: int = 20,
    seed: int = 0,
    progress: bool | None = None,
    measure: Callable[[float], OwnMeasure] | None = None,
) -> Comparison:
    """Calibrate every algorithm that applies, and choose one by a rule that looks at no data.

    A candidate's certificate must hold for the problem's adversary without a condition, and must say something unless
    the smallest certificate is above half of the regret of deciding blindly. The certificate must be at most 5 times
    the smallest (stochastic losses) or 1.6 times (others). The smallest typical regret is chosen: the mean in reference
    worlds (`tacit.planning.typical`). Of typical regrets within 10% of the smallest, the smaller certificate is taken.

    Args:
        problem: what is to be decided.
        epsilon: the privacy budget for the whole run. `math.inf` asks for no privacy at all: only algorithms that
            are NOT private are then planned (`LazyOCO`, for convex problems with `max_switches`).
        delta: the failure probability; 0 asks for pure differential privacy.
        adversary: deprecated, and gone in the next release: a field of the problem.
        relation: which data sets are neighbours: "replace" or "zero-out" (see `Relation`).
        rounds_per_person: how many rounds one person may stand in.
        separation: by how many rounds those of one person are apart at least, as you promise:
            algorithms on running sums then need less noise.
        max_switches: a hard limit on how often the decision may change. The comparison then names algorithms that
            are lazy but NOT private as well, and says what they would certify; no finite epsilon chooses them.
        numerics: "exact", on integers wherever that is proved (each contract says), or "float": float64 samplers, for
            simulation only.
        confidence: the probability, at least 1/2, with which a single run must meet the certified regret (default: its
            expectation is bounded, and single runs vary). Few algorithms can promise that.
        algorithms: the algorithms to compare, classes or names (default: all that apply, and those you registered).
        rank: "typical", the rule above, or "certified": the smallest certified regret.
        environment: a world that you believe in, or its name (see `tacit.environments.named.NAMED`): every plan is
            simulated in it, and the smallest mean regret is chosen. Certified regret stands beside it; privacy is the
            same.
        runs: how many runs of each plan are simulated there.
        seed: makes these repeatable.
        progress: show which algorithm is being calibrated (default: only in a terminal).
        measure: a function that makes an `OwnMeasure` of a rate: `L2PMeasure` is then planned for the problem, of
            which only the horizon matters.
    """
    problem = against(problem, adversary)
    check_choice("plan", "rank", rank, ("typical", "certified"))
    wanted = algorithms if measure is None else [L2PMeasure]
    compared = algorithms_for(problem, wanted, max_switches is not None or epsilon == inf)
    options = {} if measure is None else {"measure": measure}
    related = as_relation("plan", relation)
    people, adversary = rounds_per_person, problem.adversary
    target = Target(epsilon, delta, related, people, max_switches, adversary, numerics, confidence, separation)
    if not target.private and all(algorithm.private for algorithm in compared):
        raise invalid("plan", "epsilon", "finite: none of the algorithms of this comparison does without it", epsilon)
    candidates = []
    with Progress("calibrating", progress) as shown:
        for index, algorithm in enumerate(compared, 1):
            shown.say(f"{algorithm.__name__} ({index} of {len(compared)})")
            candidates.append(_candidate(algorithm, problem, target, options, by_rule=rank == "typical"))
        if environment is not None:
            candidates, ranked_by = _believed(candidates, environment, runs, seed, shown)
        else:
            candidates, ranked_by = _by_rule(candidates, target, rank == "typical")
    warnings = (
        lower_bound_warning(problem, target.epsilon) if target.private else None,
        hardly_learns(candidates, target),
    )
    said = [text for text in warnings if text]
    return Comparison(problem, target, candidates, said, ranked_by)


def _by_rule(candidates: list[Candidate], target: Target, typically: bool) -> tuple[list[Candidate], str]:
    """The candidates with typical regret, each by the best of its variants that the rule allows; the rule in words."""
    smallest = smallest_certificate(candidates)
    eligible = [c.algorithm for c in candidates if c.plan and _may_be_chosen(c.plan, smallest, target)]
    found = []
    for candidate in candidates if typically else ():
        plan, allowed = candidate.plan, candidate.algorithm in eligible
        if plan is None:
            found.append(candidate)
            continue
        # Simulations cost time: only where there is a choice.
        look = typical_regret if allowed and len(eligible) > 1 else tabulated
        known = [(look(plan, target, plan.algorithm), plan)]
        if allowed and target.max_switches is None and target.confidence is None:
            known += [
                (tabulated(made, target, f"{plan.algorithm}, {name}"), made)
                for name, made in plan.variants().items()
                if _may_be_chosen(made, smallest, target)
            ]
        measured = [(made, typical) for typical, made in known if typical]
        least = min((typical.mean for _, typical in measured), default=0.0)
        alike = [pair for pair in measured if pair[1].mean <= ALIKE * least] or measured
        chosen, best = min(alike, key=lambda pair: float(pair[0].regret_bound), default=(plan, None))
        found.append(replace(candidate, plan=chosen, typical=best, allowed=allowed))
    # One typical regret that nobody knows leaves nothing to compare by.
    if not typically or any(candidate.allowed and candidate.typical is None for candidate in found):
        return candidates, ""
    least = min((c.typical.mean for c in found if c.allowed and c.typical), default=0.0)
    found = [replace(c, close=bool(c.allowed and c.typical and c.typical.mean <= ALIKE * least)) for c in found]
    return found, RULE.format(adversary=target.adversary, factor=ALLOWED[target.adversary])


def _may_be_chosen(plan: Plan, smallest: float, target: Target) -> bool:
    """Whether the certificate lets typical regret decide."""
    bound = plan.regret_bound
    says = not plan.vacuous or smallest > plan.blind_regret / 2
    return float(bound) <= ALLOWED[target.adversary] * smallest and not bound.condition and says


def hardly_learns(candidates: Sequence[Candidate], target: Target) -> str | None:
    """A sentence if typical regret is close to that of deciding blindly, with the epsilon or horizon that halves it."""
    known = [(c.typical.mean, c.algorithm, c.plan) for c in candidates if c.allowed and c.typical and c.plan]
    if not known:
        return None
    least, algorithm, plan = min(known, key=lambda each: each[0])
    blind = blind_regret(plan.problem)
    if blind is None or plan.horizon is None or least < HARDLY * blind:
        return None

    def enough(times: int, epsilon: bool) -> str:
        eased = replace(target, epsilon=target.epsilon * times) if epsilon else target
        problem = plan.problem if epsilon else replace(plan.problem, horizon=plan.rounds * times)
        found, lost = tabulated_at(problem, eased, algorithm), blind_regret(problem)
        if found is None or lost is None or found.mean > lost / 2:
            return ""
        return f"epsilon={eased.epsilon:g}" if epsilon else f"{problem.horizon:,} rounds"

    ways = [next(filter(None, (enough(2**k, epsilon) for k in range(1, 20))), "") for epsilon in (True, False)]
    halved = " or ".join(filter(None, ways))
    text = f"At this size data hardly help: typical regret is {least / blind:.0%} of that of deciding blindly."
    return f"{text} {algorithm} halves it with {halved}." if halved else text


def _believed(
    candidates: list[Candidate], environment: Environment | str, runs: int, seed: int, shown: Progress
) -> tuple[list[Candidate], str]:
    """The candidates with what they lose in this world, and the world in words."""
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
        measured.append(replace(candidate, simulated=ended, allowed=True))
    return measured, believed


def _candidate(
    algorithm: type[Plan], problem: Problem, target: Target, options: dict[str, Any], *, by_rule: bool
) -> Candidate:
    """The algorithm calibrated to the target, or the reason why it cannot be."""
    try:
        made = algorithm.calibrate_for(problem, target, by_rule=by_rule, **options)
        reason = _refusal(made, target)
    except TacitError as error:
        return Candidate(algorithm.__name__, None, str(error), algorithm.private)
    return Candidate(algorithm.__name__, None if reason else made, reason, algorithm.private)


def _refusal(made: Plan, target: Target) -> str:
    """Why a plan may not be chosen (empty: it may); algorithms of other people are held to the target as well."""
    promised = made.guarantee
    fewer = promised.rounds_per_person < target.rounds_per_person or promised.separation > target.separation
    if promised.relation != target.relation or fewer:
        return "its contract is for other neighbours than the target's."
    if not target.met_by(promised):
        return f"its contract does not meet epsilon={target.epsilon:g} at delta={target.delta:g}."
    if not any(adversary in made.certified_against for adversary in HARDER[target.adversary]):
        return f"its regret is not certified against the {target.adversary} adversary."
    if not made.proper and getattr(made.problem, "proper", False):
        return "its decisions may leave the domain: say proper=False in the problem if they may."
    if target.confidence is not None and not (made.regret_bound.confidence or 0.0) >= target.confidence:
        return "its certified regret bounds the expectation, not a single run."
    if not made.uses_data:
        return "none of its decisions uses data."
    return "" if float(made.regret_bound) >= 0 else "its certified regret is not a number."


def against(problem: Problem, asked: str | None) -> Problem:
    """The problem with the adversary that was asked for beside it, which cannot be another than its own."""
    if asked is None or not isinstance(problem, Problem):
        return problem
    warn(
        "plan(adversary=...) goes with the next release: name the adversary in the problem, "
        f"{type(problem).__name__}(..., adversary={asked!r}).",
        DeprecationWarning,
        stacklevel=4,  # below numpy's settings, in the caller of plan
    )
    own = type(problem).adversary
    if problem.adversary not in (own, asked):
        raise invalid("plan", "adversary", f"that of the problem, {problem.adversary!r}, or left out", asked)
    return replace(problem, adversary=asked)
