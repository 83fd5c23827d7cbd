"""Problems and plans as a store describes them: a learner is opened again without planning."""

import json

import pytest

import tacit
import tacit_experiments
from experiments.store.world import TARGET
from tacit.errors import InvalidInput, StoreError
from tacit.planning.catalogue import algorithms_for
from tacit.runtime.plan import Plan
from tacit_experiments.store import plans
from tacit_experiments.store.plans import plan_from_text, plan_to_text

pytest.importorskip("sqlalchemy")
PROBLEMS = [
    tacit.Experts(n=3, horizon=300, delay=2),
    tacit.Experts(n=3, horizon=300, adversary="stochastic"),
    tacit.Tracking(n=3, horizon=300, switches=1),
    tacit.Tracking(n=3, horizon=300, switches=1, adversary="stochastic"),
    tacit.Arms(n=3, horizon=3000, loss_range=(0.0, 2.0)),
    tacit.Lipschitz(dimension=1, horizon=300),
]


def named(problem):
    return f"{type(problem).__name__}, {problem.adversary}"


@pytest.mark.parametrize("problem", PROBLEMS, ids=named)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_plans_are_read_as_they_were_written(problem, delta):
    found = tacit.plan(problem, epsilon=1.0, delta=delta)
    made = [candidate.plan for candidate in found.candidates if candidate.plan is not None]
    assert len(made) <= len(algorithms_for(problem, None, False))
    for plan in made:
        again = plan_from_text(plan_to_text(plan))
        assert again.signature == plan.signature
        assert again.guarantee.to_json() == plan.guarantee.to_json()
        assert float(again.regret_bound) == float(plan.regret_bound)


def test_a_running_sum_that_is_gone_is_named():
    plan = tacit.algorithms.HedgeOnSums.calibrate(tacit.Experts(n=2, horizon=9), epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput, match="no running sum 'SquareRoot': begin the learner again"):
        plan_from_text(plan_to_text(plan).replace("Buffered", "SquareRoot"))


def test_plans_of_own_problems_are_read_for_the_problem_that_is_named():
    problem = tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.HuberLoss(2, 1.0), horizon=50)
    plan = tacit.plan(problem, **TARGET, algorithms=["PrivateFTRL"]).plan
    text = plan_to_text(plan)
    assert json.loads(text)["problem"] is None
    assert plan_from_text(text, problem).signature == plan.signature
    with pytest.raises(InvalidInput, match="kind"):
        plan_from_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"algorithm": "Doubling", "problem": null, "parameters": {}}',
        '{"algorithm": "__name__", "problem": null, "parameters": {}}',
        '{"algorithm": "LazyExperts", "problem": {"kind": "experts", "n": 2, "horizon": 9}, "parameters": {"a": 1}}',
        '{"algorithm": "HedgeOnSums", "problem": {"kind": "experts", "n": 2, "horizon": 9}, '
        '"parameters": {"mechanism": {"kind": "Popen", "fields": {}}}}',
    ],
)
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(InvalidInput):
        plan_from_text(text)


def unplanned(monkeypatch):
    """Nothing is planned from now on."""

    def refuse(*_, **__):
        raise AssertionError("planned again")

    monkeypatch.setattr(plans, "planned", refuse)
    monkeypatch.setattr(Plan, "calibrate_for", refuse)


@pytest.mark.filterwarnings("ignore:Arms in a store")
@pytest.mark.parametrize("problem", PROBLEMS, ids=named)
def test_a_learner_is_opened_again_without_planning(path, problem, monkeypatch):
    with tacit_experiments.Store(path) as store:
        before = store.open("home", problem, **TARGET)
        before.decide()
    unplanned(monkeypatch)
    with tacit_experiments.Store(path) as store:
        for live in (store.open("home"), store.open("home", problem, **TARGET)):
            assert live.plan.plan.signature == before.plan.plan.signature
            assert float(live.plan.regret_bound) == float(before.plan.regret_bound)
            assert live.plan.floor == before.plan.floor
            assert live.decide().round > 0


def test_the_plan_of_a_learner_that_was_let_go_is_kept(path, monkeypatch):
    problem = tacit.Experts(n=3, horizon=None)  # whose epochs are planned again in another process
    with tacit_experiments.Store(path) as store:
        signature = store.open("home", problem, **TARGET).plan.plan.signature
    with tacit_experiments.Store(path) as store:
        assert store.open("home").plan.plan.signature == signature
        store._lives.clear()
        unplanned(monkeypatch)
        store.open("home")


def test_a_learner_of_an_earlier_version_is_planned_once_more(path, monkeypatch):
    with tacit_experiments.Store(path) as store:
        store.open("home", PROBLEMS[0], **TARGET).decide()
        change(store, "plan", None)
    with tacit_experiments.Store(path) as store:
        assert store.open("home").decide().round == 1
    unplanned(monkeypatch)
    with tacit_experiments.Store(path) as store:
        assert store.open("home").decide().round == 2


def test_fields_of_another_plan_are_refused(path):
    with tacit_experiments.Store(path) as store:
        plan = store.open("home", PROBLEMS[0], **TARGET).plan.plan
        fields = json.loads(plan_to_text(plan))
        fields["parameters"]["eta"] *= 2
        change(store, "plan", json.dumps(fields))
    with tacit_experiments.Store(path) as store, pytest.raises(StoreError, match="fields of another plan"):
        store.open("home")


def test_a_guarantee_that_the_plan_does_not_keep_is_refused(path):
    with tacit_experiments.Store(path) as store:
        store.open("home", PROBLEMS[0], **TARGET)
        stricter = tacit.plan(PROBLEMS[0], epsilon=0.5, delta=1e-6).guarantee
        change(store, "guarantee", stricter.to_json())
    with tacit_experiments.Store(path) as store, pytest.raises(StoreError, match="promises more than its plan keeps"):
        store.open("home")


def change(store, column, value):
    with store.database.writing() as transaction:
        transaction.run(f"UPDATE tacit_learners SET {column} = :value", value=value)
