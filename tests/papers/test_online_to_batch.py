"""The paper online_to_batch: its results by number, what its printed parameters leak, and the rows of its table."""

import json
from dataclasses import fields, replace
from math import log, log2, sqrt
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit import algorithms
from tacit.accounting.curves import Gaussian
from tacit.algorithms import OnlineToBatch
from tacit.algorithms.stochastic import BettingGrid, Optimistic, Subgradient
from tacit.algorithms.stochastic.online_to_batch.equation_six import EquationSixTree, PureEquationSixTree
from tacit.domains import Ball, Simplex
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import LogisticLoss, RegularisedLoss
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Tree
from tacit.papers.online_to_batch import PAPER
from tacit.papers.row import Settings
from tacit.papers.run import asked_of, plan_of, run_paper
from tacit.problems import Stochastic
from tacit.simulation.loop import simulate

NUMBERS = json.loads((Path(__file__).parent / "numbers_online_to_batch.json").read_text())
ASKED = {"epsilon": 1.0, "delta": 1e-6}
PURE = {"epsilon": 1.0, "delta": 0.0}
SMALL = Settings(horizon=300, dimension=3, epsilon=1.0, delta=1e-6, runs=2, seed=0)


def logistic(horizon=10_000, dimension=10, radius=2.0, ridge=0.0):
    plain = LogisticLoss()
    loss = RegularisedLoss(plain, ridge) if ridge else plain
    return Stochastic(domain=Ball(dimension, radius=radius), loss=loss, horizon=horizon)


# The paper.


def test_nothing_is_empty():
    assert all(getattr(PAPER, field.name) for field in fields(PAPER))
    assert len(PAPER.says.splitlines()) == 10
    for result in PAPER.results:
        assert result.name
        assert result.statement
    for stream in PAPER.streams:
        assert any(entry.stream == stream.name for entry in PAPER.entries)
    known = {erratum.name for erratum in PAPER.errata}
    assert {name for result in PAPER.results for name in result.errata} <= known
    assert [erratum.rank for erratum in PAPER.errata] == sorted(erratum.rank for erratum in PAPER.errata)


def test_numbers_are_those_of_the_text_both_ways():
    assert [result.number for result in PAPER.results] == NUMBERS["results"]
    assert set(OnlineToBatch.printed_results) <= set(NUMBERS["results"])
    assert set(OnlineToBatch.printed_results) == {result.number for result in PAPER.results if result.plan}
    assert {entry.result for entry in PAPER.entries} <= {"", *OnlineToBatch.printed_results}


@pytest.mark.parametrize("number", OnlineToBatch.printed_results)
def test_every_result_with_a_plan_runs(number):
    result = PAPER.result(number)
    problem = logistic(200, 3, ridge=0.1)
    given = {**ASKED, **result.choose}
    for reading in result.readings or (None,):
        plan = OnlineToBatch.as_printed(problem, result=number, reading=reading, **given)
        assert (plan.printed.paper, plan.printed.result) == ("online_to_batch", number)
        assert plan.printed.reading == (reading or "")
        assert type(plan).__name__ == result.plan
        learner = plan.start(Randomness.replayable(1))
        learner.run((np.eye(3)[np.arange(200) % 3], np.ones(200)))
        assert problem.domain.contains(learner.release())


# What the printed parameters leak.


@pytest.mark.parametrize(
    ("asked", "epsilon", "printed"),
    [
        ({"k": 1}, {10_000: 0.38, 100_000: 0.38}, {10_000: 3.14, 100_000: 0.577}),
        ({"k": 3}, {10_000: 0.40, 100_000: 0.42}, {10_000: 12.3, 100_000: 2.24}),
        ({"result": "Theorem 6"}, {10_000: 0.38}, {}),
        ({"result": "Theorem 11"}, {10_000: 0.40, 100_000: 0.42}, {}),
    ],
    ids=str,
)
def test_status_at_the_settings_of_the_table(asked, epsilon, printed):
    """G = 1, H = 1/4, D = 4, d = 10: kept with room, since exact differences and nodes are fewer than printed."""
    for rounds, wanted in epsilon.items():
        plan = OnlineToBatch.as_printed(logistic(rounds), **ASKED, lipschitz=1.0, **asked)
        assert plan.printed_status == "kept"
        assert plan.guarantee.curve.epsilon(1e-6) == pytest.approx(wanted, rel=0.03)
        if rounds in printed:
            assert plan.printed.regret == pytest.approx(printed[rounds], rel=0.03)


