"""Algorithms of one's own: they take part in plans, which run in whatever process."""

import subprocess
import sys
from dataclasses import dataclass, replace

import joblib
import pytest

import tacit
from tacit import InvalidInput, PrivacyError
from tacit.algorithms.experts import ScheduledExperts
from tacit.environments import BernoulliGap
from tacit.planning.catalogue import CATALOGUE, algorithms_for, register
from tacit.problems import Experts, Lipschitz, Tracking
from tacit.runtime.plan import Plan

PROBLEM = Experts(n=3, horizon=40)
PURE = {"epsilon": 1.0, "delta": 0.0}


@dataclass(frozen=True)
class Mine(ScheduledExperts):
    """An algorithm of one's own, with a bound that wins."""

    @property
    def regret_bound(self):
        return replace(super().regret_bound, value=0.5)


@dataclass(frozen=True)
class Refuses(ScheduledExperts):
    @classmethod
    def _calibrate(cls, problem, target):
        raise InvalidInput("Refuses has no plan for anybody.")


@dataclass(frozen=True)
class Careless(ScheduledExperts):
    """Calibrates to ten times the epsilon that was asked for."""

    @classmethod
    def _calibrate(cls, problem, target):
        return super()._calibrate(problem, replace(target, epsilon=10 * target.epsilon))


@dataclass(frozen=True)
class Lost(ScheduledExperts):
    @property
    def regret_bound(self):
        return replace(super().regret_bound, value=float("nan"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setitem(CATALOGUE, Experts, (ScheduledExperts,))


def test_a_registered_algorithm_is_compared_with_the_others():
    assert register(Experts, Mine) is Mine
    found = tacit.plan(PROBLEM, **PURE)
    assert [candidate.algorithm for candidate in found.candidates] == ["Mine", "ScheduledExperts"]
    assert isinstance(found.plan, Mine)
    register(Experts, Mine)
    assert CATALOGUE[Experts] == (ScheduledExperts, Mine)


def test_a_registered_algorithm_survives_the_workers():
    register(Experts, Mine)
    plans = [tacit.plan(PROBLEM, **PURE), tacit.plan(replace(PROBLEM, horizon=None), **PURE)]
    worlds = [BernoulliGap(3, 40), BernoulliGap(3, 1100)]
    tasks = [joblib.delayed(tacit.simulate)(*pair, runs=2) for pair in zip(plans, worlds, strict=True)]
    there = joblib.Parallel(n_jobs=2)(tasks)
    here = [function(*given, **options) for function, given, options in tasks]
    assert there[0].plan.algorithm == "Mine"
    assert [found.regret.tolist() for found in there] == [found.regret.tolist() for found in here]


@pytest.mark.slow
def test_an_algorithm_of_the_main_script_survives_the_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from dataclasses import dataclass, replace\n"
        "import joblib, tacit\n"
        "@dataclass(frozen=True)\n"
        "class Local(tacit.algorithms.ScheduledExperts):\n"
        "    @property\n"
        "    def regret_bound(self):\n"
        "        return replace(super().regret_bound, value=0.5)\n"
        "if __name__ == '__main__':\n"
        "    tacit.register(tacit.Experts, Local)\n"
        "    plan = tacit.plan(tacit.Experts(n=3, horizon=40), epsilon=1.0, delta=0.0)\n"
        "    found = joblib.Parallel(n_jobs=2)(joblib.delayed(tacit.simulate)(plan, 'gap', seed=s) for s in (0, 1))\n"
        "    print({simulation.plan.algorithm for simulation in found})\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "{'Local'}\n"


@pytest.mark.parametrize(
    ("algorithm", "reason"),
    [(Refuses, "no plan for anybody"), (Careless, "does not meet epsilon=1"), (Lost, "not a number")],
)
def test_a_candidate_that_refuses_or_breaks_its_word_is_a_row_with_its_reason(algorithm, reason):
    register(Experts, algorithm)
    found = tacit.plan(PROBLEM, **PURE)
    assert found.algorithm == "ScheduledExperts"
    assert reason in found.candidates[1].reason
    assert reason in found.explain()
    with pytest.raises(PrivacyError, match=reason):
        tacit.plan(PROBLEM, **PURE, algorithms=[algorithm])


def test_what_cannot_be_registered_gets_one_sentence():
    for problem, algorithm, words in (
        (PROBLEM, Mine, "a kind of problem such as Experts"),
        (Experts, Mine(PROBLEM, eta=0.1, batch=10), "a subclass of Plan"),
        (Experts, Plan, "has all of its methods"),
        (Experts, dict, "a subclass of Plan"),
        (Lipschitz, Mine, "is for Experts problems, not Lipschitz"),
    ):
        with pytest.raises(InvalidInput, match=words):
            register(problem, algorithm)
    other = type("ScheduledExperts", (Mine,), {"__module__": "elsewhere"})
    with pytest.raises(InvalidInput, match="two algorithms called ScheduledExperts"):
        register(Experts, other)
    for wanted in ([], "Mine", [Mine, 3]):
        with pytest.raises(InvalidInput):
            tacit.plan(PROBLEM, **PURE, algorithms=wanted)
    with pytest.raises(InvalidInput, match="a problem such as"):
        algorithms_for("experts", [Mine])


def test_a_kind_of_problem_inherits_no_registration():
    register(Experts, Mine)
    assert Mine not in CATALOGUE[Tracking]
