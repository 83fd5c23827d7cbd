"""Older copies of a store are noticed by their epochs and by the mark beside the file."""

import shutil

import pytest

import tacit
from attacks import rows
from store.world import PROBLEM, TARGET, use
from tacit.errors import StoreError

pytest.importorskip("sqlalchemy")


def _used_after_a_copy(path):
    """A store with an older copy of itself: three rounds, and three more."""
    for rounds in (3, 6):
        with tacit.Store(path) as store:
            use(store.open("home", PROBLEM, **TARGET), 3)
            assert store.epoch == rounds
        if rounds == 3:
            shutil.copy(path, path.with_suffix(".old"))


@pytest.mark.attack(rows.OLDER_COPY)
def test_an_older_copy_that_was_put_back_is_noticed(path):
    _used_after_a_copy(path)
    shutil.copy(path.with_suffix(".old"), path)
    with tacit.Store(path) as store:
        assert store.epoch == 3
        with pytest.raises(StoreError, match="an earlier copy was put back"):
            store.open("home", PROBLEM, **TARGET)
    path.with_name("decisions.db.mark").unlink()
    with tacit.Store(path) as store:
        assert store.open("home", PROBLEM, **TARGET).decide().round == 3


@pytest.mark.attack(rows.OLDER_COPY)
@pytest.mark.parametrize("what", ["a learner", "a new learner", "a ledger"])
def test_everything_in_an_older_copy_is_checked_at_once(path, what):
    with tacit.Store(path) as store:
        store.ledger("people", epsilon=9.0)
        use(store.open("home", PROBLEM, **TARGET), 1)
    shutil.copy(path, path.with_suffix(".old"))
    with tacit.Store(path) as store:
        store.check_marks()
        if what == "a ledger":
            store.ledger("people").record("a report", store.open("home").guarantee)
        else:
            use(store.open("home" if what == "a learner" else "other", PROBLEM, **TARGET), 1)
        store.check_marks()
    shutil.copy(path.with_suffix(".old"), path)
    with tacit.Store(path) as store, pytest.raises(StoreError, match=r"and delete decisions\.db\.mark"):
        store.check_marks()


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


@pytest.mark.attack(rows.OLDER_COPY)
def test_another_store_in_between_takes_no_marks_away(path):
    """A service that starts once on a lost file must not make an older copy of it pass."""
    _used_after_a_copy(path)
    path.unlink()
    with tacit.Store(path) as store:
        assert store.open("home", PROBLEM, **TARGET).decide().round == 0
    shutil.copy(path.with_suffix(".old"), path)
    with tacit.Store(path) as store, pytest.raises(StoreError, match="an earlier copy was put back"):
        store.open("home", PROBLEM, **TARGET)
