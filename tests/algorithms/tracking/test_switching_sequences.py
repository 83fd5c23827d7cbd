"""The reduction of Theorem 4.1: a black box whose experts are sequences."""

from itertools import pairwise, product
from typing import ClassVar

import numpy as np
import pytest

from runtime.contract import LearnerContract, losses, pytest_generate_tests
from tacit import audit
from tacit.algorithms import L2P, LazyExperts, SwitchingSequences
from tacit.algorithms.tracking.switching_sequences import MOST_SEQUENCES, Sequences, box_problem
from tacit.auditing.script import transcript_law
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Tracking
from tacit.simulation.comparators import best_switching_sequence

__all__ = ["pytest_generate_tests"]

SMALL = Tracking(n=3, horizon=40, switches=1)


def made(problem=SMALL, **changes):
    settings = {"eta": 0.05, "force": 0.1, "batch": 2} | changes
    return SwitchingSequences.around(problem, L2P(box_problem(problem), **settings))


class TestContract(LearnerContract):
    """The black box is part of the learner: its state, its noise, its refusals."""

    cases: ClassVar = {
        "sequences on L2P": lambda: (made(), losses(3)),
        "sequences on lazy experts": lambda: (
            SwitchingSequences.around(SMALL, LazyExperts(box_problem(SMALL), eta=0.05, force=0.1)),
            losses(3),
        ),
    }
    long: ClassVar = {}


@pytest.mark.parametrize(("n", "rounds", "switches"), [(2, 5, 1), (3, 4, 2), (2, 4, 0)])
def test_sequences_are_all_with_few_switches(n, rounds, switches):
    """Every sequence with at most S switches is among them, and no other is."""
    wanted = {
        sequence
        for sequence in product(range(n), repeat=rounds)
        if sum(a != b for a, b in pairwise(sequence)) <= switches
    }
    found = Sequences(n, rounds, switches)
    assert found.experts.shape == (found.count, rounds)
    assert {tuple(row) for row in found.experts.tolist()} == wanted


def test_too_many_sequences_are_refused():
    assert Sequences(2, 1000, 1).count == 4002 <= MOST_SEQUENCES
    with pytest.raises(InvalidInput, match="needs 16,002 sequences"):
        Sequences(2, 4000, 1)
    with pytest.raises(InvalidInput, match="LazyFixedShare"):
        SwitchingSequences.calibrate(Tracking(n=10, horizon=1000, switches=3), epsilon=1.0, delta=1e-6)


def test_the_black_box_sees_the_losses_of_sequences_and_decides():
    """Against the black box itself, run on a table of losses that is made here."""
    plan = made(force=0.5)
    rows = np.array(losses(3))[:40]
    experts = plan.sequences.experts
    table = rows[np.arange(40), experts].T  # of each sequence in each round
    assert table.sum(axis=0).min() == pytest.approx(best_switching_sequence(rows, 1)[0])
    for seed in range(5):
        learner = plan.start(Randomness.replayable(seed))
        played = learner.run(rows)
        inside = plan.box.start(Randomness.replayable(seed).child("sequences"))
        chosen = inside.run(np.ascontiguousarray(table))
        np.testing.assert_array_equal(played, experts[chosen, np.arange(40)])
        assert learner.switches == np.count_nonzero(np.diff(played))


def test_the_contract_and_the_bound_are_the_black_boxes():
    plan = SwitchingSequences.calibrate(SMALL, epsilon=1.0, delta=1e-6, relation="zero-out", rounds_per_person=2)
    assert plan.guarantee.epsilon(1e-6) == plan.box.guarantee.epsilon(1e-6) <= 1.0
    assert (plan.relation.name, plan.rounds_per_person) == (plan.box.relation.name, 2)
    assert float(plan.regret_bound) == min(float(plan.box.regret_bound), 40.0)
    assert "post-processing" in plan.guarantee.theorem
    assert plan.certified_against == plan.box.certified_against
    assert plan.work_per_round == plan.sequences.count
    assert plan.guarantee.numerics == "exact"
    lazy = SwitchingSequences.calibrate(SMALL, epsilon=1.0, delta=1e-6, box=LazyExperts)
    assert lazy.box.algorithm == "LazyExperts"


