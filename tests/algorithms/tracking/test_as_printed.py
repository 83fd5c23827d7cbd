"""The learners of the printed Algorithms 1 to 3, against the print and not against their own code."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from mpmath import mp, mpf

from tacit.algorithms.tracking import LimitedUpdates, NoisyMirrorDescent, RestartOnShift, every_window
from tacit.algorithms.tracking.every_window import WindowTest
from tacit.algorithms.tracking.limited_updates import NoisyMinimum, noise_mean, selected_worse, selection_excess
from tacit.algorithms.tracking.thresholds import laplace_difference
from tacit.auditing.script import transcript_law
from tacit.errors import InvalidInput
from tacit.noise.discrete_laplace import least_law, noisy_least
from tacit.noise.lattice import LOSS_UNITS
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms
from tacit.problems import Experts, Tracking


def shifting(n=3, horizon=200, switches=1):
    return Tracking(n=n, horizon=horizon, switches=switches, adversary="stochastic")


def printed(problem=None, epsilon=1.0, **changes):
    """Algorithm 2 as printed, with other thresholds where these are given."""
    plan = RestartOnShift.as_printed(problem or shifting(), epsilon=epsilon, delta=0.0)
    return replace(plan, **changes)


def coins(seed, rows, n):
    return (Randomness.replayable(seed).stream("losses").random((rows, n)) < 0.5).astype(float)


# Report-noisy-min --------------------------------------------------------------------------------------------


def test_noisy_least_has_the_law_of_laplace_noise():
    """Against an integral typed here, at three experts, and against 40,000 draws."""
    shifts = np.array([0.0, 0.7, 2.0])

    def chance(j):
        def below(x):
            return mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2

        def integrand(x):
            others = [below(x - shifts[k]) for k in range(3) if k != j]
            return mp.exp(-abs(x - shifts[j])) / 2 * others[0] * others[1]

        return mp.quad(integrand, [-40, 0, mpf("0.7"), 2, 40])

    mp.dps = 20
    law = least_law(shifts)
    assert law == pytest.approx([float(chance(j)) for j in range(3)], abs=1e-9)
    uniforms = Uniforms.from_streams(Randomness.replayable(4), "select")
    rate = 2.0**-20
    drawn = [noisy_least(uniforms, rate, np.rint(shifts / rate).astype(np.int64)) for _ in range(40_000)]
    found = np.bincount(drawn, minlength=3) / len(drawn)
    assert np.abs(found - law).max() < 6 * 0.5 / np.sqrt(len(drawn))
    wrong = least_law(2 * shifts)
    assert np.abs(found - wrong).max() > 6 * 0.5 / np.sqrt(len(drawn)), "half the noise would be seen"


def test_selections_of_algorithm_1_have_the_printed_noise(monkeypatch):
    problem = Experts(n=3, horizon=40, adversary="stochastic")
    for epsilon in (1.0, 0.1):
        plan = LimitedUpdates.as_printed(problem, epsilon=epsilon, delta=0.0)
        selection = plan.start(Randomness.replayable(1))._noisy
        assert 1 / selection.rate / selection.units == pytest.approx(2 / epsilon, rel=1e-9)
        assert plan.printed.values["scale"] == 2 / epsilon
    seen = []
    monkeypatch.setattr(NoisyMinimum, "draw", lambda self, uniforms, sums: seen.append(sums.copy()) or 0)
    losses = Randomness.replayable(2).stream("losses").random((40, 3))
    plan.start(Randomness.replayable(1)).run(losses)
    wanted = [losses[t // 2 - 1 : t - 1].sum(axis=0) for t in (2, 4, 8, 16, 32)]  # rounds t/2 to t - 1, from 1
    np.testing.assert_allclose(np.array(seen) / LOSS_UNITS, wanted, atol=1e-5)


def test_coarse_steps_keep_the_scale_and_the_sensitivity():
    selection = NoisyMinimum.for_budget(1e-5, 2)
    assert selection.units < LOSS_UNITS
    assert 1 / selection.rate / selection.units == pytest.approx(2e5, rel=1e-9)
    step = LOSS_UNITS // selection.units
    sums = np.array([0, 5, LOSS_UNITS - 1, 3 * LOSS_UNITS + 7])
    assert ((sums + LOSS_UNITS) // step - sums // step == selection.units).all(), "a loss is a whole number of steps"


@pytest.mark.parametrize("n", [2, 5, 20])
def test_the_excess_of_a_laplace_selection_is_bounded(n):
    """All sums equal but for noise: the selected one is noisy; the worst is that the best one's noise is 0."""
    noise = Randomness.replayable(6).stream("noise").laplace(0.0, 3.0, (20_000, n))
    largest = np.maximum(np.max(noise, axis=1), 0.0)
    error = float(np.std(largest)) / np.sqrt(len(largest))
    bound = selection_excess(n, 3.0, laplace=True)
    assert abs(float(np.mean(largest)) - bound) < 6 * error, "the mean of the largest positive noise, and no more"
    assert selection_excess(n, 3.0, laplace=False) < bound, "permute-and-flip is never worse"


