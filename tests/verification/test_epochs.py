"""Plans without a horizon: every epoch so far is recomputed."""

import copy

import jsonschema
import numpy as np
import pytest

import tacit
from tacit.errors import InvalidInput
from verification.test_verify import placed, refused, written

ENDLESS = tacit.Experts(n=3, horizon=None)


@pytest.fixture(scope="module")
def made():
    plan = tacit.algorithms.HedgeOnSums.calibrate(ENDLESS, epsilon=1.0, delta=1e-6)
    _ = plan.regret_bound_at(3000)
    return written(plan)


@pytest.mark.parametrize("algorithm", [tacit.algorithms.LazyExperts, tacit.algorithms.HedgeOnSums])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_epochs_follow_and_forged_ones_do_not(algorithm, delta):
    made = written(algorithm.calibrate(ENDLESS, epsilon=1.0, delta=delta))
    jsonschema.validate(made, tacit.contract_schema())
    verdict = tacit.verify(made)
    assert verdict.answer == "yes", verdict
    assert "in every epoch so far (1)" in verdict.reason
    assert 0.98 < verdict.epsilon <= 1.0
    forged = copy.deepcopy(made)
    forged["epsilon"] = forged["parameters"]["epsilon"] = 0.97
    assert tacit.verify(forged).answer == "no"
    weak = copy.deepcopy(made)
    weak["epsilon"] = weak["parameters"]["epsilon"] = 1.05
    assert tacit.verify(weak).answer == "no"
    other = copy.deepcopy(made)
    other["curve"][-1]["epsilon"] = 0.9 * (other["curve"][-1]["epsilon"] or 1.0)
    assert tacit.verify(other).answer == "no"
    assert tacit.verify({**made, "theorem": made["theorem"].split(": ", 1)[1]}).answer == "no"


def test_a_learner_names_the_epochs_that_have_begun(made):
    assert [epoch["problem"]["horizon"] for epoch in made["epochs"]] == [1024, 2048]
    assert "in every epoch so far (2)" in tacit.verify(made).reason
    plan = tacit.algorithms.HedgeOnSums.calibrate(ENDLESS, epsilon=1.0, delta=1e-6)
    learner = plan.start()
    assert len(tacit.contract(learner)["epochs"]) == 1
    learner.run(np.zeros((1024, 3)))
    assert len(tacit.contract(learner)["epochs"]) == 2


def test_one_loud_epoch_is_enough_to_refuse(made):
    loud = copy.deepcopy(made)
    loud["epochs"][1]["noise"]["units"] = loud["epochs"][1]["noise"]["units"] * 102 // 100
    assert refused(loud)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("epochs/1/problem/horizon", 1024),
        ("epochs/1/problem/n", 2),
        ("epochs/0/parameters/relation", "zero-out"),
        ("epsilon", 0.97),
        ("parameters/first_epoch", 512),
        ("epochs/0/relation", "zero-out"),
        ("epochs/0/algorithm", "RecentLeader"),
        ("rounds_per_person", 2),
        ("epochs/0/parameters/rounds_per_person", 2),
        ("epochs", []),
        ("epochs", 3),
    ],
)
def test_epochs_that_do_not_fit_raise(made, place, value):
    changed = placed(copy.deepcopy(made), place, value)
    with pytest.raises(InvalidInput, match="contract"):
        tacit.verify(changed)


def test_a_contract_that_says_nothing_of_its_epochs_is_not_passed(made):
    silent = {name: value for name, value in made.items() if name != "epochs"}
    assert tacit.verify(silent).answer == "not verifiable yet"


def test_a_first_epoch_of_one_round_says_nothing_of_the_others(made):
    """It leaks nothing, and so would follow from any epsilon."""
    changed = copy.deepcopy(made)
    changed["parameters"]["first_epoch"], changed["epochs"] = 1, changed["epochs"][:1]
    changed["epochs"][0]["problem"]["horizon"] = 1
    changed["epsilon"], changed["delta"] = 1e-9, 0.0
    with pytest.raises(InvalidInput, match="first_epoch"):
        tacit.verify(changed)


@pytest.mark.parametrize("several", [1, 3])
def test_noise_that_no_epoch_has_is_refused(several):
    """A whole noise of another algorithm beside the epochs was read by nobody, and passed."""
    plan = tacit.algorithms.HedgeOnSums.calibrate(ENDLESS, epsilon=1.0, delta=1e-6, rounds_per_person=several)
    made = written(plan)
    assert tacit.verify(made).answer == "yes"
    assert refused({**made, "noise": {"law": "cube", "units": 16777216}})
    assert refused({**made, "noise": made["epochs"][0]["noise"]})


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_delta_of_an_epoch_is_the_share_of_one_round(delta):
    """With several rounds of a person any delta of an epoch passed, even 0.24."""
    plan = tacit.algorithms.HedgeOnSums.calibrate(ENDLESS, epsilon=1.0, delta=delta, rounds_per_person=3)
    made = written(plan)
    assert tacit.verify(made).answer == "yes"
    for other in (made["epochs"][0]["parameters"]["delta"] * 1.03, 0.24, 1e-6, 0.0):
        forged = copy.deepcopy(made)
        forged["epochs"][0]["parameters"]["delta"] = other
        assert refused(forged) == (other != made["epochs"][0]["parameters"]["delta"])
