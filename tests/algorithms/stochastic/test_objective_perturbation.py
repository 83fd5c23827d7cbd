"""Objective perturbation as one release."""

from dataclasses import replace
from fractions import Fraction
from threading import Barrier, BrokenBarrierError, Thread

import numpy as np
import pytest
from scipy.special import expit

import tacit
from tacit.accounting.guarantee import REPLACE, ZERO_OUT
from tacit.accounting.rounding import IDEALIZED
from tacit.algorithms.stochastic import ObjectivePerturbation
from tacit.algorithms.stochastic.objective_perturbation.model_noise import LatticeModelNoise
from tacit.algorithms.stochastic.objective_perturbation.objective_perturbation import (
    ObjectivePerturbationLearner,
    one_sided,
)
from tacit.domains import Ball
from tacit.errors import InvalidInput, PrivacyError, ProtocolError
from tacit.losses import ConvexFamily, CustomLoss, HuberLoss, LogisticLoss, SmoothedHingeLoss, SquaredLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA
from tacit.problems import Stochastic
from tacit.testing.rounds import resealed

D = 4
TRUE = np.array([3.0, -2.0, 1.0, 0.0])


def records(count, seed):
    stream = Randomness.replayable(seed).stream("records")
    X = stream.standard_normal((count, D))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, np.where(stream.random(count) < expit(X @ TRUE), 1.0, -1.0)


def calibrated(horizon=500, loss=None, radius=4.0, **options):
    problem = Stochastic(domain=Ball(D, radius=radius), loss=loss or LogisticLoss(), horizon=horizon)
    return ObjectivePerturbation.calibrate(problem, **{"epsilon": 1.0, "delta": 1e-6, **options})


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), SmoothedHingeLoss(), HuberLoss(transition=0.5), LogisticLoss(data_norm=3.0)]
)
@pytest.mark.parametrize("relation", [ZERO_OUT, REPLACE])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (5.0, 1e-5), (1.0, 0.0)])
def test_calibration_meets_the_target_and_wastes_little(loss, relation, epsilon, delta):
    for rule in ("certified", "practical", 5.0 if epsilon > 0.5 else 50.0):
        plan = calibrated(loss=loss, relation=relation, epsilon=epsilon, delta=delta, regularisation=rule)
        spent = plan.guarantee.epsilon(delta)
        assert 0.999 * epsilon <= spent <= epsilon * (1 + 1e-9)
        less = ObjectivePerturbation(
            **{**plan.parameters, "problem": plan.problem, "noise_scale": plan.noise_scale * 0.99}
        )
        assert less.guarantee.epsilon(delta) > epsilon


