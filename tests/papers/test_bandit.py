"""The paper `bandit`: its results and errata, plans with printed parameters, and the rows of its table."""

import json
from dataclasses import fields
from math import isqrt, sqrt
from pathlib import Path

import numpy as np
import pytest

from cli.command import run_command
from errata import bandit as errata
from tacit import algorithms
from tacit.algorithms import BanditFW, NoisyOCO
from tacit.algorithms.bandit import Rounds
from tacit.algorithms.bandit.bandit_fw import BanditFWLearner
from tacit.algorithms.bandit.printed_tree import PrintedTree
from tacit.domains import Ball, Simplex
from tacit.environments import MovingTarget
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import LaplaceTree, Tree
from tacit.papers.bandit import PAPER, run
from tacit.papers.bandit_worlds import (
    NoisyLeader,
    OneLinearLoss,
    SquaredArms,
    SquaredGradients,
    SquaredTarget,
    UniformInBall,
    draw_targets,
    interval,
    net,
    net_dimension,
)
from tacit.papers.row import Settings
from tacit.papers.run import plan_of
from tacit.papers.still import Still
from tacit.planning.contract import contract
from tacit.printed import bandit as formulas
from tacit.problems import Bandit
from tacit.simulation.loop import simulate

NUMBERS = json.loads((Path(__file__).parent / "numbers_bandit.json").read_text())
ASKED = {"epsilon": 1.0, "delta": 1e-6}
SMALL = Settings(horizon=400, dimension=2, epsilon=1.0, delta=1e-6, runs=1, seed=0)
LAPLACE = ("Lemma 5.1", "Lemma 5.2")
GAUSSIAN = ("Lemma 5.4", "Lemma 5.5", "Theorem 1.1", "Algorithm 1", "Lemma 3.1", "Appendix D")


def ball(n=2, horizon=10_000, **changes):
    return Bandit(domain=Ball(n, 0.5), horizon=horizon, **changes)


# The paper.


def test_nothing_is_empty():
    assert all(getattr(PAPER, field.name) for field in fields(PAPER))
    assert len(PAPER.says.splitlines()) == 10
    for result in PAPER.results:
        assert result.name
        assert result.statement
        assert result.kind in ("algorithm", "regret", "privacy", "switches", "rate", "lower bound")
    for stream in PAPER.streams:
        assert any(entry.stream == stream.name for entry in PAPER.entries)


def test_numbers_are_those_of_the_text_both_ways():
    assert [result.number for result in PAPER.results] == NUMBERS["results"]
    printed = {entry.result for entry in PAPER.entries if entry.result}
    assert printed <= set(NUMBERS["results"])
    for kind in (BanditFW, NoisyLeader):
        assert set(kind.printed_results) <= set(NUMBERS["results"])


def test_results_name_the_class_that_runs_them():
    for result in PAPER.results:
        if result.plan:
            assert result.runs is result.plan or result.runs.__name__ == result.plan
        else:
            assert result.runs is None
        if result.plan == "BanditFW":
            plan = BanditFW.as_printed(ball(), **ASKED, result=result.number, **result.choose)
            assert plan.printed.result == result.number
        if result.plan in ("Tree", "LaplaceTree"):
            assert result.runs.as_printed(**ASKED, **result.choose).mechanism.steps == 1024
        assert not result.readings or result.number in ("Theorem 2.3", "Algorithm 2", "Lemma 4.1")
    # Steps of the analysis are formulas of tacit.printed.bandit.
    steps = [result.number for result in PAPER.results if not result.plan]
    for number in steps:
        name = number.lower().replace(" ", "_").replace(".", "_")
        assert hasattr(formulas, name) or number in ("Lemma 2.2", "Lemma C.1")
    assert steps == ["Lemma 2.2", "Lemma 5.3", "Lemma C.1", "Lemma C.2", "Lemma C.3", "Lemma C.4", "Corollary C.5"]


def test_errata_are_those_that_are_shown():
    known = errata.errata.known
    assert [each.name for each in PAPER.errata] == list(known)
    for each in PAPER.errata:
        assert (each.where, each.rank, each.verdict) == (
            known[each.name].where,
            known[each.name].rank,
            known[each.name].verdict,
        )
        assert each.line
    ranks = [each.rank for each in PAPER.errata]
    assert ranks == sorted(ranks)
    named = {name for result in PAPER.results for name in result.errata}
    assert named == {each.name for each in PAPER.errata}


