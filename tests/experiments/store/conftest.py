"""A store in a folder of its own."""

import pytest

import tacit_experiments
from tacit_experiments.storage import engines


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))  # no power is lost in these tests
    return tmp_path / "decisions.db"


@pytest.fixture
def store(path):
    with tacit_experiments.Store(path) as opened:
        yield opened
