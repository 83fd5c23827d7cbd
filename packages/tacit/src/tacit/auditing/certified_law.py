"""Is the learner the one that the certificate describes? Its law against the formula, and its runs against its law.

- `marginals` compares the enumerated law of each action with exponential weights, to the last digits.
- `frequencies` compares how often each transcript of real runs occurs with its enumerated probability (a G-test), which
  sees what a script cannot: streams that share a key, or a sampler that does not have its law.
- `above_threshold` enumerates the answers on queries whose shifts all lie in an interval of its width; the hidden
  threshold is summed out over all integers.
- `isolation` freezes the outcomes of runs that restart: no later probability may depend on data from before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtri, rel_entr, softmax

from tacit.algorithms.tracking.restart_on_shift import AboveThreshold, RestartOnShiftLearner
from tacit.auditing.instances import alphabet
from tacit.auditing.report import Finding
from tacit.auditing.script import (
    ExactCurve,
    Law,
    ScriptedRandomness,
    Walk,
    law_of,
    marginal,
    played,
    symbols,
    transcript_law,
)
from tacit.auditing.statistics import FAILURE
from tacit.auditing.tapes import Tape
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms
from tacit.problems import Experts
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.validation import FloatArray

TOLERANCE = 1e-9


def marginals(instance: SmallInstance, stream: Sequence[Any]) -> Finding:
    """Compute the largest distance of an action's law from exponential weights; the certified regret needs 0."""
    plan: Any = instance.plan  # with a rate and a batch
    law = actions_only(plan, transcript_law(plan, list(stream)))
    problem = plan.problem
    assert isinstance(problem, Experts)
    eta, batch, n = plan.eta, plan.batch, problem.n
    low, high = problem.loss_range
    totals = np.cumsum((np.array([np.zeros(n), *(np.asarray(row) - low for row in stream)])) / (high - low), axis=0)
    worst = 0.0
    for place in range(len(stream)):
        known = max(0, place - problem.delay) // batch * batch
        seen = np.zeros(n)
        for actions, mass in law.items():
            seen[actions[place]] += mass
        worst = max(worst, float(np.max(np.abs(seen - softmax(-eta * totals[known])))))
    return Finding(
        "law", instance.label, "distance from exponential weights", TOLERANCE, worst, worst > TOLERANCE,
        detail="the actions do not have the law of the certified algorithm", stream=tuple(stream), check=True,
    )  # fmt: skip


def frequencies(instance: SmallInstance, stream: Sequence[Any], seed: int, *, runs: int) -> Finding:
    """Test real runs against the enumerated law: the G statistic and its critical value at FAILURE."""
    plan = instance.plan
    law = actions_only(plan, transcript_law(plan, list(stream)))
    source = Randomness.replayable(seed).child("frequencies")
    counts = Counter(played(plan.start(source.child(run)), stream) for run in range(runs))
    unknown = counts.keys() - law.keys()
    statistic, freedom = g_statistic(np.array([counts[key] for key in law], dtype=float), np.array(list(law.values())))
    # The chi-square law is an approximation in the tail: a quarter more than its quantile.
    limit = 1.25 * float(chdtri(max(1, freedom), FAILURE))
    broken = bool(unknown) or statistic > limit
    return Finding(
        "frequencies", instance.label, "G statistic of real runs", limit, float("inf") if unknown else statistic,
        broken, FAILURE, f"{runs} runs; the real streams do not give the law that the script gives",
        stream=tuple(stream), check=True,
    )  # fmt: skip


def g_statistic(counts: FloatArray, law: FloatArray) -> tuple[float, int]:
    """Compute the G statistic and its degrees of freedom; transcripts expected less than 5 times are pooled."""
    expected = counts.sum() * law
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    return float(2 * rel_entr(observed, wanted).sum()), len(wanted) - 1


def actions_only(plan: Plan, law: Law) -> Law:
    """Forget everything but the actions: uses of released streams stand after each."""
    return marginal(law, slice(None, None, 2 if plan.released_streams else 1))


