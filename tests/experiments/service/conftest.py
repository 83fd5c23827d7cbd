"""One service for all tests that ask it nothing special."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from experiments.service.running import running


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("service") / "decisions.db", quick=True) as found:
        yield found
