"""A store for each test, which no power failure threatens."""

import pytest

import tacit
from server.running import unsynced


@pytest.fixture
def store(tmp_path):
    with unsynced(), tacit.Store(tmp_path / "decisions.db") as opened:
        yield opened
