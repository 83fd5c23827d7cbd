"""Typical regret: what an algorithm loses in reference worlds of the declared adversary, beside what it certifies.

    stochastic   one option better than the others by .02, .05, .1, .3; a ladder of means; two good ones; arms: click
                 rates too. `Tracking`: one option better by .05, .1, .3, another one after each shift.
    oblivious    these, and losses that switch sides or swing

The numbers are means over all worlds and over runs of each, at the sizes of `AXES`, in a table that ships with tacit
(`scripts/typical_regret.py` makes it by simulating the shipped learners). Between its sizes they are interpolated;
beyond its longest horizon regret is taken to grow like the root of the horizon. Several rounds of a person count as so
much less epsilon; a delta above 0 counts as 1e-6; only arms were measured with delays. Algorithms that the table does
not hold, such as those that were registered, are simulated on few rounds, and their regret is taken to grow as their
certificate does. No data enter: the choice stays public.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from itertools import product
from math import asinh, ceil, log, log1p, sinh, sqrt
from typing import Any

import numpy as np

from tacit.environments.arms import BernoulliArms, DecoyArms, DriftingArms
from tacit.environments.convex import LogisticStream
from tacit.environments.environment import Environment
from tacit.environments.experts import SwitchingAdversary
from tacit.environments.named import shifting
from tacit.environments.tracking import DriftingLosses
from tacit.errors import TacitError
from tacit.problems import Arms, ContextualArms, Convex, Experts, Options, Policies, Problem, Tracking
from tacit.runtime.doubling import REFERENCE_ROUNDS
from tacit.runtime.plan import Plan
from tacit.runtime.target import Target
from tacit.simulation.loop import simulate_run
from tacit.validation import FloatArray

_SIZES: dict[str, tuple[float, ...]] = {
    "n": (2, 10, 50),
    "horizon": (250, 1200, 6000),
    "epsilon": (0.1, 0.8, 6.4),
}
AXES = {
    "experts": {**_SIZES, "delta": (0, 1e-6)},
    "tracking": {**_SIZES, "delta": (0, 1e-6), "switches": (1, 8)},
    "arms": {**_SIZES, "horizon": (*_SIZES["horizon"], 30_000), "late": (0, 0.05)},
}
"""The sizes of the table, for each kind of problem; `late` is the delay as a share of the horizon."""
GAPS, SHIFTS = (0.02, 0.05, 0.1, 0.3), (0.05, 0.1, 0.3)
SEED = 20_000
SIMULATED_ROUNDS, SIMULATED_RUNS = 400, 4
# Regret a round is interpolated as asinh(1000 x): like its logarithm where it matters, and it may be negative.
_BEND = 1e3


@dataclass(frozen=True)
class Typical:
    """Regret in the reference worlds.

    Attributes:
        mean: over worlds and runs.
        deviation: of a single run around the mean of its world.
    """

    mean: float
    deviation: float


def reference_worlds(problem: Problem) -> dict[str, Environment]:
    """The worlds by name in which typical regret is measured, of the problem's size (none: it has none)."""
    rounds = problem.horizon or REFERENCE_ROUNDS
    if isinstance(problem, Convex):
        return _logistic(problem, rounds)
    if not isinstance(problem, Options) or isinstance(problem, ContextualArms | Policies) or problem.n == 1:
        return {}
    n, named = problem.n, dict[str, Environment]()
    switches = problem.switches if isinstance(problem, Experts) else 0
    if isinstance(problem, Experts) and switches:
        shifts = shifting(problem, rounds)
        named = {f"shifts of {gap:g}": replace(shifts, gap=gap, mean=0.5) for gap in SHIFTS}
    else:
        named = {name: BernoulliArms(tuple(means), rounds) for name, means in _means(problem).items()}
    if problem.adversary == "stochastic":
        return named
    if isinstance(problem, Arms):
        return {**named, "decoy": DecoyArms(n, rounds), "rotating": DriftingArms(n, rounds)}
    periods = 1.0 if switches else 4.0
    return {**named, "switching": SwitchingAdversary(n, rounds), "swinging": DriftingLosses(n, rounds, periods)}


