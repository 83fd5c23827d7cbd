"""The attacks, one function each: instance and budget in, findings out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.accounting.curves import Gaussian, Pure
from tacit.accounting.guarantee import ZERO_OUT
from tacit.auditing.certified_law import actions_only, played
from tacit.auditing.instances import Instance, Pair, Search
from tacit.auditing.report import Finding
from tacit.auditing.script import LARGE_EPSILON, NUMERICAL_SLACK, Law, growth, transcript_law
from tacit.auditing.statistics import FAILURE, Bound, one_run_epsilon, rates_bound, sums_bound
from tacit.auditing.tapes import (
    SOLVE_SLACK,
    LatticePlan,
    SummingPlan,
    certified_loss,
    exact_loss,
    extreme_pair,
    loss_lower_bound,
    moved_draws,
    paid_move,
    promised_move,
    replay_choices,
    replay_noise,
)
from tacit.noise.randomness import Randomness
from tacit.problems import Experts
from tacit.runtime.plan import Plan

# One-run audits ask for epsilon at this delta: their price for delta is in proportion to the canaries.
ONE_RUN_DELTA = 1e-12


def exact(
    instance: Instance,
    generator: np.random.Generator,
    *,
    laws: int,
    law: Callable[[Plan, Any], Law] = transcript_law,
    method: str = "exact",
    slack: float = NUMERICAL_SLACK,
    pair: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> Finding:
    """Enumerate (or integrate) the law of everything released, and search for the worst neighbours."""
    plan = instance.plan
    search = Search(plan, instance.alphabet, generator, laws=laws, law=law)
    found = search.run() if pair is None else search.pair(*pair)
    guarantee = plan.guarantee
    certified = guarantee.delta(found.at)
    pure = guarantee.curve.pure()
    if found.at == pure:  # judged by the largest loss
        quantity, numbers = "largest privacy loss", (pure, found.curve.largest_loss)
    else:
        quantity, numbers = f"delta at epsilon={found.at:.3g}", (certified, found.curve.delta(found.at))
    return Finding(
        method,
        instance.label,
        quantity,
        *numbers,
        violation=found.ratio > 1 + slack,
        detail="the exact delta of these neighbours lies above the certified curve",
        epsilon=(guarantee.epsilon(), found.curve.epsilon(guarantee.at_delta)),
        delta=guarantee.at_delta,
        stream=tuple(instance.alphabet.stream(found.stream)),
        neighbour=tuple(instance.alphabet.stream(found.neighbour)),
        curves=_curves(plan, found),
    )


def sums(plan: Plan) -> Finding:
    """Probe the shipped accumulator: the exact mu or epsilon of one step of unit size."""
    assert isinstance(plan, SummingPlan)
    mechanism, privacy = plan.mechanism, plan.privacy
    measured = exact_loss(mechanism, mechanism.scale(privacy))
    return _noise_finding("probed sums", f"{mechanism}", privacy, measured, plan, mechanism.noise != "gaussian")


def lattice(plan: Plan, generator: np.random.Generator, *, pairs: int) -> Finding:
    """Integer sums: how far draws must move to release the same on a neighbour, against what was paid for."""
    assert isinstance(plan, LatticePlan)
    mechanism, grid = plan.mechanism, plan.grid
    promised = paid_move(mechanism, grid, plan.privacy_per_stream)
    scheduled = getattr(plan, "scheduled", False)
    growth = getattr(plan, "schedule", None) if scheduled or grid.multiple else None
    if not scheduled:  # sizes that are fixed in advance pay for less than the whole column
        promised = min(promised, promised_move(mechanism, grid))
    growth = None if growth is None else grid.admissible(growth)
    worst = 0.0
    for index in range(pairs):
        first = 0 if index % 2 else int(generator.integers(mechanism.steps))
        rows = extreme_pair(grid.records, grid.units, mechanism.steps, generator, first)
        source = grid.noise(Randomness.replayable(int(generator.integers(2**32))), "noise")
        draws = source.draw(rows[0].size).astype(np.float64).reshape(rows[0].shape)
        worst = max(worst, moved_draws(mechanism, grid, rows, draws, growth).size)
    return Finding(
        "moved draws", f"{mechanism}", "steps of the lattice", promised, worst, worst > promised * (1 + SOLVE_SLACK),
        detail="the draws of a neighbour are farther away than the noise was made for",
    )  # fmt: skip


def sums_sampled(plan: Plan, generator: np.random.Generator, *, runs: int) -> Finding:
    """The same from released sums alone, with a confidence level."""
    assert isinstance(plan, SummingPlan)
    mechanism, privacy = plan.mechanism, max(1.0, plan.privacy)
    bound = sums_bound(mechanism, mechanism.scale(privacy), generator, runs=runs)
    detail = f"Clopper-Pearson on {bound.runs} runs"
    if mechanism.noise != "gaussian":
        return Finding(
            "sampled sums", f"{mechanism} at epsilon={privacy:g}", "epsilon", privacy, bound.epsilon,
            bound.epsilon > privacy, bound.failure, detail,
        )  # fmt: skip
    return Finding(
        "sampled sums", f"{mechanism} at mu={privacy:g}", "mu", privacy, bound.mu, bound.mu > privacy, bound.failure,
        detail,
    )  # fmt: skip


def replayed(instance: Instance, generator: np.random.Generator, *, pairs: int) -> Finding:
    """Freeze the noisy outputs and run on neighbours: only noise may tell them apart, and no more than was paid for."""
    plan = instance.plan
    promised = certified_loss(plan)
    assert promised is not None
    worst, reason, seen = 0.0, "", ((), ())
    for index in range(pairs):
        stream, neighbour = neighbours(instance, generator, index)
        result = replay_noise(plan, stream, neighbour, generator)
        if result.loss > worst:
            worst, reason, seen = result.loss, result.reason, (tuple(stream), tuple(neighbour))
    found = _noise_finding("replay", instance.label, promised, worst, plan, isinstance(plan.guarantee.curve, Pure))
    return replace(found, detail=reason or found.detail, stream=seen[0], neighbour=seen[1])


def replayed_choices(instance: Instance, generator: np.random.Generator, *, transcripts: int) -> Finding:
    """Sample transcripts of a long run, replay them on a neighbour: exact losses, and a bound on delta."""
    plan = instance.plan
    stream, neighbour = neighbours(instance, generator, 2)
    losses, reason = [], ""
    for _ in range(transcripts):
        result = replay_choices(plan, stream, neighbour, generator)
        reason = reason or result.reason
        losses.append(result.log_ratio)
    guarantee = plan.guarantee
    pure = guarantee.curve.pure()
    lower, certified = loss_lower_bound(losses, 0.0, FAILURE), guarantee.delta(0.0)
    quantity = "delta at epsilon=0"
    # The statement that comes nearer to its certificate, in products: certificates may be 0.
    if pure < LARGE_EPSILON and max(np.abs(losses)) * certified > lower * pure:
        quantity, certified, lower = "largest privacy loss", pure, float(max(np.abs(losses)))
    return Finding(
        "replay", instance.label, quantity, certified, lower,
        bool(reason) or lower > certified * (1 + NUMERICAL_SLACK), FAILURE, reason or f"{transcripts} transcripts",
        stream=tuple(stream), neighbour=tuple(neighbour),
    )  # fmt: skip


def likelihood(instance: Instance, pair: tuple[Any, Any], seed: int, *, runs: int) -> Finding:
    """Real runs on the worst neighbours, judged by the enumerated likelihood ratio of the actions."""
    plan = instance.plan
    laws = [actions_only(plan, transcript_law(plan, list(feedback))) for feedback in pair]
    factor = growth(plan.guarantee.epsilon(1e-3) * 0.3)
    event = {key for key, mass in laws[0].items() if mass > factor * laws[1].get(key, 0.0)}
    if not event:
        event = {key for key, mass in laws[0].items() if mass > laws[1].get(key, 0.0)}
    source = Randomness.replayable(seed)
    counts = [
        sum(played(plan, feedback, source.child(f"{side} {run}")) in event for run in range(runs))
        for side, feedback in enumerate(pair)
    ]
    guarantee = plan.guarantee
    delta = guarantee.at_delta
    bound: Bound = rates_bound(counts[0], runs, counts[1], runs, delta)
    return Finding(
        "sampled", instance.label, f"epsilon at delta={delta:g}", guarantee.epsilon(), bound.epsilon,
        bound.epsilon > guarantee.epsilon(), bound.failure, f"likelihood-ratio test on {2 * runs} runs",
        (guarantee.epsilon(), bound.epsilon), delta, tuple(pair[0]), tuple(pair[1]),
    )  # fmt: skip


def one_run(plan: Plan, seed: int, *, rounds: int) -> Finding:
    """A canary in every round of one run: a coin blames or spares the held expert, a switch is the guess.

    What this can show is limited by what a round tells about itself. A canary is seen through the coin of its own
    round, so no number of guesses proves more than the log odds of a switch, ln((p + eta)/p) for small rates, while
    the certificate pays for all later draws too; and a bound above 0 at a failure of 1e-7 takes about 16/KL(share
    right, 1/2) guesses, one for every switch. Lazy experts, N = 10, T = 100,000, the whole horizon played: at
    epsilon = 1 the log odds are 0.35, and 1,195 guesses with 57% right prove nothing; at epsilon = 2, 4 and 8 the
    bounds are 0.29, 0.87 and 2.48 of a certified 2.97, 5.20 and 7.58 (at delta = 1e-12). Learners that draw afresh
    every batch switch whatever the canary says: no bound, at any length.
    """
    source = Randomness.replayable(seed).child("one run")
    coins = source.stream("canaries").random(rounds) < 0.5
    learner = plan.start(source.child("learner"))
    assert isinstance(plan.problem, Experts)
    (low, high), n = plan.problem.loss_range, plan.problem.n
    guesses = correct = 0
    before: int | None = None
    for number, coin in enumerate(coins):
        held = int(learner.play())
        told = number - 1 - plan.problem.delay  # the round whose feedback was absorbed last
        if told >= 0 and held != before:
            guesses += 1  # a switch speaks for blame; without one, no guess is made
            correct += bool(coins[told])
        row = np.full(n, low if coin else high)
        row[held] = high if coin else low
        learner.observe(row)
        before = held
    lower = one_run_epsilon(correct, guesses, rounds, ONE_RUN_DELTA)
    certified = plan.guarantee.epsilon(ONE_RUN_DELTA)
    return Finding(
        "one run", f"T={rounds}, {guesses} guesses, {correct} right", f"epsilon at delta={ONE_RUN_DELTA:g}",
        certified, lower, lower > certified, FAILURE, "a canary in every round",
        (certified, lower), ONE_RUN_DELTA,
    )  # fmt: skip


def _noise_finding(method: str, label: str, promised: float, measured: float, plan: Plan, pure: bool) -> Finding:
    delta = plan.guarantee.at_delta
    curve = Pure if pure else Gaussian
    grid = tuple(np.linspace(0.0, max(1e-3, 2 * plan.guarantee.epsilon(0.0 if pure else 1e-6)), 25).tolist())
    finite = min(measured, 30.0)  # beyond that every curve is at 1
    return Finding(
        method, label, "epsilon" if pure else "mu", promised, measured, measured > promised * (1 + SOLVE_SLACK),
        detail="the inputs of the mechanisms differ by more than their noise was made for",
        epsilon=(curve(promised).epsilon(delta), curve(finite).epsilon(delta)), delta=delta,
        curves=(grid, tuple(map(curve(promised).delta, grid)), tuple(map(curve(finite).delta, grid))),
    )  # fmt: skip


def neighbours(instance: Instance, generator: np.random.Generator, index: int) -> tuple[list[Any], list[Any]]:
    """A pair of neighbours: first opposite extremes at the first rounds, then random ones."""
    plan, letters = instance.plan, instance.alphabet
    rounds, size = int(plan.horizon or 1), len(letters.symbols)
    gap = plan.guarantee.separation
    people = min(plan.guarantee.rounds_per_person, max(1, -(-(rounds - 1) // gap)))
    reach = (people - 1) * gap + 1
    if index < 2 * size:
        base = [index % size] * rounds
        # 0 against the last one is the largest change there is; the first round is summed most often.
        other = size - 1 - index % size if size > 1 else 0
        start = 0 if index < size else int(generator.integers(max(1, rounds - reach)))
    else:
        base = [int(k) for k in generator.integers(size, size=rounds)]
        other, start = int(generator.integers(size)), int(generator.integers(max(1, rounds - reach)))
    changed = list(base)
    for place in range(start, min(rounds, start + reach), gap):
        changed[place] = -1 if plan.guarantee.relation is ZERO_OUT else other
    return letters.stream(base), letters.stream(changed)


def random_stream(instance: Instance, generator: np.random.Generator) -> list[Any]:
    """One stream of extreme feedback."""
    return neighbours(instance, generator, 2 * len(instance.alphabet.symbols))[0]


def _curves(plan: Plan, pair: Pair) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    top = max(0.1, min(plan.guarantee.epsilon(1e-6), plan.guarantee.curve.pure(), 20.0))
    grid = tuple(np.linspace(0.0, top, 25).tolist())
    return grid, tuple(plan.guarantee.delta(e) for e in grid), tuple(pair.curve.deltas(grid).tolist())
