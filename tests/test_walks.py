"""The three walks of docs/architecture.md: what a page says of the way through the files is the way a call takes."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tacit

ROOT = Path(tacit.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def a_loss():
    learner = tacit.LazyExperts(tacit.Experts(n=3, horizon=10), eta=0.1, force=0.1).start()
    learner.play()
    return lambda: learner.observe(np.array([0.1, 0.2, 0.3]))


def a_gradient():
    problem = tacit.Convex(domain=tacit.Ball(dim=3, radius=1.0), loss=tacit.LogisticLoss(data_norm=1.0), horizon=100)
    learner = tacit.PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6).start()
    learner.play()
    return lambda: learner.observe((np.array([0.1, 0.2, 0.3]), 1.0))


def an_epsilon():
    return lambda: tacit.plan(tacit.Experts(n=3, horizon=100), epsilon=1.0, delta=1e-6)


WALKS = {
    "A loss": (a_loss, "learners/experts/lazy_experts.py", "_absorb"),
    "A gradient": (a_gradient, "mechanisms/running_sums/buffered.py", "_advance"),
    "An epsilon": (an_epsilon, "privacy/lazy.py", "of_hazards"),
}


def walked(call, file, function):
    """The files of the call stack when `function` of `file` is entered first, each once where it follows itself."""
    stops = []

    def watch(frame, event, _argument):
        if event == "call" and not stops and frame.f_code.co_name == function and where(frame) == file:
            while frame is not None:
                stop = where(frame)
                if stop is not None and stops[-1:] != [stop]:
                    stops.append(stop)
                frame = frame.f_back

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return stops[::-1]


def where(frame):
    path = Path(frame.f_code.co_filename)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else None


@pytest.mark.parametrize("name", WALKS)
def test_walk(name):
    row = re.search(rf"^\| {name}[^|]*\| (.*?) \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    prepare, file, function = WALKS[name]
    stops = walked(prepare(), file, function)
    assert re.findall(r"`([\w/]+\.py)`", row[1]) == stops
    assert int(row[2]) == len(stops) - 1
