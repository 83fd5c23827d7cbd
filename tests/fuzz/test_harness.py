"""The harness itself can fail: learners that break the rules are caught."""

import time
import warnings

import numpy as np
import pytest

from fuzz.harness import REFUSED, attempt, quick, same_as_twin
from tacit import InvalidInput


class Careless:
    """A toy learner: the sum of what it saw. It counts a round, or remembers a row, before it looks."""

    def __init__(self, flaw=""):
        self.flaw = flaw
        self.total = 0.0
        self.rounds = 0
        self.hidden = 0.0

    def play(self):
        return self.total + self.hidden

    def observe(self, row):
        if self.flaw == "counts first":
            self.rounds += 1
        if self.flaw == "hidden":
            self.hidden += 1.0
        if self.flaw == "writes":
            row[1] = 7.0
        if self.flaw == "wrong kind":
            raise KeyError("row")
        if self.flaw == "warns":
            warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        if self.flaw == "mumbles" and not np.all(np.isfinite(row)):
            raise InvalidInput("no")
        if not np.all(np.isfinite(row)):
            raise InvalidInput(f"Rows must be finite. Got {row} instead.")
        self.total += float(np.sum(row))
        self.rounds += self.flaw != "counts first"

    def state_dict(self):
        return {"total": self.total, "rounds": self.rounds}


BAD, GOOD = np.array([np.nan, 1.0]), np.array([0.5, 0.5])


@pytest.mark.parametrize("flaw", ["counts first", "writes", "wrong kind", "warns", "mumbles"])
def test_flaws_are_caught(flaw):
    learner, row = Careless(flaw), BAD.copy()
    with pytest.raises((AssertionError, KeyError, RuntimeWarning)):
        attempt(lambda: learner.observe(row), learner, row)


def test_arguments_are_not_written_to():
    learner, row = Careless("writes"), GOOD.copy()
    with pytest.raises(AssertionError, match="written to"):
        attempt(lambda: learner.observe(row), learner, row)


def test_a_careful_learner_passes():
    learner = Careless()
    assert attempt(lambda: learner.observe(BAD), learner, BAD) is REFUSED
    assert attempt(lambda: learner.observe(GOOD), learner) is None
    same_as_twin(Careless, lambda spoiled: attempt(lambda: spoiled.observe(BAD), spoiled), [GOOD] * 3)


def test_hidden_state_is_caught_by_the_twin():
    """`state_dict` does not show it: only the decisions do."""
    assert attempt(lambda: Careless("hidden").observe(BAD), Careless("hidden")) is REFUSED
    with pytest.raises(AssertionError):
        same_as_twin(lambda: Careless("hidden"), lambda spoiled: attempt(lambda: spoiled.observe(BAD)), [GOOD] * 3)


def test_hangs_are_caught():
    with pytest.raises(AssertionError, match="no answer"), quick(0.05):
        time.sleep(2)


def test_memory_is_limited():
    with pytest.raises(MemoryError):
        np.ones(10**10)
