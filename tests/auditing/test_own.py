"""Plans that tacit does not ship: audited as they say, or as they stand if their outcomes can be counted."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from tacit.accounting.curves import Pure
from tacit.accounting.guarantee import Guarantee
from tacit.algorithms.convex.ctrl import LazyOCO
from tacit.algorithms.experts import LazyExperts
from tacit.auditing.report import VIOLATION
from tacit.auditing.run import audit
from tacit.auditing.script import transcript_law
from tacit.domains import Ball
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss
from tacit.problems import Convex, Experts, Lipschitz
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound


@dataclass(frozen=True)
class LastLeader(Plan):
    """The leader of the last round by exponential noise of mean `noise`/epsilon (private from 1.613 on)."""

    problem: Experts
    epsilon: float = 1.0
    noise: float = 2.0
    normal: bool = False
    released_streams: ClassVar[tuple[str, ...]] = ()

    @property
    def guarantee(self):
        return Guarantee(curve=Pure(self.epsilon), at_delta=0.0, released="every decision", theorem="parallel")

    @property
    def regret_bound(self):
        return RegretBound(float("inf"), "none")

    @classmethod
    def _calibrate(cls, problem, target):
        return cls(problem, target.epsilon)

    def _learner(self, randomness):
        return LastLeaderLearner(self, randomness)


class LastLeaderLearner(Learner):
    _stream_names = ("noise",)

    def __init__(self, plan, randomness):
        super().__init__(plan, randomness)
        self._action = 0

    def _check(self, feedback):
        return np.asarray(feedback, dtype=float)

    def _absorb(self, losses):
        draw = self._streams["noise"]
        noise = draw.standard_normal(losses.size) if self.plan.normal else draw.standard_exponential(losses.size)
        self._action = int(np.argmin(losses - self.plan.noise * noise / self.plan.epsilon))


def plan(**settings):
    return LastLeader(Experts(n=2, horizon=3), **settings)


def test_a_sound_plan_passes_with_the_delta_of_its_closed_form():
    """One round, losses (0, 1) or (1, 0), noise of mean 2: expert 0 leads with probability 1 - e^{-1/2}/2 or less."""
    report = audit(plan(), budget=0.1)
    assert not report.violation
    assert report.findings[0].quantity == "delta at epsilon=0"
    assert report.findings[0].lower == pytest.approx(1 - np.exp(-0.5), rel=1e-9)


@pytest.mark.parametrize("noise", [1.0, 1.55])
def test_too_little_noise_is_found_with_its_witness(noise):
    report = audit(plan(noise=noise), budget=0.1)
    assert report.verdict == VIOLATION
    assert len(report.findings[0].stream) == 3
    assert np.any(np.array(report.findings[0].stream) != np.array(report.findings[0].neighbour))


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (LastLeader(Experts(n=2, horizon=9)), "at most 3 experts and 8 rounds"),
        (LastLeader(Experts(n=4, horizon=3)), "n=4"),
        (LastLeader(Experts(n=2, horizon=None)), "horizon=None"),
        (LastLeader(Lipschitz(horizon=3)), "does not say how small an instance of it can be audited"),
        (plan(normal=True), "cannot be counted"),
        (
            LazyOCO.for_budget(Convex(domain=Ball(1), loss=LogisticLoss(), horizon=50), switches=10),
            "promises no privacy",
        ),
    ],
    ids=["long", "many", "endless", "functions", "normal", "open"],
)
def test_what_cannot_be_audited_is_refused(refused, words):
    with pytest.raises(InvalidInput, match=words):
        audit(refused, budget=0.1)


@dataclass(frozen=True)
class Mine(LazyExperts):
    """A shipped plan under another name."""


def test_a_plan_under_another_name_releases_what_its_parent_releases():
    """The switch bits once stood in a table of class names: under another name 54 transcripts became 16."""
    shipped, mine = (kind(Experts(n=2, horizon=4), eta=0.3, force=0.3) for kind in (LazyExperts, Mine))
    feedback = [[0.0, 1.0]] * 4
    assert transcript_law(mine, feedback) == transcript_law(shipped, feedback)
    assert len(transcript_law(mine, feedback)) == 54


def test_a_plan_under_another_name_is_audited_as_its_parent_is():
    """Nothing in an audit asks for the name: the same instances, the same attacks, the same numbers."""
    shipped, mine = (kind(Experts(n=5, horizon=100), eta=0.05, force=0.2) for kind in (LazyExperts, Mine))
    made = {small.plan.algorithm for small in mine.small_instances()}
    assert made == {"Mine"}
    first, second = (audit(plan, budget=0.02).to_dict()["findings"] for plan in (shipped, mine))
    assert first == second
    assert {finding["method"] for finding in first} == {"exact", "frequencies", "law"}


@dataclass(frozen=True)
class Told(LastLeader):
    """A plan that says how small it can be made."""

    attack: str = "enumeration"

    def small_instances(self):
        return (SmallInstance(self.attack, "three rounds", replace(self, problem=Experts(n=2, horizon=3))),)


def test_a_plan_that_says_how_small_it_can_be_made_is_audited_at_any_size():
    large = Experts(n=50, horizon=10_000)
    assert audit(Told(large), budget=0.1).findings[0].instance == "three rounds"
    assert audit(Told(large, noise=1.0), budget=0.1).verdict == VIOLATION
    with pytest.raises(InvalidInput, match="must name attacks among 'enumeration'"):
        audit(Told(large, attack="prayer"), budget=0.1)


@dataclass(frozen=True)
class Silent(LastLeader):
    """A plan that does not say what it releases."""

    released_streams = Plan.released_streams


def test_a_plan_that_does_not_say_what_it_releases_raises():
    with pytest.raises(InvalidInput, match="does not say which of its random streams show"):
        audit(Silent(Experts(n=2, horizon=3)), budget=0.02)