def _means(problem: Options) -> dict[str, list[float]]:
    n = problem.n
    named = {f"gap {gap:g}": [0.5 - gap] + [0.5] * (n - 1) for gap in GAPS}
    named["ladder"] = np.linspace(0.3, 0.7, n).tolist()
    if n > 2:
        named["two good ones"] = [0.4, 0.4] + [0.5] * (n - 2)
    if isinstance(problem, Arms):
        named["clicks"] = np.linspace(0.96, 0.972, n).tolist()
    return named


def _logistic(problem: Convex, rounds: int) -> dict[str, Environment]:
    streams = {f"slope {s:g}": LogisticStream(problem.domain.dimension, rounds, s) for s in (2.0, 8.0)}
    return {name: stream for name, stream in streams.items() if stream.loss == problem.loss}


def blind_regret(problem: Problem) -> float | None:
    """What a uniform draw in every round loses in the stochastic worlds on average (None: there are none)."""
    if not isinstance(problem, Options) or isinstance(problem, ContextualArms | Policies) or problem.n == 1:
        return None
    if isinstance(problem, Experts) and problem.switches:
        lost = float(np.mean(SHIFTS)) * (1 - 1 / problem.n)
    else:
        lost = float(np.mean([np.mean(means) - min(means) for means in _means(problem).values()]))
    return lost * problem.width * (problem.horizon or REFERENCE_ROUNDS)


def measured(plan: Plan, worlds: Mapping[str, Environment], runs: int) -> dict[str, FloatArray]:
    """The regret of each run in each world, on the same losses for every plan."""
    return {
        name: np.array([simulate_run(plan, world, SEED, run).regret[-1] for run in range(runs)])
        for name, world in worlds.items()
    }


def summary(regret: Mapping[str, FloatArray]) -> Typical:
    """The mean over worlds, and the deviation of a run around the mean of its world."""
    spread = np.mean([np.var(runs, ddof=1) for runs in regret.values()])
    return Typical(float(np.mean([np.mean(runs) for runs in regret.values()])), sqrt(float(spread)))


def named_plans(plan: Plan) -> dict[str, Plan]:
    """The plan and its variants, by the names that the table has for them."""
    return {plan.algorithm: plan, **{f"{plan.algorithm}, {name}": made for name, made in plan.variants().items()}}


def typical_regret(plan: Plan, target: Target, name: str) -> Typical | None:
    """The typical regret of a plan: tabulated, or simulated on few rounds (None: there are no worlds for it)."""
    return tabulated(plan, target, name) or _capped(_simulated(type(plan), plan.problem, target), plan)


def tabulated(plan: Plan, target: Target, name: str) -> Typical | None:
    """What the table says of a plan (None: nothing)."""
    return _capped(tabulated_at(plan.problem, target, name), plan)


def _capped(found: Typical | None, plan: Plan) -> Typical | None:
    """No mean is above what is certified for every world."""
    return found and replace(found, mean=min(found.mean, float(plan.regret_bound), plan.trivial_regret))


def tabulated_at(problem: Problem, target: Target, name: str) -> Typical | None:
    """What the table says of an algorithm at a problem's size (None: nothing)."""
    kind = kind_of(problem)
    tables = _table().get(kind, {}).get("stochastic" if problem.adversary == "stochastic" else "oblivious", {})
    if name not in tables or not isinstance(problem, Options) or problem.n == 1:
        return None
    rounds, sides = problem.horizon or REFERENCE_ROUNDS, target.relation.sides
    place: dict[str, float] = {
        "n": problem.n,
        "horizon": rounds,
        "epsilon": target.epsilon * 2 / (sides * target.rounds_per_person),
        "delta": 1e-6 if target.delta else 0.0,
        "switches": getattr(problem, "switches", 0),
        "late": problem.delay / rounds,
    }
    # Beyond the longest horizon regret grows like its root, as certificates do.
    scale = problem.width * rounds * sqrt(min(1.0, AXES[kind]["horizon"][-1] / rounds))
    found = [interpolated(AXES[kind], values, place) for values in tables[name]]  # means, then deviations
    return None if found[0] is None or found[1] is None else Typical(found[0] * scale, found[1] * scale)