def test_the_difference_of_laplace_noises_is_bounded():
    mp.dps = 20
    assert laplace_difference(1.0) >= 1.0
    for tail in (5.0, 30.0):
        x = laplace_difference(tail)
        assert (2 + x) * exp(-x) / 4 <= exp(-tail) * (1 + 1e-12)
        assert (2 + 0.99 * x) * exp(-0.99 * x) / 4 > exp(-tail)
    draws = Randomness.replayable(7).stream("noise").laplace(0.0, 1.0, (200_000, 2))
    assert np.mean(draws[:, 0] - draws[:, 1] > laplace_difference(5.0)) == pytest.approx(exp(-5.0), rel=0.15)


def test_a_worse_expert_is_selected_as_rarely_as_certified():
    plan = LimitedUpdates.as_printed(Experts(n=2, horizon=64, adversary="stochastic"), epsilon=1.0, delta=0.0)
    gap, window, runs = 0.5, 32, 20_000
    generator = Randomness.replayable(8).stream("losses")
    sums = generator.binomial(window, 0.25, runs), generator.binomial(window, 0.75, runs)
    noise = generator.laplace(0.0, 2.0, (2, runs))
    worse = float(np.mean(sums[1] + noise[1] < sums[0] + noise[0]))
    bound = float(selected_worse(window, noise_mean(1.0, plan.relation, 1), np.array([gap]), laplace=True)[0])
    assert 0 < worse < bound < 1
    assert float(plan.regret_if(0.5)) < float(plan.regret_bound)
    assert float(plan.window_regret(64, confidence=0.9)) >= float(LimitedUpdates(plan.problem, 1.0).window_regret(64))


def test_measured_regret_of_algorithm_1_is_under_both_bounds():
    plan = LimitedUpdates.as_printed(Experts(n=5, horizon=4000, adversary="stochastic"), epsilon=2.0, delta=0.0)
    regrets = []
    for seed in range(20):
        losses = (Randomness.replayable(seed).stream("losses").random((4000, 5)) < [0.4, 0.5, 0.5, 0.5, 0.5]).astype(
            float
        )
        played = plan.start(Randomness.replayable(seed)).run(losses)
        regrets.append(losses[np.arange(4000), played].sum() - losses.sum(axis=0).min())
    assert 0 < np.mean(regrets) < float(plan.regret_bound) < plan.printed.regret


# Algorithm 2 -------------------------------------------------------------------------------------------------


def above(query, threshold_scale, query_scale):
    """P[query + Lap(query_scale) > Lap(threshold_scale)], by quadrature."""
    mp.dps = 20

    def integrand(r):
        x = (r - query) / query_scale
        tail = mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2
        return mp.exp(-abs(r) / threshold_scale) / (2 * threshold_scale) * tail

    return float(mp.quad(integrand, sorted([-60 * threshold_scale, 0, query, 60 * threshold_scale])))


@pytest.mark.parametrize(("epsilon", "margin"), [(1.0, 3.0), (4.0, 0.5)])
def test_the_running_test_has_the_printed_noise(epsilon, margin):
    """Two experts, first losses (0, 1): the law of a restart after round 1 for each expert that was played.

    The exact law of the learner itself, walked through outcome by outcome, against Lap(4/epsilon) on the threshold and
    Lap(8/epsilon) on the query, typed here.
    """
    plan = printed(Tracking(n=2, horizon=3, switches=1, adversary="stochastic"), epsilon, slope=0.5, margin=margin)
    law = transcript_law(plan, [np.array([0.0, 1.0]), np.array([0.0, 0.0])])
    for action, regret in ((0, 0.0), (1, 1.0)):
        mass = dict.fromkeys((False, True), 0.0)
        for (first, (restarted,), *_), chance in law.items():
            if first == action:
                mass[restarted] += chance
        assert sum(mass.values()) == pytest.approx(0.5)
        wanted = above(regret - margin, 4 / epsilon, 8 / epsilon)
        assert mass[True] / 0.5 == pytest.approx(wanted, abs=1e-4)
        assert wanted != pytest.approx(above(regret - margin, 4 / epsilon, 4 / epsilon), abs=1e-2)


