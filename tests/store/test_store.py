"""A store shows nothing before it is durable, and counts nothing twice."""

import json
import os
import shutil
import stat
import threading

import numpy as np
import pytest

import tacit
from attacks import rows
from tacit.errors import InvalidInput, MissingExtra, ProtocolError, StoreError
from tacit.store import engines, schema
from tacit.store.problems import problem_from_dict, problem_to_dict
from tacit.store.turns import Turn

pytest.importorskip("sqlalchemy")
PROBLEM = tacit.Experts(n=3, horizon=200, delay=4)
TARGET = {"epsilon": 1.0, "delta": 1e-6}
SEED = tacit.Randomness.replayable(5)


def losses(number):
    return [(number * 7 % 5) / 4, 0.5, (number % 3) / 2]


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))  # no power is lost in these tests
    return tmp_path / "decisions.db"


@pytest.fixture
def store(path):
    with tacit.Store(path) as opened:
        yield opened


def use(live, rounds):
    for _ in range(rounds):
        decision = live.decide()
        live.settle(decision.round, np.resize(losses(decision.round), live.plan.problem.n))


def actions(store, name="home"):
    return [entry["action"] for entry in store.export(name)["decisions"]]


def twin(rounds):
    """The decisions of the same learner that was never in a store."""
    learner = tacit.plan(PROBLEM, **TARGET).start(SEED)
    found = []
    for number in range(rounds):
        found.append(learner.decide().action)
        learner.settle(number, losses(number))
    return found


def test_a_learner_continues_where_it_was(path):
    for stop in (3, 20, 41):
        with tacit.Store(path) as store:
            live = store.open("home", PROBLEM, randomness=SEED, **TARGET)
            use(live, stop - live.rounds)
    with tacit.Store(path) as store:
        assert actions(store) == twin(41)
        exported = json.loads(json.dumps(store.export("home")))
    assert exported["rounds"] == 41
    assert [entry["round"] for entry in exported["decisions"]] == list(range(41))
    assert exported["store"]["epoch"] == 41
    assert exported["spent"] == {"epsilon": live.guarantee.epsilon(), "delta": 1e-6, "ledger": None}
    assert "neighbours: replace" in exported["contract"]


def test_what_may_be_shown_does_not_count_feedback(path):
    """Whether feedback came is private: two stores that differ in it alone show the same."""
    shown = []
    for settled in (range(9), range(4), ()):
        with tacit.Store(path.with_name(f"{len(shown)}.db")) as store:
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
    with tacit.Store(path) as store:
        live = store.open("home", PROBLEM, **TARGET)
        first, other = live.decide(key="a"), live.decide(key="b")
        assert live.decide(key="a") == first
        assert (first.round, other.round, live.rounds) == (0, 1, 2)
    with tacit.Store(path) as store:
        assert store.open("home").decide(key="a") == first
        assert store.open("home").decide().round == 2
        for key in ("", "x" * 201, "a\nb", 3):
            with pytest.raises(InvalidInput, match="'key' parameter of decide"):
                store.open("home").decide(key=key)
        assert store.export("home")["rounds"] == 3


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
    with tacit.Store(path) as store:
        live = store.open("home", PROBLEM, randomness=SEED, **TARGET)
        for _ in range(4):
            live.decide()
        for number in (2, 0, 3, 1):
            live.settle(number, losses(number))
    with tacit.Store(path) as store:
        live = store.open("home")
        use(live, 20)
        assert actions(store) == twin(24)


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
    problem = tacit.Bandit(domain=tacit.Ball(2), horizon=500)
    with tacit.Store(path) as store:
        live = store.open("price", problem, **TARGET)
        for _ in range(3):
            decision = live.decide()
            live.settle(decision.round, 0.5)
        assert np.shape(decision.action) == (2,)
        assert store.export("price")["decisions"][2]["action"] == decision.action.tolist()
    with tacit.Store(path) as store:
        with pytest.raises(InvalidInput, match="name its problem, epsilon and delta again"):
            store.open("price")
        assert store.open("price", problem, **TARGET).decide().round == 3


def test_a_horizon_ends(store):
    live = store.open("short", tacit.Experts(n=2, horizon=2), **TARGET)
    assert [live.decide().round for _ in range(2)] == [0, 1]
    with pytest.raises(ProtocolError, match="planned for 2 rounds"):
        live.decide()
    assert store.export("short")["rounds"] == 2


