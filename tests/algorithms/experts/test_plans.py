"""Each plan over experts: its parameters, its bound and what is special about it."""

import numpy as np
import pytest

import tacit
from tacit import Convex, Experts, InvalidInput, Randomness
from tacit.algorithms import L2P, HedgeOnSums, LazyExperts, PrivateFTRL, ScheduledExperts
from tacit.domains import Ball
from tacit.losses import LinearLoss
from tacit.noise.running_sums import CubeTree, LaplaceTree, Tree
from tacit.runtime.rate_search import cap_probability

PROBLEM = Experts(n=3, horizon=100)


def coins(rounds, n, seed=3):
    return (Randomness.replayable(seed).stream("losses").random((rounds, n)) < 0.5).astype(float)


# --- arguments -----------------------------------------------------------------------------------------------


RATES = {"eta": [0.0, -1.0, np.nan, np.inf, True, "x"], "rounds_per_person": [0, 2.5, True]}
CHAIN = {**RATES, "force": [-0.1, 1.0, np.nan, True, None], "batch": [0, 1.5, True, "2"]}
SHARED = {"relation": ["other", None, 1], "delta": [-0.1, 1.0, np.nan, True]}
BAD = {
    LazyExperts: {**CHAIN, **SHARED, "max_switches": [-1, 1.5, True], "relative": ["no", 1, None]},
    L2P: {**CHAIN, "reference_force": [-0.1, 1.0, True], "slack": [0.99, np.inf, True]},
    ScheduledExperts: {**RATES, "batch": [0, True]},
    HedgeOnSums: {**RATES, "privacy": [0.0, True]},
}
GOOD = {LazyExperts: {"force": 0.1}, L2P: {"force": 0.1}, HedgeOnSums: {"mechanism": Tree(99), "privacy": 1.0}}


@pytest.mark.parametrize(("algorithm", "field"), [(kind, field) for kind, fields in BAD.items() for field in fields])
def test_bad_parameters(algorithm, field):
    good = {"eta": 0.1, **GOOD.get(algorithm, {})}
    algorithm(PROBLEM, **good)
    for value in BAD[algorithm][field]:
        with pytest.raises(InvalidInput, match=f"'{field}'"):
            algorithm(PROBLEM, **{**good, field: value})


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("n", [0, True, 2.0]),
        ("horizon", [0, True]),
        ("delay", [-1, 1.5, True, None]),
        ("loss_range", [1.0, (1.0, 0.0), (0.0, np.inf), (0.0, 0.0), (0, 1, 2), (True, 2)]),
    ],
)
def test_bad_problems(field, values):
    for value in values:
        with pytest.raises(InvalidInput, match=field):
            Experts(**{"n": 2, "horizon": 5, field: value})


def test_a_plan_of_its_own_needs_a_horizon():
    plan = LazyExperts(Experts(n=2, horizon=None), eta=0.1, force=0.1)
    for call in (plan.start, lambda: plan.regret_bound, lambda: plan.guarantee, lambda: plan.rounds):
        with pytest.raises(InvalidInput, match="finite horizon"):
            call()


# --- lazy experts --------------------------------------------------------------------------------------------


def test_regret_formulas():
    plan = LazyExperts(PROBLEM, eta=0.1, force=0.1, batch=3)
    expected = np.log(3) / 0.1 + 0.1 * 100 * 3 / 8
    assert float(plan.regret_bound) == pytest.approx(expected)
    assert float(L2P(PROBLEM, eta=0.1, force=0.1, batch=3).regret_bound) == pytest.approx(expected)
    assert float(ScheduledExperts(PROBLEM, eta=0.1, batch=3).regret_bound) == pytest.approx(expected)
    assert plan.decisions == 33
    assert plan.vacuous == (expected >= 100)
    assert LazyExperts(PROBLEM, eta=1e-3, force=0.1).vacuous


def test_cap_probability_is_the_binomial_tail():
    from scipy.stats import binom

    for decisions, redraw, cap in ((10, 0.3, 0), (10, 0.3, 4), (1000, 0.05, 70)):
        assert cap_probability(decisions, redraw, cap) == pytest.approx(binom.sf(cap, decisions, redraw))
    assert cap_probability(10, 0.3, 10) == 0.0
    capped = LazyExperts(PROBLEM, eta=0.1, force=0.1, max_switches=20)
    free = LazyExperts(PROBLEM, eta=0.1, force=0.1)
    redraw = 1 - 0.9 * np.exp(-0.1)
    assert float(capped.regret_bound) - float(free.regret_bound) == pytest.approx(100 * binom.sf(20, 99, redraw))


