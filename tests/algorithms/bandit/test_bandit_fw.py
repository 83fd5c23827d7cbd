import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.algorithms.bandit import BanditFW, Rounds
from tacit.algorithms.bandit.bandit_plan import on_sphere
from tacit.domains import Ball, Birkhoff, Box, KSubsets, L1Ball, Paths, Simplex
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered
from tacit.problems import Bandit

DOMAINS = [
    Ball(1, 0.5),
    Ball(2, 0.5),
    Box([0.0, 1.0], [1.0, 3.0]),
    L1Ball(3, 1.0),
    Simplex(3),
    KSubsets(4, 2),
    Birkhoff(3),
    Paths([("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")], "s", "t"),
]
NAMES = [type(domain).__name__ for domain in DOMAINS]


def planned(domain=DOMAINS[1], horizon=1000, delta=1e-6, **options):
    return BanditFW.calibrate(Bandit(domain=domain, horizon=horizon), epsilon=1.0, delta=delta, **options)


def wave(points, first):
    """Values that depend on the point, the round, and leave the range now and then."""
    rounds = np.arange(first, first + len(points))
    return 0.5 + 0.3 * points[:, 0] + 0.4 * np.sin(rounds)


def single(learner, rounds):
    points = []
    for _ in range(rounds):
        point = learner.play()
        points.append(point)
        learner.observe(float(wave(point[None], learner.rounds)[0]))
    return np.array(points)


@pytest.mark.parametrize("domain", DOMAINS, ids=NAMES)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_single_rounds_and_arrays_make_the_same_points_and_stay_in_the_set(domain, delta):
    plan = planned(domain, horizon=500, delta=delta)
    one, many = (plan.start(Randomness.replayable(6)) for _ in range(2))
    points = single(one, 500)
    parts = [many.run(Rounds(wave, count, first)) for first, count in ((0, 7), (7, 0), (7, 300), (307, 1))]
    parts.append(many.run(wave))
    np.testing.assert_array_equal(points, np.concatenate(parts))
    assert one.oracle_calls == many.oracle_calls
    assert one.rounds == many.rounds == 500
    assert one.switches == many.switches == 499
    assert all(domain.contains(point, 1e-9) for point in points[::7])


def test_blocks_inside_long_batches_agree_with_single_rounds(monkeypatch):
    monkeypatch.setattr("tacit.algorithms.bandit.bandit_fw.BLOCK_ROUNDS", 4)
    plan = planned(horizon=150)
    assert plan.batch_length == 12
    one, many = (plan.start(Randomness.replayable(6)) for _ in range(2))
    np.testing.assert_array_equal(single(one, 150), many.run(wave))


def test_functions_get_copies_of_points():
    learner = planned().start(Randomness.replayable(2))
    seen = []
    learner.run(Rounds(lambda points, first: seen.append(points) or np.zeros(len(points)), 5))
    seen[0][:] = 99.0
    assert np.abs(learner.play()).max() < 1


def test_without_noise_the_leader_follows_the_exact_sums():
    # eta and zeta fixed, noise next to nothing: batch R plays the projection of -eta times the sum of batches < R - 1.
    plan = BanditFW(Bandit(domain=Ball(2, 0.5), horizon=100), 0.1, 1e-2, Buffered(8), privacy=1e12)
    learner = plan.start(Randomness.replayable(1))
    shown = []

    def values(points, first):
        shown.append(wave(points, first))
        return shown[-1]

    points = learner.run(values)
    clipped = np.clip(np.concatenate(shown), 0.0, 1.0)
    leaders = [np.zeros(2), np.zeros(2)]
    total = np.zeros(2)
    for batch in range(8):
        rows = slice(10 * batch, 10 * batch + 10)
        directions = (points[rows] - 0.8 * leaders[batch]) / 0.1
        total += 20 * (clipped[rows] - 0.5) @ directions
        centre = points[rows.start + 20 : rows.stop + 20]
        leader = Ball(2, 0.5).project(-1e-2 * total)
        # Frank-Wolfe is rough; the mean direction is not zero: every point is exactly zeta from the shrunk leader.
        found = _centre_of(centre, 0.1) / 0.8
        assert np.linalg.norm(found - leader) <= math.sqrt(1 / 20)
        leaders.append(found)


