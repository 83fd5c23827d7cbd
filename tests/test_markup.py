"""Cards for notebooks: escaped, self-contained, in the colours of the page, and silent about what is private."""

import re

import numpy as np

import tacit
from tacit.markup import card
from tacit.planning.comparison import Candidate, Comparison

PROBLEM = tacit.Experts(n=3, horizon=60)


def shown(plan):
    ledger = tacit.Ledger(epsilon=3.0)
    learner = plan.start(ledger=ledger)
    return [plan, plan.guarantee, ledger, tacit.Ledger(), learner]


def test_everything_shown_is_whole_and_asks_for_nothing():
    for value in shown(tacit.plan(PROBLEM, epsilon=1.0, delta=1e-6, environment="gap", runs=2)):
        html = value._repr_html_()
        assert "<script" not in html
        assert not re.search(r"(src|href|url)\s*[=(]", html)
        opened = re.findall(r"<(\w+)(?:\s[^>]*[^/])?>", html)
        closed = re.findall(r"</(\w+)>", html)
        assert sorted(opened) == sorted(closed)


def test_everything_is_escaped():
    bad = '<b>&"'
    html = card(bad, [(bad, bad)], table=[(bad,), (bad,)], warning=bad, note=bad)
    assert "<b>" not in html
    plan = tacit.plan(PROBLEM, epsilon=1.0, delta=1e-6)
    named = Comparison(PROBLEM, plan.target, [*plan.candidates, Candidate(bad, None, bad)], [bad])
    assert "<b>" not in named._repr_html_()


def test_a_learner_shows_public_facts_only():
    """Two learners whose data differ look the same."""
    plan = tacit.plan(PROBLEM, epsilon=1.0, delta=1e-6)
    cards = []
    for row in ([0.0, 1.0, 1.0], [1.0, 0.0, 0.0]):
        learner = plan.start()
        learner.run(np.array([row] * 20))
        cards.append(learner._repr_html_())
    assert cards[0] == cards[1]
    assert "NOT private" not in cards[0]
    assert "NOT private" in plan.start(tacit.Randomness.replayable(1))._repr_html_()