@pytest.mark.attack(rows.WRITERS)
def test_threads_never_share_a_round(store):
    live = store.open("home", PROBLEM, **TARGET)
    found, lock = [], threading.Lock()

    def client(name):
        for number in range(8):
            decision, again = live.decide(key=f"{name}-{number}"), live.decide(key=f"all-{number}")
            with lock:
                found.append((decision.round, again.round, number))

    threads = [threading.Thread(target=client, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own = {own for own, _, _ in found}
    assert len(own) == 32
    assert len({(shared, number) for _, shared, number in found}) == 8
    assert store.export("home")["rounds"] == 40


@pytest.mark.attack(rows.WRITERS)
def test_two_stores_on_one_file_take_turns(path):
    """Each sees what the other wrote, by the epoch: no round is decided twice and no feedback is lost."""
    with tacit.Store(path) as one, tacit.Store(path) as other:
        first = one.open("home", PROBLEM, randomness=SEED, **TARGET)
        second = other.open("home", PROBLEM, **TARGET)
        for number in range(12):
            decision = (first if number % 3 else second).decide()
            assert decision.round == number
            (second if number % 2 else first).settle(number, losses(number))
        assert actions(one) == twin(12)


def test_a_writer_that_waits_too_long_is_told(path):
    with tacit.Store(path) as one, tacit.Store(path, timeout=0.05) as other:
        live = one.open("home", PROBLEM, **TARGET)
        waiting = other.open("home", PROBLEM, **TARGET)
        with one._database.writing(), pytest.raises(StoreError, match="database is locked"):
            waiting.decide()
        assert waiting.decide().round == 0
        assert live.decide().round == 1


def failing(store):
    """Make the next commit of a store fail, as a full disk or a failed sync does."""
    from sqlalchemy import event, exc

    engine, times = store._database._engine, [0]

    def fail(connection):
        if not times[0]:
            times[0] = 1
            raise exc.OperationalError("COMMIT", None, OSError("disk I/O error"))

    event.listen(engine, "commit", fail)


@pytest.mark.attack(rows.BROKEN_COMMIT)
@pytest.mark.parametrize("call", ["decide", "settle"])
def test_a_commit_that_fails_shows_nothing_and_the_learner_goes_on_from_the_last_one(call, store):
    live = store.open("home", PROBLEM, randomness=SEED, **TARGET)
    use(live, 5)
    live.decide()
    failing(store)
    with pytest.raises(StoreError, match=r"failed \(disk I/O error\): nothing was shown"):
        live.decide(key="a") if call == "decide" else live.settle(5, losses(5))
    assert store.export("home")["rounds"] == 6
    live.settle(5, losses(5))
    use(live, 20)
    assert actions(store) == twin(26)


@pytest.mark.attack(rows.BROKEN_COMMIT)
def test_an_interrupt_forgets_what_was_not_committed(store, monkeypatch):
    live = store.open("home", PROBLEM, randomness=SEED, **TARGET)
    use(live, 7)
    monkeypatch.setattr(Turn, "write", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        live.decide()
    monkeypatch.undo()
    use(live, 9)
    assert actions(store) == twin(16)


@pytest.mark.attack(rows.WRITERS)
def test_a_writer_that_was_overtaken_cannot_commit(store, monkeypatch):
    live = store.open("home", PROBLEM, **TARGET)
    live.decide()
    write = Turn.write

    def overtaken(self):
        self._transaction.run("UPDATE tacit_learners SET epoch = epoch + 1")
        return write(self)

    monkeypatch.setattr(Turn, "write", overtaken)
    with pytest.raises(StoreError, match="overtaken"):
        live.decide()
    monkeypatch.undo()
    assert live.decide().round == 1


@pytest.mark.attack(rows.RESTORE)
def test_restarts_take_fresh_noise(path):
    """One committed state, continued in many ways: not one future, as it would be if keys were saved."""
    problem, target = tacit.Experts(n=99, horizon=50), {"algorithms": [tacit.HedgeOnSums], **TARGET}
    with tacit.Store(path) as store:
        use(store.open("home", problem, **target), 2)
    futures = set()
    for copy in range(3):
        shutil.copy(path, path.with_name(f"copy{copy}.db"))
        with tacit.Store(path.with_name(f"copy{copy}.db")) as store:
            use(store.open("home", problem, **target), 12)
            futures.add(str(actions(store)[2:]))
    assert len(futures) == 3


def test_the_state_holds_no_keys_and_the_files_are_private(path, monkeypatch):
    monkeypatch.undo()
    with tacit.Store(path) as store:
        use(store.open("home", PROBLEM, **TARGET), 2)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        with store._database.reading() as transaction:
            state = json.loads(transaction.row("SELECT state FROM tacit_states")[0])
            settings = {name: transaction.row(f"PRAGMA {name}")[0] for name in ("journal_mode", "synchronous")}
    assert set(modes) == {"decisions.db", "decisions.db-wal", "decisions.db-shm", "decisions.db.mark"}
    assert set(modes.values()) == {0o600}
    assert "streams" not in state
    assert settings == {"journal_mode": "wal", "synchronous": 2}


@pytest.mark.attack(rows.OLDER_COPY)
def test_an_older_copy_that_was_put_back_is_noticed(path):
    with tacit.Store(path) as store:
        use(store.open("home", PROBLEM, **TARGET), 3)
    shutil.copy(path, path.with_suffix(".old"))
    with tacit.Store(path) as store:
        use(store.open("home", PROBLEM, **TARGET), 3)
        assert store.epoch == 6
    shutil.copy(path.with_suffix(".old"), path)
    with tacit.Store(path) as store:
        assert store.epoch == 3
        with pytest.raises(StoreError, match="an earlier copy was put back"):
            store.open("home", PROBLEM, **TARGET)
    path.with_name("decisions.db.mark").unlink()
    with tacit.Store(path) as store:
        assert store.open("home", PROBLEM, **TARGET).decide().round == 3


@pytest.mark.attack(rows.OLDER_COPY)
def test_an_older_copy_under_a_running_learner_is_noticed(store):
    live = store.open("home", PROBLEM, **TARGET)
    use(live, 2)
    with store._database.writing() as transaction:
        transaction.run("UPDATE tacit_learners SET epoch = 1")
    with pytest.raises(StoreError, match="is behind what was written to it: an earlier copy"):
        live.decide()


def test_a_new_store_in_the_place_of_an_old_one_begins_anew(path):
    with tacit.Store(path) as store:
        use(store.open("home", PROBLEM, **TARGET), 3)
    path.unlink()
    with tacit.Store(path) as store:
        assert store.open("home", PROBLEM, **TARGET).decide().round == 0


@pytest.mark.attack(rows.WRITERS)
def test_forked_processes_open_their_own(store):
    live = store.open("home", PROBLEM, **TARGET)
    child = os.fork()
    if child == 0:
        try:
            live.decide()
        except ProtocolError as error:
            os._exit(17 if "opened in another process" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17


def test_newer_tables_and_other_files_are_refused(path):
    with tacit.Store(path) as store, store._database.writing() as transaction:
        transaction.run("UPDATE tacit_store SET version = 99")
    with pytest.raises(StoreError, match="newer tacit: its tables have version 99"):
        tacit.Store(path)
    path.with_name("text.db").write_text("no database at all, but long enough to be one" * 50)
    with pytest.raises(StoreError, match="not a database"):
        tacit.Store(path.with_name("text.db"))


def test_migrations_run_once_in_order(path, monkeypatch):
    tacit.Store(path).close()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, ("CREATE TABLE tacit_more (a BIGINT)",)))
    for _ in range(2):
        with tacit.Store(path) as store, store._database.reading() as transaction:
            assert transaction.row("SELECT version FROM tacit_store")[0] == len(schema.MIGRATIONS)
            assert transaction.rows("SELECT * FROM tacit_more") == []


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("", "file name"),
        (":memory:", "file name"),
        (3, "file name"),
        ("mysql://x", "PostgreSQL"),
        ("/no/x.db", "folder"),
    ],
)
def test_bad_places(where, words):
    with pytest.raises(InvalidInput, match=words):
        tacit.Store(where)
    with pytest.raises(InvalidInput, match="timeout"):
        tacit.Store("x.db", timeout=0)


