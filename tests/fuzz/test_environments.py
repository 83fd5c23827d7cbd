"""Environments: made or refused, then they deal losses in their range; huge ones are refused before memory is taken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt, snapshot
from fuzz.strategies import examples, nearly, odd_arrays, one_of, values
from tacit import domains as sets
from tacit import environments as worlds
from tacit.environments.named import named_environment
from tacit.environments.tracking import FingerprintPhases, PenaliseHeld

STREAMS = {
    worlds.BernoulliGap: nearly(n=3, horizon=20, gap=0.1, mean=0.5, best=0),
    worlds.BernoulliArms: nearly(means=one_of((0.2, 0.5), [0.1]), horizon=20),
    worlds.ClickArms: nearly(
        rates=one_of((0.1, 0.2), (0.5,)), horizon=20, swing=0.3, cycles=1.0, fall=0.2, days=4, day_level=0.3, lost=0.1
    ),
    worlds.DecoyArms: nearly(n=3, horizon=20, turn=0.5),
    worlds.DriftingArms: nearly(n=3, horizon=20, cycles=1.0),
    worlds.SkilledPolicies: nearly(n=3, horizon=20, actions=2, skill=0.5, means=(0.1, 0.8)),
    worlds.NeedlePolicy: nearly(n=3, horizon=20, actions=2, gap=0.1, shape=one_of("guessing", "turning", "lonely")),
    worlds.LinearContexts: nearly(
        n=3, horizon=20, dimension=one_of(1, 4), shape=one_of("sphere", "one-hot", "shrunk", "gap one"), radius=0.4,
        gap=0.05, missing=0.0,
    ),
    worlds.SwitchingAdversary: nearly(n=3, horizon=20, phase=5),
    worlds.Replay: st.fixed_dictionaries({"matrix": odd_arrays()}),
    worlds.ReplayData: nearly(
        loss=one_of(tacit.losses.LinearLoss(), tacit.losses.LogisticLoss()),
        recording=odd_arrays() | st.tuples(odd_arrays(), odd_arrays(columns=4, dimensions=(1,))),
    ),
    worlds.ShiftingBernoulli: nearly(n=3, horizon=20, changes=one_of((5, 9), (), [3]), gap=0.3, mean=0.6),
    worlds.DriftingLosses: nearly(n=3, horizon=20, periods=1.0, swing=0.25, noise=0.25),
    worlds.PerfectExpert: nearly(n=3, horizon=20, phases=2),
    worlds.FairCoins: nearly(n=3, horizon=20),
    worlds.RandomSigns: nearly(domain=one_of(sets.Ball(2), sets.Simplex(3)), horizon=20, lipschitz=1.0),
    worlds.LogisticStream: nearly(dimension=2, horizon=20, strength=5.0),
    worlds.DriftingQuadratic: nearly(dimension=2, horizon=20, turns=1.0, spread=0.1),
    worlds.SignFlips: nearly(dimension=2, horizon=20, phase=5.0, bias=0.1),
    worlds.PricingCurve: nearly(horizon=20, valuations=(0.3, 0.8), weights=(0.5, 0.4), spread=0.05, softness=0.05),
}  # fmt: skip
OPPONENTS = {
    PenaliseHeld: nearly(n=3, horizon=20, mean=0.25),
    FingerprintPhases: nearly(n=30, horizon=20, switches=1),
    worlds.MovingTarget: nearly(domain=one_of(sets.Ball(2), sets.Simplex(3)), horizon=20, distance=0.1, spread=0.1),
    worlds.Routing: nearly(
        edges=one_of((("s", "a"), ("a", "t"), ("s", "t"))), times=one_of((0.2, 0.3, 0.4)), source="s", sink="t",
        horizon=20, noise=0.1,
    ),
}  # fmt: skip


def generator():
    return tacit.Randomness.replayable(4).stream("fuzz")


@pytest.mark.parametrize("kind", STREAMS, ids=lambda kind: kind.__name__)
@examples(12)
@given(data=st.data())
def test_streams(kind, data):
    arguments = data.draw(STREAMS[kind])
    world = attempt(lambda: kind(**arguments))
    if world is REFUSED:
        return
    source = generator()
    ways = ("losses", "data", "in_context", "functions")
    deal = next(getattr(world, name) for name in ways if hasattr(world, name))
    dealt = attempt(lambda: deal(source), source)
    if dealt is not REFUSED:
        for part in dealt if isinstance(dealt, tuple) else (dealt,):
            assert len(part) == world.horizon
            odd = (worlds.Replay, worlds.ClickArms, worlds.LinearContexts, worlds.PricingCurve)
            assert kind in odd or np.all(np.isfinite(part))
    if kind is worlds.PricingCurve:
        assert world.lipschitz > 0
    if kind is worlds.DriftingLosses:
        assert attempt(world.means) is REFUSED or world.means().shape == (world.horizon, world.n)
    if kind is worlds.ShiftingBernoulli:
        assert len(attempt(lambda: world.best(generator()))) == len(world.changes) + 1
    attempt(lambda: deal(data.draw(values)), also=(AttributeError, TypeError))


@pytest.mark.parametrize("kind", OPPONENTS, ids=lambda kind: kind.__name__)
@examples(12)
@given(data=st.data(), first=values | st.just(0))
def test_opponents(kind, data, first):
    arguments = data.draw(OPPONENTS[kind])
    world = attempt(lambda: kind(**arguments))
    if world is REFUSED:
        return
    opponent = attempt(lambda: world.start(generator()))
    if opponent is REFUSED:
        return
    if kind in (PenaliseHeld, FingerprintPhases):
        assert attempt(lambda: opponent.respond(None)).shape == (world.n,)
        assert attempt(lambda: opponent.respond(1)) is not REFUSED
        attempt(lambda: opponent.respond(first))
        return
    problem = attempt(lambda: world.problem)
    if problem is REFUSED:
        return
    centre = problem.domain.centre[None]
    points = data.draw(odd_arrays(columns=problem.domain.dimension, dimensions=(2, 2, 1)))
    before = (snapshot(vars(opponent)["_generator"]), opponent.total)
    if attempt(lambda: opponent.values(points, first)) is REFUSED:
        assert (snapshot(vars(opponent)["_generator"]), opponent.total) == before
        shown = attempt(lambda: opponent.values(centre, 0))
        assert np.all(np.isfinite(shown))
        assert np.isfinite(attempt(lambda: opponent.regret))


@examples(20)
@given(gap=values)
def test_gaps_of_arms(gap):
    world = attempt(lambda: worlds.BernoulliArms.with_gap(3, 10, gap=gap))
    assert world is REFUSED or world.best_arm in (0, 1)


@examples(30)
@given(name=values | one_of("gap", "switching", "shifting", "drifting"), problem=values, horizon=values)
def test_named_environments(name, problem, horizon):
    for kind in (problem, tacit.Experts(n=3, horizon=None), tacit.Tracking(n=3, horizon=50, switches=2)):
        world = attempt(lambda kind=kind: named_environment(name, kind, horizon))
        assert world is REFUSED or world.horizon >= 1