# Plans with printed parameters.


@pytest.mark.parametrize(
    ("n", "rounds", "delta", "order", "epsilon"),
    [
        (2, 10**5, 0.0, 21, 0.044),
        (10, 10**6, 0.0, 191, 0.023),
        (2, 10**5, 1e-6, 1_882, 0.00023),
        (10, 10**6, 1e-6, 4_230, 0.00020),
    ],
)
def test_status_and_numbers_of_the_printed_plans(n, rounds, delta, order, epsilon):
    """At epsilon = 1: order over T, and what is proved; nothing is certified, with either sign."""
    plan = BanditFW.as_printed(ball(n, rounds), epsilon=1.0, delta=delta)
    assert plan.printed_status == "kept"
    assert plan.printed.values["order"] / rounds == pytest.approx(order, rel=0.01)
    assert plan.guarantee.epsilon(delta) == pytest.approx(epsilon, rel=0.02)
    mended = BanditFW.as_printed(ball(n, rounds), epsilon=1.0, delta=delta, line_14="plus")
    assert mended.printed_status == "kept"
    for each in (plan, mended):
        assert float(each.regret_bound) == rounds
        assert each.vacuous
        assert each.printed.regret is None
    assert float(mended.regret_bound.searched) > rounds
    assert "uphill" in plan.regret_bound.formula


@pytest.mark.parametrize("result", [*LAPLACE, *GAUSSIAN])
@pytest.mark.parametrize("rounds", [10_000, 9_999])
def test_running_parameters_are_the_printed_ones(result, rounds):
    """What runs is what is printed, and where it is not, `differs` says so."""
    problem = ball(3, rounds, lipschitz=0.7, margin=0.05)
    plan = BanditFW.as_printed(problem, **ASKED, result=result)
    printed = plan.printed
    delta = 0.0 if result in LAPLACE else 1e-6
    assert (printed.paper, printed.result, printed.epsilon, printed.delta) == ("bandit", result, 1.0, delta)
    assert plan.delta == delta
    typed = formulas.algorithm_1(3, rounds, 1.0, 0.7)
    assert (plan.zeta, plan.eta) == (typed["zeta"], typed["eta"])
    scale = formulas.lemma_5_1(3, rounds, 0.7, 1.0) if result in LAPLACE else errata.printed_gaussian_scale(
        rounds, 3, 0.7, 1.0, 1e-6
    )  # fmt: skip
    assert scale * (1 - 1e-9) <= plan.scale <= scale * (1 + 1e-3)
    assert isinstance(plan.mechanism, LaplaceTree if result in LAPLACE else Tree)
    assert plan.mechanism.base == 2
    said = "; ".join(printed.differs)
    for words in ("padding", f"T_round - 2 = {isqrt(rounds) - 2} sums", "lattice", "clipped to [0, 1]", "Frank-Wolfe"):
        assert words in said
    assert ("rounded down" in said) == (isqrt(rounds) ** 2 != rounds)
    assert ("shrunk" in said) == (plan.shrink > 0)
    assert plan.uphill
    assert "plus" not in said
    mended = BanditFW.as_printed(problem, **ASKED, result=result, line_14="plus")
    assert not mended.uphill
    assert "line 14 with a plus" in mended.printed.differs
    assert mended.signature != plan.signature


def test_orders_are_those_of_the_result():
    """Lemma 3.1 at the noise of Lemma 5.4 is Lemma 5.5 with less algebra: within a factor 2 of it."""
    plan = BanditFW.as_printed(ball(3, 10_000), **ASKED, result="Lemma 3.1")
    sigma = formulas.lemma_5_4(3, 10_000, 1.0, 1.0, 1e-6)
    typed = 1000 * sqrt(3) + 10 * sqrt(3) * sigma * np.log(10_000)
    assert plan.printed.values["order"] == pytest.approx(typed)
    assert "mu" in plan.printed.order
    other = BanditFW.as_printed(ball(3, 10_000), **ASKED, result="Lemma 5.5").printed
    assert other.values["order"] == formulas.lemma_5_5(3, 10_000, 1.0, 1.0, 1.0, 1e-6)
    assert 0.5 < other.values["order"] / typed < 2
    pure = BanditFW.as_printed(ball(3, 10_000), epsilon=1.0, delta=0.0, result="Lemma 3.1").printed.values["order"]
    assert pure == pytest.approx(1000 * sqrt(3) + 10 * sqrt(6) * formulas.lemma_5_1(3, 10_000, 1.0, 1.0) * np.log(1e4))


