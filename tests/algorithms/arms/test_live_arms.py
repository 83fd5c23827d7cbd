"""Live arms: the draws and their bounds, shares, certificates, late rounds, missing replies, regret."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from tacit.algorithms.arms import LiveArms, PhasedArms
from tacit.algorithms.arms.live_arms.certificate import DOWNWARD, GAPS, OFFSETS, Certificate, Exponents, _worst_mean
from tacit.algorithms.arms.live_arms.hopes import SPACING, Blocks, Noise, shares
from tacit.environments.arms import ClickArms
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Arms

GEOMETRIC = Noise(1.0, 1.0)


def problem(n: int = 20, horizon: int | None = 100_000, delay: int = 0) -> Arms:
    return Arms(n=n, horizon=horizon, delay=delay, adversary="stochastic")


@cache
def calibrated(n: int = 20, horizon: int | None = 100_000, delay: int = 0, **options) -> LiveArms:
    plan = LiveArms.calibrate(problem(n, horizon, delay), epsilon=1.0, delta=0.0, **options)
    assert isinstance(plan, LiveArms)
    return plan


def test_the_noise_has_these_moments() -> None:
    """By enumeration of two-sided geometric noise."""
    z = np.arange(-200, 201)
    for noise in (GEOMETRIC, Noise(0.5, 0.5)):
        law = np.tanh(noise.rate / 2) * np.exp(-noise.rate * abs(z))
        assert noise.variance == pytest.approx(noise.factor**2 * float(law @ z**2), rel=1e-9)
        for slope in (0.1, 0.5, 0.8):
            wanted = np.log(float(law @ np.exp(slope * noise.factor * z)))
            assert float(noise.exponent(np.array([slope]))[0]) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("stage", [1, 4, 12])
@pytest.mark.parametrize("estimate", [-0.1, 0.03, 0.5, 0.97, 1.2])
def test_draws_lie_between_their_bounds(stage: int, estimate: float) -> None:
    """Never less hopeful than the Chernoff rate; never more than the rate at a point SPACING nearer."""
    known = Blocks(16, GEOMETRIC, 0.25).stage(stage)
    hope = known.hope(estimate)
    assert np.all(np.diff(hope.kinks) >= 0)
    assert np.all(np.diff(hope.rates) >= 0)
    means = np.linspace(estimate, 1.0, 400)[1:] if estimate < 1 else np.empty(0)
    if means.size:
        drawn = np.interp(means, hope.kinks, hope.rates) / known.heat
        exact = np.maximum(known.rates(estimate, means)[0], 0.0)
        assert np.all(drawn <= exact + 1e-9)
        nearer = known.rates(estimate, estimate + (means - estimate) / SPACING)[0]
        told = (drawn < hope.rates[-1] / known.heat) & (means - estimate > known.deviation / 10)
        assert np.all(drawn[told] >= nearer[told] - 1e-9)


def test_chernoff_rates_bound_the_law_of_an_estimate() -> None:
    """P[X <= x] of 60,000 estimates lies below exp(-Lambda(x, mean)) at each x."""
    blocks = Blocks(16, GEOMETRIC, 0.25)
    stage, generator, runs = blocks.stage(3), np.random.default_rng(5), 60_000
    weights = stage.tilts * stage.lengths
    for mean in (0.05, 0.5, 0.95):
        sums = generator.binomial(stage.lengths.astype(int), mean, (runs, 3)).astype(float)
        sums += generator.geometric(1 - np.exp(-1), (runs, 3)) - generator.geometric(1 - np.exp(-1), (runs, 3))
        estimates = (sums / stage.lengths) @ weights
        for low in np.quantile(estimates, (0.001, 0.01, 0.1, 0.4)):
            rate = stage.rates(float(low), np.array([mean]))[0][0]
            assert (estimates <= low).mean() <= np.exp(-max(rate, 0.0)) + 5.5 * np.sqrt(0.25 / runs)


def test_the_worst_mean_of_a_cell() -> None:
    q = np.linspace(0, 1, 20_001)
    for low, high in ((0.0, 1.0), (0.0, 0.05), (0.6, 0.7)):
        for u in (-3.0, -0.1, 1e-6, 0.2, 2.5):
            allowed = np.clip(q, low, high)
            wanted = (np.log1p(allowed * np.expm1(u)) - allowed * u).max()
            worst = float(_worst_mean(np.array(u), low, high))
            assert low <= worst <= high
            found = np.log1p(worst * np.expm1(u)) - worst * u
            assert found == pytest.approx(wanted, rel=1e-6, abs=1e-14)


def test_moments_of_tilted_noise() -> None:
    """By enumeration; the bound of third moments is above them, and less than twice them."""
    z = np.arange(-400, 401)
    for slope in (0.0, 0.3, 0.6):
        law = np.exp(-abs(z) + slope * z)
        law /= law.sum()
        centred = z - float(law @ z)
        variance, third = GEOMETRIC.tilted_moments(np.array([slope]))
        assert float(variance[0]) == pytest.approx(float(law @ centred**2), rel=1e-9)
        exact = float(law @ np.abs(centred) ** 3)
        assert exact <= float(third[0]) * (1 + 1e-12) <= 2 * exact


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("rounds", [4, 30, 400])
def test_tails_bound_the_exact_law_of_an_estimate(rounds: int, epsilon: float) -> None:
    """Of one block, convolved exactly: for means in the cell, on both sides; and not far above it in the middle."""
    stage = Blocks(rounds, Noise(1.0, epsilon), 0.25).stage(1)
    tails, far = Exponents(stage), np.arange(-round(60 / epsilon), round(60 / epsilon) + 1)
    geometric = np.tanh(epsilon / 2) * np.exp(-epsilon * abs(far))
    values = (np.arange(rounds + 2 * far[-1] + 1) - far[-1]) / rounds
    ratios = []
    for cell in ((0.0, 0.1), (0.3, 0.35), (0.45, 0.55), (0.9, 1.0)):
        for mean in (*cell, sum(cell) / 2):
            law = np.convolve(binom.pmf(np.arange(rounds + 1), rounds, mean), geometric)
            z = stage.deviation * np.append(np.linspace(-2, 5, 57), 7.0)
            for sign in (-1.0, 1.0):
                exact = np.array([law[sign * (values - mean) >= point - 1e-12].sum() for point in z])
                bound = tails.survival(cell, z, sign, True)
                assert np.all(exact <= bound * (1 + 1e-12) + 1e-12)
                assert np.all(np.diff(bound) <= 1e-12)
                assert np.all(bound <= tails.survival(cell, z, sign, False) * (1 + 1e-12))
                if cell == (0.3, 0.35):
                    ratios.append(bound[28] / exact[28])  # at one and a half deviations
    if rounds == 400 and epsilon > 0.5:
        assert max(ratios) < 2.6, "Chernoff alone is four to six times too large"


def test_exponents_of_the_certificate_bound_those_of_draws() -> None:
    """That of the best arm from above for every mean in a cell, that of the others from below."""
    stage = Blocks(16, GEOMETRIC, 0.25).stage(5)
    known, generator = Exponents(stage), np.random.default_rng(2)
    for cell in ((0.02, 0.08), (0.4, 0.5), (0.55, 0.6), (0.97, 1.0)):
        upper = known._up(cell)
        for row in generator.choice(len(OFFSETS), 12, replace=False):
            mean = generator.uniform(*cell)
            u, z = stage.deviation * OFFSETS[row], stage.deviation * DOWNWARD
            if u >= mean:
                continue
            drawn = np.array([stage.rates(mean - deep, np.array([mean - u]))[0][0] for deep in z])
            assert np.all(np.maximum(drawn, 0.0)[z > u] <= upper[row][z > u])
    # One arm whose estimate is its mean: a round draws it above a distance d with this probability at least.
    counts = known.plays(1.0, (10**9, 10**9, 0), True) / 1e9
    for estimate in (0.1, 0.4, 0.7):
        hope, places = stage.hope(estimate), np.array([40, 80, 100])
        above = estimate + stage.deviation * GAPS[places]
        drawn = np.exp(-np.interp(above, hope.kinks, hope.rates))
        assert np.all((drawn <= counts[places] + 1e-12)[above < 1])


@pytest.mark.parametrize("arms", [2, 20])
def test_finer_cells_and_grids_certify_little_less(arms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell costs at least what each mean in it does, and halving it never costs more."""
    plan = calibrated(arms, 20_000)
    made = Certificate(arms, plan.blocks, 1.0, 0)
    whole = made._within((0.4, 0.5), 20_000, 0.0)
    parts = [made._within(cell, 20_000, 0.0) for cell in ((0.4, 0.45), (0.45, 0.5), (0.47, 0.47))]
    assert max(parts) <= whole * (1 + 1e-9)
    coarse = made.regret(20_000)
    monkeypatch.setattr("tacit.algorithms.arms.live_arms.certificate.HALVINGS", 4)
    assert coarse < Certificate(arms, plan.blocks, 1.0, 0).regret(20_000)
    assert made.regret(20_000, 0.1) <= made.regret(20_000, 0.05) <= made.regret(20_000) * (1 + 1e-9)


