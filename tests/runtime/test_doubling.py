"""Unknown horizon: epochs on disjoint data, no extra privacy cost, an honest bound."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit import (
    Arms,
    Convex,
    Experts,
    Guarantee,
    InvalidInput,
    Ledger,
    PrivacyError,
    ProtocolError,
    Randomness,
    Tracking,
)
from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import Gaussian, Pure
from tacit.algorithms import (
    BatchedTsallis,
    HedgeOnSums,
    LazyExperts,
    NoisyMirrorDescent,
    PhasedArms,
    PrivateFTRL,
    RestartOnShift,
    ScheduledExperts,
)
from tacit.auditing.script import transcript_law
from tacit.domains import Ball
from tacit.losses import CustomLoss, LogisticLoss
from tacit.runtime import doubling
from tacit.runtime.doubling import FIRST_EPOCH, REFERENCE_ROUNDS, Doubling
from tacit.runtime.target import Target

OPEN = Experts(n=3, horizon=None, loss_range=(0.0, 2.0))


@pytest.fixture(scope="module")
def plan():
    return ScheduledExperts.calibrate(OPEN, epsilon=1.0, delta=1e-6)


def test_epochs_double_and_each_meets_the_whole_budget(plan):
    assert isinstance(plan, Doubling)
    for index in range(6):
        epoch = plan.epoch(index)
        assert epoch.horizon == FIRST_EPOCH * 2**index
        assert epoch.guarantee.epsilon(1e-6) <= 1.0
        assert plan.epoch(index) is epoch


@pytest.mark.parametrize(
    "changes", [{"relation": "zero-out"}, {"numerics": "float"}, {"adversary": "adaptive"}, {"hold": False}]
)
def test_plans_that_differ_have_other_signatures(changes):
    one, other = (HedgeOnSums.calibrate(OPEN, epsilon=1.0, delta=1e-6, **more) for more in ({}, changes))
    assert one != other
    assert one.signature != other.signature


def test_guarantee_is_the_point_that_all_epochs_share(plan):
    guarantee = plan.guarantee
    assert guarantee.epsilon() == 1.0
    assert guarantee.at_delta == 1e-6
    assert guarantee.epsilon(1e-7) == np.inf
    assert "parallel composition over disjoint epochs" in guarantee.theorem
    assert Guarantee.from_json(guarantee.to_json()) == guarantee
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert guarantee.delta(epsilon) >= max(plan.epoch(k).guarantee.delta(epsilon) for k in range(4)) * (1 - 1e-9)


def test_epochs_of_one_curve_share_the_whole_curve():
    """Gaussian noise at one target is the same in every epoch: its curve is known everywhere, not at one point."""
    plan = HedgeOnSums.calibrate(OPEN, epsilon=1.0, delta=1e-6)
    curve = plan.guarantee.curve
    assert isinstance(curve.curve, Gaussian)
    assert 0.999999 <= plan.guarantee.epsilon() <= 1.0 + 1e-9
    assert np.isfinite(plan.guarantee.epsilon(1e-9))
    for index in range(4):
        assert plan.epoch(index).guarantee.curve.curve.mu <= curve.curve.mu
    pure = HedgeOnSums.calibrate(OPEN, epsilon=1.0, delta=0.0)
    assert pure.guarantee.curve == Pure(1.0)
    twice = plan.guarantee.compose(plan.guarantee)
    assert twice.epsilon(1e-6) == pytest.approx(Gaussian(curve.curve.mu * np.sqrt(2)).epsilon(1e-6), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-12), (12.0, 1e-9), (3.0, 1e-12), (1.0, 1e-6)])
def test_unknown_horizons_meet_their_target(epsilon, delta):
    """What the lattice may add was fixed, 1e-20 times 1 + e^epsilon, and at small deltas more than was left of them."""
    plan = HedgeOnSums.calibrate(OPEN, epsilon=epsilon, delta=delta)
    assert plan.guarantee.epsilon() <= epsilon
    assert plan.guarantee.delta(epsilon) <= delta
    Ledger(epsilon=epsilon, delta=delta).record("Hedge", plan.guarantee)
    assert plan.epoch(14).guarantee.epsilon() <= epsilon


def test_all_epochs_have_one_kind_of_noise():
    """Epoch 3 of this problem is better off with the other kind, and used to be refused in the middle of a run."""
    problem = Tracking(n=36, horizon=None, switches=0, adversary="adaptive")
    plan = NoisyMirrorDescent.calibrate(problem, epsilon=0.1, delta=1e-6)
    assert {plan.epoch(index).noise for index in range(6)} == {plan.epoch(0).noise}
    alone = NoisyMirrorDescent.calibrate(problem, epsilon=0.1, delta=1e-6, noise="cube")
    assert alone.epoch(3).noise == "cube"
    with pytest.raises(InvalidInput, match="besides the target's"):
        NoisyMirrorDescent.calibrate(problem, epsilon=0.1, delta=1e-6, blocks=3)


def test_contracts_of_unknown_horizons_compose(plan):
    """They are known at one point: it used to add up to infinity."""
    twice = plan.guarantee.compose(plan.guarantee)
    assert twice.at_delta == 2e-6
    assert 1.99 < twice.epsilon() <= 2.0


def test_an_epoch_beyond_the_target_never_begins():
    def make(problem):
        rate = 0.01 if problem.horizon == FIRST_EPOCH else 0.3  # the second epoch is too loud
        return LazyExperts(problem, eta=rate, force=0.3)

    target = Target(LazyExperts(replace(OPEN, horizon=FIRST_EPOCH), eta=0.01, force=0.3).guarantee.epsilon(1e-6), 1e-6)
    plan = Doubling(OPEN, target, make)
    assert plan.guarantee.epsilon() == target.epsilon
    with pytest.raises(PrivacyError, match="Epoch 1 of LazyExperts"):
        plan.epoch(1)
    learner = plan.start(Randomness.replayable(1))
    with pytest.raises(PrivacyError, match="Epoch 1 of LazyExperts"):
        learner.run(np.zeros((FIRST_EPOCH + 1, 3)))
    with pytest.raises(PrivacyError, match="Epoch 0 of LazyExperts"):
        Doubling(OPEN, Target(0.1, 1e-6), make).guarantee  # noqa: B018
    mixed = [
        HedgeOnSums.calibrate(replace(OPEN, horizon=h), epsilon=1.0, delta=d) for h, d in ((1024, 1e-6), (2048, 0))
    ]
    plan = Doubling(OPEN, Target(1.0, 1e-6), lambda problem: mixed[problem.horizon > FIRST_EPOCH])
    with pytest.raises(PrivacyError, match="all epochs must share one"):
        plan.epoch(1)


def test_epochs_are_fresh_learners_on_their_own_data(plan):
    """The learner of epoch k is the epoch's own plan, started from child k of the source, on its rounds only."""
    rounds = FIRST_EPOCH + 2 * FIRST_EPOCH + 100
    losses = 2 * Randomness.replayable(3).stream("losses").random((rounds, 3))
    actions = plan.start(Randomness.replayable(8)).run(losses)
    first = 0
    for index, length in enumerate((FIRST_EPOCH, 2 * FIRST_EPOCH, 100)):
        own = plan.epoch(index).start(Randomness.replayable(8).child(index))
        np.testing.assert_array_equal(actions[first : first + length], own.run(losses[first : first + length]))
        first += length


