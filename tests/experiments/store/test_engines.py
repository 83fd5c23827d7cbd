"""Where a store can be, and what it needs."""

import pytest

import tacit_experiments
from tacit.errors import InvalidInput, MissingExtra
from tacit_experiments.storage import engines

pytest.importorskip("sqlalchemy")


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
        tacit_experiments.Store(where)
    with pytest.raises(InvalidInput, match="timeout"):
        tacit_experiments.Store("x.db", timeout=0)


def test_without_the_extra_the_error_names_it(monkeypatch):
    def missing(module, requirement):
        raise MissingExtra(f"pip install '{requirement}'")

    monkeypatch.setattr(engines, "require", missing)
    with pytest.raises(MissingExtra, match=r"tacit-experiments\[postgres\]"):
        tacit_experiments.Store("postgresql://host/name")
