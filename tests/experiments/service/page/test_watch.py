"""What the page knows of a store: everything public, nothing private, and no more work than is new."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

import tacit
from attacks import rows
from experiments.service.page.world import PROBLEM, TARGET, fill
from tacit.accounting import ledger as budgets
from tacit.noise.randomness import Randomness
from tacit_experiments.service.learners import Accounts
from tacit_experiments.service.page import watch as watching
from tacit_experiments.service.page.watch import Watch
from tacit_experiments.storage import ledgers as stored

HOSTILE = "<script>alert('x')</script>\"&amp;'"
ADDRESS = "http://127.0.0.1:8000/"


def looked(store):
    """What a page knows after one look."""
    watch = Watch(store)
    watch.look()
    return watch


def kinds(changes):
    return [change.kind for change in changes]


def test_an_empty_store_says_what_to_do_next(store):
    watch = Watch(store)
    watch.look()
    page = watch.page(ADDRESS)
    assert f"curl -X POST {ADDRESS}v1/experiments" in page
    assert '<section id="budgets" aria-labelledby="budgets-title" hidden>' in page
    assert watch.changes("")[0] == []


def test_one_learner_with_everything(store):
    people = store.ledger("people-in-eu", epsilon=3, delta=1e-5, renews="monthly")
    live = store.open("homepage", tacit.Experts(n=3, horizon=1000, delay=5), **TARGET, ledger=people)
    for number in range(6):
        live.decide(f"request-{number}")
    page = looked(store).page(ADDRESS)
    for shown in ("homepage", "Experts(horizon=1000, delay=5", "6 of 1,000", "<td>people-in-eu</td>"):
        assert shown in page
    left = people.budget.epsilon - people.spent
    assert f'<progress max="3.0" value="{left!r}" aria-label="Left of the budget people-in-eu">' in page
    assert re.search(r"<b>2\.\d+ of 3 left</b> in \d{4}-\d\d at delta 1e-05", page)
    assert "request-" not in page
    assert "NOT PRIVATE" not in page


def test_a_learner_whose_noise_is_known_and_one_without_numbers_say_so(store):
    store.open("seeded", PROBLEM, **TARGET, randomness=Randomness.replayable(1))
    with store.database.writing() as transaction:
        request = json.dumps({"problem": None, "text": "Convex(...)", "target": {}})
        transaction.run("UPDATE tacit_learners SET request = :request", request=request)
    page = looked(store).page(ADDRESS)
    assert "NOT PRIVATE" in page
    assert "Convex(...)" in page


def test_too_many_learners_are_counted_and_not_read(store, monkeypatch):
    monkeypatch.setattr(watching, "ROWS", 4)
    fill(store, 7, 3)
    watch = looked(store)
    assert len(watch._seen) == 4
    assert "There are 3 more learners" in watch.page(ADDRESS)


@pytest.mark.parametrize("since", ["", ".", "x.1", "{}.-1", "{}.1.1", "{}." + "9" * 5000, "{}.²"])
def test_a_stamp_of_somebody_else_gets_everything(store, since):
    fill(store, 1, 3)
    watch = Watch(store)
    watch.look()
    assert kinds(watch.changes(since.format(watch._instance))[0]) == ["learners", "ledgers"]


def test_only_what_is_new_is_told(store):
    fill(store, 3, 50)
    watch = looked(store)
    changes, stamp = watch.changes("")
    assert kinds(changes) == ["learners", "ledgers"]
    watch.look()
    assert watch.changes(stamp)[0] == []
    store.open("another", PROBLEM, **TARGET).decide()
    watch.look()
    (change,), _ = watch.changes(stamp)
    assert change.kind == "learners"
    assert "another" in change.content["html"]
    assert kinds(watch.changes("0123456789ab.99")[0]) == ["learners", "ledgers"]  # of an earlier service


@pytest.mark.attack(rows.STOPPED)
def test_many_viewers_cost_the_store_no_more_than_one(store, monkeypatch):
    watch = Watch(store)
    read, looked = Accounts.read, []
    monkeypatch.setattr(Accounts, "read", lambda self: looked.append(1) or read(self))
    with ThreadPoolExecutor(20) as viewers:
        list(viewers.map(watch.look, [60.0] * 20))
    assert len(looked) == 1


def test_charges_and_new_periods_are_told(store, monkeypatch):
    today = datetime(2030, 1, 31, 12, tzinfo=UTC)
    for module in (budgets, stored):
        monkeypatch.setattr(module, "now", lambda: today)
    people = store.ledger("people", epsilon=2, renews="monthly")
    store.ledger("everybody")
    watch = Watch(store)
    watch.look()
    stamp = watch.changes("")[1]
    assert "2 of 2 left" in watch.page(ADDRESS)
    assert "no limit; 0 spent" in watch.page(ADDRESS)
    people.record("a fit", tacit.plan(tacit.Experts(n=2, horizon=9), epsilon=1.7, delta=1e-6).guarantee)
    watch.look()
    (change,), stamp = watch.changes(stamp)
    assert change.kind == "ledgers"
    assert 'class="ledger low"' in change.content["html"]
    today = datetime(2030, 2, 5, tzinfo=UTC)
    watch.look()
    (change,), _ = watch.changes(stamp)
    assert "2 of 2 left</b> in 2030-02" in change.content["html"]


def test_hostile_names_are_text(store):
    store.ledger(HOSTILE, epsilon=3)
    store.open(HOSTILE, PROBLEM, **TARGET, ledger=HOSTILE).decide()
    watch = looked(store)
    told = json.dumps([change.content for change in watch.changes("")[0]])
    for text in (watch.page(ADDRESS), watch.page(f"http://{HOSTILE}/"), told):
        assert "<script>alert" not in text
        assert "alert" in text


@pytest.mark.attack(rows.QUOTED)
def test_nothing_private_is_shown(store):
    live = store.open("home", tacit.Experts(n=2, horizon=100, delay=9), **TARGET)
    canary = 0.123456789
    for number in range(30):
        decision = live.decide(f"canary-key-{number}")
        live.settle(decision.round, [canary, 1.0 - canary])
    watch = looked(store)
    shown = watch.page(ADDRESS) + json.dumps([change.content for change in watch.changes("")[0]])
    with store.database.reading() as transaction:
        (state,) = transaction.row("SELECT state FROM tacit_states")
        feedback = transaction.rows("SELECT value FROM tacit_feedback")
    assert feedback
    assert "123456789" in str(feedback)
    private = re.findall(r"[\w+/]{12,}", state)  # arrays, digests
    assert private
    for secret in ("123456", "876543", "canary", *private):
        assert secret not in shown


@pytest.mark.attack(rows.COUNTED)
def test_that_feedback_came_is_not_told(store):
    live = store.open("home", tacit.Experts(n=2, horizon=100, delay=9), **TARGET)
    decision = live.decide()
    watch = looked(store)
    page, (_, stamp) = watch.page(ADDRESS), watch.changes("")
    live.settle(decision.round, [0.0, 1.0])
    watch.look()
    assert watch.changes(stamp)[0] == []
    changed = re.compile('data-version="[^"]*"')
    assert changed.sub("", watch.page(ADDRESS)) == changed.sub("", page)
