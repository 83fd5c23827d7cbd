"""Every plan of the catalogue on a grid of contracts, and what the second accountant says of each cell."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import tacit
from tacit.errors import InvalidInput, PrivacyError
from tacit.planning.catalogue import CATALOGUE, FOR_INDEPENDENT_LOSSES
from tacit.problems import Problem

RELATIONS = ("replace", "zero-out")
PEOPLE = (1, 3, 50)
EPSILONS = (0.01, 0.1, 1.0, 3.0, 10.0)
DELTAS = (0.0, 1e-6)
HORIZONS = (1, 2, 50, 10**3, 10**5, 10**6)
# What the library's accounting may lose against the second one, and the room for ten digits.
COARSER, DIGITS = 0.02, 1e-9
# `make test-all` takes every seventh cell, in which all pairs of values occur; 1 takes hours, and all of them.
STEP = int(os.environ.get("TACIT_GRID_STEP", "7"))


class Cell(NamedTuple):
    """One contract that is asked for."""

    relation: str
    people: int
    epsilon: float
    delta: float
    horizon: int | None


class Checked(NamedTuple):
    """A cell, and by how much the stated epsilon lies above the recomputed one (None: nothing to compare)."""

    cell: Cell
    answer: str
    gap: float | None


@dataclass(frozen=True)
class Entry:
    """A plan of the catalogue.

    Attributes:
        algorithm: its class.
        problem: makes its problem of a horizon.
        options: of its calibration.
        refuses: what a refusal must say, one of these (none: every cell has a plan).
        slow: whether fifty rounds of a person take seconds to account for (see `the_rest`).
        slowest: whether they take still longer, or as long as for LazyExperts, whose account it shares (see `a_few`).
        longest: the longest horizon that is compared (what is summed up step by step takes long).
    """

    algorithm: type[tacit.Plan]
    problem: Callable[[Any], Problem]
    options: dict[str, Any] = field(default_factory=dict)
    refuses: tuple[str, ...] = ()
    slow: bool = False
    slowest: bool = False
    longest: int = max(HORIZONS)

    def __str__(self) -> str:
        return "-".join([self.algorithm.__name__, *(f"{name}={value}" for name, value in self.options.items())])


def _tracking(adversary: str) -> Callable[[Any], Problem]:
    return lambda rounds: tacit.Tracking(
        n=3, switches=2 if rounds is None else min(2, rounds - 1), horizon=rounds, adversary=adversary
    )


def _experts(rounds: Any) -> Problem:
    return tacit.Experts(n=4, horizon=rounds)


def _arms(adversary: str) -> Callable[[Any], Problem]:
    return lambda rounds: tacit.Arms(n=3, horizon=rounds, adversary=adversary)


def _policies(recommendations: str) -> Callable[[Any], Problem]:
    return lambda rounds: tacit.Policies(n=4, actions=3, horizon=rounds, recommendations=recommendations)


def _requests(rounds: Any) -> Problem:
    return tacit.ContextualArms(n=3, dimension=2, horizon=rounds)


def _convex(loss: Any, dimension: int) -> Callable[[Any], Problem]:
    return lambda rounds: tacit.Convex(domain=tacit.domains.Ball(dimension), loss=loss, horizon=rounds)


def _records(loss: Any) -> Callable[[Any], Problem]:
    return lambda rounds: tacit.Stochastic(domain=tacit.domains.Ball(3), loss=loss, horizon=rounds)


def _line(rounds: Any) -> Problem:
    return tacit.Lipschitz(dimension=1, horizon=rounds)


def _disc(rounds: Any) -> Problem:
    return tacit.Bandit(domain=tacit.domains.Ball(2, radius=0.5), horizon=rounds, value_range=(0.0, 1.0), lipschitz=1.0)


NO_PURE_FORM, GAUSSIAN, ONE_RECORD = "has no pure form", "needs delta > 0", "only 1 is allowed"
# One pass is over records that are counted: what all of these say without a horizon.
COUNTED = "The 'horizon' parameter of Stochastic"
LOGISTIC = _records(tacit.losses.LogisticLoss())
ENTRIES = (
    Entry(tacit.algorithms.LazyExperts, _experts, slow=True),
    Entry(tacit.algorithms.L2P, _experts, refuses=(NO_PURE_FORM,), slow=True, slowest=True),
    Entry(tacit.algorithms.ScheduledExperts, _experts),
    Entry(tacit.algorithms.HedgeOnSums, _experts),
    Entry(tacit.algorithms.TrackingOnSums, _tracking("stochastic")),
    Entry(tacit.algorithms.RecentLeader, _tracking("stochastic")),
    Entry(tacit.algorithms.RestartOnShift, _tracking("stochastic")),
    Entry(tacit.algorithms.LimitedUpdates, _tracking("stochastic")),
    Entry(tacit.algorithms.LazyFixedShare, _tracking("oblivious"), slow=True, slowest=True),
    Entry(tacit.algorithms.NoisyMirrorDescent, _tracking("oblivious")),
    Entry(tacit.algorithms.PrivateFTRL, _convex(tacit.losses.LogisticLoss(), 3)),
    Entry(tacit.algorithms.CTRL, _convex(tacit.losses.LogisticLoss(), 3), refuses=(GAUSSIAN, "finds no parameters")),
    Entry(tacit.algorithms.CTRL, _convex(tacit.losses.QuadraticLoss(), 2), refuses=(GAUSSIAN, "finds no parameters")),
    Entry(tacit.algorithms.L2PConvex, _convex(tacit.losses.HingeLoss(), 1), refuses=(NO_PURE_FORM,)),
    Entry(tacit.algorithms.LipschitzGrid, _line, refuses=(GAUSSIAN, "is too coarse")),
    Entry(tacit.algorithms.LipschitzNet, _line, slow=True, slowest=True),
    Entry(tacit.algorithms.BanditFW, _disc, refuses=("rounds to learn anything", "needs a smoothing radius")),
    Entry(tacit.algorithms.PhasedArms, _arms("stochastic"), refuses=("plays each of its 3 arms once",)),
    Entry(tacit.algorithms.LiveArms, _arms("stochastic"), refuses=("plays each of its 3 arms once",)),
    Entry(tacit.algorithms.BatchedTsallis, _arms("oblivious")),
    Entry(tacit.algorithms.Responses, _policies("public")),
    Entry(tacit.algorithms.PolicyArms, _policies("private")),
    Entry(
        tacit.algorithms.ExploreLinear,
        _requests,
        refuses=(GAUSSIAN, "'horizon' parameter of ContextualArms", "needs more rounds", "leaves no lattice"),
    ),
    Entry(tacit.algorithms.PrivateDescent, LOGISTIC, refuses=(ONE_RECORD, GAUSSIAN)),
    Entry(tacit.algorithms.ObjectivePerturbation, LOGISTIC, refuses=(ONE_RECORD,)),
    Entry(
        tacit.algorithms.ObjectivePerturbation,
        _records(tacit.losses.SmoothedHingeLoss(smoothing=0.5)),
        refuses=(ONE_RECORD,),
    ),
    Entry(
        tacit.algorithms.ObjectivePerturbation, _records(tacit.losses.HuberLoss(transition=0.5)), refuses=(ONE_RECORD,)
    ),
    Entry(tacit.algorithms.OnlineToBatch, LOGISTIC),
    Entry(tacit.algorithms.OnlineToBatch, LOGISTIC, {"batch": 4, "mechanism": "tree"}),
    Entry(tacit.algorithms.AveragedFTRL, LOGISTIC),
)
FEW = (
    Cell("replace", 1, 0.1, 1e-6, 50),
    Cell("zero-out", 3, 10.0, 1e-6, 50),
    Cell("zero-out", 3, 3.0, 0.0, 1000),
    Cell("zero-out", 50, 10.0, 1e-6, 1000),
    Cell("replace", 1, 0.01, 0.0, 10**6),
)


def catalogue() -> set[str]:
    """The algorithms of tacit that a plan may choose."""
    listed = [*CATALOGUE.values(), *FOR_INDEPENDENT_LOSSES.values()]
    every = {algorithm for algorithms in listed for algorithm in algorithms}
    return {algorithm.__name__ for algorithm in every if algorithm.__module__.startswith("tacit.")}


def every_cell() -> Iterator[Cell]:
    """The whole grid."""
    return (Cell(*values) for values in product(RELATIONS, PEOPLE, EPSILONS, DELTAS, HORIZONS))


def a_few(entry: Entry) -> list[Cell]:
    """What every change is held to: the same cells for all, without fifty rounds of a person where they take long."""
    return [cell for cell in FEW if not (entry.slowest and cell.people == 50)]


def the_rest(entry: Entry) -> list[Cell]:
    """Every `STEP`th other cell; slow entries leave out fifty rounds of a person where they count and delta > 0."""

    def left_out(cell: Cell) -> bool:
        return entry.slow and cell.people == 50 <= (cell.horizon or 0) and cell.delta > 0

    few = a_few(entry)
    return [cell for cell in every_cell() if cell not in few and not left_out(cell)][::STEP]


def contract_of(entry: Entry, cell: Cell) -> dict[str, Any] | None:
    """The contract of a calibrated plan, as somebody else would read it; None: there is no such plan."""
    target = {"relation": cell.relation, "rounds_per_person": cell.people, "epsilon": cell.epsilon, "delta": cell.delta}
    try:
        problem = entry.problem(cell.horizon)
        if isinstance(problem, tacit.Tracking):
            target["adversary"] = problem.adversary
        written = tacit.contract(entry.algorithm.calibrate(problem, **target, **entry.options))
    except (PrivacyError, InvalidInput) as refusal:
        if any(words in str(refusal) for words in (*entry.refuses, COUNTED)):
            return None
        refusal.add_note(str(cell))
        raise
    made: dict[str, Any] = json.loads(json.dumps(written))
    return made


def checked(entry: Entry, cell: Cell) -> Checked | None:
    """What both accountants say of a cell; whatever must not be fails."""
    if (cell.horizon or 1) > entry.longest:
        return None
    made = contract_of(entry, cell)
    if made is None:
        return None
    assert made["epsilon"] <= cell.epsilon, (cell, made["epsilon"])
    assert made["delta"] <= cell.delta, (cell, made["delta"])
    verdict = tacit.verify(made)
    assert verdict.answer != "no", (cell, verdict)
    known = verdict.epsilon is not None
    least = min(made["epsilon"], verdict.epsilon if known else made["epsilon"])
    if least > 0:
        less = {"epsilon": least * 0.99}
        # Of epochs the parameters state the same epsilon: a contract that contradicts itself has no answer.
        told = {"parameters": {**made["parameters"], **less}} if "epochs" in made else {}
        forged = tacit.verify({**made, **less, **told})
        assert forged.answer != "yes", (cell, verdict, forged)
    if verdict.answer != "yes" or not verdict.epsilon:
        return Checked(cell, verdict.answer, None)
    gap = made["epsilon"] / verdict.epsilon - 1
    # A person in more rounds than count (the last one's feedback does not): the second accountant takes those that do.
    crowded = cell.horizon is not None and cell.people >= cell.horizon
    assert -DIGITS < gap < (float("inf") if crowded else COARSER), (cell, verdict, gap)
    return Checked(cell, verdict.answer, gap)
