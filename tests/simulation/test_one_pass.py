"""Simulations of one-pass problems: models judged by their expected loss, at marks that change nothing."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, gammaln

import tacit
from tacit.algorithms import AveragedFTRL, ObjectivePerturbation, OnlineToBatch, PrivateDescent
from tacit.domains import Ball, Box, L1Ball, Simplex
from tacit.environments import LogisticRecords, LogisticStream, QuadraticRecords, ReplayRecords
from tacit.environments.named import named_environment
from tacit.environments.records import sphere_quadrature
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss, QuadraticLoss, RegularisedLoss
from tacit.noise.randomness import Randomness
from tacit.papers.still import BestOnRecords, Still
from tacit.report.plots import plot_regret
from tacit.simulation.comparators import best_fixed_point
from tacit.simulation.games import MARKS, released_model
from tacit.simulation.loop import OnePassSimulation, certified_after, simulate_run

ASKED = {"epsilon": 1.0, "delta": 1e-6}


def logistic(horizon=600, dimension=4, radius=4.0, ridge=0.0, **others):
    loss = RegularisedLoss(LogisticLoss(), ridge) if ridge else LogisticLoss()
    return tacit.Stochastic(domain=Ball(dimension, radius=radius), loss=loss, horizon=horizon, **others)


def drawn(environment, seed=0):
    return environment.records(np.random.default_rng(seed))


# Records and their judges.


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 300])
def test_the_quadrature_has_the_moments_of_the_sphere(dimension):
    nodes, weights = sphere_quadrature(dimension)
    for order in (2, 4, 10):  # E u^2m = Gamma(m + 1/2) Gamma(d/2)/(Gamma(1/2) Gamma(m + d/2))
        m = order / 2
        moment = np.exp(gammaln(m + 0.5) + gammaln(dimension / 2) - gammaln(0.5) - gammaln(m + dimension / 2))
        assert weights @ nodes**order == pytest.approx(moment, rel=1e-10)
    assert abs(weights @ nodes) < 1e-12


@pytest.mark.parametrize(("ridge", "reach"), [(0.0, None), (0.1, None), (0.0, 1.5), (0.3, 0.5)])
def test_logistic_excess_is_that_of_fresh_records(ridge, reach):
    """100,000 fresh records, paired: their mean differences within five standard errors of the exact numbers."""
    environment = LogisticRecords(4, 100_000, norm=3.0, reach=reach, ridge=ridge)
    rows = environment.loss.pack(drawn(environment), 4, many=True)
    models = np.random.default_rng(1).normal(size=(6, 4)) * np.array([0.1, 0.5, 1, 2, 4, 10])[:, None]
    level = environment.loss.values(environment.best, rows)
    exact = environment.excess(models, environment.best)
    assert np.array_equal(exact.errors, np.zeros(6))
    for model, value in zip(models, exact.values, strict=True):
        gaps = environment.loss.values(model, rows) - level
        assert abs(np.mean(gaps) - value) < 5 * np.std(gaps) / np.sqrt(len(gaps))


def test_logistic_excess_in_three_dimensions_by_another_integral():
    """There a coordinate of the sphere is uniform on [-1, 1]."""
    environment = LogisticRecords(3, 10, norm=3.0)
    model = np.array([0.5, 1.0, -2.0])
    length = np.linalg.norm(model)
    curved = quad(lambda u: (np.logaddexp(0, length * u) - np.logaddexp(0, 3 * u)) / 2, -1, 1)[0]
    pull = quad(lambda u: u * expit(3 * u) / 2, -1, 1)[0]
    value = environment.excess(model, environment.best).values[0]
    assert value == pytest.approx(curved - pull * (0.5 - 3), rel=1e-10)


@pytest.mark.parametrize(
    ("environment", "domain"),
    [
        (LogisticRecords(3, 10, norm=2.0), Ball(3, 4.0)),
        (LogisticRecords(3, 10, norm=2.0, ridge=0.2), Ball(3, 4.0)),
        (LogisticRecords(3, 10, norm=8.0, reach=2.0), Ball(3, 2.0)),
        (LogisticRecords(3, 10, norm=8.0, reach=0.5, ridge=0.05), Ball(3, 0.5)),
        (LogisticRecords(3, 10, norm=1.0), Simplex(3)),
        (QuadraticRecords(3, 10), Ball(3, 1.0)),
        (QuadraticRecords(3, 10, norm=0.6, spread=0.1, reach=0.4), Ball(3, 0.4)),
    ],
    ids=repr,
)
def test_the_planted_best_is_the_best(environment, domain):
    """It has no excess, and no model of the domain has less than none; models near it hardly more."""
    assert domain.contains(environment.best)
    assert environment.excess(environment.best, environment.best).values[0] == 0.0
    generator = np.random.default_rng(2)
    away = generator.normal(size=(200, 3)) * 10.0 ** generator.uniform(-6, 0, 200)[:, None]
    models = np.array([domain.project(environment.best + step) for step in away])
    values = environment.excess(models, environment.best).values
    assert np.all(values >= -1e-14)
    assert values.max() > 1e-3


def test_a_best_that_was_fitted_to_fresh_records_has_an_excess():
    """Of about d/2n on other records; nothing that judges models has it."""
    environment = LogisticRecords(10, 4000, norm=3.0)
    fitted = best_fixed_point(environment.loss, drawn(environment), Ball(10, 4.0)).point
    excess = environment.excess(fitted, environment.best).values[0]
    assert 0.3 * 10 / 8000 < excess < 3 * 10 / 8000


def test_starts_of_the_literature():
    """The start's excess, at the settings of the tables: the model 0 in a ball of radius 2, and with a ridge."""
    assert LogisticRecords(10, 5, norm=8.0, reach=2.0).excess(np.zeros(10), [2.0, *[0.0] * 9]).values[0] == (
        pytest.approx(0.167, abs=5e-4)
    )
    ridged = LogisticRecords(10, 5, norm=8.0, reach=2.0, ridge=0.1)
    assert ridged.excess(np.zeros(10), ridged.best).values[0] == pytest.approx(0.0462, abs=5e-5)
    inside = LogisticRecords(10, 5, norm=3.0)
    assert inside.excess(np.zeros(10), inside.best).values[0] == pytest.approx(0.089, abs=5e-4)


