"""The paper on lazy algorithms: what its rows show at the settings of its table, and its own streams."""

import numpy as np
import pytest

from papers.existing import numbers_of, paper_of
from tacit import algorithms
from tacit.papers import l2p
from tacit.papers.row import Settings
from tacit.papers.run import plan_of
from tacit.simulation.loop import simulate

PAPER = paper_of("l2p")
SETTINGS = Settings(10_000, 10, 1.0, 1e-6, 3, 0)
# Label, result, reading: certified regret, proved epsilon, status.
PLANS = {
    ("printed", "Theorem 3.2", ""): (2180, 0.0914, "kept"),
    ("printed", "Theorem 3.10", "p = eta/epsilon"): (171, 2.27, "refuted"),
    ("printed", "Theorem 3.10", "p = 2 eta/epsilon"): (171, 2.44, "refuted"),
    ("repaired", "Theorem 3.10", "repaired: eta x 0.46, p = 4 eta/epsilon, B = 1"): (339, 0.999, "kept"),
    ("printed", "Theorem 3.12", ""): (10_677, 0.112, "kept"),
    ("repaired", "Theorem 3.12", "repaired: ln(T/delta) = 23 -> 2.05"): (2006, 0.999, "kept"),
}


def planned():
    """The plans of the table, with their entries."""
    for entry in PAPER.entries:
        (stream,) = (each for each in PAPER.streams if each.name == entry.stream)
        yield entry, stream, plan_of(entry, stream.problem(SETTINGS.horizon, SETTINGS.dimension), SETTINGS)


@pytest.fixture(scope="module")
def plans():
    """The plans of the table, made once."""
    return list(planned())


def test_the_table_has_the_numbers(plans):
    found = {}
    for entry, _, plan in plans:
        if entry.result in ("Theorem 3.2", "Theorem 3.10", "Theorem 3.12"):
            key = (entry.kind, entry.result, plan.printed.reading)
            found[key] = (float(plan.regret_bound), plan.guarantee.epsilon(1e-6), plan.printed_status)
    assert found.keys() == PLANS.keys()
    for key, (regret, epsilon, status) in PLANS.items():
        assert found[key][0] == pytest.approx(regret, rel=0.005), key
        assert found[key][1] == pytest.approx(epsilon, rel=0.01), key
        assert found[key][2] == status


def test_printed_orders_stand_where_no_constant_is_printed(plans):
    """The paper prints no bound with a constant."""
    for entry, _, plan in plans:
        if entry.result:
            assert plan.printed.regret is None
            assert "O(" in plan.printed.order


def test_mean_regret_is_under_the_certificate_and_repairs_beat_the_still_player(plans):
    for entry, stream, plan in plans:
        if entry.plan not in ("L2P", "LazyExperts") or entry.result == "Proposition 3.3":
            continue
        environment = stream.environment(plan.problem, SETTINGS.horizon)
        simulation = simulate(plan, environment, runs=3, progress=False)
        error = simulation.standard_error[-1]
        assert simulation.mean[-1] <= float(plan.regret_bound) + 4 * error
        if entry.result != "Theorem 3.2":  # which is no better than the still player, 886
            assert simulation.mean[-1] < 450


def test_turns_are_turns():
    losses = l2p.turns(10, 3)
    assert losses[:, 0].tolist() == [1, 1, 1, 0, 0, 0, 1, 1, 1, 0]
    assert np.array_equal(losses.sum(axis=1), np.ones(10))


def test_batches_cost_what_a_direct_sum_says():
    """Weights by their logarithms, round by round."""
    rounds, eta, batch = 40, 0.3, 4
    losses, added = l2p.turns(rounds, batch), 0.0
    for at in range(rounds):
        now, held = losses[:at].sum(axis=0), losses[: at // batch * batch].sum(axis=0)
        for total, sign in ((held, 1.0), (now, -1.0)):
            weights = np.exp(-eta * total)
            added += sign * float(weights @ losses[at]) / float(weights.sum())
    assert l2p.batch_cost(rounds, eta, batch) == pytest.approx(added, abs=1e-12)


@pytest.mark.parametrize("batch", l2p.BATCHES)
def test_the_note_on_batches_names_all_three_numbers(plans, batch):
    (entry, plan) = next((entry, plan) for entry, _, plan in plans if entry.choose.get("batch") == batch)
    note = entry.note(plan)
    added = l2p.batch_cost(plan.rounds, plan.eta, batch)
    printed, charged = plan.rounds * batch**2 * plan.eta**2, plan.eta * plan.rounds * batch / 8
    assert printed < added <= charged
    assert f"add {added:.3g} in expectation" in note
    assert f"which is {printed:.3g} here" in note
    assert f"eta T B/8 = {charged:.3g}" in note


def test_expected_loss_of_the_learner_is_that_of_the_note():
    """The chains have the law of exponential weights: their mean regret on turns is the sum of `batch_cost`."""
    problem = PAPER.streams[2].problem(2000, 2)
    plan = algorithms.L2P.as_printed(problem, result="Proposition 3.3", eta=0.02, batch=16)
    simulation = simulate(plan, PAPER.streams[2].environment(problem, 2000), runs=150, seed=3, progress=False)
    losses = l2p.turns(2000, 16)
    held = l2p.batch_cost(2000, 0.02, 16)
    alone = l2p.batch_cost(2000, 0.02, 1)
    weights = np.exp(-0.02 * (np.cumsum(losses, axis=0) - losses))
    weights /= weights.sum(axis=1, keepdims=True)
    expected = float(np.sum(weights * losses)) - losses.sum(axis=0).min() + held
    assert alone == 0.0
    assert abs(simulation.mean[-1] - expected) < 5 * simulation.standard_error[-1]
    assert expected > 5 * simulation.standard_error[-1]


def test_definitions_are_no_results():
    typed = numbers_of("l2p")
    assert not {*typed["definitions"]} & {*typed["results"]}
    assert len(typed["results"]) == 20


def test_every_reading_of_the_results_runs():
    problem = PAPER.streams[0].problem(10_000, 10)
    readings = PAPER.result("Theorem 3.10").readings
    for reading in readings:
        plan = algorithms.L2P.as_printed(problem, epsilon=1.0, delta=1e-6, result="Theorem 3.10", reading=reading)
        assert plan.printed.reading.startswith(reading)
    (only,) = PAPER.result("Theorem 3.12").readings
    assert only == "repaired"
