"""Plans with printed parameters: their status is computed, and no door takes one whose promise is not kept."""

import copy
import json
from dataclasses import fields, replace
from functools import partial
from math import inf

import numpy as np
import pytest

import tacit
from tacit import Experts, InvalidInput, PrivacyError, Randomness
from tacit.accounting.curves import Approximate, Gaussian, NotPrivate, Pure
from tacit.accounting.ledger import Ledger
from tacit.algorithms import L2P, HedgeOnSums
from tacit.planning.comparison import Candidate, Comparison
from tacit.runtime.doubling import Doubling
from tacit.runtime.plan import Plan
from tacit.runtime.printed import RUNNABLE, Printed
from tacit.runtime.target import Target
from tacit.testing import check_learner

PROBLEM = Experts(n=3, horizon=60)
LOSSES = np.linspace(0, 1, 180).reshape(60, 3)
TARGET = {"epsilon": 0.1, "delta": 1e-6}
STATUSES = ("kept", "exceeded", "no proof", "refuted", "not private")


def plan_of(status, problem=PROBLEM):
    """A plan of L2P with this status."""
    own = {"eta": 0.001, "force": 0.05, "batch": 2}
    match status:
        case "kept":
            return L2P.as_printed(problem, delta=1e-6, result="Theorem 3.2", **own)
        case "exceeded":
            less = 0.9 * plan_of("kept", problem).guarantee.epsilon(1e-6)
            return L2P.as_printed(problem, epsilon=less, delta=1e-6, result="Theorem 3.2", **own)
        case "no proof":
            kept = plan_of("kept", problem)
            return replace(kept, printed=replace(kept.printed, no_proof="the proof has a gap"))
        case "refuted":
            return L2P.as_printed(problem, **TARGET, result="Theorem 3.10")
        case "not private":
            return L2P.as_printed(problem, result="Proposition 3.3", eta=0.001, batch=2)
    raise AssertionError(status)


PLANS = {status: plan_of(status) for status in STATUSES}
every_status = pytest.mark.parametrize("status", STATUSES)


def forged(plan):
    """A state of a secret learner, which an honest caller could never have got."""
    return json.loads(json.dumps(plan._learner(Randomness.secret()).state_dict()))


def continued(plan):
    """Load a secret learner's state into a replayable learner."""
    learner = plan.start(Randomness.replayable(1))
    learner.load_state_dict(forged(plan))


def compared(plan):
    """The plan as a planner's choice."""
    target = Target(plan.printed.epsilon or 1.0, 1e-6)
    return Comparison(plan.problem, target, [Candidate(plan.algorithm, plan)], ranked_by="by hand")


def charged(plan):
    """Start with a ledger; one that was refused was not charged."""
    ledger = Ledger(epsilon=1e6, delta=0.1)
    try:
        plan.start(ledger=ledger)
    except PrivacyError:
        assert not ledger.to_dict()["entries"]
        raise


DOORS = {
    "start": lambda plan: plan.start(),
    "start with secret randomness by name": lambda plan: plan.start(Randomness.secret()),
    "run": lambda plan: plan.run(LOSSES),
    "restore": lambda plan: plan.restore(forged(plan)),
    "load a state into a replayable learner": continued,
    "ledger": charged,
    "contract": tacit.contract,
    "contract of a comparison": lambda plan: tacit.contract(compared(plan)),
    "start of a comparison": lambda plan: compared(plan).start(),
    "restore of a comparison": lambda plan: compared(plan).restore(forged(plan)),
    "doubling": lambda plan: Doubling(
        replace(PROBLEM, horizon=None), Target(1e3, 0.1), lambda problem: replace(plan, problem=problem)
    ).start(),
}


@pytest.mark.parametrize("door", DOORS)
@every_status
def test_every_door_refuses_what_is_not_kept(status, door):
    check_door(status, DOORS[door])


