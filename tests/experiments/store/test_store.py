"""A store shows nothing before it is durable, and counts nothing twice."""

import json
import shutil
import stat

import numpy as np
import pytest

import tacit
import tacit_experiments
from attacks import rows
from experiments.store.world import PROBLEM, SEED, TARGET, actions, losses, twin, use
from tacit.errors import InvalidInput, ProtocolError, StoreError
from tacit_experiments.store import store as stores

pytest.importorskip("sqlalchemy")


def test_a_learner_continues_where_it_was(path):
    for stop in (3, 20, 41):
        with tacit_experiments.Store(path) as store:
            live = store.open("home", PROBLEM, randomness=SEED, **TARGET)
            use(live, stop - live.rounds)
    with tacit_experiments.Store(path) as store:
        assert actions(store) == twin(41)
        exported = json.loads(json.dumps(store.export("home")))
    assert exported["rounds"] == 41
    assert [entry["round"] for entry in exported["decisions"]] == list(range(41))
    assert exported["store"]["epoch"] == 41
    assert exported["spent"] == {"epsilon": live.guarantee.epsilon(), "delta": 1e-6, "ledger": None}
    assert "neighbours: replace" in exported["contract"]


@pytest.mark.attack(rows.COUNTED)
def test_what_may_be_shown_does_not_count_feedback(path):
    """Whether feedback came is private: two stores that differ in it alone show the same."""
    shown = []
    for settled in (range(9), range(4), ()):
        with tacit_experiments.Store(path.with_name(f"{len(shown)}.db")) as store:
            live = store.open("home", PROBLEM, randomness=SEED, ledger=store.ledger("people", epsilon=9.0), **TARGET)
            for number in range(9):
                live.decide()
                if number in settled:
                    live.settle(number, [0.5] * 3)
            exported = store.export("home")
            exported["store"].pop("identity")
            exported.pop("decisions")
            shown.append((store.epoch, store.ledger("people").number, json.dumps(exported)))
    assert len(set(shown)) == 1


@pytest.mark.attack(rows.REPEATED)
def test_the_same_key_gives_the_same_decision(path):
    with tacit_experiments.Store(path) as store:
        live = store.open("home", PROBLEM, **TARGET)
        first, other = live.decide(key="a"), live.decide(key="b")
        assert live.decide(key="a") == first
        assert (first.round, other.round, live.rounds) == (0, 1, 2)
    with tacit_experiments.Store(path) as store:
        assert store.open("home").decide(key="a") == first
        assert store.open("home").decide().round == 2
        for key in ("", "x" * 201, "a\nb", 3):
            with pytest.raises(InvalidInput, match="'key' parameter of decide"):
                store.open("home").decide(key=key)
        assert store.export("home")["rounds"] == 3


@pytest.mark.attack(rows.REPEATED)
def test_feedback_is_kept_once_and_only_while_its_window_is_open(store):
    live = store.open("home", PROBLEM, **TARGET)
    for _ in range(3):
        live.decide()
    live.settle(1, losses(1))
    live.settle(1, np.array(losses(1)))
    with pytest.raises(ProtocolError, match="another one"):
        live.settle(1, losses(2))
    with pytest.raises(ProtocolError, match="was not decided"):
        live.settle(7, losses(7))
    with pytest.raises(InvalidInput, match="expert 0"):
        live.settle(2, [2.0, 0.0, 0.0])
    with pytest.raises(InvalidInput, match="Got a function instead"):
        live.settle(2, lambda point: 0.0)
    live.settle(0, None)
    assert kept(store) == [(0, "null"), (1, json.dumps(losses(1)).replace(" ", ""))]
    for _ in range(4):
        live.decide()
    assert kept(store) == []
    with pytest.raises(ProtocolError, match="Round 1 is closed"):
        live.settle(1, losses(1))
    assert "feedback" not in "".join(store.export("home"))


def kept(store):
    with store._database.reading() as transaction:
        rows = transaction.rows("SELECT round, value FROM tacit_feedback ORDER BY round")
    return [tuple(row) for row in rows]


def test_open_feedback_survives(path):
    """Settled, but not yet absorbed, when the process ends."""
    with tacit_experiments.Store(path) as store:
        live = store.open("home", PROBLEM, randomness=SEED, **TARGET)
        for _ in range(4):
            live.decide()
        for number in (2, 0, 3, 1):
            live.settle(number, losses(number))
    with tacit_experiments.Store(path) as store:
        live = store.open("home")
        use(live, 20)
        assert actions(store) == twin(24)


@pytest.mark.attack(rows.SEEDED)
def test_another_contract_under_the_same_name_is_refused(store):
    live = store.open("home", PROBLEM, **TARGET)
    assert store.open("home", PROBLEM, **TARGET) is live
    assert store.open("home") is live
    for problem, target in (
        (PROBLEM, {**TARGET, "epsilon": 2.0}),
        (tacit.Experts(n=4, horizon=200, delay=4), TARGET),
        (PROBLEM, {**TARGET, "relation": "zero-out"}),
    ):
        with pytest.raises(InvalidInput, match="has another contract"):
            store.open("home", problem, **target)
    with pytest.raises(InvalidInput, match="other randomness"):
        store.open("home", PROBLEM, randomness=SEED, **TARGET)
    with pytest.raises(InvalidInput, match="name its problem"):
        store.open("away")
    with pytest.raises(InvalidInput, match="There is no learner 'away'"):
        store.export("away")
    assert store.learners == ("home",)