def test_threads_that_ask_at_once_get_one_model(monkeypatch):
    """Each drew noise of its own: two models of the same records at the price of one."""
    learner, meeting, models = calibrated().start(), Barrier(2), []
    learner.run(records(500, 2))
    honest = ObjectivePerturbationLearner._close_last

    def meet(self):
        try:
            meeting.wait(0.2)  # the other thread does not come, because it waits for its turn
        except BrokenBarrierError:
            honest(self)

    monkeypatch.setattr(ObjectivePerturbationLearner, "_close_last", meet)
    threads = [Thread(target=lambda: models.append(learner.release().tolist())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meeting.broken
    assert models == [learner.model.tolist()] * 2


def test_the_model_minimises_the_perturbed_objective():
    plan = calibrated()
    learner = plan.start(Randomness.replayable(1))
    X, y = records(500, 2)
    learner.run((X, y))
    with pytest.raises(ProtocolError, match="has not released its model"):
        _ = learner.model
    model = learner.release()
    Z = plan.noise.linear_term(DiscreteGaussian.from_streams(Randomness.replayable(1), "noise"))
    residual = -(y * expit(-y * (X @ model))) @ X + plan.regularisation * model + Z
    # Up to the noise that covers the certified distance.
    assert np.linalg.norm(residual) < (500 / 4 + plan.regularisation) * plan.protection * 6
    assert plan.protection < 1e-5
    assert plan.accuracy < plan.protection / 10
    assert np.array_equal(model, learner.model)  # one release, however often it is read


def test_the_contract_is_exact_and_says_what_the_lattice_costs():
    """The numbers of one model in ten dimensions: mu_r, the words, and what they are worth in epsilon."""
    problem = Stochastic(domain=Ball(10), loss=LogisticLoss(), horizon=1000)
    plan, ideal = (
        ObjectivePerturbation.calibrate(problem, epsilon=1.0, delta=1e-6, numerics=numerics)
        for numerics in ("exact", "float")
    )
    assert 2 * plan.accuracy / plan.protection == pytest.approx(0.005915, abs=5e-7)
    assert plan.noise.shift == pytest.approx(0.005921, abs=5e-7)
    assert plan.guarantee.numerics == "exact up to an extra epsilon of 8e-07"
    assert plan.guarantee.epsilon() <= 1.0 * (1 + 1e-9)
    assert ideal.guarantee.numerics == IDEALIZED
    assert calibrated(delta=0.0).guarantee.numerics == IDEALIZED  # a coupling would cost a delta
    assert float(plan.regret_bound) <= 1.00001 * float(ideal.regret_bound)


def test_the_shift_of_a_release_is_bounded_in_integers():
    """Two points as far from one minimiser as was certified, at the edges of rounding, in dimension 1 and 7."""
    stream = Randomness.replayable(3).stream("points")
    for d in (1, 7):
        noise = LatticeModelNoise(d, sigma=5.0, ridge=0.5, accuracy=1e-9, protection=3e-7, reach=20.0)
        coupled = 2.0**-47 * 5.0 * np.sqrt(d) / 0.5
        limit, worst = Fraction(noise.shift * GAUSSIAN_SIGMA), Fraction(0)
        silent = DiscreteGaussian.from_streams(Randomness.replayable(1), "noise")
        silent.draw = lambda count: np.zeros(count, dtype=np.int64)
        for _ in range(300):
            exact = stream.uniform(-20, 20, d)
            direction = stream.standard_normal(d)
            direction *= (1e-9 + coupled) / np.linalg.norm(direction)
            one, two = (noise.released(silent, exact + sign * direction) for sign in (1, -1))
            steps = [[round(Fraction(x) / Fraction(noise.step)) for x in model.tolist()] for model in (one, two)]
            square = sum((a - b) ** 2 for a, b in zip(*steps, strict=True))
            worst = max(worst, Fraction(square) / limit**2)
        assert 0.9 < worst <= 1


def test_models_are_integers_times_a_public_step():
    plan = calibrated(50)
    learner = plan.start(Randomness.replayable(4))
    learner.run(records(50, 3))
    steps = learner.release() / plan.noise.step
    assert np.all(np.abs(steps - np.rint(steps)) <= np.abs(steps) * 2.0**-51)
    assert learner.release().tolist() == (plan.noise.step * np.rint(steps)).tolist()


def test_rows_are_never_longer_than_their_bound():
    """Clipping in float64 leaves rows a little too long: with integers behind them the shrunk ones are not."""
    plan = calibrated(2000)
    learner = plan.start(Randomness.replayable(4))
    rows = Randomness.replayable(5).stream("rows").standard_normal((2000, D)) * 1e4
    learner.run((rows, np.ones(2000)))
    kept = learner._losses._rows[:2000, :D]
    assert max(sum(Fraction(x) ** 2 for x in row) for row in kept.tolist()) <= 1
    assert np.linalg.norm(kept, axis=1).min() > 1 - 1e-11


def test_long_noise_is_drawn_anew():
    noise = LatticeModelNoise(2, sigma=2.0, ridge=1.0, accuracy=1e-9, protection=3e-7, reach=20.0)
    source = DiscreteGaussian.from_streams(Randomness.replayable(1), "noise")
    wide = iter([np.array([2**61, 0]), np.array([2**57, -(2**57)])])
    source.draw_wide = lambda count: next(wide)
    assert noise.linear_term(source) == pytest.approx([2.0, -2.0], rel=1e-4)


def test_plans_whose_steps_would_not_fit_are_refused():
    plan = calibrated()
    with pytest.raises(InvalidInput, match="'protection'"):
        ObjectivePerturbation(**{**plan.parameters, "problem": plan.problem, "protection": 1e-12})


def test_excess_risk_is_below_the_certified_bound():
    X, y = records(30_000, 5)

    def risk(model):
        return np.mean(np.logaddexp(0, -y * (X @ model)))

    best = risk(TRUE)
    for epsilon, delta in ((1.0, 1e-6), (1.0, 0.0)):
        plan = calibrated(2_000, epsilon=epsilon, delta=delta)
        gaps = []
        for seed in range(5):
            learner = plan.start(Randomness.replayable(seed))
            learner.run(records(2_000, 10 + seed))
            gaps.append(risk(learner.release()) - best)
        assert 0 < np.mean(gaps) < float(plan.regret_bound)
        assert not plan.vacuous


def test_the_certified_rule_minimises_the_bound():
    plan = calibrated(2_000)
    for factor in (0.5, 0.8, 1.25, 2.0):
        other = calibrated(2_000, regularisation=plan.regularisation * factor)
        assert float(plan.regret_bound) <= float(other.regret_bound) * 1.01


def test_several_releases_cost_more():
    one, three = calibrated(), calibrated(models=3)
    assert three.noise_scale > 1.5 * one.noise_scale
    assert three.guarantee.epsilon() <= 1.0 * (1 + 1e-9)
    assert "3 final models" in three.guarantee.released
    assert calibrated(releases=3) == three  # the old name of the parameter
    assert replace(one, releases=3) == replace(one, models=3)
    assert three.parameters["releases"] == 3  # as saved states and contracts say


FAMILY = ConvexFamily(lipschitz=1.0, smoothness=0.25, family="glm")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": SquaredLoss()}, "generalised linear"),
        ({"loss": CustomLoss(lambda x, z: 0.0, lambda x, z: z, lipschitz=1.0)}, "generalised linear"),
        ({"rounds_per_person": 2}, "rounds_per_person"),
        ({"regularisation": "best"}, "regularisation"),
        ({"regularisation": -1.0}, "regularisation"),
        ({"regularisation": 0.01}, "too small"),
        ({"releases": 0}, "models"),
        ({"loss": FAMILY}, "family"),
    ],
)
def test_bad_arguments_raise(options, message):
    with pytest.raises((InvalidInput, PrivacyError), match=message):
        calibrated(**options).start()


