"""Small instances of a plan, and the feedback that tells neighbours apart best.

A plan for a hundred thousand rounds cannot be enumerated. Its algorithm can: the same plan class with two or three
experts, a handful of rounds and, besides the plan's own parameters, loud ones at which mistakes show. Accounting and
learner are the same code at every size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from tacit.auditing.neighbours import Alphabet
from tacit.errors import InvalidInput, TacitError
from tacit.geometry import Ball, Box, L1Ball, Simplex
from tacit.learners.ctrl.ctrl import CTRL
from tacit.learners.l2p_convex.l2p_convex import L2PConvex
from tacit.learners.plan import Plan
from tacit.losses.base import RowLoss
from tacit.losses.linear_models import LinearLoss, LinkLoss, LogisticLoss
from tacit.problems import Bandit, Convex, Experts, Lipschitz, Problem, Stochastic

# Algorithms whose outputs are finite: experts by coins and selections.
FINITE = (
    "LazyExperts", "L2P", "ScheduledExperts",
    "LazyFixedShare", "SampledFixedShare", "LimitedUpdates", "RestartOnShift",
)  # fmt: skip
# Plans of another's making are enumerated up to this size.
MOST_EXPERTS, MOST_ROUNDS = 3, 8
# Algorithms whose draws have a known density.
DENSITIES = ("L2PConvex", "CTRL")
# Algorithms that hide vectors behind noise.
NOISY = ("HedgeOnSums", "NoisyMirrorDescent", "PrivateFTRL", "LipschitzGrid", "BanditFW", "OnlineToBatch")

# Rounds of a finite instance: its transcripts are counted in hundreds.
_ROUNDS = {"L2P": 4, "RestartOnShift": 4, "LimitedUpdates": 8, "LazyFixedShare": 4}
_LOUD: dict[str, dict[str, Any]] = {
    "LazyExperts": {"eta": 0.3, "force": 0.3},
    "L2P": {"eta": 0.3, "force": 0.3},
    "ScheduledExperts": {"eta": 0.3},
    "LazyFixedShare": {"eta": 0.3, "force": 0.3},
    "SampledFixedShare": {"eta": 0.3, "epoch": 3},
    "LimitedUpdates": {},
    "RestartOnShift": {"interval": 1, "slope": 0.5, "margin": 0.0},
}


@dataclass(frozen=True)
class Instance:
    """A plan small enough for a method, with the feedback to try."""

    label: str
    plan: Plan
    alphabet: Alphabet

    @property
    def dimension(self) -> int:
        """The coordinates of a decision (1 for experts)."""
        problem = self.plan.problem
        return problem.domain.hull_dimension if isinstance(problem, Convex) else 1


def finite_instances(plan: Plan) -> list[Instance]:
    """The plan's own parameters and loud ones, at a size that can be enumerated."""
    name = plan.algorithm
    found: list[Instance] = []
    for label, changes in (("loud parameters", _LOUD[name]), ("own parameters", {})):
        settings: dict[str, Any] = dict(changes)
        batch = 1 if changes else min(2, getattr(plan, "batch", 1))
        rounds = _ROUNDS.get(name, 6) if batch == 1 else 2 * min(3, _ROUNDS.get(name, 5))
        if hasattr(plan, "batch"):
            settings["batch"] = batch
        if changes and getattr(plan, "max_switches", None) is not None:
            settings["max_switches"] = 1  # a cap that binds
        if name == "RestartOnShift":
            settings.setdefault("interval", 1)
        if name == "SampledFixedShare":
            settings["epoch"] = min(settings.get("epoch", getattr(plan, "epoch", 3)), rounds)
        problem = _small_problem(plan.problem, rounds)
        small = replace(plan, problem=problem, **settings)
        if not any(repr(small) == repr(instance.plan) for instance in found):
            found.append(Instance(f"{label}, N=2, T={rounds}", small, alphabet(small)))
    return found


def own_instance(plan: Plan) -> Instance:
    """A plan of another's making, as it stands: no audit knows how to make it smaller."""
    problem, name = plan.problem, plan.algorithm
    if plan.guarantee.epsilon() == float("inf"):
        raise InvalidInput(f"{name} promises no privacy: there is nothing to attack.")
    if not isinstance(problem, Experts):
        raise InvalidInput(f"No audit covers {name}: of plans that tacit does not ship, only those over experts.")
    if problem.n > MOST_EXPERTS or not problem.horizon or problem.horizon > MOST_ROUNDS:
        raise InvalidInput(
            f"To audit {name}, which tacit does not ship, make it for at most {MOST_EXPERTS} experts and {MOST_ROUNDS} "
            f"rounds, so that its outcomes can be counted. Got n={problem.n}, horizon={problem.horizon} instead."
        )
    return Instance(f"as it stands, N={problem.n}, T={problem.horizon}", plan, alphabet(plan))


