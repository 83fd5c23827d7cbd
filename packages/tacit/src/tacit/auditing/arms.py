"""Attacks on learners of arms: the exact law of decisions and noisy sums, and whether real runs have it.

The shipped learner runs with scripted draws in the place of its own: every bit, arm and noisy sum says what it could be
and how likely. Each noisy sum counts as released, whatever the learner makes of it.

Learners that take advice are handed recommendations. Public ones react to what was released before. Private ones stand
in the record of their round together with its losses, and the policy in use counts as released, not the decision: given
the other records, it tells their decisions.
"""

from __future__ import annotations

from collections import Counter
from math import exp, log, tanh
from typing import Any

import numpy as np

from tacit.algorithms.arms import BatchedTsallis, LiveArms, PhasedArms
from tacit.algorithms.arms import arm_plan as common
from tacit.algorithms.arms.arm_plan import ArmPlan
from tacit.algorithms.policies import PolicyArms, Responses
from tacit.auditing.report import Finding
from tacit.auditing.script import Feedback, GeometricLaw, Law, NotEnumerable, Script, law_of, marginal, swapped
from tacit.auditing.statistics import FAILURE
from tacit.noise.randomness import Randomness
from tacit.problems import Policies
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.validation import FloatArray

MARGIN = 2  # noisy sums so far outside the possible ones are told apart
_SOURCE = Randomness.replayable(0)


class ScriptedDraws:
    """Draws that follow a script.

    Args:
        script: says which outcome happens.
        rate: of the noise.
        plan: whose learner draws. Where it reads all sums outside the possible ones as one, they are one outcome;
            otherwise those far outside are left out.
    """

    def __init__(self, script: Script, rate: float, plan: ArmPlan) -> None:
        self._script, self.rate = script, rate
        self._clipped = isinstance(plan, BatchedTsallis | Responses)
        margin, most = (0 if self._clipped else MARGIN), _largest(plan)
        self._window = range(-margin, most + margin + 1)
        self.sums: list[int] = []

    def bit(self, mean: float) -> int:
        """Draw a bit; the script is not asked when the bit is certain."""
        return int(mean) if mean in (0.0, 1.0) else self._script.ask("bits", lambda: (1 - mean, mean))

    def noisy(self, total: int) -> int:
        """Draw a noisy sum of the window."""
        found = self._window[self._script.ask("noise", lambda: self._law(total))]
        self.sums.append(found)
        return found

    def arm(self, probabilities: FloatArray) -> int:
        """Draw an arm."""
        law = probabilities.tolist()
        return self._script.ask("arms", lambda: law)

    def _law(self, total: int) -> list[float]:
        q = exp(-self.rate)
        law = [tanh(self.rate / 2) * q ** abs(y - total) for y in self._window]
        if self._clipped:
            # P[Y <= 0] and P[Y >= n]; a sum outside 0..n is a bug that must show.
            inside = np.array([total - self._window[0], self._window[-1] - total])
            law[0], law[-1] = GeometricLaw(self.rate).above(inside - 1).tolist()
        return law


def _largest(plan: ArmPlan) -> int:
    """Compute the largest sum, in steps, that is released before the horizon."""
    steps, left = plan.release().steps_per_round, plan.rounds - (plan.problem.n - 1) * getattr(plan, "first", 0)
    match plan:
        case BatchedTsallis():
            return plan.batch * steps
        case Responses():
            return steps
        case PhasedArms():  # the other arms were played once each
            ended = zip(plan.schedule.ends, plan.schedule.lengths, strict=True)
            return steps * max([length for end, length in ended if end < left] or [plan.first])
        case LiveArms():
            blocks = [block for block in range(1, plan.rounds + 1) if plan.blocks.end(block) < left] or [1]
            return steps * max(map(plan.blocks.length, blocks))
    raise NotEnumerable(f"The sums of {plan.algorithm} have no known limit.")


def arms_law(plan: Plan, feedback: Feedback) -> Law:
    """Compute the law of decisions and noisy sums on rows of losses, None for missing feedback."""
    return law_of(lambda walk: released(plan, feedback, walk))


def released(plan: Plan, feedback: Feedback, script: Script) -> tuple[Any, ...]:
    """Give what one scripted run releases: decisions, then noisy sums."""
    drawing = plan.arms if isinstance(plan, PolicyArms) else plan
    assert isinstance(drawing, ArmPlan)
    with swapped((common, "Draws", lambda randomness, rate: ScriptedDraws(script, rate, drawing))):
        learner = plan.start(_SOURCE)
    actions = arms_played(learner, feedback)
    drew = vars(learner)["_arms"] if isinstance(plan, PolicyArms) else learner
    return (*actions, *vars(drew)["_draws"].sums)


def arms_played(learner: Any, feedback: Feedback) -> tuple[int, ...]:
    """Give the decisions of a learner on rows of losses; with private recommendations the policies that it follows."""
    shown: list[int] = []
    problem = learner.plan.problem
    private = isinstance(problem, Policies) and problem.recommendations == "private"
    for row in feedback:
        advice, losses = row if private and row is not None else (_advice(shown), row)
        action = int(learner.play(advice) if isinstance(problem, Policies) else learner.play())
        shown.append(learner.policy if private else action)
        learner.observe(None if losses is None else float(losses[action]))
    return tuple(shown)


def _advice(shown: list[int]) -> tuple[int, int]:
    """Recommend by two policies, which disagree by the last decision, if any, and agree every third round."""
    first = shown[-1] if shown else 0
    return (first, first) if len(shown) % 3 == 2 else (first, 1 - first)


def frequencies_of_arms(instance: SmallInstance, feedback: Feedback, seed: int, *, runs: int) -> Finding:
    """Check whether real runs take their first arms and later decisions as often as the enumerated law says."""
    plan, source = instance.plan, Randomness.replayable(seed)
    law = marginal(arms_law(plan, feedback), slice(int(plan.horizon or 1)))
    counts = Counter(arms_played(plan.start(source.child(run)), feedback) for run in range(runs))
    # The transcripts left out may fall anywhere. Hoeffding, over all sequences of decisions together.
    missing = max(0.0, 1 - sum(law.values()))
    margin = (log(2 * max(1, len(law)) / FAILURE) / (2 * runs)) ** 0.5
    gaps = [abs(counts[key] / runs - law.get(key, 0.0)) - missing for key in {*law, *counts}]
    return Finding(
        "real runs", instance.label, "gap to the enumerated law", margin, max(0.0, *gaps), max(gaps) > margin, FAILURE,
        f"frequencies of decisions in {runs} runs", check=True,
    )  # fmt: skip