def _centre_of(points, radius):
    """The centre of the circle through the points."""
    system = np.column_stack([2 * points, np.ones(len(points))])
    centre = np.linalg.lstsq(system, (points**2).sum(axis=1))[0][:2]
    np.testing.assert_allclose(np.linalg.norm(points - centre, axis=1), radius, rtol=1e-6)
    return centre


def test_rounds_left_over_play_the_last_leader():
    plan = planned(horizon=1000)
    explored = plan.batches * plan.batch_length
    assert explored == 992
    learner = plan.start(Randomness.replayable(2))
    points = learner.run(wave)
    assert len(np.unique(points[explored:], axis=0)) == 1
    assert np.linalg.norm(points[explored] * (1 - plan.zeta / 0.5) - points[explored - 1]) == pytest.approx(plan.zeta)


class TestUnknownHorizon:
    def test_epochs_agree_with_single_rounds_and_restore(self):
        plan = planned(horizon=None)
        one, many = (plan.start(Randomness.replayable(6)) for _ in range(2))
        first = many.run(Rounds(wave, 1500))
        np.testing.assert_array_equal(single(one, 1500), first)
        other = plan.restore(one.state_dict())
        np.testing.assert_array_equal(many.run(Rounds(wave, 2000, 1500)), other.run(Rounds(wave, 2000, 1500)))
        assert plan.guarantee.epsilon() == pytest.approx(1.0, rel=1e-9)
        assert math.isfinite(float(plan.regret_bound))


class TestCalibration:
    def test_the_best_parameters_have_the_smallest_certified_regret(self):
        plan = planned(horizon=100_000)
        here = float(plan.regret_bound)
        for zeta, eta in ((1.05, 1.0), (0.95, 1.0), (1.0, 1.05), (1.0, 0.95)):
            assert plan.certified.regret(plan.zeta * zeta, plan.eta * eta) > here
        printed = replace(plan, zeta=2**0.5 / 1e5**0.25, eta=1 / (2**0.5 * 1e5**0.75))
        assert here < float(printed.regret_bound) < plan.trivial_regret
        assert not plan.vacuous

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_the_bound_is_the_documented_formula(self, delta):
        exact = planned(horizon=10_010, delta=delta)
        plan = replace(exact, numerics="float")  # without what the lattice adds
        z, eta, n, N, B = plan.zeta, plan.eta, 2, 100, 100
        noise = math.sqrt(n) * np.append(0.0, plan.mechanism.standard_deviations(plan.scale))
        variance = B * (n * 0.5 / z) ** 2
        lag = np.sqrt(variance + (noise + B) ** 2).sum()
        expected = 0.5**2 / (2 * eta) + eta / 2 * N * (variance + B * (B - 1))
        expected += B * (eta * lag + (N - 2) / math.sqrt(2 * B))
        expected += N * B * z * (1 / 3 + math.sqrt(0.25 + 0.125) / 0.5) + 10
        assert float(plan.regret_bound) == pytest.approx(expected)
        assert 1 < float(exact.regret_bound) / expected < 1.0001
        assert float(planned(horizon=10_000, delta=delta).regret_bound) < expected

    def test_a_horizon_that_is_too_short_names_one_that_is_enough(self):
        def make(horizon):
            problem = Bandit(domain=Ball(20, 0.5), horizon=horizon, value_range=(0.0, 100.0))
            return BanditFW.calibrate(problem, epsilon=1.0, delta=1e-6)

        with pytest.raises(PrivacyError, match="would be enough") as refusal:
            make(1000)
        enough = int(str(refusal.value).split("T=")[2].split()[0])
        assert make(enough).zeta < 0.5
        with pytest.raises(PrivacyError, match=f"T={int(0.98 * enough)} rounds needs"):
            make(int(0.98 * enough))

    def test_a_horizon_out_of_reach_is_named_in_closed_form(self):
        thin = Box(np.zeros(30), np.append(np.full(29, 1e4), 1e-1))
        with pytest.raises(PrivacyError, match=r"T=\d{20,} would be enough"):
            BanditFW.calibrate(Bandit(domain=thin, horizon=100), epsilon=1.0, delta=1e-6)

    def test_adversaries(self):
        assert planned().certified_against == ("oblivious",)
        assert planned().guarantee.adversary == "adaptive"