def check_door(status, door):
    """Check that a plan of this status passes the door, or is refused with the sentence that says why."""
    plan = PLANS[status]
    assert plan.printed_status == status
    if status in RUNNABLE:
        door(plan)
        return
    with pytest.raises(PrivacyError, match="is for simulations") as refusal:
        door(plan)
    text = str(refusal.value)
    assert f"L2P as printed (l2p, {plan.printed.result}" in text
    assert text.endswith("Use L2P.calibrate, or start(Randomness.replayable(seed)).")


@every_status
def test_planners_refuse_algorithms_that_plan_so(status, monkeypatch):
    """An algorithm whose calibration took printed parameters, at every door that plans."""
    problem = replace(PROBLEM, horizon=60)
    target = {"epsilon": 50.0, "delta": 0.1, "algorithms": ["L2P"]}
    monkeypatch.setattr(L2P, "_calibrate", classmethod(lambda cls, problem, target: plan_of(status, problem)))
    doors = {
        "calibrate": lambda: L2P.calibrate(problem, epsilon=50.0, delta=0.1),
        "calibrate without a horizon": lambda: L2P.calibrate(
            replace(problem, horizon=None), epsilon=50.0, delta=0.1
        ).start(),
        "plan": lambda: tacit.plan(problem, **target),
    }
    for door in doors.values():
        if status in RUNNABLE:
            door()
            continue
        # Where nothing is proved the target is not met either.
        with pytest.raises((PrivacyError, InvalidInput), match=r"is for simulations|would state epsilon=inf"):
            door()


@every_status
def test_simulations_and_audits_run_whatever_the_status(status):
    plan = PLANS[status]
    simulation = tacit.simulate(plan, "gap", runs=2, progress=False)
    assert simulation.plan is plan
    learner = plan.start(Randomness.replayable(4))
    actions = learner.run(LOSSES)
    again = plan.start(Randomness.replayable(4))
    first = again.run(LOSSES[:30])
    restored = plan.restore(json.loads(json.dumps(again.state_dict())))
    assert np.array_equal(actions, np.concatenate([first, restored.run(LOSSES[30:])]))
    assert "not private" in str(learner.guarantee)
    if status != "no proof":  # nothing is claimed there, so nothing can be broken
        report = tacit.audit(plan, budget=0.02, seed=1)
        assert not report.violation


def test_no_ledger_is_charged_for_a_simulation_of_what_is_not_kept():
    ledger = Ledger(epsilon=10.0, delta=0.1)
    with pytest.raises(PrivacyError):
        PLANS["refuted"].start(Randomness.replayable(1), ledger=ledger)
    assert not ledger.to_dict()["entries"]


def expected(printed, curve):
    """The status, typed again from its table."""
    if printed.epsilon is None:
        return "not private"
    if printed.delta < printed.lower_bound:
        return "refuted"
    if printed.no_proof or curve.epsilon(printed.delta) == inf:
        return "no proof"
    return "kept" if curve.delta(printed.epsilon) <= printed.delta * (1 + 1e-9) else "exceeded"


CURVES = [
    Pure(0.0),
    Pure(0.5),
    Pure(1.0),
    Pure(1.1),
    Gaussian(0.1),
    Gaussian(5.0),
    Approximate(1.0, 1e-6),
    NotPrivate(),
]


@pytest.mark.parametrize("curve", CURVES, ids=repr)
@pytest.mark.parametrize("lower_bound", [0.0, 1e-6, 1.1e-6, 1.0])
@pytest.mark.parametrize("asked", [(None, None), (1.0, 1e-6), (0.5, 1e-6)])
@pytest.mark.parametrize("no_proof", ["", "a gap"])
def test_status_is_computed_from_the_curve_and_the_lower_bound(curve, lower_bound, asked, no_proof):
    printed = Printed("l2p", "Theorem 0", *asked, lower_bound=lower_bound, no_proof=no_proof)
    assert printed.status(curve) == expected(printed, curve)


