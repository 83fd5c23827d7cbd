"""The public past of learners, counted inside the database."""

import json

import pytest

import tacit
from tacit.errors import InvalidInput

TARGET = {"epsilon": 1.0, "delta": 1e-6}


def decided(store, name, rounds, n=3):
    """A learner that met losses which favour one expert after the other; its decisions."""
    live = store.open(name, tacit.Experts(n=n, horizon=1000), **TARGET)
    found = []
    for number in range(rounds):
        decision = live.decide()
        live.settle(decision.round, [float(option != number // 20 % n) for option in range(n)])
        found.append(decision.action)
    return live, found


def test_heads_say_how_far_each_learner_is(store):
    account = store.ledger("people", epsilon=3)
    store.open("second", tacit.Experts(n=2, horizon=10), **TARGET, ledger=account).decide()
    store.open("first", tacit.Experts(n=2, horizon=10), **TARGET)
    heads = store.history.heads()
    assert [(head.number, head.name, head.rounds) for head in heads] == [(1, "second", 1), (2, "first", 0)]
    assert [head.ledger for head in heads] == [account.number, None]


def test_counts_are_those_of_the_decisions(store):
    live, decisions = decided(store, "home", 80)
    for first, last, width in ((0, 80, 1), (0, 80, 16), (10, 75, 8), (79, 80, 4)):
        counts = store.history.counts(1, first, last, width)
        found = {(count.part, count.action): (count.times, count.switches) for count in counts}
        assert found == counted(decisions, first, last, width)
    assert sum(count.switches for count in store.history.counts(1, 0, 80, 80)) == live.switches


def counted(decisions, first, last, width):
    """How often each decision was made in each part, and how often it was a switch."""
    expected = {}
    for number in range(first, last):
        key = (number // width, decisions[number])
        times, switches = expected.get(key, (0, 0))
        switched = number > 0 and decisions[number] != decisions[number - 1]
        expected[key] = times + 1, switches + switched
    return expected


def test_single_decisions_and_what_was_asked_for(store):
    live, decisions = decided(store, "home", 3)
    row = store.history.about("home")
    assert store.history.decision(1, 2) == decisions[2]
    assert store.history.decision(1, 3) is None
    assert row.request["problem"]["n"] == 3
    assert str(row.guarantee) == str(live.guarantee)
    plan = store.history.plan("home")
    assert plan is not None
    assert plan.signature == row.signature == live.plan.plan.signature
    with pytest.raises(InvalidInput, match="no learner"):
        store.history.about("nobody")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("request", json.dumps({"problem": None, "text": "Convex(...)", "target": {}})),
        ("request", json.dumps({"problem": {"kind": "experts", "n": 3, "horizon": 9}, "target": {"epsilon": -1.0}})),
        ("signature", "of another version"),
    ],
)
def test_a_plan_that_cannot_be_made_again_is_not_made_up(store, column, value):
    store.open("home", tacit.Experts(n=3, horizon=9), **TARGET)
    assert store.history.plan("home") is not None
    with store.database.writing() as transaction:
        transaction.run(f"UPDATE tacit_learners SET {column} = :value", value=value)
    assert store.history.plan("home") is None
