"""Private descent: what one record moves, exactly; what the rule gives; what is certified of the training loss."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from planted_bugs.descent import moved_along_one_path
from tacit import contract, verify
from tacit.algorithms.stochastic import private_descent as descent
from tacit.algorithms.stochastic.private_descent import PrivateDescent
from tacit.domains import Ball
from tacit.errors import InvalidInput, PrivacyError, ProtocolError
from tacit.losses import LogisticLoss, SmoothedHingeLoss
from tacit.losses.several_classes import MultinomialLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA
from tacit.problems import Stochastic

TARGET = {"epsilon": 1.0, "delta": 1e-6, "relation": "zero-out"}


def planned(records=200, width=4, classes=2, radius=6.0, norm=1.0, **options):
    loss = LogisticLoss(data_norm=norm) if classes == 2 else MultinomialLoss(norm, classes)
    size = width * (1 if classes == 2 else classes)
    problem = Stochastic(domain=Ball(size, radius=radius), loss=loss, horizon=records)
    return PrivateDescent.calibrate(problem, **TARGET | options)


def records_of(plan, seed=0, extreme=True):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(plan.problem.records, plan.width))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    rows *= descent.data_norm(plan.problem) * (1.0 if extreme else rng.random((len(rows), 1)))
    if plan.scores == 1:
        return rows, rng.choice([-1.0, 1.0], size=(len(rows), 1))
    return rows, np.column_stack([rng.integers(plan.scores, size=len(rows)), np.ones(len(rows))])


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("relation", ["zero-out", "replace"])
def test_a_record_moves_the_draws_by_what_was_paid_for(classes, relation):
    plan = planned(classes=classes, relation=relation)
    certified = plan.curve.curve.mu
    found = moved_along_one_path(plan)
    assert 0.5 * certified < found <= certified <= plan.mu * (1 + 1e-9)


@pytest.mark.parametrize("classes", [2, 3, 12])
def test_records_are_checked_in_integers(classes):
    plan = planned(classes=classes)
    rows, columns = records_of(plan)
    whole = descent.whole_rows(plan, rows)
    squares, limits = descent.squared_norms(whole), descent.residual_limits(plan, whole)
    assert np.array_equal(whole, np.rint(whole))
    assert squares.max() <= plan.row_units**2
    rng = np.random.default_rng(1)
    for scale in (0.0, 1.0, 50.0, 1e6, 1e300):
        scores = scale * rng.normal(size=(len(rows), plan.scores))
        residuals = descent.whole_residuals(plan, scores, columns, limits)
        lengths = [int(sum(int(r) ** 2 for r in row)) * int(x) for row, x in zip(residuals, squares, strict=True)]
        assert max(lengths) <= plan.units**2
        assert max(lengths) >= 0.97 * plan.units**2  # those that are clipped lose next to nothing
    for bad in (np.nan, np.inf):
        scores = np.full((len(rows), plan.scores), bad)
        assert np.isfinite(descent.whole_residuals(plan, scores, columns, limits)).all()


def test_what_would_pass_a_careless_check_contributes_nothing(monkeypatch):
    """2^32 and NaN have squares of 0 in int64, or so it seems."""
    plan = planned(records=4)
    rows, columns = records_of(plan)
    limits = descent.residual_limits(plan, descent.whole_rows(plan, rows))
    huge = np.array([2.0**32, np.nan, -np.inf, 2.0**31 * 3])
    monkeypatch.setattr(LogisticLoss, "slope", lambda self, margins, labels: huge)
    monkeypatch.setattr(descent, "_INSIDE", np.inf)
    assert not descent.whole_residuals(plan, np.zeros((4, 1)), columns, limits).any()


@pytest.mark.parametrize("epsilon", [50.0, 1e5])
def test_the_square_of_the_largest_gradient_fits_its_check(epsilon):
    """Few steps at a large epsilon had so many units that int64 does not hold their square."""
    problem = Stochastic(domain=Ball(4, radius=6.0), loss=LogisticLoss(), horizon=3)
    for steps in (1, 2):
        plan = PrivateDescent.calibrate(problem, epsilon=epsilon, delta=1e-6, steps=steps, relation="zero-out")
        assert 2 * plan.units**2 < 2**63
        assert verify(contract(plan)).answer == "yes"
        learner = plan.start(Randomness.replayable(1))
        learner.run((np.eye(3, 4), np.ones(3)))
        assert np.isfinite(learner.release()).all()


def test_sums_are_exact_in_any_order_dense_or_sparse(monkeypatch):
    monkeypatch.setattr(descent, "_PART", 40 * 77)  # parts that do not divide the rows
    plan = planned(records=300, width=40, classes=3)
    rows, columns = records_of(plan)
    rows[np.abs(rows) < 0.1] = 0.0
    order = np.random.default_rng(2).permutation(300)
    point = np.random.default_rng(3).normal(size=(40, 3))
    found = []
    for table, beside in ((rows, columns), (rows[order], columns[order]), (sparse.csr_array(rows), columns)):
        whole = descent.whole_rows(plan, table)
        found.append(descent.gradient_sum(plan, whole, beside, descent.residual_limits(plan, whole), point))
    residuals = descent.whole_residuals(
        plan, (descent.whole_rows(plan, rows) @ point) / plan.row_units, columns, descent.residual_limits(plan, whole)
    )
    exact = descent.whole_rows(plan, rows).astype(object).T @ residuals.astype(np.int64).astype(object)
    assert np.array_equal(found[0], exact.astype(float))
    # Scores are float64 products, whose last digits depend on the order: residuals may differ by a step.
    assert np.abs(found[1] - found[0]).max() <= 300 * plan.row_units
    assert np.abs(found[2] - found[0]).max() <= 300 * plan.row_units
    assert 300 * plan.units < 2**53


def test_calibration_meets_the_target_and_wastes_nothing():
    for records, epsilon, relation in ((100, 0.3, "replace"), (5000, 1.0, "zero-out"), (10**6, 8.0, "replace")):
        plan = planned(records=records, epsilon=epsilon, relation=relation)
        assert 0.9999 * epsilon <= plan.guarantee.epsilon() <= epsilon
        assert plan.eta <= 1 / (4 * descent.smoothness(plan.scores))
        more = replace(plan, mu=plan.mu * 1.01)
        assert more.guarantee.epsilon() > epsilon
    assert planned(records=10**10).units * 10**10 < 2**53


def test_the_second_accountant_agrees():
    for plan in (planned(), planned(classes=4, relation="replace", epsilon=3.0)):
        made = contract(plan)
        assert verify(made).answer == "yes"
        for name, value in (("units", plan.units * 2), ("dimension", 5)):
            with pytest.raises(InvalidInput, match="contradict"):
                verify(made | {"noise": made["noise"] | {name: value}})
        fewer = made["parameters"] | {"steps": plan.steps // 2}
        with pytest.raises(InvalidInput, match="contradict"):
            verify(made | {"parameters": fewer})


def test_the_divisor_is_the_declared_number():
    plan = planned(records=100)
    rows, columns = records_of(plan)
    whole = descent.whole_rows(plan, rows)
    models = [
        descent.descend(plan, whole[:count] * keep, columns[:count], source())
        for count, keep in ((60, 1.0), (100, (np.arange(100) < 60)[:, None]))
    ]
    assert np.array_equal(*models)
    with pytest.raises(PrivacyError, match="100 records"):
        descent.descend(plan, np.concatenate([whole, whole[:1]]), np.concatenate([columns, columns[:1]]), source())


def source(seed=0):
    return DiscreteGaussian.from_streams(Randomness.replayable(seed), "noise")


def test_without_noise_it_is_the_minimiser():
    """At an epsilon where noise is nothing the training loss is that of logistic regression, slopes unclipped."""
    plan = planned(records=400, epsilon=60.0, clip=1.0, steps=4000)
    rng = np.random.default_rng(5)
    rows, _ = records_of(plan, extreme=False)
    labels = np.where(rng.random(400) < expit(rows @ [3.0, -2.0, 1.0, 0.5]), 1.0, -1.0)
    model = descent.descend(plan, descent.whole_rows(plan, rows), labels[:, None], source())
    gradient = rows.T @ (-labels * expit(-labels * (rows @ model))) / 400
    assert np.linalg.norm(gradient) < 2e-2


@pytest.mark.parametrize("seed", range(3))
def test_the_training_loss_is_below_its_certificate(seed):
    plan = planned(records=3000, width=4, epsilon=3.0)
    rng = np.random.default_rng(seed)
    rows, _ = records_of(plan, seed=seed)
    truth = np.array([4.0, -3.0, 2.0, 0.0])
    labels = np.where(rng.random(3000) < expit(rows @ truth), 1.0, -1.0)
    whole = descent.whole_rows(plan, rows) / plan.row_units

    def huberised(model):
        margins, cut = labels * (whole @ model), plan.clip / np.linalg.norm(whole, axis=1)
        knee = np.log(1 / np.minimum(cut, 1 - 1e-12) - 1)  # where the slope of the logistic loss is -C/|x|
        return float(np.mean(np.logaddexp(0, -np.maximum(margins, knee)) + cut * np.maximum(knee - margins, 0)))

    best = min(huberised(scale * truth) for scale in (0.5, 1.0, 1.1))
    losses = [
        huberised(descent.descend(plan, whole * plan.row_units, labels[:, None], source(10 * seed + run)))
        for run in range(4)
    ]
    bound = float(plan.training_bound)
    assert np.mean(losses) - best <= bound < np.log(2) - best
    assert float(planned(classes=3).training_bound) == np.inf
    assert float(plan.regret_bound) == np.inf


def test_the_learner_collects_and_releases_once():
    plan = planned(records=60, classes=3)
    rows, columns = records_of(plan)
    learner = plan.start(Randomness.replayable(4))
    learner.run((rows[:40], columns[:40, 0]))
    saved = learner.state_dict()
    for row, code in zip(rows[40:], columns[40:, 0], strict=True):
        learner.play()
        learner.observe((row, code))
    with pytest.raises(ProtocolError, match="has not released"):
        _ = learner.model
    model = learner.release()
    assert np.array_equal(model, learner.release())
    again = plan.restore(saved)
    again.run((rows[40:], columns[40:, 0]))
    assert np.array_equal(again.release(), model)
    with pytest.raises(ProtocolError, match="released its model"):
        learner.run((rows[:1], columns[:1, 0]))
    other = plan.start(Randomness.replayable(5))
    other.run((rows, columns[:, 0]))
    assert not np.array_equal(other.release(), model)


def test_what_it_refuses():
    problem = Stochastic(domain=Ball(4), loss=SmoothedHingeLoss(), horizon=100)
    with pytest.raises(PrivacyError, match="LogisticLoss"):
        PrivateDescent.calibrate(problem, **TARGET)
    with pytest.raises(PrivacyError, match="delta > 0"):
        planned(delta=0.0)
    with pytest.raises(PrivacyError, match="rounds_per_person"):
        planned(rounds_per_person=2)
    with pytest.raises(PrivacyError, match="no lattice"):
        planned(epsilon=1e-7)
    with pytest.raises(InvalidInput, match="numerics"):
        planned(numerics="float")


def test_the_noise_of_a_step_is_that_of_the_plan():
    """Without records a step releases noise alone: its deviation is the plan's, within 4 standard errors of 2000."""
    plan = planned(records=50, width=2000, steps=1, clip=1.0)
    model = descent.descend(plan, np.zeros((0, 2000)), np.zeros((0, 1)), source())
    drawn = model / plan.eta * plan.problem.records
    assert np.std(drawn) == pytest.approx(plan.deviation, rel=4 / np.sqrt(4000))
    assert plan.deviation * plan.units / plan.clip == pytest.approx(GAUSSIAN_SIGMA, rel=1e-6)
