"""Every learner of the catalogue against the number of rounds, and against experts, arms, points or dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tacit
from benchmarks.growing.case import TIMED_ROWS, Case, Work
from tacit import Learner, Plan
from tacit.algorithms import BatchedTsallis, ExploreLinear, LiveArms, PhasedArms
from tacit.planning.catalogue import CATALOGUE
from tacit.problems import Problem

TARGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
LONG = (1_000, 10_000, 30_000, 100_000, 1_000_000)
MIDDLING = (1_000, 10_000, 30_000, 100_000)
SHORT = (300, 1_000, 3_000, 10_000)
MANY = (10, 100, 1_000, 3_000, 10_000)
DIMENSIONS = (2, 10, 100, 300, 1_000)
FEW, FIVE = 10, 5  # experts and dimensions while the rounds grow
ROUNDS = 10_000  # of the plans while something else grows;
PLAYED = 500  # so many of them are played
ENTRIES = 5_000_000  # at most, in these rows
Rows = Callable[[int], Any]  # so many rows of feedback


def cases() -> list[Case]:
    """All of them."""
    return [*experts(), *tracking(), *arms(), *contexts(), *policies(), *convex(), *points(), *one_pass()]


def learning(plan: Plan, rows: Rows, rounds: int, release: bool = False, contexts: Rows | None = None) -> Work:
    """A whole run of a secret learner, in which the same rows come again and again, in the same contexts."""
    block = rows(min(rounds, TIMED_ROWS))
    around = None if contexts is None else contexts(min(rounds, TIMED_ROWS))

    def play(learner: Learner, size: int) -> Iterator[None]:
        for first in range(0, rounds, size):
            count = min(size, rounds - first)
            learner.run(part(block, count), contexts=None if around is None else around[:count])
            if release and first + count == rounds:
                learner.release()
            yield

    return Work(plan.start, play, rounds, lambda learner: len(learner.state_text()))


def part(rows: Any, count: int) -> Any:
    """The first rows."""
    return tuple(column[:count] for column in rows) if isinstance(rows, tuple) else rows[:count]


def numbers(*shape: int) -> np.ndarray:
    """The same numbers in [0, 1] again and again, if there are very many."""
    drawn = np.random.default_rng(0).random(min(int(np.prod(shape)), ENTRIES))
    return np.resize(drawn, shape)


def labelled(dimension: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    features = numbers(count, dimension) - 0.5
    return features / np.sqrt(dimension), np.where(numbers(count) < 0.5, -1.0, 1.0)


def over_rounds(kind: type[Plan], problem: Callable[[int], Problem], rows: Rows, sizes: tuple[int, ...]) -> Case:
    """A learner whose horizon grows."""
    return Case(kind.__name__, "T", sizes, lambda size: learning(kind.calibrate(problem(size), **TARGET), rows, size))


def over_options(kind: type[Plan], problem: Callable[[int], Problem], size: str = "N") -> Case:
    """A learner whose number of experts grows."""

    def make(n: int) -> Work:
        return learning(kind.calibrate(problem(n), **TARGET), lambda count: numbers(count, n), PLAYED)

    return Case(kind.__name__, size, MANY, make)


def experts() -> Iterator[Case]:
    """And the one whose horizon nobody knows."""
    rows = partial(_table, FEW)
    for kind in CATALOGUE[tacit.Experts]:
        long = LONG if kind is tacit.algorithms.LazyExperts else MIDDLING
        yield over_rounds(kind, lambda size: tacit.Experts(n=FEW, horizon=size), rows, long)
        yield over_options(kind, lambda n: tacit.Experts(n=n, horizon=ROUNDS))
    endless = tacit.Experts(n=FEW, horizon=None)
    yield Case("horizon=None", "T", MIDDLING, lambda size: learning(tacit.plan(endless, **TARGET).plan, rows, size))


def _table(width: int, count: int) -> np.ndarray:
    return numbers(count, width)


def tracking() -> Iterator[Case]:
    quick = (
        tacit.algorithms.TrackingOnSums,
        tacit.algorithms.RecentLeader,
        tacit.algorithms.RestartOnShift,
        tacit.algorithms.LimitedUpdates,
    )

    def problem(n: int, horizon: int) -> Problem:
        return tacit.Tracking(n=n, horizon=horizon, switches=3, adversary="stochastic")

    for kind in CATALOGUE[tacit.Tracking]:
        long = LONG if kind in quick else MIDDLING
        yield over_rounds(kind, partial(problem, FEW), partial(_table, FEW), long)
        yield over_options(kind, lambda n: problem(n, ROUNDS))


def arms() -> Iterator[Case]:
    """A learner of arms reads one number of a row; rows are handed over all the same."""

    def problem(n: int, horizon: int) -> Problem:
        return tacit.Arms(n=n, horizon=horizon, adversary="stochastic")

    for kind, long in ((PhasedArms, LONG), (BatchedTsallis, MIDDLING), (LiveArms, LONG)):
        yield over_rounds(kind, partial(problem, FEW), partial(_table, FEW), long)
        if kind is not LiveArms:
            yield over_options(kind, lambda n: problem(n, 3 * MANY[-1]))

    def sharing(n: int) -> Work:
        """First blocks of one round: all else is played by shares, which are computed anew at each release."""
        plan = LiveArms(problem(n, 3 * MANY[-1]), TARGET["epsilon"], 1)
        return learning(plan, partial(_table, n), PLAYED)

    yield Case("LiveArms", "N", (3, 10, 30, 100), sharing)


def contexts() -> Iterator[Case]:
    """Of five actions, or five features."""

    def work(n: int, dimension: int, horizon: int, played: int) -> Work:
        plan = ExploreLinear.calibrate(tacit.ContextualArms(n=n, dimension=dimension, horizon=horizon), **TARGET)
        return learning(plan, partial(_table, n), played, contexts=lambda count: labelled(dimension, count)[0])

    yield Case("ExploreLinear", "T", MIDDLING, lambda size: work(FIVE, FIVE, size, size))
    yield Case("ExploreLinear", "N", (2, 10, 30, 100), lambda n: work(n, FIVE, ROUNDS, ROUNDS))
    yield Case("ExploreLinear", "d", (2, 10, 30, 100), lambda d: work(FIVE, d, ROUNDS, ROUNDS))


def policies() -> Iterator[Case]:
    """Of five actions, recommended again and again."""

    def work(kind: type[Plan], n: int, horizon: int, played: int) -> Work:
        plan = kind.calibrate(tacit.Policies(n=n, actions=FIVE, horizon=horizon), **TARGET)
        return learning(plan, partial(_table, FIVE), played, contexts=lambda count: _advice(count, n))

    for kind in CATALOGUE[tacit.Policies]:
        yield Case(kind.__name__, "T", MIDDLING, lambda size, kind=kind: work(kind, FEW, size, size))
        yield Case(kind.__name__, "N", MANY, lambda n, kind=kind: work(kind, n, 3 * MANY[-1], PLAYED))


def _advice(count: int, n: int) -> np.ndarray:
    return (numbers(count, n) * FIVE).astype(np.int64)


def convex() -> Iterator[Case]:
    logistic, quadratic = tacit.losses.LogisticLoss(), tacit.losses.QuadraticLoss()

    def problem(loss: Any, dimension: int, horizon: int) -> tacit.Convex:
        return tacit.Convex(domain=tacit.domains.Ball(dimension), loss=loss, horizon=horizon)

    def following(dimension: int, rounds: int, played: int) -> Work:
        plan = tacit.algorithms.PrivateFTRL.calibrate(problem(logistic, dimension, rounds), **TARGET)
        return learning(plan, partial(labelled, dimension), played)

    def holding(dimension: int, rounds: int, played: int) -> Work:
        """Parameters of a plan for a million rounds, but coins that never say draw."""
        coins = {"eta": 3e-4, "sigma": 2000.0, "force": 0.0, "log_phi": 1e-12}
        plan = tacit.algorithms.CTRL(problem(logistic, dimension, rounds), **coins)
        return learning(plan, partial(labelled, dimension), played)

    def drawing(dimension: int, rounds: int) -> Work:
        """One draw after so many rounds."""
        work = holding(dimension, rounds + 1, rounds)

        def start() -> Learner:
            learner = work.start()
            for _ in work.play(learner, TIMED_ROWS):
                pass
            return learner

        def draw(learner: Learner, _: int) -> Iterator[None]:
            learner._draw()
            yield

        return Work(start, draw, 1, work.state)

    def summing(dimension: int, rounds: int, played: int) -> Work:
        plan = tacit.algorithms.CTRL(
            problem(quadratic, dimension, rounds), eta=3e-4, sigma=2000.0, force=0.0, log_phi=1e-12
        )
        return learning(plan, lambda count: numbers(count, dimension) / dimension, played)

    def sampling(rounds: int) -> Work:
        plan = tacit.algorithms.L2PConvex.calibrate(problem(logistic, 1, rounds), **TARGET)
        return learning(plan, partial(labelled, 1), rounds)

    yield Case("PrivateFTRL", "T", SHORT, lambda size: following(FIVE, size, size))
    yield Case("PrivateFTRL", "d", DIMENSIONS, lambda size: following(size, ROUNDS, PLAYED))
    yield Case("CTRL, holds", "T", MIDDLING, lambda size: holding(FIVE, size, size))
    yield Case("CTRL, holds", "d", DIMENSIONS, lambda size: holding(size, ROUNDS, PLAYED))
    yield Case("CTRL, draws", "T", SHORT, lambda size: drawing(FIVE, size), "a draw")
    yield Case("CTRL, draws", "d", DIMENSIONS, lambda size: drawing(size, PLAYED), "a draw")
    yield Case("CTRL, quadratic losses", "T", MIDDLING, lambda size: summing(FIVE, size, size))
    yield Case("CTRL, quadratic losses", "d", DIMENSIONS, lambda size: summing(size, ROUNDS, PLAYED))
    yield Case("L2PConvex", "T", SHORT, sampling)


def points() -> Iterator[Case]:
    """Points of an interval, and bandits."""

    def functions(count: int) -> list[Callable[[np.ndarray], np.ndarray]]:
        return [lambda places: np.abs(places[:, 0] - 0.3)] * count

    def grid(bits: int, rounds: int, played: int) -> Work:
        plan = tacit.algorithms.LipschitzGrid.calibrate(tacit.Lipschitz(horizon=rounds), **TARGET, bits=bits)
        return learning(plan, functions, played)

    def net(cells: int, rounds: int, played: int) -> Work:
        plan = tacit.algorithms.LipschitzNet.calibrate(tacit.Lipschitz(horizon=rounds), **TARGET, cells=cells)
        return learning(plan, functions, played)

    yield Case("LipschitzGrid", "T", SHORT, lambda size: grid(5, size, size))
    sizes = (9, 129, 1_025, 4_097, 8_193)
    yield Case("LipschitzGrid", "N", sizes, lambda n: grid(n.bit_length() - 1, ROUNDS, 300))
    yield Case("LipschitzNet", "T", MIDDLING, lambda size: net(32, size, size))
    yield Case("LipschitzNet", "N", MANY, lambda n: net(n, ROUNDS, PLAYED))
    yield Case("BanditFW", "T", LONG, lambda size: shooting(FIVE, size))
    yield Case("BanditFW", "d", (2, 10, 30, 100), lambda size: shooting(size, 30_000))


def shooting(dimension: int, rounds: int) -> Work:
    """A bandit whose values cost next to nothing."""
    plan = tacit.algorithms.BanditFW.calibrate(
        tacit.Bandit(domain=tacit.domains.Ball(dimension, radius=0.5), horizon=rounds), **TARGET
    )
    return learning(
        plan, lambda count: tacit.algorithms.Rounds(lambda places, _: places[:, 0], count, keep=False), rounds
    )


def one_pass() -> Iterator[Case]:
    """Records, and the model at the end."""

    def fitting(kind: type[Plan], dimension: int, records: int) -> Work:
        problem = tacit.Stochastic(
            domain=tacit.domains.Ball(dimension), loss=tacit.losses.LogisticLoss(), horizon=records
        )
        return learning(kind.calibrate(problem, **TARGET), partial(labelled, dimension), records, release=True)

    for kind, long in zip(CATALOGUE[tacit.Stochastic], (MIDDLING, MIDDLING, SHORT), strict=True):
        yield Case(kind.__name__, "T", long, lambda size, kind=kind: fitting(kind, FIVE, size), "a record")
        yield Case(kind.__name__, "d", DIMENSIONS, lambda d, kind=kind: fitting(kind, d, PLAYED), "a record")