def test_a_plan_with_printed_parameters_says_so():
    plan = BanditFW.as_printed(ball(), **ASKED)
    assert plan.printed.result == "Theorem 1.1"
    assert "as printed: bandit, Theorem 1.1" in plan.signature
    assert "asked epsilon=1, proved" in plan.explain()
    assert BanditFW.as_printed(ball(), epsilon=1.0, delta=0.0).mechanism.noise == "laplace"
    simplex = Bandit(domain=Simplex(4), horizon=100_000)
    assert "n is the dimension of the set's affine hull" in BanditFW.as_printed(simplex, **ASKED).printed.differs
    two = BanditFW.as_printed(ball(), **ASKED, rounds_per_person=2)
    assert "the print protects one round of a person" in two.printed.evidence
    assert two.privacy == pytest.approx(2 * plan.privacy, rel=1e-6)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"result": "Lemma 5.3"}, "'result'"),
        ({"result": "Lemma 5.5", "delta": 0.0}, "above 0"),
        ({"line_14": "both"}, "'line_14'"),
        ({"reading": "mine"}, "'reading'"),
        ({"calibration": "paper"}, "line_14"),
    ],
)
def test_what_is_not_printed_is_refused(own, words):
    with pytest.raises(InvalidInput, match=words):
        BanditFW.as_printed(ball(), **{**ASKED, **own})


def test_what_cannot_run_is_refused_with_a_horizon():
    with pytest.raises(PrivacyError, match=r"radius of 0\.562.*T=1601 would be enough"):
        BanditFW.as_printed(ball(10, 1000), **ASKED)
    BanditFW.as_printed(ball(10, 1000, margin=0.1), **ASKED)


def test_line_14_is_run_with_the_printed_sign():
    """A batch by hand: around the minimiser of |x|^2/2 - <eta s, x>, s the noisy sum, shrunk, at distance zeta."""
    problem = ball(2, 400)  # 20 batches of 20 rounds
    for line_14, sign in (("minus", 1.0), ("plus", -1.0)):
        plan = BanditFW.as_printed(problem, **ASKED, line_14=line_14)
        learner = plan.start(Randomness.replayable(3))
        released = []
        add = learner._core._sums.add

        def spy(vector, add=add, released=released):
            released.append(add(vector))
            return released[-1]

        learner._core._sums.add = spy
        points = learner.run(lambda rows, first: np.linalg.norm(rows - 0.2, axis=1))
        assert len(released) == 18
        for batch, total in enumerate(released):
            slope = plan.eta * total
            exact = sign * slope / max(1.0, np.linalg.norm(slope) / 0.5)  # in the ball of radius 1/2
            centre = points[20 * (batch + 2) : 20 * (batch + 3)]
            distance = np.linalg.norm(centre - (1 - plan.shrink) * exact, axis=1)
            # Frank-Wolfe is off by at most D/(2 B)^(1/2).
            assert np.all(abs(distance - plan.zeta) <= 1 / sqrt(40) + 1e-9)
            if np.linalg.norm(exact) > 0.4:
                assert abs(np.mean(centre, axis=0) - (1 - plan.shrink) * exact).max() < 0.25


def test_what_exceeds_its_promise_starts_nowhere_but_in_simulations():
    problem = ball(2, 400, value_range=(0.0, 1e4))
    plan = BanditFW.as_printed(problem, epsilon=1.0, delta=0.0)
    assert plan.printed_status == "exceeded"
    assert plan.guarantee.epsilon(0.0) > 1.0
    with pytest.raises(PrivacyError, match="asked epsilon=1, proved"):
        plan.start()
    with pytest.raises(PrivacyError, match="for simulations"):
        plan.restore(plan._learner(Randomness.secret()).state_dict())
    with pytest.raises(PrivacyError, match="for simulations"):
        contract(plan)
    learner = plan.start(Randomness.replayable(1))
    learner.play()
    learner.observe(0.5)
    assert plan.restore(learner.state_dict()).rounds == 1


