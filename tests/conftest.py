"""What all tests share: one thread for linear algebra, both ways of running the loops, and which tests belong here."""

import os
from importlib.util import find_spec

# Small matrices: a second thread costs more than it gives, and the workers share the machine.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import pytest  # noqa: E402

from tacit import kernels  # noqa: E402

COMPILED = kernels.compiled
PACKAGES = {
    "models": "tacit_models",
    "frozen/models.py": "tacit_models",
    "frozen/test_models.py": "tacit_models",
    "experiments": "tacit_experiments",
    "frozen/stores.py": "tacit_experiments",
    "frozen/test_stores.py": "tacit_experiments",
}
"""The package that a folder or file tests; all others test `tacit`, or the project."""
OF_THE_PROJECT = [
    "attacks", "docs", "errata", "examples", "planted_bugs", "test_architecture.py", "test_benchmarks.py",
    "test_documents.py",
]  # fmt: skip


def list_left_out() -> list[str]:
    """Return the tests of packages that are not installed; without all three, also those of the project as a whole."""
    missing = [place for place, package in PACKAGES.items() if find_spec(package) is None]
    return missing + OF_THE_PROJECT if missing else []


collect_ignore = list_left_out()


def in_c(wanted: bool, monkeypatch) -> None:
    """From here on the loops run in C, or in numpy; without a compiled file the test is left out."""
    if wanted and COMPILED is None:
        pytest.skip("the loops in C are not installed")
    monkeypatch.setattr(kernels, "compiled", COMPILED if wanted else None)


@pytest.fixture(params=["numpy", "C"])
def way(request, monkeypatch):
    """Each test both ways."""
    in_c(request.param == "C", monkeypatch)
    return request.param


@pytest.fixture
def both_ways(monkeypatch):
    """Call a function with the loops in C and in numpy."""

    def call(function):
        found = []
        for wanted in (True, False):
            in_c(wanted, monkeypatch)
            found.append(function())
        return found

    return call
