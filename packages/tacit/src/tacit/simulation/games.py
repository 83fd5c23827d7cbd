"""One run of a learner against an environment, for each kind of problem: what was paid and with what to compare.

A game returns the learner's loss in each round and the comparator's cumulative loss at the checkpoints; the
difference is regret. In a one-pass problem models are judged, not rounds: the checkpoints are geometric in the records
read, and what is measured there is excess risk. Adding a kind of problem is adding a game.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from tacit import problems
from tacit.algorithms.bandit import Rounds
from tacit.algorithms.measures import L2PMeasure
from tacit.environments.environment import (
    BanditStream,
    ContextStream,
    ConvexStream,
    Environment,
    ExpertAdversary,
    ExpertStream,
    FeedbackStream,
    LipschitzStream,
    RecordStream,
)
from tacit.errors import InvalidInput
from tacit.problems import Arms, Convex, Experts, Lipschitz, Options, Policies, Problem, Stochastic, Tracking
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.runtime.rounds import Absent
from tacit.simulation.comparators import best_fixed_point, best_switching_sequence
from tacit.validation import FloatArray, IntArray

_Problem = TypeVar("_Problem", bound=Problem)
_World = TypeVar("_World", bound=Environment, covariant=True)
GRID = {1: 2049, 2: 65}
"""Points a side of the grid on which the best one is searched, by dimension: a few thousand in all."""
MARKS = 16
"""How often the model of a pass is judged."""
EARLIEST = 500
"""The first of these marks is at one record in so many."""


@dataclass(frozen=True)
class Outcome:
    """One run: regret or excess risk at the checkpoints, and what pictures show of it.

    Attributes:
        regret: regret up to each checkpoint, or the excess risk of the model there.
        switches: how often the decision changed.
        detail: decisions, comparator and whatever else pictures show.
        missing: rounds without feedback.
        errors: standard errors of an excess risk, of the records on which models are judged.
    """

    regret: FloatArray
    switches: int
    detail: dict[str, Any] = field(default_factory=dict)
    missing: int = 0
    errors: FloatArray | None = None


@dataclass(frozen=True)
class Match(Generic[_World]):
    """Who plays whom: a learner, an environment, its randomness, the checkpoints, and which feedback comes.

    `switches`: of the comparator, if not those of the learner's problem.
    """

    learner: Learner
    environment: _World
    generator: np.random.Generator
    checkpoints: IntArray
    mask: Absent | None = None
    switches: int | None = None


@dataclass(frozen=True)
class Game:
    """How one kind of problem is played, and at how many rounds its regret is worth computing."""

    play: Callable[[Match[Any]], Outcome]
    takes: tuple[type[Environment], ...]
    checkpoints: int = 256
    geometric: bool = False

    def rounds(self, horizon: int, plan: Plan | None = None) -> IntArray:
        """The rounds at which regret is kept, the last one included; plans that release once are judged once."""
        if plan is not None and plan.releases_once:
            return np.array([horizon])
        if self.geometric:
            marks = np.geomspace(max(1, horizon // EARLIEST), horizon, min(self.checkpoints, horizon))
            return np.unique(np.rint(marks).astype(np.int64))
        return np.unique(np.linspace(1, horizon, min(self.checkpoints, horizon)).astype(np.int64))


def game_for(problem: Problem, environment: Environment) -> Game:
    """The game of this kind of problem, after checking that the environment fits."""
    game = GAMES.get(type(problem))
    if game is None:
        known = ", ".join(kind.__name__ for kind in GAMES)
        raise InvalidInput(
            f"simulate plays the problems {known}, and no problems of other classes. Got {problem!r} instead."
        )
    rounds = getattr(environment, "horizon", None)
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise InvalidInput(
            f"An environment must have a horizon of at least one round (a recorded array: tacit.environments.Replay). "
            f"Got {type(environment).__name__} instead."
        )
    if not isinstance(environment, game.takes):
        kinds = " or ".join(kind.__name__ for kind in game.takes)
        raise InvalidInput(
            f"A simulation of {type(problem).__name__} needs an environment of the kind {kinds}: "
            f"tacit.environments.environment says what it has. Got {type(environment).__name__} instead."
        )
    if problem.horizon is not None and environment.horizon > problem.horizon:
        raise InvalidInput(
            f"The plan covers {problem.horizon} rounds, the environment has {environment.horizon}: that is too many."
        )
    if isinstance(problem, Stochastic):
        check_records(problem, environment)
    if isinstance(problem, Options) and getattr(environment, "n", None) != problem.n:
        options = "arms" if isinstance(problem, Arms) else "policies" if isinstance(problem, Policies) else "experts"
        there = getattr(environment, "n", "has none")
        raise InvalidInput(f"The plan has {problem.n} {options}, the environment {there}: the numbers must agree.")
    return game


def experts_game(match: Match[ExpertStream | ExpertAdversary]) -> Outcome:
    """Static regret: against the best single expert up to each checkpoint; dynamic regret if switches are given."""
    if match.switches is not None:
        return tracking_game(match)
    losses, actions = play_experts(match)
    return _hindsight(match, losses, actions, losses)


def arms_game(match: Match[ExpertStream]) -> Outcome:
    """Regret against the arm of smallest mean if the environment knows it, otherwise the best one in hindsight."""
    losses = match.environment.losses(match.generator)
    actions = match.learner.run(losses, match.mask)
    middle = sum(_problem_of(match.learner, Arms).loss_range) / 2
    filled = np.where(np.isnan(losses), middle, losses)
    best = getattr(match.environment, "best_arm", None)
    return _hindsight(match, filled, actions, filled, best)


def contextual_game(match: Match[ContextStream]) -> Outcome:
    """Regret in expected losses against the best action of each context."""
    contexts, losses, means = match.environment.in_context(match.generator)
    problem = _problem_of(match.learner, problems.ContextualArms)
    if np.shape(contexts) != (len(losses), problem.dimension):
        raise InvalidInput(
            f"The plan has features of dimension {problem.dimension}, the environment "
            f"{np.shape(contexts)[-1]}: the numbers must agree."
        )
    actions = match.learner.run(losses, match.mask, contexts=contexts)
    regret = np.cumsum(means[np.arange(len(actions)), actions] - np.min(means, axis=1))
    return Outcome(regret[match.checkpoints - 1], match.learner.switches, {"actions": actions})


def policies_game(match: Match[ContextStream]) -> Outcome:
    """Regret against the policy that was the best in hindsight."""
    advice, losses, means = match.environment.in_context(match.generator)
    actions = match.learner.run(losses, match.mask, contexts=advice)
    filled = np.where(np.isnan(losses), means, losses)
    return _hindsight(match, filled, actions, np.take_along_axis(filled, np.asarray(advice), axis=1))


def _hindsight(
    match: Match[Any], losses: FloatArray, actions: IntArray, compared: FloatArray, best: int | None = None
) -> Outcome:
    """Regret against the best column of `compared` up to each checkpoint, or against the one that is named."""
    paid = np.cumsum(losses[np.arange(len(actions)), actions])
    starts = np.concatenate([[0], match.checkpoints[:-1]]).astype(np.int64)
    totals = np.cumsum(np.add.reduceat(compared, starts, axis=0), axis=0)  # of every option at each checkpoint
    least = np.min(totals, axis=1) if best is None else totals[:, best]
    return Outcome(paid[match.checkpoints - 1] - least, match.learner.switches, {"actions": actions})


def tracking_game(match: Match[ExpertStream | ExpertAdversary]) -> Outcome:
    """Dynamic regret: against the best sequence with at most S switches over the whole run."""
    losses, actions = play_experts(match)
    rows = np.arange(len(actions))
    switches = _problem_of(match.learner, Experts).switches if match.switches is None else match.switches
    _, sequence = best_switching_sequence(losses, switches)
    regret = np.cumsum(losses[rows, actions] - losses[rows, sequence])
    detail = {"actions": actions, "comparator": sequence, "restarts": getattr(match.learner, "restarts", None)}
    return Outcome(regret[match.checkpoints - 1], match.learner.switches, detail)


def play_experts(match: Match[ExpertStream | ExpertAdversary]) -> tuple[FloatArray, IntArray]:
    """The losses that were dealt and the experts that were played."""
    learner, environment, mask = match.learner, match.environment, match.mask
    if isinstance(environment, ExpertStream):
        losses = environment.losses(match.generator)
        return losses, learner.run(losses, mask)
    opponent = environment.start(match.generator)
    losses = np.empty((environment.horizon, environment.n))
    actions = np.empty(environment.horizon, dtype=np.int64)
    previous: int | None = None
    for t in range(environment.horizon):
        losses[t] = opponent.respond(previous)  # an adaptive adversary has seen the past, not this round
        previous = actions[t] = int(learner.play())
        learner.observe(losses[t] if mask is None or mask[t] else None)
    return losses, actions


def bandit_game(match: Match[BanditStream]) -> Outcome:
    """Regret against the best fixed point in hindsight; the opponent keeps what that needs."""
    if match.mask is not None:
        raise InvalidInput("A simulation of Bandit takes no late or missing feedback: its values come at once.")
    opponent = match.environment.start(match.generator)
    regret, first = [], 0
    for stop in match.checkpoints.tolist():
        match.learner.run(Rounds(opponent.values, stop - first, first, keep=False))
        regret.append(opponent.regret)
        first = stop
    return Outcome(np.array(regret), match.learner.switches)


def convex_game(match: Match[ConvexStream]) -> Outcome:
    """Regret against the best fixed point of the whole stream, which is certified to 1e-8."""
    domain, loss = _problem_of(match.learner, Convex).domain, match.environment.loss
    data = match.environment.data(match.generator)
    points = match.learner.run(data, match.mask)
    rows = loss.pack(data, domain.dimension, many=True)
    best = best_fixed_point(loss, data, domain)
    regret = np.cumsum(loss.values(points, rows) - loss.values(best.point, rows))
    return Outcome(regret[match.checkpoints - 1], match.learner.switches, {"points": points})


def lipschitz_game(match: Match[LipschitzStream]) -> Outcome:
    """Regret against the best point of a fine grid of the set, for losses that need not be convex."""
    problem = _problem_of(match.learner, Lipschitz)
    losses = match.environment.functions(match.generator)
    points = match.learner.run(losses, match.mask)
    axis = np.linspace(0.0, 1.0, GRID[problem.dimension])
    shares = np.stack(np.meshgrid(*[axis] * problem.dimension, indexing="ij"), axis=-1)
    grid = problem.place(shares.reshape(-1, problem.dimension))
    paid = np.array([float(loss(point[None])[0]) for loss, point in zip(losses, points, strict=True)])
    best = grid[np.argmin(sum(loss(grid) for loss in losses))][None]
    regret = np.cumsum(paid - np.array([float(loss(best)[0]) for loss in losses]))
    return Outcome(regret[match.checkpoints - 1], match.learner.switches, {"points": points})


def measure_game(match: Match[FeedbackStream]) -> Outcome:
    """Regret against the best decision of the whole stream, as the measure itself counts it."""
    plan = match.learner.plan
    if not isinstance(plan, L2PMeasure):
        raise InvalidInput(f"simulate knows a {type(plan.problem).__name__} only as one of L2PMeasure.")
    rows = np.asarray(match.environment.feedback(match.generator), dtype=np.float64)
    best, loss, apart = plan.measure.best(rows), plan.measure.loss, []
    for number, row in enumerate(rows):
        apart.append(loss(match.learner.play(), row) - loss(best, row))
        match.learner.observe(row if match.mask is None or match.mask[number] else None)
    return Outcome(np.cumsum(apart)[match.checkpoints - 1], match.learner.switches)


def one_pass_game(match: Match[RecordStream]) -> Outcome:
    """Excess risk of the model that stands after the records of each checkpoint.

    Reading a model changes nothing: the last one is that of a single `run` over all records, bit for bit.
    """
    if match.mask is not None:
        raise InvalidInput("A simulation of Stochastic takes no missing records: give the plan fewer of them.")
    environment, problem = match.environment, _problem_of(match.learner, Stochastic)
    records = environment.records(match.generator)
    models, first = [], 0
    for stop in match.checkpoints.tolist():
        match.learner.run(records_between(records, first, stop))
        last = stop == environment.horizon
        models.append(np.array(released_model(match.learner) if last else match.learner.play()))
        first = stop
    best = environment.best
    if best is None:
        best = best_fixed_point(environment.loss, records, problem.domain).point
    risk = environment.excess(np.array(models), best)
    return Outcome(risk.values, 0, {"models": np.array(models), "comparator": best}, errors=risk.errors)


def records_between(records: Any, first: int, stop: int) -> Any:
    """Return a slice of records: rows, or a pair of features and labels."""
    return tuple(part[first:stop] for part in records) if isinstance(records, tuple) else records[first:stop]


def released_model(learner: Any) -> FloatArray:
    """Return the model after all records; plans that release once do it here."""
    model: FloatArray = learner.release()
    return model


def check_records(problem: Stochastic, environment: Any) -> None:
    """Refuse records of another loss or size, and a planted model that is none of the problem."""
    if environment.dimension != problem.domain.dimension:
        raise InvalidInput(
            f"The models of the plan have {problem.domain.dimension} coordinates, those of the environment "
            f"{environment.dimension}: the numbers must agree."
        )
    if environment.loss != problem.loss:
        raise InvalidInput(
            f"The records of {type(environment).__name__} belong to {environment.loss!r}: the problem must have the "
            f"same loss. Got {problem.loss!r} instead."
        )
    if environment.best is not None and not problem.domain.contains(environment.best):
        raise InvalidInput(
            f"The planted model of {environment!r} must lie in the domain of the problem, {problem.domain!r}: shorten "
            "its 'norm', or give 'reach', the length of the longest models that are compared with."
        )


def _problem_of(learner: Learner, kind: type[_Problem]) -> _Problem:
    problem = learner.plan.problem
    if not isinstance(problem, kind):
        raise InvalidInput(f"This game is of {kind.__name__} problems. Got {problem!r} instead.")
    return problem


GAMES: dict[type[Problem], Game] = {
    Experts: Game(experts_game, (ExpertStream, ExpertAdversary)),
    Tracking: Game(tracking_game, (ExpertStream, ExpertAdversary)),
    Convex: Game(convex_game, (ConvexStream,)),
    Lipschitz: Game(lipschitz_game, (LipschitzStream,)),
    problems.Bandit: Game(bandit_game, (BanditStream,), checkpoints=8),
    Arms: Game(arms_game, (ExpertStream,)),
    Policies: Game(policies_game, (ContextStream,)),
    problems.ContextualArms: Game(contextual_game, (ContextStream,)),
    Stochastic: Game(one_pass_game, (RecordStream,), checkpoints=MARKS, geometric=True),
    Problem: Game(measure_game, (FeedbackStream,)),
}
"""Which game a problem is; a kind of problem joins by standing here."""
