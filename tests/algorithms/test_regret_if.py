"""Certificates for a gap: proved probabilities against exact ones, measured regret under the bounds."""

import numpy as np
import pytest
from scipy.special import comb

import tacit
from tacit import Arms, Experts
from tacit.algorithms import PhasedArms
from tacit.algorithms.tracking import limited_updates

GAPS = (0.0, 0.02, 0.1, 0.3, 1.0)


def exact_selection(rounds, scale, gap):
    """P[D <= Exp - Exp'] for two experts of independent coins with means (1-gap)/2 and (1+gap)/2."""
    p = np.array([comb(rounds, k) for k in range(rounds + 1)])
    better, worse = ((1 - gap) / 2, (1 + gap) / 2)
    losses = [p * q ** np.arange(rounds + 1) * (1 - q) ** np.arange(rounds, -1, -1) for q in (better, worse)]
    difference = np.convolve(losses[1], losses[0][::-1])  # of -rounds..rounds
    d = np.arange(-rounds, rounds + 1)
    tail = np.where(d > 0, 0.5 * np.exp(-np.abs(d) / scale), 1 - 0.5 * np.exp(-np.abs(d) / scale))
    return float(difference @ tail)


@pytest.mark.parametrize("rounds", [1, 8, 64, 256])
@pytest.mark.parametrize("scale", [0.3, 2.0, 20.0])
def test_the_worse_expert_is_selected_no_more_often_than_proved(rounds, scale):
    gaps = np.array([0.05, 0.2, 0.6])
    exact = np.array([exact_selection(rounds, scale, gap) for gap in gaps])
    proved = limited_updates.selected_worse(rounds, scale, gaps)
    assert np.all(exact <= proved)
    assert np.all(proved <= np.maximum(20 * exact**0.5, 1e-12)), "and not far above"


@pytest.mark.parametrize("algorithm", [tacit.algorithms.LimitedUpdates, PhasedArms])
def test_larger_gaps_certify_less(algorithm):
    problem = (Arms if algorithm is PhasedArms else Experts)(n=5, horizon=20_000, adversary="stochastic")
    plan = algorithm.calibrate(problem, epsilon=1.0, delta=0.0)
    bounds = [float(plan.regret_if(gap)) for gap in GAPS]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] <= float(plan.regret_bound) * (1 + 1e-9)
    assert bounds[2] < 0.7 * bounds[0]
    wide = algorithm.calibrate(
        type(problem)(n=5, horizon=20_000, adversary="stochastic", loss_range=(0.0, 4.0)), epsilon=1.0, delta=0.0
    )
    assert float(wide.regret_if(0.4)) == pytest.approx(4 * bounds[2])
    with pytest.raises(tacit.InvalidInput, match="'gap'"):
        plan.regret_if(1.5)


@pytest.mark.parametrize("gap", [0.1, 0.3])
@pytest.mark.parametrize("algorithm", [tacit.algorithms.LimitedUpdates, PhasedArms])
def test_measured_regret_is_under_the_certificate_of_its_gap(algorithm, gap):
    kind = Arms if algorithm is PhasedArms else Experts
    plan = algorithm.calibrate(kind(n=4, horizon=4_000, adversary="stochastic"), epsilon=1.0, delta=0.0)
    means = np.array([0.5 - gap, 0.5, 0.5, 0.5])
    source, regret = tacit.Randomness.replayable(7), []
    for run in range(30):
        losses = (source.child(run).stream("losses").random((4_000, 4)) < means).astype(float)
        actions = plan.start(source.child(f"learner {run}")).run(losses)
        regret.append(means[actions].sum() - 4_000 * means.min())
    assert np.mean(regret) + 6 * np.std(regret) / np.sqrt(30) <= float(plan.regret_if(gap))


def test_without_a_proof_for_gaps_the_certificate_itself_is_given():
    plan = tacit.algorithms.LazyExperts.calibrate(Experts(n=3, horizon=100), epsilon=1.0, delta=1e-6)
    assert plan.regret_if(0.1) == plan.regret_bound
    shifts = tacit.Tracking(n=3, horizon=100, switches=2, adversary="stochastic")
    moving = tacit.algorithms.LimitedUpdates.calibrate(shifts, epsilon=1.0, delta=0.0)
    assert moving.regret_if(0.1) == moving.regret_bound
