"""How many files a loss crosses on its way through `observe`: at most five, so that a reader can follow it."""

import sys
from pathlib import Path
from statistics import median_high

import numpy as np
import pytest

import tacit
from tacit import Arms, Convex, Experts, Randomness, algorithms
from tacit.domains import Ball
from tacit.losses import LinearLoss, LogisticLoss

PACKAGE = Path(tacit.__file__).parent
MOST_FILES = 5
GAUSSIAN, PURE = {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 1.0, "delta": 0.0}
EXPERTS = Experts(n=10, horizon=10_000)


def vectors(count):
    rows = Randomness.replayable(5).stream("rows").standard_normal((count, 20))
    return list(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def losses(count):
    return list(Randomness.replayable(5).stream("rows").random((count, 10)))


def pairs(count):
    return [(row, 1.0) for row in vectors(count)]


def numbers(count):
    return Randomness.replayable(5).stream("rows").random(count).tolist()


def convex(loss):
    return Convex(domain=Ball(20), loss=loss, horizon=10_000)


LEARNERS = {
    "LazyExperts": (lambda: algorithms.LazyExperts.calibrate(EXPERTS, **GAUSSIAN), losses),
    "HedgeOnSums": (lambda: algorithms.HedgeOnSums.calibrate(EXPERTS, **GAUSSIAN), losses),
    "HedgeOnSums, pure": (lambda: algorithms.HedgeOnSums.calibrate(EXPERTS, **PURE), losses),
    "PrivateFTRL": (lambda: algorithms.PrivateFTRL.calibrate(convex(LinearLoss()), **GAUSSIAN), vectors),
    "PrivateFTRL, two streams": (lambda: algorithms.PrivateFTRL.calibrate(convex(LogisticLoss()), **GAUSSIAN), pairs),
    "PhasedArms": (lambda: algorithms.PhasedArms.calibrate(Arms(n=10, horizon=10_000), **PURE), numbers),
}


def files_of(call):
    """Name the files of the package that one call enters, every function of Python's counted."""
    entered = set()

    def note(frame, event, _):
        if event == "call":
            entered.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {str(path.relative_to(PACKAGE)) for path in map(Path, entered) if path.is_relative_to(PACKAGE)}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_loss_crosses_at_most_five_files(name):
    """The median of ten rounds counts. The first one of all is left out: it draws the first pool of noise."""
    make, rows = LEARNERS[name]
    learner = make().start(Randomness.replayable(7))
    walks = []
    for row in rows(11):
        learner.play()
        walks.append(files_of(lambda row=row: learner.observe(row)))
    assert learner.rounds == 11
    assert all("runtime/learner.py" in walk for walk in walks), "nothing was traced"
    ordinary = median_high(len(walk) for walk in walks[1:])
    assert ordinary <= MOST_FILES, sorted(max(walks[1:], key=len))