def test_other_epochs_data_changes_nothing(plan):
    losses = 2 * Randomness.replayable(3).stream("losses").random((FIRST_EPOCH + 500, 3))
    changed = losses.copy()
    changed[:FIRST_EPOCH] = 2 - changed[:FIRST_EPOCH]
    one = plan.start(Randomness.replayable(8)).run(losses)
    other = plan.start(Randomness.replayable(8)).run(changed)
    assert not np.array_equal(one[:FIRST_EPOCH], other[:FIRST_EPOCH])
    np.testing.assert_array_equal(one[FIRST_EPOCH:], other[FIRST_EPOCH:])


def test_regret_bound_adds_epochs(plan):
    first, second = plan.epoch(0), plan.epoch(1)
    assert float(plan.regret_bound_at(FIRST_EPOCH)) == pytest.approx(float(first.regret_bound))
    both = float(plan.regret_bound_at(3 * FIRST_EPOCH))
    assert both == pytest.approx(float(first.regret_bound) + float(second.regret_bound))
    assert float(plan.regret_bound_at(1)) == pytest.approx(2.0)  # one round costs at most the range
    bounds = [float(plan.regret_bound_at(t)) for t in (1, 10, 100, 1024, 1025, 3000, 3072, 10_000)]
    assert bounds == sorted(bounds)
    assert float(plan.regret_bound) == float(plan.regret_bound_at(REFERENCE_ROUNDS))
    assert any(str(REFERENCE_ROUNDS) in text for text in plan.regret_bound.assumptions)
    assert plan.trivial_regret == pytest.approx(2.0 * REFERENCE_ROUNDS)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InvalidInput, match="'rounds'"):
            plan.regret_bound_at(wrong)


@pytest.mark.parametrize(("algorithm", "epsilon"), [(ScheduledExperts, 2.0), (LazyExperts, 1.0)])
def test_plans_of_other_targets_and_algorithms_do_not_share_states(plan, algorithm, epsilon):
    other = algorithm.calibrate(OPEN, epsilon=epsilon, delta=1e-6)
    with pytest.raises(InvalidInput, match="state"):
        other.restore(plan.start().state_dict())


def test_several_rounds_per_person_are_refused_where_nothing_is_proved():
    for algorithm in (LazyExperts, ScheduledExperts):
        with pytest.raises(PrivacyError, match="An unknown horizon has no proved accounting"):
            algorithm.calibrate(OPEN, epsilon=1.0, delta=1e-6, rounds_per_person=2)