def test_bounds_of_theorems_8_and_11():
    for rounds, eight, eleven in ((10_000, 38.9, 159.0), (100_000, 1.09, 45.6)):
        strong = OnlineToBatch.as_printed(logistic(rounds, ridge=0.1), result="Theorem 8", lipschitz=1.0, **ASKED)
        assert strong.printed.regret == pytest.approx(eight, rel=0.01)
        assert strong.printed_status == "kept"
        free = OnlineToBatch.as_printed(logistic(rounds), result="Theorem 11", lipschitz=1.0, distance=2.0, **ASKED)
        assert free.printed.values["without_regret"] == pytest.approx(eleven, rel=0.01)
        assert free.printed.regret > free.printed.values["without_regret"]
        nearer = OnlineToBatch.as_printed(logistic(rounds), result="Theorem 11", distance=0.1, **ASKED)
        assert nearer.printed.regret < free.printed.regret
        assert not np.isfinite(float(free.regret_bound))


def test_pure_noise_exceeds_what_was_asked():
    """Ten nodes of a record, each with epsilon/sqrt(log2(2T)) times its ratio: 2.1 where 1 was asked."""
    plan = OnlineToBatch.as_printed(logistic(1000), result="Theorem 19", **PURE)
    assert plan.printed_status == "exceeded"
    tree = plan.mechanism
    assert tree.nodes == 10
    assert plan.guarantee.curve.epsilon(0.0) == pytest.approx(tree.column_norm / (2 * sqrt(log2(2000))) * 2, rel=1e-9)
    assert 1.9 < plan.guarantee.curve.epsilon(0.0) < tree.nodes / sqrt(log2(2000))
    assert "asked epsilon=1, proved 2.0" in plan.explain()
    linear = OnlineToBatch.as_printed(logistic(1000), result="Theorem 19", reading="log2(2T) for its root", **PURE)
    assert linear.printed_status == "kept"


