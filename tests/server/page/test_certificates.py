"""What the page says of regret and contracts is what plans certify, and it says for which rounds."""

import tacit
from tacit.accounting.rounding import rounded_up
from tacit.server.page.views import certified


def made(problem, **target):
    return tacit.plan(problem, **{"epsilon": 1.0, "delta": 1e-6, **target}).plan


def test_a_horizon_has_one_number_and_few_rounds_cannot_lose_more_than_they_are():
    plan = made(tacit.Experts(n=3, horizon=1000, loss_range=(0.0, 2.0)))
    bound = float(plan.regret_bound)
    assert certified(plan, 0).value == "0"
    assert certified(plan, 7).value == "14"
    assert "so far" in certified(plan, 7).scope
    assert f"in 1 round; {rounded_up(bound)} for all 1,000" in certified(plan, 1).scope
    late = certified(plan, 999)
    assert float(late.value) >= bound
    assert late.scope == "for all 1,000 rounds"


def test_an_unknown_horizon_has_a_number_for_any_rounds():
    plan = made(tacit.Experts(n=3, horizon=None))
    for rounds in (1, 500, 1500):
        shown = certified(plan, rounds)
        assert float(shown.value.replace(",", "")) >= float(plan.regret_bound_at(rounds))
        assert shown.scope == "for the rounds so far"


def test_a_bound_that_says_nothing_says_so():
    plan = made(tacit.Experts(n=3, horizon=50), epsilon=0.05)
    assert plan.vacuous
    assert "says nothing" in certified(plan, 50).scope
