import itertools

import numpy as np
import pytest

from exact.tracking_law import hockey_stick, meta_expert_law, transcript_law
from tacit.accounting.rounding import EXACT
from tacit.algorithms.experts import LazyExperts
from tacit.algorithms.tracking import LazyFixedShare
from tacit.algorithms.tracking.lazy_fixed_share import MarkovPrior, path_prior
from tacit.algorithms.tracking.tracking_plan import path_complexity
from tacit.noise.lattice import LOSS_UNITS, quantise_losses
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import hilbert_error
from tacit.problems import Tracking


def on_the_lattice(losses):
    return quantise_losses(losses) / LOSS_UNITS


INSTANCES = [(2, 4, 1), (2, 6, 2), (2, 6, 3), (3, 4, 2), (3, 5, 1)]


def tracking(n, horizon, switches):
    return Tracking(n=n, horizon=horizon, switches=switches)


@pytest.mark.parametrize(("n", "rounds", "batch"), INSTANCES)
def test_joint_law_is_that_of_all_paths(n, rounds, batch):
    losses = on_the_lattice(Randomness.replayable(n * rounds + batch).stream("losses").random((rounds, n)))
    plan = LazyFixedShare(tracking(n, rounds, 2), eta=0.9, force=0.2, batch=batch)
    law, oracle = transcript_law(plan, losses), meta_expert_law(plan, losses)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    for actions in set(law) | set(oracle):
        assert law.get(actions, 0.0) == pytest.approx(oracle.get(actions, 0.0), abs=1e-12)


@pytest.mark.parametrize("batch", [1, 2])
def test_exact_hockey_stick_lies_under_the_certified_curve(batch):
    rounds = 4
    plan = LazyFixedShare(tracking(2, rounds, 1), eta=0.4, force=0.3, batch=batch)
    # Constant rows are alike: only the relative losses count, so (0,0) stands for (1,1) too.
    sequences = list(itertools.product([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0)], repeat=rounds))
    laws = {s: meta_expert_law(plan, s) for s in sequences}
    curve = plan.guarantee.curve
    worst = dict.fromkeys((0.0, 0.1, 0.25, 0.5, 1.0), 0.0)
    for first, second in itertools.permutations(sequences, 2):
        if sum(a != b for a, b in zip(first, second, strict=True)) == 1:
            for epsilon in worst:
                worst[epsilon] = max(worst[epsilon], hockey_stick(laws[first], laws[second], epsilon))
    for epsilon, exact in worst.items():
        assert exact <= curve.delta(epsilon)
    assert worst[0.0] > curve.delta(0.0) / 8  # the planned moves hide some of it


def switches_of(law):
    return sum(p * sum(a != b for a, b in itertools.pairwise(actions)) for actions, p in law.items())


@pytest.mark.parametrize(("n", "rounds", "switches", "batch"), [(2, 6, 2, 2), (3, 5, 2, 1), (3, 6, 2, 3)])
def test_expected_switches_bound_the_exact_ones(n, rounds, switches, batch):
    plan = LazyFixedShare(tracking(n, rounds, switches), eta=0.9, force=0.2, batch=batch)
    losses = on_the_lattice(Randomness.replayable(4).stream("losses").random((rounds, n)))
    exact = switches_of(meta_expert_law(plan, losses))
    assert exact <= plan.expected_switches <= rounds - 1


def test_pure_curve_bounds_every_transcript():
    plan = LazyFixedShare(tracking(2, 4, 1), eta=0.4, force=0.3, max_redraws=2, delta=0.0)
    uncapped = LazyFixedShare(tracking(2, 4, 1), eta=0.4, force=0.3)
    first, second = [[0, 0]] * 4, [[0, 1], *[[0, 0]] * 3]
    law, other = meta_expert_law(uncapped, first), meta_expert_law(uncapped, second)
    assert max(abs(np.log(law[a] / other[a])) for a in law) <= uncapped.guarantee.epsilon(0.0)
    assert plan.guarantee.epsilon() < uncapped.guarantee.epsilon(0.0)


