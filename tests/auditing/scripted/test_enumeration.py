"""The enumerated law is the shipped learner's, and the search finds the worst neighbours."""

import numpy as np
import pytest

from tacit import REPLACE, ZERO_OUT, Experts, Randomness, Tracking
from tacit.algorithms import (
    L2P,
    LazyExperts,
    LazyFixedShare,
    LimitedUpdates,
    RestartOnShift,
    ScheduledExperts,
)
from tacit.auditing import attacks
from tacit.auditing.certified_law import above_threshold, frequencies, isolation, marginals
from tacit.auditing.instances import Search, alphabet
from tacit.auditing.script import ExactCurve, transcript_law
from tacit.runtime.small_instances import SmallInstance

STREAM = [1, 2, 3, 1, 0, 2]
STATIONARY = Tracking(n=2, horizon=8, switches=0, adversary="stochastic")
SHIFTING = Tracking(n=2, horizon=4, switches=1, adversary="stochastic")
PLANS = [
    LazyExperts(Experts(n=2, horizon=5), eta=0.5, force=0.2),
    LazyExperts(Experts(n=2, horizon=6), eta=0.5, force=0.2, batch=2, relative=False),
    LazyExperts(Experts(n=2, horizon=5, loss_range=(-1.0, 3.0)), eta=0.5, force=0.2, max_switches=1),
    L2P(Experts(n=2, horizon=3), eta=0.5, force=0.2, reference_force=0.3),
    ScheduledExperts(Experts(n=2, horizon=5), eta=0.7),
    LazyFixedShare(Tracking(n=2, horizon=4, switches=1), eta=0.5, force=0.2),
    LazyFixedShare(Tracking(n=2, horizon=4, switches=1), eta=0.5, force=0.2, prior="uniform"),
    LimitedUpdates(STATIONARY, epsilon=2.0),
    RestartOnShift(SHIFTING, epsilon=4.0, interval=1, slope=0.2, margin=0.0),
]


def generator(seed=0):
    return Randomness.replayable(seed).stream("tests")


def instance_of(plan):
    return SmallInstance("enumeration", "test", plan)


def feedback_of(plan):
    return alphabet(plan).stream((STREAM * 2)[: plan.horizon])


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.algorithm)
def test_real_runs_have_the_enumerated_law(plan):
    assert sum(transcript_law(plan, feedback_of(plan)).values()) == pytest.approx(1.0, abs=1e-12)
    assert not frequencies(instance_of(plan), feedback_of(plan), 1, runs=600).violation


def test_the_search_finds_the_known_worst_pair():
    """Anchor: over all neighbouring 0/1 streams the exact delta(0) is .2173 with actions and switch bits."""
    plan = LazyExperts(Experts(n=2, horizon=5), eta=0.3, force=0.3, relative=False)
    found = Search(plan, alphabet(plan), generator(), laws=60).run()
    delta = found.curve.delta(0.0)
    assert 0.2 < delta <= 0.2173 + 5e-5
    assert delta >= 0.4 * plan.guarantee.delta(0.0)
    assert sum(a != b for a, b in zip(found.stream, found.neighbour, strict=True)) == 1
    with pytest.raises(AssertionError):
        # A budget of two laws is not a search.
        assert Search(plan, alphabet(plan), generator(), laws=2).run().curve.delta(0.0) > 0.217


def test_neighbours_keep_the_relation_and_the_number_of_rounds():
    for relation in (REPLACE, ZERO_OUT):
        plan = LazyExperts(Experts(n=2, horizon=5), eta=0.3, force=0.3, relation=relation, rounds_per_person=2)
        found = Search(plan, alphabet(plan), generator(2), laws=20).run()
        changed = [(a, b) for a, b in zip(found.stream, found.neighbour, strict=True) if a != b]
        assert 1 <= len(changed) <= 2
        if relation is ZERO_OUT:
            assert all(b == -1 for _, b in changed)
        assert found.ratio <= 1


def test_exact_curves():
    curve = ExactCurve.of({"a": 0.5, "b": 0.5}, {"a": 0.25, "b": 0.75})
    assert curve.delta(0.0) == 0.25
    assert curve.largest_loss == pytest.approx(np.log(2))
    assert curve.epsilon(0.0) == pytest.approx(np.log(2), abs=1e-8)
    assert curve.epsilon(0.25) == 0.0
    assert curve.delta(curve.epsilon(0.1)) == pytest.approx(0.1, abs=1e-8)
    impossible = ExactCurve.of({"a": 1.0}, {"a": 0.5, "b": 0.5})
    assert impossible.largest_loss == impossible.epsilon(0.1) == float("inf")


def test_a_plan_that_claims_too_much_is_a_violation():
    """The certificate of half the rate does not cover the learner at the full rate."""
    plan = ScheduledExperts(Experts(n=2, horizon=5), eta=0.6)
    quiet = ScheduledExperts(Experts(n=2, horizon=5), eta=0.3)
    object.__setattr__(plan, "guarantee", quiet.guarantee)
    finding = attacks.exact(instance_of(plan), generator(), laws=30)
    assert finding.violation
    assert finding.violation
    assert finding.tightness > 1


def test_the_law_of_actions_is_exponential_weights():
    assert not marginals(instance_of(PLANS[0]), feedback_of(PLANS[0])).violation
    assert not marginals(instance_of(PLANS[1]), feedback_of(PLANS[1])).violation
    assert marginals(instance_of(PLANS[2]), feedback_of(PLANS[2])).violation  # a capped chain has another law


def test_above_threshold_and_restarts():
    finding = above_threshold()
    assert not finding.violation
    assert finding.tightness > 0.99
    assert not isolation(instance_of(PLANS[-1]), generator(3), runs=30).violation
