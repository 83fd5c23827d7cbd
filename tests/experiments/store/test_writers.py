"""Writers that meet, fail or are interrupted: one at a time, and nothing is shown that was not committed."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import tacit_experiments
from attacks import rows
from experiments.store.world import PROBLEM, SEED, TARGET, actions, losses, twin, use
from tacit.errors import ProtocolError, StoreError
from tacit_experiments.store.live import Turn

pytest.importorskip("sqlalchemy")


@pytest.mark.attack(rows.WRITERS)
def test_threads_never_share_a_round(store):
    live = store.open("home", replace(PROBLEM, delay=80), **TARGET)  # keys live as long as their windows
    found = []

    def client(name):
        for number in range(8):
            decision, again = live.decide(key=f"{name}-{number}"), live.decide(key=f"all-{number}")
            found.append((decision.round, again.round, number))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(client, range(4)))
    own = {own for own, _, _ in found}
    assert len(own) == 32
    assert len({(shared, number) for _, shared, number in found}) == 8
    assert store.export("home")["rounds"] == 40


@pytest.mark.attack(rows.WRITERS)
def test_two_stores_on_one_file_take_turns(path):
    """Each sees what the other wrote, by the epoch: no round is decided twice and no feedback is lost."""
    with tacit_experiments.Store(path) as one, tacit_experiments.Store(path) as other:
        first = one.open("home", PROBLEM, randomness=SEED, **TARGET)
        second = other.open("home", PROBLEM, **TARGET)
        for number in range(12):
            decision = (first if number % 3 else second).decide()
            assert decision.round == number
            (second if number % 2 else first).settle(number, losses(number))
        assert actions(one) == twin(12)


def test_a_writer_that_waits_too_long_is_told(path):
    with tacit_experiments.Store(path) as one, tacit_experiments.Store(path, timeout=0.05) as other:
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