@pytest.mark.parametrize("cap", [0, 1, 5])
@pytest.mark.parametrize("relative", [True, False])
def test_cap_is_never_exceeded(cap, relative):
    plan = LazyExperts(Experts(n=4, horizon=300), eta=0.5, force=0.3, relative=relative, max_switches=cap)
    reached = 0
    for seed in range(10):
        learner = plan.start(Randomness.replayable(seed))
        learner.run(coins(300, 4, seed))
        assert learner._redraws <= cap
        assert learner.switches <= cap
        reached = max(reached, learner._redraws)
    assert reached == cap


def test_relative_losses_switch_less_when_all_have_bad_days_together():
    bad_days = np.repeat(coins(2000, 1), 5, axis=1)
    problem = Experts(n=5, horizon=2000)
    for relative, low, high in ((True, 0, 0), (False, 50, 400)):
        learner = LazyExperts(problem, eta=0.2, force=0.0, relative=relative).start(Randomness.replayable(1))
        learner.run(bad_days)
        assert low <= learner.switches <= high


def test_no_decision_after_the_last_batch():
    """The last batch, whole or partial, decides nothing: what it holds is never released."""
    for horizon, batch in ((12, 4), (10, 4), (4, 4), (3, 4)):
        for plan in (
            LazyExperts(Experts(n=3, horizon=horizon), eta=1.0, force=0.9, batch=batch),
            L2P(Experts(n=3, horizon=horizon), eta=1.0, force=0.9, batch=batch),
            ScheduledExperts(Experts(n=3, horizon=horizon), eta=1.0, batch=batch),
        ):
            decisions = -(-horizon // batch) - 1
            assert plan.decisions == decisions
            learner = plan.start(Randomness.replayable(4))
            losses = coins(horizon, 3)
            learner.run(losses[: decisions * batch])
            streams = {name: repr(s.bit_generator.state) for name, s in learner._streams.items()}
            learner.run(losses[decisions * batch :])
            assert streams == {name: repr(s.bit_generator.state) for name, s in learner._streams.items()}


# --- the schedule and hedge ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [Tree(99), LaplaceTree(99, 3), CubeTree(99, 3)], ids=repr)
def test_hedge_without_noise_is_hedge(mechanism, monkeypatch):
    """With all noise zero, the held Gumbel vector plays exact exponential weights on the sums."""
    problem = Experts(n=3, horizon=100)
    plan = HedgeOnSums(problem, eta=0.3, mechanism=mechanism, privacy=1.0, numerics="float")
    monkeypatch.setattr(type(mechanism), "noise_from", lambda self, generator, dimension=1: np.zeros)
    learner = plan.start(Randomness.replayable(6))
    gumbel = learner._gumbel.copy()
    losses = coins(100, 3)
    actions = learner.run(losses)
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(losses - 0.5, axis=0)[:-1]])
    np.testing.assert_array_equal(actions, np.argmax(gumbel - 0.3 * total, axis=1))


@pytest.mark.parametrize("mechanism", [Tree(63), LaplaceTree(63, 2), CubeTree(63, 2)], ids=repr)
def test_padding_makes_every_sum_as_noisy_as_the_last(mechanism):
    """Variances within 10% at 4,000 coordinates (six standard deviations); without padding they differ twofold."""
    n = 4000
    plan = HedgeOnSums(Experts(n=n, horizon=64), eta=1e-9, mechanism=mechanism, privacy=1.0)
    learner = plan.start(Randomness.replayable(8))
    wanted = float(mechanism.standard_deviations(plan.scale, n).max()) ** 2
    padded, bare = [], []
    for step in range(1, 64):
        noisy = learner._sums.add(np.zeros(n))
        bare.append(noisy.var())
        padded.append((noisy + learner._pad(step)).var())
    tolerance = 0.14 if mechanism.noise == "gaussian" else 0.2
    np.testing.assert_allclose(padded, wanted, rtol=tolerance)
    assert min(bare) < 0.5 * wanted


