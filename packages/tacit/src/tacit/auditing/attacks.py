"""The attacks, one function each: instance and budget in, findings out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.accounting.curves import Pure
from tacit.accounting.guarantee import ZERO_OUT
from tacit.algorithms.stochastic.online_to_batch.equation_six import Sized
from tacit.auditing.instances import Search, alphabet
from tacit.auditing.report import Finding
from tacit.auditing.script import NUMERICAL_SLACK, Law, transcript_law
from tacit.auditing.tapes import (
    SOLVE_SLACK,
    LatticePlan,
    certified_loss,
    extreme_pair,
    moved_draws,
    paid_move,
    promised_move,
    replay_noise,
)
from tacit.noise.randomness import Randomness
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance


def exact(
    instance: SmallInstance,
    generator: np.random.Generator,
    *,
    laws: int,
    law: Callable[[Plan, Any], Law] = transcript_law,
    method: str = "exact",
    slack: float = NUMERICAL_SLACK,
    pair: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> Finding:
    """Enumerate (or integrate) the law of everything released, and search for the worst neighbours."""
    plan, letters = instance.plan, alphabet(instance.plan)
    search = Search(plan, letters, generator, laws=laws, law=law)
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
        stream=tuple(letters.stream(found.stream)),
        neighbour=tuple(letters.stream(found.neighbour)),
    )


def lattice(plan: Plan, generator: np.random.Generator, *, pairs: int) -> Finding:
    """Compare how far draws of integer sums must move to release the same on a neighbour with what was paid for."""
    assert isinstance(plan, LatticePlan)
    mechanism, grid = plan.mechanism, plan.grid
    promised = min(paid_move(mechanism, grid, plan.privacy_per_stream), promised_move(mechanism, grid))
    growth = getattr(plan, "schedule", None) if grid.multiple else None
    growth = None if growth is None else grid.admissible(growth)
    shares = mechanism.ratios if isinstance(mechanism, Sized) else None
    worst = 0.0
    for index in range(pairs):
        first = 0 if index % 2 else int(generator.integers(mechanism.steps))
        rows = extreme_pair(grid.records, grid.units, mechanism.steps, generator, first, shares)
        source = grid.noise(Randomness.replayable(int(generator.integers(2**32))), "noise")
        draws = source.draw(rows[0].size).astype(np.float64).reshape(rows[0].shape)
        worst = max(worst, moved_draws(mechanism, grid, rows, draws, growth)[1])
    return Finding(
        "moved draws", f"{mechanism}", "steps of the lattice", promised, worst, worst > promised * (1 + SOLVE_SLACK),
        detail="the draws of a neighbour are farther away than the noise was made for",
    )  # fmt: skip


def replayed(instance: SmallInstance, generator: np.random.Generator, *, pairs: int) -> Finding:
    """Freeze the noisy outputs and run on neighbours: only noise may tell them apart, and no more than was paid for."""
    plan = instance.plan
    promised = certified_loss(plan)
    worst, reason, seen = 0.0, "", ((), ())
    for index in range(pairs):
        stream, neighbour = neighbours(instance, generator, index)
        loss, differs = replay_noise(plan, stream, neighbour, generator)
        if loss > worst:
            worst, reason, seen = loss, differs, (tuple(stream), tuple(neighbour))
    quantity = "epsilon" if isinstance(plan.guarantee.curve, Pure) else "mu"
    detail = reason or "the inputs of the mechanisms differ by more than their noise was made for"
    return Finding(
        "replay", instance.label, quantity, promised, worst, worst > promised * (1 + SOLVE_SLACK), detail=detail,
        stream=seen[0], neighbour=seen[1],
    )  # fmt: skip


def neighbours(instance: SmallInstance, generator: np.random.Generator, index: int) -> tuple[list[Any], list[Any]]:
    """Give a pair of neighbours: first opposite extremes at the first rounds, then random ones."""
    plan, letters = instance.plan, alphabet(instance.plan)
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


def random_stream(instance: SmallInstance, generator: np.random.Generator) -> list[Any]:
    """Draw one stream of extreme feedback."""
    return neighbours(instance, generator, 2 * len(alphabet(instance.plan).symbols))[0]