def interpolated(axes: Mapping[str, tuple[float, ...]], values: FloatArray, place: Mapping[str, float]) -> float | None:
    """A value of the table between its sizes, in its own coordinates; None where too much of it is missing."""
    corners = []
    for name, sizes in axes.items():
        grid, at = [_coordinate(name, size) for size in sizes], _coordinate(name, place[name])
        low = max(0, min(len(grid) - 2, int(np.searchsorted(grid, at)) - 1))
        share = (at - grid[low]) / (grid[low + 1] - grid[low])
        share = max(0.0, share if name == "n" else min(1.0, share))
        corners.append(((low, 1 - share), (low + 1, share)))
    total = weights = 0.0
    for corner in product(*corners):
        weight, value = float(np.prod([part for _, part in corner])), values[tuple(index for index, _ in corner)]
        if weight and value == value:
            total, weights = total + weight * asinh(_BEND * value), weights + weight
    return sinh(total / weights) / _BEND if weights > 0.4 else None


def _coordinate(name: str, value: float) -> float:
    if name == "delta":
        return float(value > 0)
    if name in ("switches", "late"):
        return log1p(value if name == "switches" else 1000 * value)
    return log(value)


def _simulated(algorithm: type[Plan], problem: Problem, target: Target) -> Typical | None:
    """The regret on few rounds, times the ratio of the certificates of all rounds and of few."""
    rounds = min(problem.horizon or REFERENCE_ROUNDS, SIMULATED_ROUNDS)
    fewer: dict[str, Any] = {"horizon": rounds, "delay": ceil(problem.delay * rounds / (problem.horizon or rounds))}
    if isinstance(problem, Options):
        fewer["loss_range"] = (0.0, 1.0)  # that of the worlds
    if isinstance(problem, Tracking):
        fewer["switches"] = min(problem.switches, rounds - 1)
    small = replace(problem, **fewer)
    worlds = reference_worlds(small)
    if not worlds:
        return None
    try:
        whole, part = algorithm.calibrate_for(problem, target), algorithm.calibrate_for(small, target)
        found = summary(measured(part, worlds, SIMULATED_RUNS))
    except TacitError:
        return None
    growth = float(whole.regret_bound) / max(float(part.regret_bound), 1e-9)
    return Typical(found.mean * growth, found.deviation * growth)


def kind_of(problem: Problem) -> str:
    """The part of the table that a problem belongs to: a comparator that never switches makes `Experts`."""
    if isinstance(problem, Experts):
        return "tracking" if problem.switches else "experts"
    return "arms" if isinstance(problem, Arms) else ""


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[str, dict[str, FloatArray]]]:
    """Kind, adversary, algorithm: means and deviations of regret a round, NaN where there is no plan."""
    content = json.loads(files("tacit.data").joinpath("typical_regret.json").read_text())
    shapes = {kind: tuple(len(sizes) for sizes in axes.values()) for kind, axes in AXES.items()}
    return {
        kind: {
            adversary: {name: np.array(values, dtype=float).reshape(2, *shapes[kind]) for name, values in rows.items()}
            for adversary, rows in parts.items()
        }
        for kind, parts in content.items()
    }


def cells(kind: str) -> Iterator[tuple[Options, dict[str, float]]]:
    """Every size of the table of this kind: a stochastic problem and its epsilon and delta."""
    for sizes in product(*AXES[kind].values()):
        at = dict(zip(AXES[kind], sizes, strict=True))
        size: dict[str, Any] = {"n": int(at["n"]), "horizon": int(at["horizon"]), "adversary": "stochastic"}
        if kind == "arms":
            size["delay"] = round(at["late"] * at["horizon"])
        made = {"experts": Experts, "arms": Arms, "tracking": Tracking}[kind]
        size |= {"switches": int(at["switches"])} if kind == "tracking" else {}
        yield made(**size), {"epsilon": at["epsilon"], "delta": at.get("delta", 0.0)}
