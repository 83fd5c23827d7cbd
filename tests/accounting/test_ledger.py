"""Budgets that renew, and learners that are charged: the rule is the same in memory and in a store."""

import pickle
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

import tacit
from tacit.accounting import ledger as budgets
from tacit.accounting.composition import joint
from tacit.accounting.curves import Approximate, Curve, Gaussian, Pure
from tacit.accounting.guarantee import Guarantee
from tacit.accounting.ledger import Budget, Entry
from tacit.errors import InvalidInput, PrivacyError


def spent(epsilon, **fields):
    return Guarantee(Pure(epsilon), 0.0, "x", "y", **fields)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    times = {"now": datetime(2026, 1, 31, 23, 59, tzinfo=UTC)}
    monkeypatch.setattr(budgets, "now", lambda: times["now"])
    monkeypatch.setattr("tacit.accounting.ledger.now", lambda: times["now"])
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
    content = ledger.to_dict()
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
    with pytest.raises(PrivacyError, match="is of 2026-03"):
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


def _contracts():
    experts = tacit.Experts(n=3, horizon=300, delay=2)
    names = ("LazyExperts", "HedgeOnSums", "ScheduledExperts", "L2P")
    made = [tacit.plan(experts, epsilon=0.3, delta=1e-6, algorithms=[name]).guarantee for name in names]
    zeroed = tacit.plan(experts, epsilon=0.3, delta=1e-6, algorithms=["LazyExperts"], relation="zero-out").guarantee
    point = Guarantee(Approximate(0.2, 1e-9), 1e-9, "x", "y")
    return [*made, zeroed, spent(0.1), spent(0.05), point, Guarantee(Gaussian(0.1), 1e-6, "x", "y")]


CONTRACTS = _contracts()


def test_adding_vectors_is_never_below_the_exact_composition_and_hardly_above():
    contracts = [replace(contract) for contract in CONTRACTS]  # with vectors of their own
    mixes = [[contract] * count for contract in contracts for count in (2, 40)]
    mixes += [contracts[:4] * 10, contracts[5:] * 10, contracts * 4]
    for mix in mixes:
        for delta in (1e-6, 1e-3):
            added = budgets.bound(mix, delta)
            together = joint([contract.curve for contract in budgets.related(mix)]).epsilon(delta)
            assert together * (1 - 1e-9) <= added <= together * 1.002
            exact = budgets.composed(mix).epsilon(delta)
            assert exact * (1 - 1e-9) <= added
            if len(mix) > 30:  # a few may cost less one by one, which is tried before anything is refused
                assert added <= 1.01 * exact


def test_a_vector_that_is_not_known_fails_closed():
    class Lost(Curve):
        def renyi(self, orders):
            return np.full_like(orders, np.nan)

    lost = Guarantee(Lost(), 1e-6, "x", "y")
    assert budgets.bound([lost, spent(0.1)], 1e-6) == np.inf


def test_what_the_exact_composition_allows_is_allowed():
    two = CONTRACTS[:1] * 2
    exact = budgets.composed(two).epsilon(1e-6)
    assert exact < budgets.bound(two, 1e-6)
    ledger = tacit.Ledger(epsilon=exact, delta=1e-6)
    for contract in two:
        ledger.record("both", contract)
    with pytest.raises(PrivacyError, match="would bring the ledger"):
        ledger.record("third", two[0])


def test_pickled_guarantees_leave_vectors_out():
    contract = CONTRACTS[0]
    assert contract.vector is contract.vector
    assert "vector" not in vars(pickle.loads(pickle.dumps(contract)))
    assert Guarantee.from_json(contract.to_json()) == contract