def net_instance(plan: Plan) -> Instance:
    """Lazy experts on a net of two points, loud."""
    from tacit.learners.lipschitz.lipschitz_net import LipschitzNet, net_experts

    assert isinstance(plan, LipschitzNet)
    problem = replace(plan.problem, horizon=5, dimension=1)
    experts = replace(plan.experts, problem=net_experts(problem, 2), eta=0.3, force=0.3, batch=1)
    small = LipschitzNet(problem, 2, experts)
    return Instance("loud parameters, a net of two points, T=5", small, alphabet(small))


def model_instance(plan: Plan) -> Instance:
    """One model of three records in one dimension, at the plan's own privacy."""
    problem = plan.problem
    assert isinstance(problem, Stochastic)
    small = type(plan).calibrate(
        replace(problem, domain=Ball(1, radius=problem.domain.radius), horizon=3),
        epsilon=plan.guarantee.epsilon(),
        delta=plan.guarantee.at_delta,
        relation=plan.guarantee.relation,
    )
    return Instance("own privacy, one dimension, three records", small, alphabet(small))


def loss_alphabet(problem: Experts) -> Alphabet:
    """Every vector of extreme losses (up to three experts), or the most telling ones."""
    low, high = problem.loss_range
    n = problem.n
    if n <= 3:
        rows = [np.array(row) for row in product((low, high), repeat=n)]
    else:
        rows = [np.full(n, low), np.full(n, high)]
        for expert in range(min(n, 4)):
            row = np.full(n, low)
            row[expert] = high
            rows += [row, low + high - row]
    return Alphabet(tuple(rows), np.full(n, (low + high) / 2))


def noisy_instance(plan: Plan, rounds: int = 16) -> Instance:
    """The same plan on a short stream: its sums have few steps, its privacy parameter is the plan's."""
    problem = plan.problem
    horizon = problem.horizon or rounds
    if plan.algorithm == "BanditFW":
        rounds = 64
    rounds = min(rounds, horizon)
    changes: dict[str, Any] = {"problem": replace(problem, horizon=rounds)}
    if isinstance(problem, Experts) and problem.n > 8:
        changes["problem"] = replace(changes["problem"], n=8)
    if isinstance(problem, Convex | Stochastic) and not isinstance(problem.loss, RowLoss):
        # Any loss may be given here: its gradients are clipped, and linear losses reach the clip.
        changes["problem"] = replace(
            changes["problem"], loss=LinearLoss(problem.loss.constants(problem.domain).lipschitz)
        )
    if hasattr(plan, "batch"):
        changes["batch"] = min(plan.batch, 2)
    if hasattr(plan, "mechanism"):
        changes["mechanism"] = replace(plan.mechanism, steps=_steps(plan, rounds, changes.get("batch", 1)))
    small = replace(plan, **changes)
    return Instance(f"own privacy, T={rounds}", small, alphabet(small))


def interval_instance(plan: Plan) -> Instance:
    """The same algorithm on an interval with three rounds, loud."""
    problem = plan.problem
    assert isinstance(problem, Convex)
    loss = problem.loss if isinstance(problem.loss, RowLoss) else LogisticLoss()
    line = Convex(domain=Ball(1), loss=loss, horizon=3)
    if plan.algorithm == "CTRL":
        changes = {"eta": 0.5, "sigma": 20.0, "force": 0.3, "log_phi": 0.1}
    else:
        # A clip that binds, and draws that say little: the coins are what is attacked.
        changes = {"rate": 0.4, "regularisation": 40.0, "force": 0.1, "clip": 0.02, "batch": 1, "sampler_distance": 0.0}
        if getattr(plan, "reference_force", 0.0) > 0:
            changes["reference_force"] = 0.3
    small = replace(plan, problem=line, **changes)
    return Instance("loud parameters, one dimension, T=3", small, alphabet(small))


def law_instances(plan: Plan) -> list[Instance]:
    """Draws and coins at which mistakes show: in the plan's own kind of domain, with few dimensions."""
    if isinstance(plan, CTRL):
        # The longer the horizon, the less the barrier weighs; a few of its rounds are played.
        problem = _small_domain(plan.problem, horizon=min(1_000, max(6, plan.rounds)))
        size, slope = problem.domain.radius, problem.lipschitz
        # Wide coins, noise of the size of two gradients, a regulariser that leaves curvature to the losses.
        loud = replace(plan, problem=problem, eta=4 * size / slope, sigma=2 * slope, force=0.1, log_phi=0.5)
        return [_described("loud parameters", loud)]
    assert isinstance(plan, L2PConvex)
    found = [_described("loud parameters", _loud_gibbs(plan))]
    problem = _small_domain(plan.problem, horizon=4)
    if problem.domain.dimension > 1 and 0 < problem.smoothness < np.inf:
        # Losses three times as curved as the regulariser: the sampler needs many short steps.
        regularisation = 4 * problem.smoothness / 6
        rate = 2 / (regularisation * problem.domain.radius**2)
        steep = replace(
            plan, problem=problem, rate=rate, regularisation=regularisation, force=1.0, batch=1, reference_force=0.0,
            sampler_distance=1e-10,
        )  # fmt: skip
        found.append(_described("steep losses", steep))
    return found


