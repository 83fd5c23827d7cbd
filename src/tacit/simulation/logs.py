"""What a plan for arms would have paid, from a log of arms that were chosen uniformly at random.

The rejection estimator of Li, Chu, Langford and Wang (2011): walk through the log; where the learner would play the
arm of the log, it plays it and learns from its loss, otherwise the round is skipped as if it had never been. The
rounds that are kept are distributed as if the learner had been live (losses independent, one law per arm, arms of
the log uniform), so the mean of their losses is an unbiased estimate of what it pays. About one round in K is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from tacit.environments.arms import LoggedArms
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Arms
from tacit.runtime.plan import Plan, Planned, chosen_plan
from tacit.validation import IntArray, check_integer, invalid


@dataclass(frozen=True)
class LogEstimate:
    """What was kept of a log, and what it says.

    Attributes:
        rounds: how many rounds of the log were kept.
        mean_loss: the mean loss of those that had a reply.
        standard_error: of that mean.
        logged_loss: the mean loss of the whole log: what choosing at random pays.
        actions: the arms of the rounds that were kept.
    """

    rounds: int
    mean_loss: float
    standard_error: float
    logged_loss: float
    actions: IntArray


def evaluate(plan: Plan | Planned, log: LoggedArms, *, seed: int = 0) -> LogEstimate:
    """Estimate what a plan pays from a log. The result is made from the log itself and is not private.

    Args:
        plan: a plan for arms, or the planner's choice; it may cover fewer rounds than agree with the log.
        log: arms chosen uniformly at random, and what they cost.
        seed: of the learner's draws.
    """
    chosen = chosen_plan(plan)
    if not isinstance(chosen, Plan) or not isinstance(chosen.problem, Arms):
        raise invalid("evaluate", "plan", "a plan for Arms", plan)
    if not isinstance(log, LoggedArms) or log.n != chosen.problem.n:
        raise InvalidInput(f"The 'log' of evaluate must be LoggedArms of {chosen.problem.n} arms. Got {log!r} instead.")
    check_integer("evaluate", "seed", seed, at_least=0)
    learner = chosen.start(Randomness.replayable(seed))
    actions, paid = [], []
    for arm, loss in zip(*(part.tolist() for part in log.rows()), strict=True):
        if learner.rounds == chosen.horizon:
            break
        if learner.play() != arm:
            continue
        learner.observe(loss if loss == loss else None)
        actions.append(arm)
        paid.append(loss)
    known = np.array(paid)[~np.isnan(paid)] if paid else np.empty(0)
    if known.size == 0:
        raise InvalidInput("No round of the log with a reply agrees with the plan: the log is too short.")
    error = float(known.std(ddof=1)) / sqrt(known.size) if known.size > 1 else float("inf")
    everything = float(np.nanmean(log.rows()[1]))
    return LogEstimate(len(actions), float(known.mean()), error, everything, np.array(actions, dtype=np.int64))
