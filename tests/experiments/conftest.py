"""A world in a folder of its own."""

import pytest

pytest.importorskip("sqlalchemy")

from experiments.world import World
from tacit_experiments.storage import engines


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))  # no power is lost in these tests
    made = World(tmp_path)
    yield made
    made.close()