def test_without_the_extra_the_error_names_it(monkeypatch, path):
    def missing(module, extra):
        raise MissingExtra(f"pip install 'tacit[{extra}]'")

    monkeypatch.setattr(engines, "require", missing)
    with pytest.raises(MissingExtra, match=r"tacit\[store\]"):
        tacit.Store(path)


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


@pytest.mark.parametrize(
    "problem",
    [
        tacit.Tracking(n=3, horizon=50, switches=1),
        tacit.Arms(n=3, horizon=50, loss_range=(0.0, 2.0)),
        tacit.Lipschitz(dimension=1, horizon=50),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_problems_made_of_numbers_are_described(problem):
    described = json.loads(json.dumps(problem_to_dict(problem)))
    assert problem_from_dict(described) == problem


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"kind": "guess"}, "must be one of experts"),
        ([], "must be one of experts"),
        ({"kind": "experts", "n": 2, "horizon": 9, "m": 1}, "Got 'm' instead"),
        ({"kind": "experts", "n": 2}, "lacks one of its fields"),
        ({"kind": "experts", "n": 0, "horizon": 9}, "'n' parameter of Experts"),
    ],
)
def test_other_descriptions_are_refused(content, words):
    with pytest.raises(InvalidInput, match=words):
        problem_from_dict(content)


def test_what_waits_for_feedback_is_known_after_a_restart(path):
    with tacit.Store(path) as store:
        live = store.open("home", PROBLEM, **TARGET)
        decisions = [live.decide() for _ in range(7)]
        live.settle(4, losses(4))
    with tacit.Store(path) as store:
        live = store.open("home")
        assert live.waiting == tuple(decisions[number] for number in (2, 3, 5, 6))
        assert live.switches >= 0
