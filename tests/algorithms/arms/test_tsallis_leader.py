"""One batch: the loop is what numpy computes, and in C it gives the same bits."""

import numpy as np
import pytest
from mpmath import mp

from tacit.accounting.guarantee import ZERO_OUT
from tacit.algorithms.arms import BatchedTsallis
from tacit.algorithms.arms.batched_tsallis.certificate import BatchLoss
from tacit.algorithms.arms.batched_tsallis.leader import FEW_ARMS, Rule, _advance_many, advance
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.noise.randomness import Randomness
from tacit.problems import Arms

SETTINGS = [(0.5, 2, 8.0), (0.75, 20, 150.0), (0.85, FEW_ARMS, 40.0), (0.6, 1, 3.0), (0.99, 3, 9000.0)]


def played(power: float, arms: int, scale: float, batches: int = 400):
    """A stretch of batches with made-up releases, and every law on the way."""
    rng = np.random.default_rng(5)
    rule = Rule(1 / (1 - power), 0.7 * (1 - power), 0.29, 0.1 / (1 - power))
    scores, weights = np.zeros(arms), np.full(arms, 1 / arms)
    level, seen = -scale * arms ** (1 - power), []
    for _ in range(batches):
        arm = int(rng.choice(arms, p=weights / weights.sum()))
        mean = float(rng.choice([-0.29, 0.5, 1.29])) if arm else -0.29
        level = advance(rule, scores, weights, level, (arm, mean), scale)
        seen.append(np.concatenate([scores, weights, [level, scale]]))
    return np.array(seen)


@pytest.mark.parametrize(("power", "arms", "scale"), SETTINGS)
def test_the_loop_in_c_gives_the_same_bits(power, arms, scale, both_ways):
    np.testing.assert_array_equal(*both_ways(lambda: played(power, arms, scale)))


@pytest.mark.parametrize(("power", "arms", "scale"), SETTINGS)
def test_the_law_that_is_played_is_as_near_to_the_leader_as_the_certificate_allows(power, arms, scale):
    """Against 50 digits: the cells of the certificate are widened by this share."""
    allowed = BatchLoss(arms, ClippedGeometric(2, 1.0), power, 0.1, 0.0).widening
    for row in played(power, arms, scale)[::40]:
        scores, weights, (level, now) = row[:arms], row[arms : 2 * arms], row[2 * arms :]
        with mp.workdps(50):
            exponent = 1 / (1 - mp.mpf(power))

            def law(nu, scores=scores, now=now, exponent=exponent):
                return [(mp.mpf(now) / (mp.mpf(score) - nu)) ** exponent for score in scores.tolist()]

            exact = law(mp.findroot(lambda nu: mp.log(mp.fsum(law(nu))), level))
            assert max(abs(weight / p - 1) for weight, p in zip(weights.tolist(), exact, strict=True)) <= allowed


@pytest.mark.parametrize(("power", "arms", "scale"), SETTINGS)
def test_numpy_takes_the_same_step(power, arms, scale):
    """The path of many arms, on few of them: the same scores and law up to rounding."""
    rows = played(power, arms, scale, batches=60)
    rule = Rule(1 / (1 - power), 0.7 * (1 - power), 0.29, 0.1 / (1 - power))
    for row in rows[::7]:
        scores, weights, (level, now) = row[:arms].copy(), row[arms : 2 * arms].copy(), row[2 * arms :]
        loop = scores.copy(), weights.copy()
        one = _advance_many(rule, scores, weights, level, 0, 1.29, now)
        other = advance(rule, *loop, level, (0, 1.29), now)
        np.testing.assert_allclose(loop[0], scores, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(loop[1], weights, rtol=1e-8)
        assert one == pytest.approx(other, rel=1e-8)


PLANS = {
    "few": BatchedTsallis(Arms(n=3, horizon=1500), 1.0, 2, 0.75, 0.05, 0.1, 0.5),
    "many": BatchedTsallis(Arms(n=70, horizon=1500), 1.0, 2, 0.75, 0.05, 0.1, 1.0),
    "zero-out": BatchedTsallis(
        Arms(n=4, horizon=1500, loss_range=(-1.0, 3.0)), 3.0, 1, 0.5, 0.05, 0.1, relation=ZERO_OUT
    ),
    "long": BatchedTsallis(Arms(n=4, horizon=1500), 0.1, 30, 0.75, 0.05, 0.1),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_learner_decides_alike_in_c_and_in_numpy(name, both_ways):
    """Split anywhere, up to the horizon, missing replies included."""
    plan, rng = PLANS[name], np.random.default_rng(2)
    low, high = plan.problem.loss_range
    losses = low + (high - low) * rng.random((plan.rounds, plan.problem.n))
    losses[rng.random(losses.shape) < 0.1] = np.nan
    losses[rng.random(losses.shape) < 0.2] = high

    def decided():
        learner = plan.start(Randomness.replayable(3))
        actions = [learner.run(losses[first:last]) for first, last in ((0, 1), (1, 8), (8, 700))]
        state = repr(learner.state_dict())
        actions.append(learner.run(losses[700:]))
        return np.concatenate(actions).tolist(), state, repr(learner.state_dict()), learner.switches

    compiled, plain = both_ways(decided)
    assert compiled == plain


@pytest.mark.parametrize("horizon", [900, None])
def test_rows_that_a_mask_leaves_out_are_missing(horizon, way):
    """Compiled passes once read another round's losses in their place, for every missing round."""
    plan = BatchedTsallis.calibrate(Arms(n=3, horizon=horizon), epsilon=1.0, delta=0.0)
    rng = np.random.default_rng(4)
    losses, mask = rng.random((900, 3)), rng.random(900) < 0.7
    wanted = plan.start(Randomness.replayable(3))
    missing = wanted.run(np.where(mask[:, None], losses, np.nan)).tolist()
    learner = plan.start(Randomness.replayable(3))
    assert [*learner.run(losses[:301], mask[:301]), *learner.run(losses[301:], mask[301:])] == missing
    assert repr(learner.state_dict()) == repr(wanted.state_dict())


def test_a_level_that_contradicts_the_law_is_refused():
    learner = BatchedTsallis(Arms(n=3, horizon=50), 1.0, 2, 0.75, 0.05, 0.1).start(Randomness.replayable(3))
    learner.run(np.ones((20, 3)))
    assert learner._consistent()
    learner._levels[0] -= 1.0
    assert not learner._consistent()
