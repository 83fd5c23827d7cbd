"""Write `tests/frozen/0.3/`: what this version computes, for tests of later versions to read.

`python -m scripts.freeze` from the root of the clone, in an environment of `make setup` with a
PostgreSQL server (extra `dev`). The folder is written once, by the code of 0.3: it must not exist.

Plans are chosen from the grid of the second accountant, from the fuzz and from the contract suite
of learners, so that no list is kept twice. Their expressions are written to the files, hence the
tests do not need those lists.
"""

import importlib
import os
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

# Small matrices: as in the tests, one thread gives the same bits everywhere.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

import json  # noqa: E402

import numpy as np  # noqa: E402

import tacit  # noqa: E402
from frozen import expressions, lines, rounds  # noqa: E402
from frozen.expressions import call, evaluate, expression  # noqa: E402
from fuzz import plans as fuzzed  # noqa: E402
from independent import grid  # noqa: E402
from tacit import algorithms  # noqa: E402
from tacit.domains import Ball, Birkhoff, Box, L1Ball, Simplex  # noqa: E402
from tacit.errors import InvalidInput, PrivacyError, ProtocolError  # noqa: E402
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, Tree  # noqa: E402

FOLDER = lines.ROOT
SLOW = 0.3
"""Seconds from which on a line is tested in `make test-all` only."""
LARGEST_STATE = 30_000
LARGEST_PACKED = 2_000
"""Bytes of the largest state with keys, and of the largest packed state, that is written."""
CELLS = (
    *grid.FEW,
    grid.Cell("replace", 1, 1.0, 1e-6, 1000),
    grid.Cell("replace", 3, 1.0, 1e-6, 1000),
    grid.Cell("zero-out", 1, 1.0, 1e-6, 1000),
    grid.Cell("zero-out", 1, 1.0, 0.0, 1000),
    grid.Cell("replace", 1, 3.0, 0.0, 50),
    grid.Cell("replace", 1, 1.0, 1e-6, None),
    grid.Cell("zero-out", 3, 1.0, 0.0, None),
)
OF_CONTRACTS = (
    grid.Cell("replace", 1, 1.0, 1e-6, 1000),
    grid.Cell("zero-out", 3, 3.0, 0.0, 1000),
    grid.Cell("replace", 1, 1.0, 1e-6, None),
)
SUITES = (
    "algorithms.experts.test_contract",
    "algorithms.tracking.test_contract",
    "algorithms.convex.test_contract",
    "algorithms.arms.test_contract",
    "algorithms.policies.test_contract",
    "algorithms.contextual.test_explore_linear",
    "runtime.test_contract",
    "runtime.test_delays",
)
TARGET = {"epsilon": 1.0, "delta": 1e-6}
SHORT, LONG, LONGEST = 60, 400, 1100
"""Rounds that are played: of short horizons all, of long ones a part, of epochs a second epoch."""


def main() -> None:
    """Write the folder, or refuse if there is one."""
    if FOLDER.exists():
        sys.exit(f"{FOLDER} exists: it is written once, by the code of 0.3, and never again.")
    FOLDER.mkdir(parents=True)
    (FOLDER / "arithmetic.txt").write_text(f"{lines.arithmetic()}\n{described()}\n")
    beside = beside_the_grid()
    write("plans.txt", [*map(of_plan, grid_plans(CELLS)), *map(of_plan, beside)])
    write("decisions.txt", of_decisions(beside))
    write_contracts(beside)
    write_states(beside)
    import frozen.models
    import frozen.stores

    write("models.txt", frozen.models.entries())
    frozen.stores.write(FOLDER / "stores")
    size = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file())
    print(f"{FOLDER}: {size / 1e6:.2f} MB")


def described() -> str:
    """Return which numpy and scipy wrote the files."""
    import scipy

    return f"tacit {tacit.__version__}, numpy {np.__version__}, scipy {scipy.__version__}"


def write(name: str, entries: list[dict[str, Any]]) -> None:
    """Write a file of entries, one a line."""
    names = [entry["name"] for entry in entries]
    assert len(set(names)) == len(names), "two entries have one name"
    (FOLDER / name).write_text("".join(map(lines.written, entries)))
    print(f"{name}: {len(entries)} lines", flush=True)


