"""Cards for notebooks: escaped, self-contained, in the colours of the page, and silent about what is private."""

import re

import numpy as np
import pytest

import tacit
from tacit.markup import card, line_chart, round_ticks
from tacit.planning.comparison import Candidate, Comparison

PROBLEM = tacit.Experts(n=3, horizon=60)


def shown(plan):
    ledger = tacit.Ledger(epsilon=3.0)
    learner = plan.start(ledger=ledger)
    simulation = tacit.simulate(plan, "gap", runs=3)
    report = tacit.audit(tacit.algorithms.ScheduledExperts(tacit.Experts(n=2, horizon=4), eta=0.3), budget=0.01)
    return [plan, plan.guarantee, simulation, report, ledger, tacit.Ledger(), learner]


def test_everything_shown_is_whole_and_asks_for_nothing():
    for value in shown(tacit.plan(PROBLEM, epsilon=1.0, delta=1e-6, environment="gap", runs=2)):
        html = value._repr_html_()
        assert "<script" not in html
        assert not re.search(r"(src|href|url)\s*[=(]", html)
        opened = re.findall(r"<(\w+)(?:\s[^>]*[^/])?>", html)
        closed = re.findall(r"</(\w+)>", html)
        assert sorted(tag for tag in opened if tag != "line") == sorted(closed)


def test_everything_is_escaped():
    bad = '<b>&"'
    html = card(bad, [(bad, bad)], table=[(bad,), (bad,)], warning=bad, note=bad)
    assert "<b>" not in html
    plan = tacit.plan(PROBLEM, epsilon=1.0, delta=1e-6)
    named = Comparison(PROBLEM, plan.target, [*plan.candidates, Candidate(bad, None, bad)], [bad])
    assert "<b>" not in named._repr_html_()
    assert "<b>" not in line_chart([1, 2], [0, 1], [0, 0], level=2.0, labels=(bad, bad, bad))


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


def test_the_chart_holds_what_is_not_finite():
    chart = line_chart([1, 2], [0.0, 0.0], [0.0, 0.0], level=float("inf"), labels=("round", "regret", "bound"))
    assert "bound" not in chart.replace("aria", "")
    assert "nan" not in chart
    assert "nan" not in line_chart([5], [1.0], [0.0], labels=("round", "regret", ""))


@pytest.mark.parametrize(("low", "high"), [(0, 1197), (1, 2000), (-3.2, 0.4), (0, 1e-9), (7, 7)])
def test_ticks_are_round(low, high):
    ticks = round_ticks(low, high)
    assert 1 <= len(ticks) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
    assert all(len(f"{abs(tick):.12g}".strip("0.").split("e")[0].replace(".", "")) <= 3 for tick in ticks)
