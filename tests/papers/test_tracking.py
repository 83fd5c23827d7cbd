"""The tracking paper: its numbers, the status of each result, and rows that are what their labels say."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from tacit import algorithms
from tacit.cli.app import app
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.papers import run as running
from tacit.papers.still import Still
from tacit.papers.tracking import ERRATA, PAPER, RESULTS, SEQUENCES, SHIFTING, run
from tacit.problems import Experts, Tracking

NUMBERS = json.loads((Path(__file__).parent / "numbers_tracking.json").read_text())
SHORT, FEW, DELTA = 240, 4, 1e-6


@cache
def short_run():
    return run(horizon=SHORT, dimension=FEW, runs=2, delta=DELTA, progress=False)


def shifting(adversary="stochastic", rounds=20_000):
    return Tracking(n=10, horizon=rounds, switches=3, adversary=adversary)


# What the paper states ---------------------------------------------------------------------------------------


def test_every_number_of_the_paper_is_here_and_no_other():
    assert [result.number for result in RESULTS] == list(NUMBERS)


def test_every_result_is_run_or_said_and_every_erratum_is_of_a_result():
    known = {erratum.name for erratum in ERRATA}
    for result in RESULTS:
        assert result.statement
        assert set(result.errata) <= known
        algorithm = getattr(algorithms, result.plan) if result.plan else None
        assert algorithm is None or result.number in algorithm.printed_results
    runnable = {number for name in ("LimitedUpdates", "RestartOnShift", "NoisyMirrorDescent", "SwitchingSequences")
                for number in getattr(algorithms, name).printed_results}  # fmt: skip
    assert runnable == {result.number for result in RESULTS if result.plan}
    assert known == {name for result in RESULTS for name in result.errata}
    assert [erratum.rank for erratum in ERRATA] == sorted(erratum.rank for erratum in ERRATA)


def test_nothing_of_the_paper_is_empty():
    for name in ("title", "authors", "venue", "link", "version", "says", "results", "errata", "streams", "entries"):
        assert getattr(PAPER, name), name
    assert len(PAPER.says.splitlines()) == 10
    streams = {stream.name for stream in PAPER.streams}
    assert {entry.stream for entry in PAPER.entries} == streams
    assert {entry.result for entry in PAPER.entries if entry.result} <= set(NUMBERS)


# What became of its promises ---------------------------------------------------------------------------------


def made(result):
    """The plan of a result with the settings of the table; the smallest one of Theorem 4.1."""
    problems = {
        "LimitedUpdates": Experts(n=10, horizon=20_000, adversary="stochastic"),
        "RestartOnShift": shifting(),
        "NoisyMirrorDescent": shifting("adaptive"),
        "SwitchingSequences": Tracking(n=2, horizon=300, switches=1),
    }
    algorithm = getattr(algorithms, result.plan)
    return algorithm.as_printed(problems[result.plan], epsilon=1.0, delta=DELTA, result=result.number, **result.choose)


STATUS = {
    "Algorithm 1": ("kept", 1.0),
    "Theorem 3.1": ("kept", 1.0),
    "Algorithm 2": ("exceeded", 1.5),
    "Theorem 3.2": ("exceeded", 1.5),
    "Theorem 4.1": ("kept", 1.0),
    "Corollary 4.3": ("exceeded", 11.8),
    "Algorithm 3": ("exceeded", 10.0),
    "Theorem 5.2": ("exceeded", 10.0),
    "Theorem C.2": ("exceeded", 10.0),
}


@pytest.mark.parametrize("number", list(STATUS))
def test_the_status_of_each_result(number):
    plan = made(PAPER.result(number))
    status, epsilon = STATUS[number]
    proved = plan.guarantee.curve.epsilon(DELTA)
    assert plan.printed_status == status
    assert proved == pytest.approx(epsilon, rel=0.01)
    assert status == ("kept" if proved <= 1.0 else "exceeded"), "as the curve says"
    assert plan.printed.result == number
    assert plan.printed.differs or result_is_a_reduction(number)
    assert (plan.printed.regret is not None) == (number in ("Theorem 3.1", "Theorem C.2"))


def result_is_a_reduction(number):
    """Sequences differ from the print in nothing but their black box."""
    return number in ("Theorem 4.1", "Corollary 4.3")


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_algorithm_3_is_refuted_where_its_experts_can_be_counted(epsilon):
    problem = Tracking(n=3, horizon=6, switches=2)
    plan = algorithms.NoisyMirrorDescent.as_printed(problem, epsilon=epsilon, delta=0.0)
    assert plan.printed_status == "refuted"
    assert plan.printed.lower_bound > 1e-3
    assert plan.guarantee.epsilon() == pytest.approx(3 * epsilon)
    with pytest.raises(
        PrivacyError, match=r"for simulations: asked .* delta there is at least 0\.00\d+ and 0 was asked"
    ):
        plan.start()
    enough = algorithms.NoisyMirrorDescent.as_printed(problem, epsilon=epsilon, delta=0.0, noise=3.0)
    assert enough.printed_status == "kept"
    assert enough.printed.lower_bound == 0.0
    assert any("3 times" in text for text in enough.printed.differs)
    large_delta = algorithms.NoisyMirrorDescent.as_printed(problem, epsilon=epsilon, delta=0.1)
    assert large_delta.printed_status == "exceeded"


@pytest.mark.parametrize(
    "plan",
    [
        algorithms.RestartOnShift.as_printed(shifting(), epsilon=1.0, delta=0.0),
        algorithms.NoisyMirrorDescent.as_printed(shifting(), epsilon=1.0, delta=0.0),
        algorithms.SwitchingSequences.as_printed(Tracking(n=2, horizon=30, switches=1), epsilon=1.0, delta=DELTA),
    ],
    ids=lambda plan: plan.algorithm,
)
def test_what_is_not_kept_refuses_secret_randomness(plan):
    with pytest.raises(PrivacyError, match=r"as printed \(tracking, .*asked epsilon=1, proved 1[0-9.]+"):
        plan.start()
    learner = plan.start(Randomness.replayable(1))
    learner.run(np.zeros((5, plan.problem.n)))
    assert plan.restore(learner.state_dict()).rounds == 5
    with pytest.raises(PrivacyError, match="for simulations"):
        plan.restore(plan._learner(Randomness.secret()).state_dict())


def test_what_is_kept_starts():
    problem = Experts(n=4, horizon=50, adversary="stochastic")
    assert algorithms.LimitedUpdates.as_printed(problem, epsilon=1.0, delta=0.0).start().guarantee.private
    half = algorithms.RestartOnShift.as_printed(shifting(rounds=50), epsilon=1.0, delta=0.0, relation="zero-out")
    assert half.printed_status == "kept"
    assert half.guarantee.epsilon() == pytest.approx(0.75)
    assert "idealized" in half.start().guarantee.numerics
    several = algorithms.LimitedUpdates.as_printed(problem, epsilon=1.0, delta=0.0, rounds_per_person=3)
    assert several.printed_status == "exceeded"
    assert several.guarantee.epsilon() == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("name", "problem", "options", "message"),
    [
        ("NoisyMirrorDescent", Tracking(n=3, horizon=9, switches=0), {}, "must have a switch"),
        ("NoisyMirrorDescent", Tracking(n=3, horizon=9, switches=1), {"eta": 0.1}, "prints its eta"),
        ("NoisyMirrorDescent", Tracking(n=3, horizon=9, switches=1), {"reading": "x"}, "nothing is left open"),
        ("RestartOnShift", Tracking(n=3, horizon=1, switches=0), {}, "at least 2"),
        ("RestartOnShift", Tracking(n=3, horizon=9, switches=1), {"failure": 2.0}, "failure"),
        ("LimitedUpdates", Experts(n=3, horizon=9), {"failure": 0.0}, "failure"),
        ("SwitchingSequences", Tracking(n=9, horizon=900, switches=3), {}, "at most 10,000 are enumerated"),
        ("SwitchingSequences", Tracking(n=2, horizon=9, switches=1), {"box": algorithms.LazyExperts}, "L2P for"),
        ("SwitchingSequences", Tracking(n=2, horizon=9, switches=1), {"result": "Theorem 3.1"}, "result"),
    ],
)
def test_only_what_cannot_run_is_refused(name, problem, options, message):
    with pytest.raises(InvalidInput, match=message):
        getattr(algorithms, name).as_printed(problem, epsilon=1.0, delta=DELTA, **options)


# Its table ---------------------------------------------------------------------------------------------------


def test_rows_are_the_plans_of_their_labels():
    check_rows(short_run())


def test_rows_of_a_fresh_run_are_the_plans_of_their_labels():
    """Shorter still, for bugs that are planted."""
    check_rows(run(horizon=40, dimension=FEW, runs=1, delta=DELTA, progress=False))


def check_rows(found):
    """The algorithm and the result of each row are read off the plan that ran."""
    entries = [entry for stream in PAPER.streams for entry in PAPER.entries if entry.stream == stream.name]
    rows = [row for row in found.rows if row.label != "still"]
    assert len(rows) == len(entries)
    simulations = [s for row, s in zip(found.rows, found.simulations, strict=True) if row.label != "still"]
    for entry, row, simulation in zip(entries, rows, simulations, strict=True):
        assert (row.label, row.stream, row.plan, row.result) == (entry.kind, entry.stream, entry.plan, entry.result)
        plan = simulation.plan
        assert type(plan) is getattr(algorithms, entry.plan)
        assert (plan.printed is not None) == bool(entry.result)
        if plan.printed is not None:
            assert plan.printed.paper == "tracking"
            assert row.status == plan.printed_status == plan.printed.status(plan.guarantee.curve)
        assert row.epsilon == plan.guarantee.curve.epsilon(min(DELTA, plan.guarantee.at_delta))
        if entry.kind == "repaired":
            assert row.status == "kept"
            assert row.note


def test_every_stream_begins_with_the_player_that_looks_at_nothing():
    found = short_run()
    for stream in PAPER.streams:
        rows = [row for row in found.rows if row.stream == stream.name]
        assert rows[0].label == "still"
        assert rows[0].epsilon == 0.0
        assert {row.label for row in rows} >= {"still", "calibrated", "rival"} or stream.name.startswith("three")


def test_printed_rows_run_the_printed_parameters():
    """Parameters of the running plans against the formulas, typed here."""
    plans = {
        (row.label, row.plan, row.stream): simulation.plan
        for row, simulation in zip(short_run().rows, short_run().simulations, strict=True)
        if row.label in ("printed", "repaired") and simulation is not None
    }
    for (label, name, stream), plan in plans.items():
        times = 1.0 if label == "printed" else {"RestartOnShift": 1.5, "NoisyMirrorDescent": float(FEW)}.get(name, 1.0)
        n, rounds, switches = plan.problem.n, plan.rounds, plan.problem.switches
        if name == "NoisyMirrorDescent":
            eta = np.sqrt(switches / (rounds * np.log(n * rounds)))
            assert plan.eta == pytest.approx(eta, rel=1e-12), stream
            assert plan.grid.scale == pytest.approx(times, rel=1e-9)
            assert plan.floor == pytest.approx(switches / (n * rounds), rel=1e-12)
            assert (plan.noise, plan.batch) == ("laplace", 1)
        if name == "RestartOnShift":
            test = plan.window_test
            spread = np.log(n * rounds**2)
            margin = 16 * spread * np.log(rounds) + 16 * (2 * np.log(rounds) + np.log(2 * rounds)) + 1
            assert test.slope == pytest.approx(9 * np.sqrt(spread), rel=1e-12)
            assert test.margin == pytest.approx(margin, rel=1e-12)
            assert 1 / test.threshold_rate / test.units == pytest.approx(4 * times, rel=1e-9)
            assert test.query_scale == pytest.approx(8 * times, rel=1e-9)
            assert 1 / test.selection.rate / test.selection.units == pytest.approx(4 * times, rel=1e-9)
        if name == "LimitedUpdates":
            learner = plan.start(Randomness.replayable(1))
            assert 1 / learner._noisy.rate / learner._noisy.units == pytest.approx(2.0, rel=1e-9)
    assert {name for _, name, _ in plans} == {
        "LimitedUpdates", "RestartOnShift", "NoisyMirrorDescent", "SwitchingSequences"
    }  # fmt: skip


def test_regret_of_a_row_is_that_of_its_plan():
    found = short_run()
    for row, simulation in zip(found.rows, found.simulations, strict=True):
        assert row.mean == pytest.approx(float(np.mean(simulation.regret[:, -1])))
    again = tacit.simulate(
        algorithms.RestartOnShift.as_printed(
            Tracking(n=FEW, horizon=SHORT, switches=3, adversary="stochastic"), epsilon=1.0, delta=DELTA
        ),
        "shifting", runs=2, progress=False,
    )  # fmt: skip
    row = next(row for row in found.rows if row.result == "Theorem 3.2" and row.label == "printed")
    assert row.mean == float(again.mean[-1])


def test_learners_of_a_fixed_expert_are_judged_by_the_best_sequence():
    found = short_run()
    for row, simulation in zip(found.rows, found.simulations, strict=True):
        fixed = row.stream == SHIFTING.name and row.plan in ("HedgeOnSums", "L2P", "LimitedUpdates")
        assert (simulation.switches_allowed == 3) == fixed
        assert not fixed or row.regret_bound == float("inf")
    still = next(row for row in found.rows if row.stream == SHIFTING.name)
    again = tacit.simulate(Still(Tracking(n=FEW, horizon=SHORT, switches=3)), "shifting", runs=2, progress=False)
    assert still.mean == float(again.mean[-1])


def test_a_row_may_ask_for_an_epsilon_of_its_own():
    rows = [row for row in short_run().rows if row.note.startswith("at epsilon=N")]
    assert [row.asked for row in rows] == [float(FEW)]
    assert rows[0].epsilon <= FEW
    with pytest.raises(InvalidInput, match="Only problems of experts"):
        running.fixed_problem(tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=9))


def test_short_streams_stay_short():
    problem = SEQUENCES.problem(20_000, 10)
    assert (problem.n, problem.horizon, problem.switches) == (2, 300, 1)
    assert SEQUENCES.problem(50, 10).horizon == 50


def test_the_still_player_plays_against_those_who_react():
    found = tacit.simulate(Still(Tracking(n=4, horizon=400, switches=1)), "penalising", runs=2, progress=False)
    assert 250 < found.switches.mean() < 350
    ball = Still(tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=9))
    with pytest.raises(InvalidInput, match="as arrays only"):
        ball.start(Randomness.replayable(1)).play()


def test_the_command_prints_the_table():
    found = CliRunner().invoke(app, ["paper", "4", "--horizon", "60", "--dimension", "3", "--runs", "1"])
    assert found.exit_code == 0
    assert "RestartOnShift, Theorem 3.2" in found.output
    assert "refused" not in found.output