class Chosen:
    """A plan with its name and the expressions of its parameters and of its calibration."""

    def __init__(self, name: str, plan: Any, asked: str | None, seconds: float = 0.0) -> None:
        self.name = name
        self.plan = plan
        self.asked = asked
        self.seconds = seconds
        self.text = None if lines.is_epochs(plan) else expression(plan)
        if self.text is None and asked is None:
            raise TypeError(f"{name} has neither parameters nor a calibration")
        if self.text is not None:
            assert evaluate(self.text).signature == plan.signature, name

    def entry(self) -> dict[str, Any]:
        """Return how a test makes the plan."""
        slow = self.seconds > SLOW
        return {"name": self.name, "asked": self.asked, "slow": slow, "plan": self.text}


def calibrated(name: str, algorithm: Any, problem: Any, **asked: Any) -> Chosen:
    """Return a plan that is calibrated, as its expression says."""
    text = call(f"{algorithm.__name__}.calibrate", problem, **asked)
    begin = perf_counter()
    plan = evaluate(text)
    return Chosen(name, plan, text, perf_counter() - begin)


def grid_plans(cells: tuple[grid.Cell, ...]) -> Iterator[Chosen]:
    """Yield every algorithm of the grid in each of these cells that it does not refuse."""
    for entry in grid.ENTRIES:
        for cell in cells:
            if entry.slowest and cell.people == 50:
                continue
            found = grid_plan(entry, cell)
            if found is not None:
                yield found


def grid_plan(entry: grid.Entry, cell: grid.Cell) -> Chosen | None:
    """Return the plan of a cell, or None if it is refused."""
    asked = {
        "relation": cell.relation,
        "rounds_per_person": cell.people,
        "epsilon": cell.epsilon,
        "delta": cell.delta,
    }
    try:
        problem = entry.problem(cell.horizon)
        if isinstance(problem, tacit.Tracking):
            asked["adversary"] = problem.adversary
        label = f"{entry}, {loss_of(problem)}" if loss_of(problem) else str(entry)
        place = f"{cell.relation} {cell.people} {cell.epsilon:g} {cell.delta:g} {cell.horizon}"
        asked.update(entry.options)
        return calibrated(f"grid {label}: {place}", entry.algorithm, problem, **asked)
    except (PrivacyError, InvalidInput):
        return None


def loss_of(problem: Any) -> str:
    """Return the name of a problem's loss: several entries of the grid differ in it alone."""
    loss = getattr(problem, "loss", None)
    return "" if loss is None else type(loss).__name__


def beside_the_grid() -> list[Chosen]:
    """Return plans that no cell of the grid has; each once."""
    found: dict[str, Chosen] = {}
    for chosen in (*of_the_fuzz(), *of_the_suites(), *of_their_own()):
        found.setdefault(chosen.text or str(chosen.asked), chosen)
    return list(found.values())


def of_the_fuzz() -> Iterator[Chosen]:
    """Yield the small plans of the fuzz."""
    for name in fuzzed.PLANS:
        yield from attempted(f"fuzz {name}", partial(fuzzed.made, name))


def of_the_suites() -> Iterator[Chosen]:
    """Yield the plans of the contract suite of learners."""
    for module in SUITES:
        members = vars(importlib.import_module(module))
        suites = [members[name] for name in members if name.startswith("Test")]
        home = module.replace(".test_contract", "").rpartition(".")[2]
        for suite in suites:
            for length in ("cases", "long"):
                for name, make in getattr(suite, length, {}).items():
                    yield from attempted(f"{home} {suite.__name__} {length} {name}", make)


def attempted(name: str, make: Callable[[], Any]) -> Iterator[Chosen]:
    """Yield a plan unless it has functions of a test in it."""
    made = make()
    plan = made[0] if isinstance(made, tuple) else made
    try:
        yield Chosen(name, plan, asked_of(plan))
    except TypeError as reason:
        print(f"left out: {name}, {reason}", flush=True)


def asked_of(plan: Any) -> str | None:
    """Return the calibration of epochs; None for other plans, whose parameters say all."""
    if not lines.is_epochs(plan) or not isinstance(plan.make, partial):
        return None
    algorithm, _, options = plan.make.args
    target = plan.target
    names = ("epsilon", "delta", "relation", "rounds_per_person")
    asked = {name: getattr(target, name) for name in names}
    return call(
        f"{algorithm.__name__}.calibrate",
        plan.problem,
        **asked,
        adversary=target.adversary,
        **options,
    )