# Trees.


@pytest.mark.parametrize(
    ("tree", "reading", "status", "epsilon"),
    [
        (LaplaceTree, None, "refuted", 22 / np.log(1024)),  # 3.17
        (LaplaceTree, "logarithms of base 2", "refuted", 2.2),
        (Tree, None, "kept", 0.233),
        (Tree, "logarithms of base 2", "kept", 0.154),
    ],
)
def test_status_of_the_printed_trees(tree, reading, status, epsilon):
    """1024 sums: the first vector is in 11 nodes, of 1, 2, 4, ..., 1024 vectors."""
    delta = 0.0 if tree is LaplaceTree else 1e-6
    made = PrintedTree.as_printed(1.0, 1024, epsilon=1.0, delta=delta, reading=reading)
    assert type(made.mechanism) is tree
    assert made.status == status
    assert made.curve.epsilon(1e-6) == pytest.approx(epsilon, rel=0.005)
    assert made.mechanism.nodes == 11
    laplace = tree is LaplaceTree
    base = None if reading is None else 2.0
    scale = (
        formulas.theorem_2_3_laplace(1024, 1.0, 1.0, base)
        if laplace
        else formulas.theorem_2_3_gaussian(1024, 1.0, 1.0, 1e-6, base)
    )
    assert made.scale == scale
    assert made.printed.delta == (0.0 if laplace else 1e-6)
    if not laplace:
        assert scale <= made.grid.scale <= scale * (1 + 1e-5)
    assert (made.printed.lower_bound > 0) == laplace
    assert len(made.printed.differs) == 3


def test_printed_trees_add_the_printed_noise():
    """With one vector, the first of many sums: the deviation is that of one node, within 5 standard errors."""
    for tree in (LaplaceTree, Tree):
        delta = 0.0 if tree is LaplaceTree else 1e-6
        made = PrintedTree.as_printed(1.0, 64, epsilon=1.0, delta=delta)
        first = [float(made.start(Randomness.replayable(seed)).add(np.ones(1))[0]) - 1.0 for seed in range(1000)]
        squares = np.square(first) / (made.scale**2 * (2 if tree is LaplaceTree else 1))
        assert abs(squares.mean() - 1) < 5 * squares.std() / sqrt(1000)
        assert abs(0.64 * squares.mean() - 1) > 2 * squares.std() / sqrt(1000)


def test_doors_of_printed_trees():
    made = PrintedTree.as_printed(1.0, 16, epsilon=1.0)
    with pytest.raises(
        PrivacyError, match=r"as printed \(bandit, Theorem 2.3, natural logarithms\) is for simulations"
    ):
        made.start()
    PrintedTree.as_printed(1.0, 16, **ASKED, dimension=3).start().add(np.zeros(3))
    halved = PrintedTree.as_printed(1.0, 1024, epsilon=1.0, relation="zero-out")
    assert halved.curve.epsilon(0.0) == pytest.approx(11 / np.log(1024))
    with pytest.raises(InvalidInput, match="'reading'"):
        PrintedTree.as_printed(1.0, 16, **ASKED, reading="base 10")
    with pytest.raises(InvalidInput, match="'length'"):
        PrintedTree.as_printed(1.0, 1, **ASKED)


# Algorithm 2.


@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("reading", ["line 1", "appendix B"])
def test_algorithm_2_on_one_linear_loss(size, reading):
    """The printed rate walks D_w^(1/2) times too slowly; that of Appendix B stays within the order."""
    rounds = 1000
    plan = NoisyLeader.as_printed(interval(size, rounds), result="Algorithm 2", reading=reading)
    rate = formulas.algorithm_2(rounds, size, 1.0) if reading == "line 1" else 2 * size / sqrt(rounds)
    assert plan.core().eta == pytest.approx(rate, rel=1e-12)
    assert plan.printed_status == "not private"
    half = sqrt(2) * size
    walked = np.minimum(half, rate * np.arange(rounds))
    simulation = simulate(plan, OneLinearLoss(rounds), runs=1, progress=False)
    regret = float(simulation.mean[-1])
    assert regret == pytest.approx(float(np.sum(half - walked)), rel=1e-9)
    assert regret <= float(plan.regret_bound) * (1 + 1e-9)
    order = plan.printed.values["order"]
    assert order == pytest.approx(size * sqrt(rounds))
    slow = reading == "line 1" and size > 1
    assert (regret > 10 * order) == slow
    assert (regret < 1.1 * order) != slow