def test_quadratic_excess_is_half_the_squared_distance():
    environment = QuadraticRecords(3, 50_000, norm=0.6, spread=0.3)
    targets = drawn(environment)
    assert np.linalg.norm(targets, axis=1).max() <= 1
    np.testing.assert_allclose(targets.mean(axis=0), environment.best, atol=0.01)
    model = np.array([0.1, 0.2, -0.3])
    value = environment.excess(model, environment.best).values[0]
    assert value == pytest.approx(np.sum((model - environment.best) ** 2) / 2)


def test_replayed_records_are_compared_one_by_one():
    generator = np.random.default_rng(5)
    train, fresh = generator.normal(size=(40, 2)) / 4, generator.normal(size=(30, 2)) / 4
    environment = ReplayRecords(QuadraticLoss(), train, fresh)
    assert (environment.horizon, environment.dimension, environment.best) == (40, 2, None)
    assert "0." not in repr(environment)
    best, model = train.mean(axis=0), np.array([0.2, 0.1])
    gaps = np.sum((model - fresh) ** 2, axis=1) / 2 - np.sum((best - fresh) ** 2, axis=1) / 2
    risk = environment.excess(model, best)
    assert risk.values[0] == pytest.approx(gaps.mean())
    assert risk.errors[0] == pytest.approx(gaps.std(ddof=1) / np.sqrt(30))
    assert np.array_equal(environment.records(generator), train)
    problem = tacit.Stochastic(domain=Ball(2), loss=QuadraticLoss(), horizon=40)
    result = tacit.simulate(AveragedFTRL.calibrate(problem, **ASKED), environment, runs=2, progress=False)
    assert result.fresh_error[-1] > 0
    assert "by the fresh records" in result.summary()
    np.testing.assert_allclose(result.last["comparator"], Ball(2).project(best), atol=1e-9)