def of_their_own() -> Iterator[Chosen]:
    """Yield plans with matrices, trees, two streams, separation, epochs and losses of one's own."""
    experts = tacit.Experts(n=5, horizon=200)
    differences = [[-1.0, 1, 0, 0, 0], [0, -1.0, 1, 0, 0], [0, 0, -1.0, 1, 0], [0, 0, 0, -1.0, 1]]
    hedge = partial(calibrated, algorithm=algorithms.HedgeOnSums)
    yield hedge("matrix, differences", problem=experts, matrix=differences, norm=0.25, **TARGET)
    yield hedge("matrix, identity", problem=experts, matrix=np.eye(5).tolist(), norm=1.0, **TARGET)
    zeroed = {"relation": "zero-out", "rounds_per_person": 3}
    asked = {"matrix": differences, "norm": 0.25, **zeroed, **TARGET}
    yield hedge("matrix, zero-out", problem=experts, **asked)
    for tree in (Tree(199), CubeTree(199, 4), LaplaceTree(199, 3), Buffered(199)):
        kind = type(tree).__name__
        delta = 0.0 if kind in ("CubeTree", "LaplaceTree") else 1e-6
        asked = {"mechanism": tree, "epsilon": 1.0, "delta": delta}
        yield hedge(f"tree, {kind}", problem=experts, **asked)
        yield hedge(f"tree, {kind}, zero-out", problem=experts, **zeroed, **asked)
    for apart in (2, 20):
        several = {"rounds_per_person": 5, "separation": apart, **TARGET}
        yield hedge(f"separation {apart}", problem=experts, **several)
        yield calibrated(f"separation {apart}, FTRL", algorithms.PrivateFTRL, points(), **several)
        name = f"separation {apart}, one pass"
        yield calibrated(name, algorithms.OnlineToBatch, records(), **several)
    yield hedge("fresh draws", problem=experts, hold=False, **TARGET)
    yield hedge("in float64", problem=experts, numerics="float", **TARGET)
    yield from points_of_their_own()
    yield from passes_of_their_own()
    yield from epochs_of_their_own()
    for force in (0.0, 0.4):
        given = {"measure": expressions.Named(0.7), "force": 0.2, "reference_force": force}
        own = algorithms.L2PMeasure(tacit.problems.Problem(horizon=40), **given)
        yield Chosen(f"measure, reference {force:g}", own, None)


def custom_loss() -> Any:
    """Return a loss that is given by two functions."""
    value = expressions.distance_of
    gradient = expressions.signs_of
    return tacit.losses.CustomLoss(value, gradient, lipschitz=1.0)


def points(loss: Any = None, domain: Any = None, **problem: Any) -> tacit.Convex:
    """Return a small convex problem."""
    loss = tacit.losses.LogisticLoss() if loss is None else loss
    return tacit.Convex(domain=domain or Ball(2), loss=loss, **{"horizon": 200, **problem})


def records(loss: Any = None, domain: Any = None) -> tacit.Stochastic:
    """Return a small problem of one pass."""
    loss = tacit.losses.LogisticLoss() if loss is None else loss
    return tacit.Stochastic(domain=domain or Ball(2), loss=loss, horizon=200)


def points_of_their_own() -> Iterator[Chosen]:
    """Yield plans of convex problems, bandits and Lipschitz losses."""
    custom = custom_loss()
    ftrl = partial(calibrated, algorithm=algorithms.PrivateFTRL)
    quadratic = tacit.losses.QuadraticLoss()
    squared = tacit.losses.SquaredLoss()
    yield ftrl("custom loss", problem=points(custom), **TARGET)
    yield ftrl("custom loss, late", problem=points(custom, delay=3), **TARGET)
    yield ftrl("custom loss, tree", problem=points(custom), mechanism=Tree(199), **TARGET)
    for relation in ("replace", "zero-out"):
        for people in (1, 3):
            asked = {"streams": 2, "relation": relation, "rounds_per_person": people}
            yield ftrl(f"two streams, {relation} {people}", problem=points(), **asked, **TARGET)
            name = f"two streams, quadratic, {relation} {people}"
            yield ftrl(name, problem=points(quadratic), **asked, **TARGET)
    yield ftrl("two streams, simplex", problem=points(squared, Simplex(4)), streams=2, **TARGET)
    yield ftrl("l1 ball", problem=points(squared, L1Ball(3)), **TARGET)
    yield ftrl("box", problem=points(domain=Box([0.0, -1.0], [1.0, 2.0])), **TARGET)
    few = {"max_switches": 3, "epsilon": 10.0, "delta": 1e-3}
    yield ftrl("three changes", problem=points(horizon=12), **few)
    for domain in (Ball(2, 0.5), Birkhoff(3)):
        problem = tacit.Bandit(domain=domain, horizon=1000)
        name = f"bandit, {type(domain).__name__}"
        pure = {"epsilon": 1.0, "delta": 0.0}
        yield calibrated(name, algorithms.BanditFW, problem, **TARGET)
        yield calibrated(f"{name}, pure", algorithms.BanditFW, problem, **pure)
    disc = tacit.Lipschitz(domain=Ball(2), horizon=200)
    yield calibrated("Lipschitz, disc", algorithms.LipschitzGrid, disc, **TARGET)
    line = tacit.Lipschitz(horizon=200)
    yield calibrated("Lipschitz, net", algorithms.LipschitzNet, line, **TARGET)