def test_status_is_never_typed():
    """No field of the record can say it, and a changed curve changes it."""
    assert "status" not in {field.name for field in fields(Printed)}
    assert "printed_status" not in {field.name for field in fields(L2P)}
    kept = PLANS["kept"]
    louder = replace(kept, eta=0.5)
    assert (kept.printed_status, louder.printed_status) == ("kept", "exceeded")
    assert replace(kept, printed=replace(kept.printed, lower_bound=0.5)).printed_status == "refuted"
    assert replace(kept, printed=None).printed_status is None
    assert set(STATUSES) > set(RUNNABLE) == {"kept", "not private"}


@every_status
def test_promises_name_what_was_asked_and_what_is_proved(status):
    plan = PLANS[status]
    text = plan.printed.promise(plan.guarantee.curve)
    if status == "not private":
        assert text == "no privacy is promised"
        return
    assert text.startswith(f"asked epsilon={plan.printed.epsilon:g}")
    words = {"refuted": "delta there is at least", "no proof": "nothing is proved: the proof has a gap"}
    assert words.get(status, "proved ") in text
    assert f"  printed:    {plan.printed.place}: {text}" in plan.explain()


def test_no_proof_has_no_guarantee():
    plan = PLANS["no proof"]
    assert isinstance(plan.guarantee.curve, NotPrivate)
    assert plan.guarantee.theorem == "none: the proof has a gap"


@pytest.mark.parametrize("status", RUNNABLE)
def test_plans_that_may_start_pass_the_contract_of_learners(status):
    check_learner(PLANS[status], LOSSES)


def test_states_are_those_of_the_print():
    """A state of a printed plan is not one of the same parameters without their promise, nor the other way round."""
    kept = PLANS["kept"]
    plain = replace(kept, printed=None)
    assert "as printed: l2p, Theorem 3.2" in kept.signature
    assert "as printed" not in plain.signature
    state = plain.start(Randomness.replayable(1)).state_dict()
    with pytest.raises(InvalidInput, match="another plan"):
        kept.restore(state)
    assert copy.deepcopy(kept) == kept


def test_algorithms_without_prints_say_so():
    with pytest.raises(InvalidInput, match=r"No paper prints parameters of HedgeOnSums|'result'|needs epsilon"):
        HedgeOnSums.as_printed(PROBLEM)
    if not HedgeOnSums.printed_results:
        with pytest.raises(InvalidInput, match=r"use HedgeOnSums\.calibrate instead"):
            HedgeOnSums.as_printed(PROBLEM, **TARGET)


class Unprinted(L2P):
    """An algorithm of somebody else, with no prints."""

    printed_results = ()


def test_algorithms_of_others_have_no_prints_of_their_own():
    with pytest.raises(
        InvalidInput, match=r"No paper prints parameters of Unprinted: use Unprinted\.calibrate instead"
    ):
        Unprinted.as_printed(PROBLEM, **TARGET)


@pytest.mark.parametrize("name", [each for each in tacit.algorithms.__all__ if each != "OwnMeasure"])
def test_every_class_with_prints_makes_plans_of_its_own(name):
    """`printed_results` and `_as_printed` stand together."""
    algorithm = getattr(tacit.algorithms, name)
    if not (isinstance(algorithm, type) and issubclass(algorithm, Plan)):
        pytest.skip("no plan")
    own = "_as_printed" in vars(algorithm) or any(
        "_as_printed" in vars(base) for base in algorithm.__mro__[:-1] if base is not Plan
    )
    assert own == bool(algorithm.printed_results)


def test_partial_doubling_is_refused_in_every_epoch():
    """Also where only a later epoch takes printed parameters."""
    kept = PLANS["kept"]

    def make(problem):
        return replace(PLANS["refuted"] if problem.horizon > 1024 else kept, problem=problem)

    restarted = Doubling(replace(PROBLEM, horizon=None), Target(1e3, 0.1), partial(make))
    restarted.epoch(0)
    with pytest.raises(PrivacyError, match="is for simulations"):
        restarted.epoch(1)