def test_algorithm_2_promises_nothing_else():
    with pytest.raises(InvalidInput, match="'reading'"):
        NoisyLeader.as_printed(interval(1.0, 10), reading="line 2")
    with pytest.raises(InvalidInput, match="as_printed"):
        NoisyLeader.calibrate(interval(1.0, 10), **ASKED)
    core = NoisyLeader(interval(1.0, 10)).core()
    assert isinstance(core, NoisyOCO)
    assert core.printed.place == "bandit, Algorithm 2, line 1"
    assert core.printed.differs


# Streams and players that look at nothing.


def test_the_still_player_plays_the_centre():
    for domain in (Ball(2, 0.5), Simplex(3)):
        shown = []

        def values(points, first, shown=shown):
            shown.append(points)
            return np.zeros(len(points))

        Still(Bandit(domain=domain, horizon=10)).start(Randomness.replayable(1)).run(Rounds(values, 10, keep=False))
        np.testing.assert_allclose(np.concatenate(shown), np.tile(domain.centre, (10, 1)))


def test_the_uniform_player_is_uniform_and_no_better_than_the_centre():
    problem = MovingTarget(Ball(3, 0.5), 20_000).problem
    shown = []

    def values(points, first):
        shown.append(points)
        return np.zeros(len(points))

    plan = UniformInBall(problem)
    plan.start(Randomness.replayable(1)).run(Rounds(values, 20_000, keep=False))
    lengths = np.linalg.norm(shown[0], axis=1)
    # (|x|/r)^n is uniform.
    assert np.sort((lengths / 0.5) ** 3) == pytest.approx(np.arange(20_000) / 20_000, abs=0.02)
    assert abs(shown[0].mean(axis=0)).max() < 0.01
    assert plan.guarantee.epsilon(0.0) == 0.0
    with pytest.raises(InvalidInput, match="balls"):
        UniformInBall(Bandit(domain=Simplex(3), horizon=10))


