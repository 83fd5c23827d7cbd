"""The files of a store: where they stand, what they hold, and that nothing is written to another one."""

import errno
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import tacit
import tacit_experiments
from attacks import rows
from forks import WAYS
from tacit.errors import InvalidInput, ProtocolError, StoreError
from tacit_experiments.storage import marks
from tacit_experiments.storage.marks import Marks

pytest.importorskip("sqlalchemy")
PROBLEM = tacit.Experts(n=3, horizon=5000)
TARGET = {"epsilon": 1.0, "delta": 1e-6}


def test_feedback_whose_window_is_over_leaves_the_log_with_the_next_checkpoint(path):
    """SQLite overwrites its log from the front, so that what stood at its end would stay for a whole turn more."""
    log = path.with_name("decisions.db-wal")
    with tacit_experiments.Store(path) as store:
        live = store.open("home", PROBLEM, **TARGET)
        for _ in range(20):
            live.settle(live.decide().round, [0.5, 0.5, 0.5])
        live.settle(live.decide().round, [0.123456, 0.5, 0.5])
        live.decide()  # closes the window
        assert b"0.123456" in log.read_bytes()
        connection = store._database._engine.raw_connection()
        connection.cursor().execute("PRAGMA wal_checkpoint")
        connection.close()
        live.decide()
        assert b"0.123456" not in log.read_bytes() + path.read_bytes()


def test_a_link_to_a_store_is_that_store(path):
    """An older copy is noticed whichever way the file was opened when it was newer."""
    link = path.with_name("link.db")
    link.symlink_to(path)
    with tacit_experiments.Store(path) as store:
        store.open("home", PROBLEM, **TARGET).decide()
    older = path.read_bytes()
    with tacit_experiments.Store(link) as store:
        store.open("home").decide()
    path.write_bytes(older)
    with tacit_experiments.Store(path) as store, pytest.raises(StoreError, match="an earlier copy was put back"):
        store.open("home")


def test_marks_that_cannot_be_read_are_neither_ignored_nor_taken_away(path, monkeypatch):
    with tacit_experiments.Store(path) as store:
        store.open("home", PROBLEM, **TARGET).decide()
    kept = path.with_name("decisions.db.mark").read_bytes()

    def fail(self, *arguments):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "open", fail)
    with (
        tacit_experiments.Store(path) as store,
        pytest.raises(StoreError, match="Too many open files"),
    ):
        store.open("home")
    monkeypatch.undo()
    assert path.with_name("decisions.db.mark").read_bytes() == kept
    with tacit_experiments.Store(path) as store:
        assert store.open("home").decide().round == 1


def test_marks_are_never_written_to_a_file_that_took_the_place_of_theirs(path, monkeypatch):
    """A store that is closed while another thread decides: the number of a closed file is given to the next one."""
    written = Marks(path, "identity")
    pwrite, closers, kept = os.pwrite, [], []

    def slow(handle, content, place):
        closers.append(threading.Thread(target=written.close))
        closers[-1].start()
        closers[-1].join(0.05)
        kept.append(os.path.samestat(os.fstat(handle), path.with_name("decisions.db.mark").stat()))
        return pwrite(handle, content, place)

    monkeypatch.setattr(marks.os, "pwrite", slow)
    written.set("learner", 1, 7)
    for thread in closers:
        thread.join()
    assert kept == [True]


@pytest.mark.parametrize(
    "where", ["a\0b", "postgresql://user:one@two:three/name", "postgresql://user:secret@host:54x2/name"]
)
def test_what_is_no_file_and_no_address_is_refused_without_naming_a_password(where):
    if "postgresql" in where:
        pytest.importorskip("psycopg")
    with pytest.raises(InvalidInput) as caught:
        tacit_experiments.Store(where)
    assert not any(word in str(caught.value) for word in ("two", "three", "secret", "54x2"))


def test_a_name_that_is_too_long_is_refused(path):
    with pytest.raises(StoreError, match="cannot be made"):
        tacit_experiments.Store(path.with_name("x" * 300))


@pytest.mark.filterwarnings("ignore:Arms in a store")
@pytest.mark.parametrize("loss", [np.longdouble(0.5), [np.longdouble(0.5)]])
def test_numbers_that_no_text_holds_are_refused(path, loss):
    with tacit_experiments.Store(path) as store:
        live = store.open("shelf", tacit.Arms(n=2, horizon=50), epsilon=1.0, delta=0.0)
        live.decide()
        with pytest.raises(InvalidInput, match=r"Got a (longdouble|list) instead"):
            live.settle(0, loss)
        live.settle(0, 0.5)


