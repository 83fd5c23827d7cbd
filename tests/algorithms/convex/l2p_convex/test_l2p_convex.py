"""L2P on regularised multiplicative weights."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from scipy.special import gammainc, ndtri

from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvex, clip_errors, gibbs_regret
from tacit.algorithms.convex.l2p_convex.measure import GibbsMeasure, IntervalMeasure, ProximalMeasure
from tacit.auditing.statistics import normal_surprises, worst_surprise
from tacit.domains import Ball, Box, Simplex
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import AbsoluteLoss, ConvexFamily, CustomLoss, LinearLoss, LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex
from tacit.runtime.two_chains import CHAIN_STREAMS, TwoChains


def problem(dimension=1, horizon=60, loss=None):
    return Convex(domain=Ball(dimension), loss=loss or LogisticLoss(), horizon=horizon)


def lazy(made, **changes):
    options = {"rate": 0.2, "regularisation": 5.0, "force": 0.2, "clip": 0.2 * made.lipschitz, "batch": 4}
    if made.domain.dimension > 1:
        options["sampler_distance"] = 1e-6
    return L2PConvex(made, **{**options, **changes})


def data(dimension, rounds, seed=0):
    generator = Randomness.replayable(seed).stream("data")
    features = generator.standard_normal((rounds, dimension))
    features /= np.linalg.norm(features, axis=1)[:, None]
    labels = np.where(features[:, 0] + 0.3 * generator.standard_normal(rounds) > 0, 1.0, -1.0)
    return features, labels


def test_calibrated_plans_meet_the_target():
    bounds = []
    for epsilon in (0.5, 2.0):
        plan = L2PConvex.calibrate(problem(1, 5000), epsilon=epsilon, delta=1e-6)
        assert 0.99 * epsilon < plan.guarantee.epsilon(1e-6) <= epsilon
        assert plan.sampler_distance == 0.0
        assert not plan.vacuous
        bounds.append(float(plan.regret_bound))
    assert bounds[1] < bounds[0]
    plane = L2PConvex.calibrate(problem(2, 1000), epsilon=1.0, delta=1e-6)
    assert plane.guarantee.epsilon(1e-6) <= 1.0
    assert plane.exact_curve.epsilon(1e-6) < plane.guarantee.epsilon(1e-6)  # the sampler's error is charged
    assert plane.work < plane.work_limit
    assert plane.work_per_round == pytest.approx(plane.work * 2 * plane.expected_switches / 1000)


def test_no_feedback_moves_a_coin_of_strongly_convex_losses_too():
    """The target 0 has a term of its own: from -h to h is twice as far as from 0 to h."""
    line = problem(1, 2, QuadraticLoss())
    plan = L2PConvex(line, rate=0.4, regularisation=400.0, force=0.02, clip=0.02, relation="zero-out")
    assert plan.curve.bit == pytest.approx(0.04)
    ratios = []
    for row in (np.array([1.0]), plan.start(Randomness.replayable(1))._nothing()[0]):
        chains = plan.start(Randomness.replayable(1))._chains
        chains.load_state_dict({**chains.state_dict(), "decision": np.array([1.0])})
        chains.absorb(row)
        ratios.append(chains.state_dict()["ratio"])
    assert ratios == [pytest.approx(0.02), pytest.approx(-0.02)]
    # Where nothing is clipped both terms are one loss apart at most; flat losses move by h.
    assert replace(plan, clip=0.8).curve.bit == pytest.approx(0.8)
    assert lazy(problem(1, 60), relation="zero-out").curve.bit == lazy(problem(1, 60)).clip


def test_the_bound_at_the_calibrated_parameters_stays_where_it_was():
    general = Convex(domain=Ball(1), loss=ConvexFamily(lipschitz=1.0, smoothness=1.0), horizon=100_000)
    plan = L2PConvex.calibrate(general, epsilon=1.0, delta=1e-6)
    assert float(plan.regret_bound) < 2150
    assert plan.force < 0.2  # the coin pays in one dimension
    wide = L2PConvex.calibrate(
        replace(general, domain=Ball(20), horizon=10_000), epsilon=1.0, delta=1e-6, work_limit=None
    )
    assert float(wide.regret_bound) < 1680
    assert wide.force == 1.0  # and fresh draws in high dimension
    assert wide.expected_switches == wide.decisions


def test_adaptive_adversaries_get_a_fresh_draw_every_round():
    plan = L2PConvex.calibrate(problem(1, 300), epsilon=1.0, delta=1e-6, adversary="adaptive")
    assert (plan.batch, plan.force) == (1, 1.0)
    assert plan.certified_against == ("oblivious", "adaptive")
    assert lazy(problem()).certified_against == ("oblivious",)


def test_relations_and_rounds_per_person_scale_the_price():
    made = problem(1, 500)
    base = lazy(made, force=1.0)
    mu = base.exact_curve.mu
    assert mu == pytest.approx(made.lipschitz * sqrt(2 * 0.2 / 5.0) * sqrt(base.decisions))
    assert replace(base, relation="zero-out").exact_curve.mu == pytest.approx(mu / 2)
    assert replace(base, rounds_per_person=3).exact_curve.mu == pytest.approx(3 * mu)
    chain = lazy(made)
    assert replace(chain, relation="zero-out").guarantee.epsilon() < chain.guarantee.epsilon()
    assert replace(chain, rounds_per_person=2).guarantee.epsilon() > chain.guarantee.epsilon()
    assert replace(chain, reference_force=0.2).guarantee.epsilon() > chain.guarantee.epsilon()


def test_one_replaced_loss_moves_the_log_of_the_keep_probability_by_at_most_twice_the_clip():
    generator = Randomness.replayable(1).stream("x")
    made, clip, batch = problem(1, 100), 0.05, 5
    loss = made.loss

    def ratio(rows, decision, reference):
        streams = {name: Randomness.replayable(1).stream(name) for name in CHAIN_STREAMS}
        chains = TwoChains(
            IntervalMeasure(made, loss, 0.2, 5.0),
            limit=clip,
            batch=batch,
            slack=1.0,
            force=0.1,
            reference_force=0.0,
            streams=streams,
        )
        chains.load_state_dict({"decision": decision, "reference": reference, "ratio": 0.0})
        for row in rows:
            chains.absorb(row)
        return chains.state_dict()["ratio"]

    moved = []
    for _ in range(200):
        decision, reference = generator.uniform(-1, 1, (2, 1))
        rows = loss.pack((generator.uniform(-3, 3, (batch, 1)), generator.choice([-1.0, 1.0], batch)), 1, many=True)
        changed = rows.copy()
        changed[int(generator.integers(batch))] = loss.pack(([generator.uniform(-3, 3)], 1.0), 1, many=False)[0]
        first, second = ratio(rows, decision, reference), ratio(changed, decision, reference)
        assert abs(first) <= batch * clip + 1e-12
        moved.append(abs(first - second))
    ends = np.array([1.0]), np.array([-1.0])
    rows = loss.pack(([[1.0]] * batch, [1.0] * batch), 1, many=True)
    changed = rows.copy()
    changed[2] = loss.pack(([1.0], -1.0), 1, many=False)[0]
    moved.append(abs(ratio(rows, *ends) - ratio(changed, *ends)))
    assert ratio(rows, *ends) == pytest.approx(batch * clip)  # the decision fits these rows, the reference does not
    assert max(moved) <= 2 * clip * (1 + 1e-12)
    assert max(moved) > 1.99 * clip  # the bound is reached


@pytest.mark.parametrize("loss", [LogisticLoss(), AbsoluteLoss()])
def test_a_draw_is_as_private_as_its_gaussian(loss):
    generator = Randomness.replayable(2).stream("x")
    rate, regularisation = 0.8, 2.0
    once = lazy(problem(1, 2, loss), rate=rate, regularisation=regularisation, force=1.0, batch=1)
    assert once.decisions == 1
    curve = once.exact_curve
    axis = np.linspace(-1, 1, 4001)

    def law(rows):
        measure = GibbsMeasure(once.problem, loss, rate, regularisation)
        for row in rows:
            measure.absorb(row)
        potential = rate * (measure.losses(axis[:, None]) + regularisation * axis**2)
        density = np.exp(-(potential - potential.min()))
        return density / density.sum()

    largest = 0.0
    for trial in range(40):
        extreme = trial % 2 == 0
        features = np.ones((20, 1)) if extreme else generator.uniform(-1, 1, (20, 1))
        labels = generator.choice([-1.0, 1.0], 20) if extreme else generator.uniform(-1, 1, 20)
        rows = loss.pack((features, labels), 1, many=True)
        changed = rows.copy()
        changed[0] = loss.pack((features[0], -1.0 if labels[0] > 0 else 1.0), 1, many=False)[0]
        first, second = law(rows), law(changed)
        for epsilon in (0.0, 0.2, 0.5, 1.0):
            exact = float(np.maximum(first - np.exp(epsilon) * second, 0.0).sum())
            assert exact <= curve.delta(epsilon)
            largest = max(largest, exact / curve.delta(epsilon))
    assert largest > 0.3  # not far below it


def test_the_law_of_a_late_decision_is_the_measure_itself():
    rounds, count = 6, 500
    made = problem(1, rounds)
    plan = lazy(made, rate=3.0, regularisation=1.0, force=0.2, clip=3.0 * made.lipschitz, batch=1)
    features, labels = np.ones((rounds, 1)), np.ones(rounds)
    last = np.array([plan.start(Randomness.replayable(s)).run((features, labels))[-1, 0] for s in range(count)])
    axis = np.linspace(-1, 1, 20_001)

    def gap(losses):
        potential = 3.0 * (losses * made.loss.link(axis, np.array(1.0)) + axis**2)
        density = np.exp(-(potential - potential.min()))
        table = np.cumsum(density) / density.sum()
        ordered = np.sort(np.interp(last, axis, table))
        return float(np.abs(ordered - (np.arange(count) + 0.5) / count).max()) + 0.5 / count

    limit = sqrt(log(2 / 1e-6) / (2 * count))  # exceeded by the right law with probability at most 1e-6
    assert gap(rounds - 1) < limit
    assert gap(1) > limit


@pytest.mark.parametrize(("dimension", "spread", "count"), [(8, 40.0, 1300), (8, 2.0, 1000)])
def test_draws_in_several_dimensions_have_the_law_of_the_measure(dimension, spread, count):
    """Without losses |x|^2 has a Gamma law that the ball cuts off; the sampler's distance is far below what is seen."""
    made, generator = problem(dimension, loss=LinearLoss()), Randomness.replayable(1).stream("draw")
    measure = ProximalMeasure(made, made.loss, 1.0, spread, 1e-9)
    squares = [float(np.sum(measure.sample(generator) ** 2)) for _ in range(count)]
    below = gammainc(dimension / 2, spread * np.array(squares)) / gammainc(dimension / 2, spread)
    worst, limit = worst_surprise(normal_surprises(ndtri(below)[:, None], "draws"), 1e-6)
    assert worst.value < limit, worst


