import itertools

import numpy as np
import pytest

from exact.tracking_law import expected_moves, hockey_stick, meta_expert_law, transcript_law
from tacit.accounting.rounding import EXACT
from tacit.algorithms.experts import LazyExperts
from tacit.algorithms.tracking import LazyFixedShare
from tacit.algorithms.tracking.lazy_fixed_share import MarkovPrior, UniformPrior, path_prior
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


@pytest.mark.parametrize(
    ("n", "rounds", "batch", "prior"),
    [(*instance, "markov") for instance in INSTANCES]
    + [(2, 4, 1, "uniform"), (2, 6, 3, "uniform"), (3, 4, 2, "uniform")]
    + [pytest.param(3, 5, 1, "uniform", marks=pytest.mark.slow)],
)
def test_joint_law_is_that_of_all_paths(n, rounds, batch, prior):
    losses = on_the_lattice(Randomness.replayable(n * rounds + batch).stream("losses").random((rounds, n)))
    switches = 1 if (n, prior) == (3, "uniform") else 2  # keeps the number of outcomes small
    plan = LazyFixedShare(tracking(n, rounds, switches), eta=0.9, force=0.2, batch=batch, prior=prior)
    law, oracle = transcript_law(plan, losses), meta_expert_law(plan, losses)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    for actions in set(law) | set(oracle):
        assert law.get(actions, 0.0) == pytest.approx(oracle.get(actions, 0.0), abs=1e-12)


@pytest.mark.parametrize(("prior", "batch"), [("markov", 1), ("markov", 2), ("uniform", 1)])
def test_exact_hockey_stick_lies_under_the_certified_curve(prior, batch):
    rounds = 4
    plan = LazyFixedShare(tracking(2, rounds, 1), eta=0.4, force=0.3, batch=batch, prior=prior)
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
@pytest.mark.parametrize("prior", ["markov", "uniform"])
def test_expected_switches_bound_the_exact_ones(n, rounds, switches, batch, prior):
    plan = LazyFixedShare(tracking(n, rounds, switches), eta=0.9, force=0.2, batch=batch, prior=prior)
    losses = on_the_lattice(Randomness.replayable(4).stream("losses").random((rounds, n)))
    exact = switches_of(meta_expert_law(plan, losses))
    assert exact <= plan.expected_switches <= rounds - 1
    if prior == "uniform":
        assert expected_moves(n, rounds, switches, 0.9, 0.2, batch, losses) == pytest.approx(exact, rel=1e-12)


def test_every_drawn_path_may_have_all_its_moves_to_come():
    """S + redraws = 7 was stated here, where 8.44 switches are made on average: one expert is good all along."""
    losses = np.ones((16, 8))
    losses[:, 0] = 0.0
    plan = LazyFixedShare(tracking(8, 16, 4), eta=30.0, force=0.0, batch=4, prior="uniform")
    exact = expected_moves(8, 16, 4, 30.0, 0.0, 4, losses)
    assert exact == pytest.approx(8.445, abs=1e-3)
    assert 7.0 < exact <= plan.expected_switches


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
    for other in ({"prior": "uniform"}, {"eta": 17.0}):
        assert LazyFixedShare(tracking(4, 200, 3), **{"eta": 0.3, "force": 0.1, **other}).guarantee.numerics.startswith(
            "idealized"
        )


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


def test_uniform_prior_survives_extreme_losses():
    prior = UniformPrior(3, 4001, 1, 1.0)
    weights = prior.initial()
    losses = np.zeros((4000, 3))
    losses[:1000, 1:] = 1.0  # expert 0 wins by 1000 nats, then loses by 2000, twice what one switch can mend
    losses[1000:3000, 0] = 1.0
    losses[3000:, :2] = 1.0
    prior.advance(weights, losses)
    law = prior.law(weights, 4000).reshape(2, 3).sum(axis=0)
    assert np.argmax(law) == 2  # paths 2 2 2 (cost 1000) and 0 2 2 (cost 0) end there
    prior = UniformPrior(2, 3001, 1, 1.0)
    weights = prior.initial()
    losses = np.zeros((3000, 2))
    losses[:1000, 1] = losses[1000:2000, 0] = losses[2000:, 1] = 1.0
    prior.advance(weights, losses)
    # Costs: 0 0 0 -> 1000, 0 then 1 -> 1000 or more, 1 then 0 -> 1000: both ends are alive.
    assert (prior.law(weights, 3000).reshape(2, 2).sum(axis=0) > 0).all()


def test_planned_moves_follow_the_completions():
    prior = UniformPrior(3, 6, 2, 1.0)
    paths = [p for p in itertools.product(range(3), repeat=6) if sum(a != b for a, b in itertools.pairwise(p)) <= 2]
    assert prior.complexity == pytest.approx(np.log(len(paths)), abs=1e-12)
    moves = prior.moves(0, 6)
    first = sum(p[0] != p[1] for p in paths) / len(paths)
    assert moves[0, 0] == pytest.approx(first, abs=1e-12)
    one = [p for p in paths if p[0] != p[1]]
    assert moves[1, 1] == pytest.approx(sum(p[1] != p[2] for p in one) / len(one), abs=1e-12)
    assert (moves[:, 2] == 0).all()
    assert (moves[5] == 0).all()


def test_complexity_covers_every_number_of_switches():
    for n, rounds, switches in [(2, 5, 4), (3, 6, 5), (2, 8, 1), (4, 5, 0)]:
        prior = path_prior("markov", n, rounds, switches, 1.0)
        share = prior.share if switches else 0.0
        weights = [(share / (n - 1)) ** m * (1 - share) ** (rounds - 1 - m) / n for m in range(switches + 1)]
        assert prior.complexity == pytest.approx(-np.log(min(weights)), rel=1e-9)
    assert path_complexity(1, 10, 3, 0.5) == 0.0


@pytest.mark.parametrize("prior", ["markov", "uniform"])
@pytest.mark.parametrize(("eta", "batch"), [(0.02, 2), (0.5, 1), (40.0, 3)])
def test_without_switches_it_is_lazy_experts_on_integer_sums(prior, eta, batch):
    """Bit for bit: no share, no float weights; an expert may fall behind by more than floats can weigh."""
    problem = tracking(4, 3000, 0)
    losses = Randomness.replayable(2).stream("losses").random((3000, 4)) * [1.0, 1.0, 0.9, 0.5]
    plan = LazyFixedShare(problem, eta=eta, force=0.05, batch=batch, prior=prior)
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


def test_one_expert_has_one_path():
    assert UniformPrior(1, 10, 2, 1.0).complexity == 0.0
    assert (UniformPrior(1, 10, 2, 1.0).moves(0, 10) == 0).all()
