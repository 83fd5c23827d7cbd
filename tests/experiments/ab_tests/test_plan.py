"""The planner: the published table, power in person-level runs, days, and what a metric costs."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.ab_tests.counts import blocks
from experiments.ab_tests.test_promise import design_of
from tacit.accounting.ledger import Ledger
from tacit.errors import InvalidInput, PrivacyError
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.inference import alpha_of, compare, critical, estimate
from tacit_experiments.ab_tests.metrics import Conversion, Ratio, Sum
from tacit_experiments.ab_tests.plan import (
    SECONDARY,
    _World,
    crossing_chances,
    epsilon_of_each,
    plan_test,
    spending_boundary,
)
from tacit_experiments.ab_tests.promise import Promise
from tacit_experiments.ab_tests.weights import levels

# Base, lift, classical persons an arm; length over classical at epsilon 3, 1, .3 with one and with four metrics, as
# another program computed it.
TABLE = [
    (0.01, 0.02, 3_923_647, (1.030, 1.030, 1.033), (1.030, 1.030, 1.035)),
    (0.01, 0.05, 637_007, (1.030, 1.032, 1.052), (1.030, 1.033, 1.071)),
    (0.01, 0.10, 163_092, (1.031, 1.037, 1.130), (1.031, 1.044, 1.195)),
    (0.03, 0.02, 1_281_191, (1.030, 1.030, 1.033), (1.030, 1.031, 1.036)),
    (0.03, 0.05, 207_935, (1.030, 1.032, 1.052), (1.030, 1.034, 1.085)),
    (0.03, 0.10, 53_208, (1.031, 1.038, 1.131), (1.032, 1.049, 1.239)),
    (0.20, 0.02, 158_147, (1.030, 1.030, 1.033), (1.030, 1.031, 1.048)),
    (0.20, 0.05, 25_579, (1.030, 1.032, 1.053), (1.031, 1.041, 1.164)),
    (0.20, 0.10, 6_507, (1.031, 1.038, 1.133), (1.035, 1.083, 1.465)),
    (0.03, 0.20, 13_911, (1.033, 1.065, 1.360), (1.038, 1.113, 1.629)),
    (0.20, 0.20, 1_680, (1.034, 1.068, 1.373), (1.053, 1.230, 2.153)),
    (0.50, 0.10, 1_562, (1.031, 1.039, 1.147), (1.049, 1.202, 2.036)),
    # In the last row that program left out that an arm must stand out from the noise in its number of persons, which
    # is large where the rate is 50%: by person, its lengths have a power of .79 and .36 there.
    (0.50, 0.20, 385, (1.035, None, None), (1.126, 1.589, 3.473)),
]


def planned(base, lift, metrics=1, epsilon=1.0, **others):
    design = ABTest(
        "plan", ("control", "new"), (Conversion("bought", base), *SECONDARY[: metrics - 1]), epsilon=epsilon
    )
    return plan_test(design, lift, 20_000, **others)


@pytest.mark.parametrize(("base", "lift", "classical", "one", "four"), TABLE)
def test_lengths_are_those_of_the_table(base, lift, classical, one, four):
    for metrics, expected in ((1, one), (4, four)):
        for epsilon, ratio in zip((3.0, 1.0, 0.3), expected, strict=True):
            plan = planned(base, lift, metrics, epsilon)
            assert plan.classical == classical
            assert plan.sequential / classical == pytest.approx(1.0195, abs=0.003)
            if ratio is not None:
                assert plan.ratio == pytest.approx(ratio, rel=0.03)


def test_at_three_per_cent_four_metrics_take_five_per_cent_more_people():
    plan = planned(0.03, 0.10, metrics=4)
    assert plan.used == pytest.approx(0.93, abs=0.01)
    assert plan.ratio < 1.055


def power_of(design, persons, lift, runs, seed, is_noisy=True):
    """The share of runs in which any look says that the new arm is better, by release, estimate and verdict."""
    metric = next(metric for metric in design.metrics if metric.name == design.primary)
    found = np.zeros(runs, dtype=bool)
    for block, level in zip(blocks(design, persons, lift, runs, seed, is_noisy), levels(design.looks), strict=True):
        estimates = estimate(design, metric, block)
        intervals = compare(estimates, design.default_place, critical(alpha_of(design, metric), level))
        found |= intervals.larger[:, -1] if lift > 0 else intervals.smaller[:, -1]
    return float(found.mean())


CELLS = [
    (0.03, 0.10, 1, 1.0),
    (0.03, 0.10, 4, 0.3),
    (0.20, 0.20, 4, 1.0),
    (0.50, 0.20, 1, 0.3),
    (0.20, 0.10, 4, 3.0),
    (0.01, 0.10, 4, 1.0),
    (0.50, 0.20, 4, 1.0),
    (0.03, 0.05, 1, 0.3),
    (0.50, 0.10, 1, 1.0),
]


@pytest.mark.parametrize(("base", "lift", "metrics", "epsilon"), CELLS[:4])
def test_planned_power_is_power(base, lift, metrics, epsilon):
    """The standard error of 4,000 runs is .0063."""
    plan = planned(base, lift, metrics, epsilon)
    assert 0.78 <= power_of(plan.design, plan.persons, lift, 4_000, seed=3) <= 0.82


@pytest.mark.slow
@pytest.mark.parametrize(("base", "lift", "metrics", "epsilon"), CELLS)
def test_planned_power_is_power_in_all_cells(base, lift, metrics, epsilon, record_property):
    plan = planned(base, lift, metrics, epsilon)
    power = power_of(plan.design, plan.persons, lift, 20_000, seed=4)
    record_property("power", power)
    assert 0.785 <= power <= 0.815


def test_power_of_falls_and_unequal_shares_and_three_arms():
    for design, lift in (
        (design_of((Conversion("left", 0.2, good="less"),), epsilon=0.5), -0.1),
        (design_of((Conversion("bought", 0.1),), shares=(0.8, 0.2)), 0.1),
        (replace(design_of((Conversion("bought", 0.1),), looks=2), arms=("a", "b", "c"), default="a"), 0.15),
    ):
        plan = plan_test(design, lift, 20_000)
        power = power_of(design, plan.persons, lift, 4_000, seed=5)
        assert 0.78 <= power <= 0.82, design


def test_noise_in_one_arm_only_is_too_little():
    """What the planner would say if it counted the noise of one arm: the control of the tests above."""
    design = planned(0.2, 0.2, 4, 1.0).design
    world = _World.of(design, Promise.of(design), 0.2)
    less = replace(world, noise=tuple(noise / 2 for noise in world.noise))
    assert power_of(design, less.persons(0.8), 0.2, 4_000, seed=6) < 0.78


def test_crossing_chances_are_those_of_simulated_looks():
    times, shift, bounds, behind = [0.25, 0.5, 1.0], 2.0, [1.2, 1.5, 2.1], [0.4, 0.1, 0.0]
    known = [0.5, 0.9, 1.0]
    draw = np.random.default_rng(8)
    steps = draw.normal(size=(400_000, 3)) * np.sqrt(np.diff([0, *times])) + shift * np.diff([0, *times])
    seen = steps.cumsum(axis=1) + draw.normal(size=steps.shape) * behind
    outside = (np.abs(seen) > bounds) & (draw.random(seen.shape) < known)
    first = np.where(outside.any(axis=1), outside.argmax(axis=1), 3)
    expected = [(first == look).mean() for look in range(3)]
    assert crossing_chances(times, shift, bounds, behind, known) == pytest.approx(expected, abs=4 * 0.0008)


def test_the_boundary_of_obrien_and_fleming():
    """The published values for four looks at a two-sided level of 5%."""
    assert spending_boundary(4, 0.05) == pytest.approx((4.3326, 2.9631, 2.3590, 2.0141), abs=0.002)
    assert spending_boundary(1, 0.05) == pytest.approx((1.96,), abs=0.001)


def test_one_look_without_noise_is_the_classical_test():
    design = design_of((Conversion("bought", 0.03),), epsilon=20.0, looks=1)
    plan = plan_test(design, 0.05, 20_000)
    assert plan.ratio == pytest.approx(1.0, abs=0.001)
    assert plan.sequential == pytest.approx(plan.classical, rel=1e-3)


def test_days_are_whole_weeks_and_say_which_lift_they_find():
    plan = planned(0.03, 0.05, 4)
    assert (plan.days, plan.look_days, plan.in_reach) == (28, (7, 14, 21, 29), True)
    assert plan.lift_in_days == pytest.approx(0.044, abs=0.0005)
    again = planned(0.03, plan.lift_in_days, 4)
    assert again.persons == pytest.approx(28 * 10_000, rel=2e-3)
    far = planned(0.01, 0.02)
    assert not far.in_reach
    assert far.days > 56
    assert planned(0.01, far.lift_in_days).days in (56, 63)
    assert "Not in reach" in str(far)
    assert planned(0.5, 0.5).days == 7


def test_the_lines_that_a_team_reads():
    text = str(planned(0.03, 0.05, 4))
    for words in (
        "207,935 persons an arm",
        "20.8 days",
        "28 days",
        "7, 14, 21, 29",
        "4.4%",
        "bought: +- 6.72 in the sum of an arm",
    ):
        assert words in text
    record = planned(0.03, 0.05, 4).to_dict()
    assert record["persons_an_arm"]["classical"] == 207_935


def test_every_metric_shows_what_it_costs():
    metrics = (Conversion("bought", 0.2), *SECONDARY[:2], Ratio("basket", "secondary 2", "secondary 1"))
    plan = plan_test(design_of(metrics), 0.1, 20_000)
    costs = {cost.metric: cost for cost in plan.costs}
    assert costs["bought"].length == 1.0
    assert costs["basket"].length > 1.0
    assert costs["basket"].noise > 0
    alone = plan_test(design_of(metrics[:1]), 0.1, 20_000)
    assert alone.costs[0].noise < costs["bought"].noise
    less = plan_test(design_of(metrics[:3]), 0.1, 20_000)
    expected = less.persons / plan_test(design_of(metrics[:2]), 0.1, 20_000).persons
    assert less.costs[2].length == pytest.approx(expected, rel=1e-3)


def test_a_sum_or_a_ratio_may_be_the_primary_metric():
    money = Sum("revenue", 400, 1.5, 12.0)
    plan = plan_test(design_of((money, Conversion("bought", 0.03))), 0.1, 20_000)
    variance = (12 / 400) ** 2
    expected = (1.959964 + 0.841621) ** 2 * variance * 2.1 / (0.1 * 1.5 / 400) ** 2
    assert plan.classical == pytest.approx(expected, rel=1e-4)
    ratio = plan_test(
        design_of((money, Conversion("bought", 0.03), Ratio("b", "revenue", "bought")), primary="b"), 0.1, 2e4
    )
    assert ratio.persons > ratio.classical > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"lift": 0.0}, "not 0"),
        ({"lift": float("nan")}, "lift"),
        ({"lift": -1.0}, "lift"),
        ({"lift": 40.0}, "between 0 and 1"),
        ({"people_per_day": 0.0}, "people_per_day"),
        ({"power": 1.0}, "power"),
        ({"lift": 1e-7}, "2\\*\\*33 persons"),
    ],
    ids=str,
)
def test_bad_input_gets_one_sentence(arguments, words):
    given = {"lift": 0.1, "people_per_day": 1000.0, **arguments}
    with pytest.raises(InvalidInput, match=words):
        plan_test(design_of(), given.pop("lift"), given.pop("people_per_day"), **given)


@pytest.mark.parametrize("tests", [1, 2, 10, 30])
def test_tests_that_share_a_month_fit_its_ledger_and_no_further_one_does(tests):
    guarantee = Promise.of(design_of(epsilon=epsilon_of_each(1.0, 1e-6, tests))).guarantee
    ledger = Ledger(1.0, 1e-6)
    for _ in range(tests):
        ledger.record("test", guarantee)
    with pytest.raises(PrivacyError, match="budget is 1"):
        ledger.record("test", guarantee)
    with pytest.raises(InvalidInput, match="tests"):
        epsilon_of_each(1.0, 1e-6, 0)


def test_more_privacy_more_looks_and_more_cells_take_longer():
    base = design_of((Conversion("bought", 0.2),))
    persons = [plan_test(replace(base, epsilon=epsilon), 0.1, 1e4).persons for epsilon in (3.0, 1.0, 0.3, 0.1)]
    assert persons == sorted(persons)
    looks = [plan_test(replace(base, looks=looks), 0.1, 1e4).persons for looks in (1, 2, 4, 8)]
    assert looks == sorted(looks)
    cells = plan_test(replace(base, segments={"device": ("phone", "desktop", "tablet")}, epsilon=0.3), 0.1, 1e4).persons
    assert cells > plan_test(replace(base, epsilon=0.3), 0.1, 1e4).persons