def test_each_chain_moves_by_coins_of_its_own():
    rounds = 300
    made = Convex(domain=Ball(1), loss=LinearLoss(), horizon=rounds)
    plan = lazy(made, rate=1.0, regularisation=1.0, force=0.3, clip=0.1, reference_force=0.4, batch=1)
    learner, seen = plan.start(Randomness.replayable(1)), []
    for _ in range(rounds):
        seen.append((float(learner.play()[0]), float(learner._chains.state_dict()["reference"][0])))
        learner.observe(np.zeros(1))
    moved, beside = (np.diff(seen, axis=0) != 0).T
    for happened, chance in ((moved, 1 - 0.7 * np.exp(-0.1)), (beside, 0.4), (beside[moved], 0.4)):
        assert abs(happened.mean() - chance) < 4.9 * np.sqrt(chance * (1 - chance) / len(happened))


def measured(plan, features, labels, seeds):
    loss, domain = plan.problem.loss, plan.problem.domain
    rows = loss.pack((features, labels), domain.dimension, many=True)
    measure = GibbsMeasure(plan.problem, loss, 1.0, 1.0)
    for row in rows:
        measure.absorb(row)
    angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    fans = [radius * circle for radius in np.linspace(0, 1, 41)] if domain.dimension == 2 else []
    candidates = np.concatenate(fans) if fans else np.linspace(-1, 1, 2001)[:, None]
    best = measure.losses(candidates).min()
    regrets = []
    for seed in seeds:
        played = plan.start(Randomness.replayable(seed)).run((features, labels))
        assert np.linalg.norm(played, axis=1).max() <= 1 + 1e-12
        regrets.append(loss.values(played, rows).sum() - best)
    return float(np.mean(regrets))