def test_replayed_pairs_may_be_regularised():
    made = LogisticRecords(3, 60, norm=2.0)
    loss = RegularisedLoss(LogisticLoss(), 0.2)
    environment = ReplayRecords(loss, drawn(made, 1), drawn(made, 2))
    problem = tacit.Stochastic(domain=Ball(3), loss=loss, horizon=60)
    result = tacit.simulate(BestOnRecords(problem), environment, runs=1, progress=False)
    assert result.mean[-1] == pytest.approx(0.0, abs=1e-9)  # the model that others are compared with


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LogisticRecords(0, 5), "'dimension'"),
        (lambda: LogisticRecords(2, 5, norm=-1.0), "'norm'"),
        (lambda: LogisticRecords(2, 5, reach=0.0), "'reach'"),
        (lambda: LogisticRecords(2, 5, ridge=-0.1), "'ridge'"),
        (lambda: QuadraticRecords(2, 5, norm=0.7, spread=0.7), "norm of at most 1"),
        (lambda: ReplayRecords("logistic", [[1.0]], [[1.0]]), "'loss'"),
        (lambda: ReplayRecords(QuadraticLoss(), np.eye(2), np.eye(3)), "one dimension"),
        (lambda: ReplayRecords(QuadraticLoss(), np.empty((0, 2)), np.eye(2)), "one round or more"),
        (lambda: LogisticRecords(2, 5).excess(np.zeros(3), np.zeros(2)), "'models' of LogisticRecords"),
        (lambda: QuadraticRecords(2, 5).excess([[np.nan, 0.0]], np.zeros(2)), "'models' of QuadraticRecords"),
    ],
)
def test_records_that_cannot_be(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()


# Environments by name.


@pytest.mark.parametrize(
    ("domain", "norm"),
    [(Ball(3, 8.0), 3.0), (Ball(3, 2.0), 1.5), (L1Ball(3, 1.0), 0.75), (Box.cube(3, 0.4), 0.3), (Simplex(3), 1.0)],
    ids=repr,
)
def test_the_planted_model_is_well_inside_of_the_domain(domain, norm):
    problem = tacit.Stochastic(domain=domain, loss=LogisticLoss(), horizon=50)
    environment = named_environment("logistic", problem)
    assert environment.norm == pytest.approx(norm, rel=1e-9)
    assert domain.contains(environment.best)


def test_a_domain_without_a_planted_model():
    problem = tacit.Stochastic(domain=Box([1.0, 1.0], [2.0, 2.0]), loss=LogisticLoss(), horizon=50)
    with pytest.raises(InvalidInput, match="no planted model"):
        named_environment("logistic", problem)


# Simulations.


@pytest.mark.parametrize("algorithm", [OnlineToBatch, AveragedFTRL])
@pytest.mark.parametrize("horizon", [7, 600])
def test_a_mark_changes_nothing(algorithm, horizon):
    """The last model is that of one run, bit for bit; the others are those that stood after so many records."""
    plan = algorithm.calibrate(logistic(horizon), **ASKED)
    environment = LogisticRecords(4, horizon, norm=3.0)
    outcome = simulate_run(plan, environment, 3, 1)
    source = Randomness.replayable(3)
    records = environment.records(source.child("environment 1").stream("feedback"))
    learner = plan.start(source.child("learner 1"))
    stood = learner.run(records)
    assert np.array_equal(outcome.detail["models"][-1], learner.release())
    marks = tacit.simulate(plan, environment, runs=1, seed=3, progress=False).rounds
    for mark, model in zip(marks[:-1].tolist(), outcome.detail["models"], strict=False):
        assert np.array_equal(model, stood[mark])
    last = environment.excess(learner.release(), environment.best).values[0]
    assert outcome.regret[-1] == pytest.approx(last, rel=1e-12)


def test_marks_are_geometric_in_records():
    plan = AveragedFTRL.calibrate(logistic(20_000, 2), **ASKED)
    result = tacit.simulate(plan, LogisticRecords(2, 20_000), runs=1, progress=False)
    assert len(result.rounds) == MARKS
    assert (result.rounds[0], result.rounds[-1]) == (40, 20_000)
    ratios = result.rounds[1:] / result.rounds[:-1]
    assert ratios.max() / ratios.min() < 1.05
    few = tacit.simulate(AveragedFTRL.calibrate(logistic(3, 2), **ASKED), LogisticRecords(2, 3), runs=1, progress=False)
    assert few.rounds.tolist() == [1, 2, 3]


@pytest.mark.parametrize("algorithm", [ObjectivePerturbation, PrivateDescent])
def test_plans_that_release_once_are_one_point(algorithm):
    plan = algorithm.calibrate(logistic(), **ASKED)
    result = tacit.simulate(plan, LogisticRecords(4, 600, norm=3.0), runs=2, progress=False)
    assert result.rounds.tolist() == [600]
    assert result.regret.shape == (2, 1)
    assert result.regret.min() > 0
    assert result.bounds.tolist() == [float(plan.regret_bound)]


def test_excess_risk_has_bounds_at_the_marks_and_no_rounds():
    plan = OnlineToBatch.calibrate(logistic(20_000, 10, radius=2.0), **ASKED)
    environment = LogisticRecords(10, 20_000, norm=8.0, reach=2.0)
    result = tacit.simulate(plan, environment, runs=3, progress=False)
    assert isinstance(result, OnePassSimulation)
    assert result.criterion == "excess risk"
    assert result.bounds[-1] == result.bound == float(plan.regret_bound)
    assert np.all(np.diff(result.bounds) <= 0)
    assert result.bounds[len(result.bounds) // 2] < plan.trivial_regret
    assert np.all(result.mean <= result.bounds)
    assert result.mean[-1] < 0.2 * result.mean[0]
    with pytest.raises(InvalidInput, match="does not add up"):
        _ = result.per_round
    assert np.isnan(result.switches).all()
    assert not result.missing.any()
    shown = result.to_dict()
    assert "mean_switches" not in shown
    assert "mean_missing" not in shown
    assert len(shown["mean_excess_risk"]) == len(shown["records"])
    assert "certified excess risk" in repr(result)
    assert "regret" not in result.summary()


def test_certified_after_is_the_bound_of_a_shorter_pass():
    """Errors by hand: the first steps of the plan, whose noise is that of the whole one."""
    plan = OnlineToBatch.calibrate(logistic(4000, 3, radius=2.0), batch=4, learner="subgradient", **ASKED)
    errors = plan.conversion.errors
    count = 1200 // 4 + 1
    sizes = (errors.weights * errors.lipschitz + errors.sampling + errors.noise)[:count]
    regret = plan.learner.expected_regret(sizes, errors.changes[:count])
    lost = 2.0 * (np.sum(errors.sampling[: count - 1]) + np.sum(errors.noise[1:count]))
    lost += (2.0 + 4.0) * np.sum(plan.conversion._moved[:count])
    by_hand = (regret + lost) / np.sum(errors.weights[:count])
    assert certified_after(plan, 1200) == pytest.approx(min(by_hand, plan.trivial_regret), rel=1e-12)
    assert by_hand < plan.trivial_regret
    assert certified_after(plan, 1203) == certified_after(plan, 1200)
    assert certified_after(plan, 4000) == float(plan.regret_bound)
    short = AveragedFTRL.calibrate(logistic(), **ASKED)
    assert certified_after(short, 599) == np.inf
    assert certified_after(short, 600) == float(short.regret_bound)
    risky = OnlineToBatch.calibrate(logistic(), confidence=0.9, **ASKED)
    assert certified_after(risky, 300) == np.inf
    assert certified_after(risky, 600) == float(risky.regret_bound)


def test_the_still_player_is_the_first_model():
    begun = (0.5, 0.0, 0.0, 0.0)
    environment = LogisticRecords(4, 600, norm=3.0)
    for problem, first in ((logistic(), np.zeros(4)), (logistic(initial=begun), np.array(begun))):
        result = tacit.simulate(Still(problem), environment, runs=2, progress=False)
        wanted = environment.excess(first, environment.best).values[0]
        np.testing.assert_allclose(result.regret, wanted, rtol=1e-12)
    moving = OnlineToBatch.calibrate(logistic(initial=begun), **ASKED).start(Randomness.replayable(1))
    assert np.array_equal(released_model(moving), begun)


def test_the_best_on_the_records_of_a_run_is_no_learner():
    result = tacit.simulate(BestOnRecords(logistic()), LogisticRecords(4, 600, norm=3.0), runs=4, progress=False)
    assert result.rounds.tolist() == [600]
    assert 0 < result.mean[-1] < 0.02
    assert result.plan.guarantee.epsilon() == np.inf


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (LogisticStream(4, 600), "of the kind RecordStream"),
        (LogisticRecords(3, 600), "have 4 coordinates, those of the environment 3"),
        (LogisticRecords(4, 601), "601: that is too many"),
        (LogisticRecords(4, 600, norm=5.0), "must lie in the domain"),
        (LogisticRecords(4, 600, ridge=0.1), "the problem must have the same loss"),
        (QuadraticRecords(4, 600), "the problem must have the same loss"),
    ],
    ids=str,
)
def test_records_that_do_not_fit(environment, words):
    with pytest.raises(InvalidInput, match=words):
        tacit.simulate(AveragedFTRL.calibrate(logistic(), **ASKED), environment, progress=False)


