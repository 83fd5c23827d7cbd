"""L2P on a measure of one's own: its law, its contract, and what is taken on trust."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

import tacit
from algorithms.measures.measures import Direction, ThreeNames
from tacit.accounting.curves import Gaussian
from tacit.algorithms.measures import L2PMeasure, OwnMeasure, weighted_regret
from tacit.auditing.script import NotEnumerable, transcript_law
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Experts, Problem
from tacit.testing import check_learner

TARGET = {"epsilon": 1.0, "delta": 1e-6}
ROUNDS = [np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])]


def small(**changes):
    plan = L2PMeasure(Problem(horizon=4), ThreeNames(0.7), force=0.2)
    return replace(plan, **changes)


@pytest.mark.parametrize(("rounds", "batch", "reference_force"), [(4, 1, 0.0), (4, 2, 0.4), (2, 1, 0.4)])
def test_every_decision_has_the_law_of_a_fresh_draw(rounds, batch, reference_force):
    plan = small(problem=Problem(horizon=rounds), batch=batch, reference_force=reference_force)
    law = transcript_law(plan, ROUNDS[:rounds])
    marginals = np.zeros((rounds, 3))
    for transcript, chance in law.items():
        for number, decision in enumerate(transcript[::2]):
            marginals[number, decision] += chance
    for number in range(rounds):
        drawn_at = number - number % batch
        np.testing.assert_allclose(marginals[number], plan.measure.weights(np.array(ROUNDS[:drawn_at]).reshape(-1, 3)))


@pytest.mark.parametrize(
    "plan", [small(), small(reference_force=0.3, batch=2, rounds_per_person=2)], ids=["one", "two"]
)
def test_the_audit_finds_nothing(plan):
    assert not tacit.audit(plan, budget=0.05, seed=1).violation


@pytest.mark.parametrize("measure", [ThreeNames(0.1), Direction(0.1)], ids=repr)
def test_the_contract_of_learners(measure):
    plan = L2PMeasure(Problem(horizon=40), measure, force=0.3, reference_force=0.1, batch=2)
    generator = Randomness.replayable(1).stream("feedback")
    check_learner(plan, list(generator.random((40, *measure.feedback_shape))))


def test_decisions_may_be_vectors():
    @dataclass(frozen=True)
    class Shifted(OwnMeasure):
        limit: float = 0.2
        feedback_shape: tuple = (2,)

        def log_factor(self, decision, feedback):
            return 0.1 * float(np.tanh(decision @ feedback))

        def sample(self, history, generator):
            return generator.standard_normal(2)

    plan = L2PMeasure(Problem(horizon=30), Shifted(), force=0.3)
    check_learner(plan, list(np.linspace(-1, 1, 60).reshape(30, 2)))
    assert plan.regret_bound.value == np.inf
    assert "not certified" in plan.regret_bound.formula


WORDS = ("left", "ahead", "right")
RANKINGS = (("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b"))


@dataclass(frozen=True)
class Stream:
    """Losses of three decisions, of which the second is the best."""

    horizon: int = 300
    adaptive: bool = False

    def feedback(self, generator):
        return np.clip(generator.random((self.horizon, 3)) * [1.0, 0.5, 1.0], 0.0, 1.0)


@pytest.mark.parametrize("decisions", [WORDS, RANKINGS, ((1, 2.5), (2, 0.5), (3, 1.5))], ids=str)
def test_decisions_may_be_words_and_rankings(decisions):
    plan = L2PMeasure(Problem(horizon=40), ThreeNames(0.7, decisions=decisions), force=0.3, reference_force=0.1)
    check_learner(plan, list(Randomness.replayable(1).stream("feedback").random((40, 3))))
    learner = plan.start(Randomness.replayable(2))
    assert learner.play() in decisions
    law = transcript_law(small(measure=ThreeNames(0.7, decisions=decisions)), ROUNDS)
    named = transcript_law(small(), ROUNDS)
    assert sorted(law.values()) == pytest.approx(sorted(named.values()))


def test_the_planner_and_simulations_know_measures():
    make = partial(ThreeNames, decisions=WORDS)
    choice = tacit.plan(Problem(horizon=300), epsilon=5.0, delta=1e-6, measure=make)
    assert choice.algorithm == "L2PMeasure"
    assert float(choice.regret_bound) == float(
        L2PMeasure.calibrate(Problem(horizon=300), epsilon=5.0, delta=1e-6, measure=make).regret_bound
    )
    found = tacit.simulate(choice, Stream(), runs=3, seed=1)
    assert 0 < found.mean[-1] <= float(choice.regret_bound)
    plan = L2PMeasure(Problem(horizon=300), Direction(0.1), force=0.2)
    with pytest.raises(InvalidInput, match="best"):
        tacit.simulate(plan, Angles(), runs=1)
    with pytest.raises(InvalidInput, match="FeedbackStream"):
        tacit.simulate(plan, tacit.environments.Replay(np.zeros((300, 3))), runs=1)
    with pytest.raises(InvalidInput, match="Got a list"):
        L2PMeasure(Problem(horizon=3), ThreeNames(0.1, decisions=([1], [2], [3])), force=0.2).start()


@dataclass(frozen=True)
class Angles(Stream):
    def feedback(self, generator):
        return generator.random(self.horizon)


def test_a_sampler_that_cannot_be_counted_gets_a_sentence():
    """It was "TypeError: float() argument must be a string or a real number, not 'Coin'"."""

    @dataclass(frozen=True)
    class Shifted(ThreeNames):
        def sample(self, history, generator):
            return int(3 * float(generator.random()))

    with pytest.raises(NotEnumerable, match="compared with thresholds"):
        transcript_law(small(measure=Shifted(0.7)), ROUNDS)
    with pytest.raises(InvalidInput, match="compared with thresholds"):
        tacit.audit(small(measure=Shifted(0.7)), budget=0.05, seed=1)


def test_calibration_meets_its_target_and_the_bound_holds():
    plan = L2PMeasure.calibrate(Problem(horizon=5_000), **TARGET, measure=Direction)
    assert 0.99 <= plan.guarantee.epsilon(1e-6) <= 1.0
    assert "ASSUMED" in str(plan.guarantee)
    assert "Direction" in str(plan.guarantee)
    generator = Randomness.replayable(2).stream("angles")
    angles = generator.vonmises(2.0, 1.5, 5_000)
    points = plan.start(Randomness.replayable(3)).run(angles)
    paid = np.sum(1 - np.cos(points - angles)) / 2
    best = (5_000 - abs(np.sum(np.exp(1j * angles)))) / 2
    assert paid - best <= float(plan.regret_bound) < 1_000
    switches = plan.start(Randomness.replayable(4))
    switches.run(angles)
    assert switches.switches <= plan.expected_switches + 4 * plan.expected_switches**0.5


def test_it_is_the_accounting_of_experts():
    names = L2PMeasure.calibrate(Problem(horizon=5_000), **TARGET, measure=ThreeNames)
    experts = tacit.algorithms.L2P.calibrate(Experts(n=5, horizon=5_000), **TARGET)  # mass 1/5
    assert float(names.regret_bound) == pytest.approx(float(experts.regret_bound), rel=0.01)


def test_a_curve_of_ones_own_and_a_sampler_that_errs():
    @dataclass(frozen=True)
    class Known(ThreeNames):
        @property
        def sampler_distance(self):
            return 1e-9

        def draw_curve(self, relation, rounds_per_person):
            return Gaussian(0.01)

    plan = small(measure=Known(0.7))
    assert plan.guarantee.epsilon(1e-6) < small().guarantee.epsilon(1e-6)
    assert "ASSUMED: Known has" in str(plan.guarantee)
    assert "draw_curve" in str(plan.guarantee), "it rests on that curve too"
    assert "draw_curve" not in str(small().guarantee)
    exact = replace(plan, measure=replace(plan.measure)).curve
    assert exact.delta(2.0) >= 3 * 1e-9  # one chain, three draws
    with pytest.raises(PrivacyError, match="leaves no room"):
        L2PMeasure.calibrate(Problem(horizon=100), epsilon=1.0, delta=1e-8, measure=Known)


def test_what_is_enforced():
    plan = small()
    learner = plan.start(Randomness.replayable(1))
    learner.play()
    for bad in (np.zeros(2), np.array([np.nan, 0.0, 0.0]), "x", [[0.0, 0.0, 0.0]]):
        with pytest.raises(InvalidInput, match="feedback"):
            learner.observe(bad)
    history = learner._history
    assert history.log_ratio(0, np.array([1.0, 0.0, 0.0])) == -0.7
    assert history.log_ratio(0, plan.measure.neutral) == 0.0
    assert history.log_ratio(7, np.array([1.0, 0.0, 0.0])) == 0.0  # it raises: coins take any number
    chains = learner._chains
    chains._measure = type("Steep", (), {"log_ratio": lambda self, x, f: 50.0 * x, "absorb": lambda self, f: None})()
    chains.decision, chains._reference = 1, 0
    chains.absorb(ROUNDS[0])
    assert chains._ratio == plan.measure.limit


def test_what_is_refused():
    problem = Problem(horizon=50)
    with pytest.raises(InvalidInput, match="OwnMeasure"):
        L2PMeasure(problem, None, force=0.1)
    with pytest.raises(InvalidInput, match="function that makes"):
        L2PMeasure.calibrate(problem, **TARGET)
    with pytest.raises(PrivacyError, match="pure form"):
        L2PMeasure.calibrate(problem, epsilon=1.0, delta=0.0, measure=ThreeNames)
    with pytest.raises(InvalidInput, match="extremes"):
        tacit.audit(L2PMeasure(problem, Direction(0.1), force=0.2))
    with pytest.raises(InvalidInput, match="limit"):
        L2PMeasure(problem, ThreeNames(-1.0), force=0.1)
    with pytest.raises(InvalidInput, match="mass"):
        weighted_regret(10, 1, rate=1.0, limit=1.0, mass=0.0)

    class Nameless(ThreeNames):
        __repr__ = object.__repr__

    with pytest.raises(InvalidInput, match="frozen dataclass"):
        L2PMeasure(problem, Nameless(0.1), force=0.1)

    @dataclass(frozen=True)
    class Uncertified(ThreeNames):
        def regret(self, rounds, batch):
            return np.inf

    with pytest.raises(PrivacyError, match="give the measure a `regret`"):
        L2PMeasure.calibrate(problem, **TARGET, measure=Uncertified)