@pytest.mark.parametrize("loss", [LogisticLoss(), AbsoluteLoss()])
def test_mean_regret_in_one_dimension_is_below_the_bound(loss):
    plan = L2PConvex.calibrate(problem(1, 2000, loss), epsilon=4.0, delta=1e-6)
    regret = measured(plan, *data(1, 2000), seeds=range(3))
    assert regret < float(plan.regret_bound) < plan.trivial_regret


@pytest.mark.parametrize(("loss", "rounds"), [(LogisticLoss(), 160), (AbsoluteLoss(), 24)])
def test_mean_regret_in_two_dimensions_is_below_the_bound(loss, rounds):
    made = problem(2, rounds, loss)
    plan = lazy(made, rate=0.3, regularisation=8.0, force=0.5, clip=0.3, batch=rounds // 4)
    regret = measured(plan, *data(2, rounds), seeds=range(2))
    assert regret < float(plan.regret_bound)


def test_other_losses_and_domains():
    square = Convex(domain=Box([0.0, 1.0], [1.0, 3.0]), loss=QuadraticLoss(data_norm=4.0), horizon=12)
    plan = lazy(square, clip=0.2 * square.lipschitz * square.domain.radius)
    targets = np.tile([0.5, 2.5], (12, 1))
    played = plan.start(Randomness.replayable(1)).run(targets)
    assert (played >= [0.0, 1.0]).all()
    assert (played <= [1.0, 3.0]).all()
    linear = Convex(domain=Ball(3), loss=LinearLoss(), horizon=12)
    assert lazy(linear, clip=0.2).work < 12 * 60  # an exact draw in a few steps
    assert lazy(linear, clip=0.2).start(Randomness.replayable(1)).run(np.ones((12, 3))).shape == (12, 3)


def test_clip_errors_follow_the_geometric_age():
    spread, batch, decisions, force = 1e-3, 2, 500, 0.2
    for clip in (0.15, 0.2, 0.3):
        ages = np.arange(decisions + 1)
        room = clip - ages * batch * spread / 2
        each = np.where(room >= batch * spread, np.minimum(1, 4 * batch * np.exp(-(room**2) / (2 * spread))), 1.0)
        share = force * (1 - force) ** ages
        share[-1] = (1 - force) ** decisions
        exact = decisions * float(share @ each)
        assert exact <= clip_errors(clip, spread, batch, force, decisions) <= 1.2 * exact + 1e-12
    assert clip_errors(0.2, spread, batch, 0.0, decisions) == decisions  # nothing is known about a fixed reference
    assert clip_errors(0.2, spread, batch, force, 0) == 0.0
    sharp = {"rate": 2.0, "regularisation": 200.0, "reference_force": 0.3}
    bounds = [lazy(problem(1, 500), clip=clip, **sharp).regret_bound.searched for clip in (0.1, 0.5, 0.8, 3.0)]
    assert bounds[0] > bounds[1] > bounds[2] > bounds[3]
    assert bounds[0] == pytest.approx(bounds[3] + lazy(problem(1, 500)).trivial_regret)
    assert bounds[3] == pytest.approx(gibbs_regret(problem(1, 500), 2.0, 200.0, 4))


@pytest.mark.parametrize("loss", [LogisticLoss(), AbsoluteLoss()])
def test_a_law_much_narrower_than_the_grid_is_drawn_from(loss):
    """At a rate of 1e9 nearly every proposal was rejected, and a draw did not come back in 30 s."""
    plan = lazy(problem(1, 12, loss), rate=1e9, clip=1e9, force=1.0, batch=1)
    last = plan.run((np.ones((12, 1)), np.full(12, 0.3)), Randomness.replayable(1))[-1]
    grid = np.linspace(-1, 1, 200_001)
    leader = grid[np.argmin(11 * loss.link(grid, np.array(0.3)) + 5.0 * grid**2)]
    assert abs(last[0] - leader) < 1e-3
    with pytest.raises(PrivacyError, match="work_limit"):
        replace(plan, rate=1e20, clip=1e20)


def test_expected_switches_bound_the_measured_ones():
    made = problem(1, 400)
    plan = lazy(made, force=0.1, batch=2)
    features, labels = data(1, 400)
    counts = []
    for seed in range(6):
        learner = plan.start(Randomness.replayable(seed))
        learner.run((features, labels))
        counts.append(learner.switches)
    assert np.mean(counts) < plan.expected_switches < plan.decisions
    assert lazy(problem(1, 4)).expected_switches == 0.0


class _Steep(AbsoluteLoss):
    def link_constants(self, largest_margin):
        return float("inf"), float("inf")


CUSTOM = CustomLoss(lambda x, z: 0.0, lambda x, z: [0.0], lipschitz=1.0)
TRIANGLE = Convex(domain=Simplex(3), loss=LogisticLoss(), horizon=10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: calibrated(problem(1, 100), delta=0.0), "no pure form"),
        (lambda: calibrated(problem(1, 100), max_switches=3), "cannot promise a limit on switches"),
        (lambda: calibrated(problem(2, 100_000)), "more than work_limit=1e\\+08"),
        (lambda: calibrated(problem(2, 100_000, AbsoluteLoss())), "loss evaluations"),
        (lambda: calibrated(problem(1, 100, CUSTOM)), "convex and Lipschitz by construction"),
        (lambda: calibrated(TRIANGLE), "not from a Simplex"),
        (lambda: lazy(problem(1, 10, _Steep()), clip=1.0), "finite Lipschitz constant"),
        (lambda: lazy(problem(1, 100, ConvexFamily(lipschitz=1.0))).start(), "starts only with a loss of rows"),
        (lambda: lazy(problem(1, None)), "finite horizon"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises((PrivacyError, InvalidInput), match=message):
        make()


def calibrated(made, **target):
    return L2PConvex.calibrate(made, **{"epsilon": 1.0, "delta": 1e-6, **target})


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("rate", 0.0),
        ("regularisation", -1.0),
        ("force", 1.1),
        ("clip", 0.0),
        ("batch", 0),
        ("reference_force", 1.0),
        ("sampler_distance", 0.0),
        ("sampler_distance", 1.0),
        ("work_limit", 0.0),
        ("rounds_per_person", 0),
    ],
)
def test_parameters_are_checked(name, bad):
    with pytest.raises(InvalidInput, match=f"'{name}' parameter of L2PConvex"):
        lazy(problem(2), **{name: bad})
