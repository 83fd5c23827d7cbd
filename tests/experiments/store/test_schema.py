"""The tables of a store: migrations, and versions that are too new."""

import pytest

import tacit_experiments
from tacit.errors import StoreError
from tacit_experiments.store import schema

pytest.importorskip("sqlalchemy")


def test_newer_tables_and_other_files_are_refused(path):
    with tacit_experiments.Store(path) as store, store._database.writing() as transaction:
        transaction.run("UPDATE tacit_store SET version = 99")
    with pytest.raises(StoreError, match="newer tacit: its tables have version 99"):
        tacit_experiments.Store(path)
    path.with_name("text.db").write_text("no database at all, but long enough to be one" * 50)
    with pytest.raises(StoreError, match="not a database"):
        tacit_experiments.Store(path.with_name("text.db"))


def test_migrations_run_once_in_order(path, monkeypatch):
    tacit_experiments.Store(path).close()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, ("CREATE TABLE tacit_more (a BIGINT)",)))
    for _ in range(2):
        with tacit_experiments.Store(path) as store, store._database.reading() as transaction:
            assert transaction.row("SELECT version FROM tacit_store")[0] == len(schema.MIGRATIONS)
            assert transaction.rows("SELECT * FROM tacit_more") == []
