"""A store for each test, which no power failure threatens."""

import pytest

import tacit
from tacit.store import engines


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))
    with tacit.Store(tmp_path / "decisions.db") as opened:
        yield opened