def test_points_and_problems_that_are_not_numbers(path):
    problem = tacit.Bandit(domain=tacit.domains.Ball(2), horizon=500)
    with tacit_experiments.Store(path) as store:
        live = store.open("price", problem, **TARGET)
        for _ in range(3):
            decision = live.decide()
            live.settle(decision.round, 0.5)
        assert np.shape(decision.action) == (2,)
        assert store.export("price")["decisions"][2]["action"] == decision.action.tolist()
    with tacit_experiments.Store(path) as store:
        with pytest.raises(InvalidInput, match="name its problem, epsilon and delta again"):
            store.open("price")
        assert store.open("price", problem, **TARGET).decide().round == 3


def test_learners_that_are_open_are_bounded(store, monkeypatch):
    monkeypatch.setattr(stores, "MOST_OPEN", 2)
    first = store.open("a", PROBLEM, **TARGET)
    for name in "bac":
        store.opened(name) or store.open(name, PROBLEM, **TARGET)
    assert [store.opened(name) is None for name in "abc"] == [False, True, False]
    store.open("b")
    assert store.opened("a") is None
    again = store.open("a")
    assert again is not first
    assert first.decide(key="x") == again.decide(key="x")  # whoever still has the other one is served all the same


@pytest.mark.attack(rows.RESTORE)
def test_restarts_take_fresh_noise(path):
    """One committed state, continued in many ways: not one noise, as it would be if keys were saved.

    Noise is compared and not decisions, which agree by chance in two of a thousand pairs of futures.
    """
    problem, target = tacit.Experts(n=99, horizon=50), {"algorithms": [tacit.algorithms.HedgeOnSums], **TARGET}
    with tacit_experiments.Store(path) as store:
        use(store.open("home", problem, **target), 2)
    noises = set()
    for copy in range(3):
        shutil.copy(path, path.with_name(f"copy{copy}.db"))
        with tacit_experiments.Store(path.with_name(f"copy{copy}.db")) as store:
            store.adopt()
            use(store.open("home", problem, **target), 12)
            with store.database.reading() as transaction:
                state = json.loads(transaction.row("SELECT state FROM tacit_states")[0])
            noises.add(state["_sums"]["buffers"]["array"])
    assert len(noises) == 3


@pytest.mark.attack(rows.STEAL)
def test_the_state_holds_no_keys_and_the_files_are_private(path, monkeypatch):
    monkeypatch.undo()
    with tacit_experiments.Store(path) as store:
        use(store.open("home", PROBLEM, **TARGET), 2)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        with store._database.reading() as transaction:
            state = json.loads(transaction.row("SELECT state FROM tacit_states")[0])
            settings = {name: transaction.row(f"PRAGMA {name}")[0] for name in ("journal_mode", "synchronous")}
    assert set(modes) == {"decisions.db", "decisions.db-wal", "decisions.db-shm", "decisions.db.mark"}
    assert set(modes.values()) == {0o600}
    assert "streams" not in state
    assert settings == {"journal_mode": "wal", "synchronous": 2}


@pytest.mark.attack(rows.QUOTED)
def test_errors_hold_no_private_value(store):
    live = store.open("home", PROBLEM, **TARGET)
    live.decide()
    with store._database.writing() as transaction:
        transaction.run("DROP TABLE tacit_feedback")
    with pytest.raises(StoreError) as caught:
        live.settle(0, [0.123456, 0.5, 0.5])
    error = caught.value
    while error is not None:
        assert "0.123456" not in f"{error!r} {error} {vars(error)}"
        error = error.__context__


def test_what_waits_for_feedback_is_known_after_a_restart(path):
    with tacit_experiments.Store(path) as store:
        live = store.open("home", PROBLEM, **TARGET)
        decisions = [live.decide() for _ in range(7)]
        live.settle(4, losses(4))
    with tacit_experiments.Store(path) as store:
        live = store.open("home")
        assert live.waiting == tuple(decisions[number] for number in (2, 3, 5, 6))
        assert live.switches >= 0


@pytest.mark.parametrize(
    "problem",
    [tacit.Policies(n=3, actions=2, horizon=50), tacit.ContextualArms(n=3, dimension=2, horizon=50)],
    ids=lambda problem: type(problem).__name__,
)
def test_learners_in_contexts_are_refused_before_anything_is_charged(path, problem):
    with tacit_experiments.Store(path) as store:
        with pytest.raises(InvalidInput, match="takes no"):
            store.open("advised", problem, epsilon=1.0, delta=1e-6)
        assert "advised" not in store
