"""Exact laws of learners with late feedback: under the certified curve, and those that the regret bounds speak of."""

from itertools import pairwise, product

import numpy as np
import pytest

from tacit import Arms, Experts, Randomness, Tracking
from tacit.algorithms import (
    L2P,
    BatchedTsallis,
    LazyExperts,
    LazyFixedShare,
    PhasedArms,
    ScheduledExperts,
)
from tacit.auditing import attacks
from tacit.auditing.arms import arms_law
from tacit.auditing.certified_law import actions_only
from tacit.auditing.script import transcript_law
from tacit.runtime.small_instances import SmallInstance

EXPERTS = Experts(n=2, horizon=4, delay=1)
TRACKING = Tracking(n=2, horizon=4, delay=1, switches=1)
COUNTED = {
    "lazy": LazyExperts(EXPERTS, eta=0.3, force=0.3),
    "lazy, batches": LazyExperts(Experts(n=2, horizon=6, delay=1), eta=0.3, force=0.3, batch=2),
    "lazy, capped": LazyExperts(EXPERTS, eta=0.3, force=0.3, max_switches=1),
    "L2P": L2P(EXPERTS, eta=0.3, force=0.3),
    "scheduled": ScheduledExperts(EXPERTS, eta=0.3),
    "shares, lazy": LazyFixedShare(TRACKING, eta=0.3, force=0.3),
    "shares, uniform": LazyFixedShare(TRACKING, eta=0.3, force=0.3, prior="uniform"),
}


@pytest.mark.parametrize("plan", COUNTED.values(), ids=COUNTED)
def test_the_exact_law_lies_under_the_curve_without_delay(plan):
    """The delayed learner is the other one on a sequence of which one entry depends on one round: same curve."""
    prompt = SmallInstance("enumeration", "", plan)
    found = attacks.exact(prompt, Randomness.replayable(3).stream("search"), laws=16)
    assert not found.violation
    assert found.lower > 0


ARMS = {
    "tsallis": BatchedTsallis(Arms(n=2, horizon=4, delay=1), 1.0, 1, 0.5, 0.3, 0.2),
    "phased": PhasedArms(Arms(n=2, horizon=4, delay=1, adversary="stochastic"), 1.0, 1),
}


@pytest.mark.parametrize("plan", ARMS.values(), ids=ARMS)
def test_copies_and_waiting_arms_spend_the_budget_once(plan):
    instance = SmallInstance("enumeration", "", plan)
    found = attacks.exact(instance, Randomness.replayable(3).stream("search"), laws=10, law=arms_law)
    assert not found.violation
    assert found.lower == pytest.approx(1.0, abs=1e-9)  # what is released of a round is worth exactly epsilon


def path_law(rounds, known, number, rows, eta, weight):
    """The law of a path's position in round `number` when the losses of the first `known` rounds count."""
    law = np.zeros(2)
    for path in product(range(2), repeat=rounds):
        loss = sum(rows[at][path[at]] for at in range(known))
        law[path[number]] += weight(path) * np.exp(-eta * loss)
    return law / law.sum()


def marginals(plan, rows):
    """The enumerated law of each action of the shipped learner."""
    seen = np.zeros((len(rows), 2))
    for actions, mass in actions_only(plan, transcript_law(plan, list(rows))).items():
        for place, action in enumerate(actions):
            seen[place, action] += mass
    return seen


@pytest.mark.parametrize(
    ("prior", "batch", "rounds"),
    [
        ("markov", 1, 5),
        ("markov", 2, 6),
        ("uniform", 1, 4),
        ("uniform", 2, 6),
        pytest.param("markov", 1, 6, marks=pytest.mark.slow),
        pytest.param("uniform", 1, 6, marks=pytest.mark.slow),
    ],
)
def test_lazy_shares_have_the_law_of_paths(prior, batch, rounds):
    """Positions in the present of paths weighted by the losses that count: to 1e-13, by enumeration of both."""
    delay, eta = min(2, rounds - 3), 0.7
    plan = LazyFixedShare(
        Tracking(n=2, horizon=rounds, delay=delay, switches=2), eta=eta, force=0.3, batch=batch, prior=prior
    )
    rows = np.array([[1, 0], [0, 1], [0.5, 1], [1, 0], [0, 0.25], [1, 1]], dtype=float)[:rounds]
    share = 2 / (rounds - 1)

    def weight(path):
        moves = sum(a != b for a, b in pairwise(path))
        return share**moves * (1 - share) ** (rounds - 1 - moves) if prior == "markov" else float(moves <= 2)

    seen = marginals(plan, rows)
    for number in range(rounds):
        known = max(0, number - delay) // batch * batch
        np.testing.assert_allclose(seen[number], path_law(rounds, known, number, rows, eta, weight), atol=1e-13)


def test_draws_before_any_feedback_are_fresh():
    """An adversary that has seen the first draw learns nothing about the next ones."""
    plan = ScheduledExperts(Experts(n=2, horizon=4, delay=3), eta=0.3)
    law = transcript_law(plan, [np.array([0.0, 1.0])] * 4)
    assert len(law) == 16
    np.testing.assert_allclose(list(law.values()), 1 / 16)