@pytest.mark.parametrize("k", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("pure", [False, True])
def test_the_column_norm_is_the_largest_shift_of_any_path(k, pure):
    """By dense encoders: nodes of a record weighted by C_q/s_t, over all pairs of steps m_q <= m_t = m and paths."""
    kind = PureEquationSixTree if pure else EquationSixTree
    facts = {"lipschitz": 1.0, "smoothness": 0.25, "diameter": 4.0, "steepest": 1.2, "curvature": 0.35}
    steps = 37
    tree = kind(steps=steps, power=k, **facts)
    covers = Tree(steps).matrices()[1]
    t = np.arange(1.0, steps + 1)
    beta, before = t**k, np.append(0.0, t[:-1] ** k)
    worst = 0.0
    for far in np.linspace(0.0, 4.0, 9):  # the largest step of the path comes at q and stays
        for calm in (0.0, far):
            moved = beta / np.cumsum(beta) * far
            clips = (beta - before) * 1.0 + before * 0.25 * moved
            sizes = (k + 1) * (1.2 + 0.35 * max(far, calm)) * t ** (k - 1)
            shares = covers * clips / sizes[:, None]
            norms = np.sum(shares, axis=0) if pure else np.linalg.norm(shares, axis=0)
            worst = max(worst, float(np.max(norms)))
    assert worst <= tree.column_norm <= worst * 1.001


# What runs.


def sizes_of_a_run(plan, data):
    """The sensitivities and clips of a run, and its iterates, the one after the last record included."""
    learner = plan.start(Randomness.replayable(3))
    seen, clips, honest = [], [], learner._sums.add

    def adding(total, sensitivity):
        seen.append(sensitivity)
        clips.append(learner._clip()[0])
        return honest(total, sensitivity)

    learner._sums.add = adding
    iterates = learner.run(data)
    return np.array(seen), np.array(clips), np.vstack([iterates, learner.model])


def some_records(rounds, d):
    features = np.random.default_rng(4).normal(size=(rounds, d))
    return features / np.linalg.norm(features, axis=1)[:, None], np.where(features[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize(("k", "asked"), [(1, ASKED), (3, ASKED), (1, PURE)])
def test_a_record_moves_the_draws_by_no_more_than_is_proved(k, asked):
    """Two clipped differences in the nodes of each record, over their deviations, along the path that was run."""
    pure = asked["delta"] == 0
    result = "Theorem 19" if pure else "Theorem 4"
    plan = OnlineToBatch.as_printed(logistic(150, 3), result=result, k=k, **asked)
    sizes, clips, _ = sizes_of_a_run(plan, some_records(150, 3))
    covers = Tree(150).matrices()[1]
    shares = covers * 2 * clips / (plan.grid.scale * sizes)[:, None]
    moved = np.max(np.sum(shares, axis=0) if pure else np.linalg.norm(shares, axis=0))
    assert 0.5 * plan.privacy < moved <= plan.privacy
    if not pure:
        assert plan.guarantee.curve.epsilon(1e-6) >= Gaussian(moved).epsilon(1e-6)


@pytest.mark.parametrize(
    ("result", "k", "ridge", "asked"),
    [
        ("Theorem 4", 1, 0.0, ASKED),
        ("Theorem 4", 3, 0.0, ASKED),
        ("Theorem 8", 2, 0.1, ASKED),
        ("Theorem 19", 1, 0.0, PURE),
    ],
)
def test_noise_has_the_printed_scale(result, k, ridge, asked):
    """sigma_t of equation (6) by hand, along the path that was run; what `differs` names is all that is different."""
    rounds, d = 200, 3
    plan = OnlineToBatch.as_printed(logistic(rounds, d, ridge=ridge), result=result, k=k, **asked)
    sensitivities, _, x = sizes_of_a_run(plan, some_records(rounds, d))
    beta = np.arange(1.0, rounds + 1) ** k
    steps = np.linalg.norm(np.diff(x[:rounds], axis=0), axis=1) * np.cumsum(beta)[1:] / beta[1:]
    farthest = np.maximum.accumulate(np.append(0.0, steps))
    constants = plan.problem.constants
    rho = 1.0 if result == "Theorem 19" else 1.0 / (2 * sqrt(log(1e6)))
    t = np.arange(1.0, rounds + 1)
    sigma = 2 * (k + 1) / rho * (constants.lipschitz + constants.smoothness * farthest) * sqrt(log2(2 * rounds))
    sigma *= t ** (k - 1)
    np.testing.assert_allclose(plan.grid.scale * sensitivities, sigma, rtol=2e-3)
    assert np.all(plan.grid.scale * sensitivities >= sigma * (1 - 1e-9))  # rounded up, never down
    assert len(sensitivities) == rounds
    assert plan.batch == 1
    assert any("T gradients" in text for text in plan.printed.differs)
    assert any("lattice" in text for text in plan.printed.differs) == (plan.numerics == "exact")
    assert any("regulariser" in text for text in plan.printed.differs) == bool(ridge)


def test_learners_are_those_of_the_print():
    problem = logistic(200, 3)
    assert isinstance(OnlineToBatch.as_printed(problem, result="Theorem 6", **ASKED).learner, Optimistic)
    assert isinstance(OnlineToBatch.as_printed(problem, **ASKED).learner, Subgradient)
    own = Subgradient(problem.domain)
    assert OnlineToBatch.as_printed(problem, learner=own, **ASKED).learner is own
    free = OnlineToBatch.as_printed(problem, result="Theorem 11", **ASKED)
    assert free.power == 3
    assert "C is not printed: 1" in " ".join(free.printed.evidence)
    # Gradients of xi_t |w| + nu_t |w|^2 by hand, at w = (1, 0, 0) in the fifth round.
    learner, pulled = free.learner, []
    learner._rounds, learner._point = 4, np.array([1.0, 0.0, 0.0])
    learner.bettor.observe = pulled.append
    learner._update(np.zeros(3))
    xi, nu = learner.regularisers(5)
    np.testing.assert_allclose(pulled[0], [xi + 2 * nu, 0.0, 0.0])
    assert isinstance(OnlineToBatch.as_printed(problem, result="Theorem 10", **ASKED).learner, BettingGrid)
    sparse = Stochastic(domain=Simplex(8), loss=LogisticLoss(), horizon=100)
    mirrored = OnlineToBatch.as_printed(sparse, learner="mirror-descent", **ASKED)
    assert mirrored.norm.power < 2
    assert mirrored.printed_status == "kept"


def test_the_last_rate_of_theorem_8_and_the_conversion_are_named():
    strong = logistic(200, 3, ridge=0.1)
    assert "lacks a factor ln T" in " ".join(
        OnlineToBatch.as_printed(strong, result="Theorem 8", k=1, **ASKED).printed.evidence
    )
    plain = " ".join(OnlineToBatch.as_printed(strong, result="Theorem 8", **ASKED).printed.evidence)
    assert "ln T" not in plain
    assert "asks delta >= exp(-rho^2) = 0.982, which 1e-06 is not" in plain
    inside = " ".join(OnlineToBatch.as_printed(strong, epsilon=9.0, delta=0.05).printed.evidence)
    assert "false for such deltas" in inside
    assert "is not" not in inside


def test_what_is_exceeded_starts_in_simulations_only():
    plan = OnlineToBatch.as_printed(logistic(100, 3), result="Theorem 19", **PURE)
    with pytest.raises(PrivacyError, match=r"as printed \(online_to_batch, Theorem 19.*is for simulations"):
        plan.start()
    with pytest.raises(PrivacyError, match="is for simulations"):
        tacit.contract(plan)
    kept = OnlineToBatch.as_printed(logistic(100, 3), **ASKED)
    learner = kept.start()
    assert learner.guarantee.private
    contract = tacit.contract(kept)
    assert contract["parameters"]["mechanism"]["kind"] == "EquationSixTree"
    assert tacit.verify(contract).answer == "not verifiable yet"


@pytest.mark.parametrize(("result", "ridge"), [("Theorem 4", 0.0), ("Theorem 8", 0.1), ("Theorem 11", 0.0)])
def test_audits_find_nothing_and_come_near(result, ridge):
    """On the lattice, records as long as they may be: draws move by nearly what the noise was made for."""
    plan = OnlineToBatch.as_printed(logistic(100, 3, ridge=ridge), result=result, **ASKED)
    report = tacit.audit(plan, budget=0.05)
    assert not report.violation
    drawn = next(finding for finding in report.findings if finding.method == "moved draws")
    assert 0.85 < drawn.tightness <= 1.0


def test_audits_of_pure_noise_find_nothing():
    assert not tacit.audit(
        OnlineToBatch.as_printed(logistic(100, 3), result="Theorem 19", **PURE), budget=0.05
    ).violation


@pytest.mark.parametrize("result", ["Theorem 4", "Theorem 11"])
def test_a_state_continues_bit_for_bit(result):
    plan = OnlineToBatch.as_printed(logistic(60, 3), result=result, **ASKED)
    data = np.eye(3)[np.arange(60) % 3], np.where(np.arange(60) % 2, 1.0, -1.0)
    whole = plan.start(Randomness.replayable(5))
    whole.run(data)
    begun = plan.start(Randomness.replayable(5))
    begun.run((data[0][:31], data[1][:31]))
    continued = plan.restore(begun.state_dict())
    continued.run((data[0][31:], data[1][31:]))
    assert np.array_equal(continued.model, whole.model)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"result": "Theorem 19", **ASKED}, "'delta' .* must be 0"),
        (PURE, "'delta' .* must be positive"),
        ({"reading": "equation", **ASKED}, "leaves nothing to a reading"),
        ({"result": "Theorem 19", "reading": "other", **PURE}, "'reading'"),
        ({"k": 0.5, **ASKED}, "'k'"),
        ({"result": "Theorem 11", "k": 2, **ASKED}, "3 in Theorem 11"),
        ({"result": "Theorem 11", "learner": "subgradient", **ASKED}, "learner of its own"),
        ({"result": "Theorem 8", **ASKED}, "strongly convex"),
        ({"result": "Theorem 5", **ASKED}, "'result'"),
        ({"constant": 0.0, **ASKED}, "'constant'"),
        ({"failure": 1.0, **ASKED}, "'failure'"),
        ({"distance": -1.0, **ASKED}, "'distance'"),
        ({"lipschitz": 0.0, **ASKED}, "'lipschitz'"),
        ({"smoothness": -1.0, **ASKED}, "'smoothness'"),
    ],
    ids=str,
)
def test_what_cannot_run_is_refused(given, words):
    with pytest.raises(InvalidInput, match=words):
        OnlineToBatch.as_printed(logistic(100, 3), **given)