def scored_instance(plan: Plan) -> Instance:
    """Runs whose likelihood ratios say much, at a certificate that says something."""
    if isinstance(plan, CTRL):
        problem = _small_domain(plan.problem, horizon=4)
        size, slope = problem.domain.radius, problem.lipschitz
        loud = replace(plan, problem=problem, eta=0.05 * size / slope, sigma=4 * slope, force=0.7, log_phi=0.1)
        return _described("loud draws", loud)
    assert isinstance(plan, L2PConvex)
    return _described("loud draws", _loud_gibbs(plan))


def _loud_gibbs(plan: L2PConvex) -> L2PConvex:
    """A law about a third as wide as the domain, which every loss moves by a quarter of it."""
    problem = _small_domain(plan.problem, horizon=4)
    size, slope = problem.domain.radius, problem.lipschitz
    return replace(
        plan, problem=problem, rate=2 / (slope * size), regularisation=2 * slope / size, clip=0.5,
        force=1.0 if plan.force == 1 else 0.3, batch=min(2, plan.batch) if plan.force < 1 else 1,
        reference_force=0.3 if plan.reference_force > 0 else 0.0,
        sampler_distance=0.0 if problem.domain.dimension == 1 else 1e-12,
    )  # fmt: skip


def _small_domain(problem: Convex, horizon: int) -> Convex:
    domain = problem.domain
    if isinstance(domain, Box):
        domain = Box(domain.low[:3], domain.high[:3])
    elif isinstance(domain, Simplex):
        domain = Simplex(min(4, domain.dimension))
    elif isinstance(domain, L1Ball):
        domain = L1Ball(min(3, domain.dimension), radius=domain.radius)
    elif isinstance(domain, Ball) or domain.dimension > 6:
        domain = Ball(min(3, domain.dimension), radius=domain.radius)
    loss = problem.loss if isinstance(problem.loss, RowLoss) else LogisticLoss()
    return replace(problem, domain=domain, loss=loss, horizon=horizon)


def _described(label: str, plan: CTRL | L2PConvex) -> Instance:
    domain = plan.problem.domain
    shape = f"{type(domain).__name__} of {domain.dimension} dimensions, T={plan.problem.horizon}"
    return Instance(f"{label}, {shape}", plan, alphabet(plan))


def alphabet(plan: Plan) -> Alphabet:
    """Extreme feedback for the plan's problem."""
    problem = plan.problem
    if isinstance(problem, Experts):
        return loss_alphabet(problem)
    if isinstance(problem, Bandit):
        low, high = problem.value_range
        wide = high - low  # values outside the range are clipped: that is enforced, so it is attacked
        return Alphabet((low, high, low - wide, high + wide), (low + high) / 2)
    if isinstance(problem, Convex | Stochastic):
        return _data_alphabet(problem.loss, problem.domain.dimension)
    if isinstance(problem, Lipschitz):
        slope = problem.lipschitz
        # Steeper than allowed: clipping is enforced, so it is attacked. Opposites stand at opposite ends.
        shapes = ((1, 0.5), (1, 0.0), (1, 1.0), (-1, 1.0), (-1, 0.0), (-1, 0.5))
        functions = [_distance(3 * sign * slope, problem.low + share * problem.side) for sign, share in shapes]
        return Alphabet(tuple(functions), _distance(0.0, 0.0))
    raise TacitError(f"No audit knows what feedback {type(problem).__name__} has.")


def _distance(slope: float, centre: float) -> Any:
    return lambda points: slope * np.abs(points[:, 0] - centre)


def _data_alphabet(loss: Any, dimension: int) -> Alphabet:
    axes = list(np.eye(dimension)[:3])
    nothing = np.zeros(dimension)
    # Longer data than allowed are clipped: that is enforced, so it is attacked. Opposites stand at opposite ends.
    if isinstance(loss, LinkLoss):
        # Labels far outside are pulled into their public range: its ends.
        low, high = loss.clip_labels(np.array([-1e300, 1e300])).tolist()
        rows = [size * loss.data_norm * axis for size in (1.0, 5.0) for axis in axes]
        return Alphabet((*((row, high) for row in rows), *((row, low) for row in reversed(rows))), (nothing, low))
    norm = getattr(loss, "data_norm", getattr(loss, "lipschitz", 1.0))
    rows = [size * norm * axis for size in (1.0, 5.0) for axis in axes]
    return Alphabet((*rows, *(-row for row in reversed(rows))), nothing)


def _small_problem(problem: Problem, rounds: int) -> Problem:
    changes: dict[str, Any] = {"n": 2, "horizon": rounds}
    if hasattr(problem, "switches"):
        changes["switches"] = min(problem.switches, 1)
    return replace(problem, **changes)


def _steps(plan: Plan, rounds: int, batch: int) -> int:
    if plan.algorithm == "BanditFW":
        return int(np.sqrt(rounds)) - 2
    if plan.algorithm == "OnlineToBatch":
        return -(-rounds // batch)
    return rounds - 1
