"""One service for the tests of a module."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from service.running import running
from tacit.store import engines


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    before = engines.PRAGMAS
    engines.PRAGMAS = (*before, "synchronous=OFF")  # no power is lost in these tests
    try:
        with running(tmp_path_factory.mktemp("service") / "decisions.db") as found:
            yield found
    finally:
        engines.PRAGMAS = before