def test_plans_of_a_family_and_plans_by_hand():
    assert calibrated(loss=FAMILY).guarantee.epsilon() <= 1.0 * (1 + 1e-9)
    assert one_sided(LogisticLoss())
    assert not one_sided(HuberLoss())
    with pytest.raises(InvalidInput, match="noise_scale"):
        ObjectivePerturbation(calibrated().problem, 1.0, -1.0, 1e-9, 1e-6)


@pytest.mark.parametrize("bad", [0.0, 3, "model", np.zeros(D + 1), np.full(D, np.nan)], ids=str)
def test_a_state_with_something_else_than_a_model_is_refused(bad):
    learner = calibrated(5).start(Randomness.replayable(0))
    learner.run(records(3, 1))
    state = learner.state_dict()
    with pytest.raises(InvalidInput, match="not the state"):
        learner.load_state_dict(resealed(state, _released=bad))
    assert learner.state_dict() == state


def test_a_model_that_may_leave_the_domain_is_chosen_only_where_it_may():
    """With radius .5 a model of norm 1.82 was released for a problem that never allowed it."""
    problem = Stochastic(domain=Ball(2, radius=0.5), loss=LogisticLoss(), horizon=1_000)
    proper = tacit.plan(problem, epsilon=1.0, delta=1e-6)
    assert proper.algorithm != "ObjectivePerturbation"
    assert "say proper=False" in proper.explain()
    improper = tacit.plan(replace(problem, proper=False), epsilon=1.0, delta=1e-6)
    assert improper.algorithm == "ObjectivePerturbation"
    assert float(improper.regret_bound) < float(proper.regret_bound)
    assert "the model anywhere" in improper.explain()
    features = np.random.default_rng(1).normal(size=(1_000, 2))
    records = features, np.where(features[:, 0] > 0, 1.0, -1.0)
    norms = {}
    for choice in (proper, improper):
        learner = choice.start(Randomness.replayable(1))
        learner.run(records)
        norms[choice.algorithm] = float(np.linalg.norm(learner.release()))
    assert norms.pop("ObjectivePerturbation") > 1.0
    assert max(norms.values()) <= 0.5 + 1e-9
