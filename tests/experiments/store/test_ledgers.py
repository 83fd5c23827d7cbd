"""Budgets in a store: charged with the first decision, in one transaction, and kept after everybody ended."""

import json
from datetime import UTC, datetime

import pytest

import tacit
import tacit_experiments
from tacit.accounting import ledger as budgets
from tacit.accounting.curves import Pure
from tacit.accounting.guarantee import Guarantee
from tacit.errors import InvalidInput, PrivacyError, ProtocolError, StoreError
from tacit_experiments.store.live import Turn

pytest.importorskip("sqlalchemy")
PROBLEM = tacit.Experts(n=2, horizon=50)
PURE = {"epsilon": 1.0, "delta": 0.0}


@pytest.fixture
def clock(monkeypatch):
    times = {"now": datetime(2026, 1, 31, tzinfo=UTC)}
    for module in ("tacit.accounting.ledger", "tacit_experiments.storage.ledgers"):
        monkeypatch.setattr(f"{module}.now", lambda: times["now"])
    assert budgets.now() == times["now"]
    return lambda *date: times.update(now=datetime(*date, tzinfo=UTC))


def test_a_learner_is_charged_with_its_first_decision_and_never_again(path):
    with tacit_experiments.Store(path) as store:
        ledger = store.ledger("people", epsilon=1.5, delta=0.0)
        live = store.open("home", PROBLEM, ledger=ledger, **PURE)
        assert len(ledger) == 0
        live.decide()
        assert [name for name, _ in ledger] == ["home"]
        live.decide()
    with tacit_experiments.Store(path) as store:
        live = store.open("home")
        live.decide()
        assert live.ledger is store.ledger("people")
        spent = live.guarantee.epsilon()
        assert 0.99 < spent <= 1.0
        assert store.export("home")["spent"] == {"epsilon": spent, "delta": 0.0, "ledger": "people"}
        assert (len(live.ledger), live.ledger.spent, store.ledgers) == (1, spent, ("people",))
        assert live.ledger.to_dict()["name"] == "people"


def test_what_exceeds_the_budget_is_refused_before_data_are_used(path):
    with tacit_experiments.Store(path) as store:
        store.ledger("people", epsilon=1.5, delta=0.0)
        store.open("home", PROBLEM, ledger="people", **PURE).decide()
        refused = store.open("other", PROBLEM, ledger="people", **PURE)
        for _ in range(2):
            with pytest.raises(PrivacyError, match="Nothing was spent"):
                refused.decide()
        assert store.export("other")["rounds"] == 0
        assert store.export("other")["spent"]["epsilon"] == 0.0
        with pytest.raises(PrivacyError, match="Nothing was spent"):
            tacit.plan(PROBLEM, **PURE).start(ledger=store.ledger("people"))
        tacit.plan(PROBLEM, epsilon=0.5, delta=0.0).start(ledger=store.ledger("people"))
        assert 1.49 < store.ledger("people").epsilon(0.0) <= 1.5


def test_a_charge_whose_decision_failed_is_not_there(path, monkeypatch):
    with tacit_experiments.Store(path) as store:
        live = store.open("home", PROBLEM, ledger=store.ledger("people", epsilon=1.0, delta=0.0), **PURE)
        monkeypatch.setattr(Turn, "write", lambda *arguments: (_ for _ in ()).throw(StoreError("disk full")))
        with pytest.raises(StoreError, match="disk full"):
            live.decide()
        monkeypatch.undo()
        assert len(store.ledger("people")) == 0
        live.decide()
        assert len(store.ledger("people")) == 1