def test_shares_are_the_chances_of_the_largest_draw() -> None:
    """To five digits, against a grid of 400,000 points."""
    generator, blocks = np.random.default_rng(1), Blocks(16, GEOMETRIC, 0.25)
    for count in (2, 6):
        hopes = [blocks.stage(int(generator.integers(1, 9))).hope(float(x)) for x in generator.random(count)]
        found = shares(hopes)
        assert found.sum() == pytest.approx(1.0)
        x = np.linspace(max(h.kinks[0] for h in hopes), max(h.kinks[-1] for h in hopes), 400_001)
        below = np.array([-np.expm1(-np.interp(x, h.kinks, h.rates)) for h in hopes])
        for arm in range(count):
            others = np.prod(np.delete(below, arm, axis=0), axis=0)
            wanted = float(((others[1:] + others[:-1]) / 2) @ np.diff(below[arm]))
            assert found[arm] == pytest.approx(wanted, abs=2e-6)
    assert shares([blocks.stage(1).hope(0.3)]) == [1.0]


def test_certified_regret() -> None:
    plan = calibrated()
    assert plan.first == 16
    assert 5_000 < float(plan.regret_bound) < 5_600
    assert 1_500 < float(plan.regret_if(0.2)) < 1_800
    assert float(plan.regret_if(0.2)) < float(plan.regret_if(0.05)) <= float(plan.regret_bound)
    unknown = calibrated(horizon=None)
    assert float(unknown.regret_bound_at(100_000)) == pytest.approx(float(plan.regret_bound))
    assert "any other" in unknown.explain()
    late = calibrated(delay=1000)
    assert float(plan.regret_bound) < float(late.regret_bound) < 0.5 * late.trivial_regret
    small = calibrated(n=6, mean_at_most=0.05)
    assert small.first == 320
    assert float(small.regret_bound) < float(calibrated(n=6).regret_bound)
    assert float(calibrated(n=1, horizon=1000).regret_bound) == 0
    with pytest.raises(InvalidInput, match="gap"):
        plan.regret_if(1.5)