def test_three_kinds_of_learners_meet_the_same_targets():
    world, horizon = MovingTarget(Ball(2, 0.5), 3000), 3000
    source = Randomness.replayable(4)
    targets = draw_targets(horizon, 2, source.stream("feedback"))
    np.testing.assert_allclose(targets, world.start(Randomness.replayable(4).stream("feedback"))._targets(
        horizon, Randomness.replayable(4).stream("feedback")
    ), atol=1e-15)  # fmt: skip
    assert np.linalg.norm(targets, axis=1).max() <= 0.5 + 1e-12
    seen = SquaredGradients(2, horizon).data(Randomness.replayable(4).stream("feedback"))
    np.testing.assert_array_equal(seen, targets)
    losses = SquaredArms(19, horizon).losses(Randomness.replayable(4).stream("feedback"))
    points = np.tile([0.1, -0.2], (horizon, 1))
    opponent = SquaredTarget(2, horizon).start(Randomness.replayable(4).stream("feedback"))
    paid = np.concatenate([opponent.values(points[:1000], 0), opponent.values(points[1000:], 1000)])
    np.testing.assert_allclose(paid, ((points - targets) ** 2).sum(axis=1) / 2)
    np.testing.assert_allclose(losses[:, 7], ((net(2)[7] - targets) ** 2).sum(axis=1) / 2)
    best = ((targets - targets.mean(axis=0)) ** 2).sum() / 2
    assert opponent.regret == pytest.approx(paid.sum() - best, rel=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_net_lies_in_the_ball(dimension):
    points = net(dimension)
    assert len(points) == (19 if dimension == 2 else 4 * dimension + 1)
    assert net_dimension(len(points)) == dimension
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(0.5)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(len(points))
    assert apart.min() == pytest.approx(0.25)


# The table.


@pytest.fixture(scope="module")
def table():
    return run(horizon=400, runs=2, progress=False)


def test_rows_are_the_plans_of_their_labels():
    check_rows(run(horizon=400, runs=1, progress=False))


def check_rows(table):
    """Every row that ran is the plan that its entry asks for, and its regret that of this plan."""
    streams = {stream.name: stream for stream in PAPER.streams}
    remaining = [entry for stream in PAPER.streams for entry in PAPER.entries if entry.stream == stream.name]
    shown = [
        (row, simulation)
        for row, simulation in zip(table.rows, table.simulations, strict=True)
        if row.label != "still" or "uniform" in row.note
    ]
    assert len(shown) == len(remaining)
    for (row, simulation), entry in zip(shown, remaining, strict=True):
        assert (row.label, row.stream, row.result) == (entry.kind, entry.stream, entry.result)
        if simulation is None:
            assert row.status == "refused"
            assert row.note
            continue
        stream = streams[entry.stream]
        problem = stream.problem(400, 2)
        target = {} if not entry.private else {"epsilon": 1.0, "delta": 1e-6, **entry.choose}
        kind = entry.plan if isinstance(entry.plan, type) else getattr(algorithms, entry.plan)
        if entry.kind == "still":
            plan = kind(problem)
        elif entry.kind in ("printed", "repaired"):
            target = target or dict(entry.choose)
            plan = kind.as_printed(problem, result=entry.result, **target)
        else:
            plan = kind.calibrate(problem, **target)
        assert simulation.plan.signature == plan.signature
        again = simulate(plan, stream.environment(problem, 400), runs=len(simulation.regret), progress=False)
        assert row.mean == float(again.mean[-1])
        assert row.epsilon == plan.guarantee.epsilon(min(1e-6, plan.guarantee.at_delta))
        assert row.regret_bound == again.bound
        if plan.printed is not None:
            assert row.status == plan.printed.status(plan.guarantee.curve)
        # Printed rows of Algorithm 1 run uphill; repaired ones do not, and are kept.
        if isinstance(plan, BanditFW):
            assert plan.uphill == (entry.kind == "printed")
        if entry.kind == "repaired" and entry.private:
            assert row.status == "kept"


def test_rows_of_pure_privacy_are_held_to_delta_0(table):
    rows = [row for row in table.rows if row.stream == "ball" and ("Lemma 5.2" in row.result or "delta=0" in row.note)]
    assert len(rows) == 3
    assert rows[-1].epsilon == 1.0
    assert all("printed order" in row.note for row in rows[:2])


def test_the_comparator_is_never_missing(table):
    for stream in PAPER.streams:
        rows = [row for row in table.rows if row.stream == stream.name]
        assert rows[0].label == "still"
        assert rows[0].epsilon == 0.0
        for row in rows[1:]:
            assert ("no better than still" in row.note) == (row.mean >= rows[0].mean and row.status != "refused")


def test_a_result_may_be_asked_for():
    table = run(horizon=400, runs=1, results=["Lemma 5.5"], progress=False)
    assert {row.result for row in table.rows} == {"", "Lemma 5.5"}
    entry = next(entry for entry in PAPER.entries if entry.result == "Lemma 5.2" and entry.kind == "printed")
    assert plan_of(entry, ball(2, 400), SMALL).delta == 0.0


def test_refused_rows_say_why():
    table = run(horizon=64, runs=1, results=["Lemma 5.2"], progress=False)
    refused = [row for row in table.rows if row.status == "refused"]
    assert refused
    assert all("would be enough" in row.note or row.note for row in refused)
    assert all(row.plan for row in refused)


def test_the_command_writes_the_table(tmp_path):
    place = tmp_path / "bandit.md"
    assert run_command("paper", "bandit", "--horizon", "400", "--runs", "1", "--table", str(place)) == 0
    assert "Lemma 5.5" in place.read_text()


def test_learners_of_printed_plans_are_the_shipped_ones():
    assert isinstance(BanditFW.as_printed(ball(), **ASKED).start(Randomness.replayable(1)), BanditFWLearner)