def passes_of_their_own() -> Iterator[Chosen]:
    """Yield plans of one pass: every online learner, batches and final models."""
    for learner in ("subgradient", "optimistic", "coin-betting"):
        asked = {"learner": learner, "batch": 5, **TARGET}
        yield calibrated(f"one pass, {learner}", algorithms.OnlineToBatch, records(), **asked)
    simplex = records(tacit.losses.SquaredLoss(), Simplex(3))
    yield calibrated("one pass, mirror", algorithms.OnlineToBatch, simplex, **TARGET)
    ridge = records(tacit.losses.QuadraticLoss())
    yield calibrated("one pass, strongly convex", algorithms.OnlineToBatch, ridge, **TARGET)
    custom = records(custom_loss())
    yield calibrated("one pass, custom", algorithms.OnlineToBatch, custom, smoothness=1.0, **TARGET)
    for algorithm in (
        algorithms.PrivateDescent,
        algorithms.ObjectivePerturbation,
        algorithms.AveragedFTRL,
    ):
        for relation in ("replace", "zero-out"):
            for delta in (1e-6, 0.0):
                if delta == 0 and algorithm is algorithms.PrivateDescent:
                    continue
                name = f"final model, {algorithm.__name__}, {relation} {delta:g}"
                asked = {"relation": relation, "epsilon": 1.0, "delta": delta}
                yield calibrated(name, algorithm, records(), **asked)


def epochs_of_their_own() -> Iterator[Chosen]:
    """Yield plans of unknown horizons."""
    late = tacit.Experts(n=3, horizon=None, delay=4)
    tracking = tacit.Tracking(n=3, horizon=None, switches=2, adversary="oblivious")
    arms = tacit.Arms(n=3, horizon=None, adversary="stochastic")
    cases = [
        (algorithms.LazyExperts, late, 0.0),
        (algorithms.ScheduledExperts, late, 1e-6),
        (algorithms.HedgeOnSums, late, 1e-6),
        (algorithms.LazyFixedShare, tracking, 1e-6),
        (algorithms.NoisyMirrorDescent, tracking, 0.0),
        (algorithms.PhasedArms, arms, 0.0),
        (algorithms.BatchedTsallis, arms, 0.0),
        (algorithms.PrivateFTRL, points(horizon=None), 1e-6),
    ]
    for algorithm, problem, delta in cases:
        name = f"epochs, {algorithm.__name__}"
        yield calibrated(name, algorithm, problem, epsilon=1.0, delta=delta)
        if delta == 0 or algorithm is algorithms.HedgeOnSums:
            several = {
                "rounds_per_person": 2,
                "relation": "zero-out",
                "epsilon": 2.0,
                "delta": delta,
            }
            yield calibrated(f"{name}, two rounds", algorithm, problem, **several)


def of_plan(chosen: Chosen) -> dict[str, Any]:
    """Return the line of a plan."""
    plan = lines.plan_of({"plan": chosen.text, "asked": chosen.asked})
    begin = perf_counter()
    fields = lines.plan_fields(plan)
    entry = chosen.entry()
    entry["slow"] = entry["slow"] or perf_counter() - begin > SLOW
    return {**entry, **fields}


def played(plan: Any) -> int:
    """Return how many rounds are played."""
    if plan.horizon is None:
        return LONGEST
    return min(plan.horizon, LONG if isinstance(plan.problem, tacit.problems.Options) else SHORT)


def of_decisions(beside: list[Chosen]) -> list[dict[str, Any]]:
    """Return the lines of decisions."""
    found = []
    for chosen in (*grid_plans((grid.Cell("replace", 1, 1.0, 1e-6, 1000),)), *beside):
        plan = lines.plan_of({"plan": chosen.text, "asked": chosen.asked})
        count = played(plan)
        begin = perf_counter()
        fields = lines.decision_fields(plan, count)
        entry = chosen.entry()
        entry["slow"] = perf_counter() - begin > SLOW or (chosen.text is None and entry["slow"])
        found.append({**entry, "rounds": count, **fields})
    return found


