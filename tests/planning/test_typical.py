"""Typical regret: the table is what its script measures, between its sizes nothing jumps, and no data enter."""

from dataclasses import replace

import numpy as np
import pytest
from scripts import typical_regret as script

import tacit
from tacit import Arms, Experts, Tracking
from tacit.planning import typical
from tacit.planning.planner import hardly_learns
from tacit.runtime.target import Target

KINDS = {
    "experts": Experts(n=10, horizon=1000),
    "tracking": Tracking(n=10, horizon=1000, switches=2),
    "arms": Arms(n=10, horizon=1000),
}


def at(epsilon=1.0, delta=0.0, **target):
    return Target(epsilon, delta, **target)


@pytest.mark.parametrize("kind", typical.AXES)
def test_every_algorithm_of_the_catalogue_is_in_the_table(kind):
    for adversary in ("stochastic", "oblivious"):
        problem = replace(KINDS[kind], adversary=adversary)
        for name, plan in script.plans(problem, {"epsilon": 1.0, "delta": 1e-6}):
            found = typical.tabulated_at(problem, at(delta=1e-6), name)
            assert found is not None, name
            assert found.mean < plan.trivial_regret
            assert found.deviation > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", typical.AXES)
def test_sampled_cells_of_the_table_are_measured_again(kind):
    cells = [*typical.cells(kind)]
    small = [index for index, (problem, _) in enumerate(cells) if problem.horizon <= 1200 and problem.n <= 10]
    for index in np.random.default_rng(31).choice(small, 2, replace=False):
        problem, asked = cells[index]
        for adversary, name, mean, deviation in script.cell((problem, asked)):
            here = replace(problem, adversary=adversary)
            found = typical.tabulated_at(here, at(**asked), name)
            assert found.mean == pytest.approx(mean * problem.horizon, rel=1e-3, abs=1e-6)
            assert found.deviation == pytest.approx(deviation * problem.horizon, rel=1e-3)


def test_interpolation_meets_the_sizes_and_stays_between_them():
    axes = {"n": (2.0, 8.0), "horizon": (10.0, 1000.0)}
    values = np.array([[0.1, 0.01], [0.4, np.nan]])
    for i, n in enumerate(axes["n"]):
        assert typical.interpolated(axes, values, {"n": n, "horizon": 10.0}) == pytest.approx(values[i, 0])
    between = typical.interpolated(axes, values, {"n": 2.0, "horizon": 100.0})
    assert between == pytest.approx(np.sqrt(0.1 * 0.01), rel=2e-3), "as logarithms"
    assert typical.interpolated(axes, values, {"n": 8.0, "horizon": 1000.0}) is None, "nothing is known there"
    assert typical.interpolated(axes, values, {"n": 1.0, "horizon": 1.0}) == pytest.approx(0.1), "the nearest size"


def test_beyond_the_table_regret_grows_like_the_root_of_the_horizon():
    for name in ("HedgeOnSums", "LazyExperts", "LimitedUpdates"):
        small, large = (
            typical.tabulated_at(Experts(n=10, horizon=horizon, adversary="stochastic"), at(), name).mean
            for horizon in (6_000, 600_000)
        )
        assert large == pytest.approx(10 * small)


def test_scales():
    problem = Experts(n=10, horizon=2000, adversary="stochastic")
    plain = typical.tabulated_at(problem, at(), "HedgeOnSums")
    wide = typical.tabulated_at(replace(problem, loss_range=(-1.0, 3.0)), at(), "HedgeOnSums")
    assert wide.mean == pytest.approx(4 * plain.mean)
    twice = typical.tabulated_at(problem, at(2.0, rounds_per_person=2), "HedgeOnSums")
    assert twice.mean == pytest.approx(plain.mean), "two rounds of a person halve epsilon"
    assert typical.tabulated_at(Experts(n=1, horizon=10), at(), "HedgeOnSums") is None
    assert typical.reference_worlds(tacit.Lipschitz(horizon=10)) == {}


def test_what_the_table_does_not_hold_is_simulated_on_few_rounds(monkeypatch):
    problem = Experts(n=3, horizon=5000, adversary="stochastic", loss_range=(0.0, 2.0))
    plan = tacit.algorithms.LimitedUpdates.calibrate(problem, epsilon=1.0, delta=0.0)
    monkeypatch.setattr(typical, "_table", dict)
    monkeypatch.setattr(typical, "SIMULATED_ROUNDS", 100)
    first, again = (typical.typical_regret(plan, at(adversary="stochastic"), "LimitedUpdates") for _ in range(2))
    assert first == again
    assert 0 < first.mean < float(plan.regret_bound)


@pytest.mark.parametrize("problem", KINDS.values(), ids=KINDS)
def test_variants_keep_the_contract_and_the_rule(problem):
    for adversary in ("stochastic", "oblivious"):
        choice = tacit.plan(replace(problem, adversary=adversary), epsilon=1.0, delta=0.0)
        for candidate in choice.candidates:
            if candidate.plan is None:
                continue
            plain = type(candidate.plan).calibrate(choice.problem, epsilon=1.0, delta=0.0)
            for variant in plain.variants().values():
                assert variant.guarantee == plain.guarantee
                assert float(variant.regret_bound) >= float(plain.regret_bound) * (1 - 1e-9)
        sound = [c for c in choice.candidates if c.plan and not c.regret_bound.condition]
        factor = 5.0 if adversary == "stochastic" else 1.6
        assert float(choice.regret_bound) <= factor * min(float(c.regret_bound) for c in sound)


def test_a_problem_too_small_to_learn_says_what_would_be_enough():
    choice = tacit.plan(Experts(n=10, horizon=200), epsilon=0.1, delta=0.0)
    (warning,) = choice.warnings
    assert "data hardly help" in warning
    assert "epsilon=" in warning
    assert warning in choice.explain()
    easy = tacit.plan(Arms(n=2, horizon=20_000), epsilon=2.0, delta=0.0)
    assert easy.warnings == ()
    assert hardly_learns([], at()) is None


def test_gap_lines_and_deviations_are_explained():
    text = tacit.plan(Experts(n=10, horizon=20_000, adversary="stochastic"), epsilon=1.0, delta=0.0).explain()
    assert "If the best option is better by 0.05: at most 423.6" in text
    assert "one run: +-" in text
    assert "If the best option" not in tacit.plan(Experts(n=10, horizon=2_000), epsilon=1.0, delta=0.0).explain()