def test_a_learner_that_goes_on_is_charged_in_every_period(path, clock):
    with tacit_experiments.Store(path) as store:
        ledger = store.ledger("people", epsilon=1.5, delta=0.0, renews="monthly")
        live = store.open("home", PROBLEM, ledger=ledger, **PURE)
        live.decide()
        clock(2026, 2, 1)
        assert ledger.spent == 0.0
        live.decide()
        live.decide()
        assert ledger.spent == ledger.epsilon(0.0) == live.guarantee.epsilon()
        assert [entry.period for entry in ledger.entries] == ["2026-01", "2026-02"]
        clock(2026, 1, 15)  # set back: no new period, and no charge
        live.decide()
        with pytest.raises(PrivacyError, match="The clock says 2026-01, and the newest charge is of 2026-02"):
            ledger.record("fit", Guarantee(Pure(1.0), 0.0, "x", "y"))
        clock(2026, 3, 1)
        ledger.record("fit", Guarantee(Pure(1.0), 0.0, "x", "y"))
        with pytest.raises(PrivacyError, match="in 2026-03"):
            live.decide()
        assert store.export("home")["rounds"] == 4


def test_ledgers_keep_their_budget_and_forget_nothing(path):
    with tacit_experiments.Store(path) as store:
        ledger = store.ledger("people", epsilon=1.0, delta=1e-5, renews="monthly")
        assert store.ledger("people") is store.ledger("people", epsilon=1.0, delta=1e-5, renews="monthly") is ledger
        with pytest.raises(InvalidInput, match="has another budget"):
            store.ledger("people", epsilon=2.0, delta=1e-5, renews="monthly")
        with pytest.raises(InvalidInput, match="'ledger' parameter of open must be a ledger of this store"):
            store.open("home", PROBLEM, ledger=tacit.Ledger(), **PURE)
        store.open("home", PROBLEM, **PURE)
        with pytest.raises(InvalidInput, match="is not charged to the ledger 'people'"):
            store.open("home", PROBLEM, ledger=ledger, **PURE)
        with pytest.raises(InvalidInput, match="'name' parameter of ledger"):
            store.ledger("")


def test_estimators_write_into_it(path):
    estimators = pytest.importorskip("tacit_models")
    with tacit_experiments.Store(path) as store:
        ledger = store.ledger("records", epsilon=1.2, delta=1e-6)
        model = estimators.PrivateStandardScaler(1.0, bounds=(0, 1)).set_params(ledger=ledger)
        model.fit([[0.5], [0.25]])
        with pytest.raises(PrivacyError, match=r"its budget is 1\.2"):
            model.fit([[0.5], [0.25]])
    with tacit_experiments.Store(path) as store:
        assert [name for name, _ in store.ledger("records")] == ["PrivateStandardScaler.fit"]


def test_a_learner_that_has_ended_is_not_charged_again(path, clock):
    with tacit_experiments.Store(path) as store:
        ledger = store.ledger("people", epsilon=1.5, delta=0.0, renews="monthly")
        live = store.open("short", tacit.Experts(n=2, horizon=1), ledger=ledger, **PURE)
        live.decide()
        clock(2026, 2, 1)
        with pytest.raises(ProtocolError, match="has played them all"):
            live.decide()
        assert len(ledger) == 1


def test_a_misspelt_ledger_is_refused_and_not_made_without_a_limit(path):
    with tacit_experiments.Store(path) as store:
        store.ledger("people", epsilon=1.5, delta=0.0)
        with pytest.raises(InvalidInput, match="There is no ledger 'poeple'"):
            store.open("home", PROBLEM, ledger="poeple", **PURE)
        assert store.ledgers == ("people",)
        assert store.learners == ()


def test_a_clock_that_is_set_back_brings_no_earlier_charge_into_force_again(path, clock):
    """A learner whose period is over goes on in the latest one that was charged, and pays there, whatever the clock."""
    with tacit_experiments.Store(path) as store:
        ledger = store.ledger("people", epsilon=1.5, delta=0.0, renews="monthly")
        one, other = (store.open(name, PROBLEM, ledger=ledger, **PURE) for name in ("one", "other"))
        one.decide()
        clock(2026, 2, 1)
        other.decide()
        clock(2026, 1, 31)
        with pytest.raises(PrivacyError, match="the newest charge is of 2026-02"):
            one.decide()
        other.decide()
        clock(2026, 3, 1)
        assert one.decide().round == 1


