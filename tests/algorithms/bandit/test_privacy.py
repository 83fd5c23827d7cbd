"""What privacy rests on: the sensitivity of a leaf, the noise that is added, and that nothing else touches values."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.algorithms.bandit import BanditFW
from tacit.algorithms.bandit.bandit_fw import BanditFWLearner
from tacit.domains import Ball, Birkhoff, Simplex
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Bandit

DOMAINS = [Ball(2, 0.5), Ball(5, 0.5), Birkhoff(3)]


def planned(domain=DOMAINS[0], horizon=10_000, delta=1e-6, **options):
    value_range = options.pop("value_range", (0.0, 1.0))
    problem = Bandit(domain=domain, horizon=horizon, value_range=value_range)
    return BanditFW.calibrate(problem, epsilon=1.0, delta=delta, **options)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_a_leaf_moves_by_at_most_n_width_over_zeta(domain):
    plan = planned(domain, value_range=(-1.0, 2.0))
    learner = plan.start(Randomness.replayable(1))
    stream = Randomness.replayable(2).stream("transcripts")
    n, size = domain.hull_dimension, len(learner._values)
    limit, step = n * 3.0 / plan.zeta, plan.grid.step
    longest = in_l1 = 0.0
    for _ in range(2_000):
        # Any value may be reported: what enters the sum has been clipped by the learner's own check.
        reported = stream.uniform(-3.0, 4.0, size)
        learner._values[:] = learner._check_values(reported, size, 0)
        one = step * learner._estimate()
        where = int(stream.integers(size))
        learner._values[where] = learner._check(float(stream.choice([-1e300, 1e300, stream.uniform(-1.0, 2.0)])))
        shift = step * learner._estimate() - one
        longest, in_l1 = max(longest, float(np.linalg.norm(shift))), max(in_l1, float(np.abs(shift).sum()))
    # Privacy is paid for in steps, of which the ball has a few more than its radius is worth: rounding needs them.
    moved = 2 * plan.grid.units * step
    assert limit <= moved * (1 + 1e-12) <= limit * (1 + 1e-6)
    assert 0.99 * limit <= longest <= moved * (1 + 1e-12)
    assert 0.75 * math.sqrt(n) * limit <= in_l1 <= math.sqrt(n) * moved * (1 + 1e-12)
    assert plan.sensitivity == pytest.approx(limit)


def test_the_l1_sensitivity_is_attained_by_a_diagonal_direction():
    plan = planned(delta=0.0)
    learner = plan.start(Randomness.replayable(1))
    learner._directions[:] = math.sqrt(0.5)
    learner._values[:] = 0.0
    low = learner._estimate()
    learner._values[3] = 1.0
    assert np.abs(learner._estimate() - low).sum() * plan.grid.step == pytest.approx(plan.sensitivity, rel=1e-6)
    assert plan.sensitivity >= math.sqrt(2) * 2 / plan.zeta


def test_zero_out_halves_the_sensitivity_and_the_neutral_value_contributes_nothing():
    replaced, zeroed = (replace(planned(relation=relation), zeta=0.1) for relation in ("replace", "zero-out"))
    assert zeroed.sensitivity == pytest.approx(replaced.sensitivity / 2)
    assert replace(zeroed, baseline=0.2).sensitivity == pytest.approx(0.8 * 2 / 0.1)
    learner = zeroed.start(Randomness.replayable(1))
    learner._values[:] = 0.5
    np.testing.assert_array_equal(learner._estimate(), [0.0, 0.0])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_several_rounds_per_person_multiply_the_noise(delta):
    one, three = (replace(planned(delta=delta, rounds_per_person=m), zeta=0.1) for m in (1, 3))
    assert three.scale == pytest.approx(3 * one.scale)
    assert three.guarantee.rounds_per_person == 3
    assert float(three.regret_bound) > float(one.regret_bound)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_the_contract_is_met(delta, relation):
    plan = planned(delta=delta, relation=relation)
    assert plan.guarantee.epsilon() <= 1.0
    assert plan.guarantee.epsilon() >= 0.999
    assert plan.guarantee.at_delta == delta
    # Recomputed from the definition: mu = column norm times sensitivity over scale. In l1 the lattice, whose vectors
    # are checked to have whole norms, needs a little less.
    room = 1e-6 if delta == 0 else 0.0
    assert plan.scale >= plan.mechanism.scale(plan.privacy, plan.sensitivity) * (1 - room)
    assert plan.mechanism.column_norm * plan.sensitivity / plan.scale <= plan.privacy * (1 + room)


def released(plan, seed, monkeypatch):
    """The noisy sums that a whole run releases, for values that all equal the baseline."""
    sums = []
    original = BanditFWLearner._leader

    def spy(self, slope):
        sums.append(slope / self.plan.eta)
        return original(self, slope)

    with monkeypatch.context() as patch:
        patch.setattr(BanditFWLearner, "_leader", spy)
        learner = plan.start(Randomness.replayable(seed))
        learner.run(lambda points, first: np.full(len(points), 0.5))
    return np.array(sums), learner


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_planned_noise_is_added_and_four_fifths_of_it_is_told_apart(delta, monkeypatch):
    # Standardised last sums of 800 runs in 4 dimensions: their mean square is 1 within 5 standard errors.
    plan = planned(Ball(4, 0.5), horizon=16, delta=delta)
    last = np.array([released(plan, seed, monkeypatch)[0][-1] for seed in range(800)])
    squares = (last / plan.mechanism.standard_deviations(plan.scale)[-1]) ** 2
    error = 5 * np.std(squares) / math.sqrt(squares.size)
    assert abs(np.mean(squares) - 1) < error
    assert abs(np.mean(0.64 * squares) - 1) > error


@pytest.mark.parametrize("horizon", [9, 16, 90, 1000])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_mechanism_gets_every_leaf_it_was_planned_for_and_no_more(horizon, delta, monkeypatch):
    plan = planned(horizon=horizon, delta=delta)
    sums, learner = released(plan, 1, monkeypatch)
    assert len(sums) == plan.mechanism.steps == math.isqrt(horizon) - 2
    assert learner._core._sums.step == plan.mechanism.steps
    assert learner.rounds == horizon


def test_values_of_the_last_batches_change_no_point():
    plan = planned(horizon=1000)
    batch, explored = plan.batch_length, plan.batch_length * plan.batches

    def points(late):
        def values(rows, first):
            rounds = np.arange(first, first + len(rows))
            return np.where(rounds < explored - 2 * batch, 0.3, late)

        return plan.start(Randomness.replayable(4)).run(values)

    np.testing.assert_array_equal(points(0.0), points(1.0))


def printed(domain=DOMAINS[0], horizon=10_000, delta=1e-6, value_range=(0.0, 1.0), **options):
    problem = Bandit(domain=domain, horizon=horizon, value_range=value_range)
    return BanditFW.as_printed(problem, epsilon=1.0, delta=delta, **options)


class TestPrintedNoise:
    def test_the_scales_are_those_of_the_lemmas(self):
        plan = printed(delta=0.0)
        assert plan.scale == pytest.approx(100 * 2 * math.log(1e4), rel=1e-4)
        plan = printed()
        tail = math.log(10_002 / 1e-6)
        scale = 10 * math.sqrt(2) * math.log(1e4) * math.log(1e10) * (tail + math.sqrt(51 * tail))
        assert scale <= plan.scale <= scale * (1 + 1e-4)  # on a lattice that is coarse at so little privacy
        assert (plan.zeta, plan.eta) == pytest.approx((math.sqrt(2) / 10, 1 / (math.sqrt(2) * 1000)))

    @pytest.mark.parametrize(("delta", "factor"), [(0.0, 40), (1e-6, 1000)])
    def test_it_is_much_larger_than_needed_and_says_what_it_gives(self, delta, factor):
        paper = printed(horizon=100_000, delta=delta, line_14="plus")
        needed = replace(planned(horizon=100_000, delta=delta), zeta=paper.zeta, eta=paper.eta)
        worst = [float(p.mechanism.standard_deviations(p.scale).max()) for p in (paper, needed)]
        assert worst[0] > factor * worst[1]
        assert paper.privacy < needed.privacy / 10
        assert paper.guarantee.epsilon() < 0.1
        assert paper.vacuous

    def test_where_it_does_not_suffice_it_starts_for_simulations_only(self):
        plan = printed(value_range=(0.0, 1e6), delta=0.0)
        assert plan.printed_status == "exceeded"
        assert any("beyond the printed" in line for line in plan.printed.evidence)
        with pytest.raises(PrivacyError, match="for simulations: asked epsilon=1, proved"):
            plan.start()
        plan.start(Randomness.replayable(1))

    def test_the_old_spelling_names_the_new_one(self):
        with pytest.raises(InvalidInput, match=r"BanditFW\.as_printed"):
            planned(calibration="paper")

    def test_a_short_horizon_names_one_that_is_enough(self):
        simplex = Simplex(3)
        with pytest.raises(
            PrivacyError, match=r"T=100 rounds needs a smoothing radius of 0.632.*T=577 would be enough"
        ):
            printed(simplex, horizon=100)
        assert printed(simplex, horizon=577).zeta < simplex.inner_radius
        with pytest.raises(PrivacyError, match="would be enough"):
            printed(simplex, horizon=575)
