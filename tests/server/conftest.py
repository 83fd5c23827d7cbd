"""One service for all tests that ask it nothing special."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from server.running import running
from tacit.store import engines


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    before = engines.PRAGMAS
    engines.PRAGMAS = (*before, "synchronous=OFF")  # no power is lost in these tests
    with running(tmp_path_factory.mktemp("service") / "decisions.db") as found:
        engines.PRAGMAS = before  # its connection is open, other stores have their own
        yield found