def test_trees_of_other_plans_and_losses_with_kinks_are_refused():
    plan = OnlineToBatch.as_printed(logistic(100, 3), **ASKED)
    with pytest.raises(InvalidInput, match=r"mechanism\.diameter"):
        replace(plan, mechanism=replace(plan.mechanism, diameter=1.0))
    kinked = Stochastic(domain=Ball(2), loss=tacit.losses.HingeLoss(), horizon=50)
    with pytest.raises(PrivacyError, match="H-smooth"):
        OnlineToBatch.as_printed(kinked, **ASKED)


def test_more_records_of_a_person_cost_more():
    one = OnlineToBatch.as_printed(logistic(500, 3), **ASKED)
    three = OnlineToBatch.as_printed(logistic(500, 3), rounds_per_person=3, **ASKED)
    half = OnlineToBatch.as_printed(logistic(500, 3), relation="zero-out", **ASKED)
    assert three.privacy == pytest.approx(3 * one.privacy)
    assert half.privacy == pytest.approx(one.privacy / 2)
    assert three.printed_status == "exceeded"
    assert three.grid.scale == pytest.approx(one.grid.scale, rel=1e-5)  # the noise is the printed one


# The table.


@pytest.fixture(scope="module")
def table():
    return run_paper(PAPER, horizon=300, dimension=3, runs=2, progress=False)