def test_restarts_are_as_frequent_as_their_law_says():
    """Replayed randomness, 4,000 runs: the hidden threshold is drawn there, and integrated out above."""
    plan = printed(Tracking(n=2, horizon=3, switches=1, adversary="stochastic"), slope=0.5, margin=3.0)
    source = Randomness.replayable(5)
    restarted, runs = 0, 4000
    for run in range(runs):
        learner = plan.start(source.child(run))
        learner.run(np.zeros((1, 2)))
        restarted += bool(learner.restarts)
    wanted = above(-3.0, 4.0, 8.0)
    assert abs(restarted / runs - wanted) < 5 * np.sqrt(wanted / runs)


def queries_by_hand(losses, actions, restarts, slope, margin):
    """All queries of Algorithm 2, line 8, round by round, from the played experts; rounds count from 1."""
    found, start = [], 1
    for t in range(1, len(losses)):
        row = []
        for w in range(t - start + 1):
            window = slice(t - w - 1, t)
            paid = losses[window][np.arange(w + 1), actions[window]].sum()
            row.append(paid - losses[window].sum(axis=0).min() - slope * np.sqrt(w) - margin)
        found.append(row)
        if t in restarts:
            start = t  # line 11: the round of the restart is the first one of the new instance, too
    return found


def selections_by_hand(losses, restarts):
    """The sums that Algorithm 1 selects from at its local rounds 2, 4, 8, .., over all epochs; rounds count from 1."""
    found, start = [], 1
    for t in range(1, len(losses)):
        if t in restarts:
            start = t
        local = t - start + 2  # of the round that is decided next
        if local & (local - 1) == 0:
            found.append(losses[start - 1 + local // 2 - 1 : start - 1 + local - 1].sum(axis=0))
    return found


def every_round(monkeypatch):
    """Compute all tests of all rounds, and record their queries."""
    seen = []
    monkeypatch.setattr(WindowTest, "fires_at_most", lambda self, peaks, counts, threshold: 1.0 + 0.0 * counts)
    honest = WindowTest.fires

    def fires(self, levels, threshold):
        seen.append(levels.copy())
        return honest(self, levels, threshold)

    monkeypatch.setattr(WindowTest, "fires", fires)
    return seen


def test_queries_and_selections_are_those_of_the_print(monkeypatch):
    """With restarts: the round of a restart is in the windows and in the first selection of both epochs."""
    plan = printed(slope=1.0, margin=25.0)
    losses = coins(1, 200, 3)
    seen, selected = every_round(monkeypatch), []
    honest = NoisyMinimum.draw
    monkeypatch.setattr(
        NoisyMinimum,
        "draw",
        lambda self, uniforms, sums: selected.append(sums / LOSS_UNITS) or honest(self, uniforms, sums),
    )
    learner = plan.start(Randomness.replayable(6))
    actions = learner.run(losses)
    restarts = learner.restarts
    assert 2 <= len(restarts) <= 60
    wanted = queries_by_hand(losses, actions, restarts, plan.slope, plan.margin)
    assert len(seen) == len(wanted) == 199
    for found, row in zip(seen, wanted, strict=True):
        np.testing.assert_allclose(found, row, atol=1e-5)
    # Selections see sums up to a constant, which comes with the round of a restart.
    by_hand = selections_by_hand(losses, restarts)
    assert len(selected) == len(by_hand)
    for found, row in zip(selected, by_hand, strict=True):
        np.testing.assert_allclose(found - found.min(), row - row.min(), atol=1e-5)


@pytest.mark.parametrize("margin", [0.0, 15.0, 40.0, 80.0])
def test_skipped_tests_change_nothing(monkeypatch, margin):
    """Rounds whose tests are decided by the bound alone are decided as if all queries were computed."""
    plan = printed(shifting(n=4, horizon=600), slope=0.4, margin=margin)
    losses = coins(2, 600, 4)
    quick = plan.start(Randomness.replayable(3))
    actions = quick.run(losses)
    with monkeypatch.context() as patched:
        every_round(patched)
        slow = plan.start(Randomness.replayable(3))
        np.testing.assert_array_equal(slow.run(losses), actions)
        assert slow.restarts == quick.restarts


def test_most_tests_are_skipped_where_thresholds_are_far(monkeypatch):
    plan = printed(shifting(n=4, horizon=5000))
    counted = []
    honest = WindowTest.fires
    monkeypatch.setattr(WindowTest, "fires", lambda self, *given: counted.append(1) or honest(self, *given))
    plan.start(Randomness.replayable(1)).run(coins(1, 5000, 4))
    assert len(counted) < 20


def test_bounds_of_a_round_are_above_its_probability():
    test = printed(slope=1.0, margin=2.0).window_test
    generator = Randomness.replayable(9).stream("levels")
    for _ in range(300):
        levels = generator.normal(-20, 15, int(generator.integers(1, 9)))
        threshold = float(generator.laplace(0.0, 4.0))
        peak = float(levels.max())
        exact = test.fires(levels, threshold)
        bound = float(test.fires_at_most(np.array([peak]), np.array([len(levels)]), threshold)[0])
        assert exact <= bound * (1 + 1e-12)
        by_hand = 1.0
        for level in levels:
            x = (threshold - level) / test.query_scale
            by_hand *= 1 - exp(-x) / 2 if x > 0 else exp(x) / 2
        assert exact == pytest.approx(1 - by_hand, rel=1e-9, abs=1e-15)


def test_rows_and_rounds_and_states_agree():
    plan = printed(shifting(n=3, horizon=300), slope=0.5, margin=30.0)
    losses = coins(4, 300, 3)
    whole = plan.start(Randomness.replayable(2))
    actions = whole.run(losses)
    assert whole.restarts
    single = plan.start(Randomness.replayable(2))
    for t, row in enumerate(losses):
        assert single.play() == actions[t]
        single.observe(row)
        if t in (3, 150):
            single = plan.restore(single.state_dict())
    assert single.restarts == whole.restarts


def test_damaged_states_are_refused():
    plan = printed(slope=0.5, margin=30.0)
    learner = plan.start(Randomness.replayable(2))
    learner.run(coins(4, 100, 3))
    before = learner._gather()
    learner._seen = 10**6
    with pytest.raises(InvalidInput, match="contradicts itself"):
        plan.restore(learner.state_dict())
    learner._scatter({**before, "open": {}} if "open" in before else {**before, "open": 0})
    assert learner.rounds == 100


def test_what_the_printed_form_says():
    plan = printed()
    assert plan.interval == 1
    assert plan.regret_after(2) == plan.trivial_regret
    assert float(plan.regret_bound) == float("inf")
    assert "share the round of a restart" in plan.guarantee.theorem
    assert "windows" not in RestartOnShift.calibrate(shifting(), epsilon=1.0, delta=0.0).parameters
    assert plan.parameters["windows"] == "all"
    assert len(plan.printed.differs) >= 3
    with pytest.raises(InvalidInput, match="interval"):
        RestartOnShift(shifting(), 1.0, 5, 1.0, 1.0, (0.3, 0.3, 0.2), windows="all")
    with pytest.raises(InvalidInput, match="counted twice"):
        RestartOnShift(shifting(), 1.0, 1, 1.0, 1.0, (0.4, 0.3, 0.3), windows="all")
    with pytest.raises(InvalidInput, match=r"as_printed"):
        RestartOnShift.calibrate(shifting(), epsilon=1.0, delta=0.0, thresholds="paper")


def test_the_audit_of_the_printed_test_finds_no_more_than_is_proved():
    """The shares of the running learner, attacked where its thresholds are low."""
    plan = printed(Tracking(n=2, horizon=4, switches=1, adversary="stochastic"), 2.0, slope=0.2, margin=0.0)
    base = [np.array(row) for row in ([0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0])]
    law = transcript_law(plan, base)
    worst = 0.0
    for t in range(3):
        other = [*base[:t], 1.0 - base[t], *base[t + 1 :]]
        neighbour = transcript_law(plan, other)
        worst = max(worst, max(abs(np.log(law[key] / neighbour[key])) for key in law if key in neighbour))
    assert 0.5 < worst <= plan.guarantee.epsilon() == pytest.approx(3.0)


def test_the_lookahead_is_no_longer_than_a_block():
    assert every_window.LOOK_AHEAD >= 64


# Algorithm 3 -------------------------------------------------------------------------------------------------


def test_algorithm_3_runs_its_noise_and_rate():
    problem = Tracking(n=4, horizon=100, switches=2)
    plan = NoisyMirrorDescent.as_printed(problem, epsilon=0.5, delta=0.0)
    drawn = plan.start(Randomness.replayable(1))._hidden.release(np.zeros((40_000, 4)))
    assert np.mean(np.abs(drawn)) == pytest.approx(2.0, rel=0.02), "E|Lap(b)| = b"
    own = NoisyMirrorDescent.as_printed(problem, epsilon=0.5, delta=0.0, result="Theorem C.2", eta=0.01)
    assert own.eta == 0.01
    assert own.printed.regret == pytest.approx(
        4 * np.log(400) / 0.01 + 10 * 0.01 * 100 * np.log(400) ** 2 / 0.25 + 8 * np.log(400) / 0.5 + 1
    )
    with pytest.raises(InvalidInput, match=r"as_printed"):
        NoisyMirrorDescent.calibrate(problem, epsilon=0.5, delta=0.0, noise="printed")
