"""Copies of a store are noticed by their place, by their epochs and by the marks beside the file."""

import shutil

import pytest

import tacit_experiments
from attacks import rows
from experiments.store.world import PROBLEM, TARGET, use
from tacit.errors import InvalidInput, StoreError

pytest.importorskip("sqlalchemy")


def _used_after_a_copy(path):
    """A store with an older copy of itself: three rounds, and three more."""
    for rounds in (3, 6):
        with tacit_experiments.Store(path) as store:
            use(store.open("home", PROBLEM, **TARGET), 3)
            assert store.epoch == rounds
        if rounds == 3:
            shutil.copy(path, path.with_suffix(".old"))


@pytest.mark.attack(rows.OLDER_COPY)
def test_an_older_copy_that_was_put_back_is_noticed(path):
    _used_after_a_copy(path)
    shutil.copy(path.with_suffix(".old"), path)
    with tacit_experiments.Store(path) as store:
        assert store.epoch == 3
        with pytest.raises(StoreError, match="an earlier copy was put back"):
            store.open("home", PROBLEM, **TARGET)
    path.with_name("decisions.db.mark").unlink()
    with (
        tacit_experiments.Store(path) as store,
        pytest.raises(StoreError, match="has marks, and they are not beside it"),
    ):
        store.open("home", PROBLEM, **TARGET)


def elsewhere(path, how):
    """Copy or move a store; where it is then."""
    folder = path.parent / "other"
    if how == "moved":
        folder.mkdir()
        for name in ("decisions.db", "decisions.db.mark"):
            path.with_name(name).rename(folder / name)
        return folder / "decisions.db"
    if how == "another name":
        return shutil.copy(path, path.with_name("restored.db"))
    shutil.copytree(path.parent, folder)
    if how == "another folder without marks":
        (folder / "decisions.db.mark").unlink()
    return folder / "decisions.db"


@pytest.mark.attack(rows.OLDER_COPY)
@pytest.mark.parametrize("decided", [0, 3])
@pytest.mark.parametrize("how", ["another name", "another folder", "another folder without marks", "moved"])
def test_a_copy_in_another_place_is_noticed_and_a_store_that_was_moved_is_not(tmp_path, decided, how):
    """Of a backup under another name 50 rounds were decided again, 19 of them differently, and nothing was said."""
    path = tmp_path / "folder" / "decisions.db"
    path.parent.mkdir()
    with tacit_experiments.Store(path) as store:
        use(store.open("home", PROBLEM, **TARGET), decided)
        store.ledger("people", epsilon=9.0)
    with tacit_experiments.Store(elsewhere(path, how)) as store:
        if how == "moved":
            store.check_marks()
            assert store.open("home").decide().round == decided
            with pytest.raises(InvalidInput, match="there is nothing to adopt"):
                store.adopt()
            return
        for ask in (store.check_marks, lambda: store.open("home"), lambda: store.ledger("people")):
            with pytest.raises(StoreError, match="would spend again what was spent since"):
                ask()
        assert store.export("home")["rounds"] == decided


@pytest.mark.attack(rows.OLDER_COPY)
def test_a_copy_goes_on_when_it_is_adopted_and_every_export_says_so(path):
    with tacit_experiments.Store(path) as store:
        use(store.open("home", PROBLEM, **TARGET), 3)
        people, original = store.ledger("people", epsilon=9.0), store.identity
        people.record("a report", store.open("home").guarantee)
        assert store.export("home")["continued"] == []
    copy = shutil.copy(path, path.with_name("copy.db"))
    with tacit_experiments.Store(copy) as store:
        sentence = store.adopt()
        assert sentence.startswith("continued from a copy at 20")
        assert sentence.endswith(f"of store {original} at epoch 4: may have spent twice")
        assert store.open("home").decide().round == 3
        assert len(store.ledger("people")) == 1
    with tacit_experiments.Store(copy) as store:
        store.check_marks()
        exported = store.export("home")
        assert exported["continued"] == [sentence]
        assert exported["store"]["identity"] == store.identity != original
    with tacit_experiments.Store(path) as store:  # the original knows nothing of it
        assert store.open("home").decide().round == 3
        assert store.identity == original
    shutil.copy(copy, path.with_name("again.db"))
    with tacit_experiments.Store(path.with_name("again.db")) as store:
        store.adopt()
        assert len(store.export("home")["continued"]) == 2


@pytest.mark.attack(rows.OLDER_COPY)
def test_marks_of_the_original_are_kept_when_a_copy_in_its_place_is_adopted(path):
    _used_after_a_copy(path)
    newest = path.read_bytes()
    shutil.copy(path.with_suffix(".old"), path)
    with tacit_experiments.Store(path) as store:
        store.adopt()
        use(store.open("home", PROBLEM, **TARGET), 1)
    path.write_bytes(newest)
    with tacit_experiments.Store(path) as store:
        assert store.open("home", PROBLEM, **TARGET).decide().round == 6
    shutil.copy(path.with_suffix(".old"), path)
    with tacit_experiments.Store(path) as store, pytest.raises(StoreError, match="an earlier copy was put back"):
        store.open("home", PROBLEM, **TARGET)


@pytest.mark.attack(rows.OLDER_COPY)
@pytest.mark.parametrize("what", ["a learner", "a new learner", "a ledger"])
def test_everything_in_an_older_copy_is_checked_at_once(path, what):
    with tacit_experiments.Store(path) as store:
        store.ledger("people", epsilon=9.0)
        use(store.open("home", PROBLEM, **TARGET), 1)
    shutil.copy(path, path.with_suffix(".old"))
    with tacit_experiments.Store(path) as store:
        store.check_marks()
        if what == "a ledger":
            store.ledger("people").record("a report", store.open("home").guarantee)
        else:
            use(store.open("home" if what == "a learner" else "other", PROBLEM, **TARGET), 1)
        store.check_marks()
    shutil.copy(path.with_suffix(".old"), path)
    with tacit_experiments.Store(path) as store, pytest.raises(StoreError, match="an earlier copy was put back"):
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
    with tacit_experiments.Store(path) as store:
        use(store.open("home", PROBLEM, **TARGET), 3)
    path.unlink()
    with tacit_experiments.Store(path) as store:
        assert store.open("home", PROBLEM, **TARGET).decide().round == 0


@pytest.mark.attack(rows.OLDER_COPY)
def test_another_store_in_between_takes_no_marks_away(path):
    """A service that starts once on a lost file must not make an older copy of it pass."""
    _used_after_a_copy(path)
    path.unlink()
    with tacit_experiments.Store(path) as store:
        assert store.open("home", PROBLEM, **TARGET).decide().round == 0
    shutil.copy(path.with_suffix(".old"), path)
    # The new file may or may not have got the number of the old one, which the sentence follows.
    refused = pytest.raises(
        StoreError, match=r"an earlier copy was put back|is a copy of the one that was written last"
    )
    with tacit_experiments.Store(path) as store, refused:
        store.open("home", PROBLEM, **TARGET)
