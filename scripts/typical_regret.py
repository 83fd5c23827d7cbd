"""Measure the typical regret that ships with tacit: `python scripts/typical_regret.py [kind ...] [--processes 2]`.

Kinds are those of `tacit.planning.typical.AXES`; without one all are measured, which takes about a quarter of an hour
on two cores. Kinds that are not named keep their numbers. The slow tests measure sampled cells again.
"""

import argparse
import json
from dataclasses import replace
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from tacit.errors import TacitError
from tacit.planning import typical
from tacit.planning.catalogue import algorithms_for
from tacit.problems import Options
from tacit.runtime.plan import Plan
from tacit.runtime.target import Target

TABLE = Path(typical.__file__).parents[1] / "data" / "typical_regret.json"
RUNS = {250: 8, 1200: 4, 6000: 2}  # in each world, by horizon
SIMULATED = ("LiveArms",)  # when they are planned: they are not in the table

Entry = tuple[str, str, float, float]  # adversary, algorithm, mean and deviation of regret a round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[*typical.AXES])
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    for kind in asked.kinds:
        listed = [*typical.cells(kind)]
        order = sorted(range(len(listed)), key=lambda k: -listed[k][0].n * (listed[k][0].horizon or 0))
        with Pool(asked.processes) as pool:
            found = dict(zip(order, pool.imap(cell, [listed[k] for k in order]), strict=True))
        content = json.loads(TABLE.read_text()) if TABLE.exists() else {}
        content[kind] = collected([found[k] for k in range(len(listed))])
        TABLE.write_text(json.dumps(content, separators=(",", ":")).replace("],", "],\n") + "\n")


def cell(at: tuple[Options, dict[str, float]]) -> list[Entry]:
    """All algorithms at one size, against both adversaries; a plan that both have is measured once."""
    problem, asked = at
    rounds = problem.horizon or 1
    runs = RUNS[rounds]
    entries, known = [], dict[str, tuple[Plan, dict[str, np.ndarray]]]()
    for adversary in ("stochastic", "oblivious"):
        here = replace(problem, adversary=adversary)
        worlds = typical.reference_worlds(here)
        for name, plan in plans(here, asked):
            earlier, regret = known.get(name, (None, {}))
            same = earlier is not None and earlier.parameters == plan.parameters
            regret = dict(regret) if same else {}
            regret |= typical.measured(plan, {k: w for k, w in worlds.items() if k not in regret}, runs)
            known[name] = plan, regret
            found = typical.summary(regret)
            entries.append((adversary, name, found.mean / rounds, found.deviation / rounds))
    return entries


def plans(problem: Options, asked: dict[str, float]) -> list[tuple[str, Plan]]:
    """Every plan, with its variants, whose regret is certified against the adversary."""
    target = Target(**asked, adversary=problem.adversary)
    made = []
    for algorithm in algorithms_for(problem):
        if algorithm.__name__ in SIMULATED:
            continue
        try:
            plan = algorithm.calibrate_for(problem, target)
        except TacitError:
            continue
        if problem.adversary == "stochastic" or {"oblivious", "adaptive"} & {*plan.certified_against}:
            made += [(name, fast(each)) for name, each in typical.named_plans(plan).items()]
    return made


def fast(plan: Plan) -> Plan:
    """The same plan with noise in float64, which has the same law for all that is measured here."""
    return replace(plan, numerics="float") if hasattr(plan, "mechanism") else plan


def collected(cells: list[list[Entry]]) -> dict[str, dict[str, list[list[float | None]]]]:
    """Adversary, algorithm: two lists over all cells."""
    table: dict[str, dict[str, list[list[float | None]]]] = {}
    for index, entries in enumerate(cells):
        for adversary, name, *values in entries:
            rows = table.setdefault(adversary, {}).setdefault(name, [[None] * len(cells) for _ in values])
            for row, value in zip(rows, values, strict=True):
                row[index] = float(f"{value:.4g}")
    return table


if __name__ == "__main__":
    main()
