"""A store for each test, which no power failure threatens."""

import pytest

import tacit_experiments
from experiments.service.running import unsynced


@pytest.fixture
def store(tmp_path):
    with unsynced(), tacit_experiments.Store(tmp_path / "decisions.db") as opened:
        yield opened