def account(kind, path):
    """A ledger that renews every month, in memory or in a store."""
    if kind == "memory":
        return tacit.Ledger(epsilon=1.5, delta=0.0, renews="monthly")
    return tacit_experiments.Store(path).ledger("people", epsilon=1.5, delta=0.0, renews="monthly")


@pytest.mark.parametrize("kind", ["memory", "store"])
def test_a_clock_that_jumps_forward_renews_nothing_and_blocks_nothing(path, clock, kind):
    """A clock that stood in 2099 once admitted one more budget, and then blocked everything for ever."""
    ledger, spent = account(kind, path), Guarantee(Pure(1.0), 0.0, "x", "y")
    ledger.record("fit", spent)
    clock(2099, 1, 1)
    with pytest.raises(PrivacyError, match="The clock says 2099-01, and the newest charge is of 2026-01"):
        ledger.record("fit", spent)
    clock(2026, 2, 28)
    ledger.record("fit", spent)  # the next period is plausible
    clock(2026, 6, 1)
    with pytest.raises(PrivacyError, match="If the clock is right, confirm it"):
        ledger.record("fit", spent)
    assert ledger.confirm() == "2026-06"
    ledger.record("fit", spent)
    assert [entry.period for entry in ledger.entries] == ["2026-01", "2026-02", "2026-06"]
    assert (ledger.spent, ledger.epsilon(0.0)) == (1.0, 3.0)


@pytest.mark.parametrize("kind", ["memory", "store"])
def test_what_was_confirmed_by_mistake_counts_now_until_it_is_void(path, clock, kind):
    ledger, spent = account(kind, path), Guarantee(Pure(1.0), 0.0, "x", "y")
    clock(2099, 1, 1)
    ledger.record("fit", spent)
    clock(2026, 2, 1)
    with pytest.raises(PrivacyError, match="The clock says 2026-02, and the newest charge is of 2099-01"):
        ledger.record("fit", spent)
    ledger.confirm()
    with pytest.raises(PrivacyError, match="would bring the ledger to epsilon=2 at delta=0 in 2026-02"):
        ledger.record("fit", spent)  # the charge of 2099 is one of today
    ledger.void(0, "the clock was wrong, and no data were used")
    ledger.record("fit", spent)
    assert (ledger.spent, ledger.epsilon(0.0), len(ledger)) == (1.0, 1.0, 2)
    assert "void since" in ledger.table()
    assert "no data were used" in json.dumps(ledger.to_dict())
    for number, reason, words in (
        (0, "again", "void already"),
        (2, "x", "no charge 2"),
        (1, "", "'reason' parameter"),
        ("1", "x", "'number' parameter"),
    ):
        with pytest.raises(InvalidInput, match=words):
            ledger.void(number, reason)


def test_a_learner_whose_charge_is_void_is_charged_again(path, clock):
    clock(2099, 1, 1)
    with tacit_experiments.Store(path) as store:
        ledger = store.ledger("people", epsilon=1.5, delta=0.0, renews="monthly")
        live = store.open("home", PROBLEM, ledger=ledger, **PURE)
        live.decide()
        clock(2026, 2, 1)
        live.decide()
        ledger.confirm()
        ledger.void(0, "the clock was wrong")
        live.decide()
        assert [(entry.period, bool(entry.voided)) for entry in ledger.entries] == [
            ("2099-01", True),
            ("2026-02", False),
        ]
        clock(2026, 3, 1)
        live.decide()
        assert ledger.entries[2].period == "2026-03"


@pytest.mark.parametrize(
    ("renews", "period", "following"),
    [
        ("daily", "2026-02-28", "2026-03-01"),
        ("weekly", "2026-W53", "2027-W01"),
        ("monthly", "2026-12", "2027-01"),
        ("yearly", "2027", "2028"),
    ],
)
def test_the_next_period_is_that_of_the_calendar(renews, period, following):
    assert budgets.Budget(renews=renews)._following(period) == following