@pytest.mark.parametrize(("n", "rounds", "bound"), [(10, 10**4, 350), (10, 10**5, 576), (100, 10**5, 5843)])
def test_pure_hedge_pays_for_the_cube_once(n, rounds, bound):
    """Independent Laplace noise would give 726, 1057 and 14295."""
    plan = HedgeOnSums.calibrate(Experts(n=n, horizon=rounds), epsilon=1.0, delta=0.0)
    assert float(plan.regret_bound) == pytest.approx(bound, abs=0.51)
    sigma = plan.mechanism.standard_deviations(plan.scale, n).max()
    assert float(plan.regret_bound) == pytest.approx(2 * np.sqrt(np.log(n) * (rounds / 8 + sigma**2 / 2)), rel=1e-4)
    assert plan.guarantee.epsilon() == 1.0
    assert plan.guarantee.numerics == "exact"
    half = HedgeOnSums.calibrate(
        Experts(n=n, horizon=rounds), epsilon=1.0, delta=0.0, relation="zero-out", rounds_per_person=4
    )
    assert half.scale == pytest.approx(2 * plan.scale)


def test_cube_noise_is_for_losses_only():
    ball = Convex(domain=Ball(2), loss=LinearLoss(), horizon=100)
    with pytest.raises(InvalidInput, match=r"mechanism\.noise.*'gaussian' or 'laplace'"):
        PrivateFTRL(ball, eta=0.1, mechanism=CubeTree(99), privacy=1.0)


def test_pure_hedge_without_a_bound_of_moments():
    """Given its radius cube noise is bounded: no learning rate is too large, as it is for Laplace noise."""
    sums = {kind: kind(99, 4) for kind in (CubeTree, LaplaceTree)}
    bounds = {
        kind: float(HedgeOnSums(PROBLEM, eta=5.0, mechanism=tree, privacy=1.0).regret_bound)
        for kind, tree in sums.items()
    }
    assert bounds[LaplaceTree] == PROBLEM.horizon >= bounds[CubeTree]  # nobody can lose more


def test_hedge_scales_sensitivity_with_rounds_and_relation():
    def scale(**fields):
        return HedgeOnSums(PROBLEM, eta=0.1, mechanism=Tree(99), privacy=1.0, **fields).scale

    assert scale(rounds_per_person=3) == pytest.approx(3 * scale())
    assert scale(relation="zero-out") == pytest.approx(scale() / 2)
    laplace = HedgeOnSums(PROBLEM, eta=0.1, mechanism=LaplaceTree(99, 4), privacy=1.0)
    assert laplace.scale == pytest.approx(3 * laplace.mechanism.column_norm)


def test_one_run_under_delay_keeps_its_confidence():
    """The first draw of batches that come late is held for B + D rounds: half of all runs were above the bound."""
    rounds, late = 1000, Experts(n=2, horizon=1000, delay=900)
    losses = np.tile([0.0, 1.0], (rounds, 1))
    plan = ScheduledExperts(late, eta=0.0018, batch=2, confidence=0.95)
    regrets = [float(losses[range(rounds), plan.run(losses, Randomness.replayable(k))].sum()) for k in range(20)]
    assert max(regrets) > 900
    assert np.mean(np.array(regrets) > float(plan.regret_bound)) <= 0.05
    # Batches of one round have fresh draws from the start.
    single, on_time = (
        ScheduledExperts(problem, eta=0.0018, confidence=0.95) for problem in (late, Experts(n=2, horizon=1000))
    )
    for one in (single, on_time):
        expected = ScheduledExperts(one.problem, eta=0.0018).regret_bound
        assert float(one.regret_bound) - float(expected) == pytest.approx(np.sqrt(rounds * np.log(20) / 2))


@pytest.mark.parametrize("algorithm", [LazyExperts, L2P, ScheduledExperts, HedgeOnSums])
def test_a_comparator_that_switches_is_refused(algorithm):
    """Certified regret against one expert would pass for that against a sequence."""
    problem = tacit.Tracking(n=2, horizon=1000, switches=9)
    with pytest.raises(tacit.PrivacyError, match="best single expert only"):
        algorithm.calibrate(problem, epsilon=1.0, delta=1e-6)
    still = tacit.Tracking(n=2, horizon=1000, switches=0)
    assert algorithm.calibrate(still, epsilon=1.0, delta=1e-6).guarantee.epsilon() <= 1.0