def test_the_contract_includes_the_error_of_the_weights():
    plan = LazyFixedShare(tracking(4, 200, 3), eta=0.3, force=0.1)
    assert plan.curve.draw.width == 0.6 + 4 * hilbert_error(4) * 200
    assert plan.guarantee.numerics.startswith("exact up to an extra epsilon of ")
    assert LazyFixedShare(tracking(4, 200, 3), eta=17.0, force=0.1).guarantee.numerics.startswith("idealized")


def test_weights_are_fixed_share():
    losses = Randomness.replayable(6).stream("losses").random((50, 4))
    prior = MarkovPrior(4, 51, 5, 0.3)
    weights = prior.initial()
    prior.advance(weights, losses)
    expected = np.full(4, 0.25)
    for row in losses:
        expected = expected * np.exp(-0.3 * row)
        expected /= expected.sum()
        expected = (1 - prior.share) * expected + prior.share * (1 - expected) / 3
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    assert prior.share == 0.1


def test_complexity_covers_every_number_of_switches():
    for n, rounds, switches in [(2, 5, 4), (3, 6, 5), (2, 8, 1), (4, 5, 0)]:
        prior = path_prior(n, rounds, switches, 1.0)
        share = prior.share if switches else 0.0
        weights = [(share / (n - 1)) ** m * (1 - share) ** (rounds - 1 - m) / n for m in range(switches + 1)]
        assert prior.complexity == pytest.approx(-np.log(min(weights)), rel=1e-9)
    assert path_complexity(1, 10, 3, 0.5) == 0.0


@pytest.mark.parametrize(("eta", "batch"), [(0.02, 2), (0.5, 1), (40.0, 3)])
def test_without_switches_it_is_lazy_experts_on_integer_sums(eta, batch):
    """Bit for bit: no share, no float weights; an expert may fall behind by more than floats can weigh."""
    problem = tracking(4, 3000, 0)
    losses = Randomness.replayable(2).stream("losses").random((3000, 4)) * [1.0, 1.0, 0.9, 0.5]
    plan = LazyFixedShare(problem, eta=eta, force=0.05, batch=batch)
    experts = LazyExperts(problem, eta=eta, force=0.05, batch=batch)
    assert plan.guarantee.numerics == EXACT
    assert plan.guarantee.epsilon(1e-6) == experts.guarantee.epsilon(1e-6)
    assert float(plan.regret_bound) == float(experts.regret_bound)
    learner, other = (each.start(Randomness.replayable(3)) for each in (plan, experts))
    np.testing.assert_array_equal(learner.run(losses), other.run(losses))
    loop = plan.start(Randomness.replayable(3))
    for row in losses[:500]:
        loop.play()
        loop.observe(row)
    again = plan.restore(loop.state_dict())
    assert again._weights.dtype == np.int64
    np.testing.assert_array_equal(again.run(losses[500:]), plan.start(Randomness.replayable(3)).run(losses)[500:])
    assert learner._switches == other._switches
    summed = quantise_losses(losses[: plan.decisions * batch]).sum(axis=0)
    assert np.all(learner._weights <= summed)
    assert np.exp(-eta * (summed.max() - summed.min()) / LOSS_UNITS) < 1e-300 or eta < 1


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_calibration_meets_the_target(delta):
    plan = LazyFixedShare.calibrate(tracking(10, 20_000, 3), epsilon=1.0, delta=delta)
    assert 0.99 < plan.guarantee.epsilon() <= 1.0
    assert not plan.vacuous
    assert (plan.max_redraws is None) == (delta > 0)


def test_capped_learner_stops_redrawing():
    losses = np.ones((300, 3)) * [0.0, 1.0, 1.0]
    plan = LazyFixedShare(tracking(3, 300, 0), eta=0.5, force=0.5, max_redraws=4, delta=0.0)
    learner = plan.start(Randomness.replayable(1))
    actions = learner.run(losses)
    assert learner._redraws == 4
    assert len(set(actions[100:])) == 1