def test_what_is_refused() -> None:
    with pytest.raises(PrivacyError, match="stochastic losses only"):
        LiveArms.calibrate(Arms(n=3, horizon=100, adversary="oblivious"), epsilon=1.0, delta=0.0)
    with pytest.raises(PrivacyError, match="max_switches"):
        LiveArms.calibrate(problem(), epsilon=1.0, delta=0.0, max_switches=5)
    with pytest.raises(PrivacyError, match="once at least"):
        LiveArms.calibrate(problem(3, 10, 8), epsilon=1.0, delta=0.0)
    with pytest.raises(PrivacyError, match="delay up to"):
        LiveArms(problem(3, None, 10**9), 1.0, 8)
    for name, bad in (("mean_at_most", 0.0), ("first", 0), ("first", 10**5)):
        with pytest.raises(InvalidInput, match=name):
            LiveArms(problem(), 1.0, **{"first": 4, name: bad})


def test_a_late_reply_counts_in_the_block_of_its_round() -> None:
    plan = LiveArms(problem(2, 100, 3), 1.0, 2)
    learner = plan.start(Randomness.replayable(1))
    rounds = [learner.decide() for _ in range(4)]
    assert [decision.action for decision in rounds] == [0, 1, 0, 1]
    for decision in reversed(rounds):
        learner.settle(decision.round, 1.0)
    for closed in range(3):
        learner.decide()
        assert learner.rounds == closed + 1
    assert learner._done.tolist() == [1, 0]
    assert learner._counts.tolist() == [0, 1]
    assert learner.shares.tolist() == [0.5, 0.5]


def test_a_bit_is_drawn_whether_or_not_somebody_replies() -> None:
    """Coins are those of a round and a purpose: who replied moves no later coin."""
    plan = LiveArms(problem(2, 200), 1.0, 90)
    replies, silence = np.full((170, 2), 0.5), np.full((170, 2), np.nan)
    learners = [plan.start(Randomness.replayable(6)) for _ in range(2)]
    for learner, rows in zip(learners, (replies, silence), strict=True):
        learner.run(rows)
    states = [learner.state_dict()["_draws"] for learner in learners]
    assert states[0] == states[1]


@pytest.mark.parametrize("algorithm", [LiveArms, PhasedArms])
def test_an_arm_that_loses_replies_does_not_win(algorithm: type[LiveArms]) -> None:
    """With the middle filled in a broken arm looked better than any working one."""
    world = ClickArms((0.06, 0.10, 0.08), 60_000, lost=(0.12, 0.0, 0.0))
    rows = world.losses(np.random.default_rng(4))

    def share(**options) -> float:
        plan = algorithm.calibrate(problem(3, 60_000), epsilon=1.0, delta=0.0, **options)
        return float((plan.run(rows, Randomness.replayable(5)) == 0).mean())

    assert share() < 0.05
    assert share(missing=0.5) > 0.5


@pytest.mark.parametrize("gap", [0.05, 0.2, 0.4])
def test_measured_regret_is_far_below_the_certificate(gap: float) -> None:
    plan, rounds = calibrated(5, 10_000), 10_000
    means = np.array([0.5 - gap / 2] + [0.5 + gap / 2] * 4)
    lost = []
    for run in range(6):
        rows = (np.random.default_rng([7, run]).random((rounds, 5)) < means).astype(float)
        lost.append(gap * float((plan.run(rows, Randomness.replayable(run)) != 0).sum()))
    assert np.mean(lost) < 0.7 * min(float(plan.regret_bound), float(plan.regret_if(gap)))
    assert max(lost) < 0.8 * gap * rounds  # less than a learner that draws without data