@pytest.mark.attack(rows.QUOTED)
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tacit_states SET state = substr(state, 1, length(state) - 9)",
        "DELETE FROM tacit_states",
        "UPDATE tacit_feedback SET value = substr(value, 1, 9)",
        "UPDATE tacit_decisions SET action = '{'",
        "UPDATE tacit_learners SET request = '{'",
        "UPDATE tacit_store SET version = 'x'",
    ],
)
def test_a_damaged_store_is_refused_in_one_sentence_that_holds_nothing_of_it(path, damage):
    with tacit_experiments.Store(path) as store:
        live = store.open("home", PROBLEM, **TARGET)
        live.settle(live.decide(key="a").round, [0.123456, 0.5, 0.5])
        with store._database.writing() as transaction:
            transaction.run(damage)
    with pytest.raises(StoreError, match="holds what cannot be read") as caught, tacit_experiments.Store(path) as store:
        store.open("home", PROBLEM, **TARGET).decide(key="a")
    error = caught.value
    while error is not None:
        assert "0.123456" not in f"{error!r} {vars(error)} {getattr(error, 'doc', '')}"
        assert "PRIVATE" not in getattr(error, "doc", "")
        error = error.__context__


@pytest.mark.attack(rows.OLDER_COPY)
def test_a_log_that_is_lost_is_noticed(path):
    """The first rounds of a new store stand in its log only: without it the file must not pass for an empty one."""
    child = os.fork()
    if not child:  # ends without closing anything, as a killed process does
        live = tacit_experiments.Store(path).open("home", PROBLEM, **TARGET)
        live.decide()
        os._exit(0)
    os.waitpid(child, 0)
    path.with_name("decisions.db-wal").unlink()
    with tacit_experiments.Store(path) as store, pytest.raises(StoreError, match="an earlier copy was put back"):
        store.open("home", PROBLEM, **TARGET)


@pytest.mark.attack(rows.OLDER_COPY)
@pytest.mark.parametrize("put_back", [True, False], ids=["replaced", "deleted"])
def test_a_file_that_is_taken_away_while_it_is_open_is_written_no_more(path, put_back):
    """Else decisions would be shown that nobody finds again: the open file has no name any more."""
    kept = path.with_name("kept.db")
    with tacit_experiments.Store(path) as store:
        live = store.open("home", PROBLEM, **TARGET)
        live.decide()
        path.rename(kept)
        if put_back:
            path.write_bytes(kept.read_bytes())
        for ask in (live.decide, lambda: live.settle(0, [0.5, 0.5, 0.5]), lambda: store.epoch):
            with pytest.raises(StoreError, match="was moved, deleted or replaced while it was open: nothing was shown"):
                ask()
        kept.rename(path)
        assert live.decide().round == 1


def test_what_cannot_be_a_name_is_the_name_of_nothing(path):
    with tacit_experiments.Store(path) as store:
        assert all(name not in store for name in ("", "\0", "\ud800", "x" * 201, "home\n", None))


def long_side(at):
    return np.where(np.arange(2000) == at, 2.0, 1.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [(np.ones(2), np.array([1.0, 1.0 + 1e-12])), (long_side(900), long_side(1000))],
    ids=["digit", "entry"],
)
def test_a_domain_that_differs_in_one_digit_or_entry_is_another_contract(path, one, other):
    def open_with(store, high):
        problem = tacit.Convex(
            domain=tacit.domains.Box(np.zeros(len(high)), high), loss=tacit.losses.LinearLoss(), horizon=20
        )
        return store.open("home", problem, algorithms=["PrivateFTRL"], **TARGET)

    with tacit_experiments.Store(path) as store:
        live = open_with(store, one)
        with pytest.raises(InvalidInput, match="has another contract"):
            open_with(store, other)
        with np.printoptions(precision=2, suppress=True, threshold=1):
            assert open_with(store, one) is live


@pytest.mark.attack(rows.WRITERS)
@pytest.mark.parametrize("way", ["os", "libc", "a thread"])
def test_a_child_refuses_the_store_of_its_parent_however_it_was_forked(path, way):
    """Measured before: under uWSGI a store of the parent decided in the child. A lock held by a thread is no wait."""
    with tacit_experiments.Store(path) as store:
        live = store.open("home", PROBLEM, **TARGET)
        live.decide()

        def said():
            answers = []
            for act in (live.decide, lambda: store.epoch, lambda: live.settle(0, [0.5, 0.5, 0.5])):
                try:
                    act()
                except ProtocolError as error:
                    answers.append("another process" in str(error))
            store.close()
            return answers

        with store._database._turn:
            assert WAYS[way](said) == [True] * 3
        assert live.decide().round == 1