class TestErrors:
    def test_values(self):
        learner = planned().start(Randomness.replayable(1))
        point = learner.play()
        for bad in (math.nan, math.inf, -math.inf):
            with pytest.raises(InvalidInput, match="must be finite"):
                learner.observe(bad)
        for bad in (True, "0.5", [0.5], np.float64("nan")):
            with pytest.raises(InvalidInput, match="Values of BanditFW must be finite numbers"):
                learner.observe(bad)
        np.testing.assert_array_equal(learner.play(), point)
        assert learner.rounds == 0
        learner.observe(1)  # whole numbers are numbers

    def test_points_that_a_function_saw_are_not_taken_back(self):
        """Measured before: the learner rolled back and played the next leader with the same noise and other values."""
        plan = planned()
        learner, untouched = (plan.start(Randomness.replayable(1)) for _ in range(2))
        seen = []

        def spoilt(points, first):
            seen.extend(points)
            values = wave(points, first)
            values[(np.arange(first, first + len(points)) == 500)] = math.nan
            return values

        with pytest.raises(InvalidInput, match="the one of round 500 is not"):
            learner.run(spoilt)
        complete = learner.rounds
        assert 400 < complete <= 500  # up to the block of points in which the bad value stood
        np.testing.assert_array_equal(learner.play(), seen[complete])
        learner.state_dict()
        with pytest.raises(InvalidInput, match="must have shape"):
            learner.run(lambda points, first: np.zeros(3))
        with pytest.raises(ZeroDivisionError):
            learner.run(lambda points, first: 1 // 0)
        with pytest.raises(InvalidInput, match="run of BanditFW takes Rounds or a function"):
            learner.run([0.1, 0.2])
        assert learner.rounds == complete
        np.testing.assert_array_equal(learner.run(wave), untouched.run(wave)[complete:])


GOOD = {"zeta": 0.1, "eta": 0.1, "mechanism": Buffered(8), "privacy": 1.0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rounds([1.0], 1), "'values' parameter of Rounds must be a function"),
        (lambda: Rounds(wave, -1), "'count' parameter of Rounds"),
        (lambda: Rounds(wave, 1, -1), "'first' parameter of Rounds"),
        (lambda: planned(max_switches=5), "cannot promise a limit on switches"),
        (lambda: planned(horizon=8), "at least 9 rounds"),
        (lambda: planned(calibration="guess"), "'calibration' parameter"),
        (lambda: small(zeta=0.5), "'zeta' parameter of BanditFW must be below 0.5, the set's inner radius"),
        (lambda: small(baseline=1.5), "'baseline' parameter"),
        (lambda: planned(nonsense=1), r"linear, rate, calibration\. Got 'nonsense' instead"),
        (lambda: small(zeta=0.0), "'zeta' parameter of BanditFW"),
        (lambda: small(eta=-1.0), "'eta' parameter of BanditFW"),
        (lambda: small(privacy=math.nan), "'privacy' parameter of BanditFW"),
        (lambda: small(rounds_per_person=0), "'rounds_per_person' parameter of BanditFW"),
        (lambda: small(mechanism=Buffered(9)), r"'mechanism.steps' parameter of BanditFW must be 8"),
        (lambda: small(horizon=None), "needs a finite horizon"),
        (lambda: Bandit(domain="ball", horizon=10), "'domain' parameter of Bandit"),
        (lambda: Bandit(domain=Ball(2), horizon=10, value_range=1.0), "must be a pair"),
        (lambda: Bandit(domain=Ball(2), horizon=10, value_range=(1.0, 0.0)), r"'value_range\[1\]' parameter of Bandit"),
        (lambda: Bandit(domain=Ball(2), horizon=10, lipschitz=math.inf), "'lipschitz' parameter of Bandit"),
        (lambda: Bandit(domain=Ball(2), horizon=0), "'horizon' parameter of Bandit"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises((InvalidInput, PrivacyError), match=message):
        make()


def small(horizon=100, **changes):
    return BanditFW(Bandit(domain=Ball(2, 0.5), horizon=horizon), **{**GOOD, **changes})


def test_directions_have_length_one_and_nothing_becomes_nan():
    rows = Randomness.replayable(1).stream("rows").standard_normal((50, 3))
    np.testing.assert_allclose(np.linalg.norm(on_sphere(rows), axis=1), 1.0)
    rows[7] = 0.0
    assert np.linalg.norm(on_sphere(rows)[7]) == 1.0