_QUERIES = 8
# Sums of thousands of products of doubles.
_SLACK = 1e-9
# Shifts in halves of the width: all queries, alternating halves, the last one only, all but the last.
_PATTERNS = (
    lambda k, last: 2,
    lambda k, last: (-1) ** k,
    lambda k, last: 2 * (k == last),
    lambda k, last: 2 * (k < last),
)


def above_threshold(*, width: int = 4, epsilon_threshold: float = 0.5, epsilon_query: float = 0.5) -> Finding:
    """Compare the largest privacy loss of any sequence of answers with the sum of both epsilons; `width` is even."""
    settings = {"width": width, "epsilon_threshold": epsilon_threshold, "epsilon_query": epsilon_query}
    worst, seen = 0.0, ([0], [0])
    for level in (-4, 0, 4):
        base = [level * width] * _QUERIES
        for shift in (width // 2, -width // 2):
            for pattern in _PATTERNS:
                other = [query + shift * pattern(k, _QUERIES - 1) for k, query in enumerate(base)]
                loss = ExactCurve.of(_answers(base, settings), _answers(other, settings)).largest_loss
                if loss > worst:
                    worst, seen = loss, (base, other)
    certified = epsilon_threshold + epsilon_query
    return Finding(
        "threshold", f"{_QUERIES} queries of width {width}", "largest privacy loss", certified, worst,
        worst > certified * (1 + _SLACK), detail="answers tell these queries apart too well",
        stream=tuple(seen[0]), neighbour=tuple(seen[1]),
    )  # fmt: skip


def _answers(queries: list[int], settings: dict[str, Any]) -> Law:
    """Compute the law of the answers until the instance is spent, or the queries are."""

    def answered(walk: Walk) -> tuple[bool, ...]:
        uniforms = Uniforms.from_streams(ScriptedRandomness(walk), "alarm")
        instance = AboveThreshold(0, uniforms=uniforms, **settings)
        answers = []
        for query in queries:
            answers.append(instance.test(query))
            if instance.spent:
                break
        return tuple(answers)

    with symbols():
        return law_of(answered)


def isolation(instance: SmallInstance, generator: np.random.Generator, *, runs: int) -> Finding:
    """Check that after a restart no probability depends on data from before the restart."""
    plan, letters = instance.plan, alphabet(instance.plan)
    rounds, size = int(plan.horizon or 1), len(letters.symbols)
    worst, seen, restarts = 0.0, ((), ()), 0
    for _ in range(runs):
        indices = [int(k) for k in generator.integers(size, size=rounds)]
        place = int(generator.integers(rounds - 1))
        other = [*indices[:place], size - 1 - indices[place], *indices[place + 1 :]]
        streams = letters.stream(indices), letters.stream(other)
        tapes: list[Tape] = []
        mark: int | None = None
        with symbols():
            for side, feedback in enumerate(streams):
                tape = Tape(generator, before=tapes[0] if tapes else None)
                learner = plan.start(ScriptedRandomness(tape))
                assert isinstance(learner, RestartOnShiftLearner)
                for count, row in enumerate(feedback):
                    learner.play()
                    before = len(learner.restarts)
                    learner.observe(row)
                    if side == 0 and mark is None and count >= place and len(learner.restarts) > before:
                        mark = len(tape.choices)
                tapes.append(tape)
        if mark is None:
            continue
        restarts += 1
        later = zip(tapes[0].probabilities[mark:], tapes[1].probabilities[mark:], strict=False)
        gap = max((float(np.max(np.abs(np.subtract(a, b)))) for a, b in later if len(a) == len(b)), default=0.0)
        if gap > worst:
            worst, seen = gap, (tuple(streams[0]), tuple(streams[1]))
    return Finding(
        "isolation", f"{instance.label}, {restarts} restarts", "largest change after a restart", 0.0, worst,
        worst > 1e-12, detail="data from before a restart decides after it",
        stream=seen[0], neighbour=seen[1], check=True,
    )  # fmt: skip
