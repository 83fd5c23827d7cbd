"""Budgets that renew, and learners that are charged: the rule is the same in memory and in a store."""

import json
from datetime import UTC, datetime

import pytest

import tacit
from tacit.errors import InvalidInput, PrivacyError
from tacit.privacy import budgets
from tacit.privacy.budgets import Budget, Entry
from tacit.privacy.curves import Pure
from tacit.privacy.guarantee import Guarantee


def spent(epsilon, **fields):
    return Guarantee(Pure(epsilon), 0.0, "x", "y", **fields)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    times = {"now": datetime(2026, 1, 31, 23, 59, tzinfo=UTC)}
    monkeypatch.setattr(budgets, "now", lambda: times["now"])
    monkeypatch.setattr("tacit.privacy.ledger.now", lambda: times["now"])
    return lambda *date: times.update(now=datetime(*date, tzinfo=UTC))


def test_a_budget_renews_by_the_calendar_and_all_time_is_shown(clock):
    ledger = tacit.Ledger(epsilon=1.0, delta=0.0, renews="monthly")
    ledger.record("first", spent(1.0))
    with pytest.raises(PrivacyError, match=r"in 2026-01; its budget is 1\. Nothing was spent"):
        ledger.record("second", spent(0.5))
    clock(2026, 2, 1)
    assert ledger.spent == 0.0
    ledger.record("second", spent(0.5))
    assert (ledger.spent, ledger.epsilon(0.0)) == (0.5, 1.5)
    content = json.loads(ledger.to_json())
    assert (content["period"], content["spent"], content["renews"]) == ("2026-02", 0.5, "monthly")
    assert content["spent_ever"] == 1.5
    assert [entry["period"] for entry in content["entries"]] == ["2026-01", "2026-02"]
    assert "spent in 2026-02: epsilon=0.5 of 1" in ledger.table()
    assert "spent ever" in ledger.table()
    assert "2026-01-31 23:59" in ledger.table()


def test_a_clock_that_is_set_back_renews_nothing(clock):
    ledger = tacit.Ledger(epsilon=1.0, renews="monthly")
    clock(2026, 3, 1)
    ledger.record("first", spent(1.0))
    clock(2026, 2, 27)
    with pytest.raises(PrivacyError, match="in 2026-03"):
        ledger.record("second", spent(0.5))
    assert ledger.period == "2026-03"
    clock(2026, 4, 1)
    ledger.record("third", spent(1.0))


@pytest.mark.parametrize(
    ("renews", "same", "other"),
    [
        ("daily", (2026, 12, 31, 1), (2027, 1, 1)),
        ("weekly", (2027, 1, 3), (2027, 1, 4)),  # one week of both years
        ("yearly", (2026, 1, 1), (2027, 1, 1)),
    ],
)
def test_every_kind_of_period(renews, same, other, clock):
    ledger = tacit.Ledger(epsilon=1.0, renews=renews)
    clock(2026, 12, 31)
    ledger.record("first", spent(1.0))
    clock(*same)
    with pytest.raises(PrivacyError):
        ledger.record("second", spent(1.0))
    clock(*other)
    ledger.record("third", spent(1.0))


def test_a_run_that_goes_on_is_charged_in_every_period_and_once_over_all_time(clock):
    budget, entries = Budget(1.0, 1e-6, "monthly"), []
    for date in ((2026, 1, 5), (2026, 1, 9), (2026, 2, 1)):
        clock(*date)
        entry = budget.admit(entries, "live", spent(0.75), run="live")
        entries += [entry] if entry else []
    assert [entry.period for entry in entries] == ["2026-01", "2026-02"]
    assert budgets.distinct(entries) == [spent(0.75)]
    with pytest.raises(PrivacyError, match="in 2026-02"):
        budget.admit(entries, "another", spent(0.5))
    assert budget.admit([], "another", spent(0.5)).run == ""
    assert len(budgets.distinct([Entry("a", spent(1.0), datetime.now(UTC))] * 2)) == 2


def test_learners_are_charged_when_they_start():
    plan = tacit.plan(tacit.Experts(n=2, horizon=100), epsilon=1.0, delta=1e-6)
    ledger = tacit.Ledger(epsilon=1.2, delta=1e-6)
    learner = plan.start(ledger=ledger)
    assert list(ledger) == [(plan.algorithm, learner.guarantee)]
    with pytest.raises(PrivacyError, match="its budget is"):
        plan.start(ledger=ledger)
    assert len(ledger) == 1
    plan.plan.start(tacit.Randomness.replayable(1), ledger=(free := tacit.Ledger()))
    assert not free.private
    with pytest.raises(InvalidInput, match="'ledger' parameter of start must be a Ledger"):
        plan.start(ledger=3)


def test_bad_arguments_raise():
    for arguments in ({"renews": "hourly"}, {"epsilon": 0.0}, {"delta": 1.0}):
        with pytest.raises(InvalidInput, match=next(iter(arguments))):
            tacit.Ledger(**arguments)
    with pytest.raises(InvalidInput, match="name"):
        tacit.Ledger().record(3, spent(1.0))
    ledger = tacit.Ledger()
    ledger.record("one", spent(1.0))
    with pytest.raises(PrivacyError, match="rounds_per_person"):
        ledger.record("two", spent(1.0, rounds_per_person=2))
    assert "spent: epsilon=1 at delta=1e-06" in ledger.table()