def write_contracts(beside: list[Chosen]) -> None:
    """Write contracts of every algorithm, and what the second accountant says of each."""
    (FOLDER / "contracts").mkdir()
    kinds = ("matrix", "tree", "separation", "two", "epochs", "measure", "custom", "Lipschitz")
    own = [chosen for chosen in beside if chosen.name.startswith(kinds)]
    entries = []
    for chosen in (*grid_plans(OF_CONTRACTS), *own, *replayed()):
        plan = lines.plan_of({"plan": chosen.text, "asked": chosen.asked})
        contract = lines.contract_of(plan, chosen.name)
        file = file_of(chosen.name)
        (FOLDER / "contracts" / file).write_text(json.dumps(contract, indent=1) + "\n")
        begin = perf_counter()
        fields = lines.verdict_fields(contract)
        entry = chosen.entry()
        entry["slow"] = entry["slow"] if chosen.text is None else False
        slow = perf_counter() - begin > SLOW
        entries.append({**entry, "file": file, "slow verdict": slow, **fields})
    write("verdicts.txt", entries)


def replayed() -> Iterator[Chosen]:
    """Yield a plan whose learner's noise can be replayed: its contract is not private."""
    plan = algorithms.LazyExperts(tacit.Experts(n=3, horizon=40), eta=0.3, force=0.2)
    yield Chosen("replayable LazyExperts", plan, None)


def file_of(name: str) -> str:
    """Return a file name."""
    plain = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in name)
    return f"{plain}.json"


def write_states(beside: list[Chosen]) -> None:
    """Write states of replayable and secret learners, with what followed: a file an algorithm."""
    (FOLDER / "states").mkdir()
    found: dict[str, list[dict[str, Any]]] = {}
    shapes = set()
    for chosen in beside:
        plan = lines.plan_of({"plan": chosen.text, "asked": chosen.asked})
        shape = shape_of(plan)
        if shape in shapes:
            continue
        shapes.add(shape)
        entries = [state_entry(chosen, plan, kind) for kind in ("replayable", "secret")]
        kept = found.setdefault(plan.algorithm, [])
        kept.extend(entry for entry in entries if entry is not None)
    for algorithm, entries in sorted(found.items()):
        write(f"states/{algorithm}.txt", entries)


def shape_of(plan: Any) -> tuple[Any, ...]:
    """Return what decides how a state of this plan looks: one plan of each shape is saved."""
    parameters = plan.parameters
    named = [repr(parameters.get(name)) for name in ("streams", "prior", "noise", "base", "hold")]
    learner = parameters.get("learner", parameters.get("arms"))
    batches = parameters.get("batch", 1) > 1
    parts = (type(parameters.get("mechanism")).__name__, type(learner).__name__)
    options = ("max_switches", "max_redraws", "reference_force")
    chosen = [bool(parameters.get(name)) for name in options]
    kind = (plan.algorithm, plan.horizon is None, plan.problem.delay > 0, batches)
    return (*kind, *named, *parts, *chosen)


def state_entry(chosen: Chosen, plan: Any, kind: str) -> dict[str, Any] | None:
    """Return a state in the middle of a stream, and what followed; None where none is saved."""
    count = LONGEST if plan.horizon is None else min(plan.horizon, SHORT)
    middle = count * 3 // 5 - 1 - count * 3 // 5 % 2  # odd: in the middle of most batches
    if plan.horizon is None:
        middle = 1021
    learner = plan.start(lines.source_of(kind))
    given = rounds.script(plan.problem, count)
    way = "late" if plan.problem.delay else "loop"
    getattr(rounds, way)(learner, given, 0, middle)
    if way == "loop" and kind == "replayable":
        learner.play(*given.context(middle))  # the round in hand is a part of the state
    try:
        state = learner.state_dict()
        packed = learner.state().packed(lines.key(), lines.LEARNER) if kind == "secret" else b""
    except (ProtocolError, InvalidInput) as refusal:
        print(f"no state: {chosen.name} {kind}, {refusal}", flush=True)
        return None
    if kind == "replayable" and len(json.dumps(state)) > LARGEST_STATE:
        return None  # most of it is keys: the secret state of the same learner is kept
    entry = {**chosen.entry(), "name": f"{chosen.name}, {kind}", "kind": kind, "way": way}
    entry |= {"decided": middle, "rounds": count, "state": state}
    if kind == "secret" and len(packed) < LARGEST_PACKED:
        entry["packed"] = b64encode(packed).decode()
    begin = perf_counter()
    again = lines.restored(lines.plan_of(entry), kind, json.loads(json.dumps(state)))
    fields = lines.following(again, entry)
    entry["slow"] = perf_counter() - begin > SLOW
    return {**entry, **fields}


if __name__ == "__main__":
    main()
