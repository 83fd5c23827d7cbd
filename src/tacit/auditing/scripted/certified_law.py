"""Is the learner the one that the certificate describes? Its law against the formula, and its runs against its law.

A certificate speaks of one algorithm. Two attacks check that this is the one that runs: `marginals` compares the
enumerated law of each action with exponential weights, to the last digits; `frequencies` runs the learner on real
streams and compares how often each transcript occurs with its enumerated probability (a G-test), which sees what a
script cannot: streams that share a key, or a sampler that does not have its law.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import chdtri

from tacit.auditing.instances import Instance
from tacit.auditing.report import Finding
from tacit.auditing.scripted.enumeration import Law, plain, transcript_law
from tacit.auditing.statistics import FAILURE
from tacit.learners.plan import Plan
from tacit.problems import Experts
from tacit.randomness import Randomness
from tacit.validation import FloatArray

TOLERANCE = 1e-9


@runtime_checkable
class WeightsPlan(Protocol):
    """What `marginals` needs of a plan whose actions have exactly the law of exponential weights."""

    eta: float
    batch: int


def marginals(instance: Instance, stream: Sequence[Any]) -> Finding:
    """The largest distance of an action's law from exponential weights; the certified regret rests on it being 0."""
    plan = instance.plan
    law = actions_only(plan, transcript_law(plan, list(stream)))
    problem = plan.problem
    assert isinstance(plan, WeightsPlan)
    assert isinstance(problem, Experts)
    eta, batch, n = plan.eta, plan.batch, problem.n
    low, high = problem.loss_range
    totals = np.cumsum((np.array([np.zeros(n), *(np.asarray(row) - low for row in stream)])) / (high - low), axis=0)
    worst = 0.0
    for place in range(len(stream)):
        known = max(0, place - problem.delay) // batch * batch
        weights = np.exp(-eta * (totals[known] - totals[known].min()))
        weights /= weights.sum()
        seen = np.zeros(n)
        for actions, mass in law.items():
            seen[actions[place]] += mass
        worst = max(worst, float(np.max(np.abs(seen - weights))))
    return Finding(
        "law", instance.label, "distance from exponential weights", TOLERANCE, worst, worst > TOLERANCE,
        detail="the actions do not have the law of the certified algorithm", stream=tuple(stream), check=True,
    )  # fmt: skip


def frequencies(instance: Instance, stream: Sequence[Any], seed: int, *, runs: int) -> Finding:
    """Real runs against the enumerated law: the G statistic and its critical value at FAILURE."""
    plan = instance.plan
    law = actions_only(plan, transcript_law(plan, list(stream)))
    counts: dict[tuple[Any, ...], int] = dict.fromkeys(law, 0)
    source = Randomness.replayable(seed).child("frequencies")
    unknown = 0
    for run in range(runs):
        key = played(plan, stream, source.child(run))
        if key in counts:
            counts[key] += 1
        else:
            unknown += 1
    statistic, freedom = g_statistic(np.array([counts[key] for key in law], dtype=float), np.array(list(law.values())))
    # The chi-square law is an approximation in the tail: a quarter more than its quantile.
    limit = 1.25 * float(chdtri(max(1, freedom), FAILURE))
    broken = unknown > 0 or statistic > limit
    return Finding(
        "frequencies", instance.label, "G statistic of real runs", limit, float("inf") if unknown else statistic,
        broken, FAILURE, f"{runs} runs; the real streams do not give the law that the script gives",
        stream=tuple(stream), check=True,
    )  # fmt: skip


def g_statistic(counts: FloatArray, law: FloatArray) -> tuple[float, int]:
    """The G statistic and its degrees of freedom; transcripts that are expected less than 5 times are pooled."""
    expected = counts.sum() * law
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    seen = observed > 0
    return float(2 * np.sum(observed[seen] * np.log(observed[seen] / wanted[seen]))), len(wanted) - 1


def played(plan: Plan, stream: Sequence[Any], randomness: Randomness) -> tuple[Any, ...]:
    """The actions of one real run."""
    learner = plan.start(randomness)
    actions = []
    for row in stream:
        actions.append(plain(learner.play()))
        learner.observe(row)
    return tuple(actions)


def actions_only(plan: Plan, law: Law) -> Law:
    """Forget everything but the actions: uses of released streams stand after each."""
    step = 2 if plan.released_streams else 1
    seen: Law = {}
    for key, mass in law.items():
        seen[key[::step]] = seen.get(key[::step], 0.0) + mass
    return seen