def test_no_record_is_missing():
    with pytest.raises(InvalidInput, match="no missing records"):
        tacit.simulate(
            AveragedFTRL.calibrate(logistic(), **ASKED), LogisticRecords(4, 600), missing=0.1, progress=False
        )


def test_plans_are_chosen_in_a_world_of_records():
    choice = tacit.plan(logistic(), **ASKED, environment="logistic", runs=3)
    assert "LogisticRecords" in choice.ranked_by
    means = [candidate.simulated[0] for candidate in choice.candidates if candidate.simulated]
    assert means == sorted(means)


def test_pictures_have_records_and_no_rounds(tmp_path):
    environment = LogisticRecords(4, 600, norm=3.0)
    results = [
        tacit.simulate(algorithm.calibrate(logistic(), **ASKED), environment, runs=2, progress=False)
        for algorithm in (OnlineToBatch, ObjectivePerturbation)
    ]
    assert plot_regret(results, tmp_path / "risk.png").stat().st_size > 10_000
    experts = tacit.Experts(n=2, horizon=50)
    other = tacit.simulate(tacit.plan(experts, **ASKED), tacit.environments.BernoulliGap(2, 50), runs=1, progress=False)
    with pytest.raises(InvalidInput, match="not both in one picture"):
        plot_regret([*results, other], tmp_path / "both.png")