def test_a_plan_whose_first_epoch_cannot_begin_is_refused_at_once():
    """It was calibrated, and `start` raised."""
    with pytest.raises(PrivacyError, match="plays each of its 2000 arms once"):
        PhasedArms.calibrate(Arms(n=2000, horizon=None), epsilon=1.0, delta=0.0)


SEVERAL = {
    "hedge": lambda **target: HedgeOnSums.calibrate(OPEN, **target),
    "ftrl": lambda **target: PrivateFTRL.calibrate(Convex(domain=Ball(2), loss=LogisticLoss(), horizon=None), **target),
    "arms": lambda **target: PhasedArms.calibrate(Arms(n=3, horizon=None), adversary="stochastic", **target),
    "tsallis": lambda **target: BatchedTsallis.calibrate(Arms(n=3, horizon=None), **target),
}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", [*SEVERAL, "lazy"])
def test_each_round_of_a_person_has_its_share(name, delta):
    if name == "lazy" and delta:
        return
    several = {"epsilon": 1.0, "delta": delta, "rounds_per_person": 5}
    plan = (SEVERAL.get(name) or (lambda **target: LazyExperts.calibrate(OPEN, **target)))(**several)
    assert plan.guarantee.rounds_per_person == 5
    assert plan.guarantee.epsilon(delta) <= 1.0
    for index in range(3):
        curve = plan.epoch(index).guarantee.curve
        assert plan.epoch(index).rounds_per_person == 1
        if isinstance(plan.guarantee.curve, Pure):
            assert 0.19 < curve.pure() <= 0.2
        else:
            mu = getattr(curve, "curve", curve).mu
            assert 0.999 < 5 * mu / gaussian_mu(1.0, delta) <= 1
    verdict = tacit.verify(tacit.contract(plan))
    assert verdict.answer == "yes", verdict
    assert 0.95 < verdict.epsilon <= 1.0
    louder = {**tacit.contract(plan), "rounds_per_person": 6}
    with pytest.raises(InvalidInput, match="contradict"):
        tacit.verify(louder)


@pytest.mark.parametrize("rounds", [(0, 3), (3, 5)])
def test_rounds_of_a_person_in_two_epochs_counted_exactly(monkeypatch, rounds):
    """All outcomes of epochs of two and four rounds, on streams that differ in two rounds, wherever these stand."""
    monkeypatch.setattr(doubling, "FIRST_EPOCH", 2)
    plan = LazyExperts.calibrate(Experts(n=2, horizon=None), epsilon=3.0, delta=0.0, rounds_per_person=2)
    stream = [(1.0, 0.0), (0.0, 1.0)] * 3
    neighbour = [row[::-1] if number in rounds else row for number, row in enumerate(stream)]
    one, other = (transcript_law(plan, list(map(np.array, rows))) for rows in (stream, neighbour))
    assert one.keys() == other.keys()
    loss = max(abs(np.log(one[outcome] / other[outcome])) for outcome in one)
    assert 1e-3 < loss <= 3.0


def test_rounds_that_an_epoch_has_shown_are_counted_or_nothing_goes_on(monkeypatch):
    """An interrupt while a failed run is cleared up left them out of the count, and a retry would add people twice."""
    loss = CustomLoss(lambda x, z: 0.0, lambda x, z: [1.0 / z], lipschitz=1.0)
    problem = Convex(domain=Ball(1), loss=loss, horizon=None)
    learner = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6).start()

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(learner, "_count", interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.run([1.0, 2.0, 0.0])
    assert learner._inner.rounds == 2
    for call in (learner.play, learner.state_dict, lambda: learner.run([1.0])):
        with pytest.raises(ProtocolError, match="interrupted"):
            call()


def test_the_condition_of_an_epochs_bound_is_kept():
    problem = Tracking(n=3, horizon=None, switches=1, adversary="stochastic")
    plan = RestartOnShift.calibrate(problem, epsilon=1.0, delta=0.0, adversary="stochastic")
    assert plan.regret_bound.condition == f"in every epoch {plan.epoch(0).regret_bound.condition}"
    assert "restarts" in plan.regret_bound.condition
    assert ScheduledExperts.calibrate(OPEN, epsilon=1.0, delta=1e-6).regret_bound.condition == ""


def test_epochs_are_planned_whatever_numpy_was_told():
    """Accounting underflows, and a border in the middle of a stream ended in an error and half a round."""
    plan = LazyExperts.calibrate(Experts(n=3, horizon=None), epsilon=1.0, delta=1e-6)
    with np.errstate(all="raise"):
        learner = plan.start(Randomness.replayable(1))
        learner.run(np.zeros((FIRST_EPOCH - 1, 3)))
        learner.play()
        learner.observe(np.zeros(3))
    assert learner.rounds == FIRST_EPOCH
