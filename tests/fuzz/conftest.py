"""A limit on memory: a call that wants more than this fails instead of filling the machine. A planner that is quick."""

import sys
from unittest.mock import patch

import pytest

import tacit
from tacit.planning.catalogue import CATALOGUE

ROOM = 3 * 2**30


@pytest.fixture(autouse=True, scope="module")
def _limited_memory():
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(scope="module")
def quick_planner():
    """Only algorithms that are quick to calibrate: for tests of what is built on the planner."""
    quick = {
        tacit.Experts: (tacit.algorithms.ScheduledExperts, tacit.algorithms.HedgeOnSums),
        tacit.Tracking: (tacit.algorithms.RestartOnShift, tacit.algorithms.LimitedUpdates),
        tacit.Convex: (tacit.algorithms.PrivateFTRL,),
    }
    with patch.dict(CATALOGUE, quick):
        yield
