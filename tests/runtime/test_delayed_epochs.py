"""Late feedback where nobody knows the horizon: open rounds of an epoch that is over."""

import json
from typing import ClassVar

import numpy as np
import pytest

from runtime.contract import LONG, LearnerContract, losses, pytest_generate_tests
from tacit import Experts, InvalidInput, Randomness, Tracking
from tacit.algorithms import LazyExperts, LazyFixedShare, ScheduledExperts
from tacit.runtime.doubling import Doubling
from tacit.runtime.state import encode
from tacit.runtime.target import Target
from tacit.testing.rounds import resealed

__all__ = ["pytest_generate_tests"]


def lazy(problem):
    return LazyExperts(problem, eta=0.3, force=0.3)


def late(make):
    """Epochs of a loud plan."""
    return Doubling(Experts(n=3, horizon=None, delay=4), Target(1e6, 1e-6), make)


class TestUnknownHorizon(LearnerContract):
    """Epochs with a delay: open rounds of an epoch that is over are settled, and dropped."""

    long_checks: ClassVar = (*LONG, "deciding_is_playing", "open_rounds_are_saved")
    # Cut after round 1026: rounds of two epochs are open.
    long: ClassVar = {
        "lazy": lambda: (late(lazy), losses(3, 1710)),
        "scheduled": lambda: (late(lambda problem: ScheduledExperts(problem, eta=0.3)), losses(3, 1710)),
        "shares": lambda: (
            Doubling(
                Tracking(n=3, horizon=None, delay=4, switches=2),
                Target(1e6, 1e-6),
                lambda problem: LazyFixedShare(problem, eta=0.3, force=0.3),
            ),
            losses(3, 1710),
        ),
    }

    @pytest.mark.parametrize("algorithm", [LazyFixedShare, ScheduledExperts])
    @pytest.mark.parametrize("decided", [3, 300, 1026])
    def test_states_of_learners_that_draw_before_feedback_comes(self, algorithm, decided):
        """They counted the rounds of an epoch without its open ones, and refused their own states."""
        kind = Experts if algorithm is ScheduledExperts else Tracking
        problem = kind(n=3, horizon=None, delay=7, **({} if kind is Experts else {"switches": 2}))
        plan = algorithm.calibrate(problem, epsilon=50.0, delta=1e-6)
        learner, rows = plan.start(Randomness.replayable(3)), np.array(losses(3, 1100))
        learner.run(rows[:decided])
        learner.play()
        state = json.loads(json.dumps(learner.state_dict()))
        again = plan.restore(state)
        np.testing.assert_array_equal(again.run(rows[decided:]), learner.run(rows[decided:]))
        for row in state["open"]:
            row[1] = encode(np.full(3, 9.0))
        with pytest.raises(InvalidInput, match="contradicts itself"):
            plan.restore(resealed(state))
