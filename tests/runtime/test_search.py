"""The searches behind calibration: the rate that is used was checked, and only one plan is made."""

from dataclasses import replace

import pytest

import tacit
from tacit.accounting.curves import BoundedRange, Repeated
from tacit.errors import PrivacyError
from tacit.runtime.rate_search import RateSearch
from tacit.runtime.target import Target

TARGET = Target(1.0, 1e-6)


def draws(count):
    return lambda rate: Repeated(BoundedRange(2 * rate), count)


@pytest.mark.parametrize("count", [1, 100, 10**6])
@pytest.mark.parametrize("target", [TARGET, Target(0.01, 1e-9), Target(5.0, 0.0)])
def test_the_exact_rate_is_safe_and_no_larger_one_is(count, target):
    rate = RateSearch(target).exact(draws(count), 10.0)
    assert draws(count)(rate).epsilon(target.delta) <= target.epsilon
    assert draws(count)(rate * 1.001).epsilon(target.delta) > target.epsilon


@pytest.mark.parametrize("target", [TARGET, Target(0.01, 1e-9), Target(5.0, 0.0)])
def test_near_rates_are_near_wherever_the_search_was_before(target):
    search = RateSearch(target)
    for count in (10, 10**5, 3, 1000):
        near = search.near(draws(count), 10.0)
        assert near == pytest.approx(RateSearch(target).exact(draws(count), 10.0), rel=2e-3)


def test_rates_end_at_the_wanted_one_and_at_none():
    search = RateSearch(TARGET)
    assert search.near(draws(10), 1e-3) == search.exact(draws(10), 1e-3) == 1e-3
    assert search.near(draws(0), 7.0) == search.exact(draws(0), 7.0) == 7.0
    hopeless = draws(10**18)
    assert RateSearch(Target(1e-3, 1e-12)).near(hopeless, 1e3) is None
    with pytest.raises(PrivacyError, match="No rate up to 1000"):
        RateSearch(Target(1e-3, 1e-12)).exact(hopeless, 1e3)


def test_a_step_of_a_cap_is_no_reason_to_give_up():
    """Epsilon jumps over the target: the rate below the step is the answer."""
    rate = RateSearch(TARGET).near(lambda rate: draws(1 if rate < 0.1 else 10**4)(rate), 1.0)
    assert rate == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize("algorithm", [tacit.algorithms.LazyExperts, tacit.algorithms.L2P])
def test_the_best_chain_has_no_better_neighbour(algorithm):
    plan = algorithm.calibrate(tacit.Experts(n=10, horizon=5_000), epsilon=1.0, delta=1e-6)
    assert 0.999 < plan.guarantee.epsilon(1e-6) <= 1.0
    for factor in (0.7, 0.9, 1.1, 1.4):
        for batch in (plan.batch, plan.batch + 1):
            other = replace(plan, force=plan.force * factor, batch=batch)
            rate = RateSearch(TARGET).exact(lambda eta, other=other: replace(other, eta=eta).curve, 1.0)
            assert float(replace(other, eta=rate).regret_bound) >= float(plan.regret_bound) * (1 - 1e-3)


@pytest.mark.parametrize("limit", [1, 5, None])
def test_a_pure_chain_is_better_than_one_that_holds_what_it_has(limit):
    plan = tacit.algorithms.LazyExperts.calibrate(
        tacit.Experts(n=4, horizon=20_000), epsilon=1.0, delta=0.0, max_switches=limit
    )
    held = replace(plan, eta=0.02, force=0.5, batch=1, max_switches=1)
    assert float(plan.regret_bound) <= float(held.regret_bound)
    if limit is None:
        assert float(plan.regret_bound) < 3_000  # far from vacuous