def test_rows_are_the_plans_of_their_labels(table):
    rows = [row for row in table.rows if row.label not in ("still", "no privacy")]
    assert len(rows) == len(PAPER.entries)
    ordered = [entry for stream in PAPER.streams for entry in PAPER.entries if entry.stream == stream.name]
    streams = {stream.name: stream for stream in PAPER.streams}
    for row, entry in zip(rows, ordered, strict=True):
        assert (row.label, row.stream, row.plan) == (entry.kind, entry.stream, entry.plan)
        stream = streams[entry.stream]
        problem = stream.problem(300, 3)
        plan = plan_of(entry, problem, asked_of(entry, problem, SMALL))
        assert type(plan) is getattr(algorithms, entry.plan)
        assert (plan.printed is not None) == bool(entry.result)
        assert row.result == entry.result
        again = simulate(plan, stream.environment(plan.problem, 300), runs=2, seed=0, progress=False)
        assert row.mean == pytest.approx(float(np.mean(again.regret[:, -1])), rel=1e-12)
        assert row.status == (plan.printed_status or "kept")
        assert row.regret_bound == float(plan.regret_bound)
        assert row.printed_regret == (None if plan.printed is None else plan.printed.regret)
        if entry.kind == "repaired":
            assert row.status == "kept"
            assert entry.note


def test_still_and_no_privacy_stand_first(table):
    for stream in PAPER.streams:
        first, second = [row for row in table.rows if row.stream == stream.name][:2]
        assert (first.label, second.label) == ("still", "no privacy")
        problem = stream.problem(300, 3)
        environment = stream.environment(problem, 300)
        start = float(environment.excess(problem.domain.centre, environment.best).values[0])
        assert first.mean == first.low == first.high == pytest.approx(start)
        assert 0 < second.mean < first.mean
        assert second.status == "not private"
    statuses = {(row.result, row.status) for row in table.rows if row.label == "printed"}
    assert ("Theorem 19", "exceeded") in statuses
    assert ("Theorem 4", "kept") in statuses
    never = next(row for row in table.rows if row.result == "Theorem 11")
    assert "no better than still" in never.note


def test_the_table_is_written(table, tmp_path):
    table.save(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".json", ".md", ".png"]
    written = json.loads((tmp_path / "online_to_batch.json").read_text())
    assert len(written["rows"]) == len(table.rows)
    assert "Theorem 19" in table.table()