def test_printed_reductions():
    printed = SwitchingSequences.as_printed(SMALL, epsilon=1.0, delta=1e-6)
    assert printed.box.printed.result == "Theorem 3.10"
    assert printed.printed.reading == "p = eta/epsilon"
    assert printed.printed.values["experts"] == printed.sequences.count
    again = SwitchingSequences.as_printed(SMALL, epsilon=1.0, delta=1e-6, reading="p = eta/epsilon")
    assert again.signature == printed.signature
    with pytest.raises(InvalidInput, match="reading"):
        SwitchingSequences.as_printed(SMALL, epsilon=1.0, delta=1e-6, reading="p = 1")
    own = SwitchingSequences.as_printed(SMALL, epsilon=1.0, delta=1e-6, result="Theorem 4.1", box=LazyExperts)
    assert own.printed_status == "kept"
    assert own.start().guarantee.private
    mended = SwitchingSequences.as_printed(SMALL, epsilon=1.0, delta=1e-6, box_result="Theorem 3.2")
    assert mended.printed_status == "kept"
    alone = SwitchingSequences.as_printed(
        Tracking(n=3, horizon=40, switches=0), epsilon=1.0, delta=1e-6, result="Theorem 4.1"
    )
    assert "1 without switches" in alone.printed.evidence[-1]
    with pytest.raises(PrivacyError, match="no pure form"):
        SwitchingSequences.as_printed(SMALL, epsilon=1.0, delta=0.0)
    with pytest.raises(InvalidInput, match=r"None for Theorem 4\.1"):
        SwitchingSequences.as_printed(SMALL, epsilon=1.0, delta=1e-6, result="Theorem 4.1", reading="p = eta/epsilon")


def test_parts_that_do_not_fit_are_refused():
    box = L2P(box_problem(SMALL), eta=0.05, force=0.1)
    with pytest.raises(InvalidInput, match="a plan for experts"):
        SwitchingSequences(SMALL, "L2P")
    with pytest.raises(InvalidInput, match="box"):
        SwitchingSequences(Tracking(n=3, horizon=41, switches=1), box)
    with pytest.raises(InvalidInput, match="delta"):
        SwitchingSequences(SMALL, box, delta=1e-3)
    with pytest.raises(PrivacyError, match="max_switches"):
        SwitchingSequences.calibrate(SMALL, epsilon=1.0, delta=1e-6, max_switches=5)
    with pytest.raises(InvalidInput, match="horizon"):
        box_problem(Tracking(n=3, horizon=None, switches=1))


def test_the_exact_curve_of_the_decisions_lies_under_the_black_boxes():
    plan = made(Tracking(n=2, horizon=2, switches=1), eta=0.4, batch=1)
    worst = 0.0
    for first in ([0.0, 1.0], [1.0, 0.0], [1.0, 1.0]):
        law = transcript_law(plan, [np.array([0.0, 1.0]), np.zeros(2)])
        other = transcript_law(plan, [np.array(first), np.zeros(2)])
        assert sum(law.values()) == pytest.approx(1.0)
        worst = max(worst, *(abs(np.log(law[key] / other[key])) for key in law))
    assert 0.01 < worst < plan.curve.pure()
    assert not audit(made(), budget=0.05).violation


def test_a_state_with_another_round_inside_is_refused():
    plan = made()
    learner = plan.start(Randomness.replayable(7))
    learner.run(np.array(losses(3))[:6])
    learner._inner._round = 4
    with pytest.raises(InvalidInput, match="contradicts itself"):
        plan.restore(learner.state_dict())
